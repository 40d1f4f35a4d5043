//! DualPI2 (RFC 9332) as in Linux (sch_dualpi2.c): a queue for scalable congestion controls (L) beside one
//! for all others (C). One PI controller sets a probability p. C is signalled with p², L with k p; L also
//! by a step of its sojourn time. Probabilities are 32-bit numbers, of which the largest means 1.

use super::pie::Updates;
use super::{Arrival, Context, Discipline, Head, Inside, Line, Queued, Verdicts};
use dumbbell_model::rng::Rng;
use dumbbell_model::{queue, Span, Time};

/// A probability of 1 (`MAX_PROB`).
const CERTAIN: u32 = u32::MAX;
/// Bits of the ECN field (RFC 3168 §5, RFC 9331 §4.1).
const ECT_1: u8 = 1;
const CE: u8 = 3;

/// Decision of the controller about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    Mark,
    Drop,
}

/// The PI controller (RFC 9332 A.1, lines 1 to 9 of figure 6).
#[derive(Debug)]
struct Controller {
    target_ns: i64,
    /// Weights per nanosecond, in 64ths of the smallest probability.
    alpha: i64,
    beta: i64,
    /// Maximum of the probability, where an overload shall overflow the queue.
    most: u32,
    probability: u32,
    delay_ns: i64,
}

impl Controller {
    fn new(spec: &queue::Dualpi2) -> Self {
        Self {
            target_ns: spec.target.as_ns() as i64,
            alpha: weight(spec.alpha),
            beta: weight(spec.beta),
            most: if spec.drop_on_overload { CERTAIN } else { CERTAIN / spec.coupling_factor },
            probability: 0,
            delay_ns: 0,
        }
    }

    /// `calculate_probability`. A change of delay so large that a step exceeds 32 bits wraps, as in Linux.
    fn update(&mut self, delay: Span) {
        let delay_ns = delay.as_ns() as i64;
        let delta = (delay_ns - self.target_ns)
            .wrapping_mul(self.alpha)
            .wrapping_add((delay_ns - self.delay_ns).wrapping_mul(self.beta));
        self.delay_ns = delay_ns;
        let step = (delta.unsigned_abs() / 64) as u32;
        let before = self.probability;
        let after = if delta > 0 {
            let sum = before.wrapping_add(step);
            if sum < before {
                CERTAIN
            } else {
                sum
            }
        } else {
            let difference = before.wrapping_sub(step);
            if difference > before {
                0
            } else {
                difference
            }
        };
        self.probability = after.min(self.most);
    }
}

/// `dualpi2_scale_alpha_beta`: from 256ths per second. Rounded, since the kernel computes with what is left.
fn weight(per_s_256: u32) -> i64 {
    (((u64::from(per_s_256) * u64::from(CERTAIN)) >> 2) / 1_000_000_000) as i64
}

/// A packet of L, and if the step applies to it.
#[derive(Clone, Copy, Debug)]
struct Low {
    queued: Queued,
    steps: bool,
}

/// DualPI2 with both queues.
#[derive(Debug)]
pub(super) struct Dualpi2 {
    spec: queue::Dualpi2,
    /// A full frame (`psched_mtu`).
    frame_bytes: u32,
    classic: Line,
    low: std::collections::VecDeque<Low>,
    low_bytes: u64,
    controller: Controller,
    updates: Updates,
    /// Bytes that the scheduler owes: up to 0 to L, above to C (RFC 9332 A.1, weighted round robin).
    credit: i32,
    rng: Rng,
}

impl Dualpi2 {
    pub(super) fn new(spec: &queue::Dualpi2, context: &Context<'_>) -> Self {
        let mut made = Self {
            spec: *spec,
            frame_bytes: context.frame_bytes,
            classic: Line::default(),
            low: std::collections::VecDeque::new(),
            low_bytes: 0,
            controller: Controller::new(spec),
            updates: Updates::new(context.since, spec.tupdate),
            credit: 0,
            rng: context.rng(),
        };
        made.credit = made.first_credit();
        made
    }

    /// Weights of C and L, in percent of the bytes.
    fn weights(&self) -> (i32, i32) {
        let classic = self.spec.classic_protection_percent as i32;
        (classic, 100 - classic)
    }

    /// `dualpi2_calculate_c_protection`.
    fn first_credit(&self) -> i32 {
        let (classic, low) = self.weights();
        self.frame_bytes as i32 * (classic - low)
    }

    /// Makes the updates due by now (`dualpi2_timer`), with the longer of both heads' waiting times.
    fn update(&mut self, now: Time) {
        while let Some(at) = self.updates.due(now) {
            let heads = [self.classic.head(), self.low.front().map(|low| low.queued)];
            let waiting = heads.iter().flatten().map(|head| at.since(head.arrived));
            self.controller.update(waiting.max().unwrap_or(Span::ZERO));
        }
    }

    /// `dualpi2_skb_classify`: by the ECN field. CE is of L, for it may have been ECT(1) (RFC 9331 §5.1).
    fn is_low(&self, queued: &Queued) -> bool {
        let mask = if self.spec.any_ect { CE } else { ECT_1 };
        queued.packet.tos & mask != 0
    }

    /// Returns true with probability p (`dualpi2_roll`). It consumes a random number also at p = 0.
    fn roll(&mut self, probability: u32) -> bool {
        (self.rng.next_u64() >> 32) as u32 <= probability
    }

    /// Returns true with probability p²: both of two draws (RFC 9332 §2.4).
    fn roll_twice(&mut self, probability: u32) -> bool {
        self.roll(probability) && self.roll(probability)
    }

    /// The controller's verdict (`must_drop`; RFC 9332 A.2 for overload).
    ///
    /// Args: `backlog_bytes` of both queues, without the packet.
    fn verdict(&mut self, queued: &Queued, low: bool, backlog_bytes: u64) -> Verdict {
        if backlog_bytes < 2 * u64::from(self.frame_bytes) {
            return Verdict::Pass;
        }
        let probability = self.controller.probability;
        let coupled = u64::from(probability) * u64::from(self.spec.coupling_factor);
        let overload = coupled > u64::from(CERTAIN);
        let capable = queued.packet.tos & CE != 0;
        let marked = |capable: bool| if capable { Verdict::Mark } else { Verdict::Drop };
        match (low, overload) {
            (false, _) => match self.roll_twice(probability) {
                true if overload => Verdict::Drop,
                true => marked(capable),
                false => Verdict::Pass,
            },
            (true, false) => match self.roll(coupled as u32) {
                true => marked(capable),
                false => Verdict::Pass,
            },
            (true, true) if self.spec.drop_on_overload && self.roll_twice(probability) => {
                Verdict::Drop
            }
            (true, true) => Verdict::Mark,
        }
    }

    /// Carries out the controller's verdict. Returns false if the packet is dropped.
    fn judge(
        &mut self,
        queued: &mut Queued,
        low: bool,
        bytes: u64,
        verdicts: &mut Verdicts,
    ) -> bool {
        match self.verdict(queued, low, bytes) {
            Verdict::Pass => true,
            Verdict::Mark => {
                verdicts.mark(queued);
                true
            }
            Verdict::Drop => {
                verdicts.signal(queued);
                false
            }
        }
    }

    /// The next packet, if it is of L, and the change of credit (`dequeue_packet`).
    fn next(&mut self) -> Option<(Low, bool, i32)> {
        let (classic, low) = self.weights();
        let waits = !self.classic.packets.is_empty();
        if !self.low.is_empty() && (!waits || self.credit <= 0) {
            let head = self.low.pop_front()?;
            self.low_bytes -= u64::from(head.queued.bytes);
            return Some((head, true, if waits { classic } else { 0 }));
        }
        let queued = self.classic.pop()?;
        let change = if self.low.is_empty() { 0 } else { -low };
        Some((Low { queued, steps: false }, false, change))
    }

    /// `dualpi2_qdisc_dequeue`.
    fn serve(&mut self, now: Time, verdicts: &mut Verdicts) -> Option<Queued> {
        self.update(now);
        loop {
            let Some((Low { mut queued, steps }, low, change)) = self.next() else {
                self.credit = self.first_credit();
                return None;
            };
            let left_bytes = self.classic.bytes + self.low_bytes;
            if !self.spec.drop_enqueue && !self.judge(&mut queued, low, left_bytes, verdicts) {
                continue;
            }
            // `do_step_aqm`; RFC 9332 A.1: laqm.
            if steps && now.since(queued.arrived) > self.spec.step_threshold {
                verdicts.mark(&mut queued);
            }
            self.credit = self.credit.wrapping_add(change.wrapping_mul(queued.bytes as i32));
            return Some(queued);
        }
    }
}

impl Discipline for Dualpi2 {
    /// `dualpi2_enqueue_skb`. One limit holds for both queues.
    fn enqueue(&mut self, now: Time, arrival: Arrival<'_>, verdicts: &mut Verdicts) {
        let Arrival { mut queued, beside, .. } = arrival;
        self.update(now);
        let packets = self.length().0 + usize::from(beside.is_some());
        if packets as u64 >= self.spec.limit_packets {
            return verdicts.overflow(&queued);
        }
        let low = self.is_low(&queued);
        let beside_bytes = beside.map_or(0, |one| u64::from(one.bytes));
        let bytes = self.classic.bytes + self.low_bytes + beside_bytes;
        if self.spec.drop_enqueue && !self.judge(&mut queued, low, bytes, verdicts) {
            return;
        }
        if low {
            let steps = self.low.len() as u64 >= u64::from(self.spec.min_qlen_step);
            self.low_bytes += u64::from(queued.bytes);
            self.low.push_back(Low { queued, steps });
        } else {
            self.classic.push(queued);
        }
    }

    fn dequeue(&mut self, now: Time, verdicts: &mut Verdicts) -> Head {
        self.serve(now, verdicts).into()
    }

    fn left(&mut self, now: Time, _: &Queued) {
        self.update(now);
    }

    fn length(&self) -> (usize, u64) {
        (self.classic.packets.len() + self.low.len(), self.classic.bytes + self.low_bytes)
    }

    fn inside(&self, _: Time) -> Inside {
        let probability = f64::from(self.controller.probability) / f64::from(CERTAIN);
        Inside { probability: Some(probability), ..Inside::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_packets::{capable, context, queued};
    use super::*;

    fn spec() -> queue::Dualpi2 {
        queue::Dualpi2 {
            limit_packets: 10_000,
            target: Span::from_ms(15),
            tupdate: Span::from_ms(16),
            alpha: 41,
            beta: 819,
            step_threshold: Span::from_ms(1),
            min_qlen_step: 0,
            coupling_factor: 2,
            classic_protection_percent: 10,
            drop_on_overload: true,
            drop_enqueue: false,
            any_ect: false,
        }
    }

    fn scalable(queued: Queued) -> Queued {
        let packet = crate::arena::Handle { tos: ECT_1, ..queued.packet };
        Queued { packet, ..queued }
    }

    fn at_ms(ms: u64) -> Time {
        Time::from_ns(ms * 1_000_000)
    }

    /// RFC 9332 A.1: p ← p + α (delay − target) + β (delay − delay before), with Linux's rounded weights.
    #[test]
    fn the_probability_moves_as_the_equation_says() {
        assert_eq!((weight(41), weight(819)), (44, 879));
        let mut controller = Controller::new(&spec());
        let delays = [0, 5, 15, 20, 40, 40, 25, 15, 10, 0, 0];
        let expected = [
            0,
            61_796_875,
            199_140_625,
            271_250_000,
            563_125_000,
            580_312_500,
            381_171_875,
            243_828_125,
            171_718_750,
            24_062_500,
            13_750_000,
        ];
        let mut before_ms = 0.0;
        for (delay_ms, found) in delays.into_iter().zip(expected) {
            let old = f64::from(controller.probability) / f64::from(CERTAIN);
            controller.update(Span::from_ms(delay_ms));
            assert_eq!(controller.probability, found);
            let delay = delay_ms as f64;
            let step = 41.0 / 256.0 * (delay - 15.0) + 819.0 / 256.0 * (delay - before_ms);
            before_ms = delay;
            let law = (old + step / 1000.0).max(0.0);
            assert!((f64::from(found) / f64::from(CERTAIN) - law).abs() < 1e-3, "{law}");
        }
    }

    #[test]
    fn a_step_of_more_than_32_bits_wraps_as_in_linux() {
        let at = |probability, delay_before_ms: i64| Controller {
            probability,
            delay_ns: delay_before_ms * 1_000_000,
            ..Controller::new(&spec())
        };
        for (mut one, delay_ms, found) in [
            (at(0, 0), 320, 309_720_204),
            (at(4_000_000_000, 1000), 0, 3_140_214_388),
            (at(1000, 6300), 6300, 25_971_204),
        ] {
            one.update(Span::from_ms(delay_ms));
            assert_eq!(one.probability, found);
        }
        let overflows = queue::Dualpi2 { drop_on_overload: false, ..spec() };
        let mut one = Controller { probability: 2_147_000_000, ..Controller::new(&overflows) };
        one.delay_ns = 30_000_000;
        one.update(Span::from_ms(40));
        assert_eq!(one.probability, CERTAIN / 2);
    }

    /// With both queues full, a tenth of the bytes is C's (`classic_protection`).
    #[test]
    fn the_classic_queue_keeps_its_share() {
        for (percent, of_ten) in [(10, 1), (50, 5), (0, 0)] {
            let spec = queue::Dualpi2 { classic_protection_percent: percent, ..spec() };
            let mut dual = Dualpi2::new(&spec, &context());
            let mut verdicts = Verdicts::default();
            for number in 0..2000 {
                let one = queued(number % 2, number, 1514, Time::ZERO);
                let one = if number % 2 == 0 { scalable(one) } else { one };
                dual.enqueue(Time::ZERO, one.into(), &mut verdicts);
            }
            let mut classic = 0;
            for _ in 0..1000 {
                let Head::Ready(one) = dual.dequeue(Time::ZERO, &mut verdicts) else { break };
                classic += one.packet.flow;
            }
            assert_eq!(classic, 100 * of_ten, "{percent} %");
        }
    }

    #[test]
    fn each_codepoint_has_its_queue() {
        let at = queued(0, 0, 1000, Time::ZERO);
        let ce = Queued { packet: crate::arena::Handle { tos: CE, ..at.packet }, ..at };
        let cases = [at, capable(at), scalable(at), ce];
        for (any_ect, expected) in
            [(false, [false, false, true, true]), (true, [false, true, true, true])]
        {
            let dual = Dualpi2::new(&queue::Dualpi2 { any_ect, ..spec() }, &context());
            assert_eq!(cases.map(|one| dual.is_low(&one)), expected);
        }
    }

    /// The step marks what waited longer than a millisecond, and nothing that cannot be marked is dropped.
    #[test]
    fn the_step_marks_by_sojourn_time() {
        let mut dual = Dualpi2::new(&spec(), &context());
        let mut verdicts = Verdicts::default();
        let just = Time::from_ns(1_000_000);
        for (number, after, marks) in
            [(0, just, 0), (1, Time::from_ns(1_000_001), 1), (2, at_ms(2), 2)]
        {
            let one = scalable(queued(0, number, 1000, Time::ZERO));
            dual.enqueue(Time::ZERO, one.into(), &mut verdicts);
            assert!(matches!(dual.dequeue(after, &mut verdicts), Head::Ready(_)));
            assert_eq!(verdicts.marked, marks);
        }
        assert!(verdicts.dropped.is_empty());
    }

    /// RFC 9332 §2.4: with p, C is signalled with p² and L with k p; above 1/k L is marked always, and
    /// both are dropped with p².
    #[test]
    fn signals_are_coupled() {
        let share = |probability: f64, low: bool| {
            let spec = queue::Dualpi2 { step_threshold: Span::from_ms(1000), ..spec() };
            let mut dual = Dualpi2::new(&spec, &context());
            dual.controller.probability = (probability * f64::from(CERTAIN)) as u32;
            let mut counts = [0.0; 3];
            for number in 0..20_000 {
                let one = queued(0, number, 1514, Time::ZERO);
                let one = if low { scalable(one) } else { one };
                counts[dual.verdict(&one, low, 10_000) as usize] += 1.0 / 20_000.0;
            }
            counts
        };
        let near = |found: [f64; 3], law: [f64; 3]| {
            let close = found.iter().zip(law).all(|(one, law)| (one - law).abs() < 0.012);
            assert!(close, "{found:?} {law:?}");
        };
        near(share(0.3, false), [0.91, 0.0, 0.09]);
        near(share(0.3, true), [0.4, 0.6, 0.0]);
        near(share(0.6, false), [0.64, 0.0, 0.36]);
        near(share(0.6, true), [0.0, 0.64, 0.36]);
    }
}
