//! Next hops: explicit routes, else all shortest paths by number of hops; packet spraying.

use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::{NodeKind, Scenario, SprayPolicy, SprayWhat};
use dumbbell_model::ScenarioError;
use dumbbell_packet::Packet;
use std::collections::VecDeque;

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
    /// Group by node and destination; `None`: no way.
    group_of: Vec<Vec<Option<usize>>>,
    groups: Vec<Group>,
    spraying: Vec<Option<Spraying>>,
}

impl Routes {
    /// Pipe `2 l` is link `l` forward, `2 l + 1` backward.
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Result<Self, ScenarioError> {
        let nodes = &scenario.nodes;
        let index = |name: &str| nodes.iter().position(|n| n.name == name).unwrap_or(0);
        let ends: Vec<(usize, usize)> =
            scenario.links.iter().map(|l| (index(&l.a), index(&l.b))).collect();
        let mut routes = Self {
            group_of: vec![vec![None; nodes.len()]; nodes.len()],
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
        for (to, node) in nodes.iter().enumerate() {
            if node.kind != NodeKind::Host {
                continue;
            }
            let next = next_hops(scenario, &ends, to);
            for (from, mut pipes) in next.into_iter().enumerate() {
                let explicit = scenario
                    .routes
                    .iter()
                    .find(|r| index(&r.at) == from && index(&r.to) == to);
                if let Some(route) = explicit {
                    pipes = route.via.iter().map(|name| leaving(scenario, name, from, &ends)).collect();
                }
                if !pipes.is_empty() {
                    let group = routes.group(from, pipes, scenario, seed, &ends);
                    routes.group_of[from][to] = Some(group);
                }
            }
        }
        routes.check(scenario, &ends)?;
        Ok(routes)
    }

    /// The group of these pipes, new or known.
    fn group(
        &mut self,
        node: usize,
        pipes: Vec<usize>,
        scenario: &Scenario,
        seed: u64,
        ends: &[(usize, usize)],
    ) -> usize {
        debug_assert!(pipes.iter().all(|&pipe| near_end(pipe, ends) == node));
        if let Some(known) = self.groups.iter().position(|group| group.pipes == pipes) {
            return known;
        }
        let spec = &scenario.nodes[node];
        let drawn = || {
            // Named by the links, so that each direction of spraying has its own draw.
            let links: Vec<_> =
                pipes.iter().map(|&p| scenario.links[p / 2].name.as_str()).collect();
            let name = format!("node/{}/first/{}", spec.name, links.join("+"));
            Rng::named(seed, &name).below(pipes.len() as u64) as usize
        };
        let turn = match spec.spray {
            Some(spray) => spray.first.map_or_else(drawn, |first| first as usize % pipes.len()),
            None => 0,
        };
        self.groups.push(Group { pipes, turn });
        self.groups.len() - 1
    }

    /// Every flow must have a way there and back, without a loop.
    fn check(&self, scenario: &Scenario, ends: &[(usize, usize)]) -> Result<(), ScenarioError> {
        let index = |name: &str| scenario.nodes.iter().position(|n| n.name == name).unwrap_or(0);
        for (i, flow) in scenario.flows.iter().enumerate() {
            for (from, to) in [(&flow.from, &flow.to), (&flow.to, &flow.from)] {
                let mut trail = vec![index(from)];
                self.walk(&mut trail, index(to), scenario, ends).map_err(|message| {
                    ScenarioError { path: format!("flows[{i}]"), message }
                })?;
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
            return Err(format!("the route from {} to {} leads to host {}", name(trail[0]), name(to), name(here)));
        }
        let Some(group) = self.group_of[here][to] else {
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

    /// The pipe this packet takes at `node` towards host `to`.
    pub(crate) fn next_pipe(&mut self, node: usize, to: usize, packet: &Packet) -> Option<usize> {
        let group = &mut self.groups[self.group_of[node][to]?];
        let ways = group.pipes.len();
        if ways == 1 {
            return Some(group.pipes[0]);
        }
        let Some(spraying) = &mut self.spraying[node] else { return Some(group.pipes[0]) };
        let sprayed = match spraying.what {
            SprayWhat::Both => true,
            SprayWhat::Data => packet.payload_bytes() > 0,
            SprayWhat::Acks => packet.payload_bytes() == 0,
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
            SprayPolicy::PerFlow => flow_hash(packet.flow) as usize % ways,
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

fn near_end(pipe: usize, ends: &[(usize, usize)]) -> usize {
    let (a, b) = ends[pipe / 2];
    if pipe % 2 == 0 {
        a
    } else {
        b
    }
}

pub(crate) fn far_end(pipe: usize, ends: &[(usize, usize)]) -> usize {
    near_end(pipe ^ 1, ends)
}

/// The pipe of a link that leaves a node; the link was validated to touch it.
fn leaving(scenario: &Scenario, link: &str, node: usize, ends: &[(usize, usize)]) -> usize {
    let index = scenario.links.iter().position(|l| l.name == link).unwrap_or(0);
    2 * index + usize::from(ends[index].0 != node)
}

/// For every node, the pipes on shortest paths to `to`. Hosts do not forward.
fn next_hops(scenario: &Scenario, ends: &[(usize, usize)], to: usize) -> Vec<Vec<usize>> {
    let count = scenario.nodes.len();
    let mut touching = vec![Vec::new(); count];
    for (link, &(a, b)) in ends.iter().enumerate() {
        touching[a].push(2 * link + 1); // The pipe into a.
        touching[b].push(2 * link);
    }
    let mut distance = vec![usize::MAX; count];
    distance[to] = 0;
    let mut reached = VecDeque::from([to]);
    while let Some(node) = reached.pop_front() {
        if node != to && scenario.nodes[node].kind == NodeKind::Host {
            continue;
        }
        for &pipe in &touching[node] {
            let before = near_end(pipe, ends);
            if distance[before] == usize::MAX {
                distance[before] = distance[node] + 1;
                reached.push_back(before);
            }
        }
    }
    let forwards = |node: usize| node == to || scenario.nodes[node].kind != NodeKind::Host;
    (0..count)
        .map(|node| {
            if node == to || distance[node] == usize::MAX {
                return Vec::new();
            }
            let nearer = |pipe: &usize| {
                let next = far_end(*pipe, ends);
                near_end(*pipe, ends) == node
                    && forwards(next)
                    && distance[next] != usize::MAX
                    && distance[next] + 1 == distance[node]
            };
            (0..2 * ends.len()).filter(nearer).collect()
        })
        .collect()
}
