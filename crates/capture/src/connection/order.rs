//! In which order packets were sent, by IPv4's identification: most senders count it up by one per
//! packet, per connection (Linux: `inet_id`) or per host, so a packet that was overtaken carries a
//! smaller one than those that overtook it, and a retransmission a larger one.

/// Neighbours whose identifications differ by more are not taken for counted.
const STEP_MAX: u16 = 1024;
/// As many counted steps speak for every step that is not.
const COUNTED_PER_OTHER: u32 = 8;

/// What is known of a sender's identifications.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Identifications {
    last: Option<u16>,
    counted: u32,
    other: u32,
}

impl Identifications {
    /// The next packet of the sender.
    pub(crate) fn add(&mut self, identification: u16) {
        if let Some(last) = self.last {
            let step = identification.wrapping_sub(last);
            if step != 0 && (step <= STEP_MAX || step >= 0_u16.wrapping_sub(STEP_MAX)) {
                self.counted = self.counted.saturating_add(1);
            } else {
                self.other = self.other.saturating_add(1);
            }
        }
        self.last = Some(identification);
    }

    /// Does this sender count?
    pub(crate) fn counted(&self) -> bool {
        self.counted > COUNTED_PER_OTHER.saturating_mul(self.other)
    }

    /// How many packets were sent between the last one seen and this one, none of them seen; 0 if it
    /// was sent before.
    pub(crate) fn missing(&self, identification: u16) -> u16 {
        let Some(last) = self.last.filter(|_| self.counted()) else { return 0 };
        match identification.wrapping_sub(last) {
            step @ 2..=STEP_MAX => step - 1,
            _ => 0,
        }
    }
}

/// Was the packet with `one` sent before that with `other`?
pub(crate) fn sent_before(one: u16, other: u16) -> bool {
    (one.wrapping_sub(other) as i16) < 0
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
    fn missing_packets_are_counted_over_the_wrap() {
        assert_eq!(after(&[65_533, 65_534]).missing(65_535), 0);
        assert_eq!(after(&[65_533, 65_534]).missing(2), 3);
        assert_eq!(after(&[65_533, 65_534]).missing(65_533), 0);
        assert!(sent_before(65_535, 2) && !sent_before(2, 65_535));
    }
}
