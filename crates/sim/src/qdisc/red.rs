//! Random Early Detection (Floyd and Jacobson 1993) as Linux has it (sch_red.c): the average is
//! counted in units of its weight, the probability by a random number that the packets since the
//! last mark are held against (method 2 of the paper, §4).
//!
//! The average does not fall while the queue is empty: Linux lets it only when a dequeue finds nothing,
//! and what stands below a token bucket is never asked then.

use super::{Inside, Line, Queued, Verdicts};
use dumbbell_model::rng::Rng;
use dumbbell_model::{queue, Span, Time};

/// Between two steps of the adaptive probability (`HZ/2`).
const ADAPT_EVERY: Span = Span::from_ms(500);
/// `RED_ONE_PERCENT`: of probabilities in 32 bits after the point.
const ONE_PERCENT: u32 = 42_949_673;

/// RED on one queue.
#[derive(Debug)]
pub(super) struct Red {
    spec: queue::Red,
    queue: Line,
    rng: Rng,
    /// The weight of the average is 2^-weight (`Wlog`).
    weight: u32,
    /// The average, in units of its weight (`qavg`).
    average: u64,
    /// Packets since the last mark, if there was one below the maximum (`qcount`).
    count: Option<u64>,
    /// What the count is held against (`qR`).
    random: u64,
    /// Probability of marking at the maximum, in 32 bits after the point (`max_P`).
    max_probability: u32,
    adapt_at: Time,
}

/// What the average says of a packet (`red_action`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Pass,
    /// Between the bounds.
    Probably,
    /// Above the maximum.
    Surely,
}

impl Red {
    pub(super) fn new(spec: queue::Red, rng: Rng) -> Self {
        Self {
            queue: Line::default(),
            rng,
            weight: weight(&spec),
            average: 0,
            count: None,
            random: 0,
            max_probability: (spec.probability * 4_294_967_295.0) as u32,
            adapt_at: Time::ZERO + ADAPT_EVERY,
            spec,
        }
    }

    pub(super) fn enqueue(&mut self, now: Time, mut queued: Queued, verdicts: &mut Verdicts) {
        self.adapt(now);
        // Floyd and Jacobson 1993 §4: avg ← (1 − w) avg + w q (`red_calc_qavg_no_idle_time`).
        self.average = self.average + self.queue.bytes - (self.average >> self.weight);
        match self.action() {
            Action::Pass => {}
            Action::Probably if self.spec.ecn && verdicts.mark(&mut queued) => {}
            Action::Surely
                if self.spec.ecn && !self.spec.harddrop && verdicts.mark(&mut queued) => {}
            Action::Probably | Action::Surely => return verdicts.signal(&queued),
        }
        if self.queue.bytes + u64::from(queued.bytes) > self.spec.limit_bytes {
            return verdicts.overflow(&queued);
        }
        self.queue.push(queued);
    }

    fn action(&mut self) -> Action {
        if self.average < self.spec.min_bytes << self.weight {
            self.count = None;
            return Action::Pass;
        }
        if self.average >= self.spec.max_bytes << self.weight {
            self.count = None;
            return Action::Surely;
        }
        match &mut self.count {
            None => {
                self.count = Some(0);
                self.random = self.draw();
                Action::Pass
            }
            Some(count) => {
                *count += 1;
                // `red_mark_probability`: p_b · count, with p_b by how far the average is.
                let excess = (self.average - (self.spec.min_bytes << self.weight)) >> self.weight;
                if excess.saturating_mul(*count) < self.random {
                    return Action::Pass;
                }
                self.count = Some(0);
                self.random = self.draw();
                Action::Probably
            }
        }
    }

    /// Uniform from 0 to the distance of the bounds over the probability (`red_random`).
    fn draw(&mut self) -> u64 {
        let random = self.rng.next_u64() >> 32;
        random / self.probability_per_byte()
    }

    fn probability_per_byte(&self) -> u64 {
        let range = self.spec.max_bytes - self.spec.min_bytes;
        let probability = u64::from(self.max_probability);
        // Linux divides rounding down at first, to the nearest when it adapts.
        let half = if self.spec.adaptive && self.adapt_at > Time::ZERO + ADAPT_EVERY {
            range / 2
        } else {
            0
        };
        ((probability + half) / range).max(1)
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
            let average = self.average >> self.weight;
            let probability = self.max_probability;
            if average > self.spec.min_bytes + 3 * fifth && probability <= 50 * ONE_PERCENT {
                self.max_probability += ONE_PERCENT.min(probability / 4);
            } else if average < self.spec.min_bytes + 2 * fifth && probability >= ONE_PERCENT {
                self.max_probability = probability / 10 * 9;
            }
        }
    }

    pub(super) fn head(&self) -> Option<Queued> {
        self.queue.packets.front().copied()
    }

    pub(super) fn dequeue(&mut self) -> Option<Queued> {
        self.queue.pop()
    }

    pub(super) fn length(&self) -> (usize, u64) {
        self.queue.length()
    }

    pub(super) fn inside(&self) -> Inside {
        let average = self.average as f64 / (1_u64 << self.weight) as f64;
        let (min, max) = (self.spec.min_bytes as f64, self.spec.max_bytes as f64);
        let share = ((average - min) / (max - min)).clamp(0.0, 1.0);
        let most = f64::from(self.max_probability) / 4_294_967_296.0;
        let probability = if average >= max { 1.0 } else { most * share };
        let (probability, average_bytes) = (Some(probability), Some(average));
        Inside { probability, average_bytes, ..Inside::default() }
    }
}

/// The weight by which a burst from an empty queue does not raise the average to the minimum: the
/// largest w = 2^-n with L + 1 − min/avpkt ≤ (1 − (1 − w)^L)/w (Floyd and Jacobson 1993 §6, eq. 4;
/// `tc_red_eval_ewma`).
fn weight(spec: &queue::Red) -> u32 {
    let burst = spec.burst_packets as f64;
    let least = burst + 1.0 - spec.min_bytes as f64 / spec.average_packet_bytes as f64;
    let mut share = 0.5_f64;
    for weight in 1..32 {
        let mut rest = 1.0;
        for _ in 0..spec.burst_packets {
            rest *= 1.0 - share;
        }
        if least <= (1.0 - rest) / share {
            return weight;
        }
        share /= 2.0;
    }
    31
}

#[cfg(test)]
mod tests {
    use super::super::test_packets::{capable, queued};
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
            adaptive: false,
        }
    }

    /// tc-red(8) recommends burst = (2 min + max) / (3 avpkt), 50 here.
    #[test]
    fn the_weight_is_what_tc_finds() {
        assert_eq!(weight(&queue::Red { burst_packets: 50, ..spec() }), 5);
        assert_eq!(weight(&queue::Red { burst_packets: 31, ..spec() }), 2);
    }

    /// With the queue held at a length, the average comes to it, and packets are dropped with the
    /// probability of the paper: none below min, all from max on, and p_b/(1 − count·p_b) makes the
    /// distance of drops uniform, on average half of 1/p_b.
    #[test]
    fn drops_follow_the_average() {
        for (length, per_drop) in [(20_u64, 0.0), (60, 50.5), (89, 25.9)] {
            let mut red = Red::new(spec(), Rng::named(1, "red"));
            let mut verdicts = Verdicts::default();
            let (mut offered, mut number) = (0_u32, 0);
            for _ in 0..100_000 {
                while red.length().0 as u64 >= length {
                    red.dequeue();
                }
                let before = verdicts.dropped.len();
                red.enqueue(Time::ZERO, queued(0, number, 1000, Time::ZERO), &mut verdicts);
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
    fn above_the_maximum_all_is_dropped_or_marked() {
        for ecn in [false, true] {
            let spec = queue::Red { ecn, burst_packets: 31, ..spec() };
            let mut red = Red::new(spec, Rng::named(1, "red"));
            let mut verdicts = Verdicts::default();
            for number in 0..300 {
                red.enqueue(
                    Time::ZERO,
                    capable(queued(0, number, 1000, Time::ZERO)),
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
