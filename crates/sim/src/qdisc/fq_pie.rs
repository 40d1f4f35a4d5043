//! FlowQueue-PIE as in Linux (sch_fq_pie.c): the scheduler of RFC 8290 over queues with PIE (RFC 8033).

use super::pie::{Updates, Vars};
use super::rounds::{Rounds, Share};
use super::{flow_queue, Arrival, Context, Discipline, Head, Inside, Line, Queued, Verdicts};
use dumbbell_model::rng::Rng;
use dumbbell_model::{queue, Time};

#[derive(Debug, Default)]
struct Flow {
    queue: Line,
    vars: Vars,
    share: Share,
}

/// FQ-PIE with its flows.
#[derive(Debug)]
pub(super) struct FqPie {
    spec: queue::FqPie,
    flows: Vec<Flow>,
    rounds: Rounds,
    updates: Updates,
    frame_bytes: u32,
    rng: Rng,
    packets: usize,
    bytes: u64,
}

impl FqPie {
    pub(super) fn new(spec: &queue::FqPie, context: &Context<'_>) -> Self {
        let mut flows = Vec::new();
        flows.resize_with(spec.flows as usize, Flow::default);
        Self {
            spec: *spec,
            flows,
            rounds: Rounds::default(),
            updates: Updates::new(context.since, spec.pie.tupdate),
            frame_bytes: context.frame_bytes,
            rng: context.rng(),
            packets: 0,
            bytes: 0,
        }
    }

    /// `fq_pie_timer`: updates every flow, also those without packets.
    fn update(&mut self, now: Time) {
        while self.updates.due(now).is_some() {
            for flow in &mut self.flows {
                flow.vars.update(&self.spec.pie, flow.queue.bytes);
            }
        }
    }

    /// `fq_pie_qdisc_dequeue`.
    fn serve(&mut self, now: Time) -> Option<Queued> {
        self.update(now);
        loop {
            let flow = &mut self.flows[self.rounds.head()?];
            if flow.share.deficit <= 0 {
                self.rounds.spent(i64::from(self.spec.quantum_bytes), &mut flow.share);
                continue;
            }
            let Some(queued) = flow.queue.pop() else {
                self.rounds.idle(&mut flow.share);
                continue;
            };
            self.packets -= 1;
            self.bytes -= u64::from(queued.bytes);
            flow.share.deficit -= i64::from(queued.bytes);
            flow.vars.left(now, queued.arrived, flow.queue.bytes);
            return Some(queued);
        }
    }
}

impl Discipline for FqPie {
    /// `fq_pie_qdisc_enqueue`.
    fn enqueue(&mut self, now: Time, arrival: Arrival<'_>, verdicts: &mut Verdicts) {
        let Arrival { mut queued, beside, .. } = arrival;
        let beside = usize::from(beside.is_some());
        self.update(now);
        let number = flow_queue(&queued.packet, self.flows.len());
        let flow = &mut self.flows[number];
        if (self.packets + beside) as u64 >= self.spec.pie.limit_packets {
            flow.vars.dropped();
            return verdicts.overflow(&queued);
        }
        let bytes = flow.queue.bytes;
        let (pie, frame) = (&self.spec.pie, self.frame_bytes);
        if flow.vars.drops_early(pie, frame, bytes, queued.bytes, &mut self.rng) {
            let percent = self.spec.ecn_prob_percent;
            let marks = self.spec.pie.ecn && flow.vars.is_at_most_percent(percent);
            if !(marks && verdicts.mark(&mut queued)) {
                flow.vars.dropped();
                return verdicts.signal(&queued);
            }
        }
        self.packets += 1;
        self.bytes += u64::from(queued.bytes);
        flow.queue.push(queued);
        if !flow.share.listed {
            flow.share.deficit = i64::from(self.spec.quantum_bytes);
            self.rounds.begin(number, &mut flow.share);
        }
    }

    fn dequeue(&mut self, now: Time, _: &mut Verdicts) -> Head {
        self.serve(now).into()
    }

    fn length(&self) -> (usize, u64) {
        (self.packets, self.bytes)
    }

    /// State with the highest probability of all flows.
    fn inside(&self, _: Time) -> Inside {
        let (new, old) = self.rounds.lengths();
        let highest = self.flows.iter().map(|flow| flow.vars.probability()).fold(0.0, f64::max);
        let (new_flows, old_flows) = (Some(new), Some(old));
        Inside { probability: Some(highest), new_flows, old_flows, ..Inside::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_packets::{context, queued};
    use super::*;
    use dumbbell_model::Span;

    /// One flow sends too much, another little: the first is dropped, the second never.
    #[test]
    fn only_the_flow_that_sends_too_much_is_dropped() {
        let pie = queue::Pie {
            limit_packets: 10_240,
            target: Span::from_ms(15),
            tupdate: Span::from_ms(15),
            alpha: 2,
            beta: 20,
            ecn: false,
            bytemode: false,
        };
        let spec = queue::FqPie { pie, flows: 1024, quantum_bytes: 1514, ecn_prob_percent: 10 };
        let mut fq = FqPie::new(&spec, &context());
        let mut verdicts = Verdicts::default();
        let mut longest_ms = 0;
        for ms in 0..20_000_u64 {
            let now = Time::from_ns(ms * 1_000_000);
            fq.enqueue(now, queued(0, ms as u32, 1514, now).into(), &mut verdicts);
            if ms % 10 == 0 {
                fq.enqueue(now, queued(1, ms as u32, 200, now).into(), &mut verdicts);
            }
            if let Some(left) = fq.serve(now).filter(|left| left.packet.flow == 1) {
                longest_ms = longest_ms.max(now.since(left.arrived).as_ns() / 1_000_000);
            }
        }
        assert!(verdicts.dropped.len() > 1000);
        assert!(verdicts.dropped.iter().all(|(packet, _)| packet.flow == 0));
        assert!(longest_ms <= 1, "{longest_ms}");
    }
}
