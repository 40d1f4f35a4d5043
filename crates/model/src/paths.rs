//! Next hops and paths, for every engine and for the reader of experiment files: explicit routes, else
//! all shortest paths by number of hops. Hosts never forward. Nodes and links are identified by their
//! index; pipe `2 l` is link `l` forward, `2 l + 1` backward.

#[cfg(test)]
mod tests;
mod walk;

use crate::scenario::{NodeKind, Pipe, Scenario};
use crate::Queue;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
pub use walk::{Fault, Path};

/// Bound of the distances kept for later destinations, entries.
const KEPT_DISTANCES: usize = 1 << 22;
/// Number of a node that does not forward, and distance of a node that is not connected.
const NONE: u32 = u32::MAX;

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

    /// Pipe that leaves the interface; `None` if the address is a host.
    pub fn pipe(&self, ends: &[(usize, usize)]) -> Option<usize> {
        self.link.map(|link| 2 * link + usize::from(ends[link].0 != self.node))
    }
}

/// Source and destination address of every flow. All names were validated.
pub fn addresses(scenario: &Scenario) -> Vec<[Address; 2]> {
    let nodes: BTreeMap<&str, usize> =
        scenario.nodes.iter().enumerate().map(|(i, node)| (node.name.as_str(), i)).collect();
    let mut subflows: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    if !scenario.connections.is_empty() {
        let links = links_by_name(scenario);
        let link = |name: &str| links.get(name).copied().unwrap_or(0);
        let all = scenario.connections.iter().flat_map(|connection| &connection.subflows);
        subflows.extend(all.map(|s| (s.flow.as_str(), [link(&s.local), link(&s.remote)])));
    }
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

fn links_by_name(scenario: &Scenario) -> BTreeMap<&str, usize> {
    scenario.links.iter().enumerate().map(|(i, link)| (link.name.as_str(), i)).collect()
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

/// Explicit route of a node to a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Explicit {
    /// Index of the route in the scenario.
    route: usize,
    /// Pipes of its links, as written.
    pipes: Vec<usize>,
}

/// Node of a [`Network`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name, for messages.
    pub name: String,
    /// True for routers and switches.
    pub forwards: bool,
    /// True if its packets use all next hops. The packets of other nodes take the first.
    pub sprays: bool,
}

/// Graph of nodes and links.
#[derive(Clone, Debug)]
pub struct Network {
    places: Vec<Place>,
    /// Nodes of each link, `a` first.
    ends: Vec<(usize, usize)>,
    /// Fixed delay of each pipe, ns.
    delays_ns: Vec<u64>,
    /// Pipes that leave each node, ascending.
    leaving: Vec<Vec<usize>>,
    /// Pipes from each node to a forwarding node, ascending.
    onward: Vec<Vec<usize>>,
    /// Numbers of the forwarding nodes; [`NONE`]: a host.
    forwarder: Vec<u32>,
    forwarders: Vec<usize>,
    explicit: BTreeMap<(usize, usize), Explicit>,
    /// Distances to all destinations behind the same forwarding nodes.
    known: BTreeMap<Vec<u32>, Arc<[u32]>>,
}

/// A destination, and the number of hops to it from every forwarding node.
#[derive(Clone, Debug)]
pub struct Towards {
    to: Address,
    hops: Arc<[u32]>,
}

impl Network {
    /// Creates a network.
    ///
    /// # Arguments
    /// - `places`: its nodes.
    /// - `ends`: nodes of each link, as indices of `places`.
    /// - `delays_ns`: fixed delays of each link, forward and backward.
    pub fn new(places: Vec<Place>, ends: Vec<(usize, usize)>, delays_ns: &[(u64, u64)]) -> Self {
        let mut leaving = vec![Vec::new(); places.len()];
        for (link, &(a, b)) in ends.iter().enumerate() {
            leaving[a].push(2 * link);
            leaving[b].push(2 * link + 1);
        }
        let forwards = |pipe: &usize| places[far_end(*pipe, &ends)].forwards;
        let onward = leaving.iter().map(|pipes| pipes.iter().copied().filter(forwards).collect());
        let onward = onward.collect();
        let forwarders: Vec<usize> = (0..places.len()).filter(|&i| places[i].forwards).collect();
        let mut forwarder = vec![NONE; places.len()];
        for (number, &node) in forwarders.iter().enumerate() {
            forwarder[node] = number as u32;
        }
        let delays_ns = delays_ns.iter().flat_map(|&(there, back)| [there, back]).collect();
        let (explicit, known) = (BTreeMap::new(), BTreeMap::new());
        Self { places, ends, delays_ns, leaving, onward, forwarder, forwarders, explicit, known }
    }

    /// Network of a scenario. All names were validated.
    pub fn of(scenario: &Scenario) -> Self {
        let numbers: BTreeMap<&str, usize> =
            scenario.nodes.iter().enumerate().map(|(i, n)| (n.name.as_str(), i)).collect();
        let number = |name: &str| numbers.get(name).copied().unwrap_or(0);
        let places = scenario.nodes.iter().map(|node| Place {
            name: node.name.clone(),
            forwards: node.kind != NodeKind::Host,
            sprays: node.spray.is_some(),
        });
        let ends = scenario.links.iter().map(|l| (number(&l.a), number(&l.b))).collect();
        let delays: Vec<_> =
            scenario.links.iter().map(|l| (delay_ns(&l.forward), delay_ns(&l.backward))).collect();
        let mut network = Self::new(places.collect(), ends, &delays);
        if !scenario.routes.is_empty() {
            let links = links_by_name(scenario);
            for (i, route) in scenario.routes.iter().enumerate() {
                let via = route.via.iter().filter_map(|name| links.get(name.as_str()).copied());
                let via: Vec<usize> = via.collect();
                network.add_route(i, number(&route.at), number(&route.to), &via);
            }
        }
        network
    }

    /// Adds explicit route number `route`: at node `at`, packets for `to` take the links `via`. The first
    /// route of a node to a destination counts.
    pub fn add_route(&mut self, route: usize, at: usize, to: usize, via: &[usize]) {
        let joined = via.iter().filter(|&&link| self.ends[link].0 == at || self.ends[link].1 == at);
        let pipes = joined.map(|link| 2 * link + usize::from(self.ends[*link].0 != at)).collect();
        self.explicit.entry((at, to)).or_insert(Explicit { route, pipes });
    }

    /// Nodes of each link, `a` first.
    pub fn ends(&self) -> &[(usize, usize)] {
        &self.ends
    }

    /// Pipes that leave a node, ascending.
    pub fn leaving(&self, node: usize) -> &[usize] {
        &self.leaving[node]
    }

    /// Returns true if a node sends all its packets over its only link.
    pub fn has_one_link(&self, node: usize) -> bool {
        let mut routes = self.explicit.range((node, 0)..=(node, usize::MAX));
        self.leaving[node].len() == 1 && routes.next().is_none()
    }

    /// Counts the hops to a destination.
    pub fn towards(&mut self, to: Address) -> Towards {
        let near: Vec<u32> = if self.places[to.node].forwards {
            vec![self.forwarder[to.node]]
        } else {
            let last = self.onward[to.node].iter().filter(|&&pipe| to.admits(pipe ^ 1, &self.ends));
            last.map(|&pipe| self.forwarder[far_end(pipe, &self.ends)]).collect()
        };
        if let Some(hops) = self.known.get(&near) {
            return Towards { to, hops: Arc::clone(hops) };
        }
        let mut hops = vec![NONE; self.forwarders.len()];
        let first = u32::from(!self.places[to.node].forwards);
        let mut reached = VecDeque::new();
        for &number in &near {
            if hops[number as usize] == NONE {
                hops[number as usize] = first;
                reached.push_back(number as usize);
            }
        }
        while let Some(number) = reached.pop_front() {
            for &pipe in &self.onward[self.forwarders[number]] {
                let before = self.forwarder[far_end(pipe, &self.ends)] as usize;
                if hops[before] == NONE {
                    hops[before] = hops[number] + 1;
                    reached.push_back(before);
                }
            }
        }
        let hops: Arc<[u32]> = hops.into();
        if self.known.len() * self.forwarders.len() >= KEPT_DISTANCES {
            self.known.clear();
        }
        self.known.insert(near, Arc::clone(&hops));
        Towards { to, hops }
    }

    /// Pipes from a node to its next hops: those of its explicit route, else all on shortest paths,
    /// ascending.
    pub fn next_hops(&self, node: usize, towards: &Towards) -> Vec<usize> {
        let to = towards.to;
        if let Some(explicit) = self.explicit.get(&(node, to.node)) {
            let admitted = |pipe: &usize| to.admits(*pipe, &self.ends);
            let pipes: Vec<usize> = explicit.pipes.iter().copied().filter(admitted).collect();
            if !pipes.is_empty() || to.link.is_none() {
                return pipes;
            }
        }
        self.nearer(node, towards)
    }

    /// Pipes from a node to its next hops on shortest paths, ascending.
    pub fn nearer(&self, node: usize, towards: &Towards) -> Vec<usize> {
        let to = towards.to;
        let back = self.leaving[to.node].iter().map(|&pipe| pipe ^ 1);
        let mut direct: Vec<usize> = back
            .filter(|&pipe| near_end(pipe, &self.ends) == node && to.admits(pipe, &self.ends))
            .collect();
        if !direct.is_empty() {
            direct.sort_unstable();
            return direct;
        }
        let ahead = |pipe: usize| {
            let next = far_end(pipe, &self.ends);
            towards.hops[self.forwarder[next] as usize]
        };
        let onward = &self.onward[node];
        let nearest = onward.iter().map(|&pipe| ahead(pipe)).min().unwrap_or(NONE);
        if nearest == NONE {
            return Vec::new();
        }
        onward.iter().copied().filter(|&pipe| ahead(pipe) == nearest).collect()
    }
}

/// Fixed delay of a pipe in ns, that of netem included.
fn delay_ns(pipe: &Pipe) -> u64 {
    let own = match &pipe.queue {
        Queue::Netem { delay, .. } => delay.as_ns(),
        _ => 0,
    };
    pipe.delay.as_ns() + own
}
