//! RTT estimation and RTO: RFC 6298 with Linux's variance (`tcp_rtt_estimator`, `tcp_set_rto`), and
//! the windowed minimum RTT (`tcp_update_rtt_min`).

use crate::wheel::Tick;
use dumbbell_cc::minmax::WindowedMin;
use dumbbell_model::TcpOptions;

/// Maximum RTO, microseconds (TCP_RTO_MAX).
pub(crate) const RTO_MAX_US: u64 = 120_000_000;
/// RTO without an RTT sample of the handshake, microseconds (TCP_TIMEOUT_FALLBACK).
const FALLBACK_US: u32 = 3_000_000;

pub(crate) struct RttState {
    /// Smoothed RTT × 8, microseconds.
    pub(crate) srtt_us8: u32,
    /// Mean deviation × 4, microseconds.
    pub(crate) mdev_us4: u32,
    mdev_max_us4: u32,
    pub(crate) rttvar_us4: u32,
    /// End of the round over which the maximum deviation is taken.
    round_seq: u64,
    rto_min_us: u32,
    /// RTO before back-off, microseconds.
    pub(crate) rto_us: u64,
    /// RTO before back-off, ticks.
    rto: u64,
    /// Maximum RTO, ticks.
    rto_max: u64,
    tick: Tick,
    minimum: WindowedMin<u64, u32>,
    /// Minimum of all samples, microseconds, for the tables.
    pub(crate) least_us: Option<u64>,
}

impl RttState {
    pub(crate) fn new(options: &TcpOptions) -> Self {
        let tick = Tick::new(options.hz);
        let window_jiffies = u64::from(options.tcp_min_rtt_wlen) * u64::from(options.hz);
        Self {
            srtt_us8: 0,
            mdev_us4: options.rto_initial.as_us() as u32, // TCP_TIMEOUT_INIT
            mdev_max_us4: 0,
            rttvar_us4: 0,
            round_seq: 0,
            rto_min_us: options.rto_min.as_us() as u32,
            rto_us: options.rto_initial.as_us(),
            rto: tick.us(options.rto_initial.as_us()),
            rto_max: tick.us(RTO_MAX_US),
            tick,
            minimum: WindowedMin::new(window_jiffies, 0, u32::MAX),
            least_us: None,
        }
    }

    /// Windowed minimum, microseconds; `u32::MAX` before the first sample (`tcp_min_rtt`).
    pub(crate) fn min_us(&self) -> u32 {
        self.minimum.get()
    }

    /// Adds a valid sample to the minimum.
    pub(crate) fn update_min(&mut self, us: u64, now_jiffies: u64) {
        self.minimum
            .update(now_jiffies, if us == 0 { 1000 } else { us.min(u64::from(u32::MAX)) as u32 });
        self.least_us = Some(self.least_us.map_or(us, |least| least.min(us)));
    }

    /// Sets the RTO to 3 s until data gives a sample, if the handshake gave none (RFC 6298 §5.7,
    /// `tcp_init_metrics`).
    pub(crate) fn no_sample_of_syn(&mut self) {
        self.rttvar_us4 = FALLBACK_US;
        self.mdev_us4 = FALLBACK_US;
        self.mdev_max_us4 = FALLBACK_US;
        self.set_rto(u64::from(FALLBACK_US));
    }

    fn set_rto(&mut self, us: u64) {
        if us != self.rto_us {
            (self.rto_us, self.rto) = (us, self.tick.us(us));
        }
    }

    /// RTO after `backoff` doublings, ticks (`icsk_rto`; ticks are doubled, `tcp_retransmit_timer`).
    pub(crate) fn rto_jiffies(&self, backoff: u32) -> u64 {
        (self.rto << backoff.min(20)).min(self.rto_max)
    }

    /// Maximum RTO, ticks.
    pub(crate) fn rto_max_jiffies(&self) -> u64 {
        self.rto_max
    }

    /// Adds a valid sample to smoothed RTT, variance, RTO and minimum (RFC 6298 §2).
    pub(crate) fn sample(&mut self, us: u64, snd_una: u64, snd_nxt: u64, now_jiffies: u64) {
        self.update_min(us, now_jiffies);
        self.estimate(us, snd_una, snd_nxt);
    }

    /// Updates smoothed RTT, variance and RTO (RFC 6298 §2.2 and 2.3, `tcp_rtt_estimator`). The
    /// deviation falls more slowly than it rises: a drop of the RTT counts by an eighth. The
    /// variance is the maximum of a round.
    pub(crate) fn estimate(&mut self, us: u64, snd_una: u64, snd_nxt: u64) {
        let mut m = us as i64;
        if self.srtt_us8 == 0 {
            self.srtt_us8 = (m << 3) as u32;
            self.mdev_us4 = (m << 1) as u32;
            self.rttvar_us4 = self.mdev_us4.max(self.rto_min_us);
            self.mdev_max_us4 = self.rttvar_us4;
            self.round_seq = snd_nxt;
        } else {
            m -= i64::from(self.srtt_us8 >> 3);
            self.srtt_us8 = (i64::from(self.srtt_us8) + m) as u32;
            if m < 0 {
                m = -m - i64::from(self.mdev_us4 >> 2);
                if m > 0 {
                    m >>= 3;
                }
            } else {
                m -= i64::from(self.mdev_us4 >> 2);
            }
            self.mdev_us4 = (i64::from(self.mdev_us4) + m) as u32;
            if self.mdev_us4 > self.mdev_max_us4 {
                self.mdev_max_us4 = self.mdev_us4;
                self.rttvar_us4 = self.rttvar_us4.max(self.mdev_max_us4);
            }
            if snd_una > self.round_seq {
                if self.mdev_max_us4 < self.rttvar_us4 {
                    self.rttvar_us4 -= (self.rttvar_us4 - self.mdev_max_us4) >> 2;
                }
                self.round_seq = snd_nxt;
                self.mdev_max_us4 = self.rto_min_us;
            }
        }
        self.srtt_us8 = self.srtt_us8.max(1);
        self.set_rto(self.base_rto_us());
    }

    /// RTO without back-off (`__tcp_set_rto`).
    pub(crate) fn base_rto_us(&self) -> u64 {
        (u64::from(self.srtt_us8 >> 3) + u64::from(self.rttvar_us4)).min(RTO_MAX_US)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> RttState {
        RttState::new(&TcpOptions::profile("linux-6.1").expect("shipped"))
    }

    #[test]
    fn the_first_sample_sets_rto_to_rtt_plus_the_larger_of_twice_the_rtt_and_200_ms() {
        let mut rtt = state();
        rtt.sample(10_000, 0, 0, 1);
        assert_eq!((rtt.srtt_us8 >> 3, rtt.rto_us), (10_000, 210_000));
        let mut rtt = state();
        rtt.sample(300_000, 0, 0, 1);
        assert_eq!(rtt.rto_us, 300_000 + 600_000);
    }

    #[test]
    fn constant_rtt_keeps_srtt_and_rto_min() {
        let mut rtt = state();
        for i in 0..100 {
            rtt.sample(50_000, i * 10, i * 10 + 5, i);
        }
        assert_eq!((rtt.srtt_us8 >> 3, rtt.min_us()), (50_000, 50_000));
        assert_eq!(rtt.rto_us, 250_000);
    }

    #[test]
    fn a_fall_of_the_rtt_raises_the_deviation_an_eighth_as_much_as_a_rise() {
        let (mut up, mut down) = (state(), state());
        for rtt in [&mut up, &mut down] {
            for i in 0..60 {
                rtt.sample(1_000_000, i * 10, i * 10 + 5, i);
            }
        }
        let before = i64::from(up.mdev_us4);
        up.estimate(1_800_000, 0, 0);
        down.estimate(200_000, 0, 0);
        let (rise, fall) = (i64::from(up.mdev_us4) - before, i64::from(down.mdev_us4) - before);
        assert!(rise > 7 * fall && rise < 9 * fall, "{rise} {fall}");
    }
}
