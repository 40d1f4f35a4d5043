//! Mapping of subflow bytes to bytes of the connection (RFC 8684 §3.3.1).

use std::collections::VecDeque;

/// Range of subflow bytes that is contiguous in the connection's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// First byte in the subflow's sequence space.
    seq: u64,
    /// First byte in the connection's sequence space.
    pub(crate) dsn: u64,
    pub(crate) bytes: u64,
}

impl Mapping {
    fn end(&self) -> u64 {
        self.seq + self.bytes
    }

    /// Returns true if `next` follows in both sequence spaces.
    fn continues_with(&self, next: &Self) -> bool {
        self.end() == next.seq && self.dsn + self.bytes == next.dsn
    }
}

/// Disjoint mappings in order of the subflow's sequence space. No mapping continues the previous one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mappings(VecDeque<Mapping>);

impl Mappings {
    /// Adds a mapping. Bytes that are mapped keep their mapping.
    pub(crate) fn insert(&mut self, seq: u64, dsn: u64, bytes: u64) {
        let end = seq + bytes;
        let mut from = seq;
        let mut at = self.0.partition_point(|known| known.end() <= seq);
        while from < end {
            let next = self.0.get(at).copied();
            if let Some(known) = next.filter(|known| known.seq <= from) {
                from = known.end();
                at += 1;
                continue;
            }
            let to = next.map_or(end, |next| next.seq.min(end));
            let new = Mapping { seq: from, dsn: dsn + (from - seq), bytes: to - from };
            let before = at.checked_sub(1).and_then(|before| self.0.get_mut(before));
            match before.filter(|before| before.continues_with(&new)) {
                Some(before) => before.bytes += new.bytes,
                None => {
                    self.0.insert(at, new);
                    at += 1;
                }
            }
            from = to;
            if let Some(next) = next.filter(|next| new.continues_with(next)) {
                self.0.remove(at);
                self.0[at - 1].bytes += next.bytes;
                from = next.end();
            }
        }
    }

    /// Data sequence number of a subflow byte.
    pub(super) fn dsn(&self, seq: u64) -> Option<u64> {
        let at = self.0.partition_point(|known| known.end() <= seq);
        let known = self.0.get(at).filter(|known| known.seq <= seq)?;
        Some(known.dsn + (seq - known.seq))
    }

    /// Data sequence number after the last mapped byte.
    pub(super) fn end(&self) -> Option<u64> {
        self.0.back().map(|last| last.dsn + last.bytes)
    }

    /// First part of `from..to` that is contiguous in the connection's stream.
    pub(super) fn piece(&self, from: u64, to: u64) -> Option<Mapping> {
        let at = self.0.partition_point(|known| known.end() <= from);
        let known = self.0.get(at).filter(|known| known.seq <= from)?;
        let end = known.end().min(to);
        Some(Mapping { seq: from, dsn: known.dsn + (from - known.seq), bytes: end - from })
    }

    /// Removes mappings below a sequence number.
    pub(super) fn forget_below(&mut self, seq: u64) {
        while self.0.front().is_some_and(|first| first.end() <= seq) {
            self.0.pop_front();
        }
    }

    /// All mapped ranges from `seq` on.
    pub(crate) fn from(&self, seq: u64) -> Vec<Mapping> {
        let end = self.0.back().map_or(seq, Mapping::end);
        let mut pieces = Vec::new();
        let mut at = seq;
        while let Some(piece) = self.piece(at, end).filter(|piece| piece.bytes > 0) {
            at += piece.bytes;
            pieces.push(piece);
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Segments of three mappings, cut anywhere. The second does not continue the first.
        #[test]
        fn equals_a_map_of_bytes(segments in prop::collection::vec((0u64..60, 1u64..12), 1..60)) {
            let dsn = |seq: u64| if (20..40).contains(&seq) { 1000 + seq } else { seq };
            let mut mappings = Mappings::default();
            let mut mapped = std::collections::BTreeSet::new();
            for (seq, bytes) in segments {
                let mapping_end = [20, 40, 100].into_iter().find(|&at| at > seq).unwrap();
                let end = (seq + bytes).min(mapping_end);
                mappings.insert(seq, dsn(seq), end - seq);
                mapped.extend(seq..end);
                for at in 0..72 {
                    let expected = mapped.contains(&at).then(|| dsn(at));
                    prop_assert_eq!(mappings.dsn(at), expected);
                    let piece = mappings.piece(at, 100).map(|piece| piece.dsn);
                    prop_assert_eq!(piece, expected);
                }
                let ends: Vec<_> = mappings.0.iter().map(|m| (m.seq, m.end())).collect();
                prop_assert!(ends.windows(2).all(|two| two[0].1 <= two[1].0), "{:?}", ends);
            }
        }
    }

    #[test]
    fn mappings_are_found_by_any_byte() {
        let mut mappings = Mappings::default();
        mappings.insert(0, 0, 1000);
        mappings.insert(1000, 5000, 500);
        mappings.insert(1500, 5500, 500);
        assert_eq!(mappings.0.len(), 2);
        assert_eq!(mappings.dsn(999), Some(999));
        assert_eq!(mappings.dsn(1000), Some(5000));
        assert_eq!(mappings.dsn(1999), Some(5999));
        assert_eq!(mappings.dsn(2000), None);
        assert_eq!(mappings.piece(600, 1600), Some(Mapping { seq: 600, dsn: 600, bytes: 400 }));
        let all: Vec<_> = mappings.from(900).iter().map(|m| (m.dsn, m.bytes)).collect();
        assert_eq!(all, [(900, 100), (5000, 1000)]);
        mappings.forget_below(1000);
        assert_eq!(mappings.dsn(999), None);
        assert_eq!(mappings.dsn(1000), Some(5000));
    }

    #[test]
    fn segments_cut_otherwise_the_second_time_overlap_and_map_alike() {
        let mut mappings = Mappings::default();
        mappings.insert(0, 0, 1000);
        mappings.insert(2000, 2000, 1000);
        mappings.insert(1000, 1000, 1400);
        let mut at = 0;
        while let Some(piece) = mappings.piece(at, 3000).filter(|piece| piece.bytes > 0) {
            assert_eq!(piece.dsn, at);
            at += piece.bytes;
        }
        assert_eq!(at, 3000);
    }

    #[test]
    fn what_arrives_out_of_order_or_twice_maps_alike() {
        let mut mappings = Mappings::default();
        mappings.insert(3000, 9000, 1000);
        mappings.insert(0, 0, 1000);
        mappings.insert(2000, 8000, 1000);
        mappings.insert(2000, 8000, 1000);
        mappings.insert(1000, 1000, 1000);
        for (seq, dsn) in [(0, 0), (1500, 1500), (2000, 8000), (3999, 9999)] {
            assert_eq!(mappings.dsn(seq), Some(dsn));
        }
    }
}
