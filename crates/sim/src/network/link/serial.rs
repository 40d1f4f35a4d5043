//! Serial wire: sends one frame after the other at its rate. When a frame is accepted its
//! departure is known, so the wire needs no event.

use super::stage::Stage;
use dumbbell_model::{Rate, Span, Time};

pub(crate) struct Serial {
    rate: Rate,
    busy_until: Time,
    /// Length of the last frame, and its time with the remainder of the division.
    last: (u32, Span, u64),
    /// Remainder of the division that gave `busy_until`: a long train stays exact.
    remainder: u64,
}

impl Serial {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, busy_until: Time::ZERO, last: (0, Span::ZERO, 0), remainder: 0 }
    }

    /// Returns true if a frame is sent at once. At the instant at which the frame before ends, a
    /// new one still waits.
    #[inline(always)]
    pub(super) fn is_free(&self, now: Time) -> bool {
        self.busy_until < now || self.busy_until == Time::ZERO
    }

    /// Plans a frame behind all others. Returns when its sending starts and ends.
    #[inline(always)]
    pub(super) fn plan(&mut self, now: Time, wire_bytes: u32) -> (Time, Time) {
        let start = if self.busy_until > now {
            self.busy_until
        } else {
            self.remainder = 0;
            now
        };
        self.plan_from(start, wire_bytes)
    }

    /// Plans a frame from `start` on, without a gap to the one before.
    #[inline(always)]
    pub(super) fn plan_from(&mut self, start: Time, wire_bytes: u32) -> (Time, Time) {
        if self.last.0 != wire_bytes {
            let (span, remainder) = self.rate.serialise(u64::from(wire_bytes), 0);
            self.last = (wire_bytes, span, remainder);
        }
        let (_, mut span, remainder) = self.last;
        let rate = self.rate.as_bps();
        self.remainder += remainder;
        if self.remainder >= rate {
            span = span + Span::from_ps(self.remainder / rate);
            self.remainder %= rate;
        }
        self.busy_until = start + span;
        (start, self.busy_until)
    }

    /// A new rate for all that is planned from now on.
    pub(super) fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
        self.last = (0, Span::ZERO, 0);
    }
}

impl Stage for Serial {
    const KEEPS_ORDER: bool = true;
    const OWN_EVENT: bool = false;

    fn acts(&self) -> bool {
        true
    }
}
