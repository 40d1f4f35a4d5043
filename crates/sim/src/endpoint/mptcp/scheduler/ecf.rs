//! ECF (Lim, Nahum, Towsley, Gibbens, "ECF: An MPTCP path scheduler to manage heterogeneous paths",
//! CoNEXT 2017, Algorithm 1): uses a slower subflow only if waiting for the faster subflow would
//! not complete the waiting data earlier.

use super::{candidates, fastest, next_segment, Pick, Schedule, Stream, View};

#[derive(Default)]
pub(super) struct Ecf {
    /// True while waiting for the faster subflow; gives a hysteresis β of a quarter.
    waiting: bool,
}

impl Ecf {
    /// Returns true if the data should wait for the faster subflow. `packets` (k) are not given to
    /// a subflow yet.
    fn waits(&mut self, fast: &View, slow: &View, packets: u64) -> bool {
        let (rtt_f, rtt_s) = (u64::from(fast.srtt_us), u64::from(slow.srtt_us));
        let (cwnd_f, cwnd_s) = (u64::from(fast.cwnd.max(1)), u64::from(slow.cwnd.max(1)));
        // δ
        let margin = u64::from(fast.rttvar_us.max(slow.rttvar_us));
        // n = 1 + k / CWND_f; n RTT_f < (1 + waiting β)(RTT_s + δ), times 4 CWND_f.
        let by_fast = 4 * (cwnd_f + packets) * rtt_f;
        let beta = if self.waiting { 5 } else { 4 };
        if by_fast >= beta * (rtt_s + margin) * cwnd_f {
            self.waiting = false;
            return false;
        }
        // k / CWND_s · RTT_s ≥ 2 RTT_f + δ
        if packets * rtt_s >= (2 * rtt_f + margin) * cwnd_s {
            self.waiting = true;
            return true;
        }
        false
    }
}

impl Schedule for Ecf {
    fn pick(&mut self, stream: &Stream, subflows: &[View]) -> Option<Pick> {
        let fast = fastest(subflows, candidates(subflows))?;
        let open = candidates(subflows).filter(|&subflow| subflows[subflow].has_window());
        let chosen = fastest(subflows, open)?;
        if chosen != fast {
            let mss = u64::from(subflows[chosen].mss).max(1);
            let packets = stream.waiting_bytes().div_ceil(mss);
            if self.waits(&subflows[fast], &subflows[chosen], packets) {
                return None;
            }
        }
        Some(next_segment(stream, subflows, chosen))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{path, stream};
    use super::*;

    /// Returns true if the slow one of two subflows (20 and 80 ms, windows of 10) is used for
    /// `packets` packets.
    fn uses_slow(scheduler: &mut Ecf, packets: u64) -> bool {
        let paths = [path(20, 10, 10), path(80, 10, 0)];
        scheduler.pick(&stream(packets), &paths).is_some()
    }

    #[test]
    fn little_waits_for_the_fast_one_and_much_does_not() {
        // Over the fast subflow alone: (1 + k / 10) 20 ms, below 80 ms for k < 30. The slow subflow
        // is worth waiting for from k / 10 · 80 ≥ 40 ms on: k ≥ 5.
        assert!(uses_slow(&mut Ecf::default(), 4));
        assert!(!uses_slow(&mut Ecf::default(), 5));
        assert!(!uses_slow(&mut Ecf::default(), 29));
        assert!(uses_slow(&mut Ecf::default(), 30));
    }

    #[test]
    fn a_waiting_scheduler_waits_a_quarter_longer() {
        let mut scheduler = Ecf::default();
        assert!(!uses_slow(&mut scheduler, 29));
        assert!(!uses_slow(&mut scheduler, 39));
        assert!(uses_slow(&mut scheduler, 40));
        assert!(uses_slow(&mut scheduler, 30));
    }

    #[test]
    fn deviation_of_the_rtts_widens_the_margin() {
        let mut paths = [path(20, 10, 10), path(80, 10, 0)];
        paths[0].rttvar_us = 20_000;
        assert_eq!(Ecf::default().pick(&stream(39), &paths), None);
        assert!(Ecf::default().pick(&stream(40), &paths).is_some());
    }
}
