//! The shaper of a link: decides when the head of the queue leaves.

use super::delivery_trace::DeliveryTrace;
use super::slots::Slots;
use super::stage::{LinkSetup, Properties};
use super::token_bucket::TokenBucket;
use dumbbell_model::rng::Rng;
use dumbbell_model::{scenario, Rate, Time};

/// Burst of the token bucket that stands for a wire below a discipline.
const FULL_FRAME_BYTES: u64 = 1514;

pub(crate) enum Shaper {
    /// Nothing, or a wire (`Pipe::wire`).
    None,
    Tbf(TokenBucket),
    Trace(DeliveryTrace),
    Slots(Box<Slots>),
}

impl Shaper {
    pub(super) fn new(setup: &LinkSetup<'_>) -> Self {
        let LinkSetup { spec, name, seed, .. } = setup;
        if let Some(slots) = spec.slots.clone() {
            return Self::Slots(Box::new(Slots::new(setup, slots)));
        }
        let framing = spec.framing;
        match &spec.shaper {
            scenario::Shaper::None => Self::None,
            // As the kernel's engines do it: no discipline can stand behind a wire there.
            scenario::Shaper::Serial { rate_bps } if spec.queue.is_discipline() => {
                let burst = FULL_FRAME_BYTES.max(setup.scenario.longest_frame_bytes());
                Self::Tbf(TokenBucket::new(*rate_bps, burst, burst, None, framing))
            }
            scenario::Shaper::Serial { .. } => Self::None,
            scenario::Shaper::Tbf { rate_bps, burst_bytes, initial_bytes, peak } => {
                let drawn =
                    || Rng::named(*seed, &format!("link/{name}/tokens")).below(*burst_bytes + 1);
                let level = initial_bytes.unwrap_or_else(drawn);
                Self::Tbf(TokenBucket::new(*rate_bps, *burst_bytes, level, *peak, framing))
            }
            scenario::Shaper::Trace { deliveries_ms } => {
                Self::Trace(DeliveryTrace::new(deliveries_ms.clone()))
            }
        }
    }

    pub(super) fn properties(&self) -> Properties {
        match self {
            Self::None => Properties::NONE,
            Self::Tbf(bucket) => Properties::of(bucket),
            Self::Trace(trace) => Properties::of(trace),
            Self::Slots(slots) => Properties::of(&**slots),
        }
    }

    /// Returns true if a frame of this length can ever leave.
    pub(super) fn holds(&self, frame_bytes: u32) -> bool {
        !matches!(self, Self::Tbf(bucket) if !bucket.holds(frame_bytes))
    }

    /// Returns true if a packet behind the head, too, makes the shaper be asked anew.
    #[inline(always)]
    pub(super) fn asks_for_each(&self) -> bool {
        matches!(self, Self::Trace(_) | Self::Slots(_))
    }

    /// Time from which a packet that enters the queue is eligible: `from`, or with slots the end of its
    /// serialisation ([`Slots::plan`]).
    #[inline(always)]
    pub(super) fn plan(&mut self, from: Time, wire_bytes: u32) -> Time {
        match self {
            Self::Slots(slots) => slots.plan(from, wire_bytes),
            Self::None | Self::Tbf(_) | Self::Trace(_) => from,
        }
    }

    /// Earliest departure of the queue's head, which is eligible from `start` on.
    pub(super) fn leaves_at(&mut self, now: Time, start: Time, wire_bytes: u32) -> Option<Time> {
        match self {
            Self::None => Some(start),
            Self::Tbf(bucket) => Some(bucket.leaves_at(start, wire_bytes).max(now)),
            Self::Trace(trace) => Some(trace.next_at(now.max(start))),
            Self::Slots(slots) => Some(slots.leaves_at(now, start, wire_bytes).max(now)),
        }
    }

    /// Lets the head of the queue go now, and spends what that takes. Otherwise returns when it may
    /// leave, as [`Self::leaves_at`].
    #[inline(always)]
    pub(super) fn lets_go(
        &mut self,
        now: Time,
        start: Time,
        wire_bytes: u32,
    ) -> Result<(), Option<Time>> {
        let goes = match self {
            Self::None => start <= now,
            Self::Tbf(bucket) => {
                let at = bucket.leaves_at(start, wire_bytes);
                if at > now {
                    return Err(Some(at));
                }
                bucket.take(now, wire_bytes);
                true
            }
            Self::Trace(trace) => start <= now && trace.spend(wire_bytes),
            Self::Slots(slots) => return slots.lets_go(now, start, wire_bytes).map_err(Some),
        };
        if goes {
            Ok(())
        } else {
            Err(self.leaves_at(now, start, wire_bytes))
        }
    }

    /// Changes the rate of a token bucket, or of the wire in front of slots.
    pub(super) fn set_bucket_rate(&mut self, now: Time, rate: Rate) {
        match self {
            Self::Tbf(bucket) => bucket.set_rate(now, rate),
            Self::Slots(slots) => slots.set_rate(now, rate),
            Self::None | Self::Trace(_) => {}
        }
    }
}
