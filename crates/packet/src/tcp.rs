//! TCP segments. Sequence numbers are unwrapped byte offsets of the stream. The SYN does not count;
//! the FIN counts as one byte after the last.

use crate::frame::{ETHERNET_HEADER_BYTES, IPV4_HEADER_BYTES};

/// Length of a TCP header without options (RFC 9293 §3.1).
pub const TCP_HEADER_BYTES: u32 = 20;
/// Length of the timestamps option with padding (RFC 7323 §3, appendix A).
pub const TIMESTAMPS_BYTES: u32 = 12;
/// Length of the option of the MSS (RFC 9293 §3.2).
const MSS_BYTES: u32 = 4;
/// Length of SACK-permitted (RFC 2018 §2) and of the window scale (RFC 7323 §2.2) with padding.
const SYN_OPTION_BYTES: u32 = 4;
/// SACK blocks that fit beside timestamps (RFC 2018 §3); without timestamps, one more.
pub const SACK_BLOCKS_WITH_TIMESTAMPS: usize = 3;
/// Maximum number of SACK blocks in a segment.
pub const SACK_BLOCKS_MAX: usize = 4;

/// Length of all headers without TCP options.
const HEADERS_BYTES: u32 = ETHERNET_HEADER_BYTES + IPV4_HEADER_BYTES + TCP_HEADER_BYTES;

/// Range of bytes that the receiver holds out of order: `start..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First byte.
    pub start: u64,
    /// Byte after the last.
    pub end: u64,
}

/// Kind of SYN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Syn {
    /// Not a SYN.
    #[default]
    No,
    /// SYN of the opener, without an ACK.
    Opens,
    /// SYN-ACK.
    Answers,
}

/// Header flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// SYN.
    pub syn: Syn,
    /// FIN.
    pub fin: bool,
    /// RST.
    pub rst: bool,
    /// PSH.
    pub psh: bool,
    /// Flags of ECN: [`ECE`], [`CWR`], [`AE`]; with Accurate ECN the ACE field (RFC 9768 §3.1).
    pub ace: u8,
}

/// ECN echo: the receiver got a congestion mark (RFC 3168 §6.1).
pub const ECE: u8 = 1;
/// Congestion window reduced (RFC 3168 §6.1).
pub const CWR: u8 = 2;
/// Accurate ECN (RFC 9768 §3.1).
pub const AE: u8 = 4;

impl Flags {
    /// Returns true with ECE.
    pub fn ece(&self) -> bool {
        self.ace & ECE != 0
    }

    /// Returns true with CWR.
    pub fn cwr(&self) -> bool {
        self.ace & CWR != 0
    }

    /// Returns true for a SYN or SYN-ACK.
    pub fn is_syn(&self) -> bool {
        self.syn != Syn::No
    }

    /// Names of the set flags, separated by spaces; ACK is not included.
    pub fn names(&self) -> String {
        let named = [
            (self.is_syn(), "syn"),
            (self.fin, "fin"),
            (self.rst, "rst"),
            (self.psh, "psh"),
            (self.ece(), "ece"),
            (self.cwr(), "cwr"),
            (self.ace & AE != 0, "ae"),
        ];
        let set: Vec<_> = named.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect();
        set.join(" ")
    }
}

/// Reason of a transmission. The sender knows it; no header contains it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cause {
    /// First transmission, or no data.
    #[default]
    New,
    /// Retransmission in fast recovery.
    Fast,
    /// Retransmission after a time-out.
    Timeout,
    /// Tail loss probe.
    Probe,
}

/// Entries of [`Segment::sack`] in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entries(u8);

impl Entries {
    /// Marks the last entry as the Multipath TCP option.
    const MULTIPATH: u8 = 1 << 7;
    /// Bits of the number of SACK blocks.
    const BLOCKS: u8 = 7;
    /// Marks a SYN without the option SACK-permitted.
    const WITHOUT_SACK: u8 = 1 << 5;
    /// Marks a SYN without the window scale.
    const WITHOUT_SCALE: u8 = 1 << 4;

    /// Returns true if no entry is in use.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Number of SACK blocks.
    pub fn blocks(self) -> usize {
        usize::from(self.0 & Self::BLOCKS)
    }

    /// Returns true if the last entry is the Multipath TCP option.
    pub(crate) fn has_multipath(self) -> bool {
        self.0 & Self::MULTIPATH != 0
    }

    /// Returns true if the last entry is the AccECN option.
    pub(crate) fn has_accurate_ecn(self) -> bool {
        self.0 & Self::ACCURATE_ECN != 0
    }

    /// Returns the entries with the AccECN option. It takes the place of a fourth block.
    pub(crate) fn with_accurate_ecn(self) -> Self {
        Self(self.three_blocks() | Self::ACCURATE_ECN)
    }

    /// Returns the entries without the AccECN option.
    pub(crate) fn without_accurate_ecn(self) -> Self {
        Self(self.0 & !Self::ACCURATE_ECN)
    }

    /// Returns the entries with or without the Multipath TCP option, which takes the place of a fourth
    /// block: three blocks remain at most.
    pub(crate) fn with_multipath(self, multipath: bool) -> Self {
        Self(self.three_blocks() | if multipath { Self::MULTIPATH } else { 0 })
    }

    /// Number of SACK blocks, three at most, and the marks of a SYN.
    fn three_blocks(self) -> u8 {
        let blocks = self.blocks().min(SACK_BLOCKS_MAX - 1) as u8;
        blocks | self.0 & (Self::WITHOUT_SACK | Self::WITHOUT_SCALE)
    }
}

/// A TCP segment. SACK blocks come last because of the layout of [`crate::Packet`].
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Segment {
    /// Sequence number of the first payload byte.
    pub seq: u64,
    /// Next byte expected from the peer.
    pub ack: u64,
    /// Payload bytes.
    pub payload_bytes: u32,
    /// Advertised window, bytes, with the scale applied: at most 1 GiB (RFC 7323 §2.3).
    pub window_bytes: u32,
    /// Timestamp value, milliseconds.
    pub tsval_ms: u32,
    /// Timestamp echo reply, milliseconds.
    pub tsecr_ms: u32,
    /// Header flags.
    pub flags: Flags,
    /// True if the segment has timestamps.
    pub timestamps: bool,
    /// Entries in use in `sack`.
    pub entries: Entries,
    /// Reason of the transmission.
    pub cause: Cause,
    /// SACK blocks; a DSACK comes first. The last entry also stores the Multipath TCP option
    /// ([`Segment::multipath`]) or the AccECN option ([`Segment::accurate_ecn`]). Entries that are not in use have no meaning.
    pub sack: [SackBlock; SACK_BLOCKS_MAX],
}

impl Segment {
    /// SACK blocks in use.
    #[inline]
    pub fn sack_blocks(&self) -> &[SackBlock] {
        &self.sack[..self.entries.blocks().min(SACK_BLOCKS_MAX)]
    }

    /// Appends a SACK block, if there is a free entry.
    pub fn push_sack(&mut self, block: SackBlock) {
        let taken = self.entries.has_multipath() || self.entries.has_accurate_ecn();
        let most = SACK_BLOCKS_MAX - usize::from(taken);
        if let Some(free) = self.sack[..most].get_mut(self.entries.blocks()) {
            *free = block;
            self.entries.0 += 1;
        }
    }

    /// Removes all SACK blocks but the first ones.
    pub fn keep_sack(&mut self, blocks: usize) {
        let flags = self.entries.0 & !Entries::BLOCKS;
        self.entries.0 = flags | self.entries.blocks().min(blocks) as u8;
    }

    /// Removes the SACK blocks.
    pub fn clear_sack(&mut self) {
        self.entries.0 &= !Entries::BLOCKS;
    }

    /// Copies the segment over another one. The entries of `sack`, which are most of its size, are
    /// copied only if one is in use.
    #[inline]
    pub fn copy_to(&self, to: &mut Self) {
        let Self { seq, ack, payload_bytes, window_bytes, tsval_ms, tsecr_ms, .. } = *self;
        let Self { flags, timestamps, entries, cause, .. } = *self;
        (to.seq, to.ack) = (seq, ack);
        (to.payload_bytes, to.window_bytes) = (payload_bytes, window_bytes);
        (to.tsval_ms, to.tsecr_ms) = (tsval_ms, tsecr_ms);
        (to.flags, to.timestamps, to.entries, to.cause) = (flags, timestamps, entries, cause);
        if !entries.is_empty() {
            to.sack = self.sack;
        }
    }

    /// Returns the SYN with these options beside MSS and timestamps. Without this call it has both.
    pub fn with_syn_options(mut self, sack: bool, window_scale: bool) -> Self {
        self.entries.0 |= if sack { 0 } else { Entries::WITHOUT_SACK };
        self.entries.0 |= if window_scale { 0 } else { Entries::WITHOUT_SCALE };
        self
    }

    /// Returns true if a SYN has the option SACK-permitted.
    pub fn permits_sack(&self) -> bool {
        self.entries.0 & Entries::WITHOUT_SACK == 0
    }

    /// Returns true if a SYN has the window scale.
    pub fn scales_window(&self) -> bool {
        self.entries.0 & Entries::WITHOUT_SCALE == 0
    }

    /// Length of the options of a SYN (`tcp_syn_options`, `tcp_synack_options`). SACK-permitted takes
    /// the padding of the timestamps.
    fn syn_options_bytes(&self) -> u32 {
        let own_sack = self.permits_sack() && !self.timestamps;
        MSS_BYTES
            + if self.timestamps { TIMESTAMPS_BYTES } else { 0 }
            + if own_sack { SYN_OPTION_BYTES } else { 0 }
            + if self.scales_window() { SYN_OPTION_BYTES } else { 0 }
    }

    /// End of the segment in sequence space; a FIN counts as one.
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.payload_bytes) + u64::from(self.flags.fin)
    }

    /// Length of the Ethernet frame without FCS: 1514 for 1448 bytes with timestamps, 66 for a
    /// plain ACK with timestamps.
    #[inline]
    pub fn frame_bytes(&self) -> u32 {
        if self.flags.is_syn() || !self.entries.is_empty() {
            return self.frame_with_options();
        }
        let timestamps = if self.timestamps { TIMESTAMPS_BYTES } else { 0 };
        HEADERS_BYTES + timestamps + self.payload_bytes
    }

    fn frame_with_options(&self) -> u32 {
        let options = if self.flags.is_syn() {
            self.syn_options_bytes()
        } else {
            let timestamps = if self.timestamps { TIMESTAMPS_BYTES } else { 0 };
            let sack = match self.entries.blocks() {
                0 => 0,
                n => 4 + 8 * n as u32,
            };
            timestamps + sack
        };
        let multipath =
            self.multipath().map_or(0, |option| option.bytes(self.flags.syn == Syn::Answers));
        let blocks = self.entries.blocks();
        let accurate = self.accurate_ecn().map_or(0, |option| option.bytes(blocks));
        HEADERS_BYTES + options + multipath + accurate + self.payload_bytes
    }
}

impl PartialEq for Segment {
    fn eq(&self, other: &Self) -> bool {
        let head = |of: &Self| {
            let Self { seq, ack, payload_bytes, window_bytes, tsval_ms, tsecr_ms, .. } = *of;
            let Self { flags, timestamps, cause, .. } = *of;
            let numbers = (seq, ack, payload_bytes, window_bytes, tsval_ms, tsecr_ms);
            (numbers, flags, timestamps, cause)
        };
        head(self) == head(other)
            && self.sack_blocks() == other.sack_blocks()
            && self.multipath() == other.multipath()
            && self.accurate_ecn() == other.accurate_ecn()
    }
}

impl Eq for Segment {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_takes_the_entries_in_use_and_nothing_else_counts() {
        let block = |start| SackBlock { start, end: start + 1 };
        let mut held = Segment { seq: 1, ..Segment::default() };
        held.push_sack(block(10));
        held.push_sack(block(20));
        let mut two = Segment { ack: 5, cause: Cause::Fast, ..Segment::default() };
        two.push_sack(block(30));
        two.copy_to(&mut held);
        assert_eq!((held, held.sack_blocks()), (two, &[block(30)][..]));
        let none = Segment { window_bytes: 7, ..Segment::default() };
        none.copy_to(&mut held);
        assert_eq!((held, held.sack_blocks()), (none, &[][..]));
        let option = none.with_multipath(Some(crate::Multipath::JoinAck));
        option.copy_to(&mut held);
        assert_eq!((held, held.multipath()), (option, Some(crate::Multipath::JoinAck)));
        none.copy_to(&mut held);
        assert_eq!(held.multipath(), None);
        assert_ne!(none, option);
    }

    #[test]
    fn frames_are_as_long_as_on_a_wire() {
        let mut segment = Segment { timestamps: true, ..Segment::default() };
        assert_eq!(segment.frame_bytes(), 66);
        (0..3).for_each(|_| segment.push_sack(SackBlock::default()));
        assert_eq!(segment.frame_bytes(), 94);
        let data = Segment { timestamps: true, payload_bytes: 1448, ..Segment::default() };
        assert_eq!(data.frame_bytes(), 1514);
        let flags = Flags { syn: Syn::Opens, ..Flags::default() };
        for (timestamps, sack, scale, bytes) in [
            (true, true, true, 74),
            (true, false, true, 74),
            (true, true, false, 70),
            (false, true, true, 66),
            (false, false, true, 62),
            (false, false, false, 58),
        ] {
            let syn = Segment { flags, timestamps, ..Segment::default() };
            assert_eq!(syn.with_syn_options(sack, scale).frame_bytes(), bytes);
        }
    }
}
