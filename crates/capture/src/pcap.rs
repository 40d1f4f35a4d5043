//! pcap (draft-ietf-opsawg-pcap): microseconds or nanoseconds, either byte order. Also Alexey
//! Kuznetzov's modified format with longer record headers.

use crate::decode::LinkType;
use crate::file::Record;
use crate::input::Input;
use crate::records::{self, RecordHeader};
use std::io;

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
const MODIFIED: u32 = 0xa1b2_cd34;
const RECORD_HEADER_BYTES: usize = 16;
/// Record header with interface, protocol and packet type after the lengths.
const MODIFIED_HEADER_BYTES: usize = 24;

/// Header of a pcap file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pcap {
    big_endian: bool,
    nanoseconds: bool,
    header_bytes: usize,
    link: LinkType,
}

fn word(bytes: &[u8], at: usize, big_endian: bool) -> u32 {
    let Some(four) = bytes.get(at..at + 4) else { return 0 };
    let four = [four[0], four[1], four[2], four[3]];
    if big_endian {
        u32::from_be_bytes(four)
    } else {
        u32::from_le_bytes(four)
    }
}

impl Pcap {
    /// Parses the first 24 bytes of a file; `None` if they are no pcap header.
    pub(crate) fn header(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < 24 {
            return None;
        }
        let (big_endian, magic) = match (word(bytes, 0, false), word(bytes, 0, true)) {
            (magic @ (MICROSECONDS | NANOSECONDS | MODIFIED), _) => (false, magic),
            (_, magic @ (MICROSECONDS | NANOSECONDS | MODIFIED)) => (true, magic),
            _ => return None,
        };
        // The upper bits describe the frame check sequence.
        let link = LinkType::of((word(bytes, 20, big_endian) & 0xffff) as u16);
        let header_bytes =
            if magic == MODIFIED { MODIFIED_HEADER_BYTES } else { RECORD_HEADER_BYTES };
        Some(Self { big_endian, nanoseconds: magic == NANOSECONDS, header_bytes, link })
    }

    pub(crate) fn read(
        &self,
        input: &mut Input<'_>,
        each: &mut impl FnMut(&Record<'_>),
        report: &mut impl FnMut(u64, String),
    ) -> io::Result<()> {
        let fraction_ns = if self.nanoseconds { 1 } else { 1000 };
        let decode = |header: &[u8]| {
            let number = |at| word(header, at, self.big_endian);
            let kept = number(8);
            if !records::is_plausible(kept) {
                return Err(format!("a record of {kept} bytes"));
            }
            Ok(RecordHeader {
                kept,
                original_bytes: number(12),
                time_ns: i64::from(number(0)) * 1_000_000_000 + i64::from(number(4)) * fraction_ns,
                record_bytes: self.header_bytes as u64 + u64::from(kept),
            })
        };
        records::read((input, self.header_bytes), self.link, decode, each, report)
    }
}
