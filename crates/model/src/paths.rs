//! Ways through the network by number of hops, the same for every engine. Nodes and links go by
//! their index in the scenario; pipe `2 l` is link `l` forward, `2 l + 1` backward.

use crate::scenario::{NodeKind, Scenario};
use std::collections::VecDeque;

/// The node where a pipe begins; `ends` are the nodes of each link, `a` first.
pub fn near_end(pipe: usize, ends: &[(usize, usize)]) -> usize {
    let (a, b) = ends[pipe / 2];
    if pipe % 2 == 0 {
        a
    } else {
        b
    }
}

/// The node where a pipe ends.
pub fn far_end(pipe: usize, ends: &[(usize, usize)]) -> usize {
    near_end(pipe ^ 1, ends)
}

/// The pipe of a link that leaves a node; the link was validated to touch it.
pub fn leaving(scenario: &Scenario, link: &str, node: usize, ends: &[(usize, usize)]) -> usize {
    let index = scenario.links.iter().position(|l| l.name == link).unwrap_or(0);
    2 * index + usize::from(ends[index].0 != node)
}

/// Hops from every node to `to`; `u32::MAX`: no way. Hosts do not forward.
pub fn distances(
    scenario: &Scenario,
    ends: &[(usize, usize)],
    leaving_of: &[Vec<usize>],
    to: usize,
) -> Vec<u32> {
    let mut distance = vec![u32::MAX; scenario.nodes.len()];
    distance[to] = 0;
    let mut reached = VecDeque::from([to]);
    while let Some(node) = reached.pop_front() {
        if node != to && scenario.nodes[node].kind == NodeKind::Host {
            continue;
        }
        for &pipe in &leaving_of[node] {
            let before = far_end(pipe, ends);
            if distance[before] == u32::MAX {
                distance[before] = distance[node] + 1;
                reached.push_back(before);
            }
        }
    }
    distance
}

/// The pipes of a node that lead one hop nearer.
pub fn nearer(
    scenario: &Scenario,
    ends: &[(usize, usize)],
    leaving: &[usize],
    distance: &[u32],
    node: usize,
    to: usize,
) -> Vec<usize> {
    let forwards = |next: usize| next == to || scenario.nodes[next].kind != NodeKind::Host;
    let mut pipes: Vec<usize> = leaving
        .iter()
        .copied()
        .filter(|&pipe| {
            let next = far_end(pipe, ends);
            forwards(next) && distance[next] < u32::MAX && distance[next] + 1 == distance[node]
        })
        .collect();
    pipes.sort_unstable();
    pipes
}
