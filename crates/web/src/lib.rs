//! Browser and servers during a page load: assignment of requests to connections, and the order in
//! which responses are written. The state machine has no sockets and no clock: an engine reports
//! events and executes commands.

mod connection;
mod visit;

use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::Scenario;
use dumbbell_model::{Span, Time};
pub use visit::{Command, Visit};

/// A visit and the flows of its connections.
#[derive(Clone, Debug)]
pub struct Running {
    /// State machine of the visit.
    pub visit: Visit,
    /// Flow indices of its connections in the scenario.
    pub flows: Vec<usize>,
}

/// Visits of a scenario. Their start times are drawn from the seed, identically on every engine.
pub fn visits(scenario: &Scenario, seed: u64) -> Vec<Running> {
    let number = |name: &String| scenario.flows.iter().position(|flow| flow.name == *name);
    let running = |session: &dumbbell_model::scenario::Session| {
        let name = format!("session/{}/start", session.name);
        let jitter = Rng::named(seed, &name).below(session.start_jitter.as_ps());
        let start = Time::ZERO + session.start + Span::from_ps(jitter);
        let visit = Visit::new(session, start);
        // Validation guarantees that every connection is a flow.
        let flows = visit.connections().iter().filter_map(number).collect();
        Running { visit, flows }
    };
    scenario.sessions.iter().map(running).collect()
}
