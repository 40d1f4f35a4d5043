//! Lookahead (K. M. Chandy, J. Misra, "Distributed Simulation", IEEE Trans. Software Eng. SE-5(5),
//! 1979). A pipe whose packets all continue over mere delays needs no event per packet: a packet that
//! arrives now leaves the next pipe only after that pipe's delay. Until then arrivals wait, and are
//! handed on together, each with its own time. Their events are inserted earlier than they would be
//! without lookahead: the order of two events of one picosecond may differ.

use crate::arena::Handle;
use crate::network::link::Pipe;
use crate::network::path::{Hop, Paths};
use crate::qdisc::Sight;
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
    paths: &Paths,
    flows: usize,
) -> Vec<bool> {
    let mut patient = vec![false; pipes.len()];
    // Observers need each packet at its own event; so do address resolution and choices of the path.
    let observed = !scenario.taps.is_empty()
        || scenario.sampling.hops.is_some()
        || scenario.sampling.capture.is_some();
    if observed || !paths.complete() {
        return patient;
    }
    for (next, before) in feeders(pipes.len(), paths, flows).into_iter().enumerate() {
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

fn feeders(pipes: usize, paths: &Paths, flows: usize) -> Vec<Feeders> {
    let mut feeders = vec![Feeders::None; pipes];
    for flow in 0..flows {
        for outward in [true, false] {
            let mut feeder = Feeders::Others;
            for pipe in paths.pipes(flow, outward) {
                let known = &mut feeders[pipe];
                *known =
                    if [Feeders::None, feeder].contains(known) { feeder } else { Feeders::Others };
                feeder = Feeders::One(pipe);
            }
        }
    }
    feeders
}

impl World<'_> {
    /// Marks the packet just put on a line as urgent unless it continues to a patient pipe.
    #[inline(always)]
    pub(crate) fn put_on_line(&mut self, pipe: usize, packet: Handle) {
        if !self.pipes[pipe].lookahead.is_zero() && self.next_patient(packet).is_none() {
            self.pipes[pipe].last_is_urgent();
        }
    }

    fn next_patient(&self, packet: Handle) -> Option<usize> {
        match self.paths.next(packet) {
            Hop::Pipe(next) if self.patient[next] => Some(next),
            _ => None,
        }
    }

    /// Moves packets that have arrived at the far end by now onto the next lines.
    pub(crate) fn hand_on(&mut self, pipe: usize) {
        while let Some((at, packet)) = self.pipes[pipe].arrived(self.now) {
            self.prefetch_next_hop(pipe);
            if packet.is_marked() {
                self.arena.mark(packet);
            }
            if let Some(next) = self.next_patient(packet) {
                let packet = Handle { hop: packet.hop + 1, ..packet };
                let sight = Sight { arena: &self.arena, targets: &self.targets };
                self.pipes[next].offer(at, packet, &sight);
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
        let Some(packet) = self.pipes[pipe].to_arrive(FETCH_AHEAD) else { return };
        let Hop::Pipe(next) = self.paths.next(packet) else { return };
        if let Some(next) = self.pipes.get(next) {
            prefetch_index(std::slice::from_ref(next), 0);
            prefetch_index(std::slice::from_ref(&next.stats), 0);
        }
    }
}
