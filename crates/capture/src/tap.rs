//! Analysis during a run: counters of a flow's tap, as a capture at the tap would give them.

use crate::connection::{Connection, PacketInfo};
use crate::tcp_header::{TcpFlags, TcpHeader};
use dumbbell_model::scenario;
use dumbbell_model::tables::{FlowRow, Int};
use dumbbell_model::Time;
use dumbbell_packet::tcp::Syn;
use dumbbell_packet::{Body, Packet, Tap};

/// Connection of a flow at the first tap that saw it.
#[derive(Debug)]
struct Tapped {
    tap: usize,
    connection: Box<Connection>,
}

/// Frames that are analysed together: the analysis and the simulation do not fit the nearest cache for
/// code at once.
const BATCH: usize = 32;

/// All taps of a run. Each flow counts at the first tap that saw it.
#[derive(Debug)]
pub struct Taps {
    /// Frames to be analysed: time, tap, packet.
    seen: Vec<(Time, usize, Packet)>,
    flows: Vec<Option<Tapped>>,
    frames: u64,
    proved: Vec<u64>,
}

impl Taps {
    /// State for `flows` flows.
    pub fn new(flows: usize) -> Self {
        Self {
            seen: Vec::with_capacity(BATCH),
            flows: (0..flows).map(|_| None).collect(),
            frames: 0,
            proved: Vec::new(),
        }
    }

    /// Fills the `tap…` columns of a flow's row; unknown if no tap saw the flow. `taps` are the
    /// scenario's.
    pub fn fill(&mut self, row: &mut FlowRow, flow: usize, taps: &[scenario::Tap]) {
        self.analyse_seen();
        let Some(Tapped { tap, connection }) = &self.flows[flow] else { return };
        row.tap = taps[*tap].name.clone();
        let [from, to] = &connection.sides;
        row.tap_acks = to.acks.into();
        row.tap_acks_with_sack = to.acks_with_sack.into();
        row.tap_sack_blocks = to.sack_blocks.into();
        let Some(stream) = &from.stream else {
            let none = Int::from(0_u64);
            (row.tap_data_packets, row.tap_retransmissions, row.tap_rtt_samples) =
                (none, none, none);
            return;
        };
        row.tap_data_packets = stream.counters.data_packets.into();
        row.tap_retransmissions = stream.counters.retransmitted.iter().sum::<u64>().into();
        row.tap_rtt_samples = stream.rtt.samples.into();
        if let Some(mean_ns) = stream.rtt.mean_ns() {
            row.tap_rtt_mean_ns = mean_ns.into();
            row.tap_rtt_min_ns = stream.rtt.min_ns.into();
            row.tap_rtt_max_ns = stream.rtt.max_ns.into();
        }
    }
}

impl Tap for Taps {
    fn frame(&mut self, at: Time, interface: usize, packet: &Packet) {
        self.seen.push((at, interface, *packet));
        if self.seen.len() == BATCH {
            self.analyse_seen();
        }
    }
}

impl Taps {
    #[inline(never)]
    fn analyse_seen(&mut self) {
        let mut seen = std::mem::take(&mut self.seen);
        for (at, interface, packet) in seen.drain(..) {
            self.analyse(at, interface, &packet);
        }
        self.seen = seen;
    }

    fn analyse(&mut self, at: Time, interface: usize, packet: &Packet) {
        let Body::Tcp(segment) = &packet.body else { return };
        let tapped = self.flows[packet.flow as usize].get_or_insert_with(|| Tapped {
            tap: interface,
            connection: Box::new(Connection::at(interface as u32)),
        });
        if tapped.tap != interface {
            return;
        }
        self.frames += 1;
        let info = PacketInfo {
            now_ns: at.as_ns() as i64,
            frame: self.frames,
            wire_bytes: packet.frame_bytes,
            // The simulator's packet number counts like the identification of a connected socket.
            identification: Some(packet.number as u16),
            congestion: packet.tos & 3 == 3,
            ..PacketInfo::default()
        };
        self.proved.clear();
        let side = usize::from(!packet.outward);
        tapped.connection.packet(side, &info, &header(segment), &mut self.proved);
    }
}

/// Converts a simulator segment to a TCP header. Initial sequence numbers are -1, so streams start
/// at 0.
fn header(segment: &dumbbell_packet::Segment) -> TcpHeader {
    let flags = segment.flags;
    let acknowledges = flags.syn != Syn::Opens && !flags.rst;
    let bits = u16::from(flags.fin)
        | u16::from(flags.is_syn()) << 1
        | u16::from(flags.rst) << 2
        | u16::from(flags.psh) << 3
        | u16::from(acknowledges) << 4
        | u16::from(flags.ace) << 6;
    let mut header = TcpHeader {
        sequence: if flags.is_syn() { u32::MAX } else { segment.seq as u32 },
        acknowledgement: segment.ack as u32,
        flags: TcpFlags(bits),
        window: segment.window_bytes.min(u32::from(u16::MAX)) as u16,
        payload_bytes: segment.payload_bytes,
        sack_permitted: flags.is_syn() && segment.permits_sack(),
        timestamps: segment.timestamps.then_some((segment.tsval_ms, segment.tsecr_ms)),
        sack_count: segment.entries.blocks() as u8,
        ..TcpHeader::default()
    };
    for (block, range) in header.sack.iter_mut().zip(segment.sack_blocks()) {
        *block = (range.start as u32, range.end as u32);
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_packet::{SackBlock, Segment};

    fn packet(number: u64, outward: bool, segment: Segment) -> Packet {
        Packet { flow: 0, outward, tos: 0, frame_bytes: 0, number, body: Body::Tcp(segment) }
    }

    #[test]
    fn a_sack_does_not_end_an_rtt_and_a_retransmission_spoils_it() {
        let mut taps = Taps::new(1);
        let data = |number, seq| {
            packet(number, true, Segment { seq, payload_bytes: 100, ..Segment::default() })
        };
        let at = |ms: u64| Time::from_ns(ms * 1_000_000);
        taps.frame(at(0), 0, &data(0, 0));
        taps.frame(at(1), 0, &data(1, 100));
        let mut sack = Segment::default();
        sack.push_sack(SackBlock { start: 100, end: 200 });
        taps.frame(at(10), 0, &packet(0, false, sack));
        taps.frame(at(12), 0, &data(2, 0));
        taps.frame(at(12), 7, &data(2, 0));
        let ack = Segment { ack: 200, ..Segment::default() };
        taps.frame(at(31), 0, &packet(1, false, ack));
        let mut row = FlowRow::default();
        let tap = scenario::Tap { name: "t".to_owned(), ..tap() };
        taps.fill(&mut row, 0, &[tap]);
        let count = |value: Int| value.get();
        assert_eq!([row.tap_data_packets, row.tap_retransmissions].map(count), [Some(3), Some(1)]);
        assert_eq!([row.tap_rtt_samples, row.tap_rtt_min_ns].map(count), [1, 30_000_000].map(Some));
        assert_eq!(
            [row.tap_acks, row.tap_acks_with_sack, row.tap_sack_blocks].map(count),
            [2, 1, 1].map(Some)
        );
    }

    fn tap() -> scenario::Tap {
        let text = r#"{"name": "t", "node": "n", "link": "l"}"#;
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}"))
    }
}
