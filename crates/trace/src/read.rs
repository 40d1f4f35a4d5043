//! Reads a trace of either format as a stream of events.

use crate::event::{Event, What};
use crate::lines::Lines;
use crate::network::Network;
use crate::ns2::{self, Said};
use crate::ns3::{self, Ns3};
use crate::problems::{Kind, Problem, Problems};
use crate::wireless::Wireless;
use dumbbell_capture::input::Input;
use std::io::{self, Read};
use thiserror::Error;

/// Maximum number of remarks.
const REMARKS_MAX: usize = 1000;
/// Maximum step back in time that is rounding: ns-2 writes times with four, six or more digits.
const ROUNDED_NS: i64 = 100_000;
/// Bytes between two calls of the progress function.
const LOOK_BYTES: u64 = 1 << 22;

/// Receiver of a trace's events.
pub trait Kept {
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
    #[error("no event of an ns-2 or ns-3 trace in it{}", .0.as_ref().map_or_else(
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
    kept: &mut impl Kept,
    mut goes_on: impl FnMut(u64) -> bool,
) -> Result<Reading, OpenError> {
    let mut lines = Lines::new(Input::open(source)?);
    let mut network = Network::default();
    let mut problems = Problems::default();
    let (mut number, mut events, mut bytes, mut looked) = (0u64, 0u64, 0u64, 0u64);
    let mut times: Option<(i64, i64)> = None;
    let mut before = None;
    let mut remarks = Vec::new();
    let mut ns3: Option<Ns3> = None;
    let mut wireless = Wireless::default();
    loop {
        let line = match lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(error) if events > 0 => {
                let words = || format!("the file breaks off here: {error}");
                problems.add(Kind::Incomplete, number + 1, words);
                break;
            }
            Err(error) => return Err(error.into()),
        };
        number += 1;
        bytes += line.text.len() as u64 + 1;
        if bytes - looked >= LOOK_BYTES {
            looked = bytes;
            if !goes_on(bytes) {
                return Err(OpenError::Stopped);
            }
        }
        if line.too_long {
            problems.add(Kind::TooLong, number, || "longer than any line of a trace".to_owned());
            continue;
        }
        if line.text.is_empty() {
            continue;
        }
        if events == 0 && ns3.is_none() && ns3::looks_alike(line.text) {
            ns3 = Some(Ns3::default());
        }
        let said = match &mut ns3 {
            Some(ns3) => ns3.parse(line.text, &mut network),
            None => match ns2::parse(line.text, &mut network) {
                Said::Wireless => wireless.parse(line.text.trim_ascii_start(), &mut network),
                said => said,
            },
        };
        let at_once = matches!(said, Said::Sent(_));
        match said {
            Said::Nothing | Said::Wireless => {}
            Said::Event(mut event) | Said::Sent(mut event) => {
                let (first, last) = times.unwrap_or((event.time_ns, event.time_ns));
                if event.time_ns < last && last - event.time_ns <= ROUNDED_NS {
                    problems.add(Kind::Rounded, number, || {
                        "times go back by less than 0.1 ms, as where some are rounded more than \
                         others: the time before is taken"
                            .to_owned()
                    });
                    event.time_ns = last;
                }
                if event.time_ns < last {
                    problems.add(Kind::Backwards, number, || {
                        let back = (last - event.time_ns) as f64 / 1e9;
                        format!("the time goes back by {back} s: such lines are left out")
                    });
                    continue;
                }
                // SCTP has a line per chunk of a packet.
                let chunk = before.is_some_and(|before: Event| {
                    before != event
                        && before.what == event.what
                        && (before.uid, before.link) == (event.uid, event.link)
                        && before.time_ns == event.time_ns
                        && network.streams[event.stream as usize].kind == "sctp"
                });
                if chunk {
                    problems.add(Kind::Chunk, number, || {
                        "a further chunk of the packet of the line before: no packet of its own"
                            .to_owned()
                    });
                    continue;
                }
                if before == Some(event) {
                    problems.add(Kind::Repeated, number, || {
                        "the same as the line before, as where a link is traced twice: left out"
                            .to_owned()
                    });
                    continue;
                }
                before = Some(event);
                times = Some((first, event.time_ns));
                events += 1;
                kept.event(&network, &event);
                if at_once {
                    kept.event(&network, &Event { what: What::Dequeue, ..event });
                }
            }
            Said::Remark(at, text) => {
                if remarks.len() < REMARKS_MAX {
                    remarks.push((at, text));
                }
            }
            Said::Wrong(kind, message) => {
                let cut = !line.whole && matches!(kind, Kind::FewFields | Kind::Field);
                let kind = if cut { Kind::Truncated } else { kind };
                problems.add(kind, number, || {
                    if cut {
                        format!("the last line is cut off: {message}")
                    } else {
                        message
                    }
                });
            }
        }
    }
    let problems = problems.told();
    let Some(times_ns) = times else {
        return Err(OpenError::Nothing(problems.into_iter().next()));
    };
    let format = if ns3.is_some() { Format::Ns3 } else { Format::Ns2 };
    Ok(Reading { format, lines: number, events, bytes, times_ns, remarks, problems, network })
}
