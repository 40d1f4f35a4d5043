//! FlowQueue-CoDel (RFC 8290) as in Linux: a queue with CoDel per flow, served by deficit round robin, new
//! flows before old ones. On overflow it drops up to 64 packets from the head of the longest queue.

use super::codel::{Parameters, State};
use super::rounds::{Rounds, Share};
use super::{flow_queue, Arrival, Context, Discipline, Head, Inside, Line, Queued, Verdicts};
use dumbbell_model::{queue, Time};

/// Maximum packets dropped per overflow (`drop_batch_size`).
const DROP_BATCH: usize = 64;

/// Queue of a flow (RFC 8290 §4).
#[derive(Debug, Default)]
struct Flow {
    queue: Line,
    state: State,
    share: Share,
}

/// FQ-CoDel with its flows (RFC 8290 §4.1, §4.2).
#[derive(Debug)]
pub(super) struct FqCodel {
    parameters: Parameters,
    quantum: i64,
    limit: usize,
    flows: Vec<Flow>,
    rounds: Rounds,
    packets: usize,
    bytes: u64,
}

impl FqCodel {
    pub(super) fn new(spec: &queue::FqCodel, context: &Context<'_>) -> Self {
        let codel = queue::Codel {
            limit_packets: spec.limit_packets,
            target: spec.target,
            interval: spec.interval,
            ecn: spec.ecn,
            ce_threshold: spec.ce_threshold,
        };
        let mut flows = Vec::new();
        flows.resize_with(spec.flows as usize, Flow::default);
        Self {
            parameters: Parameters::new(&codel, context).for_ect_1(spec.ce_threshold_ect1),
            quantum: i64::from(spec.quantum_bytes),
            limit: spec.limit_packets as usize,
            flows,
            rounds: Rounds::default(),
            packets: 0,
            bytes: 0,
        }
    }

    /// Drops half of the longest queue, but not more than a batch (`fq_codel_drop`).
    fn shorten(&mut self, verdicts: &mut Verdicts) {
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
            verdicts.overflow(&head);
            if packets == DROP_BATCH || bytes >= half {
                break;
            }
        }
        flow.state.count_more(packets as u32);
        self.packets -= packets;
        self.bytes -= bytes;
    }

    /// RFC 8290 §4.2; `fq_codel_dequeue`.
    fn serve(&mut self, now: Time, verdicts: &mut Verdicts) -> Option<Queued> {
        loop {
            let number = self.rounds.head()?;
            let flow = &mut self.flows[number];
            if flow.share.deficit <= 0 {
                self.rounds.spent(self.quantum, &mut flow.share);
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
            let Some(queued) = flow.state.dequeue(&self.parameters, now, take, verdicts) else {
                self.rounds.idle(&mut flow.share);
                continue;
            };
            flow.share.deficit -= i64::from(queued.bytes);
            return Some(queued);
        }
    }
}

impl Discipline for FqCodel {
    /// RFC 8290 §4.1; `fq_codel_enqueue`. On overflow it drops from the head of the longest queue.
    fn enqueue(&mut self, _: Time, arrival: Arrival<'_>, verdicts: &mut Verdicts) {
        let Arrival { queued, beside, .. } = arrival;
        let beside = usize::from(beside.is_some());
        let number = flow_queue(&queued.packet, self.flows.len());
        let flow = &mut self.flows[number];
        flow.queue.push(queued);
        if !flow.share.listed {
            flow.share.deficit = self.quantum;
            self.rounds.begin(number, &mut flow.share);
        }
        self.packets += 1;
        self.bytes += u64::from(queued.bytes);
        if self.packets + beside > self.limit {
            self.shorten(verdicts);
        }
    }

    fn dequeue(&mut self, now: Time, verdicts: &mut Verdicts) -> Head {
        self.serve(now, verdicts).into()
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
    use super::super::test_packets::{context, queued as packet};
    use super::*;
    use dumbbell_model::Span;

    fn queued(flow: u32, number: u32, bytes: u32) -> Queued {
        packet(flow, number, bytes, Time::ZERO)
    }

    fn discipline(limit_packets: u64) -> FqCodel {
        let (target, interval) = (Span::from_ms(5), Span::from_ms(100));
        let (flows, quantum_bytes, ce_threshold) = (1024, 1514, Span::ZERO);
        let spec = queue::FqCodel {
            limit_packets,
            flows,
            quantum_bytes,
            target,
            interval,
            ecn: false,
            ce_threshold,
            ce_threshold_ect1: false,
        };
        FqCodel::new(&spec, &context())
    }

    /// `fq_codel ce_threshold 1ms ce_threshold_selector 0x1/0x3`.
    #[test]
    fn the_threshold_may_be_for_ect_1_alone() {
        let codel = queue::Codel {
            limit_packets: 100,
            target: Span::from_ms(5),
            interval: Span::from_ms(100),
            ecn: true,
            ce_threshold: Span::from_ms(1),
        };
        let parameters = Parameters::new(&codel, &context());
        for (chosen, marks) in [(false, [0, 1, 1, 1]), (true, [0, 1, 0, 0])] {
            for (tos, marked) in (0..4).zip(marks) {
                let mut fq = discipline(100);
                fq.parameters = parameters.for_ect_1(chosen);
                let mut one = queued(0, 0, 1000);
                one.packet.tos = tos;
                let mut verdicts = Verdicts::default();
                fq.enqueue(Time::ZERO, one.into(), &mut verdicts);
                assert!(fq.serve(Time::ZERO + Span::from_ms(2), &mut verdicts).is_some());
                assert_eq!(verdicts.marked, marked, "{chosen} {tos}");
            }
        }
    }

    #[test]
    fn flows_share_bytes_and_a_new_one_goes_first() {
        let mut fq = discipline(10_000);
        let mut verdicts = Verdicts::default();
        for number in 0..300 {
            fq.enqueue(Time::ZERO, queued(0, number, 1514).into(), &mut verdicts);
            fq.enqueue(Time::ZERO, queued(1, number, 500).into(), &mut verdicts);
        }
        let mut bytes = [0, 0];
        for _ in 0..200 {
            let Some(one) = fq.serve(Time::ZERO, &mut verdicts) else { break };
            bytes[one.packet.flow as usize] += one.bytes;
        }
        assert!(bytes[0].abs_diff(bytes[1]) <= 2 * 1514, "{bytes:?}");
        fq.enqueue(Time::ZERO, queued(2, 0, 100).into(), &mut verdicts);
        let next = fq.serve(Time::ZERO, &mut verdicts);
        assert_eq!(next.map(|one| one.packet.flow), Some(2));
        assert!(verdicts.dropped.is_empty());
    }

    /// A flow that never had an episode begins at the lowest rate, whatever a batch dropped of it, also
    /// in the first 16 intervals of a run.
    #[test]
    fn a_batch_of_drops_does_not_begin_an_episode_at_a_high_rate() {
        let mut fq = discipline(100);
        let mut verdicts = Verdicts::default();
        for number in 0..101 {
            fq.enqueue(Time::ZERO, queued(0, number, 1514).into(), &mut verdicts);
        }
        assert_eq!(verdicts.dropped.len(), 51);
        let mut signals_ms = Vec::new();
        for ms in 6..300 {
            let now = Time::ZERO + Span::from_ms(ms);
            let mut verdicts = Verdicts::default();
            assert!(fq.serve(now, &mut verdicts).is_some());
            signals_ms.extend(verdicts.dropped.iter().map(|_| ms));
            let arrived = now;
            for number in 0..=verdicts.dropped.len() as u32 {
                let one = packet(0, number, 1514, arrived);
                fq.enqueue(now, one.into(), &mut Verdicts::default());
            }
        }
        // An interval above target, then an interval, then one over root 2.
        assert_eq!(signals_ms.len(), 3, "{signals_ms:?}");
        assert!((106..110).contains(&signals_ms[0]), "{signals_ms:?}");
        assert!((205..212).contains(&signals_ms[1]), "{signals_ms:?}");
    }

    #[test]
    fn where_all_is_full_the_longest_queue_is_halved_from_its_head() {
        let mut fq = discipline(100);
        let mut verdicts = Verdicts::default();
        for number in 0..80 {
            fq.enqueue(Time::ZERO, queued(0, number, 1000).into(), &mut verdicts);
        }
        for number in 0..20 {
            fq.enqueue(Time::ZERO, queued(1, number, 1000).into(), &mut verdicts);
        }
        assert!(verdicts.dropped.is_empty());
        fq.enqueue(Time::ZERO, queued(1, 20, 1000).into(), &mut verdicts);
        let ids: Vec<_> =
            verdicts.dropped.iter().map(|(packet, _)| (packet.flow, packet.id)).collect();
        assert_eq!(ids, (0..40).map(|id| (0, id)).collect::<Vec<_>>());
        assert_eq!(fq.length(), (61, 61_000));
    }
}
