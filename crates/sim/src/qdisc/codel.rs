//! CoDel (RFC 8289; Nichols and Jacobson, ACM Queue 10(5), 2012) as in Linux. Times have units of
//! 1024 ns. The square root is approximated by one Newton step per drop. A new dropping episode continues
//! with the number of drops of the last episode (RFC 8289 §5.4: with two less).

use super::{Arrival, CodelInside, Context, Discipline, Head, Inside, Line, Queued, Verdicts};
use dumbbell_model::queue;
use dumbbell_model::{Span, Time};

/// Shift from ns to ticks (`CODEL_SHIFT`).
const SHIFT: u32 = 10;
/// Intervals after which the last episode's drop rate is no longer reused (RFC 8289 §4.3).
const YOUNG_INTERVALS: u32 = 16;

/// Time in units of 1024 ns, modulo 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tick(u32);

impl Tick {
    fn of(time: Time) -> Self {
        Self((time.as_ns() >> SHIFT) as u32)
    }

    fn is_after(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) > 0
    }

    fn plus(self, ticks: u32) -> Self {
        Self(self.0.wrapping_add(ticks))
    }
}

/// Parameters (RFC 8289 §4.2), in ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    target: u32,
    interval: u32,
    ecn: bool,
    /// Sojourn time above which ECN-capable packets are marked; `None`: off.
    ce_threshold: Option<u32>,
    /// True if only ECT(1) is marked above it.
    ect_1: bool,
    /// Maximum backlog at which CoDel does not drop: a full frame (`psched_mtu`; RFC 8289 §4.2, MTU).
    frame_bytes: u32,
}

impl Parameters {
    pub(super) fn new(spec: &queue::Codel, context: &Context<'_>) -> Self {
        let ticks = |span: Span| (span.as_ns() >> SHIFT) as u32;
        Self {
            target: ticks(spec.target),
            interval: ticks(spec.interval),
            ecn: spec.ecn,
            ce_threshold: (spec.ce_threshold > Span::ZERO).then(|| ticks(spec.ce_threshold)),
            ect_1: false,
            frame_bytes: context.frame_bytes,
        }
    }

    /// Returns the parameters with a threshold for ECT(1) alone (`ce_threshold_selector`).
    pub(super) fn for_ect_1(self, ect_1: bool) -> Self {
        Self { ect_1, ..self }
    }
}

/// CoDel on one queue.
#[derive(Debug)]
pub(super) struct Codel {
    queue: Line,
    limit: usize,
    parameters: Parameters,
    state: State,
}

impl Codel {
    pub(super) fn new(spec: &queue::Codel, context: &Context<'_>) -> Self {
        Self {
            queue: Line::default(),
            limit: spec.limit_packets as usize,
            parameters: Parameters::new(spec, context),
            state: State::default(),
        }
    }

    fn serve(&mut self, now: Time, verdicts: &mut Verdicts) -> Option<Queued> {
        let queue = &mut self.queue;
        let take = || queue.pop().map(|queued| (queued, queue.bytes));
        self.state.dequeue(&self.parameters, now, take, verdicts)
    }
}

impl Discipline for Codel {
    fn enqueue(&mut self, _: Time, arrival: Arrival<'_>, verdicts: &mut Verdicts) {
        let Arrival { queued, beside, .. } = arrival;
        let beside = usize::from(beside.is_some());
        if self.queue.packets.len() + beside >= self.limit {
            return verdicts.overflow(&queued);
        }
        self.queue.push(queued);
    }

    fn dequeue(&mut self, now: Time, verdicts: &mut Verdicts) -> Head {
        self.serve(now, verdicts).into()
    }

    fn length(&self) -> (usize, u64) {
        self.queue.length()
    }

    fn inside(&self, now: Time) -> Inside {
        let tick = Tick::of(now);
        let until = self.state.drop_next.0.wrapping_sub(tick.0) as i32;
        let at_ns = now.as_ns().saturating_add_signed(i64::from(until) << SHIFT);
        let drop_next = self.state.dropping.then_some(Time::from_ns(at_ns));
        let codel = CodelInside { count: self.state.count, drop_next };
        Inside { codel: Some(codel), ..Inside::default() }
    }
}

/// State of CoDel (RFC 8289 §5.1).
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// Time at which the sojourn time has been above target for an interval; `None`: it is below.
    first_above: Option<Tick>,
    dropping: bool,
    drop_next: Tick,
    count: u32,
    last_count: u32,
    /// 1/√count in 16 bits after the point.
    inverse_root: u16,
}

impl State {
    /// Counts drops that the caller made as signals.
    pub(super) fn count_more(&mut self, drops: u32) {
        self.count = self.count.wrapping_add(drops);
    }

    /// RFC 8289 §5.5 `dequeue`; `codel_dequeue`. `take` removes the head of the queue and returns it
    /// with the remaining bytes.
    pub(super) fn dequeue(
        &mut self,
        parameters: &Parameters,
        now: Time,
        take: impl FnMut() -> Option<(Queued, u64)>,
        verdicts: &mut Verdicts,
    ) -> Option<Queued> {
        let mut head = self.controlled(parameters, now, take, verdicts)?;
        if let Some(threshold) = parameters.ce_threshold {
            let sojourn = Tick(Tick::of(now).0.wrapping_sub(Tick::of(head.arrived).0));
            let chosen = !parameters.ect_1 || head.packet.tos & 3 == 1;
            if chosen && sojourn.is_after(Tick(threshold)) {
                verdicts.mark(&mut head);
            }
        }
        Some(head)
    }

    /// The next packet by the control law.
    fn controlled(
        &mut self,
        parameters: &Parameters,
        now: Time,
        mut take: impl FnMut() -> Option<(Queued, u64)>,
        verdicts: &mut Verdicts,
    ) -> Option<Queued> {
        let tick = Tick::of(now);
        let (mut head, mut above) = self.judge(take(), parameters, tick);
        if head.is_none() {
            self.dropping = false;
            return None;
        }
        if self.dropping {
            self.dropping = above;
            while self.dropping && !self.drop_next.is_after(tick) {
                self.count = self.count.wrapping_add(1);
                self.newton_step();
                if signalled(parameters, &mut head, verdicts) {
                    self.drop_next = self.control_law(self.drop_next, parameters.interval);
                    return head;
                }
                (head, above) = self.judge(take(), parameters, tick);
                self.dropping = above;
                if above {
                    self.drop_next = self.control_law(self.drop_next, parameters.interval);
                }
            }
        } else if above {
            if !signalled(parameters, &mut head, verdicts) {
                (head, _) = self.judge(take(), parameters, tick);
            }
            self.begin_dropping(tick, parameters.interval);
        }
        head
    }

    /// Begins a dropping episode, with the drop rate of the last one if that was recent (RFC 8289 §5.5).
    fn begin_dropping(&mut self, now: Tick, interval: u32) {
        self.dropping = true;
        let delta = self.count.wrapping_sub(self.last_count);
        let since = Tick(now.0.wrapping_sub(self.drop_next.0));
        // Without an episode before it, `drop_next` is 0, which is long ago on a kernel's clock: a batch of
        // drops (`count_more`) is then no reason for a high rate.
        let young =
            self.last_count != 0 && Tick(interval.wrapping_mul(YOUNG_INTERVALS)).is_after(since);
        if delta > 1 && young {
            self.count = delta;
            self.newton_step();
        } else {
            self.count = 1;
            self.inverse_root = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = self.control_law(now, interval);
    }

    /// Removes the head, and returns with it true if it may be dropped (RFC 8289 §5.5 `dodequeue`;
    /// `codel_should_drop`).
    fn judge(
        &mut self,
        taken: Option<(Queued, u64)>,
        parameters: &Parameters,
        now: Tick,
    ) -> (Option<Queued>, bool) {
        let Some((head, left_bytes)) = taken else {
            self.first_above = None;
            return (None, false);
        };
        let sojourn = Tick(now.0.wrapping_sub(Tick::of(head.arrived).0));
        if Tick(parameters.target).is_after(sojourn)
            || left_bytes <= u64::from(parameters.frame_bytes)
        {
            self.first_above = None;
            return (Some(head), false);
        }
        match self.first_above {
            None => {
                self.first_above = Some(now.plus(parameters.interval));
                (Some(head), false)
            }
            Some(since) => (Some(head), now.is_after(since)),
        }
    }

    /// Time of the next drop: an interval over √count later (RFC 8289 §5.2).
    fn control_law(&self, from: Tick, interval: u32) -> Tick {
        let root = u64::from(self.inverse_root) << 16;
        from.plus(((u64::from(interval) * root) >> 32) as u32)
    }

    /// y ← y (3 − count y²) / 2, with y = 1/√count in 32 bits after the point of which 16 are kept
    /// (`codel_Newton_step`).
    fn newton_step(&mut self) {
        let root = u64::from(self.inverse_root) << 16;
        let square = (root * root) >> 32;
        let rest = (3_u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square));
        // This wraps if a batch of drops makes the count jump, as in Linux.
        let next = (rest >> 2).wrapping_mul(root) >> 31;
        self.inverse_root = (next >> 16) as u16;
    }
}

/// Signals congestion by the head. Returns true if it was marked, false if it was dropped.
fn signalled(parameters: &Parameters, head: &mut Option<Queued>, verdicts: &mut Verdicts) -> bool {
    let Some(queued) = head else { return false };
    if parameters.ecn && verdicts.mark(queued) {
        return true;
    }
    verdicts.signal(queued);
    false
}

#[cfg(test)]
mod tests {
    use super::super::test_packets::{capable, context, queued as packet};
    use super::*;

    fn at(us: u64) -> Time {
        Time::from_ns(us * 1000)
    }

    fn codel() -> Codel {
        let (target, interval) = (Span::from_ms(5), Span::from_ms(100));
        let ce_threshold = Span::ZERO;
        let spec = queue::Codel { limit_packets: 1000, target, interval, ecn: true, ce_threshold };
        Codel::new(&spec, &context())
    }

    fn queued(number: u32, arrived: Time) -> Queued {
        packet(0, number, 1514, arrived)
    }

    #[test]
    fn a_queue_below_target_or_of_a_frame_is_left_alone() {
        let mut codel = codel();
        let mut verdicts = Verdicts::default();
        for number in 0..1000 {
            let now = at(u64::from(number) * 1000);
            codel.enqueue(Time::ZERO, queued(number, now).into(), &mut verdicts);
            codel.enqueue(Time::ZERO, queued(number, now).into(), &mut verdicts);
            // 4.9 ms in the queue.
            codel.serve(now + Span::from_us(4900), &mut verdicts);
            codel.serve(now + Span::from_us(4900), &mut verdicts);
        }
        for number in 0..1000 {
            let now = at(2_000_000 + u64::from(number) * 1000);
            codel.enqueue(Time::ZERO, queued(number, now).into(), &mut verdicts);
            codel.serve(now + Span::from_ms(50), &mut verdicts);
        }
        assert!(verdicts.dropped.is_empty());
    }

    /// A standing queue of 20 ms, a packet each ms: the first drop an interval after the sojourn time
    /// rose above target, the following an interval over √n after each other (RFC 8289 §4.3).
    #[test]
    fn drops_come_by_the_control_law() {
        let mut codel = codel();
        let mut drops_ms = Vec::new();
        for number in 0..20 {
            codel.enqueue(
                Time::ZERO,
                queued(number, at(u64::from(number) * 1000)).into(),
                &mut Verdicts::default(),
            );
        }
        for number in 20..700_u64 {
            let mut verdicts = Verdicts::default();
            codel.enqueue(
                Time::ZERO,
                queued(number as u32, at(number * 1000)).into(),
                &mut verdicts,
            );
            assert!(codel.serve(at(number * 1000), &mut verdicts).is_some());
            for _ in verdicts.dropped {
                drops_ms.push(number as f64);
                // The queue keeps its length.
                let again = queued(number as u32, at(number * 1000));
                codel.enqueue(Time::ZERO, again.into(), &mut Verdicts::default());
            }
        }
        // The first packet after that time is dropped.
        let (mut next_ms, mut root) = (120.0, 1.0_f64);
        assert!(drops_ms.len() > 12, "{drops_ms:?}");
        for (number, drop_ms) in drops_ms.iter().enumerate() {
            // 16 bits of the root are cut off, ticks too.
            assert!((next_ms - 0.1..next_ms + 1.2).contains(drop_ms), "{drops_ms:?} {next_ms}");
            next_ms = if number == 0 { *drop_ms } else { next_ms } + 100.0 * root;
            let count = (number + 2) as f64;
            root *= (3.0 - count * root * root) / 2.0;
        }
        // Within a few drops the rate is that of the law.
        assert!((root - 1.0 / (drops_ms.len() as f64 + 1.0).sqrt()).abs() < 0.01);
    }

    /// RFC 8289 §4.2 and §5.5 at their bounds, in ticks of 1024 ns: a sojourn time of the target is
    /// above it, one tick less is not; the first drop comes after the interval, not with its end.
    #[test]
    fn bounds_of_target_and_interval_are_exact() {
        let tick = |ticks: u64| Time::from_ns(ticks << SHIFT);
        let parameters = Parameters {
            target: 100,
            interval: 1000,
            ecn: false,
            ce_threshold: None,
            ect_1: false,
            frame_bytes: 1514,
        };
        let judged = |state: &mut State, sojourn: u64, now: u64, left_bytes: u64| {
            let head = queued(0, tick(now - sojourn));
            state.judge(Some((head, left_bytes)), &parameters, Tick::of(tick(now))).1
        };
        for (sojourn, left_bytes, above) in
            [(99, 1515, false), (100, 1515, true), (101, 1515, true), (200, 1514, false)]
        {
            let mut state = State::default();
            assert!(!judged(&mut state, sojourn, 5000, left_bytes));
            assert_eq!(state.first_above.is_some(), above, "{sojourn} {left_bytes}");
        }
        let mut state = State::default();
        judged(&mut state, 200, 5000, 3000);
        for (now, drops) in [(5999, false), (6000, false), (6001, true)] {
            assert_eq!(judged(&mut state, 200, now, 3000), drops, "{now}");
        }
    }

    /// A packet whose ends understand ECN is marked where another would be dropped (RFC 8289 §5.5).
    #[test]
    fn marks_come_when_drops_would() {
        let mut when = [Vec::new(), Vec::new()];
        for (kind, when) in when.iter_mut().enumerate() {
            let mut codel = codel();
            for number in 0..20 {
                codel.enqueue(
                    Time::ZERO,
                    queued(number, at(u64::from(number) * 1000)).into(),
                    &mut Verdicts::default(),
                );
            }
            for number in 20..700_u64 {
                let mut verdicts = Verdicts::default();
                let one = queued(number as u32, at(number * 1000));
                let one = if kind == 0 { one } else { capable(one) };
                codel.enqueue(Time::ZERO, one.into(), &mut verdicts);
                let left = codel.serve(at(number * 1000), &mut verdicts);
                let marked = left.is_some_and(|left| left.packet.tos & 3 == 3);
                assert_eq!(verdicts.marked, u64::from(marked));
                if marked || !verdicts.dropped.is_empty() {
                    when.push(number);
                }
                for _ in verdicts.dropped {
                    codel.enqueue(Time::ZERO, one.into(), &mut Verdicts::default());
                }
            }
        }
        assert!(when[0].len() > 5);
        assert_eq!(when[0], when[1]);
    }

    /// A step: above the threshold every ECN-capable packet is marked, below none, without `ecn`.
    #[test]
    fn a_threshold_marks_whatever_waits_longer() {
        let (target, interval) = (Span::from_ms(500), Span::from_ms(1000));
        let ce_threshold = Span::from_ms(1);
        let spec = queue::Codel { limit_packets: 1000, target, interval, ecn: false, ce_threshold };
        let mut codel = Codel::new(&spec, &context());
        for (waited_us, marks) in [(500, 0), (1000, 0), (1030, 1), (5000, 1)] {
            for (one, marks) in [(queued(0, at(0)), 0), (capable(queued(1, at(0))), marks)] {
                let mut verdicts = Verdicts::default();
                codel.enqueue(Time::ZERO, one.into(), &mut verdicts);
                assert!(codel.serve(at(waited_us), &mut verdicts).is_some());
                assert_eq!(verdicts.marked, marks, "{waited_us}");
            }
        }
    }

    #[test]
    fn the_inverse_root_follows_the_count() {
        let mut state = State { inverse_root: u16::MAX, ..State::default() };
        for count in 2..1000 {
            state.count = count;
            state.newton_step();
            let root = f64::from(state.inverse_root) / 65536.0;
            let exact = 1.0 / f64::from(count).sqrt();
            // One step from 1 to 1/√2 comes as far as 1/2.
            let bound = if count < 4 { 0.3 } else { 0.03 };
            assert!((root - exact).abs() <= bound * exact, "{count}: {root} {exact}");
        }
    }
}
