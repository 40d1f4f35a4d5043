//! CHOKe (Pan, Prabhakar and Psounis 2000) as Linux has it (sch_choke.c): RED that compares an arriving
//! packet with one drawn from the queue. Two of the same flow are both dropped, so a flow pays for its
//! share of the queue.
//!
//! A packet dropped from the middle leaves a hole, which counts in the draw until it is the head. Linux
//! keeps packets in a table of limited size. Here the table never fills.

use super::early::{Average, Bounds};
use super::{Arrival, Context, Discipline, Head, Inside, Queued, Verdicts};
use crate::arena::Handle;
use dumbbell_model::{queue, Time};
use std::collections::VecDeque;

/// Draws that may hit a hole before the head is taken (`choke_peek_random`).
const DRAWS: usize = 3;

/// CHOKe on one queue.
#[derive(Debug)]
pub(super) struct Choke {
    spec: queue::Choke,
    /// Packets from head to tail, with holes; the head is never a hole.
    table: VecDeque<Option<Queued>>,
    packets: usize,
    bytes: u64,
    /// Average queue length in packets.
    average: Average,
}

impl Choke {
    pub(super) fn new(spec: &queue::Choke, context: &Context<'_>) -> Self {
        let bounds = Bounds {
            min: spec.min_packets,
            max: spec.max_packets,
            min_packets: spec.min_packets as f64,
            burst_packets: spec.burst_packets,
            probability: spec.probability,
        };
        let average = Average::new(&bounds, context.rng());
        Self { spec: *spec, table: VecDeque::new(), packets: 0, bytes: 0, average }
    }

    /// Index of a packet drawn from the queue (`choke_peek_random`).
    fn drawn(&mut self) -> usize {
        for _ in 0..DRAWS {
            let index = self.average.below(self.table.len());
            if self.table[index].is_some() {
                return index;
            }
        }
        0
    }

    /// Removes a packet, and then the holes at the head (`choke_zap_head_holes`).
    fn remove(&mut self, index: usize) -> Option<Queued> {
        let queued = self.table.get_mut(index)?.take()?;
        while self.table.front().is_some_and(Option::is_none) {
            self.table.pop_front();
        }
        self.packets -= 1;
        self.bytes -= u64::from(queued.bytes);
        Some(queued)
    }

    /// Drops a drawn packet if it belongs to the same flow as the arriving one
    /// (`choke_match_random`).
    fn drops_companion(&mut self, queued: &Queued, verdicts: &mut Verdicts) -> bool {
        if self.table.is_empty() {
            return false;
        }
        let index = self.drawn();
        let matched = self.table[index].is_some_and(|one| same_flow(&one.packet, &queued.packet));
        if matched {
            if let Some(companion) = self.remove(index) {
                verdicts.signal(&companion);
            }
        }
        matched
    }
}

/// Compares addresses, ports and protocol, so also the direction (`choke_match_flow`).
fn same_flow(one: &Handle, other: &Handle) -> bool {
    one.flow == other.flow && one.outward == other.outward
}

impl Discipline for Choke {
    /// `choke_enqueue`.
    fn enqueue(&mut self, _: Time, arrival: Arrival<'_>, verdicts: &mut Verdicts) {
        let mut queued = arrival.queued;
        self.average.update(self.packets as u64);
        if self.average.is_above_min() {
            if self.drops_companion(&queued, verdicts) {
                return verdicts.signal(&queued);
            }
            let signals = if self.average.is_above_max() {
                self.average.forget();
                true
            } else {
                self.average.signals()
            };
            if signals && !(self.spec.ecn && verdicts.mark(&mut queued)) {
                return verdicts.signal(&queued);
            }
        } else {
            self.average.forget();
        }
        if self.packets as u64 >= self.spec.limit_packets {
            return verdicts.overflow(&queued);
        }
        self.packets += 1;
        self.bytes += u64::from(queued.bytes);
        self.table.push_back(Some(queued));
    }

    /// `choke_peek_head`.
    fn peek(&mut self, _: Time, _: &mut Verdicts) -> Option<Head> {
        Some(self.table.front().copied().flatten().into())
    }

    fn dequeue(&mut self, _: Time, _: &mut Verdicts) -> Head {
        self.remove(0).into()
    }

    fn length(&self) -> (usize, u64) {
        (self.packets, self.bytes)
    }

    fn inside(&self, _: Time) -> Inside {
        Inside { probability: Some(self.average.probability()), ..Inside::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_packets::{capable, context, queued};
    use super::*;

    fn spec() -> queue::Choke {
        queue::Choke {
            limit_packets: 100,
            min_packets: 20,
            max_packets: 60,
            burst_packets: 33,
            probability: 0.000_01,
            ecn: false,
        }
    }

    /// Pan et al. 2000 §2: a packet is dropped with the share of its flow in the queue. Of slots that
    /// are holes with share h, a draw is repeated, up to three times, and then the head is compared.
    #[test]
    fn a_flow_pays_for_its_share_of_the_queue() {
        const TRIALS: u32 = 40_000;
        for (holes, flow, packets) in [(0, 0, 30), (0, 1, 10), (40, 0, 30), (40, 1, 10), (0, 2, 0)]
        {
            let mut choke = Choke::new(&spec(), &context());
            let mut verdicts = Verdicts::default();
            for number in 0..TRIALS {
                choke.table.clear();
                // The head is of flow 0, then a hole behind each packet, or none.
                for slot in 0..40 {
                    let one = queued(u32::from(slot >= 30), slot, 1000, Time::ZERO);
                    choke.table.push_back(Some(one));
                    if holes > 0 {
                        choke.table.push_back(None);
                    }
                }
                (choke.packets, choke.bytes) = (40, 40_000);
                choke.drops_companion(&queued(flow, number, 1000, Time::ZERO), &mut verdicts);
            }
            let (hole, share) =
                (f64::from(holes) / f64::from(40 + holes), f64::from(packets) / 40.0);
            let found_by_draw = 1.0 - hole * hole * hole;
            let head = if flow == 0 { hole * hole * hole } else { 0.0 };
            let expected = found_by_draw * share + head;
            let found = verdicts.dropped.len() as f64 / f64::from(TRIALS);
            assert!((found - expected).abs() < 0.01, "{holes}, {flow}: {found} for {expected}");
            assert!(verdicts.dropped.iter().all(|(packet, _)| packet.flow == flow));
        }
    }

    /// With the average above the minimum, a flow alone loses packets in pairs, whatever ECN says;
    /// with the average above the maximum, packets of other flows are marked, or dropped alone.
    #[test]
    fn marks_do_not_save_a_pair() {
        let spec = queue::Choke { min_packets: 2, max_packets: 10, burst_packets: 5, ..spec() };
        for ecn in [false, true] {
            let mut choke = Choke::new(&queue::Choke { ecn, ..spec }, &context());
            let mut verdicts = Verdicts::default();
            // Each packet of another flow: the average comes to the length of the queue.
            for number in 0..60 {
                let one = capable(queued(number, number, 1000, Time::ZERO));
                choke.enqueue(Time::ZERO, one.into(), &mut verdicts);
            }
            let (packets, _) = choke.length();
            assert_eq!(packets + verdicts.dropped.len(), 60);
            assert_eq!((verdicts.marked > 30, verdicts.dropped.len() > 30), (ecn, !ecn));
            // The head is the only packet; another of its flow takes it along.
            while choke.length().0 > 1 {
                choke.dequeue(Time::ZERO, &mut verdicts);
            }
            let flow = choke.table[0].map_or(0, |head| head.packet.flow);
            let (dropped, marked) = (verdicts.dropped.len(), verdicts.marked);
            choke.enqueue(
                Time::ZERO,
                capable(queued(flow, 60, 1000, Time::ZERO)).into(),
                &mut verdicts,
            );
            assert_eq!((choke.length(), verdicts.dropped.len()), ((0, 0), dropped + 2));
            assert_eq!(verdicts.marked, marked);
        }
    }

    #[test]
    fn a_hole_is_neither_served_nor_counted() {
        let mut choke = Choke::new(&spec(), &context());
        let mut verdicts = Verdicts::default();
        for number in 0..5 {
            let one = queued(number, number, 1000, Time::ZERO);
            choke.enqueue(Time::ZERO, one.into(), &mut verdicts);
        }
        assert_eq!(choke.remove(1).map(|one| one.packet.id), Some(1));
        assert_eq!((choke.length(), choke.table.len()), ((4, 4000), 5));
        assert_eq!(choke.remove(0).map(|one| one.packet.id), Some(0));
        assert_eq!((choke.length(), choke.table.len()), ((3, 3000), 3));
        assert_eq!(choke.peek(Time::ZERO, &mut verdicts), choke.peek(Time::ZERO, &mut verdicts));
        assert!(
            matches!(choke.dequeue(Time::ZERO, &mut verdicts), Head::Ready(one) if one.packet.id == 2)
        );
    }
}
