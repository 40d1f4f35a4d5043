//! Rows for all packets that pass the taps within an interval.

use crate::{Body, Packet, Segment, Tap};
use dumbbell_model::scenario::{Scenario, Stretch};
use dumbbell_model::tables::PacketRow;
use dumbbell_model::Time;

/// Recorder of packets. Rows refer to flow and tap by index until [`TapPackets::rows`].
pub struct TapPackets {
    stretch: Option<Stretch>,
    kept: Vec<(usize, u32, PacketRow)>,
}

impl TapPackets {
    /// Records packets within `stretch`; none if it is `None`.
    pub fn new(stretch: Option<Stretch>) -> Self {
        Self { stretch, kept: Vec::new() }
    }

    /// Rows with names, in order of time.
    pub fn rows(&mut self, scenario: &Scenario) -> Vec<PacketRow> {
        let named = |(tap, flow, row): (usize, u32, PacketRow)| PacketRow {
            tap: scenario.taps[tap].name.clone(),
            flow: scenario.flows[flow as usize].name.clone(),
            ..row
        };
        let mut rows: Vec<_> = std::mem::take(&mut self.kept).into_iter().map(named).collect();
        rows.sort_by_key(|row| row.time_ns.stored());
        rows
    }
}

impl Tap for TapPackets {
    fn frame(&mut self, at: Time, interface: usize, packet: &Packet) {
        let Some(Stretch { from, to }) = self.stretch else { return };
        let since = at.since(Time::ZERO);
        if since < from || since >= to || matches!(packet.body, Body::Arp { .. }) {
            return;
        }
        let row = PacketRow {
            time_ns: at.as_ns().into(),
            direction: if packet.outward { "out" } else { "back" }.to_owned(),
            packet_number: packet.number.into(),
            frame_bytes: packet.frame_bytes.into(),
            tos: packet.tos.into(),
            payload_bytes: packet.payload_bytes().into(),
            ..PacketRow::default()
        };
        let row = match &packet.body {
            Body::Tcp(segment) => PacketRow {
                seq_bytes: segment.seq.into(),
                ack_bytes: segment.ack.into(),
                sack_ranges_bytes: blocks(segment),
                tcp_flags: segment.flags.names(),
                window_bytes: segment.window_bytes.into(),
                ..row
            },
            Body::Udp { .. } | Body::Ping { .. } | Body::Arp { .. } => row,
        };
        self.kept.push((interface, packet.flow, row));
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
