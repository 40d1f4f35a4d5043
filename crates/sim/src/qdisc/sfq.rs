//! Stochastic Fairness Queueing (McKenney 1990) as in Linux (sch_sfq.c), without perturbation: deficit
//! round robin over flows. On overflow it drops the tail of the longest queue.

use super::{flow_queue, Arrival, Context, Discipline, Head, Inside, Line, Queued, Verdicts};
use dumbbell_model::{queue, Time};
use std::collections::VecDeque;

/// Number of hash buckets (`SFQ_DEFAULT_HASH_DIVISOR`).
const DIVISOR: usize = 1024;

/// A flow with packets waiting.
#[derive(Debug, Default)]
struct Slot {
    queue: Line,
    allotment: i64,
    /// Order of the last change of its length. Among equal lengths, the latest counts as the longest.
    changed: u64,
}

/// SFQ with its flows.
#[derive(Debug)]
pub(super) struct Sfq {
    spec: queue::Sfq,
    slots: Vec<Slot>,
    /// Slots with packets, in the order of service.
    turns: VecDeque<usize>,
    changes: u64,
    packets: usize,
    bytes: u64,
}

impl Sfq {
    pub(super) fn new(spec: &queue::Sfq, _: &Context<'_>) -> Self {
        let mut slots = Vec::new();
        slots.resize_with(DIVISOR, Slot::default);
        Self { spec: *spec, slots, turns: VecDeque::new(), changes: 0, packets: 0, bytes: 0 }
    }

    fn touch(&mut self, number: usize) {
        self.changes += 1;
        self.slots[number].changed = self.changes;
    }

    /// `sfq_drop`.
    fn shorten(&mut self, verdicts: &mut Verdicts) {
        let longest = self.turns.iter().copied().max_by_key(|&number| {
            let slot = &self.slots[number];
            (slot.queue.packets.len(), slot.changed)
        });
        let Some(mut number) = longest else { return };
        if self.slots[number].queue.packets.len() == 1 {
            // All queues have one packet: the next flow to serve loses it.
            number = self.turns.pop_front().unwrap_or(number);
        }
        let slot = &mut self.slots[number].queue;
        let dropped = if self.spec.headdrop { slot.pop() } else { slot.pop_back() };
        if let Some(dropped) = dropped {
            self.packets -= 1;
            self.bytes -= u64::from(dropped.bytes);
            verdicts.overflow(&dropped);
        }
        self.touch(number);
    }

    /// `sfq_dequeue`.
    fn serve(&mut self) -> Option<Queued> {
        loop {
            let number = *self.turns.front()?;
            let slot = &mut self.slots[number];
            if slot.allotment <= 0 {
                slot.allotment += i64::from(self.spec.quantum_bytes);
                self.turns.rotate_left(1);
                continue;
            }
            let queued = slot.queue.pop()?;
            if slot.queue.packets.is_empty() {
                self.turns.pop_front();
            } else {
                slot.allotment -= i64::from(queued.bytes);
            }
            self.touch(number);
            self.packets -= 1;
            self.bytes -= u64::from(queued.bytes);
            return Some(queued);
        }
    }
}

impl Discipline for Sfq {
    /// `sfq_enqueue`.
    fn enqueue(&mut self, _: Time, arrival: Arrival<'_>, verdicts: &mut Verdicts) {
        let Arrival { queued, beside, .. } = arrival;
        let beside = usize::from(beside.is_some());
        let number = flow_queue(&queued.packet, DIVISOR);
        let length = self.slots[number].queue.packets.len();
        if length == 0 && self.turns.len() >= self.spec.flows as usize {
            return verdicts.overflow(&queued);
        }
        if length >= self.spec.depth_packets as usize {
            if !self.spec.headdrop {
                return verdicts.overflow(&queued);
            }
            if let Some(head) = self.slots[number].queue.pop() {
                self.bytes -= u64::from(head.bytes);
                self.bytes += u64::from(queued.bytes);
                verdicts.overflow(&head);
            }
            return self.slots[number].queue.push(queued);
        }
        if length == 0 {
            self.turns.push_back(number);
            self.slots[number].allotment = i64::from(self.spec.quantum_bytes);
        }
        self.slots[number].queue.push(queued);
        self.touch(number);
        self.packets += 1;
        self.bytes += u64::from(queued.bytes);
        if (self.packets + beside) as u64 > self.spec.limit_packets {
            self.shorten(verdicts);
        }
    }

    fn dequeue(&mut self, _: Time, _: &mut Verdicts) -> Head {
        self.serve().into()
    }

    fn length(&self) -> (usize, u64) {
        (self.packets, self.bytes)
    }

    fn inside(&self, _: Time) -> Inside {
        Inside { old_flows: Some(self.turns.len()), ..Inside::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_packets::{context, queued};
    use super::*;

    fn sfq(limit_packets: u64, depth_packets: u32) -> Sfq {
        let (flows, quantum_bytes) = (128, 1514);
        let headdrop = false;
        let spec = queue::Sfq { limit_packets, flows, depth_packets, quantum_bytes, headdrop };
        Sfq::new(&spec, &context())
    }

    #[test]
    fn flows_of_any_packet_size_get_the_same_bytes() {
        let mut sfq = sfq(127, 127);
        let mut verdicts = Verdicts::default();
        let mut bytes = [0_u64; 3];
        for number in 0..30_000 {
            for (flow, size) in [(0, 1514), (1, 600), (2, 100)] {
                let copies = if flow == 2 { 15 } else { 3 };
                for _ in 0..copies {
                    sfq.enqueue(
                        Time::ZERO,
                        queued(flow, number, size, Time::ZERO).into(),
                        &mut verdicts,
                    );
                }
            }
            for _ in 0..3 {
                let Some(left) = sfq.serve() else { continue };
                bytes[left.packet.flow as usize] += u64::from(left.bytes);
            }
        }
        let least = *bytes.iter().min().unwrap_or(&0) as f64;
        let most = *bytes.iter().max().unwrap_or(&0) as f64;
        assert!(most / least < 1.02, "{bytes:?}");
        assert!(sfq.length().0 <= 127);
    }

    #[test]
    fn where_all_is_full_the_tail_of_the_longest_goes() {
        let mut sfq = sfq(10, 127);
        let mut verdicts = Verdicts::default();
        for number in 0..8 {
            sfq.enqueue(Time::ZERO, queued(0, number, 1000, Time::ZERO).into(), &mut verdicts);
        }
        for number in 0..4 {
            sfq.enqueue(Time::ZERO, queued(1, number, 1000, Time::ZERO).into(), &mut verdicts);
        }
        let dropped: Vec<_> =
            verdicts.dropped.iter().map(|(packet, _)| (packet.flow, packet.id)).collect();
        assert_eq!(dropped, [(0, 7), (0, 6)]);
    }
}
