//! The option of Accurate ECN (RFC 9768 §3.2.3): counters of received bytes. The ACE field is one of the
//! [flags](crate::tcp::Flags).

use crate::tcp::{Entries, Syn, SACK_BLOCKS_MAX};
use crate::{SackBlock, Segment};

/// Bytes of the option with all fields and padding. The MSS is smaller by this.
pub const ACCURATE_ECN_BYTES: u32 = 12;
/// Mask of a counter: 24 bits.
const COUNTER: u32 = (1 << 24) - 1;

/// The AccECN option in the order that Linux sends (kind 174): ECT(1), CE, ECT(0).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccurateEcn {
    /// Number of fields, 0 to 3: an option may end after any of them.
    pub fields: u8,
    /// Payload bytes received with ECT(1), CE and ECT(0), modulo 2^24, with the initial values of
    /// RFC 9768 §3.2.1 added. Fields that are not sent have no meaning.
    pub counters: [u32; 3],
}

impl AccurateEcn {
    /// Length in the header, with padding; some of it takes the place of other options' padding.
    pub(crate) fn bytes(self, sack_blocks: usize) -> u32 {
        match (self.fields, sack_blocks > 0) {
            (3.., _) => 12,
            (2, _) | (1, false) => 8,
            (1, true) | (0, false) => 4,
            (0, true) => 0,
        }
    }
}

impl Entries {
    /// Marks the last entry as the AccECN option.
    pub(crate) const ACCURATE_ECN: u8 = 1 << 6;
}

impl Segment {
    /// AccECN option of the segment, stored in the place of the fourth SACK block.
    #[inline]
    pub fn accurate_ecn(&self) -> Option<AccurateEcn> {
        if !self.entries.has_accurate_ecn() {
            return None;
        }
        let SackBlock { start, end } = self.sack[SACK_BLOCKS_MAX - 1];
        let counters = [start as u32, end as u32, (end >> 32) as u32];
        Some(AccurateEcn { fields: (start >> 32) as u8, counters })
    }

    /// Removes the option. [`Segment::frame_bytes`] no longer counts it; a middlebox leaves NOPs in its place.
    pub fn strip_accurate_ecn(&mut self) {
        self.entries = self.entries.without_accurate_ecn();
    }

    /// Returns the segment with this option. A fourth SACK block gives way.
    pub fn with_accurate_ecn(mut self, option: AccurateEcn) -> Self {
        let [first, second, third] = option.counters.map(|one| u64::from(one & COUNTER));
        self.entries = self.entries.with_accurate_ecn();
        self.sack[SACK_BLOCKS_MAX - 1] =
            SackBlock { start: u64::from(option.fields) << 32 | first, end: third << 32 | second };
        self
    }
}

/// Writes the option (RFC 9768 §3.2.3), without the timestamps before it and the SACK blocks behind it.
/// Returns true if it has taken the padding of the SACK blocks.
pub(crate) fn write(option: AccurateEcn, segment: &Segment, out: &mut Vec<u8>) -> bool {
    let fields = usize::from(option.fields).min(3);
    let start = out.len();
    out.extend([174, 2 + 3 * fields as u8]);
    for counter in &option.counters[..fields] {
        out.extend(&counter.to_be_bytes()[1..]);
    }
    let blocks = segment.entries.blocks();
    let whole = option.bytes(blocks) as usize;
    let into_padding = blocks > 0 && segment.flags.syn == Syn::No && fields < 2;
    if !into_padding {
        out.resize(start + whole, 1); // NOP
    } else if fields == 1 {
        out.push(1); // of the two NOPs before the SACK blocks, one is left
    }
    into_padding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_returns_its_option_beside_three_blocks() {
        let block = SackBlock { start: 7, end: 9 };
        let option = AccurateEcn { fields: 2, counters: [1, COUNTER, 5 | 1 << 24] };
        let mut segment = Segment::default();
        (0..4).for_each(|_| segment.push_sack(block));
        let with = segment.with_accurate_ecn(option);
        assert_eq!(with.accurate_ecn(), Some(AccurateEcn { counters: [1, COUNTER, 5], ..option }));
        assert_eq!(with.sack_blocks(), &[block; 3]);
        assert_eq!((segment.accurate_ecn(), with.multipath()), (None, None));
        assert_ne!(with, segment);
    }
}
