//! First in, first out (Linux's sch_fifo.c): pfifo and bfifo drop an arriving packet that does not fit.

use super::{Arrival, Discipline, Head, Line, Verdicts};
use dumbbell_model::Time;

/// A queue with its limits.
#[derive(Debug)]
pub(super) struct DropTail {
    line: Line,
    limit_packets: Option<u64>,
    limit_bytes: Option<u64>,
}

impl DropTail {
    pub(super) fn new(limit_packets: Option<u64>, limit_bytes: Option<u64>) -> Self {
        Self { line: Line::default(), limit_packets, limit_bytes }
    }
}

impl Discipline for DropTail {
    fn enqueue(&mut self, _: Time, arrival: Arrival<'_>, verdicts: &mut Verdicts) {
        let queued = arrival.queued;
        let (packets, bytes) = self.line.length();
        let fits = self.limit_packets.is_none_or(|limit| (packets as u64) < limit)
            && self.limit_bytes.is_none_or(|limit| bytes + u64::from(queued.bytes) <= limit);
        if !fits {
            return verdicts.overflow(&queued);
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
    use super::super::test_packets::five;
    use super::*;

    #[test]
    fn packets_beyond_the_limit_are_dropped() {
        assert_eq!(five(DropTail::new(Some(3), None)), (vec![0, 1, 2], vec![3, 4]));
        assert_eq!(five(DropTail::new(None, Some(2999))), (vec![0, 1], vec![2, 3, 4]));
    }
}
