//! Reads a scenario and checks what types cannot express. Every error names the field.

use crate::queue::Queue;
use crate::scenario::{
    Flow, Link, LinkState, Loss, NodeKind, Pipe, Rewrite, Scenario, Shaper, Slots, SCENARIO_VERSION,
};
use crate::traffic::{Traffic, TrafficKind};
use crate::units::Span;
use crate::validate_netem::{check_netem, check_states, check_steps, check_waits};
use crate::validate_queue::check_queue;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// An error in a scenario: the field and the message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{path}: {message}")]
pub struct ScenarioError {
    /// The field, as `links[2].forward.queue`.
    pub path: String,
    /// Value found, and values allowed.
    pub message: String,
}

pub(crate) fn error<T>(
    path: impl Into<String>,
    message: impl Into<String>,
) -> Result<T, ScenarioError> {
    Err(ScenarioError { path: path.into(), message: message.into() })
}

/// Range of framing overhead. It is negative if the Ethernet header is not sent.
const OVERHEAD_BYTES: core::ops::RangeInclusive<i32> = -14..=65_535;

/// IP and ICMP headers of an echo, whose fragments are not modelled.
const PING_HEADERS_BYTES: u64 = 28;
/// Maximum length of a delivery trace, ms: half of the time that 64 bits of ps hold.
const LONGEST_TRACE_MS: u64 = u64::MAX / 1_000_000_000 / 2;
/// Maximum number of events of links and flows: engines number them in 24 bits.
const EVENTS_MAX: usize = (1 << 24) - (1 << 16);
/// Events of a link, and of a flow with its endpoint.
const LINK_EVENTS: usize = 8;
const FLOW_EVENTS: usize = 5;

/// Reads a scenario from JSON. An error names its field.
fn named(json: &str) -> Result<Scenario, ScenarioError> {
    let mut reader = serde_json::Deserializer::from_str(json);
    serde_path_to_error::deserialize(&mut reader)
        .map_err(|e| ScenarioError { path: e.path().to_string(), message: e.inner().to_string() })
}

impl Scenario {
    /// Reads a scenario from JSON and checks it.
    ///
    /// # Errors
    /// Returns the first error with its field.
    pub fn from_json(json: &str) -> Result<Self, ScenarioError> {
        // Following the fields costs time, so it is done only for an error.
        let scenario: Self = serde_json::from_str(json).or_else(|_| named(json))?;
        scenario.validate()?;
        Ok(scenario)
    }

    /// Checks names, ranges and references. The engine that builds the network checks that routes
    /// exist.
    ///
    /// # Errors
    /// Returns the first error with its field.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        self.check_extent()?;
        self.check_sampling()?;
        unique("nodes", self.nodes.iter().map(|n| n.name.as_str()))?;
        unique("links", self.links.iter().map(|l| l.name.as_str()))?;
        unique("flows", self.flows.iter().map(|f| f.name.as_str()))?;
        unique("taps", self.taps.iter().map(|t| t.name.as_str()))?;
        self.check_nodes()?;
        let names = Names::new(self);
        self.check_links(&names)?;
        self.check_routes(&names)?;
        for (i, flow) in self.flows.iter().enumerate() {
            names.check_flow(&format!("flows[{i}]"), flow)?;
        }
        self.check_arrivals()?;
        self.check_sessions()?;
        self.check_connections()?;
        self.check_programs()?;
        self.check_taps(&names)
    }

    /// Checks version, duration, numbers of links and flows.
    fn check_extent(&self) -> Result<(), ScenarioError> {
        if self.version != SCENARIO_VERSION {
            return error(
                "version",
                format!("found {}, this program reads {SCENARIO_VERSION}", self.version),
            );
        }
        if self.duration.is_zero() {
            return error("duration_ns", "a run of no time; it must be above 0");
        }
        if self.neighbour_discovery.is_some_and(|n| n.reachable.is_zero()) {
            return error("neighbour_discovery.reachable_ns", "must be above 0");
        }
        let (links, flows) = (self.links.len(), self.flows.len());
        if LINK_EVENTS * links + FLOW_EVENTS * flows > EVENTS_MAX {
            let what = if LINK_EVENTS * links > FLOW_EVENTS * flows { "links" } else { "flows" };
            let message = format!(
                "found {flows} flows and {links} links; {LINK_EVENTS} events per link and \
                 {FLOW_EVENTS} per flow must be at most {EVENTS_MAX}"
            );
            return error(what, message);
        }
        Ok(())
    }

    fn check_sampling(&self) -> Result<(), ScenarioError> {
        if self.sampling.interval.is_zero() {
            return error("sampling.interval_ns", "must be above 0");
        }
        if self.sampling.capture.is_some() && self.taps.is_empty() {
            return error("sampling.capture", "packets are captured at taps; there is none");
        }
        if let Some(stretch) = self.sampling.packets {
            if stretch.from >= stretch.to {
                return error("sampling.packets.to_ns", "must be later than where it begins");
            }
            if self.taps.is_empty() {
                return error("sampling.packets", "packets are kept at taps; there is none");
            }
        }
        if self.sampling.hops.is_some_and(|stretch| stretch.from >= stretch.to) {
            return error("sampling.hops.to_ns", "must be later than where it begins");
        }
        Ok(())
    }

    fn check_nodes(&self) -> Result<(), ScenarioError> {
        for (i, node) in self.nodes.iter().enumerate() {
            let at = format!("nodes[{i}]");
            match (&node.tcp, node.kind) {
                (None, NodeKind::Host) => return error(at, "a host needs tcp options"),
                (Some(options), _) => options.check(&format!("{at}.tcp"))?,
                (None, _) => {}
            }
            if node.spray.is_some() && node.kind == NodeKind::Host {
                return error(format!("{at}.spray"), "only routers and switches spray");
            }
        }
        Ok(())
    }

    fn check_links(&self, names: &Names<'_>) -> Result<(), ScenarioError> {
        for (i, link) in self.links.iter().enumerate() {
            let at = format!("links[{i}]");
            names.check_node(&at, "a", &link.a)?;
            names.check_node(&at, "b", &link.b)?;
            if link.a == link.b {
                return error(format!("{at}.b"), format!("{} is joined to itself", link.a));
            }
            names.check_pipe(&format!("{at}.forward"), &link.forward)?;
            names.check_pipe(&format!("{at}.backward"), &link.backward)?;
        }
        Ok(())
    }

    fn check_routes(&self, names: &Names<'_>) -> Result<(), ScenarioError> {
        for (i, route) in self.routes.iter().enumerate() {
            let at = format!("routes[{i}]");
            names.check_node(&at, "at", &route.at)?;
            names.check_node(&at, "to", &route.to)?;
            if route.via.is_empty() {
                return error(format!("{at}.via"), "names no link");
            }
            for (j, name) in route.via.iter().enumerate() {
                if !names.joins(name, &route.at) {
                    return error(format!("{at}.via[{j}]"), self.no_link(name, &route.at));
                }
            }
        }
        Ok(())
    }

    fn check_taps(&self, names: &Names<'_>) -> Result<(), ScenarioError> {
        for (i, tap) in self.taps.iter().enumerate() {
            let at = format!("taps[{i}]");
            names.check_node(&at, "node", &tap.node)?;
            if !names.joins(&tap.link, &tap.node) {
                return error(format!("{at}.link"), self.no_link(&tap.link, &tap.node));
            }
        }
        Ok(())
    }

    fn no_link(&self, name: &str, node: &str) -> String {
        let known = self.links.iter().filter(|link| link.a == node || link.b == node);
        let known: Vec<_> = known.map(|link| link.name.as_str()).collect();
        format!("{name} is no link of {node}; it has {}", known.join(", "))
    }

    /// Length of an Ethernet frame of the largest MTU of all hosts.
    pub fn longest_frame_bytes(&self) -> u64 {
        let mtus = self.nodes.iter().filter_map(|node| node.tcp.as_ref()).map(|tcp| tcp.mtu_bytes);
        u64::from(mtus.max().unwrap_or(1500)) + 14
    }
}

/// Names of a scenario, each looked up many times.
struct Names<'a> {
    scenario: &'a Scenario,
    nodes: BTreeMap<&'a str, NodeKind>,
    links: BTreeMap<&'a str, &'a Link>,
    flows: BTreeSet<&'a str>,
}

impl<'a> Names<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        Self {
            scenario,
            nodes: scenario.nodes.iter().map(|node| (node.name.as_str(), node.kind)).collect(),
            links: scenario.links.iter().map(|link| (link.name.as_str(), link)).collect(),
            flows: scenario.flows.iter().map(|flow| flow.name.as_str()).collect(),
        }
    }

    /// Returns true if the link ends at the node.
    fn joins(&self, link: &str, node: &str) -> bool {
        self.links.get(link).is_some_and(|link| link.a == node || link.b == node)
    }

    /// Returns the role of the node that a field names.
    fn check_node(&self, at: &str, field: &str, name: &str) -> Result<NodeKind, ScenarioError> {
        if let Some(kind) = self.nodes.get(name) {
            return Ok(*kind);
        }
        let known: Vec<_> = self.scenario.nodes.iter().map(|n| n.name.as_str()).collect();
        error(format!("{at}.{field}"), format!("no node {name}; there are {}", known.join(", ")))
    }

    fn check_pipe(&self, at: &str, pipe: &Pipe) -> Result<(), ScenarioError> {
        probability(at, "corruption", pipe.corruption)?;
        probability(at, "duplication", pipe.duplication)?;
        self.check_loss(at, &pipe.loss)?;
        for (i, rewrite) in pipe.rewrites.iter().enumerate() {
            self.check_rewrite(&format!("{at}.rewrites[{i}]"), rewrite)?;
        }
        if let Some(policer) = pipe.policer {
            above_zero(at, "policer.rate_bps", policer.rate_bps.as_bps())?;
            above_zero(at, "policer.burst_bytes", policer.burst_bytes)?;
        }
        if let Some(reordering) = pipe.reordering {
            probability(at, "reordering.probability", reordering.probability)?;
        }
        if let Some(aggregation) = pipe.ack_aggregation {
            above_zero(at, "ack_aggregation.max_acks", u64::from(aggregation.max_acks))?;
        }
        check_shaper(at, &pipe.shaper)?;
        if let Some(slots) = &pipe.slots {
            check_slots(at, slots, pipe)?;
        }
        check_queue(at, pipe)?;
        check_netem(at, pipe)?;
        check_steps(at, pipe, self.scenario.duration)?;
        in_range(at, "framing.mpu_bytes", pipe.framing.mpu_bytes.into(), 0, 65_535)?;
        if !OVERHEAD_BYTES.contains(&pipe.framing.overhead_bytes) {
            let (found, most) = (pipe.framing.overhead_bytes, OVERHEAD_BYTES.end());
            return error(
                format!("{at}.framing.overhead_bytes"),
                format!(
                    "{found}; -14 (the Ethernet header, which is all that a wire can spare) to \
                     {most}"
                ),
            );
        }
        self.check_changes(at, pipe)
    }

    fn check_changes(&self, at: &str, pipe: &Pipe) -> Result<(), ScenarioError> {
        let (mut last, mut state) = (Span::ZERO, LinkState::Up);
        for (i, change) in pipe.changes.iter().enumerate() {
            let at = format!("{at}.changes[{i}]");
            if change.at < last {
                return error(format!("{at}.at_ns"), "earlier than the change before it");
            }
            last = change.at;
            if let Some(rate) = change.rate_bps {
                above_zero(&at, "rate_bps", rate.as_bps())?;
                if matches!(pipe.shaper, Shaper::None | Shaper::Trace { .. }) {
                    return error(format!("{at}.rate_bps"), "the pipe has no rate to change");
                }
            }
            if let Some(loss) = &change.loss {
                self.check_loss(&at, loss)?;
            }
            if change.state == Some(state) {
                let name = if state == LinkState::Up { "up" } else { "down" };
                return error(format!("{at}.state"), format!("the link is {name} already"));
            }
            state = change.state.unwrap_or(state);
        }
        Ok(())
    }

    fn check_loss(&self, at: &str, loss: &Loss) -> Result<(), ScenarioError> {
        match loss {
            Loss::None => Ok(()),
            Loss::Independent { probability: p } => {
                probability(at, "loss.independent.probability", *p)
            }
            Loss::State { chain, .. } => check_states(&format!("{at}.loss.state.chain"), chain),
            Loss::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad, .. } => {
                let at = format!("{at}.loss.gilbert_elliott");
                probability(&at, "good_to_bad", *good_to_bad)?;
                probability(&at, "bad_to_good", *bad_to_good)?;
                probability(&at, "loss_good", *loss_good)?;
                probability(&at, "loss_bad", *loss_bad)
            }
            Loss::Scripted { drops } => {
                for (i, drop) in drops.iter().enumerate() {
                    let at = format!("{at}.loss.scripted.drops[{i}]");
                    if !self.flows.contains(drop.flow.as_str()) {
                        let flows = &self.scenario.flows;
                        let known: Vec<_> = flows.iter().map(|f| f.name.as_str()).collect();
                        return error(
                            format!("{at}.flow"),
                            format!("no flow {}; there are {}", drop.flow, known.join(", ")),
                        );
                    }
                    above_zero(&at, "nth", drop.nth)?;
                }
                Ok(())
            }
        }
    }

    fn check_rewrite(&self, at: &str, rewrite: &Rewrite) -> Result<(), ScenarioError> {
        if rewrite.ecn.is_none() && !rewrite.is_of_tcp() {
            return error(at, "changes nothing");
        }
        for nth in &rewrite.nth {
            above_zero(at, "nth", *nth)?;
        }
        if rewrite.set_flags.iter().any(|flag| rewrite.clear_flags.contains(flag)) {
            return error(format!("{at}.set_flags"), "a flag that is cleared, too");
        }
        let Some(name) = &rewrite.flow else {
            if !rewrite.nth.is_empty() {
                return error(format!("{at}.nth"), "numbers count the packets of a flow");
            }
            return Ok(());
        };
        let Some(flow) = self.scenario.flows.iter().find(|flow| flow.name == *name) else {
            let known: Vec<_> = self.scenario.flows.iter().map(|f| f.name.as_str()).collect();
            return error(
                format!("{at}.flow"),
                format!("no flow {name}; there are {}", known.join(", ")),
            );
        };
        if flow.traffic.tcp().is_none() {
            return error(format!("{at}.flow"), format!("{name} is not a TCP flow"));
        }
        Ok(())
    }

    fn check_flow(&self, at: &str, flow: &Flow) -> Result<(), ScenarioError> {
        for (field, name) in [("from", &flow.from), ("to", &flow.to)] {
            if self.check_node(at, field, name)? != NodeKind::Host {
                return error(format!("{at}.{field}"), format!("{name} is not a host"));
            }
        }
        if flow.from == flow.to {
            return error(format!("{at}.to"), format!("{} sends to itself", flow.from));
        }
        if flow.start >= self.scenario.duration {
            return error(format!("{at}.start_ns"), "not before the end of the run");
        }
        if flow.stop.is_some_and(|stop| stop <= flow.start) {
            return error(format!("{at}.stop_ns"), "not after the start");
        }
        in_range(at, "dscp", u64::from(flow.dscp), 0, 63)?;
        if let Traffic::Ping(ping) = &flow.traffic {
            let ends =
                self.scenario.nodes.iter().filter(|n| [&flow.from, &flow.to].contains(&&n.name));
            let mtus = ends.filter_map(|node| node.tcp.as_ref()).map(|tcp| tcp.mtu_bytes);
            let most = u64::from(mtus.min().unwrap_or(0)).saturating_sub(PING_HEADERS_BYTES);
            in_range(&format!("{at}.traffic.ping"), "payload_bytes", ping.payload_bytes, 0, most)?;
        }
        flow.traffic.check(&format!("{at}.traffic"))
    }
}

fn check_shaper(at: &str, shaper: &Shaper) -> Result<(), ScenarioError> {
    match shaper {
        Shaper::None => {}
        Shaper::Serial { rate_bps } => {
            above_zero(at, "shaper.serial.rate_bps", rate_bps.as_bps())?;
        }
        Shaper::Tbf { rate_bps, burst_bytes, initial_bytes, peak } => {
            above_zero(at, "shaper.tbf.rate_bps", rate_bps.as_bps())?;
            above_zero(at, "shaper.tbf.burst_bytes", *burst_bytes)?;
            if let Some(peak) = peak {
                above_zero(at, "shaper.tbf.peak.burst_bytes", peak.burst_bytes)?;
                if peak.rate_bps <= *rate_bps {
                    let message = format!("{}; above the rate ({rate_bps})", peak.rate_bps);
                    return error(format!("{at}.shaper.tbf.peak.rate_bps"), message);
                }
            }
            if initial_bytes.is_some_and(|level| level > *burst_bytes) {
                return error(
                    format!("{at}.shaper.tbf.initial_bytes"),
                    format!("more than the burst of {burst_bytes} bytes"),
                );
            }
        }
        Shaper::Trace { deliveries_ms } => {
            if let Some(last) = deliveries_ms.last().filter(|&&last| last > LONGEST_TRACE_MS) {
                return error(
                    format!("{at}.shaper.trace.deliveries_ms"),
                    format!("{last} ms: a trace has at most 106 days ({LONGEST_TRACE_MS} ms)"),
                );
            }
            if deliveries_ms.last().is_none_or(|&last| last == 0) {
                let message = "a trace needs a delivery after 0 ms";
                return error(format!("{at}.shaper.trace.deliveries_ms"), message);
            }
            if let Some(i) = deliveries_ms.windows(2).position(|w| w[0] > w[1]) {
                return error(
                    format!("{at}.shaper.trace.deliveries_ms[{}]", i + 1),
                    format!(
                        "{} after {}: times must ascend",
                        deliveries_ms[i + 1],
                        deliveries_ms[i]
                    ),
                );
            }
        }
    }
    Ok(())
}

fn check_slots(at: &str, slots: &Slots, pipe: &Pipe) -> Result<(), ScenarioError> {
    let at = format!("{at}.slots");
    if matches!(pipe.shaper, Shaper::Tbf { .. } | Shaper::Trace { .. })
        || matches!(pipe.queue, Queue::Netem { .. } | Queue::Htb(_))
    {
        return error(
            at,
            "slots need a wire (rate) or nothing as shaper, and a queue in front of it",
        );
    }
    above_zero(&at, "max_ns", slots.max.as_ns())?;
    if slots.min > slots.max {
        return error(format!("{at}.min_ns"), "longer than the longest wait (max_ns)");
    }
    let most = i32::MAX as u64;
    in_range(&at, "packets", slots.packets.into(), 0, most)?;
    in_range(&at, "bytes", slots.bytes.into(), 0, most)?;
    check_waits(&at, slots, pipe)?;
    if slots.pause > Span::ZERO && slots.pause >= slots.pause_every {
        return error(format!("{at}.pause_ns"), "not shorter than the interval (pause_every_ns)");
    }
    Ok(())
}

fn unique<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), ScenarioError> {
    let mut seen = BTreeMap::new();
    for (i, name) in names.enumerate() {
        if name.is_empty() {
            return error(format!("{what}[{i}].name"), "is empty");
        }
        if let Some(first) = seen.insert(name, i) {
            return error(
                format!("{what}[{i}].name"),
                format!("{name} is already the name of {what}[{first}]"),
            );
        }
    }
    Ok(())
}

pub(crate) fn probability(at: &str, field: &str, value: f64) -> Result<(), ScenarioError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    error(format!("{at}.{field}"), format!("{value} is no probability; it must be 0 to 1"))
}

pub(crate) fn above_zero(at: &str, field: &str, value: u64) -> Result<(), ScenarioError> {
    if value > 0 {
        return Ok(());
    }
    error(format!("{at}.{field}"), "must be above 0")
}

pub(crate) fn in_range(
    at: &str,
    field: &str,
    value: u64,
    low: u64,
    high: u64,
) -> Result<(), ScenarioError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    error(format!("{at}.{field}"), format!("{value} is not within {low} to {high}"))
}
