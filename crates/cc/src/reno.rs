//! Reno: RFC 5681 with appropriate byte counting (RFC 3465, counted in packets), as Linux's
//! tcp_reno_* in tcp_cong.c. The connection does fast recovery (PRR, RFC 6937).

use crate::start_up::StartUp;
use crate::{AckSample, CaEvent, CaState, CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

/// Minimum slow-start threshold, packets (RFC 5681 §3.1, equation 4: two segments).
const MIN_SSTHRESH: u32 = 2;

/// Reno. All state is in [`Window`], except for the optional HyStart++, SEARCH and Careful Resume.
#[derive(Clone, Debug, Default)]
pub struct Reno {
    start: StartUp,
}

impl Reno {
    /// Initial state.
    pub fn new(options: &TcpOptions) -> Self {
        Self { start: StartUp::new(options) }
    }
}

/// Creates an instance.
pub(crate) fn new(options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Reno::new(options))
}

impl CongestionControl for Reno {
    /// Half the window. RFC 5681 §3.1 halves the flight. Linux halves the window, and
    /// congestion-window validation keeps it near the flight.
    fn ssthresh(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        self.start.congested(conn, window).unwrap_or((window.cwnd / 2).max(MIN_SSTHRESH))
    }

    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, mut acked: u32) {
        // An unused window proves nothing about the path (RFC 7661).
        if !conn.cwnd_limited || self.start.holds() {
            return;
        }
        // RFC 5681 §3.1: slow start up to the threshold. Packets beyond it count below.
        if window.in_slow_start() {
            acked = self.start.slow_start(window, acked);
            if acked == 0 {
                return;
            }
        }
        // RFC 5681 §3.1, equation 3: one packet per window of ACKed packets.
        window.additive_increase(window.cwnd, acked);
    }

    fn growth_limit(&self, window: &Window, flight: u32) -> Option<u32> {
        let growth = if window.in_slow_start() { flight } else { 1 };
        Some(flight.saturating_add(growth))
    }

    fn pkts_acked(&mut self, conn: &Conn, window: &mut Window, sample: &AckSample) {
        self.start.acked(conn, window);
        if self.start.holds() {
            return;
        }
        if let Ok(rtt_us) = sample.rtt_us.try_into() {
            self.start.sampled(conn, window, rtt_us);
        }
    }

    fn undo_cwnd(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        self.start.undone(conn, window).unwrap_or(window.cwnd.max(conn.prior_cwnd))
    }

    fn set_state(&mut self, conn: &Conn, window: &mut Window, state: CaState) {
        self.start.state(conn, window, state);
    }

    fn cwnd_event(&mut self, _conn: &Conn, _window: &mut Window, event: CaEvent) {
        self.start.event(event);
    }

    /// `tcp_reno_min_cwnd`.
    fn min_cwnd(&self, window: &Window) -> u32 {
        window.ssthresh / 2
    }

    fn counts_bytes(&self) -> bool {
        true
    }

    fn pacing_ratio(&self) -> Option<u32> {
        self.start.pacing_ratio()
    }

    fn phase(&self) -> &'static str {
        self.start.phase()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{CaEvent, CaState};
    use proptest::prelude::*;

    /// A connection at `now_ms`: full window, mss 1000, no RTT sample yet.
    pub(crate) fn conn(now_ms: u64) -> Conn {
        Conn {
            now_us: now_ms * 1000,
            now_ms,
            srtt_us8: 0,
            min_rtt_us: u32::MAX,
            snd_una: 0,
            snd_nxt: 0,
            mss: 1000,
            header_bytes: 52,
            in_flight: 0,
            sacked_out: 0,
            delivered: 0,
            delivered_us: now_ms * 1000,
            delivered_ce: 0,
            ecn: false,
            lost: 0,
            app_limited: 0,
            cwnd_limited: true,
            state: CaState::Open,
            last_send_ms: now_ms,
            prior_cwnd: 0,
            wstamp_ns: 0,
            now_ns: now_ms * 1_000_000,
            tsval_ms: 0,
            tsecr_ms: 0,
            random: 0,
            cwnd_limited_flight: true,
            tlp_app_limited: false,
        }
    }

    /// Options of a profile.
    pub(crate) fn options() -> TcpOptions {
        TcpOptions::profile("linux-6.1").expect("shipped")
    }

    /// Window in congestion avoidance at `cwnd`.
    pub(crate) fn avoiding(cwnd: u32) -> Window {
        Window { ssthresh: 2, ..Window::new(cwnd) }
    }

    /// Event of a connection.
    #[derive(Clone, Debug)]
    pub(crate) enum Operation {
        Ack { acked: u32, rtt_us: i64, limited: bool },
        FastRetransmit,
        Timeout,
        Recovered,
        Undo,
        Event { event: CaEvent, idle_ms: u64 },
        Pacing { rate: u64, pacing: bool },
    }

    fn event() -> impl Strategy<Value = CaEvent> {
        prop_oneof![
            3 => Just(CaEvent::TxStart),
            1 => Just(CaEvent::CwndRestart),
            1 => Just(CaEvent::CompleteCwr),
            1 => Just(CaEvent::Loss),
        ]
    }

    fn operation() -> impl Strategy<Value = (u64, Operation)> {
        let ack = (0..2000u32, -1..500_000i64, prop::bool::weighted(0.9));
        let ack =
            ack.prop_map(|(acked, rtt_us, limited)| Operation::Ack { acked, rtt_us, limited });
        let idle = (event(), 0..100_000u64);
        let operation = prop_oneof![
            20 => ack,
            1 => Just(Operation::FastRetransmit),
            1 => Just(Operation::Timeout),
            2 => Just(Operation::Recovered),
            1 => Just(Operation::Undo),
            1 => idle.prop_map(|(event, idle_ms)| Operation::Event { event, idle_ms }),
            1 => (any::<u64>(), any::<bool>())
                .prop_map(|(rate, pacing)| Operation::Pacing { rate, pacing }),
        ];
        let elapsed_us = prop_oneof![9 => 0..50_000u64, 1 => 0..100_000_000_000u64];
        (elapsed_us, operation)
    }

    /// Sequences of operations, with the microseconds before each.
    pub(crate) fn operations() -> impl Strategy<Value = Vec<(u64, Operation)>> {
        proptest::collection::vec(operation(), 1..200)
    }

    fn apply(
        algorithm: &mut dyn CongestionControl,
        conn: &mut Conn,
        window: &mut Window,
        operation: &Operation,
    ) {
        match *operation {
            Operation::Ack { acked, rtt_us, limited } => {
                conn.cwnd_limited = limited;
                conn.snd_una += u64::from(acked) * 1000;
                conn.snd_nxt = conn.snd_una + u64::from(window.cwnd) * 1000;
                let sample = AckSample { pkts_acked: acked, rtt_us, in_flight: window.cwnd };
                algorithm.pkts_acked(conn, window, &sample);
                algorithm.cong_avoid(conn, window, acked);
            }
            Operation::FastRetransmit => {
                conn.prior_cwnd = window.cwnd;
                window.ssthresh = algorithm.ssthresh(conn, window);
                algorithm.set_state(conn, window, CaState::Recovery);
                conn.state = CaState::Recovery;
                window.cwnd = window.ssthresh.min(window.cwnd_clamp);
            }
            Operation::Timeout => {
                conn.prior_cwnd = window.cwnd;
                window.ssthresh = algorithm.ssthresh(conn, window);
                algorithm.set_state(conn, window, CaState::Loss);
                conn.state = CaState::Loss;
                window.cwnd = 1;
                window.cwnd_cnt = 0;
            }
            Operation::Recovered => {
                algorithm.set_state(conn, window, CaState::Open);
                conn.state = CaState::Open;
            }
            Operation::Undo => {
                let cwnd = algorithm.undo_cwnd(conn, window);
                assert!(cwnd >= window.cwnd.max(conn.prior_cwnd));
                window.cwnd = cwnd.min(window.cwnd_clamp);
            }
            Operation::Event { event, idle_ms } => {
                conn.last_send_ms = conn.now_ms - idle_ms.min(conn.now_ms);
                algorithm.cwnd_event(conn, window, event);
            }
            Operation::Pacing { rate, pacing } => {
                window.pacing_rate = rate;
                window.pacing = pacing;
            }
        }
    }

    /// Applies the operations and checks the window after each.
    pub(crate) fn check_operations(
        algorithm: &mut dyn CongestionControl,
        cwnd_clamp: u32,
        operations: &[(u64, Operation)],
    ) {
        let mut conn = conn(1000);
        let mut window = Window { cwnd_clamp, ..Window::new(10.min(cwnd_clamp)) };
        algorithm.init(&conn, &mut window);
        for (elapsed_us, operation) in operations {
            conn.now_us += elapsed_us;
            conn.now_ms = conn.now_us / 1000;
            conn.now_ns = conn.now_us * 1000;
            let before = window;
            apply(algorithm, &mut conn, &mut window, operation);
            assert!((1..=cwnd_clamp).contains(&window.cwnd), "{operation:?}: {window:?}");
            assert!(window.ssthresh >= 2, "{operation:?}: {window:?}");
            if let Operation::Ack { limited, .. } = operation {
                assert!(window.cwnd >= before.cwnd, "an ACK never shrinks the window");
                assert!(*limited || window.cwnd == before.cwnd, "unused windows do not grow");
            }
        }
    }

    proptest! {
        #[test]
        fn operations_keep_the_window_in_bounds(
            clamp in 1..1_000_000u32, operations in operations(),
        ) {
            let options = options();
            for new in [
                crate::balia::new, crate::bic::new, crate::highspeed::new, crate::htcp::new,
                crate::illinois::new, crate::lia::new, crate::olia::new, new,
                crate::scalable::new,
            ] {
                check_operations(&mut *new(&options), clamp, &operations);
            }
        }

        /// RFC 5681 §3.1: one packet per RTT, for any ACK sizes.
        #[test]
        fn grows_one_packet_per_window(cwnd in 2..10_000u32, stretch in 1..50u32) {
            let mut window = avoiding(cwnd);
            let mut left = cwnd;
            while left > 0 {
                prop_assert_eq!(window.cwnd, cwnd);
                let acked = left.min(stretch);
                Reno::default().cong_avoid(&conn(0), &mut window, acked);
                left -= acked;
            }
            prop_assert_eq!((window.cwnd, window.cwnd_cnt), (cwnd + 1, 0));
        }
    }

    #[test]
    fn threshold_is_half_the_window_and_at_least_two() {
        let threshold = |cwnd| Reno::default().ssthresh(&conn(0), &mut Window::new(cwnd));
        assert_eq!([1, 2, 3, 4, 5, 6, 7, 100, 101].map(threshold), [2, 2, 2, 2, 2, 3, 3, 50, 50]);
    }

    #[test]
    fn slow_start_doubles_and_stops_at_the_threshold() {
        let mut window = Window { ssthresh: 21, ..Window::new(10) };
        Reno::default().cong_avoid(&conn(0), &mut window, 10);
        assert_eq!((window.cwnd, window.cwnd_cnt), (20, 0));
        assert!(window.in_slow_start(), "one below the threshold");
        // One of five ACKed packets reaches the threshold, four count towards the next increase.
        Reno::default().cong_avoid(&conn(0), &mut window, 5);
        assert_eq!((window.cwnd, window.cwnd_cnt), (21, 4));
        Reno::default().cong_avoid(&conn(0), &mut window, 16);
        assert_eq!((window.cwnd, window.cwnd_cnt), (21, 20), "one ACK before");
        Reno::default().cong_avoid(&conn(0), &mut window, 1);
        assert_eq!((window.cwnd, window.cwnd_cnt), (22, 0));
    }

    #[test]
    fn an_unused_window_does_not_grow() {
        let idle = Conn { cwnd_limited: false, ..conn(0) };
        for mut window in [Window::new(10), avoiding(10)] {
            let before = window;
            Reno::default().cong_avoid(&idle, &mut window, 100);
            assert_eq!(window, before);
        }
    }

    #[test]
    fn undo_restores_the_larger_window() {
        let conn = Conn { prior_cwnd: 20, ..conn(0) };
        assert_eq!(
            [19, 20, 21].map(|c| Reno::default().undo_cwnd(&conn, &mut Window::new(c))),
            [20, 20, 21]
        );
    }
}
