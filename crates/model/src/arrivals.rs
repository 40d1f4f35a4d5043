//! Arrivals: short flows that start at random times, with sizes drawn from a distribution. The seed
//! determines them, so every engine runs the same flows.

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

/// Flows of a process in order of start: time of the start, and size in bytes.
#[derive(Clone, Debug)]
pub struct Draws {
    per_second: f64,
    size: Size,
    times: Rng,
    sizes: Rng,
    at: Span,
    end: Span,
}

impl Iterator for Draws {
    type Item = (Span, u64);

    fn next(&mut self) -> Option<(Span, u64)> {
        let gap_s = -libm::log(unit(&mut self.times)) / self.per_second;
        self.at = self.at + Span::from_ps((gap_s * 1e12) as u64);
        (self.at < self.end).then(|| (self.at, self.size.draw(&mut self.sizes)))
    }
}

impl Arrivals {
    /// Draws the flows of a run of this duration.
    pub fn draws(&self, duration: Span, seed: u64) -> Draws {
        Draws {
            per_second: self.per_second,
            size: self.size.clone(),
            times: Rng::named(seed, &format!("arrivals/{}/times", self.name)),
            sizes: Rng::named(seed, &format!("arrivals/{}/sizes", self.name)),
            at: self.start,
            end: self.stop.unwrap_or(duration).min(duration),
        }
    }

    /// Mean number of flows in a run of this duration.
    pub fn expected(&self, duration: Span) -> f64 {
        let until = self.stop.unwrap_or(duration).min(duration);
        let seconds = until.as_ns().saturating_sub(self.start.as_ns()) as f64 / 1e9;
        self.per_second * seconds
    }

    /// Name of the flow with this number; the first is 1.
    pub fn flow_name(&self, number: usize) -> String {
        format!("{}.{number}", self.name)
    }

    /// The flow with this number.
    pub fn flow(&self, number: usize, start: Span, bytes: u64) -> Flow {
        let source = Source::Bulk { bytes: Some(bytes), refill: Span::ZERO };
        Flow {
            name: self.flow_name(number),
            group: self.group.clone(),
            from: self.from.clone(),
            to: self.to.clone(),
            start,
            stop: None,
            start_jitter: Span::ZERO,
            dscp: self.dscp,
            traffic: Traffic::Tcp(Box::new(Tcp { source, ..(*self.tcp).clone() })),
        }
    }
}

impl Scenario {
    /// Adds the flows that the arrivals draw from this seed, and what pipes draw for both engines.
    pub fn drawn(&self, seed: u64) -> Cow<'_, Self> {
        let mut all = self.with_flows_of(|arrivals| {
            let draws = arrivals.draws(self.duration, seed).enumerate();
            draws.map(|(i, (start, bytes))| arrivals.flow(i + 1, start, bytes)).collect()
        });
        if let Cow::Owned(drawn) = self.with_drawn_pipes(seed) {
            all.to_mut().links = drawn.links;
        }
        all
    }

    /// Adds one flow of each process of arrivals, for what all its flows have in common.
    pub fn with_representatives(&self) -> Cow<'_, Self> {
        self.with_flows_of(|arrivals| {
            let flow = arrivals.flow(1, arrivals.start, arrivals.size.mean_bytes() as u64);
            vec![Flow { stop: arrivals.stop, ..flow }]
        })
    }

    fn with_flows_of(&self, flows: impl Fn(&Arrivals) -> Vec<Flow>) -> Cow<'_, Self> {
        if self.arrivals.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut all = self.clone();
        all.flows.extend(self.arrivals.iter().flat_map(flows));
        Cow::Owned(all)
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
