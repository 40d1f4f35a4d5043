//! What disciplines report of themselves. The builder of each knows its layout.

use crate::discipline;
use crate::netlink::Qdisc;
use dumbbell_model::catalogue::discipline::ENTRIES;
use dumbbell_model::tables::{Float, Int};

/// What is known beyond the counters that all have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Own {
    pub(crate) dropped_overflow: Int,
    pub(crate) marked: Int,
    /// CoDel: whether it drops, its count, and the time until the next drop, ns.
    pub(crate) codel: Option<(bool, u32, i64)>,
    pub(crate) probability: Float,
    pub(crate) new_flows: Int,
    pub(crate) old_flows: Int,
}

impl Own {
    pub(crate) fn of(qdisc: &Qdisc) -> Self {
        let common = Self {
            dropped_overflow: qdisc.dropped.into(),
            marked: 0_u64.into(),
            codel: None,
            probability: Float::UNKNOWN,
            new_flows: Int::UNKNOWN,
            old_flows: Int::UNKNOWN,
        };
        let entry =
            ENTRIES.iter().find(|entry| entry.linux.is_some_and(|linux| linux.name == qdisc.kind));
        entry.map_or(common, |entry| discipline::own(entry.variant, &qdisc.own, common))
    }

    /// Of a discipline with classes: signals and overflow of the classes are not told apart.
    pub(crate) fn of_classes(self) -> Self {
        Self { dropped_overflow: Int::UNKNOWN, marked: Int::UNKNOWN, ..self }
    }

    /// Drops that were signs of congestion, of so many drops.
    pub(crate) fn dropped_aqm(&self, dropped: Int) -> Int {
        let known = dropped.get().zip(self.dropped_overflow.get());
        known.map(|(all, overflow)| (all - overflow).max(0)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_codel_is_read() {
        let numbers: [i32; 9] = [1514, 7, 2, 30_000, -250, 3, 4, 1, 0];
        let own = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        let qdisc = Qdisc { kind: "codel".to_owned(), own, dropped: 10, ..Qdisc::default() };
        let found = Own::of(&qdisc);
        assert_eq!(found.codel, Some((true, 7, -250_000)));
        let told = [found.marked, found.dropped_overflow, found.dropped_aqm(10_u32.into())];
        assert_eq!(told.map(Int::get), [4, 3, 7].map(Some));
        let short = Qdisc { kind: "fq_codel".to_owned(), ..Qdisc::default() };
        assert_eq!(Own::of(&short).new_flows, Int::UNKNOWN);
    }
}
