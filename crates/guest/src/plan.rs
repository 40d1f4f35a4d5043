//! A scenario as namespaces, devices, addresses, routes and queueing disciplines: what is to be
//! done, as text, before anything is done.
//!
//! A node is a namespace `n0`, `n1`, … with the address 10.0.0.1, 10.0.0.2, … on its loopback;
//! link 3 is a veth pair `l3a`–`l3b`. Interfaces have no addresses of their own: routes name the
//! next node and the device. A switch is a bridge. Where the shaper of a link may not sit on the
//! interface itself (hosts, whose TCP would feel it; the slaves of TEQL; hosts with fq), the link
//! passes the namespace `wires`, and sits there.

use crate::qdisc::{qdiscs, Qdiscs};
use dumbbell_model::paths::{distances, far_end, leaving, near_end, nearer};
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::{
    NeighbourDiscovery, Node, NodeKind, Scenario, Spray, SprayPolicy, SprayWhat, Traffic,
};
use dumbbell_model::{ScenarioError, Span, TcpOptions};
use std::collections::{BTreeMap, BTreeSet};

/// The namespace through which links pass whose shaper may not sit on their interface.
pub(crate) const WIRES: &str = "wires";
/// Mark and routing table of packets without payload, where they go another way.
const BARE: u32 = 100;
/// Ticks per second of the kernel that is built (kernel/patches).
const HZ: u32 = 1000;

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

/// Where a pipe's queueing disciplines are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) namespace: usize,
    pub(crate) device: String,
    /// Whether there are any.
    pub(crate) shaped: bool,
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
}

fn refuse<T>(path: impl Into<String>, message: &str) -> Result<T, ScenarioError> {
    let message = format!("the kernel's engines cannot do this: {message}");
    Err(ScenarioError { path: path.into(), message })
}

/// The address of a node by its index.
pub(crate) fn address(node: usize) -> [u8; 4] {
    let number = node as u32 + 1;
    [10, (number >> 16) as u8, (number >> 8) as u8, number as u8]
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
    let link = pipe / 2;
    format!(
        "02:00:{:02x}:{:02x}:{:02x}:{:02x}",
        link >> 16 & 255,
        link >> 8 & 255,
        link & 255,
        pipe % 2
    )
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
    let numbers: BTreeMap<&str, usize> =
        scenario.nodes.iter().enumerate().map(|(i, node)| (node.name.as_str(), i)).collect();
    let index = |name: &str| numbers.get(name).copied().unwrap_or(0);
    let ends: Vec<_> = scenario.links.iter().map(|l| (index(&l.a), index(&l.b))).collect();
    let mut leaving_of = vec![Vec::new(); scenario.nodes.len()];
    for (link, &(a, b)) in ends.iter().enumerate() {
        leaving_of[a].push(2 * link);
        leaving_of[b].push(2 * link + 1);
    }
    let mut planner = Planner { scenario, ends, leaving_of, plan: Plan::default(), teqls: 0 };
    planner.nodes()?;
    let ways = planner.ways(&index)?;
    let slaves = planner.teql_slaves(&ways)?;
    planner.links(&slaves)?;
    planner.routes(&ways, seed)?;
    planner.plan.changes.sort_by_key(|change| change.at);
    Ok(planner.plan)
}

/// The pipes by which a node reaches a host, by node and host.
type Ways = BTreeMap<(usize, usize), Vec<usize>>;

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
                sysctls.extend(tcp_sysctls(tcp, &format!("{field}.tcp"))?);
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

    /// CUBIC's options are the kernel's, so all hosts must want the same.
    fn cubic(&mut self, tcp: &TcpOptions, field: &str) -> Result<(), ScenarioError> {
        let options = [
            ("hystart", tcp.cubic_hystart),
            ("fast_convergence", tcp.cubic_fast_convergence),
            ("tcp_friendliness", tcp.cubic_tcp_friendliness),
        ];
        for (name, wanted) in options {
            let path = format!("/sys/module/tcp_cubic/parameters/{name}");
            let value = u8::from(wanted).to_string();
            match self.plan.globals.iter().find(|(known, _)| *known == path) {
                Some((_, known)) if *known != value => {
                    return refuse(
                        format!("{field}.cubic_{name}"),
                        "hosts with different options of CUBIC",
                    );
                }
                Some(_) => {}
                None => self.plan.globals.push((path, value)),
            }
        }
        Ok(())
    }

    /// For the hosts at the ends of flows.
    fn ways(&self, index: &impl Fn(&str) -> usize) -> Result<Ways, ScenarioError> {
        let mut wanted: Vec<usize> =
            self.scenario.flows.iter().flat_map(|f| [index(&f.from), index(&f.to)]).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut ways = Ways::new();
        for &to in &wanted {
            let distance = distances(self.scenario, &self.ends, &self.leaving_of, to);
            for from in (0..self.scenario.nodes.len()).filter(|&from| from != to) {
                let leaving_here = &self.leaving_of[from];
                let found = nearer(self.scenario, &self.ends, leaving_here, &distance, from, to);
                if !found.is_empty() {
                    ways.insert((from, to), found);
                }
            }
        }
        for (i, route) in self.scenario.routes.iter().enumerate() {
            let at = index(&route.at);
            if self.scenario.nodes[at].kind == NodeKind::Switch {
                return refuse(format!("routes[{i}].at"), "a route at a switch; make it a router");
            }
            let pipes: Vec<_> =
                route.via.iter().map(|name| leaving(self.scenario, name, at, &self.ends)).collect();
            ways.insert((at, index(&route.to)), pipes);
        }
        for (i, flow) in self.scenario.flows.iter().enumerate() {
            for (from, to) in [(&flow.from, &flow.to), (&flow.to, &flow.from)] {
                if !ways.contains_key(&(index(from), index(to))) {
                    let message = format!("no route from {from} to {to}");
                    return Err(ScenarioError { path: format!("flows[{i}]"), message });
                }
            }
        }
        Ok(ways)
    }

    /// The next node that is no switch, beyond a pipe towards a host, and the pipe that enters it.
    fn next(&self, ways: &Ways, pipe: usize, to: usize) -> Option<(usize, usize)> {
        let mut pipe = pipe;
        for _ in 0..=self.scenario.nodes.len() {
            let node = far_end(pipe, &self.ends);
            if self.scenario.nodes[node].kind != NodeKind::Switch {
                return Some((node, pipe));
            }
            pipe = *ways.get(&(node, to))?.first()?;
        }
        None
    }

    fn spray(&self, node: usize) -> Option<Spray> {
        let Node { spray, .. } = &self.scenario.nodes[node];
        *spray
    }

    /// The pipes whose near interfaces are slaves of TEQL; refuses what TEQL cannot do.
    fn teql_slaves(&self, ways: &Ways) -> Result<BTreeSet<usize>, ScenarioError> {
        let mut slaves = BTreeSet::new();
        let mut groups: BTreeMap<usize, &Vec<usize>> = BTreeMap::new();
        for (&(at, to), pipes) in ways {
            let Some(spray) = self.spray(at).filter(|_| pipes.len() > 1) else { continue };
            let field = format!("nodes[{at}].spray");
            match spray.policy {
                SprayPolicy::PerFlow => continue,
                SprayPolicy::Random => return refuse(format!("{field}.policy"), "random spraying"),
                SprayPolicy::RoundRobin => {}
            }
            let next: BTreeSet<_> =
                pipes.iter().filter_map(|&p| self.next(ways, p, to).map(|n| n.0)).collect();
            if next.len() > 1 {
                let message = "all paths of TEQL must lead to the same next router";
                return refuse(field, message);
            }
            for &pipe in pipes {
                if *groups.entry(pipe).or_insert(pipes) != pipes {
                    return refuse(field, "an interface in two different sets of TEQL's paths");
                }
                slaves.insert(pipe);
            }
        }
        Ok(slaves)
    }

    /// The pipes that leave a host on which a flow is paced by fq.
    fn fq_devices(&self) -> BTreeSet<usize> {
        let paced = |flow: &&dumbbell_model::scenario::Flow| match &flow.traffic {
            Traffic::Tcp(tcp) => tcp.fq,
            Traffic::Udp(_) | Traffic::Ping(_) => false,
        };
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
        let mtu_of = |node: usize| self.scenario.nodes[node].tcp.as_ref().map(|t| t.mtu_bytes);
        for (i, link) in self.scenario.links.iter().enumerate() {
            let sides = [
                qdiscs(&link.forward, &format!("links[{i}].forward"))?,
                qdiscs(&link.backward, &format!("links[{i}].backward"))?,
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
                    lines.tc.push(format!("qdisc add dev {port} clsact"));
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
                self.shape(found, namespace, &device, apart);
                let shaped = !found.lines.is_empty();
                self.plan.places.push(Place { namespace, device, shaped });
                if paced.contains(&pipe) && !slaves.contains(&pipe) {
                    let here = &mut self.plan.namespaces[near_end(pipe, &self.ends)];
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

    fn shape(&mut self, found: &Qdiscs, namespace: usize, device: &str, has_clsact: bool) {
        let lines = &mut self.plan.namespaces[namespace].tc;
        if let Some(police) = &found.police {
            if !has_clsact {
                lines.push(format!("qdisc add dev {device} clsact"));
            }
            lines.push(format!("filter add dev {device} egress {police}"));
        }
        for line in &found.lines {
            lines.push(format!("qdisc add dev {device} {line}"));
        }
        for (at, line) in &found.changes {
            let line = format!("qdisc change dev {device} {line}");
            self.plan.changes.push(TimedChange { at: *at, namespace, line });
        }
    }

    fn routes(&mut self, ways: &Ways, seed: u64) -> Result<(), ScenarioError> {
        let mut masters: BTreeMap<(usize, Vec<usize>), String> = BTreeMap::new();
        for (&(at, to), pipes) in ways {
            let node = &self.scenario.nodes[at];
            if node.kind == NodeKind::Switch {
                continue; // A bridge learns.
            }
            let field = || format!("nodes[{at}]");
            let Some((next, _)) = self.next(ways, pipes[0], to) else {
                return refuse(field(), "switches that lead nowhere");
            };
            let target = dotted(to);
            let extra = node.tcp.as_ref().map(route_options).unwrap_or_default();
            let source = if node.kind == NodeKind::Host {
                format!(" src {}", dotted(at))
            } else {
                String::new()
            };
            let spray = self.spray(at).filter(|_| pipes.len() > 1);
            let line = match spray {
                Some(Spray { policy: SprayPolicy::PerFlow, .. }) => {
                    let hops: Vec<_> = pipes
                        .iter()
                        .filter_map(|&pipe| {
                            let (next, _) = self.next(ways, pipe, to)?;
                            Some(format!(
                                "nexthop via {} dev {} onlink",
                                dotted(next),
                                device(pipe)
                            ))
                        })
                        .collect();
                    format!("route add {target}{source}{extra} {}", hops.join(" "))
                }
                Some(spray) => {
                    let master = match masters.get(&(at, pipes.clone())) {
                        Some(master) => master.clone(),
                        None => {
                            let master = self.teql(at, pipes, spray, seed);
                            masters.insert((at, pipes.clone()), master.clone());
                            master
                        }
                    };
                    let by = |device: &str, table: &str| {
                        let next = dotted(next);
                        format!("route add {target} via {next} dev {device} onlink{source}{extra}{table}")
                    };
                    let first = device(pipes[0]);
                    let bare = format!(" table {BARE}");
                    // The main table for packets with payload, the other for those without.
                    let (main, other) = match spray.what {
                        SprayWhat::Both => (by(&master, ""), None),
                        SprayWhat::Data => (by(&master, ""), Some(by(&first, &bare))),
                        SprayWhat::Acks => (by(&first, ""), Some(by(&master, &bare))),
                    };
                    if let Some(other) = other {
                        self.tell_bare_packets(at);
                        self.plan.namespaces[at].routes.push(other);
                    }
                    main
                }
                None => format!(
                    "route add {target} via {} dev {} onlink{source}{extra}",
                    dotted(next),
                    device(pipes[0])
                ),
            };
            self.plan.namespaces[at].routes.push(line);
            if self.scenario.neighbour_discovery.is_none() {
                for &pipe in pipes {
                    let Some((next, last)) = self.next(ways, pipe, to) else { continue };
                    let line = format!(
                        "neigh replace {} lladdr {} dev {} nud permanent",
                        dotted(next),
                        mac(last ^ 1),
                        device(pipe)
                    );
                    let lines = &mut self.plan.namespaces[at].routes;
                    if !lines.contains(&line) {
                        lines.push(line);
                    }
                }
            }
        }
        Ok(())
    }

    /// Packets without payload get a routing table of their own at a router: those shorter than
    /// 128 bytes of IP, which is room for an ACK with four SACK blocks.
    fn tell_bare_packets(&mut self, at: usize) {
        let here = &mut self.plan.namespaces[at];
        let rule = format!("rule add fwmark {BARE} lookup {BARE}");
        if here.routes.contains(&rule) {
            return;
        }
        here.routes.push(rule);
        for device in here.devices.clone() {
            here.tc.push(format!("qdisc add dev {device} clsact"));
            here.tc.push(format!(
                "filter add dev {device} ingress protocol ip u32 match u16 0 0xff80 at 2 \
                 action skbedit mark {BARE}"
            ));
        }
    }

    /// A master device of TEQL over some interfaces. The first attached comes first.
    fn teql(&mut self, at: usize, pipes: &[usize], spray: Spray, seed: u64) -> String {
        let name = format!("teql{}", self.teqls);
        self.teqls += 1;
        let links: Vec<_> =
            pipes.iter().map(|&p| self.scenario.links[p / 2].name.as_str()).collect();
        let drawn = || {
            // The same draw as the simulator's.
            let stream = format!("node/{}/first/{}", self.scenario.nodes[at].name, links.join("+"));
            Rng::named(seed, &stream).below(pipes.len() as u64) as usize
        };
        let first = spray.first.map_or_else(drawn, |first| first as usize % pipes.len());
        let here = &mut self.plan.namespaces[at];
        self.plan.joins.push(format!("link set {name} netns {}", here.name));
        for step in 0..pipes.len() {
            let pipe = pipes[(first + step) % pipes.len()];
            here.tc.push(format!("qdisc add dev {} root {name}", device(pipe)));
        }
        here.routes.insert(0, format!("link set {name} up"));
        name
    }
}

/// What a route says of TCP.
fn route_options(tcp: &TcpOptions) -> String {
    let mut extra = String::new();
    if tcp.initcwnd != 10 {
        extra += &format!(" initcwnd {}", tcp.initcwnd);
    }
    if tcp.initrwnd > 0 {
        extra += &format!(" initrwnd {}", tcp.initrwnd);
    }
    if tcp.ssthresh > 0 {
        extra += &format!(" ssthresh {}", tcp.ssthresh);
    }
    let rto_ms = tcp.rto_min.as_us() / 1000;
    if rto_ms != 200 {
        extra += &format!(" rto_min {rto_ms}ms");
    }
    extra
}

fn tcp_sysctls(tcp: &TcpOptions, field: &str) -> Result<Vec<(String, String)>, ScenarioError> {
    if tcp.hz != HZ {
        return refuse(format!("{field}.hz"), "the kernel is built with 1000 ticks per second");
    }
    let flag = |on: bool| u8::from(on).to_string();
    let triple = |sizes: [u64; 3]| format!("{} {} {}", sizes[0], sizes[1], sizes[2]);
    let values = [
        ("sack", flag(tcp.tcp_sack)),
        ("dsack", flag(tcp.tcp_dsack)),
        ("timestamps", flag(tcp.tcp_timestamps)),
        ("window_scaling", flag(tcp.tcp_window_scaling)),
        ("reordering", tcp.tcp_reordering.to_string()),
        ("max_reordering", tcp.tcp_max_reordering.to_string()),
        ("recovery", tcp.tcp_recovery.to_string()),
        ("early_retrans", tcp.tcp_early_retrans.to_string()),
        ("frto", tcp.tcp_frto.to_string()),
        ("comp_sack_nr", tcp.tcp_comp_sack_nr.to_string()),
        ("comp_sack_delay_ns", tcp.tcp_comp_sack_delay.as_ns().to_string()),
        ("comp_sack_slack_ns", tcp.tcp_comp_sack_slack.as_ns().to_string()),
        ("rmem", triple(tcp.tcp_rmem)),
        ("wmem", triple(tcp.tcp_wmem)),
        ("moderate_rcvbuf", flag(tcp.tcp_moderate_rcvbuf)),
        ("adv_win_scale", tcp.tcp_adv_win_scale.to_string()),
        ("limit_output_bytes", tcp.tcp_limit_output_bytes.to_string()),
        ("slow_start_after_idle", flag(tcp.tcp_slow_start_after_idle)),
        ("pacing_ss_ratio", tcp.tcp_pacing_ss_ratio.to_string()),
        ("pacing_ca_ratio", tcp.tcp_pacing_ca_ratio.to_string()),
        ("min_rtt_wlen", tcp.tcp_min_rtt_wlen.to_string()),
        ("min_tso_segs", tcp.tcp_min_tso_segs.to_string()),
        ("retries2", tcp.tcp_retries2.to_string()),
        ("syn_retries", tcp.tcp_syn_retries.to_string()),
        // Every run begins without memory of earlier ones.
        ("no_metrics_save", "1".to_owned()),
    ];
    Ok(values.map(|(name, value)| (format!("net/ipv4/tcp_{name}"), value)).to_vec())
}
