//! Windowed maximum and minimum in constant space: Kathleen Nichols' algorithm, as in Linux's
//! lib/win_minmax.c.
//!
//! Three samples are kept: the best, the best after that one, and the best after that. A sample as
//! good as the best replaces all three, since no earlier sample can matter. Otherwise the second
//! and third choice are renewed after a quarter and a half of the window. A successor is then
//! available when the best becomes too old.
//!
//! Guarantees for the maximum:
//! - the result is a real sample from inside the window, so never above the true maximum;
//! - it is never below the newest sample;
//! - it is exact whenever the window's true maximum was already the maximum of its own window when
//!   it arrived: such a sample is the answer until it is matched or leaves the window.
//!
//! Not guaranteed: the successor of an expired best is the best of the kept samples, not of the
//! window. Samples between the choices are lost, and renewal may replace a choice by a newer, worse
//! sample. The successor then covers no fixed share of the window. (Linux claims "almost always".)

/// Wrapping counter that serves as time: milliseconds or rounds.
pub trait Counter: Copy + PartialEq {
    /// Ticks since `earlier`, modulo the counter's width.
    fn since(self, earlier: Self) -> u64;
}

impl Counter for u32 {
    fn since(self, earlier: Self) -> u64 {
        u64::from(self.wrapping_sub(earlier))
    }
}

impl Counter for u64 {
    fn since(self, earlier: Self) -> u64 {
        self.wrapping_sub(earlier)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sample<T, V> {
    time: T,
    value: V,
}

/// First, second and third choice, in order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Choices<T, V> {
    window: u64,
    best: [Sample<T, V>; 3],
}

impl<T: Counter, V: Copy> Choices<T, V> {
    fn new(window: u64, time: T, value: V) -> Self {
        Self { window, best: [Sample { time, value }; 3] }
    }

    /// Processes a sample. `as_good(a, b)` returns true if `a` is no worse than `b`.
    fn update(&mut self, time: T, value: V, as_good: impl Fn(V, V) -> bool) -> V {
        let new = Sample { time, value };
        let [first, second, third] = self.best;
        // The new sample is the best, or all others have expired.
        if as_good(value, first.value) || time.since(third.time) > self.window {
            self.best = [new; 3];
            return value;
        }
        if as_good(value, second.value) {
            self.best[1] = new;
            self.best[2] = new;
        } else if as_good(value, third.value) {
            self.best[2] = new;
        }
        self.age(new);
        self.best[0].value
    }

    /// Drops expired choices and renews the others to spread them over the window.
    fn age(&mut self, new: Sample<T, V>) {
        let age = new.time.since(self.best[0].time);
        let [first, second, third] = self.best;
        if age > self.window {
            self.best = [second, third, new];
            // The second choice may have expired, too. The third was checked on entry.
            if new.time.since(second.time) > self.window {
                self.best = [third, new, new];
            }
        } else if second.time == first.time && age > self.window / 4 {
            self.best[1] = new;
            self.best[2] = new;
        } else if third.time == second.time && age > self.window / 2 {
            self.best[2] = new;
        }
    }
}

/// Maximum over the last `window` ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowedMax<T, V>(Choices<T, V>);

impl<T: Counter, V: Copy + Ord> WindowedMax<T, V> {
    /// Filter with one sample.
    pub fn new(window: u64, time: T, value: V) -> Self {
        Self(Choices::new(window, time, value))
    }

    /// Maximum as of the last sample.
    pub fn get(&self) -> V {
        self.0.best[0].value
    }

    /// Forgets all but the given sample.
    pub fn reset(&mut self, time: T, value: V) {
        self.0.best = [Sample { time, value }; 3];
    }

    /// Processes a sample and returns the maximum.
    pub fn update(&mut self, time: T, value: V) -> V {
        self.0.update(time, value, |a, b| a >= b)
    }
}

/// Minimum over the last `window` ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowedMin<T, V>(Choices<T, V>);

impl<T: Counter, V: Copy + Ord> WindowedMin<T, V> {
    /// Filter with one sample.
    pub fn new(window: u64, time: T, value: V) -> Self {
        Self(Choices::new(window, time, value))
    }

    /// Minimum as of the last sample.
    pub fn get(&self) -> V {
        self.0.best[0].value
    }

    /// Forgets all but the given sample.
    pub fn reset(&mut self, time: T, value: V) {
        self.0.best = [Sample { time, value }; 3];
    }

    /// Processes a sample and returns the minimum.
    pub fn update(&mut self, time: T, value: V) -> V {
        self.0.update(time, value, |a, b| a <= b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Times and values of samples that are `gaps` ticks apart.
    fn samples(gaps: std::ops::Range<u32>) -> impl Strategy<Value = Vec<(u32, u32)>> {
        proptest::collection::vec((gaps, 0..50u32), 1..200)
    }

    /// Runs a filter from `start`. Calls `check(history, filter, now)` after every sample; times in
    /// the history are ticks since the start.
    fn run(
        window: u64,
        start: u32,
        samples: &[(u32, u32)],
        check: impl Fn(&[(u64, u32)], &WindowedMax<u32, u32>, u64) -> Result<(), TestCaseError>,
    ) -> Result<(), TestCaseError> {
        let mut filter = WindowedMax::new(window, start, 7);
        let mut history = vec![(0, 7)];
        let mut now = 0;
        for &(gap, value) in samples {
            now += u64::from(gap);
            history.push((now, value));
            let result = filter.update(start.wrapping_add(now as u32), value);
            prop_assert_eq!(result, filter.get());
            check(&history, &filter, now)?;
        }
        Ok(())
    }

    fn max_since(history: &[(u64, u32)], from: u64) -> u32 {
        history.iter().filter(|(time, _)| *time >= from).map(|(_, value)| *value).max().unwrap_or(0)
    }

    proptest! {
        /// Any gaps, any start (the counter wraps): the result is a sample of the window and not
        /// below the newest. It is exact if the true maximum was one when it arrived.
        #[test]
        fn a_real_sample_and_exact_while_a_maximum_stays(
            window in 0..60u64, start: u32, samples in samples(0..40),
        ) {
            run(window, start, &samples, |history, filter, now| {
                let best = filter.0.best[0];
                let age = start.wrapping_add(now as u32).since(best.time);
                prop_assert!(age <= window);
                prop_assert!(history.contains(&(now - age, best.value)));
                prop_assert!(best.value >= history.last().map_or(0, |sample| sample.1));
                let maximum = max_since(history, now.saturating_sub(window));
                prop_assert!(best.value <= maximum);
                let arrival = history.iter().rposition(|&(_, value)| value == maximum).unwrap_or(0);
                let before = history[arrival].0.saturating_sub(window);
                if max_since(&history[..arrival], before) <= maximum {
                    prop_assert_eq!(best.value, maximum);
                }
                Ok(())
            })?;
        }

        /// Dense samples: same guarantees.
        #[test]
        fn dense_samples_are_bounded_too(window in 0..60u64, samples in samples(1..2)) {
            run(window, 0, &samples, |history, filter, now| {
                prop_assert!(filter.get() <= max_since(history, now.saturating_sub(window)));
                prop_assert!(filter.get() >= history.last().map_or(0, |sample| sample.1));
                Ok(())
            })?;
        }

        /// Rising values: every one is a maximum.
        #[test]
        fn rising_values_are_exact(window in 0..60u64, gaps in proptest::collection::vec(0..9u32, 1..99)) {
            let rising: Vec<_> = (8..).zip(gaps).map(|(value, gap)| (gap, value)).collect();
            run(window, 5, &rising, |history, filter, now| {
                prop_assert_eq!(filter.get(), max_since(history, now.saturating_sub(window)));
                Ok(())
            })?;
        }

        /// The minimum mirrors the maximum.
        #[test]
        fn minimum_mirrors_maximum(window in 0..60u64, samples in samples(0..20)) {
            let mut max = WindowedMax::new(window, 0u64, 100u32);
            let mut min = WindowedMin::new(window, 0u64, u32::MAX - 100);
            let mut now = 0;
            for (gap, value) in samples {
                now += u64::from(gap);
                prop_assert_eq!(max.update(now, value), u32::MAX - min.update(now, u32::MAX - value));
                prop_assert_eq!(max.get(), u32::MAX - min.get());
            }
        }
    }

    /// Decreasing samples 100, 99, …: the filter's answer at each tick.
    fn decreasing(window: u64, until: u32) -> Vec<u32> {
        let mut filter = WindowedMax::new(window, 0u32, 100u32);
        (1..=until).map(|t| filter.update(t, 100 - t)).collect()
    }

    #[test]
    fn the_best_leaves_after_the_window_not_at_its_end() {
        let answers = decreasing(8, 9);
        assert_eq!((answers[6], answers[7]), (100, 100), "ages 7 and 8 are inside");
        // The second choice was taken at tick 8/4 + 1 = 3.
        assert_eq!(answers[8], 97, "age 9 is outside");
    }

    /// Cost of keeping three samples: at tick 9, a window of 8 still contains the samples of ticks
    /// 1 and 2 (99, 98), but the filter has forgotten them.
    #[test]
    fn it_forgets_what_lies_between_its_choices() {
        let answers = decreasing(8, 9);
        assert!(answers[8] < 99);
    }

    /// The 11 is the third choice, behind 45 as first and second. After 33 ticks, renewal replaces
    /// both by the newest sample, 2. When 45 expires, 2 is the answer, with the 11 inside the
    /// window.
    #[test]
    fn spreading_may_overwrite_a_better_choice() {
        let mut filter = WindowedMax::new(44, 0u32, 49);
        let samples = [(12, 0), (12, 45), (45, 11), (45, 2), (57, 0)];
        assert_eq!(samples.map(|(t, value)| filter.update(t, value)), [49, 49, 45, 45, 2]);
    }

    /// Third choice at 8/2 + 1 = 5: it is the answer after the second choice has expired, too.
    #[test]
    fn the_third_choice_is_from_the_second_half() {
        let answers = decreasing(8, 14);
        assert_eq!((answers[10], answers[11], answers[13]), (97, 95, 91));
    }

    #[test]
    fn after_a_gap_of_more_than_the_window_only_the_newest_counts() {
        let mut filter = WindowedMax::new(8, u32::MAX - 2, 100u32);
        assert_eq!(filter.update(5, 1), 100, "8 ticks across the wrap");
        assert_eq!(WindowedMax::new(8, u32::MAX - 2, 100u32).update(6, 1), 1, "9 ticks");
        filter.reset(6, 2);
        assert_eq!(filter.get(), 2);
    }
}
