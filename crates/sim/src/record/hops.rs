//! Path of every packet, hop by hop: its times of arrival at a link, of leaving the queue, of arrival at
//! the far end, or of its drop.

use crate::arena::Handle;
use crate::drop_reason::DropReason;
use dumbbell_model::scenario::{Scenario, Stretch};
use dumbbell_model::tables::ns;
use dumbbell_model::tables::HopRow;
use dumbbell_model::Time;
use dumbbell_packet::frame::NO_FLOW;
use dumbbell_packet::tcp::Flags;
use dumbbell_packet::{Body, Cause, Packet};

/// No row.
const NONE: u32 = u32::MAX;

/// Fields of a packet that are the same at each hop.
struct Sent {
    number: u64,
    flow: u32,
    outward: bool,
    kind: &'static str,
    frame_bytes: u32,
    payload_bytes: u32,
    seq: u64,
    ack: i64,
    flags: Flags,
    cause: Cause,
}

struct Hop {
    pipe: u32,
    packet: u32,
    offered: Time,
    left: Option<Time>,
    ended: Option<Time>,
    dropped: Option<DropReason>,
    tos: u8,
}

/// Rows of a packet under way.
#[derive(Clone, Copy)]
struct Under {
    packet: u32,
    hop: u32,
}

/// Kept rows.
pub(crate) struct Hops {
    stretch: Stretch,
    packets: Vec<Sent>,
    hops: Vec<Hop>,
    /// By index in the arena.
    under_way: Vec<Under>,
}

impl Hops {
    pub(crate) fn new(stretch: Stretch) -> Self {
        Self { stretch, packets: Vec::new(), hops: Vec::new(), under_way: Vec::new() }
    }

    /// Records the arrival of a packet at a link.
    pub(crate) fn offered(&mut self, at: Time, pipe: usize, handle: Handle, packet: &Packet) {
        let since = at.since(Time::ZERO);
        if handle.flow == NO_FLOW || since < self.stretch.from || since >= self.stretch.to {
            return;
        }
        let place = handle.id as usize;
        if place >= self.under_way.len() {
            self.under_way.resize(place + 1, Under { packet: NONE, hop: NONE });
        }
        let under = &mut self.under_way[place];
        if under.packet == NONE {
            under.packet = self.packets.len() as u32;
            self.packets.push(sent(packet));
        }
        under.hop = self.hops.len() as u32;
        self.hops.push(Hop {
            pipe: pipe as u32,
            packet: under.packet,
            offered: at,
            left: None,
            ended: None,
            dropped: None,
            tos: handle.tos,
        });
    }

    fn hop(&mut self, handle: Handle) -> Option<&mut Hop> {
        let under = self.under_way.get(handle.id as usize)?;
        self.hops.get_mut(under.hop as usize)
    }

    /// Records that the packet left the queue.
    pub(crate) fn left(&mut self, at: Time, handle: Handle) {
        if let Some(hop) = self.hop(handle) {
            hop.left = Some(at);
            hop.tos = handle.tos;
        }
    }

    /// Records that the packet arrived at the far end.
    pub(crate) fn arrived(&mut self, at: Time, handle: Handle) {
        if let Some(hop) = self.hop(handle) {
            hop.ended = Some(at);
        }
    }

    /// Records that the packet was dropped: in the link, or before it where ARP got no reply.
    pub(crate) fn dropped(
        &mut self,
        at: Time,
        pipe: usize,
        reason: DropReason,
        handle: Handle,
        packet: &Packet,
    ) {
        if self.hop(handle).is_none_or(|hop| hop.ended.is_some()) {
            self.offered(at, pipe, handle, packet);
        }
        if let Some(hop) = self.hop(handle) {
            (hop.ended, hop.dropped) = (Some(at), Some(reason));
        }
        self.gone(handle);
    }

    /// Forgets the packet: its index in the arena is free.
    pub(crate) fn gone(&mut self, handle: Handle) {
        if let Some(under) = self.under_way.get_mut(handle.id as usize) {
            *under = Under { packet: NONE, hop: NONE };
        }
    }

    /// The rows, in order of arrival at links.
    pub(crate) fn rows(&self, scenario: &Scenario, pipe: impl Fn(usize) -> String) -> Vec<HopRow> {
        let row = |hop: &Hop| {
            let sent = &self.packets[hop.packet as usize];
            HopRow {
                offered_ns: ns(hop.offered),
                leaves_ns: hop.left.map(ns).into(),
                ended_ns: hop.ended.map(ns).into(),
                pipe: pipe(hop.pipe as usize),
                dropped: hop.dropped.map_or("", DropReason::name).to_owned(),
                flow: scenario.flows[sent.flow as usize].name.clone(),
                direction: if sent.outward { "out" } else { "back" }.to_owned(),
                packet_number: sent.number.into(),
                kind: sent.kind.to_owned(),
                frame_bytes: sent.frame_bytes.into(),
                tos: hop.tos.into(),
                seq_bytes: sent.seq.into(),
                payload_bytes: sent.payload_bytes.into(),
                ack_bytes: sent.ack.into(),
                tcp_flags: sent.flags.names(),
                cause: cause(sent.cause).to_owned(),
            }
        };
        self.hops.iter().map(row).collect()
    }
}

fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::New => "",
        Cause::Fast => "fast",
        Cause::Timeout => "timeout",
        Cause::Probe => "probe",
    }
}

fn sent(packet: &Packet) -> Sent {
    let base = Sent {
        number: packet.number,
        flow: packet.flow,
        outward: packet.outward,
        kind: "",
        frame_bytes: packet.frame_bytes,
        payload_bytes: packet.payload_bytes(),
        seq: 0,
        ack: -1,
        flags: Flags::default(),
        cause: Cause::New,
    };
    match &packet.body {
        Body::Tcp(segment) => Sent {
            kind: if segment.payload_bytes > 0 { "tcp" } else { "ack" },
            seq: segment.seq,
            ack: segment.ack as i64,
            flags: segment.flags,
            cause: segment.cause,
            ..base
        },
        Body::Udp { datagram, .. } => Sent { kind: "udp", seq: *datagram, ..base },
        Body::Ping { number, .. } => Sent { kind: "ping", seq: *number, ..base },
        Body::Arp { .. } => base, // Not kept: it belongs to no flow.
    }
}
