//! Prefetches the memory that the next events will read. With thousands of flows their state does
//! not fit the inner caches, and most of a packet's cost is waiting for memory. Nothing here changes
//! what is simulated.

use crate::world::World;
use prefetch_index::prefetch_index;

impl World<'_> {
    /// Prefetches for events that come soon: what one step reads the step before has fetched, when the
    /// event was a level deeper in the heap.
    #[inline(always)]
    pub(crate) fn fetch_ahead(&self) {
        let pipe_of = |level| self.pipes.get(self.events.risen(level)? as usize);
        if let Some(pipe) = pipe_of(3) {
            prefetch_index(std::slice::from_ref(pipe), 0);
        }
        if let Some(pipe) = pipe_of(2) {
            prefetch_index(std::slice::from_ref(&pipe.stats), 0);
            pipe.fetch_line();
        }
        if let Some(packet) = pipe_of(1).and_then(|pipe| pipe.to_arrive(0)) {
            self.arena.fetch(packet);
            prefetch_index(&self.flows, packet.flow as usize);
        }
    }
}
