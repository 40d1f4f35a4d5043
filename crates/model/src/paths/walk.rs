//! Paths from one host to another over all next hops in use, with their longest delay.

use super::{far_end, Address, Network, Towards};
use std::collections::BTreeMap;

/// All pipes that packets between two hosts may pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Pipes of all next hops in use.
    pub pipes: Vec<usize>,
    /// Largest sum of fixed delays, ns.
    pub delay_ns: u64,
}

/// Missing path, or a routing loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Message with the names of the nodes.
    pub message: String,
    /// Node at which the path ends or repeats.
    pub node: usize,
    /// Index of the explicit route at fault; `None`: no explicit route is.
    pub route: Option<usize>,
}

/// Most nodes of a loop in a message.
const NAMED_NODES: usize = 20;

/// Steps of the depth-first search.
enum Step {
    Enter(usize),
    /// All next hops of the node were followed.
    Leave(usize, Vec<usize>),
}

impl Network {
    /// Path from a host to a destination.
    ///
    /// # Arguments
    /// - `first`: link by which packets leave the host; `None`: any.
    ///
    /// # Errors
    /// There is no path, it leads through a host, or it has a loop.
    pub fn path(&mut self, from: usize, to: Address, first: Option<usize>) -> Result<Path, Fault> {
        let towards = self.towards(to);
        // Longest delay from each node; `None`: its next hops are being followed.
        let mut longest = BTreeMap::from([(to.node, Some(0))]);
        let mut pipes = Vec::new();
        let mut trail = Vec::new();
        let mut steps = vec![Step::Enter(from)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(node) => match longest.get(&node) {
                    Some(Some(_)) => {}
                    Some(None) => return Err(self.loops(&trail, node, to)),
                    None => {
                        let hops = self.used(node, from, &towards, first)?;
                        longest.insert(node, None);
                        trail.push(node);
                        let next = hops.iter().rev().map(|&pipe| far_end(pipe, &self.ends));
                        let next: Vec<usize> = next.collect();
                        steps.push(Step::Leave(node, hops));
                        steps.extend(next.into_iter().map(Step::Enter));
                    }
                },
                Step::Leave(node, hops) => {
                    trail.pop();
                    let beyond = |&pipe: &usize| {
                        let next = longest.get(&far_end(pipe, &self.ends)).copied().flatten();
                        self.delays_ns[pipe].saturating_add(next.unwrap_or(0))
                    };
                    let delay_ns = hops.iter().map(beyond).max().unwrap_or(0);
                    longest.insert(node, Some(delay_ns));
                    pipes.extend(hops);
                }
            }
        }
        let delay_ns = longest.get(&from).copied().flatten().unwrap_or(0);
        Ok(Path { pipes, delay_ns })
    }

    /// Next hops in use at a node on the path.
    fn used(
        &self,
        node: usize,
        from: usize,
        towards: &Towards,
        first: Option<usize>,
    ) -> Result<Vec<usize>, Fault> {
        let name = |node: usize| self.places[node].name.as_str();
        let (here, to) = (&self.places[node], towards.to.node);
        if node != from && !here.forwards {
            let message = format!(
                "the path from {} to {} leads through {}, a host; hosts never forward",
                name(from),
                name(to),
                here.name,
            );
            return Err(Fault { message, node, route: None });
        }
        let mut hops = self.next_hops(node, towards);
        if hops.is_empty() {
            let message = format!("there is no path from {} to {}", name(from), name(to));
            return Err(Fault { message, node, route: self.route(node, to) });
        }
        match first.filter(|_| node == from) {
            Some(link) => {
                hops = self.leaving(node).iter().copied().filter(|p| p / 2 == link).collect();
            }
            None if !here.sprays => hops.truncate(1),
            None => {}
        }
        Ok(hops)
    }

    /// Index of the explicit route from a node to a destination.
    fn route(&self, node: usize, to: usize) -> Option<usize> {
        self.explicit.get(&(node, to)).map(|explicit| explicit.route)
    }

    fn loops(&self, trail: &[usize], node: usize, to: Address) -> Fault {
        let begin = trail.iter().position(|&at| at == node).unwrap_or(0);
        let nodes: Vec<usize> = trail[begin..].iter().copied().chain([node]).collect();
        let names = nodes.iter().take(NAMED_NODES).map(|&at| self.places[at].name.as_str());
        let names: Vec<&str> = names.collect();
        let destination = &self.places[to.node].name;
        let message = format!("a loop on the path to {destination}: {}", names.join(" → "));
        let route = nodes.iter().find_map(|&at| self.route(at, to.node));
        Fault { message, node, route }
    }
}
