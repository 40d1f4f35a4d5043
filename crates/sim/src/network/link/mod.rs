//! One direction of a link. A packet passes, in order: duplication, policer, loss, corruption,
//! ACK aggregation, queue with shaper, propagation.
//!
//! A serial link needs no event of its own: when a packet is accepted, its departure is known
//! (`start = max(now, end of the packet before)`), so it goes straight onto the line with its time
//! of arrival. The token bucket, netem and traces keep one event, for the head of their queue.

mod line;
pub(crate) mod loss;
pub(crate) mod shaper;
pub(crate) mod stats;

use crate::arena::{Arena, Handle};
use crate::network::link::loss::{DropReason, LossModel, PolicerState};
use crate::network::link::shaper::{DeliveryTrace, TokenBucket};
use crate::network::link::stats::PipeStats;
use crate::qdisc::{Head, Inside, Qdisc, Queued, Verdicts};
use dumbbell_model::queue::Queue;
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::{AckAggregation, Change, Reordering};
use dumbbell_model::{Framing, Rate, Span, Time};
use std::collections::VecDeque;

/// What lets packets go.
pub(crate) enum Shaper {
    None,
    Serial { rate: Rate, busy_until: Time, remainder: u64 },
    Tbf(TokenBucket),
    Trace(DeliveryTrace),
}

/// A packet that waits for the shaper, or (serial link) will start being sent at `start`.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: Handle,
    arrived: Time,
    /// Eligible for the shaper (netem's delay is over); start of sending on a serial link.
    start: Time,
}

/// A packet in propagation.
#[derive(Clone, Copy, Debug)]
struct OnLine {
    arrival: Time,
    /// When it left the queue.
    start: Time,
    packet: Handle,
}

/// What became of an offered packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    /// It is at the other end already.
    Passed,
    /// It waits or travels; a serial link knows when it will have left.
    Kept(Option<Time>),
    Dropped(DropReason),
}

/// A wire that is busy until then takes a packet at once. At that very instant it does not yet.
fn free(busy_until: Time, now: Time) -> bool {
    busy_until < now || busy_until == Time::ZERO
}

/// One direction of a link. What a mere delay needs comes first, in two cache lines (the second is
/// its counters): with a thousand access links, memory is what a packet costs.
#[repr(C, align(64))]
pub(crate) struct Pipe {
    line: VecDeque<OnLine>,
    pub(crate) delay: Span,
    /// How long arrivals at the far end may wait until they are handed on.
    pub(crate) lookahead: Span,
    pub(crate) taps: Option<Box<EndTaps>>,
    /// Index of the node at the far end.
    pub(crate) to: u32,
    /// Nothing but the delay, which never changes, happens to a packet here.
    pub(crate) mere_delay: bool,
    pub(crate) stats: PipeStats,

    /// What arrives at one instant is in the queue before this is asked for a packet: below netem's
    /// delay, which hands over all that is due before it asks (`netem_dequeue`).
    /// HTB's drops are the kernel's without this (docs/disciplines.md); why is not known.
    pub(crate) gathers: bool,
    /// Its token bucket stands for a wire.
    is_wire: bool,
    framing: Framing,
    pub(crate) name: String,
    pub(crate) policer: Option<PolicerState>,
    pub(crate) loss: LossModel,
    pub(crate) corruption: f64,
    pub(crate) duplication: f64,
    pub(crate) queue: Queue,
    pub(crate) shaper: Shaper,
    /// Jitter of the pipe and processing time of the node at its end.
    pub(crate) jitter: Span,
    pub(crate) reordering: Option<Reordering>,
    pub(crate) ack_aggregation: Option<AckAggregation>,
    pub(crate) changes: VecDeque<Change>,
    pub(crate) rng: Rng,

    /// Arrivals that may not wait, where others may.
    urgent: VecDeque<Time>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: u64,
    /// When packets that followed each other without a gap on a serial wire began to be sent: the
    /// first is that of the head of the line, or over.
    trains: VecDeque<Time>,
    /// What decides what leaves, if more than order does.
    qdisc: Option<Qdisc>,
    /// What it did and was not told yet.
    verdicts: Verdicts,
    held: Vec<Handle>,
    held_until: Option<Time>,
    damaged: Vec<Handle>,
}

/// Indices of the taps at its near and its far end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EndTaps {
    pub(crate) near: Option<usize>,
    pub(crate) far: Option<usize>,
}

/// Values of a pipe that its own state starts from.
pub(crate) struct PipeParts {
    pub(crate) name: String,
    pub(crate) to: u32,
    pub(crate) policer: Option<PolicerState>,
    pub(crate) loss: LossModel,
    pub(crate) shaper: Shaper,
    pub(crate) jitter: Span,
    pub(crate) rng: Rng,
    pub(crate) qdisc: Option<Qdisc>,
}

impl Pipe {
    pub(crate) fn new(parts: PipeParts, spec: &dumbbell_model::scenario::Pipe) -> Self {
        let mere_delay = spec.policer.is_none()
            && matches!(parts.loss, LossModel::None)
            && spec.corruption == 0.0
            && spec.duplication == 0.0
            && matches!(spec.queue, Queue::DropTail { .. })
            && matches!(parts.shaper, Shaper::None)
            && parts.jitter.is_zero()
            && spec.reordering.is_none()
            && spec.ack_aggregation.is_none()
            && spec.changes.is_empty();
        let delayed = !spec.delay.is_zero()
            || !spec.jitter.is_zero()
            || spec.changes.iter().any(|change| change.delay.is_some());
        Self {
            mere_delay,
            is_wire: matches!(spec.shaper, dumbbell_model::scenario::Shaper::Serial { .. }),
            gathers: delayed && matches!(parts.shaper, Shaper::Tbf(_)),
            name: parts.name,
            to: parts.to,
            policer: parts.policer,
            loss: parts.loss,
            corruption: spec.corruption,
            duplication: spec.duplication,
            queue: spec.queue.clone(),
            shaper: parts.shaper,
            framing: spec.framing,
            delay: spec.delay,
            jitter: parts.jitter,
            reordering: spec.reordering,
            ack_aggregation: spec.ack_aggregation,
            changes: spec.changes.iter().cloned().collect(),
            rng: parts.rng,
            stats: PipeStats::default(),
            lookahead: Span::ZERO,
            taps: None,
            urgent: VecDeque::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            trains: VecDeque::new(),
            qdisc: parts.qdisc,
            verdicts: Verdicts::default(),
            line: VecDeque::new(),
            held: Vec::new(),
            held_until: None,
            damaged: Vec::new(),
        }
    }

    /// Draws whether this packet is to be queued twice.
    pub(crate) fn duplicates(&mut self) -> bool {
        !self.mere_delay && self.duplication > 0.0 && self.rng.chance(self.duplication)
    }

    /// A packet arrives at the near end.
    pub(crate) fn offer(&mut self, now: Time, packet: Handle, arena: &Arena) -> Offered {
        let bytes = packet.frame_bytes;
        self.stats.arrived_packets += 1;
        self.stats.arrived_bytes += u64::from(bytes);
        if self.mere_delay {
            if self.delay.is_zero() {
                self.left(bytes);
                return Offered::Passed;
            }
            self.line.push_back(OnLine { arrival: now + self.delay, start: now, packet });
            return Offered::Kept(None);
        }
        if let Some(policer) = &mut self.policer {
            if !policer.admits(now, bytes) {
                return self.dropped(DropReason::Policed);
            }
        }
        if !matches!(self.loss, LossModel::None) {
            if let Some(reason) = self.loss.strikes(arena.get(packet), &mut self.rng) {
                return self.dropped(reason);
            }
        }
        self.settle_before(now);
        if self.is_full(now, bytes) {
            return self.dropped(DropReason::Overflow);
        }
        if self.corruption > 0.0 && self.rng.chance(self.corruption) {
            self.damaged.push(packet);
        }
        if let Some(aggregation) = self.ack_aggregation {
            if arena.get(packet).is_bare() {
                self.hold(now, packet, aggregation);
                return Offered::Kept(None);
            }
        }
        self.accept(now, packet)
    }

    /// What it takes on the wire.
    fn wire_bytes(&self, packet: Handle) -> u32 {
        self.framing.wire_bytes(packet.frame_bytes)
    }

    fn dropped(&mut self, reason: DropReason) -> Offered {
        self.stats.dropped[reason as usize] += 1;
        Offered::Dropped(reason)
    }

    /// Packets of a serial link whose sending has begun wait no longer.
    pub(crate) fn settle(&mut self, now: Time) {
        self.settle_before(now + Span::from_ps(1));
    }

    /// The same, but for those whose sending begins right now: one that arrives at the instant at
    /// which another leaves comes first, and finds no room where that was the last (`netem_dequeue`
    /// of the link's delay hands over to the queue before this is asked for a packet). Where links
    /// of one rate follow each other such ties are the rule.
    fn settle_before(&mut self, now: Time) {
        if !matches!(self.shaper, Shaper::Serial { .. }) {
            return;
        }
        while let Some(head) = self.waiting.front().filter(|head| head.start < now).copied() {
            self.waiting.pop_front();
            self.waiting_bytes -= u64::from(head.packet.frame_bytes);
            self.stats.leaves(head.start.since(head.arrived));
        }
    }

    fn is_full(&self, now: Time, bytes: u32) -> bool {
        if matches!(&self.shaper, Shaper::Tbf(bucket) if !bucket.holds(bytes)) {
            return true;
        }
        match self.queue {
            Queue::DropTail { limit_packets, limit_bytes } => {
                if matches!(self.shaper, Shaper::Serial { busy_until, .. } if free(busy_until, now))
                {
                    return false; // The wire is free: no room is needed.
                }
                limit_packets.is_some_and(|limit| self.waiting.len() as u64 >= limit)
                    || limit_bytes
                        .is_some_and(|limit| self.waiting_bytes + u64::from(bytes) > limit)
            }
            Queue::Netem { limit_packets, .. } => self.waiting.len() as u64 >= limit_packets,
            _ => false, // Disciplines make room by themselves.
        }
    }

    /// Into the queue, or through it.
    fn accept(&mut self, now: Time, packet: Handle) -> Offered {
        let wire_bytes = self.wire_bytes(packet);
        match &mut self.shaper {
            _ if self.qdisc.is_some() => {
                let queued = Queued { packet, arrived: now, bytes: packet.frame_bytes };
                if let Some(qdisc) = &mut self.qdisc {
                    qdisc.enqueue(now, queued, &mut self.verdicts);
                }
                self.stats.queue_max = self.stats.queue_max.max(self.queued().0);
                Offered::Kept(None)
            }
            Shaper::Serial { rate, busy_until, remainder } => {
                let waits = !free(*busy_until, now);
                let start = if *busy_until > now {
                    *busy_until
                } else {
                    *remainder = 0;
                    now
                };
                let (span, rest) = rate.serialise(u64::from(wire_bytes), *remainder);
                *remainder = rest;
                *busy_until = start + span;
                let end = *busy_until;
                if waits {
                    self.enqueue(Waiting { packet, arrived: now, start });
                } else {
                    self.trains.push_back(start);
                    self.stats.leaves(Span::ZERO);
                }
                self.depart(start, end, packet);
                Offered::Kept(Some(end))
            }
            Shaper::None if !matches!(self.queue, Queue::Netem { .. }) => {
                if self.delay.is_zero() && self.jitter.is_zero() && self.reordering.is_none() {
                    if self.take_damage(packet) {
                        return self.dropped(DropReason::Corrupted);
                    }
                    self.left(packet.frame_bytes);
                    return Offered::Passed;
                }
                self.depart(now, now, packet);
                Offered::Kept(None)
            }
            _ => {
                let start = now + self.netem_delay();
                self.enqueue(Waiting { packet, arrived: now, start });
                Offered::Kept(None)
            }
        }
    }

    fn netem_delay(&mut self) -> Span {
        match self.queue {
            Queue::Netem { delay, jitter, .. } => {
                delay + Span::from_ps(self.rng.below(jitter.as_ps()))
            }
            _ => Span::ZERO,
        }
    }

    /// In order of eligibility: with netem's jitter a later packet may overtake.
    fn enqueue(&mut self, new: Waiting) {
        self.waiting_bytes += u64::from(new.packet.frame_bytes);
        let mut index = self.waiting.len();
        while index > 0 && self.waiting[index - 1].start > new.start {
            index -= 1;
        }
        if index == self.waiting.len() {
            self.waiting.push_back(new);
        } else {
            self.waiting.insert(index, new);
        }
        self.stats.queue_max = self.stats.queue_max.max(self.waiting.len());
    }

    /// What goes next, and from when on it may.
    fn head(&mut self, now: Time) -> Option<(Time, Option<Handle>)> {
        let Some(qdisc) = &mut self.qdisc else {
            return self.waiting.front().map(|head| (head.start, Some(head.packet)));
        };
        match qdisc.peek(now, &mut self.verdicts) {
            Head::Empty => None,
            Head::Until(at) => Some((at, None)),
            Head::Ready(queued) => Some((queued.arrived, Some(queued.packet))),
        }
    }

    /// What the discipline has dropped since this was asked last, and why.
    pub(crate) fn discarded(&mut self) -> Vec<(Handle, DropReason)> {
        self.stats.marked += core::mem::take(&mut self.verdicts.marked);
        for (_, reason) in &self.verdicts.dropped {
            self.stats.dropped[*reason as usize] += 1;
        }
        core::mem::take(&mut self.verdicts.dropped)
    }

    /// When the head of the queue may leave; `None`: nothing waits, or no event is needed.
    pub(crate) fn queue_event(&mut self, now: Time) -> Option<Time> {
        let (start, packet) = self.head(now)?;
        let Some(packet) = packet else { return Some(start) };
        let wire_bytes = self.wire_bytes(packet);
        match &mut self.shaper {
            Shaper::Serial { .. } => None,
            Shaper::None => Some(start),
            Shaper::Tbf(bucket) => Some(bucket.leaves_at(start, wire_bytes).max(now)),
            Shaper::Trace(trace) => Some(trace.next_at(now.max(start))),
        }
    }

    /// Takes the head out of the queue if it may leave now. It has passed the pipe if the result is
    /// `Some`; else it is on the line or still waiting.
    pub(crate) fn release(&mut self, now: Time) -> Release {
        let Some((start, Some(packet))) = self.head(now) else { return Release::Nothing };
        let wire_bytes = self.wire_bytes(packet);
        let goes = start <= now
            && match &mut self.shaper {
                Shaper::Serial { .. } => false,
                Shaper::None => true,
                Shaper::Tbf(bucket) => {
                    let goes = bucket.leaves_at(start, wire_bytes) <= now;
                    if goes {
                        bucket.take(now, wire_bytes);
                    }
                    goes
                }
                Shaper::Trace(trace) => trace.spend(wire_bytes),
            };
        if !goes {
            return Release::Nothing;
        }
        let Some((packet, arrived)) = self.take(now) else { return Release::Nothing };
        self.stats.leaves(now.since(arrived));
        if self.delay.is_zero() && self.jitter.is_zero() && self.reordering.is_none() {
            return self.emerge(packet);
        }
        self.depart(now, now, packet);
        Release::OnLine
    }

    /// The head out of the queue, and when it arrived there.
    fn take(&mut self, now: Time) -> Option<(Handle, Time)> {
        if let Some(qdisc) = &mut self.qdisc {
            let queued = qdisc.take(now, &mut self.verdicts)?;
            return Some((queued.packet, queued.arrived));
        }
        let head = self.waiting.pop_front()?;
        self.waiting_bytes -= u64::from(head.packet.frame_bytes);
        Some((head.packet, head.arrived))
    }

    /// Is what leaves at a time behind all that arrives at that instant?
    ///
    /// Below a delay what may leave at once waits for the rest of its burst. A wire's bucket holds one
    /// frame, so each wake-up of the kernel's timer that is late makes all frames behind it later,
    /// too: what their acknowledgements clock arrives first. A deeper bucket makes up for it.
    pub(crate) fn leaves_last(&self, now: Time, at: Time) -> bool {
        self.gathers && (at <= now || self.is_wire)
    }

    /// A delivery opportunity of a trace begins or ends.
    pub(crate) fn open_trace(&mut self) {
        if let Shaper::Trace(trace) = &mut self.shaper {
            trace.open();
        }
    }

    /// Nothing waits any more.
    pub(crate) fn close_trace(&mut self) {
        if self.queued().0 == 0 {
            if let Shaper::Trace(trace) = &mut self.shaper {
                trace.waste();
            }
        }
    }

    /// At the far end: intact, or damaged and dropped there.
    fn emerge(&mut self, packet: Handle) -> Release {
        if self.take_damage(packet) {
            self.stats.dropped[DropReason::Corrupted as usize] += 1;
            return Release::Damaged(packet);
        }
        self.left(packet.frame_bytes);
        Release::Arrived(packet)
    }

    fn left(&mut self, bytes: u32) {
        self.stats.left_packets += 1;
        self.stats.left_bytes += u64::from(bytes);
    }

    fn take_damage(&mut self, packet: Handle) -> bool {
        if self.damaged.is_empty() {
            return false;
        }
        let Some(index) = self.damaged.iter().position(|damaged| damaged.id == packet.id) else {
            return false;
        };
        self.damaged.swap_remove(index);
        true
    }

    /// An ACK joins the batch.
    fn hold(&mut self, now: Time, packet: Handle, aggregation: AckAggregation) {
        self.held.push(packet);
        if self.held.len() == 1 {
            self.held_until = Some(now + aggregation.max_wait);
        }
        if self.held.len() >= aggregation.max_acks as usize {
            self.held_until = Some(now);
        }
    }

    /// When the batch of ACKs leaves.
    pub(crate) fn aggregation_event(&self) -> Option<Time> {
        self.held_until
    }

    /// The batch leaves: into the queue one after the other. Returns those that are through it at
    /// once.
    pub(crate) fn release_batch(&mut self, now: Time) -> Vec<Release> {
        self.held_until = None;
        let mut through = Vec::new();
        for packet in core::mem::take(&mut self.held) {
            match self.accept(now, packet) {
                Offered::Passed => through.push(Release::Arrived(packet)),
                Offered::Dropped(_) => through.push(Release::Damaged(packet)),
                Offered::Kept(_) => {}
            }
        }
        through
    }

    /// When the next change of values is due.
    pub(crate) fn change_event(&self) -> Option<Time> {
        self.changes.front().map(|change| Time::ZERO + change.at)
    }

    /// Applies the change that is due now; packets planned on a serial link are planned anew.
    pub(crate) fn apply_change(&mut self, now: Time, loss: impl Fn(&Change) -> Option<LossModel>) {
        let Some(change) = self.changes.pop_front() else { return };
        if let Some(model) = loss(&change) {
            self.loss = model;
        }
        if let Some(delay) = change.delay {
            match &mut self.queue {
                Queue::Netem { delay: old, .. } => *old = delay,
                _ => self.delay = delay,
            }
        }
        match (&mut self.shaper, change.rate_bps) {
            (Shaper::Tbf(bucket), Some(new)) => bucket.set_rate(now, new),
            (Shaper::Serial { rate, .. }, Some(new)) => {
                *rate = new;
                self.replan(now);
            }
            _ => {}
        }
    }

    /// A serial link's rate changed: the packet on the wire finishes as it began, the others are
    /// sent at the new rate.
    fn replan(&mut self, now: Time) {
        self.settle(now);
        let planned: Vec<Waiting> = self.waiting.drain(..).collect();
        self.waiting_bytes = 0;
        self.line.retain(|entry| entry.start <= now);
        let Shaper::Serial { busy_until, .. } = &mut self.shaper else { return };
        if let Some(first) = planned.first() {
            *busy_until = first.start; // The end of the packet on the wire.
        }
        for planned in planned {
            let wire_bytes = self.wire_bytes(planned.packet);
            let Shaper::Serial { rate, busy_until, remainder } = &mut self.shaper else { return };
            let start = *busy_until;
            let (span, rest) = rate.serialise(u64::from(wire_bytes), *remainder);
            *remainder = rest;
            *busy_until = start + span;
            let end = *busy_until;
            self.enqueue(Waiting { start, ..planned });
            self.depart(start, end, planned.packet);
        }
    }

    /// Packets that wait now (after [`Self::settle`]).
    pub(crate) fn queued(&self) -> (usize, u64) {
        match &self.qdisc {
            Some(qdisc) => qdisc.length(),
            None => (self.waiting.len(), self.waiting_bytes),
        }
    }

    /// The state of its discipline, for the table `queues`.
    pub(crate) fn inside_queue(&self, now: Time) -> Inside {
        self.qdisc.as_ref().map_or_else(Inside::default, |qdisc| qdisc.inside(now))
    }

    /// Packets inside: waiting, travelling or held.
    pub(crate) fn inside(&self) -> u64 {
        let waiting = match self.shaper {
            Shaper::Serial { .. } => 0, // Those are on the line already.
            _ => self.queued().0,
        };
        (waiting + self.line.len() + self.held.len()) as u64
    }

    /// All that needs an event here is the arrival of the first packet on the line.
    pub(crate) fn is_line(&self) -> bool {
        self.mere_delay
            || self.ack_aggregation.is_none()
                && self.qdisc.is_none()
                && match self.shaper {
                    Shaper::Serial { .. } => true,
                    Shaper::None => !matches!(self.queue, Queue::Netem { .. }),
                    Shaper::Tbf(_) | Shaper::Trace(_) => false,
                }
    }

    /// Every packet that it keeps goes onto its line at once, behind all before, and arrives.
    pub(crate) fn keeps_order(&self) -> bool {
        self.is_line()
            && self.jitter.is_zero()
            && self.reordering.is_none()
            && self.corruption == 0.0
            && self.changes.is_empty()
    }

    pub(crate) fn is_trace(&self) -> bool {
        matches!(self.shaper, Shaper::Trace(_))
    }

    /// Does this pipe have a queue worth a table?
    pub(crate) fn has_queue(&self) -> bool {
        !matches!(self.shaper, Shaper::None)
            || self.qdisc.is_some()
            || matches!(self.queue, Queue::Netem { .. })
    }
}

/// What left a queue or a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    Nothing,
    /// Out of the queue, onto the line.
    OnLine,
    /// At the far end.
    Arrived(Handle),
    /// At the far end, but damaged.
    Damaged(Handle),
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_model::scenario;

    fn serial_of(limit_packets: u64) -> Pipe {
        let rate = Rate::from_bps(1_000_000);
        let parts = PipeParts {
            name: "link".to_owned(),
            to: 0,
            policer: None,
            loss: LossModel::None,
            shaper: Shaper::Serial { rate, busy_until: Time::ZERO, remainder: 0 },
            jitter: Span::ZERO,
            rng: Rng::named(1, "link"),
            qdisc: None,
        };
        let spec = scenario::Pipe {
            policer: None,
            loss: scenario::Loss::None,
            corruption: 0.0,
            duplication: 0.0,
            queue: Queue::DropTail { limit_packets: Some(limit_packets), limit_bytes: None },
            shaper: scenario::Shaper::Serial { rate_bps: rate },
            framing: Framing::default(),
            delay: Span::from_ms(5),
            jitter: Span::ZERO,
            reordering: None,
            ack_aggregation: None,
            changes: Vec::new(),
        };
        Pipe::new(parts, &spec)
    }

    /// Offers a full frame, 12.112 ms on the wire; true: it is taken.
    fn takes(pipe: &mut Pipe, at: Time) -> bool {
        let packet = Handle { id: 0, flow: 0, frame_bytes: 1514, outward: true, tos: 0 };
        !matches!(pipe.offer(at, packet, &Arena::default()), Offered::Dropped(_))
    }

    const FRAME_US: u64 = 12_112;

    #[test]
    fn what_arrives_when_another_leaves_finds_the_queue_as_before() {
        for (late_ps, taken) in [(0, false), (1, true)] {
            let mut pipe = serial_of(2);
            // One on the wire and two behind it, all at the very beginning.
            assert_eq!([(); 4].map(|()| takes(&mut pipe, Time::ZERO)), [true, true, true, false]);
            let leaves = Time::ZERO + Span::from_us(FRAME_US) + Span::from_ps(late_ps);
            assert_eq!(takes(&mut pipe, leaves), taken);
        }
        // With nothing behind the one that leaves, two find room beside it and the third does not.
        let mut pipe = serial_of(2);
        let leaves = Time::ZERO + Span::from_us(FRAME_US);
        assert!(takes(&mut pipe, Time::ZERO));
        assert_eq!([(); 3].map(|()| takes(&mut pipe, leaves)), [true, true, false]);
    }

    #[test]
    fn a_draw_holds_for_a_train() {
        let began = |us: u64| Time::ZERO + Span::from_us(us);
        let mut draws = Vec::new();
        for start in 1..20 {
            let [mut one, mut other] = [serial_of(9), serial_of(9)];
            for pipe in [&mut one, &mut other] {
                assert!(takes(pipe, began(start)) && takes(pipe, began(start + 7000)));
                // After a gap: another train.
                assert!(takes(pipe, began(start + 3 * FRAME_US)));
            }
            // Trains that began together draw alike.
            assert_eq!(one.draw(), other.draw());
            let mut of_one = Vec::new();
            for nth in 0..3 {
                of_one.extend(one.draw());
                let arrives = began(start + (nth + 1 + u64::from(nth == 2)) * FRAME_US + 5000);
                assert!(matches!(one.arrive(arrives), Release::Arrived(_)));
            }
            assert_eq!(of_one[0], of_one[1]);
            assert_eq!(one.draw(), None);
            draws.extend([of_one[0], of_one[2]]);
        }
        draws.sort_unstable();
        draws.dedup();
        assert!(draws.len() > 8, "{draws:?}");
    }
}
