//! snoop (RFC 1761). All numbers are big-endian.

use crate::decode::{be32, LinkType};
use crate::file::Record;
use crate::input::Input;
use crate::records::{self, RecordHeader};
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
        let (version, link) = be32(bytes, 8).zip(be32(bytes, 12))?;
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
        report: &mut impl FnMut(u64, String),
    ) -> io::Result<()> {
        let decode = |header: &[u8]| {
            let number = |at| be32(header, at).unwrap_or(0);
            let (original_bytes, kept, length) = (number(0), number(4), number(8));
            let least = kept.saturating_add(RECORD_HEADER_BYTES);
            if !records::is_plausible(kept) || length < least || length - least > PADDING_MAX {
                return Err(format!("a record of {length} bytes with {kept} of a frame"));
            }
            let fraction_ns = i64::from(number(20)) * 1000;
            Ok(RecordHeader {
                kept,
                original_bytes,
                time_ns: i64::from(number(16)) * 1_000_000_000 + fraction_ns,
                record_bytes: u64::from(length),
            })
        };
        records::read((input, RECORD_HEADER_BYTES as usize), self.link, decode, each, report)
    }
}
