//! A capture file of any format as a stream of records.

use crate::decode::LinkType;
use crate::input::Input;
use crate::pcap::Pcap;
use crate::pcapng::Pcapng;
use crate::snoop::{self, Snoop};
use std::io::{self, Read};
use thiserror::Error;

/// More than this is kept of no frame: the largest super-packet with room to spare.
pub(crate) const FRAME_BYTES_MAX: u32 = 1 << 18;

/// One captured frame.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Since 1970; `None` where the file has no stamp.
    pub time_ns: Option<i64>,
    /// Number of the interface, from 0 over the whole file.
    pub interface: u32,
    /// What the frame begins with.
    pub link: LinkType,
    /// Length on the wire.
    pub original_bytes: u32,
    /// What was kept of it.
    pub data: &'a [u8],
}

/// Something wrong in a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Of the block or record, after decompression.
    pub offset: u64,
    /// In words.
    pub message: String,
}

/// Why a file cannot be read at all.
#[derive(Debug, Error)]
pub enum OpenError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is something else.
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
    told: u64,
}

/// Problems that are kept; more are counted.
const PROBLEMS_MAX: usize = 100;

impl<'a> CaptureFile<'a> {
    /// Opens pcap, pcapng or snoop; plain, gzip, zstd or xz.
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
        Ok(Self { input, format, problems: Vec::new(), told: 0 })
    }

    /// Hands over the records, in the order of the file.
    ///
    /// # Errors
    /// If reading fails; what was read before has been handed over.
    pub fn read(&mut self, mut each: impl FnMut(&Record<'_>)) -> io::Result<()> {
        let (problems, told) = (&mut self.problems, &mut self.told);
        let mut tell = |offset: u64, message: String| {
            *told += 1;
            if problems.len() < PROBLEMS_MAX {
                problems.push(Problem { offset, message });
            }
        };
        match &mut self.format {
            Format::Pcap(pcap) => pcap.read(&mut self.input, &mut each, &mut tell),
            Format::Pcapng(pcapng) => pcapng.read(&mut self.input, &mut each, &mut tell),
            Format::Snoop(snoop) => snoop.read(&mut self.input, &mut each, &mut tell),
        }
    }

    /// Names of the interfaces by their numbers, as far as the file was read and names them.
    pub fn interfaces(&self) -> &[String] {
        match &self.format {
            Format::Pcap(_) | Format::Snoop(_) => &[],
            Format::Pcapng(pcapng) => pcapng.names(),
        }
    }

    /// What was wrong, the first hundred.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How much was wrong.
    pub fn problem_count(&self) -> u64 {
        self.told
    }
}
