//! TCP headers (RFC 9293 §3.1) with options (RFC 2018, 2883, 7323).

use crate::decode::{IpPacket, TCP};

/// Maximum number of SACK blocks in a header (RFC 2018 §3).
pub const SACK_BLOCKS_MAX: usize = 4;

/// TcpFlags of a TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags(pub u16);

impl TcpFlags {
    /// FIN.
    pub fn fin(self) -> bool {
        self.0 & 0x01 != 0
    }
    /// SYN.
    pub fn syn(self) -> bool {
        self.0 & 0x02 != 0
    }
    /// RST.
    pub fn rst(self) -> bool {
        self.0 & 0x04 != 0
    }
    /// PSH.
    pub fn psh(self) -> bool {
        self.0 & 0x08 != 0
    }
    /// ACK.
    pub fn ack(self) -> bool {
        self.0 & 0x10 != 0
    }
    /// ECN echo: the receiver got a congestion mark (RFC 3168 §6.1).
    pub fn ece(self) -> bool {
        self.0 & 0x40 != 0
    }
    /// Congestion window reduced (RFC 3168 §6.1).
    pub fn cwr(self) -> bool {
        self.0 & 0x80 != 0
    }
    /// AE, CWR and ECE as a number: the ACE field (RFC 9768 §3.1).
    pub fn ace(self) -> u8 {
        (self.0 >> 6) as u8 & 7
    }
}

/// A TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader {
    /// Source and destination port.
    pub ports: (u16, u16),
    /// Sequence number of the first byte, or of the SYN.
    pub sequence: u32,
    /// Next byte expected from the peer.
    pub acknowledgement: u32,
    /// TcpFlags.
    pub flags: TcpFlags,
    /// Window, not scaled.
    pub window: u16,
    /// Payload bytes on the wire, captured or not.
    pub payload_bytes: u32,
    /// Announced MSS.
    pub mss: Option<u16>,
    /// Announced window scale (RFC 7323 §2.2).
    pub window_scale: Option<u8>,
    /// True with the SACK-permitted option.
    pub sack_permitted: bool,
    /// Timestamp value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks: first byte and byte after the last; a DSACK comes first.
    pub sack: [(u32, u32); SACK_BLOCKS_MAX],
    /// Number of blocks in use in `sack`.
    pub sack_count: u8,
    /// True if an option has an impossible length.
    pub malformed: bool,
    /// True if the capture lacks a part of the options (snap length).
    pub cut: bool,
}

impl TcpHeader {
    /// Parses a packet; `None` if it is not TCP, not the first fragment, or truncated.
    pub fn parse(packet: &IpPacket<'_>) -> Option<Self> {
        let first = packet.fragment.is_none_or(|fragment| fragment.offset_bytes == 0);
        if packet.protocol != TCP || !first {
            return None;
        }
        let header: &[u8; 20] = packet.payload.first_chunk()?;
        let short = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let word = |at: usize| u32::from(short(at)) << 16 | u32::from(short(at + 2));
        let header_bytes = u32::from(header[12] >> 4) * 4;
        if header_bytes < 20 || header_bytes > packet.payload_bytes {
            return None;
        }
        let mut segment = Self {
            ports: (short(0), short(2)),
            sequence: word(4),
            acknowledgement: word(8),
            flags: TcpFlags(u16::from(header[12] & 1) << 8 | u16::from(header[13])),
            window: short(14),
            payload_bytes: packet.payload_bytes - header_bytes,
            ..Self::default()
        };
        let options = &packet.payload[20..packet.payload.len().min(header_bytes as usize)];
        segment.read_options(options, header_bytes as usize - 20);
        Some(segment)
    }

    /// SACK blocks in use.
    pub fn sack_blocks(&self) -> &[(u32, u32)] {
        &self.sack[..usize::from(self.sack_count)]
    }

    /// Parses the captured part of `whole` bytes of options. A truncated option is not an error.
    fn read_options(&mut self, kept: &[u8], whole: usize) {
        self.cut = kept.len() < whole;
        // Fast path for most segments: two NOPs and timestamps.
        if let Some(&[1, 1, 8, 10, a, b, c, d, e, f, g, h]) = kept.first_chunk::<12>() {
            self.timestamps =
                Some((u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])));
            if kept.len() == 12 {
                return;
            }
        }
        let mut at = 0;
        while let Some(&kind) = kept.get(at) {
            match kind {
                0 => return,
                1 => at += 1,
                _ => {
                    let Some(&length) = kept.get(at + 1) else {
                        self.malformed |= at + 1 >= whole;
                        return;
                    };
                    let length = usize::from(length);
                    if length < 2 || at + length > whole {
                        self.malformed = true;
                        return;
                    }
                    let Some(value) = kept.get(at + 2..at + length) else { return };
                    self.read_option(kind, value);
                    at += length;
                }
            }
        }
    }

    fn read_option(&mut self, kind: u8, value: &[u8]) {
        let word = |at: usize| {
            value
                .get(at..at + 4)
                .map_or(0, |four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
        };
        match (kind, value) {
            (2, &[high, low]) => self.mss = Some(u16::from_be_bytes([high, low])),
            (3, &[shift]) => self.window_scale = Some(shift.min(14)),
            (4, &[]) => self.sack_permitted = true,
            (5, blocks) if blocks.len() % 8 == 0 && blocks.len() <= 8 * SACK_BLOCKS_MAX => {
                self.sack_count = (blocks.len() / 8) as u8;
                for (number, block) in self.sack.iter_mut().take(blocks.len() / 8).enumerate() {
                    *block = (word(8 * number), word(8 * number + 4));
                }
            }
            (8, _) if value.len() == 8 => self.timestamps = Some((word(0), word(4))),
            (2..=5 | 8, _) => self.malformed = true,
            _ => {}
        }
    }
}

#[cfg(feature = "files")]
/// Sequence number of a SYN without ACK.
pub(crate) fn opens(packet: &IpPacket<'_>) -> Option<u32> {
    let flags = packet.payload.get(13)?;
    let first = packet.fragment.is_none_or(|fragment| fragment.offset_bytes == 0);
    if packet.protocol != TCP || !first || flags & 0x12 != 0x02 {
        return None;
    }
    crate::decode::be32(packet.payload, 4)
}
