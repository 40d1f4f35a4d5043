//! Parameters of the catalogue's entries: name, unit, range, default.

use crate::units::{Rate, Span};
use crate::validate::{error, ScenarioError};
use serde::{Serialize, Serializer};

/// Unit of a parameter. It also determines the notation in experiment files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Time,
    /// A share of 1.
    Share,
    /// A whole number.
    Number,
    /// True or false.
    Flag,
    /// Bits per second.
    Rate,
    /// One of a few names.
    Choice,
    /// A whole number of either sign; the range is that of its magnitude.
    Signed,
    /// Minimum, default and maximum in bytes, above 0 and ascending.
    Sizes,
    /// Buffer of a received segment: `pages`, `small_head`, `copied` or a size.
    Buffer,
    /// Never written in experiment files. It is `null` in the scenario, unless a shorthand of this kind
    /// sets it.
    Unwritten,
}

/// Value of a parameter, in the base unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// Packets, bytes, nanoseconds or a number.
    Whole(u64),
    /// A share of 1.
    Share(f64),
    /// True or false.
    Flag(bool),
    /// Name of a choice.
    Name(&'static str),
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Whole(value.into())
    }
}

impl From<i32> for Value {
    /// Magnitude, which the range of [`Unit::Signed`] bounds.
    fn from(value: i32) -> Self {
        Self::Whole(value.unsigned_abs().into())
    }
}

impl From<Rate> for Value {
    fn from(value: Rate) -> Self {
        Self::Whole(value.as_bps())
    }
}

impl From<Span> for Value {
    fn from(value: Span) -> Self {
        Self::Whole(value.as_ns())
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Share(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

/// Default of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// A value.
    Given(Value),
    /// Derived from other parameters by this rule (Markdown).
    Derived(&'static str),
    /// No default: the parameter must be written.
    Required,
}

impl Serialize for Default {
    /// Writes a value, a mapping with the rule, or `null` if the parameter is required.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Given(value) => value.serialize(serializer),
            Self::Derived(rule) => serializer.collect_map([("rule", rule)]),
            Self::Required => serializer.serialize_none(),
        }
    }
}

/// Description of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// Name in experiment files and in `tc`.
    pub name: &'static str,
    /// Name in the scenario, below that of the entry: `limit_packets`, `pie.limit_packets`.
    pub field: &'static str,
    /// Unit.
    pub unit: Unit,
    /// Minimum, in the base unit.
    pub least: u64,
    /// Maximum, in the base unit.
    pub most: u64,
    /// Names of a choice.
    pub choices: &'static [&'static str],
    /// Default.
    pub default: Default,
    /// Description in one sentence.
    pub about: &'static str,
}

/// Maximum of a discipline's times. Some of them are compared modulo 2^32 ticks.
const TIME_MAX_NS: u64 = 60_000_000_000;
/// Minimum quantum (sch_fq_codel.c, sch_sfq.c).
const QUANTUM_MIN_BYTES: u64 = 256;
const QUANTUM_MAX_BYTES: u64 = 1 << 20;
/// Maximum of parameters without an upper bound.
const ANY: u64 = u64::MAX;

const fn parameter(
    name: &'static str,
    unit: Unit,
    (least, most): (u64, u64),
    default: Value,
) -> Parameter {
    let default = Default::Given(default);
    Parameter { name, field: "", unit, least, most, choices: &[], default, about: "" }
}

/// Packets, at least one.
pub const fn packets(name: &'static str, default: u64) -> Parameter {
    parameter(name, Unit::Packets, (1, ANY), Value::Whole(default))
}

/// Bytes, at least one.
pub const fn bytes(name: &'static str, default: u64) -> Parameter {
    parameter(name, Unit::Bytes, (1, ANY), Value::Whole(default))
}

/// Quantum of a flow per round, bytes.
pub const fn quantum(name: &'static str, default: u64) -> Parameter {
    parameter(name, Unit::Bytes, (QUANTUM_MIN_BYTES, QUANTUM_MAX_BYTES), Value::Whole(default))
}

/// A time of at least `least_ns`.
pub const fn time(name: &'static str, least_ns: u64, default_ns: u64) -> Parameter {
    parameter(name, Unit::Time, (least_ns, TIME_MAX_NS), Value::Whole(default_ns))
}

/// A whole number in a range, both ends included.
pub const fn whole(name: &'static str, least: u64, most: u64, default: u64) -> Parameter {
    parameter(name, Unit::Number, (least, most), Value::Whole(default))
}

/// A share of 1.
pub const fn share(name: &'static str, default: f64) -> Parameter {
    parameter(name, Unit::Share, (0, 1), Value::Share(default))
}

/// True or false.
pub const fn flag(name: &'static str, default: bool) -> Parameter {
    parameter(name, Unit::Flag, (0, 1), Value::Flag(default))
}

/// A rate above 0.
pub const fn rate(name: &'static str) -> Parameter {
    parameter(name, Unit::Rate, (1, ANY), Value::Whole(0)).required()
}

/// One of a few names; the first is the default.
pub const fn choice(name: &'static str, choices: &'static [&'static str]) -> Parameter {
    Parameter { choices, ..parameter(name, Unit::Choice, (0, 0), Value::Name(choices[0])) }
}

/// A parameter of a unit, with that unit's full range and without a default.
pub const fn of_unit(name: &'static str, unit: Unit) -> Parameter {
    parameter(name, unit, (0, ANY), Value::Whole(0)).required()
}

impl Parameter {
    /// Returns the parameter without a default.
    pub const fn required(self) -> Self {
        Self { default: Default::Required, ..self }
    }

    /// Returns the parameter with another range.
    pub const fn within(self, least: u64, most: u64) -> Self {
        Self { least, most, ..self }
    }

    /// Returns the parameter with a number as default.
    pub const fn given(self, number: u64) -> Self {
        Self { default: Default::Given(Value::Whole(number)), ..self }
    }

    /// Returns the parameter with a default derived from other parameters.
    pub const fn derived(self, rule: &'static str) -> Self {
        Self { default: Default::Derived(rule), ..self }
    }

    /// Returns the parameter with another maximum.
    pub const fn at_most(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// Returns the parameter with its field in the scenario and its description.
    pub const fn at(self, field: &'static str, about: &'static str) -> Self {
        Self { field, about, ..self }
    }

    /// Checks that a value lies in the range.
    ///
    /// # Errors
    /// Names the field below `at`, the value and what is allowed.
    pub fn check(&self, at: &str, value: Value) -> Result<(), ScenarioError> {
        let path = || format!("{at}.{}", self.field);
        match value {
            Value::Flag(_) | Value::Name(_) => Ok(()),
            Value::Share(share) if (0.0..=1.0).contains(&share) => Ok(()),
            Value::Share(share) => error(path(), format!("{share}; it must be 0 to 1")),
            Value::Whole(0) if self.least == 1 => error(path(), "must be above 0"),
            Value::Whole(number) if (self.least..=self.most).contains(&number) => Ok(()),
            Value::Whole(number) => {
                let [found, least, most] = [number, self.least, self.most].map(|n| self.shown(n));
                error(path(), format!("{found} is not within {least} to {most}"))
            }
        }
    }

    /// A value with its unit.
    fn shown(&self, number: u64) -> String {
        match self.unit {
            Unit::Time => format!("{} ms", number as f64 / 1e6),
            _ => number.to_string(),
        }
    }
}
