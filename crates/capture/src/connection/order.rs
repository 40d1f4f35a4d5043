//! Sending order according to the IPv4 identification. Most senders increase it by one per packet,
//! per connection (Linux: `inet_id`) or per host. A reordered packet therefore has a smaller
//! identification than the packets that overtook it, and a retransmission a larger one.

/// Maximum step between neighbours that counts as counting.
const STEP_MAX: u16 = 1024;
/// Maximum distance at which identifications give an order.
const NEAR: u16 = 4096;
/// Minimum number of single steps for the detection of missing packets.
const ONES_MIN: u32 = 8;
/// Counted steps per other step of a counting sender.
const COUNTED_PER_OTHER: u32 = 8;

/// Identifications of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Identifications {
    /// Identification of the most recently sent packet.
    latest: Option<u16>,
    counted: u32,
    other: u32,
    /// Single steps between contiguous segments.
    ones: u32,
    jumps: u32,
    /// Single steps across a pause of the sender: no other connection used the counter.
    steady: u32,
    /// Packets sent before the latest one that were not captured.
    missing: u32,
}

impl Identifications {
    /// Processes the next packet of the sender.
    pub(crate) fn add(&mut self, identification: u16) {
        let Some(latest) = self.latest else {
            self.latest = Some(identification);
            return;
        };
        let ahead = identification.wrapping_sub(latest);
        let behind = latest.wrapping_sub(identification);
        match (ahead, behind) {
            // A duplicate, or a sender that does not count.
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

    /// Returns true if the sender counts.
    pub(crate) fn counted(&self) -> bool {
        self.counted > COUNTED_PER_OTHER.saturating_mul(self.other)
    }

    /// Processes contiguous data with `missing` identifications in between; `paused` is true if the
    /// sender was silent before it.
    pub(crate) fn contiguous(&mut self, missing: u32, paused: bool) {
        if missing == 0 {
            self.ones = self.ones.saturating_add(1);
            self.steady = self.steady.saturating_add(u32::from(paused));
        } else {
            self.jumps();
        }
    }

    /// Records a step of more than one without a loss, or steps that do not count packets.
    pub(crate) fn jumps(&mut self) {
        self.jumps = self.jumps.saturating_add(1);
    }

    /// Returns true if a gap means missing packets. Not with segmentation offload, which counts
    /// joined segments, nor with a counter shared with other connections: the counter must have
    /// stood still while the sender paused.
    pub(crate) fn detects_missing(&self) -> bool {
        self.jumps == 0 && self.ones >= ONES_MIN && self.steady > 0
    }

    /// Number of packets that were sent before the latest and not captured; 0 if the sender does
    /// not count.
    pub(crate) fn missing(&self) -> u32 {
        if self.counted() {
            self.missing
        } else {
            0
        }
    }
}

/// Timestamp clock of a sender (RFC 7323 §5.4: ticks of 1 ms to 1 s).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    first: Option<(u32, i64)>,
    latest: (u32, i64),
}

/// Tick length while it is unknown: Linux before 4.13 with the smallest HZ.
const TICK_NS: i64 = 10_000_000;
/// Minimum number of ticks for a measurement.
const TICKS_MIN: i64 = 20;

impl Clock {
    /// Processes a timestamp value.
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

/// Returns true if the packet with identification `one` was sent before that with `other`. Unknown
/// if they are far apart: the counter of a busy host wraps within seconds.
pub(crate) fn sent_before(one: u16, other: u16) -> Option<bool> {
    match (other.wrapping_sub(one), one.wrapping_sub(other)) {
        (1..=NEAR, _) => Some(true),
        (_, 0..=NEAR) => Some(false),
        _ => None,
    }
}

/// Returns true if timestamp `one` is older than `other` (RFC 7323 §5.2).
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
    fn counting_is_distinguished_from_zero_and_chance() {
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
