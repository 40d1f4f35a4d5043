//! Joint traces: rate, delay and loss over time from one CSV whose column names have the units.

use super::csv::{lines, Rows};
use super::{date, Fault, Read, LATEST_NS, LEAST_BPS, MAX_STEPS, MISSING, MOST_BPS};
use crate::files::Files;
use crate::impairment::Change;
use crate::near::nearest_name;
use crate::quantity::{positive_time, time};
use crate::read::{Node, Result, Step};
use serde_json::{json, Value};

/// Changes that repetitions make at most.
const MAX_CHANGES: usize = 100_000;
/// Longest delay, ns: an hour.
const LONGEST_NS: f64 = 3.6e12;
/// Columns by name: quantity, and its unit: base units (ns, bit/s) in it, or of a loss its units in the whole.
const COLUMNS: [(&str, Quantity, f64); 16] = [
    ("time", Quantity::Time, 1.0),
    ("time_s", Quantity::Time, 1e9),
    ("time_ms", Quantity::Time, 1e6),
    ("time_us", Quantity::Time, 1e3),
    ("time_ns", Quantity::Time, 1.0),
    ("rate_mbps", Quantity::Rate, 1e6),
    ("rate_kbps", Quantity::Rate, 1e3),
    ("rate_gbps", Quantity::Rate, 1e9),
    ("rate_bps", Quantity::Rate, 1.0),
    ("delay_ms", Quantity::Delay, 1e6),
    ("delay_us", Quantity::Delay, 1e3),
    ("delay_ns", Quantity::Delay, 1.0),
    ("delay_s", Quantity::Delay, 1e9),
    ("loss_percent", Quantity::Loss, 100.0),
    ("loss_share", Quantity::Loss, 1.0),
    ("loss_ppm", Quantity::Loss, 1e6),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Time,
    Rate,
    Delay,
    Loss,
}

impl Quantity {
    const ALL: [Self; 4] = [Self::Time, Self::Rate, Self::Delay, Self::Loss];

    fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Rate => "rate",
            Self::Delay => "delay",
            Self::Loss => "loss",
        }
    }

    /// A value in base units. A loss is divided, which is exact to the last bit.
    fn base(self, value: f64, factor: f64) -> f64 {
        match self {
            Self::Time | Self::Rate | Self::Delay => value * factor,
            Self::Loss => value / factor,
        }
    }

    /// Largest value.
    fn most(self, factor: f64) -> f64 {
        match self {
            Self::Time => f64::INFINITY,
            Self::Rate => MOST_BPS / factor,
            Self::Delay => LONGEST_NS / factor,
            Self::Loss => factor,
        }
    }
}

/// What is behind the last row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Hold,
    Repeat,
}

/// A joint trace as written: a CSV file beside the experiment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Joint {
    file: String,
    from_ns: u64,
    length_ns: Option<u64>,
    end: End,
}

/// The part of a file that `from` and `length` choose.
struct Part {
    /// Values from their times on, ns; the first time is 0. Empty: the part has no row.
    rows: Vec<(u64, Values)>,
    /// True if rows follow in the file.
    goes_on: bool,
}

/// Values of a pipe from a time on; `None`: the file has no such column.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Values {
    rate_bps: Option<u64>,
    delay_ns: Option<u64>,
    loss: Option<f64>,
}

impl Values {
    fn set(&mut self, quantity: Quantity, value: f64) {
        match quantity {
            Quantity::Time => {}
            Quantity::Rate => {
                self.rate_bps = Some((value.round_ties_even() as u64).max(LEAST_BPS));
            }
            Quantity::Delay => self.delay_ns = Some(value.round_ties_even() as u64),
            Quantity::Loss => self.loss = Some(value),
        }
    }

    /// These values, and those of `other` where there is none.
    fn or(self, other: Self) -> Self {
        Self {
            rate_bps: self.rate_bps.or(other.rate_bps),
            delay_ns: self.delay_ns.or(other.delay_ns),
            loss: self.loss.or(other.loss),
        }
    }

    /// The change that replaces `before`; `None`: all are equal.
    fn change(self, before: Self, at_ns: u64) -> Option<Change> {
        let change = Change {
            at_ns,
            rate_bps: self.rate_bps.filter(|_| self.rate_bps != before.rate_bps),
            delay_ns: self.delay_ns.filter(|_| self.delay_ns != before.delay_ns),
            loss: self.loss.filter(|_| self.loss != before.loss).map(lossy),
            state: None,
        };
        (!change.names().is_empty()).then_some(change)
    }
}

/// Loss of a share of packets in the form of the scenario.
fn lossy(share: f64) -> Value {
    match share > 0.0 {
        true => json!({"independent": {"probability": share}}),
        false => "none".into(),
    }
}

/// A joint trace as fields of a pipe.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Course {
    /// Rate at the beginning, bit/s, and the mean over time.
    pub(crate) rate_bps: Option<(u64, u64)>,
    /// Delay at the beginning.
    pub(crate) delay_ns: Option<u64>,
    /// Loss at the beginning, in the form of the scenario.
    pub(crate) loss: Option<Value>,
    pub(crate) changes: Vec<Change>,
}

impl Course {
    /// Names of the quantities that the file has.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        let given = [self.rate_bps.is_some(), self.delay_ns.is_some(), self.loss.is_some()];
        ["rate", "delay", "loss"]
            .into_iter()
            .zip(given)
            .filter(|(_, has)| *has)
            .map(|(name, _)| name)
    }
}

/// Column of each quantity, and its factor.
type Columns = Vec<(usize, Quantity, f64)>;

impl Joint {
    /// Reads the field `trace`.
    pub(crate) fn read(node: &Node<'_>) -> Result<Self> {
        let fields = node.any_fields()?;
        let end = fields.read("end", |node| node.choice(&["hold", "repeat"], "end of a trace"))?;
        Ok(Self {
            file: fields.need("file")?.name()?,
            from_ns: fields.read("from", time)?.unwrap_or(0),
            length_ns: fields.read("length", positive_time)?,
            end: if end.as_deref() == Some("repeat") { End::Repeat } else { End::Hold },
        })
    }

    /// Fields of a pipe until `duration_ns`. `at`: path of the pipe in the experiment.
    pub(crate) fn course(
        &self,
        files: &dyn Files,
        duration_ns: u64,
        at: &[Step],
    ) -> Result<Course> {
        super::of_file(&self.file, "trace", files, at, |data| self.parsed(data, duration_ns))
    }

    fn fail<T>(&self, line: usize, words: &str, found: Option<&str>) -> Read<T> {
        Err(Fault::new(format!("line {line} of {}{words}", self.file), found))
    }

    fn parsed(&self, data: &[u8], duration_ns: u64) -> Read<Course> {
        let text = super::text(&self.file, data)?;
        let all = lines(text);
        let head = all.first().copied().unwrap_or_default();
        let delimiter = [',', ';', '\t'].into_iter().max_by_key(|one| head.matches(*one).count());
        let mut rows = Rows::new(all, delimiter.unwrap_or(','));
        let header = super::row(&self.file, &mut rows)?.unwrap_or_default();
        let header: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
        let columns = self.columns(&header)?;
        let part = self.rows(&mut rows, &header, &columns)?;
        self.course_of(&part, &columns, duration_ns)
    }

    /// Columns of the header.
    fn columns(&self, header: &[String]) -> Read<Columns> {
        let file = &self.file;
        let known = || COLUMNS.iter().map(|(name, ..)| *name);
        let allowed: Vec<String> = known().map(str::to_owned).collect();
        if header.len() < 2 {
            let hint = if header.first().is_some_and(|word| word.parse::<u64>().is_ok()) {
                "; packet-delivery traces stand in shaper: {trace: {file: …}}"
            } else {
                ""
            };
            let message = format!("{file} has no header with two columns{hint}");
            let found = header.first().map(String::as_str);
            return Err(Fault::new(message, found).allowed(&allowed));
        }
        let mut columns: Columns = Vec::new();
        for (place, name) in header.iter().enumerate() {
            let Some((_, quantity, factor)) = COLUMNS.iter().find(|(one, ..)| one == name) else {
                let near = nearest_name(name, known());
                let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
                let message = format!("line 1 of {file}: unknown column {name}{hint}");
                return Err(Fault::new(message, Some(name)).allowed(&allowed));
            };
            if columns.iter().any(|(_, one, _)| one == quantity) {
                let message = format!("line 1 of {file}: two columns of {}", quantity.name());
                return Err(Fault::new(message, Some(name)));
            }
            columns.push((place, *quantity, *factor));
        }
        if !columns.iter().any(|(_, one, _)| *one == Quantity::Time) {
            let message = format!("line 1 of {file}: no column of times");
            return Err(Fault::new(message, None).allowed(&allowed[..5]));
        }
        Ok(columns)
    }

    /// The chosen rows.
    fn rows(&self, rows: &mut Rows<'_>, header: &[String], columns: &Columns) -> Read<Part> {
        let mut found: Vec<(u64, Values)> = Vec::new();
        let mut goes_on = false;
        let (mut first, mut last) = (None, None);
        let mut held = Values::default();
        while let Some(row) = super::row(&self.file, rows)? {
            let line = rows.line;
            if row.iter().all(|text| text.trim().is_empty()) {
                continue;
            }
            if row.len() != header.len() {
                let words = format!(" has {} columns, the header {}", row.len(), header.len());
                return self.fail(line, &words, None);
            }
            let (now, values) = self.row(&row, line, header, columns)?;
            if last.is_some_and(|last| now <= last) {
                return self.fail(line, ": not later than the row before it", Some(&row.join(",")));
            }
            last = Some(now);
            let passed = now - *first.get_or_insert(now) - i128::from(self.from_ns);
            goes_on = self.length_ns.is_some_and(|ns| passed >= i128::from(ns));
            if goes_on {
                break;
            }
            held = values.or(held);
            let at = u64::try_from(passed).unwrap_or(0);
            let full = found.len() == MAX_STEPS;
            match found.last_mut() {
                // The newest row at or before the beginning counts.
                Some(one) if passed <= 0 => *one = (0, held),
                _ if full => {
                    let words =
                        format!(": more than {MAX_STEPS} rows; choose some with from and length");
                    return self.fail(line, &words, None);
                }
                _ => found.push((at, held)),
            }
        }
        if last.zip(first).is_some_and(|(last, first)| last - first < i128::from(self.from_ns)) {
            found.clear();
        }
        Ok(Part { rows: found, goes_on })
    }

    /// Time, ns, and values of a row.
    fn row(
        &self,
        row: &[String],
        line: usize,
        header: &[String],
        columns: &Columns,
    ) -> Read<(i128, Values)> {
        let (mut now, mut values) = (0, Values::default());
        for &(place, quantity, factor) in columns {
            let (text, name) = (row[place].trim(), &header[place]);
            if quantity == Quantity::Time {
                now = self.time(text, line, name, factor)?;
                continue;
            }
            if MISSING.contains(&text.to_lowercase().as_str()) {
                continue;
            }
            let most = quantity.most(factor);
            match text.parse::<f64>() {
                Ok(value) if (0.0..=most).contains(&value) => {
                    values.set(quantity, quantity.base(value, factor));
                }
                Ok(value) if value > most && value.is_finite() => {
                    let words = format!(", column {name}: more than {most}");
                    return self.fail(line, &words, Some(text));
                }
                _ => {
                    let words = format!(", column {name}: not a number from 0 on");
                    return self.fail(line, &words, Some(text));
                }
            }
        }
        Ok((now, values))
    }

    fn time(&self, text: &str, line: usize, column: &str, factor: f64) -> Read<i128> {
        let (found, what) = match column {
            "time" => {
                (date::date(text), "not a date; numbers stand in a column with a unit, as time_s")
            }
            _ => {
                (date::number(text, factor as u64), "not a number; dates stand in a column `time`")
            }
        };
        let Some(ns) = found else {
            return self.fail(line, &format!(", column {column}: {what}"), Some(text));
        };
        if ns.abs() > LATEST_NS {
            return self.fail(line, &format!(", column {column}: too late"), Some(text));
        }
        Ok(ns)
    }

    /// The steps as fields of a pipe. The first value of a column holds from the beginning.
    fn course_of(&self, part: &Part, columns: &Columns, duration_ns: u64) -> Read<Course> {
        let (file, found) = (&self.file, &part.rows);
        let Some(&(_, first)) = found.first() else {
            return Err(Fault::new(format!("no row of {file} lies within this time"), None));
        };
        let first = found.iter().fold(first, |held, (_, values)| held.or(*values));
        let known = [first.rate_bps.is_some(), first.delay_ns.is_some(), first.loss.is_some()];
        for (quantity, known) in Quantity::ALL[1..].iter().zip(known) {
            if !known && columns.iter().any(|(_, one, _)| one == quantity) {
                let message =
                    format!("{file} has no value of its {} within this time", quantity.name());
                return Err(Fault::new(message, None));
            }
        }
        let whole = self.whole(part);
        let mean = mean_bps(found, first, whole);
        let mut steps = found.to_vec();
        steps.dedup_by_key(|step| step.1);
        let mut changes = Vec::new();
        let (mut before, mut start) = (first, 0u64);
        while start < duration_ns {
            for &(at, values) in &steps {
                let at = start.saturating_add(at);
                // A value that is not yet known is the first one.
                let Some(change) = values.or(first).change(before, at) else { continue };
                if at >= duration_ns {
                    break;
                }
                if changes.len() == MAX_CHANGES {
                    let message = format!("{file} repeats into more than {MAX_CHANGES} changes");
                    return Err(Fault::new(message, None));
                }
                before = values.or(first);
                changes.push(change);
            }
            // A trace whose values are constant changes nothing, however often.
            if self.end == End::Hold || whole == 0 || changes.is_empty() {
                break;
            }
            start = start.saturating_add(whole);
        }
        Ok(Course {
            rate_bps: first.rate_bps.zip(mean),
            delay_ns: first.delay_ns,
            loss: first.loss.map(lossy),
            changes,
        })
    }

    /// Length of the trace, ns. The last row of a file is as long as the one before it, at most until
    /// `length`; one that others follow lasts until `length`.
    fn whole(&self, part: &Part) -> u64 {
        if let Some(length) = self.length_ns.filter(|_| part.goes_on) {
            return length;
        }
        let [.., (before, _), (last, _)] = part.rows[..] else { return 0 };
        let whole = last.saturating_add(last - before);
        self.length_ns.map_or(whole, |length| length.min(whole))
    }
}

/// Mean rate over time, bit/s.
fn mean_bps(found: &[(u64, Values)], first: Values, whole: u64) -> Option<u64> {
    let rate = |values: Values| values.rate_bps.or(first.rate_bps);
    if whole == 0 {
        return rate(first);
    }
    let mut weighted = 0u128;
    for (i, &(at, values)) in found.iter().enumerate() {
        let until = found.get(i + 1).map_or(whole, |next| next.0);
        weighted += u128::from(rate(values)?) * u128::from(until.saturating_sub(at));
    }
    u64::try_from(weighted / u128::from(whole)).ok()
}
