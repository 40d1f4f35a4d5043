//! Serial wire with the FIFO in front of it: sends one frame after the other at its rate. When a frame
//! is accepted its departure is known, so the wire needs no event.

use super::buffer::Waiting;
use super::stage::{LinkSetup, Stage};
use super::stats::PipeStats;
use dumbbell_model::queue::Queue;
use dumbbell_model::{scenario, Rate, Span, Time};
use std::collections::VecDeque;

pub(crate) struct Serial {
    rate: Rate,
    busy_until: Time,
    /// Length of the last frame, and its time with the remainder of the division.
    last_bytes: u32,
    last: (Span, u64),
    /// Remainder of the division that gave `busy_until`: a long train stays exact.
    remainder: u64,
    limit_packets: u32,
    limit_bytes: u64,
    /// Packets whose sending has not begun when the wire was settled last, in order.
    waiting: VecDeque<Waiting>,
    waiting_bytes: u64,
}

impl Serial {
    /// The wire of a link, unless a discipline decides what it sends, or slots when: as on the kernel's
    /// engines, no discipline can stand behind a wire.
    pub(super) fn of(setup: &LinkSetup<'_>) -> Option<Self> {
        let (scenario::Shaper::Serial { rate_bps }, Queue::DropTail { limit_packets, limit_bytes }) =
            (&setup.spec.shaper, &setup.spec.queue)
        else {
            return None;
        };
        if setup.spec.slots.is_some() {
            return None;
        }
        Some(Self {
            rate: *rate_bps,
            busy_until: Time::ZERO,
            last_bytes: 0,
            last: (Span::ZERO, 0),
            remainder: 0,
            limit_packets: limit_packets
                .map_or(u32::MAX, |limit| limit.min(u64::from(u32::MAX)) as u32),
            limit_bytes: limit_bytes.unwrap_or(u64::MAX),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
        })
    }

    /// Packets and bytes that wait.
    pub(super) fn queued(&self) -> (usize, u64) {
        (self.waiting.len(), self.waiting_bytes)
    }

    /// Returns true if a packet of this length finds no place behind others.
    #[inline(always)]
    pub(super) fn is_full(&self, frame_bytes: u32) -> bool {
        self.waiting.len() >= self.limit_packets as usize
            || self.waiting_bytes + u64::from(frame_bytes) > self.limit_bytes
    }

    #[inline(always)]
    pub(super) fn push(&mut self, new: Waiting) {
        self.waiting_bytes += u64::from(new.packet.frame_bytes);
        self.waiting.push_back(new);
    }

    /// Packets whose sending began before `now` wait no longer.
    #[inline(always)]
    pub(super) fn settle_before(&mut self, now: Time, stats: &mut PipeStats) {
        while let Some(head) = self.waiting.front().filter(|head| head.start < now) {
            self.waiting_bytes -= u64::from(head.packet.frame_bytes);
            stats.leaves(head.start.since(head.arrived));
            self.waiting.pop_front();
        }
    }

    /// Takes all packets that wait.
    pub(super) fn drain(&mut self) -> Vec<Waiting> {
        self.waiting_bytes = 0;
        self.waiting.drain(..).collect()
    }

    /// Returns true if a frame is sent at once. At the instant at which the frame before ends, a
    /// new one still waits.
    #[inline(always)]
    pub(super) fn is_free(&self, now: Time) -> bool {
        self.busy_until < now || self.busy_until == Time::ZERO
    }

    /// Plans a frame behind all others. Returns when its sending starts and ends.
    #[inline(always)]
    pub(super) fn plan(&mut self, now: Time, wire_bytes: u32) -> (Time, Time) {
        let start = if self.busy_until > now {
            self.busy_until
        } else {
            self.remainder = 0;
            now
        };
        self.plan_from(start, wire_bytes)
    }

    /// Plans a frame from `start` on, without a gap to the one before.
    #[inline(always)]
    pub(super) fn plan_from(&mut self, start: Time, wire_bytes: u32) -> (Time, Time) {
        if self.last_bytes != wire_bytes {
            self.last_bytes = wire_bytes;
            self.last = self.rate.serialise(u64::from(wire_bytes), 0);
        }
        let (mut span, remainder) = self.last;
        let rate = self.rate.as_bps();
        self.remainder += remainder;
        if self.remainder >= rate {
            span = span + Span::from_ps(self.remainder / rate);
            self.remainder %= rate;
        }
        self.busy_until = start + span;
        (start, self.busy_until)
    }

    /// A new rate for all that is planned from now on.
    pub(super) fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
        self.remainder = 0; // In units of the old rate.
        (self.last_bytes, self.last) = (0, (Span::ZERO, 0));
    }
}

impl Stage for Serial {
    const KEEPS_ORDER: bool = true;
    const OWN_EVENT: bool = false;

    fn acts(&self) -> bool {
        true
    }
}
