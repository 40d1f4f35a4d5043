//! Queue disciplines as in Linux, one algorithm per file.
//!
//! A shaper first peeks at the head of its child, and dequeues it when there are tokens. Some disciplines
//! dequeue the packet on the peek and keep it (`qdisc_peek_dequeued`). They decide about a packet when
//! the previous one has left. Others only look at the head (`qdisc_peek_head`). They decide when the
//! packet leaves.

mod classes;
mod drop_tail;
mod early;
mod rounds;

use crate::arena::{Arena, Handle};
use crate::drop_reason::DropReason;
use drop_tail::DropTail;
use dumbbell_model::rng::Rng;
use dumbbell_model::{for_disciplines, Framing, Queue, Time};
use std::collections::VecDeque;

/// A queue discipline. Each has a file of its name in the catalogue, with a type of the name of its
/// parameters and a function `new(&parameters, &Context)`.
trait Discipline {
    /// Takes an arriving packet.
    fn enqueue(&mut self, now: Time, arrival: Arrival<'_>, verdicts: &mut Verdicts);

    /// Looks at the head without a decision (`qdisc_peek_head`). `None`: a peek takes the packet out
    /// (`qdisc_peek_dequeued`).
    fn peek(&mut self, _now: Time, _verdicts: &mut Verdicts) -> Option<Head> {
        None
    }

    /// Takes out the next packet.
    fn dequeue(&mut self, now: Time, verdicts: &mut Verdicts) -> Head;

    /// Notes that the packet taken out by a peek leaves.
    fn left(&mut self, _now: Time, _queued: &Queued) {}

    /// Packets and bytes that wait.
    fn length(&self) -> (usize, u64);

    /// State for the table `queues`.
    fn inside(&self, _now: Time) -> Inside {
        Inside::default()
    }
}

/// An arriving packet and its surroundings.
#[derive(Clone, Copy)]
struct Arrival<'a> {
    queued: Queued,
    /// Packet that a peek has taken out and that has not left; it counts against every limit.
    beside: Option<&'a Queued>,
    /// For disciplines that look beyond the handle, and for those with classes, which pass it on.
    sight: &'a Sight<'a>,
}

/// Content of packets, beyond their handles.
#[derive(Clone, Copy)]
pub(crate) struct Sight<'a> {
    /// Contents of packets.
    pub(crate) arena: &'a Arena,
    /// Nodes that a flow's packets go to, outward and back, by flow.
    pub(crate) targets: &'a [[u32; 2]],
}

impl Sight<'_> {
    /// Nodes that a packet comes from and goes to; 0 for packets of no flow.
    fn hosts(&self, packet: Handle) -> [u32; 2] {
        let [to, from] = self.targets.get(packet.flow as usize).copied().unwrap_or_default();
        if packet.outward {
            [from, to]
        } else {
            [to, from]
        }
    }
}

/// Surroundings of a new discipline.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) name: &'a str,
    pub(crate) seed: u64,
    pub(crate) framing: Framing,
    /// Frame of the device's MTU (`psched_mtu`).
    pub(crate) frame_bytes: u32,
    /// The node is a bridge: its packets have no priority (`____dev_forward_skb` clears it).
    pub(crate) bridge: bool,
    /// Time at which the discipline is added: its timers run from then on.
    pub(crate) since: Time,
}

impl Context<'_> {
    /// Random stream of the discipline.
    fn rng(&self) -> Rng {
        Rng::named(self.seed, &format!("{}/queue", self.name))
    }

    /// Queue of a class.
    fn child(&self, class: usize, queue: &Queue) -> Qdisc {
        Qdisc::new(queue, &Context { name: &format!("{}/queue/{class}", self.name), ..*self })
    }
}

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queued {
    pub(crate) packet: Handle,
    pub(crate) arrived: Time,
    /// Length of its frame.
    pub(crate) bytes: u32,
}

/// Answer of a queue to a peek.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    Empty,
    /// Packets wait, and may leave from this time on.
    Until(Time),
    Ready(Queued),
}

impl From<Option<Queued>> for Head {
    fn from(queued: Option<Queued>) -> Self {
        queued.map_or(Self::Empty, Self::Ready)
    }
}

/// Packets that a discipline dropped or marked.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    pub(crate) dropped: Vec<(Handle, DropReason)>,
    pub(crate) marked: u64,
}

impl Verdicts {
    /// Drops a packet because a limit is reached.
    fn overflow(&mut self, queued: &Queued) {
        self.dropped.push((queued.packet, DropReason::Overflow));
    }

    /// Drops a packet as a congestion signal.
    fn signal(&mut self, queued: &Queued) {
        self.dropped.push((queued.packet, DropReason::Aqm));
    }

    /// Drops an ACK because a later packet acknowledges at least as much.
    fn filtered(&mut self, queued: &Queued) {
        self.dropped.push((queued.packet, DropReason::Filtered));
    }

    /// Sets CE if the packet is ECN-capable (RFC 3168 §5; `INET_ECN_set_ce`). Returns true if it is.
    fn mark(&mut self, queued: &mut Queued) -> bool {
        let marks = queued.packet.mark_ce();
        self.marked += u64::from(marks);
        marks
    }
}

/// A FIFO queue with its length in bytes.
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

    fn head(&self) -> Option<Queued> {
        self.packets.front().copied()
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

/// Index of a packet's queue. Linux hashes addresses and ports with a random key. Here each flow and
/// direction has its own queue while there are enough, as with a hash without collisions.
fn flow_queue(packet: &Handle, queues: usize) -> usize {
    (2 * packet.flow as usize + usize::from(packet.outward)) % queues
}

/// Returns true if the queue, or one below it, may have a queue per flow ([`flow_queue`]).
pub(crate) fn tells_flows_apart(queue: &Queue) -> bool {
    use Queue::{Choke, Codel, DropTail, Dualpi2, Netem, Pie, Red};
    !matches!(
        queue,
        DropTail { .. } | Netem { .. } | Red(_) | Choke(_) | Codel(_) | Pie(_) | Dualpi2(_)
    )
}

/// State of a discipline, for the table `queues`.
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
    /// Time of the next drop in the dropping state.
    pub(crate) drop_next: Option<Time>,
}

macro_rules! disciplines {
    ($($variant:ident $module:ident $entry:tt $({ $($parameters:tt)+ })?;)+) => {
        $(mod $module;)+

        /// One of the disciplines.
        #[derive(Debug)]
        enum Any {
            DropTail(DropTail),
            $($variant(Box<$module::$variant>),)+
        }

        impl Any {
            fn new(queue: &Queue, context: &Context<'_>) -> Self {
                match queue {
                    Queue::DropTail { limit_packets, limit_bytes } => {
                        Self::DropTail(DropTail::new(*limit_packets, *limit_bytes))
                    }
                    // netem's delay is a stage of the pipe (validated).
                    Queue::Netem { limit_packets, .. } => {
                        Self::DropTail(DropTail::new(Some(*limit_packets), None))
                    }
                    $(Queue::$variant(parameters) => {
                        Self::$variant(Box::new($module::$variant::new(parameters, context)))
                    })+
                }
            }
        }

        impl Discipline for Any {
            fn enqueue(&mut self, now: Time, arrival: Arrival<'_>, verdicts: &mut Verdicts) {
                match self {
                    Self::DropTail(one) => one.enqueue(now, arrival, verdicts),
                    $(Self::$variant(one) => one.enqueue(now, arrival, verdicts),)+
                }
            }

            fn peek(&mut self, now: Time, verdicts: &mut Verdicts) -> Option<Head> {
                match self {
                    Self::DropTail(one) => one.peek(now, verdicts),
                    $(Self::$variant(one) => one.peek(now, verdicts),)+
                }
            }

            fn dequeue(&mut self, now: Time, verdicts: &mut Verdicts) -> Head {
                match self {
                    Self::DropTail(one) => one.dequeue(now, verdicts),
                    $(Self::$variant(one) => one.dequeue(now, verdicts),)+
                }
            }

            fn left(&mut self, now: Time, queued: &Queued) {
                match self {
                    Self::DropTail(one) => one.left(now, queued),
                    $(Self::$variant(one) => one.left(now, queued),)+
                }
            }

            fn length(&self) -> (usize, u64) {
                match self {
                    Self::DropTail(one) => one.length(),
                    $(Self::$variant(one) => one.length(),)+
                }
            }

            fn inside(&self, now: Time) -> Inside {
                match self {
                    Self::DropTail(one) => one.inside(now),
                    $(Self::$variant(one) => one.inside(now),)+
                }
            }
        }
    };
}
for_disciplines!(disciplines);

/// A discipline with its queue, and the packet that a peek has taken out.
#[derive(Debug)]
pub(crate) struct Qdisc {
    discipline: Any,
    peeked: Option<Queued>,
}

impl Qdisc {
    /// Makes a discipline. Name and seed of the context select its random stream.
    pub(crate) fn new(queue: &Queue, context: &Context<'_>) -> Self {
        Self { discipline: Any::new(queue, context), peeked: None }
    }

    /// Takes an arriving packet.
    pub(crate) fn enqueue(
        &mut self,
        now: Time,
        queued: Queued,
        sight: &Sight<'_>,
        verdicts: &mut Verdicts,
    ) {
        let arrival = Arrival { queued, beside: self.peeked.as_ref(), sight };
        self.discipline.enqueue(now, arrival, verdicts);
    }

    /// Peeks at the next packet.
    pub(crate) fn peek(&mut self, now: Time, verdicts: &mut Verdicts) -> Head {
        if let Some(head) = self.discipline.peek(now, verdicts) {
            return head;
        }
        if self.peeked.is_none() {
            match self.discipline.dequeue(now, verdicts) {
                Head::Ready(queued) => self.peeked = Some(queued),
                other => return other,
            }
        }
        self.peeked.into()
    }

    /// Takes out the next packet (`qdisc_dequeue_peeked`).
    pub(crate) fn take(&mut self, now: Time, verdicts: &mut Verdicts) -> Option<Queued> {
        if let Some(queued) = self.peeked.take() {
            self.discipline.left(now, &queued);
            return Some(queued);
        }
        match self.discipline.dequeue(now, verdicts) {
            Head::Ready(queued) => Some(queued),
            Head::Empty | Head::Until(_) => None,
        }
    }

    /// Packets and bytes that wait.
    pub(crate) fn length(&self) -> (usize, u64) {
        let (packets, bytes) = self.discipline.length();
        let beside = self.peeked.map_or(0, |queued| u64::from(queued.bytes));
        (packets + usize::from(self.peeked.is_some()), bytes + beside)
    }

    /// State of the discipline; with a single class, the state of the class's queue.
    pub(crate) fn inside(&self, now: Time) -> Inside {
        self.discipline.inside(now)
    }
}

#[cfg(test)]
mod test_packets {
    use super::*;

    /// Surroundings of a discipline under test.
    pub(super) fn context() -> Context<'static> {
        let framing = Framing::default();
        Context {
            name: "test",
            seed: 1,
            framing,
            frame_bytes: 1514,
            bridge: false,
            since: Time::ZERO,
        }
    }

    /// Numbers of the packets that leave, of five that arrive, and of those that are dropped.
    pub(super) fn five(mut queue: impl Discipline) -> (Vec<u32>, Vec<u32>) {
        let mut verdicts = Verdicts::default();
        for number in 0..5 {
            queue.enqueue(Time::ZERO, queued(0, number, 1000, Time::ZERO).into(), &mut verdicts);
        }
        let mut left = Vec::new();
        while let Head::Ready(one) = queue.dequeue(Time::ZERO, &mut verdicts) {
            left.push(one.packet.id);
        }
        (left, verdicts.dropped.iter().map(|(packet, _)| packet.id).collect())
    }

    /// Contents of no packet.
    static NOTHING: Arena = Arena::EMPTY;

    impl Sight<'_> {
        /// Nothing is known.
        pub(crate) const NONE: Sight<'static> = Sight { arena: &NOTHING, targets: &[] };
    }

    impl From<Queued> for Arrival<'_> {
        fn from(queued: Queued) -> Self {
            Self { queued, beside: None, sight: &Sight::NONE }
        }
    }

    /// A frame of a flow, not capable of ECN.
    pub(super) fn queued(flow: u32, number: u32, bytes: u32, arrived: Time) -> Queued {
        let packet = Handle { id: number, flow, frame_bytes: bytes, outward: true, tos: 0, hop: 0 };
        Queued { packet, arrived, bytes }
    }

    /// Returns the frame with a codepoint.
    pub(super) fn with_dscp(dscp: u8, queued: Queued) -> Queued {
        Queued { packet: Handle { tos: dscp << 2, ..queued.packet }, ..queued }
    }

    /// Returns the frame with ECT(0).
    pub(super) fn capable(queued: Queued) -> Queued {
        Queued { packet: Handle { tos: queued.packet.tos | 2, ..queued.packet }, ..queued }
    }
}
