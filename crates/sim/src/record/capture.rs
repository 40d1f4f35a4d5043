//! Capture of all taps. Comments hold what only the simulator knows: why a segment was sent, whether it
//! was reordered or duplicated on the path, whether the retransmission was spurious, and where and why
//! the packet was dropped later.

use crate::endpoint::mptcp::connection::subflow_of;
use crate::endpoint::mptcp::SubflowOf;
use dumbbell_model::paths::addresses;
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::{Flow, Scenario};
use dumbbell_model::traffic::{Carrier, TrafficKind};
use dumbbell_model::{TcpOptions, Time};
use dumbbell_packet::frame::IPV4_HEADER_BYTES;
use dumbbell_packet::pcapng::Recording;
use dumbbell_packet::wire::{self, FlowHeaders};
use dumbbell_packet::{Body, Cause, MultipathHeaders, Packet};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// Flow, outward, number.
type Identity = (u32, bool, u64);

/// Frames of a run, and the truth about them.
pub(crate) struct Capture {
    snap_bytes: u32,
    recording: Recording,
    headers: Vec<FlowHeaders>,
    /// Link addresses of each tap's interface and of its neighbour.
    macs: Vec<[[u8; 6]; 2]>,
    packets: Vec<(usize, Identity, Cause)>,
    dropped: BTreeMap<Identity, String>,
    /// Retransmissions that have arrived, and whether an earlier transmission arrived too.
    arrived: BTreeMap<Identity, bool>,
    /// Retransmissions that have arrived, by flow and first byte.
    repeated: BTreeMap<(u32, u64), Vec<Identity>>,
    /// Some link duplicates packets.
    copies: bool,
}

/// Packets that passed a tap before.
#[derive(Default)]
struct Passed {
    /// Highest packet number, by tap, flow and direction.
    highest: BTreeMap<(usize, u32, bool), u64>,
    /// Packets of which a duplicate may follow.
    packets: BTreeSet<(usize, Identity)>,
}

impl Capture {
    /// Creates an empty capture. `leaving`: the pipe that leaves at each tap; `options`: TCP options of
    /// both ends of a flow.
    pub(crate) fn new(
        scenario: &Scenario,
        snap_bytes: u32,
        leaving: &[usize],
        options: impl Fn(&Flow) -> [TcpOptions; 2],
        seed: u64,
    ) -> Self {
        let node = |name: &str| scenario.nodes.iter().position(|n| n.name == name).unwrap_or(0);
        let ends: Vec<_> = scenario.links.iter().map(|l| (node(&l.a), node(&l.b))).collect();
        let hosts = addresses(scenario).into_iter().map(|ends_of| {
            ends_of.map(|at| match at.pipe(&ends) {
                Some(pipe) => wire::interface_address(pipe),
                None => wire::address(at.node),
            })
        });
        let first = |of: SubflowOf| {
            let name = scenario.connections[of.connection as usize].first();
            scenario.flows.iter().position(|flow| flow.name == name).unwrap_or(0)
        };
        let flows = scenario.flows.iter().zip(hosts).enumerate();
        let headers = flows.map(|(number, (flow, hosts))| {
            let subflow = subflow_of(scenario, &flow.name);
            let mut initial = Rng::named(seed, &format!("flow/{}/isn", flow.name));
            let headers = FlowHeaders {
                addresses: hosts,
                flow: number as u16,
                server: subflow.map_or(number, first) as u16,
                multipath: subflow.map(|of| multipath(scenario, of, seed)),
                initial: [initial.next_u64() as u32, initial.next_u64() as u32],
                ..FlowHeaders::default()
            };
            match flow.traffic.carrier() {
                Carrier::Tcp => {
                    let ends = options(flow);
                    FlowHeaders {
                        mss: [ends[0].mtu_bytes as u16 - 40, ends[1].mtu_bytes as u16 - 40],
                        window_scale: [&ends[0], &ends[1]].map(TcpOptions::window_scale),
                        scales_window: ends[0].tcp_window_scaling,
                        ..headers
                    }
                }
                Carrier::Udp { datagram_bytes, mtu_bytes } => FlowHeaders {
                    datagram_bytes: datagram_bytes as u32,
                    fragment_bytes: (mtu_bytes as u32 - IPV4_HEADER_BYTES) / 8 * 8,
                    ..headers
                },
                Carrier::IcmpEcho => headers,
                Carrier::UdpEcho => FlowHeaders { udp_echo: true, ..headers },
            }
        });
        Self {
            snap_bytes,
            recording: Recording::new(snap_bytes),
            headers: headers.collect(),
            macs: leaving.iter().map(|&pipe| [wire::mac(pipe), wire::mac(pipe ^ 1)]).collect(),
            packets: Vec::new(),
            dropped: BTreeMap::new(),
            arrived: BTreeMap::new(),
            repeated: BTreeMap::new(),
            copies: scenario
                .links
                .iter()
                .any(|link| link.forward.duplication > 0.0 || link.backward.duplication > 0.0),
        }
    }

    /// Records a packet that passes a tap, leaving or arriving. ARP is skipped.
    /// `contents`: of a datagram, if they are known.
    pub(crate) fn frame(
        &mut self,
        at: Time,
        tap: usize,
        leaves: bool,
        packet: &Packet,
        contents: &[u8],
    ) {
        let Some(headers) = self.headers.get(packet.flow as usize) else { return };
        let [own, other] = self.macs[tap];
        let macs = if leaves { [own, other] } else { [other, own] };
        let bytes = wire::frame_with(contents, packet, headers, macs, self.snap_bytes as usize);
        self.recording.frame(at, tap as u32, packet.frame_bytes, &bytes);
        let cause = match &packet.body {
            Body::Tcp(segment) => segment.cause,
            Body::Udp { .. } | Body::Ping { .. } | Body::Arp { .. } => Cause::New,
        };
        self.packets.push((tap, identity(packet), cause));
    }

    /// Records the arrival of a segment at its receiver; `had`: its bytes were there already. A
    /// retransmission is spurious if the transmission that it repeats was not lost, whichever came first.
    pub(crate) fn arrived(&mut self, packet: &Packet, had: bool) {
        let Body::Tcp(segment) = &packet.body else { return };
        let (identity, bytes) = (identity(packet), (packet.flow, segment.seq));
        if segment.cause != Cause::New {
            if let Entry::Vacant(entry) = self.arrived.entry(identity) {
                entry.insert(had);
                self.repeated.entry(bytes).or_default().push(identity);
            }
        } else if had {
            for one in self.repeated.get(&bytes).into_iter().flatten() {
                self.arrived.insert(*one, true);
            }
        }
    }

    /// Records the drop of a packet.
    pub(crate) fn dropped(&mut self, pipe: &str, reason: &str, packet: &Packet) {
        self.dropped.insert(identity(packet), format!("dropped at {pipe}: {reason}"));
    }

    /// The file, as pcapng. `secrets`: of TLS connections.
    pub(crate) fn file(&self, scenario: &Scenario, secrets: &[u8]) -> Vec<u8> {
        let names: Vec<_> = scenario.taps.iter().map(|tap| tap.name.clone()).collect();
        let mut passed = Passed::default();
        self.recording.file(&names, secrets, |number| {
            let (tap, identity, cause) = self.packets[number];
            let why = match cause {
                Cause::New => None,
                Cause::Fast => Some("retransmission: fast".to_owned()),
                Cause::Timeout => Some("retransmission: time-out".to_owned()),
                Cause::Probe => Some("retransmission: tail loss probe".to_owned()),
            };
            let had = self.arrived.get(&identity).is_some_and(|had| *had);
            let comments = [
                why,
                had.then(|| "spurious".to_owned()),
                self.on_the_path(&mut passed, tap, identity).map(str::to_owned),
                self.dropped.get(&identity).cloned(),
            ];
            let comments: Vec<_> = comments.into_iter().flatten().collect();
            (!comments.is_empty()).then(|| comments.join("; "))
        })
    }

    /// Reordering or duplication of a packet before it came to a tap.
    fn on_the_path(
        &self,
        passed: &mut Passed,
        tap: usize,
        identity: Identity,
    ) -> Option<&'static str> {
        if self.copies && !passed.packets.insert((tap, identity)) {
            return Some("duplicated on the path");
        }
        let (flow, outward, number) = identity;
        let highest = passed.highest.entry((tap, flow, outward)).or_insert(number);
        let reordered = number < *highest;
        *highest = number.max(*highest);
        reordered.then_some("reordered")
    }
}

/// Keys of a connection and nonces of a subflow, drawn by name.
fn multipath(scenario: &Scenario, of: SubflowOf, seed: u64) -> MultipathHeaders {
    let name = &scenario.connections[of.connection as usize].name;
    let mut keys = Rng::named(seed, &format!("connection/{name}/keys"));
    let mut nonces = Rng::named(seed, &format!("connection/{name}/nonces/{}", of.number));
    MultipathHeaders {
        keys: [keys.next_u64(), keys.next_u64()],
        nonces: [nonces.next_u64() as u32, nonces.next_u64() as u32],
        address_id: of.number as u8,
    }
}

fn identity(packet: &Packet) -> Identity {
    (packet.flow, packet.outward, packet.number)
}
