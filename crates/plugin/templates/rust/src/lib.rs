//! Congestion control mine: Reno (RFC 5681), to be changed.

use dumbbell_plugin::{export, CongestionControl, Conn, Parameters, Plugin, Window};

/// State of a connection.
struct Mine {
    beta: f64,
}

impl Plugin for Mine {
    fn new(parameters: &Parameters) -> Self {
        Self { beta: parameters.get("beta", 0.5) }
    }
}

impl CongestionControl for Mine {
    /// The threshold after a loss, packets.
    fn ssthresh(&mut self, _: &Conn, window: &mut Window) -> u32 {
        ((f64::from(window.cwnd) * self.beta) as u32).max(2)
    }

    /// Grows the window for `acked` packets.
    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, mut acked: u32) {
        if !conn.cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        window.additive_increase(window.cwnd, acked);
    }

    /// How far the ACKs of a flight may take the window, packets.
    fn growth_limit(&self, window: &Window, flight: u32) -> Option<u32> {
        Some(flight + if window.in_slow_start() { flight } else { 1 })
    }

    fn counts_bytes(&self) -> bool {
        true
    }
}

export!(Mine, name: "mine");
