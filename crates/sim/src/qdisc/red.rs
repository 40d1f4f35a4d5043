//! Random Early Detection (Floyd and Jacobson 1993) as in Linux (sch_red.c).

use super::early::{Average, Bounds};
use super::{Arrival, Context, Discipline, Head, Inside, Line, Verdicts};
use dumbbell_model::{queue, Span, Time};

/// Time between two steps of the adaptive probability (`HZ/2`).
const ADAPT_EVERY: Span = Span::from_ms(500);
/// One percent in 32 bits after the point (`RED_ONE_PERCENT`).
const ONE_PERCENT: u32 = 42_949_673;

/// RED on one queue.
#[derive(Debug)]
pub(super) struct Red {
    spec: queue::Red,
    queue: Line,
    /// Average queue length in bytes.
    average: Average,
    adapt_at: Time,
}

/// Decision about an arriving packet (`red_action`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Pass,
    /// Average between the bounds.
    Probably,
    /// Average above the maximum.
    Surely,
}

impl Red {
    pub(super) fn new(spec: &queue::Red, context: &Context<'_>) -> Self {
        let average = Average::new(&bounds(spec), context.rng());
        let adapt_at = context.since + ADAPT_EVERY;
        Self { queue: Line::default(), average, adapt_at, spec: *spec }
    }

    fn action(&mut self) -> Action {
        if self.average.is_below_min() {
            self.average.forget();
            return Action::Pass;
        }
        if self.average.is_max_or_above() {
            self.average.forget();
            return Action::Surely;
        }
        if self.average.signals() {
            Action::Probably
        } else {
            Action::Pass
        }
    }

    /// Adaptive RED (Floyd, Gummadi and Shenker 2001 §3): additive increase, multiplicative decrease
    /// of the probability, to keep the average in the middle fifth (`red_adaptative_algo`).
    fn adapt(&mut self, now: Time) {
        if !self.spec.adaptive {
            return;
        }
        while self.adapt_at <= now {
            self.adapt_at += ADAPT_EVERY;
            let fifth = (self.spec.max_bytes - self.spec.min_bytes) / 5;
            let average = self.average.whole();
            let probability = self.average.max_probability();
            if average > self.spec.min_bytes + 3 * fifth && probability <= 50 * ONE_PERCENT {
                self.average.adapt(probability + ONE_PERCENT.min(probability / 4));
            } else if average < self.spec.min_bytes + 2 * fifth && probability >= ONE_PERCENT {
                self.average.adapt(probability / 10 * 9);
            } else {
                self.average.adapt(probability);
            }
        }
    }
}

impl Discipline for Red {
    fn enqueue(&mut self, now: Time, arrival: Arrival<'_>, verdicts: &mut Verdicts) {
        let mut queued = arrival.queued;
        self.adapt(now);
        self.average.update(self.queue.bytes);
        match self.action() {
            Action::Pass => {}
            Action::Probably if self.spec.ecn && verdicts.mark(&mut queued) => {}
            Action::Surely
                if self.spec.ecn && !self.spec.harddrop && verdicts.mark(&mut queued) => {}
            // A packet that cannot be marked (`TC_RED_NODROP`).
            Action::Probably if self.spec.nodrop => {}
            Action::Surely if self.spec.nodrop && !self.spec.harddrop => {}
            Action::Probably | Action::Surely => return verdicts.signal(&queued),
        }
        if self.queue.bytes + u64::from(queued.bytes) > self.spec.limit_bytes {
            return verdicts.overflow(&queued);
        }
        self.queue.push(queued);
    }

    fn peek(&mut self, _: Time, _: &mut Verdicts) -> Option<Head> {
        Some(self.queue.head().into())
    }

    fn dequeue(&mut self, _: Time, _: &mut Verdicts) -> Head {
        self.queue.pop().into()
    }

    fn length(&self) -> (usize, u64) {
        self.queue.length()
    }

    fn inside(&self, _: Time) -> Inside {
        let average_bytes = Some(self.average.exact());
        Inside { probability: Some(self.average.probability()), average_bytes, ..Inside::default() }
    }
}

fn bounds(spec: &queue::Red) -> Bounds {
    Bounds {
        min: spec.min_bytes,
        max: spec.max_bytes,
        min_packets: spec.min_bytes as f64 / spec.average_packet_bytes as f64,
        burst_packets: spec.burst_packets,
        probability: spec.probability,
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_packets::{capable, context, queued};
    use super::*;

    fn spec() -> queue::Red {
        queue::Red {
            limit_bytes: 400_000,
            min_bytes: 30_000,
            max_bytes: 90_000,
            average_packet_bytes: 1000,
            burst_packets: 55,
            probability: 0.02,
            ecn: false,
            harddrop: false,
            nodrop: false,
            adaptive: false,
        }
    }

    /// With the queue held at a length, the average comes to it, and packets are dropped with the
    /// probability of the paper: none below min, all from max on, and p_b/(1 − count·p_b) makes the
    /// distance of drops uniform, on average half of 1/p_b.
    #[test]
    fn drops_follow_the_average() {
        for (length, per_drop) in [(20_u64, 0.0), (60, 50.5), (89, 25.9)] {
            let mut red = Red::new(&spec(), &context());
            let mut verdicts = Verdicts::default();
            let (mut offered, mut number) = (0_u32, 0);
            for _ in 0..100_000 {
                while red.length().0 as u64 >= length {
                    red.queue.pop();
                }
                let before = verdicts.dropped.len();
                red.enqueue(Time::ZERO, queued(0, number, 1000, Time::ZERO).into(), &mut verdicts);
                number += 1;
                if verdicts.dropped.len() == before {
                    offered += 1;
                }
            }
            let drops = verdicts.dropped.len() as f64;
            if per_drop == 0.0 {
                assert_eq!(drops, 0.0);
            } else {
                let distance = f64::from(number) / drops;
                assert!((distance / per_drop - 1.0).abs() < 0.08, "{length}: {distance}");
            }
            assert!(offered > 0);
        }
    }

    #[test]
    fn without_drops_flows_that_cannot_be_marked_end_at_the_limit() {
        let spec = queue::Red { ecn: true, nodrop: true, burst_packets: 31, ..spec() };
        let mut red = Red::new(&spec, &context());
        let mut verdicts = Verdicts::default();
        for number in 0..500 {
            red.enqueue(Time::ZERO, queued(0, number, 1000, Time::ZERO).into(), &mut verdicts);
        }
        assert_eq!((red.length().1, verdicts.dropped.len()), (400_000, 100));
        assert_eq!(verdicts.marked, 0);
    }

    #[test]
    fn above_the_maximum_all_is_dropped_or_marked() {
        for ecn in [false, true] {
            let spec = queue::Red { ecn, burst_packets: 31, ..spec() };
            let mut red = Red::new(&spec, &context());
            let mut verdicts = Verdicts::default();
            for number in 0..300 {
                red.enqueue(
                    Time::ZERO,
                    capable(queued(0, number, 1000, Time::ZERO)).into(),
                    &mut verdicts,
                );
            }
            let (packets, _) = red.length();
            assert_eq!(packets + verdicts.dropped.len(), 300);
            if ecn {
                assert!(verdicts.dropped.is_empty() && verdicts.marked > 150);
            } else {
                assert!(packets < 130 && verdicts.marked == 0, "{packets}");
            }
        }
    }
}
