//! TCP-NV, New Vegas (Brakmo, "TCP-NV: An Update to TCP-Vegas", 2010), as Linux's tcp_nv.c. Once
//! per round trip it compares the window with the window that the highest rate of the round would
//! fill at the minimum RTT, and keeps ten packets more than that. For data centres where all flows
//! use it.
//!
//! `nv_base_rtt` (an RTT known to a BPF program) and `nv_catchup` (never set) are left out.

use crate::{AckSample, CaState, CongestionControl, Conn, Window, INFINITE_SSTHRESH};
use dumbbell_model::TcpOptions;

/// Packets that may wait in the network (`nv_pad`).
const PAD: u32 = 10;
/// The window does not grow within so many packets of the maximum (`nv_pad_buffer`).
const PAD_BUFFER: u32 = 2;
/// Part of the excess that is given up, in 1/128 (`nv_cong_dec_mult`, 30 %).
const DECREASE: u32 = 38;
/// An excess of so many packets is given up at once.
const SMALL_EXCESS: u32 = 2;
/// Part of the window after a loss, in 1/1024 (`nv_loss_dec_factor`, 80 %).
const LOSS_DECREASE: u32 = 819;
/// Minimum window without losses, packets (`nv_min_cwnd`).
const MIN_CWND: u32 = 2;
/// Decisions against congestion before growth doubles again (`nv_cwnd_growth_rate_neg`).
const GROWTH_DECISIONS: u32 = 8;
/// Slowest growth: 2^-8 packets per window.
const SLOWEST: u8 = 8;
/// Samples before the window falls, grows, or slow start ends (`nv_dec_eval_min_calls`,
/// `nv_inc_eval_min_calls`, `nv_ssthresh_eval_min_calls`).
const DECREASE_SAMPLES: u8 = 60;
const INCREASE_SAMPLES: u8 = 20;
const SLOW_START_SAMPLES: u8 = 30;
/// Rounds before congestion counts (`nv_rtt_min_cnt`).
const MIN_ROUNDS: u8 = 2;
/// Rounds without a decision after which growth stops (`nv_stop_rtt_cnt`).
const STOP_ROUNDS: u8 = 10;
/// Time until the minimum RTT is first measured anew, ms (`tcpnv_init`).
const FIRST_PERIOD_MS: u64 = 2000;
/// Mean time until then later, s (`nv_reset_period`); it is drawn from 3/4 to 5/4 of it.
const PERIOD_S: u64 = 5;
/// Bounds of the window below which a round of a single sample decides nothing (`NV_MIN_CWND`,
/// `NV_MIN_CWND_GROW`, `NV_TSO_CWND_BOUND`).
const SAMPLED_CWND: u8 = 4;
const SAMPLED_CWND_STEP: u8 = 2;
const MAX_SAMPLED_CWND: u8 = 81;
/// Rates are in 100 bit/s: bytes over microseconds times this.
const RATE_UNIT: u64 = 80_000;

/// State of the algorithm (`struct tcpnv`).
#[derive(Clone, Debug)]
pub struct Nv {
    /// Time at which the minimum RTT is replaced, ms (`nv_min_rtt_reset_jiffies`).
    renew_at_ms: u64,
    /// The window grows by 2^-n packets per window (`cwnd_growth_factor`, negated).
    slowness: u8,
    /// True unless congestion stopped growth (`nv_allow_cwnd_growth`).
    may_grow: bool,
    /// True if the next open state begins anew (`nv_reset`).
    restart: bool,
    /// Samples since the last decision (`nv_eval_call_cnt`).
    samples: u8,
    /// Window that a round of a single sample must fill, packets (`nv_min_cwnd`).
    sampled_cwnd: u8,
    /// Rounds since the last decision (`nv_rtt_cnt`).
    rounds: u8,
    /// Moving average of RTTs, microseconds (`nv_last_rtt`).
    rtt_us: u32,
    /// Minimum of the average, microseconds (`nv_min_rtt`).
    min_rtt_us: u32,
    /// Minimum of the average since the last renewal (`nv_min_rtt_new`).
    next_min_rtt_us: u32,
    /// Maximum rate since the last decision, 100 bit/s (`nv_rtt_max_rate`).
    max_rate: u32,
    /// Sequence number whose acknowledgement ends the round (`nv_rtt_start_seq`).
    round_end: u64,
    /// `snd_una` at the last sample (`nv_last_snd_una`).
    last_una: u64,
    /// Decisions against congestion in a row (`nv_no_cong_cnt`).
    free_decisions: u32,
}

/// Creates an instance.
pub(crate) fn new(_options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Nv::new())
}

/// Verdict of a round.
enum Verdict {
    /// Nothing, or not enough samples.
    None,
    /// More packets wait than may, and the window falls.
    Congested,
    /// The window may grow.
    Free,
}

impl Nv {
    fn new() -> Self {
        Self {
            renew_at_ms: 0,
            slowness: 0,
            may_grow: true,
            restart: false,
            samples: 0,
            sampled_cwnd: SAMPLED_CWND,
            rounds: 0,
            rtt_us: 0,
            min_rtt_us: u32::MAX,
            next_min_rtt_us: u32::MAX,
            max_rate: 0,
            round_end: 0,
            last_una: 0,
            free_decisions: 0,
        }
    }

    /// `tcpnv_reset`.
    fn reset(&mut self, conn: &Conn) {
        self.restart = false;
        self.free_decisions = 0;
        self.rounds = 0;
        self.rtt_us = 0;
        self.max_rate = 0;
        self.round_end = conn.snd_una;
        self.samples = 0;
        self.last_una = conn.snd_una;
    }

    /// Averages the RTT, half of it the new sample. Returns the average.
    fn average(&mut self, rtt_us: u32) -> u32 {
        if self.rtt_us > 0 {
            self.rtt_us = ((u64::from(rtt_us) + u64::from(self.rtt_us)) / 2) as u32;
        } else {
            self.rtt_us = rtt_us;
            self.min_rtt_us = rtt_us << 1; // The next average is lower: measured anew.
        }
        self.rtt_us
    }

    /// Updates the minimum RTT, which is replaced every four to six seconds by that of the time
    /// since.
    fn update_min_rtt(&mut self, conn: &Conn, rtt_us: u32) {
        self.min_rtt_us = self.min_rtt_us.min(rtt_us);
        self.next_min_rtt_us = self.next_min_rtt_us.min(rtt_us);
        if conn.now_ms >= self.renew_at_ms {
            self.min_rtt_us = self.next_min_rtt_us;
            self.next_min_rtt_us = u32::MAX;
            let drawn = u64::from(conn.random & 0xff);
            self.renew_at_ms = conn.now_ms + ((PERIOD_S * (384 + drawn) * 1000) >> 9);
            self.sampled_cwnd = (self.sampled_cwnd / 2).max(SAMPLED_CWND);
        }
    }

    /// Window that keeps [`PAD`] packets queued at the highest rate of the round.
    fn max_window(&self, conn: &Conn) -> u32 {
        let filled = u64::from(self.max_rate) * u64::from(self.min_rtt_us)
            / (RATE_UNIT * u64::from(conn.mss));
        (filled as u32).wrapping_add(PAD)
    }

    /// Compares the window with the maximum.
    fn judge(&mut self, window: &Window, max_window: u32) -> Verdict {
        if window.cwnd > max_window {
            if self.rounds < MIN_ROUNDS {
                return Verdict::None;
            }
            if window.ssthresh == INFINITE_SSTHRESH {
                if self.samples < SLOW_START_SAMPLES {
                    return Verdict::None;
                }
            } else if self.samples < DECREASE_SAMPLES {
                self.may_grow &= self.rounds <= STOP_ROUNDS;
                return Verdict::None;
            }
            Verdict::Congested
        } else if window.cwnd <= max_window - PAD_BUFFER && self.samples >= INCREASE_SAMPLES {
            Verdict::Free
        } else {
            Verdict::None
        }
    }

    /// Ends a round: decides whether the window falls or may grow.
    fn end_round(&mut self, window: &mut Window, max_window: u32) {
        match self.judge(window, max_window) {
            Verdict::None => return,
            Verdict::Congested => {
                self.may_grow = false;
                window.ssthresh = max_window;
                let excess = window.cwnd - max_window;
                if excess > SMALL_EXCESS {
                    window.cwnd -= ((excess.wrapping_mul(DECREASE)) >> 7).max(2);
                } else {
                    window.cwnd = max_window;
                }
                self.free_decisions = 0;
            }
            Verdict::Free => {
                self.may_grow = true;
                self.free_decisions += 1;
                if self.slowness > 0 && self.free_decisions > GROWTH_DECISIONS {
                    self.slowness -= 1;
                    self.free_decisions = 0;
                }
            }
        }
        self.samples = 0;
        self.rounds = 0;
        self.max_rate = 0;
        window.cwnd = window.cwnd.max(MIN_CWND);
    }
}

impl CongestionControl for Nv {
    /// `tcpnv_init`.
    fn init(&mut self, conn: &Conn, _window: &mut Window) {
        self.reset(conn);
        self.renew_at_ms = conn.now_ms + FIRST_PERIOD_MS;
    }

    /// `tcpnv_recalc_ssthresh`.
    fn ssthresh(&mut self, _conn: &Conn, window: &mut Window) -> u32 {
        ((window.cwnd * LOSS_DECREASE) >> 10).max(MIN_CWND)
    }

    /// `tcpnv_cong_avoid`.
    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, mut acked: u32) {
        if !conn.cwnd_limited || !self.may_grow {
            return;
        }
        if window.in_slow_start() {
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        let per = if self.slowness > 0 { window.cwnd << self.slowness } else { window.cwnd.max(4) };
        window.additive_increase(per, acked);
    }

    /// `tcpnv_state`.
    fn set_state(&mut self, conn: &Conn, _window: &mut Window, state: CaState) {
        match state {
            CaState::Open if self.restart => self.reset(conn),
            CaState::Open | CaState::Disorder => {}
            CaState::Cwr | CaState::Recovery | CaState::Loss => {
                self.restart = true;
                self.may_grow = false;
                if state == CaState::Loss {
                    self.slowness = (self.slowness + 1).min(SLOWEST);
                }
            }
        }
    }

    /// `tcpnv_acked`.
    fn pkts_acked(&mut self, conn: &Conn, window: &mut Window, sample: &AckSample) {
        let Ok(rtt_us) = u32::try_from(sample.rtt_us) else { return };
        if !matches!(conn.state, CaState::Open | CaState::Disorder) {
            return;
        }
        let acked_bytes = conn.snd_una - self.last_una;
        self.last_una = conn.snd_una;
        // Bytes delivered since the newest acknowledged segment left, which were in flight then.
        let in_flight_bytes = u64::from(sample.in_flight.wrapping_mul(conn.mss));
        if in_flight_bytes == 0 {
            return;
        }
        let rtt_us = self.average(rtt_us);
        let rate = (in_flight_bytes * RATE_UNIT / u64::from(rtt_us.max(1))) as u32;
        self.max_rate = self.max_rate.max(rate);
        self.samples = self.samples.saturating_add(1);
        self.update_min_rtt(conn, rtt_us);
        if conn.snd_una <= self.round_end {
            return;
        }
        self.round_end = conn.snd_nxt;
        self.rounds = self.rounds.saturating_add(1);
        // Coalesced ACKs: a window of one sample per round is too small to tell anything.
        let least = u64::from(self.sampled_cwnd - 1) * u64::from(conn.mss);
        if self.samples == 1 && acked_bytes >= least && self.sampled_cwnd < MAX_SAMPLED_CWND {
            self.sampled_cwnd = (self.sampled_cwnd + SAMPLED_CWND_STEP).min(MAX_SAMPLED_CWND);
            self.round_end = conn.snd_nxt + u64::from(self.sampled_cwnd) * u64::from(conn.mss);
            self.samples = 0;
            self.may_grow = true;
            return;
        }
        let max_window = self.max_window(conn);
        self.end_round(window, max_window);
    }

    fn draws(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::{avoiding, conn};

    /// Algorithm after rounds with so many samples, at a minimum RTT of 10 ms.
    fn measured(rounds: u8, samples: u8) -> Nv {
        Nv { rounds, samples, ..Nv::new() }
    }

    /// Rate of 100 packets of 1000 bytes per 10 ms, 100 bit/s: they are the window of the path.
    #[test]
    fn the_maximum_is_the_window_of_the_path_and_ten_packets() {
        let nv = Nv { max_rate: 800_000, min_rtt_us: 10_000, ..Nv::new() };
        assert_eq!(nv.max_window(&conn(0)), 110);
    }

    #[test]
    fn thirty_percent_of_a_large_excess_is_given_up() {
        for (cwnd, after) in [(210, 181), (118, 116), (113, 111), (112, 110), (111, 110)] {
            let mut window = avoiding(cwnd);
            let mut nv = measured(2, 60);
            nv.end_round(&mut window, 110);
            assert_eq!((window.cwnd, window.ssthresh), (after, 110), "{cwnd}");
            assert!(!nv.may_grow);
        }
    }

    #[test]
    fn too_few_samples_or_rounds_decide_nothing() {
        for (rounds, samples, ssthresh) in
            [(1, 60, 2), (2, 59, 2), (2, 29, INFINITE_SSTHRESH), (1, 30, INFINITE_SSTHRESH)]
        {
            let mut window = Window { ssthresh, ..Window::new(210) };
            measured(rounds, samples).end_round(&mut window, 110);
            assert_eq!((window.cwnd, window.ssthresh), (210, ssthresh));
        }
        let mut window = Window::new(210);
        measured(2, 30).end_round(&mut window, 110);
        assert_eq!((window.cwnd, window.ssthresh), (181, 110), "slow start ends earlier");
    }

    #[test]
    fn growth_is_allowed_two_packets_below_the_maximum() {
        for (cwnd, may_grow) in [(108, true), (109, false), (110, false)] {
            let mut nv = Nv { may_grow: false, ..measured(1, 20) };
            nv.end_round(&mut avoiding(cwnd), 110);
            assert_eq!(nv.may_grow, may_grow, "{cwnd}");
        }
    }

    /// A time-out halves growth; nine decisions against congestion double it.
    #[test]
    fn a_timeout_slows_growth() {
        let mut nv = Nv::new();
        let mut window = avoiding(50);
        nv.set_state(&conn(0), &mut window, CaState::Loss);
        nv.set_state(&conn(0), &mut window, CaState::Open);
        nv.may_grow = true;
        nv.cong_avoid(&conn(0), &mut window, 99);
        assert_eq!(window.cwnd, 50);
        nv.cong_avoid(&conn(0), &mut window, 1);
        assert_eq!(window.cwnd, 51);
        for decision in 1..=9 {
            assert_eq!(nv.slowness, 1, "{decision}");
            nv.samples = 20;
            nv.end_round(&mut window, 110);
        }
        assert_eq!(nv.slowness, 0);
    }

    #[test]
    fn a_loss_takes_a_fifth() {
        assert_eq!(Nv::new().ssthresh(&conn(0), &mut avoiding(1000)), 799);
    }

    /// 5 s times 384 to 639 in 512: 3.75 to 6.24 s.
    #[test]
    fn the_minimum_rtt_is_renewed_at_a_drawn_time() {
        for (random, period) in [(0, 3750), (128, 5000), (255, 6240)] {
            let mut nv = Nv { min_rtt_us: 5000, next_min_rtt_us: 7000, ..Nv::new() };
            let conn = Conn { random, ..conn(2000) };
            nv.update_min_rtt(&conn, 8000);
            assert_eq!((nv.min_rtt_us, nv.renew_at_ms), (7000, 2000 + period));
        }
    }
}
