//! Segments of a connection in the host's own queue (TCP small queues, `tcp_small_queue_check`).

use dumbbell_model::Time;
use std::collections::VecDeque;

/// Wake-up of a TCP that small queues stopped, or that waits for its application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wake {
    /// TCP does not wait.
    #[default]
    Never,
    /// At the departure of a segment, whose time is not known yet.
    Throttled,
    /// At the departure of the first segment.
    Departure(Time),
    /// At the next write of the application, or at an ACK before.
    Application(Time),
}

/// Segments between TCP and the wire, counted by their memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostQueue {
    /// True if segments in the queue of the host's own serial link count.
    below_tcp: bool,
    /// Departure time and memory of each segment.
    waiting: VecDeque<(Time, u64)>,
    /// Memory of all segments, including those without a known departure time.
    bytes: u64,
    wake: Wake,
    /// Memory of skbs between TCP and the next node, and the time at which TCP sent them.
    passing: (Time, u64),
    /// True while the application writes: after each of its skbs the kernel empties its backlog.
    in_process: bool,
}

impl HostQueue {
    /// Counts segments in the queue of the host's own link (`true`), or only in the host's fq.
    pub(crate) fn set_below_tcp(&mut self, below_tcp: bool) {
        self.below_tcp = below_tcp;
    }

    /// Returns true if the host's own link must report the departure of segments.
    pub(crate) fn is_below_tcp(&self) -> bool {
        self.below_tcp
    }

    /// Returns true if no segment waits at `now`.
    pub(super) fn is_empty(&mut self, now: Time) -> bool {
        self.forget_departed(now);
        self.bytes == 0
    }

    /// Counts a segment with an unknown departure time.
    pub(super) fn count(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Counts memory of an skb that passes the interface at once. The next node takes it when all
    /// packets that arrived at this instant are processed: the kernel's backlog is a queue.
    pub(super) fn pass(&mut self, now: Time, bytes: u64) {
        if self.in_process {
            return;
        }
        if self.passing.0 != now {
            self.passing = (now, 0);
        }
        self.passing.1 += bytes;
    }

    /// Sets whether the application writes now.
    pub(super) fn set_in_process(&mut self, in_process: bool) {
        self.in_process = in_process;
    }

    /// Lets the next node take what passes: it comes to that before the segment that follows.
    pub(super) fn passed(&mut self) {
        self.passing.1 = 0;
    }

    fn passing_bytes(&self, now: Time) -> u64 {
        if self.passing.0 == now && !self.in_process {
            self.passing.1
        } else {
            0
        }
    }

    /// Sets the departure time of a counted segment; `None` if it was dropped.
    pub(super) fn queued(&mut self, bytes: u64, leaves: Option<Time>) {
        let Some(leaves) = leaves else {
            self.bytes = self.bytes.saturating_sub(bytes);
            return;
        };
        self.waiting.push_back((leaves, bytes));
        if self.wake == Wake::Throttled {
            self.wake = Wake::Departure(leaves);
        }
    }

    fn forget_departed(&mut self, now: Time) {
        while let Some(&(_, bytes)) = self.waiting.front().filter(|(leaves, _)| *leaves <= now) {
            self.waiting.pop_front();
            self.bytes -= bytes;
        }
    }

    /// Returns true if `limit_bytes` or more are in the queue now.
    pub(super) fn exceeds(&mut self, now: Time, limit_bytes: u64) -> bool {
        self.forget_departed(now);
        // The socket itself counts as one byte (`sk_wmem_alloc`).
        self.bytes + self.passing_bytes(now) + 1 > limit_bytes
    }

    /// Stops TCP until the first segment leaves.
    pub(super) fn throttle(&mut self, now: Time) {
        self.wake = match self.waiting.front() {
            _ if self.passing_bytes(now) > 0 => Wake::Departure(now),
            Some((leaves, _)) => Wake::Departure(*leaves),
            None => Wake::Throttled,
        };
    }

    /// Lets TCP be woken by an application that writes at a later time, or by a segment before.
    pub(super) fn defer(&mut self, at: Time) {
        self.wake = Wake::Application(at);
    }

    /// Returns true once if TCP waits for an application.
    #[inline(always)]
    pub(super) fn take_deferred(&mut self) -> bool {
        let deferred = matches!(self.wake, Wake::Application(_));
        if deferred {
            self.wake = Wake::Never;
        }
        deferred
    }

    /// Time at which TCP is woken; [`Time::NEVER`] if it does not wait, or the time is not known yet.
    #[inline(always)]
    pub(super) fn wakes(&self) -> Time {
        match self.wake {
            Wake::Departure(at) | Wake::Application(at) => at,
            Wake::Never | Wake::Throttled => Time::NEVER,
        }
    }

    /// Returns true once when TCP is to be woken.
    pub(super) fn take_due(&mut self, now: Time) -> bool {
        let due = self.wakes() <= now;
        if due {
            self.wake = Wake::Never;
            self.passing.1 = 0;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Time = Time::from_ns;

    #[test]
    fn segments_count_until_they_leave() {
        let mut queue = HostQueue::default();
        for leaves in [10, 20] {
            queue.count(100);
            queue.queued(100, Some(AT(leaves)));
        }
        assert!(queue.exceeds(AT(9), 200) && !queue.exceeds(AT(9), 201));
        assert!(queue.exceeds(AT(10), 100) && !queue.exceeds(AT(10), 101));
        // A segment that finds no queue never waits.
        queue.count(100);
        queue.queued(100, None);
        assert!(!queue.exceeds(AT(20), 1) && queue.is_empty(AT(20)));
    }

    #[test]
    fn tcp_is_woken_when_the_first_leaves_even_if_its_time_is_known_later() {
        let mut queue = HostQueue::default();
        queue.count(100);
        queue.throttle(AT(20));
        assert_eq!(queue.wakes(), Time::NEVER);
        queue.queued(100, Some(AT(30)));
        assert_eq!(queue.wakes(), AT(30));
        assert!(!queue.take_due(AT(29)) && queue.take_due(AT(30)) && !queue.take_due(AT(30)));
        queue.count(100);
        queue.queued(100, Some(AT(50)));
        assert_eq!(queue.wakes(), Time::NEVER, "nothing waits for room");
        assert!(queue.exceeds(AT(40), 50));
        queue.throttle(AT(40));
        assert_eq!(queue.wakes(), AT(50));
    }
}
