//! The state machine (draft §4.3): STARTUP, DRAIN, PROBE_BW with its gain cycle, PROBE_RTT.

use super::model::is_after;
use super::{Bbr, CWND_GAIN, DRAIN_GAIN, GAIN_UNIT, HIGH_GAIN};
use crate::{Conn, RateSample, Window};

/// Gains of PROBE_BW (draft §4.3.4.1): probe for more, drain the queue, cruise.
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
/// Number of possible first phases: all but the draining one (draft §4.3.4.2).
const RANDOM_PHASES: u32 = 7;

/// State of the machine, with the data of that state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// STARTUP: the rate doubles per round until the pipe is full.
    Startup,
    /// DRAIN: the queue of STARTUP drains.
    Drain,
    /// PROBE_BW: steady state.
    ProbeBw {
        /// Index into [`CYCLE`].
        phase: usize,
        /// Start of the phase (time of a delivery), microseconds.
        since_us: u64,
    },
    /// PROBE_RTT: next to nothing in flight, so that the minimum RTT can be measured.
    ProbeRtt {
        /// Earliest end, milliseconds; `None` until the flight is small enough.
        done_ms: Option<u32>,
        /// True if a round has passed since the flight became small.
        round_done: bool,
    },
}

impl Mode {
    /// Name in the spelling of the draft and Linux.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Startup => "STARTUP",
            Self::Drain => "DRAIN",
            Self::ProbeBw { .. } => "PROBE_BW",
            Self::ProbeRtt { .. } => "PROBE_RTT",
        }
    }

    /// Returns true for an arrow of the draft's diagram. PROBE_BW to PROBE_BW restarts the cycle.
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
    /// Changes the mode; no other function does. Gains follow at the end of the ACK's processing.
    fn transition_to(&mut self, mode: Mode) {
        debug_assert!(mode.may_follow(&self.mode), "{:?} after {:?}", mode, self.mode);
        self.mode = mode;
    }

    /// Starts the cycle at a random phase, so that flows do not probe in step (draft §4.3.4.3).
    pub(super) fn enter_probe_bw(&mut self, conn: &Conn) {
        let draw = ((u64::from(conn.random) * u64::from(RANDOM_PHASES)) >> 32) as usize;
        let phase = (CYCLE.len() - draw) % CYCLE.len();
        self.transition_to(Mode::ProbeBw { phase, since_us: conn.delivered_us });
    }

    /// Enters PROBE_RTT (draft §4.3.5).
    pub(super) fn enter_probe_rtt(&mut self, window: &Window) {
        self.transition_to(Mode::ProbeRtt { done_ms: None, round_done: false });
        self.save_cwnd(window.cwnd);
    }

    /// Leaves PROBE_RTT after its duration.
    pub(super) fn check_probe_rtt_done(&mut self, conn: &Conn, window: &mut Window) {
        let Mode::ProbeRtt { done_ms: Some(done_ms), .. } = self.mode else {
            return;
        };
        let now_ms = conn.now_ms as u32;
        if !is_after(now_ms, done_ms) {
            return;
        }
        // The minimum RTT is confirmed for another ten seconds.
        self.path.min_rtt_ms = now_ms;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        if self.full_pipe.reached() {
            self.enter_probe_bw(conn);
        } else {
            self.transition_to(Mode::Startup);
        }
    }

    /// Advances to the next gain when the phase is over (draft §4.3.4.3).
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
            // Probe until the flight reaches the gain, longer than an RTT if need be. Losses mean
            // that the path holds no more.
            let filled = in_flight >= self.inflight(conn, window, max_bw, self.pacing_gain);
            return full_length && (sample.losses > 0 || filled);
        }
        // Drain until the queue is gone. More would leave the pipe empty.
        full_length || in_flight <= self.inflight(conn, window, max_bw, GAIN_UNIT)
    }

    /// Enters DRAIN when the pipe is full, and PROBE_BW when the queue is gone (draft §4.3.3).
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

    /// Sets the gains of the mode.
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

    /// Returns true in the phase that probes for more bandwidth.
    pub(super) fn is_probing_up(&self) -> bool {
        matches!(self.mode, Mode::ProbeBw { phase: 0, .. })
    }
}

#[cfg(test)]
mod tests {
    use super::super::BW_UNIT;
    use super::*;
    use crate::reno::tests::conn;
    use crate::CongestionControl;

    /// Path of 10 packets per millisecond and 10 ms: 100 packets.
    fn known_path() -> (Bbr, Window) {
        let (mut bbr, mut window) = (Bbr::new(), Window::new(10));
        bbr.init(&conn(1000), &mut window);
        bbr.path.max_bw.reset(0, (BW_UNIT / 100) as u32);
        bbr.path.min_rtt_us = 10_000;
        window.pacing_rate = 100_000; // single packets
        (bbr, window)
    }

    fn fill(bbr: &mut Bbr) {
        for bw in [1000, 1000, 1000, 1000] {
            bbr.full_pipe.on_round(bw);
        }
        assert!(bbr.full_pipe.reached());
    }

    fn in_probe_bw(phase: usize) -> (Bbr, Window) {
        let (mut bbr, window) = known_path();
        bbr.mode = Mode::ProbeBw { phase, since_us: 0 };
        bbr.update_gains();
        (bbr, window)
    }

    #[test]
    fn gains_are_those_of_linux() {
        assert_eq!((HIGH_GAIN, DRAIN_GAIN, CWND_GAIN), (739, 88, 512));
        assert_eq!(CYCLE, [320, 192, 256, 256, 256, 256, 256, 256]);
        let gains = |mode| {
            let (mut bbr, _) = known_path();
            bbr.mode = mode;
            bbr.update_gains();
            (bbr.pacing_gain, bbr.cwnd_gain)
        };
        assert_eq!(gains(Mode::Startup), (739, 739));
        assert_eq!(gains(Mode::Drain), (88, 739));
        assert_eq!(gains(Mode::ProbeBw { phase: 0, since_us: 0 }), (320, 512));
        assert_eq!(gains(Mode::ProbeRtt { done_ms: None, round_done: false }), (256, 256));
    }

    #[test]
    fn the_cycle_starts_anywhere_but_at_the_draining_phase() {
        let phase = |random| {
            let (mut bbr, _) = known_path();
            bbr.mode = Mode::Drain;
            bbr.enter_probe_bw(&Conn { random, ..conn(0) });
            match bbr.mode {
                Mode::ProbeBw { phase, .. } => phase,
                _ => 99,
            }
        };
        let seventh = u32::MAX / 7;
        let phases: Vec<_> = (0..7).map(|n| phase(n * seventh + seventh / 2)).collect();
        assert_eq!(phases, [0, 7, 6, 5, 4, 3, 2]);
        assert_eq!((phase(0), phase(seventh), phase(seventh + 1), phase(u32::MAX)), (0, 0, 7, 2));
    }

    #[test]
    fn startup_drains_and_then_probes() {
        let (mut bbr, mut window) = known_path();
        bbr.check_drain(&conn(0), &mut window);
        assert_eq!(bbr.phase(), "STARTUP");
        fill(&mut bbr);
        // Target: 100 packets and three bursts of one, made even.
        bbr.check_drain(&Conn { in_flight: 105, ..conn(0) }, &mut window);
        assert_eq!((bbr.phase(), window.ssthresh), ("DRAIN", 104));
        bbr.check_drain(&Conn { in_flight: 104, ..conn(0) }, &mut window);
        assert_eq!(bbr.phase(), "PROBE_BW");
    }

    #[test]
    fn startup_may_pass_drain_at_once() {
        let (mut bbr, mut window) = known_path();
        fill(&mut bbr);
        bbr.check_drain(&Conn { in_flight: 104, ..conn(0) }, &mut window);
        assert_eq!(bbr.phase(), "PROBE_BW");
    }

    /// Returns true if the phase that began at 0 ends with this ACK.
    fn ends(phase: usize, delivered_us: u64, prior_in_flight: u32, losses: u32) -> bool {
        let (mut bbr, window) = in_probe_bw(phase);
        let sample = RateSample { prior_in_flight, losses, ..RateSample::default() };
        bbr.update_cycle_phase(&Conn { delivered_us, ..conn(0) }, &window, &sample);
        bbr.mode == Mode::ProbeBw { phase: (phase + 1) % 8, since_us: delivered_us }
    }

    #[test]
    fn cruising_lasts_a_min_rtt() {
        assert_eq!([9999, 10_000, 10_001].map(|us| ends(7, us, 0, 0)), [false, false, true]);
    }

    #[test]
    fn probing_lasts_until_the_flight_is_there_or_a_loss() {
        // 125 packets, three bursts, made even, two for probing: 130. The next packet is one of
        // them.
        assert_eq!([128, 129].map(|n| ends(0, 10_001, n, 0)), [false, true]);
        assert!(ends(0, 10_001, 0, 1));
        assert!(!ends(0, 10_000, 999, 1));
    }

    #[test]
    fn giving_back_ends_early_when_the_queue_is_gone() {
        assert_eq!([105, 104].map(|n| ends(1, 1, n, 0)), [false, true]);
        assert!(ends(1, 10_001, 999, 0));
    }

    #[test]
    fn a_policed_flow_does_not_probe() {
        let (mut bbr, _) = in_probe_bw(0);
        let at = |ms, delivered, lost| Conn { delivered, lost, ..conn(ms) };
        let loss = RateSample { losses: 1, ..RateSample::default() };
        bbr.sample_policer(&at(0, 0, 0), &loss);
        for interval in 1..=2u64 {
            for _ in 0..4 {
                bbr.path.round_start = true;
                bbr.sample_policer(&at(100 * interval, 500 * interval, 200 * interval), &loss);
            }
            bbr.path.round_start = false;
            bbr.sample_policer(&at(100 * interval, 500 * interval, 200 * interval), &loss);
        }
        assert_eq!(bbr.bw(), (BW_UNIT / 200) as u32, "5 packets per millisecond, not 10");
        assert_eq!(bbr.pacing_gain, GAIN_UNIT, "at once");
        bbr.update_gains();
        assert_eq!(bbr.pacing_gain, GAIN_UNIT);
        // It does 48 rounds later.
        bbr.path.round_start = true;
        for _ in 0..48 {
            bbr.sample_policer(&conn(0), &loss);
        }
        assert_eq!(bbr.bw(), (BW_UNIT / 100) as u32);
    }

    #[test]
    #[should_panic(expected = "Drain after ProbeRtt")]
    #[cfg(debug_assertions)]
    fn illegal_transitions_are_caught() {
        let (mut bbr, _) = known_path();
        let probe_rtt = Mode::ProbeRtt { done_ms: None, round_done: false };
        bbr.transition_to(probe_rtt);
        bbr.transition_to(Mode::Drain);
    }
}
