//! A capture of all taps, with what only the simulator knows in comments: why a segment was sent,
//! and where and why a packet was dropped later.

use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::{Flow, Scenario, Traffic};
use dumbbell_model::{TcpOptions, Time};
use dumbbell_packet::frame::IPV4_HEADER_BYTES;
use dumbbell_packet::pcapng::Recording;
use dumbbell_packet::wire::{self, FlowHeaders};
use dumbbell_packet::{Body, Cause, Packet};
use std::collections::BTreeMap;

/// Flow, outward, number.
type Identity = (u32, bool, u64);

/// Frames of a run, and what is known of them.
pub(crate) struct Capture {
    snap_bytes: u32,
    recording: Recording,
    headers: Vec<FlowHeaders>,
    /// Link addresses of each tap's interface and of the one opposite.
    macs: Vec<[[u8; 6]; 2]>,
    packets: Vec<(Identity, Cause)>,
    dropped: BTreeMap<Identity, String>,
}

impl Capture {
    /// For a scenario whose flows' ends have these options. `leaving`: the pipe that leaves at each
    /// tap.
    pub(crate) fn new(
        scenario: &Scenario,
        snap_bytes: u32,
        leaving: &[usize],
        options: impl Fn(&Flow) -> [TcpOptions; 2],
        seed: u64,
    ) -> Self {
        let node = |name: &str| scenario.nodes.iter().position(|n| n.name == name).unwrap_or(0);
        let headers = scenario.flows.iter().enumerate().map(|(number, flow)| {
            let mut initial = Rng::named(seed, &format!("flow/{}/isn", flow.name));
            let headers = FlowHeaders {
                addresses: [&flow.from, &flow.to].map(|name| wire::address(node(name))),
                flow: number as u16,
                initial: [initial.next_u64() as u32, initial.next_u64() as u32],
                ..FlowHeaders::default()
            };
            match &flow.traffic {
                Traffic::Tcp(_) => {
                    let ends = options(flow);
                    FlowHeaders {
                        mss: [ends[0].mtu_bytes as u16 - 40, ends[1].mtu_bytes as u16 - 40],
                        window_scale: ends[0]
                            .tcp_window_scaling
                            .then(|| [&ends[0], &ends[1]].map(TcpOptions::window_scale)),
                        sack: ends[0].tcp_sack,
                        ..headers
                    }
                }
                Traffic::Udp(udp) => FlowHeaders {
                    datagram_bytes: udp.datagram_bytes as u32,
                    fragment_bytes: (udp.mtu_bytes as u32 - IPV4_HEADER_BYTES) / 8 * 8,
                    ..headers
                },
                Traffic::Ping(_) => headers,
            }
        });
        Self {
            snap_bytes,
            recording: Recording::new(snap_bytes),
            headers: headers.collect(),
            macs: leaving.iter().map(|&pipe| [wire::mac(pipe), wire::mac(pipe ^ 1)]).collect(),
            packets: Vec::new(),
            dropped: BTreeMap::new(),
        }
    }

    /// A packet passes a tap, leaving or arriving. ARP is left out.
    pub(crate) fn frame(&mut self, at: Time, tap: usize, leaves: bool, packet: &Packet) {
        let Some(headers) = self.headers.get(packet.flow as usize) else { return };
        let [own, other] = self.macs[tap];
        let macs = if leaves { [own, other] } else { [other, own] };
        let bytes = wire::frame(packet, headers, macs, self.snap_bytes as usize);
        self.recording.frame(at, tap as u32, packet.frame_bytes, &bytes);
        let cause = match &packet.body {
            Body::Tcp(segment) => segment.cause,
            Body::Udp { .. } | Body::Ping { .. } | Body::Arp { .. } => Cause::New,
        };
        self.packets.push((identity(packet), cause));
    }

    /// A packet is dropped.
    pub(crate) fn dropped(&mut self, pipe: &str, reason: &str, packet: &Packet) {
        self.dropped.insert(identity(packet), format!("dropped at {pipe}: {reason}"));
    }

    /// The file, as pcapng.
    pub(crate) fn file(&self, scenario: &Scenario) -> Vec<u8> {
        let names: Vec<_> = scenario.taps.iter().map(|tap| tap.name.clone()).collect();
        self.recording.file(&names, |number| {
            let (identity, cause) = self.packets[number];
            let why = match cause {
                Cause::New => None,
                Cause::Fast => Some("retransmission: fast".to_owned()),
                Cause::Timeout => Some("retransmission: time-out".to_owned()),
                Cause::Probe => Some("retransmission: tail loss probe".to_owned()),
            };
            let told: Vec<_> =
                why.into_iter().chain(self.dropped.get(&identity).cloned()).collect();
            (!told.is_empty()).then(|| told.join("; "))
        })
    }
}

fn identity(packet: &Packet) -> Identity {
    (packet.flow, packet.outward, packet.number)
}
