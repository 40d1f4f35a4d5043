//! Rate limit of ACKs that answer invalid segments without data (`tcp_oow_rate_limited`).

use crate::wheel::Tick;

/// Least time between two such ACKs, µs (`tcp_invalid_ratelimit`).
const LEAST_US: u64 = 500_000;

/// Jiffy of the last such ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OowLimit(Option<u64>);

impl OowLimit {
    /// Returns true if the last ACK is too near. Otherwise notes one in this jiffy.
    pub(super) fn blocks(&mut self, tick: Tick, jiffies: u64) -> bool {
        let blocked = self.0.is_some_and(|last| jiffies - last < tick.us(LEAST_US));
        if !blocked {
            self.0 = Some(jiffies);
        }
        blocked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_follows_another_after_half_a_second_of_jiffies() {
        let (mut limit, tick) = (OowLimit::default(), Tick::new(1000));
        assert!(!limit.blocks(tick, 38) && limit.blocks(tick, 537));
        assert!(!limit.blocks(tick, 538) && limit.blocks(tick, 539));
    }
}
