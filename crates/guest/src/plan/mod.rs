//! A scenario as namespaces, devices, addresses, routes and queueing disciplines: what is to be
//! done, as text, before anything is done.
//!
//! A node is a namespace `n0`, `n1`, … with the address 10.0.0.1, 10.0.0.2, … on its loopback;
//! link 3 is a veth pair `l3a`–`l3b`. Interfaces have no addresses of their own: routes name the
//! next node and the device. A switch is a bridge. Where the shaper of a link may not sit on the
//! interface itself (hosts, whose TCP would feel it; the slaves of TEQL; hosts with fq), the link
//! passes the namespace `wires`, and sits there.

mod multipath;
mod options;
mod routes;
#[cfg(test)]
mod tests;

use crate::qdisc::{qdiscs, Qdiscs};
use dumbbell_model::paths::near_end;
use dumbbell_model::scenario::{Flow, NeighbourDiscovery, NodeKind, Scenario};
use dumbbell_model::{ScenarioError, Span};
use dumbbell_packet::wire;
pub(crate) use dumbbell_packet::wire::address;
use multipath::check_connections;
use options::{options_to_hosts, tcp_sysctls};
use std::collections::{BTreeMap, BTreeSet};

/// The namespace through which links pass whose shaper may not sit on their interface.
pub(crate) const WIRES: &str = "wires";

/// Every flow has a port of its own at either end (`frame`).
const FLOWS_MAX: usize = 10_000;

/// What is to be done in one namespace, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Namespace {
    pub(crate) name: String,
    /// Paths under /proc/sys, and what is written there.
    pub(crate) sysctls: Vec<(String, String)>,
    /// Interfaces of which segmentation and receive offload are switched off.
    pub(crate) devices: Vec<String>,
    /// Lines for `ip -batch`: interfaces up.
    pub(crate) up: Vec<String>,
    /// Lines for `tc -batch`.
    pub(crate) tc: Vec<String>,
    /// Lines for `ip -batch`: what needs queueing disciplines first (TEQL), and routes.
    pub(crate) routes: Vec<String>,
}

/// A line of `tc` at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimedChange {
    pub(crate) at: Span,
    pub(crate) namespace: usize,
    pub(crate) line: String,
}

/// Segments of a flow that are dropped at an interface, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scripted {
    pub(crate) namespace: usize,
    pub(crate) device: String,
    pub(crate) flow: usize,
    pub(crate) nth: Vec<u64>,
}

/// Where a pipe's queueing disciplines are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) namespace: usize,
    pub(crate) device: String,
    /// How many of them come before the pipe's queue, it included; 0: there are none.
    pub(crate) chain: usize,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// One per node, in the scenario's order, and [`WIRES`] if any link needs it.
    pub(crate) namespaces: Vec<Namespace>,
    /// Lines for `ip -batch` outside of all of them: what joins them.
    pub(crate) joins: Vec<String>,
    /// Options of the kernel that hold for all namespaces: path, value.
    pub(crate) globals: Vec<(String, String)>,
    /// By time.
    pub(crate) changes: Vec<TimedChange>,
    /// For each pipe.
    pub(crate) places: Vec<Place>,
    /// Nodes whose interfaces have the discipline fq.
    pub(crate) fq_hosts: BTreeSet<usize>,
    /// What is dropped by script.
    pub(crate) scripted: Vec<Scripted>,
}

fn refuse<T>(path: impl Into<String>, message: &str) -> Result<T, ScenarioError> {
    let message = format!("the kernel's engines cannot do this: {message}");
    Err(ScenarioError { path: path.into(), message })
}

fn dotted(node: usize) -> String {
    let [a, b, c, d] = address(node);
    format!("{a}.{b}.{c}.{d}")
}

/// The interface of a pipe's near end: `l3a`, `l3b`.
pub(crate) fn device(pipe: usize) -> String {
    format!("l{}{}", pipe / 2, if pipe % 2 == 0 { 'a' } else { 'b' })
}

/// Its link address.
fn mac(pipe: usize) -> String {
    wire::mac(pipe).map(|byte| format!("{byte:02x}")).join(":")
}

/// Makes room for filters at an interface, once.
fn attach(lines: &mut Vec<String>, device: &str) {
    let line = format!("qdisc add dev {device} clsact");
    if !lines.contains(&line) {
        lines.push(line);
    }
}

struct Planner<'a> {
    scenario: &'a Scenario,
    ends: Vec<(usize, usize)>,
    leaving_of: Vec<Vec<usize>>,
    plan: Plan,
    teqls: usize,
}

/// Plans a scenario.
///
/// # Errors
/// What Linux or this engine cannot do, with the field that asks for it.
pub(crate) fn plan(scenario: &Scenario, seed: u64) -> Result<Plan, ScenarioError> {
    if scenario.flows.len() > FLOWS_MAX {
        return refuse("flows", "more than 10 000 flows");
    }
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
    let ways = planner.ways(&index)?;
    let slaves = planner.teql_slaves(&ways)?;
    planner.links(&slaves)?;
    planner.routes(&ways, seed)?;
    planner.interfaces(&ways)?;
    planner.plan.changes.sort_by_key(|change| change.at);
    Ok(planner.plan)
}

impl Planner<'_> {
    fn nodes(&mut self) -> Result<(), ScenarioError> {
        if let Some(NeighbourDiscovery { reachable, probe_delay }) =
            self.scenario.neighbour_discovery
        {
            // New interfaces of all namespaces take these.
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
            if node.kind == NodeKind::Router {
                sysctls.push(("net/ipv4/ip_forward".to_owned(), "1".to_owned()));
                sysctls.push(("net/ipv4/fib_multipath_hash_policy".to_owned(), "1".to_owned()));
            }
            if let Some(tcp) = &node.tcp {
                // Between namespaces a packet keeps the hash of its socket, which TCP changes after a
                // time-out; over a wire only addresses and ports arrive, and they do not change.
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

    /// The pipes that leave a host on which a flow is paced by fq.
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
                !sides[side].is_empty() && (host || slaves.contains(&pipe))
            });
            let names = [device(2 * i), device(2 * i + 1)];
            if apart {
                let wires = self.wires();
                for (side, node) in [(0, a), (1, b)] {
                    let port = format!("w{i}{}", ['a', 'b'][side]);
                    self.join(&names[side], node, &port, wires, 2 * i + side);
                    let other = format!("w{i}{}", ['b', 'a'][side]);
                    let lines = &mut self.plan.namespaces[wires];
                    lines.up.push(format!("link set {port} up"));
                    lines.devices.push(port.clone());
                    attach(&mut lines.tc, &port);
                    lines.tc.push(format!(
                        "filter add dev {port} ingress matchall action mirred egress redirect dev {other}"
                    ));
                }
            } else {
                self.join(&names[0], a, &names[1], b, 2 * i);
            }
            let mtu = mtu_of(a).into_iter().chain(mtu_of(b)).min();
            for (side, node) in [(0, a), (1, b)] {
                self.interface(2 * i + side, node, mtu.filter(|&mtu| mtu != 1500));
            }
            if apart {
                let wires = self.wires();
                if let Some(mtu) = mtu.filter(|&mtu| mtu != 1500) {
                    for side in ['a', 'b'] {
                        self.plan.namespaces[wires]
                            .up
                            .push(format!("link set w{i}{side} mtu {mtu}"));
                    }
                }
            }
            for (side, found) in sides.iter().enumerate() {
                let pipe = 2 * i + side;
                let (namespace, device) = if apart {
                    // Where the packets of this direction leave the wire.
                    (self.wires(), format!("w{i}{}", ['b', 'a'][side]))
                } else {
                    (near_end(pipe, &self.ends), names[side].clone())
                };
                self.shape(found, namespace, &device);
                self.script(found, namespace, &device, &format!("links[{i}]"))?;
                self.plan.places.push(Place { namespace, device, chain: found.chain });
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

    /// A veth pair between two namespaces; the first end is the interface of `pipe`.
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

    fn shape(&mut self, found: &Qdiscs, namespace: usize, device: &str) {
        let lines = &mut self.plan.namespaces[namespace].tc;
        if let Some(police) = &found.police {
            attach(lines, device);
            lines.push(format!("filter add dev {device} egress {police}"));
        }
        lines.extend(found.lines.iter().map(|line| line.add(device)));
        for (at, line) in &found.changes {
            let line = format!("qdisc change dev {device} {line}");
            self.plan.changes.push(TimedChange { at: *at, namespace, line });
        }
    }
}
