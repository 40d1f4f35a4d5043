//! BBR version 3: draft-ietf-ccwg-bbr ("the draft" below), as google/bbr's v3 for Linux has it. The
//! precise response to ECN marks is left out: it needs a route feature that no host sets by itself.
//!
//! One file per subject: the model of the path in `model.rs`, bounds that losses set in `bounds.rs`,
//! phases in `cycle.rs`, the resulting pacing rate and window in `control.rs`.
//!
//! Bandwidth is in packets per microsecond times 2²⁴, gains in 256ths. Products and counters wrap
//! at Linux's widths.

mod bounds;
mod control;
mod cycle;
mod model;

use crate::bbr::aggregation::Aggregation;
use crate::bbr::{is_after, GAIN_UNIT};
use crate::{
    CaEvent, CaState, CongestionControl, Conn, LostSkb, RateSample, Window, INFINITE_SSTHRESH,
};
use bounds::{Bounds, Undo};
use cycle::{AckPhase, Cycle, Mode, Probing};
use dumbbell_model::TcpOptions;
use model::{FullBw, MinRtt, Model};

/// Value of a bound or a minimum that is not set.
const UNSET: u32 = u32::MAX;
/// Minimum window that keeps data flowing with an ACK per two packets (draft §2.8).
const MIN_CWND: u32 = 4;

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    mode: Mode,
    /// Gains in effect. The mode may have changed since they were set.
    pacing_gain: u32,
    cwnd_gain: u32,
    model: Model,
    min_rtt: MinRtt,
    full_bw: FullBw,
    bounds: Bounds,
    undo: Undo,
    probing: Probing,
    aggregation: Aggregation,
    init_cwnd: u32,
    /// Window to return to after recovery or PROBE_RTT.
    prior_cwnd: u32,
    /// Congestion state at the previous ACK.
    previous_state: CaState,
    /// True from a restart after idleness to the first delivery.
    idle_restart: bool,
    has_seen_rtt: bool,
    /// True while the window is at its target, so that application-limited ACKs change nothing.
    try_fast_path: bool,
    /// `net.ipv4.tcp_min_tso_segs`.
    min_tso_segs: u32,
}

impl Bbr3 {
    /// Initial state; `init` completes it.
    fn new(min_tso_segs: u32) -> Self {
        Self {
            mode: Mode::Startup,
            pacing_gain: 0,
            cwnd_gain: 0,
            model: Model::default(),
            min_rtt: MinRtt::default(),
            full_bw: FullBw::default(),
            bounds: Bounds::default(),
            undo: Undo::default(),
            probing: Probing::default(),
            aggregation: Aggregation::default(),
            init_cwnd: 0,
            prior_cwnd: 0,
            previous_state: CaState::Open,
            idle_restart: false,
            has_seen_rtt: false,
            try_fast_path: false,
            min_tso_segs,
        }
    }

    /// Bandwidth in use: the maximum, bounded after losses (draft §5.5.4).
    fn bw(&self) -> u32 {
        self.model.max_bw().min(self.bounds.bw_lo)
    }

    /// Updates the model. The order of the steps matters: each step uses the results before it.
    fn update_model(&mut self, conn: &Conn, window: &mut Window, sample: &RateSample, bw: u32) {
        self.update_congestion_signals(window.cwnd, sample, bw);
        self.aggregation.window_rounds = if self.full_bw.reached { 5 } else { 1 };
        let (used, start) = (self.bw(), self.model.round_start);
        self.aggregation.on_ack(conn, window.cwnd, sample, start, used);
        self.check_loss_in_startup(conn, window, sample);
        self.full_bw.check(sample, bw, self.model.round_start);
        self.follow_path(conn, window, sample, bw);
    }

    /// Drains, goes on to the next phase, renews the minimum RTT.
    fn follow_path(&mut self, conn: &Conn, window: &mut Window, sample: &RateSample, bw: u32) {
        self.check_drain(conn, window);
        self.update_cycle_phase(conn, window, sample, bw);
        self.update_min_rtt(conn, window, sample);
    }

    /// True if nothing can have changed: an application-limited sample below the maximum without
    /// losses, and a window at its target. Phases are followed all the same.
    fn takes_fast_path(
        &mut self,
        conn: &Conn,
        window: &mut Window,
        sample: &RateSample,
        bw: u32,
    ) -> FastPath {
        let idle = self.try_fast_path && sample.app_limited && bw < self.model.max_bw();
        if !idle || self.bounds.loss_in_round {
            return FastPath::No;
        }
        let (mode, min_rtt_us) = (self.mode, self.min_rtt.us);
        self.follow_path(conn, window, sample, bw);
        let same = mode.is_same(self.mode) && min_rtt_us == self.min_rtt.us && self.try_fast_path;
        if same {
            FastPath::Taken
        } else {
            FastPath::Left
        }
    }
}

/// Work that remains at an ACK after the fast path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FastPath {
    /// Nothing is to be done.
    Taken,
    /// A phase or the minimum RTT changed: rate and window follow.
    Left,
    /// The whole model is to be updated.
    No,
}

/// Creates an instance for a connection.
pub fn new(options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Bbr3::new(options.tcp_min_tso_segs))
}

impl CongestionControl for Bbr3 {
    fn init(&mut self, conn: &Conn, window: &mut Window) {
        *self = Self::new(self.min_tso_segs);
        self.init_cwnd = window.cwnd.min(127);
        self.prior_cwnd = conn.prior_cwnd;
        self.min_rtt = MinRtt::new(conn);
        self.model.next_rtt_delivered = conn.delivered;
        self.bounds.loss_round_delivered = conn.delivered + 1;
        self.aggregation = Aggregation::new(conn.now_us);
        window.ssthresh = INFINITE_SSTHRESH;
        self.init_pacing_rate(conn, window);
        window.pacing = true;
    }

    /// Keeps the threshold; saves what a spurious reduction restores (draft §5.5.10.3).
    fn ssthresh(&mut self, _conn: &Conn, window: &mut Window) -> u32 {
        self.save_cwnd(window.cwnd);
        self.undo = Undo::of(&self.bounds);
        window.ssthresh
    }

    fn undo_cwnd(&mut self, _conn: &Conn, _window: &mut Window) -> u32 {
        self.full_bw.restart(0);
        self.bounds.loss_in_round = false;
        self.undo.restore(&mut self.bounds);
        self.try_fast_path = false;
        self.prior_cwnd
    }

    fn set_state(&mut self, _conn: &Conn, window: &mut Window, state: CaState) {
        if state == CaState::Loss {
            self.previous_state = CaState::Loss;
            self.full_bw.restart(0);
            if !self.mode.probes_bandwidth() && self.bounds.inflight_lo == UNSET {
                self.bounds.inflight_lo = window.cwnd.max(self.prior_cwnd);
            }
        } else if self.previous_state == CaState::Loss {
            window.cwnd = window.cwnd.max(self.prior_cwnd);
            self.try_fast_path = false;
        }
    }

    fn cwnd_event(&mut self, conn: &Conn, window: &mut Window, event: CaEvent) {
        match event {
            CaEvent::TlpRecovery => self.probe_repaired_a_loss(conn, window),
            CaEvent::TxStart if conn.app_limited != 0 => {
                self.idle_restart = true;
                self.aggregation.start_epoch(conn.now_us);
                match self.mode {
                    Mode::ProbeBw(_) => self.set_pacing_rate(conn, window, self.bw(), GAIN_UNIT),
                    Mode::ProbeRtt { .. } => self.check_probe_rtt_done(conn, window),
                    Mode::Startup | Mode::Drain => {}
                }
            }
            _ => {}
        }
    }

    fn controls_rate(&self) -> bool {
        true
    }

    fn cong_control(&mut self, conn: &Conn, window: &mut Window, sample: &RateSample) {
        self.model.update_round(conn, sample);
        if self.model.round_start {
            self.probing.rounds = (self.probing.rounds + 1).min(255);
        }
        let bw = model::sampled_bw(sample);
        self.bounds.latest(conn, sample, bw);
        let fast = self.takes_fast_path(conn, window, sample, bw);
        if fast == FastPath::No {
            self.update_model(conn, window, sample, bw);
        }
        if fast != FastPath::Taken {
            self.update_gains();
            let used = self.bw();
            self.set_pacing_rate(conn, window, used, self.pacing_gain);
            self.set_cwnd(conn, window, sample.acked_sacked, used);
            self.bound_cwnd(window);
        }
        self.bounds.end_ack(sample, bw);
        self.previous_state = conn.state;
    }

    fn wants_losses(&self) -> bool {
        true
    }

    fn marked_lost(&mut self, conn: &Conn, window: &mut Window, lost: &LostSkb) {
        self.on_loss(conn, window, lost);
    }

    fn tso_segs(&self, mss: u32, window: &Window) -> Option<u32> {
        Some(self.burst_segments(window.pacing_rate, mss, control::MAX_SENT_BYTES))
    }

    fn draws(&self) -> bool {
        true
    }

    fn sndbuf_expand(&self) -> u32 {
        3
    }

    fn phase(&self) -> &'static str {
        self.mode.name()
    }
}

impl Mode {
    /// True if both are the same mode; phases of PROBE_BW count as one.
    fn is_same(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    /// True in modes that look for more bandwidth, where lower bounds do not hold.
    fn probes_bandwidth(self) -> bool {
        matches!(self, Self::Startup | Self::ProbeBw(Cycle::Refill | Cycle::Up))
    }
}
