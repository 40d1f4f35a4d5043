//! COBALT (`cobalt_…`): CoDel for flows that slow down, and BLUE (Feng et al. 2002) for those that do not.
//! Its CoDel has one time, `drop_next`, for the first signal and for the next ones, and lets the count
//! decay while no signal is needed.

use dumbbell_model::rng::Rng;

/// Steps of BLUE's probability, in 2^-32 (`p_inc`, `p_dec`).
const UP: u32 = 1 << 24;
const DOWN: u32 = 1 << 20;
/// Counts with an exact inverse root (`REC_INV_SQRT_CACHE`).
const EXACT: usize = 16;

/// Parameters of a tin's COBALT, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parameters {
    pub(super) target: i64,
    pub(super) interval: i64,
    /// Time of a full frame at the tin's rate.
    pub(super) frame: i64,
}

/// State of a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    /// Signals whose rate has not decayed yet.
    pub(super) count: u32,
    /// 2^32 / √count; 0 until the count has changed, as in Linux.
    inverse_root: u32,
    /// Time of the next signal, ns; when the state was last in use.
    pub(super) drop_next: i64,
    /// BLUE's last step, ns; `None`: none yet. Linux has 0 here, which the clock of a machine has
    /// left behind.
    stepped: Option<i64>,
    /// BLUE's probability, in 2^-32.
    pub(super) probability: u32,
    dropping: bool,
}

/// Decision of COBALT about a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) marked: bool,
    pub(super) drops: bool,
}

/// One step of Newton's method towards 2^32 / √count (`cobalt_newton_step`).
const fn newton(inverse: u32, count: u32) -> u32 {
    let square = (inverse as u64 * inverse as u64) >> 32;
    let rest = (3_u64 << 32).wrapping_sub(count as u64 * square);
    (((rest >> 2).wrapping_mul(inverse as u64)) >> 31) as u32
}

/// 2^32 / √count of small counts (`inv_sqrt_cache`): eight steps each from the one before. Linux 6.1 takes four,
/// which leave 0.06 % at 2.
const ROOTS: [u32; EXACT] = {
    let mut roots = [u32::MAX; EXACT];
    let mut count = 1;
    while count < EXACT {
        let mut found = roots[count - 1];
        let mut steps = 0;
        while steps < 8 {
            found = newton(found, count as u32);
            steps += 1;
        }
        roots[count] = found;
        count += 1;
    }
    roots
};

impl State {
    /// `cobalt_invsqrt`.
    fn set_count(&mut self, count: u32) {
        self.count = count;
        self.inverse_root = match ROOTS.get(count as usize) {
            Some(root) => *root,
            None => newton(self.inverse_root, count),
        };
    }

    /// Sets the next signal an interval / √count after a time (`cobalt_control`).
    fn schedule(&mut self, after: i64, parameters: &Parameters) {
        let interval = u64::from(parameters.interval as u32);
        self.drop_next = after + ((interval * u64::from(self.inverse_root)) >> 32) as i64;
    }

    /// Returns true while the state must be kept though the queue is empty.
    pub(super) fn decays(&self, now: i64) -> bool {
        self.probability > 0 || self.count > 0 || now < self.drop_next
    }

    /// Returns true if BLUE's last step is more than a target ago (`blue_timer`).
    fn may_step(&self, parameters: &Parameters, now: i64) -> bool {
        self.stepped.is_none_or(|stepped| now - stepped > parameters.target)
    }

    /// Notes that a packet was dropped because the memory is full (`cobalt_queue_full`).
    pub(super) fn full(&mut self, parameters: &Parameters, now: i64) {
        if self.may_step(parameters, now) {
            self.probability = self.probability.saturating_add(UP);
            self.stepped = Some(now);
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// Notes that the queue was served, but empty (`cobalt_queue_empty`).
    pub(super) fn empty(&mut self, parameters: &Parameters, now: i64) {
        if self.probability > 0 && self.may_step(parameters, now) {
            self.probability = self.probability.saturating_sub(DOWN);
            self.stepped = Some(now);
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.set_count(self.count - 1);
            self.schedule(self.drop_next, parameters);
        }
    }

    /// Decides about a packet that leaves (`cobalt_should_drop`).
    ///
    /// Args: `arrived` and `now` in ns; `marks` sets CE and returns true if it may; `bulk_flows`: flows
    /// that share the tin, where the shaper stands behind the bottleneck.
    pub(super) fn decide(
        &mut self,
        parameters: &Parameters,
        (arrived, now): (i64, i64),
        bulk_flows: i64,
        mut marks: impl FnMut() -> bool,
        rng: &mut Rng,
    ) -> Decision {
        let mut found = Decision::default();
        let waited = now - arrived;
        let mut past = now - self.drop_next;
        let over = waited > parameters.target
            && waited > 2 * bulk_flows * parameters.frame
            && waited > 4 * parameters.frame;
        let mut due = self.count > 0 && past >= 0;
        if over {
            if !self.dropping {
                self.dropping = true;
                self.schedule(now, parameters);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        if due && self.dropping {
            found.marked = marks();
            found.drops = !found.marked;
            self.set_count(self.count.saturating_add(1));
            self.schedule(self.drop_next, parameters);
            past = now - self.drop_next;
        } else {
            while due {
                self.set_count(self.count - 1);
                self.schedule(self.drop_next, parameters);
                past = now - self.drop_next;
                due = self.count > 0 && past >= 0;
            }
        }
        if self.probability > 0 {
            found.drops |= ((rng.next_u64() >> 32) as u32) < self.probability;
        }
        if self.count == 0 {
            self.drop_next = now + parameters.interval;
        } else if past > 0 && !found.drops {
            self.drop_next = now;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const PARAMETERS: Parameters =
        Parameters { target: 5 * MS, interval: 100 * MS, frame: MS / 10 };

    fn rng() -> Rng {
        Rng::named(1, "cobalt")
    }

    /// The law of control: 2^32 / √count. At 16 and above, one step from the neighbour leaves 0.2 % at most.
    #[test]
    fn inverse_roots_are_near() {
        let law = |count: u32| 4_294_967_296.0 / f64::from(count).sqrt();
        for (count, found) in ROOTS.iter().enumerate().skip(1) {
            let error = f64::from(*found) / law(count as u32) - 1.0;
            assert!(error.abs() < 1e-8, "{count}: {error}");
        }
        let mut state = State::default();
        for count in 1..200 {
            state.set_count(count);
            assert!((f64::from(state.inverse_root) / law(count) - 1.0).abs() < 2e-3, "{count}");
        }
    }

    /// Every packet of a train has waited for 20 ms: the second is signalled, since the inverse root of a new
    /// state is 0; the later signals follow at 100 ms / √count for counts of 2, 3, …
    #[test]
    fn signals_come_ever_closer() {
        let mut state = State::default();
        let (mut rng, mut times) = (rng(), Vec::new());
        for now in (0..1000).map(|ms| ms * MS) {
            let decided = state.decide(&PARAMETERS, (now - 20 * MS, now), 0, || false, &mut rng);
            if decided.drops {
                times.push(now / MS);
            }
        }
        let mut at = 0.0;
        let mut expected = vec![1];
        for count in 2.. {
            at += 100.0 / f64::from(count).sqrt();
            if at > 999.0 {
                break;
            }
            expected.push(at.ceil() as i64);
        }
        let near = times.iter().zip(&expected).all(|(found, law)| found.abs_diff(*law) <= 1);
        assert!(near && times.len() == expected.len(), "{times:?} {expected:?}");
    }

    #[test]
    fn what_can_be_marked_is_not_dropped_and_short_waits_are_neither() {
        let mut state = State::default();
        let mut rng = rng();
        let decide = |state: &mut State, waited, now, rng: &mut Rng| {
            state.decide(&PARAMETERS, (now - waited, now), 0, || true, rng)
        };
        assert_eq!(decide(&mut state, 20 * MS, 0, &mut rng), Decision::default());
        let marked = Decision { marked: true, drops: false };
        assert_eq!(decide(&mut state, 20 * MS, MS, &mut rng), marked);
        assert_eq!((state.count, state.dropping), (2, true));
        assert_eq!(decide(&mut state, 5 * MS, 300 * MS, &mut rng), Decision::default());
        assert_eq!((state.count, state.dropping), (0, false));
        // An interval later the state is as new.
        assert!(state.decays(399 * MS) && !state.decays(400 * MS));
        // Four frames may always wait.
        let slow = Parameters { frame: 10 * MS, ..PARAMETERS };
        let mut state = State { count: 1, ..State::default() };
        let decided = state.decide(&slow, (0, 40 * MS), 0, || false, &mut rng);
        assert!(!decided.drops && !state.dropping);
    }

    /// BLUE: a step of 1/256 up per target with a full memory, one of 1/4096 down per target with an empty
    /// queue, and packets dropped with that probability whether they are marked or not.
    #[test]
    fn blue_follows_a_full_memory() {
        // The first step needs no time before it.
        let mut first = State::default();
        first.full(&PARAMETERS, MS);
        assert_eq!(first.probability, UP);
        let mut state = State::default();
        for step in 1..=64 {
            state.full(&PARAMETERS, step * 6 * MS);
            state.full(&PARAMETERS, step * 6 * MS + 5 * MS);
        }
        assert_eq!(state.probability, 64 * UP);
        let mut rng = rng();
        let dropped = (0..20_000).filter(|_| {
            let at = 500 * MS;
            let decided = state.decide(&PARAMETERS, (at, at), 0, || true, &mut rng);
            decided.drops
        });
        let share = dropped.count() as f64 / 20_000.0;
        assert!((share - 0.25).abs() < 0.01, "{share}");
        for step in 0..16 {
            state.empty(&PARAMETERS, (1000 + 6 * step) * MS);
        }
        assert_eq!(state.probability, 63 * UP);
        state.probability = u32::MAX - 5;
        state.full(&PARAMETERS, 9000 * MS);
        assert_eq!(state.probability, u32::MAX);
    }
}
