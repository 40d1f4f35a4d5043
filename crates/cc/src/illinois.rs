//! Illinois (Liu, Başar, Srikant, "TCP-Illinois: A Loss- and Delay-Based Congestion Control
//! Algorithm for High-Speed Networks", VALUETOOLS 2006), as Linux's tcp_illinois.c. Losses decide
//! when the window falls, queueing delay decides how fast it grows and how far it falls.

use crate::{AckSample, CaState, CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

/// Growth per round trip: fraction bits, bounds 0.3 and 10, and that of Reno.
const ALPHA_SHIFT: u32 = 7;
const ALPHA_BASE: u32 = 1 << ALPHA_SHIFT;
const ALPHA_MIN: u32 = 3 * ALPHA_BASE / 10;
const ALPHA_MAX: u32 = 10 * ALPHA_BASE;
/// Share that a loss takes: fraction bits, bounds 1/8 and 1/2.
const BETA_SHIFT: u32 = 6;
const BETA_MIN: u32 = (1 << BETA_SHIFT) / 8;
const BETA_MAX: u32 = (1 << BETA_SHIFT) / 2;
/// Longer RTTs would overflow, microseconds.
const RTT_MAX_US: u32 = u32::MAX / ALPHA_MAX;
/// Below so many packets, the window is Reno's (`win_thresh`).
const SMALL_WINDOW: u32 = 15;
/// Rounds with short queues before the growth is largest again (`theta`).
const SHORT_ROUNDS: u32 = 5;
const MIN_SSTHRESH: u32 = 2;

/// State of the algorithm (`struct illinois`).
#[derive(Clone, Debug)]
pub struct Illinois {
    /// Sum and number of the RTT samples of this round, microseconds; the number has 16 bits.
    sum_us: u64,
    samples: u16,
    /// Smallest and largest RTT of the connection, microseconds.
    base_us: u32,
    max_us: u32,
    /// Sequence number whose acknowledgement ends the round (`end_seq`).
    end: u64,
    alpha: u32,
    beta: u32,
    /// Packets of the last ACK.
    acked: u32,
    /// True since the queue was long (`rtt_above`), and rounds since then with short ones.
    was_long: bool,
    short_rounds: u32,
}

/// Creates an instance.
pub(crate) fn new(_options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Illinois::new())
}

impl Illinois {
    fn new() -> Self {
        Self {
            sum_us: 0,
            samples: 0,
            base_us: 0x7fff_ffff,
            max_us: 0,
            end: 0,
            alpha: ALPHA_MAX,
            beta: BETA_MAX,
            acked: 0,
            was_long: false,
            short_rounds: 0,
        }
    }

    /// `rtt_reset`.
    fn begin_round(&mut self, conn: &Conn) {
        (self.end, self.samples, self.sum_us) = (conn.snd_nxt, 0, 0);
    }

    /// Liu et al. §3.2: growth falls with the mean queueing delay `mean` of a round; `most` is the
    /// largest ever, microseconds. All arithmetic has 32 bits, as in Linux.
    fn growth(&mut self, mean: u32, most: u32) -> u32 {
        let low = most / 100;
        if mean <= low {
            if !self.was_long {
                return ALPHA_MAX;
            }
            // One round with a short queue may be chance.
            self.short_rounds += 1;
            if self.short_rounds < SHORT_ROUNDS {
                return self.alpha;
            }
            (self.short_rounds, self.was_long) = (0, false);
            return ALPHA_MAX;
        }
        self.was_long = true;
        let (most, mean) = (most - low, mean - low);
        let slope = mean.wrapping_mul(ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN;
        most.wrapping_mul(ALPHA_MAX) / most.wrapping_add(slope).max(1)
    }

    /// Once per round trip (`update_params`).
    fn update(&mut self, conn: &Conn, window: &Window) {
        if window.cwnd < SMALL_WINDOW {
            (self.alpha, self.beta) = (ALPHA_BASE, BETA_MAX);
        } else if self.samples > 0 {
            let most = self.max_us - self.base_us;
            let mean = (self.sum_us / u64::from(self.samples)) as u32 - self.base_us;
            self.alpha = self.growth(mean, most);
            self.beta = reduction(mean, most);
        }
        self.begin_round(conn);
    }
}

/// Liu et al. §3.2: the share that a loss takes grows linearly between a tenth and eight tenths of
/// the largest queueing delay.
fn reduction(mean: u32, most: u32) -> u32 {
    let low = most / 10;
    let high = (8 * most) / 10;
    if mean <= low {
        BETA_MIN
    } else if mean >= high || high <= low {
        BETA_MAX
    } else {
        (BETA_MIN * high).wrapping_sub(BETA_MAX * low).wrapping_add((BETA_MAX - BETA_MIN) * mean)
            / (high - low)
    }
}

impl CongestionControl for Illinois {
    fn init(&mut self, conn: &Conn, _window: &mut Window) {
        *self = Self::new();
        self.begin_round(conn);
    }

    fn ssthresh(&mut self, _conn: &Conn, window: &mut Window) -> u32 {
        let less = window.cwnd.wrapping_mul(self.beta) >> BETA_SHIFT;
        window.cwnd.saturating_sub(less).max(MIN_SSTHRESH)
    }

    /// `tcp_illinois_cong_avoid`.
    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, acked: u32) {
        if conn.snd_una > self.end {
            self.update(conn, window);
        }
        if !conn.cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            window.slow_start(acked);
            return;
        }
        window.cwnd_cnt += self.acked;
        self.acked = 1;
        let grown = window.cwnd_cnt.wrapping_mul(self.alpha) >> ALPHA_SHIFT;
        if grown >= window.cwnd {
            window.cwnd = (window.cwnd + grown / window.cwnd).min(window.cwnd_clamp);
            window.cwnd_cnt = 0;
        }
    }

    fn pkts_acked(&mut self, _conn: &Conn, _window: &mut Window, sample: &AckSample) {
        self.acked = sample.pkts_acked;
        if sample.rtt_us < 0 {
            return;
        }
        let rtt_us = sample.rtt_us.min(i64::from(RTT_MAX_US)) as u32;
        self.base_us = self.base_us.min(rtt_us);
        self.max_us = self.max_us.max(rtt_us);
        self.samples = self.samples.wrapping_add(1);
        self.sum_us += u64::from(rtt_us);
    }

    /// `tcp_illinois_state`.
    fn set_state(&mut self, conn: &Conn, _window: &mut Window, state: CaState) {
        if state == CaState::Loss {
            (self.alpha, self.beta) = (ALPHA_BASE, BETA_MAX);
            (self.short_rounds, self.was_long) = (0, false);
            self.begin_round(conn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Liu et al. §3.2: growth falls and the reduction grows with the delay, within bounds.
        #[test]
        fn growth_and_reduction_are_monotone(most in 100..3_000_000u32, share in 0..100u32) {
            let (less, more) = (most / 100 * share, most / 100 * (share + 1));
            let growth = |mean| Illinois { was_long: true, ..Illinois::new() }.growth(mean, most);
            prop_assert!(growth(less) >= growth(more));
            prop_assert!((ALPHA_MIN - 1..=ALPHA_MAX).contains(&growth(more)));
            prop_assert!(reduction(less, most) <= reduction(more, most));
            prop_assert!((BETA_MIN..=BETA_MAX).contains(&reduction(more, most)));
        }
    }
}
