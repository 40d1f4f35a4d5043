//! Balia, balanced linked adaptation: Peng, Walid, Hwang, Low, "Multipath TCP: Analysis, Design,
//! and Implementation", IEEE/ACM ToN 24(1), 2016, and draft-walid-mptcp-congestion-control-04.
//!
//! Rates are in bytes, so subflows may differ in MSS.

use crate::coupled::{rate, siblings, Subflow};
use crate::reno::Reno;
use crate::{CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

/// Maximum alpha_r of a decrease (draft). It reduces the window to a quarter.
const MAX_ALPHA: f64 = 1.5;

/// Values of the siblings in Balia's formulas.
#[derive(Clone, Debug, Default)]
pub struct Balia {
    /// True if more than one subflow is established.
    multiple: bool,
    /// Sum of the siblings' rates x_k = w_k/rtt_k.
    rates: f64,
    /// Largest sibling rate x_k.
    fastest: f64,
}

impl Balia {
    /// alpha_r = max x_k / x_r for a subflow of rate `own`; 1 if this subflow is the fastest.
    fn alpha(&self, own: f64) -> f64 {
        if self.fastest > own {
            self.fastest / own
        } else {
            1.0
        }
    }

    /// ACKed packets per packet of growth at window `cwnd`.
    fn acks_per_packet(&self, conn: &Conn, cwnd: u32) -> u32 {
        if conn.srtt_us8 == 0 {
            return cwnd; // No RTT to couple by: Reno.
        }
        let own = rate(cwnd, conn.mss, conn.srtt_us8);
        let rates = own + self.rates;
        let alpha = self.alpha(own);
        // Draft: an ACK adds x_r/rtt_r / (sum of x_k)² · (1 + alpha_r)/2 · (4 + alpha_r)/5. This is
        // at most Reno's increase.
        let linked = f64::from(conn.mss) * own / f64::from(conn.srtt_us8) / (rates * rates);
        let increase = linked * ((1.0 + alpha) / 2.0) * ((4.0 + alpha) / 5.0);
        ((1.0 / increase + 0.5) as u32).max(1)
    }
}

/// Creates an instance.
pub(crate) fn new(_options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Balia::default())
}

impl CongestionControl for Balia {
    /// Draft: reduces by w_r/2 · min(alpha_r, 1.5), to a minimum of 1 MSS beside other subflows.
    fn ssthresh(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        if !self.multiple || conn.srtt_us8 == 0 {
            return Reno::default().ssthresh(conn, window);
        }
        let alpha = self.alpha(rate(window.cwnd, conn.mss, conn.srtt_us8));
        let kept = f64::from(window.cwnd) * (1.0 - alpha.min(MAX_ALPHA) / 2.0);
        (kept as u32).max(1)
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
        let acks_per_packet = self.acks_per_packet(conn, window.cwnd);
        window.additive_increase(acks_per_packet, acked);
    }

    /// Reno's value, and at least one packet: half of a threshold of one would be none.
    fn min_cwnd(&self, window: &Window) -> u32 {
        Reno::default().min_cwnd(window).max(1)
    }

    fn counts_bytes(&self) -> bool {
        true
    }

    fn subflows(&mut self, all: &[Subflow], me: usize) {
        *self = Self::default();
        self.multiple = all.iter().filter(|subflow| subflow.active).count() > 1;
        for subflow in siblings(all, me) {
            let rate = rate(subflow.cwnd, subflow.mss, subflow.srtt_us8);
            self.rates += rate;
            self.fastest = self.fastest.max(rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lia::tests::{any_subflows, conn_of, subflow};
    use crate::reno::tests::conn;
    use proptest::prelude::*;

    /// Balia state and connection of subflow `me`.
    fn balia(all: &[Subflow], me: usize) -> (Balia, Conn) {
        let mut balia = Balia::default();
        balia.subflows(&[subflow(999, 1); 3], 0); // An earlier snapshot leaves no trace.
        balia.subflows(all, me);
        (balia, conn_of(&all[me]))
    }

    fn acks_per_packet(all: &[Subflow]) -> Vec<u32> {
        let of = |me: usize| {
            let (balia, conn) = balia(all, me);
            balia.acks_per_packet(&conn, all[me].cwnd)
        };
        (0..all.len()).map(of).collect()
    }

    fn threshold(all: &[Subflow], me: usize) -> u32 {
        let (mut balia, conn) = balia(all, me);
        balia.ssthresh(&conn, &mut Window::new(all[me].cwnd))
    }

    #[test]
    fn increase_is_that_of_the_draft() {
        // Two equal paths: alpha is 1, (20)²/10 ACKs; of four, (40)²/10.
        assert_eq!(acks_per_packet(&[subflow(10, 20); 2]), [40; 2]);
        assert_eq!(acks_per_packet(&[subflow(10, 20); 4]), [160; 4]);
        // 30 and 10 packets: 40²/30 = 53.3; and alpha 3: 40²/10 / (4/2 · 7/5) = 57.1.
        assert_eq!(acks_per_packet(&[subflow(30, 10), subflow(10, 10)]), [53, 57]);
        // 10 packets at 10 and 40 ms, rates 1 and 1/4: 1.25²/0.1 = 15.6; and alpha 4:
        // 1.25²/0.00625 / (5/2 · 8/5) = 62.5.
        assert_eq!(acks_per_packet(&[subflow(10, 10), subflow(10, 40)]), [16, 63]);
        // Half the MSS, twice the packets: twice the ACKs.
        let small = Subflow { mss: 500, ..subflow(20, 20) };
        assert_eq!(acks_per_packet(&[subflow(10, 20), small]), [40, 80]);
    }

    #[test]
    fn decrease_is_that_of_the_draft() {
        // The fastest loses half. A path slower by 1.2 loses 0.6, by 1.5 or more three quarters.
        let beside = |cwnd| threshold(&[subflow(100, 10), subflow(cwnd, 10)], 0);
        assert_eq!([50, 100, 120, 150, 1000].map(beside), [50, 50, 40, 25, 25]);
        // By rate, not window: 100 packets at 20 ms are half as fast.
        assert_eq!(threshold(&[subflow(100, 20), subflow(100, 10)], 0), 25);
        // Minimum: one packet beside siblings, two alone.
        assert_eq!(threshold(&[subflow(2, 10), subflow(100, 10)], 0), 1);
        let closed = Subflow { active: false, ..subflow(1000, 10) };
        assert_eq!([2, 5, 100].map(|cwnd| threshold(&[subflow(cwnd, 10), closed], 0)), [2, 2, 50]);
        assert_eq!(Balia::default().min_cwnd(&Window { ssthresh: 1, ..Window::new(1) }), 1);
        assert_eq!(Balia::default().ssthresh(&conn(0), &mut Window::new(9)), 4, "no snapshot yet");
    }

    proptest! {
        /// (1 + alpha)(4 + alpha)/10 is at most (1 + alpha)², and that at most (sum x_k / x_r)².
        #[test]
        fn never_faster_than_reno(all in any_subflows(), cwnd in 1..10_000u32, rtt_ms in 1..1000u32) {
            let mut balia = Balia::default();
            balia.subflows(&all, usize::MAX);
            let own = subflow(cwnd, rtt_ms);
            prop_assert!(balia.acks_per_packet(&conn_of(&own), cwnd) >= cwnd);
            let kept = balia.ssthresh(&conn_of(&own), &mut Window::new(cwnd));
            prop_assert!(kept >= cwnd / 4 && kept <= (cwnd / 2).max(2));
        }
    }
}
