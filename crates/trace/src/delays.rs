//! Distribution of times in bounded memory. The width of a bucket is 1/128 of its value.

use std::collections::BTreeMap;

/// Sub-buckets per octave, as a power of two.
const FINE_BITS: u32 = 7;

/// Distribution of times.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// Number of times.
    pub count: u64,
    sum_ns: i128,
    /// Minimum; 0 without times.
    pub min_ns: i64,
    /// Maximum; 0 without times.
    pub max_ns: i64,
    buckets: BTreeMap<u16, u64>,
}

fn bucket(ns: u64) -> u16 {
    let octave = ns.max(1).ilog2();
    let fine = if octave >= FINE_BITS { ns >> (octave - FINE_BITS) } else { ns };
    let fine = fine & ((1 << FINE_BITS) - 1);
    ((octave << FINE_BITS) as u64 | fine) as u16
}

/// Lower bound of a bucket.
fn least(bucket: u16) -> u64 {
    let octave = u32::from(bucket) >> FINE_BITS;
    let fine = u64::from(bucket) & ((1 << FINE_BITS) - 1);
    if octave >= FINE_BITS {
        (1 << FINE_BITS | fine) << (octave - FINE_BITS)
    } else {
        fine
    }
}

impl Delays {
    /// Adds a time.
    pub fn add(&mut self, ns: i64) {
        self.min_ns = if self.count == 0 { ns } else { self.min_ns.min(ns) };
        self.max_ns = self.max_ns.max(ns);
        self.count += 1;
        self.sum_ns += i128::from(ns);
        *self.buckets.entry(bucket(ns.max(0) as u64)).or_default() += 1;
    }

    /// Mean; NaN without times.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 {
            f64::NAN
        } else {
            self.sum_ns as f64 / self.count as f64
        }
    }

    /// Quantile for the given share, accurate to 1 %; -1 without times.
    pub fn quantile_ns(&self, share: f64) -> i64 {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        for (&bucket, &count) in &self.buckets {
            below += count;
            if below >= rank {
                let middle = (least(bucket) + least(bucket + 1).max(least(bucket))) / 2;
                return (middle as i64).clamp(self.min_ns, self.max_ns);
            }
        }
        -1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_are_within_a_hundredth() {
        let mut delays = Delays::default();
        (1..=1000).for_each(|us| delays.add(us * 1000));
        for (share, ns) in [(0.5, 500_000), (0.95, 950_000), (1.0, 1_000_000), (0.0, 1000)] {
            let found = delays.quantile_ns(share);
            assert!((found - ns).abs() <= ns / 100, "{share}: {found}");
        }
        assert_eq!(delays.mean_ns(), 500_500.0);
        assert_eq!(Delays::default().quantile_ns(0.5), -1);
    }

    proptest! {
        #[test]
        fn buckets_are_in_order(ns in 0..1u64 << 50) {
            let here = bucket(ns);
            prop_assert!(least(here) <= ns);
            prop_assert!(bucket(ns + 1) >= here);
            prop_assert!(ns - least(here) <= ns >> FINE_BITS);
        }
    }
}
