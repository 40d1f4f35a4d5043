//! Application that reads all data, and the backlog of segments that arrive while it reads
//! (`tcp_recvmsg_locked`, `sk_wait_data`, `tcp_add_backlog`).
//!
//! The kernel processes all packets of an instant before the application runs. The application reads
//! the clock once per skb (`tcp_rcv_space_adjust`), and owns the socket meanwhile: what arrives then
//! waits in the backlog, where a segment joins the one before it. A read that cannot send an ACK needs
//! no event: it is made up for before the next segment.

use super::ecn::Mode;
use super::receive_buffer::{ReceivedSkb, SkbLayout};
use super::receiver::Receiver;
use super::CLOCK_READING;
use dumbbell_model::{Span, Time};
use dumbbell_packet::Segment;
use std::collections::VecDeque;

/// Readings of the clock from the end of the handshake until the application waits for data: it
/// accepts the connection and starts a thread. The number is an estimate; it was not measured.
const ACCEPT_READINGS: u64 = 8;

/// A segment of the backlog.
#[derive(Debug)]
struct Waiting {
    segment: Segment,
    ecn_field: u8,
    /// Longest payload of the segments in it (`gso_size`).
    unit_bytes: u32,
    skb: ReceivedSkb,
}

impl Waiting {
    /// Joins the segment that follows, if their headers are alike. Returns true on success
    /// (`tcp_add_backlog`).
    fn join(&mut self, next: &Self) -> bool {
        let (first, second) = (&mut self.segment, &next.segment);
        let alike = first.end() == second.seq
            && self.ecn_field == next.ecn_field
            && first.flags.ace == second.flags.ace
            && !first.flags.is_syn()
            && !second.flags.is_syn()
            && !first.flags.rst
            && !second.flags.rst
            && first.timestamps == second.timestamps
            && (first.tsval_ms, first.tsecr_ms) == (second.tsval_ms, second.tsecr_ms)
            && first.entries == second.entries
            && first.sack_blocks() == second.sack_blocks();
        if !alike || first.payload_bytes == 0 || !self.skb.merge(&next.skb, u64::MAX) {
            return false;
        }
        first.payload_bytes += second.payload_bytes;
        first.ack = first.ack.max(second.ack);
        first.flags.fin |= second.flags.fin;
        first.flags.psh |= second.flags.psh;
        self.unit_bytes = self.unit_bytes.max(next.unit_bytes);
        true
    }
}

/// Activity of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    /// Waits for data.
    Waits,
    /// Reads all data from that time on.
    Reads { since: Time },
    /// Processes the backlog, a segment per event (`release_sock`).
    Drains,
}

/// Application of a receiver with `lowat` 1 and no rate.
#[derive(Debug)]
pub(super) struct Reader {
    activity: Activity,
    /// Time of its next event; [`Time::NEVER`] if it needs none.
    pub(super) event: Time,
    /// First time at which it may read.
    first: Time,
    /// Longest payload of the joined segments being processed (`gso_size`); `u32::MAX` outside the
    /// backlog.
    pub(super) unit_bytes: u32,
    backlog: VecDeque<Waiting>,
    /// Memory of the backlog, until all of it is processed (`sk_backlog.len`).
    pub(super) backlog_bytes: u64,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            activity: Activity::Waits,
            event: Time::NEVER,
            first: Time::ZERO,
            unit_bytes: u32::MAX,
            backlog: VecDeque::new(),
            backlog_bytes: 0,
        }
    }
}

impl Reader {
    /// Returns true unless the application waits for data.
    pub(super) fn is_awake(&self) -> bool {
        self.activity != Activity::Waits
    }

    /// Makes the application wait for data.
    pub(super) fn sleep(&mut self) {
        self.activity = Activity::Waits;
    }

    /// Appends a segment to the backlog. It joins the last one if that is allowed.
    fn hold(&mut self, next: Waiting, joins: bool) {
        if let Some(last) = self.backlog.back_mut().filter(|_| joins) {
            let before = last.skb.memory_bytes;
            if last.join(&next) {
                self.backlog_bytes += last.skb.memory_bytes - before;
                return;
            }
        }
        self.backlog_bytes += next.skb.memory_bytes;
        self.backlog.push_back(next);
    }
}

impl Receiver {
    /// Notes the end of the handshake: the application accepts the connection.
    pub(super) fn reader_accepts(&mut self) {
        self.reader.first = self.now + Span::from_ns(ACCEPT_READINGS * CLOCK_READING.as_ns());
    }

    /// Returns true if the application reads behind all arrivals of an instant.
    pub(super) fn reads_behind(&self) -> bool {
        self.subflow.is_none() && self.snd_nxt.is_none() && !self.finished
    }

    /// Wakes the application. It needs an event if its read may send an ACK.
    pub(super) fn wake_reader(&mut self) {
        let since = match self.reader.activity {
            Activity::Waits => self.now.max(self.reader.first),
            Activity::Reads { since } => since,
            Activity::Drains => return,
        };
        self.reader.activity = Activity::Reads { since };
        if self.read_may_acknowledge() {
            self.reader.event = self.read_end(since);
        }
    }

    /// Returns true if a read of all data could make [`Self::clean_up`] send an ACK.
    fn read_may_acknowledge(&self) -> bool {
        let overdue = self.rcv_nxt - self.rcv_wup > self.ack.rcv_mss;
        let small = self.ack.pushed > u8::from(self.ack.interactive);
        if self.ack.scheduled && (overdue || small) {
            return true;
        }
        // A read changes no `rcv_ssthresh`, which bounds the window.
        let most = self.begun_units(self.rcv_ssthresh).max(self.rcv_wnd);
        most >= 2 * self.receive_window()
    }

    /// Time at which a read of all data from `since` on is over. Kernels with `tcp_rcvbuf_grow` read the
    /// clock for an ACK alone ([`Self::read_clock_for_ack`]).
    fn read_end(&self, since: Time) -> Time {
        let readings = if self.options.rcvbuf_grow {
            u64::from(self.read_may_acknowledge())
        } else {
            self.readings_per_skb() * self.unread.skbs()
        };
        since + Span::from_ns(readings * CLOCK_READING.as_ns())
    }

    /// Makes up for a read that needed no event, before a timer fires.
    pub(super) fn catch_up(&mut self, now: Time) {
        let Activity::Reads { since } = self.reader.activity else { return };
        if self.reader.event == Time::NEVER && since < now && self.read_end(since) < now {
            self.make_up(since);
        }
    }

    /// Makes up for a read that needed no event.
    #[inline(always)]
    fn make_up(&mut self, since: Time) {
        self.read_all(since);
        debug_assert!(!self.ack_is_due(1), "a read without an event that sends an ACK");
        self.reader.activity = Activity::Waits;
    }

    /// Puts a segment into the backlog if the application owns the socket when it arrives. Returns
    /// true in that case.
    #[inline(always)]
    pub(super) fn reader_holds(&mut self, now: Time, segment: &Segment, ecn_field: u8) -> bool {
        match self.reader.activity {
            Activity::Reads { since } if since < now => {
                let usual = self.reader.event == Time::NEVER && self.unread.skbs() == 1;
                if usual && since + CLOCK_READING < now {
                    self.make_up(since);
                    return false;
                }
                self.reads_or_holds(since, now, segment, ecn_field)
            }
            Activity::Drains => self.holds(segment, ecn_field),
            Activity::Waits | Activity::Reads { .. } => false,
        }
    }

    /// Makes up for a read that is over, or puts a segment into the backlog. Returns true in the
    /// latter case.
    #[inline(never)]
    fn reads_or_holds(&mut self, since: Time, now: Time, segment: &Segment, ecn_field: u8) -> bool {
        let end = self.read_end(since);
        if now > end {
            self.make_up(since);
            return false;
        }
        self.reader.event = end;
        self.holds(segment, ecn_field)
    }

    /// Puts a segment into the backlog. Returns true.
    #[inline(never)]
    fn holds(&mut self, segment: &Segment, ecn_field: u8) -> bool {
        let layout = SkbLayout::of(&self.options);
        let bytes = u64::from(segment.payload_bytes);
        let mut skb = ReceivedSkb::arriving(layout, segment.seq, bytes);
        skb.condense(); // tcp_add_backlog
        let next = Waiting { segment: *segment, ecn_field, unit_bytes: segment.payload_bytes, skb };
        self.reader.hold(next, self.ecn.mode != Mode::Accurate);
        true
    }

    /// Returns true if an event at `at` is one of the application, which runs behind all others.
    #[inline(always)]
    pub(crate) fn runs_application(&self, at: Time) -> bool {
        at == self.reader.event
    }

    /// Reads all data, from `since` on.
    #[inline(always)]
    fn read_all(&mut self, since: Time) {
        let now = std::mem::replace(&mut self.now, since);
        let reading = if self.options.rcvbuf_grow { Span::ZERO } else { CLOCK_READING };
        self.take(u64::MAX, reading);
        self.now = now;
    }

    /// Processes the event of the application: the end of a read, or a segment of the backlog, which
    /// takes a reading of the clock (`tcp_rcv_established`).
    pub(super) fn reader_event(&mut self) {
        self.reader.event = Time::NEVER;
        match self.reader.activity {
            Activity::Drains => self.drain_one(),
            Activity::Reads { since } => {
                let bytes = self.unread_bytes();
                self.read_all(since);
                self.clean_up(bytes);
                self.reader.activity = Activity::Waits;
            }
            Activity::Waits => {}
        }
        if self.reader.backlog.is_empty() {
            self.reader.backlog_bytes = 0;
        } else {
            self.reader.activity = Activity::Drains;
            self.reader.event = self.now + CLOCK_READING;
        }
    }

    /// Processes the first segment of the backlog.
    fn drain_one(&mut self) {
        let Some(first) = self.reader.backlog.pop_front() else { return };
        if self.reader.backlog.is_empty() {
            self.reader.activity = Activity::Waits;
        }
        self.reader.unit_bytes = first.unit_bytes;
        self.process(self.now, &first.segment, first.ecn_field);
        self.reader.unit_bytes = u32::MAX;
        if self.unread_bytes() > 0 && !self.finished {
            self.wake_reader(); // Goes on to read.
        }
    }
}
