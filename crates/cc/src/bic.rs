//! BIC: Xu, Harfoush, Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance
//! Networks", INFOCOM 2004, as Linux's tcp_bic.c with its default module parameters.
//!
//! The window searches for the window of the last loss. It moves by a fraction of the distance per
//! RTT ("binary search increase" in the paper), by at most [`MAX_INCREMENT`] packets ("additive
//! increase"). Beyond the target it mirrors these steps ("slow start", later called max probing).

use crate::{AckSample, CaState, CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

/// β of the multiplicative decrease, in 1024ths: 0.8. Deviation: 0.875 in the paper.
pub const BETA: u32 = 819;
const BETA_SCALE: u32 = 1024;

/// Step of the binary search: a quarter of the distance. Deviation: a half in the paper.
const SEARCH_DIVISOR: u32 = 4;

/// S_max: maximum packets per RTT. Deviation: 32 in the paper.
pub const MAX_INCREMENT: u32 = 16;

/// Window up to which BIC is Reno, packets (the paper's low_window).
pub const LOW_WINDOW: u32 = 14;

/// Slows the last packets before the old maximum: `cwnd·SMOOTH_PART/4` ACKs per packet, five RTTs
/// each. Replaces the paper's S_min.
const SMOOTH_PART: u32 = 20;

/// ACKed packets per packet of growth before the first loss: 5 % per RTT. Only in Linux.
const MAX_COUNT_WITHOUT_LOSS: u32 = 20;

/// Lifetime of `count` while the window does not change: HZ/32.
const UPDATE_INTERVAL_MS: i32 = 31;

/// Scale of the packets-per-ACK estimate: 16ths, with weight 1/16 for the new sample.
const ACK_RATIO_SHIFT: u32 = 4;

/// Minimum threshold, packets (RFC 5681 §3.1, equation 4).
const MIN_SSTHRESH: u32 = 2;

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Bic {
    /// ACKed packets per packet of growth.
    count: u32,
    /// Window at the last loss, the target of the search; 0 before the first loss.
    w_max: u32,
    /// Window for which `count` was computed.
    last_cwnd: u32,
    /// Time at which `count` was computed, milliseconds.
    last_update_ms: u32,
    /// Packets per ACK, in 16ths. Without it, delayed ACKs would halve the growth.
    ack_ratio: u32,
}

impl Default for Bic {
    fn default() -> Self {
        Self::new()
    }
}

impl Bic {
    /// Initial state, with two packets per ACK assumed.
    pub fn new() -> Self {
        Self {
            count: 0,
            w_max: 0,
            last_cwnd: 0,
            last_update_ms: 0,
            ack_ratio: 2 << ACK_RATIO_SHIFT,
        }
    }

    /// ACKs per packet of growth above [`LOW_WINDOW`].
    fn growth_count(&self, cwnd: u32) -> u32 {
        let per_smooth_part = cwnd.wrapping_mul(SMOOTH_PART) / SEARCH_DIVISOR;
        let per_max_increment = cwnd / MAX_INCREMENT;
        if cwnd < self.w_max {
            // Binary search increase towards the old maximum, at S_max while far from it.
            match (self.w_max - cwnd) / SEARCH_DIVISOR {
                step if step > MAX_INCREMENT => per_max_increment,
                0 | 1 => per_smooth_part,
                step => cwnd / step,
            }
        } else if cwnd < self.w_max.wrapping_add(SEARCH_DIVISOR) {
            // Max probing mirrors the search: slowly away from the old maximum,
            per_smooth_part
        } else if cwnd < self.w_max.wrapping_add(MAX_INCREMENT * (SEARCH_DIVISOR - 1)) {
            // then faster with the distance (by a third of it per RTT),
            cwnd.wrapping_mul(SEARCH_DIVISOR - 1) / (cwnd - self.w_max)
        } else {
            // finally linearly.
            per_max_increment
        }
    }

    /// Recomputes `count` if the window changed or the value is too old.
    fn update(&mut self, now_ms: u32, cwnd: u32) {
        let elapsed_ms = now_ms.wrapping_sub(self.last_update_ms) as i32;
        if self.last_cwnd == cwnd && elapsed_ms <= UPDATE_INTERVAL_MS {
            return;
        }
        self.last_cwnd = cwnd;
        self.last_update_ms = now_ms;
        // Reno: one packet per window. The packets-per-ACK ratio applies to BIC's own steps only.
        if cwnd <= LOW_WINDOW {
            self.count = cwnd;
            return;
        }
        let mut count = self.growth_count(cwnd);
        if self.w_max == 0 {
            count = count.min(MAX_COUNT_WITHOUT_LOSS);
        }
        self.count = ((count << ACK_RATIO_SHIFT) / self.ack_ratio).max(1);
    }
}

/// Creates an instance.
pub(crate) fn new(_options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Bic::new())
}

impl CongestionControl for Bic {
    fn init(&mut self, _conn: &Conn, _window: &mut Window) {
        *self = Self::new();
    }

    fn ssthresh(&mut self, _conn: &Conn, window: &mut Window) -> u32 {
        let cwnd = window.cwnd;
        // Fast convergence (same name in the paper): a flow whose maxima fall yields bandwidth by
        // aiming half-way between its maximum and the reduced window.
        self.w_max = if cwnd < self.w_max {
            cwnd.wrapping_mul(BETA_SCALE + BETA) / (2 * BETA_SCALE)
        } else {
            cwnd
        };
        let reduced =
            if cwnd <= LOW_WINDOW { cwnd / 2 } else { cwnd.wrapping_mul(BETA) / BETA_SCALE };
        reduced.max(MIN_SSTHRESH)
    }

    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, mut acked: u32) {
        if !conn.cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        self.update(conn.now_ms as u32, window.cwnd);
        window.additive_increase(self.count, acked);
    }

    fn pkts_acked(&mut self, conn: &Conn, _window: &mut Window, sample: &AckSample) {
        // ratio = 15/16·ratio + 1/16·sample. ACKs in recovery say nothing about delayed ACKs.
        if conn.state == CaState::Open {
            let kept = self.ack_ratio - (self.ack_ratio >> ACK_RATIO_SHIFT);
            self.ack_ratio = kept.saturating_add(sample.pkts_acked);
        }
    }

    fn set_state(&mut self, _conn: &Conn, _window: &mut Window, state: CaState) {
        // A time-out invalidates the search.
        if state == CaState::Loss {
            *self = Self::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::{avoiding, conn};
    use proptest::prelude::*;

    /// After a loss at `w_max`, one packet per ACK.
    fn after_loss(w_max: u32) -> Bic {
        let mut bic = Bic::new();
        bic.ssthresh(&conn(0), &mut Window::new(w_max));
        bic.ack_ratio = 1 << ACK_RATIO_SHIFT;
        bic
    }

    /// ACKs per packet at `cwnd`.
    fn count(bic: &Bic, cwnd: u32) -> u32 {
        let mut bic = bic.clone();
        bic.last_cwnd = 0;
        bic.update(1000, cwnd);
        bic.count
    }

    /// Window one RTT later.
    fn after_rtt(bic: &Bic, cwnd: u32) -> u32 {
        let mut window = avoiding(cwnd);
        let mut bic = bic.clone();
        bic.cong_avoid(&conn(1000), &mut window, cwnd);
        window.cwnd
    }

    proptest! {
        /// A loss never raises the target, and reduces the window to β.
        #[test]
        fn losses_reduce(first in 1..1_000_000u32, second in 1..1_000_000u32) {
            let mut bic = Bic::new();
            bic.ssthresh(&conn(0), &mut Window::new(first));
            let threshold = bic.ssthresh(&conn(0), &mut Window::new(second));
            prop_assert!(bic.w_max <= second);
            prop_assert!(threshold >= 2 && threshold <= second.max(2));
        }
    }

    /// The binary search: an RTT covers a quarter of the distance, at most 16 packets.
    #[test]
    fn an_rtt_covers_a_quarter_of_the_distance() {
        let bic = after_loss(1040);
        for (cwnd, after) in [(1000, 1010), (1008, 1016), (1020, 1025), (976, 992), (800, 816)] {
            assert_eq!(after_rtt(&bic, cwnd), after, "from {cwnd}");
        }
        // 16 per RTT to 992, then 12, 9, 6, 5, 4, 3, 2.
        let mut cwnd = 880;
        let mut rtts = 0;
        while cwnd < 1033 {
            cwnd = after_rtt(&bic, cwnd);
            rtts += 1;
        }
        assert_eq!((cwnd, rtts), (1033, 14));
    }

    #[test]
    fn exact_boundaries_of_the_regions() {
        let bic = after_loss(10_000);
        // Additive increase from a quarter-distance of 17, binary search up to 16.
        assert_eq!(count(&bic, 10_000 - 68), 9932 / 16);
        assert_eq!(count(&bic, 10_000 - 67), 9933 / 16);
        assert_eq!(count(&bic, 10_000 - 63), 9937 / 15);
        // The last steps: a quarter-distance of 2, then 1.
        assert_eq!(count(&bic, 10_000 - 8), 9992 / 2);
        assert_eq!(count(&bic, 10_000 - 7), 9993 * 5);
        assert_eq!(count(&bic, 10_000 - 1), 9999 * 5);
        // Max probing: slow for 4 packets, then by a third of the distance, linear from 48.
        assert_eq!(count(&bic, 10_000), 10_000 * 5);
        assert_eq!(count(&bic, 10_003), 10_003 * 5);
        assert_eq!(count(&bic, 10_004), 10_004 * 3 / 4);
        assert_eq!(count(&bic, 10_047), 10_047 * 3 / 47);
        assert_eq!(count(&bic, 10_048), 10_048 / 16);
    }

    #[test]
    fn low_windows_are_reno() {
        let bic = after_loss(10_000);
        assert_eq!([13, 14].map(|cwnd| count(&bic, cwnd)), [13, 14]);
        assert_eq!(count(&bic, 15), 1, "15/16, but at least one ACK");
        let threshold = |cwnd| Bic::new().ssthresh(&conn(0), &mut Window::new(cwnd));
        assert_eq!([3, 4, 13, 14].map(threshold), [2, 2, 6, 7], "a half");
        assert_eq!([15, 16, 1024].map(threshold), [15 * 819 / 1024, 12, 819], "four fifths");
    }

    /// Fast convergence: without it, the second loss would leave W_max at 900.
    #[test]
    fn fast_convergence_lowers_the_target_of_a_shrinking_flow() {
        let second_loss = |cwnd| {
            let mut bic = after_loss(1000);
            bic.ssthresh(&conn(0), &mut Window::new(cwnd));
            bic.w_max
        };
        assert_eq!([999, 1000, 1001].map(second_loss), [999 * 1843 / 2048, 1000, 1001]);
        assert_eq!(second_loss(900), 809);
    }

    /// Packets-per-ACK ratio: without it, a receiver with delayed ACKs would halve the growth.
    #[test]
    fn delayed_acks_are_compensated() {
        let mut bic = after_loss(10_000);
        let sample = |pkts_acked| AckSample { pkts_acked, rtt_us: 1, in_flight: 0 };
        for _ in 0..200 {
            bic.pkts_acked(&conn(0), &mut Window::new(1), &sample(2));
        }
        // Truncation lets the estimate settle at 32/16 or just above it.
        assert!((32..48).contains(&bic.ack_ratio), "{}", bic.ack_ratio);
        let compensated = count(&bic, 5000);
        assert_eq!(compensated, (312 << 4) / bic.ack_ratio);
        assert_eq!(count(&after_loss(10_000), 5000), 312);
        // Outside Open the estimate stays.
        let recovering = Conn { state: CaState::Disorder, ..conn(0) };
        let before = bic.ack_ratio;
        bic.pkts_acked(&recovering, &mut Window::new(1), &sample(100));
        assert_eq!(bic.ack_ratio, before);
    }

    #[test]
    fn the_count_is_kept_for_31_ms_while_the_window_stays() {
        let mut bic = after_loss(1000);
        bic.update(1000, 500);
        bic.w_max = 0;
        for (now_ms, expected) in [(1030, 31), (1031, 31), (1032, 20)] {
            bic.update(now_ms, 500);
            assert_eq!(bic.count, expected, "at {now_ms}");
        }
    }

    #[test]
    fn before_the_first_loss_growth_is_five_percent_at_least() {
        let mut bic = Bic::new();
        bic.ack_ratio = 1 << ACK_RATIO_SHIFT;
        assert_eq!([319, 336, 1000].map(|cwnd| count(&bic, cwnd)), [19, 20, 20]);
    }

    #[test]
    fn a_time_out_forgets_the_search() {
        let mut bic = after_loss(1000);
        bic.set_state(&conn(0), &mut Window::new(1), CaState::Recovery);
        assert_eq!(bic.w_max, 1000);
        bic.set_state(&conn(0), &mut Window::new(1), CaState::Loss);
        assert_eq!((bic.w_max, bic.ack_ratio), (0, 32));
    }
}
