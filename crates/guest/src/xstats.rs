//! What disciplines tell of themselves: `tc_codel_xstats` and its likes of linux/pkt_sched.h, as
//! numbers of 32 bits in the machine's order.

use crate::netlink::{known_word, long, word, Qdisc};
use dumbbell_model::tables::{Float, Int};

/// A probability of 1 of PIE (`MAX_PROB`).
const PIE_CERTAIN: f64 = (u64::MAX >> 8) as f64;

/// What is known beyond the counters that all have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Own {
    pub(crate) dropped_overflow: Int,
    pub(crate) marked: Int,
    /// CoDel: whether it drops, its count, and how long until the next drop.
    pub(crate) codel: Option<(bool, u32, i64)>,
    pub(crate) probability: Float,
    pub(crate) new_flows: Int,
    pub(crate) old_flows: Int,
}

impl Own {
    pub(crate) fn of(qdisc: &Qdisc) -> Self {
        let at = |index: usize| Int::from(known_word(&qdisc.own, 4 * index));
        let plain = Self {
            dropped_overflow: qdisc.dropped.into(),
            marked: 0_u64.into(),
            codel: None,
            probability: Float::UNKNOWN,
            new_flows: Int::UNKNOWN,
            old_flows: Int::UNKNOWN,
        };
        match qdisc.kind.as_str() {
            "codel" => Self {
                dropped_overflow: at(5),
                marked: at(6),
                codel: Some((
                    word(&qdisc.own, 28) != 0,
                    word(&qdisc.own, 4),
                    i64::from(word(&qdisc.own, 16) as i32) * 1000,
                )),
                ..plain
            },
            // Behind the kind of statistics.
            "fq_codel" => Self {
                dropped_overflow: at(2),
                marked: at(3),
                new_flows: at(5),
                old_flows: at(6),
                ..plain
            },
            "pie" => Self {
                dropped_overflow: at(7),
                marked: at(9),
                probability: (long(&qdisc.own, 0) as f64 / PIE_CERTAIN).into(),
                ..plain
            },
            "fq_pie" => Self {
                dropped_overflow: at(2),
                marked: at(4),
                new_flows: at(6),
                old_flows: at(7),
                ..plain
            },
            "red" => Self { dropped_overflow: at(1), marked: at(3), ..plain },
            // Signals and overflow of the classes are not told apart.
            "prio" | "drr" | "htb" => {
                Self { dropped_overflow: Int::UNKNOWN, marked: Int::UNKNOWN, ..plain }
            }
            _ => plain,
        }
    }

    /// Of so many drops, those that told of congestion.
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
