//! Small scenarios, and access to the columns of their tables.
#![allow(dead_code, missing_docs, unreachable_pub)]

use dumbbell_model::scenario::{
    Algorithm, Flow, Link, Loss, Node, NodeKind, Pipe, Queue, Sampling, Scenario, ScriptedDrop,
    Shaper, Sink, Source, Spray, SprayPolicy, SprayWhat, Tap, Tcp, Traffic, Udp, SCENARIO_VERSION,
};
use dumbbell_model::tables::Column;
use dumbbell_model::{Rate, Span, TcpOptions, Time};
use dumbbell_sim::{Monitor, Output};

struct Silent;
impl Monitor for Silent {
    fn progress(&self, _now: Time) -> bool {
        true
    }
}

#[track_caller]
pub fn run(scenario: &Scenario, seed: u64) -> Output {
    dumbbell_sim::run(scenario, seed, &Silent).expect("the scenario runs")
}

pub fn ms(ms: u64) -> Span {
    Span::from_ms(ms)
}

pub fn mbit(mbit: u64) -> Rate {
    Rate::from_bps(mbit * 1_000_000)
}

pub fn options() -> TcpOptions {
    TcpOptions::profile("linux-6.1").expect("shipped")
}

/// A pipe that does nothing.
pub fn open() -> Pipe {
    Pipe {
        policer: None,
        loss: Loss::None,
        corruption: 0.0,
        duplication: 0.0,
        queue: Queue::DropTail { limit_packets: None, limit_bytes: None },
        shaper: Shaper::None,
        overhead_bytes: 0,
        delay: Span::ZERO,
        jitter: Span::ZERO,
        reordering: None,
        ack_aggregation: None,
        changes: Vec::new(),
    }
}

pub fn delay(span: Span) -> Pipe {
    Pipe { delay: span, ..open() }
}

pub fn serial(rate: Rate, packets: u64, span: Span) -> Pipe {
    Pipe {
        shaper: Shaper::Serial { rate_bps: rate },
        queue: Queue::DropTail { limit_packets: Some(packets), limit_bytes: None },
        delay: span,
        ..open()
    }
}

/// Study 1's switch: token bucket over netem.
pub fn tbf_netem(rate: Rate, span: Span) -> Pipe {
    Pipe {
        shaper: Shaper::Tbf { rate_bps: rate, burst_bytes: 5120, initial_bytes: Some(5120) },
        queue: Queue::Netem { delay: span, jitter: Span::ZERO, limit_packets: 100 },
        ..open()
    }
}

pub fn node(name: &str, kind: NodeKind) -> Node {
    let tcp = (kind == NodeKind::Host).then(options);
    Node { name: name.into(), kind, spray: None, processing_jitter: Span::ZERO, tcp }
}

pub fn link(a: &str, b: &str, forward: Pipe, backward: Pipe) -> Link {
    Link { name: format!("{a}-{b}"), a: a.into(), b: b.into(), forward, backward }
}

pub fn tcp(name: &str, from: &str, to: &str, algorithm: Algorithm) -> Flow {
    Flow {
        name: name.into(),
        from: from.into(),
        to: to.into(),
        start: Span::ZERO,
        stop: None,
        start_jitter: Span::ZERO,
        traffic: Traffic::Tcp(Box::new(Tcp {
            congestion_control: algorithm,
            fq: false,
            source: Source::Bulk { bytes: None, refill: Span::ZERO },
            sink: Sink { lowat_bytes: 1, rate_bps: None },
            sender: None,
            receiver: None,
        })),
    }
}

/// What the flow's TCP is set to.
pub fn traffic(flow: &mut Flow) -> &mut Tcp {
    match &mut flow.traffic {
        Traffic::Tcp(tcp) => tcp,
        Traffic::Udp(_) | Traffic::Ping(_) => panic!("not a TCP flow"),
    }
}

pub fn udp(name: &str, from: &str, to: &str, rate: Rate, datagram_bytes: u64) -> Flow {
    let traffic =
        Traffic::Udp(Udp { rate_bps: rate, datagram_bytes, interval: Span::ZERO, mtu_bytes: 1500 });
    Flow { traffic, ..tcp(name, from, to, Algorithm::Reno) }
}

/// s - r1 - r2 - d with one serial bottleneck, 5 ms each way, one CUBIC flow, 5 s.
pub fn dumbbell(rate: Rate, packets: u64) -> Scenario {
    Scenario {
        version: SCENARIO_VERSION,
        name: "dumbbell".into(),
        duration: Span::from_s(5),
        nodes: vec![
            node("s", NodeKind::Host),
            node("r1", NodeKind::Router),
            node("r2", NodeKind::Router),
            node("d", NodeKind::Host),
        ],
        links: vec![
            link("s", "r1", open(), open()),
            link("r1", "r2", serial(rate, packets, ms(5)), delay(ms(5))),
            link("r2", "d", open(), open()),
        ],
        routes: Vec::new(),
        flows: vec![tcp("f", "s", "d", Algorithm::Cubic)],
        taps: vec![Tap { name: "t".into(), node: "r1".into(), link: "s-r1".into() }],
        sampling: Sampling { interval: ms(10), samples: true, queues: false, drops: true },
        neighbour_discovery: None,
    }
}

/// s - r1 = (p1, p2) = r2 - d: round-robin spraying over two shaped paths.
pub fn sprayed(algorithm: Algorithm) -> Scenario {
    let mut scenario = dumbbell(mbit(10), 100);
    scenario.flows = vec![tcp("f", "s", "d", algorithm)];
    let spray =
        Some(Spray { policy: SprayPolicy::RoundRobin, what: SprayWhat::Both, first: Some(0) });
    for router in &mut scenario.nodes[1..=2] {
        router.spray = spray;
    }
    scenario.nodes.push(node("p1", NodeKind::Switch));
    scenario.nodes.push(node("p2", NodeKind::Switch));
    let shaped = || tbf_netem(mbit(10), ms(5));
    scenario.links = vec![link("s", "r1", open(), open()), link("r2", "d", open(), open())];
    for path in ["p1", "p2"] {
        scenario.links.push(link("r1", path, open(), shaped()));
        scenario.links.push(link(path, "r2", shaped(), open()));
    }
    scenario
}

/// Options of all hosts.
pub fn hosts(scenario: &mut Scenario, change: impl Fn(&mut TcpOptions)) {
    scenario.nodes.iter_mut().filter_map(|n| n.tcp.as_mut()).for_each(change);
}

/// Drop these data segments of flow `f` at the bottleneck (link index 1).
pub fn drop_segments(scenario: &mut Scenario, nth: &[u64]) {
    let drops = nth.iter().map(|&nth| ScriptedDrop { flow: "f".into(), nth }).collect();
    scenario.links[1].forward.loss = Loss::Scripted { drops };
}

fn column<'a>(output: &'a Output, table: &str, name: &str) -> &'a Column {
    let table = output.tables.iter().find(|t| t.spec.name == table).expect("a table");
    let index = table.spec.columns.iter().position(|c| c.name == name).expect("a column");
    &table.columns[index]
}

#[track_caller]
pub fn ints(output: &Output, table: &str, name: &str) -> Vec<i64> {
    match column(output, table, name) {
        Column::Int(values) => values.clone(),
        Column::Float(_) | Column::Text(_) => panic!("{name} is not of integers"),
    }
}

#[track_caller]
pub fn floats(output: &Output, table: &str, name: &str) -> Vec<f64> {
    match column(output, table, name) {
        Column::Float(values) => values.clone(),
        Column::Int(_) | Column::Text(_) => panic!("{name} is not of floats"),
    }
}

/// A column of the first flow.
#[track_caller]
pub fn of(output: &Output, name: &str) -> i64 {
    ints(output, "flows", name)[0]
}

/// When the transfer of the first flow was complete, in nanoseconds.
#[track_caller]
pub fn finished_ns(output: &Output) -> i64 {
    *ints(output, "transfers", "end_ns").first().expect("the transfer finished")
}

/// Send exactly so many bytes.
pub fn transfer(scenario: &mut Scenario, bytes: u64) {
    traffic(&mut scenario.flows[0]).source =
        Source::Bulk { bytes: Some(bytes), refill: Span::ZERO };
}
