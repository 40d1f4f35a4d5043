//! PIE (RFC 8033) as in Linux. The delay is that of the last packet that left. Times have units of 64 ns,
//! probabilities 56 bits. De-randomisation (RFC 8033 §5.4) bounds the distance between random drops.

use super::{Arrival, Context, Discipline, Head, Inside, Line, Queued, Verdicts};
use dumbbell_model::rng::Rng;
use dumbbell_model::{queue, Span, Time};

/// A probability of 1 (`MAX_PROB`).
const CERTAIN: u64 = u64::MAX >> 8;
/// Ticks of 64 ns (`PSCHED_SHIFT`) in a second.
const TICKS_PER_S: u64 = 15_625_000;
/// Maximum burst without drops (RFC 8033 §4.4).
const BURST_ALLOWANCE: Span = Span::from_ms(150);
/// Delay above which the probability rises by a further 2 % (RFC 8033 §5.3).
const HIGH_DELAY: Span = Span::from_ms(250);

fn ticks(span: Span) -> u64 {
    span.as_ns() >> 6
}

/// State of one queue (`struct pie_vars`).
#[derive(Clone, Debug)]
pub(super) struct Vars {
    delay: u64,
    delay_before: u64,
    /// Rest of the burst allowance.
    burst: u64,
    left_at: Option<u64>,
    probability: u64,
    accumulated: u64,
}

impl Default for Vars {
    fn default() -> Self {
        Self {
            delay: 0,
            delay_before: 0,
            burst: ticks(BURST_ALLOWANCE),
            left_at: None,
            probability: 0,
            accumulated: 0,
        }
    }
}

impl Vars {
    pub(super) fn probability(&self) -> f64 {
        self.probability as f64 / CERTAIN as f64
    }

    pub(super) fn is_at_most_percent(&self, percent: u32) -> bool {
        self.probability <= CERTAIN / 100 * u64::from(percent)
    }

    /// Notes a drop.
    pub(super) fn dropped(&mut self) {
        self.accumulated = 0;
    }

    /// RFC 8033 §4.1, §5.1 and §5.4: `drop_early`; `pie_drop_early`. `frame_bytes` is a full frame
    /// (`psched_mtu`).
    pub(super) fn drops_early(
        &mut self,
        spec: &queue::Pie,
        frame_bytes: u32,
        backlog_bytes: u64,
        packet_bytes: u32,
        rng: &mut Rng,
    ) -> bool {
        if self.burst > 0
            || self.delay < ticks(spec.target) / 2 && self.probability < CERTAIN / 5
            || backlog_bytes < 2 * u64::from(frame_bytes)
        {
            return false;
        }
        let mut probability = self.probability;
        if spec.bytemode && packet_bytes <= frame_bytes {
            probability = u64::from(packet_bytes) * (probability / u64::from(frame_bytes));
        }
        self.accumulated = match probability {
            0 => 0,
            _ => self.accumulated.wrapping_add(probability),
        };
        if self.accumulated < CERTAIN / 100 * 85 {
            return false;
        }
        if self.accumulated >= CERTAIN / 2 * 17 {
            return true;
        }
        if rng.next_u64() >> 8 < probability {
            self.accumulated = 0;
            return true;
        }
        false
    }

    /// Measures the delay of a leaving packet that arrived at `arrived` (`pie_process_dequeue`; RFC 8033
    /// §5.2, with timestamps).
    pub(super) fn left(&mut self, now: Time, arrived: Time, backlog_bytes: u64) {
        let now_ticks = now.as_ns() >> 6;
        self.delay = if backlog_bytes > 0 { now_ticks - (arrived.as_ns() >> 6) } else { 0 };
        let since = self.left_at.map_or(0, |at| now_ticks - at);
        self.left_at = Some(now_ticks);
        self.burst = self.burst.saturating_sub(since);
    }

    /// RFC 8033 §4.2 and §5.3; `pie_calculate_probability`.
    pub(super) fn update(&mut self, spec: &queue::Pie, backlog_bytes: u64) {
        let (delay, before) = (self.delay, self.delay_before);
        let updates = delay > 0 || backlog_bytes == 0;
        let mut alpha = (u64::from(spec.alpha) * (CERTAIN / TICKS_PER_S)) >> 4;
        let mut beta = (u64::from(spec.beta) * (CERTAIN / TICKS_PER_S)) >> 4;
        // §5.1: the lower the probability, the smaller the steps.
        if self.probability < CERTAIN / 10 {
            alpha >>= 1;
            beta >>= 1;
            let mut power = 100;
            while self.probability < CERTAIN / power && power <= 1_000_000 {
                alpha >>= 2;
                beta >>= 2;
                power *= 10;
            }
        }
        let error = delay as i64 - ticks(spec.target) as i64;
        let change = delay as i64 - before as i64;
        let mut delta =
            (alpha as i64).wrapping_mul(error).wrapping_add((beta as i64).wrapping_mul(change));
        if delta > (CERTAIN / 50) as i64 && self.probability >= CERTAIN / 10 {
            delta = (CERTAIN / 100 * 2) as i64;
        }
        if delay > ticks(HIGH_DELAY) {
            delta += (CERTAIN / 50) as i64;
        }
        let old = self.probability;
        self.probability = old.wrapping_add_signed(delta);
        let mut updates = updates;
        if delta > 0 {
            if self.probability < old {
                self.probability = CERTAIN;
                updates = false;
            }
        } else if self.probability > old {
            self.probability = 0;
        }
        // §5.3: no delay for two periods.
        if delay == 0 && before == 0 && updates {
            self.probability -= self.probability / 64;
        }
        let low = ticks(spec.target) / 2;
        if delay < low && before < low && self.probability == 0 {
            // §4.4: the next burst is a new one (`pie_vars_init`).
            self.burst = ticks(BURST_ALLOWANCE);
            self.left_at = None;
            self.accumulated = 0;
        }
        self.delay_before = delay;
    }
}

/// Times of probability updates (Linux's timer). Due updates are made at the next packet, since a queue
/// does not change between packets.
#[derive(Debug)]
pub(super) struct Updates {
    every: Span,
    next: Time,
}

impl Updates {
    pub(super) fn new(since: Time, every: Span) -> Self {
        Self { every, next: since + every }
    }

    /// Takes one due update, and returns its time.
    pub(super) fn due(&mut self, now: Time) -> Option<Time> {
        let at = self.next;
        (at <= now).then(|| {
            self.next += self.every;
            at
        })
    }
}

/// PIE on one queue.
#[derive(Debug)]
pub(super) struct Pie {
    spec: queue::Pie,
    frame_bytes: u32,
    queue: Line,
    vars: Vars,
    updates: Updates,
    rng: Rng,
}

impl Pie {
    pub(super) fn new(spec: &queue::Pie, context: &Context<'_>) -> Self {
        Self {
            spec: *spec,
            frame_bytes: context.frame_bytes,
            queue: Line::default(),
            vars: Vars::default(),
            updates: Updates::new(context.since, spec.tupdate),
            rng: context.rng(),
        }
    }

    /// Makes the updates due by now. `beside`: packet taken out by a peek; it counts as waiting, though
    /// its delay was measured when it was taken out.
    fn update(&mut self, now: Time, beside: Option<&Queued>) {
        while self.updates.due(now).is_some() {
            let bytes = self.queue.bytes + beside.map_or(0, |one| u64::from(one.bytes));
            self.vars.update(&self.spec, bytes);
        }
    }

    /// `pie_qdisc_dequeue`.
    fn serve(&mut self, now: Time) -> Option<Queued> {
        self.update(now, None);
        let queued = self.queue.pop()?;
        self.vars.left(now, queued.arrived, self.queue.bytes);
        Some(queued)
    }
}

impl Discipline for Pie {
    /// `pie_qdisc_enqueue`.
    fn enqueue(&mut self, now: Time, arrival: Arrival<'_>, verdicts: &mut Verdicts) {
        let Arrival { mut queued, beside, .. } = arrival;
        self.update(now, beside);
        let packets = self.queue.packets.len() + usize::from(beside.is_some());
        if packets as u64 >= self.spec.limit_packets {
            self.vars.dropped();
            return verdicts.overflow(&queued);
        }
        let bytes = self.queue.bytes + beside.map_or(0, |one| u64::from(one.bytes));
        if self.vars.drops_early(&self.spec, self.frame_bytes, bytes, queued.bytes, &mut self.rng) {
            // RFC 8033 §5.1: above a tenth, ECN-capable packets are dropped too.
            let marks = self.spec.ecn && self.vars.is_at_most_percent(10);
            if !(marks && verdicts.mark(&mut queued)) {
                self.vars.dropped();
                return verdicts.signal(&queued);
            }
        }
        self.queue.push(queued);
    }

    fn dequeue(&mut self, now: Time, _: &mut Verdicts) -> Head {
        self.serve(now).into()
    }

    fn left(&mut self, now: Time, queued: &Queued) {
        self.update(now, Some(queued));
    }

    fn length(&self) -> (usize, u64) {
        self.queue.length()
    }

    fn inside(&self, _: Time) -> Inside {
        Inside { probability: Some(self.vars.probability()), ..Inside::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_packets::{context, queued};
    use super::super::{Any, Qdisc, Sight};
    use super::*;

    fn spec() -> queue::Pie {
        queue::Pie {
            limit_packets: 1000,
            target: Span::from_ms(15),
            tupdate: Span::from_ms(15),
            alpha: 2,
            beta: 20,
            ecn: false,
            bytemode: false,
        }
    }

    fn vars(delay_ms: u64, before_ms: u64, probability: f64) -> Vars {
        Vars {
            delay: ticks(Span::from_ms(delay_ms)),
            delay_before: ticks(Span::from_ms(before_ms)),
            burst: 0,
            probability: (probability * CERTAIN as f64) as u64,
            ..Vars::default()
        }
    }

    /// RFC 8033 §4.2: p ← p + α (delay − target) + β (delay − delay before), α = 2/16 and β = 20/16 per
    /// second, both scaled down by the table of §5.1.
    #[test]
    fn the_probability_moves_as_the_equation_says() {
        for (probability, scale) in
            [(0.2, 1.0), (0.05, 2.0), (0.005, 8.0), (0.0005, 32.0), (0.000_05, 128.0)]
        {
            let mut vars = vars(40, 30, probability);
            vars.update(&spec(), 100_000);
            let step = (0.125 * 0.025 + 1.25 * 0.010) / scale;
            let expected = probability + step;
            let found = vars.probability();
            assert!((found - expected).abs() < 1e-6 * expected, "{probability}: {found}");
        }
    }

    /// RFC 8033 §5.3 and §4.1 at their bounds.
    #[test]
    fn bounds_are_exact() {
        // A long delay adds 2 %, from a tick above 250 ms on.
        for (more, step) in [(0, 0.0), (1, 0.02)] {
            let mut vars = vars(250, 250, 0.2);
            vars.delay += more;
            vars.delay_before = vars.delay;
            let alpha = 0.125 * 0.235;
            vars.update(&spec(), 100_000);
            let found = vars.probability() - 0.2;
            // A step of more than 2 % is cut to 2 %.
            assert!((found - (0.02_f64.min(alpha) + step)).abs() < 1e-6, "{more}: {found}");
        }
        // Half of the target, and two frames.
        let rng = &mut Rng::named(1, "pie");
        let half = ticks(Span::from_ms(15)) / 2;
        for (delay, backlog_bytes, drops) in
            [(half - 1, 9000, false), (half, 9000, true), (half, 3027, false), (half, 3028, true)]
        {
            let mut vars = vars(0, 0, 0.19);
            vars.delay = delay;
            vars.accumulated = CERTAIN / 2 * 17;
            assert_eq!(vars.drops_early(&spec(), 1514, backlog_bytes, 1514, rng), drops);
        }
    }

    #[test]
    fn a_burst_of_150_ms_passes_and_a_standing_queue_comes_to_the_target() {
        let mut pie = Pie::new(&spec(), &context());
        let mut verdicts = Verdicts::default();
        let mut arrivals = 0_u32;
        let (mut waited_ms, mut first_drop_ms) = (0.0, None);
        // 10 % more arrives than leaves: one packet a millisecond.
        for ms in 0..60_000_u64 {
            let now = Time::from_ns(ms * 1_000_000);
            for _ in 0..1 + u32::from(ms % 10 == 0) {
                pie.enqueue(now, queued(0, arrivals, 1000, now).into(), &mut verdicts);
                arrivals += 1;
            }
            if first_drop_ms.is_none() && !verdicts.dropped.is_empty() {
                first_drop_ms = Some(ms);
            }
            if let Some(left) = pie.serve(now) {
                if ms >= 30_000 {
                    waited_ms += now.since(left.arrived).as_ns() as f64 / 1e6 / 30_000.0;
                }
            }
        }
        assert!(first_drop_ms.is_some_and(|ms| ms > 150), "{first_drop_ms:?}");
        assert!((waited_ms - 15.0).abs() < 3.0, "{waited_ms}");
    }

    /// Below a shaper it is asked for its head first, and that takes the packet out: its delay ends
    /// there (`qdisc_peek_dequeued`).
    #[test]
    fn what_is_looked_at_has_waited_until_then() {
        let mut verdicts = Verdicts::default();
        let pie = Any::Pie(Box::new(Pie::new(&spec(), &context())));
        let mut qdisc = Qdisc { discipline: pie, peeked: None };
        let at = |ms: u64| Time::from_ns(ms * 1_000_000);
        for number in 0..2 {
            qdisc.enqueue(at(0), queued(0, number, 1514, at(0)), &Sight::NONE, &mut verdicts);
        }
        assert!(matches!(qdisc.peek(at(20), &mut verdicts), Head::Ready(_)));
        assert_eq!(qdisc.length(), (2, 3028));
        assert!(qdisc.take(at(40), &mut verdicts).is_some());
        let Any::Pie(pie) = &qdisc.discipline else { unreachable!("it is PIE") };
        assert_eq!(pie.vars.delay, ticks(Span::from_ms(20)));
    }
}
