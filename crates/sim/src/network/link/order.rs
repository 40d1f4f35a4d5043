//! Order of packets where the delay of a link changes. A link is one line: behind a fall of its delay, the
//! first bit of a packet arrives behind the last bit of the one before (`netem_enqueue` with a rate).

use super::stage::{Departure, Egress, LinkSetup, Stage};
use dumbbell_model::rng::Rng;

/// True where the delay changes, unless reordering or jitter decides the order.
pub(crate) struct Order(bool);

impl Stage for Order {
    const KEEPS_ORDER: bool = true;
    const OWN_EVENT: bool = false;

    fn acts(&self) -> bool {
        self.0
    }
}

impl Egress for Order {
    fn new(setup: &LinkSetup<'_>) -> Self {
        let spec = setup.spec;
        let jitter = spec.jitter + setup.scenario.nodes[setup.to].processing_jitter;
        let free = spec.reordering.is_none() && jitter.is_zero();
        Self(free && spec.changes.iter().any(|change| change.delay.is_some()))
    }

    fn on_departure(&mut self, departure: &mut Departure, _: &mut Rng) {
        if let Some(previous) = departure.previous_arrival {
            departure.arrival = departure.arrival.max(previous + departure.length);
        }
    }
}
