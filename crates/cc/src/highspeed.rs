//! HighSpeed TCP (RFC 3649), as Linux's tcp_highspeed.c. With a large window, the window grows by
//! more than a packet per round trip and falls by less than a half, by a table that RFC 3649
//! appendix B gives.

use crate::{CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

/// Minimum slow-start threshold, packets.
const MIN_SSTHRESH: u32 = 2;
/// Windows above overflow the reduction (`hstcp_init`).
const MAX_CWND: u32 = u32::MAX / 128;

/// RFC 3649 appendix B: up to this window, packets, the growth per round trip is the index plus
/// one, and the window falls by `decrease` / 256.
const TABLE: [(u32, u32); 73] = [
    (38, 128),
    (118, 112),
    (221, 104),
    (347, 98),
    (495, 93),
    (663, 89),
    (851, 86),
    (1058, 83),
    (1284, 81),
    (1529, 78),
    (1793, 76),
    (2076, 74),
    (2378, 72),
    (2699, 71),
    (3039, 69),
    (3399, 68),
    (3778, 66),
    (4177, 65),
    (4596, 64),
    (5036, 62),
    (5497, 61),
    (5979, 60),
    (6483, 59),
    (7009, 58),
    (7558, 57),
    (8130, 56),
    (8726, 55),
    (9346, 54),
    (9991, 53),
    (10_661, 52),
    (11_358, 52),
    (12_082, 51),
    (12_834, 50),
    (13_614, 49),
    (14_424, 48),
    (15_265, 48),
    (16_137, 47),
    (17_042, 46),
    (17_981, 45),
    (18_955, 45),
    (19_965, 44),
    (21_013, 43),
    (22_101, 43),
    (23_230, 42),
    (24_402, 41),
    (25_618, 41),
    (26_881, 40),
    (28_193, 39),
    (29_557, 39),
    (30_975, 38),
    (32_450, 38),
    (33_986, 37),
    (35_586, 36),
    (37_253, 36),
    (38_992, 35),
    (40_808, 35),
    (42_707, 34),
    (44_694, 33),
    (46_776, 33),
    (48_961, 32),
    (51_258, 32),
    (53_677, 31),
    (56_230, 30),
    (58_932, 30),
    (61_799, 29),
    (64_851, 28),
    (68_113, 28),
    (71_617, 27),
    (75_401, 26),
    (79_517, 26),
    (84_035, 25),
    (89_053, 24),
    (u32::MAX, 24),
];
/// Rows of the table; the last row above stands for windows beyond it.
const ROWS: usize = TABLE.len() - 1;

/// State of the algorithm (`struct hstcp`).
#[derive(Clone, Debug, Default)]
pub struct HighSpeed {
    /// Row of the table.
    row: usize,
}

/// Creates an instance.
pub(crate) fn new(_options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(HighSpeed::default())
}

impl HighSpeed {
    /// Moves to the row whose window is the next that is not smaller.
    fn find_row(&mut self, cwnd: u32) {
        while cwnd > TABLE[self.row].0 && self.row < ROWS - 1 {
            self.row += 1;
        }
        while self.row > 0 && cwnd <= TABLE[self.row - 1].0 {
            self.row -= 1;
        }
    }
}

impl CongestionControl for HighSpeed {
    fn init(&mut self, _conn: &Conn, window: &mut Window) {
        self.row = 0;
        window.cwnd_clamp = window.cwnd_clamp.min(MAX_CWND);
    }

    /// RFC 3649 §5: w ← (1 − b(w)) · w, with the row of the last increase.
    fn ssthresh(&mut self, _conn: &Conn, window: &mut Window) -> u32 {
        (window.cwnd - ((window.cwnd * TABLE[self.row].1) >> 8)).max(MIN_SSTHRESH)
    }

    /// RFC 3649 §5: w ← w + a(w) / w per ACK. It counts ACKs, not packets.
    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, acked: u32) {
        if !conn.cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            window.slow_start(acked);
            return;
        }
        self.find_row(window.cwnd);
        if window.cwnd < window.cwnd_clamp {
            window.cwnd_cnt += self.row as u32 + 1;
            if window.cwnd_cnt >= window.cwnd {
                window.cwnd_cnt -= window.cwnd;
                window.cwnd += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::{avoiding, conn};
    use proptest::prelude::*;

    proptest! {
        /// RFC 3649 §5: b falls from 0.5 at 38 packets to 0.1 at 83 000.
        #[test]
        fn reductions_follow_the_formula_of_the_rfc(cwnd in 39..83_000u32) {
            let mut algorithm = HighSpeed::default();
            let mut window = avoiding(cwnd);
            algorithm.cong_avoid(&conn(0), &mut window, 1);
            let left = algorithm.ssthresh(&conn(0), &mut window);
            let log = |packets| libm::log(f64::from(packets)) - libm::log(38.0);
            let logs = log(cwnd) / log(83_000);
            let b = (0.1 - 0.5) * logs + 0.5;
            let measured = 1.0 - f64::from(left) / f64::from(window.cwnd);
            // The table has a row for whole numbers of a(w): its steps are up to 0.06 wide.
            prop_assert!((measured - b).abs() < 0.07, "{cwnd}: {measured} {b}");
        }
    }

    #[test]
    fn a_small_window_is_that_of_reno() {
        let mut algorithm = HighSpeed::default();
        let mut window = avoiding(30);
        for _ in 0..30 {
            algorithm.cong_avoid(&conn(0), &mut window, 1);
        }
        assert_eq!(window.cwnd, 31);
        assert_eq!(algorithm.ssthresh(&conn(0), &mut window), 16);
    }
}
