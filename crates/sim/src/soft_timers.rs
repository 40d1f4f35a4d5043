//! Soft timers of a host: the timers of compressed ACKs (`compressed_ack_timer`, an hrtimer with
//! `HRTIMER_MODE_REL_PINNED_SOFT`).
//!
//! A soft timer has a range: it may run from its soft expiry on, and must run at its hard expiry
//! (`hrtimer_set_expires_range_ns`). The interrupt comes at the earliest hard expiry of the processor
//! (`softirq_expires_next`). It runs all timers in order of hard expiry, up to the first whose soft
//! expiry lies ahead (`__hrtimer_run_queues`). So compressed ACKs of several connections of a host
//! leave together.
//!
//! Each host has one processor here. Other soft timers (`pacing_timer`) are not in this list.

use crate::events::{EventQueue, Source};
use crate::flow::FLOW_TIMERS;
use dumbbell_model::Time;

/// Range of a soft timer: soft and hard expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SoftRange {
    /// Earliest time at which the timer may run (`_softexpires`).
    pub(crate) soft: Time,
    /// Latest time (`node.expires`); [`Time::NEVER`] if the timer is not queued.
    pub(crate) hard: Time,
}

impl SoftRange {
    /// Range of a timer that is not queued.
    pub(crate) const NOT_QUEUED: Self = Self { soft: Time::NEVER, hard: Time::NEVER };

    /// Returns true if the timer is queued.
    #[inline(always)]
    pub(crate) fn is_queued(&self) -> bool {
        self.hard != Time::NEVER
    }
}

/// A queued timer. The event source of the flow's own timer identifies it.
#[derive(Clone, Copy, Debug)]
struct Queued {
    range: SoftRange,
    timer: Source,
}

/// Queued soft timers of all hosts.
#[derive(Debug, Default)]
pub(crate) struct SoftTimers {
    /// First event source: one per host, at the earliest hard expiry.
    pub(crate) base: usize,
    /// Timers of each host in order of hard expiry; equal ones in order of insertion
    /// (`timerqueue_add`). Empty until a first timer is queued.
    hosts: Vec<Vec<Queued>>,
}

impl SoftTimers {
    pub(crate) fn new(base: usize) -> Self {
        Self { base, hosts: Vec::new() }
    }

    /// Queues a timer of a host, moves it, or removes it (`hrtimer_start_range_ns`,
    /// `hrtimer_try_to_cancel`).
    #[cold]
    pub(crate) fn set(
        &mut self,
        events: &mut EventQueue,
        host: u32,
        timer: Source,
        range: SoftRange,
    ) {
        let host = host as usize;
        if self.hosts.len() <= host {
            self.hosts.resize_with(host + 1, Vec::new);
        }
        let queue = &mut self.hosts[host];
        queue.retain(|queued| queued.timer != timer);
        if range.is_queued() {
            let at = queue.partition_point(|queued| queued.range.hard <= range.hard);
            queue.insert(at, Queued { range, timer });
        }
        self.program(events, host);
    }

    /// Sets the host's event to the earliest hard expiry (`hrtimer_update_softirq_timer`).
    pub(crate) fn program(&self, events: &mut EventQueue, host: usize) {
        let source = (self.base + host) as Source;
        match self.hosts[host].first() {
            Some(first) => events.set(source, first.range.hard),
            None => events.clear(source),
        }
    }

    /// Removes the next timer that runs now: the first in the queue, if its soft expiry has passed.
    pub(crate) fn take_due(&mut self, host: usize, now: Time) -> Option<Source> {
        let queue = &mut self.hosts[host];
        let due = queue.first().is_some_and(|first| first.range.soft <= now);
        due.then(|| queue.remove(0).timer)
    }

    /// Returns true if a timer of the flow with this first event source is queued at the host.
    pub(crate) fn waits(&self, host: u32, first: Source) -> bool {
        let timers = first..first + FLOW_TIMERS as Source;
        let queue = self.hosts.get(host as usize);
        queue.is_some_and(|queue| queue.iter().any(|queued| timers.contains(&queued.timer)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_model::Span;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn range(soft: u64, hard: u64) -> SoftRange {
        SoftRange { soft: us(soft), hard: us(hard) }
    }

    /// Soft timers, and an event queue with two hosts and eight timers.
    fn timers(ranges: &[(u32, Source, SoftRange)]) -> (SoftTimers, EventQueue) {
        let (mut timers, mut events) = (SoftTimers::new(8), EventQueue::new(10));
        for &(host, timer, range) in ranges {
            timers.set(&mut events, host, timer, range);
        }
        (timers, events)
    }

    fn run(timers: &mut SoftTimers, host: usize, now: Time) -> Vec<Source> {
        std::iter::from_fn(|| timers.take_due(host, now)).collect()
    }

    #[test]
    fn timers_run_together_up_to_the_first_whose_soft_expiry_lies_ahead() {
        let (mut timers, events) = timers(&[
            (0, 0, range(10, 110)),
            (0, 1, range(90, 120)),
            (0, 2, range(111, 130)),
            (0, 3, range(20, 140)),
        ]);
        assert_eq!(events.peek(), Some((us(110), 8)));
        // Timer 3 could run, but timer 2 is before it, and the interrupt for that will come anyway.
        assert_eq!(run(&mut timers, 0, us(110)), [0, 1]);
        assert_eq!(run(&mut timers, 0, us(130)), [2, 3]);
    }

    #[test]
    fn equal_hard_expiries_keep_the_order_of_insertion() {
        let same = range(10, 50);
        let (mut timers, _) = timers(&[(0, 3, same), (0, 1, same), (0, 2, same)]);
        assert_eq!(run(&mut timers, 0, us(50)), [3, 1, 2]);
    }

    #[test]
    fn the_event_follows_the_earliest_timer_of_each_host() {
        let (mut timers, mut events) = timers(&[(0, 0, range(10, 50)), (1, 1, range(10, 40))]);
        assert_eq!(events.peek(), Some((us(40), 9)));
        timers.set(&mut events, 1, 1, SoftRange::NOT_QUEUED);
        assert_eq!((events.peek(), events.len()), (Some((us(50), 8)), 1));
        timers.set(&mut events, 0, 0, range(20, 60)); // Moved.
        assert_eq!((events.peek(), events.len()), (Some((us(60), 8)), 1));
        assert!(run(&mut timers, 1, us(60)).is_empty());
        assert_eq!(run(&mut timers, 0, us(60)), [0]);
    }

    #[test]
    fn timers_of_a_flow_are_found() {
        let (timers, _) = timers(&[(1, 6, range(10, 50))]);
        assert!(timers.waits(1, 4) && !timers.waits(1, 0) && !timers.waits(0, 4));
    }
}
