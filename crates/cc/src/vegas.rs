//! Vegas (Brakmo, O'Malley, Peterson, "TCP Vegas: New Techniques for Congestion Detection and
//! Avoidance", SIGCOMM 1994), as Linux's tcp_vegas.c. Once per round trip it compares the window
//! with the window that would keep no packet queued, and keeps two to four packets queued.

use crate::reno::Reno;
use crate::{AckSample, CaEvent, CaState, CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

/// Queued packets below which the window grows, and above which it falls (`alpha`, `beta`).
const ALPHA: u32 = 2;
const BETA: u32 = 4;
/// Queued packets at which slow start ends (`gamma`).
const GAMMA: u32 = 1;
/// With so few samples all may be of delayed ACKs: the round is not used.
const FEW_SAMPLES: u32 = 2;
/// RTT before the first sample, microseconds.
const NO_RTT_US: u32 = 0x7fff_ffff;
const MIN_CWND: u32 = 2;

/// RTTs of a round and of the connection (`struct vegas`).
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    /// False while losses are repaired (`doing_vegas_now`).
    pub(crate) enabled: bool,
    /// Sequence number whose acknowledgement ends the round (`beg_snd_nxt`).
    end: u64,
    /// RTT samples in this round (`cntRTT`).
    samples: u32,
    /// Minimum RTT of this round, microseconds (`minRTT`).
    pub(crate) least_us: u32,
    /// Minimum RTT of the connection, microseconds (`baseRTT`).
    pub(crate) base_us: u32,
}

impl Rounds {
    /// State before the first sample.
    pub(crate) fn new() -> Self {
        Self { enabled: true, end: 0, samples: 0, least_us: NO_RTT_US, base_us: NO_RTT_US }
    }

    /// Starts to measure with the next segment (`vegas_enable`).
    fn enable(&mut self, conn: &Conn) {
        self.enabled = true;
        self.begin(conn);
    }

    /// `tcp_vegas_init`.
    pub(crate) fn restart(&mut self, conn: &Conn) {
        self.base_us = NO_RTT_US;
        self.enable(conn);
    }

    /// Begins a round.
    pub(crate) fn begin(&mut self, conn: &Conn) {
        (self.end, self.samples, self.least_us) = (conn.snd_nxt, 0, NO_RTT_US);
    }

    /// Returns true if this ACK ends the round.
    pub(crate) fn ended(&self, conn: &Conn) -> bool {
        conn.snd_una > self.end
    }

    /// Returns true if the round has enough samples.
    pub(crate) fn measured(&self) -> bool {
        self.samples > FEW_SAMPLES
    }

    /// `tcp_vegas_pkts_acked`.
    pub(crate) fn sample(&mut self, sample: &AckSample) {
        if let Ok(rtt_us) = u32::try_from(sample.rtt_us) {
            let rtt_us = rtt_us + 1; // never 0
            self.base_us = self.base_us.min(rtt_us);
            self.least_us = self.least_us.min(rtt_us);
            self.samples += 1;
        }
    }

    /// `tcp_vegas_state`.
    pub(crate) fn state(&mut self, conn: &Conn, state: CaState) {
        if state == CaState::Open {
            self.enable(conn);
        } else {
            self.enabled = false;
        }
    }

    /// An idle connection measures anew (`tcp_vegas_cwnd_event`).
    pub(crate) fn event(&mut self, conn: &Conn, event: CaEvent) {
        if matches!(event, CaEvent::CwndRestart | CaEvent::TxStart) {
            self.restart(conn);
        }
    }
}

/// State of the algorithm.
#[derive(Clone, Debug)]
pub struct Vegas {
    reno: Reno,
    rounds: Rounds,
}

/// Creates an instance.
pub(crate) fn new(options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Vegas { reno: Reno::new(options), rounds: Rounds::new() })
}

impl Vegas {
    /// Adjusts the window at the end of a round (Brakmo et al. §3.2 and §3.3).
    fn adjust(&self, window: &mut Window, acked: u32) {
        let (rtt_us, base_us) = (self.rounds.least_us, self.rounds.base_us);
        // Packets beyond those that the path holds at the base RTT ("Diff"); 32 bits, as in Linux.
        let queued = window.cwnd.wrapping_mul(rtt_us - base_us) / base_us;
        if window.in_slow_start() {
            if queued > GAMMA {
                let fitting = u64::from(window.cwnd) * u64::from(base_us) / u64::from(rtt_us);
                window.cwnd = window.cwnd.min(fitting as u32 + 1);
                window.ssthresh = window.ssthresh.min(window.cwnd);
            } else {
                window.slow_start(acked);
            }
        } else if queued > BETA {
            window.cwnd -= 1;
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if queued < ALPHA {
            window.cwnd += 1;
        }
        window.cwnd = window.cwnd.max(MIN_CWND).min(window.cwnd_clamp);
        // `tcp_current_ssthresh`: three quarters of the window at least.
        window.ssthresh = window.ssthresh.max((window.cwnd >> 1) + (window.cwnd >> 2));
    }
}

impl CongestionControl for Vegas {
    fn init(&mut self, conn: &Conn, _window: &mut Window) {
        self.rounds.restart(conn);
    }

    fn ssthresh(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        self.reno.ssthresh(conn, window)
    }

    /// `tcp_vegas_cong_avoid`.
    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, acked: u32) {
        if !self.rounds.enabled {
            self.reno.cong_avoid(conn, window, acked);
        } else if self.rounds.ended(conn) {
            if self.rounds.measured() {
                self.adjust(window, acked);
            } else {
                self.reno.cong_avoid(conn, window, acked);
            }
            self.rounds.begin(conn);
        } else if window.in_slow_start() {
            window.slow_start(acked);
        }
    }

    fn pkts_acked(&mut self, _conn: &Conn, _window: &mut Window, sample: &AckSample) {
        self.rounds.sample(sample);
    }

    fn set_state(&mut self, conn: &Conn, _window: &mut Window, state: CaState) {
        self.rounds.state(conn, state);
    }

    fn cwnd_event(&mut self, conn: &Conn, _window: &mut Window, event: CaEvent) {
        self.rounds.event(conn, event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::{avoiding, conn};

    /// A round at this RTT, and the window after it.
    fn after_round(window: &mut Window, rtt_us: i64) -> u32 {
        let mut vegas = Vegas { reno: Reno::default(), rounds: Rounds::new() };
        vegas.rounds.base_us = 10_001;
        for _ in 0..3 {
            let sample = AckSample { pkts_acked: 1, rtt_us, in_flight: 1 };
            vegas.pkts_acked(&conn(0), window, &sample);
        }
        let acking = Conn { snd_una: 1, snd_nxt: 1000, ..conn(0) };
        vegas.cong_avoid(&acking, window, 1);
        window.cwnd
    }

    /// Brakmo et al. §3.2: the window grows, stays, falls by one.
    #[test]
    fn two_to_four_packets_stay_queued() {
        for (queued, cwnd) in [(0, 101), (1, 101), (2, 100), (3, 100), (4, 100), (5, 99), (30, 99)]
        {
            let rtt_us = 10_000 + 101 * queued; // of 100 packets, so many wait
            assert_eq!(after_round(&mut avoiding(100), rtt_us), cwnd, "{queued}");
        }
    }

    #[test]
    fn slow_start_ends_at_two_queued_packets() {
        let mut window = Window::new(100);
        assert_eq!(after_round(&mut window, 10_100), 101);
        let mut window = Window::new(100);
        assert_eq!(after_round(&mut window, 10_300), 98, "the path holds 97 packets");
        assert!(!window.in_slow_start());
    }
}
