//! Bytes that were acknowledged before the capture contains them: the capture missed them, or
//! recorded them after their ACK.

use std::collections::VecDeque;

/// Maximum number of ranges.
const RANGES_MAX: usize = 16;

#[derive(Clone, Copy, Debug)]
struct Range {
    start: i64,
    end: i64,
    /// Time of the acknowledgement.
    at_ns: i64,
}

/// Most recent ranges, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unseen {
    ranges: VecDeque<Range>,
}

impl Unseen {
    /// Adds acknowledged, unseen bytes; an empty range is ignored. Returns their number.
    pub(crate) fn add(&mut self, start: i64, end: i64, at_ns: i64) -> u64 {
        if start >= end {
            return 0;
        }
        if self.ranges.len() == RANGES_MAX {
            self.ranges.pop_front();
        }
        self.ranges.push_back(Range { start, end, at_ns });
        (end - start) as u64
    }

    /// Time of the acknowledgement of a position, if the position is unseen.
    pub(crate) fn since(&self, position: i64) -> Option<i64> {
        let holds = |range: &&Range| range.start <= position && position < range.end;
        self.ranges.iter().find(holds).map(|range| range.at_ns)
    }

    /// Returns true if any byte of the range is unseen.
    pub(crate) fn touches(&self, start: i64, end: i64) -> bool {
        self.ranges.iter().any(|range| range.start < end && start < range.end)
    }

    /// Removes bytes that now appear. Returns the number of them that were unseen.
    pub(crate) fn appear(&mut self, start: i64, end: i64) -> u64 {
        let mut found = 0;
        for range in &mut self.ranges {
            let (from, to) = (start.max(range.start), end.min(range.end));
            if from >= to {
                continue;
            }
            found += (to - from) as u64;
            // A range keeps only the larger part, before or after the bytes.
            if from - range.start >= range.end - to {
                range.end = from;
            } else {
                range.start = to;
            }
        }
        self.ranges.retain(|range| range.start < range.end);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_appears_is_unseen_no_more() {
        let mut unseen = Unseen::default();
        assert_eq!((unseen.add(5, 5, 0), unseen.add(10, 40, 7)), (0, 30));
        assert_eq!((unseen.since(10), unseen.since(40)), (Some(7), None));
        assert_eq!(unseen.appear(10, 20), 10);
        assert_eq!(unseen.appear(10, 20), 0);
        assert!(unseen.touches(15, 21) && !unseen.touches(10, 20));
        assert_eq!(unseen.appear(0, 100), 20);
        assert_eq!(unseen.since(25), None);
    }
}
