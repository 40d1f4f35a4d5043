//! Arrivals: short flows that start at random times, with sizes drawn from a distribution. They are
//! drawn from the seed before the run begins, so every engine runs the same flows.

use crate::rng::Rng;
use crate::scenario::{Flow, Scenario, Source, Tcp, Traffic};
use crate::units::Span;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Flows that arrive as a Poisson process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// Name of the process; its flows are `web.1`, `web.2`, …
    pub name: String,
    /// Group of its flows; empty: none.
    #[serde(default)]
    pub group: String,
    /// Name of the sending host.
    pub from: String,
    /// Name of the receiving host.
    pub to: String,
    /// Earliest start of a flow.
    #[serde(rename = "start_ns")]
    pub start: Span,
    /// End of the arrivals; `null`: end of the run.
    #[serde(rename = "stop_ns")]
    pub stop: Option<Span>,
    /// DSCP of their packets.
    #[serde(default)]
    pub dscp: u8,
    /// Mean number of flows per second.
    pub per_second: f64,
    /// Size of each flow.
    pub size: Size,
    /// TCP connection of each flow. The drawn size replaces its source.
    pub tcp: Box<Tcp>,
}

/// Distribution of flow sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Size {
    /// Constant.
    Fixed {
        /// Size of each flow.
        bytes: u64,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean_bytes: u64,
    },
    /// Lognormal.
    Lognormal {
        /// Median.
        median_bytes: u64,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// Pareto, bounded on both sides.
    Pareto {
        /// Exponent of the tail.
        shape: f64,
        /// Minimum.
        min_bytes: u64,
        /// Maximum.
        max_bytes: u64,
    },
    /// Measured: points of a CDF, interpolated linearly.
    Empirical {
        /// Size in bytes and share of flows that are not larger; ascending, the last share is 1.
        points: Vec<(u64, f64)>,
    },
}

/// Uniform random number in (0, 1].
pub(crate) fn unit(rng: &mut Rng) -> f64 {
    ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
}

impl Size {
    /// Draws a size of at least 1 byte.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let bytes = match self {
            Self::Fixed { bytes } => *bytes as f64,
            Self::Exponential { mean_bytes } => -libm::log(unit(rng)) * *mean_bytes as f64,
            Self::Lognormal { median_bytes, sigma } => {
                // Box and Muller, Ann. Math. Statist. 29(2), 1958.
                let radius = libm::sqrt(-2.0 * libm::log(unit(rng)));
                let normal = radius * libm::cos(core::f64::consts::TAU * unit(rng));
                libm::exp(sigma * normal) * *median_bytes as f64
            }
            Self::Pareto { shape, min_bytes, max_bytes } => {
                // Inversion of the complementary CDF, which is 1 at the minimum.
                let (least, most) = (*min_bytes as f64, *max_bytes as f64);
                let beyond = libm::pow(least / most, *shape);
                let share = beyond + (1.0 - beyond) * unit(rng);
                least / libm::pow(share, 1.0 / shape)
            }
            Self::Empirical { points } => empirical(points, unit(rng)),
        };
        (bytes as u64).max(1)
    }

    /// Mean in bytes, before the draw is rounded down to whole bytes.
    pub fn mean_bytes(&self) -> f64 {
        match self {
            Self::Fixed { bytes } => *bytes as f64,
            Self::Exponential { mean_bytes } => *mean_bytes as f64,
            Self::Lognormal { median_bytes, sigma } => {
                *median_bytes as f64 * libm::exp(sigma * sigma / 2.0)
            }
            Self::Pareto { shape, min_bytes, max_bytes } => {
                let (least, most) = (*min_bytes as f64, *max_bytes as f64);
                let ratio = least / most;
                let within = 1.0 - libm::pow(ratio, *shape);
                if (shape - 1.0).abs() < 1e-9 {
                    return least * libm::log(most / least) / within;
                }
                let factor = shape / (shape - 1.0);
                factor * least * (1.0 - libm::pow(ratio, shape - 1.0)) / within
            }
            Self::Empirical { points } => {
                let mut mean = points.first().map_or(0.0, |(bytes, share)| *bytes as f64 * share);
                for pair in points.windows(2) {
                    let (low, high) = (pair[0], pair[1]);
                    mean += (low.0 + high.0) as f64 / 2.0 * (high.1 - low.1);
                }
                mean
            }
        }
    }
}

fn empirical(points: &[(u64, f64)], share: f64) -> f64 {
    let place = points.partition_point(|(_, upto)| *upto < share);
    let Some(&(bytes, upto)) = points.get(place) else { return 1.0 };
    let Some(&(below, from)) = place.checked_sub(1).and_then(|before| points.get(before)) else {
        return bytes as f64;
    };
    below as f64 + (bytes - below) as f64 * (share - from) / (upto - from)
}

impl Scenario {
    /// Adds the flows that the arrivals draw from this seed.
    pub fn drawn(&self, seed: u64) -> Cow<'_, Self> {
        if self.arrivals.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut drawn = self.clone();
        for arrivals in &self.arrivals {
            drawn.flows.extend(flows(arrivals, self.duration, seed));
        }
        Cow::Owned(drawn)
    }
}

/// Flows of one process, in order of start.
fn flows(arrivals: &Arrivals, duration: Span, seed: u64) -> Vec<Flow> {
    let mut times = Rng::named(seed, &format!("arrivals/{}/times", arrivals.name));
    let mut sizes = Rng::named(seed, &format!("arrivals/{}/sizes", arrivals.name));
    let end = arrivals.stop.unwrap_or(duration).min(duration);
    let mut found = Vec::new();
    let mut at = arrivals.start;
    loop {
        let gap_s = -libm::log(unit(&mut times)) / arrivals.per_second;
        at = at + Span::from_ps((gap_s * 1e12) as u64);
        if at >= end {
            return found;
        }
        let bytes = Some(arrivals.size.draw(&mut sizes));
        let source = Source::Bulk { bytes, refill: Span::ZERO };
        found.push(Flow {
            name: format!("{}.{}", arrivals.name, found.len() + 1),
            group: arrivals.group.clone(),
            from: arrivals.from.clone(),
            to: arrivals.to.clone(),
            start: at,
            stop: None,
            start_jitter: Span::ZERO,
            dscp: arrivals.dscp,
            traffic: Traffic::Tcp(Box::new(Tcp { source, ..(*arrivals.tcp).clone() })),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean of many draws, and mean by formula.
    fn means(size: &Size) -> (f64, f64) {
        const DRAWS: u32 = 200_000;
        let mut rng = Rng::named(3, "sizes");
        let sum: f64 = (0..DRAWS).map(|_| size.draw(&mut rng) as f64).sum();
        (sum / f64::from(DRAWS), size.mean_bytes())
    }

    #[test]
    fn means_are_those_of_the_formulas() {
        let sizes = [
            Size::Fixed { bytes: 5000 },
            Size::Exponential { mean_bytes: 20_000 },
            Size::Lognormal { median_bytes: 10_000, sigma: 1.0 },
            Size::Pareto { shape: 1.2, min_bytes: 1000, max_bytes: 1_000_000 },
            Size::Pareto { shape: 1.0, min_bytes: 1000, max_bytes: 1_000_000 },
            Size::Empirical { points: vec![(1000, 0.5), (10_000, 0.9), (100_000, 1.0)] },
        ];
        for size in sizes {
            let (found, known) = means(&size);
            // Six standard errors of the widest, the cut-off Pareto distribution (σ about 10 means).
            assert!((found / known - 1.0).abs() < 0.04, "{size:?}: {found} and {known}");
        }
    }

    #[test]
    fn sizes_stay_within_their_bounds() {
        let mut rng = Rng::named(4, "sizes");
        let pareto = Size::Pareto { shape: 0.5, min_bytes: 100, max_bytes: 1000 };
        assert!((0..10_000).all(|_| (99..=1000).contains(&pareto.draw(&mut rng))));
        let empirical = Size::Empirical { points: vec![(100, 0.3), (200, 1.0)] };
        let drawn: Vec<_> = (0..10_000).map(|_| empirical.draw(&mut rng)).collect();
        assert!(drawn.iter().all(|bytes| (100..=200).contains(bytes)));
        let least = drawn.iter().filter(|&&bytes| bytes == 100).count();
        assert!((2700..=3400).contains(&least), "{least}");
    }
}
