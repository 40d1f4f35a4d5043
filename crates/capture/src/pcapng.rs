//! pcapng (draft-ietf-opsawg-pcapng): sections of either byte order, interfaces, packets. Blocks of
//! other types are skipped.

use crate::decode::LinkType;
use crate::file::{Record, FRAME_BYTES_MAX};
use crate::input::Input;
use std::io;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const INTERFACE_NAME: u16 = 2;
const TIME_RESOLUTION: u16 = 9;
const TIME_OFFSET: u16 = 14;
/// Maximum length of a block: a frame with comments and hashes.
const BLOCK_BYTES_MAX: u32 = FRAME_BYTES_MAX + (1 << 18);
/// Maximum number of interfaces per section, against files that exhaust memory.
const INTERFACES_MAX: usize = 1 << 16;
/// Maximum number and length of interface names kept.
const NAMES_MAX: usize = 1 << 12;
const NAME_BYTES_MAX: usize = 256;

#[derive(Clone, Copy, Debug)]
struct Interface {
    link: LinkType,
    snap_bytes: u32,
    /// Timestamp units per second.
    units: u64,
    offset_s: i64,
}

/// Reader state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pcapng {
    big_endian: bool,
    interfaces: Vec<Interface>,
    /// Number of interfaces in earlier sections.
    before: u32,
    /// Names of the first interfaces of the file; empty for interfaces without a name.
    names: Vec<String>,
}

/// Block with the byte order of its section.
#[derive(Clone, Copy)]
struct Fields<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

impl<'a> Fields<'a> {
    fn short(&self, at: usize) -> u16 {
        let Some(two) = self.bytes.get(at..at + 2) else { return 0 };
        let two = [two[0], two[1]];
        if self.big_endian {
            u16::from_be_bytes(two)
        } else {
            u16::from_le_bytes(two)
        }
    }

    fn word(&self, at: usize) -> u32 {
        let (first, second) = (u32::from(self.short(at)), u32::from(self.short(at + 2)));
        if self.big_endian {
            first << 16 | second
        } else {
            second << 16 | first
        }
    }

    /// Value of option `wanted`. Options start at `at`.
    fn option(&self, mut at: usize, wanted: u16) -> Option<&'a [u8]> {
        while at + 4 <= self.bytes.len() {
            let (code, length) = (self.short(at), usize::from(self.short(at + 2)));
            if code == 0 {
                return None;
            }
            if code == wanted {
                return self.bytes.get(at + 4..at + 4 + length);
            }
            at += 4 + length.next_multiple_of(4);
        }
        None
    }
}

impl Pcapng {
    /// Returns true if a file starts with a pcapng section header.
    pub(crate) fn begins(bytes: &[u8]) -> bool {
        bytes.len() >= 12 && bytes[..4] == SECTION_HEADER.to_le_bytes()
    }

    pub(crate) fn read(
        &mut self,
        input: &mut Input<'_>,
        each: &mut impl FnMut(&Record<'_>),
        report: &mut impl FnMut(u64, String),
    ) -> io::Result<()> {
        loop {
            let offset = input.offset();
            let begin = input.peek(12)?;
            if begin.len() < 12 {
                if !begin.is_empty() {
                    report(
                        offset,
                        format!("the last block is cut off after {} bytes", begin.len()),
                    );
                }
                return Ok(());
            }
            let little = Fields { bytes: begin, big_endian: false };
            if little.word(0) == SECTION_HEADER {
                self.big_endian = little.word(8) != BYTE_ORDER;
                self.before = self.before.saturating_add(self.interfaces.len() as u32);
                self.interfaces.clear();
                let fields = Fields { bytes: begin, big_endian: self.big_endian };
                if fields.word(8) != BYTE_ORDER {
                    report(offset, "a section without byte order: the rest is not readable".into());
                    return Ok(());
                }
            }
            let fields = Fields { bytes: begin, big_endian: self.big_endian };
            let (kind, length) = (fields.word(0), fields.word(4));
            if length < 12 || length % 4 != 0 {
                report(offset, format!("a block of {length} bytes: the rest is not readable"));
                return Ok(());
            }
            if length > BLOCK_BYTES_MAX {
                report(offset, format!("a block of {length} bytes is skipped"));
                if input.skip(u64::from(length))? < u64::from(length) {
                    return Ok(());
                }
                continue;
            }
            let block = input.peek(length as usize)?;
            if block.len() < length as usize {
                let there = block.len();
                report(offset, format!("the last block has {there} of {length} bytes"));
                return Ok(());
            }
            let body = &block[8..block.len() - 4];
            let fields = Fields { bytes: body, big_endian: self.big_endian };
            let trailer = Fields { bytes: &block[block.len() - 4..], ..fields };
            if trailer.word(0) != length {
                report(offset, "a block's two lengths differ; the first is taken".into());
            }
            self.block(kind, fields, offset, each, report);
            input.skip(u64::from(length))?;
        }
    }

    /// Names of the interfaces by number.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    fn name(&mut self, fields: Fields<'_>) {
        if self.names.len() < NAMES_MAX {
            let name = fields.option(8, INTERFACE_NAME).unwrap_or(&[]);
            let name = String::from_utf8_lossy(&name[..name.len().min(NAME_BYTES_MAX)]);
            self.names.push(name.into_owned());
        }
    }

    fn block(
        &mut self,
        kind: u32,
        fields: Fields<'_>,
        offset: u64,
        each: &mut impl FnMut(&Record<'_>),
        report: &mut impl FnMut(u64, String),
    ) {
        let (number, high, low, kept, original_bytes, at) = match kind {
            INTERFACE_DESCRIPTION => {
                if self.interfaces.len() < INTERFACES_MAX {
                    self.interfaces.push(interface(fields));
                    self.name(fields);
                } else {
                    report(offset, "more interfaces than are read".into());
                }
                return;
            }
            ENHANCED_PACKET => {
                let word = |n: usize| fields.word(4 * n);
                (word(0), word(1), word(2), word(3), word(4), 20)
            }
            OBSOLETE_PACKET => {
                let word = |n: usize| fields.word(4 * n);
                (u32::from(fields.short(0)), word(1), word(2), word(3), word(4), 20)
            }
            SIMPLE_PACKET => {
                let original = fields.word(0);
                let snap = self.interfaces.first().map_or(0, |first| first.snap_bytes);
                let kept = if snap == 0 { original } else { original.min(snap) };
                (0, 0, 0, kept, original, 4)
            }
            _ => return,
        };
        let Some(interface) = self.interfaces.get(number as usize) else {
            report(offset, format!("a packet of interface {number}, which is not declared"));
            return;
        };
        let end = at + kept as usize;
        let Some(data) = fields.bytes.get(at..end) else {
            report(offset, format!("a packet says {kept} bytes, more than its block"));
            return;
        };
        let stamp = u64::from(high) << 32 | u64::from(low);
        let time_ns = (kind != SIMPLE_PACKET).then(|| interface.time_ns(stamp));
        let number = self.before.saturating_add(number);
        each(&Record { time_ns, interface: number, link: interface.link, original_bytes, data });
    }
}

fn interface(fields: Fields<'_>) -> Interface {
    // Microseconds without the option, or if the resolution exceeds 64 bits.
    let units = match fields.option(8, TIME_RESOLUTION) {
        Some(&[power]) if power & 0x80 != 0 && power & 0x7f < 63 => 1 << (power & 0x7f),
        Some(&[power]) if power <= 19 => 10_u64.pow(u32::from(power)),
        _ => 1_000_000,
    };
    let offset_s = match fields.option(8, TIME_OFFSET) {
        Some(bytes) if bytes.len() == 8 => {
            let part = Fields { bytes, big_endian: fields.big_endian };
            let (first, second) = (i64::from(part.word(0)), i64::from(part.word(4)));
            if fields.big_endian {
                first << 32 | second
            } else {
                second << 32 | first
            }
        }
        _ => 0,
    };
    Interface { link: LinkType::of(fields.short(0)), snap_bytes: fields.word(4), units, offset_s }
}

impl Interface {
    fn time_ns(&self, stamp: u64) -> i64 {
        let ns = u128::from(stamp) * 1_000_000_000 / u128::from(self.units);
        let offset = self.offset_s.saturating_mul(1_000_000_000);
        i64::try_from(ns).unwrap_or(i64::MAX).saturating_add(offset)
    }
}
