//! Careful Resume (RFC 9959): a connection over a known path jumps to half of the window that an
//! earlier one had there, once its first data have arrived, and takes the jump back if it loses.
//!
//! The saved window and RTT are options of the host; the Observing Phase (§3.1) is not modelled.
//! Windows and PipeSize are in packets. What the RFC says of sending is seen at the next ACK.

use crate::{CaState, Conn, Window};
use dumbbell_model::TcpOptions;

/// Maximum jump: the inverse of the share of the saved window (§3.3).
const JUMP_DIVISOR: u32 = 2;
/// An RTT of at most the saved one over this is another path (§3.2).
const RTT_DIVISOR: u32 = 2;
/// An RTT above this many times the saved one is another path (§4.2.1).
const RTT_FACTOR: u32 = 10;
/// Divisor of PipeSize in Safe Retreat, for the window at first and the threshold at last (§3.5: half,
/// and Beta of 0.5 by default).
const RETREAT_DIVISOR: u32 = 2;
/// Minimum threshold, packets (RFC 5681 §3.1, equation 4).
const MIN_SSTHRESH: u32 = 2;

/// Phase (§3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The initial data are on their way; its end is known from the first ACK on.
    Reconnaissance { end: Option<u64> },
    /// The jump is being sent, from the byte `first` and the time `start_us` on.
    Unvalidated { first: u64, start_us: u64 },
    /// All of the jump was sent, up to the byte `end`.
    Validating { end: u64 },
    /// A loss or mark was seen. `end` is that of the jump.
    SafeRetreat { end: u64 },
    /// Careful Resume is over.
    Normal,
}

/// State of one connection.
#[derive(Clone, Debug)]
pub struct CarefulResume {
    saved_cwnd: u32,
    saved_rtt_us: u32,
    initial_cwnd: u32,
    phase: Phase,
    /// Capacity that the path has shown (`PipeSize`).
    pipe: u32,
    /// Packets delivered at the last ACK.
    delivered: u64,
    /// Packets marked lost before the jump.
    lost: u64,
}

impl CarefulResume {
    /// Initial state; `None` without a saved window.
    pub fn new(options: &TcpOptions) -> Option<Self> {
        let us = options.saved_rtt.as_ns() / 1000;
        (options.saved_cwnd > 0).then(|| Self {
            saved_cwnd: options.saved_cwnd,
            saved_rtt_us: u32::try_from(us).unwrap_or(u32::MAX),
            initial_cwnd: options.initcwnd,
            phase: Phase::Reconnaissance { end: None },
            pipe: 0,
            delivered: 0,
            lost: 0,
        })
    }

    /// Returns true while the window is not to grow, and slow start does not look for its end: what is
    /// acknowledged was sent before the jump (§3.3), or the window is held (§3.5).
    pub fn holds(&self) -> bool {
        matches!(self.phase, Phase::Unvalidated { .. } | Phase::SafeRetreat { .. })
    }

    /// Pacing rate in percent of a window per RTT, where Careful Resume sets it: the jump is spread over
    /// the current RTT (§3.3, §4.3).
    pub fn pacing_ratio(&self) -> Option<u32> {
        matches!(self.phase, Phase::Unvalidated { .. }).then_some(100)
    }

    /// Processes an ACK.
    pub fn acked(&mut self, conn: &Conn, window: &mut Window) {
        let newly = conn.delivered.saturating_sub(self.delivered);
        self.delivered = conn.delivered;
        match self.phase {
            Phase::Reconnaissance { end } => {
                // Nothing was sent since the initial data when the first ACK arrives.
                let end = end.unwrap_or(conn.snd_nxt);
                self.phase = Phase::Reconnaissance { end: Some(end) };
                self.reconnoitre(conn, window, end);
                return;
            }
            Phase::Normal => return,
            _ => {}
        }
        // §3.3 to §3.5: every ACK shows capacity.
        self.pipe = self.pipe.saturating_add(u32::try_from(newly).unwrap_or(u32::MAX));
        match self.phase {
            Phase::Unvalidated { first, start_us } => {
                // §3.3: the jump is in flight, or one of its packets arrived, or an RTT is over.
                let rtt_us = u64::from(conn.srtt_us8 >> 3);
                if conn.in_flight >= window.cwnd
                    || conn.snd_una > first
                    || conn.now_us > start_us + rtt_us
                {
                    self.end_jump(conn, window);
                }
            }
            // §3.4: the last packet of the jump arrived.
            Phase::Validating { end } if conn.snd_una >= end => self.phase = Phase::Normal,
            _ => {}
        }
    }

    /// Jumps once the initial data have arrived, if the path is the known one (§3.2).
    fn reconnoitre(&mut self, conn: &Conn, window: &mut Window, end: u64) {
        if conn.snd_una < end {
            return;
        }
        let rtt_us = u64::from(conn.min_rtt_us);
        let saved_us = u64::from(self.saved_rtt_us);
        let other = rtt_us * u64::from(RTT_DIVISOR) <= saved_us
            || rtt_us > saved_us * u64::from(RTT_FACTOR);
        let jump = (self.saved_cwnd / JUMP_DIVISOR).min(window.cwnd_clamp);
        if other || jump <= window.cwnd || !window.in_slow_start() {
            self.phase = Phase::Normal;
            return;
        }
        // §3.2: the jump waits until there is more to send than the window lets out.
        if !conn.cwnd_limited {
            return;
        }
        // §3.3: PipeSize begins with the flight.
        (self.pipe, self.lost) = (conn.in_flight, conn.lost);
        window.cwnd = jump;
        window.pacing = true;
        self.phase = Phase::Unvalidated { first: conn.snd_nxt, start_us: conn.now_us };
    }

    /// Ends the jump: with what was sent of it, the window is the flight (§3.3, §3.4).
    fn end_jump(&mut self, conn: &Conn, window: &mut Window) {
        window.pacing = false;
        if conn.in_flight < self.initial_cwnd || conn.in_flight <= self.pipe {
            window.cwnd = self.pipe.max(self.initial_cwnd);
            self.phase = Phase::Normal;
        } else {
            window.cwnd = conn.in_flight;
            self.phase = Phase::Validating { end: conn.snd_nxt };
        }
    }

    /// Returns the threshold after a loss or a mark, packets; `None`: that of the algorithm. The
    /// reduction itself is TCP's: PRR takes the place of a window that falls at once (§3.5).
    pub fn congested(&mut self, conn: &Conn, window: &mut Window) -> Option<u32> {
        let end = match self.phase {
            Phase::Unvalidated { .. } => conn.snd_nxt,
            Phase::Validating { end } => end,
            // §3.2: congestion in Reconnaissance ends Careful Resume.
            Phase::Reconnaissance { .. } | Phase::Normal => {
                self.phase = Phase::Normal;
                return None;
            }
            Phase::SafeRetreat { .. } => return Some(threshold(self.arrived(conn))),
        };
        window.pacing = false;
        self.phase = Phase::SafeRetreat { end };
        Some(threshold(self.pipe))
    }

    /// PipeSize without retransmissions: what had to be sent twice shows no capacity (§3.5 allows
    /// thresholds below those of PipeSize).
    fn arrived(&self, conn: &Conn) -> u32 {
        let lost = conn.lost.saturating_sub(self.lost);
        self.pipe.saturating_sub(u32::try_from(lost).unwrap_or(u32::MAX))
    }

    /// Leaves Safe Retreat when recovery is over and the jump is acknowledged: slow start goes on up to
    /// what arrived, times Beta (§3.5).
    pub fn state(&mut self, conn: &Conn, window: &mut Window, state: CaState) {
        if let (Phase::SafeRetreat { end }, CaState::Open) = (self.phase, state) {
            if conn.snd_una >= end {
                window.ssthresh = threshold(self.arrived(conn));
                self.phase = Phase::Normal;
            }
        }
    }

    /// Returns the window after a reduction that was undone, packets: what has arrived, not the jump
    /// (own choice; the RFC does not speak of it). `None`: that of the algorithm.
    pub fn undone(&self, conn: &Conn, window: &Window) -> Option<u32> {
        let retreats = matches!(self.phase, Phase::SafeRetreat { .. });
        retreats.then(|| window.cwnd.max(self.arrived(conn)))
    }

    /// Name of the phase.
    pub fn phase(&self) -> &'static str {
        match self.phase {
            Phase::Reconnaissance { .. } => "reconnaissance",
            Phase::Unvalidated { .. } => "unvalidated",
            Phase::Validating { .. } => "validating",
            Phase::SafeRetreat { .. } => "safe retreat",
            Phase::Normal => "normal",
        }
    }
}

/// Window and threshold of Safe Retreat (§3.5).
fn threshold(pipe: u32) -> u32 {
    (pipe / RETREAT_DIVISOR).max(MIN_SSTHRESH)
}

#[cfg(test)]
mod tests;
