//! The congestion control of an agent's flow: it holds window and pacing rate of the last action, and
//! counts what ACKs tell.

use super::action::{Action, Sets};
use super::observation::{Counts, State, Step};
use crate::pause::Pause;
use dumbbell_cc::{CongestionControl, Conn, RateSample, Window};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Window of an agent that sets the pacing rate alone, packets: buffers limit such a flow.
pub const OPEN_WINDOW: u32 = 1 << 16;

/// When an agent asks for a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stepping {
    /// Never: steps have a fixed length.
    Time,
    /// After so many packet-timed round trips (draft-cardwell-iccrg-bbr-congestion-control §4.1.1.3).
    RoundTrips(u32),
    /// After so many ACKs.
    Acks(u32),
}

/// An agent's flow, as its congestion control and its session share it.
#[derive(Debug)]
pub(super) struct Shared {
    /// The connection is established.
    pub(super) open: bool,
    /// Window that the flow has, packets.
    pub(super) cwnd: u32,
    /// Pacing rate that the flow has, bytes per second; `u64::MAX` without pacing.
    pub(super) pacing_rate: u64,
    pub(super) state: State,
    stepping: Stepping,
    /// ACKs or round trips left until the pause.
    pub(super) left: u32,
    /// `delivered` at the end of this round trip.
    round_ends: u64,
    pause: Pause,
}

impl Shared {
    pub(super) fn new(stepping: Stepping, pause: Pause) -> Self {
        Self {
            open: false,
            cwnd: 0,
            pacing_rate: u64::MAX,
            state: State::default(),
            stepping,
            left: 0,
            round_ends: 0,
            pause,
        }
    }

    /// Begins a step.
    pub(super) fn begin_step(&mut self) {
        self.left = match self.stepping {
            Stepping::Time => 0,
            Stepping::RoundTrips(count) | Stepping::Acks(count) => count,
        };
    }

    /// Sets window and pacing rate, within 1 packet and `u32::MAX`.
    pub(super) fn act(&mut self, action: Action) {
        if let Some(cwnd) = action.cwnd {
            self.cwnd = cwnd.clamp(1.0, f64::from(u32::MAX)) as u32;
        }
        if let Some(bps) = action.pacing_bps {
            self.pacing_rate = (bps / 8.0).max(1.0) as u64;
        }
    }

    /// Window in packets, and pacing rate in bit/s.
    pub(super) fn held(&self) -> (f64, f64) {
        (f64::from(self.cwnd), self.pacing_rate as f64 * 8.0)
    }

    /// Ends a step at a virtual time, and tells what happened in it.
    pub(super) fn step(&mut self, now_ns: u64) -> Step {
        self.state.step(now_ns, self.cwnd, self.pacing_rate)
    }

    /// Counts towards the end of a step.
    fn count(&mut self, conn: &Conn, sample: &RateSample) {
        let counts = match self.stepping {
            Stepping::Time => return,
            Stepping::Acks(_) => true,
            Stepping::RoundTrips(_) => {
                sample.delivered > 0 && sample.prior_delivered >= self.round_ends
            }
        };
        if counts {
            self.round_ends = conn.delivered;
            self.left = self.left.saturating_sub(1);
            if self.left == 0 {
                self.pause.ask();
            }
        }
    }
}

/// Locks a flow. A panic elsewhere ends the run, so a poisoned lock is no matter.
pub(super) fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The congestion control.
pub(super) struct Control {
    pub(super) shared: Arc<Mutex<Shared>>,
    /// What the agent sets.
    pub(super) sets: Sets,
}

fn counts(conn: &Conn) -> Counts {
    Counts {
        delivered: conn.delivered,
        lost: conn.lost,
        in_flight: conn.in_flight,
        acked_bytes: conn.snd_una,
        marked: conn.delivered_ce,
    }
}

impl CongestionControl for Control {
    /// Until the first action: the initial window, paced over the RTT of the SYN if the agent sets the
    /// rate.
    fn init(&mut self, conn: &Conn, window: &mut Window) {
        let mut shared = lock(&self.shared);
        shared.cwnd = window.cwnd;
        if self.sets.pacing {
            let rtt_us = u64::from(conn.srtt_us8 / 8).max(1);
            shared.pacing_rate = u64::from(window.cwnd * conn.mss) * 1_000_000 / rtt_us;
            if !self.sets.cwnd {
                shared.cwnd = OPEN_WINDOW;
            }
        }
        shared.open = true;
        shared.pause.ask();
        shared.state.begin(conn, counts(conn));
        (window.cwnd, window.pacing) = (shared.cwnd, self.sets.pacing);
        window.pacing_rate = shared.pacing_rate;
    }

    fn ssthresh(&mut self, _conn: &Conn, window: &mut Window) -> u32 {
        window.ssthresh
    }

    fn controls_rate(&self) -> bool {
        true
    }

    fn cong_control(&mut self, conn: &Conn, window: &mut Window, sample: &RateSample) {
        let mut shared = lock(&self.shared);
        shared.state.acked(conn, counts(conn), sample);
        shared.count(conn, sample);
        window.cwnd = shared.cwnd.clamp(1, window.cwnd_clamp);
        window.pacing_rate = shared.pacing_rate;
    }

    fn phase(&self) -> &'static str {
        "agent"
    }
}
