//! Reordering: some packets are held back on the line and arrive behind later ones.

use super::stage::{Departure, Egress, LinkSetup, Stage};
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario;

pub(crate) struct Reordering(Option<scenario::Reordering>);

impl Stage for Reordering {
    const KEEPS_ORDER: bool = false;
    const OWN_EVENT: bool = false;

    fn acts(&self) -> bool {
        self.0.is_some()
    }
}

impl Egress for Reordering {
    fn new(setup: &LinkSetup<'_>) -> Self {
        Self(setup.spec.reordering)
    }

    fn on_departure(&mut self, departure: &mut Departure, rng: &mut Rng) {
        let Some(spec) = self.0 else { return };
        departure.may_overtake = true;
        if rng.chance(spec.probability) {
            departure.arrival += spec.extra_delay;
        }
    }
}
