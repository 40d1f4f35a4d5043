//! Delayed-ACK policy of a receiver: an ACK per segment, per two segments (RFC 1122 §4.2.3.2), or
//! quick ACKs first and per two segments later (Linux).

/// ACKs by the number of segments they newly cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delayed {
    /// ACKs of one segment.
    pub of_one: u64,
    /// ACKs of two segments.
    pub of_two: u64,
    /// ACKs of more than two segments.
    pub of_more: u64,
    /// Number of initial segments that were acknowledged one by one.
    pub quick: u64,
    quick_over: bool,
}

/// Delayed-ACK policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// An ACK per segment.
    Each,
    /// An ACK per two segments.
    EverySecond,
    /// Quick ACKs first, then an ACK per two segments.
    QuickThenEverySecond,
    /// ACKs of more than two segments: receive offload or stretch ACKs.
    Stretched,
    /// No prevailing policy.
    Mixed,
}

/// Minimum number of ACKs for a result.
const ACKS_MIN: u64 = 4;
/// Minimum number of segments in a quick-ACK phase.
const QUICK_MIN: u64 = 4;

impl Delayed {
    pub(crate) fn add(&mut self, segments: u64) {
        match segments {
            0 => return,
            1 => self.of_one += 1,
            2 => self.of_two += 1,
            _ => self.of_more += 1,
        }
        self.quick_over |= segments > 1;
        self.quick += u64::from(!self.quick_over);
    }

    /// Policy of the receiver, if there are enough ACKs.
    pub fn policy(&self) -> Option<Policy> {
        let total = self.of_one + self.of_two + self.of_more;
        let most = |part: u64, whole: u64| 4 * part >= 3 * whole;
        if total < ACKS_MIN {
            return None;
        }
        if most(self.of_one, total) {
            return Some(Policy::Each);
        }
        if most(self.of_more, total) {
            return Some(Policy::Stretched);
        }
        if self.quick >= QUICK_MIN && most(self.of_two, total - self.quick) {
            return Some(Policy::QuickThenEverySecond);
        }
        Some(if most(self.of_two, total) { Policy::EverySecond } else { Policy::Mixed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(segments: &[u64]) -> Option<Policy> {
        let mut delayed = Delayed::default();
        for one in segments {
            delayed.add(*one);
        }
        delayed.policy()
    }

    #[test]
    fn policies_are_distinguished() {
        assert_eq!(policy(&[1, 1, 1]), None);
        assert_eq!(policy(&[1; 10]), Some(Policy::Each));
        assert_eq!(policy(&[2; 10]), Some(Policy::EverySecond));
        assert_eq!(policy(&[9; 10]), Some(Policy::Stretched));
        let quick: Vec<_> = [1; 8].into_iter().chain([2; 10]).collect();
        assert_eq!(policy(&quick), Some(Policy::QuickThenEverySecond));
        assert_eq!(policy(&[2, 1, 2, 1, 2, 1]), Some(Policy::Mixed));
    }
}
