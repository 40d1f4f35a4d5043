//! Prefetches the memory that the next events will read. With thousands of flows their state does
//! not fit the inner caches, and most of a packet's cost is waiting for memory. Nothing here changes
//! what is simulated.

use crate::world::World;
use prefetch_index::prefetch_index;

/// With fewer pending events, all state is in the cache.
const FEW: usize = 64;

impl World<'_> {
    /// Prefetches for the events that come soon: each step for one event later than the step that it
    /// needs.
    pub(crate) fn fetch_ahead(&self) {
        if self.events.len() < FEW {
            return;
        }
        let Some((soon, next)) = self.events.soon() else { return };
        for source in self.events.later(next).into_iter().flatten() {
            prefetch_index(&self.pipes, source as usize);
        }
        for source in soon {
            let Some(pipe) = self.pipes.get(source as usize) else { continue };
            prefetch_index(std::slice::from_ref(&pipe.stats), 0);
            pipe.fetch_line();
        }
        let next = self.pipes.get(soon[next] as usize);
        if let Some(packet) = next.and_then(|pipe| pipe.to_arrive(0)) {
            self.arena.fetch(packet);
            prefetch_index(&self.flows, packet.flow as usize);
        }
    }
}
