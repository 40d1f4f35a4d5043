//! BBR version 1: Cardwell, Cheng, Gunn, Hassas Yeganeh, Jacobson, "BBR: Congestion-Based
//! Congestion Control", ACM Queue 14(5), 2016, and draft-cardwell-iccrg-bbr-congestion-control-00
//! ("the draft" below), as Linux's tcp_bbr.c. Long-term bandwidth (policer detection) and the
//! compensation of ACK aggregation are in Linux only.
//!
//! One file per subject: the model of the path in `model.rs`, with `policer.rs` and
//! `aggregation.rs`; the state machine in `mode.rs`; the resulting pacing rate and window in
//! `control.rs`.
//!
//! Bandwidth is in packets per microsecond times 2²⁴, gains in 256ths. Products and counters wrap
//! at Linux's widths.

pub(crate) mod aggregation;
pub(crate) mod control;
mod mode;
mod model;
mod policer;

use crate::{CaEvent, CaState, CongestionControl, Conn, RateSample, Window, INFINITE_SSTHRESH};
use aggregation::Aggregation;
use dumbbell_model::TcpOptions;
use mode::Mode;
pub(crate) use model::is_after;
use model::{FullPipe, Path};
use policer::Policer;

/// Fractional bits of a bandwidth.
pub(crate) const BW_SCALE: u32 = 24;
/// One packet per microsecond.
pub(crate) const BW_UNIT: u64 = 1 << BW_SCALE;

/// Fractional bits of a gain.
const GAIN_SCALE: u32 = 8;
/// A gain of 1.
pub(crate) const GAIN_UNIT: u32 = 1 << GAIN_SCALE;

/// 2/ln 2: the smallest gain that doubles the rate per round (draft §4.3.2.1; 2.89 there).
const HIGH_GAIN: u32 = GAIN_UNIT * 2885 / 1000 + 1;
/// Inverse of [`HIGH_GAIN`]: drains STARTUP's queue in about one round (draft §4.3.3).
const DRAIN_GAIN: u32 = GAIN_UNIT * 1000 / 2885;
/// Window gain of PROBE_BW; covers delayed and stretched ACKs (draft §4.2.3.2).
const CWND_GAIN: u32 = 2 * GAIN_UNIT;

/// Minimum window that keeps data flowing with an ACK per two packets (draft §4.2.3).
const MIN_CWND: u32 = 4;
/// Initial window, packets (RFC 6928).
const TCP_INIT_CWND: u32 = 10;

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Bbr {
    mode: Mode,
    /// Gains in effect. The mode may have changed since they were set.
    pacing_gain: u32,
    cwnd_gain: u32,
    path: Path,
    full_pipe: FullPipe,
    policer: Policer,
    aggregation: Aggregation,
    /// Window to return to after recovery or PROBE_RTT.
    prior_cwnd: u32,
    /// Congestion state at the previous ACK.
    previous_state: CaState,
    /// True in the first round of recovery: one packet out per packet in.
    packet_conservation: bool,
    /// True from a restart after idleness to the first delivery.
    idle_restart: bool,
    has_seen_rtt: bool,
}

impl Default for Bbr {
    fn default() -> Self {
        Self::new()
    }
}

impl Bbr {
    /// Initial state; `init` completes it.
    pub fn new() -> Self {
        Self {
            mode: Mode::Startup,
            pacing_gain: 0,
            cwnd_gain: 0,
            path: Path::default(),
            full_pipe: FullPipe::default(),
            policer: Policer::default(),
            aggregation: Aggregation::default(),
            prior_cwnd: 0,
            previous_state: CaState::Open,
            packet_conservation: false,
            idle_restart: false,
            has_seen_rtt: false,
        }
    }

    /// Bandwidth in use: the policer's rate, or the maximum of recent rounds.
    fn bw(&self) -> u32 {
        self.policer.bw().unwrap_or(self.path.max_bw.get())
    }

    /// Updates the model. The order of the steps matters: each step uses the results before it.
    fn update_model(&mut self, conn: &Conn, window: &mut Window, sample: &RateSample) {
        self.update_bandwidth(conn, sample);
        let (bw, round_start) = (self.bw(), self.path.round_start);
        self.aggregation.on_ack(conn, window.cwnd, sample, round_start, bw);
        self.update_cycle_phase(conn, window, sample);
        if self.path.round_start && !sample.app_limited {
            self.full_pipe.on_round(self.path.max_bw.get());
        }
        self.check_drain(conn, window);
        self.update_min_rtt(conn, window, sample);
        self.update_gains();
    }
}

/// Creates an instance.
pub(crate) fn new(_options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Bbr::new())
}

impl CongestionControl for Bbr {
    fn init(&mut self, conn: &Conn, window: &mut Window) {
        *self = Self::new();
        self.path = Path::new(conn);
        self.policer.reset(conn);
        self.aggregation = Aggregation::new(conn.now_us);
        // BBR does not use the threshold. Infinity keeps the connection "in slow start" elsewhere.
        window.ssthresh = INFINITE_SSTHRESH;
        self.init_pacing_rate(conn, window);
        window.pacing = true;
    }

    /// Keeps the threshold, and saves the window before the reduction.
    fn ssthresh(&mut self, _conn: &Conn, window: &mut Window) -> u32 {
        self.save_cwnd(window.cwnd);
        window.ssthresh
    }

    fn undo_cwnd(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        // The reduction was spurious, so its conclusions about the pipe are void.
        self.full_pipe.restart();
        self.policer.reset(conn);
        window.cwnd
    }

    fn set_state(&mut self, conn: &Conn, _window: &mut Window, state: CaState) {
        if state != CaState::Loss {
            return;
        }
        self.previous_state = CaState::Loss;
        self.full_pipe.forget_bandwidth();
        // A time-out counts as the end of a round, and as a loss for the policer.
        self.path.round_start = true;
        self.sample_policer(conn, &RateSample { losses: 1, ..RateSample::default() });
    }

    fn cwnd_event(&mut self, conn: &Conn, window: &mut Window, event: CaEvent) {
        // Draft §4.3.4.4, restarting from idle.
        if event != CaEvent::TxStart || conn.app_limited == 0 {
            return;
        }
        self.idle_restart = true;
        self.aggregation.start_epoch(conn.now_us);
        match self.mode {
            // An empty pipe refills at the bandwidth; a higher rate would queue.
            Mode::ProbeBw { .. } => self.set_pacing_rate(conn, window, self.bw(), GAIN_UNIT),
            Mode::ProbeRtt { .. } => self.check_probe_rtt_done(conn, window),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn controls_rate(&self) -> bool {
        true
    }

    fn cong_control(&mut self, conn: &Conn, window: &mut Window, sample: &RateSample) {
        self.update_model(conn, window, sample);
        let bw = self.bw();
        self.set_pacing_rate(conn, window, bw, self.pacing_gain);
        self.set_cwnd(conn, window, sample, bw);
    }

    fn min_tso_segs(&self, window: &Window) -> Option<u32> {
        Some(control::min_tso_segs(window.pacing_rate))
    }

    fn draws(&self) -> bool {
        true
    }

    /// Three windows: BBR may be in slow start even during recovery.
    fn sndbuf_expand(&self) -> u32 {
        3
    }

    fn phase(&self) -> &'static str {
        self.mode.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::conn;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const MSS: u64 = 1000;

    /// Packet in transit, with the sender's notes at its departure.
    struct Packet {
        back_us: u64,
        delivered: u64,
        delivered_us: u64,
        sent_us: u64,
        dropped: bool,
    }

    /// A paced sender with unlimited data, a link of one packet per millisecond with an unlimited
    /// queue behind an optional policer, and 40 ms of propagation. No retransmissions.
    struct Flow {
        bbr: Bbr,
        window: Window,
        conn: Conn,
        packets: VecDeque<Packet>,
        next_send_us: u64,
        link_free_us: u64,
        /// Packets per 1000 ms that the policer passes; `None`: all.
        policed: Option<f64>,
        tokens: f64,
        /// Losses since the last ACK.
        losses: u32,
    }

    const SERVICE_US: u64 = 1000;
    const RTT_US: u64 = 40_000;

    impl Flow {
        fn new(policed: Option<f64>) -> Self {
            let mut flow = Self {
                bbr: Bbr::new(),
                window: Window::new(10),
                conn: Conn { srtt_us8: 8 * RTT_US as u32, random: 1 << 31, ..conn(1000) },
                packets: VecDeque::new(),
                next_send_us: 0,
                link_free_us: 0,
                policed,
                tokens: 100.0,
                losses: 0,
            };
            flow.bbr.init(&flow.conn, &mut flow.window);
            flow
        }

        fn send(&mut self) {
            let now_us = self.conn.now_us;
            while self.next_send_us <= now_us && self.conn.in_flight < self.window.cwnd {
                if self.conn.in_flight == 0 {
                    self.conn.delivered_us = now_us;
                }
                let dropped = self.policed.is_some() && self.tokens < 1.0;
                if !dropped {
                    self.tokens -= 1.0;
                    self.link_free_us = self.link_free_us.max(now_us) + SERVICE_US;
                }
                self.packets.push_back(Packet {
                    back_us: self.link_free_us.max(now_us) + RTT_US,
                    delivered: self.conn.delivered,
                    delivered_us: self.conn.delivered_us,
                    sent_us: now_us,
                    dropped,
                });
                self.conn.in_flight += 1;
                let gap_us = MSS * 1_000_000 / self.window.pacing_rate.max(1);
                self.next_send_us = self.next_send_us.max(now_us) + gap_us;
            }
        }

        fn receive(&mut self) {
            while self.packets.front().is_some_and(|p| p.back_us <= self.conn.now_us) {
                let Some(packet) = self.packets.pop_front() else { return };
                self.conn.in_flight -= 1;
                if packet.dropped {
                    self.conn.lost += 1;
                    self.losses += 1;
                    continue;
                }
                self.conn.delivered += 1;
                self.conn.delivered_us = self.conn.now_us;
                let sample = RateSample {
                    prior_delivered: packet.delivered,
                    delivered: (self.conn.delivered - packet.delivered) as i64,
                    interval_us: (self.conn.now_us - packet.delivered_us) as i64,
                    rtt_us: (self.conn.now_us - packet.sent_us) as i64,
                    losses: std::mem::take(&mut self.losses),
                    acked_sacked: 1,
                    prior_in_flight: self.conn.in_flight + 1,
                    ..RateSample::default()
                };
                self.bbr.cong_control(&self.conn, &mut self.window, &sample);
            }
        }

        /// Runs for `ms` milliseconds. Returns the phases in order, each with its start in ms and
        /// its largest window.
        fn run(&mut self, ms: u64) -> Vec<(&'static str, u64, u32)> {
            let mut phases: Vec<(&'static str, u64, u32)> = Vec::new();
            let end_us = self.conn.now_us + ms * 1000;
            while self.conn.now_us < end_us {
                self.receive();
                self.send();
                self.conn.now_us += 100;
                self.conn.now_ms = self.conn.now_us / 1000;
                self.conn.now_ns = self.conn.now_us * 1000;
                self.tokens = (self.tokens + self.policed.unwrap_or(1e9) / 10_000.0).min(100.0);
                let (phase, cwnd) = (self.bbr.phase(), self.window.cwnd);
                match phases.last_mut() {
                    Some(last) if last.0 == phase => last.2 = last.2.max(cwnd),
                    _ => phases.push((phase, self.conn.now_ms - 1000, cwnd)),
                }
            }
            phases
        }
    }

    #[test]
    fn a_flow_passes_through_all_phases_and_fills_the_link() {
        let mut flow = Flow::new(None);
        let phases = flow.run(21_500);
        let names: Vec<_> = phases.iter().map(|phase| phase.0).collect();
        let expected =
            ["STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT", "PROBE_BW", "PROBE_RTT", "PROBE_BW"];
        assert_eq!(names, expected);
        assert!(phases[1].1 < 1000, "the pipe is full after some RTTs: {phases:?}");
        for probe in [3, 5] {
            assert!(phases[probe].2 <= MIN_CWND);
            let lasted = phases[probe + 1].1 - phases[probe].1;
            assert!((200..400).contains(&lasted), "{lasted} ms");
        }
        assert!((10_000..10_600).contains(&(phases[3].1)), "{phases:?}");
        // One packet per millisecond and 41 ms, within one per cent.
        let bw = u64::from(flow.bbr.bw()) * 1000;
        assert!(bw.abs_diff(BW_UNIT) * 100 <= BW_UNIT * 3, "{bw} of {BW_UNIT}");
        assert!((41_000..42_000).contains(&flow.bbr.path.min_rtt_us));
        assert!(flow.conn.delivered > 21_500 * 93 / 100, "{}", flow.conn.delivered);
        // Twice the BDP of 41 packets plus packets in hosts. STARTUP's window was larger.
        assert!((82..110).contains(&flow.window.cwnd), "{}", flow.window.cwnd);
    }

    #[test]
    fn a_policer_is_found_out() {
        let mut flow = Flow::new(Some(500.0));
        flow.run(5000);
        let bw = u64::from(flow.bbr.policer.bw().expect("policed")) * 1000;
        assert!(bw.abs_diff(BW_UNIT / 2) * 100 <= BW_UNIT / 2 * 10, "{bw} of {}", BW_UNIT / 2);
        let lost = flow.conn.lost;
        flow.run(1000);
        assert!(flow.conn.lost - lost < 50, "sending at the policed rate loses little");
        let mut free = Flow::new(None);
        free.run(5000);
        assert_eq!(free.bbr.policer.bw(), None);
    }

    #[test]
    fn init_takes_the_minimum_rtt_and_forgets_the_threshold() {
        let (mut bbr, mut window) = (Bbr::new(), Window { ssthresh: 5, ..Window::new(10) });
        bbr.init(&Conn { min_rtt_us: 123, delivered: 9, ..conn(77) }, &mut window);
        assert_eq!((bbr.path.min_rtt_us, bbr.path.min_rtt_ms, bbr.path.round_end), (123, 77, 9));
        assert_eq!((window.ssthresh, window.pacing), (INFINITE_SSTHRESH, true));
        assert_eq!((bbr.controls_rate(), bbr.sndbuf_expand()), (true, 3));
        assert_eq!(bbr.min_tso_segs(&window), Some(2));
    }

    #[test]
    fn loss_changes_no_threshold_and_undo_no_window() {
        let (mut bbr, mut window) = (Bbr::new(), Window::new(10));
        bbr.init(&conn(0), &mut window);
        assert_eq!(bbr.ssthresh(&conn(0), &mut window), INFINITE_SSTHRESH);
        assert_eq!(bbr.prior_cwnd, 10);
        for bw in [1000, 1000, 1000] {
            bbr.full_pipe.on_round(bw);
        }
        window.cwnd = 7;
        let before = Conn { prior_cwnd: 99, ..conn(0) };
        assert_eq!(bbr.undo_cwnd(&before, &mut window), 7);
        // The count restarts: without the undo, the next round would have been the third.
        for bw in [1000, 1000, 1000] {
            bbr.full_pipe.on_round(bw);
            assert!(!bbr.full_pipe.reached());
        }
        bbr.full_pipe.on_round(1000);
        assert!(bbr.full_pipe.reached());
    }

    #[test]
    fn a_time_out_ends_the_round_and_starts_policer_sampling() {
        let (mut bbr, mut window) = (Bbr::new(), Window::new(10));
        bbr.init(&conn(0), &mut window);
        bbr.set_state(&conn(0), &mut window, CaState::Recovery);
        assert_eq!((bbr.previous_state, bbr.path.round_start), (CaState::Open, false));
        bbr.set_state(&conn(0), &mut window, CaState::Loss);
        assert_eq!((bbr.previous_state, bbr.path.round_start), (CaState::Loss, true));
        assert_ne!(format!("{:?}", bbr.policer), format!("{:?}", Policer::default()));
    }

    #[test]
    fn restarting_from_idle_paces_at_the_bandwidth() {
        let restart = |app_limited, event| {
            let (mut bbr, mut window) = (Bbr::new(), Window::new(10));
            bbr.init(&conn(0), &mut window);
            bbr.mode = Mode::ProbeBw { phase: 0, since_us: 0 };
            bbr.path.max_bw.reset(0, BW_UNIT as u32);
            window.pacing_rate = 1;
            bbr.cwnd_event(&Conn { app_limited, ..conn(5) }, &mut window, event);
            (bbr.idle_restart, window.pacing_rate)
        };
        assert_eq!(restart(1, CaEvent::TxStart), (true, 990_000_000));
        assert_eq!(restart(0, CaEvent::TxStart), (false, 1));
        assert_eq!(restart(1, CaEvent::CwndRestart), (false, 1));
    }

    #[test]
    fn an_idle_probe_rtt_ends_with_its_time() {
        let ended = |now_ms| {
            let (mut bbr, mut window) = (Bbr::new(), Window::new(4));
            bbr.init(&conn(0), &mut window);
            bbr.prior_cwnd = 50;
            bbr.mode = Mode::ProbeRtt { done_ms: Some(200), round_done: false };
            let idle = Conn { app_limited: 1, ..conn(now_ms) };
            bbr.cwnd_event(&idle, &mut window, CaEvent::TxStart);
            (bbr.phase(), window.cwnd)
        };
        assert_eq!((ended(200), ended(201)), (("PROBE_RTT", 4), ("STARTUP", 50)));
    }

    #[derive(Clone, Debug)]
    enum Operation {
        Ack { sample: RateSample, in_flight: u32, wait_ns: u64 },
        Invalid { rtt_us: i64, acked_sacked: u32 },
        Loss,
        Timeout,
        State(CaState),
        Undo,
        TxStart { app_limited: bool },
    }

    fn ack() -> impl Strategy<Value = Operation> {
        let counts = (1..100u32, prop_oneof![3 => Just(0), 1 => 0..50u32], 0..300u32, 0..300u32);
        let rate = (1..200i64, 1..100_000i64, -1..200_000i64, 0..50u64);
        let flags = (prop::bool::weighted(0.1), any::<bool>(), 0..5_000_000u64);
        (counts, rate, flags).prop_map(|(counts, rate, flags)| Operation::Ack {
            sample: RateSample {
                // Distance back in packets; the driver turns it into a count.
                prior_delivered: rate.3,
                delivered: rate.0,
                interval_us: rate.1,
                rtt_us: rate.2,
                losses: counts.1,
                acked_sacked: counts.0,
                prior_in_flight: counts.2,
                app_limited: flags.0,
                retransmitted: false,
                ack_delayed: flags.1,
                ..RateSample::default()
            },
            in_flight: counts.3,
            wait_ns: flags.2,
        })
    }

    fn operation() -> impl Strategy<Value = (u64, u32, Operation)> {
        use CaState::{Cwr, Disorder, Open, Recovery};
        let operation = prop_oneof![
            30 => ack(),
            2 => (-1..9999i64, 0..9u32)
                .prop_map(|(rtt_us, acked_sacked)| Operation::Invalid { rtt_us, acked_sacked }),
            1 => Just(Operation::Loss),
            1 => Just(Operation::Timeout),
            3 => prop::sample::select(vec![Open, Disorder, Cwr, Recovery])
                .prop_map(Operation::State),
            1 => Just(Operation::Undo),
            2 => any::<bool>().prop_map(|app_limited| Operation::TxStart { app_limited }),
        ];
        let elapsed_us = prop_oneof![9 => 1..20_000u64, 1 => 1..5_000_000u64];
        (elapsed_us, any::<u32>(), operation)
    }

    fn apply(bbr: &mut Bbr, conn: &mut Conn, window: &mut Window, operation: &Operation) {
        match *operation {
            Operation::Ack { mut sample, in_flight, wait_ns } => {
                sample.prior_delivered = conn.delivered.saturating_sub(sample.prior_delivered);
                conn.delivered += u64::from(sample.acked_sacked);
                conn.delivered_us = conn.now_us;
                conn.lost += u64::from(sample.losses);
                conn.in_flight = in_flight;
                conn.wstamp_ns = conn.now_ns + wait_ns;
                if sample.rtt_us >= 0 {
                    conn.srtt_us8 = (sample.rtt_us * 8) as u32;
                }
                bbr.cong_control(conn, window, &sample);
            }
            Operation::Invalid { rtt_us, acked_sacked } => {
                let sample =
                    RateSample { delivered: -1, rtt_us, acked_sacked, ..RateSample::default() };
                bbr.cong_control(conn, window, &sample);
            }
            Operation::Loss => {
                let before = window.ssthresh;
                assert_eq!(bbr.ssthresh(conn, window), before);
            }
            Operation::Timeout => {
                bbr.ssthresh(conn, window);
                bbr.set_state(conn, window, CaState::Loss);
                conn.state = CaState::Loss;
                window.cwnd = 1;
            }
            Operation::State(state) => {
                bbr.set_state(conn, window, state);
                conn.state = state;
            }
            Operation::Undo => assert_eq!(bbr.undo_cwnd(conn, window), window.cwnd),
            Operation::TxStart { app_limited } => {
                conn.app_limited = u64::from(app_limited);
                bbr.cwnd_event(conn, window, CaEvent::TxStart);
            }
        }
    }

    /// Returns true for an arrow of the diagram or a composition; one hook may pass through DRAIN.
    fn is_legal(from: &str, to: &str) -> bool {
        match to {
            "STARTUP" => matches!(from, "STARTUP" | "PROBE_RTT"),
            "DRAIN" => matches!(from, "STARTUP" | "DRAIN"),
            _ => true,
        }
    }

    proptest! {
        #[test]
        fn operations_keep_bounds(
            clamp in 1..5000u32, operations in proptest::collection::vec(operation(), 1..300),
        ) {
            let (mut bbr, mut conn) = (Bbr::new(), conn(1000));
            let mut window = Window { cwnd_clamp: clamp, ..Window::new(10.min(clamp)) };
            bbr.init(&conn, &mut window);
            for (elapsed_us, random, operation) in &operations {
                conn.now_us += elapsed_us;
                conn.now_ms = conn.now_us / 1000;
                conn.now_ns = conn.now_us * 1000;
                conn.random = *random;
                let phase = bbr.phase();
                window.app_limited = None;
                apply(&mut bbr, &mut conn, &mut window, operation);
                prop_assert!(is_legal(phase, bbr.phase()), "{} to {}", phase, bbr.phase());
                prop_assert!(window.pacing_rate > 0 && window.pacing);
                prop_assert!(window.cwnd >= 1);
                if let Operation::Ack { sample, .. } = operation {
                    prop_assert!(window.cwnd <= clamp);
                    let probing = bbr.phase() == "PROBE_RTT";
                    prop_assert!(!probing || window.cwnd <= MIN_CWND);
                    prop_assert_eq!(window.app_limited.is_some(), probing
                        || phase == "PROBE_RTT");
                    let free = !probing && !bbr.packet_conservation && sample.acked_sacked > 0;
                    prop_assert!(!free || window.cwnd >= MIN_CWND.min(clamp));
                }
            }
        }
    }
}
