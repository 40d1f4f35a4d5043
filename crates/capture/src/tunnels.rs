//! Numbering of a file's tunnels, and counters per kind.

use crate::decode::{Identity, Outer};
use hashbrown::HashMap;

/// Tunnel stacks, numbered from 1.
#[derive(Debug, Default)]
pub(crate) struct Tunnels {
    known: HashMap<Vec<Identity>, u32>,
    /// Outer headers of each tunnel stack in its first packet.
    outer: Vec<Vec<Outer>>,
    /// Identity of the previous packet's tunnels.
    identity: Vec<Identity>,
    last: u32,
}

/// Maximum number of tunnel stacks; further stacks share the last number.
const TUNNELS_MAX: usize = 1 << 20;

impl Tunnels {
    /// Number of a tunnel stack, outermost tunnel first.
    pub(crate) fn number(&mut self, outer: &[Outer]) -> u32 {
        let identities = outer.iter().map(Outer::identity);
        if self.last > 0 && self.identity.iter().copied().eq(identities.clone()) {
            return self.last;
        }
        self.identity.clear();
        self.identity.extend(identities);
        self.last = match self.known.get(&self.identity) {
            Some(&number) => number,
            None if self.outer.len() < TUNNELS_MAX => {
                self.outer.push(outer.to_vec());
                let number = self.outer.len() as u32;
                self.known.insert(self.identity.clone(), number);
                number
            }
            None => TUNNELS_MAX as u32,
        };
        self.last
    }

    /// Outer headers of a tunnel stack by number; 0: no tunnel.
    pub(crate) fn outer(&self, number: u32) -> &[Outer] {
        let index = (number as usize).checked_sub(1);
        index.and_then(|index| self.outer.get(index)).map_or(&[], Vec::as_slice)
    }
}

/// Counters by kind, in order of first appearance.
#[derive(Clone, Debug)]
pub struct Tallies<T> {
    counts: Vec<(T, u64)>,
}

/// Maximum number of kinds counted separately.
const KINDS_MAX: usize = 64;

impl<T> Default for Tallies<T> {
    fn default() -> Self {
        Self { counts: Vec::new() }
    }
}

impl<T: Copy + PartialEq> Tallies<T> {
    /// Counts one item of `kind`, or of `others` if there are too many kinds.
    #[inline]
    pub(crate) fn add(&mut self, kind: T, others: T) {
        match self.counts.first_mut() {
            Some((first, count)) if *first == kind => *count += 1,
            _ => self.add_other(kind, others),
        }
    }

    #[cold]
    fn add_other(&mut self, kind: T, others: T) {
        let kinds = self.counts.len();
        if let Some((_, count)) = self.counts.iter_mut().find(|(known, _)| *known == kind) {
            *count += 1;
        } else if kinds < KINDS_MAX {
            self.counts.push((kind, 1));
        } else if let Some((_, count)) = self.counts.iter_mut().find(|(known, _)| *known == others)
        {
            *count += 1;
        } else {
            self.counts.push((others, 1));
        }
    }

    /// Kinds and their counts.
    pub fn counts(&self) -> &[(T, u64)] {
        &self.counts
    }
}
