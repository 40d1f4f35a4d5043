//! Scripts of packetdrill, played on the simulator's TCP.

use dumbbell_model::scenario::Algorithm;
use dumbbell_model::TcpOptions;
use dumbbell_packetdrill::exchange::Plan;
use dumbbell_packetdrill::{Played, Wrong};
use dumbbell_sim::play_script;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// What is said of a script that the model's state does not allow.
fn broken() -> Wrong {
    Wrong { line: 0, message: "the model breaks off: a defect of it".to_owned() }
}

/// Plays a script: a plan as JSON, the name of a profile, and what reads a file that the script's shell
/// names. Returns what came of it, as JSON.
#[pyfunction]
pub(crate) fn play_packetdrill(
    plan: &str,
    profile: &str,
    read: &Bound<'_, PyAny>,
) -> PyResult<String> {
    let wrong = |message: String| PyValueError::new_err(message);
    let plan = Plan::read(plan).map_err(|error| wrong(error.to_string()))?;
    let options = TcpOptions::profile(profile)
        .ok_or_else(|| wrong(format!("{profile}: there is no such profile")))?;
    let controls =
        |name: &str| -> Option<Algorithm> { serde_json::from_value(Value::from(name)).ok() };
    let read = |path: &str| -> Option<String> {
        read.call1((path,)).ok()?.extract::<Option<String>>().ok()?
    };
    let played: Played = match plan.script {
        Ok((script, settings)) => catch_unwind(AssertUnwindSafe(|| {
            play_script(&script, &settings, &options, &controls, &read)
        }))
        .unwrap_or_else(|_| broken().into()),
        Err(wrong) => wrong.into(),
    };
    Ok(played.to_json().to_string())
}
