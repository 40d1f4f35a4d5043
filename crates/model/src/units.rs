//! Quantities as types. Time is an integer number of picoseconds: a byte at 400 Gbit/s lasts
//! exactly 20 ps, and 2^64 ps are 213 days.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Picoseconds in a nanosecond, the unit of scenario files and result tables.
pub const PS_PER_NS: u64 = 1_000;
/// Picoseconds in a second.
pub const PS_PER_S: u64 = 1_000_000_000_000;

/// A moment of virtual time, in picoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of virtual time, in picoseconds. In files it is an integer number of nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

/// A rate in bits per second.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Rate(u64);

impl Time {
    /// The start of a run.
    pub const ZERO: Self = Self(0);
    /// A moment later than every event.
    pub const NEVER: Self = Self(u64::MAX);

    /// The moment `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }
    /// The moment `ns` nanoseconds after the start.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * PS_PER_NS)
    }
    /// Picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Whole nanoseconds since the start, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / PS_PER_NS
    }
    /// Whole microseconds since the start, rounded down.
    pub const fn as_us(self) -> u64 {
        self.0 / 1_000_000
    }
    /// The span since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// An empty span.
    pub const ZERO: Self = Self(0);

    /// A span of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }
    /// A span of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * PS_PER_NS)
    }
    /// A span of `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }
    /// A span of `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000_000)
    }
    /// A span of `s` seconds.
    pub const fn from_s(s: u64) -> Self {
        Self(s * PS_PER_S)
    }
    /// Picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Whole nanoseconds, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / PS_PER_NS
    }
    /// Whole microseconds, rounded down.
    pub const fn as_us(self) -> u64 {
        self.0 / 1_000_000
    }
    /// Seconds, for ratios and reports only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// Returns true if the span is empty.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Rate {
    /// A rate of `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }
    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Serialisation time of `bytes`, rounded down, and the remainder of the division in units of
    /// 1/rate picoseconds. The remainder goes into the next call, so a long train stays exact.
    ///
    /// # Panics
    /// If the rate is zero: scenarios are validated before they run.
    pub fn serialise(self, bytes: u64, remainder: u64) -> (Span, u64) {
        // 8 · 10^12 ps·bit/s per byte: up to 2 MB fit 64 bits, larger lengths need 128.
        match (bytes * 8).checked_mul(PS_PER_S).and_then(|n| n.checked_add(remainder)) {
            Some(numerator) => (Span(numerator / self.0), numerator % self.0),
            None => {
                let numerator =
                    u128::from(bytes * 8) * u128::from(PS_PER_S) + u128::from(remainder);
                let rate = u128::from(self.0);
                (Span((numerator / rate) as u64), (numerator % rate) as u64)
            }
        }
    }
    /// Bytes carried in `span`, rounded down.
    pub fn bytes_in(self, span: Span) -> u64 {
        (u128::from(self.0) * u128::from(span.0) / (8 * u128::from(PS_PER_S))) as u64
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}
impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}
impl Sub<Span> for Time {
    type Output = Self;
    /// The moment `span` earlier; the start of the run if that would be before it.
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}
impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.as_ns())
    }
}
impl<'de> Deserialize<'de> for Span {
    /// Reads nanoseconds. Refuses more than half the range (106 days), so that sums stay exact.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ns = u64::deserialize(deserializer)?;
        if ns > u64::MAX / PS_PER_NS / 2 {
            return Err(serde::de::Error::custom(format!("{ns} ns is longer than 106 days")));
        }
        Ok(Self::from_ns(ns))
    }
}
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:012} s", self.0 / PS_PER_S, self.0 % PS_PER_S)
    }
}
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:012} s", self.0 / PS_PER_S, self.0 % PS_PER_S)
    }
}
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bit/s", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_byte_at_400_gbit_lasts_20_ps() {
        assert_eq!(Rate::from_bps(400_000_000_000).serialise(1, 0), (Span::from_ps(20), 0));
    }

    #[test]
    fn a_1500_byte_frame_at_12_mbit_lasts_1_ms() {
        assert_eq!(Rate::from_bps(12_000_000).serialise(1500, 0), (Span::from_ms(1), 0));
    }

    proptest! {
        #[test]
        fn a_train_loses_nothing_to_rounding(bps in 1_000u64..400_000_000_000, n in 1u64..200) {
            let rate = Rate::from_bps(bps);
            let (mut total, mut remainder) = (0u128, 0);
            for _ in 0..n {
                let (span, r) = rate.serialise(1514, remainder);
                total += u128::from(span.as_ps());
                remainder = r;
            }
            let exact = u128::from(n) * 1514 * 8 * u128::from(PS_PER_S) / u128::from(bps);
            prop_assert_eq!(total, exact);
        }
    }
}
