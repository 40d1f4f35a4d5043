//! Address resolution in the running world: known neighbours, and ARP's packets.

use crate::arena::Handle;
use crate::drop_reason::DropReason;
use crate::network::neighbour::{Lookup, Neighbours};
use crate::world::World;
use dumbbell_model::scenario::NodeKind;
use dumbbell_packet::frame::{ARP_FRAME_BYTES, NO_FLOW};
use dumbbell_packet::{Body, Packet};

impl World<'_> {
    /// Moves a packet behind the only pipe that it can take, once the neighbour is known.
    #[inline(always)]
    pub(crate) fn resolve_next(&mut self, packet: &mut Handle, pipe: usize) -> Option<usize> {
        let place = self.paths.place(*packet);
        if self.neighbours.as_ref().is_some_and(|neighbours| neighbours.knows(place)) {
            packet.hop += 1;
            return Some(pipe);
        }
        self.resolve(packet, pipe)
    }

    /// Moves a packet behind the pipe to take: the chosen one if its neighbour is known, else another
    /// next hop whose neighbour is known. Returns that pipe. Otherwise the packet waits at the chosen
    /// one (`teql_master_xmit`).
    #[inline]
    pub(crate) fn resolve(&mut self, packet: &mut Handle, chosen: usize) -> Option<usize> {
        let (place, hop) = self.paths.taken(*packet, chosen);
        if self.neighbours.as_ref()?.knows(place) {
            packet.hop = hop;
            return Some(chosen);
        }
        let pipe = self.ask_neighbours(*packet, chosen)?;
        packet.hop = self.paths.taken(*packet, pipe).1;
        Some(pipe)
    }

    fn ask_neighbours(&mut self, packet: Handle, chosen: usize) -> Option<usize> {
        let destination = self.routes.destination(packet.flow, packet.outward);
        let node = self.pipes[chosen ^ 1].to as usize;
        let sprays = self.routes.sprays(node);
        let ways = self.routes.pipes(node, destination);
        // A subflow leaves its host by one interface only.
        let order: Vec<usize> = match ways.iter().position(|&way| way as usize == chosen) {
            Some(start) if sprays => {
                ways[start..].iter().chain(&ways[..start]).map(|&way| way as usize).collect()
            }
            _ => vec![chosen],
        };
        let mut wait_at = None;
        for way in order {
            let path = self.path_to_neighbour(way, destination);
            let revalidates = self.scenario.nodes[node].kind == NodeKind::Router;
            let now = self.now;
            let neighbours = self.neighbours.as_mut()?;
            match neighbours.lookup(now, &path, revalidates) {
                Lookup::Resolved { entry, timer } => {
                    let (place, hop) = self.paths.taken(packet, way);
                    if hop != packet.hop {
                        neighbours.note(place, entry);
                    }
                    if timer {
                        self.schedule_neighbours();
                    }
                    return Some(way);
                }
                Lookup::Unresolved { entry, ask } => {
                    wait_at.get_or_insert(entry);
                    if ask {
                        self.ask(entry);
                    }
                }
            }
        }
        let dropped = self.neighbours.as_mut()?.wait(wait_at?, packet);
        if let Some(dropped) = dropped {
            self.drop_packet(chosen, dropped, DropReason::Overflow);
        }
        self.schedule_neighbours();
        None
    }

    /// Pipes to the next host or router on the path; switches lie between.
    fn path_to_neighbour(&self, first: usize, destination: usize) -> Vec<usize> {
        let mut path = vec![first];
        let mut node = self.pipes[first].to as usize;
        while self.scenario.nodes[node].kind == NodeKind::Switch {
            let Some(&pipe) = self.routes.pipes(node, destination).first() else { break };
            path.push(pipe as usize);
            node = self.pipes[pipe as usize].to as usize;
        }
        path
    }

    /// Sends the request of an entry.
    fn ask(&mut self, entry: u32) {
        self.send_arp(entry, 0, false);
        self.schedule_neighbours();
    }

    /// Offers an ARP packet to the next pipe of its path; a reply takes the path back.
    fn send_arp(&mut self, entry: u32, hops: u32, reply: bool) {
        let Some(neighbours) = &self.neighbours else { return };
        let path = neighbours.path(entry);
        let hop = hops as usize;
        let pipe = if reply { path[path.len() - 1 - hop] ^ 1 } else { path[hop] };
        let packet = Packet {
            flow: NO_FLOW,
            outward: !reply,
            tos: 0,
            frame_bytes: ARP_FRAME_BYTES,
            number: u64::from(entry),
            body: Body::Arp { entry, hops: hops + 1, reply },
        };
        if hop == 0 {
            self.routes.own_packet(pipe);
        }
        let packet = self.arena.insert(packet);
        self.packets += 1;
        self.enter(pipe, packet);
    }

    pub(crate) fn arp_at_node(&mut self, packet: Handle, node: usize) {
        let body = self.arena.get(packet).body;
        self.arena.free(packet);
        let Body::Arp { entry, hops, reply } = body else { return };
        let now = self.now;
        let Some(neighbours) = &mut self.neighbours else { return };
        if (hops as usize) < neighbours.path(entry).len() {
            self.send_arp(entry, hops, reply);
            return;
        }
        let first = neighbours.path(entry)[0];
        if reply {
            for mut packet in neighbours.answered(now, entry) {
                packet.hop = self.paths.taken(packet, first).1;
                self.enter(first, packet);
            }
        } else {
            // Who asks from an interface of a bundle asks under that interface's address, and is
            // known under the bundle's: nobody learns that from the question (`arp_solicit`).
            let asker = self.pipes[first ^ 1].to as usize;
            if !self.routes.bundled(asker, first) {
                let revalidates = self.scenario.nodes[node].kind == NodeKind::Router;
                for packet in neighbours.asked(entry, revalidates) {
                    self.inbox.push_back((packet, node));
                }
            }
            self.send_arp(entry, 0, true);
        }
        self.schedule_neighbours();
    }

    fn schedule_neighbours(&mut self) {
        let at = self.neighbours.as_ref().and_then(Neighbours::next_deadline);
        let source = self.neighbour_source();
        self.set(source, at);
    }

    pub(crate) fn neighbour_timeout(&mut self) {
        let now = self.now;
        let Some(neighbours) = &mut self.neighbours else { return };
        for entry in neighbours.on_timeout(now) {
            self.send_arp(entry, 0, false);
        }
        self.schedule_neighbours();
    }
}
