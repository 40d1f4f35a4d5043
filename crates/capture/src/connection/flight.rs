//! Bytes in flight at the tap: sent, and neither acknowledged nor SACKed there. The maximum of a
//! round estimates the congestion window. Slow start ends where the maximum stops growing.

/// Minimum growth per round in slow start (as BBR's full-pipe test).
const GROWTH: (i64, i64) = (5, 4);
/// Consecutive rounds with less growth that end slow start.
const ROUNDS: u32 = 3;

/// Reason for the end of slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartEnd {
    /// A retransmission.
    Loss,
    /// Three rounds, each with less than a quarter of growth.
    Plateau,
}

/// End of slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowStart {
    /// Reason.
    pub end: SlowStartEnd,
    /// Time, ns since 1970.
    pub at_ns: i64,
    /// Maximum bytes in flight until then.
    pub flight_bytes: i64,
}

/// Bytes in flight over the life of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flight {
    /// Maximum.
    pub max_bytes: i64,
    sum_bytes: i128,
    segments: u64,
    /// Maximum of the current round.
    round_max_bytes: i64,
    round_end: i64,
    rounds: u64,
    sum_of_rounds_bytes: i128,
    full_bytes: i64,
    full_rounds: u32,
    full_at_ns: i64,
    /// End of slow start, if it ended.
    pub slow_start: Option<SlowStart>,
}

impl Flight {
    /// Processes the flight after a data segment.
    pub(crate) fn sent(&mut self, flight_bytes: i64) {
        self.max_bytes = self.max_bytes.max(flight_bytes);
        self.round_max_bytes = self.round_max_bytes.max(flight_bytes);
        self.sum_bytes += i128::from(flight_bytes);
        self.segments += 1;
    }

    /// Processes an ACK of all bytes before `acked`, while all bytes before `next` are sent.
    pub(crate) fn acknowledged(&mut self, now_ns: i64, acked: i64, next: i64) {
        if acked < self.round_end {
            return;
        }
        self.round_end = next;
        let most = std::mem::take(&mut self.round_max_bytes);
        if most == 0 {
            return;
        }
        self.rounds += 1;
        self.sum_of_rounds_bytes += i128::from(most);
        if most * GROWTH.1 >= self.full_bytes * GROWTH.0 {
            (self.full_bytes, self.full_rounds, self.full_at_ns) = (most, 0, now_ns);
            return;
        }
        self.full_rounds += 1;
        if self.full_rounds == ROUNDS && self.slow_start.is_none() {
            self.slow_start = Some(SlowStart {
                end: SlowStartEnd::Plateau,
                at_ns: self.full_at_ns,
                flight_bytes: self.full_bytes,
            });
        }
    }

    /// Processes a retransmission.
    pub(crate) fn lost(&mut self, now_ns: i64) {
        self.slow_start.get_or_insert(SlowStart {
            end: SlowStartEnd::Loss,
            at_ns: now_ns,
            flight_bytes: self.max_bytes,
        });
    }

    /// Mean over data segments, each included in its own flight.
    pub fn mean_bytes(&self) -> Option<f64> {
        (self.segments > 0).then(|| self.sum_bytes as f64 / self.segments as f64)
    }

    /// Estimated congestion window: mean over rounds of the maximum in flight.
    pub fn window_mean_bytes(&self) -> Option<f64> {
        (self.rounds > 0).then(|| self.sum_of_rounds_bytes as f64 / self.rounds as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// State after rounds with these flights.
    fn of(rounds: &[i64]) -> Flight {
        let mut flight = Flight::default();
        let mut next = 0;
        for (number, bytes) in rounds.iter().enumerate() {
            next += bytes;
            flight.sent(*bytes);
            flight.acknowledged(number as i64, next, next);
        }
        flight
    }

    #[test]
    fn a_plateau_ends_slow_start_where_it_began() {
        let flight = of(&[10, 20, 40, 80, 81, 82, 83]);
        let end = SlowStart { end: SlowStartEnd::Plateau, at_ns: 3, flight_bytes: 80 };
        assert_eq!(flight.slow_start, Some(end));
        assert_eq!(of(&[10, 20, 40, 80, 81, 82]).slow_start, None);
        assert_eq!(flight.max_bytes, 83);
    }

    #[test]
    fn a_loss_ends_it_once() {
        let mut flight = of(&[10, 20]);
        flight.lost(7);
        flight.lost(9);
        let end = SlowStart { end: SlowStartEnd::Loss, at_ns: 7, flight_bytes: 20 };
        assert_eq!(flight.slow_start, Some(end));
    }
}
