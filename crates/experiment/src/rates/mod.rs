//! Rates over time from the CSV of a measurement: 5Gdataset, WetLinks, or any with a header.

mod csv;
mod date;
mod joint;

use crate::code::Code;
use crate::files::{Files, Unreadable};
use crate::impairment::Change;
use crate::near::{nearest_name, shortened};
use crate::quantity::{positive_time, time, unit, RATE, TIME};
use crate::read::{below, beyond, Node, Refusal, Result, Step};
use csv::Rows;
pub(crate) use joint::{Course, Joint};

const MAX_BYTES: u64 = 64 << 20;
const MAX_STEPS: usize = 20_000;
/// Latest time: that of the year 5138, ns.
const LATEST_NS: i128 = 100_000_000_000_000_000_000;
/// A link has no rate of 0: lower rates count as this one, bit/s.
const LEAST_BPS: u64 = 64_000;
const MOST_BPS: f64 = 1e13;
/// Columns of known sets and their units: 5Gdataset and Raca's LTE set (G-NetTrack Pro); WetLinks.
const RATE_UNITS: [(&str, &str); 4] = [
    ("DL_bitrate", "kbit/s"),
    ("UL_bitrate", "kbit/s"),
    ("download", "bit/s"),
    ("upload", "bit/s"),
];
const TIME_COLUMNS: [&str; 2] = ["Timestamp", "timestamp_start"];
/// Marks of a missing value.
const MISSING: [&str; 5] = ["", "-", "nan", "null", "none"];
/// Units of rates as a file writes them.
pub(crate) const UNITS_OF_RATES: &[&str] =
    &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "bit", "kbit", "Mbit", "Gbit", "Tbit"];
/// Units of times as a file writes them.
pub(crate) const UNITS_OF_TIMES: &[&str] = &["ns", "us", "µs", "μs", "ms", "s", "min", "h"];

/// Rates over time as written: a CSV file beside the experiment, and its columns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rates {
    file: String,
    column: String,
    unit: Option<String>,
    time: Option<String>,
    time_unit: String,
    from_ns: u64,
    length_ns: Option<u64>,
}

/// Rates from their times on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Steps {
    /// Time from the start of the run, ns, and rate, bit/s; the first time is 0.
    steps: Vec<(u64, u64)>,
    /// Mean over time, bit/s.
    pub(crate) mean_bps: u64,
}

impl Steps {
    /// Rate from the beginning, bit/s.
    pub(crate) fn first_bps(&self) -> u64 {
        self.steps.first().map_or(LEAST_BPS, |step| step.1)
    }

    /// All further rates.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Change> + '_ {
        self.steps.iter().skip(1).map(|&(at_ns, bps)| Change {
            at_ns,
            rate_bps: Some(bps),
            ..Change::default()
        })
    }
}

/// Fault of a file of rates.
struct Fault {
    message: String,
    found: Option<String>,
    allowed: Vec<String>,
}

impl Fault {
    fn new(message: impl Into<String>, found: Option<&str>) -> Self {
        let found = found.map(|text| shortened(text, 60));
        Self { message: message.into(), found, allowed: Vec::new() }
    }

    fn allowed(self, allowed: &[String]) -> Self {
        Self { allowed: allowed.iter().take(20).cloned().collect(), ..self }
    }
}

type Read<T> = std::result::Result<T, Fault>;

impl Rates {
    /// Reads the field `rates`.
    pub(crate) fn read(node: &Node<'_>) -> Result<Self> {
        let fields = node.any_fields()?;
        let unit_of = |name, units, what| fields.read(name, |node| node.choice(units, what));
        Ok(Self {
            file: fields.need("file")?.name()?,
            column: fields.need("column")?.name()?,
            unit: unit_of("unit", UNITS_OF_RATES, "unit of a rate")?,
            time: fields.read("time", Node::name)?,
            time_unit: unit_of("time_unit", UNITS_OF_TIMES, "unit of a time")?
                .unwrap_or_else(|| "s".to_owned()),
            from_ns: fields.read("from", time)?.unwrap_or(0),
            length_ns: fields.read("length", positive_time)?,
        })
    }

    /// Rates of the file. `at`: path of the pipe in the experiment.
    pub(crate) fn steps(&self, files: &dyn Files, at: &[Step]) -> Result<Steps> {
        of_file(&self.file, "rates", files, at, |data| self.parsed(data))
    }

    fn fail<T>(&self, line: usize, words: &str, found: Option<&str>) -> Read<T> {
        Err(Fault::new(format!("line {line} of {}{words}", self.file), found))
    }

    fn parsed(&self, data: &[u8]) -> Read<Steps> {
        let text = text(&self.file, data)?;
        let lines = csv::lines(text);
        let delimiter = self.delimiter(lines.first().copied().unwrap_or_default());
        let mut rows = Rows::new(lines, delimiter);
        let header = row(&self.file, &mut rows)?.unwrap_or_default();
        let header: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
        let columns = self.columns(&header)?;
        match self.values(&mut rows, &header, columns)? {
            found if found.is_empty() => {
                let (column, file) = (&self.column, &self.file);
                let words = format!("no rate in column {column} of {file} within this time");
                Err(Fault::new(words, None))
            }
            found => Ok(stepped(&found)),
        }
    }

    /// Delimiter that finds the columns in the header; else the one that finds the most.
    fn delimiter(&self, head: &str) -> char {
        let wanted = [&self.column, self.time.as_ref().unwrap_or(&self.column)];
        let mut best = (0, ',');
        for one in [',', ';', '\t'] {
            let row = Rows::new(vec![head], one).next().unwrap_or_default().unwrap_or_default();
            let has = |name: &String| row.iter().any(|known| known.trim() == name);
            if row.len() > 1 && wanted.into_iter().all(has) {
                return one;
            }
            if row.len() > best.0 {
                best = (row.len(), one);
            }
        }
        best.1
    }

    /// Columns of the rate and of the time.
    fn columns(&self, header: &[String]) -> Read<[usize; 2]> {
        let Self { file, column, .. } = self;
        if header.len() < 2 {
            let found = header.first().map(String::as_str);
            return Err(Fault::new(format!("{file} has no header with two columns"), found));
        }
        let place = |name: &str| header.iter().position(|known| known == name);
        let usual = || TIME_COLUMNS.into_iter().find(|name| place(name).is_some());
        let Some(time) = self.time.as_deref().or_else(usual) else {
            let words = format!("which column of {file} is the time? Write `time`");
            return Err(Fault::new(words, None).allowed(header));
        };
        let find = |name: &str| {
            place(name).ok_or_else(|| {
                let near = nearest_name(name, header.iter().map(String::as_str));
                let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
                let words = format!("no column {name} in {file}{hint}");
                Fault::new(words, Some(name)).allowed(header)
            })
        };
        let found = [find(column)?, find(time)?];
        if self.unit.is_none() && !RATE_UNITS.iter().any(|(name, _)| name == column) {
            let words = format!("which unit has the column {column}? Write `unit`");
            let units = ["bit/s", "kbit/s", "Mbit/s"].map(str::to_owned);
            return Err(Fault::new(words, None).allowed(&units));
        }
        Ok(found)
    }

    /// Times from `from` on, ns, ascending, and rates, bit/s; equal times become one.
    ///
    /// A rate is valid from its time on: the last one before `from` is the first.
    fn values(
        &self,
        rows: &mut Rows<'_>,
        header: &[String],
        [rate, time]: [usize; 2],
    ) -> Read<Vec<(i128, f64)>> {
        let of_column = || RATE_UNITS.iter().find(|(name, _)| *name == self.column);
        let named = self.unit.as_deref().or_else(|| of_column().map(|(_, unit)| *unit));
        let factor = unit(RATE, named.unwrap_or("bit/s")) as f64;
        let mut found: Vec<(i128, f64, u32)> = Vec::new();
        let (mut first, mut last) = (None, None);
        let mut reached = false; // a row at `from` or later
        while let Some(row) = row(&self.file, rows)? {
            let line = rows.line;
            if row.is_empty() {
                continue;
            }
            let (Some(written), Some(moment)) = (row.get(rate), row.get(time)) else {
                let words = format!(" has {} columns, the header {}", row.len(), header.len());
                return self.fail(line, &words, None);
            };
            let at = self.time(moment.trim(), line, &header[time])?;
            if last.is_some_and(|last| at < last) {
                let words = format!(", column {}: earlier than before", header[time]);
                return self.fail(line, &words, Some(moment));
            }
            last = Some(at);
            let passed = at - *first.get_or_insert(at);
            let since = passed - i128::from(self.from_ns);
            reached = reached || since >= 0;
            let end = self.length_ns.map(|ns| i128::from(self.from_ns) + i128::from(ns));
            if end.is_some_and(|end| passed >= end) {
                break;
            }
            let text = written.trim();
            if MISSING.contains(&text.to_lowercase().as_str()) {
                continue;
            }
            let value = self.rate(text, line)? * factor;
            if value > MOST_BPS {
                let words = format!(", column {}: a rate too high", self.column);
                return self.fail(line, &words, Some(text));
            }
            let full = found.len() == MAX_STEPS;
            match found.last_mut() {
                Some(held) if held.0 == since => *held = (since, held.1 + value, held.2 + 1),
                // Later than the one before, and not after `from`.
                Some(held) if since <= 0 => *held = (since, value, 1),
                _ if full => {
                    let words =
                        format!(": more than {MAX_STEPS} rates; choose some with from and length");
                    return self.fail(line, &words, None);
                }
                _ => found.push((since, value, 1)),
            }
        }
        if !reached {
            return Ok(Vec::new());
        }
        Ok(found.iter().map(|(at, sum, count)| ((*at).max(0), sum / f64::from(*count))).collect())
    }

    fn rate(&self, text: &str, line: usize) -> Read<f64> {
        match text.replace('_', "").parse::<f64>() {
            Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
            _ => {
                let words = format!(", column {}: not a rate", self.column);
                self.fail(line, &words, Some(text))
            }
        }
    }

    /// Time in ns: a number, a date of ISO 8601, or that of G-NetTrack Pro.
    fn time(&self, text: &str, line: usize, column: &str) -> Read<i128> {
        let factor = unit(TIME, &self.time_unit) as u64;
        let Some(ns) = date::number(text, factor).or_else(|| date::date(text)) else {
            let words = format!(", column {column}: neither a number nor a date");
            return self.fail(line, &words, Some(text));
        };
        if ns.abs() > LATEST_NS {
            let unit = &self.time_unit;
            let words = format!(", column {column}: too late for a time in {unit}; `time_unit`?");
            return self.fail(line, &words, Some(text));
        }
        Ok(ns)
    }
}

/// What `read` finds in a file that the field `field` of a pipe names. `at`: path of the pipe.
fn of_file<T>(
    file: &str,
    field: &str,
    files: &dyn Files,
    at: &[Step],
    read: impl FnOnce(&[u8]) -> Read<T>,
) -> Result<T> {
    let found = match files.read(file, MAX_BYTES) {
        Ok(data) => read(&data),
        Err(Unreadable::Nowhere) => return beyond(at, field),
        Err(Unreadable::TooLarge) => {
            let message = format!("a file of {field} larger than {MAX_BYTES} bytes");
            Err(Fault::new(message, Some(file)))
        }
        Err(Unreadable::Reason(reason)) => {
            let message = format!("the file of {field} cannot be read: {reason}");
            Err(Fault::new(message, Some(file)))
        }
    };
    found.or_else(|fault| {
        let refusal = Refusal::new(&below(at, field), fault.message);
        let refusal = Refusal { found: fault.found, ..refusal };
        refusal.allowed(fault.allowed).code(Code::RatesFile).err()
    })
}

/// Text of a file, without a byte order mark.
fn text<'a>(file: &str, data: &'a [u8]) -> Read<&'a str> {
    std::str::from_utf8(data).map(|text| text.trim_start_matches('\u{feff}')).map_err(|error| {
        let before = &data[..error.valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Fault::new(format!("line {line} of {file} is not UTF-8 text"), None)
    })
}

/// The next row; `None`: there are no more.
fn row(file: &str, rows: &mut Rows<'_>) -> Read<Option<Vec<String>>> {
    let next = rows.next();
    next.map_err(|error| {
        Fault::new(format!("line {} of {file} is not CSV: {error}", rows.line), None)
    })
}

/// The first rate counts from the beginning; equal rates that follow each other become one.
fn stepped(found: &[(i128, f64)]) -> Steps {
    let bounded = |rate: f64| (rate.round_ties_even() as u64).max(LEAST_BPS);
    let rates: Vec<u64> = found.iter().map(|(_, rate)| bounded(*rate)).collect();
    let mut steps = vec![(0, rates[0])];
    let mut weighted: i128 = 0;
    for (i, pair) in found.windows(2).enumerate() {
        weighted += i128::from(rates[i]) * (pair[1].0 - pair[0].0);
        if rates[i + 1] != rates[i] {
            let at_ns = u64::try_from(pair[1].0).unwrap_or(u64::MAX);
            steps.push((at_ns, rates[i + 1]));
        }
    }
    let span = found[found.len() - 1].0 - found[0].0;
    let mean_bps = if span == 0 { rates[0] } else { (weighted / span) as u64 };
    Steps { steps, mean_bps }
}
