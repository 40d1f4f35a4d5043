//! A plan: the namespaces, devices, addresses, routes and queueing disciplines of a scenario, as text.
//!
//! A node is a namespace `n0`, `n1`, … with the address 10.0.0.1, 10.0.0.2, … on its loopback;
//! link 3 is a veth pair `l3a`–`l3b`. Interfaces have no addresses of their own: routes name the
//! next node and the device. A switch is a bridge. Some interfaces cannot hold the shaper of their
//! link: those of hosts (the shaper would affect TCP), hosts with fq, and slaves of TEQL. These links
//! pass through the namespace `wires`, which holds the shaper. So do links whose delay is behind a
//! shaper: the queue is at the router's interface, the delay in `wires`.

mod multipath;
mod options;
mod routes;
#[cfg(test)]
mod tests;

use crate::aggregation::Aggregated;
use crate::qdisc::{qdiscs, Qdiscs, Step};
use crate::tc::refuse;
use dumbbell_model::paths::near_end;
use dumbbell_model::scenario::{
    AckAggregation, Flow, LinkState, NeighbourDiscovery, NodeKind, Rewrite, Scenario, SprayPolicy,
    SprayWhat,
};
use dumbbell_model::{ScenarioError, Span};
use dumbbell_packet::ecmp::FlowHash;
use dumbbell_packet::wire;
pub(crate) use dumbbell_packet::wire::address;
use multipath::check_connections;
use options::{options_to_hosts, tcp_sysctls};
use std::collections::{BTreeMap, BTreeSet};

/// Namespace that holds the shapers of links whose interface cannot hold them.
pub(crate) const WIRES: &str = "wires";

/// Maximum flows: every flow has its own port at both ends (`frame`).
const FLOWS_MAX: usize = 10_000;

/// Configuration of one namespace, applied in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Namespace {
    pub(crate) name: String,
    /// Paths under /proc/sys and their values.
    pub(crate) sysctls: Vec<(String, String)>,
    /// Interfaces whose segmentation and receive offload are switched off.
    pub(crate) devices: Vec<String>,
    /// Lines of `ip -batch` that bring interfaces up.
    pub(crate) up: Vec<String>,
    /// Lines of `tc -batch`.
    pub(crate) tc: Vec<String>,
    /// Lines of `ip -batch` after the queueing disciplines: devices of TEQL, and routes.
    pub(crate) routes: Vec<String>,
}

/// A change of a pipe at a given time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimedChange {
    pub(crate) at: Span,
    pub(crate) namespace: usize,
    pub(crate) pipe: usize,
    /// Lines of `tc -batch`.
    pub(crate) lines: Vec<String>,
    /// State of the link from then on; `None`: it stays.
    pub(crate) state: Option<LinkState>,
}

impl TimedChange {
    /// Takes the lines of a later change of values if one `tc` can set both.
    fn takes(&mut self, later: &mut Self) -> bool {
        let one = self.at == later.at
            && self.namespace == later.namespace
            && self.state.is_none()
            && later.state.is_none();
        if one {
            self.lines.append(&mut later.lines);
        }
        one
    }
}

/// Segments of a flow to drop at an interface, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scripted {
    pub(crate) namespace: usize,
    pub(crate) device: String,
    pub(crate) flow: usize,
    pub(crate) nth: Vec<u64>,
}

/// Rewrite of headers at an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rewriting {
    pub(crate) namespace: usize,
    pub(crate) device: String,
    /// Index of its flow.
    pub(crate) flow: Option<usize>,
    /// Position among the rewrites of the interface, from 1.
    pub(crate) position: usize,
    pub(crate) spec: Rewrite,
}

/// Router that chooses among equal paths by a hash of the flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PerFlow {
    pub(crate) namespace: usize,
    pub(crate) hash: FlowHash,
    /// Packets that the hash distributes. The others take the first next hop.
    pub(crate) what: SprayWhat,
}

/// Location of a pipe's queueing disciplines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueueLocation {
    pub(crate) namespace: usize,
    pub(crate) device: String,
    /// Number of disciplines from the outermost to the pipe's queue; 0: there are none.
    pub(crate) chain: usize,
    /// Interface in [`WIRES`] behind the queue's, if there is one.
    pub(crate) behind: Option<String>,
    /// True if the delay of the pipe is at the queue's interface.
    pub(crate) delays: bool,
}

/// Plan of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Namespaces of the nodes, in the scenario's order, and [`WIRES`] if a link needs it.
    pub(crate) namespaces: Vec<Namespace>,
    /// Lines of `ip -batch` outside of all namespaces: links between them.
    pub(crate) joins: Vec<String>,
    /// Options of the kernel for all namespaces: path and value.
    pub(crate) globals: Vec<(String, String)>,
    /// Timed changes, in order of time.
    pub(crate) changes: Vec<TimedChange>,
    /// Location of each pipe's queue.
    pub(crate) queues: Vec<QueueLocation>,
    /// Nodes whose interfaces have the discipline fq.
    pub(crate) fq_hosts: BTreeSet<usize>,
    /// Scripted drops.
    pub(crate) scripted: Vec<Scripted>,
    /// Rewrites of headers.
    pub(crate) rewrites: Vec<Rewriting>,
    /// Routers with spraying per flow.
    pub(crate) per_flow: Vec<PerFlow>,
    /// Pipes that aggregate ACKs.
    pub(crate) aggregated: Vec<Aggregated>,
}

impl Plan {
    /// Returns true if it needs classifiers in eBPF.
    pub(crate) fn classifies(&self) -> bool {
        !(self.scripted.is_empty()
            && self.rewrites.is_empty()
            && self.per_flow.is_empty()
            && self.aggregated.is_empty())
    }
}

pub(crate) fn dotted(node: usize) -> String {
    let [a, b, c, d] = address(node);
    format!("{a}.{b}.{c}.{d}")
}

/// Name of the interface at a pipe's beginning: `l3a`, `l3b`.
pub(crate) fn device(pipe: usize) -> String {
    format!("l{}{}", pipe / 2, if pipe.is_multiple_of(2) { 'a' } else { 'b' })
}

/// Link address of that interface.
fn mac(pipe: usize) -> String {
    wire::mac(pipe).map(|byte| format!("{byte:02x}")).join(":")
}

/// Adds `clsact`, which holds filters, to an interface, once.
fn attach(lines: &mut Vec<String>, device: &str) {
    let line = format!("qdisc add dev {device} clsact");
    if !lines.contains(&line) {
        lines.push(line);
    }
}

/// Name of a queue's own interface in [`WIRES`].
fn queue_port(link: usize, side: usize) -> String {
    format!("q{link}{}", ['a', 'b'][side])
}

/// Filter that moves arriving packets on to another interface, or copies of them.
fn moved(from: &str, to: &str, copies: bool) -> String {
    let (moves, then) = if copies { ("mirror", " action drop") } else { ("redirect", "") };
    format!("filter add dev {from} ingress matchall action mirred egress {moves} dev {to}{then}")
}

struct Planner<'a> {
    scenario: &'a Scenario,
    ends: Vec<(usize, usize)>,
    leaving_of: Vec<Vec<usize>>,
    plan: Plan,
    teqls: usize,
}

/// Refuses more flows than there are ports, those of arrivals included.
pub(crate) fn check_flows(scenario: &Scenario) -> Result<(), ScenarioError> {
    let arriving = scenario.arrivals.iter().map(|one| one.expected(scenario.duration));
    if scenario.flows.len() as f64 + arriving.sum::<f64>() > FLOWS_MAX as f64 {
        return refuse("flows", "more than 10 000 flows");
    }
    Ok(())
}

/// Plans a scenario.
///
/// # Errors
/// Refuses what Linux or this engine cannot do, at the field that asks for it.
pub(crate) fn plan(scenario: &Scenario, seed: u64) -> Result<Plan, ScenarioError> {
    check_flows(scenario)?;
    let scenario = &options_to_hosts(scenario)?;
    let numbers: BTreeMap<&str, usize> =
        scenario.nodes.iter().enumerate().map(|(i, node)| (node.name.as_str(), i)).collect();
    let index = |name: &str| numbers.get(name).copied().unwrap_or(0);
    let ends: Vec<_> = scenario.links.iter().map(|l| (index(&l.a), index(&l.b))).collect();
    let mut leaving_of = vec![Vec::new(); scenario.nodes.len()];
    for (link, &(a, b)) in ends.iter().enumerate() {
        leaving_of[a].push(2 * link);
        leaving_of[b].push(2 * link + 1);
    }
    check_connections(scenario)?;
    let mut planner = Planner { scenario, ends, leaving_of, plan: Plan::default(), teqls: 0 };
    planner.nodes()?;
    let next_hops = planner.next_hops(&index)?;
    let slaves = planner.teql_slaves(&next_hops)?;
    planner.links(&slaves)?;
    planner.routes(&next_hops, seed)?;
    planner.per_flow(seed);
    planner.interfaces(&next_hops)?;
    planner.plan.changes.sort_by_key(|change| change.at);
    planner.plan.changes.dedup_by(|later, one| one.takes(later));
    Ok(planner.plan)
}

impl Planner<'_> {
    fn nodes(&mut self) -> Result<(), ScenarioError> {
        if let Some(NeighbourDiscovery { reachable, probe_delay }) =
            self.scenario.neighbour_discovery
        {
            // Defaults of new interfaces.
            let of = |name: &str| format!("/proc/sys/net/ipv4/neigh/default/{name}");
            let (ms, s) = (reachable.as_us() / 1000, probe_delay.as_us() / 1_000_000);
            self.plan.globals.push((of("base_reachable_time_ms"), ms.to_string()));
            self.plan.globals.push((of("delay_first_probe_time"), s.to_string()));
        }
        for (i, node) in self.scenario.nodes.iter().enumerate() {
            let field = format!("nodes[{i}]");
            let mut sysctls = vec![
                ("net/ipv6/conf/all/disable_ipv6".to_owned(), "1".to_owned()),
                ("net/ipv6/conf/default/disable_ipv6".to_owned(), "1".to_owned()),
                ("net/ipv4/conf/all/rp_filter".to_owned(), "0".to_owned()),
                ("net/ipv4/conf/default/rp_filter".to_owned(), "0".to_owned()),
                ("net/ipv4/conf/all/send_redirects".to_owned(), "0".to_owned()),
                ("net/ipv4/conf/default/send_redirects".to_owned(), "0".to_owned()),
            ];
            if self.scenario.programs.iter().any(|program| program.on == node.name) {
                // Programs have no capabilities: servers on low ports and ping need none here.
                sysctls.push(("net/ipv4/ip_unprivileged_port_start".to_owned(), "0".to_owned()));
                sysctls.push(("net/ipv4/ping_group_range".to_owned(), "0 2147483647".to_owned()));
            }
            if node.kind == NodeKind::Router {
                sysctls.push(("net/ipv4/ip_forward".to_owned(), "1".to_owned()));
                sysctls.push(("net/ipv4/fib_multipath_hash_policy".to_owned(), "1".to_owned()));
            }
            if let Some(tcp) = &node.tcp {
                // Between namespaces a packet keeps the hash of its socket, which TCP changes after an RTO.
                // On a real link the receiver sees only addresses and ports, which do not change.
                sysctls.push(("net/core/txrehash".to_owned(), "0".to_owned()));
                sysctls.extend(tcp_sysctls(tcp, &format!("{field}.tcp"))?);
                sysctls.extend(self.mptcp_sysctls(&node.name, tcp));
                self.cubic(tcp, &format!("{field}.tcp"))?;
            }
            let mut up = vec!["link set lo up".to_owned()];
            if node.kind == NodeKind::Switch {
                if node.spray.is_some() {
                    return refuse(
                        format!("{field}.spray"),
                        "a switch that sprays; make it a router",
                    );
                }
                up.push("link add br0 type bridge stp_state 0 forward_delay 0".to_owned());
                up.push("link set br0 up".to_owned());
            } else {
                up.push(format!("addr add {}/32 dev lo", dotted(i)));
            }
            let name = format!("n{i}");
            self.plan.namespaces.push(Namespace { name, sysctls, up, ..Namespace::default() });
        }
        Ok(())
    }

    /// Pipes that leave a host on which fq paces a flow.
    fn fq_devices(&self) -> BTreeSet<usize> {
        let paced = |flow: &&Flow| flow.traffic.tcp().is_some_and(|tcp| tcp.fq);
        let senders: BTreeSet<&str> =
            self.scenario.flows.iter().filter(paced).map(|f| f.from.as_str()).collect();
        let nodes = self.scenario.nodes.iter().enumerate();
        nodes
            .filter(|(_, node)| senders.contains(node.name.as_str()))
            .flat_map(|(i, _)| self.leaving_of[i].clone())
            .collect()
    }

    fn links(&mut self, slaves: &BTreeSet<usize>) -> Result<(), ScenarioError> {
        let paced = self.fq_devices();
        let frame_bytes = self.scenario.longest_frame_bytes();
        let mtu_of = |node: usize| self.scenario.nodes[node].tcp.as_ref().map(|t| t.mtu_bytes);
        for (i, link) in self.scenario.links.iter().enumerate() {
            let sides = [
                qdiscs(&link.forward, frame_bytes, &format!("links[{i}].forward"))?,
                qdiscs(&link.backward, frame_bytes, &format!("links[{i}].backward"))?,
            ];
            let (a, b) = self.ends[i];
            let apart = (0..2).any(|side| {
                let pipe = 2 * i + side;
                let host = self.scenario.nodes[near_end(pipe, &self.ends)].kind == NodeKind::Host;
                sides[side].behind.is_some()
                    || sides[side].aggregation.is_some()
                    || !sides[side].is_empty() && (host || slaves.contains(&pipe))
            });
            // A router keeps its queue if only what is behind it is apart.
            let routed = [0, 1].map(|side| {
                let pipe = 2 * i + side;
                let kind = self.scenario.nodes[near_end(pipe, &self.ends)].kind;
                kind == NodeKind::Router
                    && !slaves.contains(&pipe)
                    && sides[side].aggregation.is_none()
            });
            let names = [device(2 * i), device(2 * i + 1)];
            if apart {
                self.cross_wires(i, &sides, routed);
            } else {
                self.join(&names[0], a, &names[1], b, 2 * i);
            }
            // Between routers the longest packet of any host passes, as in the simulator: Linux's routers
            // would ask its sender for shorter ones (RFC 1191).
            let longest = u32::try_from(frame_bytes - 14).unwrap_or(u32::MAX).max(1500);
            let mtu = mtu_of(a).into_iter().chain(mtu_of(b)).min().or(Some(longest));
            for (side, node) in [(0, a), (1, b)] {
                self.interface(2 * i + side, node, mtu.filter(|&mtu| mtu != 1500));
            }
            if let Some(mtu) = mtu.filter(|&mtu| apart && mtu != 1500) {
                self.lengthen(i, mtu);
            }
            for (side, found) in sides.iter().enumerate() {
                let pipe = 2 * i + side;
                let near = near_end(pipe, &self.ends);
                // Interface at which the packets of this direction leave the wire.
                let leaves = format!("w{i}{}", ['b', 'a'][side]);
                let (namespace, device) = match (&found.behind, apart) {
                    (Some(_), _) if routed[side] => (near, names[side].clone()),
                    (Some(_), _) => (self.wires(), queue_port(i, side)),
                    (None, true) => (self.wires(), leaves.clone()),
                    (None, false) => (near, names[side].clone()),
                };
                self.place(pipe, found, (namespace, device), leaves)?;
                if paced.contains(&pipe) && !slaves.contains(&pipe) {
                    let node = near_end(pipe, &self.ends);
                    self.plan.fq_hosts.insert(node);
                    let here = &mut self.plan.namespaces[node];
                    here.tc.push(format!("qdisc add dev {} root fq", names[side]));
                }
            }
        }
        Ok(())
    }

    /// Lets a link pass through [`WIRES`]: each direction arrives at one interface and leaves at the other.
    fn cross_wires(&mut self, link: usize, sides: &[Qdiscs; 2], routed: [bool; 2]) {
        let wires = self.wires();
        let ends = self.ends[link];
        for (side, node) in [(0, ends.0), (1, ends.1)] {
            let found = &sides[side];
            let port = format!("w{link}{}", ['a', 'b'][side]);
            self.join(&device(2 * link + side), node, &port, wires, 2 * link + side);
            let other = format!("w{link}{}", ['b', 'a'][side]);
            let lines = &mut self.plan.namespaces[wires];
            lines.up.push(format!("link set {port} up"));
            lines.devices.push(port.clone());
            attach(&mut lines.tc, &port);
            // A copy belongs to no socket, so TCP small queues do not count it. netem's delay and
            // rate have the same effect (`skb_orphan_partial`), and routers.
            let orphans = found.is_empty() || found.orphans();
            let copies = !(orphans || routed[side] && found.behind.is_some());
            let between = found.behind.is_some() && !routed[side];
            if between {
                self.queue_apart(link, side, &port, &other, copies);
            } else {
                lines.tc.push(moved(&port, &other, copies));
            }
            if let Some(spec) = found.aggregation {
                let queue = if between { queue_port(link, side) } else { other };
                self.aggregate(link, side, port, queue, spec);
            }
        }
    }

    /// Lets longer or shorter packets pass all interfaces of a link in [`WIRES`].
    fn lengthen(&mut self, link: usize, mtu: u32) {
        let wires = self.wires();
        let here = &mut self.plan.namespaces[wires];
        let ends = ['a', 'b'].map(|side| format!("{link}{side}"));
        let ports = here.devices.iter().filter(|port| ends.iter().any(|end| port[1..] == **end));
        here.up.extend(ports.map(|port| format!("link set {port} mtu {mtu}")));
    }

    /// Puts a pipe's disciplines and filters at its interfaces. `at`: namespace and interface of the queue;
    /// `leaves`: interface in [`WIRES`] at which its packets leave the wire.
    fn place(
        &mut self,
        pipe: usize,
        found: &Qdiscs,
        at: (usize, String),
        leaves: String,
    ) -> Result<(), ScenarioError> {
        let (namespace, device) = at;
        self.shape(found, namespace, &device);
        let mut later = Vec::new();
        if let Some(behind) = &found.behind {
            let wires = self.wires();
            let lines = behind.lines.iter().map(|line| line.add(&leaves));
            self.plan.namespaces[wires].tc.extend(lines);
            // A new rate fills the bucket of the queue: what leaves it then has the new values behind it.
            let (values, states): (Vec<_>, Vec<_>) = behind
                .changes
                .iter()
                .cloned()
                .partition(|(_, step)| matches!(step, Step::Change(_)));
            self.change(&values, wires, &leaves, pipe);
            later = states;
        }
        self.change(&found.changes, namespace, &device, pipe);
        if !later.is_empty() {
            let wires = self.wires();
            self.change(&later, wires, &leaves, pipe);
        }
        self.script(found, namespace, &device, &format!("links[{}]", pipe / 2))?;
        self.rewrite(pipe, namespace, &device)?;
        let delays = !found.behind.as_ref().is_some_and(|behind| behind.delays);
        let behind = found.behind.as_ref().map(|_| leaves);
        let chain = found.chain;
        self.plan.queues.push(QueueLocation { namespace, device, chain, behind, delays });
        Ok(())
    }

    /// Notes the routers with spraying per flow. Their interfaces get classifiers.
    fn per_flow(&mut self, seed: u64) {
        for (namespace, node) in self.scenario.nodes.iter().enumerate() {
            let Some(spray) = node.spray.filter(|one| one.policy == SprayPolicy::PerFlow) else {
                continue;
            };
            let here = &mut self.plan.namespaces[namespace];
            for device in here.devices.clone() {
                attach(&mut here.tc, &device);
            }
            let hash = FlowHash::new(seed, &node.name);
            self.plan.per_flow.push(PerFlow { namespace, hash, what: spray.what });
        }
    }

    fn wires(&mut self) -> usize {
        let last = self.plan.namespaces.len() - 1;
        if self.plan.namespaces[last].name == WIRES {
            return last;
        }
        let sysctls = ["all", "default"]
            .map(|which| (format!("net/ipv6/conf/{which}/disable_ipv6"), "1".to_owned()));
        let name = WIRES.to_owned();
        let sysctls = sysctls.to_vec();
        self.plan.namespaces.push(Namespace { name, sysctls, ..Namespace::default() });
        last + 1
    }

    /// Adds a queue's own interface in [`WIRES`], between the ports of its link.
    fn queue_apart(&mut self, link: usize, side: usize, from: &str, to: &str, copies: bool) {
        let (queue, out) = (queue_port(link, side), format!("p{link}{}", ['a', 'b'][side]));
        self.plan.joins.push(format!(
            "link add {queue} netns {WIRES} type veth peer name {out} netns {WIRES}"
        ));
        let wires = self.wires();
        let lines = &mut self.plan.namespaces[wires];
        for port in [&queue, &out] {
            lines.up.push(format!("link set {port} up"));
            lines.devices.push(port.clone());
        }
        lines.tc.push(moved(from, &queue, copies));
        attach(&mut lines.tc, &out);
        lines.tc.push(moved(&out, to, false));
    }

    /// Adds the interfaces that take the ACKs of a pipe in front of its queue.
    fn aggregate(
        &mut self,
        link: usize,
        side: usize,
        port: String,
        queue: String,
        spec: AckAggregation,
    ) {
        let namespace = self.wires();
        let taking = ['g', 'h'].map(|end| format!("{end}{link}{}", ['a', 'b'][side]));
        let [near, far] = &taking;
        let joins =
            format!("link add {near} netns {WIRES} type veth peer name {far} netns {WIRES}");
        self.plan.joins.push(joins);
        let lines = &mut self.plan.namespaces[namespace];
        lines.up.extend(taking.iter().map(|one| format!("link set {one} up")));
        lines.devices.extend_from_slice(&taking);
        self.plan.aggregated.push(Aggregated { namespace, port, taking, queue, spec });
    }

    /// Adds a veth pair between two namespaces. Its first end is the interface of `pipe`.
    fn join(&mut self, one: &str, at: usize, other: &str, there: usize, pipe: usize) {
        let name = |namespace: usize| self.plan.namespaces[namespace].name.clone();
        let (here, far) = (name(at), name(there));
        let far_mac =
            if far == WIRES { String::new() } else { format!(" address {}", mac(pipe ^ 1)) };
        let line = format!(
            "link add {one} address {} netns {here} type veth peer name {other}{far_mac} netns {far}",
            mac(pipe)
        );
        self.plan.joins.push(line);
    }

    fn interface(&mut self, pipe: usize, node: usize, mtu: Option<u32>) {
        let name = device(pipe);
        let here = &mut self.plan.namespaces[node];
        here.devices.push(name.clone());
        if let Some(mtu) = mtu {
            here.up.push(format!("link set {name} mtu {mtu}"));
        }
        if self.scenario.nodes[node].kind == NodeKind::Switch {
            here.up.push(format!("link set {name} master br0"));
        }
        if self.scenario.nodes[node].tcp.as_ref().is_some_and(|tcp| !tcp.gso) {
            here.up.push(format!("link set {name} gso_max_segs 1"));
        }
        here.up.push(format!("link set {name} up"));
    }

    fn script(
        &mut self,
        found: &Qdiscs,
        namespace: usize,
        device: &str,
        field: &str,
    ) -> Result<(), ScenarioError> {
        for (name, nth) in &found.scripted {
            let Some(flow) = self.scenario.flows.iter().position(|flow| flow.name == *name) else {
                continue;
            };
            if self.scenario.flows[flow].traffic.tcp().is_none() {
                return refuse(field, "scripted loss of other than TCP");
            }
            attach(&mut self.plan.namespaces[namespace].tc, device);
            let (device, nth) = (device.to_owned(), nth.clone());
            self.plan.scripted.push(Scripted { namespace, device, flow, nth });
        }
        Ok(())
    }

    /// Adds the rewrites of a pipe at its interface.
    fn rewrite(
        &mut self,
        pipe: usize,
        namespace: usize,
        device: &str,
    ) -> Result<(), ScenarioError> {
        let scenario = self.scenario;
        let (link, side) = (&scenario.links[pipe / 2], pipe % 2);
        let (spec, name) = [(&link.forward, "forward"), (&link.backward, "backward")][side];
        for (i, spec) in spec.rewrites.iter().enumerate() {
            let field = format!("links[{}].{name}.rewrites[{i}]", pipe / 2);
            let near = &scenario.nodes[near_end(pipe, &self.ends)];
            if !spec.nth.is_empty() && near.tcp.as_ref().is_some_and(|tcp| tcp.gso) {
                return refuse(field, "chosen packets at the interface of a host with gso");
            }
            let named = |flow: &Flow| spec.flow.as_ref() == Some(&flow.name);
            let flow = scenario.flows.iter().position(named);
            attach(&mut self.plan.namespaces[namespace].tc, device);
            let (device, spec) = (device.to_owned(), spec.clone());
            self.plan.rewrites.push(Rewriting { namespace, device, flow, position: i + 1, spec });
        }
        Ok(())
    }

    fn shape(&mut self, found: &Qdiscs, namespace: usize, device: &str) {
        let lines = &mut self.plan.namespaces[namespace].tc;
        if let Some(police) = &found.police {
            attach(lines, device);
            lines.push(format!("filter add dev {device} egress {police}"));
        }
        lines.extend(found.lines.iter().map(|line| line.add(device)));
    }

    fn change(&mut self, changes: &[(Span, Step)], namespace: usize, device: &str, pipe: usize) {
        for (at, step) in changes {
            let (lines, state) = (step.lines(device), step.state());
            self.plan.changes.push(TimedChange { at: *at, namespace, pipe, lines, state });
        }
    }
}
