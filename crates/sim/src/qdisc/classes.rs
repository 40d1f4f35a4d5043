//! Classes of disciplines that have them: by the codepoint of a packet.

use super::Qdisc;
use crate::arena::Handle;
use dumbbell_packet::frame::NO_FLOW;

/// Finds the class of a packet by its codepoint. Frames without IP belong to the class that takes the
/// rest.
#[derive(Debug)]
pub(super) struct Classifier {
    class_of: [u8; 64],
    rest: usize,
}

impl Classifier {
    pub(super) fn new<'a>(dscps: impl Iterator<Item = &'a [u8]> + Clone) -> Self {
        let rest = dscps.clone().position(<[u8]>::is_empty).unwrap_or(0);
        let mut class_of = [rest as u8; 64];
        for (class, dscp) in dscps.enumerate() {
            for point in dscp {
                class_of[usize::from(point & 63)] = class as u8;
            }
        }
        Self { class_of, rest }
    }

    pub(super) fn class(&self, packet: &Handle) -> usize {
        match packet.flow {
            NO_FLOW => self.rest,
            _ => usize::from(self.class_of[usize::from(packet.tos >> 2)]),
        }
    }
}

/// Packets and bytes that wait in some queues together.
pub(super) fn together<'a>(queues: impl Iterator<Item = &'a Qdisc>) -> (usize, u64) {
    queues.map(Qdisc::length).fold((0, 0), |(packets, bytes), (p, b)| (packets + p, bytes + b))
}
