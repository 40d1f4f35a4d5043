//! Numbers in rows of the result tables. A number is unknown until it is set. A stored table holds -1 or
//! NaN for unknown.

use crate::Time;
use std::iter::Sum;

/// A whole number that may be unknown. The default is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Int(i64);

/// A floating-point number that may be unknown. The default is unknown.
#[derive(Clone, Copy, Debug)]
pub struct Float(f64);

/// Nanoseconds of a time; unknown for [`Time::NEVER`].
pub fn ns(at: Time) -> Int {
    (at != Time::NEVER).then(|| at.as_ns()).into()
}

impl Int {
    /// Unknown, or never.
    pub const UNKNOWN: Self = Self(-1);
    /// Counted, and there was none.
    pub const ZERO: Self = Self(0);

    /// The number, if it is known.
    pub fn get(self) -> Option<i64> {
        (self != Self::UNKNOWN).then_some(self.0)
    }

    /// Value in a stored table: -1 if unknown.
    pub fn stored(self) -> i64 {
        self.0
    }

    /// Sum of the known numbers; unknown if there are none.
    pub fn sum_known(values: impl Iterator<Item = Self>) -> Self {
        values.filter_map(Self::get).reduce(|a, b| a + b).into()
    }

    /// Largest known number.
    pub fn max_known(values: impl Iterator<Item = Self>) -> Self {
        values.filter_map(Self::get).max().into()
    }

    /// Smallest known number.
    pub fn min_known(values: impl Iterator<Item = Self>) -> Self {
        values.filter_map(Self::get).min().into()
    }
}

impl Float {
    /// Unknown.
    pub const UNKNOWN: Self = Self(f64::NAN);

    /// The number, if it is known.
    pub fn get(self) -> Option<f64> {
        (!self.0.is_nan()).then_some(self.0)
    }

    /// Value in a stored table: NaN if unknown.
    pub fn stored(self) -> f64 {
        self.0
    }

    /// `sum / count`; unknown if nothing was counted.
    pub fn mean(sum: f64, count: u64) -> Self {
        (count > 0).then(|| sum / count as f64).into()
    }

    /// Sum of the known numbers; unknown if there are none.
    pub fn sum_known(values: impl Iterator<Item = Self>) -> Self {
        values.filter_map(Self::get).reduce(|a, b| a + b).into()
    }
}

impl Default for Int {
    fn default() -> Self {
        Self::UNKNOWN
    }
}

impl Default for Float {
    fn default() -> Self {
        Self::UNKNOWN
    }
}

impl PartialEq for Float {
    /// Compares numbers; two unknown numbers are equal.
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

macro_rules! whole_numbers {
    ($($kind:ty)+) => {
        $(impl From<$kind> for Int {
            fn from(value: $kind) -> Self {
                Self(value as i64)
            }
        })+
    };
}
whole_numbers!(bool u8 u16 u32 u64 usize i32 i64);

impl<T: Into<Self>> From<Option<T>> for Int {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::UNKNOWN, Into::into)
    }
}

impl From<f64> for Float {
    fn from(value: f64) -> Self {
        Self(value)
    }
}

impl From<Option<f64>> for Float {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::UNKNOWN, Self)
    }
}

impl Sum for Int {
    /// Sums numbers; unknown if one of them is unknown.
    fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
        values.map(Self::get).sum::<Option<i64>>().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_set_is_unknown() {
        assert_eq!((Int::default().get(), Int::default().stored()), (None, -1));
        assert_eq!(Float::default().get(), None);
        assert!(Float::default().stored().is_nan());
        assert_eq!(Int::from(None::<u64>), Int::UNKNOWN);
        assert_eq!((Int::from(0_u64).get(), Int::from(true).get()), (Some(0), Some(1)));
        assert_eq!((Float::from(0.0).get(), Float::mean(1.0, 0)), (Some(0.0), Float::UNKNOWN));
    }

    #[test]
    fn sums_of_the_unknown_are_unknown() {
        let some = [Int::from(2_u32), Int::UNKNOWN, Int::from(5_u32)];
        assert_eq!(some.into_iter().sum::<Int>(), Int::UNKNOWN);
        assert_eq!(Int::sum_known(some.into_iter()).get(), Some(7));
        assert_eq!(Int::max_known(some.into_iter()).get(), Some(5));
        assert_eq!(Int::min_known(some.into_iter()).get(), Some(2));
        assert_eq!(Int::sum_known([Int::UNKNOWN].into_iter()), Int::UNKNOWN);
        assert_eq!(some[..0].iter().copied().sum::<Int>().get(), Some(0));
        let none = Float::sum_known([Float::UNKNOWN].into_iter());
        assert_eq!(
            (none.get(), Float::sum_known([2.5.into(), none].into_iter()).get()),
            (None, Some(2.5))
        );
    }
}
