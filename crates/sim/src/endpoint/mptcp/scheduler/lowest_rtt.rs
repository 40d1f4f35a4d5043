//! Lowest RTT first: the next subflow is used when the congestion window of the first is full
//! (Raiciu et al., "How hard can it be? Designing and implementing a deployable Multipath TCP",
//! NSDI 2012, §4.2). Default of the multipath-tcp.org kernels.

use super::{candidates, fastest, next_segment, Pick, Schedule, Stream, View};

pub(super) struct LowestRtt;

impl Schedule for LowestRtt {
    fn pick(&mut self, stream: &Stream, subflows: &[View]) -> Option<Pick> {
        let open = candidates(subflows).filter(|&subflow| subflows[subflow].has_window());
        Some(next_segment(stream, subflows, fastest(subflows, open)?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{path, stream};
    use super::*;

    #[test]
    fn the_next_is_used_when_the_window_of_the_fastest_is_full() {
        let mut paths = [path(80, 10, 0), path(20, 10, 9)];
        let pick = |paths: &[View]| LowestRtt.pick(&stream(9), paths).map(|p| p.subflow);
        assert_eq!(pick(&paths), Some(1));
        paths[1].unsent = 1;
        assert_eq!(pick(&paths), Some(0));
        paths[0].in_flight = 10;
        assert_eq!(pick(&paths), None);
    }
}
