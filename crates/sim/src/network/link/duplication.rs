//! Duplication: a packet enters the link twice. The copy passes all stages by itself.

use super::stage::{LinkSetup, Properties, Stage};
use dumbbell_model::rng::Rng;

pub(crate) struct Duplication {
    /// 0–1, per packet.
    probability: f64,
}

impl Stage for Duplication {
    const KEEPS_ORDER: bool = true;
    const OWN_EVENT: bool = false;

    fn acts(&self) -> bool {
        self.probability > 0.0
    }
}

impl Duplication {
    pub(super) fn new(setup: &LinkSetup<'_>) -> Self {
        Self { probability: setup.spec.duplication }
    }

    pub(super) fn properties(&self) -> Properties {
        Properties::of(self)
    }

    /// Draws whether a packet is duplicated; the network makes the copy.
    pub(super) fn strikes(&self, rng: &mut Rng) -> bool {
        self.acts() && rng.chance(self.probability)
    }
}
