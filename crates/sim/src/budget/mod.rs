//! Cost of a run, estimated from its scenario alone: an order of magnitude, before hours are
//! spent or memory is gone. Packets of a flow follow from its share of what its path lets through, from
//! its window over the round trip, and from what its application sends; rows from what is recorded.

mod memory;

use crate::network::link::OPPORTUNITY_BYTES;
use crate::network::route::Routes;
use dumbbell_model::paths::far_end;
use dumbbell_model::requests::Load as Requested;
use dumbbell_model::scenario::{Flow, Pipe, Scenario, Shaper, Stretch, Tcp};
use dumbbell_model::tables::{Kind, HOPS, PACKETS, PROBES, QUEUES, SAMPLES};
use dumbbell_model::traffic::{Demand, TrafficKind};
use dumbbell_model::{Queue, ScenarioError, Span};
use std::collections::BTreeMap;

/// Round trips are not taken to be shorter: hosts of the simulator answer at once.
const LEAST_RTT: Span = Span::from_us(1);
/// A cell of a table while it is made, and its copy in Arrow's format.
const CELL_BYTES: f64 = 16.0;
/// A text of a row besides its cell.
const TEXT_BYTES: f64 = 32.0;
/// Bytes that pcapng puts around a packet, comments included.
const CAPTURED_OVERHEAD_BYTES: f64 = 100.0;
/// A pure ACK for every second segment.
const ACKS_PER_SEGMENT: f64 = 0.5;

/// Cost of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budget {
    /// Packets times the links that each passes, and samples.
    pub events: f64,
    /// Rows of all tables.
    pub rows: f64,
    /// Memory.
    pub memory_bytes: f64,
    /// Field that needs most of it.
    pub heaviest: String,
    /// Bytes of the capture.
    pub capture_bytes: f64,
    /// The flow with the most packets, by number; `None`: samples are more than all packets.
    pub busiest: Option<usize>,
    /// Flows of TCP whose path limits nothing: no rate, no delay; by number.
    pub boundless: Vec<usize>,
    /// Table with the most rows: a field of `sampling`.
    pub longest: Option<&'static str>,
}

/// Packets of a flow in a run.
struct Load {
    /// Packets that it sends in the whole run.
    packets: f64,
    frame_bytes: f64,
    out: Vec<usize>,
    back: Vec<usize>,
    /// Share of what it sends that comes back.
    answers: f64,
    stretch: [Span; 2],
}

impl Load {
    /// The share of its packets that are sent in a stretch of time.
    fn share(&self, stretch: Stretch) -> f64 {
        let [begin, end] = self.stretch;
        let both = end.min(stretch.to).as_ns().saturating_sub(begin.max(stretch.from).as_ns());
        both as f64 / end.as_ns().saturating_sub(begin.as_ns()).max(1) as f64
    }
}

/// Estimates what a run will take.
///
/// # Errors
/// There is no way for a flow.
pub fn budget(scenario: &Scenario) -> Result<Budget, ScenarioError> {
    scenario.validate()?;
    let drawn = scenario.with_representatives();
    let drawn = drawn.as_ref();
    let arriving_bytes = |number: usize| {
        let arrivals = scenario.arrivals.get(number.checked_sub(scenario.flows.len())?)?;
        Some(arrivals.expected(scenario.duration) * arrivals.size.mean_bytes())
    };
    let routes = Routes::new(drawn, 0)?;
    let network = Network::new(drawn, &routes, arriving_bytes);
    let mut found = Budget::default();
    let mut loads = Vec::with_capacity(drawn.flows.len());
    for (number, flow) in drawn.flows.iter().enumerate() {
        let (load, boundless) = network.load(number, flow, arriving_bytes(number));
        if boundless {
            found.boundless.push(number);
        }
        loads.push(load);
    }
    let hops = |load: &Load| {
        load.packets * (load.out.len() as f64 + load.answers * load.back.len() as f64)
    };
    let (moved, sampled) = (loads.iter().map(hops).sum::<f64>(), samples_taken(drawn));
    found.events = moved + sampled;
    if moved > sampled {
        let numbers = 0..loads.len();
        found.busiest = numbers.max_by(|&a, &b| hops(&loads[a]).total_cmp(&hops(&loads[b])));
    }
    recorded(drawn, &loads, &mut found);
    let longest = found.longest.map(|field| (format!("sampling.{field}"), found.memory_bytes));
    let parts = memory::parts(scenario, &network, &loads);
    found.memory_bytes += parts.iter().map(|(_, bytes)| bytes).sum::<f64>();
    let heaviest = parts.into_iter().chain(longest).max_by(|a, b| a.1.total_cmp(&b.1));
    found.heaviest = heaviest.map(|(field, _)| field).unwrap_or_default();
    Ok(found)
}

/// Paths of all flows, and how many of TCP share each pipe; a flow that ends counts as long as it
/// takes.
struct Network<'a> {
    scenario: &'a Scenario,
    numbers: BTreeMap<&'a str, usize>,
    paths: Vec<[Vec<usize>; 2]>,
    sharing: Vec<f64>,
}

impl<'a> Network<'a> {
    fn new(
        scenario: &'a Scenario,
        routes: &Routes,
        arriving_bytes: impl Fn(usize) -> Option<f64>,
    ) -> Self {
        let numbers: BTreeMap<&str, usize> =
            scenario.nodes.iter().enumerate().map(|(i, n)| (n.name.as_str(), i)).collect();
        // All names were validated.
        let ends: Vec<(usize, usize)> =
            scenario.links.iter().map(|l| (numbers[l.a.as_str()], numbers[l.b.as_str()])).collect();
        let mut network = Self {
            scenario,
            numbers,
            paths: Vec::with_capacity(scenario.flows.len()),
            sharing: vec![0.0; 2 * scenario.links.len()],
        };
        for (number, flow) in scenario.flows.iter().enumerate() {
            let (from, to) =
                (network.numbers[flow.from.as_str()], network.numbers[flow.to.as_str()]);
            let trace = |outward: bool| {
                let (mut here, last) = if outward { (from, to) } else { (to, from) };
                let destination = routes.destination(number as u32, outward);
                let mut origin = routes.origin(number as u32, outward);
                let mut path = Vec::new();
                while here != last {
                    let ways = routes.pipes(here, destination);
                    let Some(pipe) = origin.take().or(ways.first().map(|&pipe| pipe as usize))
                    else {
                        break;
                    };
                    path.push((pipe, ways.len().max(1)));
                    here = far_end(pipe, &ends);
                }
                path
            };
            let [out, back] = [trace(true), trace(false)];
            if flow.traffic.tcp().is_some() {
                let part = network.part(flow, &out, arriving_bytes(number));
                for &(pipe, ways) in &out {
                    // Sprayed over several pipes, it shares each with a part of its packets.
                    network.sharing[pipe] += part / ways as f64;
                }
            }
            let pipes =
                |path: Vec<(usize, usize)>| path.into_iter().map(|(pipe, _)| pipe).collect();
            network.paths.push([pipes(out), pipes(back)]);
        }
        network
    }

    /// Part of the run that a flow of TCP needs if it has its path for itself; 1 if it has no end.
    fn part(&self, flow: &Flow, out: &[(usize, usize)], arriving_bytes: Option<f64>) -> f64 {
        let seconds = self.scenario.duration.as_ns() as f64 / 1e9;
        let payload_bytes = self.limits(flow, flow.traffic.tcp()).0 - 52.0;
        let packets = match (arriving_bytes, flow.traffic.tcp()) {
            (Some(bytes), _) => bytes / payload_bytes,
            (None, Some(tcp)) => tcp.source.packets_in(seconds, payload_bytes),
            (None, None) => return 1.0,
        };
        let rate = out.iter().map(|&(pipe, _)| most_bps(self.pipe(pipe)));
        let line = rate.fold(f64::INFINITY, f64::min) / 8.0 / (payload_bytes + 66.0) * seconds;
        if line.is_finite() {
            (packets / line).min(1.0)
        } else {
            1.0
        }
    }

    fn pipe(&self, number: usize) -> &Pipe {
        let link = &self.scenario.links[number / 2];
        if number % 2 == 0 {
            &link.forward
        } else {
            &link.backward
        }
    }

    /// Returns the expected load of a flow, and true if nothing on its path limits it.
    fn load(&self, number: usize, flow: &Flow, arriving_bytes: Option<f64>) -> (Load, bool) {
        let [out, back] = self.paths[number].clone();
        let end = flow.stop.unwrap_or(self.scenario.duration).min(self.scenario.duration);
        let seconds = end.as_ns().saturating_sub(flow.start.as_ns()) as f64 / 1e9;
        let (demand, boundless) = match flow.traffic.demand(seconds) {
            Some(demand) => (demand, false),
            None => self.elastic(flow, [&out, &back], seconds, arriving_bytes),
        };
        let Demand { mut packets, frame_bytes, answers } = demand;
        for &pipe in &out {
            packets *= 1.0 + self.pipe(pipe).duplication;
        }
        (Load { packets, frame_bytes, out, back, answers, stretch: [flow.start, end] }, boundless)
    }

    /// Returns what a TCP flow sends within the limits of its path and its windows, and true if nothing
    /// limits it.
    fn elastic(
        &self,
        flow: &Flow,
        [out, back]: [&[usize]; 2],
        seconds: f64,
        arriving_bytes: Option<f64>,
    ) -> (Demand, bool) {
        let tcp = flow.traffic.tcp();
        let (mtu_bytes, window) = self.limits(flow, tcp);
        let payload_bytes = mtu_bytes - 52.0;
        let (mut packets, mut boundless) = (0.0, false);
        let mut answers = ACKS_PER_SEGMENT;
        if let Some(bytes) = arriving_bytes {
            packets = bytes / payload_bytes;
        } else if let Some(tcp) = tcp {
            let rate = self.share_bps(out) / 8.0 / (mtu_bytes + 14.0);
            let rtt = self.delay(out) + self.delay(back);
            boundless = rate.is_infinite() && rtt.is_zero();
            let windows = window / rtt.max(LEAST_RTT).as_ns() as f64 * 1e9;
            let most = rate.min(windows / payload_bytes) * seconds;
            packets = most.min(tcp.source.packets_in(seconds, payload_bytes));
            if let Some([sent, answered]) = self.exchanged(flow, rtt, payload_bytes) {
                packets = most.min(sent);
                answers = answered / sent.max(1.0);
            }
        }
        let frame_bytes = mtu_bytes + 14.0;
        (Demand { packets, frame_bytes, answers }, boundless)
    }

    /// Packets from the server and from the client of a connection with requests; `None`: it has none.
    fn exchanged(&self, flow: &Flow, rtt: Span, payload_bytes: f64) -> Option<[f64; 2]> {
        let requests =
            self.scenario.requests.iter().find(|r| r.connections.contains(&flow.name))?;
        let until = requests.stop.unwrap_or(self.scenario.duration).min(self.scenario.duration);
        let seconds = until.as_ns().saturating_sub(requests.start.as_ns()) as f64 / 1e9;
        let count = requests.count.map_or(f64::INFINITY, |count| count as f64);
        let exchanges = match requests.load {
            Requested::Open { .. } => {
                let all = requests.expected(self.scenario.duration).unwrap_or(0.0);
                all / requests.connections.len().max(1) as f64
            }
            Requested::Closed { think, .. } => {
                let one = (think + requests.service + rtt).max(LEAST_RTT);
                (seconds * 1e9 / one.as_ns() as f64).min(count)
            }
        };
        let packets =
            |bytes: f64, writes: u32| (bytes / payload_bytes).ceil().max(f64::from(writes));
        let request = packets(requests.request.mean_bytes(), requests.request_writes);
        let response = requests
            .response
            .as_ref()
            .map_or(0.0, |size| packets(size.mean_bytes(), requests.response_writes));
        // A response acknowledges its request.
        let sent = response.max(request * ACKS_PER_SEGMENT);
        Some([exchanges * sent, exchanges * (request + response * ACKS_PER_SEGMENT)])
    }

    /// A fair share of the narrowest pipe.
    fn share_bps(&self, path: &[usize]) -> f64 {
        // No flow has more than the pipe.
        let shares =
            path.iter().map(|&number| most_bps(self.pipe(number)) / self.sharing[number].max(1.0));
        shares.fold(f64::INFINITY, f64::min)
    }

    fn delay(&self, path: &[usize]) -> Span {
        let delays = path.iter().map(|&number| {
            let pipe = self.pipe(number);
            match &pipe.queue {
                Queue::Netem { delay, .. } => pipe.delay + *delay,
                _ => pipe.delay,
            }
        });
        delays.fold(Span::ZERO, |sum, delay| sum + delay)
    }

    /// MTU and window of a flow, in bytes: the smaller of both ends.
    fn limits(&self, flow: &Flow, tcp: Option<&Tcp>) -> (f64, f64) {
        let node = |host: &str| self.scenario.nodes[self.numbers[host]].tcp.as_ref();
        let sender = tcp.and_then(|tcp| tcp.sender.as_ref()).or_else(|| node(&flow.from));
        let receiver = tcp.and_then(|tcp| tcp.receiver.as_ref()).or_else(|| node(&flow.to));
        let mtus = [sender, receiver].map(|one| one.map_or(1500, |options| options.mtu_bytes));
        let written = sender.map_or(u64::MAX, |options| options.tcp_wmem[2]);
        let offered = receiver.map_or(u64::MAX, |options| options.tcp_rmem[2]);
        (f64::from(mtus[0].min(mtus[1])), written.min(offered) as f64)
    }
}

/// The highest rate that a pipe ever has; infinite if nothing limits it.
fn most_bps(pipe: &Pipe) -> f64 {
    let changed = pipe.changes.iter().filter_map(|change| change.rate_bps);
    let mut most = pipe
        .rate()
        .into_iter()
        .chain(changed)
        .map(|rate| rate.as_bps() as f64)
        .fold(f64::NEG_INFINITY, f64::max);
    if let Shaper::Trace { deliveries_ms } = &pipe.shaper {
        let period_s = deliveries_ms.last().copied().unwrap_or(1) as f64 / 1e3;
        most = 8.0 * f64::from(OPPORTUNITY_BYTES) * deliveries_ms.len() as f64 / period_s;
    }
    if most == f64::NEG_INFINITY {
        most = f64::INFINITY;
    }
    match pipe.policer {
        Some(policer) => most.min(policer.rate_bps.as_bps() as f64),
        None => most,
    }
}

fn ticks(scenario: &Scenario) -> f64 {
    scenario.duration.as_ns() as f64 / scenario.sampling.interval.as_ns() as f64
}

/// Looks at a sender or a queue: windows are sampled for their means, whatever is kept.
fn samples_taken(scenario: &Scenario) -> f64 {
    let senders = scenario.flows.iter().filter(|f| f.traffic.tcp().is_some()).count();
    let queues = if scenario.sampling.queues { queues(scenario) } else { 0.0 };
    ticks(scenario) * (1.0 + senders as f64 + queues)
}

/// Pipes with a queue worth a table.
fn queues(scenario: &Scenario) -> f64 {
    let pipes = scenario.links.iter().flat_map(|link| [&link.forward, &link.backward]);
    let queued = |pipe: &&Pipe| {
        pipe.shaper != Shaper::None
            || pipe.queue.is_discipline()
            || matches!(pipe.queue, Queue::Netem { .. })
    };
    pipes.filter(queued).count() as f64
}

/// Rows of what is kept over time, and what is captured.
fn recorded(scenario: &Scenario, loads: &[Load], found: &mut Budget) {
    let sampling = &scenario.sampling;
    let both = |load: &Load| load.packets * (1.0 + load.answers);
    let taps = scenario.taps.len() as f64;
    let mut tables = Vec::new();
    if sampling.samples {
        tables.push(("interval_ns", &SAMPLES, ticks(scenario) * scenario.flows.len() as f64));
    }
    if sampling.queues {
        tables.push(("interval_ns", &QUEUES, ticks(scenario) * queues(scenario)));
    }
    if sampling.probes {
        let asked = |load: &&Load| load.answers != ACKS_PER_SEGMENT;
        tables.push(("probes", &PROBES, loads.iter().filter(asked).map(|l| l.packets).sum()));
    }
    if let Some(stretch) = sampling.packets {
        let seen = loads.iter().map(|load| both(load) * load.share(stretch)).sum::<f64>();
        tables.push(("packets", &PACKETS, seen * taps));
    }
    if let Some(stretch) = sampling.hops {
        let hops = |load: &Load| {
            let passed = load.out.len() as f64 + load.answers * load.back.len() as f64;
            load.packets * passed * load.share(stretch)
        };
        tables.push(("hops", &HOPS, loads.iter().map(hops).sum()));
    }
    let mut most = 0.0;
    for (field, table, rows) in tables {
        let text = table.columns.iter().filter(|c| c.kind == Kind::Text);
        let row_bytes = CELL_BYTES * table.columns.len() as f64 + TEXT_BYTES * text.count() as f64;
        found.rows += rows;
        found.memory_bytes += rows * row_bytes;
        if rows * row_bytes > most {
            most = rows * row_bytes;
            found.longest = Some(field);
        }
    }
    if let Some(capture) = sampling.capture {
        let snap = f64::from(capture.snap_bytes);
        let bytes = |load: &Load| {
            let kept = load.frame_bytes.min(snap) + load.answers * snap.min(66.0);
            load.packets * (kept + (1.0 + load.answers) * CAPTURED_OVERHEAD_BYTES)
        };
        found.capture_bytes = taps * loads.iter().map(bytes).sum::<f64>();
        // The packets, and the file made of them.
        found.memory_bytes += 2.0 * found.capture_bytes;
        if 2.0 * found.capture_bytes > most {
            found.longest = Some("capture");
        }
    }
}
