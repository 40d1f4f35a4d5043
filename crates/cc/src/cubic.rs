//! CUBIC: RFC 9438, as Linux's tcp_cubic.c, with HyStart (Ha & Rhee, "Taming the Elephants: New
//! TCP Slow Start", Computer Networks 55, 2011).
//!
//! After a loss the window follows W(t) = C·(t−K)³ + W_max (RFC 9438 §4.2): steep at first, flat
//! around the window of the last loss, steep again beyond it. All arithmetic is on integers, with
//! time in 1024ths of a second. Products wrap as Linux's do. This shows only beyond about 2.4
//! million packets, or 347 s from the plateau (16.7 million packets above it).

use crate::start_up::StartUp;
use crate::{AckSample, CaEvent, CaState, CongestionControl, Conn, Window};
use dumbbell_model::{Search as Against, TcpOptions};

/// β_cubic in 1024ths: 0.7002. Deviation: 0.7 in RFC 9438 §4.6.
pub const BETA: u32 = 717;
const BETA_SCALE: u32 = 1024;

/// C in 1024ths, packets per s³: 0.40039. Deviation: 0.4 in RFC 9438 §5.1. Linux writes 41/1024 per
/// RTT of 100 ms, and a second has ten of these.
const CUBE_SCALE: u32 = 41 * 10;

/// Time scale: 2⁻¹⁰ s.
const TIME_SHIFT: u32 = 10;
/// Scale of C·t³: 10 bits of C and three times 10 bits of t.
const CUBE_SHIFT: u32 = 10 + 3 * TIME_SHIFT;

/// K³ = (W_max − cwnd)·1/C in (2⁻¹⁰ s)³ (RFC 9438 §4.2, equation 2).
const CUBE_FACTOR: u64 = (1 << CUBE_SHIFT) / CUBE_SCALE as u64;

/// ACKed packets per window and packet of Reno-friendly growth, in eighths: 1/α with α =
/// 3(1−β)/(1+β) (RFC 9438 §4.3). Truncation to 15/8 makes α 0.533 instead of 0.529. Linux keeps
/// this α above W_max, where the RFC continues with 1.
const FRIENDLY_SCALE: u32 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);

/// ACKed packets per packet of growth before the first loss: 5 % per RTT. Only in Linux.
const MAX_COUNT_WITHOUT_LOSS: u32 = 20;
/// Minimum `count`: 1.5 times the window per RTT (RFC 9438 §4.2: the target is at most 1.5·cwnd).
const MIN_COUNT: u32 = 2;
/// Windows per packet of growth where the curve is at or below the window.
const STANDSTILL: u32 = 100;

/// Lifetime of `count` while the window does not change: HZ/32.
const UPDATE_INTERVAL_MS: i32 = 31;

/// Minimum threshold, packets (RFC 9438 §4.6).
const MIN_SSTHRESH: u32 = 2;

/// Minimum window of HyStart, packets (16 in Ha & Rhee, too).
pub const HYSTART_LOW_WINDOW: u32 = 16;
/// Maximum distance between ACKs of a train (2 ms in Ha & Rhee, too).
const HYSTART_ACK_DELTA_US: i32 = 2000;
/// RTT samples per round before their minimum counts.
const HYSTART_MIN_SAMPLES: u32 = 8;
/// Bounds of the tolerated delay increase, which is an eighth of the minimum RTT (Ha & Rhee, delay
/// increase; RFC 9406 §4.3 has 4 and 16 ms, too).
const HYSTART_DELAY_MIN_US: u32 = 4000;
const HYSTART_DELAY_MAX_US: u32 = 16_000;
/// Time after a reduction in which RTT samples see the queue before the loss.
const SETTLING_MS: i32 = 1000;
/// Maximum burst of a socket, bytes: GSO_LEGACY_MAX_SIZE less MAX_TCP_HEADER (320) and 1.
const GSO_MAX_SIZE: u64 = 65_536 - 320 - 1;
/// Maximum that bursts add to the length of the ACK train, microseconds.
const MAX_ACK_DELAY_US: u64 = 1000;

/// First guess of [`cube_root`]: about 64 times the cube root of 8 … 63. Willy Tarreau tuned the
/// values by hand for the smallest error after one Newton step. Their deviation from 64·∛x (+10 at
/// the low end, +6 to +10 elsewhere) follows no closed form, so they cannot be recomputed.
const CUBE_ROOT_GUESS: [u16; 56] = [
    133, 139, 144, 148, 153, 157, 161, 166, 167, 171, 174, 178, 180, 183, 186, 189, 191, 195, 197,
    200, 202, 204, 207, 209, 210, 212, 214, 216, 219, 221, 223, 225, 227, 229, 231, 232, 234, 235,
    237, 239, 241, 242, 244, 246, 247, 249, 250, 252, 254, 255, 256, 258, 260, 261, 262, 264,
];

/// Cube root as Linux computes it: a guess from the four to six highest bits and one Newton step.
/// The error is at most 0.2 % where K is computed (0.03 % in the mean). Below a million, the result
/// is the exact root rounded down or up. The error appears as a slightly wrong K.
fn cube_root(a: u64) -> u32 {
    // Below 64: the nearest integer, except for 42 (3.48), which the table rounds up.
    match a {
        0 => return 0,
        1..=3 => return 1,
        4..=15 => return 2,
        16..=41 => return 3,
        42..=63 => return 4,
        _ => {}
    }
    // A third of the bits, less one: 8 … 63 remains above 3·shift bits.
    let bits = u64::BITS - a.leading_zeros();
    let shift = ((bits * 84) >> 8) - 1;
    let top = (a >> (3 * shift)) as usize;
    let x = (u32::from(CUBE_ROOT_GUESS[top - 8]) << shift) >> 6;
    // Newton: x ← (2x + a/x²)/3, with x(x−1) for x² and 341/1024 for 1/3.
    let x = 2 * x + (a / (u64::from(x) * u64::from(x - 1))) as u32;
    (x * 341) >> 10
}

/// State of the window's growth, cleared by a time-out.
#[derive(Clone, Debug, Default)]
struct Growth {
    /// ACKed packets per packet of growth.
    count: u32,
    /// W_max: window before the last reduction; 0 before the first.
    w_max: u32,
    /// Window for which `count` was computed.
    last_cwnd: u32,
    /// Time at which `count` was computed, milliseconds.
    last_update_ms: u32,
    /// Height of the curve's plateau.
    origin: u32,
    /// K: time from the epoch's start to the plateau, 2⁻¹⁰ s.
    k: u32,
    /// Minimum RTT, microseconds.
    min_delay_us: Option<u32>,
    /// Start of the epoch, milliseconds. Linux writes "none" as 0, so an epoch that begins at tick
    /// 0 restarts there. An option has no such gap.
    epoch_ms: Option<u32>,
    /// ACKed packets not yet counted in `reno_cwnd`.
    acked: u32,
    /// W_est: window that Reno would have, packets.
    reno_cwnd: u32,
}

impl Growth {
    /// Starts an epoch. RFC 9438 §4.2, equation 2: K = ∛((W_max − cwnd)/C), or 0 beyond W_max. Slow
    /// start or fast convergence may have put W_max below the window.
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

    /// Target window one minimum RTT ahead, W(t + RTT): RFC 9438 §4.2, equation 1.
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

    /// ACKed packets per packet of growth that reach the target within one RTT (§4.4, §4.5).
    fn cubic_count(&self, now_ms: u32, epoch_ms: u32, cwnd: u32) -> u32 {
        let target = self.target(now_ms, epoch_ms);
        let count =
            if target > cwnd { cwnd / (target - cwnd) } else { cwnd.wrapping_mul(STANDSTILL) };
        // Before the first loss the curve alone grows too slowly.
        if self.w_max == 0 {
            count.min(MAX_COUNT_WITHOUT_LOSS)
        } else {
            count
        }
    }

    /// Limits `count` so that growth is never slower than Reno's with the same β (RFC 9438 §4.3).
    fn stay_reno_friendly(&mut self, cwnd: u32) {
        let per_packet = (cwnd.wrapping_mul(FRIENDLY_SCALE) >> 3).max(1);
        let grown = self.acked.saturating_sub(1) / per_packet;
        self.acked -= grown * per_packet;
        self.reno_cwnd = self.reno_cwnd.wrapping_add(grown);
        if self.reno_cwnd > cwnd {
            self.count = self.count.min(cwnd / (self.reno_cwnd - cwnd));
        }
    }

    /// Recomputes `count` after `acked` more packets.
    fn update(&mut self, now_ms: u32, cwnd: u32, acked: u32, friendly: bool) {
        self.acked = self.acked.wrapping_add(acked);
        let elapsed_ms = now_ms.wrapping_sub(self.last_update_ms) as i32;
        if self.last_cwnd == cwnd && elapsed_ms <= UPDATE_INTERVAL_MS {
            return;
        }
        // The curve moves once per millisecond at most. A new epoch is always computed.
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

/// State of HyStart's round. Clocks are 32 bits wide and wrap, as Linux's do.
#[derive(Clone, Debug, Default)]
struct Hystart {
    /// True after the exit point was found. A time-out clears it.
    found: bool,
    round_start_us: u32,
    /// Sequence number whose acknowledgement ends the round.
    round_end: u64,
    /// Time of the train's last ACK, microseconds.
    last_ack_us: u32,
    /// Minimum RTT of the round, microseconds.
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

    /// ACK train of Ha & Rhee: returns true if closely spaced ACKs last for half the minimum RTT,
    /// which means that the window fills the pipe. A paced sender needs the whole minimum RTT.
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

    /// Delay increase of Ha & Rhee: returns true if the round's minimum RTT has clearly risen.
    fn delay_has_risen(&mut self, rtt_us: u32, min_delay_us: u32) -> bool {
        self.round_rtt_us = self.round_rtt_us.min(rtt_us);
        if self.samples < HYSTART_MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let tolerated = (min_delay_us / 8).clamp(HYSTART_DELAY_MIN_US, HYSTART_DELAY_MAX_US);
        self.round_rtt_us > min_delay_us + tolerated
    }

    /// Processes an RTT sample. Ends slow start by setting the threshold to the window.
    fn update(&mut self, conn: &Conn, window: &mut Window, rtt_us: u32, min_delay_us: u32) {
        if conn.snd_una > self.round_end {
            self.start_round(conn);
        }
        if window.cwnd < HYSTART_LOW_WINDOW {
            return;
        }
        // Both detectors need every sample, whichever of them finds the exit.
        let train = self.train_is_long(conn, window, min_delay_us);
        let delay = self.delay_has_risen(rtt_us, min_delay_us);
        if train || delay {
            self.found = true;
            window.ssthresh = window.cwnd;
        }
    }
}

/// Time that TSO bursts may add to an ACK train, microseconds: four of the largest bursts at the
/// pacing rate, which is twice the sending rate in slow start. At most one millisecond.
fn burst_delay_us(pacing_rate: u64) -> u32 {
    let delay = (GSO_MAX_SIZE * 4 * 1_000_000).checked_div(pacing_rate).unwrap_or(0);
    delay.min(MAX_ACK_DELAY_US) as u32
}

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Cubic {
    hystart_on: bool,
    fast_convergence: bool,
    tcp_friendliness: bool,
    growth: Growth,
    hystart: Hystart,
    start: StartUp,
}

impl Cubic {
    /// Initial state, with the switches `cubic_*` of the options.
    pub fn new(options: &TcpOptions) -> Self {
        Self {
            // HyStart++ and SEARCH replace HyStart.
            hystart_on: options.cubic_hystart
                && !options.hystart_plus_plus
                && options.search == Against::Off,
            fast_convergence: options.cubic_fast_convergence,
            tcp_friendliness: options.cubic_tcp_friendliness,
            growth: Growth::default(),
            hystart: Hystart::default(),
            start: StartUp::new(options),
        }
    }

    fn reset(&mut self, conn: &Conn) {
        self.growth = Growth::default();
        self.hystart.found = false;
        self.hystart.start_round(conn);
    }
}

/// Creates an instance.
pub(crate) fn new(options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Cubic::new(options))
}

impl CongestionControl for Cubic {
    fn init(&mut self, conn: &Conn, _window: &mut Window) {
        self.reset(conn);
    }

    fn ssthresh(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        let cwnd = window.cwnd;
        self.growth.epoch_ms = None;
        // RFC 9438 §4.7, fast convergence: a flow whose maxima fall yields bandwidth by aiming
        // half-way between its window and the reduced window.
        self.growth.w_max = if cwnd < self.growth.w_max && self.fast_convergence {
            cwnd.wrapping_mul(BETA_SCALE + BETA) / (2 * BETA_SCALE)
        } else {
            cwnd
        };
        if let Some(threshold) = self.start.congested(conn, window) {
            return threshold;
        }
        // RFC 9438 §4.6. Linux reduces the window where the RFC reduces the flight.
        (cwnd.wrapping_mul(BETA) / BETA_SCALE).max(MIN_SSTHRESH)
    }

    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, mut acked: u32) {
        if !conn.cwnd_limited || self.start.holds() {
            return;
        }
        if window.in_slow_start() {
            acked = self.start.slow_start(window, acked);
            if acked == 0 {
                return;
            }
        }
        self.growth.update(conn.now_ms as u32, window.cwnd, acked, self.tcp_friendliness);
        window.additive_increase(self.growth.count, acked);
    }

    fn growth_limit(&self, window: &Window, flight: u32) -> Option<u32> {
        let growth = if window.in_slow_start() {
            flight
        } else {
            flight.checked_div(self.growth.count).unwrap_or(0).max(1)
        };
        Some(flight.saturating_add(growth))
    }

    fn pkts_acked(&mut self, conn: &Conn, window: &mut Window, sample: &AckSample) {
        self.start.acked(conn, window);
        if self.start.holds() || sample.rtt_us < 0 {
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
        self.start.sampled(conn, window, rtt_us);
        if self.hystart_on && !self.hystart.found && window.in_slow_start() {
            self.hystart.update(conn, window, rtt_us, min_delay_us);
        }
    }

    fn undo_cwnd(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        self.start.undone(conn, window).unwrap_or(window.cwnd.max(conn.prior_cwnd))
    }

    fn pacing_ratio(&self) -> Option<u32> {
        self.start.pacing_ratio()
    }

    fn phase(&self) -> &'static str {
        self.start.phase()
    }

    fn set_state(&mut self, conn: &Conn, window: &mut Window, state: CaState) {
        self.start.state(conn, window, state);
        // RFC 9438 §4.8: a time-out clears all state, W_max included.
        if state == CaState::Loss {
            self.reset(conn);
        }
    }

    fn cwnd_event(&mut self, conn: &Conn, _window: &mut Window, event: CaEvent) {
        self.start.event(event);
        if event != CaEvent::TxStart {
            return;
        }
        // RFC 9438 §4.2 and §5.8: idle time does not count, so the epoch moves by it.
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
