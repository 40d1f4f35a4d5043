//! Links: a pipe in each direction.

use crate::access::Access;
use crate::pipe::Pipe;
use crate::read::{Fields, Loc, Node, Result};
use std::sync::Arc;

/// Forward and backward pipe, shared by links that are alike.
pub(crate) type Pipes = [Arc<Pipe>; 2];

/// Pipes that links share.
pub(crate) fn shared(pipes: [Pipe; 2]) -> Pipes {
    pipes.map(Arc::new)
}

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Link {
    pub(crate) ends: (String, String),
    pub(crate) pipes: Pipes,
    /// Delay of each pipe beyond that of its fields, ns.
    pub(crate) extra_ns: [u64; 2],
    pub(crate) at: Loc,
}

impl Link {
    /// Returns true if a pipe has a joint trace.
    pub(crate) fn is_traced(&self) -> bool {
        self.pipes.iter().any(|pipe| pipe.trace.is_some())
    }

    /// Both pipes with their extra delays.
    fn directions(&self) -> [Pipe; 2] {
        [0, 1].map(|side| self.pipes[side].delayed(self.extra_ns[side]))
    }
}

/// Shared fields of both directions, and those of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Both {
    pub(crate) shared: Pipe,
    pub(crate) own: [Option<Pipe>; 2],
}

impl Both {
    /// Reads both directions of a mapping.
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self> {
        let own = |name| fields.read(name, Pipe::alone);
        Ok(Self { shared: Pipe::read(fields)?, own: [own("forward")?, own("backward")?] })
    }

    /// Reads a mapping that holds only pipes.
    pub(crate) fn alone(node: &Node<'_>) -> Result<Self> {
        Self::read(&node.any_fields()?)
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

/// An entry of `links`.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) name: Option<String>,
    /// Names of both nodes; `None`: it changes a link of a template.
    pub(crate) between: Option<(String, String)>,
    both: Both,
    access: Option<Access>,
    pub(crate) at: Loc,
}

impl Written {
    fn read(node: &Node<'_>) -> Result<Self> {
        let fields = node.any_fields()?;
        let between = fields.read("between", |node| match &node.items()?[..] {
            [a, b] => Ok((a.name()?, b.name()?)),
            _ => node.fail("two nodes are needed"),
        })?;
        Ok(Self {
            name: fields.read("name", Node::name)?,
            between,
            both: Both::read(&fields)?,
            access: fields.read("access", Access::read)?,
            at: node.at.clone(),
        })
    }

    /// The link between two nodes. `duration_ns`: values of an access link change until then.
    pub(crate) fn link(&self, ends: &(String, String), duration_ns: u64) -> Result<Link> {
        let nothing = [Pipe::default(), Pipe::default()];
        self.over(ends, &nothing, duration_ns)
    }

    /// A link of a template with these fields in place of its own.
    pub(crate) fn changed(&self, link: &Link, duration_ns: u64) -> Result<Link> {
        self.over(&link.ends, &link.directions(), duration_ns)
    }

    fn over(&self, ends: &(String, String), base: &[Pipe; 2], duration_ns: u64) -> Result<Link> {
        let pipes = match &self.access {
            None => self.both.over([&base[0], &base[1]]),
            Some(access) => {
                let names = (ends.0.as_str(), ends.1.as_str());
                let own = access.pipes(&self.both, names, duration_ns, &self.at)?;
                let under = [0, 1].map(|side| base[side].under(Some(&own[side])));
                let mut made = self.both.over([&under[0], &under[1]]);
                for (pipe, access) in made.iter_mut().zip(&under) {
                    pipe.join_changes(access);
                }
                made
            }
        };
        Ok(Link { ends: ends.clone(), pipes: shared(pipes), extra_ns: [0, 0], at: self.at.clone() })
    }
}

/// Entries of `links`.
pub(crate) fn links(fields: &Fields<'_>) -> Result<Vec<Written>> {
    let Some(node) = fields.get("links") else { return Ok(Vec::new()) };
    node.items()?.iter().map(Written::read).collect()
}
