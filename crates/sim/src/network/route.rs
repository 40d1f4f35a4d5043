//! Next hops: explicit routes, else all shortest paths by number of hops; packet spraying.

use dumbbell_model::paths::{addresses, distances, far_end, leaving, nearer, Address};
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::{NodeKind, Route, Scenario, SprayPolicy, SprayWhat};
use dumbbell_model::ScenarioError;
use std::collections::BTreeMap;

const NONE: u32 = u32::MAX;

/// Where packets go from a node to a destination: with one way, all that is to be looked at.
#[derive(Clone, Copy)]
struct Way {
    /// The first pipe; [`NONE`]: there is no way.
    pipe: u32,
    /// Where there are several pipes: their group, else [`NONE`].
    group: u32,
}

const NO_WAY: Way = Way { pipe: NONE, group: NONE };

/// A choice between the pipes of a group, shared by all destinations behind it: Linux's TEQL has
/// one turn per master device.
struct Group {
    pipes: Vec<u32>,
    turn: usize,
}

/// How a node divides packets.
struct Spraying {
    policy: SprayPolicy,
    what: SprayWhat,
    rng: Rng,
}

/// Where packets go, for every node and destination.
pub(crate) struct Routes {
    /// Destinations by number: every node, then the interfaces that subflows run to.
    interfaces: Vec<Address>,
    /// Source and destination of every flow, by number.
    ends_of: Vec<[u32; 2]>,
    /// The pipe by which a flow leaves its source, and its destination, where that is fixed.
    origins: Vec<[Option<usize>; 2]>,
    /// Ways by node and destination, for the hosts at the ends of flows. A row of one element holds
    /// for all destinations: that of a node with one link.
    way_of: Vec<Vec<Way>>,
    groups: Vec<Group>,
    spraying: Vec<Option<Spraying>>,
}

impl Routes {
    /// Pipe `2 l` is link `l` forward, `2 l + 1` backward.
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Result<Self, ScenarioError> {
        let nodes = &scenario.nodes;
        let numbers: BTreeMap<&str, usize> =
            nodes.iter().enumerate().map(|(i, n)| (n.name.as_str(), i)).collect();
        let index = |name: &str| numbers.get(name).copied().unwrap_or(0);
        let ends: Vec<(usize, usize)> =
            scenario.links.iter().map(|l| (index(&l.a), index(&l.b))).collect();
        let flows = addresses(scenario);
        let mut interfaces: Vec<Address> =
            flows.iter().flatten().copied().filter(|to| to.link.is_some()).collect();
        interfaces.sort_unstable();
        interfaces.dedup();
        let destinations = nodes.len() + interfaces.len();
        let number = |to: Address| match interfaces.binary_search(&to) {
            Ok(place) => nodes.len() + place,
            Err(_) => to.node,
        };
        let mut routes = Self {
            ends_of: flows.iter().map(|ends| ends.map(|end| number(end) as u32)).collect(),
            origins: flows.iter().map(|two| two.map(|at| at.pipe(&ends))).collect(),
            interfaces: Vec::new(),
            way_of: Vec::with_capacity(nodes.len()),
            groups: Vec::new(),
            spraying: Vec::new(),
        };
        for node in nodes {
            routes.spraying.push(node.spray.map(|spray| Spraying {
                policy: spray.policy,
                what: spray.what,
                rng: Rng::named(seed, &format!("node/{}/spray", node.name)),
            }));
        }
        let explicit: Vec<(usize, usize, &Route)> =
            scenario.routes.iter().map(|r| (index(&r.at), index(&r.to), r)).collect();
        let mut leaving_of = vec![Vec::new(); nodes.len()];
        for (link, &(a, b)) in ends.iter().enumerate() {
            leaving_of[a].push(2 * link);
            leaving_of[b].push(2 * link + 1);
        }
        let mut known: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        let mut way = |from: usize, pipes: &[usize], groups: &mut Vec<Group>| {
            let pipes: Vec<u32> = pipes.iter().map(|&pipe| pipe as u32).collect();
            let pipe = pipes[0];
            if pipes.len() == 1 {
                return Way { pipe, group: NONE };
            }
            let group = *known.entry(pipes).or_insert_with_key(|pipes| {
                let turn = first_turn(scenario, from, pipes, seed);
                groups.push(Group { pipes: pipes.clone(), turn });
                groups.len() as u32 - 1
            });
            Way { pipe, group }
        };
        let mut branching = Vec::new();
        for (node, leaving) in leaving_of.iter().enumerate() {
            let one_way = leaving.len() == 1 && explicit.iter().all(|(at, _, _)| *at != node);
            routes.way_of.push(if one_way {
                vec![way(node, leaving, &mut routes.groups)]
            } else {
                branching.push(node);
                vec![NO_WAY; destinations]
            });
        }
        let mut wanted: Vec<Address> = flows.iter().flatten().copied().collect();
        wanted.sort_unstable();
        wanted.dedup();
        for to in wanted {
            let distance = distances(scenario, &ends, &leaving_of, to);
            for &from in branching.iter().filter(|&&from| from != to.node) {
                let route = explicit.iter().find(|(at, dest, _)| *at == from && *dest == to.node);
                let named = route.into_iter().flat_map(|(_, _, route)| &route.via);
                let mut pipes: Vec<usize> = named
                    .map(|name| leaving(scenario, name, from, &ends))
                    .filter(|&pipe| to.admits(pipe, &ends))
                    .collect();
                if pipes.is_empty() {
                    pipes = nearer(scenario, &ends, &leaving_of[from], &distance, from, to);
                }
                if !pipes.is_empty() {
                    routes.way_of[from][number(to)] = way(from, &pipes, &mut routes.groups);
                }
            }
        }
        routes.interfaces = interfaces;
        routes.check(scenario, &ends)?;
        Ok(routes)
    }

    fn way(&self, node: usize, to: usize) -> &Way {
        let row = &self.way_of[node];
        &row[if row.len() == 1 { 0 } else { to }]
    }

    /// Every flow must have a way there and back, without a loop.
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

    /// Where packets of a flow go, out or back, by number of the destination.
    pub(crate) fn destination(&self, flow: u32, outward: bool) -> usize {
        self.ends_of[flow as usize][usize::from(outward)] as usize
    }

    /// The pipe by which a packet of this flow leaves its host, where that is fixed.
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
        let ways = self.ways(here, to);
        if ways.is_empty() {
            return Err(format!("no route from {} to {}", name(here), name(target)));
        }
        for &pipe in ways {
            let next = far_end(pipe as usize, ends);
            if trail.contains(&next) {
                let mut way: Vec<_> = trail.iter().map(|&n| name(n)).collect();
                way.push(name(next));
                return Err(format!("the routes to {} loop: {}", name(target), way.join(" → ")));
            }
            trail.push(next);
            self.walk(trail, to, scenario, ends)?;
            trail.pop();
        }
        Ok(())
    }

    /// All pipes that may be taken at `node` towards host `to`.
    pub(crate) fn ways(&self, node: usize, to: usize) -> &[u32] {
        match self.way(node, to) {
            Way { pipe: NONE, .. } => &[],
            Way { pipe, group: NONE } => std::slice::from_ref(pipe),
            Way { group, .. } => &self.groups[*group as usize].pipes,
        }
    }

    /// Somewhere there is more than one way.
    pub(crate) fn branch(&self) -> bool {
        !self.groups.is_empty()
    }

    /// The pipe of a flow's packet at `node`, if no turn or draw decides.
    pub(crate) fn sure_pipe(&self, node: usize, flow: u32, outward: bool) -> Option<usize> {
        let way = self.way(node, self.destination(flow, outward));
        (way.group == NONE && way.pipe != NONE).then_some(way.pipe as usize)
    }

    /// Whether the node's interface at this pipe is one of a bundle, as a slave of TEQL is: it then
    /// has an address of its own besides that of the bundle.
    pub(crate) fn bundled(&self, node: usize, pipe: usize) -> bool {
        let turns = |spraying: &Spraying| spraying.policy == SprayPolicy::RoundRobin;
        self.spraying[node].as_ref().is_some_and(turns)
            && self.groups.iter().any(|group| group.pipes.contains(&(pipe as u32)))
    }

    /// The node sent a packet of its own (ARP) through this pipe: in round-robin the next sprayed
    /// packet follows it there, as in Linux (`teql_dequeue` makes that slave the first).
    pub(crate) fn own_packet(&mut self, pipe: usize) {
        for group in &mut self.groups {
            if let Some(index) = group.pipes.iter().position(|&member| member as usize == pipe) {
                group.turn = index;
            }
        }
    }

    /// The pipe this packet takes at `node` towards host `to`.
    /// `has_payload` is asked only if the node sprays.
    pub(crate) fn next_pipe(
        &mut self,
        node: usize,
        to: usize,
        flow: u32,
        has_payload: impl Fn() -> bool,
    ) -> Option<usize> {
        let way = *self.way(node, to);
        if way.group == NONE {
            return (way.pipe != NONE).then_some(way.pipe as usize);
        }
        let first = Some(way.pipe as usize);
        let group = &mut self.groups[way.group as usize];
        let ways = group.pipes.len();
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
                group.turn = if turn + 1 == ways { 0 } else { turn + 1 };
                turn
            }
            SprayPolicy::Random => spraying.rng.below(ways as u64) as usize,
            SprayPolicy::PerFlow => flow_hash(flow) as usize % ways,
        };
        Some(group.pipes[choice] as usize)
    }
}

/// A hash that spreads consecutive numbers (the finaliser of MurmurHash3).
fn flow_hash(flow: u32) -> u64 {
    let mut h = u64::from(flow).wrapping_add(0x9e37_79b9_7f4a_7c15);
    h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}

/// Which of the pipes comes first: given, or drawn. The draw is named by the links, so that each
/// direction of spraying has its own.
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
