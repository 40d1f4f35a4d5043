//! Hierarchy Token Bucket with classes under one parent, as in Linux (sch_htb.c). A class sends while its
//! bucket is not in debt. Otherwise it borrows from the parent while the bucket of its ceiling is not in
//! debt. Spare rate goes to the highest priority; classes of equal priority share it by deficit round robin.

use super::classes::{together, Classifier};
use super::{Arrival, Context, Discipline, Head, Inside, Qdisc, Verdicts};
use dumbbell_model::{queue, Framing, Rate, Time};

/// Maximum debt of a bucket, ns: a minute (`mbuffer`).
const MOST_NS: i64 = 60_000_000_000;

/// Tokens in nanoseconds at a rate.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    rate: Rate,
    depth_ns: i64,
    tokens_ns: i64,
}

impl Bucket {
    fn new(rate: Rate, burst_bytes: u64) -> Self {
        let depth_ns = rate.serialise(burst_bytes, 0).0.as_ns() as i64;
        Self { rate, depth_ns, tokens_ns: depth_ns }
    }

    /// `htb_accnt_tokens`.
    fn charge(&mut self, since_ns: i64, wire_bytes: u32) {
        let cost_ns = self.rate.serialise(u64::from(wire_bytes), 0).0.as_ns() as i64;
        let left_ns = (self.tokens_ns + since_ns).min(self.depth_ns) - cost_ns;
        self.tokens_ns = left_ns.max(1 - MOST_NS);
    }
}

/// The two buckets of a class, and the time of their last update.
#[derive(Clone, Copy, Debug)]
struct Buckets {
    rate: Bucket,
    ceil: Bucket,
    at_ns: i64,
}

/// Mode of a class (`htb_class_mode`), and the time at which it may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Send,
    Borrow { until_ns: i64 },
    Wait { until_ns: i64 },
}

impl Buckets {
    fn since(&self, now_ns: i64) -> i64 {
        (now_ns - self.at_ns).min(MOST_NS)
    }

    fn mode(&self, now_ns: i64) -> Mode {
        let since_ns = self.since(now_ns);
        let (ceil_ns, rate_ns) = (self.ceil.tokens_ns + since_ns, self.rate.tokens_ns + since_ns);
        if ceil_ns < 0 {
            Mode::Wait { until_ns: now_ns - ceil_ns }
        } else if rate_ns >= 0 {
            Mode::Send
        } else {
            Mode::Borrow { until_ns: now_ns - rate_ns }
        }
    }
}

#[derive(Debug)]
struct Class {
    queue: Qdisc,
    buckets: Buckets,
    priority: usize,
    quantum: i64,
    /// Deficits for own and borrowed rate.
    deficits: [i64; 2],
}

/// HTB with its classes.
#[derive(Debug)]
pub(super) struct Htb {
    framing: Framing,
    classifier: Classifier,
    root: Buckets,
    classes: Vec<Class>,
    /// Class served next, by own or borrowed rate and by priority.
    turns: [[usize; 8]; 2],
}

impl Htb {
    pub(super) fn new(spec: &queue::Htb, context: &Context<'_>) -> Self {
        let bucket = Bucket::new(spec.rate_bps, spec.burst_bytes);
        let classes = spec.classes.iter().enumerate().map(|(i, class)| Class {
            queue: context.child(i, &class.queue),
            buckets: Buckets {
                rate: Bucket::new(class.rate_bps, class.burst_bytes),
                ceil: Bucket::new(class.ceil_bps, class.cburst_bytes),
                at_ns: 0,
            },
            priority: class.priority as usize & 7,
            quantum: i64::from(class.quantum_bytes),
            deficits: [0; 2],
        });
        Self {
            framing: context.framing,
            classifier: Classifier::new(spec.classes.iter().map(|class| class.dscp.as_slice())),
            root: Buckets { rate: bucket, ceil: bucket, at_ns: 0 },
            classes: classes.collect(),
            turns: [[0; 8]; 2],
        }
    }

    fn choose(&self, now_ns: i64) -> Choice {
        let root = self.root.mode(now_ns);
        let mut until_ns = i64::MAX;
        let mut found: Option<(bool, usize, bool, usize)> = None;
        for (number, class) in self.classes.iter().enumerate() {
            if class.queue.length().0 == 0 {
                continue;
            }
            let borrowed = match (class.buckets.mode(now_ns), root) {
                (Mode::Send, _) => false,
                (Mode::Borrow { .. }, Mode::Send) => true,
                (Mode::Borrow { until_ns: own }, Mode::Wait { until_ns: parent })
                | (Mode::Borrow { until_ns: own }, Mode::Borrow { until_ns: parent }) => {
                    until_ns = until_ns.min(own.min(parent));
                    continue;
                }
                (Mode::Wait { until_ns: at }, _) => {
                    until_ns = until_ns.min(at);
                    continue;
                }
            };
            // Among equal classes, those from the current turn on precede those before it.
            let ahead = number < self.turns[usize::from(borrowed)][class.priority];
            let rank = (borrowed, class.priority, ahead, number);
            if found.is_none_or(|best| rank < best) {
                found = Some(rank);
            }
        }
        match found {
            Some((borrowed, _, _, class)) => Choice::Serve { borrowed, class },
            None if until_ns == i64::MAX => Choice::Nothing,
            None => Choice::Wait { until_ns },
        }
    }

    /// `htb_charge_class`: charges a class that borrows only at its ceiling.
    fn charge(&mut self, number: usize, borrowed: bool, now_ns: i64, wire_bytes: u32) {
        let class = &mut self.classes[number].buckets;
        let since_ns = class.since(now_ns);
        if borrowed {
            class.rate.tokens_ns += since_ns;
        } else {
            class.rate.charge(since_ns, wire_bytes);
        }
        class.ceil.charge(since_ns, wire_bytes);
        class.at_ns = now_ns;
        let since_ns = self.root.since(now_ns);
        self.root.rate.charge(since_ns, wire_bytes);
        self.root.ceil.charge(since_ns, wire_bytes);
        self.root.at_ns = now_ns;
    }
}

impl Discipline for Htb {
    fn enqueue(&mut self, now: Time, arrival: Arrival<'_>, verdicts: &mut Verdicts) {
        let Arrival { queued, sight, .. } = arrival;
        let class = self.classifier.class(&queued.packet);
        self.classes[class].queue.enqueue(now, queued, sight, verdicts);
    }

    /// `htb_dequeue`: serves own rates first, then the parent's spare rate.
    fn dequeue(&mut self, now: Time, verdicts: &mut Verdicts) -> Head {
        let now_ns = now.as_ns() as i64;
        loop {
            let (borrowed, number) = match self.choose(now_ns) {
                Choice::Nothing => return Head::Empty,
                Choice::Wait { until_ns } => {
                    return Head::Until(Time::from_ns(until_ns.max(0) as u64));
                }
                Choice::Serve { borrowed, class } => (borrowed, class),
            };
            let class = &mut self.classes[number];
            let Some(queued) = class.queue.take(now, verdicts) else {
                // The class's discipline has dropped all its packets; otherwise this would loop forever.
                debug_assert_eq!(class.queue.length().0, 0);
                continue;
            };
            let side = usize::from(borrowed);
            class.deficits[side] -= i64::from(queued.bytes);
            if class.deficits[side] < 0 {
                class.deficits[side] += class.quantum;
                self.turns[side][class.priority] = number + 1;
            } else {
                self.turns[side][class.priority] = number;
            }
            self.charge(number, borrowed, now_ns, self.framing.wire_bytes(queued.bytes));
            return Head::Ready(queued);
        }
    }

    fn length(&self) -> (usize, u64) {
        together(self.classes.iter().map(|class| &class.queue))
    }

    /// State of the only class's queue.
    fn inside(&self, now: Time) -> Inside {
        match self.classes.as_slice() {
            [only] => only.queue.inside(now),
            _ => Inside::default(),
        }
    }
}

/// Class that may be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Nothing,
    Wait { until_ns: i64 },
    Serve { borrowed: bool, class: usize },
}

#[cfg(test)]
mod tests {
    use super::super::test_packets::{context, queued, with_dscp};
    use super::super::Sight;
    use super::*;
    use dumbbell_model::Queue;

    fn class(dscp: Vec<u8>, rate: u64, ceil: u64, priority: u32) -> queue::HtbClass {
        queue::HtbClass {
            dscp,
            rate_bps: Rate::from_bps(rate),
            ceil_bps: Rate::from_bps(ceil),
            burst_bytes: 1600,
            cburst_bytes: 1600,
            priority,
            quantum_bytes: 1514,
            queue: Queue::DropTail { limit_packets: Some(10), limit_bytes: None },
        }
    }

    /// Bytes per class in ten seconds, where classes with a codepoint of 1 and 2 always have packets
    /// if they are busy.
    fn shares(classes: Vec<queue::HtbClass>, busy: &[u8]) -> Vec<f64> {
        let count = classes.len();
        let rate_bps = Rate::from_bps(10_000_000);
        let spec = queue::Htb { rate_bps, burst_bytes: 1600, classes };
        let mut htb = Qdisc::new(&Queue::Htb(spec), &context());
        let mut verdicts = Verdicts::default();
        let mut bits = vec![0.0; count];
        let mut now = Time::ZERO;
        while now < Time::from_ns(10_000_000_000) {
            for dscp in busy {
                let packet = with_dscp(*dscp, queued(u32::from(*dscp), 0, 1514, now));
                htb.enqueue(now, packet, &Sight::NONE, &mut verdicts);
            }
            match htb.peek(now, &mut verdicts) {
                Head::Empty => break,
                Head::Until(at) => now = at,
                Head::Ready(_) => {
                    if let Some(left) = htb.take(now, &mut verdicts) {
                        bits[left.packet.flow as usize] += f64::from(left.bytes) * 8.0 / 1e7;
                    }
                }
            }
        }
        bits
    }

    /// Mbit/s of two busy classes and one, by what they are promised and may borrow.
    #[test]
    fn promises_are_kept_and_spare_rate_is_borrowed_by_priority() {
        let two = |prio: u32| {
            vec![
                class(vec![], 1_000_000, 10_000_000, 1),
                class(vec![1], 2_000_000, 10_000_000, prio),
                class(vec![2], 3_000_000, 4_000_000, 1),
            ]
        };
        let close = |found: &[f64], expected: [f64; 3]| {
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 0.02 * 10.0, "{found} for {expected}");
            }
        };
        // 6 promised, 4 to spare: by turns of equal quanta, up to the ceiling.
        let total: f64 = shares(two(1), &[0, 1, 2]).iter().sum();
        assert!((total - 10.0).abs() < 0.02, "{total}");
        close(&shares(two(1), &[0, 1, 2]), [2.5, 3.5, 4.0]);
        // The one of higher priority takes all that is to spare.
        close(&shares(two(0), &[0, 1, 2]), [1.0, 6.0, 3.0]);
        // A class alone sends up to its ceiling.
        close(&shares(two(1), &[2]), [0.0, 0.0, 4.0]);
        close(&shares(two(1), &[0]), [10.0, 0.0, 0.0]);
    }
}
