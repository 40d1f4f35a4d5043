//! Queue disciplines: one algorithm per file, each as Linux has it.
//!
//! What stands below a shaper is asked for its head first and for the packet when there are tokens.
//! Some disciplines answer the first by taking the packet out and keeping it
//! (`qdisc_peek_dequeued`): they decide when the packet before has left. Others just look
//! (`qdisc_peek_head`) and decide when the packet leaves.

mod codel;
mod drr;
mod fifo;
mod fq;
mod fq_codel;
mod fq_pie;
mod htb;
mod pie;
mod prio;
mod red;
mod rounds;
mod sfq;

use crate::arena::Handle;
use crate::network::link::drop_reason::DropReason;
use codel::Codel;
use drr::Drr;
use dumbbell_model::rng::Rng;
use dumbbell_model::{Framing, Queue, Time};
use dumbbell_packet::frame::NO_FLOW;
use fifo::Fifo;
use fq::Fq;
use fq_codel::FqCodel;
use fq_pie::FqPie;
use htb::Htb;
use pie::Pie;
use prio::Prio;
use red::Red;
use sfq::Sfq;
use std::collections::VecDeque;

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queued {
    pub(crate) packet: Handle,
    pub(crate) arrived: Time,
    /// Its frame.
    pub(crate) bytes: u32,
}

/// What a queue says of its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    Empty,
    /// Something waits, and nothing may leave before.
    Until(Time),
    Ready(Queued),
}

impl From<Option<Queued>> for Head {
    fn from(queued: Option<Queued>) -> Self {
        queued.map_or(Self::Empty, Self::Ready)
    }
}

/// What a discipline did to packets on the way.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    pub(crate) dropped: Vec<(Handle, DropReason)>,
    pub(crate) marked: u64,
}

impl Verdicts {
    /// There was no room.
    fn overflow(&mut self, queued: &Queued) {
        self.dropped.push((queued.packet, DropReason::Overflow));
    }

    /// To tell of congestion.
    fn signal(&mut self, queued: &Queued) {
        self.dropped.push((queued.packet, DropReason::Aqm));
    }

    /// Sets CE if the packet says that its ends understand it (RFC 3168 §5; `INET_ECN_set_ce`).
    fn mark(&mut self, queued: &mut Queued) -> bool {
        let marks = queued.packet.mark_ce();
        self.marked += u64::from(marks);
        marks
    }
}

/// First in, first out, with its length in bytes.
#[derive(Debug, Default)]
struct Line {
    packets: VecDeque<Queued>,
    bytes: u64,
}

impl Line {
    fn push(&mut self, queued: Queued) {
        self.bytes += u64::from(queued.bytes);
        self.packets.push_back(queued);
    }

    fn pop(&mut self) -> Option<Queued> {
        let queued = self.packets.pop_front()?;
        self.bytes -= u64::from(queued.bytes);
        Some(queued)
    }

    fn pop_back(&mut self) -> Option<Queued> {
        let queued = self.packets.pop_back()?;
        self.bytes -= u64::from(queued.bytes);
        Some(queued)
    }

    fn length(&self) -> (usize, u64) {
        (self.packets.len(), self.bytes)
    }
}

/// Which of so many queues a packet belongs to. Linux hashes addresses and ports with a random key;
/// here each flow and direction has a queue of its own as long as there are enough: what a hash does
/// but for collisions.
fn flow_queue(packet: &Handle, queues: usize) -> usize {
    (2 * packet.flow as usize + usize::from(packet.outward)) % queues
}

/// The class of a packet by its codepoint. What is not IP belongs to the class that takes the rest.
#[derive(Debug)]
struct Classifier {
    class_of: [u8; 64],
    rest: usize,
}

impl Classifier {
    fn new<'a>(dscps: impl Iterator<Item = &'a [u8]> + Clone) -> Self {
        let rest = dscps.clone().position(<[u8]>::is_empty).unwrap_or(0);
        let mut class_of = [rest as u8; 64];
        for (class, dscp) in dscps.enumerate() {
            for point in dscp {
                class_of[usize::from(point & 63)] = class as u8;
            }
        }
        Self { class_of, rest }
    }

    fn class(&self, packet: &Handle) -> usize {
        match packet.flow {
            NO_FLOW => self.rest,
            _ => usize::from(self.class_of[usize::from(packet.tos >> 2)]),
        }
    }
}

/// What a discipline looks like inside, for the table `queues`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Inside {
    pub(crate) codel: Option<CodelInside>,
    pub(crate) probability: Option<f64>,
    pub(crate) average_bytes: Option<f64>,
    pub(crate) new_flows: Option<usize>,
    pub(crate) old_flows: Option<usize>,
}

/// CoDel's state (RFC 8289 §5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodelInside {
    pub(crate) count: u32,
    /// Of the next drop, while it drops.
    pub(crate) drop_next: Option<Time>,
}

#[derive(Debug)]
enum Discipline {
    Fifo(Fifo),
    Red(Red),
    Codel(Codel),
    FqCodel(Box<FqCodel>),
    Pie(Box<Pie>),
    FqPie(Box<FqPie>),
    Sfq(Box<Sfq>),
    Fq(Box<Fq>),
    Prio(Box<Prio>),
    Drr(Box<Drr>),
    Htb(Box<Htb>),
}

/// A discipline with its queue, and what it has taken out and not given away.
#[derive(Debug)]
pub(crate) struct Qdisc {
    discipline: Discipline,
    peeked: Option<Queued>,
}

impl Qdisc {
    /// `name` and `seed` say which random stream it has.
    pub(crate) fn new(queue: &Queue, framing: Framing, name: &str, seed: u64) -> Self {
        let rng = || Rng::named(seed, &format!("{name}/queue"));
        let child = |class: usize, queue: &Queue| {
            Self::new(queue, framing, &format!("{name}/queue/{class}"), seed)
        };
        let discipline = match queue {
            Queue::DropTail { limit_packets, limit_bytes } => {
                Discipline::Fifo(Fifo::tail_drop(*limit_packets, *limit_bytes))
            }
            Queue::HeadDrop { limit_packets } => Discipline::Fifo(Fifo::head_drop(*limit_packets)),
            // It delays, which pipes do by themselves (validated).
            Queue::Netem { limit_packets, .. } => {
                Discipline::Fifo(Fifo::tail_drop(Some(*limit_packets), None))
            }
            Queue::Red(spec) => Discipline::Red(Red::new(*spec, rng())),
            Queue::Codel(spec) => Discipline::Codel(Codel::new(*spec)),
            Queue::FqCodel(spec) => Discipline::FqCodel(Box::new(FqCodel::new(*spec))),
            Queue::Pie(spec) => Discipline::Pie(Box::new(Pie::new(*spec, rng()))),
            Queue::FqPie(spec) => Discipline::FqPie(Box::new(FqPie::new(*spec, rng()))),
            Queue::Sfq(spec) => Discipline::Sfq(Box::new(Sfq::new(*spec))),
            Queue::Fq(spec) => Discipline::Fq(Box::new(Fq::new(*spec))),
            Queue::Prio { bands } => Discipline::Prio(Box::new(Prio::new(bands, child))),
            Queue::Drr { classes } => Discipline::Drr(Box::new(Drr::new(classes, child))),
            Queue::Htb(spec) => Discipline::Htb(Box::new(Htb::new(spec, framing, child))),
        };
        Self { discipline, peeked: None }
    }

    /// A packet arrives.
    pub(crate) fn enqueue(&mut self, now: Time, queued: Queued, verdicts: &mut Verdicts) {
        // What was taken out and has not left counts against every limit.
        let beside = usize::from(self.peeked.is_some());
        match &mut self.discipline {
            Discipline::Fifo(fifo) => fifo.enqueue(queued, verdicts),
            Discipline::Red(red) => red.enqueue(now, queued, verdicts),
            Discipline::Codel(codel) => codel.enqueue(queued, beside, verdicts),
            Discipline::FqCodel(fq) => fq.enqueue(queued, beside, verdicts),
            Discipline::Pie(pie) => pie.enqueue(now, queued, self.peeked.as_ref(), verdicts),
            Discipline::FqPie(fq) => fq.enqueue(now, queued, beside, verdicts),
            Discipline::Sfq(sfq) => sfq.enqueue(queued, beside, verdicts),
            Discipline::Fq(fq) => fq.enqueue(now, queued, beside, verdicts),
            Discipline::Prio(prio) => prio.enqueue(now, queued, verdicts),
            Discipline::Drr(drr) => drr.enqueue(now, queued, verdicts),
            Discipline::Htb(htb) => htb.enqueue(now, queued, verdicts),
        }
    }

    /// What leaves next.
    pub(crate) fn peek(&mut self, now: Time, verdicts: &mut Verdicts) -> Head {
        match &mut self.discipline {
            Discipline::Fifo(fifo) => fifo.head().into(),
            Discipline::Red(red) => red.head().into(),
            Discipline::Prio(prio) => prio.head(now, verdicts),
            _ => {
                if self.peeked.is_none() {
                    match self.dequeue(now, verdicts) {
                        Head::Ready(queued) => self.peeked = Some(queued),
                        other => return other,
                    }
                }
                self.peeked.into()
            }
        }
    }

    /// Takes what leaves next (`qdisc_dequeue_peeked`).
    pub(crate) fn take(&mut self, now: Time, verdicts: &mut Verdicts) -> Option<Queued> {
        if let Some(queued) = self.peeked.take() {
            if let Discipline::Pie(pie) = &mut self.discipline {
                pie.update(now, Some(&queued));
            }
            return Some(queued);
        }
        match self.dequeue(now, verdicts) {
            Head::Ready(queued) => Some(queued),
            Head::Empty | Head::Until(_) => None,
        }
    }

    fn dequeue(&mut self, now: Time, verdicts: &mut Verdicts) -> Head {
        match &mut self.discipline {
            Discipline::Fifo(fifo) => fifo.dequeue().into(),
            Discipline::Red(red) => red.dequeue().into(),
            Discipline::Codel(codel) => codel.dequeue(now, verdicts).into(),
            Discipline::FqCodel(fq) => fq.dequeue(now, verdicts).into(),
            Discipline::Pie(pie) => pie.dequeue(now).into(),
            Discipline::FqPie(fq) => fq.dequeue(now).into(),
            Discipline::Sfq(sfq) => sfq.dequeue().into(),
            Discipline::Fq(fq) => fq.dequeue(now).into(),
            Discipline::Prio(prio) => prio.dequeue(now, verdicts).into(),
            Discipline::Drr(drr) => drr.dequeue(now, verdicts).into(),
            Discipline::Htb(htb) => htb.dequeue(now, verdicts),
        }
    }

    /// Packets and bytes that wait.
    pub(crate) fn length(&self) -> (usize, u64) {
        let (packets, bytes) = match &self.discipline {
            Discipline::Fifo(fifo) => fifo.length(),
            Discipline::Red(red) => red.length(),
            Discipline::Codel(codel) => codel.length(),
            Discipline::FqCodel(fq) => fq.length(),
            Discipline::Pie(pie) => pie.length(),
            Discipline::FqPie(fq) => fq.length(),
            Discipline::Sfq(sfq) => sfq.length(),
            Discipline::Fq(fq) => fq.length(),
            Discipline::Prio(prio) => prio.length(),
            Discipline::Drr(drr) => drr.length(),
            Discipline::Htb(htb) => htb.length(),
        };
        let beside = self.peeked.map_or(0, |queued| u64::from(queued.bytes));
        (packets + usize::from(self.peeked.is_some()), bytes + beside)
    }

    /// Its state; of a discipline with one class, that of the class's queue.
    pub(crate) fn inside(&self, now: Time) -> Inside {
        match &self.discipline {
            Discipline::Red(red) => red.inside(),
            Discipline::Codel(codel) => codel.inside(now),
            Discipline::FqCodel(fq) => fq.inside(),
            Discipline::Pie(pie) => pie.inside(),
            Discipline::FqPie(fq) => fq.inside(),
            Discipline::Sfq(sfq) => sfq.inside(),
            Discipline::Fq(fq) => fq.inside(),
            Discipline::Htb(htb) => {
                htb.only_class().map_or_else(Inside::default, |c| c.inside(now))
            }
            Discipline::Fifo(_) | Discipline::Prio(_) | Discipline::Drr(_) => Inside::default(),
        }
    }
}

#[cfg(test)]
mod test_packets {
    use super::*;

    /// A frame of a flow, not capable of ECN.
    pub(super) fn queued(flow: u32, number: u32, bytes: u32, arrived: Time) -> Queued {
        let packet = Handle { id: number, flow, frame_bytes: bytes, outward: true, tos: 0 };
        Queued { packet, arrived, bytes }
    }

    /// The same with a codepoint.
    pub(super) fn with_dscp(dscp: u8, queued: Queued) -> Queued {
        Queued { packet: Handle { tos: dscp << 2, ..queued.packet }, ..queued }
    }

    /// The same, capable of ECN.
    pub(super) fn capable(queued: Queued) -> Queued {
        Queued { packet: Handle { tos: queued.packet.tos | 2, ..queued.packet }, ..queued }
    }
}
