//! Next hops: explicit routes, else all shortest paths by number of hops; packet spraying.

use dumbbell_model::paths::{distances, far_end, leaving, nearer};
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::{NodeKind, Route, Scenario, SprayPolicy, SprayWhat};
use dumbbell_model::ScenarioError;
use std::collections::BTreeMap;

const NO_WAY: u32 = u32::MAX;

/// A choice between the pipes of a group, shared by all destinations behind it: Linux's TEQL has
/// one turn per master device.
struct Group {
    pipes: Vec<usize>,
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
    /// Group by node and destination, for the hosts at the ends of flows; [`NO_WAY`]: none. A row
    /// of one element holds for all destinations: that of a node with one link.
    group_of: Vec<Vec<u32>>,
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
        let mut routes = Self {
            group_of: Vec::with_capacity(nodes.len()),
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
        let mut known: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
        let mut group_number = |from: usize, pipes: Vec<usize>, groups: &mut Vec<Group>| {
            *known.entry(pipes).or_insert_with_key(|pipes| {
                let turn = first_turn(scenario, from, pipes, seed);
                groups.push(Group { pipes: pipes.clone(), turn });
                groups.len() as u32 - 1
            })
        };
        let mut branching = Vec::new();
        for (node, leaving) in leaving_of.iter().enumerate() {
            let one_way = leaving.len() == 1 && explicit.iter().all(|(at, _, _)| *at != node);
            routes.group_of.push(if one_way {
                vec![group_number(node, leaving.clone(), &mut routes.groups)]
            } else {
                branching.push(node);
                vec![NO_WAY; nodes.len()]
            });
        }
        let mut wanted: Vec<usize> =
            scenario.flows.iter().flat_map(|f| [index(&f.from), index(&f.to)]).collect();
        wanted.sort_unstable();
        wanted.dedup();
        for to in wanted {
            let distance = distances(scenario, &ends, &leaving_of, to);
            for &from in branching.iter().filter(|&&from| from != to) {
                let route = explicit.iter().find(|(at, dest, _)| *at == from && *dest == to);
                let pipes: Vec<usize> = match route {
                    Some((_, _, route)) => {
                        route.via.iter().map(|name| leaving(scenario, name, from, &ends)).collect()
                    }
                    None => nearer(scenario, &ends, &leaving_of[from], &distance, from, to),
                };
                if !pipes.is_empty() {
                    routes.group_of[from][to] = group_number(from, pipes, &mut routes.groups);
                }
            }
        }
        routes.check(scenario, &ends)?;
        Ok(routes)
    }

    fn group(&self, node: usize, to: usize) -> Option<usize> {
        let row = &self.group_of[node];
        let group = row[if row.len() == 1 { 0 } else { to }];
        (group != NO_WAY).then_some(group as usize)
    }

    /// Every flow must have a way there and back, without a loop.
    fn check(&self, scenario: &Scenario, ends: &[(usize, usize)]) -> Result<(), ScenarioError> {
        let numbers: BTreeMap<&str, usize> =
            scenario.nodes.iter().enumerate().map(|(i, n)| (n.name.as_str(), i)).collect();
        let index = |name: &str| numbers.get(name).copied().unwrap_or(0);
        for (i, flow) in scenario.flows.iter().enumerate() {
            for (from, to) in [(&flow.from, &flow.to), (&flow.to, &flow.from)] {
                let mut trail = vec![index(from)];
                self.walk(&mut trail, index(to), scenario, ends)
                    .map_err(|message| ScenarioError { path: format!("flows[{i}]"), message })?;
            }
        }
        Ok(())
    }

    /// Follows all branches from the end of the trail.
    fn walk(
        &self,
        trail: &mut Vec<usize>,
        to: usize,
        scenario: &Scenario,
        ends: &[(usize, usize)],
    ) -> Result<(), String> {
        let here = *trail.last().unwrap_or(&to);
        if here == to {
            return Ok(());
        }
        let name = |node: usize| scenario.nodes[node].name.as_str();
        if trail.len() > 1 && scenario.nodes[here].kind == NodeKind::Host {
            return Err(format!(
                "the route from {} to {} leads to host {}",
                name(trail[0]),
                name(to),
                name(here)
            ));
        }
        let Some(group) = self.group(here, to) else {
            return Err(format!("no route from {} to {}", name(here), name(to)));
        };
        for &pipe in &self.groups[group].pipes {
            let next = far_end(pipe, ends);
            if trail.contains(&next) {
                let mut way: Vec<_> = trail.iter().map(|&n| name(n)).collect();
                way.push(name(next));
                return Err(format!("the routes to {} loop: {}", name(to), way.join(" → ")));
            }
            trail.push(next);
            self.walk(trail, to, scenario, ends)?;
            trail.pop();
        }
        Ok(())
    }

    /// All pipes that may be taken at `node` towards host `to`.
    pub(crate) fn ways(&self, node: usize, to: usize) -> &[usize] {
        match self.group(node, to) {
            Some(group) => &self.groups[group].pipes,
            None => &[],
        }
    }

    /// The node sent a packet of its own (ARP) through this pipe: in round-robin the next sprayed
    /// packet follows it there, as in Linux (`teql_dequeue` makes that slave the first).
    pub(crate) fn own_packet(&mut self, pipe: usize) {
        for group in &mut self.groups {
            if let Some(index) = group.pipes.iter().position(|&member| member == pipe) {
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
        let group = self.group(node, to)?;
        let group = &mut self.groups[group];
        let ways = group.pipes.len();
        if ways == 1 {
            return Some(group.pipes[0]);
        }
        let Some(spraying) = &mut self.spraying[node] else { return Some(group.pipes[0]) };
        let sprayed = match spraying.what {
            SprayWhat::Both => true,
            SprayWhat::Data => has_payload(),
            SprayWhat::Acks => !has_payload(),
        };
        if !sprayed {
            return Some(group.pipes[0]);
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
        Some(group.pipes[choice])
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
fn first_turn(scenario: &Scenario, node: usize, pipes: &[usize], seed: u64) -> usize {
    let spec = &scenario.nodes[node];
    let Some(spray) = spec.spray else { return 0 };
    if let Some(first) = spray.first {
        return first as usize % pipes.len();
    }
    let links: Vec<_> = pipes.iter().map(|&p| scenario.links[p / 2].name.as_str()).collect();
    let name = format!("node/{}/first/{}", spec.name, links.join("+"));
    Rng::named(seed, &name).below(pipes.len() as u64) as usize
}
