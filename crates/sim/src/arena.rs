//! Packets on their way, in one place; everything else holds handles.

use dumbbell_packet::Packet;
use prefetch_index::prefetch_index;

/// Number of a packet in the arena.
pub(crate) type PacketId = u32;

/// A packet in the arena, and what is asked of it at every hop: the packet itself is far away in
/// memory, and is looked at only where its content counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    pub(crate) id: PacketId,
    pub(crate) flow: u32,
    pub(crate) frame_bytes: u32,
    pub(crate) outward: bool,
    /// Codepoint and ECN field, as in the IP header.
    pub(crate) tos: u8,
}

/// ECN: congestion was experienced (RFC 3168 §5).
const CE: u8 = 3;

impl Handle {
    /// CE is set.
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

/// A pool of packets. Freed places are used again, latest first.
#[derive(Default)]
pub(crate) struct Arena {
    packets: Vec<Packet>,
    free: Vec<PacketId>,
}

impl Arena {
    pub(crate) fn insert(&mut self, packet: Packet) -> Handle {
        let Packet { flow, frame_bytes, outward, tos, .. } = packet;
        let id = if let Some(id) = self.free.pop() {
            self.packets[id as usize] = packet;
            id
        } else {
            self.packets.push(packet);
            (self.packets.len() - 1) as PacketId
        };
        Handle { id, flow, frame_bytes, outward, tos }
    }

    pub(crate) fn get(&self, handle: Handle) -> &Packet {
        &self.packets[handle.id as usize]
    }

    /// Has the packet brought near.
    pub(crate) fn fetch(&self, handle: Handle) {
        prefetch_index(&self.packets, handle.id as usize);
    }

    /// Writes into the packet what queues have marked.
    pub(crate) fn mark(&mut self, handle: Handle) {
        self.packets[handle.id as usize].tos = handle.tos;
    }

    /// The packet is no more.
    pub(crate) fn free(&mut self, handle: Handle) {
        self.free.push(handle.id);
    }

    /// Packets that were put in and not taken out.
    pub(crate) fn alive(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}
