//! Veno (Fu and Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks",
//! IEEE JSAC 21(2), 2003), as Linux's tcp_veno.c. As Vegas, it estimates the packets queued. With
//! few of them, a loss counts as random, and the window falls by a fifth.

use crate::reno::Reno;
use crate::{AckSample, CaEvent, CaState, CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

/// Fraction bits of the queued packets.
const SHIFT: u32 = 1;
/// Queued packets from which on the path is congested (Fu and Liew §II-A: β = 3).
const BETA: u32 = 3 << SHIFT;
/// With so few samples, the window is Reno's.
const FEW_SAMPLES: u16 = 2;
/// RTT before the first sample, microseconds.
const NO_RTT_US: u32 = 0x7fff_ffff;
const MIN_CWND: u32 = 2;

/// State of the algorithm (`struct veno`).
#[derive(Clone, Debug)]
pub struct Veno {
    reno: Reno,
    /// False while losses are repaired (`doing_veno_now`).
    enabled: bool,
    /// RTT samples of the connection; it overflows as in Linux (`cntrtt`).
    samples: u16,
    /// Minimum RTT since the last ACK, microseconds (`minrtt`).
    least_us: u32,
    /// Minimum RTT of the connection, microseconds (`basertt`).
    base_us: u32,
    /// True if the next window of ACKs grows a congested window (`inc`).
    grow: bool,
    /// Queued packets, with a fraction bit (`diff`).
    queued: u32,
}

/// Creates an instance.
pub(crate) fn new(options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Veno::new(Reno::new(options)))
}

impl Veno {
    fn new(reno: Reno) -> Self {
        Self {
            reno,
            enabled: true,
            samples: 0,
            least_us: NO_RTT_US,
            base_us: NO_RTT_US,
            grow: true,
            queued: 0,
        }
    }

    /// `tcp_veno_init`.
    fn restart(&mut self) {
        (self.base_us, self.grow) = (NO_RTT_US, true);
        (self.enabled, self.least_us) = (true, NO_RTT_US);
    }

    /// Grows every round while few packets wait, else every second (Fu and Liew §II-B).
    fn grow(&mut self, window: &mut Window, acked: u32) {
        if self.queued < BETA {
            window.additive_increase(window.cwnd, acked);
        } else if window.cwnd_cnt >= window.cwnd {
            self.grow = if self.grow && window.cwnd < window.cwnd_clamp {
                window.cwnd += 1;
                false
            } else {
                true
            };
            window.cwnd_cnt = 0;
        } else {
            window.cwnd_cnt += acked;
        }
    }
}

impl CongestionControl for Veno {
    fn init(&mut self, _conn: &Conn, _window: &mut Window) {
        self.restart();
    }

    /// Fu and Liew §II-C: four fifths after a random loss, half after one by congestion.
    fn ssthresh(&mut self, _conn: &Conn, window: &mut Window) -> u32 {
        let left = if self.queued < BETA { window.cwnd * 4 / 5 } else { window.cwnd >> 1 };
        left.max(MIN_CWND)
    }

    /// `tcp_veno_cong_avoid`.
    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, mut acked: u32) {
        if !self.enabled {
            self.reno.cong_avoid(conn, window, acked);
            return;
        }
        if !conn.cwnd_limited {
            return;
        }
        if self.samples <= FEW_SAMPLES {
            self.reno.cong_avoid(conn, window, acked);
        } else {
            let fitting = (u64::from(window.cwnd) * u64::from(self.base_us)) << SHIFT;
            let fitting = (fitting / u64::from(self.least_us)) as u32;
            self.queued = (window.cwnd << SHIFT).wrapping_sub(fitting);
            if window.in_slow_start() {
                acked = window.slow_start(acked);
            }
            if acked > 0 {
                self.grow(window, acked);
            }
            window.cwnd = window.cwnd.max(MIN_CWND).min(window.cwnd_clamp);
        }
        self.least_us = NO_RTT_US;
    }

    fn pkts_acked(&mut self, _conn: &Conn, _window: &mut Window, sample: &AckSample) {
        if let Ok(rtt_us) = u32::try_from(sample.rtt_us) {
            let rtt_us = rtt_us + 1; // never 0
            self.base_us = self.base_us.min(rtt_us);
            self.least_us = self.least_us.min(rtt_us);
            self.samples = self.samples.wrapping_add(1);
        }
    }

    fn set_state(&mut self, _conn: &Conn, _window: &mut Window, state: CaState) {
        self.enabled = state == CaState::Open;
        if self.enabled {
            self.least_us = NO_RTT_US;
        }
    }

    fn cwnd_event(&mut self, _conn: &Conn, _window: &mut Window, event: CaEvent) {
        if matches!(event, CaEvent::CwndRestart | CaEvent::TxStart) {
            self.restart();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::{avoiding, conn};

    /// A sender in congestion avoidance whose packets wait for so long.
    fn waiting(window: &mut Window, queueing_us: i64) -> Veno {
        let mut veno = Veno::new(Reno::default());
        for rtt_us in [10_000, 10_000, 10_000 + queueing_us] {
            veno.least_us = NO_RTT_US;
            let sample = AckSample { pkts_acked: 1, rtt_us, in_flight: 1 };
            veno.pkts_acked(&conn(0), window, &sample);
        }
        veno.cong_avoid(&conn(0), window, 1);
        veno
    }

    #[test]
    fn a_loss_with_a_short_queue_costs_a_fifth_and_else_a_half() {
        let mut window = avoiding(100);
        assert_eq!(waiting(&mut window, 200).ssthresh(&conn(0), &mut window), 80, "2 wait");
        assert_eq!(waiting(&mut window, 500).ssthresh(&conn(0), &mut window), 50, "5 wait");
    }

    #[test]
    fn a_congested_window_grows_every_second_round() {
        let mut window = avoiding(10);
        let mut veno = waiting(&mut window, 9000);
        let mut acks = 1;
        while window.cwnd < 12 {
            let sample = AckSample { pkts_acked: 1, rtt_us: 19_000, in_flight: 1 };
            veno.pkts_acked(&conn(0), &mut window, &sample);
            veno.cong_avoid(&conn(0), &mut window, 1);
            acks += 1;
        }
        // An increase of 10 and one of 11, after windows without one; a window takes one ACK more.
        assert_eq!(acks, 11 + (12 + 12));
    }
}
