//! Links: a pipe in each direction.

use crate::pipe::{Pipe, PIPE};
use crate::read::{Fields, Loc, Node, Result};
use crate::Section;

/// Fields of a link. Those of pipes are in [`PIPE`].
pub(crate) const LINK: Section = Section {
    name: "links[]",
    taken: &["name", "between", "forward", "backward"],
    refused: &["access"],
};

/// A link between two nodes.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) ends: (String, String),
    /// Forward and backward.
    pub(crate) pipes: [Pipe; 2],
    /// Delay of each pipe beyond that of its fields, ns.
    pub(crate) extra_ns: [u64; 2],
    pub(crate) at: Loc,
}

impl Link {
    /// Both pipes with their extra delays.
    pub(crate) fn directions(&self) -> [Pipe; 2] {
        [0, 1].map(|side| self.pipes[side].delayed(self.extra_ns[side]))
    }
}

/// Shared fields of both directions, and those of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Both {
    shared: Pipe,
    own: [Option<Pipe>; 2],
}

impl Both {
    /// Reads both directions of a mapping whose names were checked.
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self> {
        let own = |name| fields.read(name, Pipe::alone);
        Ok(Self { shared: Pipe::read(fields)?, own: [own("forward")?, own("backward")?] })
    }

    /// Reads a mapping that holds only pipes.
    pub(crate) fn alone(node: &Node<'_>) -> Result<Self> {
        Self::read(&checked(node, &["forward", "backward"], &[])?)
    }

    /// The forward and the backward pipe.
    pub(crate) fn directions(&self) -> [Pipe; 2] {
        self.over([&Pipe::default(), &Pipe::default()])
    }

    /// Both pipes, overridden by these fields.
    pub(crate) fn over(&self, pipes: [&Pipe; 2]) -> [Pipe; 2] {
        [0, 1].map(|side| pipes[side].under(Some(&self.shared)).under(self.own[side].as_ref()))
    }
}

/// Fields of a mapping that may hold those of pipes and some others.
pub(crate) fn checked<'a>(node: &Node<'a>, taken: &[&str], refused: &[&str]) -> Result<Fields<'a>> {
    let fields = node.any_fields()?;
    for (name, value) in fields.all() {
        if value.value.is_null() && (refused.contains(&name) || PIPE.refused.contains(&name)) {
            continue;
        }
        if refused.contains(&name) || PIPE.refused.contains(&name) {
            return crate::read::beyond(&value.at, name);
        }
        if !taken.contains(&name) && !PIPE.taken.contains(&name) {
            let known = [taken, PIPE.taken].concat().join(", ");
            return value.fail(format!("unknown field {name} (known: {known})"));
        }
    }
    Ok(fields)
}
