//! Bytes that arrived out of order (Linux's `out_of_order_queue`), as disjoint ranges.

use dumbbell_packet::SackBlock;

/// Disjoint, non-adjacent ranges in ascending order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    ranges: Vec<SackBlock>,
    bytes: u64,
}

impl Reassembly {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Ranges held.
    pub(crate) fn ranges(&self) -> usize {
        self.ranges.len()
    }

    /// Inserts a segment; returns what of it was there already, if anything (RFC 2883).
    pub(crate) fn insert(&mut self, new: SackBlock) -> Option<SackBlock> {
        // The first range that ends at or after the segment's start, and all it touches.
        let first = self.ranges.partition_point(|range| range.end < new.start);
        let mut end = first;
        let mut merged = new;
        let mut overlap: Option<SackBlock> = None;
        while let Some(range) = self.ranges.get(end).filter(|range| range.start <= new.end) {
            let common =
                SackBlock { start: range.start.max(new.start), end: range.end.min(new.end) };
            if common.start < common.end {
                overlap = Some(match overlap {
                    None => common,
                    Some(seen) => SackBlock { start: seen.start, end: common.end },
                });
            }
            merged.start = merged.start.min(range.start);
            merged.end = merged.end.max(range.end);
            self.bytes -= range.end - range.start;
            end += 1;
        }
        self.bytes += merged.end - merged.start;
        self.ranges.splice(first..end, [merged]);
        overlap
    }

    /// `next` is the next byte in order: takes out what follows it without a gap and returns the
    /// new next byte, and what was held below `next` (a duplicate) if anything.
    pub(crate) fn advance(&mut self, mut next: u64) -> (u64, Option<SackBlock>) {
        let mut duplicate = None;
        let mut taken = 0;
        for range in &self.ranges {
            if range.start > next {
                break;
            }
            if range.start < next {
                duplicate = Some(SackBlock { start: range.start, end: range.end.min(next) });
            }
            next = next.max(range.end);
            self.bytes -= range.end - range.start;
            taken += 1;
        }
        self.ranges.drain(..taken);
        (next, duplicate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_a_set_of_bytes(segments in prop::collection::vec((0u64..60, 1u64..12), 1..60)) {
            let mut reassembly = Reassembly::default();
            let mut held = std::collections::BTreeSet::new();
            let mut next = 0u64;
            for (start, length) in segments {
                let new = SackBlock { start, end: start + length };
                if start <= next {
                    next = next.max(new.end);
                    let (after, _) = reassembly.advance(next);
                    while held.contains(&next) { next += 1; }
                    held = held.split_off(&next);
                    prop_assert_eq!(after, next);
                } else {
                    let known = (new.start..new.end).filter(|b| held.contains(b)).count();
                    let overlap = reassembly.insert(new);
                    prop_assert_eq!(overlap.is_some(), known > 0);
                    held.extend(new.start..new.end);
                }
                prop_assert_eq!(reassembly.bytes(), held.len() as u64);
                prop_assert!(reassembly.ranges.windows(2).all(|w| w[0].end < w[1].start));
            }
        }
    }
}
