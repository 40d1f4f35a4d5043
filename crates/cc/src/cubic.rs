//! CUBIC: RFC 9438, as Linux's tcp_cubic.c, with HyStart (Ha & Rhee, "Taming the Elephants: New
//! TCP Slow Start", Computer Networks 55, 2011).
//!
//! After a loss the window follows W(t) = C·(t−K)³ + W_max (RFC 9438 §4.2): steep at first, flat
//! around the window of the last loss, steep again beyond it. Everything is integer arithmetic,
//! time in 1024ths of a second; products wrap as Linux's do, which shows only beyond about
//! 2.4 million packets or 347 s from the plateau (16.7 million packets above it).

use crate::hystart_plus_plus::HystartPlusPlus;
use crate::{AckSample, CaEvent, CaState, CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

/// β_cubic in 1024ths. Deviation: RFC 9438 §4.6 says 0.7; this is 0.7002.
pub const BETA: u32 = 717;
const BETA_SCALE: u32 = 1024;

/// C in 1024ths, packets per s³. Deviation: RFC 9438 §5.1 says 0.4; this is 0.40039 (Linux writes
/// it as 41/1024 per RTT of 100 ms, ten of which make a second).
const CUBE_SCALE: u32 = 41 * 10;

/// Time is counted in 2⁻¹⁰ s, …
const TIME_SHIFT: u32 = 10;
/// … so C·t³ carries 10 bits of C and three times 10 bits of t.
const CUBE_SHIFT: u32 = 10 + 3 * TIME_SHIFT;

/// K³ = (W_max − cwnd)·1/C in (2⁻¹⁰ s)³ (RFC 9438 §4.2, equation 2).
const CUBE_FACTOR: u64 = (1 << CUBE_SHIFT) / CUBE_SCALE as u64;

/// ACKed packets per window and packet of Reno-friendly growth, in eighths: 1/α with
/// α = 3(1−β)/(1+β) (RFC 9438 §4.3). Truncated to 15/8, so α is 0.533, not 0.529; Linux keeps that
/// α above W_max too, where the RFC goes on with 1.
const FRIENDLY_SCALE: u32 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);

/// Before the first loss one packet per 20 ACKs, 5 % per RTT. Linux's own.
const MAX_COUNT_WITHOUT_LOSS: u32 = 20;
/// At most 1.5 times the window per RTT (RFC 9438 §4.2: the target is at most 1.5·cwnd).
const MIN_COUNT: u32 = 2;
/// Where the curve is at or below the window: one packet per 100 windows.
const STANDSTILL: u32 = 100;

/// A count of ACKs per packet is kept this long if the window has not changed: HZ/32.
const UPDATE_INTERVAL_MS: i32 = 31;

/// RFC 9438 §4.6: at least two segments.
const MIN_SSTHRESH: u32 = 2;

/// HyStart acts from this window on (Ha & Rhee: 16 packets too).
pub const HYSTART_LOW_WINDOW: u32 = 16;
/// ACKs of a train are at most this far apart (Ha & Rhee: 2 ms too).
const HYSTART_ACK_DELTA_US: i32 = 2000;
/// RTT samples per round before their minimum counts.
const HYSTART_MIN_SAMPLES: u32 = 8;
/// Bounds of the tolerated delay increase, an eighth of the minimum RTT (Ha & Rhee, delay
/// increase; RFC 9406 §4.3 has 4 and 16 ms too).
const HYSTART_DELAY_MIN_US: u32 = 4000;
const HYSTART_DELAY_MAX_US: u32 = 16_000;
/// Samples in this time after a reduction see the queue the loss left behind.
const SETTLING_MS: i32 = 1000;
/// Largest burst of a socket: GSO_LEGACY_MAX_SIZE less MAX_TCP_HEADER (320) and 1.
const GSO_MAX_SIZE: u64 = 65_536 - 320 - 1;
/// Most that bursts can add to the ACK train's allowance.
const MAX_ACK_DELAY_US: u64 = 1000;

/// 64 times the cube root of 8 … 63, roughly: first guess of [`cube_root`]. Data, tuned by hand by
/// Willy Tarreau for the least error after one Newton step; the deviation from 64·∛x (+10 at the
/// low end, +6 to +10 elsewhere) follows no closed form, so it cannot be rebuilt.
const CUBE_ROOT_GUESS: [u16; 56] = [
    133, 139, 144, 148, 153, 157, 161, 166, 167, 171, 174, 178, 180, 183, 186, 189, 191, 195, 197,
    200, 202, 204, 207, 209, 210, 212, 214, 216, 219, 221, 223, 225, 227, 229, 231, 232, 234, 235,
    237, 239, 241, 242, 244, 246, 247, 249, 250, 252, 254, 255, 256, 258, 260, 261, 262, 264,
];

/// Cube root as Linux computes it: a guess from the four to six highest bits and one Newton step.
/// It is at most 0.2 % off where K is computed (0.03 % in the mean); below a million it is the true
/// root rounded down or up. The error shows as a slightly wrong K.
fn cube_root(a: u64) -> u32 {
    // Below 64 the nearest integer, but for 42 (3.48), which the table rounds up.
    match a {
        0 => return 0,
        1..=3 => return 1,
        4..=15 => return 2,
        16..=41 => return 3,
        42..=63 => return 4,
        _ => {}
    }
    // A third of the bits, less one: what remains above 3·shift bits is 8 … 63.
    let bits = u64::BITS - a.leading_zeros();
    let shift = ((bits * 84) >> 8) - 1;
    let top = (a >> (3 * shift)) as usize;
    let x = (u32::from(CUBE_ROOT_GUESS[top - 8]) << shift) >> 6;
    // Newton: x ← (2x + a/x²)/3, with x(x−1) for x² and 341/1024 for 1/3.
    let x = 2 * x + (a / (u64::from(x) * u64::from(x - 1))) as u32;
    (x * 341) >> 10
}

/// State of the window's growth; a time-out clears all of it.
#[derive(Clone, Debug, Default)]
struct Growth {
    /// ACKed packets per packet of growth.
    count: u32,
    /// W_max: window before the last reduction; 0 before one.
    w_max: u32,
    /// Window for which `count` was computed, and when (milliseconds).
    last_cwnd: u32,
    last_update_ms: u32,
    /// Height of the curve's plateau.
    origin: u32,
    /// K: time from the epoch's start to the plateau, 2⁻¹⁰ s.
    k: u32,
    /// Least RTT, microseconds.
    min_delay_us: Option<u32>,
    /// Start of this growth, milliseconds. Linux writes "none" as 0, so an epoch that happens to
    /// begin at tick 0 restarts there; an option has no such hole.
    epoch_ms: Option<u32>,
    /// ACKed packets not yet counted in `reno_cwnd`.
    acked: u32,
    /// W_est: what Reno would have by now.
    reno_cwnd: u32,
}

impl Growth {
    /// RFC 9438 §4.2, equation 2: K = ∛((W_max − cwnd)/C), or 0 beyond W_max (slow start or
    /// fast convergence may have put it below the window).
    fn start_epoch(&mut self, now_ms: u32, cwnd: u32, acked: u32) -> u32 {
        self.epoch_ms = Some(now_ms);
        self.acked = acked;
        self.reno_cwnd = cwnd;
        if self.w_max <= cwnd {
            self.k = 0;
            self.origin = cwnd;
        } else {
            self.k = cube_root(CUBE_FACTOR * u64::from(self.w_max - cwnd));
            self.origin = self.w_max;
        }
        now_ms
    }

    /// RFC 9438 §4.2, equation 1, looked at one minimum RTT ahead: W(t + RTT).
    fn target(&self, now_ms: u32, epoch_ms: u32) -> u32 {
        let elapsed_ms = i64::from(now_ms.wrapping_sub(epoch_ms) as i32);
        let rtt_ms = u64::from(self.min_delay_us.unwrap_or(0).div_ceil(1000));
        let t = ((elapsed_ms as u64).wrapping_add(rtt_ms) << TIME_SHIFT) / 1000;
        let k = u64::from(self.k);
        let distance = t.abs_diff(k);
        let cube = u64::from(CUBE_SCALE)
            .wrapping_mul(distance)
            .wrapping_mul(distance)
            .wrapping_mul(distance);
        let delta = (cube >> CUBE_SHIFT) as u32;
        if t < k {
            self.origin.wrapping_sub(delta) // §4.4, concave
        } else {
            self.origin.wrapping_add(delta) // §4.5, convex
        }
    }

    /// ACKed packets per packet, so that the target is reached within one RTT (§4.4, §4.5).
    fn cubic_count(&self, now_ms: u32, epoch_ms: u32, cwnd: u32) -> u32 {
        let target = self.target(now_ms, epoch_ms);
        let count =
            if target > cwnd { cwnd / (target - cwnd) } else { cwnd.wrapping_mul(STANDSTILL) };
        // While nothing is known of the bandwidth, the curve alone may be too timid.
        if self.w_max == 0 {
            count.min(MAX_COUNT_WITHOUT_LOSS)
        } else {
            count
        }
    }

    /// RFC 9438 §4.3: never slower than Reno with the same β.
    fn stay_reno_friendly(&mut self, cwnd: u32) {
        let per_packet = (cwnd.wrapping_mul(FRIENDLY_SCALE) >> 3).max(1);
        let grown = self.acked.saturating_sub(1) / per_packet;
        self.acked -= grown * per_packet;
        self.reno_cwnd = self.reno_cwnd.wrapping_add(grown);
        if self.reno_cwnd > cwnd {
            self.count = self.count.min(cwnd / (self.reno_cwnd - cwnd));
        }
    }

    /// Recomputes `count` for `acked` more packets.
    fn update(&mut self, now_ms: u32, cwnd: u32, acked: u32, friendly: bool) {
        self.acked = self.acked.wrapping_add(acked);
        let elapsed_ms = now_ms.wrapping_sub(self.last_update_ms) as i32;
        if self.last_cwnd == cwnd && elapsed_ms <= UPDATE_INTERVAL_MS {
            return;
        }
        // The curve moves once per millisecond at most; a new epoch is always looked at.
        if self.epoch_ms.is_none() || now_ms != self.last_update_ms {
            self.last_cwnd = cwnd;
            self.last_update_ms = now_ms;
            let epoch_ms = match self.epoch_ms {
                Some(epoch_ms) => epoch_ms,
                None => self.start_epoch(now_ms, cwnd, acked),
            };
            self.count = self.cubic_count(now_ms, epoch_ms, cwnd);
        }
        if friendly {
            self.stay_reno_friendly(cwnd);
        }
        self.count = self.count.max(MIN_COUNT);
    }
}

/// HyStart's round. Clocks are 32 bits wide and wrap, as Linux's.
#[derive(Clone, Debug, Default)]
struct Hystart {
    /// The exit point was found; slow start after a time-out looks again.
    found: bool,
    round_start_us: u32,
    /// The round ends when more than this is acknowledged.
    round_end: u64,
    /// Last ACK of the train.
    last_ack_us: u32,
    /// Least RTT of the round so far.
    round_rtt_us: u32,
    samples: u32,
}

impl Hystart {
    fn start_round(&mut self, conn: &Conn) {
        self.round_start_us = conn.now_us as u32;
        self.last_ack_us = self.round_start_us;
        self.round_end = conn.snd_nxt;
        self.round_rtt_us = u32::MAX;
        self.samples = 0;
    }

    /// Ha & Rhee, ACK train: a train of closely spaced ACKs as long as half the minimum RTT means that
    /// the window fills the pipe (as long as all of it if pacing spread the packets itself).
    fn train_is_long(&mut self, conn: &Conn, window: &Window, min_delay_us: u32) -> bool {
        let now = conn.now_us as u32;
        if now.wrapping_sub(self.last_ack_us) as i32 > HYSTART_ACK_DELTA_US {
            return false;
        }
        self.last_ack_us = now;
        let mut threshold = min_delay_us + burst_delay_us(window.pacing_rate);
        if !window.pacing {
            threshold /= 2;
        }
        now.wrapping_sub(self.round_start_us) > threshold
    }

    /// Ha & Rhee, delay increase: the round's minimum RTT, over enough samples, has risen clearly.
    fn delay_has_risen(&mut self, rtt_us: u32, min_delay_us: u32) -> bool {
        self.round_rtt_us = self.round_rtt_us.min(rtt_us);
        if self.samples < HYSTART_MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let tolerated = (min_delay_us / 8).clamp(HYSTART_DELAY_MIN_US, HYSTART_DELAY_MAX_US);
        self.round_rtt_us > min_delay_us + tolerated
    }

    /// Takes a sample in; ends slow start by putting the threshold at the window.
    fn update(&mut self, conn: &Conn, window: &mut Window, rtt_us: u32, min_delay_us: u32) {
        if conn.snd_una > self.round_end {
            self.start_round(conn);
        }
        if window.cwnd < HYSTART_LOW_WINDOW {
            return;
        }
        // Both see every sample, whichever of them finds the exit.
        let train = self.train_is_long(conn, window, min_delay_us);
        let delay = self.delay_has_risen(rtt_us, min_delay_us);
        if train || delay {
            self.found = true;
            window.ssthresh = window.cwnd;
        }
    }
}

/// What bursts of segmentation offload may add to an ACK train: four of the largest at the pacing
/// rate, which is twice the real one in slow start; at most a millisecond.
fn burst_delay_us(pacing_rate: u64) -> u32 {
    let delay = (GSO_MAX_SIZE * 4 * 1_000_000).checked_div(pacing_rate).unwrap_or(0);
    delay.min(MAX_ACK_DELAY_US) as u32
}

/// One connection's state.
#[derive(Clone, Debug)]
pub struct Cubic {
    hystart_on: bool,
    fast_convergence: bool,
    tcp_friendliness: bool,
    growth: Growth,
    hystart: Hystart,
    /// In place of HyStart.
    plus_plus: Option<HystartPlusPlus>,
}

impl Cubic {
    /// A connection that has seen nothing, with the switches `cubic_*` of the options.
    pub fn new(options: &TcpOptions) -> Self {
        Self {
            hystart_on: options.cubic_hystart && !options.hystart_plus_plus,
            fast_convergence: options.cubic_fast_convergence,
            tcp_friendliness: options.cubic_tcp_friendliness,
            growth: Growth::default(),
            hystart: Hystart::default(),
            plus_plus: options.hystart_plus_plus.then(HystartPlusPlus::new),
        }
    }

    fn reset(&mut self, conn: &Conn) {
        self.growth = Growth::default();
        self.hystart.found = false;
        self.hystart.start_round(conn);
    }
}

/// A new instance.
pub(crate) fn new(options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Cubic::new(options))
}

impl CongestionControl for Cubic {
    fn init(&mut self, conn: &Conn, _window: &mut Window) {
        self.reset(conn);
    }

    fn ssthresh(&mut self, _conn: &Conn, window: &mut Window) -> u32 {
        let cwnd = window.cwnd;
        self.growth.epoch_ms = None;
        // RFC 9438 §4.7, fast convergence: a flow whose maxima fall aims half-way between its
        // window and the reduced one, so that others find room.
        self.growth.w_max = if cwnd < self.growth.w_max && self.fast_convergence {
            cwnd.wrapping_mul(BETA_SCALE + BETA) / (2 * BETA_SCALE)
        } else {
            cwnd
        };
        // RFC 9438 §4.6, of the window where the RFC takes the flight.
        (cwnd.wrapping_mul(BETA) / BETA_SCALE).max(MIN_SSTHRESH)
    }

    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, mut acked: u32) {
        if !conn.cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            if let Some(plus_plus) = &mut self.plus_plus {
                acked = plus_plus.growth(window, acked);
            }
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        self.growth.update(conn.now_ms as u32, window.cwnd, acked, self.tcp_friendliness);
        window.additive_increase(self.growth.count, acked);
    }

    fn pkts_acked(&mut self, conn: &Conn, window: &mut Window, sample: &AckSample) {
        if sample.rtt_us < 0 {
            return;
        }
        if let Some(epoch_ms) = self.growth.epoch_ms {
            if ((conn.now_ms as u32).wrapping_sub(epoch_ms) as i32) < SETTLING_MS {
                return;
            }
        }
        let rtt_us = u32::try_from(sample.rtt_us).unwrap_or(u32::MAX).clamp(1, i32::MAX as u32);
        let min_delay_us = self.growth.min_delay_us.map_or(rtt_us, |least| least.min(rtt_us));
        self.growth.min_delay_us = Some(min_delay_us);
        if let Some(plus_plus) = &mut self.plus_plus {
            plus_plus.update(conn, window, rtt_us);
        }
        if self.hystart_on && !self.hystart.found && window.in_slow_start() {
            self.hystart.update(conn, window, rtt_us, min_delay_us);
        }
    }

    fn set_state(&mut self, conn: &Conn, _window: &mut Window, state: CaState) {
        // RFC 9438 §4.8: after a time-out start over, W_max included.
        if state == CaState::Loss {
            self.reset(conn);
        }
    }

    fn cwnd_event(&mut self, conn: &Conn, _window: &mut Window, event: CaEvent) {
        if event != CaEvent::TxStart {
            return;
        }
        // RFC 9438 §4.2 and §5.8: time without data does not count; move the epoch by it.
        let now_ms = conn.now_ms as u32;
        let idle_ms = now_ms.wrapping_sub(conn.last_send_ms as u32);
        if let Some(epoch_ms) = &mut self.growth.epoch_ms {
            if idle_ms as i32 > 0 {
                let moved = epoch_ms.wrapping_add(idle_ms);
                let in_future = now_ms.wrapping_sub(moved) as i32 <= -1;
                *epoch_ms = if in_future { now_ms } else { moved };
            }
        }
    }
}

#[cfg(test)]
mod tests;
