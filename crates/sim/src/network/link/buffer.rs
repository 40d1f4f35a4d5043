//! Queue in front of the shaper: a FIFO with a limit, netem's delay, or a queue discipline. That of a
//! wire is in [`super::serial`].

use super::netem::Netem;
use super::stage::{LinkSetup, Properties, Stage};
use crate::arena::Handle;
use crate::qdisc::{Context, Head, Inside, Qdisc, Queued, Sight, Verdicts};
use dumbbell_model::queue::Queue;
use dumbbell_model::rng::Rng;
use dumbbell_model::{Span, Time};
use std::collections::VecDeque;

/// A packet that waits for the shaper, or for a serial wire ([`super::serial`]).
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) packet: Handle,
    pub(super) arrived: Time,
    /// Time from which it is eligible for the shaper (end of netem's delay); on a serial wire, start of
    /// its sending.
    pub(super) start: Time,
}

/// Kind of queue: its limit, and the order in which packets leave.
enum Kind {
    /// Drop-tail FIFO; without a limit where nothing waits.
    DropTail {
        limit_packets: Option<u64>,
        limit_bytes: Option<u64>,
    },
    /// Linux's netem: packets leave in order of eligibility.
    Netem {
        delay: Span,
        jitter: Span,
        limit_packets: u64,
    },
    /// netem with further words.
    Words(Box<Netem>),
    Discipline(Box<Discipline>),
}

/// A queue discipline, with what it decided and was not reported yet.
struct Discipline {
    qdisc: Qdisc,
    verdicts: Verdicts,
}

impl Discipline {
    #[inline(never)]
    fn head(&mut self, now: Time) -> Option<(Time, Option<Handle>)> {
        match self.qdisc.peek(now, &mut self.verdicts) {
            Head::Empty => None,
            Head::Until(at) => Some((at, None)),
            Head::Ready(queued) => Some((queued.arrived, Some(queued.packet))),
        }
    }
}

/// The queue of a link.
pub(crate) struct Buffer {
    kind: Kind,
    /// By `start`; empty under a discipline, which keeps its packets itself.
    waiting: VecDeque<Waiting>,
    waiting_bytes: u64,
}

impl Buffer {
    pub(super) fn new(setup: &LinkSetup<'_>) -> Self {
        let LinkSetup { spec, name, seed, .. } = setup;
        let kind = match &spec.queue {
            Queue::DropTail { limit_packets, limit_bytes } => {
                Kind::DropTail { limit_packets: *limit_packets, limit_bytes: *limit_bytes }
            }
            Queue::Netem { delay, limit_packets, words: Some(words), .. } => {
                Kind::Words(Box::new(Netem::new(setup, words, *delay, *limit_packets)))
            }
            Queue::Netem { delay, jitter, limit_packets, words: None } => {
                Kind::Netem { delay: *delay, jitter: *jitter, limit_packets: *limit_packets }
            }
            queue => Kind::Discipline(Box::new(Discipline {
                qdisc: Qdisc::new(
                    queue,
                    &Context {
                        name: &format!("link/{name}"),
                        seed: *seed,
                        framing: spec.framing,
                        frame_bytes: setup.frame_bytes,
                        bridge: setup.bridge,
                        since: setup.since,
                    },
                ),
                verdicts: Verdicts::default(),
            })),
        };
        Self { kind, waiting: VecDeque::new(), waiting_bytes: 0 }
    }

    pub(super) fn properties(&self) -> Properties {
        Properties::of(self)
    }

    pub(super) fn is_netem(&self) -> bool {
        matches!(self.kind, Kind::Netem { .. } | Kind::Words(_))
    }

    /// netem with further words.
    pub(super) fn words(&mut self) -> Option<&mut Netem> {
        match &mut self.kind {
            Kind::Words(netem) => Some(netem),
            _ => None,
        }
    }

    pub(super) fn words_ref(&self) -> Option<&Netem> {
        match &self.kind {
            Kind::Words(netem) => Some(netem),
            _ => None,
        }
    }

    /// Returns true if a packet of this length finds no place. Disciplines make place themselves; netem
    /// with words decides by itself, so it counts as full here.
    #[inline(always)]
    pub(super) fn is_full(&self, frame_bytes: u32) -> bool {
        match self.kind {
            Kind::DropTail { limit_packets, limit_bytes } => {
                let packets = self.waiting.len() as u64;
                let bytes = self.waiting_bytes + u64::from(frame_bytes);
                limit_packets.is_some_and(|limit| packets >= limit)
                    || limit_bytes.is_some_and(|limit| bytes > limit)
            }
            Kind::Netem { limit_packets, .. } => self.waiting.len() as u64 >= limit_packets,
            Kind::Words(_) => true,
            Kind::Discipline(_) => false,
        }
    }

    /// Offers a packet to the discipline. Returns false if there is none.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, now: Time, packet: Handle, sight: &Sight<'_>) -> bool {
        let Kind::Discipline(discipline) = &mut self.kind else { return false };
        let queued = Queued { packet, arrived: now, bytes: packet.frame_bytes };
        discipline.qdisc.enqueue(now, queued, sight, &mut discipline.verdicts);
        true
    }

    /// Draws netem's delay of a packet; 0 without netem.
    pub(super) fn delay(&self, rng: &mut Rng) -> Span {
        match self.kind {
            Kind::Netem { delay, jitter, .. } => delay + Span::from_ps(rng.below(jitter.as_ps())),
            Kind::DropTail { .. } | Kind::Words(_) | Kind::Discipline(_) => Span::ZERO,
        }
    }

    /// Changes netem's delay. Returns false without netem.
    pub(super) fn set_delay(&mut self, new: Span) -> bool {
        match &mut self.kind {
            Kind::Netem { delay, .. } => *delay = new,
            Kind::Words(netem) => netem.set_delay(new),
            Kind::DropTail { .. } | Kind::Discipline(_) => return false,
        }
        true
    }

    /// Adds a packet in order of `start`: with netem's jitter a later packet may overtake. Returns its
    /// place, 0 for the head.
    #[inline(always)]
    pub(super) fn push(&mut self, new: Waiting) -> usize {
        self.waiting_bytes += u64::from(new.packet.frame_bytes);
        if self.waiting.back().is_none_or(|last| last.start <= new.start) {
            self.waiting.push_back(new);
            self.waiting.len() - 1
        } else {
            let index = self.waiting.partition_point(|before| before.start <= new.start);
            self.waiting.insert(index, new);
            index
        }
    }

    /// Adds a packet of a netem with words: in order of `start`, or in front of all others if it is early.
    /// `held`: the head stays, as the shaper has asked for it (`qdisc_peek_dequeued`). Returns its place.
    pub(super) fn push_words(&mut self, mut new: Waiting, early: bool, held: bool) -> usize {
        let least = usize::from(held && !self.waiting.is_empty());
        let index = if early {
            if let Some(head) = self.waiting.get(least) {
                new.start = new.start.min(head.start);
            }
            least
        } else {
            self.waiting.partition_point(|before| before.start <= new.start).max(least)
        };
        self.waiting_bytes += u64::from(new.packet.frame_bytes);
        self.waiting.insert(index, new);
        index
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<Waiting> {
        let head = self.waiting.pop_front()?;
        self.waiting_bytes -= u64::from(head.packet.frame_bytes);
        Some(head)
    }

    /// Time from which the head is eligible, and the head if the discipline has chosen it. `None` if
    /// nothing waits.
    #[inline(always)]
    pub(super) fn head(&mut self, now: Time) -> Option<(Time, Option<Handle>)> {
        let Kind::Discipline(discipline) = &mut self.kind else {
            return self.waiting.front().map(|head| (head.start, Some(head.packet)));
        };
        discipline.head(now)
    }

    /// Takes the head. Returns it and when it arrived.
    #[inline(always)]
    pub(super) fn take(&mut self, now: Time) -> Option<(Handle, Time)> {
        if let Kind::Discipline(discipline) = &mut self.kind {
            let queued = discipline.qdisc.take(now, &mut discipline.verdicts)?;
            return Some((queued.packet, queued.arrived));
        }
        self.pop().map(|head| (head.packet, head.arrived))
    }

    /// Takes out all packets. A discipline is not used afterwards: what it would have dropped is among
    /// them.
    pub(super) fn flush(&mut self, now: Time) -> Vec<Handle> {
        let Kind::Discipline(discipline) = &mut self.kind else {
            self.waiting_bytes = 0;
            return self.waiting.drain(..).map(|waiting| waiting.packet).collect();
        };
        let (mut at, mut packets) = (now, Vec::new());
        let Discipline { qdisc, verdicts } = &mut **discipline;
        loop {
            match qdisc.peek(at, verdicts) {
                Head::Empty => break,
                Head::Until(later) => at = later.max(at + Span::from_ns(1)),
                Head::Ready(_) => packets.extend(qdisc.take(at, verdicts).map(|one| one.packet)),
            }
        }
        packets.extend(verdicts.dropped.drain(..).map(|(packet, _)| packet));
        packets
    }

    /// Decisions of the discipline since the last call.
    pub(super) fn verdicts(&mut self) -> Option<&mut Verdicts> {
        match &mut self.kind {
            Kind::Discipline(discipline) => Some(&mut discipline.verdicts),
            Kind::DropTail { .. } | Kind::Netem { .. } | Kind::Words(_) => None,
        }
    }

    /// Packets and bytes that wait.
    #[inline(always)]
    pub(super) fn length(&self) -> (usize, u64) {
        match &self.kind {
            Kind::Discipline(discipline) => discipline.qdisc.length(),
            Kind::DropTail { .. } | Kind::Netem { .. } | Kind::Words(_) => {
                (self.waiting.len(), self.waiting_bytes)
            }
        }
    }

    /// State of the discipline, for the table `queues`.
    pub(super) fn inside(&self, now: Time) -> Inside {
        match &self.kind {
            Kind::Discipline(discipline) => discipline.qdisc.inside(now),
            Kind::DropTail { .. } | Kind::Netem { .. } | Kind::Words(_) => Inside::default(),
        }
    }
}

/// A FIFO does nothing by itself: its shaper makes packets wait.
impl Stage for Buffer {
    const KEEPS_ORDER: bool = false;
    const OWN_EVENT: bool = true;

    fn acts(&self) -> bool {
        !matches!(self.kind, Kind::DropTail { .. })
    }
}
