//! Reordering of a flow at its receiver (RFC 4737), over the order of sending; a retransmission is
//! a new packet.

use std::collections::VecDeque;

/// Records kept for the search of the extent; extents beyond are counted as this many.
const RECORDS_MAX: usize = 4096;

#[derive(Clone, Debug, Default)]
pub(crate) struct Reorder {
    arrivals: u64,
    /// Arrival number and send number of each packet that was the latest sent so far.
    records: VecDeque<(u64, u64)>,
    pub(crate) reordered: u64,
    pub(crate) extent_sum: u64,
    pub(crate) extent_max: u64,
}

impl Reorder {
    /// Packet number `sent` (in order of sending) arrives.
    pub(crate) fn arrive(&mut self, sent: u64) {
        let arrival = self.arrivals;
        self.arrivals += 1;
        if self.records.back().is_none_or(|(_, latest)| sent > *latest) {
            if self.records.len() == RECORDS_MAX {
                self.records.pop_front();
            }
            self.records.push_back((arrival, sent));
            return;
        }
        // RFC 4737 §4.2.1: distance to the earliest arrival of a packet sent later.
        let index = self.records.partition_point(|(_, other)| *other <= sent);
        let extent = arrival - self.records[index.min(self.records.len() - 1)].0;
        self.reordered += 1;
        self.extent_sum += extent;
        self.extent_max = self.extent_max.max(extent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
