//! OLIA, opportunistic linked increases: Khalili, Gast, Popovic, Le Boudec, "MPTCP Is Not
//! Pareto-Optimal: Performance Issues and a Possible Solution", IEEE/ACM ToN 21(5), 2013, and
//! draft-khalili-mptcp-congestion-control-05.
//!
//! Windows are compared in bytes, so subflows may differ in MSS.

use crate::coupled::{rate, siblings, takes_part, Subflow};
use crate::reno::Reno;
use crate::{CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

/// Values of the siblings in OLIA's formula, and fractions of a packet.
#[derive(Clone, Debug, Default)]
pub struct Olia {
    /// True if more than one subflow is established.
    multiple: bool,
    /// Sum of the siblings' w/rtt.
    rates: f64,
    /// alpha_r of this subflow.
    alpha: f64,
    /// ACKed packets counted towards the next change of the window by one packet. As in Reno, a
    /// change takes one window of them. Negative values count towards a decrease.
    credit: f64,
}

/// Quality of a path, l_p²/rtt_p (draft). l_p is the larger of the bytes since the last loss and
/// the bytes between the last two losses; it estimates the reciprocal of the loss rate. Deviation
/// of Linux: l_p/rtt_p².
fn quality(subflow: &Subflow) -> f64 {
    let bytes = subflow.since_loss_bytes.max(subflow.between_losses_bytes) as f64;
    bytes * bytes / f64::from(subflow.srtt_us8)
}

fn window_bytes(subflow: &Subflow) -> u64 {
    u64::from(subflow.cwnd) * u64::from(subflow.mss)
}

/// alpha_r (draft): moves window from the largest subflows to the best, if these differ.
fn alpha(all: &[Subflow], me: usize) -> f64 {
    let paths = || all.iter().filter(takes_part);
    let best = paths().map(quality).fold(0.0, f64::max);
    let largest = paths().map(window_bytes).max().unwrap_or(0);
    let is_largest = |subflow: &Subflow| window_bytes(subflow) == largest;
    // collected_paths: the best paths that do not have the largest window.
    let is_collected = |subflow: &Subflow| !is_largest(subflow) && quality(subflow) >= best;
    let count = |is: &dyn Fn(&Subflow) -> bool| paths().filter(|subflow| is(subflow)).count();
    let (collected, all_paths) = (count(&is_collected), paths().count() as f64);
    match all.get(me).filter(takes_part) {
        Some(own) if is_collected(own) => 1.0 / (all_paths * collected as f64),
        Some(own) if is_largest(own) && collected > 0 => {
            -1.0 / (all_paths * count(&is_largest) as f64)
        }
        _ => 0.0,
    }
}

impl Olia {
    /// Worth of an ACKed packet relative to Reno; may be negative.
    fn worth(&self, conn: &Conn, cwnd: u32) -> f64 {
        if conn.srtt_us8 == 0 {
            return 1.0; // No RTT to couple by.
        }
        let own = rate(cwnd, conn.mss, conn.srtt_us8);
        let share = own / (own + self.rates);
        // Draft: (w_r/rtt_r²) / (sum of w_p/rtt_p)² + alpha_r/w_r, times MSS_r · bytes_acked.
        // Without Reno's factor 1/w_r, the first term is the square of this subflow's share of the
        // rate.
        share * share + self.alpha
    }

    /// Changes the window by whole packets, to one packet at least.
    fn apply(&mut self, window: &mut Window, worth: f64) {
        // As in `additive_increase`: credits from a larger window count for at most one packet.
        let cwnd = f64::from(window.cwnd);
        self.credit = self.credit.min(cwnd).max(-cwnd) + worth;
        let change = (self.credit / cwnd) as i64;
        self.credit -= change as f64 * cwnd;
        let clamp = i64::from(window.cwnd_clamp);
        window.cwnd = i64::from(window.cwnd).saturating_add(change).min(clamp).max(1) as u32;
        // A shrinking window must not enter slow start, which would undo the decrease. The draft
        // does not specify this.
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }
}

/// Creates an instance.
pub(crate) fn new(_options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Olia::default())
}

impl CongestionControl for Olia {
    /// Half the window as in TCP, but down to 1 MSS beside other subflows: slow start must not put
    /// traffic on congested paths (draft). Deviation of Linux: 2 even then.
    fn ssthresh(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        self.credit = 0.0;
        if self.multiple {
            (window.cwnd / 2).max(1)
        } else {
            Reno::default().ssthresh(conn, window)
        }
    }

    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, mut acked: u32) {
        if !conn.cwnd_limited {
            return;
        }
        // Draft: slow start as in RFC 5681.
        if window.in_slow_start() {
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        let worth = self.worth(conn, window.cwnd) * f64::from(acked);
        self.apply(window, worth);
    }

    /// Reno's value, and at least one packet: half of a threshold of one would be none.
    fn min_cwnd(&self, window: &Window) -> u32 {
        Reno::default().min_cwnd(window).max(1)
    }

    fn counts_bytes(&self) -> bool {
        true
    }

    fn subflows(&mut self, all: &[Subflow], me: usize) {
        self.multiple = all.iter().filter(|subflow| subflow.active).count() > 1;
        self.rates = siblings(all, me).map(|s| rate(s.cwnd, s.mss, s.srtt_us8)).sum();
        self.alpha = alpha(all, me);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lia::tests::{any_subflows, conn_of, subflow};
    use crate::reno::tests::{avoiding, conn};
    use proptest::prelude::*;

    /// Path with its l_p.
    fn path(cwnd: u32, rtt_ms: u32, bytes: u64) -> Subflow {
        Subflow { since_loss_bytes: bytes, ..subflow(cwnd, rtt_ms) }
    }

    fn alphas(all: &[Subflow]) -> Vec<f64> {
        (0..all.len()).map(|me| alpha(all, me)).collect()
    }

    /// Packets of growth per ACKed packet.
    fn growth(all: &[Subflow], me: usize) -> f64 {
        let mut olia = Olia::default();
        olia.subflows(all, me);
        olia.worth(&conn_of(&all[me]), all[me].cwnd) / f64::from(all[me].cwnd)
    }

    fn assert_near(left: f64, right: f64) {
        assert!((left - right).abs() < 1e-12, "{left} {right}");
    }

    #[test]
    fn alpha_moves_window_from_the_largest_to_the_best() {
        // The best is the largest: nothing to move.
        assert_eq!(alphas(&[path(20, 10, 9000), path(10, 10, 5000)]), [0.0, 0.0]);
        // The best is the smaller: 1/(2·1) to it.
        assert_eq!(alphas(&[path(20, 10, 5000), path(10, 10, 9000)]), [-0.5, 0.5]);
        // Equal windows are all largest, so none is collected.
        assert_eq!(alphas(&[path(10, 10, 5000), path(10, 10, 9000)]), [0.0, 0.0]);
        // Two largest give to one of three: 1/(3·2) each.
        let three = [path(20, 10, 5000), path(10, 10, 9000), path(20, 10, 1000)];
        assert_eq!(alphas(&three), [-1.0 / 6.0, 1.0 / 3.0, -1.0 / 6.0]);
        // One largest gives to two of four that are equally good: 1/(4·2) each.
        let four = [path(20, 10, 1), path(10, 10, 9), path(5, 10, 9), path(7, 10, 2)];
        assert_eq!(alphas(&four), [-0.25, 0.125, 0.125, 0.0]);
    }

    /// l²/rtt: 3000² / 10 ms exceeds 6000² / 50 ms, but not 6000² / 30 ms.
    #[test]
    fn the_best_path_is_by_bytes_squared_over_rtt() {
        assert_eq!(alphas(&[path(20, 50, 6000), path(10, 10, 3000)]), [-0.5, 0.5]);
        assert_eq!(alphas(&[path(20, 30, 6000), path(10, 10, 3000)]), [0.0, 0.0]);
        // The larger of the two byte counts applies.
        let before = Subflow { between_losses_bytes: 3000, ..path(10, 10, 1) };
        assert_eq!(alphas(&[path(20, 50, 6000), before]), [-0.5, 0.5]);
    }

    #[test]
    fn windows_are_compared_in_bytes() {
        let jumbo = Subflow { mss: 9000, ..path(10, 10, 1) };
        assert_eq!(alphas(&[path(20, 10, 9000), jumbo]), [0.5, -0.5]);
    }

    #[test]
    fn growth_is_that_of_the_draft() {
        // Two equal paths: 10/(20)² packets per ACK, a quarter of Reno's.
        assert_near(growth(&[path(10, 20, 0); 2], 0), 10.0 / 400.0);
        // 10 and 40 ms: (10/10²)/(1 + 0.25)² and (10/40²)/(1.25)².
        let unequal = [path(10, 10, 0), path(10, 40, 0)];
        assert_near(growth(&unequal, 0), 0.1 / 1.5625);
        assert_near(growth(&unequal, 1), 0.00625 / 1.5625);
        // 30 and 10 packets, the smaller the better: 30/40² - 1/(2·30), and 10/40² + 1/(2·10).
        let moved = [path(30, 10, 1), path(10, 10, 2)];
        assert_near(growth(&moved, 0), 30.0 / 1600.0 - 1.0 / 60.0);
        assert_near(growth(&moved, 1), 10.0 / 1600.0 + 1.0 / 20.0);
        // Half the MSS, twice the packets: a quarter of Reno's growth of 20 packets.
        let small = Subflow { mss: 500, ..path(20, 20, 0) };
        assert_near(growth(&[path(10, 20, 0), small], 1), 1.0 / 80.0);
    }

    /// 100 packets beside 10 that are better: (100/110)² - 1/2 of Reno's growth; the 10 get
    /// (10/110)² + 1/2 of it.
    #[test]
    fn windows_follow_the_growth() {
        let all = [path(100, 10, 1), path(10, 10, 2)];
        for (me, worth) in [(0, 100.0 * 100.0 / 12_100.0 - 0.5), (1, 100.0 / 12_100.0 + 0.5)] {
            let cwnd = all[me].cwnd;
            let mut olia = Olia::default();
            olia.subflows(&all, me);
            let mut window = avoiding(cwnd);
            let acks = (1..).find(|_| {
                olia.cong_avoid(&conn_of(&all[me]), &mut window, 1);
                window.cwnd > cwnd
            });
            assert_eq!(acks, Some((f64::from(cwnd) / worth).ceil() as u32));
        }
    }

    #[test]
    fn credit_is_applied_gently_and_lost_at_a_decrease() {
        let after = |credit, cwnd_clamp, acked| {
            let mut olia = Olia { credit, ..Olia::default() };
            let mut window = Window { cwnd_clamp, ..avoiding(10) };
            olia.cong_avoid(&conn(0), &mut window, acked);
            let counted = olia.credit;
            olia.ssthresh(&conn(0), &mut window);
            (window.cwnd, counted, olia.credit)
        };
        assert_eq!(after(95.0, 100, 3), (11, 3.0, 0.0), "gathered at a larger window");
        assert_eq!(after(-95.0, 100, 3), (10, -7.0, 0.0));
        assert_eq!(after(0.0, 12, 95), (12, 5.0, 0.0), "clamped");
    }

    /// Beside a better path of a tenth of the RTT and half the bytes: (1/6)² - 1/2 is negative.
    #[test]
    fn the_largest_window_may_shrink_to_one_and_not_into_slow_start() {
        let mut all = [path(10, 100, 1), Subflow { mss: 500, ..path(10, 10, 1000) }];
        let mut olia = Olia::default();
        let mut window = Window { ssthresh: 10, ..Window::new(10) };
        for _ in 0..1000 {
            olia.subflows(&all, 0);
            olia.cong_avoid(&conn_of(&all[0]), &mut window, 1);
            assert!(!window.in_slow_start());
            all = all.map(|subflow| Subflow { cwnd: window.cwnd, ..subflow });
        }
        assert_eq!(window.cwnd, 1);
    }

    #[test]
    fn the_threshold_may_be_one_packet_beside_siblings() {
        let mut olia = Olia::default();
        let threshold = |olia: &mut Olia, cwnd| olia.ssthresh(&conn(0), &mut Window::new(cwnd));
        assert_eq!([2, 3, 9].map(|cwnd| threshold(&mut olia, cwnd)), [2, 2, 4]);
        olia.subflows(&[subflow(10, 10); 2], 0);
        assert_eq!([1, 2, 3, 9].map(|cwnd| threshold(&mut olia, cwnd)), [1, 1, 1, 4]);
        assert_eq!(olia.min_cwnd(&Window { ssthresh: 1, ..Window::new(1) }), 1);
        olia.subflows(&[subflow(10, 10), Subflow::default()], 0);
        assert_eq!(threshold(&mut olia, 2), 2, "the sibling is closed");
    }

    proptest! {
        /// Sum of all alphas is 0.
        #[test]
        fn alphas_sum_to_zero(all in any_subflows()) {
            let alphas = alphas(&all);
            prop_assert!(alphas.iter().sum::<f64>().abs() < 1e-12, "{:?}", alphas);
            for (subflow, alpha) in all.iter().zip(&alphas) {
                prop_assert!(takes_part(&subflow) || *alpha == 0.0);
                prop_assert!(alpha.abs() <= 0.5);
            }
        }
    }
}
