//! The packet-level simulator. A [`Scenario`] and a seed go in, result tables come out; nothing
//! here reads a clock, the environment or randomness of the system.

#[cfg(test)]
extern crate self as dumbbell_sim;

#[cfg(test)]
#[path = "../tests/lab/mod.rs"]
mod lab;

pub mod agent;
mod arena;
mod arrive;
mod budget;
mod drop_reason;
mod endpoint;
mod events;
mod flow;
mod give_back;
mod held;
mod network;
mod nodes;
mod pause;
mod qdisc;
mod record;
mod session;
mod setup;
mod soft_timers;
mod wheel;
mod world;

pub use budget::{budget, Budget};
use dumbbell_cc::plugin::{Failure, NoPlugins, Plugins};
use dumbbell_model::scenario::Algorithm;
use dumbbell_model::tables::Table;
use dumbbell_model::traffic::TrafficKind;
use dumbbell_model::{Scenario, ScenarioError, Time};
#[cfg(feature = "packetdrill")]
pub use endpoint::tcp::script::play_script;
use held::Held;
pub use pause::Pause;
pub use session::Session;
use thiserror::Error;

/// Results of a run.
#[derive(Clone, Debug)]
pub struct Output {
    /// Tables of [`dumbbell_model::tables::ALL`] in that order, without those of programs; those not
    /// asked for are empty.
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
    /// A plug-in failed.
    #[error("{0}")]
    Plugin(Failure),
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
    run_with(scenario, seed, monitor, &NoPlugins)
}

/// Runs a scenario whose flows may use plug-ins.
///
/// # Errors
/// See [`RunError`].
pub fn run_with(
    scenario: &Scenario,
    seed: u64,
    monitor: &dyn Monitor,
    plugins: &dyn Plugins,
) -> Result<Output, RunError> {
    let world = session::begin(Held::Lent(scenario), seed, Held::Lent(plugins))?;
    session::finish(world, monitor)
}

/// Refuses plug-ins that cannot be used.
fn refuse_plugins(scenario: &Scenario, plugins: &dyn Plugins) -> Result<(), ScenarioError> {
    let flows = scenario.flows.iter().enumerate().filter_map(|(number, flow)| {
        Some((format!("flows[{number}].traffic.tcp"), flow.traffic.tcp()?))
    });
    let arrivals = scenario.arrivals.iter().enumerate();
    let arrivals = arrivals.map(|(number, one)| (format!("arrivals[{number}].tcp"), &*one.tcp));
    for (at, tcp) in flows.chain(arrivals) {
        let Algorithm::Plugin(plugin) = tcp.congestion_control else { continue };
        if let Some(why) = plugins.refusal(plugin) {
            let message = format!("plug-in {}: {why}", plugin.known().facts.name);
            return Err(ScenarioError { path: format!("{at}.congestion_control"), message });
        }
    }
    Ok(())
}

/// Refuses stacks that this build has not.
fn refuse_stacks(scenario: &Scenario, plugins: &dyn Plugins) -> Result<(), ScenarioError> {
    let stacks = plugins.stacks();
    for (number, flow) in scenario.flows.iter().enumerate() {
        let Some(stack) = flow.traffic.stack() else { continue };
        if !stacks.contains(&stack) {
            let known = if stacks.is_empty() { "none".to_owned() } else { stacks.join(", ") };
            let message = format!("stack {stack} is not in this build, which has: {known}");
            return Err(ScenarioError { path: format!("flows[{number}].traffic"), message });
        }
    }
    Ok(())
}

/// Programs of a user, and the traffic of the simulator nearest to them.
const NEAREST: &[(&str, &str)] = &[
    ("iperf", "flows: [{from: …, to: …, tcp: cubic}], or udp: 10 Mbit/s"),
    ("netperf", "flows: [{from: …, to: …, tcp: cubic}]"),
    ("ping", "flows: [{from: …, to: …, ping: {interval: 100 ms}}]"),
    ("curl", "flows with tcp: {bytes: 1 MiB}, or pages"),
    ("wget", "flows with tcp: {bytes: 1 MiB}, or pages"),
    ("nginx", "pages"),
    ("wrk", "arrivals"),
];

/// Refuses programs: there is no kernel that could run them.
fn refuse_programs(scenario: &Scenario) -> Result<(), ScenarioError> {
    let Some(program) = scenario.programs.first() else { return Ok(()) };
    let words = program.run.first().map_or("", String::as_str);
    let called = words.rsplit('/').next().unwrap_or(words);
    let near = NEAREST.iter().find(|(name, _)| called.starts_with(name));
    let near = near.map_or(String::new(), |(_, traffic)| format!("; nearest here: {traffic}"));
    let message = format!("the simulator runs no programs ({called}); use --engine linux{near}");
    Err(ScenarioError { path: "programs[0].run".to_owned(), message })
}
