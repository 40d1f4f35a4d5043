//! Queue disciplines that decide what leaves: one algorithm per file.
//!
//! Below a shaper one packet at a time is taken out and kept until it may go
//! (`qdisc_peek_dequeued`): the discipline decides when the packet before has left.

mod codel;
mod fq_codel;

use crate::arena::Handle;
use codel::Codel;
use dumbbell_model::scenario::Queue;
use dumbbell_model::Time;
use fq_codel::FqCodel;
use std::collections::VecDeque;

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub(crate) packet: Handle,
    pub(crate) arrived: Time,
    /// As the shaper counts it.
    pub(crate) bytes: u32,
}

/// First in, first out, with its length in bytes.
#[derive(Debug, Default)]
struct Fifo {
    packets: VecDeque<Queued>,
    bytes: u64,
}

impl Fifo {
    fn push(&mut self, queued: Queued) {
        self.bytes += u64::from(queued.bytes);
        self.packets.push_back(queued);
    }

    fn pop(&mut self) -> Option<Queued> {
        let queued = self.packets.pop_front()?;
        self.bytes -= u64::from(queued.bytes);
        Some(queued)
    }
}

/// A discipline with its queue.
#[derive(Debug)]
pub(crate) enum Discipline {
    Codel(Codel),
    FqCodel(FqCodel),
}

impl Discipline {
    /// That of a queue which is more than a room.
    pub(crate) fn of(queue: Queue) -> Option<Self> {
        match queue {
            Queue::Codel { target, interval, .. } => {
                Some(Self::Codel(Codel::new(target, interval)))
            }
            Queue::FqCodel { limit_packets, flows, quantum_bytes, target, interval } => {
                let fq = FqCodel::new(limit_packets, flows, quantum_bytes, target, interval);
                Some(Self::FqCodel(fq))
            }
            Queue::DropTail { .. } | Queue::Netem { .. } => None,
        }
    }

    /// A packet arrives, beside so many that were taken out and have not left. What does not fit
    /// because of it is added to `dropped`.
    pub(crate) fn enqueue(&mut self, queued: Queued, beside: usize, dropped: &mut Vec<Handle>) {
        match self {
            Self::Codel(codel) => codel.enqueue(queued),
            Self::FqCodel(fq) => fq.enqueue(queued, beside, dropped),
        }
    }

    /// The packet that leaves next; what is dropped on the way is added to `dropped`.
    pub(crate) fn dequeue(&mut self, now: Time, dropped: &mut Vec<Handle>) -> Option<Queued> {
        match self {
            Self::Codel(codel) => codel.dequeue(now, dropped),
            Self::FqCodel(fq) => fq.dequeue(now, dropped),
        }
    }

    /// Packets and bytes that wait.
    pub(crate) fn length(&self) -> (usize, u64) {
        match self {
            Self::Codel(codel) => codel.length(),
            Self::FqCodel(fq) => fq.length(),
        }
    }
}
