//! Hands packets on along patient pipes (`network/lookahead`).

use super::World;
use crate::arena::Handle;
use crate::network::path::Hop;
use crate::qdisc::Sight;
use prefetch_index::prefetch_index;

/// Distance of the prefetch in the line, packets.
const FETCH_AHEAD: usize = 8;

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
