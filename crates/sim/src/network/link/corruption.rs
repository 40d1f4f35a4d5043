//! Corruption: a packet crosses the link damaged and is dropped at the far end.

use super::stage::{LinkSetup, Properties, Stage};
use crate::arena::Handle;
use dumbbell_model::rng::Rng;
use dumbbell_model::Queue;

pub(crate) struct Corruption {
    /// 0–1, per packet.
    probability: f64,
    /// Drawn here, not by netem.
    drawn: bool,
    /// Packets inside the link that are damaged.
    damaged: Vec<Handle>,
}

impl Corruption {
    pub(super) fn new(setup: &LinkSetup<'_>) -> Self {
        let Queue::Netem { words: Some(words), .. } = &setup.spec.queue else {
            return Self { probability: setup.spec.corruption, drawn: true, damaged: Vec::new() };
        };
        Self { probability: words.corrupt.probability, drawn: false, damaged: Vec::new() }
    }

    pub(super) fn properties(&self) -> Properties {
        Properties::of(self)
    }

    /// A packet has entered the queue.
    pub(super) fn on_admission(&mut self, packet: Handle, rng: &mut Rng) {
        if self.acts() && self.drawn && rng.chance(self.probability) {
            self.damage(packet);
        }
    }

    /// Damages a packet that has entered the queue.
    pub(super) fn damage(&mut self, packet: Handle) {
        self.damaged.push(packet);
    }

    /// Returns true if the packet that leaves the link is damaged.
    pub(super) fn take(&mut self, packet: Handle) -> bool {
        if self.damaged.is_empty() {
            return false;
        }
        let Some(index) = self.damaged.iter().position(|damaged| damaged.id == packet.id) else {
            return false;
        };
        self.damaged.swap_remove(index);
        true
    }
}

impl Stage for Corruption {
    const KEEPS_ORDER: bool = false;
    const OWN_EVENT: bool = false;

    fn acts(&self) -> bool {
        self.probability > 0.0
    }
}
