//! How a receiver acknowledges: each segment, every second (RFC 1122 §4.2.3.2), or each at first and
//! every second later (Linux's quick acknowledgements).

/// Acknowledgements by how many segments they covered first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delayed {
    /// One segment.
    pub of_one: u64,
    /// Two.
    pub of_two: u64,
    /// More.
    pub of_more: u64,
    /// Segments in a row, from the first on, that were acknowledged one by one.
    pub quick: u64,
    quick_over: bool,
}

/// What a receiver does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Each segment.
    Each,
    /// Every second.
    EverySecond,
    /// Each at first, then every second.
    QuickThenEverySecond,
    /// More than two at once: receive offload, or stretch acknowledgements.
    Stretched,
    /// None of these prevails.
    Mixed,
}

/// Fewer say nothing.
const ACKS_MIN: u64 = 4;
/// A quick phase has at least so many segments.
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

    /// What the receiver does, if there is enough to tell.
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
    fn policies_are_told_apart() {
        assert_eq!(policy(&[1, 1, 1]), None);
        assert_eq!(policy(&[1; 10]), Some(Policy::Each));
        assert_eq!(policy(&[2; 10]), Some(Policy::EverySecond));
        assert_eq!(policy(&[9; 10]), Some(Policy::Stretched));
        let quick: Vec<_> = [1; 8].into_iter().chain([2; 10]).collect();
        assert_eq!(policy(&quick), Some(Policy::QuickThenEverySecond));
        assert_eq!(policy(&[2, 1, 2, 1, 2, 1]), Some(Policy::Mixed));
    }
}
