//! Expansion of experiment files in Rust, for comparison with the Python layer.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// Scenario of an experiment file that was parsed, as the playground expands it: `(scenario, refusal)`,
/// of which one is empty. A refusal begins with `-` if the command line takes the file.
#[pyfunction]
pub(crate) fn expand(file: &str, levels: BTreeMap<String, usize>) -> PyResult<(String, String)> {
    let file = serde_json::from_str(file).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(match dumbbell_experiment::expand(&file, &levels) {
        Ok(found) => (found.json.to_string(), String::new()),
        Err(refusal) => {
            let sign = if refusal.elsewhere { "-" } else { "" };
            (String::new(), format!("{sign}{}", refusal.message))
        }
    })
}

/// Fields of experiment files that the playground takes and refuses, as JSON.
#[pyfunction]
pub(crate) fn playground_fields() -> String {
    dumbbell_experiment::sections().to_string()
}
