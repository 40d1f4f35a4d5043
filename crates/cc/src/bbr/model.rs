//! Model of the path: maximum bandwidth over ten rounds, minimum RTT over ten seconds (draft §4.1),
//! and the detection of a full pipe.

use super::mode::Mode;
use super::policer::Verdict;
use super::{Bbr, BW_UNIT, GAIN_SCALE, GAIN_UNIT, MIN_CWND};
use crate::minmax::WindowedMax;
use crate::{Conn, RateSample, Window};

/// Length of the bandwidth filter, rounds: a gain cycle of eight and two more (draft §4.1.1.3).
const BW_WINDOW_ROUNDS: u64 = 10;
/// Length of the minimum-RTT filter (draft §4.1.2).
pub(super) const MIN_RTT_WINDOW_MS: u32 = 10_000;
/// Duration of PROBE_RTT at the minimum window (draft §4.3.5).
pub(super) const PROBE_RTT_MS: u32 = 200;

/// Minimum growth of the bandwidth per round that counts as growth (draft §4.3.2.2).
const FULL_BW_GROWTH: u32 = GAIN_UNIT * 5 / 4;
/// Rounds without growth after which the pipe is full. Three rounds allow the receive window to be
/// auto-tuned and the larger window to be used.
const FULL_BW_ROUNDS: u32 = 3;

/// Bandwidth and RTT estimates, and the count of rounds.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// Maximum delivery rate of the last ten rounds.
    pub(super) max_bw: WindowedMax<u32, u32>,
    /// Minimum RTT, microseconds; `u32::MAX` before the first sample.
    pub(super) min_rtt_us: u32,
    /// Time of the last measurement or confirmation of the minimum RTT, milliseconds.
    pub(super) min_rtt_ms: u32,
    rounds: u32,
    /// Delivery count that ends the round: the round lasts until a packet sent after it is
    /// delivered.
    pub(super) round_end: u64,
    /// True if a round started with this ACK.
    pub(super) round_start: bool,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            max_bw: WindowedMax::new(BW_WINDOW_ROUNDS, 0, 0),
            min_rtt_us: u32::MAX,
            min_rtt_ms: 0,
            rounds: 0,
            round_end: 0,
            round_start: false,
        }
    }
}

impl Path {
    pub(super) fn new(conn: &Conn) -> Self {
        Self {
            min_rtt_us: conn.min_rtt_us,
            min_rtt_ms: conn.now_ms as u32,
            round_end: conn.delivered,
            ..Self::default()
        }
    }
}

/// Detection of the full pipe in STARTUP (draft §4.3.2.2).
#[derive(Clone, Debug, Default)]
pub(super) struct FullPipe {
    reached: bool,
    /// Bandwidth that growth is measured against.
    bw: u32,
    /// Rounds without growth.
    rounds: u32,
}

impl FullPipe {
    pub(super) fn reached(&self) -> bool {
        self.reached
    }

    /// Processes the end of a round that was not application-limited.
    pub(super) fn on_round(&mut self, max_bw: u32) {
        if self.reached {
            return;
        }
        let grown = ((u64::from(self.bw) * u64::from(FULL_BW_GROWTH)) >> GAIN_SCALE) as u32;
        if max_bw >= grown {
            self.bw = max_bw;
            self.rounds = 0;
            return;
        }
        self.rounds += 1;
        self.reached = self.rounds >= FULL_BW_ROUNDS;
    }

    /// Forgets the bandwidth after a time-out: growth is measured from 0.
    pub(super) fn forget_bandwidth(&mut self) {
        self.bw = 0;
    }

    /// Forgets bandwidth and rounds after a spurious reduction. A full pipe stays full.
    pub(super) fn restart(&mut self) {
        self.bw = 0;
        self.rounds = 0;
    }
}

impl Bbr {
    /// Updates rounds, the policer and the bandwidth filter, in this order (draft §4.1.1.5).
    pub(super) fn update_bandwidth(&mut self, conn: &Conn, sample: &RateSample) {
        self.path.round_start = false;
        if sample.delivered < 0 || sample.interval_us <= 0 {
            return;
        }
        // Draft §4.1.1.3: a round is the time until a packet sent in it is delivered.
        if sample.prior_delivered >= self.path.round_end {
            self.path.round_end = conn.delivered;
            self.path.rounds = self.path.rounds.wrapping_add(1);
            self.path.round_start = true;
            self.packet_conservation = false;
        }
        self.sample_policer(conn, sample);
        let bw = (sample.delivered as u64).wrapping_mul(BW_UNIT) / sample.interval_us as u64;
        // Draft §4.1.1.4: an application-limited sample measures the application, unless it exceeds
        // the known bandwidth.
        if !sample.app_limited || bw >= u64::from(self.path.max_bw.get()) {
            self.path.max_bw.update(self.path.rounds, bw as u32);
        }
    }

    /// Passes a sample to the policer's detector and acts on the verdict.
    pub(super) fn sample_policer(&mut self, conn: &Conn, sample: &RateSample) {
        let in_probe_bw = matches!(self.mode, Mode::ProbeBw { .. });
        match self.policer.on_sample(conn, sample, self.path.round_start, in_probe_bw) {
            Verdict::Unchanged => {}
            // Takes effect at once: a gain above 1 only causes drops.
            Verdict::Policed => self.pacing_gain = GAIN_UNIT,
            Verdict::Expired => self.enter_probe_bw(conn),
        }
    }

    /// Updates the minimum RTT, and enters PROBE_RTT when it expires (draft §4.1.2.3, §4.3.5).
    pub(super) fn update_min_rtt(&mut self, conn: &Conn, window: &mut Window, sample: &RateSample) {
        let now_ms = conn.now_ms as u32;
        let expires_ms = self.path.min_rtt_ms.wrapping_add(MIN_RTT_WINDOW_MS);
        let expired = is_after(now_ms, expires_ms);
        let lower = sample.rtt_us < i64::from(self.path.min_rtt_us);
        // A delayed ACK must not replace an expired minimum.
        if sample.rtt_us >= 0 && (lower || expired && !sample.ack_delayed) {
            self.path.min_rtt_us = sample.rtt_us as u32;
            self.path.min_rtt_ms = now_ms;
        }
        let probing = matches!(self.mode, Mode::ProbeRtt { .. });
        // After idleness the queue has drained by itself, and the next samples measure the path.
        if expired && !self.idle_restart && !probing {
            self.enter_probe_rtt(window);
        }
        self.probe_rtt(conn, window);
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// Processes an ACK in PROBE_RTT: max(200 ms, 1 round) with at most four packets in flight.
    fn probe_rtt(&mut self, conn: &Conn, window: &mut Window) {
        let Mode::ProbeRtt { done_ms, round_done } = &mut self.mode else {
            return;
        };
        // Rate samples in PROBE_RTT are low because of the small window.
        window.app_limited = Some((conn.delivered + u64::from(conn.in_flight)).max(1));
        if done_ms.is_some() {
            *round_done |= self.path.round_start;
            if *round_done {
                self.check_probe_rtt_done(conn, window);
            }
        } else if conn.in_flight <= MIN_CWND {
            *done_ms = Some((conn.now_ms as u32).wrapping_add(PROBE_RTT_MS));
            *round_done = false;
            self.path.round_end = conn.delivered;
        }
    }
}

/// Returns true if `a` is later than `b` on a wrapping clock.
pub(crate) fn is_after(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::conn;
    use crate::CongestionControl;

    fn started(now_ms: u64) -> (Bbr, Window) {
        let (mut bbr, mut window) = (Bbr::new(), Window::new(10));
        bbr.init(&conn(now_ms), &mut window);
        (bbr, window)
    }

    /// Rate sample of `delivered` packets in a millisecond.
    fn sample(delivered: i64) -> RateSample {
        RateSample { delivered, interval_us: 1000, rtt_us: -1, ..RateSample::default() }
    }

    #[test]
    fn bandwidth_is_the_maximum_of_ten_rounds() {
        let (mut bbr, _) = started(0);
        let mut round = |delivered| {
            let end = Conn { delivered: bbr.path.round_end + 1, ..conn(0) };
            let sample = RateSample { prior_delivered: bbr.path.round_end, ..sample(delivered) };
            bbr.update_bandwidth(&end, &sample);
            assert!(bbr.path.round_start);
            bbr.path.max_bw.get()
        };
        let of = |delivered: u64| (delivered * BW_UNIT / 1000) as u32;
        assert_eq!(round(100), of(100));
        for _ in 0..10 {
            assert_eq!(round(50), of(100));
        }
        assert_eq!(round(50), of(50));
    }

    #[test]
    fn a_round_ends_when_its_first_packet_is_delivered() {
        let (mut bbr, _) = started(0);
        bbr.path.round_end = 100;
        let now = Conn { delivered: 150, ..conn(0) };
        bbr.update_bandwidth(&now, &RateSample { prior_delivered: 99, ..sample(1) });
        assert!(!bbr.path.round_start);
        bbr.packet_conservation = true;
        bbr.update_bandwidth(&now, &RateSample { prior_delivered: 100, ..sample(1) });
        assert!(bbr.path.round_start && !bbr.packet_conservation);
        assert_eq!(bbr.path.round_end, 150);
        // Invalid samples end no round.
        for invalid in [sample(-1), RateSample { interval_us: 0, ..sample(1) }] {
            bbr.update_bandwidth(&now, &RateSample { prior_delivered: 900, ..invalid });
            assert!(!bbr.path.round_start);
        }
    }

    #[test]
    fn application_limited_samples_count_only_upwards() {
        let limited = |delivered| RateSample { app_limited: true, ..sample(delivered) };
        let (mut bbr, _) = started(0);
        let later = |bbr: &mut Bbr, sample: RateSample| {
            // Eleven rounds later the filter would accept any sample.
            bbr.path.rounds += 11;
            bbr.update_bandwidth(&conn(0), &sample);
            bbr.path.max_bw.get() / ((BW_UNIT / 1000) as u32)
        };
        assert_eq!(later(&mut bbr, sample(100)), 100);
        assert_eq!(later(&mut bbr, limited(99)), 100);
        assert_eq!(later(&mut bbr, limited(101)), 101);
        assert_eq!(later(&mut bbr, sample(50)), 50);
    }

    #[test]
    fn the_pipe_is_full_after_three_rounds_below_a_quarters_growth() {
        let mut pipe = FullPipe::default();
        pipe.on_round(1000);
        pipe.on_round(1250);
        assert_eq!((pipe.bw, pipe.rounds), (1250, 0), "exactly a quarter");
        for rounds in 1..=3 {
            assert!(!pipe.reached());
            pipe.on_round(1561);
            assert_eq!(pipe.rounds, rounds, "1.25 · 1250 is 1562");
        }
        assert!(pipe.reached());
        pipe.restart();
        assert!(pipe.reached(), "full once, full for good");
    }

    #[test]
    fn growth_restarts_the_count() {
        let mut pipe = FullPipe::default();
        for bw in [1000, 1000, 1000, 1250, 1250, 1250] {
            pipe.on_round(bw);
        }
        assert!(!pipe.reached());
        pipe.forget_bandwidth();
        pipe.on_round(1);
        assert_eq!((pipe.bw, pipe.rounds), (1, 0));
    }

    fn rtt(rtt_us: i64) -> RateSample {
        RateSample { rtt_us, delivered: 1, ..RateSample::default() }
    }

    #[test]
    fn min_rtt_is_replaced_when_lower_or_older_than_ten_seconds() {
        let after = |ms: u64, sample: RateSample| {
            let (mut bbr, mut window) = started(1000);
            bbr.update_min_rtt(&conn(1000), &mut window, &rtt(500));
            bbr.update_min_rtt(&conn(1000 + ms), &mut window, &sample);
            (bbr.path.min_rtt_us, bbr.phase())
        };
        assert_eq!(after(1, rtt(499)), (499, "STARTUP"));
        assert_eq!(after(1, rtt(500)), (500, "STARTUP"));
        assert_eq!(after(1, rtt(-1)), (500, "STARTUP"));
        assert_eq!(after(9999, rtt(501)), (500, "STARTUP"));
        assert_eq!(after(10_000, rtt(501)), (500, "STARTUP"));
        assert_eq!(after(10_001, rtt(501)), (501, "PROBE_RTT"));
        let delayed = RateSample { ack_delayed: true, ..rtt(501) };
        assert_eq!(after(10_001, delayed), (500, "PROBE_RTT"));
    }

    #[test]
    fn an_idle_restart_needs_no_probe_rtt() {
        let (mut bbr, mut window) = started(1000);
        bbr.idle_restart = true;
        bbr.update_min_rtt(&conn(11_001), &mut window, &rtt(500));
        assert_eq!(bbr.phase(), "STARTUP");
        assert!(!bbr.idle_restart, "over with the first delivery");
    }

    #[test]
    fn probe_rtt_lasts_200_ms_and_a_round_with_four_packets() {
        let (mut bbr, mut window) = started(1000);
        window.cwnd = 50;
        let at = |ms: u64, in_flight| Conn { in_flight, delivered: 7, ..conn(ms) };
        bbr.update_min_rtt(&at(11_001, 5), &mut window, &rtt(500));
        assert_eq!(window.app_limited, Some(12), "own low samples are marked");
        assert!(matches!(bbr.mode, Mode::ProbeRtt { done_ms: None, .. }), "five in flight");
        bbr.update_min_rtt(&at(11_002, 4), &mut window, &rtt(500));
        assert!(matches!(bbr.mode, Mode::ProbeRtt { done_ms: Some(11_202), .. }));
        window.cwnd = 4;
        // The time has passed, the round has not.
        bbr.update_min_rtt(&at(11_300, 4), &mut window, &rtt(500));
        assert_eq!(bbr.phase(), "PROBE_RTT");
        bbr.path.round_start = true;
        let mut early = (bbr.clone(), window);
        early.0.update_min_rtt(&at(11_202, 4), &mut early.1, &rtt(500));
        assert_eq!(early.0.phase(), "PROBE_RTT");
        bbr.update_min_rtt(&at(11_203, 4), &mut window, &rtt(500));
        assert_eq!((bbr.phase(), window.cwnd, bbr.path.min_rtt_ms), ("STARTUP", 50, 11_203));
    }

    #[test]
    fn an_empty_flight_still_marks_samples() {
        let (mut bbr, mut window) = started(1000);
        bbr.update_min_rtt(&conn(11_001), &mut window, &rtt(500));
        assert_eq!(window.app_limited, Some(1), "0 would mean not limited");
    }
}
