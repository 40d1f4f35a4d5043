//! Statistics that single disciplines report beside the counters of all (`tc_…_xstats` of
//! linux/pkt_sched.h). [`crate::builders`] knows the layout of each.

use dumbbell_model::tables::{Float, Int};

/// Statistics of a discipline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Xstats {
    pub(crate) dropped_overflow: Int,
    /// Counter `overlimits` of all disciplines, whose meaning differs.
    pub(crate) overlimits: u32,
    pub(crate) marked: Int,
    /// CoDel: dropping state, drop count, time until the next drop in ns.
    pub(crate) codel: Option<(bool, u32, i64)>,
    pub(crate) probability: Float,
    pub(crate) new_flows: Int,
    pub(crate) old_flows: Int,
}

impl Xstats {
    /// Statistics of a discipline without xstats: all its drops are overflow, it marks nothing.
    pub(crate) fn common(dropped: u32, overlimits: u32) -> Self {
        Self {
            dropped_overflow: dropped.into(),
            overlimits,
            marked: 0_u64.into(),
            codel: None,
            probability: Float::UNKNOWN,
            new_flows: Int::UNKNOWN,
            old_flows: Int::UNKNOWN,
        }
    }

    /// Statistics of a discipline with classes: those of its classes are not separable.
    pub(crate) fn of_classes(self) -> Self {
        Self { dropped_overflow: Int::UNKNOWN, marked: Int::UNKNOWN, ..self }
    }

    /// Number of drops that were congestion signals, out of all drops.
    pub(crate) fn dropped_aqm(&self, dropped: Int) -> Int {
        let known = dropped.get().zip(self.dropped_overflow.get());
        known.map(|(all, overflow)| (all - overflow).max(0)).into()
    }
}
