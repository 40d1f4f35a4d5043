//! The state machine (draft §4.3): STARTUP, DRAIN, PROBE_BW with its gain cycle, PROBE_RTT.

use super::model::is_after;
use super::{Bbr, CWND_GAIN, DRAIN_GAIN, GAIN_UNIT, HIGH_GAIN};
use crate::{Conn, RateSample, Window};

/// Gains of PROBE_BW (draft §4.3.4.1): probe for more, give back what queued, cruise.
const CYCLE: [u32; 8] = [
    GAIN_UNIT * 5 / 4,
    GAIN_UNIT * 3 / 4,
    GAIN_UNIT,
    GAIN_UNIT,
    GAIN_UNIT,
    GAIN_UNIT,
    GAIN_UNIT,
    GAIN_UNIT,
];
/// The first phase is any but the one that gives back (draft §4.3.4.2).
const RANDOM_PHASES: u32 = 7;

/// State of the machine and what belongs to that state alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The rate doubles per round until the pipe is full.
    Startup,
    /// What STARTUP queued drains.
    Drain,
    /// Steady state.
    ProbeBw {
        /// Index into [`CYCLE`].
        phase: usize,
        /// When it began (time of a delivery), microseconds.
        since_us: u64,
    },
    /// Next to nothing in flight, so that the minimum RTT shows.
    ProbeRtt {
        /// When it may end, milliseconds; `None` until the flight is small enough.
        done_ms: Option<u32>,
        /// Has a round passed since?
        round_done: bool,
    },
}

impl Mode {
    /// Name in the draft's and Linux's spelling.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Startup => "STARTUP",
            Self::Drain => "DRAIN",
            Self::ProbeBw { .. } => "PROBE_BW",
            Self::ProbeRtt { .. } => "PROBE_RTT",
        }
    }

    /// The arrows of the draft's diagram (§3.4). PROBE_BW to itself: the cycle starts over.
    fn may_follow(&self, from: &Self) -> bool {
        match self {
            Self::Startup => matches!(from, Self::ProbeRtt { .. }),
            Self::Drain => matches!(from, Self::Startup),
            Self::ProbeBw { .. } => !matches!(from, Self::Startup),
            Self::ProbeRtt { .. } => !matches!(from, Self::ProbeRtt { .. }),
        }
    }
}

impl Bbr {
    /// The one place where the mode changes. Gains follow at the end of the ACK's processing.
    fn transition_to(&mut self, mode: Mode) {
        debug_assert!(mode.may_follow(&self.mode), "{:?} after {:?}", mode, self.mode);
        self.mode = mode;
    }

    /// Draft §4.3.4.3: the cycle starts at a random phase, so that flows do not probe in step.
    pub(super) fn enter_probe_bw(&mut self, conn: &Conn) {
        let draw = ((u64::from(conn.random) * u64::from(RANDOM_PHASES)) >> 32) as usize;
        let phase = (CYCLE.len() - draw) % CYCLE.len();
        self.transition_to(Mode::ProbeBw { phase, since_us: conn.delivered_us });
    }

    /// Draft §4.3.5.
    pub(super) fn enter_probe_rtt(&mut self, window: &Window) {
        self.transition_to(Mode::ProbeRtt { done_ms: None, round_done: false });
        self.save_cwnd(window.cwnd);
    }

    /// Leaves PROBE_RTT when its time is over.
    pub(super) fn check_probe_rtt_done(&mut self, conn: &Conn, window: &mut Window) {
        let Mode::ProbeRtt { done_ms: Some(done_ms), .. } = self.mode else {
            return;
        };
        let now_ms = conn.now_ms as u32;
        if !is_after(now_ms, done_ms) {
            return;
        }
        // Whatever was measured is fresh for another ten seconds.
        self.path.min_rtt_ms = now_ms;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        if self.full_pipe.reached() {
            self.enter_probe_bw(conn);
        } else {
            self.transition_to(Mode::Startup);
        }
    }

    /// Draft §4.3.4.3: is it time for the next gain?
    pub(super) fn update_cycle_phase(&mut self, conn: &Conn, window: &Window, sample: &RateSample) {
        if let Mode::ProbeBw { phase, since_us } = self.mode {
            if self.phase_is_over(conn, window, sample, since_us) {
                let phase = (phase + 1) % CYCLE.len();
                self.transition_to(Mode::ProbeBw { phase, since_us: conn.delivered_us });
            }
        }
    }

    fn phase_is_over(
        &self,
        conn: &Conn,
        window: &Window,
        sample: &RateSample,
        since_us: u64,
    ) -> bool {
        let elapsed_us = conn.delivered_us.saturating_sub(since_us);
        let full_length = elapsed_us > u64::from(self.path.min_rtt_us);
        if self.pacing_gain == GAIN_UNIT {
            return full_length;
        }
        let in_flight = self.packets_in_net_at_edt(conn, window, sample.prior_in_flight);
        let max_bw = self.path.max_bw.get();
        if self.pacing_gain > GAIN_UNIT {
            // Probe until the flight shows it, longer than an RTT if need be; but losses mean that
            // the path holds no more.
            let filled = in_flight >= self.inflight(conn, window, max_bw, self.pacing_gain);
            return full_length && (sample.losses > 0 || filled);
        }
        // Give back until the queue is gone; more would leave the pipe empty.
        full_length || in_flight <= self.inflight(conn, window, max_bw, GAIN_UNIT)
    }

    /// Draft §4.3.3: STARTUP to DRAIN when the pipe is full, to PROBE_BW when the queue is gone.
    pub(super) fn check_drain(&mut self, conn: &Conn, window: &mut Window) {
        let max_bw = self.path.max_bw.get();
        if self.mode == Mode::Startup && self.full_pipe.reached() {
            self.transition_to(Mode::Drain);
            window.ssthresh = self.inflight(conn, window, max_bw, GAIN_UNIT);
        }
        if self.mode == Mode::Drain {
            let in_flight = self.packets_in_net_at_edt(conn, window, conn.in_flight);
            if in_flight <= self.inflight(conn, window, max_bw, GAIN_UNIT) {
                self.enter_probe_bw(conn);
            }
        }
    }

    /// Gains of the mode.
    pub(super) fn update_gains(&mut self) {
        let policed = self.policer.bw().is_some();
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw { .. } if policed => (GAIN_UNIT, CWND_GAIN),
            Mode::ProbeBw { phase, .. } => (CYCLE[phase], CWND_GAIN),
            Mode::ProbeRtt { .. } => (GAIN_UNIT, GAIN_UNIT),
        };
    }

    /// Is this the phase that probes for more bandwidth?
    pub(super) fn is_probing_up(&self) -> bool {
        matches!(self.mode, Mode::ProbeBw { phase: 0, .. })
    }
}
