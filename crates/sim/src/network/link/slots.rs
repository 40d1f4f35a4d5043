//! Transmission opportunities (Linux's netem with `slot`): packets wait for a slot, and leave in it
//! together.
//!
//! Without a discipline the wire is netem's `rate`: a packet's serialisation is over at a time that is
//! known when it enters the queue, and it stays in the queue until its slot. With a discipline the wire
//! is a token bucket that holds what the rate carries in the longest wait: the discipline decides in the
//! slot which packets leave, as the driver of a modem or of a Wi-Fi card does.

use super::stage::{LinkSetup, Stage};
use super::taus::Taus;
use super::token_bucket::TokenBucket;
use dumbbell_model::rng::Rng;
use dumbbell_model::{scenario, Rate, Span, Time};

/// Burst of the token bucket beyond what the rate carries in a wait.
const FULL_FRAME_BYTES: u64 = 1514;

/// Slots of one direction of a link.
pub(crate) struct Slots {
    spec: scenario::Slots,
    /// Rate of the wire without a discipline; `None`: packets take no time.
    rate: Option<Rate>,
    /// End of the serialisation of the last packet.
    busy_until: Time,
    /// The wire below a discipline.
    bucket: Option<TokenBucket>,
    /// Longest frame.
    frame_bytes: u64,
    /// The last slot that was drawn, past or to come (`slot_next`); `None`: none yet.
    next: Option<Time>,
    packets_left: u32,
    bytes_left: i64,
    rng: Rng,
    /// Generator and table of a distribution.
    drawn: Option<(Taus, Vec<i16>)>,
    /// Beginning of the first pause.
    first_pause: Span,
}

impl Stage for Slots {
    const KEEPS_ORDER: bool = false;
    const OWN_EVENT: bool = true;

    fn acts(&self) -> bool {
        true
    }
}

impl Slots {
    pub(super) fn new(setup: &LinkSetup<'_>, spec: scenario::Slots) -> Self {
        let LinkSetup { name, seed, .. } = setup;
        let rate = match setup.spec.shaper {
            scenario::Shaper::Serial { rate_bps } => Some(rate_bps),
            _ => None,
        };
        let frame_bytes = FULL_FRAME_BYTES.max(setup.scenario.longest_frame_bytes());
        let bucket = rate.filter(|_| setup.spec.queue.is_discipline()).map(|rate| {
            let burst = burst_bytes(rate, frame_bytes, spec.max);
            TokenBucket::new(rate, burst, frame_bytes, None, setup.spec.framing)
        });
        // Both directions of a link share one medium, which pauses as a whole.
        let medium = name.rsplit_once('/').map_or(*name, |(link, _)| link);
        let mut pauses = Rng::named(*seed, &format!("link/{medium}/pauses"));
        let drawn = spec.distribution.as_ref().and_then(|waits| {
            Some((Taus::new(waits.seed.unwrap_or(*seed)), waits.distribution.table()?))
        });
        Self {
            drawn,
            rate: rate.filter(|_| bucket.is_none()),
            busy_until: Time::ZERO,
            bucket,
            frame_bytes,
            next: None,
            packets_left: budget(spec.packets),
            bytes_left: i64::from(budget(spec.bytes)),
            rng: Rng::named(*seed, &format!("link/{name}/slots")),
            first_pause: Span::from_ns(pauses.below(spec.pause_every.as_ns())),
            spec,
        }
    }

    /// Plans the serialisation of a packet that enters the queue. Returns its end
    /// (`netem_enqueue`: behind the last packet of the queue, whole nanoseconds).
    pub(super) fn plan(&mut self, now: Time, wire_bytes: u32) -> Time {
        if let Some(rate) = self.rate {
            let takes = rate.serialise(u64::from(wire_bytes), 0).0;
            self.busy_until = self.busy_until.max(now) + Span::from_ns(takes.as_ns());
            return self.busy_until;
        }
        now
    }

    /// Earliest departure of the queue's head, serialised at `start`. Draws a slot if the last one is
    /// over by then.
    pub(super) fn leaves_at(&mut self, now: Time, start: Time, wire_bytes: u32) -> Time {
        let ready = match &mut self.bucket {
            Some(bucket) => bucket.leaves_at(start, wire_bytes),
            None => start,
        };
        match self.next {
            Some(next) if next >= ready => next,
            _ => ready.max(self.draw(now)),
        }
    }

    /// Lets the head of the queue leave now, and spends its share of the slot. Returns its time
    /// otherwise, as [`Self::leaves_at`].
    pub(super) fn lets_go(&mut self, now: Time, start: Time, wire_bytes: u32) -> Result<(), Time> {
        let at = self.leaves_at(now, start, wire_bytes);
        if at > now {
            return Err(at);
        }
        if let Some(bucket) = &mut self.bucket {
            bucket.take(now, wire_bytes);
        }
        self.packets_left -= 1;
        self.bytes_left -= i64::from(wire_bytes);
        if self.packets_left == 0 || self.bytes_left <= 0 {
            self.draw(now);
        }
        Ok(())
    }

    /// A new rate for packets that enter the queue from now on.
    pub(super) fn set_rate(&mut self, now: Time, rate: Rate) {
        match &mut self.bucket {
            Some(bucket) => {
                bucket.set_rate(now, rate);
                bucket.set_burst(burst_bytes(rate, self.frame_bytes, self.spec.max));
            }
            None => self.rate = Some(rate),
        }
    }

    /// Draws the next slot (`get_slot_next`). One within a pause is put off to its end.
    fn draw(&mut self, now: Time) -> Time {
        let scenario::Slots { min, max, pause, pause_every, .. } = self.spec;
        let mut next = match (&mut self.drawn, &self.spec.distribution) {
            (Some((taus, table)), Some(waits)) => {
                let (mean, spread) = (waits.delay.as_ns() as i64, waits.jitter.as_ns() as i64);
                let wait = taus.time(mean, spread, Some(table), None);
                // A wait below 0 is over.
                now + Span::from_ns(wait.max(0) as u64)
            }
            _ => now + min + Span::from_ns(self.rng.below(max.as_ns() - min.as_ns())),
        };
        (self.packets_left, self.bytes_left) =
            (budget(self.spec.packets), i64::from(budget(self.spec.bytes)));
        let since = next.since(Time::ZERO).as_ns();
        if !pause.is_zero() && since >= self.first_pause.as_ns() {
            let within = (since - self.first_pause.as_ns()) % pause_every.as_ns();
            if within < pause.as_ns() {
                next += Span::from_ns(pause.as_ns() - within);
            }
        }
        self.next = Some(next);
        next
    }
}

/// Burst of the wire below a discipline: what the rate carries in the longest wait. A frame may begin to
/// wait for its slot when the wire has sent it, and find the rest of a frame's tokens.
fn burst_bytes(rate: Rate, frame_bytes: u64, longest: Span) -> u64 {
    2 * frame_bytes + rate.bytes_in(longest)
}

/// Budget of a slot; without one, all that a counter of the kernel holds (`get_slot`).
fn budget(written: u32) -> u32 {
    match written {
        0 => i32::MAX as u32,
        some => some,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_model::Framing;

    /// In a wait of 20 ms the new rate carries 250 000 bytes, and the bucket holds two frames more.
    #[test]
    fn the_burst_below_a_discipline_follows_the_rate() {
        let (max, frame_bytes) = (Span::from_ms(20), 1514);
        let rate = Rate::from_bps(1_000_000);
        let burst = burst_bytes(rate, frame_bytes, max);
        let spec = scenario::Slots {
            min: Span::ZERO,
            max,
            packets: 0,
            bytes: 0,
            pause: Span::ZERO,
            pause_every: Span::ZERO,
            distribution: None,
        };
        let mut slots = Slots {
            spec,
            rate: None,
            busy_until: Time::ZERO,
            bucket: Some(TokenBucket::new(rate, burst, frame_bytes, None, Framing::default())),
            frame_bytes,
            next: None,
            packets_left: budget(0),
            bytes_left: i64::from(budget(0)),
            rng: Rng::named(1, "slots"),
            drawn: None,
            first_pause: Span::ZERO,
        };
        slots.set_rate(Time::ZERO, Rate::from_bps(100_000_000));
        let later = Time::from_ns(1_000_000_000);
        let bucket = slots.bucket.as_mut().expect("a bucket");
        let mut frames = 0;
        while bucket.leaves_at(later, 1514) == later {
            bucket.take(later, 1514);
            frames += 1;
        }
        assert_eq!(frames, (2 * 1514 + 250_000) / 1514);
    }
}
