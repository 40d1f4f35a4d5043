//! Rows for all packets that pass the taps within an interval.

use crate::tcp::Flags;
use crate::{Body, Packet, Segment, Tap};
use dumbbell_model::scenario::{Scenario, Stretch};
use dumbbell_model::tables::{PacketRow, Table, PACKETS};
use dumbbell_model::Time;

/// Fields of TCP's header in a row.
struct Header {
    seq: u64,
    ack: u64,
    window_bytes: u32,
    flags: Flags,
    /// SACK blocks as text; empty for nearly all packets.
    sack: Box<str>,
}

/// A packet that passed a tap, without names and text: a run may keep millions.
struct Passed {
    at: Time,
    tap: u32,
    flow: u32,
    number: u64,
    frame_bytes: u32,
    payload_bytes: u32,
    tos: u8,
    outward: bool,
    header: Option<Header>,
}

/// Recorder of packets. Flow and tap are indices until [`TapPackets::table`].
pub struct TapPackets {
    stretch: Option<Stretch>,
    kept: Vec<Passed>,
}

impl TapPackets {
    /// Records packets within `stretch`; none if it is `None`.
    pub fn new(stretch: Option<Stretch>) -> Self {
        Self { stretch, kept: Vec::new() }
    }

    /// The table `packets`, in order of time. What was kept is freed.
    pub fn table(&mut self, scenario: &Scenario) -> Table {
        let mut kept = std::mem::take(&mut self.kept);
        kept.sort_by_key(|one| one.at.as_ns());
        let mut table = Table::new(&PACKETS);
        kept.into_iter().for_each(|one| one.row(scenario).append_to(&mut table));
        table
    }
}

impl Passed {
    fn row(self, scenario: &Scenario) -> PacketRow {
        let row = PacketRow {
            time_ns: self.at.as_ns().into(),
            tap: scenario.taps[self.tap as usize].name.clone(),
            flow: scenario.flows[self.flow as usize].name.clone(),
            direction: if self.outward { "out" } else { "back" }.to_owned(),
            packet_number: self.number.into(),
            frame_bytes: self.frame_bytes.into(),
            tos: self.tos.into(),
            payload_bytes: self.payload_bytes.into(),
            ..PacketRow::default()
        };
        let Some(header) = self.header else { return row };
        PacketRow {
            seq_bytes: header.seq.into(),
            ack_bytes: header.ack.into(),
            sack_ranges_bytes: header.sack.into(),
            tcp_flags: header.flags.names(),
            window_bytes: header.window_bytes.into(),
            ..row
        }
    }
}

impl Tap for TapPackets {
    fn frame(&mut self, at: Time, interface: usize, packet: &Packet) {
        let Some(Stretch { from, to }) = self.stretch else { return };
        let since = at.since(Time::ZERO);
        if since < from || since >= to || matches!(packet.body, Body::Arp { .. }) {
            return;
        }
        let header = match &packet.body {
            Body::Tcp(segment) => Some(Header {
                seq: segment.seq,
                ack: segment.ack,
                window_bytes: segment.window_bytes,
                flags: segment.flags,
                sack: blocks(segment).into(),
            }),
            Body::Udp { .. } | Body::Ping { .. } | Body::Arp { .. } => None,
        };
        self.kept.push(Passed {
            at,
            tap: interface as u32,
            flow: packet.flow,
            number: packet.number,
            frame_bytes: packet.frame_bytes,
            payload_bytes: packet.payload_bytes(),
            tos: packet.tos,
            outward: packet.outward,
            header,
        });
    }
}

fn blocks(segment: &Segment) -> String {
    let written: Vec<_> = segment
        .sack_blocks()
        .iter()
        .map(|block| format!("{}-{}", block.start, block.end))
        .collect();
    written.join(" ")
}
