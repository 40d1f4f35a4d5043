//! Time of a run, in nanoseconds from its beginning.

use crate::realise::Kernel;
use nix::time::{clock_gettime, ClockId};
use std::io::{Error, Result};

/// When the first packet may leave, on the kernel's clock: everything is set up by then, and the
/// ticks, which begin at INITIAL_JIFFIES (300 s before they overflow), are a multiple of 2^15. So
/// the wheel of timers has its coarse boundaries (kernel/time/timer.c) where the simulator has them.
const BEGIN_NS: u64 = 5_088_000_000;
const SOON_NS: u64 = 1_000_000_000;

/// The run's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    begin_ns: u64,
    /// Of the clock that stamps frames, less that of this one.
    real_ahead_ns: u64,
}

fn read(clock: ClockId) -> Result<u64> {
    let time = clock_gettime(clock).map_err(Error::from)?;
    Ok(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// Nanoseconds on the kernel's clock, for differences.
pub(crate) fn monotonic_ns() -> Result<i64> {
    Ok(read(ClockId::CLOCK_MONOTONIC)? as i64)
}

impl Clock {
    /// A run that begins at a fixed time of a guest's clock, or a second from now on the host's.
    pub(crate) fn begin(kernel: Kernel) -> Result<Self> {
        let now = read(ClockId::CLOCK_MONOTONIC)?;
        let ahead = read(ClockId::CLOCK_REALTIME)?.saturating_sub(now);
        Ok(match kernel {
            // Two readings lie some steps of the clock apart: the offset is a whole number of ms.
            Kernel::Own => Self {
                begin_ns: if now < BEGIN_NS { BEGIN_NS } else { now + SOON_NS },
                real_ahead_ns: (ahead + 500_000) / 1_000_000 * 1_000_000,
            },
            Kernel::Host => Self { begin_ns: now + SOON_NS, real_ahead_ns: ahead },
        })
    }

    /// Now; negative before the beginning.
    pub(crate) fn now(&self) -> Result<i64> {
        Ok(read(ClockId::CLOCK_MONOTONIC)? as i64 - self.begin_ns as i64)
    }

    /// The time of a frame's stamp.
    pub(crate) fn of_stamp(&self, stamp_ns: u64) -> i64 {
        stamp_ns as i64 - self.real_ahead_ns as i64 - self.begin_ns as i64
    }
}
