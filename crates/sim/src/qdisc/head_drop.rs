//! First in, first out (Linux's sch_fifo.c): pfifo_head_drop drops its head if it is full.

use super::{Arrival, Context, Discipline, Head, Line, Verdicts};
use dumbbell_model::{queue, Time};

/// A queue with its limit.
#[derive(Debug)]
pub(super) struct HeadDrop {
    line: Line,
    limit_packets: u64,
}

impl HeadDrop {
    pub(super) fn new(spec: &queue::HeadDrop, _: &Context<'_>) -> Self {
        Self { line: Line::default(), limit_packets: spec.limit_packets }
    }
}

impl Discipline for HeadDrop {
    fn enqueue(&mut self, _: Time, arrival: Arrival<'_>, verdicts: &mut Verdicts) {
        let queued = arrival.queued;
        if self.line.packets.len() as u64 >= self.limit_packets {
            if let Some(head) = self.line.pop() {
                verdicts.overflow(&head);
            }
        }
        self.line.push(queued);
    }

    fn peek(&mut self, _: Time, _: &mut Verdicts) -> Option<Head> {
        Some(self.line.head().into())
    }

    fn dequeue(&mut self, _: Time, _: &mut Verdicts) -> Head {
        self.line.pop().into()
    }

    fn length(&self) -> (usize, u64) {
        self.line.length()
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_packets::{context, five};
    use super::*;

    #[test]
    fn the_head_makes_way() {
        let queue = HeadDrop::new(&queue::HeadDrop { limit_packets: 3 }, &context());
        assert_eq!(five(queue), (vec![2, 3, 4], vec![0, 1]));
    }
}
