//! The event queue: an indexed 4-ary heap with at most one pending event per source (a pipe's end,
//! a sender's timers, an application), so its size does not grow with packets in flight.
//!
//! The order is total: by time; at one instant, by when the event was set, first set first, as
//! Linux's timers of high resolution fire (and as two packets of one burst leave parallel shapers).
//! Before them come timers of the wheel, which bring their own order; behind them arrivals over
//! serial links.

use dumbbell_model::Time;

const ABSENT: u32 = u32::MAX;
const ARITY: usize = 4;

/// Number of an event source.
pub(crate) type Source = u32;

/// A pending event: when; the how-manieth that was set and, in the low bits, whose. Four of them
/// fill a cache line.
type Entry = (Time, u64);

const SOURCE_BITS: u32 = 24;
/// Of turns that are not the wheel's.
const LATER: u64 = 1 << 63;
/// Of turns that a draw decides.
const DRAWN: u64 = LATER | 1 << 62;

fn owner(entry: Entry) -> usize {
    (entry.1 & ((1 << SOURCE_BITS) - 1)) as usize
}

/// The turn of a timer of the wheel among those that fire with it: the coarser level first
/// (`__run_timers`), within a level the last set first (`enqueue_timer` puts it at the head).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn(u64);

impl Turn {
    const SET_BITS: u32 = 35;

    /// Of a timer on this level (0 to 15), the `set`th that was set.
    pub(crate) fn new(level: u32, set: u64) -> Self {
        let last = (1 << Self::SET_BITS) - 1;
        Self(u64::from(15 - level) << Self::SET_BITS | (last - set % last))
    }
}

/// Pending events, one per source at most.
pub(crate) struct EventQueue {
    heap: Vec<Entry>,
    position: Vec<u32>,
    set: u64,
}

impl EventQueue {
    /// An empty queue for sources `0..sources`.
    pub(crate) fn new(sources: usize) -> Self {
        debug_assert!(sources < 1 << SOURCE_BITS, "validated: at most so many links and flows");
        Self { heap: Vec::with_capacity(sources), position: vec![ABSENT; sources], set: 0 }
    }

    /// The source's event is at `at` from now on, wherever it was before. Setting it to where it
    /// is keeps its turn.
    pub(crate) fn set(&mut self, source: Source, at: Time) {
        self.set += 1;
        if self.at(source) != Some(at) {
            self.put(source, at, LATER | self.set << SOURCE_BITS);
        }
    }

    /// The same for what a draw of four bits decides, behind all that is set without; of equal
    /// draws the first set is first.
    pub(crate) fn set_drawn(&mut self, source: Source, at: Time, draw: u8) {
        self.set += 1;
        if self.at(source) != Some(at) {
            let set = (self.set << SOURCE_BITS) & ((1 << 58) - 1);
            self.put(source, at, DRAWN | u64::from(draw & 15) << 58 | set);
        }
    }

    /// The same for a timer of the wheel, with its turn among those of the same time.
    pub(crate) fn set_wheel(&mut self, source: Source, at: Time, turn: Turn) {
        self.put(source, at, turn.0 << SOURCE_BITS);
    }

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
            if entry < before {
                self.sift_up(index);
            } else {
                self.sift_down(index);
            }
        }
    }

    /// The earliest event, which stays pending; `None` if there is none.
    pub(crate) fn peek(&self) -> Option<(Time, Source)> {
        self.heap.first().map(|&entry| (entry.0, owner(entry) as Source))
    }

    /// Events that are pending.
    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    /// Place of the event behind the earliest.
    pub(crate) fn next(&self) -> Option<usize> {
        (1..self.heap.len().min(1 + ARITY)).min_by_key(|&place| self.heap[place])
    }

    /// Whose event is at this place.
    pub(crate) fn source(&self, place: usize) -> Source {
        owner(self.heap[place]) as Source
    }

    /// Whose events are right below this place: one of them comes there.
    pub(crate) fn below(&self, place: usize) -> impl Iterator<Item = Source> + '_ {
        let children = self.heap.iter().skip(place * ARITY + 1).take(ARITY);
        children.map(|&entry| owner(entry) as Source)
    }

    /// When the source's event is.
    pub(crate) fn at(&self, source: Source) -> Option<Time> {
        let index = self.position[source as usize];
        (index != ABSENT).then(|| self.heap[index as usize].0)
    }

    /// Takes the source's event away.
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
            if self.heap[parent] <= entry {
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
            let mut least = first;
            for child in first + 1..end {
                if self.heap[child] < self.heap[least] {
                    least = child;
                }
            }
            if self.heap[least] >= entry {
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
