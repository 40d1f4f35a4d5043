//! Capture files of any format as a stream of records.

use crate::decode::LinkType;
use crate::input::Input;
use crate::pcap::Pcap;
use crate::pcapng::Pcapng;
use crate::snoop::{self, Snoop};
use std::cell::Cell;
use std::io::{self, Read};
use thiserror::Error;

/// Maximum number of bytes kept of a frame; larger than any super-packet.
pub(crate) const FRAME_BYTES_MAX: u32 = 1 << 18;

/// One captured frame.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Timestamp, ns since 1970; `None` if the file has no timestamp.
    pub time_ns: Option<i64>,
    /// Number of the interface, from 0 over the whole file.
    pub interface: u32,
    /// Link type.
    pub link: LinkType,
    /// Length on the wire.
    pub original_bytes: u32,
    /// Captured bytes of the frame.
    pub data: &'a [u8],
}

/// A problem in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Offset of the block or record after decompression.
    pub offset: u64,
    /// Description.
    pub message: String,
}

/// Reason why a file cannot be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// Reading failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The format is unknown.
    #[error("neither pcap, pcapng nor snoop: it begins with {0}")]
    Unknown(String),
}

enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
    Snoop(Snoop),
}

/// An open capture.
pub struct CaptureFile<'a> {
    input: Input<'a>,
    format: Format,
    problems: Vec<Problem>,
    problem_count: u64,
}

/// Maximum number of problems kept; further problems are only counted.
const PROBLEMS_MAX: usize = 100;

impl<'a> CaptureFile<'a> {
    /// Opens a pcap, pcapng or snoop file: plain, gzip, zstd or xz.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(source: impl Read + 'a) -> Result<Self, OpenError> {
        let mut input = Input::open(source)?;
        let begin = input.peek(24)?.to_vec();
        let format = if let Some(pcap) = Pcap::header(&begin) {
            input.skip(24)?;
            Format::Pcap(pcap)
        } else if Pcapng::begins(&begin) {
            Format::Pcapng(Pcapng::default())
        } else if let Some(found) = Snoop::header(&begin) {
            input.skip(snoop::HEADER_BYTES)?;
            Format::Snoop(found)
        } else {
            let shown: Vec<_> = begin.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            let shown = if shown.is_empty() { "nothing".to_owned() } else { shown.join(" ") };
            return Err(OpenError::Unknown(shown));
        };
        Ok(Self { input, format, problems: Vec::new(), problem_count: 0 })
    }

    /// Passes each record to `each`, in the order of the file.
    ///
    /// # Errors
    /// If reading fails. All records before the failure have been passed on.
    pub fn read(&mut self, mut each: impl FnMut(&Record<'_>)) -> io::Result<()> {
        let (problems, problem_count) = (&mut self.problems, &mut self.problem_count);
        let packets = Cell::new(0_u64);
        let mut each = |record: &Record<'_>| {
            packets.set(packets.get() + 1);
            each(record);
        };
        let mut report = |offset: u64, message: String| {
            *problem_count += 1;
            if problems.len() < PROBLEMS_MAX {
                let message = format!("{message}; packets read before: {}", packets.get());
                problems.push(Problem { offset, message });
            }
        };
        let done = match &mut self.format {
            Format::Pcap(pcap) => pcap.read(&mut self.input, &mut each, &mut report),
            Format::Pcapng(pcapng) => pcapng.read(&mut self.input, &mut each, &mut report),
            Format::Snoop(snoop) => snoop.read(&mut self.input, &mut each, &mut report),
        };
        done.map_err(|error| {
            let message = format!("{error}; packets read before: {}", packets.get());
            io::Error::new(error.kind(), message)
        })
    }

    /// Names of the interfaces by number, as far as the file was read and contains names.
    pub fn interfaces(&self) -> &[String] {
        match &self.format {
            Format::Pcap(_) | Format::Snoop(_) => &[],
            Format::Pcapng(pcapng) => pcapng.names(),
        }
    }

    /// The first problems, 100 at most.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Number of problems.
    pub fn problem_count(&self) -> u64 {
        self.problem_count
    }
}
