//! Copa (Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet",
//! NSDI 2018). It moves its window towards the rate 1/(δ·d), where d is the queueing delay, so that a
//! flow keeps 1/δ packets queued on average, and empties the queue every five round trips. If the
//! queue stays, others fill it, and Copa varies δ as NewReno varies its window.
//!
//! No kernel has it. What the paper leaves open is decided so:
//!
//! - Windows of several RTTs are multiples of the smoothed RTT.
//! - The velocity never changes the window by more than itself per RTT.
//! - Where the window turns within an RTT, the velocity is 1 at once.
//! - The mode is judged from the end of slow start on.
//! - Loss does not matter in the default mode. A time-out begins slow start anew.

use crate::minmax::WindowedMin;
use crate::{CaState, CongestionControl, Conn, RateSample, Window};
use dumbbell_model::TcpOptions;
use std::collections::VecDeque;

/// 1/δ of the default mode, and its minimum, packets (§2.2: δ = 0.5).
const DEFAULT_INVERSE: f64 = 2.0;
/// Window of the minimum RTT, microseconds (§2.1).
const MIN_RTT_WINDOW_US: u64 = 10_000_000;
/// The maximum RTT is that of the last four RTTs; the queue must be nearly empty once in five
/// (§2.2).
const MAX_RTT_RTTS: u64 = 4;
const EMPTY_RTTS: u64 = 5;
/// A queue is nearly empty below this part of its range (§2.2: 0.1).
const EMPTY_PART: u32 = 10;
/// RTTs in the same direction before the velocity doubles (§2.1).
const STEADY_RTTS: u32 = 3;
/// Pacing rate as a multiple of the window per RTT (§2.1).
const PACING: u64 = 2;
const MIN_CWND: u32 = 2;

/// Direction of the window over one RTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
    None,
}

/// Samples of a sliding window that can still become its extreme.
#[derive(Clone, Debug, Default)]
struct Extreme {
    samples: VecDeque<(u64, u32)>,
}

impl Extreme {
    /// Takes a sample, and returns the extreme of the last `window_us`. `beats(a, b)` is true if `a`
    /// is as extreme as `b`.
    fn update(
        &mut self,
        now_us: u64,
        value: u32,
        window_us: u64,
        beats: impl Fn(u32, u32) -> bool,
    ) -> u32 {
        while self.samples.back().is_some_and(|&(_, last)| beats(value, last)) {
            self.samples.pop_back();
        }
        self.samples.push_back((now_us, value));
        while self.samples.front().is_some_and(|&(at, _)| at + window_us < now_us) {
            self.samples.pop_front();
        }
        self.samples.front().map_or(value, |&(_, value)| value)
    }
}

/// State of the algorithm.
#[derive(Clone, Debug)]
pub struct Copa {
    /// Window, packets; [`Window::cwnd`] is its whole part.
    cwnd: f64,
    /// 1/δ, packets.
    inverse: f64,
    /// Minimum RTT of the last 10 s (RTTmin), microseconds.
    min_rtt: Option<WindowedMin<u64, u32>>,
    /// Minimum RTT of the last half RTT (RTTstanding).
    standing: Extreme,
    standing_us: u32,
    /// Maximum RTT of the last four RTTs (RTTmax).
    highest: Extreme,
    /// Time of the last nearly empty queue, microseconds.
    empty_at_us: u64,
    slow_start: bool,
    competes: bool,
    /// Sequence number whose acknowledgement ends the round, window at its start, and true if it had
    /// a loss.
    round_end: u64,
    round_cwnd: f64,
    round_lost: bool,
    /// Velocity v, last direction, and rounds in it.
    velocity: f64,
    direction: Direction,
    same_rounds: u32,
}

/// Creates an instance.
pub(crate) fn new(_options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Copa::new())
}

impl Copa {
    fn new() -> Self {
        Self {
            cwnd: 0.0,
            inverse: DEFAULT_INVERSE,
            min_rtt: None,
            standing: Extreme::default(),
            standing_us: 0,
            highest: Extreme::default(),
            empty_at_us: 0,
            slow_start: true,
            competes: false,
            round_end: 0,
            round_cwnd: 0.0,
            round_lost: false,
            velocity: 1.0,
            direction: Direction::None,
            same_rounds: 0,
        }
    }

    /// Takes an RTT. Returns the queueing delay d = RTTstanding − RTTmin, microseconds (§2.1).
    fn sample(&mut self, conn: &Conn, rtt_us: u32) -> u32 {
        let (now_us, srtt_us) = (conn.now_us, u64::from(conn.srtt_us8 >> 3));
        let min_us = match &mut self.min_rtt {
            Some(filter) => filter.update(now_us, rtt_us),
            none => {
                *none = Some(WindowedMin::new(MIN_RTT_WINDOW_US, now_us, rtt_us));
                self.empty_at_us = now_us;
                rtt_us
            }
        };
        self.standing_us = self.standing.update(now_us, rtt_us, srtt_us / 2, |a, b| a <= b);
        let window_us = MAX_RTT_RTTS * srtt_us;
        let max_us = self.highest.update(now_us, rtt_us, window_us, |a, b| a >= b);
        let queueing_us = self.standing_us.saturating_sub(min_us);
        if self.slow_start
            || queueing_us == 0
            || EMPTY_PART * queueing_us < max_us - min_us.min(max_us)
        {
            self.empty_at_us = now_us;
        }
        queueing_us
    }

    /// Switches between default and competitive mode (§2.2).
    fn choose_mode(&mut self, conn: &Conn) {
        let srtt_us = u64::from(conn.srtt_us8 >> 3);
        self.competes = conn.now_us - self.empty_at_us > EMPTY_RTTS * srtt_us;
        if !self.competes {
            self.inverse = DEFAULT_INVERSE;
        }
    }

    /// Ends a round: additive increase of 1/δ in competitive mode (§2.2), and velocity (§2.1).
    fn end_round(&mut self, conn: &Conn) {
        if self.competes && !self.round_lost {
            self.inverse += 1.0;
        }
        let direction = if self.cwnd > self.round_cwnd {
            Direction::Up
        } else if self.cwnd < self.round_cwnd {
            Direction::Down
        } else {
            Direction::None
        };
        if direction == self.direction && direction != Direction::None {
            self.same_rounds += 1;
        } else {
            self.same_rounds = 1;
        }
        self.direction = direction;
        self.velocity = if self.same_rounds > STEADY_RTTS { 2.0 * self.velocity } else { 1.0 };
        self.velocity = self.velocity.min(self.cwnd / self.inverse).max(1.0);
        (self.round_end, self.round_cwnd, self.round_lost) = (conn.snd_nxt, self.cwnd, false);
    }

    /// Moves the window towards the target rate: cwnd / RTTstanding ≤ 1 / (δ·d) (§2.1).
    fn step(&mut self, conn: &Conn, queueing_us: u32, acked: u32) {
        let below =
            self.cwnd * f64::from(queueing_us) <= self.inverse * f64::from(self.standing_us);
        self.slow_start &= below;
        if below && !conn.cwnd_limited {
            return; // An unused window proves nothing.
        }
        let acked = f64::from(acked);
        if self.slow_start {
            self.cwnd += acked;
        } else {
            let turned = if below { Direction::Down } else { Direction::Up };
            if self.direction == turned {
                (self.velocity, self.same_rounds) = (1.0, 0);
            }
            let change = acked * self.velocity * self.inverse / self.cwnd;
            self.cwnd += if below { change } else { -change };
        }
    }

    /// Paces at two windows per RTT (§2.1).
    fn pace(&self, conn: &Conn, window: &mut Window, rtt_us: u32) {
        if rtt_us > 0 {
            let bytes = PACING * u64::from(window.cwnd) * u64::from(conn.mss);
            window.pacing_rate = bytes * 1_000_000 / u64::from(rtt_us);
        }
    }
}

impl CongestionControl for Copa {
    fn init(&mut self, conn: &Conn, window: &mut Window) {
        window.pacing = true;
        self.cwnd = f64::from(window.cwnd);
        (self.round_end, self.round_cwnd) = (conn.snd_nxt, self.cwnd);
        self.pace(conn, window, conn.srtt_us8 >> 3);
    }

    fn ssthresh(&mut self, _conn: &Conn, window: &mut Window) -> u32 {
        window.ssthresh
    }

    fn set_state(&mut self, _conn: &Conn, _window: &mut Window, state: CaState) {
        if state == CaState::Loss {
            (self.slow_start, self.velocity, self.same_rounds) = (true, 1.0, 0);
        }
    }

    fn controls_rate(&self) -> bool {
        true
    }

    fn cong_control(&mut self, conn: &Conn, window: &mut Window, sample: &RateSample) {
        if window.cwnd != self.cwnd as u32 {
            self.cwnd = f64::from(window.cwnd); // A time-out changed it.
        }
        if sample.losses > 0 && !self.round_lost {
            self.round_lost = true;
            self.inverse = (self.inverse / 2.0).max(DEFAULT_INVERSE);
        }
        let Ok(rtt_us @ 1..) = u32::try_from(sample.rtt_us) else { return };
        let queueing_us = self.sample(conn, rtt_us);
        self.choose_mode(conn);
        if conn.snd_una > self.round_end {
            self.end_round(conn);
        }
        self.step(conn, queueing_us, sample.acked_sacked);
        self.cwnd = self.cwnd.max(f64::from(MIN_CWND)).min(f64::from(window.cwnd_clamp));
        window.cwnd = self.cwnd as u32;
        self.pace(conn, window, self.standing_us);
    }

    /// Each packet is paced for itself.
    fn tso_segs(&self, _mss: u32, _window: &Window) -> Option<u32> {
        Some(1)
    }

    fn phase(&self) -> &'static str {
        match (self.slow_start, self.competes) {
            (true, _) => "slow start",
            (false, false) => "default",
            (false, true) => "competitive",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::conn;

    const RTT_US: u32 = 100_000;

    /// A sender behind slow start with this window, a minimum RTT of 100 ms, and this queueing delay.
    fn queueing(cwnd: u32, queueing_us: u32) -> (Copa, Window) {
        let mut window = Window::new(cwnd);
        let mut copa = Copa { slow_start: false, ..Copa::new() };
        copa.init(&at(0), &mut window);
        copa.sample(&at(0), RTT_US);
        copa.sample(&at(200), RTT_US + queueing_us);
        (copa, window)
    }

    fn at(now_ms: u64) -> Conn {
        Conn { srtt_us8: 8 * RTT_US, ..conn(now_ms) }
    }

    fn ack(
        copa: &mut Copa,
        window: &mut Window,
        conn: &Conn,
        acked: u32,
        rtt_us: u32,
        losses: u32,
    ) {
        let sample =
            RateSample { acked_sacked: acked, rtt_us: rtt_us.into(), losses, ..Default::default() };
        copa.cong_control(conn, window, &sample);
    }

    /// §2.1: of 102 packets on a path of 100, two wait. That is 1/δ, where the window stays.
    #[test]
    fn the_window_stays_at_two_queued_packets() {
        for (queueing_us, cwnd) in [(0, 104), (1_900, 104), (2_000, 102), (2_100, 100)] {
            let (mut copa, mut window) = queueing(102, queueing_us);
            for _ in 0..102 {
                ack(&mut copa, &mut window, &at(200), 1, RTT_US + queueing_us, 0);
            }
            let near = (copa.cwnd - f64::from(cwnd)).abs();
            assert!(near < 0.03, "v/δ = 2 packets per RTT: {} at {queueing_us} µs", copa.cwnd);
        }
    }

    /// §2.1: velocity 1 for three RTTs in one direction, then doubled; 1 again where it turns.
    #[test]
    fn the_velocity_doubles_after_three_rtts() {
        let (mut copa, _) = queueing(1000, 0);
        let mut seen = Vec::new();
        for change in [2.0, 2.0, 2.0, 2.0, 4.0, 8.0, -16.0, -2.0, 2.0] {
            copa.cwnd += change;
            copa.end_round(&at(0));
            seen.push(copa.velocity);
        }
        assert_eq!(seen, [1.0, 1.0, 1.0, 2.0, 4.0, 8.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn the_velocity_ends_where_the_window_turns() {
        for (direction, velocity, cwnd) in [(Direction::Up, 16.0, 132), (Direction::Down, 1.0, 102)]
        {
            let (mut copa, mut window) = queueing(100, 0);
            (copa.velocity, copa.direction) = (16.0, direction);
            for _ in 0..100 {
                ack(&mut copa, &mut window, &at(200), 1, RTT_US, 0);
            }
            assert_eq!(copa.velocity, velocity);
            assert!((copa.cwnd - f64::from(cwnd)).abs() < 5.0, "{}", copa.cwnd);
        }
    }

    #[test]
    fn the_velocity_at_most_doubles_the_window() {
        let (mut copa, _) = queueing(10, 0);
        for _ in 0..20 {
            copa.cwnd += 1.0;
            copa.end_round(&at(0));
        }
        assert_eq!(copa.velocity, 15.0, "of 30 packets at 1/δ = 2");
    }

    #[test]
    fn slow_start_doubles_until_the_rate_is_above_the_target() {
        let (mut copa, mut window) = queueing(10, 0);
        copa.slow_start = true;
        ack(&mut copa, &mut window, &at(200), 10, RTT_US, 0);
        assert_eq!((window.cwnd, copa.phase()), (20, "slow start"));
        // 10 of 20 packets wait; 20 / 200 ms is above 2 / 100 ms.
        ack(&mut copa, &mut window, &at(300), 20, 2 * RTT_US, 0);
        assert_eq!((window.cwnd, copa.phase()), (18, "default"));
    }

    /// §2.2: a queue that is not nearly empty in five RTTs; nearly empty is a tenth of its range.
    #[test]
    fn a_queue_that_stays_for_five_rtts_is_of_others() {
        for (queueing_us, nearly_empty) in [(1_999, true), (2_000, false), (10_000, false)] {
            let (mut copa, _) = queueing(100, 0);
            copa.sample(&at(600), RTT_US + 20_000);
            copa.sample(&at(701), RTT_US + queueing_us);
            copa.choose_mode(&at(701));
            assert_eq!(copa.competes, !nearly_empty, "{queueing_us} µs of 20 ms");
            assert!(copa.competes || copa.empty_at_us == 701_000);
        }
        let (mut copa, _) = queueing(100, 0);
        copa.choose_mode(&at(700));
        assert!(!copa.competes, "five RTTs");
    }

    /// §2.2: AIMD on 1/δ in competitive mode; δ = 0.5 at its end.
    #[test]
    fn competition_varies_delta_as_newreno_its_window() {
        let (mut copa, mut window) = queueing(100, 0);
        copa.competes = true;
        for _ in 0..18 {
            copa.end_round(&at(0));
        }
        assert_eq!(copa.inverse, 20.0);
        let conn = at(2000);
        for (losses, inverse) in [(3, 10.0), (1, 10.0)] {
            ack(&mut copa, &mut window, &conn, 1, RTT_US + 50_000, losses);
            assert_eq!(copa.inverse, inverse, "once per round");
        }
        ack(&mut copa, &mut window, &at(2200), 1, RTT_US, 0);
        assert_eq!((copa.inverse, copa.competes), (2.0, false));
    }

    /// §2.1: two windows per RTTstanding.
    #[test]
    fn packets_are_paced_at_twice_the_rate_of_the_window() {
        let (mut copa, mut window) = queueing(100, 0);
        ack(&mut copa, &mut window, &at(200), 1, RTT_US, 0);
        assert_eq!((window.cwnd, window.pacing_rate), (100, 2 * 100 * 1000 * 10));
    }

    #[test]
    fn a_time_out_begins_slow_start() {
        let (mut copa, mut window) = queueing(100, 0);
        copa.set_state(&at(200), &mut window, CaState::Loss);
        window.cwnd = 1;
        ack(&mut copa, &mut window, &at(200), 1, RTT_US, 0);
        assert_eq!((window.cwnd, copa.phase()), (2, "slow start"));
    }
}
