//! Storage of all packets under way. Everything else holds handles.

use dumbbell_packet::{Body, Packet, Segment};
use prefetch_index::prefetch_index;

/// Number of a packet in the arena.
pub(crate) type PacketId = u32;

/// Handle of a packet, with the fields that every hop needs. The packet itself lies elsewhere in
/// memory and is read only where its content counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    pub(crate) id: PacketId,
    pub(crate) flow: u32,
    pub(crate) frame_bytes: u32,
    pub(crate) outward: bool,
    /// Codepoint and ECN field, as in the IP header.
    pub(crate) tos: u8,
    /// Pipes of its path that it has entered (`network/path`).
    pub(crate) hop: u16,
}

/// ECN: congestion was experienced (RFC 3168 §5).
const CE: u8 = 3;

impl Handle {
    /// Returns true if CE is set.
    pub(crate) fn is_marked(&self) -> bool {
        self.tos & CE == CE
    }

    /// Sets CE, if the packet's ends understand it.
    pub(crate) fn mark_ce(&mut self) -> bool {
        let capable = self.tos & CE != 0;
        if capable {
            self.tos |= CE;
        }
        capable
    }
}

/// A pool of packets. Freed places are reused, the latest first.
#[derive(Default)]
pub(crate) struct Arena {
    packets: Vec<Packet>,
    free: Vec<PacketId>,
}

impl Arena {
    /// An arena without packets.
    #[cfg(test)]
    pub(crate) const EMPTY: Self = Self { packets: Vec::new(), free: Vec::new() };

    #[inline(always)]
    pub(crate) fn insert(&mut self, packet: Packet) -> Handle {
        let Packet { flow, frame_bytes, outward, tos, .. } = packet;
        let id = if let Some(id) = self.free.pop() {
            self.packets[id as usize] = packet;
            id
        } else {
            self.packets.push(packet);
            (self.packets.len() - 1) as PacketId
        };
        Handle { id, flow, frame_bytes, outward, tos, hop: 0 }
    }

    /// Inserts a TCP segment. Without SACK blocks it writes only the first cache line of a place
    /// that held another segment.
    #[inline(always)]
    pub(crate) fn insert_segment(
        &mut self,
        flow: u32,
        outward: bool,
        tos: u8,
        segment: &Segment,
    ) -> Handle {
        let frame_bytes = segment.frame_bytes();
        let Some(id) = self.free.pop() else {
            let body = Body::Tcp(*segment);
            return self.insert(Packet { number: 0, flow, frame_bytes, outward, tos, body });
        };
        let place = &mut self.packets[id as usize];
        (place.flow, place.frame_bytes) = (flow, frame_bytes);
        (place.outward, place.tos) = (outward, tos);
        match &mut place.body {
            Body::Tcp(held) => segment.copy_to(held),
            body => *body = Body::Tcp(*segment),
        }
        Handle { id, flow, frame_bytes, outward, tos, hop: 0 }
    }

    pub(crate) fn get(&self, handle: Handle) -> &Packet {
        &self.packets[handle.id as usize]
    }

    pub(crate) fn get_mut(&mut self, handle: Handle) -> &mut Packet {
        &mut self.packets[handle.id as usize]
    }

    /// The packet, if its place exists.
    pub(crate) fn find(&self, handle: Handle) -> Option<&Packet> {
        self.packets.get(handle.id as usize)
    }

    /// Prefetches the packet.
    pub(crate) fn fetch(&self, handle: Handle) {
        prefetch_index(&self.packets, handle.id as usize);
    }

    /// Sets the number of a packet that is sent now, and the codepoint of its handle.
    pub(crate) fn complete(&mut self, handle: Handle, number: u64) {
        let packet = &mut self.packets[handle.id as usize];
        packet.number = number;
        packet.tos = handle.tos;
    }

    /// Copies the mark of the handle into the packet.
    pub(crate) fn mark(&mut self, handle: Handle) {
        self.packets[handle.id as usize].tos = handle.tos;
    }

    /// Frees the packet's place.
    pub(crate) fn free(&mut self, handle: Handle) {
        self.free.push(handle.id);
    }

    /// Number of packets inserted and not freed.
    pub(crate) fn alive(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}
