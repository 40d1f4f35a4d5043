//! Next hops towards each host, and the routes, spraying devices and neighbour entries that realise
//! them.

use super::{attach, device, dotted, mac, options::route_options, refuse, Planner};
use dumbbell_model::paths::{addresses, far_end, Address, Network};
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::{Node, NodeKind, Spray, SprayPolicy, SprayWhat, Traffic};
use dumbbell_model::ScenarioError;
use dumbbell_packet::wire::interface_address;
use std::collections::{BTreeMap, BTreeSet};

/// Mark and routing table of packets without payload, if they take other next hops.
const BARE: u32 = 100;

/// Headers of UDP and IPv4.
const UDP_AND_IP_BYTES: u64 = 28;

/// First routing table of packets from an interface of a host.
const FROM_INTERFACE: usize = 1000;

/// Pipes towards an address, by node and address.
pub(super) type NextHops = BTreeMap<(usize, Address), Vec<usize>>;

impl Planner<'_> {
    /// Finds the next hops of every node towards the addresses of flows.
    pub(super) fn next_hops(
        &self,
        index: &impl Fn(&str) -> usize,
    ) -> Result<NextHops, ScenarioError> {
        let flows = addresses(self.scenario);
        let mut wanted: Vec<Address> = flows.iter().flatten().copied().collect();
        if !self.scenario.programs.is_empty() {
            // A program may talk to any host.
            let nodes = self.scenario.nodes.iter().enumerate();
            let hosts = nodes.filter(|(_, node)| node.kind == NodeKind::Host);
            wanted.extend(hosts.map(|(node, _)| Address { node, link: None }));
        }
        wanted.sort_unstable();
        wanted.dedup();
        let mut network = Network::of(self.scenario);
        let mut next_hops = NextHops::new();
        for (i, route) in self.scenario.routes.iter().enumerate() {
            let at = index(&route.at);
            if self.scenario.nodes[at].kind == NodeKind::Switch {
                return refuse(format!("routes[{i}].at"), "a route at a switch; make it a router");
            }
            // A route holds without flows, too.
            let host = Address { node: index(&route.to), link: None };
            let towards = network.towards(host);
            next_hops.insert((at, host), network.next_hops(at, &towards));
        }
        for &to in &wanted {
            let towards = network.towards(to);
            for from in (0..self.scenario.nodes.len()).filter(|&from| from != to.node) {
                let found = network.next_hops(from, &towards);
                if !found.is_empty() {
                    next_hops.insert((from, to), found);
                }
            }
        }
        for (i, (flow, ends)) in self.scenario.flows.iter().zip(&flows).enumerate() {
            for (from, to) in [(ends[0], ends[1]), (ends[1], ends[0])] {
                if !next_hops.contains_key(&(from.node, to)) && from.pipe(&self.ends).is_none() {
                    let message = format!("no route between {} and {}", flow.from, flow.to);
                    return Err(ScenarioError { path: format!("flows[{i}]"), message });
                }
            }
        }
        Ok(next_hops)
    }

    /// Next node beyond a pipe towards `to` that is no switch, and the pipe that enters it.
    fn next(&self, next_hops: &NextHops, pipe: usize, to: Address) -> Option<(usize, usize)> {
        let mut pipe = pipe;
        for _ in 0..=self.scenario.nodes.len() {
            let node = far_end(pipe, &self.ends);
            if self.scenario.nodes[node].kind != NodeKind::Switch {
                return Some((node, pipe));
            }
            pipe = *next_hops.get(&(node, to))?.first()?;
        }
        None
    }

    fn spray(&self, node: usize) -> Option<Spray> {
        let Node { spray, .. } = &self.scenario.nodes[node];
        *spray
    }

    /// Pipes whose interfaces are slaves of TEQL. Refuses what TEQL cannot do.
    pub(super) fn teql_slaves(
        &self,
        next_hops: &NextHops,
    ) -> Result<BTreeSet<usize>, ScenarioError> {
        let mut slaves = BTreeSet::new();
        let mut groups: BTreeMap<usize, &Vec<usize>> = BTreeMap::new();
        for (&(at, to), pipes) in next_hops {
            let Some(spray) = self.spray(at).filter(|_| pipes.len() > 1) else { continue };
            let field = format!("nodes[{at}].spray");
            match spray.policy {
                SprayPolicy::PerFlow => continue,
                SprayPolicy::Random => return refuse(format!("{field}.policy"), "random spraying"),
                SprayPolicy::RoundRobin => {}
            }
            let next: BTreeSet<_> =
                pipes.iter().filter_map(|&p| self.next(next_hops, p, to).map(|n| n.0)).collect();
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

    pub(super) fn routes(&mut self, next_hops: &NextHops, seed: u64) -> Result<(), ScenarioError> {
        let mut masters: BTreeMap<(usize, Vec<usize>), String> = BTreeMap::new();
        for (&(at, to), pipes) in next_hops {
            let node = &self.scenario.nodes[at];
            if node.kind == NodeKind::Switch {
                continue; // A bridge learns.
            }
            if to.link.is_some() && node.kind == NodeKind::Host {
                continue; // Interfaces are reached from interfaces.
            }
            let field = || format!("nodes[{at}]");
            let Some((next, _)) = self.next(next_hops, pipes[0], to) else {
                return refuse(field(), "switches that lead nowhere");
            };
            let target = self.dotted(to);
            let mut extra = node.tcp.as_ref().map(route_options).unwrap_or_default();
            if let Some(mtu) = self.mtu_of_datagrams(at, to)? {
                // Locked: datagrams travel in fragments, without path MTU discovery.
                extra += &format!(" mtu lock {mtu}");
            }
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
                            let (next, _) = self.next(next_hops, pipe, to)?;
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
                    // The main table holds packets with payload, the other packets without.
                    let (main, other) = match spray.what {
                        SprayWhat::Both => (by(&master, ""), None),
                        SprayWhat::Data => (by(&master, ""), Some(by(&first, &bare))),
                        SprayWhat::Acks => (by(&first, ""), Some(by(&master, &bare))),
                    };
                    if let Some(other) = other {
                        self.mark_bare_packets(at);
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
            self.neighbours(next_hops, at, to, pipes);
        }
        Ok(())
    }

    /// MTU of the datagrams from one host to another, if they are fragmented below the MTU of its
    /// interface. Then the route has it, so that no other traffic may use this route.
    fn mtu_of_datagrams(&self, at: usize, to: Address) -> Result<Option<u64>, ScenarioError> {
        let [from, towards] = [at, to.node].map(|node| self.scenario.nodes[node].name.as_str());
        let own = self.scenario.nodes[at].tcp.as_ref().map_or(0, |tcp| tcp.mtu_bytes.into());
        let mut chosen = None;
        let flows = || self.scenario.flows.iter().enumerate();
        for (i, flow) in flows().filter(|(_, flow)| (&*flow.from, &*flow.to) == (from, towards)) {
            let Traffic::Udp(udp) = &flow.traffic else { continue };
            if udp.datagram_bytes + UDP_AND_IP_BYTES <= udp.mtu_bytes || udp.mtu_bytes >= own {
                continue;
            }
            let others = flows().any(|(_, other)| {
                let ends = [&*other.from, &*other.to];
                match &other.traffic {
                    Traffic::Udp(one) => {
                        ends == [from, towards]
                            && one.mtu_bytes != udp.mtu_bytes
                            && one.datagram_bytes + UDP_AND_IP_BYTES > udp.mtu_bytes
                    }
                    Traffic::Ping(_) => false,
                    _ => ends == [from, towards] || ends == [towards, from],
                }
            });
            if others {
                let why = "an MTU of its own beside other traffic between the same two hosts";
                return refuse(format!("flows[{i}].traffic.udp.mtu_bytes"), why);
            }
            chosen = Some(udp.mtu_bytes);
        }
        Ok(chosen)
    }

    /// Adds neighbour entries of the next nodes, if the scenario has no address resolution.
    fn neighbours(&mut self, next_hops: &NextHops, at: usize, to: Address, pipes: &[usize]) {
        if self.scenario.neighbour_discovery.is_some() {
            return;
        }
        for &pipe in pipes {
            let Some((next, last)) = self.next(next_hops, pipe, to) else { continue };
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

    /// Adds addresses of hosts' interfaces that subflows use, and routing tables by which packets of
    /// an address leave by its interface.
    pub(super) fn interfaces(&mut self, next_hops: &NextHops) -> Result<(), ScenarioError> {
        let flows = addresses(self.scenario);
        let mut pairs: BTreeSet<(Address, Address)> = BTreeSet::new();
        for ends in flows.iter().filter(|ends| ends[0].link.is_some()) {
            pairs.extend([(ends[0], ends[1]), (ends[1], ends[0])]);
        }
        for (from, to) in pairs {
            let Some(pipe) = from.pipe(&self.ends) else { continue };
            let Some((next, last)) = self.next(next_hops, pipe, to) else {
                return refuse(format!("nodes[{}]", from.node), "switches that lead nowhere");
            };
            let (own, target, next_address) = (self.dotted(from), self.dotted(to), dotted(next));
            let (table, device) = (FROM_INTERFACE + pipe, device(pipe));
            let extra = self.scenario.nodes[from.node].tcp.as_ref().map(route_options);
            let extra = extra.unwrap_or_default();
            let here = &mut self.plan.namespaces[from.node];
            let address = format!("addr add {own}/32 dev lo");
            if !here.up.contains(&address) {
                here.up.push(address);
                here.routes.push(format!("rule add from {own} lookup {table}"));
                if self.scenario.neighbour_discovery.is_none() {
                    here.routes.push(format!(
                        "neigh replace {next_address} lladdr {} dev {device} nud permanent",
                        mac(last ^ 1),
                    ));
                }
            }
            here.routes.push(format!(
                "route add {target} via {next_address} dev {device} onlink{extra} table {table}"
            ));
        }
        Ok(())
    }

    fn dotted(&self, to: Address) -> String {
        match to.pipe(&self.ends) {
            Some(pipe) => interface_address(pipe).map(|byte| byte.to_string()).join("."),
            None => dotted(to.node),
        }
    }

    /// Marks packets without payload at a router, so that they use their own routing table. The test is
    /// an IP length below 128 bytes, which includes an ACK with four SACK blocks.
    fn mark_bare_packets(&mut self, at: usize) {
        let here = &mut self.plan.namespaces[at];
        let rule = format!("rule add fwmark {BARE} lookup {BARE}");
        if here.routes.contains(&rule) {
            return;
        }
        here.routes.push(rule);
        for device in here.devices.clone() {
            attach(&mut here.tc, &device);
            here.tc.push(format!(
                "filter add dev {device} ingress protocol ip u32 match u16 0 0xff80 at 2 \
                 action skbedit mark {BARE}"
            ));
        }
    }

    /// Adds a master device of TEQL over interfaces. The first attached slave sends first. Each further one takes its
    /// turn right behind it (`teql_qdisc_init`), so the last of a round is attached second.
    fn teql(&mut self, at: usize, pipes: &[usize], spray: Spray, seed: u64) -> String {
        let name = format!("teql{}", self.teqls);
        self.teqls += 1;
        let links: Vec<_> =
            pipes.iter().map(|&p| self.scenario.links[p / 2].name.as_str()).collect();
        let drawn = || {
            // Same random stream as in the simulator.
            let stream = format!("node/{}/first/{}", self.scenario.nodes[at].name, links.join("+"));
            Rng::named(seed, &stream).below(pipes.len() as u64) as usize
        };
        let first = spray.first.map_or_else(drawn, |first| first as usize % pipes.len());
        let here = &mut self.plan.namespaces[at];
        self.plan.joins.push(format!("link set {name} netns {}", here.name));
        let last_first = (1..pipes.len()).rev();
        for step in std::iter::once(0).chain(last_first) {
            let pipe = pipes[(first + step) % pipes.len()];
            here.tc.push(format!("qdisc add dev {} root {name}", device(pipe)));
            // Slaves usually have an address. ARP requests carry it as sender address, so neighbours
            // learn this address and not the router's.
            let own = interface_address(pipe).map(|byte| byte.to_string()).join(".");
            here.up.push(format!("addr add {own}/32 dev {}", device(pipe)));
        }
        here.routes.insert(0, format!("link set {name} up"));
        name
    }
}
