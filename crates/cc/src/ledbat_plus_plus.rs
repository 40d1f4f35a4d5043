//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus-01), a sender for background traffic. It keeps the
//! queueing delay below 60 ms, which it measures as the RTT above its minimum, and once in a while
//! stops for two round trips, so that the queue empties and all flows see the same minimum.
//!
//! No kernel has it (Windows does). What the draft leaves open is decided so:
//!
//! - Round trips of a slowdown are counted as times, by the smoothed RTT at its start.
//! - The growth after a slowdown is the slow start of §4.1, with its gain, without its exit.
//! - After a loss the window is halved (RFC 6817 §2.4.2), and the connection repairs as with Reno.

use crate::{AckSample, CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

/// Target of the queueing delay, microseconds (§4.5).
const TARGET_US: u32 = 60_000;
/// Queueing delay at which the first slow start ends: 3/4 of the target (§4.1).
const EXIT_US: u32 = TARGET_US / 4 * 3;
/// Largest divisor of the gain (§4.2).
const MAX_DIVISOR: u32 = 16;
/// Weight of the delay above the target in the decrease (Constant of §4.3).
const DECREASE: f64 = 1.0;
/// Window of a slowdown, and minimum window, packets (§4.4, RFC 6817 §2.4.2).
const MIN_CWND: u32 = 2;
/// Window of a slowdown is kept for so many RTTs, and the first slowdown begins so many RTTs after
/// slow start (§4.4).
const SLOWDOWN_RTTS: u64 = 2;
/// Time between slowdowns, as a multiple of their length (§4.4).
const PERIOD: u64 = 9;
/// RTTs of which the smallest is the current one (CURRENT_FILTER of RFC 6817 §2.4.2).
const FILTER: usize = 4;
/// Minutes over which the minimum RTT is kept (BASE_HISTORY of RFC 6817 §2.4.2).
const HISTORY: usize = 10;

/// Part of the cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// First slow start.
    Start,
    /// Congestion avoidance; time of the next slowdown, microseconds.
    Steady { slowdown_at_us: u64 },
    /// Slowdown with the minimum window: time of its start and of its end.
    Frozen { since_us: u64, until_us: u64 },
    /// Slow start up to the window before the slowdown.
    Ramp { since_us: u64 },
}

/// State of the algorithm.
#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    phase: Phase,
    /// Window, packets; [`Window::cwnd`] is its whole part.
    cwnd: f64,
    /// Most recent RTTs, microseconds.
    recent_us: [u32; FILTER],
    next: usize,
    /// Minimum RTT per minute, and number of the current minute.
    minutes_us: [u32; HISTORY],
    minute: u64,
}

/// Creates an instance.
pub(crate) fn new(_options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(LedbatPlusPlus::new())
}

impl LedbatPlusPlus {
    fn new() -> Self {
        Self {
            phase: Phase::Start,
            cwnd: 0.0,
            recent_us: [u32::MAX; FILTER],
            next: 0,
            minutes_us: [u32::MAX; HISTORY],
            minute: 0,
        }
    }

    /// Takes an RTT (RFC 6817 §2.4.2, `update_base_delay`, `update_current_delay`).
    fn sample(&mut self, now_ms: u64, rtt_us: u32) {
        self.recent_us[self.next] = rtt_us;
        self.next = (self.next + 1) % FILTER;
        let minute = now_ms / 60_000;
        for entered in (self.minute + 1..=minute).rev().take(HISTORY) {
            self.minutes_us[entered as usize % HISTORY] = u32::MAX;
        }
        self.minute = minute;
        let least = &mut self.minutes_us[minute as usize % HISTORY];
        *least = rtt_us.min(*least);
    }

    /// Base delay, microseconds.
    fn base_us(&self) -> u32 {
        self.minutes_us.into_iter().fold(u32::MAX, u32::min)
    }

    /// Queueing delay, microseconds.
    fn queueing_us(&self) -> u32 {
        self.recent_us.into_iter().fold(u32::MAX, u32::min).saturating_sub(self.base_us())
    }

    /// GAIN = 1 / min(16, ⌈2 · TARGET / base⌉) (§4.2): Reno's growth from 120 ms on.
    fn gain(&self) -> f64 {
        let divisor = (2 * TARGET_US).div_ceil(self.base_us().max(1));
        1.0 / f64::from(divisor.clamp(1, MAX_DIVISOR))
    }

    /// Change of the window per RTT in congestion avoidance, packets (§4.3).
    fn change(&self) -> f64 {
        let (gain, delay) = (self.gain(), f64::from(self.queueing_us()) / f64::from(TARGET_US));
        if delay <= 1.0 {
            gain
        } else {
            (gain - DECREASE * self.cwnd * (delay - 1.0)).max(-self.cwnd / 2.0)
        }
    }

    /// Begins congestion avoidance.
    fn steady(&mut self, window: &mut Window, slowdown_at_us: u64) {
        window.ssthresh = window.ssthresh.min(window.cwnd).max(MIN_CWND);
        self.phase = Phase::Steady { slowdown_at_us };
    }

    /// Changes the window to `cwnd` packets.
    fn set(&mut self, window: &mut Window, cwnd: f64) {
        self.cwnd = cwnd.max(f64::from(MIN_CWND)).min(f64::from(window.cwnd_clamp));
        window.cwnd = self.cwnd as u32;
    }

    /// Grows with the gain in slow start, up to the threshold (§4.1).
    fn slow_start(&mut self, window: &mut Window, acked: u32) {
        let cwnd = self.cwnd + self.gain() * f64::from(acked);
        self.set(window, cwnd.min(f64::from(window.ssthresh)));
    }
}

impl CongestionControl for LedbatPlusPlus {
    /// RFC 6817 §2.4.2: INIT_CWND is 2.
    fn init(&mut self, _conn: &Conn, window: &mut Window) {
        self.set(window, f64::from(MIN_CWND));
    }

    /// Half the window (RFC 6817 §2.4.2).
    fn ssthresh(&mut self, _conn: &Conn, window: &mut Window) -> u32 {
        (window.cwnd / 2).max(MIN_CWND)
    }

    fn pkts_acked(&mut self, conn: &Conn, _window: &mut Window, sample: &AckSample) {
        if let Ok(rtt_us @ 1..) = u32::try_from(sample.rtt_us) {
            self.sample(conn.now_ms, rtt_us);
        }
    }

    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, acked: u32) {
        if window.cwnd != self.cwnd as u32 {
            self.cwnd = f64::from(window.cwnd); // Recovery or a time-out changed it.
        }
        let rtts_us = SLOWDOWN_RTTS * u64::from(conn.srtt_us8 >> 3);
        let now_us = conn.now_us;
        match self.phase {
            Phase::Start => {
                if !window.in_slow_start() || self.queueing_us() > EXIT_US {
                    self.steady(window, now_us + rtts_us);
                } else if conn.cwnd_limited {
                    self.slow_start(window, acked);
                }
            }
            Phase::Steady { slowdown_at_us } if now_us >= slowdown_at_us => {
                window.ssthresh = window.cwnd.max(MIN_CWND);
                self.set(window, f64::from(MIN_CWND));
                self.phase = Phase::Frozen { since_us: now_us, until_us: now_us + rtts_us };
            }
            Phase::Steady { .. } => {
                let change = self.change();
                if change < 0.0 || conn.cwnd_limited {
                    let share = (f64::from(acked) / self.cwnd).min(1.0);
                    self.set(window, self.cwnd + change * share);
                }
            }
            Phase::Frozen { since_us, until_us } => {
                self.set(window, f64::from(MIN_CWND));
                if now_us >= until_us {
                    self.phase = Phase::Ramp { since_us };
                }
            }
            Phase::Ramp { since_us } => {
                if conn.cwnd_limited {
                    self.slow_start(window, acked);
                }
                if !window.in_slow_start() {
                    self.steady(window, now_us + PERIOD * (now_us - since_us));
                }
            }
        }
    }

    fn phase(&self) -> &'static str {
        match self.phase {
            Phase::Start => "slow start",
            Phase::Steady { .. } => "steady",
            Phase::Frozen { .. } => "slowdown",
            Phase::Ramp { .. } => "ramp",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::conn;

    /// Algorithm with a window, a base delay and a queueing delay.
    fn delayed(cwnd: u32, base_us: u32, queueing_us: u32) -> (LedbatPlusPlus, Window) {
        let mut ledbat = LedbatPlusPlus::new();
        let mut window = Window::new(cwnd);
        ledbat.init(&conn(0), &mut window);
        ledbat.set(&mut window, f64::from(cwnd));
        ledbat.sample(0, base_us);
        for _ in 0..FILTER {
            ledbat.sample(0, base_us + queueing_us);
        }
        (ledbat, window)
    }

    /// An ACK at `now_ms` with a smoothed RTT of 100 ms.
    fn ack(ledbat: &mut LedbatPlusPlus, window: &mut Window, now_ms: u64, acked: u32) {
        ledbat.cong_avoid(&Conn { srtt_us8: 800_000, ..conn(now_ms) }, window, acked);
    }

    /// §4.2: one divided by 16 below 8 ms, by 6 at 20 ms, by 2 at 60 ms, Reno's from 120 ms on.
    #[test]
    fn the_gain_grows_with_the_base_delay() {
        for (base_ms, divisor) in
            [(1, 16), (7, 16), (8, 15), (20, 6), (50, 3), (60, 2), (119, 2), (120, 1), (500, 1)]
        {
            let (ledbat, _) = delayed(10, 1000 * base_ms, 0);
            assert_eq!(1.0 / ledbat.gain(), f64::from(divisor), "{base_ms} ms");
        }
    }

    /// §4.3: +GAIN up to the target, minus the excess of the delay as a share of the window above it,
    /// half of the window at most.
    #[test]
    fn the_window_falls_with_the_delay_above_the_target() {
        for (queueing_ms, change) in
            [(0, 1.0), (59, 1.0), (60, 1.0), (66, 1.0 - 10.0), (90, 1.0 - 50.0), (120, -50.0)]
        {
            let (ledbat, _) = delayed(100, 120_000, 1000 * queueing_ms);
            assert!((ledbat.change() - change).abs() < 1e-9, "{queueing_ms} ms");
        }
    }

    /// §4.1: slow start grows by the gain and ends above 45 ms of queueing delay.
    #[test]
    fn slow_start_ends_at_three_quarters_of_the_target() {
        for (queueing_us, ends) in [(0, false), (45_000, false), (45_001, true)] {
            let (mut ledbat, mut window) = delayed(60, 20_000, queueing_us);
            ack(&mut ledbat, &mut window, 1000, 60);
            assert_eq!(window.cwnd, if ends { 60 } else { 70 }, "{queueing_us} µs");
            assert_eq!(window.in_slow_start(), !ends);
        }
    }

    /// §4.4: 2 RTTs after slow start to two packets, for 2 RTTs; then slow start to the old window;
    /// the next slowdown after nine times the duration.
    #[test]
    fn slowdowns_take_a_tenth_of_the_time() {
        let (mut ledbat, mut window) = delayed(64, 120_000, 50_000);
        ack(&mut ledbat, &mut window, 1000, 1);
        assert_eq!(ledbat.phase, Phase::Steady { slowdown_at_us: 1_200_000 });
        ack(&mut ledbat, &mut window, 1199, 1);
        assert_eq!(ledbat.phase(), "steady");
        ack(&mut ledbat, &mut window, 1200, 1);
        assert_eq!((window.cwnd, window.ssthresh, ledbat.phase()), (2, 64, "slowdown"));
        ack(&mut ledbat, &mut window, 1399, 2);
        assert_eq!((window.cwnd, ledbat.phase()), (2, "slowdown"));
        ack(&mut ledbat, &mut window, 1400, 2);
        assert_eq!((window.cwnd, ledbat.phase()), (2, "ramp"));
        for (round, cwnd) in [4, 8, 16, 32, 64].into_iter().enumerate() {
            let acked = window.cwnd;
            ack(&mut ledbat, &mut window, 1500 + 100 * round as u64, acked);
            assert_eq!(window.cwnd, cwnd);
        }
        let slowdown_at_us = 1_900_000 + 9 * 700_000;
        assert_eq!(ledbat.phase, Phase::Steady { slowdown_at_us });
    }

    /// RFC 6817 §2.4.2: minima of ten minutes.
    #[test]
    fn the_base_delay_is_forgotten_after_ten_minutes() {
        let mut ledbat = LedbatPlusPlus::new();
        ledbat.sample(0, 10_000);
        for minute in 1..10 {
            ledbat.sample(60_000 * minute, 20_000);
            assert_eq!(ledbat.base_us(), 10_000);
        }
        ledbat.sample(600_000, 20_000);
        assert_eq!(ledbat.base_us(), 20_000);
        ledbat.sample(60_000_000, 30_000);
        assert_eq!(ledbat.base_us(), 30_000, "all minutes are over");
    }

    #[test]
    fn a_single_delayed_ack_is_no_queue() {
        let (mut ledbat, _) = delayed(10, 20_000, 0);
        ledbat.sample(0, 200_000);
        assert_eq!(ledbat.queueing_us(), 0);
    }
}
