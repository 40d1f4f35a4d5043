//! What disciplines tell of themselves: `tc_codel_xstats` and its likes of linux/pkt_sched.h, as
//! numbers of 32 bits in the machine's order.

use crate::netlink::{long, word, Qdisc};

/// A probability of 1 of PIE (`MAX_PROB`).
const PIE_CERTAIN: f64 = (u64::MAX >> 8) as f64;

/// What is known beyond the counters that all have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Own {
    pub(crate) dropped_overflow: i64,
    pub(crate) marked: i64,
    /// CoDel: whether it drops, its count, and how long until the next drop.
    pub(crate) codel: Option<(bool, u32, i64)>,
    pub(crate) probability: f64,
    pub(crate) new_flows: i64,
    pub(crate) old_flows: i64,
}

impl Own {
    pub(crate) fn of(qdisc: &Qdisc) -> Self {
        let at = |index: usize| i64::from(word(&qdisc.own, 4 * index));
        let plain = Self {
            dropped_overflow: i64::from(qdisc.dropped),
            marked: 0,
            codel: None,
            probability: f64::NAN,
            new_flows: -1,
            old_flows: -1,
        };
        match qdisc.kind.as_str() {
            "codel" => Self {
                dropped_overflow: at(5),
                marked: at(6),
                codel: Some((
                    at(7) != 0,
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
                probability: long(&qdisc.own, 0) as f64 / PIE_CERTAIN,
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
            "prio" | "drr" | "htb" => Self { dropped_overflow: -1, marked: -1, ..plain },
            _ => plain,
        }
    }

    /// Of so many drops, those that told of congestion.
    pub(crate) fn dropped_aqm(&self, dropped: i64) -> i64 {
        if self.dropped_overflow < 0 {
            return -1;
        }
        (dropped - self.dropped_overflow).max(0)
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
        assert_eq!((found.marked, found.dropped_overflow, found.dropped_aqm(10)), (4, 3, 7));
        let short = Qdisc { kind: "fq_codel".to_owned(), ..Qdisc::default() };
        assert_eq!(Own::of(&short).new_flows, 0);
    }
}
