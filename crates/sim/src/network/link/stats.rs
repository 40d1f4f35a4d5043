//! Counters of a pipe.

use crate::drop_reason::DropReason;
use dumbbell_model::Span;

/// Counters for the `pipes` and `queues` tables: what counts each packet first.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct PipeStats {
    pub(crate) arrived_packets: u64,
    pub(crate) arrived_bytes: u64,
    pub(crate) left_packets: u64,
    pub(crate) left_bytes: u64,
    /// Packet·picoseconds in the queue, and packets that left it.
    pub(crate) sojourn_ps: u128,
    pub(crate) sojourn_packets: u64,
    pub(crate) sojourn_max_ps: u64,

    pub(crate) queue_max: usize,
    /// Sojourn times since the last sample, ps; `None` if queues are not sampled.
    pub(crate) recent_ps: Option<Vec<u64>>,
    pub(crate) dropped: [u64; DropReason::ALL.len()],
    pub(crate) marked: u64,
    /// Values of `sojourn_ps` and `sojourn_packets` at the last sample.
    pub(crate) sampled_ps: u128,
    pub(crate) sampled_packets: u64,
}

impl PipeStats {
    #[inline(always)]
    pub(crate) fn leaves(&mut self, waited: Span) {
        self.sojourn_ps += u128::from(waited.as_ps());
        self.sojourn_packets += 1;
        self.sojourn_max_ps = self.sojourn_max_ps.max(waited.as_ps());
        if let Some(recent_ps) = &mut self.recent_ps {
            recent_ps.push(waited.as_ps());
        }
    }

    /// Congestion signals and filtered ACKs.
    pub(crate) fn dropped_by_discipline(&self) -> u64 {
        self.dropped[DropReason::Aqm as usize] + self.dropped[DropReason::Filtered as usize]
    }

    pub(crate) fn dropped_total(&self) -> u64 {
        self.dropped.iter().sum()
    }
}
