//! What is wrong in a trace, by kind: how often, and where first.

use std::collections::BTreeMap;

/// Something wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The first line with it, from 1.
    pub line: u64,
    /// How many lines have it.
    pub lines: u64,
    /// In words, of that first line.
    pub message: String,
}

/// Why a line was not read: those of one kind are told once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    FewFields,
    Field,
    UnknownEvent,
    Negative,
    Backwards,
    Rounded,
    Repeated,
    Agent,
    Routing,
    Below,
    Movement,
    MacLoss,
    AtTheEnd,
    Unsent,
    Broadcast,
    Chunk,
    Nam,
    Binary,
    TooLong,
    Truncated,
    NotIp,
    Unpaired,
    TooManyLinks,
    TooManyFlows,
    Incomplete,
}

/// All that was found.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    found: BTreeMap<Kind, Problem>,
}

impl Problems {
    pub(crate) fn add(&mut self, kind: Kind, line: u64, message: impl FnOnce() -> String) {
        let first = || Problem { line, lines: 0, message: message() };
        self.found.entry(kind).or_insert_with(first).lines += 1;
    }

    /// In the order in which they were met.
    pub(crate) fn told(&self) -> Vec<Problem> {
        let mut told: Vec<_> = self.found.values().cloned().collect();
        told.sort_by_key(|problem| problem.line);
        told
    }
}
