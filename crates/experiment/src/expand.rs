//! Expansion of an experiment file to the scenario of a cell.

use crate::build::{Builder, Built};
use crate::document::Document;
use crate::files::Files;
use crate::origins::Origins;
use crate::plugins::Scope;
use crate::read::{Loc, Node, Refusal, Result};
use dumbbell_model::{Scenario, ScenarioError};
use serde_json::Value;

/// A cell of an experiment file.
#[derive(Clone, Debug)]
pub struct Expanded {
    /// Scenario as JSON, checked.
    pub json: Value,
    /// Scenario without tables over time, for later repeats; `None`: all repeats keep them.
    pub unsampled: Option<Value>,
    /// Number of first repeats with tables over time; unused without `unsampled`.
    pub sampled: u64,
    /// Base RTT of each flow, ns: sum of the fixed delays in both directions.
    pub rtts_ns: Vec<(String, u64)>,
    /// Seed of the first repeat.
    pub seed: u64,
    /// Place in the file of each part of the scenario.
    pub origins: Origins,
}

impl Expanded {
    /// Path in the file of a path in the scenario.
    pub fn place(&self, path: &str) -> Loc {
        self.origins.place(path)
    }

    /// Scenario, read from its text as every engine reads it.
    ///
    /// # Errors
    /// None: [`Self::json`] is checked.
    pub fn scenario(&self) -> std::result::Result<Scenario, ScenarioError> {
        Scenario::from_json(&self.json.to_string())
    }
}

/// Expands the tree of a cell: a file without factors.
///
/// # Errors
/// The file is wrong, or a file that it names.
pub(crate) fn expand_tree(
    tree: &Value,
    files: &dyn Files,
    most_flows: Option<u64>,
) -> Result<Expanded> {
    let root = Node { value: tree, at: Vec::new() };
    let _plugins = Scope::loaded(&root.any_fields()?, files)?;
    let document = Document::read(tree)?;
    let Built { json, rtts_ns, sampling, origins, .. } =
        Builder::new(&document, files).built(most_flows)?;
    Scenario::check_json(&json)
        .map_err(|error| -> Refusal { origins.refused(&error.path, &error.message) })?;
    let unsampled = sampling.unsampled().map(|bare| {
        let mut later = json.clone();
        later["sampling"] = bare;
        later
    });
    let sampled = sampling.repeats.unwrap_or(0);
    let seed = document.seed;
    Ok(Expanded { json, unsampled, sampled, rtts_ns, seed, origins })
}
