//! Checks of netem's words, of distributions, and of losses in time.

use crate::netem::{
    Correlated, Distribution, FourStates, NetemLoss, NetemWords, STEPS_MAX, TABLE_MAX,
};
use crate::scenario::{Loss, Pipe, Slots};
use crate::units::Span;
use crate::validate::{error, in_range, probability, ScenarioError};
use crate::Queue;

/// Longest jitter (`netem_change` cuts it to an `int`), ns.
const JITTER_MAX_NS: u64 = i32::MAX as u64;
/// Shortest delay beside a distribution or `reorder`: `tc` reads microseconds, ns.
const DELAY_MIN_NS: u64 = 1000;

/// Checks the words of a pipe's netem.
pub(crate) fn check_netem(at: &str, pipe: &Pipe) -> Result<(), ScenarioError> {
    let Queue::Netem { delay, jitter, words: Some(words), .. } = &pipe.queue else {
        return Ok(());
    };
    let lossy = pipe.loss != Loss::None || pipe.changes.iter().any(|one| one.loss.is_some());
    for (name, given) in [
        ("loss", lossy),
        ("corruption", pipe.corruption > 0.0),
        ("duplication", pipe.duplication > 0.0),
        ("queue.netem.jitter_ns", *jitter > Span::ZERO),
    ] {
        if given {
            let message = "the words of netem stand alone: give loss, corrupt, duplicate and jitter among them";
            return error(format!("{at}.{name}"), message);
        }
    }
    if pipe.ack_aggregation.is_some() && words.duplicate.probability > 0.0 {
        let message = "aggregation of ACKs in front of a netem that duplicates";
        return error(format!("{at}.ack_aggregation"), message);
    }
    let at = format!("{at}.queue.netem.words");
    check_words(&at, words, *delay)
}

fn check_words(at: &str, words: &NetemWords, delay: Span) -> Result<(), ScenarioError> {
    if words.jitter.as_ns() > JITTER_MAX_NS {
        let message = "longer than 2147.483647 ms, at which the kernel cuts it";
        return error(format!("{at}.jitter_ns"), message);
    }
    check_distribution(at, &words.distribution)?;
    let shaped = words.distribution != Distribution::Uniform;
    if shaped && (delay.as_ns() < DELAY_MIN_NS || words.jitter.as_ns() < DELAY_MIN_NS) {
        let message = "needs a delay and a jitter of at least 1 us";
        return error(format!("{at}.distribution"), message);
    }
    probability(at, "delay_correlation", words.delay_correlation)?;
    correlated(&format!("{at}.duplicate"), &words.duplicate)?;
    correlated(&format!("{at}.corrupt"), &words.corrupt)?;
    if let Some(early) = words.reorder {
        let at = format!("{at}.reorder");
        let Correlated { probability, correlation } =
            Correlated { probability: early.probability, correlation: early.correlation };
        correlated(&at, &Correlated { probability, correlation })?;
        in_range(&at, "gap", early.gap.into(), 1, u32::MAX.into())?;
        if delay.as_ns() < DELAY_MIN_NS {
            return error(at, "needs a delay of at least 1 us: without one nothing is overtaken");
        }
    }
    match &words.loss {
        NetemLoss::None if words.ecn => {
            error(format!("{at}.ecn"), "needs a loss: it marks what would be lost")
        }
        NetemLoss::None => Ok(()),
        NetemLoss::Random(loss) => correlated(&format!("{at}.loss.random"), loss),
        NetemLoss::State(chain) => check_states(&format!("{at}.loss.state"), chain),
        NetemLoss::Gemodel { p, r, loss_bad, loss_good } => {
            let at = format!("{at}.loss.gemodel");
            probability(&at, "p", *p)?;
            probability(&at, "r", *r)?;
            probability(&at, "loss_bad", *loss_bad)?;
            probability(&at, "loss_good", *loss_good)
        }
    }
}

fn correlated(at: &str, one: &Correlated) -> Result<(), ScenarioError> {
    probability(at, "probability", one.probability)?;
    probability(at, "correlation", one.correlation)
}

fn check_distribution(at: &str, one: &Distribution) -> Result<(), ScenarioError> {
    let Distribution::Table { values } = one else { return Ok(()) };
    let most = TABLE_MAX as u64;
    in_range(&format!("{at}.distribution.table"), "values", values.len() as u64, 1, most)
}

/// Checks the probabilities of four states: those that leave one state are at most 1 together.
pub(crate) fn check_states(at: &str, chain: &FourStates) -> Result<(), ScenarioError> {
    let FourStates { p13, p31, p32, p23, p14 } = *chain;
    for (name, value) in [("p13", p13), ("p31", p31), ("p32", p32), ("p23", p23), ("p14", p14)] {
        probability(at, name, value)?;
    }
    for (name, one, other, sum) in [("p14", "p13", p14, p13 + p14), ("p32", "p31", p32, p31 + p32)]
    {
        if other > 0.0 && sum > 1.0 {
            return error(format!("{at}.{name}"), format!("{other}; with {one} more than 1"));
        }
    }
    Ok(())
}

/// Checks the waits of slots from a distribution.
pub(crate) fn check_waits(at: &str, slots: &Slots, pipe: &Pipe) -> Result<(), ScenarioError> {
    let Some(waits) = &slots.distribution else { return Ok(()) };
    let at = format!("{at}.distribution");
    check_distribution(&at, &waits.distribution)?;
    in_range(&at, "jitter_ns", waits.jitter.as_ns(), DELAY_MIN_NS, JITTER_MAX_NS)?;
    if waits.distribution == Distribution::Uniform {
        return error(format!("{at}.distribution"), "slots without a table have min and max");
    }
    if pipe.queue.is_discipline() {
        return error(at, "slots with a distribution stand behind a drop-tail queue");
    }
    Ok(())
}

/// Checks a loss in time: it holds for the whole run, and its steps are not too many.
pub(crate) fn check_steps(at: &str, pipe: &Pipe, duration: Span) -> Result<(), ScenarioError> {
    for (i, change) in pipe.changes.iter().enumerate() {
        let steps = change.loss.as_ref().is_some_and(|loss| loss.every().is_some());
        if steps || change.loss.is_some() && pipe.loss.every().is_some() {
            let message = "a loss in time (every_ns) holds for the whole run";
            return error(format!("{at}.changes[{i}].loss"), message);
        }
    }
    let Some(every) = pipe.loss.every() else { return Ok(()) };
    let least = duration.as_ns().div_ceil(STEPS_MAX).max(1);
    if every.as_ns() >= least {
        return Ok(());
    }
    let (found, least) = (every.as_ns() as f64 / 1e6, least as f64 / 1e6);
    let message = format!(
        "every {found} ms: a run has at most {STEPS_MAX} steps of a loss, so they are at least {least} ms long"
    );
    error(format!("{at}.loss"), message)
}
