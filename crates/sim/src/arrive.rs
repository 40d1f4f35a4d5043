//! Flows that arrive during the run. A flow has an endpoint from its start until it is over
//! (`lifetime`), so memory follows the flows that exist at one time.
//!
//! Packets, timers and tables of the network refer to a flow by its place. Places of flows that are over
//! are used again, unless queues tell flows apart by their number.

use crate::flow::FlowState;
use crate::network::path::Paths;
use crate::network::route::{FlowRoute, Routes};
use crate::qdisc::tells_flows_apart;
use dumbbell_model::arrivals::Draws;
use dumbbell_model::scenario::{SprayPolicy, Tcp};
use dumbbell_model::{Scenario, Span};
use std::borrow::Cow;

/// Returns true if the run needs all flows beforehand: somebody names each packet's flow, or routers
/// choose its path by its number.
pub(crate) fn needs_all(scenario: &Scenario) -> bool {
    let sampling = &scenario.sampling;
    let hashes = |spray: dumbbell_model::scenario::Spray| spray.policy == SprayPolicy::PerFlow;
    !scenario.taps.is_empty()
        || sampling.samples
        || sampling.drops
        || sampling.hops.is_some()
        || scenario.nodes.iter().any(|node| node.spray.is_some_and(hashes))
}

/// A flow's fields in the tables.
pub(crate) struct FlowSpec<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) group: &'a str,
    pub(crate) from: &'a str,
    pub(crate) to: &'a str,
    pub(crate) tcp: Option<&'a Tcp>,
}

/// State of the network that all flows of a process have in common.
#[derive(Clone, Copy)]
pub(crate) struct Common {
    pub(crate) targets: [u32; 2],
    pub(crate) path: [u32; 2],
    pub(crate) route: FlowRoute,
}

/// A flow that begins.
pub(crate) struct Begun {
    /// Number in the tables.
    pub(crate) number: u32,
    /// Number among those of its process, from 1 on.
    pub(crate) nth: usize,
    pub(crate) start: Span,
    pub(crate) bytes: u64,
    pub(crate) place: u32,
    pub(crate) common: Common,
}

/// A process of arrivals at run time.
struct Process {
    draws: Draws,
    /// Start and size of the next flow.
    next: Option<(Span, u64)>,
    /// Number of its first flow in the tables.
    first: u32,
    /// Flows that have begun.
    begun: u32,
    common: Common,
}

/// All processes, and the free places.
pub(crate) struct Arriving {
    processes: Vec<Process>,
    /// Flows of the scenario that begin by themselves.
    fixed: usize,
    /// True if a flow's place is its number.
    numbered: bool,
    free: Vec<u32>,
    free_endpoints: Vec<u32>,
}

impl Arriving {
    /// Takes the flows that represent the processes off the network's tables.
    pub(crate) fn new(
        scenario: &Scenario,
        seed: u64,
        targets: &mut Vec<[u32; 2]>,
        paths: &mut Paths,
        routes: &mut Routes,
    ) -> Self {
        let fixed = scenario.flows.len();
        let common = targets.split_off(fixed).into_iter().zip(paths.split_off(fixed));
        let common = common.zip(routes.split_off(fixed));
        let mut first = fixed as u32;
        let mut processes = Vec::new();
        for (spec, ((targets, path), route)) in scenario.arrivals.iter().zip(common) {
            let mut draws = spec.draws(scenario.duration, seed);
            let flows = draws.clone().count() as u32;
            let next = draws.next();
            let common = Common { targets, path, route };
            processes.push(Process { draws, next, first, begun: 0, common });
            first += flows;
        }
        let pipes = scenario.links.iter().flat_map(|link| [&link.forward, &link.backward]);
        let numbered = pipes.into_iter().any(|pipe| tells_flows_apart(&pipe.queue));
        Self { processes, fixed, numbered, free: Vec::new(), free_endpoints: Vec::new() }
    }

    /// Number of processes.
    pub(crate) fn processes(&self) -> usize {
        self.processes.len()
    }

    /// Fields of the flow with this number.
    pub(crate) fn spec<'a>(&self, scenario: &'a Scenario, number: u32) -> FlowSpec<'a> {
        if let Some(flow) = scenario.flows.get(number as usize) {
            let (group, tcp) = (flow.group.as_str(), flow.traffic.tcp());
            let name = Cow::Borrowed(flow.name.as_str());
            return FlowSpec { name, group, from: &flow.from, to: &flow.to, tcp };
        }
        let at = self.processes.partition_point(|process| process.first <= number);
        // Numbers of flows that have begun: there is a process.
        let (spec, first) = (&scenario.arrivals[at - 1], self.processes[at - 1].first);
        FlowSpec {
            name: Cow::Owned(spec.flow_name((number - first) as usize + 1)),
            group: &spec.group,
            from: &spec.from,
            to: &spec.to,
            tcp: Some(&spec.tcp),
        }
    }

    /// Gives the place of a flow that is over to others.
    pub(crate) fn release(&mut self, flow: &FlowState, place: u32) {
        if flow.number as usize >= self.fixed {
            self.free_endpoints.push(flow.endpoint);
            if !self.numbered {
                self.free.push(place);
            }
        }
    }

    /// Start of the next flow of a process.
    pub(crate) fn next_start(&self, process: usize) -> Option<Span> {
        self.processes[process].next.map(|(start, _)| start)
    }

    /// The next flow of a process, which begins now, beside so many places.
    pub(crate) fn begin(&mut self, process: usize, places: usize) -> Option<Begun> {
        let Process { draws, next, first, begun, common } = &mut self.processes[process];
        let (start, bytes) = next.take()?;
        *next = draws.next();
        let number = *first + *begun;
        *begun += 1;
        let nth = *begun as usize;
        let place = match self.numbered {
            true => number,
            false => self.free.pop().unwrap_or(places as u32),
        };
        Some(Begun { number, nth, start, bytes, place, common: *common })
    }

    /// An endpoint that no flow has any more.
    pub(crate) fn free_endpoint(&mut self) -> Option<u32> {
        self.free_endpoints.pop()
    }
}
