//! Lookahead (K. M. Chandy, J. Misra, "Distributed Simulation", IEEE Trans. Software Eng. SE-5(5),
//! 1979). A pipe whose packets all continue over mere delays needs no event per packet: a packet that
//! arrives now leaves the next pipe only after that pipe's delay. Until then arrivals wait, and are
//! handed on together, each with its own time. Their events are inserted earlier than they would be
//! without lookahead: the order of two events of one picosecond may differ.

use crate::arena::Handle;
use crate::network::link::Pipe;
use crate::network::route::Routes;
use crate::world::World;
use dumbbell_model::Scenario;
use prefetch_index::prefetch_index;

/// Distance of the prefetch in the line, packets.
const FETCH_AHEAD: usize = 8;

/// Returns the patient pipes: mere delays that receive all their packets from one pipe, in order. Sets
/// in each pipe before them how long arrivals may wait.
pub(crate) fn patient(
    scenario: &Scenario,
    pipes: &mut [Pipe],
    routes: &Routes,
    targets: &[[u32; 2]],
) -> Vec<bool> {
    let mut patient = vec![false; pipes.len()];
    // Observers need each packet at its own event; so do ARP and spraying.
    let observed = !scenario.taps.is_empty()
        || scenario.sampling.hops.is_some()
        || scenario.sampling.capture.is_some();
    if observed || scenario.neighbour_discovery.is_some() || routes.branch() {
        return patient;
    }
    for (next, before) in feeders(pipes, routes, targets).into_iter().enumerate() {
        let Feeders::One(before) = before else { continue };
        let (delay, mere_delay) = (pipes[next].delay, pipes[next].mere_delay);
        let before = &mut pipes[before];
        if mere_delay && !delay.is_zero() && before.keeps_order {
            patient[next] = true;
            let known = Some(before.lookahead).filter(|known| !known.is_zero());
            before.lookahead = known.map_or(delay, |known| known.min(delay));
        }
    }
    patient
}

/// Origin of a pipe's packets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feeders {
    None,
    One(usize),
    /// Several pipes, or a host.
    Others,
}

fn feeders(pipes: &[Pipe], routes: &Routes, targets: &[[u32; 2]]) -> Vec<Feeders> {
    let mut feeders = vec![Feeders::None; pipes.len()];
    for (flow, &[to, from]) in targets.iter().enumerate() {
        for (outward, from, to) in [(true, from, to), (false, to, from)] {
            let next_pipe = |node| routes.sure_pipe(node as usize, flow as u32, outward);
            let mut feeder = Feeders::Others;
            let mut next = routes.origin(flow as u32, outward).or_else(|| next_pipe(from));
            while let Some(pipe) = next {
                let known = &mut feeders[pipe];
                *known =
                    if [Feeders::None, feeder].contains(known) { feeder } else { Feeders::Others };
                feeder = Feeders::One(pipe);
                next = if pipes[pipe].to == to { None } else { next_pipe(pipes[pipe].to) };
            }
        }
    }
    feeders
}

impl World<'_> {
    /// Marks the packet just put on a line as urgent unless it continues to a patient pipe.
    pub(crate) fn put_on_line(&mut self, pipe: usize, packet: Handle) {
        if !self.pipes[pipe].lookahead.is_zero() && self.next_patient(pipe, packet).is_none() {
            self.pipes[pipe].last_is_urgent();
        }
    }

    fn next_patient(&self, pipe: usize, packet: Handle) -> Option<usize> {
        let node = self.pipes[pipe].to as usize;
        if self.target(packet) == node {
            return None;
        }
        let next = self.routes.sure_pipe(node, packet.flow, packet.outward)?;
        self.patient[next].then_some(next)
    }

    /// Moves packets that have arrived at the far end by now onto the next lines.
    pub(crate) fn hand_on(&mut self, pipe: usize) {
        while let Some((at, packet)) = self.pipes[pipe].arrived(self.now) {
            self.prefetch_next_hop(pipe);
            if packet.is_marked() {
                self.arena.mark(packet);
            }
            if let Some(next) = self.next_patient(pipe, packet) {
                self.pipes[next].offer(at, packet, &self.arena);
                self.put_on_line(next, packet);
                self.kept(next);
            } else {
                debug_assert_eq!(at, self.now, "an urgent packet has an event");
                self.pipes[pipe].urgent_arrived();
                self.at_far_end(pipe, packet);
            }
        }
        self.schedule_line(pipe);
    }

    /// Hands on everything, at the end of the run.
    pub(crate) fn hand_on_all(&mut self) {
        for pipe in 0..self.pipes.len() {
            if !self.pipes[pipe].lookahead.is_zero() {
                self.hand_on(pipe);
            }
        }
    }

    /// Prefetches the next-hop pipe of a packet that arrives some packets later.
    fn prefetch_next_hop(&self, pipe: usize) {
        let pipe = &self.pipes[pipe];
        let Some(packet) = pipe.to_arrive(FETCH_AHEAD) else { return };
        let next = self.routes.sure_pipe(pipe.to as usize, packet.flow, packet.outward);
        if let Some(next) = next.and_then(|next| self.pipes.get(next)) {
            prefetch_index(std::slice::from_ref(next), 0);
            prefetch_index(std::slice::from_ref(&next.stats), 0);
        }
    }
}
