//! Construction of a scenario's endpoints and of the map from flows to endpoints.

use super::mptcp::ends::Multipath;
use super::options::{offered, options};
use super::page::Page;
use super::tcp::handshake::SynOptions;
use super::{Endpoint, Ends, Life};
use crate::flow::Place;
use crate::nodes::Nodes;
use dumbbell_cc::plugin::Plugins;
use dumbbell_cc::CongestionControl;
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::{Algorithm, Flow, Scenario, Tcp};
use dumbbell_model::{Span, TcpOptions, Time};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Inputs for the construction of endpoints.
#[derive(Clone, Copy)]
pub(crate) struct Setup<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) nodes: &'a Nodes,
    pub(crate) plugins: &'a dyn Plugins,
    pub(crate) seed: u64,
}

impl Setup<'_> {
    /// TCP options of a flow's source and destination.
    pub(super) fn options(&self, flow: &Flow) -> [Arc<TcpOptions>; 2] {
        options(self.scenario, self.nodes, flow).map(|options| self.nodes.shared(options))
    }

    /// A sender's congestion control: which, and its instance.
    pub(super) fn congestion_control(
        &self,
        flow: &Flow,
        tcp: &Tcp,
        options: &TcpOptions,
    ) -> (Algorithm, Box<dyn CongestionControl>) {
        let algorithm = tcp.congestion_control;
        (algorithm, dumbbell_cc::new(algorithm, options, self.plugins, &flow.name))
    }

    /// Options that source and destination of a flow offer in a SYN.
    pub(super) fn offers(&self, flow: &Flow) -> [SynOptions; 2] {
        offered(self.scenario, self.nodes, flow).map(|options| SynOptions::of(&options))
    }

    /// MTU of source and destination of a flow, bytes.
    pub(super) fn mtus(&self, flow: &Flow) -> [u32; 2] {
        offered(self.scenario, self.nodes, flow).map(|options| options.mtu_bytes)
    }

    pub(super) fn rng(&self, flow: &Flow, purpose: &str) -> Rng {
        Rng::named(self.seed, &format!("flow/{}/{purpose}", flow.name))
    }

    /// Start time, and the stop time if it is within the run.
    pub(super) fn life(&self, flow: &Flow) -> Life {
        let jitter = match flow.start_jitter.as_ps() {
            0 => 0,
            most => self.rng(flow, "start").below(most),
        };
        let start = Time::ZERO + flow.start + Span::from_ps(jitter);
        let end = Time::ZERO + self.scenario.duration;
        let stop = flow.stop.map(|stop| Time::ZERO + stop);
        Life::new(start, stop.filter(|stop| *stop > start && *stop < end))
    }

    /// End time of a source with a known end.
    pub(super) fn until(&self, flow: &Flow) -> Time {
        Time::ZERO + flow.stop.unwrap_or(self.scenario.duration)
    }
}

/// Kind of traffic with an endpoint.
pub(crate) trait TrafficEndpoint {
    /// Endpoint type.
    type Ends: Endpoint;

    /// Creates the endpoint of a flow.
    fn open(&self, setup: Setup<'_>, number: u32, flow: &Flow) -> Self::Ends;
}

/// All endpoints, and the position of each flow. Endpoints of single flows come first, in the order
/// of the flows, then pages, then Multipath TCP connections.
pub(crate) fn build(setup: Setup<'_>) -> (Vec<Ends>, Vec<Place>) {
    let Setup { scenario, seed, .. } = setup;
    let place = |flow: &Flow| {
        let life = setup.life(flow);
        Place { start: life.start, stop: life.stop, ..Place::default() }
    };
    let mut places: Vec<Place> = scenario.flows.iter().map(place).collect();
    let mut groups = Vec::new();
    for running in dumbbell_web::visits(scenario, seed) {
        let flows: Vec<u32> = running.flows.iter().map(|&flow| flow as u32).collect();
        for &flow in &flows {
            places[flow as usize].start = Time::NEVER;
        }
        groups.push((Ends::Page(Box::new(Page::new(setup, running.visit, &flows))), flows));
    }
    for spec in &scenario.connections {
        let number = |name: &str| scenario.flows.iter().position(|flow| flow.name == name);
        let flows: Vec<u32> =
            spec.subflows.iter().map(|s| number(&s.flow).unwrap_or(0) as u32).collect();
        groups.push((Ends::Multipath(Box::new(Multipath::new(setup, spec, &flows))), flows));
    }
    let grouped: BTreeSet<u32> = groups.iter().flat_map(|(_, flows)| flows).copied().collect();
    let mut endpoints = Vec::with_capacity(scenario.flows.len());
    for (number, flow) in scenario.flows.iter().enumerate() {
        if grouped.contains(&(number as u32)) {
            continue;
        }
        places[number].endpoint = endpoints.len() as u32;
        endpoints.push(Ends::open(setup, number as u32, flow));
    }
    for (ends, flows) in groups {
        for (lane, flow) in flows.into_iter().enumerate() {
            let place = &mut places[flow as usize];
            (place.endpoint, place.lane) = (endpoints.len() as u32, lane as u32);
        }
        endpoints.push(ends);
    }
    (endpoints, places)
}
