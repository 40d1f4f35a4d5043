//! Changes of a link's rate, delay, loss and state at given times of the run.

use super::stage::{LinkSetup, Properties, Stage};
use dumbbell_model::scenario::{Change, Pipe, Shaper};
use dumbbell_model::{Queue, Scenario, Time};
use std::collections::VecDeque;

/// Changes still to come, by time.
pub(crate) struct Changes {
    to_come: VecDeque<Change>,
    /// The link as it is now, where it may go down: it is made anew when it comes up.
    link: Option<Box<Link>>,
}

/// Description of a link, from which it is made.
struct Link {
    spec: Pipe,
    to: usize,
    seed: u64,
    frame_bytes: u32,
    bridge: bool,
    /// Outages so far.
    outages: u32,
}

impl Changes {
    pub(super) fn new(setup: &LinkSetup<'_>) -> Self {
        let changes = &setup.spec.changes;
        let fails = changes.iter().any(|change| change.state.is_some());
        let link = || {
            let LinkSetup { spec, to, seed, frame_bytes, bridge, .. } = *setup;
            let spec = Pipe { changes: Vec::new(), ..spec.clone() };
            Box::new(Link { spec, to, seed, frame_bytes, bridge, outages: 0 })
        };
        Self { to_come: changes.iter().cloned().collect(), link: fails.then(link) }
    }

    pub(super) fn properties(&self) -> Properties {
        Properties::of(self)
    }

    /// Time of the next change.
    pub(super) fn due(&self) -> Option<Time> {
        self.to_come.front().map(|change| Time::ZERO + change.at)
    }

    pub(super) fn next(&mut self) -> Option<Change> {
        let change = self.to_come.pop_front()?;
        if let Some(link) = &mut self.link {
            link.note(&change);
        }
        Some(change)
    }

    /// Calls `make` with the description of the link as it is now, up since `since`. Its random streams are
    /// others than before the outage.
    pub(super) fn renew<T>(
        &mut self,
        scenario: &Scenario,
        name: &str,
        since: Time,
        make: impl FnOnce(&LinkSetup<'_>) -> T,
    ) -> Option<T> {
        let link = self.link.as_mut()?;
        link.outages += 1;
        Some(make(&LinkSetup {
            scenario,
            spec: &link.spec,
            name: &format!("{name}#{}", link.outages),
            to: link.to,
            seed: link.seed,
            frame_bytes: link.frame_bytes,
            bridge: link.bridge,
            since,
        }))
    }
}

impl Link {
    fn note(&mut self, change: &Change) {
        let spec = &mut self.spec;
        if let Some(loss) = &change.loss {
            spec.loss.clone_from(loss);
        }
        if let Some(new) = change.delay {
            match &mut spec.queue {
                Queue::Netem { delay, .. } => *delay = new,
                _ => spec.delay = new,
            }
        }
        if let (Some(new), Shaper::Serial { rate_bps } | Shaper::Tbf { rate_bps, .. }) =
            (change.rate_bps, &mut spec.shaper)
        {
            *rate_bps = new;
        }
        // A bucket that is made is full (`tbf_change`).
        if let Shaper::Tbf { burst_bytes, initial_bytes, .. } = &mut spec.shaper {
            *initial_bytes = Some(*burst_bytes);
        }
    }
}

impl Stage for Changes {
    const KEEPS_ORDER: bool = false;
    // Its event is no packet's.
    const OWN_EVENT: bool = false;

    fn acts(&self) -> bool {
        !self.to_come.is_empty()
    }
}
