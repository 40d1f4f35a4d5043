//! Reads a trace of either format as a stream of events.

use crate::event::{Event, EventKind};
use crate::lines::{Line, Lines};
use crate::network::Network;
use crate::ns2::{self, ParsedLine};
use crate::ns3::{self, Ns3};
use crate::problems::{Problem, ProblemKind, Problems};
use crate::wireless::Wireless;
use dumbbell_capture::input::Input;
use std::io::{self, Read};
use thiserror::Error;

/// Maximum number of remarks.
const REMARKS_MAX: usize = 1000;
/// Maximum step back in time that is rounding: ns-2 writes times with four, six or more digits.
const ROUNDED_NS: i64 = 100_000;
/// Bytes between two calls of the progress function.
const PROGRESS_BYTES: u64 = 1 << 22;

/// Receiver of a trace's events.
pub trait EventSink {
    /// Processes an event. Times never decrease.
    fn event(&mut self, network: &Network, event: &Event);
}

/// Format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// ns-2's event trace.
    Ns2,
    /// ns-3's ASCII trace.
    Ns3,
}

impl Format {
    /// Name of the simulator.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ns2 => "ns-2",
            Self::Ns3 => "ns-3",
        }
    }
}

/// Reason why a file cannot be analysed.
#[derive(Debug, Error)]
pub enum OpenError {
    /// Reading failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The progress function stopped the reader.
    #[error("stopped")]
    Stopped,
    /// The file contains no event.
    #[error("no event of an ns-2 or ns-3 trace found{}", .0.as_ref().map_or_else(
        || ": it is empty".to_owned(),
        |problem| format!("; line {}: {}", problem.line, problem.message)
    ))]
    Nothing(Option<Problem>),
}

/// Result of reading a trace.
#[derive(Debug)]
pub struct Reading {
    /// Format.
    pub format: Format,
    /// Number of lines, skipped lines included.
    pub lines: u64,
    /// Number of events.
    pub events: u64,
    /// Number of bytes after decompression.
    pub bytes: u64,
    /// Times of the first and the last event.
    pub times_ns: (i64, i64),
    /// First remarks of ns-2 (`v` lines).
    pub remarks: Vec<(i64, String)>,
    /// Problems.
    pub problems: Vec<Problem>,
    /// Nodes, links and flows.
    pub network: Network,
}

/// Reads a trace, plain or compressed with gzip, zstd or xz. Calls `proceed` at intervals with the
/// number of bytes read.
///
/// # Errors
/// If the file cannot be read, contains no event, or `proceed` returns false. A read error after
/// the first event only ends the trace and adds a problem.
pub fn read(
    source: impl Read,
    sink: &mut impl EventSink,
    mut proceed: impl FnMut(u64) -> bool,
) -> Result<Reading, OpenError> {
    let mut lines = Lines::new(Input::open(source)?);
    let mut reader = Reader::default();
    let mut reported = 0;
    loop {
        let line = match lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(error) if reader.events > 0 => {
                let message = || format!("the file breaks off here: {error}");
                reader.problems.add(ProblemKind::Incomplete, reader.number + 1, message);
                break;
            }
            Err(error) => return Err(error.into()),
        };
        reader.number += 1;
        reader.bytes += line.text.len() as u64 + 1;
        if reader.bytes - reported >= PROGRESS_BYTES {
            reported = reader.bytes;
            if !proceed(reader.bytes) {
                return Err(OpenError::Stopped);
            }
        }
        reader.line(&line, sink);
    }
    reader.end()
}

/// State between lines.
#[derive(Default)]
struct Reader {
    network: Network,
    problems: Problems,
    number: u64,
    events: u64,
    bytes: u64,
    times: Option<(i64, i64)>,
    before: Option<Event>,
    remarks: Vec<(i64, String)>,
    ns3: Option<Ns3>,
    wireless: Wireless,
}

impl Reader {
    #[inline]
    fn line(&mut self, line: &Line<'_>, sink: &mut impl EventSink) {
        if line.too_long {
            self.problem(ProblemKind::TooLong, "longer than any line of a trace");
            return;
        }
        if line.text.is_empty() {
            return;
        }
        if self.events == 0 && self.ns3.is_none() && ns3::may_be(line.text) {
            self.ns3 = Some(Ns3::default());
        }
        let parsed = match &mut self.ns3 {
            Some(ns3) => ns3.parse(line.text, &mut self.network),
            None => match ns2::parse(line.text, &mut self.network) {
                ParsedLine::Wireless => {
                    self.wireless.parse(line.text.trim_ascii_start(), &mut self.network)
                }
                parsed => parsed,
            },
        };
        match parsed {
            ParsedLine::Nothing | ParsedLine::Wireless => {}
            ParsedLine::Event(event) => {
                self.event(event, sink);
            }
            ParsedLine::Sent(event) => {
                if let Some(event) = self.event(event, sink) {
                    sink.event(&self.network, &Event { what: EventKind::Dequeue, ..event });
                }
            }
            ParsedLine::Remark(at, text) => {
                if self.remarks.len() < REMARKS_MAX {
                    self.remarks.push((at, text));
                }
            }
            ParsedLine::Problem(kind, message) => {
                let cut =
                    !line.whole && matches!(kind, ProblemKind::FewFields | ProblemKind::Field);
                let kind = if cut { ProblemKind::Truncated } else { kind };
                self.problems.add(kind, self.number, || {
                    if cut {
                        format!("the last line is cut off: {message}")
                    } else {
                        message
                    }
                });
            }
        }
    }

    /// Passes an event on, unless it repeats one or goes back in time. Returns it with the time
    /// that it was given.
    #[inline]
    fn event(&mut self, mut event: Event, sink: &mut impl EventSink) -> Option<Event> {
        let (first, last) = self.times.unwrap_or((event.time_ns, event.time_ns));
        if event.time_ns < last && last - event.time_ns <= ROUNDED_NS {
            let message = "the time goes back by less than 0.1 ms, because of different rounding: \
                           the time of the line before is used";
            self.problem(ProblemKind::Rounded, message);
            event.time_ns = last;
        }
        if event.time_ns < last {
            self.problems.add(ProblemKind::Backwards, self.number, || {
                let back = (last - event.time_ns) as f64 / 1e9;
                format!("the time goes back by {back} s: such lines are skipped")
            });
            return None;
        }
        // SCTP has a line per chunk of a packet.
        let chunk = self.before.is_some_and(|before| {
            before != event
                && before.what == event.what
                && (before.uid, before.link) == (event.uid, event.link)
                && before.time_ns == event.time_ns
                && self.network.streams[event.stream as usize].kind == "sctp"
        });
        if chunk {
            let message = "a further chunk of the packet in the line before: not a new packet";
            self.problem(ProblemKind::Chunk, message);
            return None;
        }
        if self.before == Some(event) {
            let message = "a repetition of the line before, as if a link is traced twice: skipped";
            self.problem(ProblemKind::Repeated, message);
            return None;
        }
        self.before = Some(event);
        self.times = Some((first, event.time_ns));
        self.events += 1;
        sink.event(&self.network, &event);
        Some(event)
    }

    fn problem(&mut self, kind: ProblemKind, message: &str) {
        self.problems.add(kind, self.number, || message.to_owned());
    }

    fn end(self) -> Result<Reading, OpenError> {
        let problems = self.problems.sorted();
        let Some(times_ns) = self.times else {
            return Err(OpenError::Nothing(problems.into_iter().next()));
        };
        Ok(Reading {
            format: if self.ns3.is_some() { Format::Ns3 } else { Format::Ns2 },
            lines: self.number,
            events: self.events,
            bytes: self.bytes,
            times_ns,
            remarks: self.remarks,
            problems,
            network: self.network,
        })
    }
}
