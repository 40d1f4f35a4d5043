//! The packet-level simulator. A [`Scenario`] and a seed go in, result tables come out; nothing
//! here reads a clock, the environment or randomness of the system.

#[cfg(test)]
extern crate self as dumbbell_sim;

#[cfg(test)]
#[path = "../tests/lab/mod.rs"]
mod lab;

mod arena;
mod arrive;
mod budget;
mod endpoint;
mod events;
mod flow;
mod give_back;
mod lifetime;
mod network;
mod qdisc;
mod record;
mod setup;
mod world;

pub use budget::{budget, Budget};
use dumbbell_model::digest::digest;
use dumbbell_model::tables::Table;
use dumbbell_model::{Scenario, ScenarioError, Time};
use thiserror::Error;

/// Results of a run.
#[derive(Clone, Debug)]
pub struct Output {
    /// All tables of [`dumbbell_model::tables::ALL`], in that order; those not asked for are empty.
    pub tables: Vec<Table>,
    /// SHA-256 over the tables.
    pub digest: String,
    /// Packets that left a host.
    pub packets: u64,
    /// Events processed.
    pub events: u64,
    /// Packets that passed the taps, as pcapng, if asked for.
    pub capture: Option<Vec<u8>>,
}

/// Why a run gave nothing.
#[derive(Clone, Debug, Error)]
pub enum RunError {
    /// The scenario cannot be run.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A packet was lost track of: a defect of the simulator.
    #[error("conservation violated: {0}")]
    Conservation(String),
    /// The monitor asked to stop.
    #[error("cancelled")]
    Cancelled,
}

/// Watches a run from outside.
pub trait Monitor: Sync {
    /// Called now and then with the virtual time reached; `false` stops the run.
    fn progress(&self, now: Time) -> bool;
}

/// Runs a scenario.
///
/// # Errors
/// See [`RunError`].
pub fn run(scenario: &Scenario, seed: u64, monitor: &dyn Monitor) -> Result<Output, RunError> {
    scenario.validate()?;
    let drawn;
    let mut scenario = scenario;
    if !scenario.arrivals.is_empty() && arrive::needs_all(scenario) {
        let all = scenario.drawn(seed).into_owned();
        drawn = Scenario { arrivals: Vec::new(), ..all };
        scenario = &drawn;
    }
    let mut world = setup::world(scenario, seed)?;
    world.begin();
    world.run(monitor)?;
    world.check_conservation()?;
    let tables = world.tables();
    let digest = digest(&tables);
    let capture = world.capture.as_ref().map(|capture| capture.file(scenario));
    Ok(Output { tables, digest, packets: world.packets, events: world.processed, capture })
}
