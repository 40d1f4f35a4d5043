//! Bytes of a stream that passed the tap and are not yet acknowledged, as segments in order.

use std::collections::VecDeque;

/// Maximum number of segments of a stream with ACKs in the capture.
const SEGMENTS_MAX: usize = 1 << 17;
/// Maximum number of segments of a stream without ACKs, where no segment would ever be removed.
const SEGMENTS_UNACKNOWLEDGED_MAX: usize = 512;

/// Range of bytes, with the segment that contained it first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Position of the first byte.
    pub start: i64,
    /// Position behind the last.
    pub end: i64,
    /// Time of the first capture.
    pub first_ns: i64,
    /// Time of the last capture.
    pub last_ns: i64,
    /// Timestamp value of the first segment; 0 if absent.
    pub tsval: u32,
    /// IP identification of the first segment; 0 if absent.
    pub identification: u16,
    /// True if the range passed more than once.
    pub repeated: bool,
    /// True if the first capture of the range was already a retransmission.
    pub retransmitted: bool,
    /// True if the range is only a FIN.
    pub bare: bool,
}

/// Disjoint ranges in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    segments: VecDeque<Seen>,
    /// End of the ranges that were evicted before they were acknowledged.
    forgotten: Option<i64>,
}

impl Sent {
    /// Appends a segment behind all others.
    pub(crate) fn append(&mut self, seen: Seen, acknowledged: bool) {
        let most = if acknowledged { SEGMENTS_MAX } else { SEGMENTS_UNACKNOWLEDGED_MAX };
        if self.segments.len() >= most {
            self.forgotten = self.segments.pop_front().map(|seen| seen.end).or(self.forgotten);
        }
        self.segments.push_back(seen);
    }

    /// Removes and returns the first range if it ends at or before `position`.
    pub(crate) fn acknowledged(&mut self, position: i64) -> Option<Seen> {
        if self.segments.front()?.end > position {
            return None;
        }
        self.segments.pop_front()
    }

    /// Start of the first range.
    pub(crate) fn first_start(&self) -> Option<i64> {
        self.segments.front().map(|seen| seen.start)
    }

    /// End of the evicted ranges; `i64::MIN` without any.
    pub(crate) fn forgotten(&self) -> i64 {
        self.forgotten.unwrap_or(i64::MIN)
    }

    /// Returns true if the position was seen and its range evicted.
    pub(crate) fn is_forgotten(&self, position: i64) -> bool {
        self.forgotten.is_some_and(|end| position < end)
    }

    /// Range that contains a position.
    pub(crate) fn at(&self, position: i64) -> Option<&Seen> {
        let index = self.segments.partition_point(|seen| seen.end <= position);
        self.segments.get(index).filter(|seen| seen.start <= position)
    }

    /// Ranges that start behind a position.
    pub(crate) fn behind(&self, position: i64) -> impl Iterator<Item = &Seen> {
        let index = self.segments.partition_point(|seen| seen.end <= position);
        self.segments.range(index..).filter(move |seen| seen.start > position)
    }

    /// Inserts a segment that is not behind all others. Existing ranges are marked as repeated,
    /// missing bytes are filled in. Returns the number of bytes filled in.
    pub(crate) fn fill(&mut self, segment: Seen) -> i64 {
        let mut index = self.segments.partition_point(|seen| seen.end <= segment.start);
        let (mut position, mut filled) = (segment.start.max(self.forgotten()), 0);
        while position < segment.end {
            match self.segments.get_mut(index) {
                Some(seen) if seen.start <= position => {
                    seen.repeated = true;
                    seen.last_ns = segment.last_ns;
                    position = seen.end;
                }
                next => {
                    let end = next.map_or(segment.end, |seen| seen.start.min(segment.end));
                    if self.segments.len() < SEGMENTS_MAX {
                        self.segments.insert(index, Seen { start: position, end, ..segment });
                    }
                    filled += end - position;
                    position = end;
                }
            }
            index += 1;
        }
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(start: i64, end: i64) -> Seen {
        Seen {
            start,
            end,
            first_ns: 0,
            last_ns: 0,
            tsval: 0,
            identification: 0,
            repeated: false,
            retransmitted: false,
            bare: false,
        }
    }

    #[test]
    fn holes_are_filled_and_the_rest_is_marked() {
        let mut sent = Sent::default();
        for (start, end) in [(0, 10), (20, 30), (40, 50)] {
            sent.append(seen(start, end), true);
        }
        assert_eq!(sent.fill(seen(5, 45)), 20);
        let all: Vec<_> = sent.segments.iter().map(|s| (s.start, s.end, s.repeated)).collect();
        let expected =
            [(0, 10, true), (10, 20, false), (20, 30, true), (30, 40, false), (40, 50, true)];
        assert_eq!(all, expected);
        assert!(sent.at(15).is_some_and(|seen| seen.start == 10));
        assert_eq!(sent.behind(25).next().map(|seen| seen.start), Some(30));
        assert_eq!(sent.acknowledged(9).map(|seen| seen.end), None);
        assert_eq!(sent.acknowledged(10).map(|seen| seen.end), Some(10));
    }

    #[test]
    fn without_acknowledgements_little_is_kept() {
        let mut sent = Sent::default();
        for start in 0..10_000 {
            sent.append(seen(start, start + 1), false);
        }
        assert_eq!(sent.segments.len(), SEGMENTS_UNACKNOWLEDGED_MAX);
    }
}
