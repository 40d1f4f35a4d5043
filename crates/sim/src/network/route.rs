//! Next hops: explicit routes, else all shortest paths by number of hops; packet spraying.

use super::put;
use dumbbell_model::paths::{addresses, Address, Network};
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::{Scenario, SprayPolicy, SprayWhat};
use dumbbell_model::ScenarioError;
use dumbbell_packet::ecmp::{self, FlowHash};
use std::collections::BTreeMap;

const NONE: u32 = u32::MAX;

/// Next hop from a node towards a destination.
#[derive(Clone, Copy)]
struct NextHop {
    /// The first pipe; [`NONE`]: there is no route.
    pipe: u32,
    /// Group of pipes, if there are several; else [`NONE`].
    group: u32,
}

const NO_ROUTE: NextHop = NextHop { pipe: NONE, group: NONE };

/// Pipes among which packets are sprayed. All destinations behind a group share its turn: Linux's
/// TEQL has one turn per master device.
struct Group {
    pipes: Vec<u32>,
    turn: usize,
}

/// Spraying at a node.
struct Spraying {
    policy: SprayPolicy,
    what: SprayWhat,
    rng: Rng,
    hash: FlowHash,
}

/// A flow's place in the network.
#[derive(Clone, Copy)]
pub(crate) struct FlowRoute {
    /// Numbers of source and destination: every node, then the interfaces that subflows run to.
    ends: [u32; 2],
    /// Pipe by which it leaves its source, and its destination, if that is fixed; else [`NONE`].
    origins: [u32; 2],
    /// Identity for [`FlowHash`].
    identity: u64,
}

/// Next hops of every node and destination.
pub(crate) struct Routes {
    flows: Vec<FlowRoute>,
    /// By node and destination (hosts at the ends of flows). A row of one element holds for all
    /// destinations: that of a node with one link.
    next_hops: Vec<Vec<NextHop>>,
    groups: Vec<Group>,
    spraying: Vec<Option<Spraying>>,
}

/// Destinations of a scenario's flows.
struct Destinations {
    /// Number of nodes.
    nodes: usize,
    /// Both ends of every flow.
    flows: Vec<[Address; 2]>,
    interfaces: Vec<Address>,
}

impl Destinations {
    fn new(scenario: &Scenario) -> Self {
        let flows = addresses(scenario);
        let mut interfaces: Vec<Address> =
            flows.iter().flatten().copied().filter(|to| to.link.is_some()).collect();
        interfaces.sort_unstable();
        interfaces.dedup();
        Self { nodes: scenario.nodes.len(), flows, interfaces }
    }

    /// Number of a destination: of its node, or behind all nodes of its interface.
    fn number(&self, to: Address) -> usize {
        match self.interfaces.binary_search(&to) {
            Ok(place) => self.nodes + place,
            Err(_) => to.node,
        }
    }

    /// Every destination once.
    fn all(&self) -> Vec<Address> {
        let mut wanted: Vec<Address> = self.flows.iter().flatten().copied().collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }
}

/// Groups of pipes found so far.
#[derive(Default)]
struct Groups {
    known: BTreeMap<Vec<u32>, u32>,
    groups: Vec<Group>,
}

impl Groups {
    /// The next hop over one of these pipes, of which there is at least one.
    fn next_hop(
        &mut self,
        scenario: &Scenario,
        seed: u64,
        from: usize,
        pipes: &[usize],
    ) -> NextHop {
        let pipes: Vec<u32> = pipes.iter().map(|&pipe| pipe as u32).collect();
        let pipe = pipes[0];
        if pipes.len() == 1 {
            return NextHop { pipe, group: NONE };
        }
        let group = *self.known.entry(pipes).or_insert_with_key(|pipes| {
            let turn = first_turn(scenario, from, pipes, seed);
            self.groups.push(Group { pipes: pipes.clone(), turn });
            self.groups.len() as u32 - 1
        });
        NextHop { pipe, group }
    }
}

impl Routes {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Result<Self, ScenarioError> {
        let mut network = Network::of(scenario);
        let destinations = Destinations::new(scenario);
        check(&mut network, &destinations.flows)?;
        let mut groups = Groups::default();
        let mut next_hops = Vec::with_capacity(destinations.nodes);
        let mut branching = Vec::new();
        for node in 0..destinations.nodes {
            next_hops.push(if network.has_one_link(node) {
                vec![groups.next_hop(scenario, seed, node, network.leaving(node))]
            } else {
                branching.push(node);
                vec![NO_ROUTE; destinations.nodes + destinations.interfaces.len()]
            });
        }
        for to in destinations.all() {
            let towards = network.towards(to);
            for &from in branching.iter().filter(|&&from| from != to.node) {
                let pipes = network.next_hops(from, &towards);
                if !pipes.is_empty() {
                    let next_hop = groups.next_hop(scenario, seed, from, &pipes);
                    next_hops[from][destinations.number(to)] = next_hop;
                }
            }
        }
        let spraying = scenario.nodes.iter().map(|node| {
            node.spray.map(|spray| Spraying {
                policy: spray.policy,
                what: spray.what,
                rng: Rng::named(seed, &format!("node/{}/spray", node.name)),
                hash: FlowHash::new(seed, &node.name),
            })
        });
        let flows = destinations.flows.iter().zip(ecmp::identities(scenario));
        let flows = flows.map(|(ends, identity)| FlowRoute {
            ends: ends.map(|end| destinations.number(end) as u32),
            origins: ends.map(|at| at.pipe(network.ends()).map_or(NONE, |pipe| pipe as u32)),
            identity,
        });
        Ok(Self {
            flows: flows.collect(),
            next_hops,
            groups: groups.groups,
            spraying: spraying.collect(),
        })
    }

    fn next_hop(&self, node: usize, to: usize) -> &NextHop {
        let row = &self.next_hops[node];
        &row[if row.len() == 1 { 0 } else { to }]
    }

    /// Number of the destination of a flow's packets, outward or back.
    pub(crate) fn destination(&self, flow: u32, outward: bool) -> usize {
        self.flows[flow as usize].ends[usize::from(outward)] as usize
    }

    /// Removes the flows from number `first` on.
    pub(crate) fn split_off(&mut self, first: usize) -> Vec<FlowRoute> {
        self.flows.split_off(first)
    }

    /// Sets a flow's place in the network.
    pub(crate) fn put(&mut self, flow: u32, route: FlowRoute) {
        put(&mut self.flows, flow, route, || route);
    }

    /// Pipe by which a packet of this flow leaves its host, if that is fixed.
    pub(crate) fn origin(&self, flow: u32, outward: bool) -> Option<usize> {
        let pipe = self.flows[flow as usize].origins[usize::from(!outward)];
        (pipe != NONE).then_some(pipe as usize)
    }

    /// All pipes from `node` towards destination `to`.
    pub(crate) fn pipes(&self, node: usize, to: usize) -> &[u32] {
        match self.next_hop(node, to) {
            NextHop { pipe: NONE, .. } => &[],
            NextHop { pipe, group: NONE } => std::slice::from_ref(pipe),
            NextHop { group, .. } => &self.groups[*group as usize].pipes,
        }
    }

    /// Pipe of a flow's packets at `node`, if neither turn nor draw nor payload decides.
    pub(crate) fn sure_pipe(&self, node: usize, flow: u32, outward: bool) -> Option<usize> {
        let next = self.next_hop(node, self.destination(flow, outward));
        if next.pipe == NONE || next.group == NONE {
            return (next.pipe != NONE).then_some(next.pipe as usize);
        }
        match &self.spraying[node] {
            None => Some(next.pipe as usize),
            Some(Spraying {
                policy: SprayPolicy::PerFlow, what: SprayWhat::Both, hash, ..
            }) => {
                let pipes = &self.groups[next.group as usize].pipes;
                let hash = hash.of(self.flows[flow as usize].identity);
                Some(pipes[ecmp::next_hop(hash, pipes.len())] as usize)
            }
            Some(_) => None,
        }
    }

    /// Returns true if the node sprays.
    pub(crate) fn sprays(&self, node: usize) -> bool {
        self.spraying[node].is_some()
    }

    /// Returns true if the node's interface at this pipe belongs to a bundle, as a slave of TEQL
    /// does: it has an address of its own besides that of the bundle.
    pub(crate) fn bundled(&self, node: usize, pipe: usize) -> bool {
        let turns = |spraying: &Spraying| spraying.policy == SprayPolicy::RoundRobin;
        self.spraying[node].as_ref().is_some_and(turns)
            && self.groups.iter().any(|group| group.pipes.contains(&(pipe as u32)))
    }

    /// Records that the node sent a packet of its own (ARP) through this pipe: in round-robin the next
    /// sprayed packet takes the same pipe (`teql_dequeue` makes that slave the first).
    pub(crate) fn own_packet(&mut self, pipe: usize) {
        for group in &mut self.groups {
            if let Some(index) = group.pipes.iter().position(|&member| member as usize == pipe) {
                group.turn = index;
            }
        }
    }

    /// Chooses the pipe of a packet at `node` towards destination `to`. Calls `has_payload` only if the
    /// node sprays.
    pub(crate) fn next_pipe(
        &mut self,
        node: usize,
        to: usize,
        flow: u32,
        has_payload: impl Fn() -> bool,
    ) -> Option<usize> {
        let next = *self.next_hop(node, to);
        if next.group == NONE {
            return (next.pipe != NONE).then_some(next.pipe as usize);
        }
        let first = Some(next.pipe as usize);
        let group = &mut self.groups[next.group as usize];
        let pipes = group.pipes.len();
        let Some(spraying) = &mut self.spraying[node] else { return first };
        let sprayed = match spraying.what {
            SprayWhat::Both => true,
            SprayWhat::Data => has_payload(),
            SprayWhat::Acks => !has_payload(),
        };
        if !sprayed {
            // As after a packet of the node's own ([`Self::own_packet`]): this pipe has the next turn.
            group.turn = group.pipes.iter().position(|&one| one == next.pipe).unwrap_or(0);
            return first;
        }
        let choice = match spraying.policy {
            SprayPolicy::RoundRobin => {
                let turn = group.turn;
                group.turn = if turn + 1 == pipes { 0 } else { turn + 1 };
                turn
            }
            SprayPolicy::Random => spraying.rng.below(pipes as u64) as usize,
            SprayPolicy::PerFlow => {
                ecmp::next_hop(spraying.hash.of(self.flows[flow as usize].identity), pipes)
            }
        };
        Some(group.pipes[choice] as usize)
    }
}

/// Checks that every flow has a path there and back, without a loop.
fn check(network: &mut Network, flows: &[[Address; 2]]) -> Result<(), ScenarioError> {
    for (i, &[source, destination]) in flows.iter().enumerate() {
        for (from, to) in [(source, destination), (destination, source)] {
            network.path(from.node, to, from.link).map_err(|fault| ScenarioError {
                path: format!("flows[{i}]"),
                message: fault.message,
            })?;
        }
    }
    Ok(())
}

/// First turn of a group: given, or drawn. The links name the draw, so that each direction has its
/// own.
fn first_turn(scenario: &Scenario, node: usize, pipes: &[u32], seed: u64) -> usize {
    let spec = &scenario.nodes[node];
    let Some(spray) = spec.spray else { return 0 };
    if let Some(first) = spray.first {
        return first as usize % pipes.len();
    }
    let links: Vec<_> =
        pipes.iter().map(|&p| scenario.links[p as usize / 2].name.as_str()).collect();
    let name = format!("node/{}/first/{}", spec.name, links.join("+"));
    Rng::named(seed, &name).below(pipes.len() as u64) as usize
}
