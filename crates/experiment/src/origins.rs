//! Origin of each part of a scenario in the file, and the reader's messages in plain words.

use crate::code::Code;
use crate::read::{Loc, Refusal, Step};
use std::collections::BTreeMap;

/// Endings of names in a scenario that tell the unit.
const UNITS: [&str; 5] = ["_ns", "_bps", "_bytes", "_packets", "_ms"];
/// Names of a scenario that are others in files.
const RENAMED: [(&str, &str); 3] = [("drop_tail", "buffer"), ("a", "between"), ("b", "between")];
const KINDS: [(&str, &str); 5] = [
    ("f64", "a number"),
    ("a boolean", "true or false"),
    ("a string", "text"),
    ("a sequence", "a list"),
    ("a map", "a mapping"),
];

/// Path in the scenario (a section, and the index of an entry) → path in the file.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    entries: BTreeMap<(&'static str, usize), Loc>,
    sections: BTreeMap<&'static str, Loc>,
}

impl Origins {
    /// Notes where an entry of a section stands in the file.
    pub(crate) fn entry(&mut self, section: &'static str, index: usize, at: Loc) {
        self.entries.insert((section, index), at);
    }

    /// Notes where a section stands in the file.
    pub(crate) fn section(&mut self, section: &'static str, at: Loc) {
        self.sections.insert(section, at);
    }

    /// Path of an entry in the file; empty if it is not known.
    pub(crate) fn of(&self, section: &'static str, index: usize) -> Loc {
        self.entries.get(&(section, index)).cloned().unwrap_or_default()
    }

    /// Path in the file of a path in the scenario, and true if its part is known.
    fn find(&self, path: &str) -> (Loc, bool) {
        let steps = steps(path);
        let section = match steps.first() {
            Some(Step::Field(name)) => name.as_str(),
            _ => "",
        };
        let entry = match steps.get(1) {
            Some(Step::Index(index)) => self.entries.get(&(section, *index)),
            _ => None,
        };
        let of_section = || self.sections.get(section).map(|at| (at.clone(), 1));
        let (mut at, used) =
            entry.map(|at| (at.clone(), 2)).or_else(of_section).unwrap_or_default();
        at.extend(steps[used..].iter().map(plain));
        (at, used > 0)
    }

    /// Path in the file of a path in the scenario: that of the longest part that is known, and the
    /// names of the rest as files have them.
    pub fn place(&self, path: &str) -> Loc {
        self.find(path).0
    }

    /// Refusal of the scenario's reader or of an engine, as one of the file.
    ///
    /// # Arguments
    /// - `path`: path of the field in the scenario.
    /// - `message`: message of the reader.
    pub fn refused(&self, path: &str, message: &str) -> Refusal {
        let (message, found) = plainly(without_line(message));
        let no_such = ["no node ", "no host ", "no link ", "no flow "];
        let named = no_such.iter().filter_map(|head| message.strip_prefix(head));
        let unknown = named.into_iter().any(|name| !name.is_empty() && !name.starts_with(' '));
        let code = if unknown { Some(Code::NoNode) } else { None };
        let (at, known) = self.find(path);
        let told = known || path.is_empty() || at == steps(path);
        let message = if told { message } else { format!("{path}: {message}") };
        Refusal { found, code, ..Refusal::new(&at, message) }
    }
}

/// Steps of a path such as `links[0].forward`.
fn steps(path: &str) -> Loc {
    let parts = path.split(['.', '[', ']']).filter(|part| !part.is_empty());
    let step = |part: &str| match part.parse() {
        Ok(index) => Step::Index(index),
        Err(_) => Step::Field(part.to_owned()),
    };
    parts.map(step).collect()
}

/// Name in the file of a part of a scenario's path.
fn plain(step: &Step) -> Step {
    let Step::Field(name) = step else { return step.clone() };
    let renamed = RENAMED.iter().find(|(known, _)| known == name).map(|(_, other)| *other);
    let name = renamed.unwrap_or(name);
    let bare = UNITS.iter().find_map(|unit| name.strip_suffix(unit));
    Step::Field(bare.unwrap_or(name).to_owned())
}

/// Message without the place in the scenario's text.
fn without_line(message: &str) -> &str {
    let numbers = |text: &str| {
        let (line, column) = text.split_once(" column ")?;
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        Some(digits(line) && digits(column))
    };
    match message.rsplit_once(" at line ") {
        Some((head, tail)) if numbers(tail) == Some(true) => head,
        _ => message,
    }
}

/// Message about a wrong type in other words, and the value found.
pub(crate) fn plainly(message: &str) -> (String, Option<String>) {
    match unfit(message) {
        Some((found, kind)) => (format!("should be {kind}"), Some(found.to_owned())),
        None => (message.to_owned(), None),
    }
}

/// Value found and kind expected of a message such as: invalid type: integer `1`, expected a string.
fn unfit(message: &str) -> Option<(&str, String)> {
    let rest = message.strip_prefix("invalid ")?;
    let rest = rest.strip_prefix("type: ").or_else(|| rest.strip_prefix("value: "))?;
    let (kind, rest) = rest.split_at(rest.find(['`', '"'])?);
    let plain = |c: char| c.is_ascii_lowercase() || c == ' ';
    if !(kind.is_empty() || (kind.len() > 1 && kind.ends_with(' ') && kind.chars().all(plain))) {
        return None;
    }
    let (found, rest) = rest[1..].split_at(rest[1..].find(['`', '"'])?);
    let expected = rest[1..].strip_prefix(", expected ").filter(|text| !text.is_empty())?;
    let known = KINDS.iter().find(|(kind, _)| *kind == expected).map(|(_, words)| *words);
    let words = known.map(str::to_owned).or_else(|| range(expected));
    Some((found, words.unwrap_or_else(|| expected.to_owned())))
}

/// Range of an integer type such as `u32`.
fn range(kind: &str) -> Option<String> {
    let (signed, bits) = match kind.split_at_checked(1)? {
        ("i", bits) => (true, bits),
        ("u", bits) => (false, bits),
        _ => return None,
    };
    let bits = bits.parse::<u32>().ok().filter(|bits| [8, 16, 32, 64].contains(bits))?;
    let most = (1i128 << (bits - u32::from(signed))) - 1;
    let least = if signed { -most - 1 } else { 0 };
    Some(format!("a whole number from {least} to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str) -> Step {
        Step::Field(name.to_owned())
    }

    #[test]
    fn places_carry_the_names_of_files() {
        let mut origins = Origins::default();
        origins.entry("links", 1, vec![field("links"), Step::Index(0)]);
        origins.section("duration_ns", vec![field("duration")]);
        let buffer = origins.place("links[1].forward.queue.drop_tail.limit_bytes");
        let names = ["forward", "queue", "buffer", "limit"].map(field);
        assert_eq!(buffer[2..], names);
        assert_eq!(origins.place("duration_ns"), [field("duration")]);
        assert_eq!(origins.place("links[1].a")[2..], [field("between")]);
        let other = origins.refused("links[7].a", "no node r9");
        assert_eq!(other.message, "links[7].a: no node r9");
        assert_eq!(other.code, Some(Code::NoNode));
    }

    #[test]
    fn kinds_are_told_plainly() {
        let refusal = Origins::default()
            .refused("", "invalid type: integer `-1`, expected u32 at line 1 column 20");
        assert_eq!(refusal.message, "should be a whole number from 0 to 4294967295");
        assert_eq!(refusal.found.as_deref(), Some("-1"));
    }
}
