//! Records of formats that store each frame behind a header of fixed length: pcap and snoop.

use crate::decode::LinkType;
use crate::file::{Record, FRAME_BYTES_MAX};
use crate::input::Input;
use std::io;

/// A decoded record header.
pub(crate) struct RecordHeader {
    /// Captured bytes, which follow the header.
    pub kept: u32,
    /// Length of the frame on the wire.
    pub original_bytes: u32,
    /// Timestamp, ns since 1970.
    pub time_ns: i64,
    /// Length of the record: header, captured bytes and padding.
    pub record_bytes: u64,
}

/// Reads all records. `decode` decodes a header of `header_bytes`, or describes an impossible one.
pub(crate) fn read(
    (input, header_bytes): (&mut Input<'_>, usize),
    link: LinkType,
    decode: impl Fn(&[u8]) -> Result<RecordHeader, String>,
    each: &mut impl FnMut(&Record<'_>),
    report: &mut impl FnMut(u64, String),
) -> io::Result<()> {
    loop {
        let offset = input.offset();
        let header = input.peek(header_bytes)?;
        if header.len() < header_bytes {
            if !header.is_empty() {
                let there = header.len();
                report(offset, format!("the last record is cut off after {there} bytes"));
            }
            return Ok(());
        }
        let RecordHeader { kept, original_bytes, time_ns, record_bytes } = match decode(header) {
            Ok(header) => header,
            Err(message) => {
                report(offset, format!("{message}: the rest is not readable"));
                return Ok(());
            }
        };
        let data = &input.peek(header_bytes + kept as usize)?[header_bytes..];
        if data.len() < kept as usize {
            report(offset, format!("the last record has {} of {kept} bytes", data.len()));
            return Ok(());
        }
        each(&Record { time_ns: Some(time_ns), interface: 0, link, original_bytes, data });
        input.skip(record_bytes)?;
    }
}

/// Returns true if a frame may have this many captured bytes.
pub(crate) fn is_plausible(kept: u32) -> bool {
    kept <= FRAME_BYTES_MAX
}
