//! Your transport stack beside Linux's TCP in a simulated network, in a test of your own.
//!
//! A stack is a [`Stack`], one connection with both of its ends, made by a [`Maker`]. [`run`] carries its
//! datagrams through the network of an experiment: the same as in an experiment file, as JSON. Flows with
//! `quic: {stack: own}` are the stack's. The same seed gives the same results.

use dumbbell_experiment::{Context, Experiment, Located, NoFiles, Tree};
use dumbbell_model::tables::{Column, Table};
use dumbbell_model::Time;
use dumbbell_plugins::{Makers, Page, RunPlugins, Stacks};
use dumbbell_sim::Monitor;
pub use dumbbell_stack::{Maker, Side, Spec, Stack, State, Transmit};
pub use serde_json::{json, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Name of the stack in experiments.
const OWN: &str = "own";

/// Results of a run.
#[derive(Clone, Debug)]
pub struct Results {
    tables: Vec<Table>,
    /// SHA-256 over all tables.
    pub digest: String,
}

struct Endless;

impl Monitor for Endless {
    fn progress(&self, _: Time) -> bool {
        true
    }
}

fn refused(errors: &[Located]) -> String {
    let sentences: Vec<String> =
        errors.iter().map(|error| format!("{}: {}", error.field, error.sentence())).collect();
    sentences.join("\n")
}

/// Runs the first cell of an experiment with its first seed.
///
/// # Errors
/// What is wrong with the experiment, or what the stack did wrong: with place, or flow and time.
pub fn run(experiment: &Value, stack: Arc<dyn Maker>) -> Result<Results, String> {
    let no_start = |_: &str, _: &Tree, _: u32| Err(Located::default());
    let root = Arc::new(Tree::of_value(experiment));
    let read = Experiment::open(root, &[], BTreeSet::new(), &no_start, Context::default())
        .map_err(|error| refused(&[error]))?;
    let cell = read.cell(0, &NoFiles).map_err(|errors| refused(&errors))?;
    let scenario = cell.scenario().map_err(|error| error.to_string())?;
    let page = Page::private().map_err(|error| error.to_string())?;
    let stacks: Stacks = [(OWN, stack)].into();
    let plugins = RunPlugins::new(Makers::new(), Arc::new(page)).with_stacks(stacks);
    let output = dumbbell_sim::run_with(&scenario, cell.seed, &Endless, &plugins)
        .map_err(|error| error.to_string())?;
    Ok(Results { tables: output.tables, digest: output.digest })
}

impl Results {
    fn column(&self, table: &str, column: &str) -> Option<&Column> {
        let table = self.tables.iter().find(|one| one.spec.name == table)?;
        let place = table.spec.columns.iter().position(|one| one.name == column)?;
        table.columns.get(place)
    }

    /// Place of a row by its name in a column of text.
    fn row(&self, table: &str, key: &str, name: &str) -> Option<usize> {
        match self.column(table, key)? {
            Column::Text(names) => names.to_vec().iter().position(|one| one == name),
            Column::Int(_) | Column::Float(_) => None,
        }
    }

    fn cell(&self, table: &str, row: usize, column: &str) -> Option<f64> {
        match self.column(table, column)? {
            Column::Int(values) => {
                values.to_vec().get(row).filter(|&&value| value >= 0).map(|&value| value as f64)
            }
            Column::Float(values) => {
                values.to_vec().get(row).copied().filter(|value| !value.is_nan())
            }
            Column::Text(_) => None,
        }
    }

    /// Number in a row of the table `flows`: `delivered_bytes`, `srtt_mean_ns`. `None`: not known.
    pub fn flow(&self, flow: &str, column: &str) -> Option<f64> {
        self.cell("flows", self.row("flows", "flow", flow)?, column)
    }

    /// Number in a row of the table `pipes`: `bottleneck/forward`, `dropped_overflow_packets`.
    pub fn pipe(&self, pipe: &str, column: &str) -> Option<f64> {
        self.cell("pipes", self.row("pipes", "pipe", pipe)?, column)
    }

    /// Payload of a flow per second from the end of its handshake to its end, Mbit/s, as the metric of this name.
    /// `None`: the handshake was not finished.
    pub fn goodput_mbps(&self, flow: &str) -> Option<f64> {
        let life_ns = self.flow(flow, "end_ns")? - self.flow(flow, "established_ns")?;
        Some(self.flow(flow, "delivered_bytes")? * 8e3 / life_ns).filter(|rate| rate.is_finite())
    }
}
