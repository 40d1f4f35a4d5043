//! Round robin, segment by segment; subflows with a full window are skipped.

use super::{candidates, next_segment, Pick, Schedule, Stream, View};

#[derive(Default)]
pub(super) struct RoundRobin {
    /// Index of the next subflow.
    turn: usize,
}

impl Schedule for RoundRobin {
    fn pick(&mut self, stream: &Stream, subflows: &[View]) -> Option<Pick> {
        let count = subflows.len();
        let after = |subflow: usize| (subflow + count - self.turn % count) % count;
        let open = candidates(subflows).filter(|&subflow| subflows[subflow].has_window());
        let next = open.min_by_key(|&subflow| after(subflow))?;
        Some(next_segment(stream, subflows, next))
    }

    fn sent(&mut self, pick: &Pick, _bytes: u64) {
        self.turn = pick.subflow + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{path, stream};
    use super::*;

    #[test]
    fn segments_go_by_turns() {
        let mut scheduler = RoundRobin::default();
        let mut paths = [path(80, 10, 0), path(20, 10, 0), path(5, 10, 0)];
        let mut order = Vec::new();
        for _ in 0..7 {
            paths[1].in_flight = if order.len() == 4 { 10 } else { 0 };
            let Some(pick) = scheduler.pick(&stream(9), &paths) else { break };
            scheduler.sent(&pick, 1000);
            order.push(pick.subflow);
        }
        assert_eq!(order, [0, 1, 2, 0, 2, 0, 1]);
    }
}
