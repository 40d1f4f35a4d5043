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

/// Mappings in order of the subflow's sequence space. No mapping continues the previous one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mappings(VecDeque<Mapping>);

impl Mappings {
    /// Adds a mapping.
    pub(crate) fn insert(&mut self, seq: u64, dsn: u64, bytes: u64) {
        let at = self.0.partition_point(|known| known.seq + known.bytes < seq);
        match self.0.get_mut(at) {
            Some(known) if known.seq <= seq && known.dsn + (seq - known.seq) == dsn => {
                known.bytes = known.bytes.max(seq + bytes - known.seq);
            }
            // Adjacent in the subflow but not in the connection.
            Some(known) if known.seq + known.bytes == seq => {
                self.0.insert(at + 1, Mapping { seq, dsn, bytes });
            }
            Some(known) if known.seq <= seq => {} // Already mapped.
            _ => self.0.insert(at, Mapping { seq, dsn, bytes }),
        }
    }

    /// Data sequence number of a subflow byte.
    pub(super) fn dsn(&self, seq: u64) -> Option<u64> {
        let at = self.0.partition_point(|known| known.seq + known.bytes <= seq);
        let known = self.0.get(at).filter(|known| known.seq <= seq)?;
        Some(known.dsn + (seq - known.seq))
    }

    /// Data sequence number after the last mapped byte.
    pub(super) fn end(&self) -> Option<u64> {
        self.0.back().map(|last| last.dsn + last.bytes)
    }

    /// First part of `from..to` that is contiguous in the connection's stream.
    pub(super) fn piece(&self, from: u64, to: u64) -> Option<Mapping> {
        let at = self.0.partition_point(|known| known.seq + known.bytes <= from);
        let known = self.0.get(at).filter(|known| known.seq <= from)?;
        let end = (known.seq + known.bytes).min(to);
        Some(Mapping { seq: from, dsn: known.dsn + (from - known.seq), bytes: end - from })
    }

    /// Removes mappings below a sequence number.
    pub(super) fn forget_below(&mut self, seq: u64) {
        while self.0.front().is_some_and(|first| first.seq + first.bytes <= seq) {
            self.0.pop_front();
        }
    }

    /// All mapped ranges from `seq` on.
    pub(crate) fn from(&self, seq: u64) -> Vec<Mapping> {
        let end = self.0.back().map_or(seq, |last| last.seq + last.bytes);
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
