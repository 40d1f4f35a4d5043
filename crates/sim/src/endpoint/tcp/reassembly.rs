//! Out-of-order data (Linux's `out_of_order_queue`), as disjoint ranges.

use super::receive_buffer::{ReceivedSkb, SkbLayout};
use dumbbell_packet::SackBlock;

/// Skbs whose memory is kept while nothing is out of order.
const KEPT: usize = 8;

/// An skb and its byte range.
#[derive(Clone, Copy, Debug)]
struct Held {
    block: SackBlock,
    skb: ReceivedSkb,
}

/// Out-of-order data: disjoint, non-adjacent ranges in ascending order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    ranges: Vec<SackBlock>,
    bytes: u64,
    /// The skbs that hold these bytes, in ascending order.
    skbs: Vec<Held>,
    memory_bytes: u64,
}

impl Reassembly {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Number of bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// End of the last range.
    pub(crate) fn end(&self) -> Option<u64> {
        self.ranges.last().map(|range| range.end)
    }

    /// Memory of the skbs.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Returns true if a segment needs a new skb, false if it coalesces with the skb that ends at
    /// its start (`tcp_ooo_try_coalesce`).
    pub(crate) fn needs_skb(&self, layout: SkbLayout, new: SackBlock, skb: &ReceivedSkb) -> bool {
        let at = self.skbs.partition_point(|held| held.block.end < new.start);
        !self.skbs.get(at).is_some_and(|held| {
            // Merges into a copy.
            held.block.end == new.start && { held.skb }.merge(skb, layout.most_bytes())
        })
    }

    /// Returns true if one skb has all bytes of a segment.
    pub(crate) fn has_in_one_skb(&self, new: SackBlock) -> bool {
        let at = self.skbs.partition_point(|held| held.block.end < new.end);
        self.skbs.get(at).is_some_and(|held| held.block.start <= new.start)
    }

    /// Stores the new bytes of a segment, whose skb is `whole`, in skbs.
    fn fill_skbs(&mut self, layout: SkbLayout, new: SackBlock, whole: ReceivedSkb) {
        let mut start = new.start;
        let mut at = self.skbs.partition_point(|held| held.block.end <= start);
        while start < new.end {
            let next = self.skbs.get(at).map(|held| held.block);
            let end = next.map_or(new.end, |next| next.start.min(new.end));
            if start < end {
                let mut skb = whole.part(layout, start, end - start);
                let before = at.checked_sub(1).and_then(|before| self.skbs.get_mut(before));
                let memory_bytes = &mut self.memory_bytes;
                let fits = before
                    .filter(|held| held.block.end == start)
                    .is_some_and(|held| merged(held, &skb, layout.most_bytes(), memory_bytes));
                if !fits {
                    skb.condense();
                    self.memory_bytes += skb.memory_bytes;
                    self.skbs.insert(at, Held { block: SackBlock { start, end }, skb });
                    at += 1;
                }
            }
            start = next.map_or(new.end, |next| next.end);
            at += 1;
        }
    }

    /// Removes the first skb if it starts at or below `next`. Its byte count excludes bytes below
    /// `next`.
    pub(crate) fn take_skb(&mut self, next: u64) -> Option<ReceivedSkb> {
        self.skbs.first().filter(|first| first.block.start <= next)?;
        let Held { block, mut skb } = self.skbs.remove(0);
        if self.skbs.is_empty() && self.skbs.capacity() > KEPT {
            self.skbs = Vec::new();
        }
        self.memory_bytes -= skb.memory_bytes;
        skb.bytes = block.end.saturating_sub(next);
        Some(skb)
    }

    /// Inserts a segment with its skb. Returns the part that was already present, if any (RFC 2883).
    pub(crate) fn insert(
        &mut self,
        layout: SkbLayout,
        new: SackBlock,
        skb: ReceivedSkb,
    ) -> Option<SackBlock> {
        self.fill_skbs(layout, new, skb);
        // The first range that ends at or after the segment's start, and all ranges it touches.
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

    /// Removes the data that continues in order from `next`. Returns the new next byte, and the
    /// first data below `next` (a duplicate), if any.
    pub(crate) fn advance(&mut self, mut next: u64) -> (u64, Option<SackBlock>) {
        let mut duplicate = None;
        let mut taken = 0;
        for range in &self.ranges {
            if range.start > next {
                break;
            }
            if range.start < next {
                let block = SackBlock { start: range.start, end: range.end.min(next) };
                duplicate.get_or_insert(block);
            }
            next = next.max(range.end);
            self.bytes -= range.end - range.start;
            taken += 1;
        }
        self.ranges.drain(..taken);
        (next, duplicate)
    }
}

/// Coalesces a segment with the skb before it. Returns true on success, and updates `memory_bytes`.
fn merged(before: &mut Held, new: &ReceivedSkb, most_bytes: u64, memory_bytes: &mut u64) -> bool {
    let had = before.skb.memory_bytes;
    let fits = before.skb.merge(new, most_bytes);
    if fits {
        before.block.end += new.bytes;
        *memory_bytes += before.skb.memory_bytes - had;
    }
    fits
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
            let layout = SkbLayout::COPIED;
            for (start, length) in segments {
                let new = SackBlock { start, end: start + length };
                if start <= next {
                    next = next.max(new.end);
                    let (after, _) = reassembly.advance(next);
                    let mut taken = next;
                    while let Some(skb) = reassembly.take_skb(taken) {
                        taken += skb.bytes;
                    }
                    prop_assert_eq!(taken, after);
                    while held.contains(&next) { next += 1; }
                    held = held.split_off(&next);
                    prop_assert_eq!(after, next);
                } else {
                    let known = (new.start..new.end).filter(|b| held.contains(b)).count();
                    let skb = ReceivedSkb::arriving(layout, new.start, new.end - new.start);
                    let overlap = reassembly.insert(layout, new, skb);
                    prop_assert_eq!(overlap.is_some(), known > 0);
                    held.extend(new.start..new.end);
                }
                prop_assert_eq!(reassembly.bytes(), held.len() as u64);
                let held_in = &reassembly.skbs;
                let buffered = held_in.iter().map(|b| b.block.end - b.block.start).sum::<u64>();
                let memory = held_in.iter().map(|b| b.skb.memory_bytes).sum::<u64>();
                prop_assert_eq!(reassembly.memory_bytes(), memory);
                prop_assert_eq!(buffered, held.len() as u64);
                prop_assert!(reassembly.skbs.windows(2).all(|w| w[0].block.end <= w[1].block.start));
                prop_assert!(reassembly.ranges.windows(2).all(|w| w[0].end < w[1].start));
            }
        }
    }
}
