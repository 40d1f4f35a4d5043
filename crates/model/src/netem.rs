//! Words of Linux's netem beyond delay, uniform addition and limit (`sch_netem.c`, tc-netem(8)).
//!
//! Both engines draw the same numbers: netem's generator has the seed of [`Scenario::drawn`].

use crate::rng::Rng;
use crate::scenario::{Change, Loss, Pipe, Scenario};
use crate::units::Span;
use crate::Queue;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Maximum values of a table (`NETEM_DIST_MAX`).
pub const TABLE_MAX: usize = 16_384;
/// Value of a table for one standard deviation (`NETEM_DIST_SCALE`).
const SCALE: f64 = 8192.0;
/// Points of the curves from which iproute2 makes its tables.
const POINTS: u32 = 16_384;
/// Maximum steps of a loss in time.
pub const STEPS_MAX: u64 = 20_000;

/// Words of a netem. A probability that is 0 draws nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetemWords {
    /// Half the width of a uniform delay around the mean; standard deviation of a table.
    #[serde(rename = "jitter_ns")]
    pub jitter: Span,
    /// Distribution of the delay.
    pub distribution: Distribution,
    /// Correlation of the numbers for the delay, 0–1.
    pub delay_correlation: f64,
    /// Loss before the queue.
    pub loss: NetemLoss,
    /// True if ECN-capable packets are marked in place of a loss.
    pub ecn: bool,
    /// Packets that are queued twice.
    pub duplicate: Correlated,
    /// Packets that are damaged. The receiver drops them.
    pub corrupt: Correlated,
    /// Packets that are sent without delay.
    pub reorder: Option<EarlyReorder>,
    /// Seed of the random numbers; `null`: drawn from the seed of the run.
    pub seed: Option<u64>,
}

/// A probability, and the correlation of the numbers behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Correlated {
    /// Probability, 0–1.
    pub probability: f64,
    /// Weight of the number before in the next one, 0–1 (`get_crandom`).
    pub correlation: f64,
}

/// Early packets: after `gap` − 1 delayed ones, a packet is sent at once with this probability.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlyReorder {
    /// Probability, 0–1.
    pub probability: f64,
    /// Weight of the number before in the next one, 0–1.
    pub correlation: f64,
    /// Distance of two early packets at least; 1: any packet.
    pub gap: u32,
}

/// Four-state Markov chain (Salsano, Ludovici, Ordine 2009): 1 received in a gap, 2 received in a burst,
/// 3 lost in a burst, 4 lost in a gap. Probabilities of its transitions, 0–1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FourStates {
    /// From 1 to 3.
    pub p13: f64,
    /// From 3 to 1.
    pub p31: f64,
    /// From 3 to 2.
    pub p32: f64,
    /// From 2 to 3.
    pub p23: f64,
    /// From 1 to 4.
    pub p14: f64,
}

/// Loss of a netem.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum NetemLoss {
    /// No loss.
    None,
    /// Random loss.
    Random(Correlated),
    /// Four states.
    State(FourStates),
    /// Gilbert–Elliott: two states, a draw for the state and one for the loss.
    Gemodel {
        /// From good to bad.
        p: f64,
        /// From bad to good.
        r: f64,
        /// Loss in the bad state (tc's 1-h).
        loss_bad: f64,
        /// Loss in the good state (tc's 1-k).
        loss_good: f64,
    },
}

/// Distribution of a time around its mean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Distribution {
    /// Uniform within the jitter.
    Uniform,
    /// Normal, cut at four standard deviations.
    Normal,
    /// Pareto with exponent 3, cut at four standard deviations.
    Pareto,
    /// A quarter of the normal and three quarters of the Pareto value of one rank.
    Paretonormal,
    /// Values of a table in iproute2's form: deviations from the mean, 8192 for one standard deviation.
    Table {
        /// 1 to 16384 values; each is as probable as the others.
        values: Vec<i16>,
    },
}

/// Waits for slots from a distribution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotDistribution {
    /// Distribution; not uniform.
    pub distribution: Distribution,
    /// Mean wait.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
    /// Standard deviation.
    #[serde(rename = "jitter_ns")]
    pub jitter: Span,
    /// Seed of the random numbers; `null`: drawn from the seed of the run.
    pub seed: Option<u64>,
}

impl Distribution {
    /// Values of the table; `None` for the uniform distribution, which has none. The formulas are those of
    /// iproute2's `normal.c`, `pareto.c` and `paretonormal.c`.
    pub fn table(&self) -> Option<Vec<i16>> {
        let ranks = (0..POINTS).step_by(4);
        match self {
            Self::Uniform => None,
            Self::Normal => Some(ranks.map(|rank| cut(normal(rank))).collect()),
            Self::Pareto => Some(ranks.map(pareto).collect()),
            Self::Paretonormal => Some(ranks.map(paretonormal).collect()),
            Self::Table { values } => Some(values.clone()),
        }
    }

    /// Name of the table in files: that of `tc`, or made from the values.
    pub fn name(&self) -> String {
        match self {
            Self::Uniform => "uniform".to_owned(),
            Self::Normal => "normal".to_owned(),
            Self::Pareto => "pareto".to_owned(),
            Self::Paretonormal => "paretonormal".to_owned(),
            Self::Table { values } => {
                // FNV-1a.
                let bytes = values.iter().flat_map(|value| value.to_le_bytes());
                let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
                });
                format!("table{hash:016x}")
            }
        }
    }
}

fn cut(value: f64) -> i16 {
    libm::rint(value).clamp(f64::from(i16::MIN), f64::from(i16::MAX)) as i16
}

/// Normal value of a rank: the largest x of a grid of 5·10⁻⁵ whose share rounds to the rank.
fn normal(rank: u32) -> f64 {
    let share = |x: f64| 0.5 + 0.5 * libm::erf(x / core::f64::consts::SQRT_2);
    let x = |step: u32| -10.0 + f64::from(step) * 5e-5;
    let (mut low, mut high) = (0u32, 401_000u32);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if f64::from(POINTS) * share(x(middle)) <= f64::from(rank) + 0.5 {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    x(low) * SCALE
}

/// Pareto value of a rank, with mean 0 and (nearly) standard deviation 1.
fn pareto(rank: u32) -> i16 {
    let beyond = f64::from(POINTS - rank) / f64::from(POINTS);
    cut((1.0 / libm::pow(beyond, 1.0 / 3.0) - 1.5) * (4.0 / 3.0) * SCALE)
}

fn paretonormal(rank: u32) -> i16 {
    // Whole numbers, divided towards 0.
    let sum = libm::rint(normal(rank)) as i64 + 3 * i64::from(pareto(rank));
    (sum / 4).clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

/// A probability as netem has it: a share of 2³² − 1 (iproute2's `parse_percent`).
pub fn fixed(probability: f64) -> u32 {
    libm::rint(probability * f64::from(u32::MAX)) as u32
}

impl FourStates {
    /// Advances the chain. Returns true if the packet is lost (`loss_4state`).
    pub fn step(&self, state: &mut u8, number: u32) -> bool {
        let within = |probability: f64| number < fixed(probability);
        let within_both = |one: f64, other: f64| {
            u64::from(number) < u64::from(fixed(one)) + u64::from(fixed(other))
        };
        *state = match *state {
            1 if within(self.p14) => 4,
            1 if within_both(self.p13, self.p14) => 3,
            2 if within(self.p23) => 3,
            2 => 2,
            3 if within(self.p32) => 2,
            3 if within_both(self.p31, self.p32) => 1,
            3 => 3,
            _ => 1,
        };
        *state >= 3
    }
}

impl Loss {
    /// Length of a step of the chain, if it advances in time.
    pub fn every(&self) -> Option<Span> {
        match self {
            Self::GilbertElliott { every, .. } | Self::State { every, .. } => *every,
            _ => None,
        }
    }

    /// Loss of each step of a chain in time, the first step first.
    fn steps(&self, mut rng: Rng) -> impl Iterator<Item = Self> {
        let (model, mut bad, mut state) = (self.clone(), false, 1);
        std::iter::from_fn(move || {
            let probability = match &model {
                Self::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad, .. } => {
                    bad ^= rng.chance(if bad { *bad_to_good } else { *good_to_bad });
                    if bad {
                        *loss_bad
                    } else {
                        *loss_good
                    }
                }
                Self::State { chain, .. } => {
                    f64::from(u8::from(chain.step(&mut state, (rng.next_u64() >> 32) as u32)))
                }
                _ => return None,
            };
            Some(if probability > 0.0 { Self::Independent { probability } } else { Self::None })
        })
    }
}

impl Pipe {
    /// Returns true if [`Self::draw`] changes something.
    fn draws(&self) -> bool {
        let words = matches!(&self.queue, Queue::Netem { words: Some(_), .. });
        let slots = self.slots.as_ref().is_some_and(|slots| slots.distribution.is_some());
        words || slots || self.loss.every().is_some()
    }

    /// Draws what both engines take from the seed: seeds of netem, and a loss in time as changes.
    /// `name`: `LINK/forward` or `LINK/backward`.
    fn draw(&mut self, seed: u64, name: &str, duration: Span) {
        let drawn = Some(Rng::named(seed, &format!("link/{name}/netem")).next_u64());
        if let Queue::Netem { words: Some(words), .. } = &mut self.queue {
            words.seed = words.seed.or(drawn);
        }
        if let Some(waits) = self.slots.as_mut().and_then(|slots| slots.distribution.as_mut()) {
            waits.seed = waits.seed.or(drawn);
        }
        let Some(every) = self.loss.every().filter(|every| !every.is_zero()) else { return };
        let mut steps = self.loss.steps(Rng::named(seed, &format!("link/{name}/loss/steps")));
        let (mut at, mut now) = (Span::ZERO, steps.next().unwrap_or(Loss::None));
        self.loss = now.clone();
        for next in steps.take((duration.as_ns() / every.as_ns()).min(STEPS_MAX) as usize) {
            at = at + every;
            if next != now {
                now = next;
                let loss = Some(now.clone());
                self.changes.push(Change { at, rate_bps: None, delay: None, loss, state: None });
            }
        }
        self.changes.sort_by_key(|change| change.at);
    }
}

impl Scenario {
    /// Draws for all pipes what both engines take from the seed.
    pub fn with_drawn_pipes(&self, seed: u64) -> Cow<'_, Self> {
        let mut pipes = self.links.iter().flat_map(|link| [&link.forward, &link.backward]);
        if !pipes.any(Pipe::draws) {
            return Cow::Borrowed(self);
        }
        let mut all = self.clone();
        for link in &mut all.links {
            for (way, pipe) in [("forward", &mut link.forward), ("backward", &mut link.backward)] {
                if pipe.draws() {
                    pipe.draw(seed, &format!("{}/{way}", link.name), self.duration);
                }
            }
        }
        Cow::Owned(all)
    }

    /// Distributions of all netems and slots.
    pub fn distributions(&self) -> impl Iterator<Item = &Distribution> {
        self.links.iter().flat_map(|link| [&link.forward, &link.backward]).flat_map(|pipe| {
            let words = match &pipe.queue {
                Queue::Netem { words: Some(words), .. } => Some(&words.distribution),
                _ => None,
            };
            let slots = pipe.slots.as_ref().and_then(|slots| slots.distribution.as_ref());
            words.into_iter().chain(slots.map(|waits| &waits.distribution))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and standard deviation in units of the table.
    fn moments(distribution: &Distribution) -> (f64, f64) {
        let values = distribution.table().unwrap_or_default();
        let n = values.len() as f64;
        let mean = values.iter().map(|value| f64::from(*value)).sum::<f64>() / n / SCALE;
        let square = values
            .iter()
            .map(|value| (f64::from(*value) / SCALE) * (f64::from(*value) / SCALE))
            .sum::<f64>()
            / n;
        (mean, (square - mean * mean).sqrt())
    }

    #[test]
    fn tables_have_the_moments_of_their_curves() {
        // Pareto with exponent 3 and minimum 1: mean 1.5, variance 0.75, here times (4/3)². Cut at 4 of the
        // table's units it loses (with u the probability beyond the cut at x = 4.5) u·(x·3/2 − x)·4/3 of its mean.
        let (mean, deviation) = moments(&Distribution::Normal);
        assert!(mean.abs() < 1e-3 && (deviation - 1.0).abs() < 1e-3, "{mean} {deviation}");
        let beyond = 1.0 / (4.5_f64 * 4.5 * 4.5);
        let missing = beyond * 4.5 / 2.0 * 4.0 / 3.0;
        let (mean, _) = moments(&Distribution::Pareto);
        assert!((mean + missing).abs() < 1e-3, "{mean} {missing}");
        let (both, _) = moments(&Distribution::Paretonormal);
        assert!((both - 0.75 * mean).abs() < 1e-3, "{both}");
    }

    #[test]
    fn names_of_tables_follow_their_values() {
        let table = |values: &[i16]| Distribution::Table { values: values.to_vec() }.name();
        assert_eq!(table(&[1, 2]), table(&[1, 2]));
        assert_ne!(table(&[1, 2]), table(&[2, 1]));
    }

    /// Salsano et al.: π1 = 1/(1 + p13/p31·(1 + p32/p23) + p14), of what is lost π3 + π4.
    #[test]
    fn four_states_lose_their_stationary_share() {
        let chain = FourStates { p13: 0.02, p31: 0.2, p32: 0.3, p23: 0.25, p14: 0.01 };
        let mut rng = Rng::named(5, "test");
        let (mut state, n) = (1, 400_000);
        let lost = (0..n).filter(|_| chain.step(&mut state, (rng.next_u64() >> 32) as u32)).count();
        let gap = 1.0 / (1.0 + 0.1 * (1.0 + 0.3 / 0.25) + 0.01);
        let expected = gap * (0.1 + 0.01);
        let share = lost as f64 / f64::from(n);
        assert!((share - expected).abs() < 0.003, "{share} {expected}");
    }
}
