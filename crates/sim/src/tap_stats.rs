//! What the tap of a flow counts, as a capture there would show it: RTT from a data segment to the
//! first cumulative ACK of its last byte (never-retransmitted segments only), SACK blocks, ACKs
//! that carry any, retransmissions.

use dumbbell_model::Time;
use dumbbell_packet::{Packet, Segment, Tap};
use std::collections::VecDeque;

/// A data segment seen and not yet acknowledged.
#[derive(Clone, Copy, Debug)]
struct Seen {
    start: u64,
    end: u64,
    at: Time,
    again: bool,
}

/// Counters of one flow at its tap.
#[derive(Clone, Debug, Default)]
pub(crate) struct TapStats {
    pub(crate) data_packets: u64,
    pub(crate) retransmissions: u64,
    pub(crate) rtt_samples: u64,
    pub(crate) rtt_ps: u128,
    pub(crate) rtt_min_ps: u64,
    pub(crate) rtt_max_ps: u64,
    pub(crate) acks: u64,
    pub(crate) acks_with_sack: u64,
    pub(crate) sack_blocks: u64,
    acked: u64,
    unacked: VecDeque<Seen>,
}

impl TapStats {
    fn data(&mut self, at: Time, segment: &Segment) {
        self.data_packets += 1;
        let (start, end) = (segment.seq, segment.end());
        if self.unacked.back().is_none_or(|last| last.end <= start) && start >= self.acked {
            self.unacked.push_back(Seen { start, end, at, again: false });
            return;
        }
        if start < self.acked {
            self.retransmissions += 1;
            return;
        }
        // Out of order here: seen before, or for the first time?
        let index = self.unacked.partition_point(|seen| seen.end <= start);
        match self.unacked.get_mut(index) {
            Some(seen) if seen.start <= start => {
                seen.again = true;
                self.retransmissions += 1;
            }
            _ => self.unacked.insert(index, Seen { start, end, at, again: false }),
        }
    }

    fn ack(&mut self, at: Time, segment: &Segment) {
        self.acks += 1;
        self.sack_blocks += u64::from(segment.sack_count);
        self.acks_with_sack += u64::from(segment.sack_count > 0);
        self.acked = self.acked.max(segment.ack);
        while let Some(seen) = self.unacked.front().filter(|seen| seen.end <= segment.ack).copied()
        {
            self.unacked.pop_front();
            if !seen.again {
                let rtt = at.since(seen.at).as_ps();
                self.rtt_ps += u128::from(rtt);
                self.rtt_min_ps =
                    if self.rtt_samples == 0 { rtt } else { self.rtt_min_ps.min(rtt) };
                self.rtt_max_ps = self.rtt_max_ps.max(rtt);
                self.rtt_samples += 1;
            }
        }
    }
}

/// All taps of a run: each flow is counted at the first tap that saw its data.
pub(crate) struct Taps {
    flows: Vec<(Option<usize>, TapStats)>,
}

impl Taps {
    pub(crate) fn new(flows: usize) -> Self {
        Self { flows: vec![(None, TapStats::default()); flows] }
    }

    /// The tap of a flow and what it counted.
    pub(crate) fn of(&self, flow: usize) -> (Option<usize>, &TapStats) {
        let (tap, stats) = &self.flows[flow];
        (*tap, stats)
    }
}

impl Tap for Taps {
    fn frame(&mut self, at: Time, interface: usize, packet: &Packet) {
        let dumbbell_packet::Body::Tcp(segment) = &packet.body else { return };
        let (tap, stats) = &mut self.flows[packet.flow as usize];
        let has_data = segment.payload_bytes > 0;
        if *tap.get_or_insert(interface) != interface {
            return;
        }
        if has_data {
            stats.data(at, segment);
        } else if !packet.outward && !segment.flags.syn {
            stats.ack(at, segment);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_packet::Body;

    fn packet(outward: bool, segment: Segment) -> Packet {
        Packet { flow: 0, outward, frame_bytes: 0, number: 0, body: Body::Tcp(segment) }
    }

    #[test]
    fn a_sack_does_not_end_an_rtt_and_a_retransmission_spoils_it() {
        let mut taps = Taps::new(1);
        let data = |seq| packet(true, Segment { seq, payload_bytes: 100, ..Segment::default() });
        let at = |ms: u64| Time::from_ns(ms * 1_000_000);
        taps.frame(at(0), 0, &data(0));
        taps.frame(at(1), 0, &data(100));
        let mut sack = Segment { sack_count: 1, ..Segment::default() };
        sack.sack[0] = dumbbell_packet::SackBlock { start: 100, end: 200 };
        taps.frame(at(10), 0, &packet(false, sack));
        taps.frame(at(11), 0, &data(0));
        taps.frame(at(21), 0, &packet(false, Segment { ack: 200, ..Segment::default() }));
        let (_, stats) = taps.of(0);
        assert_eq!((stats.rtt_samples, stats.rtt_min_ps), (1, 20_000_000_000));
        assert_eq!((stats.retransmissions, stats.data_packets), (1, 3));
        assert_eq!((stats.sack_blocks, stats.acks_with_sack, stats.acks), (1, 1, 2));
    }

    #[test]
    fn reordering_before_the_tap_is_no_retransmission() {
        let mut taps = Taps::new(1);
        for seq in [0, 200, 100] {
            let segment = Segment { seq, payload_bytes: 100, ..Segment::default() };
            taps.frame(Time::ZERO, 0, &packet(true, segment));
        }
        assert_eq!(taps.of(0).1.retransmissions, 0);
    }
}
