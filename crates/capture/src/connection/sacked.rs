//! Bytes of a stream that are SACKed (RFC 2018) and not yet cumulatively acknowledged.

/// Maximum number of ranges; a receiver reports at most four per ACK.
const RANGES_MAX: usize = 1024;

/// Disjoint ranges in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sacked {
    ranges: Vec<(i64, i64)>,
    bytes: i64,
}

impl Sacked {
    /// Adds a SACK block.
    pub(crate) fn add(&mut self, start: i64, end: i64) {
        if start >= end {
            return;
        }
        // Ranges that touch the block.
        let from = self.ranges.partition_point(|range| range.1 < start);
        let to = self.ranges.partition_point(|range| range.0 <= end);
        let touched = &self.ranges[from..to];
        let first = touched.first().map_or(start, |range| range.0.min(start));
        let last = touched.last().map_or(end, |range| range.1.max(end));
        let before: i64 = touched.iter().map(|range| range.1 - range.0).sum();
        if touched.is_empty() && self.ranges.len() == RANGES_MAX {
            return;
        }
        self.bytes += last - first - before;
        self.ranges.splice(from..to, [(first, last)]);
    }

    /// Removes all bytes before a cumulatively acknowledged position.
    pub(crate) fn acknowledged(&mut self, position: i64) {
        let whole = self.ranges.partition_point(|range| range.1 <= position);
        self.bytes -= self.ranges.drain(..whole).map(|range| range.1 - range.0).sum::<i64>();
        if let Some(first) = self.ranges.first_mut().filter(|range| range.0 < position) {
            self.bytes -= position - first.0;
            first.0 = position;
        }
    }

    /// Number of bytes.
    pub(crate) fn bytes(&self) -> i64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_are_those_of_a_set(
            steps in proptest::collection::vec((0_i64..60, 0_i64..20, proptest::bool::ANY), 0..60),
        ) {
            let (mut sacked, mut set) = (Sacked::default(), std::collections::BTreeSet::new());
            let mut acked = 0;
            for (at, length, acknowledges) in steps {
                if acknowledges {
                    acked = acked.max(at);
                    sacked.acknowledged(acked);
                    set.retain(|byte| *byte >= acked);
                } else if at >= acked {
                    sacked.add(at, at + length);
                    set.extend(at..at + length);
                }
                prop_assert_eq!(sacked.bytes(), set.len() as i64);
                let apart = sacked.ranges.windows(2).all(|pair| pair[0].1 < pair[1].0);
                prop_assert!(apart);
            }
        }
    }
}
