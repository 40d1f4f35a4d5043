//! Token-bucket policer: drops packets beyond its rate and burst.

use super::stage::{Incoming, Ingress, LinkSetup, Passage, Stage};
use crate::drop_reason::DropReason;
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario;
use dumbbell_model::Time;

/// Bits·10^12 of one byte: tokens in this unit need no rounding.
const PER_BYTE: u128 = 8 * 1_000_000_000_000;

pub(crate) struct Policer(Option<Bucket>);

/// Tokens, in bits·10^12.
struct Bucket {
    rate_bps: u128,
    depth: u128,
    level: u128,
    at: Time,
}

impl Bucket {
    fn new(policer: scenario::Policer) -> Self {
        let depth = u128::from(policer.burst_bytes) * PER_BYTE;
        Self {
            rate_bps: u128::from(policer.rate_bps.as_bps()),
            depth,
            level: depth,
            at: Time::ZERO,
        }
    }

    /// Returns true if a frame of this length conforms, and takes its tokens.
    fn admits(&mut self, now: Time, bytes: u32) -> bool {
        let elapsed = u128::from(now.since(self.at).as_ps());
        self.level = (self.level + elapsed * self.rate_bps).min(self.depth);
        self.at = now;
        let cost = u128::from(bytes) * PER_BYTE;
        if cost > self.level {
            return false;
        }
        self.level -= cost;
        true
    }
}

impl Stage for Policer {
    const KEEPS_ORDER: bool = true;
    const OWN_EVENT: bool = false;

    fn acts(&self) -> bool {
        self.0.is_some()
    }
}

impl Ingress for Policer {
    fn new(setup: &LinkSetup<'_>) -> Self {
        Self(setup.spec.policer.map(Bucket::new))
    }

    fn on_arrival(&mut self, incoming: &Incoming<'_>, _: &mut Rng) -> Passage {
        let bytes = incoming.packet.frame_bytes;
        let conforms = self.0.as_mut().is_none_or(|bucket| bucket.admits(incoming.now, bytes));
        if conforms {
            Passage::On
        } else {
            Passage::Dropped(DropReason::Policed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_model::{Rate, Span};

    #[test]
    fn a_policer_passes_its_burst_and_then_its_rate() {
        let rate_bps = Rate::from_bps(8_000_000); // 1 byte per µs
        let mut policer = Bucket::new(scenario::Policer { rate_bps, burst_bytes: 3000 });
        assert!(policer.admits(Time::ZERO, 1500));
        assert!(policer.admits(Time::ZERO, 1500));
        assert!(!policer.admits(Time::ZERO, 1500));
        let almost = Time::ZERO + Span::from_us(1500) - Span::from_ps(1);
        assert!(!policer.admits(almost, 1500));
        assert!(policer.admits(Time::ZERO + Span::from_us(1500), 1500));
    }
}
