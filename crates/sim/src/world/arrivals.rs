//! Flows of arrivals begin: each gets a place, an endpoint and its timers.

use super::World;
use crate::arrive::{Begun, Common};
use crate::endpoint::tcp::ends::BEGIN_STOP;
use crate::endpoint::{Endpoint, Ends, Gone, Setup, Timer};
use crate::events::SOURCES_MAX;
use crate::flow::{FlowState, Place, FLOW_TIMERS};
use crate::network::put;
use dumbbell_model::{ScenarioError, Time};

impl World<'_> {
    /// Sets the event of a process: the start of its next flow.
    pub(crate) fn schedule_arrival(&mut self, process: usize) {
        let source = self.arrival_source(process);
        match self.arriving.next_start(process) {
            Some(start) => self.events.set_first(source, Time::ZERO + start),
            None => self.events.clear(source),
        }
    }

    /// The next flow of a process begins.
    pub(crate) fn arrive(&mut self, process: usize) {
        let Some(begun) = self.arriving.begin(process, self.flows.len()) else { return };
        let Begun { number, nth, start, bytes, place, common } = begun;
        let Common { targets, path, route } = common;
        let flow = self.scenario.arrivals[process].flow(nth, start, bytes);
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
        let endpoint = match self.arriving.free_endpoint() {
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
