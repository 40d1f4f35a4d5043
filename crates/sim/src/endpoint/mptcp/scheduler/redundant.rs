//! Redundant scheduler: all data on every subflow, each at its own pace. Data acknowledged
//! meanwhile is skipped.

use super::{candidates, Pick, Schedule, Stream, View};

#[derive(Default)]
pub(super) struct Redundant {
    /// Next data byte of each subflow.
    next: Vec<u64>,
}

impl Schedule for Redundant {
    fn pick(&mut self, stream: &Stream, subflows: &[View]) -> Option<Pick> {
        self.next.resize(subflows.len(), 0);
        for next in &mut self.next {
            *next = stream.una.max(*next);
        }
        // The subflow with the least progress is first, so that all get their share of an event.
        let has_more = |subflow: &usize| self.next[*subflow] < stream.written;
        let open = candidates(subflows).filter(|&subflow| subflows[subflow].has_window());
        let subflow = open.filter(has_more).min_by_key(|&subflow| self.next[subflow])?;
        let most_bytes = u64::from(subflows[subflow].mss);
        Some(Pick { subflow, from: self.next[subflow], most_bytes })
    }

    fn sent(&mut self, pick: &Pick, bytes: u64) {
        self.next[pick.subflow] += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{path, stream};
    use super::*;

    #[test]
    fn every_subflow_gets_everything() {
        let mut scheduler = Redundant::default();
        let paths = [path(80, 10, 0), path(20, 10, 0)];
        let mut sent = [Vec::new(), Vec::new()];
        while let Some(pick) = scheduler.pick(&stream(5), &paths) {
            scheduler.sent(&pick, pick.most_bytes);
            sent[pick.subflow].push(pick.from);
        }
        assert_eq!(sent[0], [0, 1000, 2000, 3000, 4000]);
        assert_eq!(sent[0], sent[1]);
    }

    #[test]
    fn what_the_other_delivered_is_skipped() {
        let mut scheduler = Redundant::default();
        let mut paths = [path(80, 10, 10), path(20, 10, 0)];
        let mut stream = stream(9);
        while let Some(pick) = scheduler.pick(&stream, &paths) {
            scheduler.sent(&pick, 1000);
        }
        stream.una = 6000;
        paths[0].in_flight = 0;
        let pick = scheduler.pick(&stream, &paths);
        assert_eq!(pick.map(|pick| (pick.subflow, pick.from)), Some((0, 6000)));
    }
}
