//! Modes and the phases of PROBE_BW (draft §5.3).

use super::{is_after, Bbr3, UNSET};
use crate::bbr::GAIN_UNIT;
use crate::{Conn, RateSample, Window};

/// Gains of STARTUP: 4 ln 2 for the rate, 2 for the window (draft §2.4).
pub(super) const STARTUP_PACING_GAIN: u32 = GAIN_UNIT * 277 / 100 + 1;
const CWND_GAIN: u32 = 2 * GAIN_UNIT;
const DRAIN_PACING_GAIN: u32 = GAIN_UNIT * 1000 / 2885;
/// Gains of PROBE_BW (draft §5.3.3): 1.25 and 2.25 up, 0.9 down.
const UP_PACING_GAIN: u32 = GAIN_UNIT * 5 / 4;
const UP_CWND_GAIN: u32 = CWND_GAIN + GAIN_UNIT / 4;
const DOWN_PACING_GAIN: u32 = GAIN_UNIT * 91 / 100;
/// Duration of PROBE_RTT, ms.
const PROBE_RTT_MS: u32 = 200;
/// Rounds until a probe at most, as Reno and CUBIC need (draft §5.3.3.8).
const PROBE_ROUNDS_MAX: u32 = 63;
/// Time until a probe: 2 to 3 s.
const PROBE_WAIT_US: u32 = 2_000_000;
const PROBE_WAIT_RANDOM_US: u64 = 1_000_000;
/// Bound of the slope's exponent.
const UP_ROUNDS_MAX: u32 = 30;

/// Mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Startup,
    Drain,
    ProbeBw(Cycle),
    /// `done_ms`: end, once the flight was low.
    ProbeRtt {
        done_ms: Option<u32>,
        round_done: bool,
    },
}

/// Phase of PROBE_BW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cycle {
    Up,
    Down,
    Cruise,
    Refill,
}

impl Mode {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Startup => "STARTUP",
            Self::Drain => "DRAIN",
            Self::ProbeBw(Cycle::Up) => "PROBE_BW_UP",
            Self::ProbeBw(Cycle::Down) => "PROBE_BW_DOWN",
            Self::ProbeBw(Cycle::Cruise) => "PROBE_BW_CRUISE",
            Self::ProbeBw(Cycle::Refill) => "PROBE_BW_REFILL",
            Self::ProbeRtt { .. } => "PROBE_RTT",
        }
    }
}

/// Progress of a probe, as the ACKs of this round show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State of probing for bandwidth.
#[derive(Clone, Debug)]
pub(super) struct Probing {
    pub(super) ack_phase: AckPhase,
    /// Rounds since the last probe.
    pub(super) rounds: u32,
    wait_us: u32,
    /// Start of the phase.
    since_us: u64,
    /// ACKed packets per packet of growth of the upper bound.
    pub(super) up_cnt: u32,
    pub(super) up_acks: u32,
    up_rounds: u32,
    /// True while ACKs show the result of a probe.
    pub(super) samples: bool,
    /// True if the last probe lost too much.
    pub(super) too_high: bool,
    /// True if the last probe stopped at the bound of the one before.
    pub(super) stopped_risky: bool,
}

impl Default for Probing {
    fn default() -> Self {
        Self {
            ack_phase: AckPhase::Init,
            rounds: 0,
            wait_us: 0,
            since_us: 0,
            up_cnt: UNSET,
            up_acks: 0,
            up_rounds: 0,
            samples: false,
            too_high: false,
            stopped_risky: false,
        }
    }
}

impl Bbr3 {
    fn set_cycle(&mut self, cycle: Cycle) {
        self.mode = Mode::ProbeBw(cycle);
        self.try_fast_path = false;
    }

    /// Doubles the growth of the upper bound per round (BBRRaiseInflightLongtermSlope).
    pub(super) fn raise_slope(&mut self, cwnd: u32) {
        let growth = 1 << self.probing.up_rounds;
        self.probing.up_rounds = (self.probing.up_rounds + 1).min(UP_ROUNDS_MAX);
        self.probing.up_cnt = (cwnd / growth).max(1);
    }

    /// Fills the pipe for a round without lower bounds (draft §5.3.3.5).
    pub(super) fn start_refill(&mut self, conn: &Conn, up_rounds: u32) {
        self.bounds.reset_lower();
        self.probing.up_rounds = up_rounds;
        self.probing.up_acks = 0;
        self.probing.stopped_risky = false;
        self.probing.ack_phase = AckPhase::Refilling;
        self.model.next_rtt_delivered = conn.delivered;
        self.set_cycle(Cycle::Refill);
    }

    /// Probes for more bandwidth (draft §5.3.3.6).
    fn start_up(&mut self, conn: &Conn, cwnd: u32, bw: u32) {
        self.probing.ack_phase = AckPhase::ProbeStarting;
        self.model.next_rtt_delivered = conn.delivered;
        self.probing.since_us = conn.now_us;
        self.full_bw.restart(bw);
        self.set_cycle(Cycle::Up);
        self.raise_slope(cwnd);
    }

    /// Leaves room for others (draft §5.3.3.3). The time until the next probe is random (§5.3.3.8).
    pub(super) fn start_down(&mut self, conn: &Conn) {
        self.bounds.reset_signals();
        self.probing.up_cnt = UNSET;
        self.probing.rounds = conn.random & 1;
        let part = ((u64::from(conn.random) * PROBE_WAIT_RANDOM_US) >> 32) as u32;
        self.probing.wait_us = PROBE_WAIT_US + part;
        self.probing.since_us = conn.now_us;
        self.probing.ack_phase = AckPhase::ProbeStopping;
        self.model.next_rtt_delivered = conn.delivered;
        self.set_cycle(Cycle::Down);
    }

    /// Keeps the rate (draft §5.3.3.4).
    fn start_cruise(&mut self) {
        if self.bounds.inflight_lo != UNSET {
            self.bounds.inflight_lo = self.bounds.inflight_lo.min(self.bounds.inflight_hi);
        }
        self.set_cycle(Cycle::Cruise);
    }

    /// Drains the queue of STARTUP (draft §5.3.2).
    pub(super) fn check_drain(&mut self, conn: &Conn, window: &mut Window) {
        if self.mode == Mode::Startup && self.full_bw.reached {
            self.mode = Mode::Drain;
            window.ssthresh = self.inflight(conn, window, self.model.max_bw(), GAIN_UNIT);
            self.bounds.reset_signals();
        }
        if self.mode == Mode::Drain {
            let flight = self.packets_in_net_at_edt(conn, window, conn.in_flight);
            if flight <= self.inflight(conn, window, self.model.max_bw(), GAIN_UNIT) {
                self.start_down(conn);
            }
        }
    }

    /// True if a probe is due, which then begins with a refill.
    fn time_to_probe(&mut self, conn: &Conn, window: &Window) -> bool {
        let waited = conn.now_us > self.probing.since_us + u64::from(self.probing.wait_us);
        let most = self.target_inflight(conn, window).min(PROBE_ROUNDS_MAX);
        let due = waited || self.probing.rounds >= most;
        if due {
            self.start_refill(conn, 0);
        }
        due
    }

    /// Goes on to the next phase of PROBE_BW (draft §5.3.3).
    pub(super) fn update_cycle_phase(
        &mut self,
        conn: &Conn,
        window: &Window,
        sample: &RateSample,
        bw: u32,
    ) {
        if !self.full_bw.reached || self.adapt_upper_bounds(conn, window, sample) {
            return;
        }
        let Mode::ProbeBw(cycle) = self.mode else { return };
        let flight = self.packets_in_net_at_edt(conn, window, sample.prior_in_flight);
        match cycle {
            Cycle::Cruise => {
                self.time_to_probe(conn, window);
            }
            Cycle::Refill if self.model.round_start => {
                self.probing.samples = true;
                self.start_up(conn, window.cwnd, bw);
            }
            Cycle::Refill => {}
            Cycle::Up => self.check_up(conn, window, flight, bw),
            Cycle::Down => {
                if self.time_to_probe(conn, window) {
                    return;
                }
                let most = self.inflight(conn, window, self.model.max_bw(), GAIN_UNIT);
                if flight <= self.inflight_with_headroom() && flight <= most {
                    self.start_cruise();
                }
            }
        }
    }

    /// Ends a probe where the bandwidth stays or the last probe lost too much (draft §5.3.3.6).
    fn check_up(&mut self, conn: &Conn, window: &Window, flight: u32, bw: u32) {
        let bound = self.bounds.inflight_hi;
        if self.probing.too_high && flight >= bound {
            self.probing.stopped_risky = true;
        } else {
            if conn.cwnd_limited_flight && window.cwnd >= bound {
                self.full_bw.restart(bw); // The bound, not the path, limits the bandwidth.
                return;
            }
            if !self.full_bw.now {
                return;
            }
        }
        self.probing.too_high = false;
        self.start_down(conn);
    }

    /// Renews the minimum RTT, in PROBE_RTT if it is old (draft §5.3.4).
    pub(super) fn update_min_rtt(&mut self, conn: &Conn, window: &mut Window, sample: &RateSample) {
        let due = self.min_rtt.update(conn, sample);
        if due && !self.idle_restart && !matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.mode = Mode::ProbeRtt { done_ms: None, round_done: false };
            self.save_cwnd(window.cwnd);
            self.probing.ack_phase = AckPhase::ProbeStopping;
            self.model.next_rtt_delivered = conn.delivered;
        }
        if let Mode::ProbeRtt { done_ms, round_done } = self.mode {
            // Samples of the low rate do not count.
            window.app_limited = Some((conn.delivered + u64::from(conn.in_flight)).max(1));
            if done_ms.is_none() && conn.in_flight <= self.probe_rtt_cwnd() {
                let done_ms = Some((conn.now_ms as u32).wrapping_add(PROBE_RTT_MS));
                self.mode = Mode::ProbeRtt { done_ms, round_done: false };
                self.model.next_rtt_delivered = conn.delivered;
            } else if done_ms.is_some() {
                let round_done = round_done || self.model.round_start;
                self.mode = Mode::ProbeRtt { done_ms, round_done };
                if round_done {
                    self.check_probe_rtt_done(conn, window);
                }
            }
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// Leaves PROBE_RTT once its time is over.
    pub(super) fn check_probe_rtt_done(&mut self, conn: &Conn, window: &mut Window) {
        let Mode::ProbeRtt { done_ms: Some(done_ms), .. } = self.mode else { return };
        let now = conn.now_ms as u32;
        if !is_after(now, done_ms) {
            return;
        }
        self.min_rtt.probe_stamp_ms = now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        self.bounds.reset_lower();
        if self.full_bw.reached {
            self.start_down(conn);
            self.start_cruise();
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// Sets the gains of the mode.
    pub(super) fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (STARTUP_PACING_GAIN, CWND_GAIN),
            Mode::Drain => (DRAIN_PACING_GAIN, CWND_GAIN),
            Mode::ProbeBw(Cycle::Up) => (UP_PACING_GAIN, UP_CWND_GAIN),
            Mode::ProbeBw(Cycle::Down) => (DOWN_PACING_GAIN, CWND_GAIN),
            Mode::ProbeBw(Cycle::Cruise | Cycle::Refill) => (GAIN_UNIT, CWND_GAIN),
            Mode::ProbeRtt { .. } => (GAIN_UNIT, GAIN_UNIT),
        };
    }
}
