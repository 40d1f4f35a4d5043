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
const DECRYPTION_SECRETS: u32 = 10;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const INTERFACE_NAME: u16 = 2;
const TIME_RESOLUTION: u16 = 9;
const TIME_OFFSET: u16 = 14;
/// Maximum length of a block: a frame with comments and hashes.
const BLOCK_BYTES_MAX: u32 = FRAME_BYTES_MAX + (1 << 18);
/// Bytes that are first searched for the block behind a damaged one.
const SEARCHED_BYTES: usize = 1 << 12;
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

/// Returns true for a section header; its type is the same in either byte order.
fn is_section(block: &[u8]) -> bool {
    block.starts_with(&SECTION_HEADER.to_le_bytes())
}

/// True if a section is big-endian; `None`: its byte order is damaged.
fn byte_order(section: &[u8]) -> Option<bool> {
    [false, true]
        .into_iter()
        .find(|&big_endian| Fields { bytes: section, big_endian }.word(8) == BYTE_ORDER)
}

/// Returns true if a block may have this length.
fn is_plausible(length: u32) -> bool {
    (12..=BLOCK_BYTES_MAX).contains(&length) && length.is_multiple_of(4)
}

/// Returns true if a block of a type that captures have begins here, and its two lengths agree.
fn is_sound(bytes: &[u8], big_endian: bool) -> bool {
    let own = if is_section(bytes) { byte_order(bytes) } else { Some(big_endian) };
    let Some(big_endian) = own else { return false };
    let fields = Fields { bytes, big_endian };
    let (kind, length) = (fields.word(0), fields.word(4));
    let known = [SECTION_HEADER, DECRYPTION_SECRETS].contains(&kind)
        || (INTERFACE_DESCRIPTION..=ENHANCED_PACKET).contains(&kind);
    known
        && is_plausible(length)
        && length as usize <= bytes.len()
        && fields.word(length as usize - 4) == length
}

/// Offset of the first sound block behind the first four bytes.
fn sound_block(bytes: &[u8], big_endian: bool) -> Option<usize> {
    (4..bytes.len()).step_by(4).find(|&at| is_sound(&bytes[at..], big_endian))
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
            if is_section(begin) {
                match byte_order(begin) {
                    Some(big_endian) => {
                        self.big_endian = big_endian;
                        self.before = self.before.saturating_add(self.interfaces.len() as u32);
                        self.interfaces.clear();
                    }
                    None => report(offset, "a section without byte order".into()),
                }
            }
            let fields = Fields { bytes: begin, big_endian: self.big_endian };
            let (kind, length) = (fields.word(0), fields.word(4));
            if !is_plausible(length) {
                if !self.recover(format!("a block of {length} bytes"), input, report)? {
                    return Ok(());
                }
                continue;
            }
            let wanted = length as usize;
            let block = input.peek(wanted)?;
            if block.len() < wanted {
                let message = format!("the last block has {} of {length} bytes", block.len());
                if !self.recover(message, input, report)? {
                    return Ok(());
                }
                continue;
            }
            let trailer = Fields { bytes: &block[wanted - 4..], big_endian: self.big_endian };
            if trailer.word(0) != length {
                let seen = input.peek(wanted + BLOCK_BYTES_MAX as usize)?;
                if seen.len() > wanted && !is_sound(&seen[wanted..], self.big_endian) {
                    let message = "a block's two lengths differ, and none follows the first";
                    if !self.recover(message.into(), input, report)? {
                        return Ok(());
                    }
                    continue;
                }
                report(offset, "a block's two lengths differ; the first is taken".into());
            }
            let body = &input.peek(wanted)?[8..wanted - 4];
            let fields = Fields { bytes: body, big_endian: self.big_endian };
            self.block(kind, fields, offset, each, report);
            input.skip(u64::from(length))?;
        }
    }

    /// Skips a damaged block: up to the next block whose two lengths agree. Returns false at the
    /// end of the file, and reports the damage.
    fn recover(
        &self,
        what: String,
        input: &mut Input<'_>,
        report: &mut impl FnMut(u64, String),
    ) -> io::Result<bool> {
        let offset = input.offset();
        let mut bytes = SEARCHED_BYTES;
        loop {
            let seen = input.peek(bytes)?;
            if let Some(at) = sound_block(seen, self.big_endian) {
                input.skip(at as u64)?;
                report(offset, format!("{what}: skipped to byte {}", input.offset()));
                return Ok(true);
            }
            if seen.len() < bytes {
                report(offset, format!("{what}: the rest is not readable"));
                return Ok(false);
            }
            if bytes < 2 * BLOCK_BYTES_MAX as usize {
                bytes *= 2;
            } else {
                // A block that begins in the second half may end behind it.
                input.skip(u64::from(BLOCK_BYTES_MAX))?;
            }
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
