//! Changes of a link's rate, delay and loss at given times of the run.

use super::stage::{LinkSetup, Properties, Stage};
use dumbbell_model::scenario::Change;
use dumbbell_model::Time;
use std::collections::VecDeque;

/// Changes still to come, by time.
pub(crate) struct Changes(VecDeque<Change>);

impl Changes {
    pub(super) fn new(setup: &LinkSetup<'_>) -> Self {
        Self(setup.spec.changes.iter().cloned().collect())
    }

    pub(super) fn properties(&self) -> Properties {
        Properties::of(self)
    }

    /// Time of the next change.
    pub(super) fn due(&self) -> Option<Time> {
        self.0.front().map(|change| Time::ZERO + change.at)
    }

    pub(super) fn next(&mut self) -> Option<Change> {
        self.0.pop_front()
    }
}

impl Stage for Changes {
    const KEEPS_ORDER: bool = false;
    // Its event is no packet's.
    const OWN_EVENT: bool = false;

    fn acts(&self) -> bool {
        !self.0.is_empty()
    }
}
