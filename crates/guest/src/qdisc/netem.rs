//! netem's arguments.

use crate::tc::{micros, refuse, ENDLESS_PACKETS};
use dumbbell_model::netem::{Correlated, Distribution, FourStates, NetemLoss, NetemWords};
use dumbbell_model::scenario::{Loss, Pipe};
use dumbbell_model::{Framing, ScenarioError, Span};
use std::collections::BTreeMap;

/// Options of one netem.
#[derive(Clone, Debug, Default)]
pub(super) struct Netem {
    pub(super) delay: Span,
    pub(super) jitter: Span,
    pub(super) limit: u64,
    pub(super) loss: String,
    pub(super) other: String,
    pub(super) rate: String,
    pub(super) slot: String,
    /// Words in place of jitter and loss.
    pub(super) words: Option<NetemWords>,
}

impl Netem {
    pub(super) fn line(&self) -> String {
        let mut line = format!("netem limit {}", self.limit);
        if let Some(words) = &self.words {
            return line + &spoken(words, self.delay);
        }
        if self.delay > Span::ZERO || self.jitter > Span::ZERO {
            // netem's jitter is the half width around the mean; the scenario's adds to the delay.
            let half = self.jitter.as_ns() / 2;
            line += &format!(" delay {}", micros(self.delay.as_ns() + half));
            if half > 0 {
                line += &format!(" {}", micros(half));
            }
        }
        for part in [&self.loss, &self.other, &self.rate, &self.slot] {
            if !part.is_empty() {
                line += " ";
                line += part;
            }
        }
        line
    }
}

/// Words as `tc` reads them, without the seed.
fn spoken(words: &NetemWords, delay: Span) -> String {
    let mut line = String::new();
    if delay > Span::ZERO || words.jitter > Span::ZERO {
        line += &format!(" delay {}", micros(delay.as_ns()));
        if words.jitter > Span::ZERO {
            line += &format!(" {}", micros(words.jitter.as_ns()));
            line += &correlation(words.delay_correlation);
        }
        if words.distribution != Distribution::Uniform {
            line += &format!(" distribution {}", words.distribution.name());
        }
    }
    line += &match &words.loss {
        NetemLoss::None => String::new(),
        NetemLoss::Random(one) => format!(" loss random{}", correlated(one)),
        NetemLoss::State(chain) => format!(" {}", state(chain)),
        NetemLoss::Gemodel { p, r, loss_bad, loss_good } => {
            format!(" {}", gemodel([*p, *r, *loss_bad, *loss_good]))
        }
    };
    if words.ecn {
        line += " ecn";
    }
    for (name, one) in [("duplicate", &words.duplicate), ("corrupt", &words.corrupt)] {
        if one.probability > 0.0 {
            line += &format!(" {name}{}", correlated(one));
        }
    }
    if let Some(early) = &words.reorder {
        let (probability, weight) = (early.probability, early.correlation);
        let one = Correlated { probability, correlation: weight };
        line += &format!(" reorder{} gap {}", correlated(&one), early.gap);
    }
    line
}

fn correlation(weight: f64) -> String {
    if weight > 0.0 {
        format!(" {}", percent(weight))
    } else {
        String::new()
    }
}

fn correlated(one: &Correlated) -> String {
    format!(" {}{}", percent(one.probability), correlation(one.correlation))
}

fn state(chain: &FourStates) -> String {
    let parts = [chain.p13, chain.p31, chain.p32, chain.p23, chain.p14].map(percent);
    format!("loss state {}", parts.join(" "))
}

fn gemodel(parts: [f64; 4]) -> String {
    format!("loss gemodel {}", parts.map(percent).join(" "))
}

/// The seed of netem's numbers, which [`crate::netem_times`] sets.
pub(super) fn seed(seed: Option<u64>) -> String {
    seed.map(|seed| format!(" seed {seed}")).unwrap_or_default()
}

fn percent(probability: f64) -> String {
    format!("{}%", probability * 100.0)
}

pub(super) fn loss(loss: &Loss, field: &str) -> Result<String, ScenarioError> {
    match loss {
        Loss::None => Ok(String::new()),
        Loss::Independent { probability } => Ok(format!("loss random {}", percent(*probability))),
        Loss::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad, .. } => {
            Ok(gemodel([*good_to_bad, *bad_to_good, *loss_bad, *loss_good]))
        }
        Loss::State { chain, .. } => Ok(state(chain)),
        Loss::Scripted { .. } => refuse(field, "scripted loss from a time on"),
    }
}

/// Loss as options of netem, and scripted drops by flow.
pub(super) fn losses(
    spec: &Loss,
    field: &str,
) -> Result<(String, BTreeMap<String, Vec<u64>>), ScenarioError> {
    let mut scripted: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let Loss::Scripted { drops } = spec else { return Ok((loss(spec, field)?, scripted)) };
    for drop in drops {
        scripted.entry(drop.flow.clone()).or_default().push(drop.nth);
    }
    Ok((String::new(), scripted))
}

/// Duplication and corruption as options of netem.
pub(super) fn damage(pipe: &Pipe) -> String {
    let mut parts = Vec::new();
    if pipe.duplication > 0.0 {
        parts.push(format!("duplicate {}", percent(pipe.duplication)));
    }
    if pipe.corruption > 0.0 {
        parts.push(format!("corrupt {}", percent(pipe.corruption)));
    }
    parts.join(" ")
}

/// The netem that holds some packets back: all others pass at once (`reorder` of `netem_enqueue`).
pub(super) fn held_back(pipe: &Pipe) -> Option<Netem> {
    let held = pipe.reordering.filter(|held| held.probability > 0.0)?;
    let passing = 1.0 - held.probability;
    let other = if passing > 0.0 { format!("reorder {}", percent(passing)) } else { String::new() };
    Some(Netem { delay: held.extra_delay, limit: ENDLESS_PACKETS, other, ..Netem::default() })
}

/// Rate of netem, with overhead per packet and size of cells.
pub(super) fn rate(pipe: &Pipe, rate_bps: u64) -> String {
    let Framing { overhead_bytes, atm, .. } = pipe.framing;
    match (overhead_bytes, atm) {
        (0, false) => format!("rate {rate_bps}bit"),
        (bytes, false) => format!("rate {rate_bps}bit {bytes}"),
        (bytes, true) => format!("rate {rate_bps}bit {bytes} 48 5"),
    }
}
