//! Problems of a trace by kind, with their number and first line.

use std::collections::BTreeMap;

/// A kind of problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// First line with the problem, from 1.
    pub line: u64,
    /// Number of lines with the problem.
    pub lines: u64,
    /// Description for the first line.
    pub message: String,
}

/// Reason why a line was skipped or changed. Each kind is reported once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProblemKind {
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

/// Problems found so far.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    found: BTreeMap<ProblemKind, Problem>,
}

impl Problems {
    pub(crate) fn add(&mut self, kind: ProblemKind, line: u64, message: impl FnOnce() -> String) {
        let first = || Problem { line, lines: 0, message: message() };
        self.found.entry(kind).or_insert_with(first).lines += 1;
    }

    /// Problems in order of their first lines.
    pub(crate) fn sorted(&self) -> Vec<Problem> {
        let mut problems: Vec<_> = self.found.values().cloned().collect();
        problems.sort_by_key(|problem| problem.line);
        problems
    }
}
