//! One direction of a link: a [`row`] of stages, and the line of packets in propagation behind it.
//!
//! A serial link needs no event of its own: when a packet is accepted, its departure is known
//! (`start = max(now, end of the packet before)`), so it goes straight onto the line with its time
//! of arrival. The token bucket, netem and traces keep one event, for the head of their queue.

mod ack_aggregation;
mod buffer;
mod changes;
mod corruption;
mod delivery_trace;
mod duplication;
mod jitter;
mod line;
mod loss;
mod netem;
mod order;
mod outage;
mod policer;
mod reordering;
mod rewriting;
mod row;
mod serial;
mod shaper;
mod slots;
mod stage;
mod stats;
mod taus;
mod token_bucket;

use crate::arena::Handle;
use crate::drop_reason::DropReason;
use crate::give_back::push_back;
use crate::qdisc::{Inside, Sight};
use buffer::{Buffer, Waiting};
use delivery_trace::DeliveryTrace;
pub(crate) use delivery_trace::OPPORTUNITY_BYTES;
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::{Change, Scenario};
use dumbbell_model::{Framing, Rate, Span, Time};
use dumbbell_packet::Packet;
use line::OnLine;
use loss::Loss;
use netem::Netem;
pub(crate) use outage::Lost;
use row::{Acting, Row};
use serial::Serial;
use shaper::Shaper;
pub(crate) use stage::LinkSetup;
use stage::{Incoming, Passage, Properties, Stage};
use stats::PipeStats;
use std::collections::VecDeque;

/// Outcome of an offered packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    /// It is at the other end already.
    Passed,
    /// It waits or travels; a serial link knows when it will have left.
    Kept(Option<Time>),
    /// It waits behind the head of the queue, which leaves when it would have left.
    Behind,
    /// netem has let the packet in and wants a copy of it: the copy is offered by [`Pipe::offer_copy`], then
    /// the packet goes on by [`Pipe::go_on`].
    Twice,
    Dropped(DropReason),
}

/// Bytes of a packet on the wire.
#[inline(always)]
fn on_wire(framing: Option<&Framing>, packet: Handle) -> u32 {
    framing.map_or(packet.frame_bytes, |framing| framing.wire_bytes(packet.frame_bytes))
}

/// A packet that left a queue or a line.
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

/// Indices of the taps at the near and the far end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EndTaps {
    pub(crate) near: Option<usize>,
    pub(crate) far: Option<usize>,
}

/// One direction of a link. Memory is what a packet costs where links are many. So what each packet
/// needs comes first: for a mere delay two cache lines, for a wire five.
#[repr(C, align(64))]
pub(crate) struct Pipe {
    line: VecDeque<OnLine>,
    pub(crate) delay: Span,
    /// Longest time for which an arrival at the far end may wait until it is handed on; zero without
    /// lookahead.
    pub(crate) lookahead: Span,
    /// Index of the node at the far end.
    pub(crate) to: u32,
    /// No stage acts: packets pass after the delay.
    pub(crate) mere_delay: bool,
    /// No stage acts, there is no delay, and nobody watches: packets pass at once.
    pub(crate) passes: bool,
    /// Each packet's departure and arrival is recorded.
    pub(crate) observed: bool,
    /// No stage has an event: the only one is the next arrival at the far end.
    pub(crate) is_line: bool,
    /// It has events of its own besides those of packets that leave or arrive.
    pub(crate) has_rare_events: bool,
    /// Every packet that it keeps goes onto its line at once, behind all before, and arrives.
    pub(crate) keeps_order: bool,
    /// Frames are longer on the wire.
    framed: bool,
    acting: Acting,
    pub(crate) stats: PipeStats,

    wire: Option<Serial>,
    /// Start times of trains: packets sent without a gap on a serial wire. The first is the start of the
    /// train of the line's head, or of an earlier train.
    trains: VecDeque<Time>,

    pub(crate) taps: Option<Box<EndTaps>>,
    /// Arrivals of one instant are in the queue before the shaper is asked for a packet: slots below
    /// netem's delay, which hands over all that is due before it asks (`netem_dequeue`).
    pub(crate) gathers: bool,
    /// What is due leaves the queue before a packet that arrives at the same instant enters it: the
    /// kernel runs the queues whose timers expire before it takes in packets (NET_TX before NET_RX).
    pub(crate) leaves_first: bool,
    framing: Framing,
    pub(crate) name: String,
    /// Name of the queue in `tc`.
    queue_name: &'static str,
    /// Stages, where one acts or may act later: a network has many links without.
    row: Option<Box<Row>>,
    /// Draws of all stages.
    rng: Rng,
    /// Arrivals that may not wait, where others may.
    urgent: VecDeque<Time>,
    /// The packet of [`Offered::Twice`] is marked.
    marks: bool,
}

impl Pipe {
    pub(crate) fn new(setup: &LinkSetup<'_>) -> Self {
        let spec = setup.spec;
        let row = Row::new(setup);
        let wire = Serial::of(setup);
        let of_stages = row.properties();
        let properties = of_stages.and(wire.as_ref().map_or(Properties::NONE, Properties::of));
        let delay_changes = spec.changes.iter().any(|change| change.delay.is_some());
        let delayed = !spec.delay.is_zero() || !spec.jitter.is_zero() || delay_changes;
        Self {
            mere_delay: !properties.acts,
            passes: false,
            acting: Acting::of(&row),
            observed: false,
            is_line: !properties.own_event,
            has_rare_events: row.changes.properties().acts || row.ack_aggregation.acts(),
            keeps_order: properties.keeps_order,
            gathers: delayed && matches!(row.shaper, Shaper::Slots(_)),
            leaves_first: matches!(row.shaper, Shaper::Tbf(_)) || spec.queue.own_rate().is_some(),
            queue_name: spec.queue.name(),
            row: of_stages.acts.then(|| Box::new(row)),
            wire,
            name: setup.name.to_owned(),
            to: setup.to as u32,
            framed: spec.framing != Framing::default(),
            framing: spec.framing,
            delay: spec.delay,
            rng: Rng::named(setup.seed, &format!("link/{}", setup.name)),
            stats: PipeStats::default(),
            lookahead: Span::ZERO,
            taps: None,
            urgent: VecDeque::new(),
            marks: false,
            trains: VecDeque::new(),
            line: VecDeque::new(),
        }
    }

    /// Decides how packets pass, once its taps are known. With `hops` every packet is recorded.
    pub(crate) fn observe(&mut self, hops: bool) {
        self.observed = hops || self.taps.is_some();
        self.passes = self.mere_delay && self.delay.is_zero() && !self.observed;
    }

    /// Counts a packet that passes at once.
    #[inline]
    pub(crate) fn pass(&mut self, packet: Handle) {
        self.stats.arrived_packets += 1;
        self.stats.arrived_bytes += u64::from(packet.frame_bytes);
        self.left(packet.frame_bytes);
    }

    /// Returns true if packets are duplicated here.
    pub(crate) fn may_duplicate(&self) -> bool {
        let words = self.row.as_ref().and_then(|row| row.buffer.words_ref());
        self.acting.duplication || words.is_some_and(Netem::duplicates)
    }

    /// Returns true if headers are rewritten here.
    pub(crate) fn rewrites(&self) -> bool {
        self.acting.rewriting
    }

    /// Rewrites a packet that enters. Takes and returns codepoint and ECN field.
    pub(crate) fn rewrite(&mut self, tos: u8, packet: &mut Packet) -> u8 {
        self.row.as_mut().map_or(tos, |row| row.rewriting.rewrite(tos, packet))
    }

    /// Draws whether this packet is offered twice.
    pub(crate) fn duplicates(&mut self) -> bool {
        match &self.row {
            Some(row) if self.acting.duplication && !row.outage.acts() => {
                row.duplication.strikes(&mut self.rng)
            }
            _ => false,
        }
    }

    /// A packet arrives at the near end.
    #[inline(always)]
    pub(crate) fn offer(&mut self, now: Time, packet: Handle, sight: &Sight<'_>) -> Offered {
        let bytes = packet.frame_bytes;
        self.stats.arrived_packets += 1;
        self.stats.arrived_bytes += u64::from(bytes);
        if self.mere_delay {
            if self.delay.is_zero() {
                self.left(bytes);
                return Offered::Passed;
            }
            push_back(&mut self.line, OnLine { arrival: now + self.delay, start: now, packet });
            return Offered::Kept(None);
        }
        if let Some(row) = self.row.as_mut().filter(|_| self.acting.ingress) {
            match row.arrive(&Incoming { now, packet, arena: sight.arena }, &mut self.rng) {
                Passage::On => {}
                Passage::Held => return Offered::Kept(None),
                Passage::Dropped(reason) => return self.dropped(reason),
            }
        }
        self.admit(now, packet, sight)
    }

    /// Into the queue, or through it, if it has place.
    #[inline(always)]
    fn admit(&mut self, now: Time, packet: Handle, sight: &Sight<'_>) -> Offered {
        let wire_bytes = self.wire_bytes(packet);
        let Some(wire) = &mut self.wire else { return self.admit_to_buffer(now, packet, sight) };
        // A packet that arrives at the instant at which another leaves comes first, and finds the queue
        // full where that was the last (`netem_dequeue` of the link's delay hands over to the queue
        // before this is asked for a packet). Where links of one rate follow each other such ties are
        // the rule.
        wire.settle_before(now, &mut self.stats);
        let goes_at_once = wire.is_free(now);
        if !goes_at_once && wire.is_full(packet.frame_bytes) {
            return self.dropped(DropReason::Overflow);
        }
        if let Some(row) = self.row.as_mut().filter(|_| self.acting.corruption) {
            row.corruption.on_admission(packet, &mut self.rng);
        }
        let (start, end) = wire.plan(now, wire_bytes);
        if goes_at_once {
            self.trains.push_back(start);
            self.stats.leaves(Span::ZERO);
        } else {
            wire.push(Waiting { packet, arrived: now, start });
            self.stats.queue_max = self.stats.queue_max.max(wire.queued().0);
        }
        self.depart(start, end, packet);
        Offered::Kept(Some(end))
    }

    #[inline(always)]
    fn admit_to_buffer(&mut self, now: Time, packet: Handle, sight: &Sight<'_>) -> Offered {
        let bytes = packet.frame_bytes;
        let Some(row) = &mut self.row else { return self.through(now, packet) };
        if !row.shaper.holds(bytes) || row.buffer.is_full(bytes) {
            if row.shaper.holds(bytes) && row.buffer.words().is_some() {
                return self.admit_to_netem(now, packet, false);
            }
            if matches!(row.shaper, Shaper::Slots(_)) {
                // The kernel dequeues after an enqueue that failed, too (`__dev_xmit_skb`): a slot may be
                // drawn. The event of the queue comes at the earlier time and finds the later one.
                self.queue_event(now);
            }
            return self.dropped(DropReason::Overflow);
        }
        if self.acting.corruption {
            row.corruption.on_admission(packet, &mut self.rng);
        }
        if row.buffer.enqueue(now, packet, sight) {
            self.stats.queue_max = self.stats.queue_max.max(row.buffer.length().0);
            return Offered::Kept(None);
        }
        if matches!(row.shaper, Shaper::None) && !row.buffer.is_netem() {
            return self.through(now, packet);
        }
        let wire_bytes = on_wire(self.framed.then_some(&self.framing), packet);
        let start = row.shaper.plan(now + row.buffer.delay(&mut self.rng), wire_bytes);
        let place = row.buffer.push(Waiting { packet, arrived: now, start });
        self.stats.queue_max = self.stats.queue_max.max(row.buffer.length().0);
        if place > 0 && !row.shaper.asks_for_each() {
            return Offered::Behind;
        }
        Offered::Kept(None)
    }

    /// Through netem's words.
    #[inline(never)]
    fn admit_to_netem(&mut self, now: Time, packet: Handle, copy: bool) -> Offered {
        let Some(row) = &mut self.row else { return Offered::Passed };
        let full = row.buffer.length().0 as u64;
        let Some(netem) = row.buffer.words() else { return Offered::Passed };
        let verdict = netem.verdict(copy, packet.tos);
        let full = full >= netem.limit_packets;
        self.stats.marked += u64::from(verdict.marked);
        if verdict.lost {
            return self.dropped(DropReason::Random);
        }
        if full {
            return self.dropped(DropReason::Overflow);
        }
        if verdict.corrupted {
            row.corruption.damage(packet);
        }
        let marks = verdict.marked;
        if verdict.duplicated {
            self.marks = marks;
            return Offered::Twice;
        }
        self.delay_by_netem(now, packet, marks)
    }

    /// Gives a packet that netem has let in its delay.
    fn delay_by_netem(&mut self, now: Time, mut packet: Handle, marks: bool) -> Offered {
        let Some(row) = &mut self.row else { return Offered::Passed };
        if marks {
            packet.tos = netem::marked(packet.tos);
        }
        let Some(due) = row.buffer.words().map(|netem| netem.due(now)) else {
            return Offered::Passed;
        };
        let start = due.unwrap_or(now);
        let asked = row.buffer.head(now).is_some_and(|(start, _)| start <= now);
        let held = asked && matches!(row.shaper, Shaper::Tbf(_));
        let waiting = Waiting { packet, arrived: now, start };
        let place = row.buffer.push_words(waiting, due.is_none(), held);
        self.stats.queue_max = self.stats.queue_max.max(row.buffer.length().0);
        if place > 0 && !row.shaper.asks_for_each() {
            return Offered::Behind;
        }
        Offered::Kept(None)
    }

    /// Offers the copy of a packet of [`Offered::Twice`].
    pub(crate) fn offer_copy(&mut self, now: Time, mut copy: Handle) -> Offered {
        self.stats.arrived_packets += 1;
        self.stats.arrived_bytes += u64::from(copy.frame_bytes);
        if self.marks {
            copy.tos = netem::marked(copy.tos);
        }
        self.admit_to_netem(now, copy, true)
    }

    /// Goes on with a packet of [`Offered::Twice`] behind its copy.
    pub(crate) fn go_on(&mut self, now: Time, packet: Handle) -> Offered {
        let marks = core::mem::take(&mut self.marks);
        self.delay_by_netem(now, packet, marks)
    }

    /// A packet that nothing makes wait goes onto the line, or to the far end.
    fn through(&mut self, now: Time, packet: Handle) -> Offered {
        if self.propagates() {
            self.depart(now, now, packet);
            return Offered::Kept(None);
        }
        match self.emerge(packet) {
            Release::Damaged(_) => Offered::Dropped(DropReason::Corrupted),
            _ => Offered::Passed,
        }
    }

    /// Packets take time from the shaper to the far end.
    #[inline(always)]
    fn propagates(&self) -> bool {
        !self.delay.is_zero() || self.acting.egress
    }

    #[inline(always)]
    fn wire_bytes(&self, packet: Handle) -> u32 {
        on_wire(self.framed.then_some(&self.framing), packet)
    }

    fn dropped(&mut self, reason: DropReason) -> Offered {
        self.stats.dropped[reason as usize] += 1;
        Offered::Dropped(reason)
    }

    /// Packets of a wire whose sending has begun wait no longer.
    pub(crate) fn settle(&mut self, now: Time) {
        if let Some(wire) = &mut self.wire {
            wire.settle_before(now + Span::from_ps(1), &mut self.stats);
        }
    }

    /// Takes the packets that the discipline dropped since the last call, with reasons.
    pub(crate) fn discarded(&mut self) -> Vec<(Handle, DropReason)> {
        let verdicts = self.row.as_mut().and_then(|row| row.buffer.verdicts());
        let Some(verdicts) = verdicts else { return Vec::new() };
        self.stats.marked += core::mem::take(&mut verdicts.marked);
        let dropped = core::mem::take(&mut verdicts.dropped);
        for (_, reason) in &dropped {
            self.stats.dropped[*reason as usize] += 1;
        }
        dropped
    }

    /// Earliest departure of the queue's head; `None` if nothing waits.
    pub(crate) fn queue_event(&mut self, now: Time) -> Option<Time> {
        let row = self.row.as_mut()?;
        let (start, packet) = row.buffer.head(now)?;
        let Some(packet) = packet else { return Some(start) };
        let wire_bytes = on_wire(self.framed.then_some(&self.framing), packet);
        row.shaper.leaves_at(now, start, wire_bytes)
    }

    /// Takes the head out of the queue if it may leave now. Otherwise returns the time of
    /// [`Self::queue_event`].
    pub(crate) fn release(&mut self, now: Time) -> Result<Release, Option<Time>> {
        let row = self.row.as_mut().ok_or(None)?;
        let (start, packet) = row.buffer.head(now).ok_or(None)?;
        let packet = packet.ok_or(Some(start))?;
        let wire_bytes = on_wire(self.framed.then_some(&self.framing), packet);
        row.shaper.lets_go(now, start, wire_bytes)?;
        let (packet, arrived) = row.buffer.take(now).ok_or(None)?;
        self.stats.leaves(now.since(arrived));
        if !self.propagates() {
            return Ok(self.emerge(packet));
        }
        self.depart(now, now, packet);
        Ok(Release::OnLine)
    }

    /// Returns true if a departure at `at` follows all arrivals of that instant: it waits for the rest of
    /// its burst.
    pub(crate) fn leaves_last(&self, now: Time, at: Time) -> bool {
        self.gathers && at <= now
    }

    fn trace(&mut self) -> Option<&mut DeliveryTrace> {
        match &mut self.row.as_mut()?.shaper {
            Shaper::Trace(trace) => Some(trace),
            Shaper::None | Shaper::Tbf(_) | Shaper::Slots(_) => None,
        }
    }

    /// A delivery opportunity of a trace begins or ends.
    pub(crate) fn open_trace(&mut self) {
        if let Some(trace) = self.trace() {
            trace.open();
        }
    }

    /// Ends a delivery opportunity if nothing waits any more.
    pub(crate) fn close_trace(&mut self) {
        if self.queued().0 == 0 {
            if let Some(trace) = self.trace() {
                trace.waste();
            }
        }
    }

    /// At the far end: intact, or damaged and dropped there.
    #[inline(always)]
    fn emerge(&mut self, packet: Handle) -> Release {
        let row = self.row.as_mut().filter(|_| self.acting.corruption);
        if row.is_some_and(|row| row.corruption.take(packet)) {
            self.stats.dropped[DropReason::Corrupted as usize] += 1;
            return Release::Damaged(packet);
        }
        self.left(packet.frame_bytes);
        Release::Arrived(packet)
    }

    #[inline(always)]
    fn left(&mut self, bytes: u32) {
        self.stats.left_packets += 1;
        self.stats.left_bytes += u64::from(bytes);
    }

    /// Time at which the batch of held ACKs enters the queue; `None` if none is held.
    pub(crate) fn aggregation_event(&self) -> Option<Time> {
        self.row.as_ref()?.ack_aggregation.due()
    }

    /// Moves the batch of held ACKs into the queue, one after the other.
    pub(crate) fn release_batch(&mut self, now: Time, sight: &Sight<'_>) -> Vec<(Handle, Offered)> {
        let batch = self.row.as_mut().map(|row| row.ack_aggregation.release());
        let batch = batch.unwrap_or_default();
        batch.into_iter().map(|packet| (packet, self.admit(now, packet, sight))).collect()
    }

    /// Time of the next change of values.
    pub(crate) fn change_event(&self) -> Option<Time> {
        self.row.as_ref()?.changes.due()
    }

    /// Applies the change that is due now; packets planned on a serial link are planned anew. Returns the
    /// packets that are lost as the link goes down.
    pub(crate) fn apply_change(&mut self, now: Time, scenario: &Scenario) -> Vec<Lost> {
        let Some(row) = &mut self.row else { return Vec::new() };
        let Some(change) = row.changes.next() else { return Vec::new() };
        self.apply_values(now, &change, scenario);
        change.state.map_or_else(Vec::new, |state| self.set_state(now, state, scenario))
    }

    fn apply_values(&mut self, now: Time, change: &Change, scenario: &Scenario) {
        let Some(row) = &mut self.row else { return };
        // While the link is down, nothing is lost at random. The new loss begins with the link.
        if let Some(loss) = change.loss.as_ref().filter(|_| !row.outage.acts()) {
            row.loss = Loss::of(loss, scenario);
            self.acting = Acting::of(row);
        }
        if let Some(rate) = change.rate_bps {
            row.shaper.set_bucket_rate(now, rate);
        }
        let new_delay = change.delay.filter(|delay| !row.buffer.set_delay(*delay));
        self.delay = new_delay.unwrap_or(self.delay);
        if change.rate_bps.is_some() || new_delay.is_some() {
            self.replan(now, change.rate_bps);
        }
    }

    /// A serial link's rate or delay changed: the packet on the wire finishes as it began, the others are
    /// sent with the new values.
    fn replan(&mut self, now: Time, rate: Option<Rate>) {
        self.settle(now);
        let Some(wire) = &mut self.wire else { return };
        if let Some(rate) = rate {
            wire.set_rate(rate);
        }
        let planned = wire.drain();
        self.line.retain(|entry| entry.start <= now);
        // The end of the packet on the wire.
        let mut next = planned.first().map_or(now, |first| first.start);
        for planned in planned {
            let wire_bytes = self.framing.wire_bytes(planned.packet.frame_bytes);
            let Some(wire) = &mut self.wire else { return };
            let (start, end) = wire.plan_from(next, wire_bytes);
            next = end;
            wire.push(Waiting { start, ..planned });
            self.stats.queue_max = self.stats.queue_max.max(wire.queued().0);
            self.depart(start, end, planned.packet);
        }
    }

    /// Packets and bytes that wait now (after [`Self::settle`]).
    #[inline(always)]
    pub(crate) fn queued(&self) -> (usize, u64) {
        match (&self.wire, &self.row) {
            (Some(wire), _) => wire.queued(),
            (None, Some(row)) => row.buffer.length(),
            (None, None) => (0, 0),
        }
    }

    /// State of the discipline, for the table `queues`.
    pub(crate) fn inside_queue(&self, now: Time) -> Inside {
        self.row.as_ref().map(|row| row.buffer.inside(now)).unwrap_or_default()
    }

    /// Name of the queue in `tc`.
    pub(crate) fn queue_name(&self) -> &'static str {
        self.queue_name
    }

    /// Packets inside: waiting, travelling or held.
    pub(crate) fn inside(&self) -> u64 {
        // Those that wait for a wire are on the line already.
        let stages = self.row.as_ref().map_or(0, |row| row.buffer.length().0 + row.held());
        (stages + self.line.len()) as u64
    }

    pub(crate) fn is_trace(&self) -> bool {
        self.row.as_ref().is_some_and(|row| matches!(row.shaper, Shaper::Trace(_)))
    }

    /// Returns true if the pipe has a queue worth a table.
    pub(crate) fn has_queue(&self) -> bool {
        let queues = |row: &Row| row.shaper.properties().acts || row.buffer.properties().acts;
        self.wire.is_some() || self.row.as_deref().is_some_and(queues)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{dumbbell, serial};

    fn serial_of(limit_packets: u64) -> Pipe {
        let spec = serial(Rate::from_bps(1_000_000), Span::from_ms(5), limit_packets);
        let scenario = dumbbell(Span::from_ms(1), 1, spec.clone(), spec.clone());
        let frame_bytes = 1514;
        Pipe::new(&LinkSetup {
            scenario: &scenario,
            spec: &spec,
            name: "link",
            to: 0,
            seed: 1,
            frame_bytes,
            bridge: false,
            since: Time::ZERO,
        })
    }

    /// Offers a full frame, 12.112 ms on the wire; true: it is taken.
    fn takes(pipe: &mut Pipe, at: Time) -> bool {
        let packet = Handle { id: 0, flow: 0, frame_bytes: 1514, outward: true, tos: 0, hop: 0 };
        !matches!(pipe.offer(at, packet, &Sight::NONE), Offered::Dropped(_))
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
    fn what_a_packet_needs_is_in_five_cache_lines() {
        use std::mem::offset_of;
        let stats = offset_of!(Pipe, stats);
        assert_eq!((stats, offset_of!(PipeStats, queue_max)), (64, 64));
        assert_eq!(offset_of!(PipeStats, dropped), 96);
        let wire = offset_of!(Pipe, wire);
        assert_eq!(wire % 64, 0);
        assert!(offset_of!(Pipe, trains) + size_of::<VecDeque<Time>>() <= wire + 128);
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
