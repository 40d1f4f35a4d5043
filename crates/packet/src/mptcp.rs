//! Multipath TCP options of a segment (RFC 8684 §3). Data sequence numbers are unwrapped byte
//! offsets of the connection's stream. The DATA_FIN counts as one byte after the last.

use crate::tcp::{SackBlock, Segment, SACK_BLOCKS_MAX};

/// Multipath TCP option of a segment. Data flows in one direction, from the connection's opener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multipath {
    /// MP_CAPABLE on a SYN or SYN-ACK (§3.1).
    Capable,
    /// MP_CAPABLE with both keys, on the third segment of the handshake and on the first data.
    CapableAck {
        /// Bytes mapped at the start of the stream, including this segment's; 0 without data.
        mapped_bytes: u16,
    },
    /// MP_JOIN on a SYN or SYN-ACK (§3.2).
    Join {
        /// True for a backup subflow.
        backup: bool,
    },
    /// MP_JOIN on the third segment of the handshake.
    JoinAck,
    /// DSS of the data receiver (§3.3.2).
    DataAck {
        /// Next data byte expected by the receiver.
        data_ack: u64,
        /// True if the receiver sends its own DATA_FIN.
        fin: bool,
    },
    /// DSS of the data sender without a mapping.
    NoMapping {
        /// True after the sender has received the receiver's DATA_FIN.
        closed: bool,
    },
    /// DSS with a mapping of the segment's payload (§3.3.1).
    Mapping {
        /// Data sequence number of the segment's first byte.
        dsn: u64,
        /// Bytes between the start of its skb's mapping and the segment.
        offset_bytes: u32,
        /// Fragments of the sender's pages with the payload, 1 or more.
        fragments: u8,
        /// True if a DATA_FIN follows the last byte (§3.3.3).
        fin: bool,
    },
    /// DSS with only a DATA_FIN.
    DataFin {
        /// Data sequence number of the DATA_FIN.
        dsn: u64,
    },
}

const CAPABLE: u64 = 1;
const CAPABLE_ACK: u64 = 2;
const JOIN: u64 = 3;
const JOIN_ACK: u64 = 4;
const DATA_ACK: u64 = 5;
const NO_MAPPING: u64 = 6;
const MAPPING: u64 = 7;
const DATA_FIN: u64 = 8;
/// Bit of a code that holds the variant's boolean field.
const FLAG: u64 = 1 << 8;
/// Bits below the number of fragments, and below the offset into a mapping.
const FRAGMENTS_SHIFT: u32 = 16;
const OFFSET_SHIFT: u32 = 32;

impl Multipath {
    /// Encodes the option as two words. The first is never 0.
    fn words(self) -> [u64; 2] {
        let with = |code: u64, flag: bool| code | if flag { FLAG } else { 0 };
        match self {
            Self::Capable => [CAPABLE, 0],
            Self::CapableAck { mapped_bytes } => [CAPABLE_ACK, mapped_bytes.into()],
            Self::Join { backup } => [with(JOIN, backup), 0],
            Self::JoinAck => [JOIN_ACK, 0],
            Self::DataAck { data_ack, fin } => [with(DATA_ACK, fin), data_ack],
            Self::NoMapping { closed } => [with(NO_MAPPING, closed), 0],
            Self::Mapping { dsn, offset_bytes, fragments, fin } => {
                let fragments = u64::from(fragments) << FRAGMENTS_SHIFT;
                [with(MAPPING, fin) | fragments | u64::from(offset_bytes) << OFFSET_SHIFT, dsn]
            }
            Self::DataFin { dsn } => [DATA_FIN, dsn],
        }
    }

    fn from_words([code, value]: [u64; 2]) -> Option<Self> {
        let flag = code & FLAG != 0;
        Some(match code & (FLAG - 1) {
            CAPABLE => Self::Capable,
            CAPABLE_ACK => Self::CapableAck { mapped_bytes: value as u16 },
            JOIN => Self::Join { backup: flag },
            JOIN_ACK => Self::JoinAck,
            DATA_ACK => Self::DataAck { data_ack: value, fin: flag },
            NO_MAPPING => Self::NoMapping { closed: flag },
            MAPPING => {
                let offset_bytes = (code >> OFFSET_SHIFT) as u32;
                let fragments = (code >> FRAGMENTS_SHIFT) as u8;
                Self::Mapping { dsn: value, offset_bytes, fragments, fin: flag }
            }
            DATA_FIN => Self::DataFin { dsn: value },
            _ => return None,
        })
    }

    /// Length of the option with padding, as Linux writes it: 64-bit data sequence numbers, no
    /// checksums, 64-bit data ACKs if the peer sends 64-bit numbers. `answers` is true on a
    /// SYN-ACK.
    pub fn bytes(self, answers: bool) -> u32 {
        match self {
            Self::Capable if answers => 12,
            Self::Capable => 4,
            Self::CapableAck { mapped_bytes: 0 } => 20,
            Self::CapableAck { .. } => 24, // 22
            Self::Join { .. } if answers => 16,
            Self::Join { .. } => 12,
            Self::JoinAck => 24,
            Self::DataAck { fin: false, .. } => 12,
            Self::DataAck { fin: true, .. } => 28, // 26
            Self::NoMapping { .. } => 8,
            Self::Mapping { .. } | Self::DataFin { .. } => 24, // 22
        }
    }
}

/// Bytes of a mapping in every full segment. The MSS is smaller by this.
pub const MAPPING_BYTES: u32 = 24;
/// Length of a DSS option with only a data ACK.
pub const DATA_ACK_BYTES: u32 = 12;

impl Segment {
    /// Multipath TCP option of the segment, stored in the place of the fourth SACK block. A header
    /// with such an option never has space for a fourth block.
    #[inline]
    pub fn multipath(&self) -> Option<Multipath> {
        if !self.entries.has_multipath() {
            return None;
        }
        let SackBlock { start, end } = self.sack[SACK_BLOCKS_MAX - 1];
        Multipath::from_words([start, end])
    }

    /// Returns the segment with this option.
    pub fn with_multipath(mut self, option: Option<Multipath>) -> Self {
        let [start, end] = option.map_or([0, 0], Multipath::words);
        self.entries = self.entries.with_multipath(option.is_some());
        self.sack[SACK_BLOCKS_MAX - 1] = SackBlock { start, end };
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::{Flags, Syn};

    const ALL: [Multipath; 13] = [
        Multipath::Capable,
        Multipath::CapableAck { mapped_bytes: 0 },
        Multipath::CapableAck { mapped_bytes: 1424 },
        Multipath::Join { backup: false },
        Multipath::Join { backup: true },
        Multipath::JoinAck,
        Multipath::DataAck { data_ack: u64::MAX, fin: false },
        Multipath::DataAck { data_ack: 7, fin: true },
        Multipath::NoMapping { closed: false },
        Multipath::NoMapping { closed: true },
        Multipath::Mapping { dsn: 0, offset_bytes: 0, fragments: 1, fin: false },
        Multipath::Mapping { dsn: 1 << 40, offset_bytes: u32::MAX, fragments: u8::MAX, fin: true },
        Multipath::DataFin { dsn: 9 },
    ];

    #[test]
    fn a_segment_returns_its_option() {
        assert_eq!(Segment::default().multipath(), None);
        for option in ALL {
            let segment = Segment::default().with_multipath(Some(option));
            assert_eq!(segment.multipath(), Some(option));
            assert_eq!(segment.with_multipath(None), Segment::default());
        }
    }

    #[test]
    fn four_sack_blocks_are_no_option() {
        let block = SackBlock { start: CAPABLE, end: 0 };
        let mut segment = Segment::default();
        (0..5).for_each(|_| segment.push_sack(block));
        assert_eq!((segment.multipath(), segment.sack_blocks().len()), (None, 4));
        let option = segment.with_multipath(Some(Multipath::Capable));
        assert_eq!(option.sack_blocks(), &[block; 3]);
    }

    #[test]
    fn all_fits_into_the_forty_bytes_of_options() {
        for option in ALL {
            let flags = Flags::default();
            let segment = Segment { timestamps: true, flags, ..Segment::default() };
            assert!(option.bytes(false) + 12 <= 40, "{option:?}");
            let frame = segment.with_multipath(Some(option)).frame_bytes();
            assert_eq!(frame, 66 + option.bytes(false));
        }
        for option in [Multipath::Capable, Multipath::Join { backup: false }] {
            let flags = Flags { syn: Syn::Answers, ..Flags::default() };
            let segment = Segment { flags, timestamps: true, ..Segment::default() };
            let segment = segment.with_multipath(Some(option));
            assert_eq!(segment.frame_bytes(), 74 + option.bytes(true));
        }
    }
}
