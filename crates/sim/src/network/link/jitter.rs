//! Jitter: a uniform random addition to the delay, that of the link and of processing at the node
//! behind it. Packets stay in order unless the link reorders.

use super::stage::{Departure, Egress, LinkSetup, Stage};
use dumbbell_model::rng::Rng;
use dumbbell_model::Span;

pub(crate) struct Jitter {
    /// Additions are below this.
    below: Span,
}

impl Stage for Jitter {
    const KEEPS_ORDER: bool = false;
    const OWN_EVENT: bool = false;

    fn acts(&self) -> bool {
        !self.below.is_zero()
    }
}

impl Egress for Jitter {
    fn new(setup: &LinkSetup<'_>) -> Self {
        Self { below: setup.spec.jitter + setup.scenario.nodes[setup.to].processing_jitter }
    }

    fn on_departure(&mut self, departure: &mut Departure, rng: &mut Rng) {
        departure.arrival += Span::from_ps(rng.below(self.below.as_ps()));
        if let (false, Some(previous)) = (departure.may_overtake, departure.previous_arrival) {
            departure.arrival = departure.arrival.max(previous);
        }
    }
}
