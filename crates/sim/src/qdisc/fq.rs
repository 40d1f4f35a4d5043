//! Fair queue as in Linux (sch_fq.c), for forwarded packets. They have no pacing rate, so fq serves the
//! flows round-robin. New flows precede old ones and have a larger quantum.

use super::rounds::{Rounds, Share};
use super::{flow_queue, Context, Discipline, Head, Inside, Line, Queued, Verdicts};
use dumbbell_model::{queue, Span, Time};

/// Buckets that orphaned packets are hashed to (`orphan_mask`).
const FLOWS: usize = 1024;
/// Idle time after which a flow's credit is refilled to a full quantum (`flow_refill_delay`).
const REFILL_AFTER: Span = Span::from_ms(40);

#[derive(Debug)]
struct Flow {
    queue: Line,
    share: Share,
    emptied: Time,
}

/// fq with its flows.
#[derive(Debug)]
pub(super) struct Fq {
    spec: queue::Fq,
    flows: Vec<Flow>,
    rounds: Rounds,
    packets: usize,
    bytes: u64,
}

impl Fq {
    pub(super) fn new(spec: &queue::Fq, _: &Context<'_>) -> Self {
        let flow = || Flow {
            queue: Line::default(),
            share: Share { deficit: i64::from(spec.initial_quantum_bytes), listed: false },
            emptied: Time::ZERO,
        };
        let mut flows = Vec::new();
        flows.resize_with(FLOWS, flow);
        Self { spec: *spec, flows, rounds: Rounds::default(), packets: 0, bytes: 0 }
    }

    /// `fq_dequeue`.
    fn serve(&mut self, now: Time) -> Option<Queued> {
        loop {
            let flow = &mut self.flows[self.rounds.head()?];
            if flow.share.deficit <= 0 {
                self.rounds.spent(i64::from(self.spec.quantum_bytes), &mut flow.share);
                continue;
            }
            let Some(queued) = flow.queue.pop() else {
                if self.rounds.idle(&mut flow.share) {
                    flow.emptied = now;
                }
                continue;
            };
            self.packets -= 1;
            self.bytes -= u64::from(queued.bytes);
            flow.share.deficit -= i64::from(queued.bytes);
            return Some(queued);
        }
    }
}

impl Discipline for Fq {
    /// `fq_enqueue`.
    fn enqueue(
        &mut self,
        now: Time,
        queued: Queued,
        beside: Option<&Queued>,
        verdicts: &mut Verdicts,
    ) {
        let beside = usize::from(beside.is_some());
        let number = flow_queue(&queued.packet, FLOWS);
        let flow = &mut self.flows[number];
        let full = (self.packets + beside) as u64 >= self.spec.limit_packets;
        if full || flow.queue.packets.len() as u64 >= self.spec.flow_limit_packets {
            return verdicts.overflow(&queued);
        }
        if !flow.share.listed {
            if now.since(flow.emptied) > REFILL_AFTER {
                let quantum = i64::from(self.spec.quantum_bytes);
                flow.share.deficit = flow.share.deficit.max(quantum);
            }
            self.rounds.begin(number, &mut flow.share);
        }
        flow.queue.push(queued);
        self.packets += 1;
        self.bytes += u64::from(queued.bytes);
    }

    fn dequeue(&mut self, now: Time, _: &mut Verdicts) -> Head {
        self.serve(now).into()
    }

    fn length(&self) -> (usize, u64) {
        (self.packets, self.bytes)
    }

    fn inside(&self, _: Time) -> Inside {
        let (new, old) = self.rounds.lengths();
        Inside { new_flows: Some(new), old_flows: Some(old), ..Inside::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_packets::{context, queued};
    use super::*;

    #[test]
    fn a_flow_has_its_own_room_and_its_first_turn_is_long() {
        let spec = queue::Fq {
            limit_packets: 10_000,
            flow_limit_packets: 100,
            quantum_bytes: 3028,
            initial_quantum_bytes: 15_140,
        };
        let mut fq = Fq::new(&spec, &context());
        let mut verdicts = Verdicts::default();
        for number in 0..120 {
            fq.enqueue(Time::ZERO, queued(0, number, 1514, Time::ZERO), None, &mut verdicts);
        }
        assert_eq!(verdicts.dropped.len(), 20);
        for number in 0..20 {
            fq.enqueue(Time::ZERO, queued(1, number, 1514, Time::ZERO), None, &mut verdicts);
        }
        let left = std::iter::from_fn(|| fq.serve(Time::ZERO)).take(24);
        let flows: Vec<u32> = left.map(|left| left.packet.flow).collect();
        let expected: Vec<u32> = [(0, 10), (1, 10), (0, 2), (1, 2)]
            .into_iter()
            .flat_map(|(flow, times)| std::iter::repeat_n(flow, times))
            .collect();
        assert_eq!(flows, expected);
    }
}
