//! The clock of a run: nanoseconds from its beginning.

use crate::realise::Kernel;
use nix::time::{clock_gettime, ClockId};
use std::io::{Error, Result};

/// Beginning of the run on the kernel's clock. All set-up is finished by then. Jiffies start at
/// INITIAL_JIFFIES (300 s before they overflow) and are a multiple of 2^15 at this time. So the
/// coarse boundaries of the timer wheel (kernel/time/timer.c) are those of the simulator.
const BEGIN_NS: u64 = 5_088_000_000;
const SOON_NS: u64 = 1_000_000_000;

/// Clock of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    begin_ns: u64,
    /// Offset of CLOCK_REALTIME, which stamps frames, from this clock.
    real_ahead_ns: u64,
}

fn read(clock: ClockId) -> Result<u64> {
    let time = clock_gettime(clock).map_err(Error::from)?;
    Ok(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// CLOCK_MONOTONIC in ns, for differences.
pub(crate) fn monotonic_ns() -> Result<i64> {
    Ok(read(ClockId::CLOCK_MONOTONIC)? as i64)
}

/// How far a guest's CLOCK_REALTIME is ahead of CLOCK_MONOTONIC.
pub(crate) fn real_ahead_ns() -> Result<i64> {
    let now = read(ClockId::CLOCK_MONOTONIC)?;
    let ahead = read(ClockId::CLOCK_REALTIME)?.saturating_sub(now);
    // Two readings are a few clock steps apart; the true offset is a whole number of ms.
    Ok(((ahead + 500_000) / 1_000_000 * 1_000_000) as i64)
}

impl Clock {
    /// Begins a run at a fixed time of a guest's clock, or in one second on the host's.
    pub(crate) fn begin(kernel: Kernel) -> Result<Self> {
        let now = read(ClockId::CLOCK_MONOTONIC)?;
        let ahead = read(ClockId::CLOCK_REALTIME)?.saturating_sub(now);
        Ok(match kernel {
            Kernel::Own => Self {
                begin_ns: if now < BEGIN_NS { BEGIN_NS } else { now + SOON_NS },
                real_ahead_ns: real_ahead_ns()? as u64,
            },
            Kernel::Host => Self { begin_ns: now + SOON_NS, real_ahead_ns: ahead },
        })
    }

    /// Current time; negative before the beginning.
    pub(crate) fn now(&self) -> Result<i64> {
        Ok(read(ClockId::CLOCK_MONOTONIC)? as i64 - self.begin_ns as i64)
    }

    /// Converts the timestamp of a frame.
    pub(crate) fn of_stamp(&self, stamp_ns: u64) -> i64 {
        stamp_ns as i64 - self.real_ahead_ns as i64 - self.begin_ns as i64
    }
}
