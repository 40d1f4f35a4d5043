//! Next hops: explicit routes, else all shortest paths by number of hops; packet spraying.

use dumbbell_model::paths::{addresses, distances, far_end, leaving, nearer, Address};
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::{NodeKind, Route, Scenario, SprayPolicy, SprayWhat};
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

/// Next hops of every node and destination.
pub(crate) struct Routes {
    /// Destinations by number: every node, then the interfaces that subflows run to.
    interfaces: Vec<Address>,
    /// Source and destination of every flow, by number.
    ends_of: Vec<[u32; 2]>,
    /// Pipe by which a flow leaves its source, and its destination, if that is fixed.
    origins: Vec<[Option<usize>; 2]>,
    /// Identity of every flow for [`FlowHash`].
    identities: Vec<u64>,
    /// By node and destination (hosts at the ends of flows). A row of one element holds for all
    /// destinations: that of a node with one link.
    next_hops: Vec<Vec<NextHop>>,
    groups: Vec<Group>,
    spraying: Vec<Option<Spraying>>,
}

/// Input of the computation of next hops. Pipe `2 l` is link `l` forward, `2 l + 1` backward.
struct Topology<'a> {
    scenario: &'a Scenario,
    /// Nodes at both ends of every link.
    ends: Vec<(usize, usize)>,
    /// Pipes that leave a node.
    leaving: Vec<Vec<usize>>,
    /// Both ends of every flow.
    flows: Vec<[Address; 2]>,
    interfaces: Vec<Address>,
    /// Explicit routes: node, destination, route.
    explicit: Vec<(usize, usize, &'a Route)>,
}

impl<'a> Topology<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let nodes = scenario.nodes.iter().enumerate();
        let numbers: BTreeMap<&str, usize> = nodes.map(|(i, n)| (n.name.as_str(), i)).collect();
        let index = |name: &str| numbers.get(name).copied().unwrap_or(0);
        let ends: Vec<(usize, usize)> =
            scenario.links.iter().map(|l| (index(&l.a), index(&l.b))).collect();
        let mut leaving = vec![Vec::new(); scenario.nodes.len()];
        for (link, &(a, b)) in ends.iter().enumerate() {
            leaving[a].push(2 * link);
            leaving[b].push(2 * link + 1);
        }
        let flows = addresses(scenario);
        let mut interfaces: Vec<Address> =
            flows.iter().flatten().copied().filter(|to| to.link.is_some()).collect();
        interfaces.sort_unstable();
        interfaces.dedup();
        let explicit = scenario.routes.iter().map(|r| (index(&r.at), index(&r.to), r)).collect();
        Self { scenario, ends, leaving, flows, interfaces, explicit }
    }

    fn nodes(&self) -> usize {
        self.scenario.nodes.len()
    }

    /// Number of a destination: of its node, or behind all nodes of its interface.
    fn number(&self, to: Address) -> usize {
        match self.interfaces.binary_search(&to) {
            Ok(place) => self.nodes() + place,
            Err(_) => to.node,
        }
    }

    /// Destinations of flows, each once.
    fn destinations(&self) -> Vec<Address> {
        let mut wanted: Vec<Address> = self.flows.iter().flatten().copied().collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }

    /// Returns true if a node sends everything over its only link.
    fn has_one_link(&self, node: usize) -> bool {
        self.leaving[node].len() == 1 && self.explicit.iter().all(|(at, _, _)| *at != node)
    }

    /// Pipes from a node towards a destination: those of its explicit route, else all that lie on a
    /// shortest path. `distance`: hops to the destination, by node.
    fn pipes(&self, from: usize, to: Address, distance: &[u32]) -> Vec<usize> {
        let route = self.explicit.iter().find(|(at, dest, _)| *at == from && *dest == to.node);
        let named = route.into_iter().flat_map(|(_, _, route)| &route.via);
        let pipes: Vec<usize> = named
            .map(|name| leaving(self.scenario, name, from, &self.ends))
            .filter(|&pipe| to.admits(pipe, &self.ends))
            .collect();
        if !pipes.is_empty() {
            return pipes;
        }
        nearer(self.scenario, &self.ends, &self.leaving[from], distance, from, to)
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
        let topology = Topology::new(scenario);
        let destinations = topology.nodes() + topology.interfaces.len();
        let mut groups = Groups::default();
        let mut next_hops = Vec::with_capacity(topology.nodes());
        let mut branching = Vec::new();
        for node in 0..topology.nodes() {
            next_hops.push(if topology.has_one_link(node) {
                vec![groups.next_hop(scenario, seed, node, &topology.leaving[node])]
            } else {
                branching.push(node);
                vec![NO_ROUTE; destinations]
            });
        }
        for to in topology.destinations() {
            let distance = distances(scenario, &topology.ends, &topology.leaving, to);
            for &from in branching.iter().filter(|&&from| from != to.node) {
                let pipes = topology.pipes(from, to, &distance);
                if !pipes.is_empty() {
                    let next_hop = groups.next_hop(scenario, seed, from, &pipes);
                    next_hops[from][topology.number(to)] = next_hop;
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
        let numbers = |ends: &[Address; 2]| ends.map(|end| topology.number(end) as u32);
        let routes = Self {
            ends_of: topology.flows.iter().map(numbers).collect(),
            origins: topology.flows.iter().map(|f| f.map(|at| at.pipe(&topology.ends))).collect(),
            identities: ecmp::identities(scenario),
            next_hops,
            groups: groups.groups,
            spraying: spraying.collect(),
            interfaces: topology.interfaces,
        };
        routes.check(scenario, &topology.ends)?;
        Ok(routes)
    }

    fn next_hop(&self, node: usize, to: usize) -> &NextHop {
        let row = &self.next_hops[node];
        &row[if row.len() == 1 { 0 } else { to }]
    }

    /// Checks that every flow has a route there and back, without a loop.
    fn check(&self, scenario: &Scenario, ends: &[(usize, usize)]) -> Result<(), ScenarioError> {
        for (i, &[source, destination]) in self.ends_of.iter().enumerate() {
            let ways = [(source, destination, 0), (destination, source, 1)];
            for (from, to, side) in ways {
                let mut trail = vec![self.node(scenario, from)];
                if let Some(pipe) = self.origins[i][side] {
                    trail.push(far_end(pipe, ends));
                }
                self.walk(&mut trail, to as usize, scenario, ends)
                    .map_err(|message| ScenarioError { path: format!("flows[{i}]"), message })?;
            }
        }
        Ok(())
    }

    /// The node of a destination.
    fn node(&self, scenario: &Scenario, destination: u32) -> usize {
        let at = destination as usize;
        let interface = at.checked_sub(scenario.nodes.len());
        interface.and_then(|at| self.interfaces.get(at)).map_or(at, |to| to.node)
    }

    /// Number of the destination of a flow's packets, outward or back.
    pub(crate) fn destination(&self, flow: u32, outward: bool) -> usize {
        self.ends_of[flow as usize][usize::from(outward)] as usize
    }

    /// Pipe by which a packet of this flow leaves its host, if that is fixed.
    pub(crate) fn origin(&self, flow: u32, outward: bool) -> Option<usize> {
        self.origins[flow as usize][usize::from(!outward)]
    }

    /// Follows all branches from the end of the trail.
    fn walk(
        &self,
        trail: &mut Vec<usize>,
        to: usize,
        scenario: &Scenario,
        ends: &[(usize, usize)],
    ) -> Result<(), String> {
        let target = self.node(scenario, to as u32);
        let here = *trail.last().unwrap_or(&target);
        if here == target {
            return Ok(());
        }
        let name = |node: usize| scenario.nodes[node].name.as_str();
        if trail.len() > 1 && scenario.nodes[here].kind == NodeKind::Host {
            return Err(format!(
                "the route from {} to {} leads to host {}",
                name(trail[0]),
                name(target),
                name(here)
            ));
        }
        let pipes = self.pipes(here, to);
        if pipes.is_empty() {
            return Err(format!("no route from {} to {}", name(here), name(target)));
        }
        for &pipe in pipes {
            let next = far_end(pipe as usize, ends);
            if trail.contains(&next) {
                let mut path: Vec<_> = trail.iter().map(|&n| name(n)).collect();
                path.push(name(next));
                return Err(format!("the routes to {} loop: {}", name(target), path.join(" → ")));
            }
            trail.push(next);
            self.walk(trail, to, scenario, ends)?;
            trail.pop();
        }
        Ok(())
    }

    /// All pipes from `node` towards destination `to`.
    pub(crate) fn pipes(&self, node: usize, to: usize) -> &[u32] {
        match self.next_hop(node, to) {
            NextHop { pipe: NONE, .. } => &[],
            NextHop { pipe, group: NONE } => std::slice::from_ref(pipe),
            NextHop { group, .. } => &self.groups[*group as usize].pipes,
        }
    }

    /// Pipe of a flow's packet at `node`, if neither turn nor draw decides.
    pub(crate) fn sure_pipe(&self, node: usize, flow: u32, outward: bool) -> Option<usize> {
        let next = self.next_hop(node, self.destination(flow, outward));
        (next.group == NONE && next.pipe != NONE).then_some(next.pipe as usize)
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
                ecmp::next_hop(spraying.hash.of(self.identities[flow as usize]), pipes)
            }
        };
        Some(group.pipes[choice] as usize)
    }
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
