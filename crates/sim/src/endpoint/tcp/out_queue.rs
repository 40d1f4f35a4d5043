//! Segments of an endpoint on their way to the network.

use dumbbell_packet::Segment;

/// Segments to put on the wire, in order. Places are used again, so that a segment without SACK
/// blocks writes little memory ([`Segment::copy_to`]).
#[derive(Default)]
pub(crate) struct OutQueue {
    places: Vec<Segment>,
    count: usize,
}

impl OutQueue {
    #[inline]
    pub(crate) fn push(&mut self, segment: &Segment) {
        match self.places.get_mut(self.count) {
            Some(place) => segment.copy_to(place),
            None => self.places.push(*segment),
        }
        self.count += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    pub(crate) fn segments(&self) -> &[Segment] {
        &self.places[..self.count]
    }

    pub(crate) fn last_mut(&mut self) -> Option<&mut Segment> {
        self.places[..self.count].last_mut()
    }

    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }

    /// Moves the segments of another list to the end of this one.
    pub(crate) fn append(&mut self, other: &mut Self) {
        for segment in other.segments() {
            self.push(segment);
        }
        other.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(out: &OutQueue) -> Vec<u64> {
        out.segments().iter().map(|segment| segment.seq).collect()
    }

    #[test]
    fn places_are_used_again_and_the_order_is_kept() {
        let segment = |seq| Segment { seq, ..Segment::default() };
        let (mut out, mut other) = (OutQueue::default(), OutQueue::default());
        assert!(out.is_empty() && out.last_mut().is_none());
        (1..4).for_each(|seq| out.push(&segment(seq)));
        out.clear();
        assert!(out.is_empty() && out.last_mut().is_none());
        out.push(&segment(4));
        (5..7).for_each(|seq| other.push(&segment(seq)));
        out.append(&mut other);
        assert_eq!((sequence(&out), other.len()), (vec![4, 5, 6], 0));
        assert_eq!(out.last_mut().map(|last| last.seq), Some(6));
    }
}
