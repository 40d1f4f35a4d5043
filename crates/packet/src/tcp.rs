//! TCP segments. Sequence numbers are unwrapped byte offsets of the stream. The SYN does not count;
//! the FIN counts as one byte after the last.

use crate::frame::{ETHERNET_HEADER_BYTES, IPV4_HEADER_BYTES};

/// Length of a TCP header without options (RFC 9293 §3.1).
pub const TCP_HEADER_BYTES: u32 = 20;
/// Length of the timestamps option with padding (RFC 7323 §3, appendix A).
pub const TIMESTAMPS_BYTES: u32 = 12;
/// Length of Linux's SYN options: MSS 4, SACK permitted 2, timestamps 10, NOP 1, window scale 3.
pub const SYN_OPTIONS_BYTES: u32 = 20;
/// SACK blocks that fit beside timestamps (RFC 2018 §3); without timestamps, one more.
pub const SACK_BLOCKS_WITH_TIMESTAMPS: usize = 3;
/// Maximum number of SACK blocks in a segment.
pub const SACK_BLOCKS_MAX: usize = 4;

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
    /// PSH.
    pub psh: bool,
    /// ECN echo: the receiver got a congestion mark (RFC 3168 §6.1).
    pub ece: bool,
    /// Congestion window reduced (RFC 3168 §6.1).
    pub cwr: bool,
}

impl Flags {
    /// Returns true for a SYN or SYN-ACK.
    pub fn is_syn(&self) -> bool {
        self.syn != Syn::No
    }

    /// Names of the set flags, separated by spaces; ACK is not included.
    pub fn names(&self) -> String {
        let named = [
            (self.is_syn(), "syn"),
            (self.fin, "fin"),
            (self.psh, "psh"),
            (self.ece, "ece"),
            (self.cwr, "cwr"),
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

/// A TCP segment. SACK blocks come last because of the layout of [`crate::Packet`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Number of blocks in use in `sack`.
    pub sack_count: u8,
    /// Reason of the transmission.
    pub cause: Cause,
    /// SACK blocks; a DSACK comes first. The last entry also stores the Multipath TCP option
    /// ([`Segment::multipath`]).
    pub sack: [SackBlock; SACK_BLOCKS_MAX],
}

impl Segment {
    /// SACK blocks in use.
    pub fn sack_blocks(&self) -> &[SackBlock] {
        &self.sack[..usize::from(self.sack_count)]
    }

    /// End of the segment in sequence space; a FIN counts as one.
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.payload_bytes) + u64::from(self.flags.fin)
    }

    /// Length of the Ethernet frame without FCS: 1514 for 1448 bytes with timestamps, 66 for a
    /// plain ACK with timestamps.
    pub fn frame_bytes(&self) -> u32 {
        let options = if self.flags.is_syn() {
            SYN_OPTIONS_BYTES
        } else {
            let timestamps = if self.timestamps { TIMESTAMPS_BYTES } else { 0 };
            let sack = match self.sack_count {
                0 => 0,
                n => 4 + 8 * u32::from(n),
            };
            timestamps + sack
        };
        let multipath =
            self.multipath().map_or(0, |option| option.bytes(self.flags.syn == Syn::Answers));
        let headers = ETHERNET_HEADER_BYTES + IPV4_HEADER_BYTES + TCP_HEADER_BYTES;
        headers + options + multipath + self.payload_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_as_long_as_on_a_wire() {
        let mut segment = Segment { timestamps: true, ..Segment::default() };
        assert_eq!(segment.frame_bytes(), 66);
        segment.sack_count = 3;
        assert_eq!(segment.frame_bytes(), 94);
        let data = Segment { timestamps: true, payload_bytes: 1448, ..Segment::default() };
        assert_eq!(data.frame_bytes(), 1514);
        let syn =
            Segment { flags: Flags { syn: Syn::Opens, ..Flags::default() }, ..Segment::default() };
        assert_eq!(syn.frame_bytes(), 74);
    }
}
