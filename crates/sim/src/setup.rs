//! Builds a [`World`] from a scenario and a seed.

use crate::arena::Arena;
use crate::arrive::Arriving;
use crate::endpoint::tcp::stack::offer;
use crate::endpoint::{self, Setup, FLOW_TIMERS};
use crate::events::EventQueue;
use crate::flow::FlowState;
use crate::held::Held;
use crate::network::ip_fragment::Reassembly;
use crate::network::link::{LinkSetup, Pipe};
use crate::network::lookahead::patient;
use crate::network::neighbour::Neighbours;
use crate::network::path::Paths;
use crate::network::route::Routes;
use crate::record::capture::Capture;
use crate::record::finished::Finished;
use crate::record::hops::Hops;
use crate::record::Recorder;
use crate::soft_timers::SoftTimers;
use crate::world::{World, PIPE_SOURCES};
use dumbbell_capture::Taps;
use dumbbell_cc::plugin::Plugins;
use dumbbell_model::scenario::{self, Link, NodeKind, Scenario, Traffic};
use dumbbell_model::tcp_options::DEFAULT_PROFILE;
use dumbbell_model::{ReceiveBuffer, ScenarioError, TcpOptions, Time};
use dumbbell_packet::frame::ETHERNET_HEADER_BYTES;
use dumbbell_packet::TapPackets;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

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
/// Options among which equal ones are searched: hosts of one kind follow each other.
const SEARCHED: usize = 16;

/// Nodes by name (validated).
pub(crate) struct Nodes {
    numbers: BTreeMap<String, usize>,
    /// Nodes with a serial link.
    serial: BTreeSet<String>,
    /// Hosts whose fq paces all their connections, since one asks for it.
    paced: BTreeSet<String>,
    /// Options of connections, each once.
    options: RefCell<Vec<Arc<TcpOptions>>>,
}

impl Nodes {
    fn new(scenario: &Scenario) -> Self {
        let numbers = scenario.nodes.iter().enumerate().map(|(i, node)| (node.name.clone(), i));
        let sides = scenario.links.iter().flat_map(|l| [(&l.a, &l.forward), (&l.b, &l.backward)]);
        let serial = sides
            .filter(|(_, pipe)| matches!(pipe.shaper, scenario::Shaper::Serial { .. }))
            .map(|(node, _)| node.clone());
        let asks = |flow: &&scenario::Flow| flow.traffic.tcp().is_some_and(|tcp| tcp.fq);
        let paced = scenario.flows.iter().filter(asks).map(|flow| flow.from.clone());
        Self {
            numbers: numbers.collect(),
            serial: serial.collect(),
            paced: paced.collect(),
            options: RefCell::default(),
        }
    }

    /// Returns true if fq paces the connections of the host.
    pub(crate) fn is_paced(&self, name: &str) -> bool {
        self.paced.contains(name)
    }

    /// Returns true if the node has a serial link.
    pub(crate) fn is_serial(&self, name: &str) -> bool {
        self.serial.contains(name)
    }

    /// Returns the shared copy of these options. Most connections have the same.
    pub(crate) fn shared(&self, options: TcpOptions) -> Arc<TcpOptions> {
        let mut known = self.options.borrow_mut();
        if let Some(same) = known.iter().rev().take(SEARCHED).find(|known| ***known == options) {
            return Arc::clone(same);
        }
        let options = Arc::new(options);
        known.push(Arc::clone(&options));
        options
    }

    fn number(&self, name: &str) -> usize {
        self.numbers.get(name).copied().unwrap_or(0)
    }
}

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

/// TCP options of both ends of a flow, before negotiation.
pub(crate) fn offered(
    scenario: &Scenario,
    nodes: &Nodes,
    flow: &scenario::Flow,
) -> [TcpOptions; 2] {
    let own = match &flow.traffic {
        Traffic::Tcp(tcp) => [tcp.sender.clone(), tcp.receiver.clone()],
        _ => [None, None],
    };
    let of = |own: &Option<TcpOptions>, host: &str| {
        // Validated: every host has options.
        let found = own.clone().or_else(|| scenario.nodes[nodes.number(host)].tcp.clone());
        match found.or_else(|| TcpOptions::profile(DEFAULT_PROFILE)) {
            Some(options) => options,
            None => unreachable!("the profile is part of the program"),
        }
    };
    let mut offered = [of(&own[0], &flow.from), of(&own[1], &flow.to)];
    if let Traffic::Tcp(tcp) = &flow.traffic {
        offer(tcp.stack, &mut offered[0]);
    }
    offered
}

/// TCP options of both ends of a flow, after negotiation.
pub(crate) fn options(
    scenario: &Scenario,
    nodes: &Nodes,
    flow: &scenario::Flow,
) -> [TcpOptions; 2] {
    let [mut sending, mut receiving] = offered(scenario, nodes, flow);
    negotiate(&mut sending, &mut receiving);
    [sending, receiving]
}

/// Turns off options that one side does not want (RFC 7323 §1.3, RFC 2018 §2); takes the smaller MSS.
fn negotiate(sender: &mut TcpOptions, receiver: &mut TcpOptions) {
    let both = sender.tcp_timestamps && receiver.tcp_timestamps;
    (sender.tcp_timestamps, receiver.tcp_timestamps) = (both, both);
    let both = sender.tcp_sack && receiver.tcp_sack;
    (sender.tcp_sack, receiver.tcp_sack) = (both, both);
    receiver.tcp_dsack &= both;
    let both = sender.tcp_window_scaling && receiver.tcp_window_scaling;
    (sender.tcp_window_scaling, receiver.tcp_window_scaling) = (both, both);
    let mtu = sender.mtu_bytes.min(receiver.mtu_bytes);
    (sender.mtu_bytes, receiver.mtu_bytes) = (mtu, mtu);
}
