//! snoop (RFC 1761). All numbers are big-endian.

use crate::decode::{word, LinkType};
use crate::file::{Record, FRAME_BYTES_MAX};
use crate::input::Input;
use std::io;

const MAGIC: &[u8; 8] = b"snoop\0\0\0";
pub(crate) const HEADER_BYTES: u64 = 16;
const RECORD_HEADER_BYTES: u32 = 24;
/// Maximum padding after a record.
const PADDING_MAX: u32 = 4096;

/// Header of a snoop file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snoop {
    link: LinkType,
}

impl Snoop {
    /// Parses the first bytes of a file; `None` if they are no snoop header of version 2.
    pub(crate) fn header(bytes: &[u8]) -> Option<Self> {
        let (version, link) = word(bytes, 8).zip(word(bytes, 12))?;
        let known = bytes.starts_with(MAGIC) && version == 2;
        // Data link types of RFC 1761: IEEE 802.3, Ethernet, FDDI.
        let number = match link {
            0 | 4 => 1,
            8 => 10,
            other => LinkType::SNOOP_UNKNOWN | u16::try_from(other).unwrap_or(0xff).min(0xfe),
        };
        known.then_some(Self { link: LinkType(number) })
    }

    pub(crate) fn read(
        &self,
        input: &mut Input<'_>,
        each: &mut impl FnMut(&Record<'_>),
        tell: &mut impl FnMut(u64, String),
    ) -> io::Result<()> {
        loop {
            let offset = input.offset();
            let header = input.peek(RECORD_HEADER_BYTES as usize)?;
            if header.len() < RECORD_HEADER_BYTES as usize {
                if !header.is_empty() {
                    let there = header.len();
                    tell(offset, format!("the last record is cut off after {there} bytes"));
                }
                return Ok(());
            }
            let number = |at| word(header, at).unwrap_or(0);
            let (original_bytes, kept, length) = (number(0), number(4), number(8));
            let (seconds, microseconds) = (number(16), number(20));
            let whole = kept.saturating_add(RECORD_HEADER_BYTES);
            if kept > FRAME_BYTES_MAX || length < whole || length - whole > PADDING_MAX {
                let message = format!("a record of {length} bytes with {kept} of a frame");
                tell(offset, format!("{message}: the rest is not readable"));
                return Ok(());
            }
            let all = input.peek(whole as usize)?;
            let data = &all[RECORD_HEADER_BYTES as usize..];
            if data.len() < kept as usize {
                tell(offset, format!("the last record has {} of {kept} bytes", data.len()));
                return Ok(());
            }
            let fraction_ns = i64::from(microseconds) * 1000;
            let time_ns = Some(i64::from(seconds) * 1_000_000_000 + fraction_ns);
            each(&Record { time_ns, interface: 0, link: self.link, original_bytes, data });
            input.skip(u64::from(length))?;
        }
    }
}
