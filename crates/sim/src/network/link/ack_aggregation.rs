//! ACK aggregation: bare ACKs are collected and enter the queue together, as cable modems and
//! Wi-Fi aggregates release them.

use super::stage::{Incoming, Ingress, LinkSetup, Passage, Stage};
use crate::arena::Handle;
use dumbbell_model::rng::Rng;
use dumbbell_model::{scenario, Time};

pub(crate) struct AckAggregation {
    spec: Option<scenario::AckAggregation>,
    held: Vec<Handle>,
    until: Option<Time>,
}

impl AckAggregation {
    /// Time at which the batch enters the queue; `None` if no ACK is held.
    pub(super) fn due(&self) -> Option<Time> {
        self.until
    }

    /// The batch, in order of arrival.
    pub(super) fn release(&mut self) -> Vec<Handle> {
        self.until = None;
        core::mem::take(&mut self.held)
    }
}

impl Stage for AckAggregation {
    const KEEPS_ORDER: bool = false;
    const OWN_EVENT: bool = true;

    fn acts(&self) -> bool {
        self.spec.is_some()
    }
}

impl Ingress for AckAggregation {
    fn new(setup: &LinkSetup<'_>) -> Self {
        Self { spec: setup.spec.ack_aggregation, held: Vec::new(), until: None }
    }

    fn on_arrival(&mut self, incoming: &Incoming<'_>, _: &mut Rng) -> Passage {
        let Some(spec) = self.spec else { return Passage::On };
        if !incoming.arena.get(incoming.packet).is_bare() {
            return Passage::On;
        }
        self.held.push(incoming.packet);
        if self.held.len() == 1 {
            self.until = Some(incoming.now + spec.max_wait);
        }
        if self.held.len() >= spec.max_acks as usize {
            self.until = Some(incoming.now);
        }
        Passage::Held
    }

    fn held(&self) -> usize {
        self.held.len()
    }
}
