//! The line of a pipe: packets in propagation, in order of arrival.

use super::stage::Departure;
use super::{Pipe, Release};
use crate::arena::Handle;
use crate::give_back::{give_back, push_back};
use dumbbell_model::Time;
use prefetch_index::prefetch_index;

/// A packet in propagation.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnLine {
    pub(super) arrival: Time,
    /// Time at which it left the queue.
    pub(super) start: Time,
    pub(super) packet: Handle,
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): neighbours are far apart.
fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

impl Pipe {
    /// Puts a packet onto the line: sent from `start` to `end`, it arrives after the delay.
    #[inline(always)]
    pub(super) fn depart(&mut self, start: Time, end: Time, packet: Handle) {
        let mut arrival = end + self.delay;
        if let Some(row) = self.row.as_mut().filter(|_| self.acting.egress) {
            let previous_arrival = self.line.back().map(|last| last.arrival);
            let length = end.since(start);
            let mut departure =
                Departure { arrival, length, may_overtake: false, previous_arrival };
            row.depart(&mut departure, &mut self.rng);
            arrival = departure.arrival;
        }
        let entry = OnLine { arrival, start, packet };
        if self.line.back().is_none_or(|last| last.arrival <= arrival) {
            push_back(&mut self.line, entry);
        } else {
            let index = self.line.partition_point(|before| before.arrival <= arrival);
            self.line.insert(index, entry);
        }
    }

    pub(crate) fn is_line_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// Prefetches the head of the line.
    pub(crate) fn fetch_line(&self) {
        prefetch_index(self.line.as_slices().0, 0);
    }

    /// The packet that arrives `behind` packets after the next one.
    pub(crate) fn to_arrive(&self, behind: usize) -> Option<Handle> {
        self.line.get(behind).map(|entry| entry.packet)
    }

    /// Time at which the next packet arrives, or must be handed on.
    #[inline(always)]
    pub(crate) fn line_event(&self) -> Option<Time> {
        let head = self.line.front()?;
        if self.lookahead.is_zero() {
            return Some(head.arrival);
        }
        let must = head.arrival + self.lookahead;
        Some(self.urgent.front().map_or(must, |urgent| must.min(*urgent)))
    }

    /// Marks the last packet of the line as urgent: it needs an event at its arrival.
    pub(crate) fn last_is_urgent(&mut self) {
        self.urgent.extend(self.line.back().map(|last| last.arrival));
    }

    /// The next urgent packet has arrived.
    pub(crate) fn urgent_arrived(&mut self) {
        self.urgent.pop_front();
    }

    /// Takes the next packet that has arrived by `until`, with its time of arrival.
    pub(crate) fn arrived(&mut self, until: Time) -> Option<(Time, Handle)> {
        let head = *self.line.front().filter(|head| head.arrival <= until)?;
        self.line.pop_front();
        give_back(&mut self.line);
        self.left(head.packet.frame_bytes);
        Some((head.arrival, head.packet))
    }

    /// Bytes that have arrived by now, including packets that wait to be handed on.
    pub(crate) fn left_bytes(&self, now: Time) -> u64 {
        let mut bytes = self.stats.left_bytes;
        if !self.lookahead.is_zero() {
            let waits = self.line.iter().take_while(|entry| entry.arrival <= now);
            bytes += waits.map(|entry| u64::from(entry.packet.frame_bytes)).sum::<u64>();
        }
        bytes
    }

    /// Returns true if the last packet stands behind others that hold the line's event.
    #[inline(always)]
    pub(crate) fn follows(&self) -> bool {
        self.keeps_order && self.is_line && self.lookahead.is_zero() && self.line.len() > 1
    }

    /// Draw that orders two packets which arrive at a node at one instant over different serial links.
    /// Links of one rate make trains that lock to each other, and one link would win every time. On
    /// real machines and on the kernel's engine the last nanoseconds decide, the same way while both
    /// trains last: so the draw depends on when the train began. Trains that began together keep the
    /// order in which they were sent.
    #[inline(always)]
    pub(crate) fn draw(&mut self) -> Option<u8> {
        if self.mere_delay {
            return None; // Its two cache lines are enough.
        }
        let head = self.line.front()?;
        while self.trains.get(1).is_some_and(|began| *began <= head.start) {
            self.trains.pop_front();
        }
        Some((mix(self.trains.front()?.as_ps()) >> 60) as u8)
    }

    /// Time at which the packet that arrives next left the queue.
    pub(crate) fn head_left_at(&self) -> Option<Time> {
        self.line.front().map(|head| head.start)
    }

    /// Packets that left the queue by `end` and have not arrived, with the time they left.
    pub(crate) fn under_way(&self, end: Time) -> Vec<(Time, Handle)> {
        let line = self.line.iter().filter(|entry| entry.start <= end);
        line.map(|entry| (entry.start, entry.packet)).collect()
    }

    /// Takes the packet that arrives now.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, now: Time) -> Release {
        let Some(head) = self.line.front().filter(|head| head.arrival <= now).copied() else {
            return Release::Nothing;
        };
        self.line.pop_front();
        give_back(&mut self.line);
        self.emerge(head.packet)
    }
}
