//! A tin: its queues, their rotations, and what shares its rate (`struct cake_tin_data`).

use super::cobalt::Parameters;
use super::flow::{Flow, Set};
use super::hash::{self, Hosts, Identity, Sides, QUEUES};
use super::lists::{List, Lists};
use super::modes::Share;
use super::rate::PerByte;
use dumbbell_model::queue::{Cake, Isolation};
use dumbbell_model::rng::Rng;

/// Bounds of a flow's quantum (`cake_set_rate`).
const QUANTUM: (u64, u64) = (300, 1514);
/// Part of the round-trip time that may be waited (`tc`: `rtt`).
const TARGETS_PER_RTT: u64 = 20;

/// A tin.
#[derive(Debug)]
pub(super) struct Tin {
    pub(super) flows: Vec<Flow>,
    pub(super) lists: Lists,
    hosts: [Hosts; 2],
    isolation: Isolation,
    pub(super) parameters: Parameters,
    pub(super) per_byte: PerByte,
    /// Time from which its next packet is within the tin's rate, ns (`time_next_packet`).
    pub(super) next_packet: i64,
    /// Bytes of a flow's turn, for a host without other flows.
    flow_quantum: u64,
    /// Bytes of the tin's turn without a shaper.
    pub(super) quantum: i64,
    pub(super) deficit: i64,
    /// Bytes of frames that wait.
    pub(super) bytes: u64,
    pub(super) sparse: usize,
    pub(super) bulk: usize,
    pub(super) decaying: usize,
}

impl Tin {
    pub(super) fn new(spec: &Cake, share: Share, frame_bytes: u32) -> Self {
        let per_byte = PerByte::new(share.bytes_per_s);
        let frame = per_byte.time(frame_bytes);
        let rtt_us = spec.rtt.as_us();
        let least = (1000 * (rtt_us / TARGETS_PER_RTT).max(1)) as i64;
        let target = (frame * 3 / 2).max(least);
        let interval = (1000 * rtt_us as i64 + target - least).max(2 * target);
        let (shortest, longest) = QUANTUM;
        let limited = per_byte.is_limited();
        let flow_quantum =
            if limited { (share.bytes_per_s >> 12).clamp(shortest, longest) } else { longest };
        let sides = Sides::of(spec.isolation);
        let mut flows = Vec::new();
        flows.resize_with(usize::from(QUEUES), Flow::default);
        Self {
            flows,
            lists: Lists::new(QUEUES),
            hosts: [Hosts::new(sides.source), Hosts::new(sides.destination)],
            isolation: spec.isolation,
            parameters: Parameters { target, interval, frame },
            per_byte,
            next_packet: 0,
            flow_quantum,
            quantum: share.quantum,
            deficit: 0,
            bytes: 0,
            sparse: 0,
            bulk: 0,
            decaying: 0,
        }
    }

    #[cfg(test)]
    pub(super) fn flow_quantum(&self) -> u64 {
        self.flow_quantum
    }

    /// Queue of a packet.
    pub(super) fn queue(&mut self, identity: Identity) -> usize {
        let [sources, destinations] = &mut self.hosts;
        hash::queue(self.isolation, identity, &mut self.flows, [sources, destinations])
    }

    /// Returns true if a queue may have packets.
    pub(super) fn is_active(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// Bytes of a flow's turn: fewer for a host with many bulk flows (`cake_get_flow_quantum`). A random
    /// number makes up for the rest of the division.
    fn turn(&self, queue: usize, rng: &mut Rng) -> i64 {
        let Flow { source, destination, .. } = self.flows[queue];
        let [sources, destinations] = &self.hosts;
        let load = sources.bulk_flows(source).max(destinations.bulk_flows(destination)).max(1);
        let part = self.flow_quantum * u64::from(u16::MAX / load);
        ((part + (rng.next_u64() >> 48)) >> 16) as i64
    }

    /// A packet has come into a queue.
    pub(super) fn filled(&mut self, queue: usize, rng: &mut Rng) {
        match self.flows[queue].set {
            Set::None | Set::Decaying => {
                self.leave(queue);
                self.lists.append(List::New, queue);
                self.flows[queue].set = Set::Sparse;
                self.sparse += 1;
                self.flows[queue].deficit = self.turn(queue, rng);
            }
            Set::SparseWait => self.enter_bulk(queue),
            Set::Sparse | Set::Bulk => {}
        }
    }

    /// Counts a sparse queue among the bulk flows.
    fn enter_bulk(&mut self, queue: usize) {
        self.flows[queue].set = Set::Bulk;
        self.sparse -= 1;
        self.bulk += 1;
        let Flow { source, destination, .. } = self.flows[queue];
        let [sources, destinations] = &mut self.hosts;
        sources.add(source);
        destinations.add(destination);
    }

    /// Ends the count of a queue in its rotation.
    fn leave(&mut self, queue: usize) {
        let Flow { source, destination, set, .. } = self.flows[queue];
        match set {
            Set::None => {}
            Set::Sparse | Set::SparseWait => self.sparse -= 1,
            Set::Decaying => self.decaying -= 1,
            Set::Bulk => {
                self.bulk -= 1;
                let [sources, destinations] = &mut self.hosts;
                sources.take(source);
                destinations.take(destination);
            }
        }
    }

    /// Queue to serve. `first`: of this packet; one decaying queue is then looked after.
    pub(super) fn next(&self, first: bool) -> Option<usize> {
        let decaying = self.lists.first(List::Decaying);
        let others = || self.lists.first(List::New).or_else(|| self.lists.first(List::Old));
        if first {
            decaying.or_else(others)
        } else {
            others().or(decaying)
        }
    }

    /// Ends the turn of a queue that has used it up.
    pub(super) fn refill(&mut self, queue: usize, rng: &mut Rng) {
        if self.flows[queue].set == Set::Sparse {
            if self.flows[queue].waiting.is_empty() {
                self.flows[queue].set = Set::SparseWait;
            } else {
                self.enter_bulk(queue);
            }
        }
        self.flows[queue].deficit += self.turn(queue, rng);
        self.lists.append(List::Old, queue);
    }

    /// A queue was served, but empty.
    pub(super) fn emptied(&mut self, queue: usize, now: i64) {
        self.flows[queue].state.empty(&self.parameters, now);
        self.leave(queue);
        if self.flows[queue].state.decays(now) {
            self.lists.append(List::Decaying, queue);
            self.flows[queue].set = Set::Decaying;
            self.decaying += 1;
        } else {
            self.lists.remove(queue);
            self.flows[queue].set = Set::None;
        }
    }

    /// Queue with the most bytes: the first of equal ones.
    pub(super) fn longest(&self) -> (u64, usize) {
        let all = [List::New, List::Old].into_iter().flat_map(|list| {
            std::iter::successors(self.lists.first(list), |&queue| self.lists.next(queue))
        });
        let longer = |most: (u64, usize), queue: usize| {
            let bytes = self.flows[queue].bytes;
            if bytes > most.0 {
                (bytes, queue)
            } else {
                most
            }
        };
        all.fold((0, 0), longer)
    }

    /// Charges a packet on the tin's clock (`cake_advance_shaper`).
    pub(super) fn advance(&mut self, line_bytes: u32, now: i64) {
        let time = self.per_byte.time(line_bytes);
        if self.next_packet < now {
            self.next_packet += time;
        } else if self.next_packet < now + time {
            self.next_packet = now + time;
        }
    }
}
