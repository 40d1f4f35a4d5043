//! Deficit Round Robin over classes (Shreedhar and Varghese 1995; Linux's sch_drr.c). A class sends
//! while its deficit covers the next packet.

use super::classes::{together, Classifier};
use super::{Arrival, Context, Discipline, Head, Qdisc, Queued, Verdicts};
use dumbbell_model::{queue, Time};
use std::collections::VecDeque;

#[derive(Debug)]
struct Class {
    queue: Qdisc,
    quantum: u64,
    deficit: u64,
}

/// DRR with its classes.
#[derive(Debug)]
pub(super) struct Drr {
    classifier: Classifier,
    classes: Vec<Class>,
    /// Classes with packets, in the order of service.
    active: VecDeque<usize>,
}

impl Drr {
    pub(super) fn new(spec: &queue::Drr, context: &Context<'_>) -> Self {
        let classes = &spec.classes;
        let classifier = Classifier::new(classes.iter().map(|class| class.dscp.as_slice()));
        let classes = classes.iter().enumerate().map(|(i, class)| Class {
            queue: context.child(i, &class.queue),
            quantum: u64::from(class.quantum_bytes),
            deficit: 0,
        });
        Self { classifier, classes: classes.collect(), active: VecDeque::new() }
    }

    /// `drr_dequeue`.
    fn serve(&mut self, now: Time, verdicts: &mut Verdicts) -> Option<Queued> {
        loop {
            let class = &mut self.classes[*self.active.front()?];
            let Head::Ready(head) = class.queue.peek(now, verdicts) else {
                // The discipline of the class has dropped all its packets.
                self.active.pop_front();
                continue;
            };
            let bytes = u64::from(head.bytes);
            if bytes <= class.deficit {
                class.deficit -= bytes;
                let taken = class.queue.take(now, verdicts);
                if class.queue.length().0 == 0 {
                    self.active.pop_front();
                }
                return taken;
            }
            class.deficit += class.quantum;
            self.active.rotate_left(1);
        }
    }
}

impl Discipline for Drr {
    /// `drr_enqueue`.
    fn enqueue(&mut self, now: Time, arrival: Arrival<'_>, verdicts: &mut Verdicts) {
        let Arrival { queued, sight, .. } = arrival;
        let number = self.classifier.class(&queued.packet);
        let class = &mut self.classes[number];
        class.queue.enqueue(now, queued, sight, verdicts);
        if class.queue.length().0 > 0 && !self.active.contains(&number) {
            class.deficit = class.quantum;
            self.active.push_back(number);
        }
    }

    fn dequeue(&mut self, now: Time, verdicts: &mut Verdicts) -> Head {
        self.serve(now, verdicts).into()
    }

    fn length(&self) -> (usize, u64) {
        together(self.classes.iter().map(|class| &class.queue))
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_packets::{context, queued, with_dscp};
    use super::super::Sight;
    use super::*;
    use dumbbell_model::queue::DrrClass;
    use dumbbell_model::Queue;

    /// Shreedhar and Varghese 1995, Theorem 2: over any time in which two classes always have
    /// packets, what they sent over their quanta differs by less than 3 (here: by bytes of a frame
    /// and a quantum).
    #[test]
    fn classes_share_by_their_quanta_whatever_their_packets() {
        let room = Queue::DropTail { limit_packets: Some(1000), limit_bytes: None };
        let classes = vec![
            DrrClass { dscp: vec![], quantum_bytes: 1514, queue: room.clone() },
            DrrClass { dscp: vec![46], quantum_bytes: 3028, queue: room },
        ];
        let mut drr = Qdisc::new(&Queue::Drr(queue::Drr { classes }), &context());
        let mut verdicts = Verdicts::default();
        let mut bytes = [0_u64; 2];
        for number in 0..50_000_u32 {
            let big = queued(0, number, 1514, Time::ZERO);
            drr.enqueue(Time::ZERO, big, &Sight::NONE, &mut verdicts);
            for _ in 0..3 {
                let small = with_dscp(46, queued(1, number, 700 + number % 300, Time::ZERO));
                drr.enqueue(Time::ZERO, small, &Sight::NONE, &mut verdicts);
            }
            if number < 500 {
                continue;
            }
            for _ in 0..2 {
                let Some(left) = drr.take(Time::ZERO, &mut verdicts) else { continue };
                bytes[left.packet.flow as usize] += u64::from(left.bytes);
            }
            let rounds = [bytes[0] as f64 / 1514.0, bytes[1] as f64 / 3028.0];
            assert!((rounds[0] - rounds[1]).abs() < 3.0, "{rounds:?}");
        }
    }
}
