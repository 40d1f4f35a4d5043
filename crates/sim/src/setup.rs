//! Builds a [`World`] from a scenario and a seed.

use crate::arena::Arena;
use crate::arrive::Arriving;
use crate::endpoint::options::options;
use crate::endpoint::{self, Setup};
use crate::events::EventQueue;
use crate::flow::{FlowState, FLOW_TIMERS};
use crate::held::Held;
use crate::network::ip_fragment::Reassembly;
use crate::network::link::{LinkSetup, Pipe};
use crate::network::lookahead::patient;
use crate::network::neighbour::Neighbours;
use crate::network::path::Paths;
use crate::network::route::Routes;
use crate::nodes::Nodes;
use crate::record::capture::Capture;
use crate::record::finished::Finished;
use crate::record::hops::Hops;
use crate::record::Recorder;
use crate::soft_timers::SoftTimers;
use crate::world::{World, PIPE_SOURCES};
use dumbbell_capture::Taps;
use dumbbell_cc::plugin::Plugins;
use dumbbell_model::scenario::{self, Link, NodeKind, Scenario};
use dumbbell_model::{ReceiveBuffer, ScenarioError, Time};
use dumbbell_packet::frame::ETHERNET_HEADER_BYTES;
use dumbbell_packet::TapPackets;
use std::collections::VecDeque;

/// Builds the world.
pub(crate) fn world<'a>(
    held: Held<'a, Scenario>,
    seed: u64,
    plugins: Held<'a, dyn Plugins + 'a>,
) -> Result<World<'a>, ScenarioError> {
    let scenario = &*held;
    let represented = scenario.with_representatives();
    let mut routes = Routes::new(&represented, seed)?;
    let nodes = Nodes::new(scenario);
    let mut pipes = Vec::with_capacity(2 * scenario.links.len());
    for link in &scenario.links {
        pipes.push(pipe(scenario, &nodes, link, true, seed));
        pipes.push(pipe(scenario, &nodes, link, false, seed));
    }
    let mut tapped = Vec::with_capacity(scenario.taps.len());
    for (index, tap) in scenario.taps.iter().enumerate() {
        let at = scenario.links.iter().position(|link| link.name == tap.link).unwrap_or(0);
        let leaving = 2 * at + usize::from(scenario.links[at].a != tap.node);
        tapped.push(leaving);
        pipes[leaving].taps.get_or_insert_default().near = Some(index);
        pipes[leaving ^ 1].taps.get_or_insert_default().far = Some(index);
    }
    let target = |name: &str| nodes.number(name) as u32;
    let mut targets: Vec<[u32; 2]> =
        represented.flows.iter().map(|f| [target(&f.to), target(&f.from)]).collect();
    let resolves: Vec<bool> = scenario.nodes.iter().map(|node| resolves(scenario, node)).collect();
    let mut paths = Paths::new(&pipes, &routes, &targets, &resolves);
    let patient = patient(scenario, &mut pipes, &paths, targets.len());
    for pipe in &mut pipes {
        pipe.observe(scenario.sampling.hops.is_some());
    }
    let arriving = Arriving::new(scenario, seed, &mut targets, &mut paths, &mut routes);
    let (endpoints, places) =
        endpoint::build(Setup { scenario, nodes: &nodes, plugins: &*plugins, seed });
    let states = places.into_iter().zip(&scenario.flows);
    let states = states.enumerate();
    let mut flows: Vec<FlowState> = states
        .map(|(number, (place, flow))| FlowState::new(number as u32, place, flow.dscp))
        .collect();
    let may_duplicate = pipes.iter().any(|pipe: &Pipe| pipe.may_duplicate());
    if may_duplicate {
        for flow in &mut flows {
            flow.arrived = Some(Box::default());
        }
    }
    let soft_base = pipes.len() * PIPE_SOURCES + 2;
    let own_base = soft_base + scenario.nodes.len();
    let arrivals_base = own_base + endpoints.len();
    let flow_base = arrivals_base + arriving.processes();
    let recorder = Recorder::new(scenario.sampling);
    let neighbours = scenario.neighbour_discovery.map(|spec| {
        let names = pipes.iter().map(|pipe: &Pipe| pipe.name.clone()).collect();
        Neighbours::new(spec, names, seed)
    });
    Ok(World {
        plugins,
        seed,
        now: Time::ZERO,
        end: Time::ZERO + scenario.duration,
        until: Time::ZERO,
        pause: None,
        events: EventQueue::new(flow_base + flows.len() * FLOW_TIMERS),
        arena: Arena::default(),
        taps: Taps::new(flows.len()),
        tap_packets: TapPackets::new(scenario.sampling.packets),
        capture: scenario.sampling.capture.map(|wanted| {
            let options = |flow: &scenario::Flow| options(scenario, &nodes, flow);
            Capture::new(scenario, wanted.snap_bytes, &tapped, options, seed)
        }),
        hops: scenario.sampling.hops.map(Hops::new),
        neighbours,
        pipes,
        routes,
        paths,
        patient,
        flows,
        active: Vec::new(),
        endpoints,
        nodes,
        begun: Vec::new(),
        over: Vec::new(),
        closing: Vec::new(),
        finished: Finished::default(),
        fault: None,
        arriving,
        refusal: None,
        may_duplicate,
        own_base,
        arrivals_base,
        flow_base,
        reassembly: scenario.nodes.iter().map(reassembly).collect(),
        recorder,
        created: VecDeque::new(),
        inbox: VecDeque::new(),
        targets,
        packets: 0,
        processed: 0,
        timers_set: 0,
        soft_timers: SoftTimers::new(soft_base),
        scenario: held,
    })
}

/// Returns true if the node asks for the addresses of its neighbours.
fn resolves(scenario: &Scenario, node: &scenario::Node) -> bool {
    scenario.neighbour_discovery.is_some() && node.kind != NodeKind::Switch
}

fn reassembly(node: &scenario::Node) -> Reassembly {
    match &node.tcp {
        Some(tcp) => Reassembly::new(tcp.rx_segment == ReceiveBuffer::Copied, tcp.hz),
        None => Reassembly::new(false, 1000), // A router: nothing arrives.
    }
}

/// MTU between routers.
const ETHERNET_MTU_BYTES: u32 = 1500;
fn pipe(scenario: &Scenario, nodes: &Nodes, link: &Link, forward: bool, seed: u64) -> Pipe {
    let (direction, spec, near, far) = if forward {
        ("forward", &link.forward, &link.a, &link.b)
    } else {
        ("backward", &link.backward, &link.b, &link.a)
    };
    let name = format!("{}/{direction}", link.name);
    let to = nodes.number(far);
    let mtu_of =
        |end: &str| scenario.nodes[nodes.number(end)].tcp.as_ref().map(|tcp| tcp.mtu_bytes);
    let mtu = [mtu_of(&link.a), mtu_of(&link.b)].into_iter().flatten().min();
    // Between routers the longest packet of any host passes.
    let longest = scenario.longest_frame_bytes() as u32;
    let longest = longest.max(ETHERNET_HEADER_BYTES + ETHERNET_MTU_BYTES);
    let frame_bytes = mtu.map_or(longest, |mtu| ETHERNET_HEADER_BYTES + mtu);
    let bridge = scenario.nodes[nodes.number(near)].kind == NodeKind::Switch;
    let setup =
        LinkSetup { scenario, spec, name: &name, to, seed, frame_bytes, bridge, since: Time::ZERO };
    let mut pipe = Pipe::new(&setup);
    if scenario.sampling.queues && pipe.has_queue() {
        pipe.stats.recent_ps = Some(Vec::new());
    }
    pipe
}
