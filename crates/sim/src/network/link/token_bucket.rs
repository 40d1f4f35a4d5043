//! Token-bucket filter (Linux's sch_tbf).

use super::stage::Stage;
use dumbbell_model::scenario::Peak;
use dumbbell_model::{Framing, Rate, Span, Time};

/// A bucket of tokens, counted in nanoseconds of transmission at its rate.
#[derive(Clone, Debug)]
struct Bucket {
    rate: Rate,
    depth_ns: u64,
    tokens_ns: u64,
    /// Length of the last frame asked for, and its cost.
    last: (u32, u64),
}

impl Bucket {
    fn new(rate: Rate, burst_bytes: u64, initial_bytes: u64) -> Self {
        let mut bucket = Self { rate, depth_ns: 0, tokens_ns: 0, last: (0, 0) };
        bucket.depth_ns = bucket.cost_ns(burst_bytes);
        bucket.tokens_ns = bucket.cost_ns(initial_bytes);
        bucket
    }

    /// Transmission time of `bytes`, nanoseconds rounded down (`psched_l2t_ns`).
    fn cost_ns(&self, bytes: u64) -> u64 {
        self.rate.serialise(bytes, 0).0.as_ns()
    }

    /// Transmission time of a frame. Most have one length.
    #[inline(always)]
    fn frame_cost_ns(&mut self, bytes: u32) -> u64 {
        if self.last.0 != bytes {
            self.last = (bytes, self.cost_ns(u64::from(bytes)));
        }
        self.last.1
    }

    /// Nanoseconds until there are enough tokens. A packet that [`TokenBucket::holds`] may cost more
    /// than the depth only by rounding and framing; then the depth suffices.
    #[inline(always)]
    fn wait_ns(&mut self, bytes: u32) -> u64 {
        self.frame_cost_ns(bytes).min(self.depth_ns).saturating_sub(self.tokens_ns)
    }

    #[inline(always)]
    fn take(&mut self, since_ns: u64, bytes: u32) {
        let filled = self.tokens_ns + since_ns.min(self.depth_ns);
        self.tokens_ns = filled.min(self.depth_ns).saturating_sub(self.frame_cost_ns(bytes));
    }

    /// Changes the rate; the bucket keeps its tokens in bytes.
    fn set_rate(&mut self, rate: Rate) {
        let bytes_in = |ns: u64, rate: Rate| rate.bytes_in(Span::from_ns(ns));
        let depth = bytes_in(self.depth_ns + 1, self.rate);
        let level = bytes_in(self.tokens_ns, self.rate);
        self.rate = rate;
        self.last = (0, 0);
        self.depth_ns = self.cost_ns(depth);
        self.tokens_ns = self.cost_ns(level);
    }
}

/// Linux's token-bucket filter: one bucket for the rate, a second for how fast bursts leave.
#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    rate: Bucket,
    peak: Option<Bucket>,
    /// Longest frame that the buckets hold (`max_size`).
    frame_max_bytes: u64,
    peak_burst_bytes: u64,
    framing: Framing,
    /// Time at which the tokens were counted (`t_c`).
    at_ns: u64,
}

impl Stage for TokenBucket {
    const KEEPS_ORDER: bool = false;
    const OWN_EVENT: bool = true;

    fn acts(&self) -> bool {
        true
    }
}

impl TokenBucket {
    /// Bursts are given in frames; Linux counts tokens with the framing of packets.
    pub(crate) fn new(
        rate: Rate,
        burst_bytes: u64,
        initial_bytes: u64,
        peak: Option<Peak>,
        framing: Framing,
    ) -> Self {
        let framed = |bytes: u64| framed(bytes, framing);
        let peak_burst_bytes = peak.map_or(u64::MAX, |p| p.burst_bytes);
        let bucket =
            |p: Peak| Bucket::new(p.rate_bps, framed(p.burst_bytes), framed(p.burst_bytes));
        Self {
            rate: Bucket::new(rate, framed(burst_bytes), framed(initial_bytes)),
            peak: peak.map(bucket),
            frame_max_bytes: burst_bytes.min(peak_burst_bytes),
            peak_burst_bytes,
            framing,
            at_ns: 0,
        }
    }

    /// Returns true if a frame can ever leave. A longer one is dropped on arrival (`tbf_enqueue`).
    pub(crate) fn holds(&self, frame_bytes: u32) -> bool {
        u64::from(frame_bytes) <= self.frame_max_bytes
    }

    /// Earliest time, from `from` on, at which a packet of this length may leave.
    #[inline(always)]
    pub(crate) fn leaves_at(&mut self, from: Time, bytes: u32) -> Time {
        let peak_ns = self.peak.as_mut().map_or(0, |peak| peak.wait_ns(bytes));
        from.max(Time::from_ns(self.at_ns + self.rate.wait_ns(bytes).max(peak_ns)))
    }

    /// Takes the tokens of a packet that leaves now.
    pub(crate) fn take(&mut self, now: Time, bytes: u32) {
        let since_ns = now.as_ns() - self.at_ns;
        self.rate.take(since_ns, bytes);
        if let Some(peak) = &mut self.peak {
            peak.take(since_ns, bytes);
        }
        self.at_ns = now.as_ns();
    }

    /// Changes the rate from now on.
    pub(crate) fn set_rate(&mut self, now: Time, rate: Rate) {
        self.take(now, 0);
        self.rate.set_rate(rate);
    }

    /// Changes the burst from now on. Tokens above it are lost.
    pub(crate) fn set_burst(&mut self, burst_bytes: u64) {
        let framed = framed(burst_bytes, self.framing);
        self.rate.depth_ns = self.rate.cost_ns(framed);
        self.rate.tokens_ns = self.rate.tokens_ns.min(self.rate.depth_ns);
        self.frame_max_bytes = burst_bytes.min(self.peak_burst_bytes);
    }
}

/// Bytes of a burst with the framing of packets.
fn framed(bytes: u64, framing: Framing) -> u64 {
    match u32::try_from(bytes) {
        Ok(bytes) if bytes > 0 => u64::from(framing.wire_bytes(bytes)),
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_bucket_lets_its_burst_go_and_then_paces() {
        let rate = Rate::from_bps(10_000_000);
        let mut bucket = TokenBucket::new(rate, 5120, 5120, None, Framing::default());
        let mut now = Time::ZERO;
        let mut departures = Vec::new();
        for _ in 0..6 {
            now = bucket.leaves_at(now, 1514);
            bucket.take(now, 1514);
            departures.push(now.as_ns());
        }
        // 5120 bytes hold three frames and 578 bytes; a frame lasts 1 211 200 ns.
        assert_eq!(departures[..3], [0, 0, 0]);
        assert_eq!(departures[3], (1514 - 578) * 800);
        assert_eq!(departures[5] - departures[4], 1_211_200);
    }

    /// The burst of three frames leaves at the peak rate, not at once.
    #[test]
    fn a_peak_rate_spreads_the_burst() {
        let peak = Peak { rate_bps: Rate::from_bps(20_000_000), burst_bytes: 1514 };
        let rate = Rate::from_bps(10_000_000);
        let mut bucket = TokenBucket::new(rate, 5120, 5120, Some(peak), Framing::default());
        let mut departures = Vec::new();
        let mut now = Time::ZERO;
        for _ in 0..8 {
            now = bucket.leaves_at(now, 1514);
            bucket.take(now, 1514);
            departures.push(now.as_ns());
        }
        assert_eq!(departures[..4], [0, 605_600, 1_211_200, 1_816_800]);
        assert_eq!(departures[7] - departures[6], 1_211_200);
    }

    /// Both buckets must hold a frame, without what framing adds to it (`max_size` of tbf_change).
    #[test]
    fn a_frame_longer_than_a_burst_never_leaves() {
        let rate = Rate::from_bps(1_000_000);
        let framing = Framing { overhead_bytes: 26, mpu_bytes: 0, atm: true };
        let bucket = TokenBucket::new(rate, 1514, 0, None, framing);
        assert!(bucket.holds(1514) && !bucket.holds(1515));
        let peak = Peak { rate_bps: Rate::from_bps(2_000_000), burst_bytes: 100 };
        let bucket = TokenBucket::new(rate, 1514, 0, Some(peak), framing);
        assert!(bucket.holds(100) && !bucket.holds(101));
    }

    #[test]
    fn long_run_rate_is_the_rate() {
        let rate = Rate::from_bps(10_000_000);
        let mut bucket = TokenBucket::new(rate, 5120, 0, None, Framing::default());
        let mut now = Time::ZERO;
        for _ in 0..10_000 {
            now = bucket.leaves_at(now, 1514);
            bucket.take(now, 1514);
        }
        assert_eq!(now.as_ns(), 10_000 * 1_211_200);
    }

    /// A deeper bucket fills up to its new depth; a shallower one loses what is above.
    #[test]
    fn a_burst_can_change() {
        let rate = Rate::from_bps(10_000_000);
        let mut bucket = TokenBucket::new(rate, 1514, 1514, None, Framing::default());
        bucket.set_burst(3 * 1514);
        let later = Time::from_ns(1_000_000_000);
        let burst = |bucket: &mut TokenBucket| {
            let mut frames = 0;
            while bucket.leaves_at(later, 1514) == later {
                bucket.take(later, 1514);
                frames += 1;
            }
            frames
        };
        assert_eq!(burst(&mut bucket.clone()), 3);
        bucket.take(later, 0);
        bucket.set_burst(1514);
        assert_eq!(burst(&mut bucket), 1);
        assert!(bucket.holds(1514) && !bucket.holds(1515));
    }
}
