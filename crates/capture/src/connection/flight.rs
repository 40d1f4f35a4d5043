//! Bytes in flight as the tap sees them (sent, and neither acknowledged nor SACKed there), round by
//! round: the most of a round is what can be known of the congestion window, and where it stops
//! growing, of the end of slow start.

/// Growth per round below which slow start is taken to be over (BBR's measure of a full pipe).
const GROWTH: (i64, i64) = (5, 4);
/// Rounds that must stay below.
const ROUNDS: u32 = 3;

/// Why slow start ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartEnd {
    /// A retransmission.
    Loss,
    /// Three rounds with less than a quarter more in flight each.
    Plateau,
}

/// When and where slow start ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowStart {
    /// Why.
    pub end: SlowStartEnd,
    /// When; since 1970.
    pub at_ns: i64,
    /// Bytes in flight, the most until then.
    pub flight_bytes: i64,
}

/// In flight over a connection's life.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flight {
    /// The most.
    pub max_bytes: i64,
    sum_bytes: i128,
    segments: u64,
    /// The most of the current round, which ends when this position is acknowledged.
    round_max_bytes: i64,
    round_end: i64,
    rounds: u64,
    sum_of_rounds_bytes: i128,
    full_bytes: i64,
    full_rounds: u32,
    full_at_ns: i64,
    /// How slow start ended, if it did.
    pub slow_start: Option<SlowStart>,
}

impl Flight {
    /// After a data segment.
    pub(crate) fn sent(&mut self, flight_bytes: i64) {
        self.max_bytes = self.max_bytes.max(flight_bytes);
        self.round_max_bytes = self.round_max_bytes.max(flight_bytes);
        self.sum_bytes += i128::from(flight_bytes);
        self.segments += 1;
    }

    /// Everything before `acked` is acknowledged, everything before `next` was sent.
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

    /// A segment was sent again.
    pub(crate) fn lost(&mut self, now_ns: i64) {
        self.slow_start.get_or_insert(SlowStart {
            end: SlowStartEnd::Loss,
            at_ns: now_ns,
            flight_bytes: self.max_bytes,
        });
    }

    /// Mean over data segments, each counted with itself.
    pub fn mean_bytes(&self) -> Option<f64> {
        (self.segments > 0).then(|| self.sum_bytes as f64 / self.segments as f64)
    }

    /// The congestion window as it can be inferred: mean over rounds of the most in flight.
    pub fn window_mean_bytes(&self) -> Option<f64> {
        (self.rounds > 0).then(|| self.sum_of_rounds_bytes as f64 / self.rounds as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds with these in flight.
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
