//! What a browser and its servers do while a page loads: which request goes over which connection
//! when, and in which order answers are written. Without sockets or a clock: an engine tells what
//! happened and does what is asked.

mod connection;
mod visit;

use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::Scenario;
use dumbbell_model::{Span, Time};
pub use visit::{Command, Visit};

/// A visit, and the flows that are its connections.
#[derive(Clone, Debug)]
pub struct Running {
    /// What is to be done when.
    pub visit: Visit,
    /// Numbers of its connections' flows in the scenario.
    pub flows: Vec<usize>,
}

/// The visits of a scenario, their starts drawn from the seed: the same for every engine.
pub fn visits(scenario: &Scenario, seed: u64) -> Vec<Running> {
    let number = |name: &String| scenario.flows.iter().position(|flow| flow.name == *name);
    let running = |session: &dumbbell_model::scenario::Session| {
        let name = format!("session/{}/start", session.name);
        let jitter = Rng::named(seed, &name).below(session.start_jitter.as_ps());
        let start = Time::ZERO + session.start + Span::from_ps(jitter);
        let visit = Visit::new(session, start);
        // Validated: every connection is a flow.
        let flows = visit.connections().iter().filter_map(number).collect();
        Running { visit, flows }
    };
    scenario.sessions.iter().map(running).collect()
}
