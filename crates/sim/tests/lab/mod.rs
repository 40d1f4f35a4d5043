//! Builders of small scenarios, and access to the columns of result tables by name.
#![allow(dead_code)] // Every test file uses its own part.

pub(crate) mod trace;

use dumbbell_model::queue::{Framing, Queue};
use dumbbell_model::scenario::{
    Algorithm, Connection, EchoProtocol, Flow, Link, Loss, Node, NodeKind, Ping, Pipe, Sampling,
    Scenario, Scheduler, ScriptedDrop, Shaper, Sink, Source, Spray, SprayPolicy, SprayWhat,
    Subflow, Tap, Tcp, Traffic, Udp, SCENARIO_VERSION,
};
use dumbbell_model::tables::{Column, Table};
use dumbbell_model::traffic::TcpStack;
use dumbbell_model::{Rate, Span, TcpOptions, Time};
use dumbbell_sim::{Monitor, Output};
use std::collections::BTreeMap;

/// Payload of a full segment with timestamps, and its Ethernet frame.
pub(crate) const SEGMENT_BYTES: u64 = 1448;
pub(crate) const FRAME_BYTES: u64 = 1514;

/// Every congestion control of the catalogue that takes a single path.
pub(crate) fn single_path() -> Vec<Algorithm> {
    Algorithm::ALL.iter().copied().filter(|algorithm| !algorithm.is_coupled()).collect()
}

/// Never stops a run.
pub(crate) struct Silent;

impl Monitor for Silent {
    fn progress(&self, _now: Time) -> bool {
        true
    }
}

/// Runs with a seed; a run that fails fails the test.
#[track_caller]
pub(crate) fn run_seed(scenario: &Scenario, seed: u64) -> Run {
    match dumbbell_sim::run(scenario, seed, &Silent) {
        Ok(output) => Run { columns: columns(&output.tables), output },
        Err(error) => panic!("{error}"),
    }
}

fn columns(tables: &[Table]) -> BTreeMap<(&'static str, &'static str), Values> {
    let mut found = BTreeMap::new();
    for table in tables {
        for (spec, column) in table.spec.columns.iter().zip(&table.columns) {
            let values = match column {
                Column::Int(values) => Values::Int(values.to_vec()),
                Column::Float(values) => Values::Float(values.to_vec()),
                Column::Text(values) => Values::Text(values.to_vec()),
            };
            found.insert((table.spec.name, spec.name), values);
        }
    }
    found
}

/// Runs with seed 1.
#[track_caller]
pub(crate) fn run(scenario: &Scenario) -> Run {
    run_seed(scenario, 1)
}

/// Values of a column.
enum Values {
    Int(Vec<i64>),
    Float(Vec<f64>),
    Text(Vec<String>),
}

/// Tables of a run.
pub(crate) struct Run {
    pub(crate) output: Output,
    /// Columns by name of the table and of the column.
    columns: BTreeMap<(&'static str, &'static str), Values>,
}

impl Run {
    fn column(&self, table: &str, column: &str) -> &Values {
        let mut columns = self.columns.iter();
        let found = columns.find(|((of, name), _)| (*of, *name) == (table, column));
        found.unwrap_or_else(|| panic!("no column {column} in {table}")).1
    }

    pub(crate) fn ints(&self, table: &str, column: &str) -> &[i64] {
        match self.column(table, column) {
            Values::Int(values) => values,
            _ => panic!("{column} holds no integers"),
        }
    }

    pub(crate) fn floats(&self, table: &str, column: &str) -> &[f64] {
        match self.column(table, column) {
            Values::Float(values) => values,
            _ => panic!("{column} holds no floats"),
        }
    }

    pub(crate) fn texts(&self, table: &str, column: &str) -> &[String] {
        match self.column(table, column) {
            Values::Text(values) => values,
            _ => panic!("{column} holds no texts"),
        }
    }

    fn row(&self, table: &str, key: &str, name: &str) -> usize {
        let found = self.texts(table, key).iter().position(|text| text == name);
        found.unwrap_or_else(|| panic!("no row {name} in {table}"))
    }

    /// An integer of the `flows` table.
    pub(crate) fn flow(&self, name: &str, column: &str) -> i64 {
        self.ints("flows", column)[self.row("flows", "flow", name)]
    }

    /// A float of the `flows` table.
    pub(crate) fn flow_mean(&self, name: &str, column: &str) -> f64 {
        self.floats("flows", column)[self.row("flows", "flow", name)]
    }

    /// An integer of the `pipes` table.
    pub(crate) fn pipe(&self, name: &str, column: &str) -> i64 {
        self.ints("pipes", column)[self.row("pipes", "pipe", name)]
    }

    /// A float of the `pipes` table.
    pub(crate) fn pipe_mean(&self, name: &str, column: &str) -> f64 {
        self.floats("pipes", column)[self.row("pipes", "pipe", name)]
    }

    /// Time and value of one flow's samples.
    pub(crate) fn samples(&self, flow: &str, column: &str) -> Vec<(i64, i64)> {
        let values = self.ints("samples", "time_ns").iter().zip(self.ints("samples", column));
        let names = self.texts("samples", "flow").iter();
        names.zip(values).filter(|(name, _)| *name == flow).map(|(_, (t, v))| (*t, *v)).collect()
    }

    /// The sampled value at or right after a time.
    #[track_caller]
    pub(crate) fn sample_at(&self, flow: &str, column: &str, at: Span) -> i64 {
        let samples = self.samples(flow, column);
        let found = samples.iter().find(|(time, _)| *time >= at.as_ns() as i64);
        found.unwrap_or_else(|| panic!("no sample at {at:?}")).1
    }

    /// Times, reasons and sequence numbers of one pipe's drops.
    pub(crate) fn drops(&self, pipe: &str) -> Vec<(i64, String, i64)> {
        let pipes = self.texts("drops", "pipe");
        let of_pipe = (0..pipes.len()).filter(|&row| pipes[row] == pipe);
        of_pipe
            .map(|row| {
                let reason = self.texts("drops", "reason")[row].clone();
                (self.ints("drops", "time_ns")[row], reason, self.ints("drops", "seq_bytes")[row])
            })
            .collect()
    }

    /// When the only transfer of a flow ended.
    #[track_caller]
    pub(crate) fn transfer_end(&self, flow: &str) -> i64 {
        self.ints("transfers", "end_ns")[self.row("transfers", "flow", flow)]
    }

    /// Payload bits per second between two samples, by what the receiver got.
    pub(crate) fn goodput_bps(&self, flow: &str, from: Span, to: Span) -> f64 {
        let at = |time| self.sample_at(flow, "delivered_bytes", time);
        (at(to) - at(from)) as f64 * 8.0 / (to.as_secs_f64() - from.as_secs_f64())
    }
}

/// The profile `linux-6.1`.
pub(crate) fn options() -> TcpOptions {
    TcpOptions::profile("linux-6.1").unwrap_or_else(|| panic!("the profile is shipped"))
}

pub(crate) fn mbps(rate: u64) -> Rate {
    Rate::from_bps(rate * 1_000_000)
}

/// No rate, no delay, no loss.
pub(crate) fn wire() -> Pipe {
    Pipe {
        policer: None,
        loss: Loss::None,
        corruption: 0.0,
        duplication: 0.0,
        queue: Queue::DropTail { limit_packets: None, limit_bytes: None },
        shaper: Shaper::None,
        framing: Framing::default(),
        delay: Span::ZERO,
        jitter: Span::ZERO,
        reordering: None,
        ack_aggregation: None,
        slots: None,
        rewrites: Vec::new(),
        changes: Vec::new(),
    }
}

/// A pure delay.
pub(crate) fn delay(delay: Span) -> Pipe {
    Pipe { delay, ..wire() }
}

/// A serial link before a drop-tail queue.
pub(crate) fn serial(rate_bps: Rate, delay: Span, limit_packets: u64) -> Pipe {
    Pipe {
        queue: Queue::DropTail { limit_packets: Some(limit_packets), limit_bytes: None },
        shaper: Shaper::Serial { rate_bps },
        delay,
        ..wire()
    }
}

/// The same, losing exactly these packets with payload of this flow.
pub(crate) fn scripted(pipe: Pipe, flow: &str, nth: impl IntoIterator<Item = u64>) -> Pipe {
    let drops = nth.into_iter().map(|nth| ScriptedDrop { flow: flow.into(), nth }).collect();
    Pipe { loss: Loss::Scripted { drops }, ..pipe }
}

fn node(name: String, kind: NodeKind) -> Node {
    let tcp = (kind == NodeKind::Host).then(options);
    Node { name, kind, spray: None, processing_jitter: Span::ZERO, tcp }
}

pub(crate) fn host(name: impl Into<String>) -> Node {
    node(name.into(), NodeKind::Host)
}

pub(crate) fn router(name: impl Into<String>) -> Node {
    node(name.into(), NodeKind::Router)
}

pub(crate) fn link(name: &str, a: &str, b: &str, forward: Pipe, backward: Pipe) -> Link {
    Link { name: name.into(), a: a.into(), b: b.into(), forward, backward }
}

fn scenario(duration: Span, nodes: Vec<Node>, links: Vec<Link>) -> Scenario {
    let interval = Span::from_ms(10);
    Scenario {
        version: SCENARIO_VERSION,
        name: "test".into(),
        duration,
        nodes,
        links,
        routes: Vec::new(),
        flows: Vec::new(),
        arrivals: Vec::new(),
        sessions: Vec::new(),
        requests: Vec::new(),
        connections: Vec::new(),
        programs: Vec::new(),
        taps: vec![Tap { name: "tap".into(), node: "a0".into(), link: "a0".into() }],
        sampling: Sampling {
            interval,
            samples: true,
            queues: true,
            drops: true,
            probes: true,
            packets: None,
            capture: None,
            hops: None,
        },
        neighbour_discovery: None,
    }
}

/// Hosts a0… on router r, hosts b0… on router s, one link `mid` from r to s. The links of the
/// hosts are named like them and take no time. The tap is at a0.
pub(crate) fn dumbbell(duration: Span, pairs: usize, forward: Pipe, backward: Pipe) -> Scenario {
    let mut nodes = vec![router("r"), router("s")];
    let mut links = vec![link("mid", "r", "s", forward, backward)];
    for pair in 0..pairs {
        let (a, b) = (format!("a{pair}"), format!("b{pair}"));
        links.push(link(&a, &a, "r", wire(), wire()));
        links.push(link(&b, "s", &b, wire(), wire()));
        nodes.extend([host(a), host(b)]);
    }
    scenario(duration, nodes, links)
}

/// One pair of hosts over parallel links p0, p1, …; both routers spray.
pub(crate) fn sprayed(
    duration: Span,
    paths: &[Pipe],
    policy: SprayPolicy,
    what: SprayWhat,
) -> Scenario {
    let mut scenario = dumbbell(duration, 1, wire(), wire());
    scenario.links.retain(|link| link.name != "mid");
    for (index, path) in paths.iter().enumerate() {
        let name = format!("p{index}");
        scenario.links.push(link(&name, "r", "s", path.clone(), path.clone()));
    }
    for node in scenario.nodes.iter_mut().filter(|node| node.kind == NodeKind::Router) {
        node.spray = Some(Spray { policy, what, first: Some(0) });
    }
    scenario
}

/// Changes the options of every host.
pub(crate) fn set_options(scenario: &mut Scenario, change: impl Fn(&mut TcpOptions)) {
    scenario.nodes.iter_mut().filter_map(|node| node.tcp.as_mut()).for_each(change);
}

/// The scenario with other options at every host.
pub(crate) fn with(scenario: &Scenario, change: impl Fn(&mut TcpOptions)) -> Scenario {
    let mut other = scenario.clone();
    set_options(&mut other, change);
    other
}

fn flow(name: &str, pair: usize, traffic: Traffic) -> Flow {
    Flow {
        name: name.into(),
        group: String::new(),
        from: format!("a{pair}"),
        to: format!("b{pair}"),
        start: Span::ZERO,
        stop: None,
        start_jitter: Span::ZERO,
        dscp: 0,
        traffic,
    }
}

/// A TCP flow from a`pair` to b`pair`.
pub(crate) fn tcp(name: &str, pair: usize, congestion_control: Algorithm, source: Source) -> Flow {
    let sink = Sink { lowat_bytes: 1, rate_bps: None };
    let (sender, receiver) = (None, None);
    let stack = TcpStack::Linux;
    let (nodelay, notsent_lowat_bytes) = (None, None);
    let tcp = Tcp {
        congestion_control,
        fq: false,
        source,
        sink,
        sender,
        receiver,
        nodelay,
        notsent_lowat_bytes,
        stack,
    };
    flow(name, pair, Traffic::Tcp(Box::new(tcp)))
}

/// One flow `f` over this pipe, and 10 ms back.
pub(crate) fn one_flow(
    duration_ms: u64,
    algorithm: Algorithm,
    source: Source,
    forward: Pipe,
) -> Scenario {
    let mut scenario = dumbbell(Span::from_ms(duration_ms), 1, forward, ten_ms());
    scenario.flows.push(tcp("f", 0, algorithm, source));
    scenario
}

pub(crate) fn ten_ms() -> Pipe {
    delay(Span::from_ms(10))
}

/// Writes all the time.
pub(crate) const BULK: Source = Source::Bulk { bytes: None, refill: Span::ZERO };

/// So many full segments, then the end.
pub(crate) fn segments(count: u64) -> Source {
    Source::Bulk { bytes: Some(count * SEGMENT_BYTES), refill: Span::ZERO }
}

/// So many full segments; the connection stays open, and no FIN of its own follows them.
pub(crate) fn left_open(count: u64) -> Source {
    let chunk_bytes = count * SEGMENT_BYTES;
    Source::Periodic { chunk_bytes, interval: Span::from_s(1000), bytes: None }
}

/// The TCP part of a flow.
pub(crate) fn tcp_of(flow: &mut Flow) -> &mut Tcp {
    match &mut flow.traffic {
        Traffic::Tcp(tcp) => tcp,
        _ => panic!("{} is not tcp", flow.name),
    }
}

/// UDP with datagrams of 1000 bytes: frames of 1042.
pub(crate) fn udp(name: &str, pair: usize, rate_bps: Rate) -> Flow {
    let udp = Udp {
        rate_bps,
        datagram_bytes: 1000,
        interval: Span::ZERO,
        mtu_bytes: 1500,
        sleeps: false,
        codec: None,
    };
    flow(name, pair, Traffic::Udp(udp))
}

pub(crate) fn ping(name: &str, pair: usize, interval: Span) -> Flow {
    flow(
        name,
        pair,
        Traffic::Ping(Ping { interval, payload_bytes: 56, protocol: EchoProtocol::Icmp }),
    )
}

/// Within a share of the expected value.
#[track_caller]
pub(crate) fn near(measured: f64, expected: f64, share: f64) {
    let error = (measured / expected - 1.0).abs();
    assert!(error <= share, "measured {measured}, expected {expected} within {share}");
}

/// Hosts a0 and b0 joined by paths apart: a0 – r0 – s0 – b0, a0 – r1 – s1 – b0, … The pipes of path i
/// are the links p0, p1, …; those of the hosts, x0, x1, … and y0, y1, …, take no time.
pub(crate) fn apart(duration: Span, paths: &[(Pipe, Pipe)]) -> Scenario {
    let mut nodes = vec![host("a0"), host("b0")];
    let mut links = Vec::new();
    for (i, (forward, backward)) in paths.iter().enumerate() {
        let (r, s) = (format!("r{i}"), format!("s{i}"));
        links.push(link(&format!("x{i}"), "a0", &r, wire(), wire()));
        links.push(link(&format!("p{i}"), &r, &s, forward.clone(), backward.clone()));
        links.push(link(&format!("y{i}"), &s, "b0", wire(), wire()));
        nodes.extend([router(r), router(s)]);
    }
    let mut scenario = scenario(duration, nodes, links);
    scenario.taps.clear();
    scenario
}

/// A Multipath TCP connection `m` from a0 to b0 with a subflow over each of these paths: m/1, m/2, …
pub(crate) fn multipath(
    scenario: &mut Scenario,
    algorithm: Algorithm,
    scheduler: Scheduler,
    source: Source,
    paths: &[usize],
) {
    let mut subflows = Vec::new();
    for (i, path) in paths.iter().enumerate() {
        let name = format!("m/{}", i + 1);
        scenario.flows.push(tcp(&name, 0, algorithm, Source::Subflow));
        subflows.push(Subflow {
            flow: name,
            local: format!("x{path}"),
            remote: format!("y{path}"),
            backup: false,
        });
    }
    scenario.connections.push(Connection {
        name: "m".into(),
        group: String::new(),
        scheduler,
        subflows,
        source,
        sink: Sink { lowat_bytes: 1, rate_bps: None },
        stop: None,
        opportunistic: false,
    });
}
