//! First in, first out (Linux's sch_fifo.c): pfifo and bfifo refuse what does not fit,
//! pfifo_head_drop makes room at the head.

use super::{Line, Queued, Verdicts};

/// Where room is made.
#[derive(Clone, Copy, Debug)]
enum Full {
    /// What arrives is dropped.
    Tail { limit_packets: Option<u64>, limit_bytes: Option<u64> },
    /// The head is.
    Head { limit_packets: u64 },
}

/// A queue with its limit.
#[derive(Debug)]
pub(super) struct Fifo {
    line: Line,
    full: Full,
}

impl Fifo {
    pub(super) fn tail_drop(limit_packets: Option<u64>, limit_bytes: Option<u64>) -> Self {
        Self { line: Line::default(), full: Full::Tail { limit_packets, limit_bytes } }
    }

    pub(super) fn head_drop(limit_packets: u64) -> Self {
        Self { line: Line::default(), full: Full::Head { limit_packets } }
    }

    pub(super) fn enqueue(&mut self, queued: Queued, verdicts: &mut Verdicts) {
        let (packets, bytes) = self.line.length();
        match self.full {
            Full::Tail { limit_packets, limit_bytes } => {
                let fits = limit_packets.is_none_or(|limit| (packets as u64) < limit)
                    && limit_bytes.is_none_or(|limit| bytes + u64::from(queued.bytes) <= limit);
                if !fits {
                    return verdicts.overflow(&queued);
                }
            }
            Full::Head { limit_packets } => {
                if packets as u64 >= limit_packets {
                    if let Some(head) = self.line.pop() {
                        verdicts.overflow(&head);
                    }
                }
            }
        }
        self.line.push(queued);
    }

    pub(super) fn head(&self) -> Option<Queued> {
        self.line.packets.front().copied()
    }

    pub(super) fn dequeue(&mut self) -> Option<Queued> {
        self.line.pop()
    }

    pub(super) fn length(&self) -> (usize, u64) {
        self.line.length()
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_packets::queued;
    use super::*;
    use dumbbell_model::Time;

    fn left_of(mut fifo: Fifo) -> (Vec<u32>, Vec<u32>) {
        let mut verdicts = Verdicts::default();
        for number in 0..5 {
            fifo.enqueue(queued(0, number, 1000, Time::ZERO), &mut verdicts);
        }
        let left = std::iter::from_fn(|| fifo.dequeue()).map(|one| one.packet.id).collect();
        (left, verdicts.dropped.iter().map(|(packet, _)| packet.id).collect())
    }

    #[test]
    fn the_tail_the_bytes_or_the_head_is_dropped() {
        assert_eq!(left_of(Fifo::tail_drop(Some(3), None)), (vec![0, 1, 2], vec![3, 4]));
        assert_eq!(left_of(Fifo::tail_drop(None, Some(2999))), (vec![0, 1], vec![2, 3, 4]));
        assert_eq!(left_of(Fifo::head_drop(3)), (vec![2, 3, 4], vec![0, 1]));
    }
}
