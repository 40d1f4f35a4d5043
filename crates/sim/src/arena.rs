//! Packets on their way, in one place; everything else holds their numbers.

use dumbbell_packet::Packet;

/// Number of a packet in the arena.
pub(crate) type PacketId = u32;

/// A pool of packets. Freed places are used again, latest first.
#[derive(Default)]
pub(crate) struct Arena {
    packets: Vec<Packet>,
    free: Vec<PacketId>,
}

impl Arena {
    pub(crate) fn insert(&mut self, packet: Packet) -> PacketId {
        if let Some(id) = self.free.pop() {
            self.packets[id as usize] = packet;
            return id;
        }
        self.packets.push(packet);
        (self.packets.len() - 1) as PacketId
    }

    pub(crate) fn get(&self, id: PacketId) -> &Packet {
        &self.packets[id as usize]
    }

    pub(crate) fn remove(&mut self, id: PacketId) -> Packet {
        self.free.push(id);
        self.packets[id as usize]
    }

    /// Packets that were put in and not taken out.
    pub(crate) fn alive(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}
