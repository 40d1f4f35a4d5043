//! Long-term bandwidth: detects a token-bucket policer on the path (Flach et al., "An Internet-Wide
//! Analysis of Traffic Policing", SIGCOMM 2016; Linux only, not in the draft).
//!
//! A policer passes bursts and then drops everything above its rate. Its signature is two
//! successive intervals between losses, both with heavy loss and nearly equal throughput. BBR then
//! sends at their mean rate instead of probing.

use super::{control, BW_UNIT, GAIN_SCALE, GAIN_UNIT};
use crate::{Conn, RateSample};

/// Minimum rounds of an interval. Four times as many abort it.
const MIN_ROUNDS: u32 = 4;
/// Minimum lost/delivered of an interval that counts, in 256ths (19.5 %).
const LOSS_THRESHOLD: u32 = 50;
/// Maximum relative difference of two equal rates: an eighth.
const SAME_RATIO: u32 = GAIN_UNIT / 8;
/// Maximum absolute difference of two equal rates: 4 kbit/s, in bytes per second.
const SAME_DIFFERENCE: u64 = 4000 / 8;
/// Rounds after which the long-term rate expires and BBR probes again.
const MAX_ROUNDS_IN_USE: u32 = 48;

const US_PER_MS: u32 = 1000;

/// Result of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Unchanged,
    /// Policed: the long-term rate is in use from now on.
    Policed,
    /// The long-term rate was in use long enough; BBR probes again.
    Expired,
}

/// Detector of a policer.
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    in_use: bool,
    /// Rate of the last interval, or the rate in use; 0 if unknown.
    bw: u32,
    /// Rounds in this interval, or rounds since the rate came into use.
    rounds: u32,
    /// Start of the interval.
    start_ms: u32,
    start_delivered: u32,
    start_lost: u32,
}

impl Policer {
    /// Rate of the policer, if it is in use.
    pub(super) fn bw(&self) -> Option<u32> {
        self.in_use.then_some(self.bw)
    }

    /// Clears all state.
    pub(super) fn reset(&mut self, conn: &Conn) {
        self.bw = 0;
        self.in_use = false;
        self.sampling = false;
        self.start_interval(conn);
    }

    fn start_interval(&mut self, conn: &Conn) {
        self.start_ms = (conn.delivered_us / u64::from(US_PER_MS)) as u32;
        self.start_delivered = conn.delivered as u32;
        self.start_lost = conn.lost as u32;
        self.rounds = 0;
    }

    /// Processes a sample.
    pub(super) fn on_sample(
        &mut self,
        conn: &Conn,
        sample: &RateSample,
        round_start: bool,
        in_probe_bw: bool,
    ) -> Verdict {
        if self.in_use {
            return self.count_round_in_use(conn, in_probe_bw && round_start);
        }
        // The first loss starts the interval: before it, the bucket's tokens hide the rate.
        if !self.sampling {
            if sample.losses == 0 {
                return Verdict::Unchanged;
            }
            self.start_interval(conn);
            self.sampling = true;
        }
        // An application-limited flow would make the rate look low.
        if sample.app_limited {
            self.reset(conn);
            return Verdict::Unchanged;
        }
        if round_start {
            self.rounds += 1;
        }
        if self.rounds < MIN_ROUNDS {
            return Verdict::Unchanged;
        }
        if self.rounds > 4 * MIN_ROUNDS {
            self.reset(conn);
            return Verdict::Unchanged;
        }
        // A loss ends the interval: the tokens are used up at both ends.
        if sample.losses == 0 {
            return Verdict::Unchanged;
        }
        self.end_interval(conn)
    }

    fn count_round_in_use(&mut self, conn: &Conn, round: bool) -> Verdict {
        if round {
            self.rounds += 1;
            if self.rounds >= MAX_ROUNDS_IN_USE {
                self.reset(conn);
                return Verdict::Expired;
            }
        }
        Verdict::Unchanged
    }

    /// Computes the rate of the interval, if it was lossy and long enough.
    fn end_interval(&mut self, conn: &Conn) -> Verdict {
        let lost = (conn.lost as u32).wrapping_sub(self.start_lost);
        let delivered = (conn.delivered as u32).wrapping_sub(self.start_delivered);
        if delivered == 0 || lost << GAIN_SCALE < LOSS_THRESHOLD.wrapping_mul(delivered) {
            return Verdict::Unchanged;
        }
        let now_ms = (conn.delivered_us / u64::from(US_PER_MS)) as u32;
        let elapsed_ms = now_ms.wrapping_sub(self.start_ms);
        if (elapsed_ms as i32) < 1 {
            return Verdict::Unchanged;
        }
        if elapsed_ms >= u32::MAX / US_PER_MS {
            self.reset(conn);
            return Verdict::Unchanged;
        }
        let bw = u64::from(delivered) * BW_UNIT / u64::from(elapsed_ms * US_PER_MS);
        self.compare(conn, bw as u32)
    }

    /// Detects a policer if two intervals have equal rates. Otherwise starts the next pair with
    /// this one.
    fn compare(&mut self, conn: &Conn, bw: u32) -> Verdict {
        let difference = (bw.wrapping_sub(self.bw) as i32).unsigned_abs();
        let same_ratio = difference.wrapping_mul(GAIN_UNIT) <= SAME_RATIO.wrapping_mul(self.bw);
        let bytes_per_s = control::bytes_per_second(u64::from(difference), conn.mss, GAIN_UNIT);
        if self.bw != 0 && (same_ratio || bytes_per_s <= SAME_DIFFERENCE) {
            self.bw = bw.wrapping_add(self.bw) >> 1;
            self.in_use = true;
            self.rounds = 0;
            return Verdict::Policed;
        }
        self.bw = bw;
        self.start_interval(conn);
        Verdict::Unchanged
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::conn;

    /// Connection after `ms` milliseconds with these totals.
    fn at(ms: u64, delivered: u64, lost: u64) -> Conn {
        Conn { delivered, lost, ..conn(ms) }
    }

    fn sample(losses: u32) -> RateSample {
        RateSample { losses, ..RateSample::default() }
    }

    /// Starts an interval at the first loss and lets `rounds` rounds pass without another.
    fn after_rounds(rounds: u32) -> Policer {
        let mut policer = Policer::default();
        policer.on_sample(&at(0, 0, 0), &sample(1), false, true);
        for _ in 0..rounds {
            policer.on_sample(&at(0, 0, 0), &sample(0), true, true);
        }
        policer
    }

    /// Runs one interval of 4 rounds from `start` to `end` (ms, delivered, lost).
    fn interval(
        mut policer: Policer,
        start: (u64, u64, u64),
        end: (u64, u64, u64),
    ) -> (Policer, Verdict) {
        let from = at(start.0, start.1, start.2);
        policer.on_sample(&from, &sample(1), false, true);
        for _ in 0..3 {
            policer.on_sample(&from, &sample(0), true, true);
        }
        let verdict = policer.on_sample(&at(end.0, end.1, end.2), &sample(1), true, true);
        (policer, verdict)
    }

    /// Two intervals of 1000 and `second` packets in 1024 ms, with 20 % loss.
    fn two_intervals(second: u64) -> (Policer, Verdict) {
        let (policer, verdict) = interval(Policer::default(), (0, 0, 0), (1024, 1000, 200));
        assert_eq!((verdict, policer.bw()), (Verdict::Unchanged, None));
        interval(policer, (1024, 1000, 200), (2048, 1000 + second, 200 + second / 5))
    }

    #[test]
    fn two_equal_lossy_intervals_reveal_a_policer() {
        let (policer, verdict) = two_intervals(1000);
        assert_eq!(verdict, Verdict::Policed);
        // 1000 packets in 1,024,000 µs.
        assert_eq!(policer.bw(), Some((BW_UNIT / 1024) as u32));
    }

    #[test]
    fn the_rates_may_differ_by_an_eighth() {
        assert_eq!(
            [874, 875, 1125, 1126].map(|n| two_intervals(n).1),
            [Verdict::Unchanged, Verdict::Policed, Verdict::Policed, Verdict::Unchanged,]
        );
        let mean = two_intervals(1100).0.bw().unwrap_or(0);
        assert_eq!(mean, (BW_UNIT * 1050 / 1_024_000) as u32);
    }

    #[test]
    fn an_interval_needs_four_rounds_and_at_most_sixteen() {
        let ended = |rounds| {
            let mut policer = after_rounds(rounds);
            policer.on_sample(&at(100, 1000, 200), &sample(1), false, true);
            policer.bw > 0
        };
        assert_eq!([3, 4, 16].map(ended), [false, true, true]);
        assert!(!after_rounds(17).sampling, "given up");
        assert!(after_rounds(16).sampling);
    }

    #[test]
    fn an_interval_needs_heavy_loss_and_a_millisecond() {
        let ended = |ms, delivered, lost| {
            let mut policer = after_rounds(4);
            policer.on_sample(&at(ms, delivered, lost), &sample(1), false, true);
            policer.bw > 0
        };
        // 50/256 of 256 packets.
        assert_eq!((ended(9, 256, 49), ended(9, 256, 50)), (false, true));
        assert_eq!((ended(9, 0, 50), ended(9, 1, 50)), (false, true));
        assert_eq!((ended(0, 256, 50), ended(1, 256, 50)), (false, true));
        assert!(ended(4_294_966, 1 << 20, 1 << 19));
        assert!(!ended(4_294_967, 1 << 20, 1 << 19), "too long to multiply");
    }

    #[test]
    fn a_silent_application_resets_it() {
        let mut policer = after_rounds(3);
        let silent = RateSample { app_limited: true, ..sample(1) };
        policer.on_sample(&at(9, 9, 9), &silent, true, true);
        assert!(!policer.sampling);
    }

    #[test]
    fn the_rate_is_doubted_after_48_rounds_of_probe_bw() {
        let (mut policer, _) = two_intervals(1000);
        let now = at(300, 3000, 500);
        for _ in 0..47 {
            assert_eq!(policer.on_sample(&now, &sample(0), true, true), Verdict::Unchanged);
            assert_eq!(policer.on_sample(&now, &sample(0), true, false), Verdict::Unchanged);
            assert_eq!(policer.on_sample(&now, &sample(0), false, true), Verdict::Unchanged);
        }
        assert!(policer.bw().is_some());
        assert_eq!(policer.on_sample(&now, &sample(0), true, true), Verdict::Expired);
        assert_eq!(policer.bw(), None);
    }
}
