//! BLEST (Ferlin, Alay, Mehani, Boreli, "BLEST: Blocking estimation-based MPTCP scheduler for
//! heterogeneous networks", IFIP Networking 2016): uses a slower subflow only if its data will not
//! leave the faster subflow without window.

use super::{candidates, fastest, next_segment, Pick, Schedule, Stream, View};

/// Initial value and bounds of λ, in tenths, as in the kernel of multipath-tcp.org.
const LAMBDA: u64 = 12;
const LAMBDA_MIN: u64 = 10;
const LAMBDA_MAX: u64 = 13;

pub(super) struct Blest {
    lambda_tenths: u64,
    /// True if the receive window was full since the last use of a slower subflow.
    blocked: bool,
    /// Data sequence number up to which the last use of the slow subflow is not judged yet.
    judged_at: u64,
}

impl Default for Blest {
    fn default() -> Self {
        Self { lambda_tenths: LAMBDA, blocked: false, judged_at: 0 }
    }
}

impl Blest {
    /// Adapts λ (§III-C): grows if the slower subflow blocked, falls if not, once per judged range.
    fn adapt(&mut self, stream: &Stream) {
        if stream.una < self.judged_at {
            return;
        }
        let first = self.judged_at == 0;
        self.judged_at = stream.next.max(stream.una + 1);
        if first {
            return;
        }
        let step = if self.blocked { self.lambda_tenths + 1 } else { self.lambda_tenths - 1 };
        self.lambda_tenths = step.clamp(LAMBDA_MIN, LAMBDA_MAX);
        self.blocked = false;
    }

    /// Bytes that the fast subflow can send in an RTT of the slow one (equation 1): X = MSS_f
    /// (CWND_f + (r − 1) / 2) r, with the ratio r of the RTTs.
    fn sent_meanwhile(fast: &View, slow: &View) -> u64 {
        let ratio = u64::from(slow.srtt_us).div_ceil(u64::from(fast.srtt_us).max(1)).max(1);
        let packets = (2 * u64::from(fast.cwnd) + ratio - 1) * ratio / 2;
        u64::from(fast.mss) * packets
    }
}

impl Schedule for Blest {
    fn pick(&mut self, stream: &Stream, subflows: &[View]) -> Option<Pick> {
        self.adapt(stream);
        let fast = fastest(subflows, candidates(subflows))?;
        let open = candidates(subflows).filter(|&subflow| subflows[subflow].has_window());
        let chosen = fastest(subflows, open)?;
        if chosen != fast {
            let slow = &subflows[chosen];
            // Equation 2: window left after the share of the slow subflow.
            let taken = u64::from(slow.mss) * u64::from(slow.in_flight + slow.unsent + 1);
            let window = (stream.window_end - stream.una).saturating_sub(taken);
            let wanted = Self::sent_meanwhile(&subflows[fast], slow) * self.lambda_tenths / 10;
            if wanted > window {
                return None;
            }
        }
        Some(next_segment(stream, subflows, chosen))
    }

    fn window_full(&mut self, _subflows: &[View]) {
        self.blocked = true;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{path, stream};
    use super::*;

    #[test]
    fn the_estimate_is_that_of_the_paper() {
        // Four RTTs of the fast subflow: 10 + 11 + 12 + 13 packets.
        assert_eq!(Blest::sent_meanwhile(&path(20, 10, 0), &path(80, 10, 0)), 46_000);
        assert_eq!(Blest::sent_meanwhile(&path(20, 10, 0), &path(20, 10, 0)), 10_000);
    }

    #[test]
    fn the_slow_one_waits_where_the_window_is_short() {
        let paths = [path(20, 10, 10), path(80, 10, 0)];
        let mut narrow = stream(99);
        narrow.window_end = 55_000; // 55 − 1 < 46 × 1.2
        assert_eq!(Blest::default().pick(&narrow, &paths), None);
        narrow.window_end = 60_000;
        assert_eq!(Blest::default().pick(&narrow, &paths).map(|pick| pick.subflow), Some(1));
    }

    #[test]
    fn the_fast_one_is_never_held_back() {
        let paths = [path(20, 10, 9), path(80, 10, 0)];
        let narrow = Stream { window_end: 1000, ..stream(9) };
        assert_eq!(Blest::default().pick(&narrow, &paths).map(|pick| pick.subflow), Some(0));
    }
}
