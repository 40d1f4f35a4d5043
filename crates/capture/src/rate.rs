//! Amounts over time in a bounded number of bins. When the time exceeds the bins, pairs of bins are
//! merged and the width duplicates.

/// Initial bin width.
const WIDTH_NS: i64 = 1_000_000;

/// No time lies in it.
const NO_BIN: (usize, i64, i64) = (0, i64::MAX, i64::MIN);

/// `N` amounts per bin.
#[derive(Clone, Debug)]
pub struct Rates<const N: usize> {
    start_ns: i64,
    width_ns: i64,
    bins_max: usize,
    bins: Vec<[u64; N]>,
    /// The last bin added to: its index and its first and last ns. Most amounts follow each other.
    last: (usize, i64, i64),
}

impl<const N: usize> Default for Rates<N> {
    fn default() -> Self {
        Self::new(128)
    }
}

impl<const N: usize> Rates<N> {
    /// State with at max `bins_max` bins, at least two.
    pub fn new(bins_max: usize) -> Self {
        let bins_max = bins_max.max(2);
        Self { start_ns: 0, width_ns: WIDTH_NS, bins_max, bins: Vec::new(), last: NO_BIN }
    }

    /// Adds amounts at a time. Times may come in any order.
    pub fn add(&mut self, now_ns: i64, amounts: [u64; N]) {
        let (index, from_ns, to_ns) = self.last;
        if from_ns <= now_ns && now_ns <= to_ns {
            return self.add_to(index, amounts);
        }
        if self.bins.is_empty() {
            self.start_ns = now_ns;
        }
        while now_ns < self.start_ns {
            self.extend_back(now_ns);
        }
        let since_ns = now_ns.saturating_sub(self.start_ns);
        while since_ns / self.width_ns >= self.bins_max as i64 {
            self.widen();
        }
        let index = (since_ns / self.width_ns) as usize;
        if index >= self.bins.len() {
            self.bins.resize(index + 1, [0; N]);
        }
        let from_ns = now_ns - since_ns % self.width_ns;
        self.last = (index, from_ns, from_ns.saturating_add(self.width_ns - 1));
        self.add_to(index, amounts);
    }

    fn add_to(&mut self, index: usize, amounts: [u64; N]) {
        for (sum, amount) in self.bins[index].iter_mut().zip(amounts) {
            *sum += amount;
        }
    }

    /// Inserts bins before the first, or duplicates the width if there are too many.
    fn extend_back(&mut self, now_ns: i64) {
        self.last = NO_BIN;
        let before_ns = self.start_ns.saturating_sub(now_ns);
        let bins = before_ns / self.width_ns + i64::from(before_ns % self.width_ns > 0);
        if bins > (self.bins_max - self.bins.len()) as i64 {
            if self.width_ns > i64::MAX / 4 {
                self.start_ns = now_ns; // Out of range.
                return;
            }
            self.widen();
            return;
        }
        self.bins.splice(0..0, std::iter::repeat_n([0; N], bins as usize));
        self.start_ns = self.start_ns.saturating_sub(bins * self.width_ns);
    }

    fn widen(&mut self) {
        self.last = NO_BIN;
        self.width_ns = self.width_ns.saturating_mul(2);
        let pairs = self.bins.chunks(2).map(|pair| {
            std::array::from_fn(|n| pair[0][n] + pair.get(1).map_or(0, |second| second[n]))
        });
        self.bins = pairs.collect();
    }

    /// Start of the first bin, ns since 1970.
    pub fn start_ns(&self) -> i64 {
        self.start_ns
    }

    /// Width of a bin, ns.
    pub fn width_ns(&self) -> i64 {
        self.width_ns
    }

    /// Bins in order of time, up to the last amount.
    pub fn bins(&self) -> &[[u64; N]] {
        &self.bins
    }
}

/// Interval of [`Busiest`].
const INTERVAL_NS: i64 = 100_000_000;
/// Number of intervals kept. Older timestamps are not counted.
const INTERVALS: usize = 64;

/// Maximum amount in 0.1 s, in intervals from the first timestamp, in bounded memory.
#[derive(Clone, Debug)]
pub struct Busiest {
    first_ns: Option<i64>,
    /// Start of the current interval.
    since_ns: i64,
    index: usize,
    /// Number of the last interval.
    latest: i64,
    amounts: [u64; INTERVALS],
    max: u64,
}

impl Default for Busiest {
    fn default() -> Self {
        Self { first_ns: None, since_ns: 0, index: 0, latest: 0, amounts: [0; INTERVALS], max: 0 }
    }
}

impl Busiest {
    /// Adds an amount at a time. Timestamps may go back a little.
    #[inline]
    pub fn add(&mut self, now_ns: i64, amount: u64) {
        let since = now_ns.wrapping_sub(self.since_ns) as u64;
        if since >= INTERVAL_NS as u64 || self.first_ns.is_none() {
            self.change_interval(now_ns, amount);
            return;
        }
        let sum = &mut self.amounts[self.index % INTERVALS];
        *sum += amount;
        self.max = self.max.max(*sum);
    }

    /// Changes to another interval and adds an amount.
    #[cold]
    fn change_interval(&mut self, now_ns: i64, amount: u64) {
        let first_ns = *self.first_ns.get_or_insert(now_ns);
        let interval = now_ns.saturating_sub(first_ns).div_euclid(INTERVAL_NS);
        let index = |interval: i64| interval.rem_euclid(INTERVALS as i64) as usize;
        if interval > self.latest {
            let fresh = (interval - self.latest).min(INTERVALS as i64);
            for n in 0..fresh {
                self.amounts[index(interval - n)] = 0;
            }
            self.latest = interval;
        } else if interval <= self.latest - INTERVALS as i64 {
            return;
        }
        self.index = index(interval);
        self.since_ns = first_ns.saturating_add(interval.saturating_mul(INTERVAL_NS));
        let sum = &mut self.amounts[self.index];
        *sum += amount;
        self.max = self.max.max(*sum);
    }

    /// Maximum amount in one interval.
    pub fn max(&self) -> u64 {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_stretch_is_a_tenth_of_a_second_however_long_the_file() {
        let mut busiest = Busiest::default();
        let start = 1_700_000_000_000_000_000;
        for hour in 0..10 {
            busiest.add(start + hour * 3_600_000_000_000, 10);
        }
        assert_eq!(busiest.max(), 10);
        // Within 0.1 s, across an interval boundary, and out of order.
        let base = start + 40_000_000_000_000;
        busiest.add(base, 500);
        busiest.add(base + 99_999_999, 500);
        busiest.add(base + 100_000_000, 700);
        busiest.add(base + 6_000_000_000, 1);
        busiest.add(base + 50_000_000, 40);
        assert_eq!(busiest.max(), 1040);
        // Out of range: far in the past, and the limits of the time type.
        busiest.add(start, 5000);
        for now in [i64::MIN, i64::MAX, 0] {
            busiest.add(now, 1);
        }
        assert_eq!(busiest.max(), 1040);
    }
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_is_lost_and_bins_stay_few(
            steps in proptest::collection::vec((-(1_i64 << 38)..1 << 40, 0_u64..1000), 1..200),
        ) {
            let mut rates = Rates::<1>::new(16);
            let (mut now, mut total, mut last) = (5, 0, i64::MIN);
            for (step, amount) in steps {
                now += step;
                total += amount;
                rates.add(now, [amount]);
                last = last.max(now);
                prop_assert!(rates.start_ns() <= now);
            }
            prop_assert!(rates.bins().len() <= 16);
            prop_assert_eq!(rates.bins().iter().map(|bin| bin[0]).sum::<u64>(), total);
            prop_assert!(rates.start_ns() + rates.width_ns() * rates.bins().len() as i64 > last);
        }
    }

    #[test]
    fn the_ends_of_time_are_bins_too() {
        let mut rates = Rates::<1>::new(4);
        for now in [i64::MIN, 0, i64::MAX, -5] {
            rates.add(now, [1]);
        }
        assert_eq!(rates.bins().iter().map(|bin| bin[0]).sum::<u64>(), 4);
    }
}
