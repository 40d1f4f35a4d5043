//! HyStart++ (RFC 9406): slow start that watches for a rising RTT. It then grows more slowly for
//! some rounds (Conservative Slow Start, CSS) and ends if the RTT stays high.

use crate::{Conn, Window, INFINITE_SSTHRESH};

/// Bounds of the tolerated rise, an eighth of the last round's minimum RTT (RFC 9406 §4.3).
const MIN_RTT_THRESH_US: u32 = 4_000;
const MAX_RTT_THRESH_US: u32 = 16_000;
const MIN_RTT_DIVISOR: u32 = 8;
/// RTT samples per round before their minimum counts.
const N_RTT_SAMPLE: u32 = 8;
/// L: maximum segments counted per ACK of an unpaced sender.
const BURST_LIMIT: u32 = 8;
/// Divisor of slow-start growth in CSS.
const CSS_GROWTH_DIVISOR: u32 = 4;
/// Rounds of CSS, including the round in which it began.
const CSS_ROUNDS: u32 = 5;

/// Phase of slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SlowStart,
    /// CSS: minimum RTT of the round that showed the rise, rounds begun, and ACKed packets not yet
    /// counted.
    Conservative {
        baseline_us: u32,
        rounds: u32,
        left: u32,
    },
}

/// State of one connection.
#[derive(Clone, Debug)]
pub struct HystartPlusPlus {
    phase: Phase,
    /// Sequence number whose acknowledgement ends the round (`windowEnd`).
    window_end: u64,
    last_round_us: Option<u32>,
    round_us: Option<u32>,
    samples: u32,
}

impl HystartPlusPlus {
    /// Initial state.
    pub fn new() -> Self {
        Self {
            phase: Phase::SlowStart,
            window_end: 0,
            last_round_us: None,
            round_us: None,
            samples: 0,
        }
    }

    /// Processes an ACK with an RTT sample, microseconds. Ends slow start by setting the threshold.
    /// Acts in the first slow start only (§4.3).
    pub fn update(&mut self, conn: &Conn, window: &mut Window, rtt_us: u32) {
        if window.ssthresh != INFINITE_SSTHRESH {
            return;
        }
        if conn.snd_una > self.window_end {
            self.begin_round(conn, window);
        }
        let round_us = self.round_us.map_or(rtt_us, |least| least.min(rtt_us));
        self.round_us = Some(round_us);
        self.samples += 1;
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        match self.phase {
            Phase::SlowStart => {
                let Some(last_us) = self.last_round_us else { return };
                let threshold =
                    (last_us / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH_US, MAX_RTT_THRESH_US);
                if round_us >= last_us + threshold {
                    self.phase = Phase::Conservative { baseline_us: round_us, rounds: 1, left: 0 };
                }
            }
            // The rise did not last.
            Phase::Conservative { baseline_us, .. } if round_us < baseline_us => {
                self.phase = Phase::SlowStart;
            }
            Phase::Conservative { .. } => {}
        }
    }

    fn begin_round(&mut self, conn: &Conn, window: &mut Window) {
        self.window_end = conn.snd_nxt;
        self.last_round_us = self.round_us.take();
        self.samples = 0;
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            if *rounds >= CSS_ROUNDS {
                window.ssthresh = window.cwnd; // Enters congestion avoidance.
            }
            *rounds += 1;
        }
    }

    /// Packets of growth for `acked` packets in slow start (§4.2). Later slow starts are not
    /// changed (§4.3).
    pub fn growth(&mut self, window: &Window, acked: u32) -> u32 {
        if window.ssthresh != INFINITE_SSTHRESH {
            return acked;
        }
        let acked = if window.pacing { acked } else { acked.min(BURST_LIMIT) };
        match &mut self.phase {
            Phase::SlowStart => acked,
            Phase::Conservative { left, .. } => {
                *left += acked;
                let whole = *left / CSS_GROWTH_DIVISOR;
                *left -= whole * CSS_GROWTH_DIVISOR;
                whole
            }
        }
    }
}

impl Default for HystartPlusPlus {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::conn;

    /// Threshold after a round of `n` ACKs with this RTT.
    fn round(state: &mut HystartPlusPlus, at: &mut Conn, window: &mut Window, rtt_us: u32, n: u32) {
        at.snd_una = at.snd_nxt + 1;
        at.snd_nxt = at.snd_una + 1000 * u64::from(n);
        for _ in 0..n {
            state.update(at, window, rtt_us);
        }
    }

    fn start() -> (HystartPlusPlus, Conn, Window) {
        (HystartPlusPlus::new(), conn(1), Window::new(10))
    }

    #[test]
    fn a_rise_by_an_eighth_begins_css_and_a_smaller_one_does_not() {
        for (rise_us, slow) in [(9_999, false), (10_000, true)] {
            let (mut state, mut at, mut window) = start();
            round(&mut state, &mut at, &mut window, 80_000, 8);
            round(&mut state, &mut at, &mut window, 80_000 + rise_us, 8);
            assert_eq!(state.growth(&window, 8) == 2, slow, "{rise_us}");
        }
    }

    #[test]
    fn the_tolerated_rise_is_4_to_16_ms() {
        for (base_us, rise_us) in [(8_000, 4_000), (400_000, 16_000)] {
            for (less, slow) in [(1, false), (0, true)] {
                let (mut state, mut at, mut window) = start();
                round(&mut state, &mut at, &mut window, base_us, 8);
                round(&mut state, &mut at, &mut window, base_us + rise_us - less, 8);
                assert_eq!(state.growth(&window, 4) == 1, slow);
            }
        }
    }

    #[test]
    fn seven_samples_are_too_few() {
        let (mut state, mut at, mut window) = start();
        round(&mut state, &mut at, &mut window, 80_000, 8);
        round(&mut state, &mut at, &mut window, 200_000, 7);
        assert_eq!(state.growth(&window, 4), 4);
    }

    #[test]
    fn five_rounds_of_css_end_slow_start_and_a_fall_of_the_rtt_resumes_it() {
        let (mut state, mut at, mut window) = start();
        round(&mut state, &mut at, &mut window, 80_000, 8);
        for rounds in 1..=5 {
            round(&mut state, &mut at, &mut window, 100_000, 8);
            assert_eq!(window.ssthresh, INFINITE_SSTHRESH, "round {rounds} of CSS");
        }
        round(&mut state, &mut at, &mut window, 100_000, 1);
        assert_eq!(window.ssthresh, 10);

        let (mut state, mut at, mut window) = start();
        round(&mut state, &mut at, &mut window, 80_000, 8);
        round(&mut state, &mut at, &mut window, 100_000, 8);
        round(&mut state, &mut at, &mut window, 99_000, 8);
        assert_eq!(state.growth(&window, 4), 4);
    }

    #[test]
    fn after_a_loss_it_does_nothing() {
        let (mut state, mut at, mut window) = start();
        window.ssthresh = 100;
        round(&mut state, &mut at, &mut window, 80_000, 8);
        round(&mut state, &mut at, &mut window, 200_000, 8);
        assert_eq!(state.growth(&window, 4), 4);
    }
}
