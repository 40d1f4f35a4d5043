//! Reordering of a flow at its receiver (RFC 4737), relative to the order of sending. A retransmission
//! is a new packet.

use std::collections::VecDeque;

/// Packets kept for the search of the extent; longer extents count as this many.
const RECORDS_MAX: u64 = 4096;

/// Packets that arrived in the order of sending, each the latest sent so far.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Arrival number and send number of the first.
    arrival: u64,
    sent: u64,
    packets: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Reorder {
    arrivals: u64,
    /// Packets that were the latest sent so far when they arrived.
    runs: VecDeque<Run>,
    /// Number of these packets.
    records: u64,
    pub(crate) reordered: u64,
    pub(crate) extent_sum: u64,
    pub(crate) extent_max: u64,
}

impl Reorder {
    /// Packet number `sent` (in order of sending) arrives.
    pub(crate) fn arrive(&mut self, sent: u64) {
        let arrival = self.arrivals;
        self.arrivals += 1;
        let next = self.runs.back().map_or(0, |run| run.sent + run.packets);
        if sent < next {
            self.late(arrival, sent);
            return;
        }
        if self.records == RECORDS_MAX {
            self.forget_first();
        }
        self.records += 1;
        match self.runs.back_mut() {
            Some(run) if sent == next && arrival == run.arrival + run.packets => run.packets += 1,
            _ => self.runs.push_back(Run { arrival, sent, packets: 1 }),
        }
    }

    fn forget_first(&mut self) {
        self.records -= 1;
        let Some(Run { arrival, sent, packets }) = self.runs.pop_front() else { return };
        if packets > 1 {
            self.runs.push_front(Run {
                arrival: arrival + 1,
                sent: sent + 1,
                packets: packets - 1,
            });
        }
    }

    /// RFC 4737 §4.2.1: the extent is the distance to the earliest arrival of a packet sent later.
    fn late(&mut self, arrival: u64, sent: u64) {
        let index = self.runs.partition_point(|run| run.sent + run.packets - 1 <= sent);
        // Of a duplicate of the latest: the arrival of the latest.
        let run = self.runs[index.min(self.runs.len() - 1)];
        let within = (sent + 1).saturating_sub(run.sent).min(run.packets - 1);
        let extent = arrival - (run.arrival + within);
        self.reordered += 1;
        self.extent_sum += extent;
        self.extent_max = self.extent_max.max(extent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every packet kept by itself, searched from the first.
    fn extents(sent: &[u64]) -> (u64, u64, u64) {
        let (mut reordered, mut max, mut sum) = (0, 0, 0);
        let mut latest: Vec<(usize, u64)> = Vec::new();
        for (arrival, &number) in sent.iter().enumerate() {
            let kept = &latest[latest.len().saturating_sub(RECORDS_MAX as usize)..];
            match kept.iter().find(|(_, other)| *other > number) {
                None if latest.last().is_none_or(|(_, other)| number > *other) => {
                    latest.push((arrival, number));
                }
                earliest => {
                    let last = kept.last().map_or(arrival, |(at, _)| *at);
                    let extent = (arrival - earliest.map_or(last, |(at, _)| *at)) as u64;
                    (reordered, max, sum) = (reordered + 1, max.max(extent), sum + extent);
                }
            }
        }
        (reordered, max, sum)
    }

    proptest! {
        #[test]
        fn runs_keep_what_single_packets_would(
            keys in prop::collection::vec(0u64..40, 1..300), scale in 1u64..40, gap in 0u64..3, copies in 0u64..9,
        ) {
            // Packets sent in turn, each held back by a random time; numbers may leave gaps.
            let mut order: Vec<u64> = (0..keys.len() as u64).collect();
            order.sort_by_key(|&n| n * 40 / scale + keys[n as usize]);
            let number = |n: u64| n.saturating_sub(u64::from(n % 10 < copies)) + n / 7 * gap;
            let sent: Vec<u64> = order.into_iter().map(number).collect();
            let mut reorder = Reorder::default();
            sent.iter().for_each(|&number| reorder.arrive(number));
            let found = (reorder.reordered, reorder.extent_max, reorder.extent_sum);
            prop_assert_eq!(found, extents(&sent));
        }
    }

    #[test]
    fn what_lies_too_far_back_is_forgotten() {
        // Packet 0 comes behind 5000 others, of which 4096 are kept.
        let sent: Vec<u64> = (1..=5000).chain([0, 3000]).collect();
        let mut reorder = Reorder::default();
        sent.iter().for_each(|&number| reorder.arrive(number));
        let found = (reorder.reordered, reorder.extent_max, reorder.extent_sum);
        assert_eq!(found, extents(&sent));
        assert_eq!(found, (2, 4096, 4096 + 2001));
    }

    #[test]
    fn the_examples_of_rfc_4737() {
        // §7.1: packet 4 arrives after 5 to 9... here: s = 1 2 3 7 8 9 10 4 5 6 11.
        let mut reorder = Reorder::default();
        for sent in [1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11] {
            reorder.arrive(sent);
        }
        assert_eq!((reorder.reordered, reorder.extent_max, reorder.extent_sum), (3, 6, 4 + 5 + 6));
    }
}
