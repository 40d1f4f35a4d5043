//! Pacing: earliest departure times, TCP's own pacing timer (`tcp_pacing_check`), and the host's fq
//! discipline, which holds segments until their departure time.

use crate::wheel::Tick;
use dumbbell_model::{Span, Time};
use dumbbell_packet::Segment;
use std::collections::VecDeque;

/// Slack of fq's timer (`timer_slack` of `fq_init`): the timer ends that long after the departure
/// time.
const FQ_SLACK: Span = Span::from_us(10);

/// Pacing state of a sender.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    /// Earliest departure time of the next skb, ns (`tcp_wstamp_ns`).
    wstamp_ns: u64,
    /// Departure time of the last skb, ns.
    departs_ns: u64,
    /// Time that the last skb waited beyond its earliest departure, ns.
    waited_ns: u64,
    /// Bytes of the last skb.
    skb_bytes: u64,
    /// Time of TCP's own timer; [`Time::NEVER`] if not set.
    timer: Time,
    /// True if the host's fq discipline holds segments until their departure time, instead of TCP.
    fq: bool,
    /// Segments in fq with their departure times.
    fq_queue: VecDeque<(Time, Segment)>,
}

impl Pacer {
    pub(super) fn new(fq: bool) -> Self {
        let fq_queue = VecDeque::new();
        let timer = Time::NEVER;
        Self { wstamp_ns: 0, departs_ns: 0, waited_ns: 0, skb_bytes: 0, timer, fq, fq_queue }
    }

    /// Earliest departure time of the next skb, ns.
    pub(super) fn earliest_ns(&self) -> u64 {
        self.wstamp_ns
    }

    /// Whole ticks until the next skb may depart (`tcp_pacing_delay`).
    pub(super) fn delay_ticks(&self, now: Time, tick: Tick) -> u64 {
        self.wstamp_ns.saturating_sub(now.as_ns()) / (1000 * tick.to_us(1))
    }

    /// Departure time of the last skb, ns.
    pub(super) fn departs_ns(&self) -> u64 {
        self.departs_ns
    }

    /// Advances the departure times after sending `bytes`, in a new skb or in the same one
    /// (`tcp_update_skb_after_send`). `rate` is the pacing rate in bytes per second, if any.
    pub(super) fn sent(&mut self, now: Time, same_skb: bool, bytes: u64, rate: Option<u64>) {
        if same_skb {
            self.skb_bytes += bytes;
        } else {
            self.departs_ns = self.wstamp_ns.max(now.as_ns());
            self.waited_ns = self.departs_ns - self.wstamp_ns;
            self.skb_bytes = bytes;
        }
        self.wstamp_ns = self.departs_ns;
        if let Some(rate) = rate {
            // A late timer is compensated by at most half of the skb's duration.
            let length_ns = self.skb_bytes * 1_000_000_000 / rate;
            self.wstamp_ns += length_ns - (length_ns / 2).min(self.waited_ns);
        }
    }

    /// Returns true if TCP's own pacing blocks sending, and sets the timer (`tcp_pacing_check`).
    pub(super) fn blocks(&mut self, now: Time) -> bool {
        if self.fq || self.wstamp_ns <= now.as_ns() {
            return false;
        }
        if self.timer == Time::NEVER {
            self.timer = Time::from_ns(self.wstamp_ns);
        }
        true
    }

    /// Returns true once when TCP's own timer is due.
    pub(super) fn take_due(&mut self, now: Time) -> bool {
        let due = self.timer <= now;
        if due {
            self.timer = Time::NEVER;
        }
        due
    }

    pub(super) fn timer(&self) -> Time {
        self.timer
    }

    /// Returns true if fq holds a segment sent now until its departure time.
    pub(super) fn holds(&self, now: Time) -> bool {
        self.fq && (self.departs_ns > now.as_ns() || !self.fq_queue.is_empty())
    }

    /// Puts a segment into fq. Returns the time at which fq's timer releases it.
    pub(super) fn wait(&mut self, segment: Segment) -> Time {
        let departs = Time::from_ns(self.departs_ns);
        self.fq_queue.push_back((departs, segment));
        departs + FQ_SLACK
    }

    /// Returns true if fq holds data from before `end`, from `seq` on.
    pub(super) fn has_data(&self, seq: u64, end: u64) -> bool {
        let inside = |segment: &Segment| {
            segment.payload_bytes > 0
                && segment.seq < end
                && segment.seq + u64::from(segment.payload_bytes) > seq
        };
        self.fq_queue.iter().any(|(_, segment)| inside(segment))
    }

    /// The last segment in fq.
    pub(super) fn last_waiting(&mut self) -> Option<&mut Segment> {
        self.fq_queue.back_mut().map(|(_, segment)| segment)
    }

    /// Next segment whose departure time has come. fq gives it when its timer ends or when a segment is
    /// put into it (`fq_check_throttled`).
    pub(super) fn release(&mut self, now: Time) -> Option<Segment> {
        self.fq_queue.front().filter(|(departs, _)| *departs <= now)?;
        self.fq_queue.pop_front().map(|(_, segment)| segment)
    }

    /// End of fq's timer (`qdisc_watchdog_schedule_range_ns`); [`Time::NEVER`] if no segment waits.
    pub(super) fn releases_at(&self) -> Time {
        self.fq_queue.front().map_or(Time::NEVER, |(departs, _)| *departs + FQ_SLACK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Option<u64> = Some(1_000_000); // 1000 bytes take 1 ms.

    fn ms(ms: u64) -> Time {
        Time::from_ns(ms * 1_000_000)
    }

    #[test]
    fn segments_depart_at_the_rate_and_a_late_timer_has_credit_for_half() {
        let mut pacer = Pacer::new(false);
        pacer.sent(ms(10), false, 1000, RATE);
        // Idle time is credit, too: half of the millisecond.
        assert_eq!((pacer.departs_ns(), pacer.earliest_ns()), (10_000_000, 10_500_000));
        assert!(pacer.blocks(ms(10)) && !pacer.blocks(ms(11)));
        assert!(!pacer.take_due(ms(10)) && pacer.take_due(ms(11)) && !pacer.take_due(ms(11)));
        // Half of the whole skb, not of its first segment.
        let mut pair = Pacer::new(false);
        pair.sent(ms(10), false, 1000, RATE);
        pair.sent(ms(10), true, 1000, RATE);
        assert_eq!((pair.departs_ns(), pair.earliest_ns()), (10_000_000, 11_000_000));
        let tick = Tick::new(1000);
        assert_eq!([9, 10, 11, 12].map(|now| pair.delay_ticks(ms(now), tick)), [2, 1, 0, 0]);
        // 100 µs late: the next one is earlier by as much.
        pacer.sent(Time::from_ns(10_600_000), false, 1000, RATE);
        assert_eq!(pacer.earliest_ns(), 11_500_000);
    }

    #[test]
    fn fq_keeps_the_order_of_what_waits() {
        let mut pacer = Pacer::new(true);
        pacer.sent(ms(10), false, 2000, RATE);
        assert!(!pacer.holds(ms(10)));
        pacer.sent(ms(10), false, 1000, RATE);
        assert!(pacer.holds(ms(10)));
        let timer = Time::from_ns(11_010_000);
        assert_eq!(pacer.wait(Segment { seq: 7, ..Segment::default() }), timer);
        assert!(!pacer.blocks(ms(10)), "segments wait in fq, not in TCP");
        assert_eq!(pacer.releases_at(), timer);
        assert!(!pacer.has_data(0, 100), "it has no data");
        pacer.wait(Segment { seq: 100, payload_bytes: 50, ..Segment::default() });
        assert_eq!([0, 101, 150].map(|seq| pacer.has_data(seq, seq + 101)), [true, true, false]);
        assert!(pacer.release(ms(10)).is_none());
        assert_eq!(pacer.release(ms(11)).map(|segment| segment.seq), Some(7));
    }
}
