//! A TCP segment. Sequence numbers are unwrapped: byte offsets of the stream, the SYN not counted,
//! the FIN counted as one after the last byte.

use crate::frame::{ETHERNET_HEADER_BYTES, IPV4_HEADER_BYTES};

/// Base TCP header (RFC 9293 §3.1).
pub const TCP_HEADER_BYTES: u32 = 20;
/// Timestamps with padding (RFC 7323 §3, appendix A).
pub const TIMESTAMPS_BYTES: u32 = 12;
/// Options of a SYN as Linux sends them: MSS 4, SACK permitted 2, timestamps 10, NOP 1, window
/// scale 3.
pub const SYN_OPTIONS_BYTES: u32 = 20;
/// SACK blocks that fit beside timestamps; one more without (RFC 2018 §3).
pub const SACK_BLOCKS_WITH_TIMESTAMPS: usize = 3;
/// Most SACK blocks of any segment.
pub const SACK_BLOCKS_MAX: usize = 4;

/// A range of bytes the receiver holds out of order: `start..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First byte.
    pub start: u64,
    /// Byte after the last.
    pub end: u64,
}

/// Whether a segment is a SYN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Syn {
    /// It is not.
    #[default]
    No,
    /// Of who opens: there is nothing to acknowledge yet.
    Opens,
    /// The answer to it.
    Answers,
}

/// Flags, as in the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Synchronise.
    pub syn: Syn,
    /// No more data.
    pub fin: bool,
    /// Push.
    pub psh: bool,
    /// Congestion was experienced by what came the other way (RFC 3168 §6.1).
    pub ece: bool,
    /// The window was reduced for that.
    pub cwr: bool,
}

impl Flags {
    /// A SYN, or the answer to one.
    pub fn is_syn(&self) -> bool {
        self.syn != Syn::No
    }

    /// The names of those that are set, separated by spaces; ACK is not among them.
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

/// Why a segment was sent: the sender's knowledge, not part of any header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cause {
    /// For the first time, or without data.
    #[default]
    New,
    /// Again, in fast recovery.
    Fast,
    /// Again, after a time-out.
    Timeout,
    /// Again, as a tail loss probe.
    Probe,
}

/// A TCP segment. The SACK blocks come last: see [`crate::Packet`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Segment {
    /// First byte of the payload.
    pub seq: u64,
    /// Next byte expected from the other side.
    pub ack: u64,
    /// Payload bytes.
    pub payload_bytes: u32,
    /// Advertised window in bytes, scaling undone: at most 1 GiB (RFC 7323 §2.3).
    pub window_bytes: u32,
    /// Timestamp value, milliseconds.
    pub tsval_ms: u32,
    /// Timestamp echo reply, milliseconds.
    pub tsecr_ms: u32,
    /// Header flags.
    pub flags: Flags,
    /// Timestamps in use.
    pub timestamps: bool,
    /// How many of `sack` are in use.
    pub sack_count: u8,
    /// Why it was sent.
    pub cause: Cause,
    /// SACK blocks; a DSACK comes first. The last one's place is also Multipath TCP's
    /// ([`Segment::multipath`]).
    pub sack: [SackBlock; SACK_BLOCKS_MAX],
}

impl Segment {
    /// The SACK blocks in use.
    pub fn sack_blocks(&self) -> &[SackBlock] {
        &self.sack[..usize::from(self.sack_count)]
    }

    /// End of the segment in sequence space (the FIN counts one).
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
