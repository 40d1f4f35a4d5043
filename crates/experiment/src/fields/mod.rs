//! Fields of experiment files, declared once: the check of a file, its JSON Schema and the pages of
//! the documentation come from these declarations.

mod forms;
mod network;
mod pages;
mod queues;
mod rules;
mod study;
mod template;
mod traffic;
mod workload;

pub(crate) use forms::{Expansion, Form};
pub(crate) use rules::WORST;
pub(crate) use study::experiment_file;
pub(crate) use traffic::{every, single, subflow};

use crate::read::{Fields, Node, Refusal, Result};
use dumbbell_model::catalogue::parameter::{Parameter, Unit};
use serde_json::Value;

/// Most entries of a list or a mapping.
pub(crate) const MOST: usize = 20_000;

/// Gives a section, which is made once.
pub(crate) type Get = fn() -> &'static Section;

/// Checks relations between the fields of a section.
pub(crate) type Rule = fn(&Fields<'_>, &Context) -> Result<()>;

/// A metric, as a check needs it.
#[derive(Clone, Debug, Default)]
pub struct Metric {
    /// Name that counts; a former name has another.
    pub name: String,
    /// Lower and upper bound in its unit.
    pub bounds: (f64, f64),
    /// True if it is a share of 1.
    pub is_share: bool,
}

/// Knowledge of a check beside the file.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Metrics by the names that a file may give; `None`: not known here, and not checked.
    pub metrics: Option<std::collections::BTreeMap<String, Metric>>,
}

/// A mapping of experiment files.
pub(crate) struct Section {
    /// Name in the JSON Schema.
    pub(crate) name: &'static str,
    pub(crate) about: String,
    pub(crate) fields: Vec<Field>,
    /// Relations between fields, checked once each field is right.
    pub(crate) rules: Vec<Rule>,
    /// Fields of which exactly one is given.
    pub(crate) one_of: Vec<&'static str>,
    /// Hint for an unknown field that belongs elsewhere.
    pub(crate) hint: fn(&str) -> Option<String>,
    /// Refusal of an unknown field that says more than that it is unknown.
    pub(crate) forbidden: fn(&Node<'_>, &str) -> Option<Refusal>,
}

impl Section {
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.fields.iter().map(|field| field.name).collect()
    }

    /// Returns true if exactly one field is given and there are no others.
    pub(crate) fn is_choice(&self) -> bool {
        let choices = ["TemplateSpec", "WorkloadSpec"];
        choices.contains(&self.name)
            || (!self.one_of.is_empty()
                && self.one_of.len() == self.fields.len()
                && self.name != "TraceSpec")
    }

    fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    fn one_of(self, one_of: &[&'static str]) -> Self {
        Self { one_of: one_of.to_vec(), ..self }
    }

    fn hint(self, hint: fn(&str) -> Option<String>) -> Self {
        Self { hint, ..self }
    }

    fn forbidden(self, forbidden: fn(&Node<'_>, &str) -> Option<Refusal>) -> Self {
        Self { forbidden, ..self }
    }

    /// With the fields of another section before its own.
    fn over(mut self, base: &'static Self) -> Self {
        let own = std::mem::take(&mut self.fields);
        self.fields = base.fields.iter().cloned().chain(own).collect();
        self.rules.extend(&base.rules);
        self
    }
}

/// A field of a mapping.
#[derive(Clone)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) presence: Presence,
    pub(crate) about: String,
}

/// Whether a field must be written.
#[derive(Clone)]
pub(crate) enum Presence {
    Needed,
    /// `null` counts as not written.
    Optional,
    /// Has this value otherwise, in base units.
    Default(Value),
}

/// How a field is written.
#[derive(Clone)]
pub(crate) enum Kind {
    Time,
    PositiveTime,
    Rate,
    Size,
    PositiveSize,
    Packets,
    Share,
    /// A number in the unit that Linux fixes, or a quantity.
    NsNumber,
    BytesNumber,
    /// Limits of a queue.
    Limits,
    PacketLimit,
    Jitter,
    Codepoint,
    /// Size with a sign.
    Overhead,
    /// Level of a token bucket at the start.
    Initial,
    /// Minimum, default and maximum size.
    Sizes,
    ReceiveBuffer,
    Name,
    Flag,
    Text,
    Number,
    /// A number above 0.
    Positive,
    /// A number, or a percentage.
    Bound,
    /// A whole number in a range, both ends included.
    Whole(i128, i128),
    /// Ports of a fat tree.
    Even,
    /// One of some names, and what a name stands for.
    Choice(Vec<&'static str>, &'static str),
    Algorithm,
    SubflowAlgorithm,
    /// A metric; `worst`: or a worst case.
    Metric {
        worst: bool,
    },
    Command,
    ProgramText,
    Format,
    /// Factors and the space of a search have readers of their own.
    Factors,
    Space,
    /// All paths, or some of their numbers.
    Use,
    /// A number of subflows, or each.
    Subflows,
    Section(Get),
    Short(Get, Form),
    /// A section made from the catalogue.
    Made(&'static Section, Option<Form>),
    /// Item, fewest, most, and whether a single item needs no brackets.
    List(Box<Self>, usize, usize, bool),
    /// Values by names of the user, or nothing for a name; most.
    Map(Box<Self>, usize),
}

fn section(name: &'static str, about: &str, fields: Vec<Field>) -> Section {
    Section {
        name,
        about: about.to_owned(),
        fields,
        rules: Vec::new(),
        one_of: Vec::new(),
        hint: |_| None,
        forbidden: |_, _| None,
    }
}

fn field(name: &'static str, kind: Kind, presence: Presence, about: &str) -> Field {
    Field { name, kind, presence, about: about.to_owned() }
}

fn need(name: &'static str, kind: Kind, about: &str) -> Field {
    field(name, kind, Presence::Needed, about)
}

fn opt(name: &'static str, kind: Kind, about: &str) -> Field {
    field(name, kind, Presence::Optional, about)
}

fn def(name: &'static str, kind: Kind, default: Value, about: &str) -> Field {
    field(name, kind, Presence::Default(default), about)
}

fn list(item: Kind, least: usize, most: usize, or_one: bool) -> Kind {
    Kind::List(Box::new(item), least, most, or_one)
}

fn map(value: Kind, most: usize) -> Kind {
    Kind::Map(Box::new(value), most)
}

fn choice(names: &[&'static str], what: &'static str) -> Kind {
    Kind::Choice(names.to_vec(), what)
}

/// Sections, each made at its first use.
macro_rules! sections {
    ($($name:ident = $made:expr;)+) => {
        $(pub(crate) fn $name() -> &'static Section {
            static HELD: std::sync::LazyLock<Section> = std::sync::LazyLock::new(|| $made);
            &HELD
        })+
    };
}
use sections;

/// Kind of a parameter of the catalogue. `bare`: a sysctl, whose number may stand without unit.
fn of_parameter(one: &Parameter, bare: bool) -> Kind {
    let whole = |low: i128| Kind::Whole(low, one.most.into());
    match (one.unit, one.least > 0) {
        (Unit::Packets, _) => Kind::Packets,
        (Unit::Bytes, _) if bare => Kind::BytesNumber,
        (Unit::Time, _) if bare => Kind::NsNumber,
        (Unit::Bytes, true) => Kind::PositiveSize,
        (Unit::Bytes, false) => Kind::Size,
        (Unit::Time, true) => Kind::PositiveTime,
        (Unit::Time, false) => Kind::Time,
        (Unit::Share, _) => Kind::Share,
        (Unit::Rate, _) => Kind::Rate,
        (Unit::Flag, _) => Kind::Flag,
        (Unit::Choice, _) => Kind::Choice(one.choices.to_vec(), one.name),
        (Unit::Sizes, _) => Kind::Sizes,
        (Unit::Buffer, _) => Kind::ReceiveBuffer,
        (Unit::Number | Unit::Unwritten, _) => whole(one.least.into()),
        (Unit::Signed, _) if bare => whole(-i128::from(one.most)),
        (Unit::Signed, _) => Kind::Overhead,
    }
}

/// A description of the catalogue as plain text.
pub(crate) fn sentence(about: &str) -> String {
    let text = about.replace('`', "");
    let text = text.trim();
    let mut chars = text.strip_suffix('.').unwrap_or(text).chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", chars.as_str())
}
