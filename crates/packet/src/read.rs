//! TCP segments from bytes (RFC 9293 §3.1): sequence numbers become offsets of the streams, windows are scaled.

use crate::tcp::{Flags, Syn, SACK_BLOCKS_MAX};
use crate::{AccurateEcn, SackBlock, Segment};

/// Reads big-endian numbers of a header; 0 beyond the captured bytes.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a>(pub &'a [u8]);

impl Header<'_> {
    /// One byte.
    pub fn byte(&self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }

    /// Two bytes.
    pub fn short(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.byte(at), self.byte(at + 1)])
    }

    /// Four bytes.
    pub fn word(&self, at: usize) -> u32 {
        u32::from(self.short(at)) << 16 | u32::from(self.short(at + 2))
    }
}

/// Sequence numbers of a connection.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// Initial sequence number and highest offset so far, forward and backward.
    sides: [Option<(u32, u64)>; 2],
    /// Window scale of the windows advertised forward and backward.
    shifts: [u32; 2],
}

impl Numbers {
    /// Numbers of a connection of which the server's initial sequence number is known.
    pub fn of_server(initial: u32) -> Self {
        Self { sides: [None, Some((initial, 0))], shifts: [0; 2] }
    }

    /// Initial sequence number of a side, if a segment of it was read.
    pub fn initial(&self, side: usize) -> Option<u32> {
        self.sides[side].map(|(first, _)| first)
    }

    /// Offset of a sequence number from the first byte of its stream.
    fn offset(&mut self, side: usize, number: u32) -> u64 {
        let (first, highest) = *self.sides[side].get_or_insert((number.wrapping_sub(1), 0));
        // Relative to the highest offset: less than 2 GiB behind or ahead.
        let near = number.wrapping_sub(first.wrapping_add(1)).wrapping_sub(highest as u32) as i32;
        let offset = highest.saturating_add_signed(i64::from(near));
        if offset > highest {
            self.sides[side] = Some((first, offset));
        }
        offset
    }

    /// Reads a segment that went forward (`side` 0) or backward. `bytes`: length of header and payload.
    pub fn segment(&mut self, side: usize, tcp: &Header<'_>, bytes: u32) -> Segment {
        let header = u32::from(tcp.byte(12) >> 4) * 4;
        let flag = |mask: u8| tcp.byte(13) & mask != 0;
        let syn = flag(2);
        if syn {
            self.sides[side] = Some((tcp.word(4), 0));
        }
        let mut segment = Segment {
            seq: if syn { 0 } else { self.offset(side, tcp.word(4)) },
            payload_bytes: bytes.saturating_sub(header),
            flags: Flags {
                syn: match (syn, flag(16)) {
                    (false, _) => Syn::No,
                    (true, false) => Syn::Opens,
                    (true, true) => Syn::Answers,
                },
                fin: flag(1),
                rst: flag(4),
                psh: flag(8),
                ace: (tcp.byte(12) & 1) << 2 | tcp.byte(13) >> 6,
            },
            ..Segment::default()
        };
        if flag(16) {
            segment.ack = self.acknowledged(1 - side, tcp.word(8));
        }
        self.options(tcp, header as usize, side, &mut segment);
        let shift = if syn { 0 } else { self.shifts[side] };
        segment.window_bytes = u32::from(tcp.short(14)) << shift;
        segment
    }

    /// Offset of an acknowledgement in the other direction's stream. It does not change the highest offset.
    /// Packets that arrive and those that leave come from two rings, so an acknowledgement may be decoded
    /// before the SYN; the first acknowledges no more than that.
    fn acknowledged(&mut self, side: usize, number: u32) -> u64 {
        let (first, highest) = *self.sides[side].get_or_insert((number.wrapping_sub(1), 0));
        let near = number.wrapping_sub(first.wrapping_add(1)).wrapping_sub(highest as u32) as i32;
        highest.saturating_add_signed(i64::from(near))
    }

    fn options(&mut self, tcp: &Header<'_>, header: usize, side: usize, segment: &mut Segment) {
        let mut at = 20;
        while at < header {
            let (kind, length) = match tcp.byte(at) {
                0 => return,
                1 => (1, 1),
                kind => (kind, usize::from(tcp.byte(at + 1)).max(2)),
            };
            match kind {
                3 if segment.flags.is_syn() => {
                    self.shifts[side] = u32::from(tcp.byte(at + 2)).min(14);
                }
                5 => {
                    segment.clear_sack();
                    for place in (at + 2..).step_by(8).take(((length - 2) / 8).min(SACK_BLOCKS_MAX))
                    {
                        segment.push_sack(SackBlock {
                            start: self.acknowledged(1 - side, tcp.word(place)),
                            end: self.acknowledged(1 - side, tcp.word(place + 4)),
                        });
                    }
                }
                174 => {
                    let counter = |field: usize| tcp.word(at + 1 + 3 * field) & 0xff_ffff;
                    let fields = (length.saturating_sub(2) / 3).min(3) as u8;
                    let counters = [counter(0), counter(1), counter(2)];
                    *segment = segment.with_accurate_ecn(AccurateEcn { fields, counters });
                }
                8 => {
                    segment.timestamps = true;
                    segment.tsval_ms = tcp.word(at + 2);
                    segment.tsecr_ms = tcp.word(at + 6);
                }
                _ => {}
            }
            at += length;
        }
    }
}
