//! Shortest paths by number of hops, for every engine. Nodes and links are identified by their index in
//! the scenario; pipe `2 l` is link `l` forward, `2 l + 1` backward.

use crate::scenario::{NodeKind, Scenario};
use std::collections::{BTreeMap, VecDeque};

/// Destination of packets: a host, or one of its interfaces. Subflows of Multipath TCP run between
/// interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// Index of the host.
    pub node: usize,
    /// Link of the interface; `None`: any.
    pub link: Option<usize>,
}

impl Address {
    /// Returns false if the pipe enters the host by another interface than the address names.
    pub fn admits(&self, pipe: usize, ends: &[(usize, usize)]) -> bool {
        far_end(pipe, ends) != self.node || self.link.is_none_or(|link| pipe / 2 == link)
    }
}

impl Address {
    /// Pipe that leaves the interface; `None` if the address is a host.
    pub fn pipe(&self, ends: &[(usize, usize)]) -> Option<usize> {
        self.link.map(|link| 2 * link + usize::from(ends[link].0 != self.node))
    }
}

/// Source and destination address of every flow. All names were validated.
pub fn addresses(scenario: &Scenario) -> Vec<[Address; 2]> {
    let nodes: BTreeMap<&str, usize> =
        scenario.nodes.iter().enumerate().map(|(i, node)| (node.name.as_str(), i)).collect();
    let subflows: BTreeMap<&str, [usize; 2]> = scenario
        .connections
        .iter()
        .flat_map(|connection| &connection.subflows)
        .map(|subflow| {
            let link = |name: &str| scenario.links.iter().position(|l| l.name == name).unwrap_or(0);
            (subflow.flow.as_str(), [link(&subflow.local), link(&subflow.remote)])
        })
        .collect();
    let flows = scenario.flows.iter().map(|flow| {
        let links = subflows.get(flow.name.as_str());
        let ends = [&flow.from, &flow.to].map(|name| nodes.get(name.as_str()).copied());
        std::array::from_fn(|side| Address {
            node: ends[side].unwrap_or(0),
            link: links.map(|links| links[side]),
        })
    });
    flows.collect()
}

/// Node where a pipe begins; `ends` holds the nodes of each link, `a` first.
pub fn near_end(pipe: usize, ends: &[(usize, usize)]) -> usize {
    let (a, b) = ends[pipe / 2];
    if pipe % 2 == 0 {
        a
    } else {
        b
    }
}

/// Node where a pipe ends.
pub fn far_end(pipe: usize, ends: &[(usize, usize)]) -> usize {
    near_end(pipe ^ 1, ends)
}

/// Pipe of a link that leaves a node; validated to exist.
pub fn leaving(scenario: &Scenario, link: &str, node: usize, ends: &[(usize, usize)]) -> usize {
    let index = scenario.links.iter().position(|l| l.name == link).unwrap_or(0);
    2 * index + usize::from(ends[index].0 != node)
}

/// Hops from every node to `to`; `u32::MAX`: unreachable. Hosts do not forward.
pub fn distances(
    scenario: &Scenario,
    ends: &[(usize, usize)],
    leaving_of: &[Vec<usize>],
    to: Address,
) -> Vec<u32> {
    let mut distance = vec![u32::MAX; scenario.nodes.len()];
    distance[to.node] = 0;
    let mut reached = VecDeque::from([to.node]);
    while let Some(node) = reached.pop_front() {
        if node != to.node && scenario.nodes[node].kind == NodeKind::Host {
            continue;
        }
        for &pipe in &leaving_of[node] {
            let before = far_end(pipe, ends);
            if !to.admits(pipe ^ 1, ends) {
                continue;
            }
            if distance[before] == u32::MAX {
                distance[before] = distance[node] + 1;
                reached.push_back(before);
            }
        }
    }
    distance
}

/// Pipes from a node to its next hops on shortest paths to `to`.
pub fn nearer(
    scenario: &Scenario,
    ends: &[(usize, usize)],
    leaving: &[usize],
    distance: &[u32],
    node: usize,
    to: Address,
) -> Vec<usize> {
    let forwards = |next: usize| next == to.node || scenario.nodes[next].kind != NodeKind::Host;
    let mut pipes: Vec<usize> = leaving
        .iter()
        .copied()
        .filter(|&pipe| {
            let next = far_end(pipe, ends);
            forwards(next)
                && to.admits(pipe, ends)
                && distance[next] < u32::MAX
                && distance[next] + 1 == distance[node]
        })
        .collect();
    pipes.sort_unstable();
    pipes
}
