//! H-TCP (Leith and Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
//! draft-leith-tcp-htcp-06), as Linux's tcp_htcp.c. The window grows faster, the longer the last
//! loss is ago. A loss reduces it to the share of the RTT that is not queueing.

use crate::{AckSample, CaState, CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

/// Fraction bits of growth and reduction.
const SHIFT: u32 = 7;
const ALPHA_BASE: u32 = 1 << SHIFT;
/// Bounds of the reduction: 0.5 and 0.8 (draft §4).
const BETA_MIN: u32 = 1 << 6;
const BETA_MAX: u32 = 102;
/// Jiffies per second.
const HZ: u32 = 1000;
/// The maximum RTT grows by 20 ms at most per sample (`measure_rtt`).
const RTT_STEP_MS: u32 = 20;
/// Shorter minimum RTTs do not adapt the reduction (`htcp_beta_update`).
const SHORT_RTT_MS: u32 = 10;
const MIN_SSTHRESH: u32 = 2;

/// State that a congestion event changes and an undo restores (`undo_*`).
#[derive(Clone, Copy, Debug)]
struct Before {
    last_loss_ms: u32,
    max_rtt_ms: u32,
    old_max_rate: u32,
}

/// State of the algorithm (`struct htcp`).
#[derive(Clone, Debug, Default)]
pub struct Htcp {
    /// Growth per round trip, packets with 7 fraction bits.
    alpha: u32,
    /// Share of the window that a loss leaves, 7 fraction bits.
    beta: u32,
    /// True after the first loss with a steady rate (`modeswitch`).
    adapts: bool,
    /// Packets of the last ACK in Open state.
    acked: u32,
    /// Packets of the current measurement (`packetcount`).
    packets: u32,
    /// Smallest and largest RTT, ms; 0 before the first sample.
    min_rtt_ms: u32,
    max_rtt_ms: u32,
    /// Time of the last congestion event.
    last_loss_ms: u32,
    before: Option<Before>,
    /// Rates, packets/s: the largest since the last loss, that of the loss before, the current.
    max_rate: u32,
    old_max_rate: u32,
    rate: u32,
    /// Start of the current measurement (`lasttime`).
    measured_ms: u32,
}

/// Creates an instance.
pub(crate) fn new(_options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Htcp::default())
}

/// Time in jiffies, 32 bits as in Linux.
fn now_ms(conn: &Conn) -> u32 {
    conn.now_ms as u32
}

impl Htcp {
    /// `measure_rtt`.
    fn measure_rtt(&mut self, conn: &Conn, rtt_ms: u32) {
        if self.min_rtt_ms > rtt_ms || self.min_rtt_ms == 0 {
            self.min_rtt_ms = rtt_ms;
        }
        if conn.state == CaState::Open {
            self.max_rtt_ms = self.max_rtt_ms.max(self.min_rtt_ms);
            if self.max_rtt_ms < rtt_ms && rtt_ms <= self.max_rtt_ms + RTT_STEP_MS {
                self.max_rtt_ms = rtt_ms;
            }
        }
    }

    /// Rate over a window of packets (`measure_achieved_throughput`).
    fn measure_rate(&mut self, conn: &Conn, window: &Window, acked: u32) {
        let now = now_ms(conn);
        if conn.state > CaState::Disorder {
            (self.packets, self.measured_ms) = (0, now);
            return;
        }
        self.packets += acked;
        let elapsed_ms = now.wrapping_sub(self.measured_ms);
        let whole = window.cwnd.wrapping_sub((self.alpha >> SHIFT).max(1));
        if self.packets < whole || elapsed_ms < self.min_rtt_ms || self.min_rtt_ms == 0 {
            return;
        }
        let rate = self.packets.wrapping_mul(HZ) / elapsed_ms.max(1);
        if now.wrapping_sub(self.last_loss_ms) / self.min_rtt_ms <= 3 {
            (self.max_rate, self.rate) = (rate, rate); // just after a reduction
        } else {
            self.rate = (3 * self.rate + rate) / 4;
            self.max_rate = self.max_rate.max(self.rate);
        }
        (self.packets, self.measured_ms) = (0, now);
    }

    /// Draft §4: the reduction empties the queue, unless the rate is not steady
    /// (`htcp_beta_update`).
    fn update_beta(&mut self) {
        let (rate, old) = (self.max_rate, self.old_max_rate);
        self.old_max_rate = rate;
        // Changed by more than a fifth (`between`, 32 bits).
        let span = (6 * old).wrapping_sub(4 * old);
        if (5 * rate).wrapping_sub(4 * old) > span {
            (self.beta, self.adapts) = (BETA_MIN, false);
        } else if self.adapts && self.min_rtt_ms > SHORT_RTT_MS && self.max_rtt_ms > 0 {
            self.beta = ((self.min_rtt_ms << SHIFT) / self.max_rtt_ms).clamp(BETA_MIN, BETA_MAX);
        } else {
            (self.beta, self.adapts) = (BETA_MIN, true);
        }
    }

    /// Draft §3: growth by the seconds since the last loss beyond the first, scaled by the RTT
    /// (`htcp_alpha_update`).
    fn update_alpha(&mut self, conn: &Conn) {
        let mut since_ms = now_ms(conn).wrapping_sub(self.last_loss_ms);
        let mut factor = 1;
        if since_ms > HZ {
            since_ms -= HZ;
            let half = since_ms / 2;
            factor =
                1 + 10u32.wrapping_mul(since_ms).wrapping_add(half.wrapping_mul(half) / HZ) / HZ;
        }
        if self.min_rtt_ms > 0 {
            let scale = ((HZ << 3) / (10 * self.min_rtt_ms)).clamp(1 << 2, 10 << 3);
            factor = ((factor << 3) / scale).max(1);
        }
        self.alpha = 2u32.wrapping_mul(factor).wrapping_mul((1 << SHIFT) - self.beta);
        if self.alpha == 0 {
            self.alpha = ALPHA_BASE;
        }
    }
}

impl CongestionControl for Htcp {
    fn init(&mut self, conn: &Conn, _window: &mut Window) {
        *self = Self {
            alpha: ALPHA_BASE,
            beta: BETA_MIN,
            acked: 1,
            last_loss_ms: now_ms(conn),
            ..Self::default()
        };
    }

    /// `htcp_recalc_ssthresh`.
    fn ssthresh(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        self.update_beta();
        self.update_alpha(conn);
        if self.min_rtt_ms > 0 && self.max_rtt_ms > self.min_rtt_ms {
            // Fading memory: the path may have changed.
            let queueing_ms = self.max_rtt_ms - self.min_rtt_ms;
            self.max_rtt_ms = self.min_rtt_ms + queueing_ms * 95 / 100;
        }
        ((window.cwnd * self.beta) >> SHIFT).max(MIN_SSTHRESH)
    }

    /// `htcp_cong_avoid`.
    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, acked: u32) {
        if !conn.cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            window.slow_start(acked);
            return;
        }
        if window.cwnd_cnt.wrapping_mul(self.alpha) >> SHIFT >= window.cwnd {
            if window.cwnd < window.cwnd_clamp {
                window.cwnd += 1;
            }
            window.cwnd_cnt = 0;
            self.update_alpha(conn);
        } else {
            window.cwnd_cnt += self.acked;
        }
        self.acked = 1;
    }

    fn pkts_acked(&mut self, conn: &Conn, window: &mut Window, sample: &AckSample) {
        if conn.state == CaState::Open {
            self.acked = sample.pkts_acked;
        }
        if sample.rtt_us > 0 {
            // usecs_to_jiffies rounds up.
            self.measure_rtt(conn, (sample.rtt_us as u64).div_ceil(1000) as u32);
        }
        self.measure_rate(conn, window, sample.pkts_acked);
    }

    /// `htcp_state`.
    fn set_state(&mut self, conn: &Conn, _window: &mut Window, state: CaState) {
        match state {
            CaState::Open => {
                if self.before.take().is_some() {
                    self.last_loss_ms = now_ms(conn);
                }
            }
            CaState::Disorder => {}
            CaState::Cwr | CaState::Recovery | CaState::Loss => {
                self.before = Some(Before {
                    last_loss_ms: self.last_loss_ms,
                    max_rtt_ms: self.max_rtt_ms,
                    old_max_rate: self.old_max_rate,
                });
                self.last_loss_ms = now_ms(conn);
            }
        }
    }

    /// `htcp_cwnd_undo`.
    fn undo_cwnd(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        if let Some(before) = self.before.take() {
            self.last_loss_ms = before.last_loss_ms;
            self.max_rtt_ms = before.max_rtt_ms;
            self.old_max_rate = before.old_max_rate;
        }
        window.cwnd.max(conn.prior_cwnd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::conn;

    /// Draft §3: α = 1 + 10 (Δ − 1) + ((Δ − 1) / 2)², times 2 (1 − β), at 100 ms without scaling.
    #[test]
    fn growth_follows_the_time_since_the_loss() {
        for (since_ms, alpha) in [(500, 1), (1000, 1), (2000, 11), (3000, 22), (11_000, 126)] {
            let mut htcp = Htcp { beta: BETA_MIN, min_rtt_ms: 100, ..Htcp::default() };
            htcp.update_alpha(&conn(since_ms));
            assert_eq!(htcp.alpha >> SHIFT, alpha, "{since_ms}");
        }
    }

    #[test]
    fn a_reduction_leaves_what_the_path_holds() {
        let steady = Htcp {
            adapts: true,
            min_rtt_ms: 60,
            max_rtt_ms: 100,
            max_rate: 100,
            old_max_rate: 100,
            ..Htcp::default()
        };
        let mut window = Window::new(100);
        assert_eq!(steady.clone().ssthresh(&conn(0), &mut window), 59);
        let changed = Htcp { max_rate: 130, ..steady.clone() }.ssthresh(&conn(0), &mut window);
        assert_eq!(changed, 50, "the rate is not steady");
        let deep = Htcp { max_rtt_ms: 1000, ..steady }.ssthresh(&conn(0), &mut window);
        assert_eq!(deep, 50, "at least half");
    }
}
