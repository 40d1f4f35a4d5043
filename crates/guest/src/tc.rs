//! Arguments of `tc` that several modules write, and the refusal of what Linux cannot do.

use dumbbell_model::ScenarioError;

/// Limit of a queue that never fills.
pub(crate) const ENDLESS_PACKETS: u64 = 1_000_000;

/// A time as netem reads it: microseconds, with decimals if needed.
pub(crate) fn micros(ns: u64) -> String {
    match ns % 1000 {
        0 => format!("{}us", ns / 1000),
        rest => format!("{}.{rest:03}us", ns / 1000),
    }
}

/// Refuses a scenario because of a field.
pub(crate) fn refuse<T>(field: impl Into<String>, message: &str) -> Result<T, ScenarioError> {
    let message = format!("the kernel's engines cannot do this: {message}");
    Err(ScenarioError { path: field.into(), message })
}
