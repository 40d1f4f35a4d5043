//! Counters of a pipe: those of its disciplines, and of those that were removed when its link went down.

use crate::discipline::xstats;
use crate::netlink::Qdisc;
use crate::qdisc::DOWN_HANDLE;
use dumbbell_model::netem::{NetemLoss, NetemWords};
use dumbbell_model::scenario::{self, LinkState, Loss, Shaper};
use dumbbell_model::tables::Int;
use dumbbell_model::Queue;

/// Disciplines of a pipe as the kernel reports them.
pub(crate) struct Disciplines<'a> {
    /// All of the queue's interface, outermost first.
    pub(crate) all: &'a [Qdisc],
    /// Those from the outermost to the queue; none while the link is down.
    pub(crate) stages: &'a [Qdisc],
    /// Discipline of the interface behind the queue's, if there is one.
    pub(crate) behind: Option<&'a Qdisc>,
}

impl Disciplines<'_> {
    /// Packets that wait or travel.
    pub(crate) fn remaining_packets(&self) -> u64 {
        let parts = self.stages.first().into_iter().chain(self.behind);
        parts.map(|part| u64::from(part.queued_packets)).sum()
    }
}

/// Packets that left a pipe, and those that it dropped, by cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PipeCounters {
    pub(crate) left_packets: u64,
    pub(crate) left_bytes: u64,
    /// Bytes that left its queue.
    pub(crate) sent_bytes: u64,
    /// Drops by the disciplines of the link that is up, for any reason.
    pub(crate) dropped: u64,
    pub(crate) overflow: Int,
    pub(crate) random: Int,
    pub(crate) aqm: Int,
    pub(crate) marked: Int,
    /// Packets of a link that was down or went down.
    pub(crate) link_down: u64,
}

impl PipeCounters {
    const NONE: Self = Self {
        left_packets: 0,
        left_bytes: 0,
        sent_bytes: 0,
        dropped: 0,
        overflow: Int::ZERO,
        random: Int::ZERO,
        aqm: Int::ZERO,
        marked: Int::ZERO,
        link_down: 0,
    };

    /// Counters of disciplines. tbf does not count netem's random loss; a netem counts the
    /// drops of its child.
    fn of(pipe: &scenario::Pipe, found: &Disciplines<'_>) -> Self {
        let stages = found.stages;
        let (Some(outermost), Some(innermost)) = (stages.first(), stages.last()) else {
            return Self::NONE;
        };
        let last = found.behind.unwrap_or(outermost);
        let (outer, inner) = (outermost.dropped, innermost.dropped);
        let counted = Self {
            left_packets: last.sent_packets.into(),
            left_bytes: last.sent_bytes,
            sent_bytes: outermost.sent_bytes,
            dropped: outer.max(inner).into(),
            ..Self::NONE
        };
        let drops = |words: &NetemWords| !matches!(words.loss, NetemLoss::None);
        let lossy = !matches!(pipe.loss, Loss::None | Loss::Scripted { .. })
            || matches!(&pipe.queue, Queue::Netem { words: Some(words), .. } if drops(words))
            || pipe.changes.iter().any(|change| change.loss.is_some());
        let shaped_first =
            matches!((&pipe.shaper, &pipe.queue), (Shaper::Tbf { .. }, Queue::Netem { .. }));
        let (queue, random): (Int, Int) = if !lossy {
            (outer.max(inner).into(), Int::ZERO)
        } else if stages.len() == 1 && matches!(pipe.queue, Queue::Netem { .. }) {
            (Int::UNKNOWN, Int::UNKNOWN) // One counter for both.
        } else if stages.len() == 1 {
            (Int::ZERO, outer.into())
        } else if shaped_first {
            (outer.into(), (i64::from(inner) - i64::from(outer)).into())
        } else {
            (inner.into(), (i64::from(outer) - i64::from(inner)).into())
        };
        if !pipe.queue.is_discipline() {
            return Self { overflow: queue, random, ..counted };
        }
        let xstats = xstats(innermost);
        Self {
            overflow: xstats.dropped_overflow,
            random,
            aqm: xstats.dropped_aqm(queue),
            marked: xstats.marked,
            ..counted
        }
    }

    fn plus(&self, more: &Self) -> Self {
        let sum = |a: Int, b: Int| [a, b].into_iter().sum();
        Self {
            left_packets: self.left_packets + more.left_packets,
            left_bytes: self.left_bytes + more.left_bytes,
            sent_bytes: self.sent_bytes + more.sent_bytes,
            dropped: self.dropped + more.dropped,
            overflow: sum(self.overflow, more.overflow),
            random: sum(self.random, more.random),
            aqm: sum(self.aqm, more.aqm),
            marked: sum(self.marked, more.marked),
            link_down: self.link_down + more.link_down,
        }
    }
}

/// A link's state, and the counters that it keeps over outages.
pub(crate) struct Kept {
    pub(crate) down: bool,
    before: PipeCounters,
}

impl Default for Kept {
    fn default() -> Self {
        Self { down: false, before: PipeCounters::NONE }
    }
}

impl Kept {
    /// All counters now.
    pub(crate) fn with(&self, pipe: &scenario::Pipe, found: &Disciplines<'_>) -> PipeCounters {
        let now = if self.down {
            let drops = |one: &&Qdisc| one.handle >> 16 == DOWN_HANDLE;
            let link_down = found.all.iter().find(drops).map_or(0, |one| one.dropped.into());
            PipeCounters { link_down, ..PipeCounters::NONE }
        } else {
            PipeCounters::of(pipe, found)
        };
        self.before.plus(&now)
    }

    /// Keeps the counters before the link changes its state. What waits and travels as it goes down is lost.
    pub(crate) fn change(
        &mut self,
        state: LinkState,
        pipe: &scenario::Pipe,
        found: &Disciplines<'_>,
    ) {
        let mut counted = self.with(pipe, found);
        if state == LinkState::Down {
            counted.link_down += found.remaining_packets();
        }
        *self = Self { down: state == LinkState::Down, before: counted };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_model::scenario::Scenario;

    #[test]
    fn counters_outlive_an_outage() {
        let scenario = Scenario::from_json(include_str!("plan/two-paths.json"));
        let Ok(scenario) = scenario else { panic!("{scenario:?}") };
        let pipe = &scenario.links[0].forward;
        let qdisc = |handle: u32, sent_packets, queued_packets, dropped| Qdisc {
            handle: handle << 16,
            sent_packets,
            queued_packets,
            dropped,
            ..Qdisc::default()
        };
        let mut kept = Kept::default();
        let (up, travelling) = ([qdisc(1, 10, 4, 1)], qdisc(1, 8, 2, 0));
        let found = Disciplines { all: &up, stages: &up, behind: Some(&travelling) };
        kept.change(LinkState::Down, pipe, &found);
        let (down, empty) = ([qdisc(DOWN_HANDLE, 0, 0, 7)], qdisc(1, 0, 0, 0));
        let found = Disciplines { all: &down, stages: &[], behind: Some(&empty) };
        assert_eq!(kept.with(pipe, &found).link_down, 4 + 2 + 7);
        kept.change(LinkState::Up, pipe, &found);
        let (again, travelling) = ([qdisc(1, 5, 2, 0)], qdisc(1, 4, 1, 0));
        let found = Disciplines { all: &again, stages: &again, behind: Some(&travelling) };
        let total = kept.with(pipe, &found);
        assert_eq!((total.left_packets, total.dropped, total.link_down), (12, 1, 13));
        assert_eq!(found.remaining_packets(), 3);
    }
}
