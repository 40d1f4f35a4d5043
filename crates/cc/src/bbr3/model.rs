//! Model of the path: rounds, maximum bandwidth, minimum RTT, end of growth (draft §5.5, §5.3.1.2).

use super::{is_after, UNSET};
use crate::bbr::BW_UNIT;
use crate::{Conn, RateSample};

/// Growth of the bandwidth that counts, in 256ths (draft §5.3.1.2: 25 %).
const GROWTH: u64 = 320;
/// Rounds without growth after which the pipe counts as full.
const ROUNDS_WITHOUT_GROWTH: u32 = 3;
/// Window of the minimum RTT, ms (draft §2.9, MinRTTFilterLen).
const MIN_RTT_WINDOW_MS: u32 = 10_000;
/// Interval of PROBE_RTT, ms (draft §2.9, ProbeRTTInterval).
const PROBE_RTT_WINDOW_MS: u32 = 5000;

/// Bandwidth of a sample, rounded up; 0 if the sample is invalid.
pub(super) fn sampled_bw(sample: &RateSample) -> u32 {
    if sample.interval_us <= 0 || sample.delivered < 0 {
        return 0;
    }
    let (delivered, interval_us) = (sample.delivered as u64, sample.interval_us as u64);
    (delivered * BW_UNIT).div_ceil(interval_us) as u32
}

/// Rounds and maximum bandwidth.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    /// `delivered` at which the round ends.
    pub(super) next_rtt_delivered: u64,
    pub(super) round_start: bool,
    /// Maximum of the cycles before, and of this one (draft §5.5.5).
    bw_hi: [u32; 2],
}

impl Model {
    /// Maximum bandwidth of the last two cycles.
    pub(super) fn max_bw(&self) -> u32 {
        self.bw_hi[0].max(self.bw_hi[1])
    }

    /// Ends a round once the packet delivered last was sent after its start (draft §5.5.1).
    pub(super) fn update_round(&mut self, conn: &Conn, sample: &RateSample) {
        self.round_start =
            sample.interval_us > 0 && sample.prior_delivered >= self.next_rtt_delivered;
        if self.round_start {
            self.next_rtt_delivered = conn.delivered;
        }
    }

    /// Takes a sample into the maximum. Application-limited ones count only if they exceed it.
    pub(super) fn take(&mut self, sample: &RateSample, bw: u32) {
        if !sample.app_limited || bw >= self.max_bw() {
            self.bw_hi[1] = self.bw_hi[1].max(bw);
        }
    }

    /// Begins a cycle of the maximum filter. A cycle without samples leaves it as it is.
    pub(super) fn advance(&mut self) {
        if self.bw_hi[1] != 0 {
            self.bw_hi = [self.bw_hi[1], 0];
        }
    }
}

/// Two nested minima of the RTT (draft §5.3.4.3).
#[derive(Clone, Debug, Default)]
pub(super) struct MinRtt {
    /// Minimum of 10 s, µs; [`UNSET`] before the first sample.
    pub(super) us: u32,
    stamp_ms: u32,
    /// Minimum of 5 s, µs.
    probe_us: u32,
    pub(super) probe_stamp_ms: u32,
}

impl MinRtt {
    pub(super) fn new(conn: &Conn) -> Self {
        let now = conn.now_ms as u32;
        let us = if conn.min_rtt_us == 0 { UNSET } else { conn.min_rtt_us };
        Self { us, stamp_ms: now, probe_us: us, probe_stamp_ms: now }
    }

    /// Takes the RTT of an ACK. Returns true if PROBE_RTT is due.
    pub(super) fn update(&mut self, conn: &Conn, sample: &RateSample) -> bool {
        let now = conn.now_ms as u32;
        let due = is_after(now, self.probe_stamp_ms.wrapping_add(PROBE_RTT_WINDOW_MS));
        if sample.rtt_us >= 0 {
            let rtt_us = sample.rtt_us as u32;
            if rtt_us < self.probe_us || (due && !sample.ack_delayed) {
                self.probe_us = rtt_us;
                self.probe_stamp_ms = now;
            }
        }
        let expired = is_after(now, self.stamp_ms.wrapping_add(MIN_RTT_WINDOW_MS));
        if self.probe_us <= self.us || expired {
            self.us = self.probe_us;
            self.stamp_ms = self.probe_stamp_ms;
        }
        due
    }
}

/// Search for the end of growth (draft §5.3.1.2).
#[derive(Clone, Debug, Default)]
pub(super) struct FullBw {
    /// True once STARTUP found the bandwidth.
    pub(super) reached: bool,
    /// True if the current phase found it.
    pub(super) now: bool,
    bw: u32,
    rounds: u32,
}

impl FullBw {
    /// Begins a search at a bandwidth.
    pub(super) fn restart(&mut self, bw: u32) {
        (self.bw, self.rounds, self.now) = (bw, 0, false);
    }

    /// Compares a sample at each ACK, and counts rounds.
    pub(super) fn check(&mut self, sample: &RateSample, bw: u32, round_start: bool) {
        if self.now || sample.app_limited {
            return;
        }
        if bw >= ((u64::from(self.bw) * GROWTH) >> 8) as u32 {
            self.restart(bw);
        } else if round_start {
            self.rounds += 1;
            self.now = self.rounds >= ROUNDS_WITHOUT_GROWTH;
            self.reached |= self.now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidth_is_rounded_up() {
        let sample =
            |delivered, interval_us| RateSample { delivered, interval_us, ..RateSample::default() };
        assert_eq!(sampled_bw(&sample(1, 3)), (BW_UNIT / 3) as u32 + 1);
        assert_eq!(sampled_bw(&sample(1, 4)), (BW_UNIT / 4) as u32);
        assert_eq!((sampled_bw(&sample(-1, 4)), sampled_bw(&sample(1, -1))), (0, 0));
    }

    #[test]
    fn three_rounds_without_a_quarter_more_fill_the_pipe() {
        let (mut full, sample) = (FullBw::default(), RateSample::default());
        full.check(&sample, 1000, true);
        for round in 1..=3 {
            assert!(!full.reached);
            full.check(&sample, 1249, false);
            full.check(&sample, 1249, true);
            assert_eq!(full.now, round == 3);
        }
        full.restart(0);
        assert!(full.reached && !full.now);
    }

    #[test]
    fn the_maximum_covers_two_cycles_and_a_cycle_without_samples_keeps_it() {
        let (mut model, sample) = (Model::default(), RateSample::default());
        model.take(&sample, 100);
        model.advance();
        model.take(&sample, 60);
        assert_eq!(model.max_bw(), 100);
        model.advance();
        model.advance();
        assert_eq!(model.max_bw(), 60);
        let limited = RateSample { app_limited: true, ..sample };
        model.take(&limited, 59);
        model.take(&limited, 61);
        assert_eq!(model.max_bw(), 61);
    }
}
