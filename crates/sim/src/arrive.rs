//! Flows that arrive during the run. A flow has an endpoint from its start until it is over
//! (`lifetime`), so memory follows the flows that exist at one time.
//!
//! Packets, timers and tables of the network refer to a flow by its place. Places of flows that are over
//! are used again, unless queues tell flows apart by their number.

use crate::endpoint::tcp::ends::BEGIN_STOP;
use crate::endpoint::{Endpoint, Ends, Gone, Place, Setup, Timer, FLOW_TIMERS};
use crate::events::SOURCES_MAX;
use crate::flow::FlowState;
use crate::network::path::Paths;
use crate::network::route::{FlowRoute, Routes};
use crate::qdisc::tells_flows_apart;
use crate::world::World;
use dumbbell_model::arrivals::Draws;
use dumbbell_model::scenario::{SprayPolicy, Tcp};
use dumbbell_model::{Scenario, ScenarioError, Span, Time};
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
struct Common {
    targets: [u32; 2],
    path: [u32; 2],
    route: FlowRoute,
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

    fn place(&mut self, number: u32, places: usize) -> u32 {
        if self.numbered {
            return number;
        }
        self.free.pop().unwrap_or(places as u32)
    }
}

impl World<'_> {
    /// Sets the event of a process: the start of its next flow.
    pub(crate) fn schedule_arrival(&mut self, process: usize) {
        let source = self.arrival_source(process);
        match self.arriving.processes[process].next {
            Some((start, _)) => self.events.set_first(source, Time::ZERO + start),
            None => self.events.clear(source),
        }
    }

    /// The next flow of a process begins.
    pub(crate) fn arrive(&mut self, process: usize) {
        let arriving = &mut self.arriving.processes[process];
        let Some((start, bytes)) = arriving.next else { return };
        arriving.next = arriving.draws.next();
        let number = arriving.first + arriving.begun;
        arriving.begun += 1;
        let flow = self.scenario.arrivals[process].flow(arriving.begun as usize, start, bytes);
        let Common { targets, path, route } = arriving.common;
        let place = self.arriving.place(number, self.flows.len());
        self.schedule_arrival(process);
        if self.flow_base + (place as usize + 1) * FLOW_TIMERS >= SOURCES_MAX {
            let message = format!("more than {place} flows at once, at {}", self.now);
            let path = format!("arrivals[{process}].per_second");
            self.refusal = Some(ScenarioError { path, message });
            (self.end, self.until) = (self.now, self.now);
            return;
        }
        let Self { scenario, nodes, plugins, seed, .. } = self;
        let setup = Setup { scenario, nodes, plugins: &**plugins, seed: *seed };
        let ends = Ends::open(setup, place, &flow);
        let endpoint = match self.arriving.free_endpoints.pop() {
            Some(free) => free,
            None => {
                self.endpoints.push(Ends::Gone(Gone));
                self.endpoints.len() as u32 - 1
            }
        };
        self.endpoints[endpoint as usize] = ends;
        let at = Place { endpoint, lane: 0, start: self.now, stop: None };
        let mut state = FlowState::new(number, at, flow.dscp);
        state.arrived = self.may_duplicate.then(Box::default);
        put(&mut self.flows, place, state, || FlowState::new(u32::MAX, Place::default(), 0));
        put(&mut self.targets, place, targets, || targets);
        self.paths.put(place, path);
        self.routes.put(place, route);
        self.events.grow(self.flow_base + self.flows.len() * FLOW_TIMERS);
        let timer = Timer::Flow { lane: 0, kind: BEGIN_STOP };
        self.endpoints[endpoint as usize].on_timer(self.now, timer);
        self.settle(endpoint as usize);
    }
}

/// Puts a value at a place, behind fillers if there is a gap.
pub(crate) fn put<T>(values: &mut Vec<T>, place: u32, value: T, filler: impl Fn() -> T) {
    let place = place as usize;
    while values.len() < place {
        values.push(filler());
    }
    if place == values.len() {
        values.push(value);
    } else {
        values[place] = value;
    }
}
