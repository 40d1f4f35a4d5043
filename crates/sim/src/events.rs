//! The event queue: an indexed 4-ary heap with at most one pending event per source (a pipe's end,
//! a sender's timers, an application), so its size does not grow with packets in flight.
//!
//! The order is total: by time, then by class, then within the class. Classes of one instant:
//!
//! 1. Timers of the wheel, in an order of their own ([`Turn`]).
//! 2. Other events, in order of insertion: Linux's hrtimers fire so, and two packets of one burst
//!    leave parallel shapers so.
//! 3. Arrivals over serial links, in an order that a draw decides.
//! 4. What a host does when all packets of the instant have arrived, in order of insertion: Linux empties
//!    its backlog before a process or a tasklet runs.

use dumbbell_model::Time;

const ABSENT: u32 = u32::MAX;

/// Number of an event source.
pub(crate) type Source = u32;

/// A pending event as one number, which orders it: its time in ps; its place among events of that time;
/// in the low bits its source.
type Entry = u128;

/// Fills unused places of the heap.
const NOTHING: Entry = Entry::MAX;

/// The children of an entry of the heap: one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Children([Entry; 4]);

impl Children {
    /// The earliest, and its place.
    #[inline(always)]
    fn least(&self) -> (Entry, usize) {
        let [a, b, c, d] = self.0;
        let (ab, at_ab) = if b < a { (b, 1) } else { (a, 0) };
        let (cd, at_cd) = if d < c { (d, 3) } else { (c, 2) };
        if cd < ab {
            (cd, at_cd)
        } else {
            (ab, at_ab)
        }
    }

    /// Their sources; a number beyond all sources for an unused place.
    #[inline(always)]
    fn sources(&self) -> [Source; 4] {
        self.0.map(|entry| owner(entry) as Source)
    }
}

/// Index of the earliest event: its children, and theirs, then fill whole lines.
const ROOT: usize = 3;

const SOURCE_BITS: u32 = 24;
/// Maximum number of sources.
pub(crate) const SOURCES_MAX: usize = 1 << SOURCE_BITS;
/// Marks events that are no timers of the wheel.
const LATER: u64 = 1 << 63;
/// Marks events whose order a draw decides.
const DRAWN: u64 = LATER | 1 << 62;
/// Marks events behind all drawn ones.
const BEHIND_DRAWN: u64 = 1 << 57;

fn time(entry: Entry) -> Time {
    Time::from_ps((entry >> 64) as u64)
}

fn owner(entry: Entry) -> usize {
    entry as usize & ((1 << SOURCE_BITS) - 1)
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

/// Draw that places an event behind all others of its instant.
pub(crate) const LAST: u8 = 15;

/// Pending events, at most one per source.
pub(crate) struct EventQueue {
    /// Children of the event at index `i` are group `i - 2`.
    heap: Vec<Children>,
    /// Index behind the last event.
    end: usize,
    position: Vec<u32>,
    set: u64,
}

impl EventQueue {
    /// Creates an empty queue for sources `0..sources`.
    pub(crate) fn new(sources: usize) -> Self {
        debug_assert!(sources < SOURCES_MAX, "validated: at most so many links and flows");
        Self {
            heap: vec![Children([NOTHING; 4])],
            end: ROOT,
            position: vec![ABSENT; sources],
            set: 0,
        }
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
            let set = (self.set << SOURCE_BITS) & (BEHIND_DRAWN - 1);
            self.put(source, at, DRAWN | u64::from(draw & 15) << 58 | set);
        }
    }

    /// Sets an event of class 4.
    pub(crate) fn set_last(&mut self, source: Source, at: Time) {
        self.set += 1;
        let set = (self.set << SOURCE_BITS) & (BEHIND_DRAWN - 1);
        self.put(source, at, DRAWN | u64::from(LAST) << 58 | BEHIND_DRAWN | set);
    }

    /// Sets a timer of the wheel.
    pub(crate) fn set_wheel(&mut self, source: Source, at: Time, turn: Turn) {
        self.put(source, at, turn.0 << SOURCE_BITS);
    }

    #[inline(always)]
    fn put(&mut self, source: Source, at: Time, turn: u64) {
        let entry = Entry::from(at.as_ps()) << 64 | Entry::from(turn | u64::from(source));
        let index = self.position[source as usize];
        if index == ABSENT {
            self.push(entry);
        } else if entry < self.entry(index as usize) {
            self.sift_up(index as usize, entry);
        } else {
            self.sift_down(index as usize, entry);
        }
    }

    /// Returns the earliest event, which stays pending.
    #[inline(always)]
    pub(crate) fn peek(&self) -> Option<(Time, Source)> {
        let first = self.entry(ROOT);
        (first != NOTHING).then(|| (time(first), owner(first) as Source))
    }

    /// Number of pending events.
    pub(crate) fn len(&self) -> usize {
        self.end - ROOT
    }

    /// Sources of the children of the earliest event, and which of them is next.
    #[inline(always)]
    pub(crate) fn soon(&self) -> Option<([Source; 4], usize)> {
        let children = self.heap.get(1)?;
        Some((children.sources(), children.least().1))
    }

    /// Sources of the children of a child of the earliest event.
    #[inline(always)]
    pub(crate) fn later(&self, child: usize) -> Option<[Source; 4]> {
        self.heap.get(2 + child).map(Children::sources)
    }

    /// Time of the source's event.
    #[inline(always)]
    pub(crate) fn at(&self, source: Source) -> Option<Time> {
        let index = self.position[source as usize];
        (index != ABSENT).then(|| time(self.entry(index as usize)))
    }

    /// Removes the source's event.
    pub(crate) fn clear(&mut self, source: Source) {
        let index = self.position[source as usize];
        if index == ABSENT {
            return;
        }
        let index = index as usize;
        self.position[source as usize] = ABSENT;
        self.end -= 1;
        let last = self.entry(self.end);
        *self.slot(self.end) = NOTHING;
        if index < self.end {
            if index > ROOT && last < self.entry(parent(index)) {
                self.sift_up(index, last);
            } else {
                self.sift_down(index, last);
            }
        }
    }

    fn push(&mut self, entry: Entry) {
        let index = self.end;
        if index / 4 == self.heap.len() {
            self.heap.push(Children([NOTHING; 4]));
        }
        self.end += 1;
        self.sift_up(index, entry);
    }

    #[inline(always)]
    fn entry(&self, index: usize) -> Entry {
        self.heap[index / 4].0[index % 4]
    }

    #[inline(always)]
    fn slot(&mut self, index: usize) -> &mut Entry {
        &mut self.heap[index / 4].0[index % 4]
    }

    #[inline(always)]
    fn place(&mut self, index: usize, entry: Entry) {
        *self.slot(index) = entry;
        self.position[owner(entry)] = index as u32;
    }

    /// Places an entry at `index` or above.
    fn sift_up(&mut self, mut index: usize, entry: Entry) {
        while index > ROOT {
            let above = self.entry(parent(index));
            if above <= entry {
                break;
            }
            self.place(index, above);
            index = parent(index);
        }
        self.place(index, entry);
    }

    /// Places an entry at `index` or below.
    fn sift_down(&mut self, mut index: usize, entry: Entry) {
        while let Some(children) = self.heap.get(index - 2) {
            let (least, at) = children.least();
            if entry <= least {
                break;
            }
            self.place(index, least);
            index = (index - 2) * 4 + at;
        }
        self.place(index, entry);
    }
}

fn parent(index: usize) -> usize {
    index / 4 + 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn behaves_as_a_sorted_map(operations in prop::collection::vec((0u32..100, 0u64..50, 0u8..5), 1..600)) {
            let mut queue = EventQueue::new(100);
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
