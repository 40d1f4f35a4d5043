//! CAIA delay gradient (Hayes and Armitage, "Revisiting TCP Congestion Control Using Delay
//! Gradients", Networking 2011), as Linux's tcp_cdg.c. Once per round trip the window falls by 3/10
//! with a probability that grows with the growth of the RTT. Where this changes nothing, others fill
//! the queue, and CDG stops; a shadow window keeps what a loss-based flow would have.
//!
//! Parameters are the module's defaults; its loss tolerance (`use_tolerance`) is off.

use crate::reno::Reno;
use crate::{AckSample, CaEvent, CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

/// Rounds over which gradients are averaged (`window`).
const ROUNDS: usize = 8;
/// Part of the window after a backoff, in 1/1024: √½ (`backoff_beta`).
const BACKOFF: u32 = 724;
/// A gradient of 1 µs, summed over the rounds, counts so many millionths in the exponent
/// (`backoff_factor`, 1000/(3·8)).
const EXPONENT: u32 = 42;
/// Backoffs without effect after which others are taken to fill the queue (`use_ineff`).
const INEFFECTUAL: u16 = 5;
/// A gradient below shows that a backoff had an effect, microseconds.
const EFFECT_US: i32 = -32;
/// Delayed ACKs that the filter can expect (`tcp_cdg_acked`).
const MAX_DELAYED_ACKS: u8 = 5;
/// Largest distance of two ACKs of a train, microseconds (HyStart).
const TRAIN_GAP_US: u64 = 3000;
/// Minimum threshold of HyStart, microseconds.
const MIN_DELAY_US: i32 = 125;
/// RTT samples before HyStart looks at the delay.
const DELAY_SAMPLES: u16 = 8;
/// Minimum threshold, packets.
const MIN_SSTHRESH: u32 = 2;

/// Minimum and maximum RTT of a round, or their gradients, microseconds; both 0: none
/// (`struct cdg_minmax`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct MinMax {
    min: i32,
    max: i32,
}

impl MinMax {
    fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// State of the algorithm (`struct cdg`).
#[derive(Clone, Debug)]
pub struct Cdg {
    reno: Reno,
    /// e to the minus 2^n · 256 millionths ([`exponents`]).
    exponents: [u64; 16],
    state: State,
}

/// State that an idle period clears.
#[derive(Clone, Debug, Default)]
struct State {
    /// RTTs of this round and of the last one (`rtt`, `rtt_prev`).
    rtt: MinMax,
    previous: MinMax,
    /// Gradients of the last rounds, and their sums (`gradients`, `gsum`).
    gradients: [MinMax; ROUNDS],
    sums: MinMax,
    /// Next gradient to replace, and true once all are known (`tail`, `gfilled`).
    next: usize,
    filled: bool,
    /// True between a backoff and the end of its reduction (`state`, `CDG_BACKOFF`).
    backs_off: bool,
    /// Delayed ACKs to expect (`delack`).
    delayed_acks: u8,
    /// Sequence number whose acknowledgement ends the round (`rtt_seq`).
    round_end: u64,
    /// Window that a flow without backoffs would have (`shadow_wnd`).
    shadow_cwnd: u32,
    /// Backoffs in a row without effect (`backoff_cnt`).
    backoffs: u16,
    /// HyStart: samples of this round, minimum RTT, last ACK and start of the train, microseconds
    /// (`sample_cnt`, `delay_min`, `last_ack`, `round_start`).
    samples: u16,
    delay_min_us: i32,
    last_ack_us: u64,
    train_start_us: u64,
}

/// Creates an instance.
pub(crate) fn new(options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Cdg::new(Reno::new(options)))
}

/// e^-x for x = 256 millionths times 1, 2, 4 …, in 2^-16, rounded.
fn exponents() -> [u64; 16] {
    let mut values = [0; 16];
    let mut x = 256e-6;
    for value in &mut values {
        *value = libm::round(libm::exp(-x) * 65536.0) as u64;
        x *= 2.0;
    }
    values
}

/// The smaller of both, where 0 stands for none (`min_not_zero`).
fn min_not_zero(a: i32, b: i32) -> i32 {
    match (a, b) {
        (0, other) | (other, 0) => other,
        _ => a.min(b),
    }
}

impl Cdg {
    fn new(reno: Reno) -> Self {
        Self { reno, exponents: exponents(), state: State::default() }
    }

    /// e^-x for x in millionths, times 2^32 − 1 (`nexp_u32`): a line over the lowest eight bits,
    /// times a factor per further bit.
    fn exp_minus(&self, x: u32) -> u32 {
        let bits = x >> 8;
        if bits > u32::from(u16::MAX) {
            return 0;
        }
        let mut result = u64::from(u32::MAX - (x & 0xff) * (u32::MAX / 1_000_000));
        for (n, factor) in self.exponents.iter().enumerate() {
            if bits >> n & 1 == 1 {
                result = (result * factor) >> 16;
            }
        }
        result as u32
    }

    /// Backs off with probability 1 − e^(−gradient/G) (Hayes and Armitage §3.1; `tcp_cdg_backoff`).
    /// Returns true if it does.
    fn back_off(&mut self, conn: &Conn, window: &mut Window, gradient: i32) -> bool {
        let x = (gradient as u32).wrapping_mul(EXPONENT);
        if conn.random <= self.exp_minus(x) {
            return false;
        }
        let state = &mut self.state;
        // §3.2: backoffs without effect mean that others fill the queue.
        state.backoffs = state.backoffs.wrapping_add(1);
        if state.backoffs > INEFFECTUAL {
            return false;
        }
        state.shadow_cwnd = state.shadow_cwnd.max(window.cwnd);
        state.backs_off = true;
        window.enter_cwr = true;
        true
    }
}

impl State {
    /// HyStart with microseconds and at any window (`tcp_cdg_hystart_update`).
    fn hystart(&mut self, conn: &Conn, window: &mut Window) {
        self.delay_min_us = min_not_zero(self.delay_min_us, self.rtt.min);
        if self.delay_min_us == 0 {
            return;
        }
        if self.last_ack_us == 0 || !conn.cwnd_limited {
            self.last_ack_us = conn.now_us;
            self.train_start_us = conn.now_us;
        } else if conn.now_us < self.last_ack_us + TRAIN_GAP_US {
            self.last_ack_us = conn.now_us;
            let one_way_us = (self.delay_min_us / 2).max(MIN_DELAY_US);
            if conn.now_us > self.train_start_us + one_way_us as u64 {
                window.ssthresh = window.cwnd;
                return;
            }
        }
        if self.samples < DELAY_SAMPLES {
            self.samples += 1;
        } else if self.rtt.min > (self.delay_min_us + self.delay_min_us / 8).max(MIN_DELAY_US) {
            window.ssthresh = window.cwnd;
        }
    }

    /// Sum of the gradients of the last rounds, of the minimum RTT if it grows, else of the maximum
    /// (§3; `tcp_cdg_grad`). Missing rounds are extrapolated.
    fn gradient(&mut self) -> i32 {
        let new = MinMax {
            min: self.rtt.min.wrapping_sub(self.previous.min),
            max: self.rtt.max.wrapping_sub(self.previous.max),
        };
        let old = std::mem::replace(&mut self.gradients[self.next], new);
        self.sums.min = self.sums.min.wrapping_add(new.min.wrapping_sub(old.min));
        self.sums.max = self.sums.max.wrapping_add(new.max.wrapping_sub(old.max));
        self.next = (self.next + 1) % ROUNDS;
        let sums = self.sums;
        let mut gradient = if sums.min > 0 { sums.min } else { sums.max };
        if !self.filled {
            if self.next == 0 {
                self.filled = true;
            } else {
                gradient = gradient.wrapping_mul(ROUNDS as i32) / self.next as i32;
            }
        }
        if sums.min <= EFFECT_US || sums.max <= EFFECT_US {
            self.backoffs = 0;
        }
        gradient
    }

    /// Ends a round. Returns its gradient.
    fn end_round(&mut self, conn: &Conn) -> i32 {
        let gradient = if self.previous.is_none() { 0 } else { self.gradient() };
        self.round_end = conn.snd_nxt;
        self.previous = self.rtt;
        self.rtt = MinMax::default();
        self.last_ack_us = 0;
        self.samples = 0;
        gradient
    }
}

impl CongestionControl for Cdg {
    /// `tcp_cdg_init` leaves this RTT: the SYN counts as the first sample.
    fn syn_acked(&mut self, rtt_us: u32) {
        self.state.rtt = MinMax { min: rtt_us as i32, max: rtt_us as i32 };
    }

    /// `tcp_cdg_init`.
    fn init(&mut self, conn: &Conn, window: &mut Window) {
        self.state.round_end = conn.snd_nxt;
        self.state.shadow_cwnd = window.cwnd;
    }

    /// A backoff keeps √½ of the window. A loss keeps half, or half of the shadow window if that is
    /// more (§3.3; `tcp_cdg_ssthresh`).
    fn ssthresh(&mut self, _conn: &Conn, window: &mut Window) -> u32 {
        if self.state.backs_off {
            return (window.cwnd.wrapping_mul(BACKOFF) >> 10).max(MIN_SSTHRESH);
        }
        self.state.shadow_cwnd = (self.state.shadow_cwnd >> 1).min(window.cwnd);
        self.state.shadow_cwnd.max(window.cwnd >> 1).max(MIN_SSTHRESH)
    }

    /// `tcp_cdg_cong_avoid`.
    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, acked: u32) {
        if window.in_slow_start() {
            self.state.hystart(conn, window);
        }
        if conn.snd_una > self.state.round_end && !self.state.rtt.is_none() {
            let gradient = self.state.end_round(conn);
            if gradient > 0 && self.back_off(conn, window, gradient) {
                return;
            }
        }
        let shadow = &mut self.state.shadow_cwnd;
        if !conn.cwnd_limited {
            *shadow = (*shadow).min(window.cwnd);
            return;
        }
        let before = window.cwnd;
        self.reno.cong_avoid(conn, window, acked);
        let increase = window.cwnd.wrapping_sub(before);
        *shadow = (*shadow).max(shadow.wrapping_add(increase));
    }

    /// Takes RTTs, those of delayed ACKs only for the minimum (`tcp_cdg_acked`).
    fn pkts_acked(&mut self, conn: &Conn, _window: &mut Window, sample: &AckSample) {
        let state = &mut self.state;
        if sample.rtt_us <= 0 {
            return;
        }
        let rtt_us = sample.rtt_us as i32;
        if conn.sacked_out == 0 {
            if sample.pkts_acked == 1 && state.delayed_acks > 0 {
                state.rtt.min = state.rtt.min.min(rtt_us);
                state.delayed_acks -= 1;
                return;
            }
            if sample.pkts_acked > 1 && state.delayed_acks < MAX_DELAYED_ACKS {
                state.delayed_acks += 1;
            }
        }
        state.rtt.min = min_not_zero(state.rtt.min, rtt_us);
        state.rtt.max = state.rtt.max.max(rtt_us);
    }

    /// `tcp_cdg_cwnd_event`.
    fn cwnd_event(&mut self, conn: &Conn, window: &mut Window, event: CaEvent) {
        match event {
            CaEvent::CwndRestart => {
                self.state = State::default();
                self.init(conn, window);
            }
            CaEvent::CompleteCwr => {
                self.state.backs_off = false;
                self.state.round_end = conn.snd_nxt;
                self.state.previous = self.state.rtt;
                self.state.rtt = MinMax::default();
            }
            CaEvent::TxStart | CaEvent::Loss | CaEvent::TlpRecovery => {}
        }
    }

    fn draws(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::{avoiding, conn};
    use proptest::prelude::*;

    fn cdg() -> Cdg {
        Cdg::new(Reno::default())
    }

    /// The first factor is e^-0.000256, the last e^-8.388608.
    #[test]
    fn factors_are_powers_of_e() {
        let factors = exponents();
        assert_eq!((factors[0], factors[12], factors[15]), (65519, 22966, 15));
    }

    proptest! {
        /// Eleven products of 2^-16 each: the sum of their roundings is below a thousandth.
        #[test]
        fn the_exponential_is_near(x in 0..16_777_216u32) {
            let share = f64::from(cdg().exp_minus(x)) / f64::from(u32::MAX);
            prop_assert!((share - libm::exp(-1e-6 * f64::from(x))).abs() < 1e-3);
        }
    }

    #[test]
    fn an_exponent_above_16_is_never() {
        assert_eq!(cdg().exp_minus(1 << 24), 0);
        assert_eq!(cdg().exp_minus(0), u32::MAX);
    }

    /// RTTs that grow by 1 ms per round give G = 3 ms the probability 1 − e^(−1/3) (§3.1, G = 3).
    #[test]
    fn a_growth_of_a_third_of_g_backs_off_with_the_probability_of_the_paper() {
        let mut state = State::default();
        for round in 1..=10 {
            state.rtt = MinMax { min: 10_000 + 1000 * round, max: 10_000 + 1000 * round };
            let gradient = state.end_round(&conn(0));
            assert_eq!(gradient, if round == 1 { 0 } else { 8000 }, "extrapolated: {round}");
        }
        let share = f64::from(cdg().exp_minus(8000 * EXPONENT)) / f64::from(u32::MAX);
        assert!((share - libm::exp(-1.0 / 3.0)).abs() < 0.003, "{share}");
    }

    #[test]
    fn a_backoff_keeps_seven_tenths_and_a_loss_half() {
        let mut cdg = cdg();
        let mut window = avoiding(1000);
        let drawn = Conn { random: u32::MAX, ..conn(0) };
        assert!(cdg.back_off(&drawn, &mut window, 1000) && window.enter_cwr);
        assert_eq!(cdg.ssthresh(&drawn, &mut window), 707);
        window.cwnd = 707;
        cdg.cwnd_event(&conn(0), &mut window, CaEvent::CompleteCwr);
        assert_eq!(cdg.state.shadow_cwnd, 1000);
        assert_eq!(cdg.ssthresh(&conn(0), &mut window), 500, "half of the shadow window");
    }

    #[test]
    fn backoffs_without_effect_stop_after_five() {
        let mut cdg = cdg();
        let drawn = Conn { random: u32::MAX, ..conn(0) };
        let backs_off = |cdg: &mut Cdg| cdg.back_off(&drawn, &mut avoiding(100), 1000);
        assert_eq!(
            [(); 7].map(|()| backs_off(&mut cdg)),
            [true, true, true, true, true, false, false]
        );
        cdg.state.previous = MinMax { min: 20_000, max: 20_000 };
        cdg.state.rtt = MinMax { min: 19_968, max: 19_968 };
        cdg.state.end_round(&conn(0));
        assert!(backs_off(&mut cdg), "the RTT fell by 32 µs");
    }

    #[test]
    fn a_delayed_ack_counts_for_the_minimum_alone() {
        let mut cdg = cdg();
        let mut acked = |pkts_acked, rtt_us| {
            let sample = AckSample { pkts_acked, rtt_us, in_flight: 1 };
            cdg.pkts_acked(&conn(0), &mut avoiding(10), &sample);
            (cdg.state.rtt.min, cdg.state.rtt.max)
        };
        assert_eq!(acked(2, 20_000), (20_000, 20_000));
        assert_eq!(acked(1, 60_000), (20_000, 20_000), "delayed");
        assert_eq!(acked(1, 60_000), (20_000, 60_000));
    }

    #[test]
    fn an_idle_period_clears_all_but_the_window() {
        let mut cdg = cdg();
        cdg.state.gradients[3].min = 5;
        cdg.state.backoffs = 3;
        cdg.cwnd_event(&Conn { snd_nxt: 77, ..conn(0) }, &mut avoiding(9), CaEvent::CwndRestart);
        let state = &cdg.state;
        assert_eq!((state.gradients[3].min, state.backoffs), (0, 0));
        assert_eq!((state.round_end, state.shadow_cwnd), (77, 9));
    }
}
