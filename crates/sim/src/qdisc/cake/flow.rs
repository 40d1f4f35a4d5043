//! A queue of a tin with its state.

use super::super::Queued;
use super::cobalt::State;
use std::collections::VecDeque;

/// Rotation of a queue (`CAKE_SET_…`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Set {
    /// In none.
    #[default]
    None,
    /// Its packets go first.
    Sparse,
    /// Counted as sparse, but empty among the bulk flows until its deficit is made up.
    SparseWait,
    Bulk,
    /// Empty; COBALT's state has not come to rest.
    Decaying,
}

/// A packet that waits, its length on the line, and its memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) queued: Queued,
    pub(super) line_bytes: u32,
    pub(super) memory_bytes: u32,
}

/// A queue.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub(super) waiting: VecDeque<Waiting>,
    /// Bytes of frames.
    pub(super) bytes: u64,
    pub(super) set: Set,
    /// Bytes on the line that it may still send in this turn.
    pub(super) deficit: i64,
    pub(super) state: State,
    /// Flow that it is reserved for.
    pub(super) tag: u32,
    /// Entries of its hosts.
    pub(super) source: u16,
    pub(super) destination: u16,
}

impl Flow {
    pub(super) fn push(&mut self, waiting: Waiting) {
        self.bytes += u64::from(waiting.queued.bytes);
        self.waiting.push_back(waiting);
    }

    pub(super) fn pop(&mut self) -> Option<Waiting> {
        self.take(0)
    }

    /// Takes out a packet by its place from the head.
    pub(super) fn take(&mut self, place: usize) -> Option<Waiting> {
        let waiting = match place {
            0 => self.waiting.pop_front(),
            _ => self.waiting.remove(place),
        }?;
        self.bytes -= u64::from(waiting.queued.bytes);
        Some(waiting)
    }
}
