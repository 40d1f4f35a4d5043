//! wVegas, weighted Vegas: Cao, Xu, Fu, "Delay-based Congestion Control for Multipath TCP", ICNP
//! 2012; draft-xu-mptcp-congestion-control-05. Details that these leave open follow Linux's
//! mptcp_wvegas.c.
//!
//! Each subflow is a Vegas flow. It keeps a share of `TOTAL_ALPHA` packets queued that equals its
//! share of the connection's rate. Traffic therefore moves to paths with less queueing delay until
//! the delays are equal.

use crate::coupled::{siblings, Subflow};
use crate::reno::Reno;
use crate::{AckSample, CaEvent, CaState, CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

/// Packets that all subflows of a connection together keep queued.
const TOTAL_ALPHA: f64 = 10.0;

/// Minimum and initial number of packets that a subflow keeps queued.
const MIN_ALPHA: u32 = 2;

/// Queued packets at which slow start ends.
const GAMMA: u64 = 1;

/// Maximum number of RTT samples per round that is too small to use.
const FEW_SAMPLES: u64 = 2;

/// Growth factor of the queueing delay at which the queue is drained.
const DRAIN_FACTOR: u64 = 2;

const MIN_CWND: u32 = 2;

/// State of one subflow.
#[derive(Clone, Debug)]
pub struct Wvegas {
    /// Sequence number whose acknowledgement ends the round.
    round_end: u64,
    /// RTT samples in this round.
    samples: u64,
    /// Sum of these samples, microseconds.
    sum_us: u64,
    /// Minimum RTT sample, microseconds: the RTT of the path without queues.
    base_rtt_us: u64,
    /// Target number of queued packets.
    alpha: u32,
    /// Minimum queueing delay in equilibrium since `alpha` grew or the queue was drained,
    /// microseconds.
    queueing_us: Option<u64>,
    /// Sum of the siblings' rates in equilibrium, packets per microsecond.
    rates: f64,
}

impl Default for Wvegas {
    fn default() -> Self {
        Self {
            round_end: 0,
            samples: 0,
            sum_us: 0,
            base_rtt_us: u64::MAX,
            alpha: MIN_ALPHA,
            queueing_us: None,
            rates: 0.0,
        }
    }
}

impl Wvegas {
    /// Restarts all measurements, except for the minimum RTT.
    fn restart(&mut self, conn: &Conn) {
        let (base_rtt_us, rates) = (self.base_rtt_us, self.rates);
        *self = Self { base_rtt_us, rates, round_end: conn.snd_nxt, ..Self::default() };
    }

    /// Ends the round and returns its mean RTT, microseconds, if it had enough samples.
    fn next_round(&mut self, conn: &Conn) -> Option<u64> {
        let mean_us = (self.samples > FEW_SAMPLES).then(|| self.sum_us / self.samples);
        (self.round_end, self.samples, self.sum_us) = (conn.snd_nxt, 0, 0);
        mean_us
    }

    /// Sets `alpha` so that the share of queued packets equals the share of the rate (draft:
    /// weight_i and alpha_i). Deviation of Linux: at least two.
    fn reweigh(&mut self, cwnd: u32, rtt_us: u64) {
        let own = f64::from(cwnd) / rtt_us as f64;
        let alpha = ((own / (own + self.rates) * TOTAL_ALPHA) as u32).max(MIN_ALPHA);
        if alpha > self.alpha {
            self.queueing_us = None; // The longer queue will be this subflow's own.
        }
        self.alpha = alpha;
    }

    /// Adjusts the window once per round in congestion avoidance (draft); `queued` is in packets.
    fn adjust(&mut self, window: &mut Window, rtt_us: u64, queued: u64) {
        // The rate is now an equilibrium rate.
        if queued >= u64::from(self.alpha) {
            self.reweigh(window.cwnd, rtt_us);
        }
        if queued < u64::from(self.alpha) {
            window.cwnd = window.cwnd.saturating_add(1);
            return;
        }
        if queued > u64::from(self.alpha) {
            window.cwnd -= 1;
            window.ssthresh = window.ssthresh.min(window.cwnd);
        }
        self.drain(window, rtt_us);
    }

    /// Drains the queue when the queueing delay is twice the minimum: other flows then fill the
    /// queue. All flows that see this back off and can measure the path without a queue. Deviation:
    /// Linux checks before equilibrium, too, where a subflow's own queue doubles as it grows from
    /// one packet to two. Without jitter, it then never queues alpha packets and fills a link to
    /// only 7/8.
    fn drain(&mut self, window: &mut Window, rtt_us: u64) {
        let queueing_us = rtt_us - self.base_rtt_us;
        let least_us = self.queueing_us.map_or(queueing_us, |least| least.min(queueing_us));
        self.queueing_us = Some(least_us);
        if queueing_us >= DRAIN_FACTOR * least_us {
            // Draft: cwnd_i · base_rtt_i / (2 · rtt_i).
            window.cwnd = (u64::from(window.cwnd) * self.base_rtt_us / (2 * rtt_us)) as u32;
            self.queueing_us = None;
        }
    }
}

/// Creates an instance.
pub(crate) fn new(_options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Wvegas::default())
}

impl CongestionControl for Wvegas {
    fn init(&mut self, conn: &Conn, _window: &mut Window) {
        *self = Self { round_end: conn.snd_nxt, ..Self::default() };
    }

    fn ssthresh(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        Reno::default().ssthresh(conn, window)
    }

    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, acked: u32) {
        let over = conn.snd_una > self.round_end;
        let measured = if over { self.next_round(conn) } else { None };
        // The number of queued packets is computed from the window, so the window must be in use.
        if !conn.cwnd_limited {
            return;
        }
        // Reno outside Open state, or without enough samples.
        if conn.state != CaState::Open || over && measured.is_none() {
            Reno::default().cong_avoid(conn, window, acked);
            return;
        }
        let Some(rtt_us) = measured else {
            if window.in_slow_start() {
                window.slow_start(acked);
            }
            return;
        };
        // Draft: diff_i = (cwnd_i/base_rtt_i - cwnd_i/rtt_i) · base_rtt_i, packets.
        let cwnd = u64::from(window.cwnd);
        let queued = cwnd * (rtt_us - self.base_rtt_us) / rtt_us;
        if !window.in_slow_start() {
            self.adjust(window, rtt_us, queued);
        } else if queued > GAMMA {
            // The path's capacity without queues, and one more packet.
            window.cwnd = (cwnd * self.base_rtt_us / rtt_us + 1).min(cwnd) as u32;
            window.ssthresh = window.cwnd.max(MIN_CWND);
        } else {
            window.slow_start(acked);
        }
        window.cwnd = window.cwnd.max(MIN_CWND).min(window.cwnd_clamp);
        // A drained window regains three quarters by slow start (`tcp_current_ssthresh`).
        window.ssthresh = window.ssthresh.max(window.cwnd / 2 + window.cwnd / 4);
    }

    fn pkts_acked(&mut self, _conn: &Conn, _window: &mut Window, sample: &AckSample) {
        if let Ok(rtt_us) = u32::try_from(sample.rtt_us) {
            let rtt_us = u64::from(rtt_us.max(1));
            self.base_rtt_us = self.base_rtt_us.min(rtt_us);
            self.samples += 1;
            self.sum_us += rtt_us;
        }
    }

    /// Restarts the measurements on return to Open state, as Linux does.
    fn set_state(&mut self, conn: &Conn, _window: &mut Window, state: CaState) {
        if state == CaState::Open {
            self.restart(conn);
        }
    }

    /// Restarts with a new minimum RTT, which is out of date after an idle period.
    fn cwnd_event(&mut self, conn: &Conn, window: &mut Window, event: CaEvent) {
        if event == CaEvent::CwndRestart {
            let rates = self.rates;
            self.init(conn, window);
            self.rates = rates;
        }
    }

    /// Sums up the siblings' rates. Siblings in slow start have no equilibrium rate yet.
    fn subflows(&mut self, all: &[Subflow], me: usize) {
        let settled = siblings(all, me).filter(|subflow| !subflow.slow_start);
        self.rates = settled.map(|s| f64::from(s.cwnd) * 8.0 / f64::from(s.srtt_us8)).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lia::tests::{any_subflows, check_coupled, subflow};
    use crate::reno::tests::{avoiding, conn, operations};
    use proptest::prelude::*;

    /// Round with the same RTT for all packets.
    fn round(wvegas: &mut Wvegas, window: &mut Window, rtt_us: u64) {
        let conn = Conn { snd_una: wvegas.round_end + 1, snd_nxt: wvegas.round_end + 2, ..conn(0) };
        for _ in 0..4 {
            let sample = AckSample { pkts_acked: 1, rtt_us: rtt_us as i64, in_flight: 1 };
            wvegas.pkts_acked(&conn, window, &sample);
        }
        wvegas.cong_avoid(&conn, window, window.cwnd);
    }

    /// State on a path with an RTT of 10 ms without queues.
    fn measured() -> Wvegas {
        Wvegas { base_rtt_us: 10_000, ..Wvegas::default() }
    }

    /// Packets queued per link after `rounds` rounds. `links` are capacities in packets per 10 ms,
    /// the RTT without queues; `link_of` is the link of each subflow.
    fn queued_after(rounds: u32, links: &[u64], link_of: &[usize]) -> Vec<u64> {
        let mut subflows: Vec<(Wvegas, Window)> =
            link_of.iter().map(|_| (measured(), Window::new(10))).collect();
        let mut queued = Vec::new();
        for _ in 0..rounds {
            let sent = |link| {
                let on_link = subflows.iter().zip(link_of).filter(move |(_, at)| **at == link);
                on_link.map(|((_, window), _)| u64::from(window.cwnd)).sum::<u64>()
            };
            queued = links.iter().enumerate().map(|(i, l)| sent(i).saturating_sub(*l)).collect();
            let rtt_us = |at: usize| 10_000 + queued[at] * 10_000 / links[at];
            let all: Vec<Subflow> = subflows
                .iter()
                .zip(link_of)
                .map(|((_, window), &at)| Subflow {
                    slow_start: window.in_slow_start(),
                    srtt_us8: rtt_us(at) as u32 * 8,
                    ..subflow(window.cwnd, 0)
                })
                .collect();
            for (me, (wvegas, window)) in subflows.iter_mut().enumerate() {
                wvegas.subflows(&all, me);
                round(wvegas, window, rtt_us(link_of[me]));
            }
        }
        queued
    }

    #[test]
    fn a_closed_loop_keeps_ten_packets_queued() {
        // A fraction of a packet does not count, so there may be one more.
        assert_eq!(queued_after(100, &[300], &[0]), [11], "alone");
        assert_eq!(queued_after(300, &[200, 200], &[0, 1]), [5, 5]);
        // One link: the connection is one flow, not two.
        let queued = queued_after(300, &[300], &[0, 0])[0];
        assert!((8..=11).contains(&queued), "{queued}");
        // With ten paths, each subflow keeps the minimum of two.
        assert_eq!(queued_after(300, &[100; 10], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), [2; 10]);
    }

    #[test]
    fn slow_start_doubles_until_more_than_a_packet_is_queued() {
        let (mut wvegas, mut window) = (measured(), Window::new(10));
        round(&mut wvegas, &mut window, 10_000);
        assert_eq!(window.cwnd, 20);
        // 20 · 1/11 = 1.8 packets count as one; 40 · 0.6/10.6 = 2.3 as two. 37.7 remain, and one.
        round(&mut wvegas, &mut window, 11_000);
        assert_eq!(window.cwnd, 40);
        round(&mut wvegas, &mut window, 10_600);
        assert_eq!((window.cwnd, window.in_slow_start()), (38, false));
        // Within a round, every ACK counts.
        let mut window = Window::new(10);
        wvegas.cong_avoid(&conn(0), &mut window, 3);
        assert_eq!(window.cwnd, 13);
    }

    #[test]
    fn a_packet_per_round_towards_alpha() {
        // With 110 packets at 10.x ms, alpha is 2 until two are queued, then 10 for a single
        // subflow.
        let after = |alpha, rates, rtt_us| {
            let mut wvegas = Wvegas { alpha, rates, ..measured() };
            let mut window = Window { ssthresh: 110, ..avoiding(110) };
            round(&mut wvegas, &mut window, rtt_us);
            assert!(!window.in_slow_start());
            (window.cwnd, wvegas.alpha)
        };
        assert_eq!(after(2, 0.0, 10_185), (111, 2), "one queued");
        assert_eq!(after(2, 0.0, 10_200), (111, 10), "two");
        assert_eq!(after(10, 0.0, 11_000), (110, 10), "ten");
        assert_eq!(after(10, 0.0, 11_200), (109, 10), "eleven");
        // Beside a sibling of the same rate, 110 packets per 11 ms, it is five.
        assert_eq!(after(10, 0.01, 11_000), (109, 5));
        assert_eq!(after(10, 0.03, 11_000), (109, 2), "of four");
        assert_eq!(after(10, 0.99, 11_000), (109, 2), "of a hundred: the least");
    }

    #[test]
    fn siblings_that_have_settled_count() {
        let mut wvegas = Wvegas::default();
        let starting = Subflow { slow_start: true, ..subflow(50, 10) };
        let closed = Subflow { active: false, ..subflow(50, 10) };
        wvegas.subflows(&[subflow(7, 7), subflow(20, 10), starting, closed, subflow(9, 0)], 0);
        assert!((wvegas.rates - 0.002).abs() < 1e-15, "{}", wvegas.rates);
    }

    /// 110 packets at 11 ms: ten are queued. At 12 ms the queueing delay is twice as long.
    #[test]
    fn a_queue_twice_as_long_is_drained() {
        let mut wvegas = Wvegas { alpha: 10, ..measured() };
        let mut window = avoiding(110);
        round(&mut wvegas, &mut window, 11_000);
        assert_eq!((window.cwnd, window.ssthresh, wvegas.queueing_us), (110, 82, Some(1000)));
        round(&mut wvegas, &mut window, 11_900);
        assert_eq!((window.cwnd, wvegas.queueing_us), (109, Some(1000)));
        // 108 · 10/24, and slow start from there.
        round(&mut wvegas, &mut window, 12_000);
        assert_eq!((window.cwnd, wvegas.queueing_us), (45, None));
        assert!(window.in_slow_start());
        // No drain after the share grew: the longer queue is intended.
        let mut wvegas = Wvegas { alpha: 5, queueing_us: Some(500), ..measured() };
        let mut window = avoiding(110);
        round(&mut wvegas, &mut window, 11_000);
        assert_eq!((window.cwnd, wvegas.alpha, wvegas.queueing_us), (110, 10, Some(1000)));
    }

    #[test]
    fn reno_while_too_little_is_known() {
        let mut window = avoiding(10);
        let later = Conn { snd_una: 100, snd_nxt: 200, ..conn(0) };
        let mut wvegas = measured();
        wvegas.cong_avoid(&later, &mut window, 10);
        assert_eq!((window.cwnd, wvegas.round_end), (11, 200), "no samples");
        // Within a round the window stays, except in Disorder.
        let within = Conn { snd_una: 200, ..later };
        wvegas.cong_avoid(&within, &mut window, 11);
        assert_eq!(window.cwnd, 11);
        let amiss = Conn { state: CaState::Disorder, ..within };
        wvegas.cong_avoid(&amiss, &mut window, 11);
        assert_eq!(window.cwnd, 12);
    }

    #[test]
    fn recovery_starts_a_round_and_idleness_a_path() {
        let here = Conn { snd_nxt: 77, ..conn(0) };
        let mut wvegas = Wvegas { alpha: 9, samples: 5, sum_us: 5, rates: 0.5, ..measured() };
        wvegas.set_state(&here, &mut Window::new(1), CaState::Recovery);
        assert_eq!(wvegas.samples, 5);
        wvegas.set_state(&here, &mut Window::new(1), CaState::Open);
        assert_eq!((wvegas.alpha, wvegas.samples, wvegas.round_end), (2, 0, 77));
        assert_eq!((wvegas.base_rtt_us, wvegas.rates), (10_000, 0.5));
        wvegas.cwnd_event(&here, &mut Window::new(1), CaEvent::TxStart);
        assert_eq!(wvegas.base_rtt_us, 10_000);
        wvegas.cwnd_event(&here, &mut Window::new(1), CaEvent::CwndRestart);
        assert_eq!((wvegas.base_rtt_us, wvegas.rates), (u64::MAX, 0.5));
    }

    proptest! {
        /// Ten packets in proportion to the capacities, so that delays are equal.
        #[test]
        fn links_are_filled_in_proportion(links in proptest::collection::vec(50..3000u64, 1..5)) {
            let link_of: Vec<usize> = (0..links.len()).collect();
            let queued = queued_after(300, &links, &link_of);
            for (queued, link) in queued.iter().zip(&links) {
                let share = (10 * link) as f64 / links.iter().sum::<u64>() as f64;
                prop_assert!((*queued as f64 - share.max(2.0)).abs() <= 1.1, "{queued} {share}");
            }
        }

        #[test]
        fn operations_keep_the_window_in_bounds(
            operations in operations(), all in any_subflows(), clamp in 1..100u32,
        ) {
            check_coupled(&mut Wvegas::default(), &operations, &all);
            let mut window = Window { cwnd_clamp: clamp, ..avoiding(clamp) };
            let mut wvegas = measured();
            for (rtt_us, _) in &operations {
                round(&mut wvegas, &mut window, *rtt_us);
                prop_assert!((1..=clamp).contains(&window.cwnd), "{:?}", window);
            }
        }
    }
}
