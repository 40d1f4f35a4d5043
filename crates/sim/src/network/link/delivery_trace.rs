//! Packet-delivery trace (mahimahi's format; Netravali et al., USENIX ATC 2015).

use super::stage::Stage;
use dumbbell_model::{Span, Time};

/// Bytes of one delivery opportunity of a mahimahi trace.
pub(crate) const OPPORTUNITY_BYTES: u32 = 1504;

/// A packet-delivery trace, repeated for ever.
#[derive(Clone, Debug)]
pub(crate) struct DeliveryTrace {
    deliveries_ms: Vec<u64>,
    period: u64,
    index: usize,
    /// Unused bytes: of earlier opportunities that the head waits on, and of the current one.
    credit: u32,
}

impl Stage for DeliveryTrace {
    const KEEPS_ORDER: bool = false;
    const OWN_EVENT: bool = true;

    fn acts(&self) -> bool {
        true
    }
}

impl DeliveryTrace {
    /// Times ascend and the last is above 0 (validated).
    pub(crate) fn new(deliveries_ms: Vec<u64>) -> Self {
        Self { deliveries_ms, period: 0, index: 0, credit: 0 }
    }

    fn time(&self, period: u64, index: usize) -> Time {
        let last = self.deliveries_ms.last().copied().unwrap_or(1);
        Time::ZERO + Span::from_ms(period * last + self.deliveries_ms[index])
    }

    /// The next opportunity at or after `from`. Unused opportunities are lost.
    pub(crate) fn next_at(&mut self, from: Time) -> Time {
        let last_ms = self.deliveries_ms.last().copied().unwrap_or(1);
        // The last time of a period is its own, not the beginning of the next.
        let period = from.as_us().div_ceil(1000).saturating_sub(1) / last_ms;
        if period > self.period {
            self.period = period;
            self.index = 0;
        }
        while self.time(self.period, self.index) < from {
            self.step();
        }
        self.time(self.period, self.index)
    }

    fn step(&mut self) {
        self.index += 1;
        if self.index == self.deliveries_ms.len() {
            self.index = 0;
            self.period += 1;
        }
    }

    /// Starts an opportunity: adds its bytes.
    pub(crate) fn open(&mut self) {
        self.step();
        self.credit += OPPORTUNITY_BYTES;
    }

    /// Spends the packet's length if there is enough; a longer packet waits for more
    /// opportunities.
    pub(crate) fn spend(&mut self, bytes: u32) -> bool {
        if self.credit < bytes {
            return false;
        }
        self.credit -= bytes;
        true
    }

    /// Drops the rest of the opportunity, when nothing waits.
    pub(crate) fn waste(&mut self) {
        self.credit = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first opportunities at or after a time, in ms.
    fn opportunities(deliveries_ms: &[u64], from: Time, count: usize) -> Vec<u64> {
        let mut trace = DeliveryTrace::new(deliveries_ms.to_vec());
        let mut now = from;
        (0..count)
            .map(|_| {
                now = trace.next_at(now);
                trace.open();
                now.as_us() / 1000
            })
            .collect()
    }

    #[test]
    fn a_trace_delivers_at_its_times_and_repeats() {
        assert_eq!(opportunities(&[3, 5, 10], Time::ZERO, 5), [3, 5, 10, 13, 15]);
    }

    #[test]
    fn all_opportunities_of_the_last_time_are_delivered() {
        assert_eq!(opportunities(&[1, 1], Time::ZERO, 6), [1, 1, 2, 2, 3, 3]);
        assert_eq!(opportunities(&[4, 10, 10, 10], Time::ZERO, 7), [4, 10, 10, 10, 14, 20, 20]);
        assert_eq!(opportunities(&[0, 2, 2], Time::ZERO, 7), [0, 2, 2, 2, 4, 4, 4]);
        // What came before is lost; an exact end of a period belongs to it.
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        assert_eq!(opportunities(&[4, 10, 10], at(10), 4), [10, 10, 14, 20]);
        assert_eq!(opportunities(&[4, 10, 10], at(25), 3), [30, 30, 34]);
    }
}
