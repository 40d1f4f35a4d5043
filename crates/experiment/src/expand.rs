//! Expansion of an experiment file to the scenario of a cell.

use crate::build::{Builder, Built, OptionSets};
use crate::canonical::canonical;
use crate::document::Document;
use crate::files::Files;
use crate::origins::Origins;
use crate::plugins::Scope;
use crate::read::{Loc, Node, Result};
use dumbbell_model::{Scenario, ScenarioError};
use serde::Deserialize;
use serde_json::Value;

/// A cell of an experiment file.
#[derive(Clone, Debug)]
pub struct Expanded {
    /// Scenario, checked. Hosts lack their options.
    json: Value,
    options: OptionSets,
    /// Section `sampling` without tables over time, for later repeats.
    bare_sampling: Option<Value>,
    /// Number of first repeats with tables over time; unused if all repeats keep them.
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

    /// Virtual time of a run.
    pub fn duration_ns(&self) -> u64 {
        self.json["duration_ns"].as_u64().unwrap_or(0)
    }

    /// Scenario as JSON.
    pub fn json(&self) -> Value {
        let mut json = self.json.clone();
        self.options.fill_json(&mut json);
        json
    }

    /// Canonical text of the scenario, and its hash: see [`canonical`].
    pub fn canonical(&self) -> (String, Option<[u8; 32]>) {
        canonical(&self.json, &self.options)
    }

    /// The cell without tables over time, for later repeats; `None`: all repeats keep them.
    pub fn without_tables(mut self) -> Option<Self> {
        self.json["sampling"] = self.bare_sampling.take()?;
        Some(self)
    }

    /// Scenario, read from its text as every engine reads it.
    ///
    /// # Errors
    /// None: the cell is checked.
    pub fn scenario(&self) -> std::result::Result<Scenario, ScenarioError> {
        Scenario::from_json(&self.canonical().0)
    }

    /// Checks the scenario without its text. An error is that of the reader of text, which names the
    /// field.
    fn check(&self) -> std::result::Result<(), ScenarioError> {
        let read = Scenario::deserialize(&self.json).ok();
        let filled = read.and_then(|mut read| self.options.fill(&mut read).map(|()| read));
        match filled {
            Some(scenario) => scenario.validate(),
            None => self.scenario().map(drop),
        }
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
    let Built { json, options, rtts_ns, sampling, origins, .. } =
        Builder::new(&document, files).built(most_flows)?;
    let sampled = sampling.repeats.unwrap_or(0);
    let (seed, bare_sampling) = (document.seed, sampling.unsampled());
    let made = Expanded { json, options, bare_sampling, sampled, rtts_ns, seed, origins };
    match made.check() {
        Ok(()) => Ok(made),
        Err(error) => Err(made.origins.refused(&error.path, &error.message)),
    }
}
