//! A flow at run time: its ends and what the network counts of it.

use crate::arrived::Arrived;
use crate::endpoint::Ends;
use crate::reorder::Reorder;
use dumbbell_model::Time;

/// A flow at run time.
pub(crate) struct FlowState {
    pub(crate) ends: Ends,
    /// Codepoint of its packets.
    pub(crate) dscp: u8,
    pub(crate) start: Time,
    pub(crate) stop: Option<Time>,
    /// Packets sent outward and back.
    pub(crate) sent: [u64; 2],
    pub(crate) sent_bytes: u64,
    pub(crate) received_packets: u64,
    pub(crate) received_bytes: u64,
    pub(crate) dropped: u64,
    pub(crate) reorder: Reorder,
    /// Packets of the source that have arrived, where the network makes copies.
    pub(crate) arrived: Option<Box<Arrived>>,
    /// Packets whose payload was there already, because another copy of them had brought it.
    pub(crate) copies: u64,
}

impl FlowState {
    /// A sample for the flow's means, which end with its `stop`: what its buffer still holds then is
    /// no part of them. False if there will be no other.
    pub(crate) fn sample_window(&mut self, now: Time) -> bool {
        self.stop.is_none_or(|stop| now <= stop) && self.ends.sample_window()
    }
}
