//! LIA, linked increases: coupled congestion control for multipath transport, RFC 6356. Windows are
//! counted in packets, as in Linux (§4.2).
//!
//! Windows of subflows with different MSS are compared in bytes, as in §3. The result is in packets
//! of the subflow's own MSS.

use crate::coupled::{rate, siblings, Subflow};
use crate::reno::Reno;
use crate::{CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

/// Sums over the siblings; 0 before the first snapshot. The sums are f64, whose basic operations
/// give the same result on every processor.
#[derive(Clone, Debug, Default)]
pub struct Lia {
    /// Sum of cwnd/rtt.
    rates: f64,
    /// Largest cwnd/rtt².
    best: f64,
}

impl Lia {
    /// ACKed packets per packet of growth at window `cwnd`.
    fn acks_per_packet(&self, conn: &Conn, cwnd: u32) -> u32 {
        if conn.srtt_us8 == 0 {
            return cwnd; // No RTT to couple by: Reno.
        }
        let own = rate(cwnd, conn.mss, conn.srtt_us8);
        let rates = own + self.rates;
        let best = self.best.max(own / f64::from(conn.srtt_us8));
        // RFC 6356 §3, equation 2: alpha = cwnd_total * best / rates². Equation 1: n ACKed packets
        // add alpha * n * mss / cwnd_total, so cwnd_total cancels out. Rounded to the nearest
        // packet; deviation: Linux truncates.
        let coupled = rates * rates / (f64::from(conn.mss) * best);
        // Equation 1, second operand: at most TCP's increase on any path (§2, goal 2, "do no
        // harm").
        ((coupled + 0.5) as u32).max(cwnd)
    }
}

/// Creates an instance.
pub(crate) fn new(_options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Lia::default())
}

impl CongestionControl for Lia {
    /// RFC 6356 §3: the increase is coupled, the decrease is TCP's.
    fn ssthresh(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        Reno::default().ssthresh(conn, window)
    }

    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, mut acked: u32) {
        if !conn.cwnd_limited {
            return;
        }
        // RFC 6356 §3: slow start of each subflow is that of RFC 5681.
        if window.in_slow_start() {
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        let acks_per_packet = self.acks_per_packet(conn, window.cwnd);
        window.additive_increase(acks_per_packet, acked);
    }

    fn min_cwnd(&self, window: &Window) -> u32 {
        Reno::default().min_cwnd(window)
    }

    fn counts_bytes(&self) -> bool {
        true
    }

    fn subflows(&mut self, all: &[Subflow], me: usize) {
        *self = Self::default();
        for subflow in siblings(all, me) {
            let rate = rate(subflow.cwnd, subflow.mss, subflow.srtt_us8);
            self.rates += rate;
            self.best = self.best.max(rate / f64::from(subflow.srtt_us8));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::reno::tests::{avoiding, conn, operations, options, Operation};
    use crate::{AckSample, CaState};
    use proptest::prelude::*;

    /// A subflow with segments of 1000 bytes.
    pub(crate) fn subflow(cwnd: u32, rtt_ms: u32) -> Subflow {
        let srtt_us8 = rtt_ms * 8000;
        Subflow { active: true, cwnd, mss: 1000, srtt_us8, ..Subflow::default() }
    }

    /// Connection of a subflow.
    pub(crate) fn conn_of(subflow: &Subflow) -> Conn {
        Conn { srtt_us8: subflow.srtt_us8, mss: subflow.mss, ..conn(0) }
    }

    /// Subflows, some of them inactive or without an RTT.
    pub(crate) fn any_subflows() -> impl Strategy<Value = Vec<Subflow>> {
        let numbers =
            (1..100_000u32, 1..70_000u32, 1..100_000_000u32, 0..1u64 << 40, 0..1u64 << 40);
        let subflow =
            (prop::bool::weighted(0.8), any::<bool>(), prop::bool::weighted(0.9), numbers);
        let subflow = subflow.prop_map(|(active, slow_start, sampled, numbers)| {
            let (cwnd, mss, rtt, since_loss_bytes, between_losses_bytes) = numbers;
            let bytes = Subflow { since_loss_bytes, between_losses_bytes, ..Subflow::default() };
            Subflow { active, cwnd, slow_start, mss, srtt_us8: rtt * u32::from(sampled), ..bytes }
        });
        proptest::collection::vec(subflow, 0..4)
    }

    /// Applies operations beside siblings: the window stays in bounds and does not grow unused.
    pub(crate) fn check_coupled(
        algorithm: &mut dyn CongestionControl,
        operations: &[(u64, Operation)],
        all: &[Subflow],
    ) {
        let mut conn = conn(1000);
        let mut window = Window { cwnd_clamp: 100_000, ..Window::new(10) };
        algorithm.init(&conn, &mut window);
        for (number, (elapsed_us, operation)) in operations.iter().enumerate() {
            // `me` is sometimes the first subflow, sometimes none of them.
            algorithm.subflows(all, number % 5);
            conn.srtt_us8 = *elapsed_us as u32 % 1_000_000;
            let before = window;
            match *operation {
                Operation::Ack { acked, rtt_us, limited } => {
                    conn.cwnd_limited = limited;
                    conn.snd_una += u64::from(acked);
                    conn.snd_nxt = conn.snd_una + 1000;
                    let sample = AckSample { pkts_acked: acked, rtt_us, in_flight: 1 };
                    algorithm.pkts_acked(&conn, &mut window, &sample);
                    algorithm.cong_avoid(&conn, &mut window, acked);
                    assert!(limited || window == before, "{operation:?}");
                }
                Operation::FastRetransmit | Operation::Timeout => {
                    window.ssthresh = algorithm.ssthresh(&conn, &mut window);
                    assert!(window.ssthresh <= window.cwnd.max(2), "{operation:?}: {window:?}");
                    window.cwnd = window.ssthresh;
                    conn.state = CaState::Loss;
                    algorithm.set_state(&conn, &mut window, CaState::Loss);
                }
                Operation::Event { event, .. } => {
                    algorithm.cwnd_event(&conn, &mut window, event);
                }
                _ => {
                    algorithm.set_state(&conn, &mut window, CaState::Open);
                    conn.state = CaState::Open;
                }
            }
            assert!((1..=100_000).contains(&window.cwnd), "{operation:?}: {window:?}");
            assert!(window.ssthresh >= 1, "{operation:?}: {window:?}");
        }
    }

    /// Checks that the algorithm is Reno alone and among siblings that do not count.
    pub(crate) fn check_alone_is_reno(
        algorithm: &mut dyn CongestionControl,
        cwnd: u32,
        acks: &[u32],
    ) {
        let closed = Subflow { active: false, ..subflow(50, 10) };
        let unsampled = subflow(50, 0);
        let own = subflow(cwnd, 20);
        algorithm.subflows(&[closed, own, closed, unsampled], 1);
        let conn = conn_of(&own);
        let [mut window, mut reno] = [Window { ssthresh: cwnd + 3, ..Window::new(cwnd) }; 2];
        for &acked in acks {
            algorithm.cong_avoid(&conn, &mut window, acked);
            Reno::default().cong_avoid(&conn, &mut reno, acked);
            assert_eq!(window.cwnd, reno.cwnd);
        }
    }

    /// ACKs per packet for each of the subflows.
    fn acks_per_packet(all: &[Subflow]) -> Vec<u32> {
        let of = |(me, own): (usize, &Subflow)| {
            let mut lia = Lia::default();
            lia.subflows(&[subflow(999, 1); 3], 0); // An earlier snapshot leaves no trace.
            lia.subflows(all, me);
            lia.acks_per_packet(&conn_of(own), own.cwnd)
        };
        all.iter().enumerate().map(of).collect()
    }

    #[test]
    fn closed_cases() {
        // alpha = 20 · 10/r² / (20/r)² = 1/2, so 20/(1/2) ACKs.
        assert_eq!(acks_per_packet(&[subflow(10, 20), subflow(10, 20)]), [40, 40]);
        // Four equal paths: n² windows.
        assert_eq!(acks_per_packet(&[subflow(10, 20); 4]), [160; 4]);
        // alpha = 20 · 0.1 / 1.1² for 10 and 100 ms: 12.1 ACKs.
        assert_eq!(acks_per_packet(&[subflow(10, 10), subflow(10, 100)]), [12, 12]);
        // alpha = 40 · 30 / 40²: 53.3 ACKs.
        assert_eq!(acks_per_packet(&[subflow(30, 10), subflow(10, 10)]), [53, 53]);
        // 1.4² / 0.04 = 49 ACKs, and at least a window of ACKs.
        assert_eq!(acks_per_packet(&[subflow(100, 100), subflow(4, 10)]), [100, 49]);
        // Equation 1: an MSS half as large adds half as much per ACKed byte, so per packet.
        let small = Subflow { mss: 500, ..subflow(20, 20) };
        assert_eq!(acks_per_packet(&[subflow(10, 20), small]), [40, 80]);
    }

    #[test]
    fn the_decrease_is_renos() {
        let threshold = |cwnd| Lia::default().ssthresh(&conn(0), &mut Window::new(cwnd));
        assert_eq!([1, 4, 5, 101].map(threshold), [2, 2, 2, 50]);
    }

    proptest! {
        #[test]
        fn operations_of_several_keep_the_window_in_bounds(
            operations in operations(), all in any_subflows(),
        ) {
            for new in [crate::balia::new, new, crate::olia::new] {
                check_coupled(&mut *new(&options()), &operations, &all);
            }
        }

        #[test]
        fn alone_they_are_reno(
            cwnd in 2..5000u32, acks in proptest::collection::vec(0..3000u32, 1..200),
        ) {
            for new in [crate::balia::new, new, crate::olia::new] {
                check_alone_is_reno(&mut *new(&options()), cwnd, &acks);
            }
        }

        /// Equations 1 and 2, literally and in bytes.
        #[test]
        fn grows_by_the_equations(all in any_subflows(), cwnd in 1..10_000u32, rtt_ms in 1..1000u32) {
            let mut paths: Vec<Subflow> = all.iter().filter(crate::coupled::takes_part).copied().collect();
            paths.push(subflow(cwnd, rtt_ms));
            let bytes = |s: &Subflow| f64::from(s.cwnd) * f64::from(s.mss);
            let seconds = |s: &Subflow| f64::from(s.srtt_us8) / 8e6;
            let total: f64 = paths.iter().map(bytes).sum();
            let best = paths.iter().map(|s| bytes(s) / seconds(s) / seconds(s)).fold(0.0, f64::max);
            let sum: f64 = paths.iter().map(|s| bytes(s) / seconds(s)).sum();
            let alpha = total * best / (sum * sum);
            let increase = (alpha * 1000.0 / total).min(1000.0 / (f64::from(cwnd) * 1000.0));
            let acks = acks_per_packet(&paths).last().copied().unwrap_or(0);
            prop_assert!((f64::from(acks) - 1.0 / increase).abs() < 0.5 + 1e-6 / increase);
        }

        /// RFC 6356 §2, goal 2: no ACK adds more than in Reno.
        #[test]
        fn does_no_harm(
            cwnd in 2..1000u32,
            acks in proptest::collection::vec((1..100u32, any_subflows()), 1..100),
        ) {
            let conn = conn_of(&subflow(cwnd, 20));
            let (mut lia, mut window) = (Lia::default(), avoiding(cwnd));
            for (acked, all) in acks {
                let mut reno = window;
                Reno::default().cong_avoid(&conn, &mut reno, acked);
                lia.subflows(&all, usize::MAX);
                lia.cong_avoid(&conn, &mut window, acked);
                prop_assert!(window.cwnd <= reno.cwnd);
            }
        }
    }
}
