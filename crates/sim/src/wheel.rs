//! Linux's timer wheel (kernel/time/timer.c since 4.8): timers fire on tick boundaries, never
//! early, and with coarser granularity the further away they are.

use crate::events::Turn;
use dumbbell_model::{Span, Time};

/// Bits of the 64 slots per level. Each level is 8 times coarser than the previous one.
const LEVEL_BITS: u32 = 6;
const LEVEL_SHIFT: u32 = 3;
const LEVELS: u32 = 9;

/// Tick of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tick {
    tick_ps: u64,
    tick_us: u64,
}

impl Tick {
    /// Tick of a kernel with `hz` ticks per second.
    pub(crate) fn new(hz: u32) -> Self {
        Self { tick_ps: 1_000_000_000_000 / u64::from(hz), tick_us: 1_000_000 / u64::from(hz) }
    }

    /// Ticks since the start (`jiffies`).
    pub(crate) fn jiffies(self, now: Time) -> u64 {
        now.as_ps() / self.tick_ps
    }

    /// As [`Self::jiffies`], without a division while the tick of the last call lasts.
    pub(crate) fn follow(self, last: &mut Jiffy, now: Time) {
        if now.as_ps().wrapping_sub(last.began_ps) >= self.tick_ps {
            last.number = self.jiffies(now);
            last.began_ps = last.number * self.tick_ps;
        }
    }

    /// Microseconds in ticks, rounded up (`usecs_to_jiffies`).
    pub(crate) fn us(self, us: u64) -> u64 {
        us.div_ceil(self.tick_us)
    }

    /// Milliseconds in ticks, rounded up.
    pub(crate) fn ms(self, ms: u64) -> u64 {
        self.us(ms * 1000)
    }

    /// Ticks in microseconds.
    pub(crate) fn to_us(self, jiffies: u64) -> u64 {
        jiffies * self.tick_us
    }

    /// Expiry of a timer that is set at `now` for `delay` later.
    pub(crate) fn fires_after(self, now: Time, delay: Span) -> Time {
        let clock = self.jiffies(now);
        self.fires_at(clock, clock + self.us(delay.as_us())).0
    }

    /// Expiry of a timer that is set in tick `clock` for tick `expires`, and its wheel level
    /// (`calc_wheel_index`).
    fn fires_at(self, clock: u64, expires: u64) -> (Time, u32) {
        let delta = expires.saturating_sub(clock);
        let mut level = 0;
        // LVL_START(n) = 63 << ((n - 1) * 3): level n is used from there on.
        while level + 1 < LEVELS && delta >= ((1 << LEVEL_BITS) - 1) << (level * LEVEL_SHIFT) {
            level += 1;
        }
        let expires = expires.max(clock);
        let shift = level * LEVEL_SHIFT;
        let bucket = ((expires >> shift) + 1) << shift;
        (Time::from_ps(bucket.saturating_mul(self.tick_ps)), level)
    }
}

/// The tick that lasts now.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Jiffy {
    began_ps: u64,
    /// Ticks since the start (`jiffies`).
    pub(crate) number: u64,
}

/// A timer on the wheel (`struct timer_list`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    /// Tick for which the timer was set.
    expires: u64,
    /// Expiry; [`Time::NEVER`] if not set.
    pub(crate) fires: Time,
    level: u32,
    /// True if the insertion order within the bucket must be renewed ([`Self::turn`]).
    moved: bool,
    turn: Turn,
}

impl Default for Timer {
    fn default() -> Self {
        let turn = Turn::new(0, 0);
        Self { expires: 0, fires: Time::NEVER, level: 0, moved: false, turn }
    }
}

impl Timer {
    /// Sets the timer in tick `clock` (`mod_timer`). Set to the same tick, it stays in its bucket, even
    /// if that is coarse for a time that is now near. Set to the same bucket, it keeps its insertion
    /// order.
    pub(crate) fn set(&mut self, tick: Tick, clock: u64, expires: u64) {
        if self.expires != expires || !self.is_set() {
            let (fires, level) = tick.fires_at(clock, expires);
            self.moved |= self.fires != fires || self.level != level;
            (self.expires, self.fires, self.level) = (expires, fires, level);
        }
    }

    pub(crate) fn is_set(&self) -> bool {
        self.fires != Time::NEVER
    }

    /// Expiry and insertion order. `set` counts all insertions.
    #[inline(always)]
    pub(crate) fn turn(&mut self, set: &mut u64) -> (Time, Turn) {
        if core::mem::take(&mut self.moved) {
            *set += 1;
            self.turn = Turn::new(self.level, *set);
        }
        (self.fires, self.turn)
    }

    /// Returns true once when the timer fires.
    pub(crate) fn take_due(&mut self, now: Time) -> bool {
        let due = self.fires <= now;
        if due {
            self.fires = Time::NEVER;
        }
        due
    }
}

/// Earliest of several times.
#[inline(always)]
pub(crate) fn earliest<const N: usize>(times: [Time; N]) -> Time {
    times.into_iter().fold(Time::NEVER, Time::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_timers_fire_one_tick_late_and_far_ones_up_to_their_level() {
        let tick = Tick::new(1000);
        let ms = |ms: u64| Time::from_ps(ms * 1_000_000_000);
        assert_eq!(tick.fires_at(100, 140), (ms(141), 0));
        assert_eq!(tick.fires_at(100, 162), (ms(163), 0));
        // 63 ticks away: level 1, granularity 8.
        assert_eq!(tick.fires_at(100, 163), (ms(168), 1));
        assert_eq!(tick.fires_at(100, 300), (ms(304), 1));
        assert_eq!(tick.fires_at(100, 304), (ms(312), 1));
        // 504 ticks away: level 2, granularity 64.
        assert_eq!(tick.fires_at(0, 503), (ms(504), 1));
        assert_eq!(tick.fires_at(0, 504), (ms(512), 2));
    }

    #[test]
    fn of_a_tick_the_coarser_level_fires_first_and_of_a_bucket_the_last_set() {
        let tick = Tick::new(1000);
        let mut set = 0;
        let mut on = |now: u64, expires: u64| {
            let mut timer = Timer::default();
            timer.set(tick, now, expires);
            let turn = timer.turn(&mut set);
            (timer, turn)
        };
        let (_, far) = on(0, 300);
        let (mut first, near) = on(290, 303);
        let (_, last) = on(290, 303);
        assert_eq!(near.0, far.0);
        assert!(far < last && last < near);
        // Within its bucket it keeps its order. Moved away and back, it is first.
        first.set(tick, 291, 303);
        assert_eq!(first.turn(&mut set), near);
        first.set(tick, 291, 305);
        first.set(tick, 291, 303);
        assert!(first.turn(&mut set) < last);
    }

    #[test]
    fn a_timer_reset_to_the_same_tick_keeps_its_coarse_bucket() {
        let tick = Tick::new(1000);
        let ms = |ms: u64| Time::from_ps(ms * 1_000_000_000);
        let mut timer = Timer::default();
        timer.set(tick, 100, 301);
        assert_eq!(timer.fires, ms(304));
        timer.set(tick, 290, 301);
        assert_eq!(timer.fires, ms(304));
        // Set for another tick, it moves to that tick's bucket.
        timer.set(tick, 290, 300);
        assert_eq!(timer.fires, ms(301));
        assert!(!timer.take_due(ms(300)));
        assert!(timer.take_due(ms(301)) && !timer.take_due(ms(301)));
        timer.set(tick, 301, 340);
        assert_eq!(timer.fires, ms(341));
    }
}
