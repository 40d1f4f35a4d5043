//! Paths of flows, found before the run: the pipes that a flow's packets take. Where a turn, a draw or
//! a known neighbour chooses one of several pipes, a path branches.

use super::link::Pipe;
use super::put;
use super::route::Routes;
use crate::arena::Handle;
use std::collections::BTreeMap;

/// Ends of a list of pipes.
const DESTINATION: u32 = u32::MAX;
/// A choice. Behind it: the number of pipes, and for each the pipe and the place of its segment.
const CHOICE: u32 = u32::MAX - 1;
/// Marks a pipe whose neighbour's address must be known.
const NEIGHBOUR: u32 = 1 << 31;

/// Most entries of a path that branches. In a larger network its nodes choose without it.
const BRANCHED_MAX: usize = 1 << 10;

/// Next hop of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hop {
    Pipe(usize),
    /// The pipe, once its neighbour's address is known.
    Neighbour(usize),
    /// The packet is at its destination.
    Destination,
    /// The node chooses ([`Routes::next_pipe`]).
    Choice,
}

/// Paths of all flows, there and back. Flows between the same hosts share theirs.
pub(crate) struct Paths {
    /// Place of the first hop, by flow and direction.
    first: Vec<[u32; 2]>,
    hops: Vec<u32>,
    /// True if nothing is decided during the run.
    complete: bool,
}

impl Paths {
    /// `targets`: destination nodes of a flow's packets, outward and back. `resolves`: nodes that
    /// resolve the address of the next hop.
    pub(crate) fn new(
        pipes: &[Pipe],
        routes: &Routes,
        targets: &[[u32; 2]],
        resolves: &[bool],
    ) -> Self {
        let mut paths = Self { first: Vec::new(), hops: Vec::new(), complete: true };
        let mut known: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        paths.first.reserve(targets.len());
        for (flow, &[to, from]) in targets.iter().enumerate() {
            paths.first.push([(true, from, to), (false, to, from)].map(|(outward, from, to)| {
                let walk = Walk { pipes, routes, resolves, flow: flow as u32, outward, to };
                let path = walk.path(from);
                paths.complete &= path.iter().all(|&hop| hop < NEIGHBOUR || hop == DESTINATION);
                *known.entry(path).or_insert_with_key(|path| {
                    paths.hops.extend(path);
                    (paths.hops.len() - path.len()) as u32
                })
            }));
        }
        paths
    }

    /// Returns true if all paths lead to their destination without a choice and a resolution.
    pub(crate) fn complete(&self) -> bool {
        self.complete
    }

    /// Removes and returns the entries from flow `first` on.
    pub(crate) fn split_off(&mut self, first: usize) -> Vec<[u32; 2]> {
        self.first.split_off(first)
    }

    /// Sets the entry of a flow.
    pub(crate) fn put(&mut self, flow: u32, entry: [u32; 2]) {
        put(&mut self.first, flow, entry, || entry);
    }

    /// The next hop of a packet.
    #[inline]
    pub(crate) fn next(&self, packet: Handle) -> Hop {
        // ARP's packets have no flow.
        if packet.flow as usize >= self.first.len() {
            return Hop::Choice;
        }
        match self.hops.get(self.place(packet)) {
            Some(&DESTINATION) => Hop::Destination,
            Some(&CHOICE) | None => Hop::Choice,
            Some(&pipe) if pipe < NEIGHBOUR => Hop::Pipe(pipe as usize),
            Some(&pipe) => Hop::Neighbour((pipe & !NEIGHBOUR) as usize),
        }
    }

    /// Place of a packet's next hop.
    #[inline]
    pub(crate) fn place(&self, packet: Handle) -> usize {
        let first = self.first[packet.flow as usize][usize::from(!packet.outward)];
        first as usize + usize::from(packet.hop)
    }

    /// Place of the pipe that a packet takes from a choice or after a resolution, and
    /// [`Handle::hop`] behind it.
    pub(crate) fn taken(&self, packet: Handle, pipe: usize) -> (usize, u16) {
        let place = self.place(packet);
        if self.hops[place] != CHOICE {
            return (place, packet.hop + 1);
        }
        let branches = &self.hops[place + 2..][..2 * self.hops[place + 1] as usize];
        let index = branches.chunks_exact(2).position(|branch| branch[0] as usize == pipe);
        // Only a subflow's origin can be missing.
        index.map_or((place, packet.hop), |i| (place + 2 + 2 * i, branches[2 * i + 1] as u16))
    }

    /// Pipes of a flow's path, if it is complete.
    pub(crate) fn pipes(&self, flow: usize, outward: bool) -> impl Iterator<Item = usize> + '_ {
        let first = self.first[flow][usize::from(!outward)] as usize;
        let hops = self.hops[first..].iter().take_while(|&&hop| hop < NEIGHBOUR);
        hops.map(|&pipe| pipe as usize)
    }
}

/// Walk over all pipes that packets of one flow may take in one direction.
struct Walk<'a> {
    pipes: &'a [Pipe],
    routes: &'a Routes,
    resolves: &'a [bool],
    flow: u32,
    outward: bool,
    /// Destination node.
    to: u32,
}

impl Walk<'_> {
    /// The path from a node. Segments behind choices follow it, each once.
    fn path(&self, from: u32) -> Vec<u32> {
        let mut path = Vec::new();
        let origin = self.routes.origin(self.flow, self.outward);
        let mut branches = self.segment(&mut path, from, origin);
        let mut segments: BTreeMap<u32, u32> = BTreeMap::new();
        while let Some((node, place)) = branches.pop() {
            if path.len() > BRANCHED_MAX {
                return vec![CHOICE, 0];
            }
            let next = path.len() as u32;
            path[place] = *segments.entry(node).or_insert(next);
            if path[place] == next {
                branches.extend(self.segment(&mut path, node, None));
            }
        }
        if path.len() > usize::from(u16::MAX) {
            return vec![CHOICE, 0];
        }
        path
    }

    /// Appends the hops from a node up to the destination or to a choice. `origin`: the first pipe, if
    /// that is fixed. Returns the nodes behind the choice, and the places that refer to them.
    fn segment(
        &self,
        path: &mut Vec<u32>,
        from: u32,
        mut origin: Option<usize>,
    ) -> Vec<(u32, usize)> {
        let mut node = from;
        while node != self.to || path.is_empty() {
            let resolves = self.resolves[node as usize];
            let next = match origin.take() {
                // A neighbour that is known may replace the chosen one.
                _ if resolves && self.branches(node) => None,
                None => self.routes.sure_pipe(node as usize, self.flow, self.outward),
                origin => origin,
            };
            let Some(pipe) = next.filter(|_| path.len() <= usize::from(u16::MAX)) else {
                return self.choice(path, node);
            };
            path.push(pipe as u32 | if resolves { NEIGHBOUR } else { 0 });
            node = self.pipes[pipe].to;
        }
        path.push(DESTINATION);
        Vec::new()
    }

    fn ways(&self, node: u32) -> &[u32] {
        let destination = self.routes.destination(self.flow, self.outward);
        self.routes.pipes(node as usize, destination)
    }

    /// Returns true if the node sprays over several pipes.
    fn branches(&self, node: u32) -> bool {
        self.routes.sprays(node as usize) && self.ways(node).len() > 1
    }

    fn choice(&self, path: &mut Vec<u32>, node: u32) -> Vec<(u32, usize)> {
        let pipes = self.ways(node);
        path.extend([CHOICE, pipes.len() as u32]);
        let mut branches = Vec::with_capacity(pipes.len());
        for &pipe in pipes {
            branches.push((self.pipes[pipe as usize].to, path.len() + 1));
            path.extend([pipe, 0]);
        }
        branches
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held::Held::Lent;
    use crate::lab::{delay, segments, sprayed, tcp};
    use crate::world::World;
    use dumbbell_cc::plugin::NoPlugins;
    use dumbbell_model::scenario::{Algorithm, NeighbourDiscovery, SprayPolicy, SprayWhat};
    use dumbbell_model::{Scenario, Span};

    /// All ways of a packet from a node on, as names of pipes: behind `?` if the neighbour must be known,
    /// behind `|` if the node chooses.
    fn ways(world: &World<'_>, packet: Handle, node: usize) -> Vec<String> {
        let (mark, pipes) = match world.paths.next(packet) {
            Hop::Destination => return vec![".".to_owned()],
            Hop::Pipe(pipe) => ("", vec![pipe as u32]),
            Hop::Neighbour(pipe) => ("?", vec![pipe as u32]),
            Hop::Choice if node == world.target(packet) => return vec![".".to_owned()],
            Hop::Choice => {
                let to = world.routes.destination(packet.flow, packet.outward);
                ("|", world.routes.pipes(node, to).to_vec())
            }
        };
        let mut all = Vec::new();
        for pipe in pipes {
            let hop = world.paths.taken(packet, pipe as usize).1;
            let pipe = &world.pipes[pipe as usize];
            for way in ways(world, Handle { hop, ..packet }, pipe.to as usize) {
                all.push(format!("{mark}{} {way}", pipe.name));
            }
        }
        all
    }

    #[test]
    fn a_path_goes_on_behind_every_branch() {
        let paths = [1, 2].map(|ms| delay(Span::from_ms(ms)));
        let (policy, what) = (SprayPolicy::RoundRobin, SprayWhat::Both);
        let mut scenario = sprayed(Span::from_s(1), &paths, policy, what);
        scenario.flows.push(tcp("f", 0, Algorithm::Cubic, segments(1)));
        let outward = |scenario: &Scenario| {
            let Ok(world) = crate::session::begin(Lent(scenario), 1, Lent(&NoPlugins)) else {
                panic!("no world")
            };
            assert!(!world.paths.complete());
            let packet = Handle { id: 0, flow: 0, frame_bytes: 66, outward: true, tos: 0, hop: 0 };
            ways(&world, packet, world.targets[0][1] as usize)
        };
        let known = ["a0/forward |p0/forward b0/forward .", "a0/forward |p1/forward b0/forward ."];
        assert_eq!(outward(&scenario), known);
        scenario.neighbour_discovery =
            Some(NeighbourDiscovery { reachable: Span::from_s(3), probe_delay: Span::from_s(1) });
        let asked = known.map(|way| way.replace("a0", "?a0").replace("b0", "?b0"));
        assert_eq!(outward(&scenario), asked);
        scenario = sprayed(Span::from_s(1), &vec![delay(Span::ZERO); BRANCHED_MAX], policy, what);
        scenario.flows.push(tcp("f", 0, Algorithm::Cubic, segments(1)));
        let many = outward(&scenario);
        assert_eq!(many.len(), BRANCHED_MAX);
        assert_eq!(many[7], "|a0/forward |p7/forward |b0/forward .");
    }
}
