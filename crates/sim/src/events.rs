//! The event queue: an indexed 4-ary heap with at most one pending event per source (a pipe's end,
//! a sender's timers, an application), so its size does not grow with packets in flight.
//!
//! The order is total: by time, then by class, then within the class. Classes of one instant:
//!
//! 1. Timers of the wheel, in an order of their own ([`Turn`]).
//! 2. Other events, in order of insertion: Linux's hrtimers fire so, and two packets of one burst
//!    leave parallel shapers so.
//! 3. Arrivals over serial links, in an order that a draw decides.

use dumbbell_model::Time;

const ABSENT: u32 = u32::MAX;
const ARITY: usize = 4;

/// Number of an event source.
pub(crate) type Source = u32;

/// A pending event: its time; its place among events of that time and, in the low bits, its source.
/// Four entries fill a cache line.
type Entry = (Time, u64);

const SOURCE_BITS: u32 = 24;
/// Maximum number of sources.
pub(crate) const SOURCES_MAX: usize = 1 << SOURCE_BITS;
/// Marks events that are no timers of the wheel.
const LATER: u64 = 1 << 63;
/// Marks events whose order a draw decides.
const DRAWN: u64 = LATER | 1 << 62;

/// The order as one number: two words compare faster than two pairs.
#[inline]
fn order(entry: Entry) -> u128 {
    u128::from(entry.0.as_ps()) << 64 | u128::from(entry.1)
}

fn owner(entry: Entry) -> usize {
    (entry.1 & ((1 << SOURCE_BITS) - 1)) as usize
}

/// Order of a timer among the wheel's timers of one instant: the coarser level first
/// (`__run_timers`), within a level the last set first (`enqueue_timer` inserts at the head).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn(u64);

impl Turn {
    const SET_BITS: u32 = 35;

    /// Order of a timer on `level` (0 to 15) with insertion sequence number `set`.
    pub(crate) fn new(level: u32, set: u64) -> Self {
        let last = (1 << Self::SET_BITS) - 1;
        Self(u64::from(15 - level) << Self::SET_BITS | (last - set % last))
    }
}

/// Pending events, at most one per source.
pub(crate) struct EventQueue {
    heap: Vec<Entry>,
    position: Vec<u32>,
    set: u64,
}

impl EventQueue {
    /// Creates an empty queue for sources `0..sources`.
    pub(crate) fn new(sources: usize) -> Self {
        debug_assert!(sources < SOURCES_MAX, "validated: at most so many links and flows");
        Self { heap: Vec::new(), position: vec![ABSENT; sources], set: 0 }
    }

    /// Adds sources until there are as many.
    pub(crate) fn grow(&mut self, sources: usize) {
        if sources > self.position.len() {
            self.position.resize(sources, ABSENT);
        }
    }

    /// Sets an event before all others of class 2, of the same instant.
    pub(crate) fn set_first(&mut self, source: Source, at: Time) {
        self.put(source, at, LATER);
    }

    /// Sets or moves the source's event. Setting it to the time it already has keeps its order.
    #[inline(always)]
    pub(crate) fn set(&mut self, source: Source, at: Time) {
        self.set += 1;
        if self.at(source) != Some(at) {
            self.put(source, at, LATER | self.set << SOURCE_BITS);
        }
    }

    /// Sets an event of class 3. A draw of four bits decides the order; equal draws keep the order
    /// of insertion.
    #[inline(always)]
    pub(crate) fn set_drawn(&mut self, source: Source, at: Time, draw: u8) {
        self.set += 1;
        if self.at(source) != Some(at) {
            let set = (self.set << SOURCE_BITS) & ((1 << 58) - 1);
            self.put(source, at, DRAWN | u64::from(draw & 15) << 58 | set);
        }
    }

    /// Sets a timer of the wheel.
    pub(crate) fn set_wheel(&mut self, source: Source, at: Time, turn: Turn) {
        self.put(source, at, turn.0 << SOURCE_BITS);
    }

    #[inline(always)]
    fn put(&mut self, source: Source, at: Time, turn: u64) {
        let index = self.position[source as usize];
        let entry = (at, turn | u64::from(source));
        if index == ABSENT {
            self.heap.push(entry);
            self.sift_up(self.heap.len() - 1);
        } else {
            let index = index as usize;
            let before = self.heap[index];
            self.heap[index] = entry;
            if order(entry) < order(before) {
                self.sift_up(index);
            } else {
                self.sift_down(index);
            }
        }
    }

    /// Returns the earliest event, which stays pending.
    pub(crate) fn peek(&self) -> Option<(Time, Source)> {
        self.heap.first().map(|&entry| (entry.0, owner(entry) as Source))
    }

    /// Number of pending events.
    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    /// Heap index of the second-earliest event.
    pub(crate) fn next(&self) -> Option<usize> {
        (1..self.heap.len().min(1 + ARITY)).min_by_key(|&place| order(self.heap[place]))
    }

    /// Source of the event at this heap index.
    pub(crate) fn source(&self, place: usize) -> Source {
        owner(self.heap[place]) as Source
    }

    /// Sources of the events below this heap index; one of them moves up next.
    pub(crate) fn below(&self, place: usize) -> impl Iterator<Item = Source> + '_ {
        let children = self.heap.iter().skip(place * ARITY + 1).take(ARITY);
        children.map(|&entry| owner(entry) as Source)
    }

    /// Time of the source's event.
    pub(crate) fn at(&self, source: Source) -> Option<Time> {
        let index = self.position[source as usize];
        (index != ABSENT).then(|| self.heap[index as usize].0)
    }

    /// Removes the source's event.
    pub(crate) fn clear(&mut self, source: Source) {
        let index = self.position[source as usize];
        if index == ABSENT {
            return;
        }
        let index = index as usize;
        self.position[source as usize] = ABSENT;
        let last = self.heap.len() - 1;
        self.heap.swap_remove(index);
        if index < last {
            let moved = owner(self.heap[index]);
            self.position[moved] = index as u32;
            self.sift_up(index);
            let index = self.position[moved] as usize;
            self.sift_down(index);
        }
    }

    fn sift_up(&mut self, mut index: usize) {
        let entry = self.heap[index];
        while index > 0 {
            let parent = (index - 1) / ARITY;
            if order(self.heap[parent]) <= order(entry) {
                break;
            }
            self.heap[index] = self.heap[parent];
            self.position[owner(self.heap[index])] = index as u32;
            index = parent;
        }
        self.heap[index] = entry;
        self.position[owner(entry)] = index as u32;
    }

    fn sift_down(&mut self, mut index: usize) {
        let entry = self.heap[index];
        loop {
            let first = index * ARITY + 1;
            if first >= self.heap.len() {
                break;
            }
            let end = (first + ARITY).min(self.heap.len());
            let (mut least, mut least_order) = (first, order(self.heap[first]));
            for (child, &other) in (first + 1..).zip(&self.heap[first + 1..end]) {
                let other = order(other);
                if other < least_order {
                    (least, least_order) = (child, other);
                }
            }
            if least_order >= order(entry) {
                break;
            }
            self.heap[index] = self.heap[least];
            self.position[owner(self.heap[index])] = index as u32;
            index = least;
        }
        self.heap[index] = entry;
        self.position[owner(entry)] = index as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn behaves_as_a_sorted_map(operations in prop::collection::vec((0u32..20, 0u64..50, 0u8..3), 1..300)) {
            let mut queue = EventQueue::new(20);
            let mut model: BTreeMap<Source, (Time, usize)> = BTreeMap::new();
            for (turn, (source, at, operation)) in operations.into_iter().enumerate() {
                let at = Time::from_ps(at);
                if operation == 0 {
                    queue.clear(source);
                    model.remove(&source);
                } else {
                    queue.set(source, at);
                    if model.get(&source).is_none_or(|(before, _)| *before != at) {
                        model.insert(source, (at, turn));
                    }
                }
                let least = model.iter().map(|(&source, &(at, turn))| (at, turn, source)).min();
                prop_assert_eq!(queue.peek(), least.map(|(at, _, source)| (at, source)));
                prop_assert_eq!(queue.at(source), model.get(&source).map(|(at, _)| *at));
            }
        }
    }
}
