//! A TCP header (RFC 9293 §3.1) with its options (RFC 2018, 2883, 7323), as it stands in a packet.

use crate::decode::{IpPacket, TCP};

/// SACK blocks that fit into a header (RFC 2018 §3).
pub const SACK_BLOCKS_MAX: usize = 4;

/// The flags of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// Nothing follows.
    pub fn fin(self) -> bool {
        self.0 & 0x01 != 0
    }
    /// Opens a connection.
    pub fn syn(self) -> bool {
        self.0 & 0x02 != 0
    }
    /// Aborts it.
    pub fn rst(self) -> bool {
        self.0 & 0x04 != 0
    }
    /// To be handed to the application at once.
    pub fn psh(self) -> bool {
        self.0 & 0x08 != 0
    }
    /// The acknowledgement counts.
    pub fn ack(self) -> bool {
        self.0 & 0x10 != 0
    }
    /// Congestion was experienced by what came the other way (RFC 3168 §6.1).
    pub fn ece(self) -> bool {
        self.0 & 0x40 != 0
    }
    /// The window was reduced for that.
    pub fn cwr(self) -> bool {
        self.0 & 0x80 != 0
    }
}

/// A segment's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Of source and destination.
    pub ports: (u16, u16),
    /// Sequence number of the first byte (of the SYN, where there is one).
    pub sequence: u32,
    /// Next byte expected from the other side.
    pub acknowledgement: u32,
    /// Flags.
    pub flags: Flags,
    /// As it stands there, not scaled.
    pub window: u16,
    /// Payload by the lengths of the headers, whether it was kept or not.
    pub payload_bytes: u32,
    /// Maximum segment size announced.
    pub mss: Option<u16>,
    /// Shift of windows announced (RFC 7323 §2.2).
    pub window_scale: Option<u8>,
    /// SACK may be used.
    pub sack_permitted: bool,
    /// Value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks, first byte and the one after the last; a DSACK comes first.
    pub sack: [(u32, u32); SACK_BLOCKS_MAX],
    /// How many of these there are.
    pub sack_count: u8,
    /// An option says a length that cannot be.
    pub malformed: bool,
}

impl Segment {
    /// Of a packet that carries TCP; `None` if that is too short or no header.
    pub fn of(packet: &IpPacket<'_>) -> Option<Self> {
        let first = packet.fragment.is_none_or(|fragment| fragment.offset_bytes == 0);
        if packet.protocol != TCP || !first {
            return None;
        }
        let header: &[u8; 20] = packet.above.first_chunk()?;
        let short = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let word = |at: usize| u32::from(short(at)) << 16 | u32::from(short(at + 2));
        let header_bytes = u32::from(header[12] >> 4) * 4;
        if header_bytes < 20 || header_bytes > packet.above_bytes {
            return None;
        }
        let mut segment = Self {
            ports: (short(0), short(2)),
            sequence: word(4),
            acknowledgement: word(8),
            flags: Flags(header[13]),
            window: short(14),
            payload_bytes: packet.above_bytes - header_bytes,
            ..Self::default()
        };
        let options = &packet.above[20..packet.above.len().min(header_bytes as usize)];
        segment.read_options(options, header_bytes as usize - 20);
        Some(segment)
    }

    /// The SACK blocks.
    pub fn sack_blocks(&self) -> &[(u32, u32)] {
        &self.sack[..usize::from(self.sack_count)]
    }

    /// `kept` of so many bytes of options: what is cut off is not wrong.
    fn read_options(&mut self, kept: &[u8], whole: usize) {
        // What nearly every segment has: two NOPs and timestamps.
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
/// Sequence number of a segment that opens a connection: SYN without ACK.
pub(crate) fn opens(packet: &IpPacket<'_>) -> Option<u32> {
    let flags = packet.above.get(13)?;
    let first = packet.fragment.is_none_or(|fragment| fragment.offset_bytes == 0);
    if packet.protocol != TCP || !first || flags & 0x12 != 0x02 {
        return None;
    }
    crate::decode::word(packet.above, 4)
}
