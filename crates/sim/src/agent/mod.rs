//! Agents that learn: flows whose congestion window and pacing rate somebody outside sets between the
//! steps of a [`Session`](crate::Session).
//!
//! An action takes effect at the flow's next ACK, as everything that a congestion control of Linux sets.

mod action;
mod control;
mod learnt;
mod observation;
mod reward;
#[cfg(test)]
mod tests;

pub use action::{Act, Action, Actions, Sets};
pub use control::{Stepping, OPEN_WINDOW};
pub use learnt::{Fail, Learnt};
pub use observation::{Kind, Observation, Step, OBSERVATIONS};
pub use reward::Reward;

use crate::pause::Pause;
use crate::session::Session;
use crate::RunError;
use control::{lock, Control, Shared};
use dumbbell_cc::plugin::{Failure, NoPlugins, Plugins};
use dumbbell_cc::CongestionControl;
use dumbbell_model::catalogue::plugin::{Facts, Plugin};
use dumbbell_model::scenario::{Algorithm, Traffic};
use dumbbell_model::{Scenario, ScenarioError, TcpOptions, Time};
use std::sync::{Arc, Mutex};

/// Name of an agent's congestion control in results, in place of the content of a file.
const AGENT: &str = "agent";

/// Agents of a session, by the names of their flows.
pub struct Agents {
    flows: Vec<(String, Arc<Mutex<Shared>>)>,
    sets: Sets,
}

/// The congestion control of an agent's flow in a scenario.
fn agent() -> Plugin {
    Plugin::new(Facts {
        name: AGENT.to_owned(),
        sha256: AGENT.to_owned(),
        parameters: Vec::new(),
        needs_ecn: false,
        l4s: false,
        paced_by_fq: false,
    })
}

impl Agents {
    /// Agents of these flows.
    pub fn new(flows: &[String], sets: Sets, stepping: Stepping, pause: &Pause) -> Self {
        let shared = || Arc::new(Mutex::new(Shared::new(stepping, pause.clone())));
        Self { flows: flows.iter().map(|flow| (flow.clone(), shared())).collect(), sets }
    }

    /// Gives flows of a scenario to agents.
    ///
    /// # Errors
    /// A flow does not exist, or is no TCP connection of a single path.
    pub fn take(scenario: &mut Scenario, flows: &[String]) -> Result<(), ScenarioError> {
        let refuse = |message: String| Err(ScenarioError { path: "flows".to_owned(), message });
        for name in flows {
            let subflow = scenario.connections.iter().flat_map(|one| &one.subflows);
            if subflow.into_iter().any(|subflow| subflow.flow == *name) {
                return refuse(format!("agent {name}: it is a subflow; an agent has its own flow"));
            }
            let Some(flow) = scenario.flows.iter_mut().find(|flow| flow.name == *name) else {
                let known: Vec<&str> = scenario.flows.iter().map(|flow| &*flow.name).collect();
                return refuse(format!(
                    "agent {name}: no such flow; there are {}",
                    known.join(", ")
                ));
            };
            let Traffic::Tcp(tcp) = &mut flow.traffic else {
                return refuse(format!("agent {name}: it is no flow of TCP"));
            };
            tcp.congestion_control = Algorithm::Plugin(agent());
        }
        Ok(())
    }

    /// Runs a session until the connection of every agent is established. Returns false if the run ends
    /// before.
    ///
    /// # Errors
    /// See [`Session::run_until`].
    pub fn open(&self, session: &mut Session) -> Result<bool, RunError> {
        while !self.flows.iter().all(|(_, shared)| lock(shared).open) {
            if session.run_until(session.end())? == session.end() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Begins a step: an agent's pause is counted from here.
    pub fn begin_step(&self) {
        self.flows.iter().for_each(|(_, shared)| lock(shared).begin_step());
    }

    /// Sets window and pacing rate of an agent's flow.
    pub fn act(&self, agent: usize, action: Action) {
        lock(&self.flows[agent].1).act(action);
    }

    /// Window in packets, and pacing rate in bit/s, of an agent's flow.
    pub fn held(&self, agent: usize) -> (f64, f64) {
        lock(&self.flows[agent].1).held()
    }

    /// Ends an agent's step and tells what happened in it.
    pub fn step(&self, agent: usize, now: Time) -> Step {
        lock(&self.flows[agent].1).step(now.as_ns())
    }
}

impl Plugins for Agents {
    fn refusal(&self, plugin: Plugin) -> Option<String> {
        (plugin != agent()).then(|| "an agent learns here; no plug-ins can be loaded".to_owned())
    }

    fn make(&self, plugin: Plugin, flow: &str, options: &TcpOptions) -> Box<dyn CongestionControl> {
        match self.flows.iter().find(|(name, _)| name == flow) {
            Some((_, shared)) => Box::new(Control { shared: Arc::clone(shared), sets: self.sets }),
            None => NoPlugins.make(plugin, flow, options),
        }
    }

    fn failure(&self) -> Option<Failure> {
        None
    }
}
