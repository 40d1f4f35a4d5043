//! Kinds of traffic on the kernel, one per file, as the model's catalogue lists them.

mod datagrams;
mod mptcp;
mod mptcp_info;
mod mptcp_rows;
mod stream;
pub(crate) mod web;

use crate::application::{Application, Opening, TrafficApplication};
use crate::realise::Namespaces;
use dumbbell_model::for_traffic;
use dumbbell_model::scenario::{Scenario, Traffic};
use std::io::Result;

macro_rules! define {
    ($($variant:ident $module:ident $held:ty { $($entry:tt)+ };)+) => {
        $(mod $module;)+

        fn open(opening: &Opening<'_>) -> Result<Box<dyn Application>> {
            match &opening.flow.traffic {
                $(Traffic::$variant(spec) => spec.open(opening),)+
            }
        }
    };
}
for_traffic!(define);

/// The applications of all flows, in the order of the flows.
pub(crate) fn applications(
    scenario: &Scenario,
    namespaces: &Namespaces,
    seed: u64,
) -> Result<Vec<Box<dyn Application>>> {
    let flows = 0..scenario.flows.len();
    let open = |number| open(&Opening::new(scenario, namespaces, seed, number));
    let applications = flows.map(open).collect::<Result<Vec<_>>>()?;
    namespaces.leave()?;
    Ok(applications)
}
