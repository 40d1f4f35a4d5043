//! Bands by priority (Linux's sch_prio.c): the first that is not empty is served.

use super::classes::{together, Classifier};
use super::{Arrival, Context, Discipline, Head, Qdisc, Queued, Verdicts};
use dumbbell_model::{queue, Time};

/// prio with its bands.
#[derive(Debug)]
pub(super) struct Prio {
    classifier: Classifier,
    bands: Vec<Qdisc>,
}

impl Prio {
    pub(super) fn new(spec: &queue::Prio, context: &Context<'_>) -> Self {
        let bands = &spec.bands;
        let classifier = Classifier::new(bands.iter().map(|band| band.dscp.as_slice()));
        let queues = bands.iter().enumerate().map(|(i, band)| context.child(i, &band.queue));
        Self { classifier, bands: queues.collect() }
    }

    /// `prio_dequeue`.
    fn serve(&mut self, now: Time, verdicts: &mut Verdicts) -> Option<Queued> {
        self.bands.iter_mut().find_map(|band| band.take(now, verdicts))
    }
}

impl Discipline for Prio {
    fn enqueue(&mut self, now: Time, arrival: Arrival<'_>, verdicts: &mut Verdicts) {
        let Arrival { queued, sight, .. } = arrival;
        let band = self.classifier.class(&queued.packet);
        self.bands[band].enqueue(now, queued, sight, verdicts);
    }

    /// `prio_peek`.
    fn peek(&mut self, now: Time, verdicts: &mut Verdicts) -> Option<Head> {
        let heads = self.bands.iter_mut().map(|band| band.peek(now, verdicts));
        Some(heads.into_iter().find(|head| *head != Head::Empty).unwrap_or(Head::Empty))
    }

    fn dequeue(&mut self, now: Time, verdicts: &mut Verdicts) -> Head {
        self.serve(now, verdicts).into()
    }

    fn length(&self) -> (usize, u64) {
        together(self.bands.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_packets::{context, queued, with_dscp};
    use super::super::Sight;
    use super::*;
    use dumbbell_model::queue::Band;
    use dumbbell_model::Queue;

    #[test]
    fn an_earlier_band_always_goes_first() {
        let room = Queue::DropTail { limit_packets: Some(5), limit_bytes: None };
        let bands = vec![
            Band { dscp: vec![46], queue: room.clone() },
            Band { dscp: vec![], queue: room.clone() },
            Band { dscp: vec![8], queue: room },
        ];
        let mut prio = Qdisc::new(&Queue::Prio(queue::Prio { bands }), &context());
        let mut verdicts = Verdicts::default();
        for (number, dscp) in [8, 0, 46, 8, 46, 10].into_iter().enumerate() {
            let packet = with_dscp(dscp, queued(0, number as u32, 100, Time::ZERO));
            prio.enqueue(Time::ZERO, packet, &Sight::NONE, &mut verdicts);
        }
        let left = std::iter::from_fn(|| prio.take(Time::ZERO, &mut verdicts));
        let order: Vec<u32> = left.map(|left| left.packet.id).collect();
        assert_eq!(order, [2, 4, 1, 5, 0, 3]);
    }
}
