//! What the tap of a flow counts, as a capture there would show it: RTT from a data segment to the
//! first cumulative ACK of its last byte (never-retransmitted segments only), SACK blocks, ACKs
//! that carry any, retransmissions.

use crate::{Body, Packet, Segment, Tap};
use dumbbell_model::scenario;
use dumbbell_model::tables::FlowRow;
use dumbbell_model::Time;
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
struct TapStats {
    data_packets: u64,
    retransmissions: u64,
    rtt_samples: u64,
    rtt_ps: u128,
    rtt_min_ps: u64,
    rtt_max_ps: u64,
    acks: u64,
    acks_with_sack: u64,
    sack_blocks: u64,
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
pub struct Taps {
    flows: Vec<(Option<usize>, TapStats)>,
}

impl Taps {
    /// For so many flows.
    pub fn new(flows: usize) -> Self {
        Self { flows: vec![(None, TapStats::default()); flows] }
    }

    /// The columns `tap…` of a flow's row; `taps` are those of the scenario.
    pub fn fill(&self, row: &mut FlowRow, flow: usize, taps: &[scenario::Tap]) {
        let (tap, stats) = &self.flows[flow];
        let sampled = stats.rtt_samples > 0;
        let ns = |ps: u64| if sampled { (ps / 1000) as i64 } else { -1 };
        row.tap = tap.map_or_else(String::new, |tap| taps[tap].name.clone());
        row.tap_data_packets = stats.data_packets as i64;
        row.tap_retransmissions = stats.retransmissions as i64;
        row.tap_rtt_samples = stats.rtt_samples as i64;
        row.tap_rtt_mean_ns = match stats.rtt_samples {
            0 => f64::NAN,
            samples => stats.rtt_ps as f64 / 1000.0 / samples as f64,
        };
        row.tap_rtt_min_ns = ns(stats.rtt_min_ps);
        row.tap_rtt_max_ns = ns(stats.rtt_max_ps);
        row.tap_acks = stats.acks as i64;
        row.tap_acks_with_sack = stats.acks_with_sack as i64;
        row.tap_sack_blocks = stats.sack_blocks as i64;
    }
}

impl Tap for Taps {
    fn frame(&mut self, at: Time, interface: usize, packet: &Packet) {
        let Body::Tcp(segment) = &packet.body else { return };
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
        sack.sack[0] = crate::SackBlock { start: 100, end: 200 };
        taps.frame(at(10), 0, &packet(false, sack));
        taps.frame(at(11), 0, &data(0));
        taps.frame(at(21), 0, &packet(false, Segment { ack: 200, ..Segment::default() }));
        let (_, stats) = &taps.flows[0];
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
        assert_eq!(taps.flows[0].1.retransmissions, 0);
    }
}
