//! The average queue of Random Early Detection (Floyd and Jacobson 1993) as in Linux (include/net/red.h).
//! The average is stored in units of its weight. A random number is compared with the packets since the last
//! signal (method 2 of the paper, §4). RED counts bytes, CHOKe packets.
//!
//! The average does not decay while the queue is empty. In Linux only a dequeue from an empty queue starts
//! the decay, and a token bucket never dequeues from an empty child.

use dumbbell_model::rng::Rng;

/// Parameters of an average. Lengths are in the unit of the average.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) min: u64,
    pub(super) max: u64,
    /// `min` in packets.
    pub(super) min_packets: f64,
    /// Burst that does not raise an average of 0 to `min`.
    pub(super) burst_packets: u64,
    /// Probability of a signal at an average of `max`.
    pub(super) probability: f64,
}

/// Average length of a queue, and the decision about an arriving packet.
#[derive(Debug)]
pub(super) struct Average {
    rng: Rng,
    min: u64,
    max: u64,
    /// Weight of a new length, as 2^-weight (`Wlog`).
    weight: u32,
    /// Average times 2^weight (`qavg`).
    average: u64,
    /// Packets since the last signal, if there was one between the bounds (`qcount`).
    count: Option<u64>,
    /// Random number that the count is compared with (`qR`).
    random: u64,
    /// Probability of a signal at the maximum, in 32 bits after the point (`max_P`).
    max_probability: u32,
    /// True if the probability was adapted.
    adapted: bool,
}

impl Average {
    pub(super) fn new(bounds: &Bounds, rng: Rng) -> Self {
        Self {
            rng,
            min: bounds.min,
            max: bounds.max,
            weight: weight(bounds),
            average: 0,
            count: None,
            random: 0,
            max_probability: (bounds.probability * 4_294_967_295.0) as u32,
            adapted: false,
        }
    }

    /// Floyd and Jacobson 1993 §4: avg ← (1 − w) avg + w q (`red_calc_qavg_no_idle_time`).
    pub(super) fn update(&mut self, length: u64) {
        self.average = self.average + length - (self.average >> self.weight);
    }

    pub(super) fn is_below_min(&self) -> bool {
        self.average < self.min << self.weight
    }

    pub(super) fn is_above_min(&self) -> bool {
        self.average > self.min << self.weight
    }

    pub(super) fn is_above_max(&self) -> bool {
        self.average > self.max << self.weight
    }

    pub(super) fn is_max_or_above(&self) -> bool {
        self.average >= self.max << self.weight
    }

    /// Restarts the count at the next packet between the bounds.
    pub(super) fn forget(&mut self) {
        self.count = None;
    }

    /// Counts a packet between the bounds and returns true if it is to be signalled: the probability
    /// times the count has reached a random number (`red_mark_probability`).
    pub(super) fn signals(&mut self) -> bool {
        let Some(count) = &mut self.count else {
            self.count = Some(0);
            self.random = self.draw();
            return false;
        };
        *count += 1;
        let excess = (self.average - (self.min << self.weight)) >> self.weight;
        if excess.saturating_mul(*count) < self.random {
            return false;
        }
        self.count = Some(0);
        self.random = self.draw();
        true
    }

    /// A random number below an end.
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.rng.below(end as u64) as usize
    }

    /// Uniform from 0 to the distance of the bounds over the probability (`red_random`).
    fn draw(&mut self) -> u64 {
        let random = self.rng.next_u64() >> 32;
        let range = self.max - self.min;
        // Linux rounds the initial quotient down, the adapted one to the nearest.
        let half = if self.adapted { range / 2 } else { 0 };
        let per_length = (u64::from(self.max_probability) + half) / range;
        random / per_length.max(1)
    }

    /// The average, rounded down.
    pub(super) fn whole(&self) -> u64 {
        self.average >> self.weight
    }

    pub(super) fn exact(&self) -> f64 {
        self.average as f64 / (1_u64 << self.weight) as f64
    }

    pub(super) fn max_probability(&self) -> u32 {
        self.max_probability
    }

    /// Sets the new probability of an adaptation step.
    pub(super) fn adapt(&mut self, max_probability: u32) {
        self.max_probability = max_probability;
        self.adapted = true;
    }

    /// Current probability of a signal, without the count.
    pub(super) fn probability(&self) -> f64 {
        let average = self.exact();
        let (min, max) = (self.min as f64, self.max as f64);
        let share = ((average - min) / (max - min)).clamp(0.0, 1.0);
        let most = f64::from(self.max_probability) / 4_294_967_296.0;
        if average >= max {
            1.0
        } else {
            most * share
        }
    }
}

/// The weight by which a burst from an empty queue does not raise the average to the minimum: the
/// largest w = 2^-n with L + 1 − min/avpkt ≤ (1 − (1 − w)^L)/w (Floyd and Jacobson 1993 §6, eq. 4;
/// `tc_red_eval_ewma`).
fn weight(bounds: &Bounds) -> u32 {
    let least = bounds.burst_packets as f64 + 1.0 - bounds.min_packets;
    let mut share = 0.5_f64;
    for weight in 1..32 {
        let mut rest = 1.0;
        for _ in 0..bounds.burst_packets {
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
    use super::*;

    /// tc-red(8) recommends burst = (2 min + max) / (3 avpkt), 50 for 30 and 90 packets.
    #[test]
    fn the_weight_is_what_tc_finds() {
        let bounds = |burst_packets| Bounds {
            min: 30_000,
            max: 90_000,
            min_packets: 30.0,
            burst_packets,
            probability: 0.02,
        };
        assert_eq!(weight(&bounds(50)), 5);
        assert_eq!(weight(&bounds(31)), 2);
    }
}
