//! In which order packets were sent, by IPv4's identification: most senders count it up by one per
//! packet, per connection (Linux: `inet_id`) or per host, so a packet that was overtaken carries a
//! smaller one than those that overtook it, and a retransmission a larger one.

/// Neighbours whose identifications differ by more are not taken for counted.
const STEP_MAX: u16 = 1024;
/// Packets further apart by their identifications are not put in order by them.
const NEAR: u16 = 4096;
/// Steps of one that make a habit.
const ONES_MIN: u32 = 8;
/// As many counted steps speak for every step that is not.
const COUNTED_PER_OTHER: u32 = 8;

/// What is known of a sender's identifications.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Identifications {
    /// Of the packet sent last among those seen.
    latest: Option<u16>,
    counted: u32,
    other: u32,
    /// Steps of one between neighbours of the stream, and longer ones that nothing explains.
    ones: u32,
    jumps: u32,
    /// Steps of one over a pause of the sender: no other connection counted on meanwhile.
    stood: u32,
    /// Packets sent before that one which were not seen.
    missing: u32,
}

impl Identifications {
    /// The next packet of the sender.
    pub(crate) fn add(&mut self, identification: u16) {
        let Some(latest) = self.latest else {
            self.latest = Some(identification);
            return;
        };
        let ahead = identification.wrapping_sub(latest);
        let behind = latest.wrapping_sub(identification);
        match (ahead, behind) {
            // A copy; or one that never counts.
            (0, _) => return,
            (1..=STEP_MAX, _) => {
                self.counted = self.counted.saturating_add(1);
                self.missing = self.missing.saturating_add(u32::from(ahead) - 1);
            }
            (_, 1..=STEP_MAX) => {
                self.counted = self.counted.saturating_add(1);
                self.missing = self.missing.saturating_sub(1);
                return;
            }
            _ => {
                self.other = self.other.saturating_add(1);
                self.missing = 0;
            }
        }
        self.latest = Some(identification);
    }

    /// Does this sender count?
    pub(crate) fn counted(&self) -> bool {
        self.counted > COUNTED_PER_OTHER.saturating_mul(self.other)
    }

    /// Between data that goes on where it stopped, so many identifications were left out; `paused`:
    /// the sender had been silent in between.
    pub(crate) fn went_on(&mut self, missing: u32, paused: bool) {
        if missing == 0 {
            self.ones = self.ones.saturating_add(1);
            self.stood = self.stood.saturating_add(u32::from(paused));
        } else {
            self.jumps();
        }
    }

    /// It stepped by more than one where nothing was lost, or its steps do not count packets.
    pub(crate) fn jumps(&mut self) {
        self.jumps = self.jumps.saturating_add(1);
    }

    /// Does a jump tell of packets that are missing? Not where segments were joined (offload counts
    /// what it joins), nor where a counter serves other connections too: the counter must have stood
    /// still while the sender paused.
    pub(crate) fn tells_missing(&self) -> bool {
        self.jumps == 0 && self.ones >= ONES_MIN && self.stood > 0
    }

    /// How many packets were sent before the latest and not seen; 0 if the sender does not count.
    pub(crate) fn missing(&self) -> u32 {
        if self.counted() {
            self.missing
        } else {
            0
        }
    }
}

/// Ticks of a sender's timestamp clock (RFC 7323 §5.4: between 1 ms and 1 s).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    first: Option<(u32, i64)>,
    latest: (u32, i64),
}

/// Taken for the tick as long as it is unknown: that of Linux before 4.13 with the least HZ.
const TICK_NS: i64 = 10_000_000;
/// So many ticks give their length.
const TICKS_MIN: i64 = 20;

impl Clock {
    /// A stamp passes.
    pub(crate) fn add(&mut self, tsval: u32, now_ns: i64) {
        self.first.get_or_insert((tsval, now_ns));
        self.latest = (tsval, now_ns);
    }

    /// Length of a tick.
    pub(crate) fn tick_ns(&self) -> i64 {
        let Some((first, since_ns)) = self.first else { return TICK_NS };
        let ticks = i64::from(self.latest.0.wrapping_sub(first) as i32);
        let passed_ns = self.latest.1 - since_ns;
        if ticks < TICKS_MIN || passed_ns <= 0 {
            return TICK_NS;
        }
        passed_ns / ticks
    }
}

/// Was the packet with `one` sent before that with `other`? Unknown where they are far apart: the counter
/// of a busy host wraps within seconds.
pub(crate) fn sent_before(one: u16, other: u16) -> Option<bool> {
    match (other.wrapping_sub(one), one.wrapping_sub(other)) {
        (1..=NEAR, _) => Some(true),
        (_, 0..=NEAR) => Some(false),
        _ => None,
    }
}

/// Is one timestamp older than another (RFC 7323 §5.2)?
pub(crate) fn older(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(identifications: &[u16]) -> Identifications {
        let mut all = Identifications::default();
        for one in identifications {
            all.add(*one);
        }
        all
    }

    #[test]
    fn counting_is_told_from_zero_and_from_chance() {
        assert!(after(&[65_534, 65_535, 1, 0, 2]).counted());
        assert!(!after(&[0, 0, 0, 0]).counted());
        assert!(!after(&[7, 30_000, 41, 9_000, 52_000]).counted());
        assert!(!after(&[7]).counted());
    }

    #[test]
    fn ticks_are_measured() {
        let mut clock = Clock::default();
        assert_eq!(clock.tick_ns(), TICK_NS);
        clock.add(u32::MAX - 5, 1000);
        clock.add(94, 400_001_000);
        assert_eq!(clock.tick_ns(), 4_000_000);
    }

    #[test]
    fn missing_packets_are_counted_over_the_wrap_until_they_come() {
        assert_eq!(after(&[65_533, 65_534, 65_535]).missing(), 0);
        assert_eq!(after(&[65_533, 65_534, 2]).missing(), 3);
        assert_eq!(after(&[65_533, 65_534, 2, 0]).missing(), 2);
        assert_eq!(after(&[0, 0, 0]).missing(), 0);
        assert_eq!((sent_before(65_535, 2), sent_before(2, 65_535)), (Some(true), Some(false)));
        assert_eq!((sent_before(7, 7), sent_before(0x1cac, 0x6798)), (Some(false), None));
    }
}
