//! Paths of flows, found before the run: the pipes that a flow's packets take, as far as neither a turn
//! nor a draw chooses one of several.

use super::link::Pipe;
use super::route::Routes;
use crate::arena::Handle;
use crate::arrive::put;
use std::collections::BTreeMap;

/// Ends of a list of pipes.
const DESTINATION: u32 = u32::MAX;
const CHOICE: u32 = u32::MAX - 1;

/// Next hop of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hop {
    Pipe(usize),
    /// The packet is at its destination.
    Destination,
    /// The node chooses ([`Routes::next_pipe`]), as do all behind it.
    Choice,
}

/// Paths of all flows, there and back. Flows between the same hosts share theirs.
pub(crate) struct Paths {
    /// Place of the first hop, by flow and direction.
    first: Vec<[u32; 2]>,
    hops: Vec<u32>,
    /// True if no path ends at a choice.
    complete: bool,
}

impl Paths {
    /// `targets`: destination nodes of a flow's packets, outward and back. With `resolve`, nodes
    /// resolve the address of the next hop, and may choose another.
    pub(crate) fn new(
        pipes: &[Pipe],
        routes: &Routes,
        targets: &[[u32; 2]],
        resolve: bool,
    ) -> Self {
        let mut paths = Self { first: Vec::new(), hops: Vec::new(), complete: true };
        let mut known: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        paths.first.reserve(targets.len());
        for (flow, &[to, from]) in targets.iter().enumerate() {
            paths.first.push([(true, from, to), (false, to, from)].map(|(outward, from, to)| {
                let path = if resolve {
                    vec![CHOICE]
                } else {
                    path(pipes, routes, flow as u32, outward, [from, to])
                };
                paths.complete &= path.last() == Some(&DESTINATION);
                *known.entry(path).or_insert_with_key(|path| {
                    paths.hops.extend(path);
                    (paths.hops.len() - path.len()) as u32
                })
            }));
        }
        paths
    }

    /// Returns true if all paths lead to their destination without a choice.
    pub(crate) fn complete(&self) -> bool {
        self.complete
    }

    /// Removes the flows from number `first` on; their entries.
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
        let Some(first) = self.first.get(packet.flow as usize) else { return Hop::Choice };
        let place = first[usize::from(!packet.outward)] as usize + usize::from(packet.hop);
        match self.hops.get(place) {
            Some(&DESTINATION) => Hop::Destination,
            Some(&CHOICE) | None => Hop::Choice,
            Some(&pipe) => Hop::Pipe(pipe as usize),
        }
    }

    /// Pipes of a flow's path.
    pub(crate) fn pipes(&self, flow: usize, outward: bool) -> impl Iterator<Item = usize> + '_ {
        let first = self.first[flow][usize::from(!outward)] as usize;
        let hops = self.hops[first..].iter().take_while(|&&hop| hop < CHOICE);
        hops.map(|&pipe| pipe as usize)
    }
}

fn path(
    pipes: &[Pipe],
    routes: &Routes,
    flow: u32,
    outward: bool,
    [from, to]: [u32; 2],
) -> Vec<u32> {
    let mut path = Vec::new();
    let mut node = from;
    while node != to || path.is_empty() {
        let origin = if path.is_empty() { routes.origin(flow, outward) } else { None };
        let next = origin.or_else(|| routes.sure_pipe(node as usize, flow, outward));
        let Some(pipe) = next.filter(|_| path.len() < usize::from(u16::MAX)) else {
            path.push(CHOICE);
            return path;
        };
        path.push(pipe as u32);
        node = pipes[pipe].to;
    }
    path.push(DESTINATION);
    path
}
