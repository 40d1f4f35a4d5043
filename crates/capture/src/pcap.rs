//! pcap (draft-ietf-opsawg-pcap): microseconds or nanoseconds, either byte order. Also Alexey
//! Kuznetzov's modified format with longer record headers.

use crate::decode::LinkType;
use crate::file::{Record, FRAME_BYTES_MAX};
use crate::input::Input;
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
        tell: &mut impl FnMut(u64, String),
    ) -> io::Result<()> {
        loop {
            let offset = input.offset();
            let header = input.peek(self.header_bytes)?;
            if header.len() < self.header_bytes {
                if !header.is_empty() {
                    tell(
                        offset,
                        format!("the last record is cut off after {} bytes", header.len()),
                    );
                }
                return Ok(());
            }
            let number = |at| word(header, at, self.big_endian);
            let (seconds, fraction) = (number(0), number(4));
            let (kept, original_bytes) = (number(8), number(12));
            if kept > FRAME_BYTES_MAX {
                tell(offset, format!("a record of {kept} bytes: the rest is not readable"));
                return Ok(());
            }
            let all = input.peek(self.header_bytes + kept as usize)?;
            let data = &all[self.header_bytes.min(all.len())..];
            if data.len() < kept as usize {
                tell(offset, format!("the last record has {} of {kept} bytes", data.len()));
                return Ok(());
            }
            let per_unit = if self.nanoseconds { 1 } else { 1000 };
            let time_ns = i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * per_unit;
            let time_ns = Some(time_ns);
            each(&Record { time_ns, interface: 0, link: self.link, original_bytes, data });
            input.skip(self.header_bytes as u64 + u64::from(kept))?;
        }
    }
}
