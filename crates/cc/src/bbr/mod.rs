//! BBR version 1: Cardwell, Cheng, Gunn, Hassas Yeganeh, Jacobson, "BBR: Congestion-Based
//! Congestion Control", ACM Queue 14(5), 2016, and draft-cardwell-iccrg-bbr-congestion-control-00
//! ("the draft" below), as Linux's tcp_bbr.c. Long-term bandwidth (policer detection) and the
//! compensation of ACK aggregation are in Linux only.
//!
//! One file per subject: [`model`](self) of the path in `model.rs`, with `policer.rs` and
//! `aggregation.rs`; the state machine in `mode.rs`; pacing rate and window, which follow from
//! them, in `control.rs`.
//!
//! Bandwidth is in packets per microsecond times 2²⁴, gains in 256ths. Products and counters wrap
//! at Linux's widths.

mod aggregation;
mod control;
mod mode;
mod model;
mod policer;

use crate::{CaEvent, CaState, CongestionControl, Conn, RateSample, Window, INFINITE_SSTHRESH};
use aggregation::Aggregation;
use mode::Mode;
use model::{FullPipe, Path};
use policer::Policer;

/// Bandwidths are shifted left by this.
const BW_SCALE: u32 = 24;
/// One packet per microsecond.
const BW_UNIT: u64 = 1 << BW_SCALE;

/// Gains are shifted left by this.
const GAIN_SCALE: u32 = 8;
/// A gain of 1.
const GAIN_UNIT: u32 = 1 << GAIN_SCALE;

/// 2/ln 2: the least gain that doubles the rate per round (draft §4.3.2.1; 2.89 there).
const HIGH_GAIN: u32 = GAIN_UNIT * 2885 / 1000 + 1;
/// Its inverse: drains in about one round what STARTUP queued (draft §4.3.3).
const DRAIN_GAIN: u32 = GAIN_UNIT * 1000 / 2885;
/// Room for delayed and stretched ACKs (draft §4.2.3.2).
const CWND_GAIN: u32 = 2 * GAIN_UNIT;

/// Least window with which an ACK-every-other-packet receiver keeps data flowing (draft §4.2.3).
const MIN_CWND: u32 = 4;
/// RFC 6928.
const TCP_INIT_CWND: u32 = 10;

/// One connection's state.
#[derive(Clone, Debug)]
pub struct Bbr {
    mode: Mode,
    /// Gains last put into effect; the mode may have changed since.
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
    /// First round of recovery: a packet out per packet in.
    packet_conservation: bool,
    /// Sending again after idleness, nothing delivered yet.
    idle_restart: bool,
    has_seen_rtt: bool,
}

impl Default for Bbr {
    fn default() -> Self {
        Self::new()
    }
}

impl Bbr {
    /// A connection that has seen nothing; `init` fills in the rest.
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

    /// The estimate that rules now: the policer's rate, or the maximum of recent rounds.
    fn bw(&self) -> u32 {
        self.policer.bw().unwrap_or(self.path.max_bw.get())
    }

    /// The order of steps matters: each sees what the ones before it found.
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

impl CongestionControl for Bbr {
    fn name(&self) -> &'static str {
        "bbr"
    }

    fn init(&mut self, conn: &Conn, window: &mut Window) {
        *self = Self::new();
        self.path = Path::new(conn);
        self.policer.reset(conn);
        self.aggregation = Aggregation::new(conn.now_us);
        // The threshold is unused; infinity keeps the connection "in slow start" for the others.
        window.ssthresh = INFINITE_SSTHRESH;
        self.init_pacing_rate(conn, window);
        window.pacing = true;
    }

    /// No new threshold; but the window is about to be cut and must be remembered.
    fn ssthresh(&mut self, _conn: &Conn, window: &mut Window) -> u32 {
        self.save_cwnd(window.cwnd);
        window.ssthresh
    }

    fn undo_cwnd(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        // The slow-down was spurious: what it said about the pipe is void.
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
            // No more speed than the bandwidth is needed to refill an empty pipe.
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

    fn min_tso_segs(&self, _conn: &Conn, window: &Window) -> u32 {
        control::min_tso_segs(window.pacing_rate)
    }

    /// Three windows: BBR may slow-start even during recovery.
    fn sndbuf_expand(&self) -> u32 {
        3
    }

    fn phase(&self) -> &'static str {
        self.mode.name()
    }
}
