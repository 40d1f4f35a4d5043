//! Growth of the window of a rate-limited sender (draft-ietf-ccwg-ratelimited-increase §3): an option in
//! place of Linux's rule, by which only a used window grows (`tcp_is_cwnd_limited`).

use super::sender::Sender;

/// Maximum flight since the window was last reduced (`maxFS`).
#[derive(Clone, Copy, Debug)]
pub(super) struct MaxFlight {
    packets: u32,
    /// Window at the last update, packets.
    cwnd: u32,
}

impl MaxFlight {
    /// State at the start: the flight counts as the initial window.
    pub(super) fn new(initcwnd: u32) -> Self {
        Self { packets: initcwnd, cwnd: initcwnd }
    }

    /// Notes the window and the flight, packets. Returns the maximum. A reduction of the window for any
    /// reason starts a new maximum.
    pub(super) fn note(&mut self, cwnd: u32, flight: u32) -> u32 {
        if cwnd < self.cwnd {
            self.packets = 0;
        }
        self.cwnd = cwnd;
        self.packets = self.packets.max(flight);
        self.packets
    }
}

impl Sender {
    /// Grows the window for `acked` packets.
    pub(super) fn cong_avoid(&mut self, acked: u32) {
        let mut conn = self.conn();
        let limit = self.growth_limit();
        if let Some(limit) = limit {
            conn.cwnd_limited = self.window.cwnd < limit;
        }
        self.cc.cong_avoid(&conn, &mut self.window, acked);
        if let (true, Some(limit)) = (conn.cwnd_limited, limit) {
            self.window.cwnd = self.window.cwnd.min(limit);
        }
    }

    /// Window that growth may reach, packets; `None`: the option is off, or the algorithm has no limit.
    fn growth_limit(&mut self) -> Option<u32> {
        if !self.options.rate_limited_increase {
            return None;
        }
        let flight = self.usage.max_flight.note(self.window.cwnd, self.scoreboard.packets_out);
        self.cc.growth_limit(&self.window, flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reduction_starts_a_new_maximum() {
        let mut flight = MaxFlight::new(10);
        assert_eq!(flight.note(10, 4), 10);
        assert_eq!(flight.note(20, 15), 15);
        assert_eq!(flight.note(20, 3), 15);
        assert_eq!(flight.note(14, 3), 3);
        assert_eq!(flight.note(15, 2), 3);
    }
}
