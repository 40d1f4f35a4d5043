//! FlowQueue-CoDel (RFC 8290) as Linux has it: a queue with CoDel per flow, served by deficit round
//! robin, flows that have just begun before the others; where all is full, up to 64 packets of the
//! longest queue go.
//!
//! Linux puts flows into queues by a hash with a random key. Here each flow and direction has a queue
//! of its own, as long as there are enough: what a hash does but for collisions.

use super::codel::{Parameters, State};
use super::{Fifo, Queued};
use crate::arena::Handle;
use dumbbell_model::{Span, Time};
use std::collections::VecDeque;

/// Packets dropped at once where all is full (`drop_batch_size`).
const DROP_BATCH: usize = 64;

/// A flow's queue (RFC 8290 §4).
#[derive(Debug, Default)]
struct Flow {
    queue: Fifo,
    state: State,
    /// Bytes that it may still send in its turn.
    deficit: i64,
    /// It stands in one of the lists.
    listed: bool,
}

/// Its state (RFC 8290 §4.1, §4.2).
#[derive(Debug)]
pub(crate) struct FqCodel {
    parameters: Parameters,
    quantum: i64,
    limit: usize,
    flows: Vec<Flow>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    packets: usize,
    bytes: u64,
}

impl FqCodel {
    pub(crate) fn new(
        limit_packets: u64,
        flows: u32,
        quantum_bytes: u32,
        target: Span,
        interval: Span,
    ) -> Self {
        let mut all = Vec::new();
        all.resize_with(flows as usize, Flow::default);
        Self {
            parameters: Parameters::new(target, interval),
            quantum: i64::from(quantum_bytes),
            limit: limit_packets as usize,
            flows: all,
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
        }
    }

    pub(crate) fn length(&self) -> (usize, u64) {
        (self.packets, self.bytes)
    }

    /// RFC 8290 §4.1; `fq_codel_enqueue`. `beside`: packets that count against the limit and are not
    /// in a queue. What does not fit goes from the head of the longest queue.
    pub(crate) fn enqueue(&mut self, queued: Queued, beside: usize, dropped: &mut Vec<Handle>) {
        let number = 2 * queued.packet.flow as usize + usize::from(queued.packet.outward);
        let number = number % self.flows.len();
        let flow = &mut self.flows[number];
        flow.queue.push(queued);
        if !flow.listed {
            flow.listed = true;
            flow.deficit = self.quantum;
            self.new.push_back(number);
        }
        self.packets += 1;
        self.bytes += u64::from(queued.bytes);
        if self.packets + beside > self.limit {
            self.shorten(dropped);
        }
    }

    /// Half of the longest queue, but not more than a batch (`fq_codel_drop`).
    fn shorten(&mut self, dropped: &mut Vec<Handle>) {
        let mut longest = 0;
        for (number, flow) in self.flows.iter().enumerate() {
            if flow.queue.bytes > self.flows[longest].queue.bytes {
                longest = number;
            }
        }
        let flow = &mut self.flows[longest];
        let half = flow.queue.bytes / 2;
        let (mut packets, mut bytes) = (0, 0);
        while let Some(head) = flow.queue.pop() {
            packets += 1;
            bytes += u64::from(head.bytes);
            dropped.push(head.packet);
            if packets == DROP_BATCH || bytes >= half {
                break;
            }
        }
        flow.state.count_more(packets as u32);
        self.packets -= packets;
        self.bytes -= bytes;
    }

    /// RFC 8290 §4.2; `fq_codel_dequeue`.
    pub(crate) fn dequeue(&mut self, now: Time, dropped: &mut Vec<Handle>) -> Option<Queued> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let flow = &mut self.flows[number];
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            let (packets, bytes, queue) = (&mut self.packets, &mut self.bytes, &mut flow.queue);
            let take = || {
                let queued = queue.pop()?;
                *packets -= 1;
                *bytes -= u64::from(queued.bytes);
                // Linux compares the bytes of all queues with a frame.
                Some((queued, *bytes))
            };
            let Some(queued) = flow.state.dequeue(&self.parameters, now, take, dropped) else {
                list.pop_front();
                // A pass through the old ones first, so that none starves.
                if from_new && !self.old.is_empty() {
                    self.old.push_back(number);
                } else {
                    flow.listed = false;
                }
                continue;
            };
            flow.deficit -= i64::from(queued.bytes);
            return Some(queued);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(flow: u32, number: u32, bytes: u32) -> Queued {
        let packet = Handle { id: number, flow, frame_bytes: bytes, outward: true };
        Queued { packet, arrived: Time::ZERO, bytes }
    }

    fn discipline(limit: u64) -> FqCodel {
        FqCodel::new(limit, 1024, 1514, Span::from_ms(5), Span::from_ms(100))
    }

    #[test]
    fn flows_share_bytes_and_a_new_one_goes_first() {
        let mut fq = discipline(10_000);
        let mut dropped = Vec::new();
        for number in 0..300 {
            fq.enqueue(queued(0, number, 1514), 0, &mut dropped);
            fq.enqueue(queued(1, number, 500), 0, &mut dropped);
        }
        let mut bytes = [0, 0];
        for _ in 0..200 {
            let Some(one) = fq.dequeue(Time::ZERO, &mut dropped) else { break };
            bytes[one.packet.flow as usize] += one.bytes;
        }
        assert!(bytes[0].abs_diff(bytes[1]) <= 2 * 1514, "{bytes:?}");
        fq.enqueue(queued(2, 0, 100), 0, &mut dropped);
        let next = fq.dequeue(Time::ZERO, &mut dropped);
        assert_eq!(next.map(|one| one.packet.flow), Some(2));
        assert!(dropped.is_empty());
    }

    #[test]
    fn where_all_is_full_the_longest_queue_is_halved_from_its_head() {
        let mut fq = discipline(100);
        let mut dropped = Vec::new();
        for number in 0..80 {
            fq.enqueue(queued(0, number, 1000), 0, &mut dropped);
        }
        for number in 0..20 {
            fq.enqueue(queued(1, number, 1000), 0, &mut dropped);
        }
        assert!(dropped.is_empty());
        fq.enqueue(queued(1, 20, 1000), 0, &mut dropped);
        let ids: Vec<_> = dropped.iter().map(|packet| (packet.flow, packet.id)).collect();
        assert_eq!(ids, (0..40).map(|id| (0, id)).collect::<Vec<_>>());
        assert_eq!(fq.length(), (61, 61_000));
    }
}
