//! CAKE on the kernel: arguments of `tc`, and its statistics, which are attributes (`TCA_CAKE_STATS_…`).

use crate::discipline::OnLinux;
use crate::netlink::{attribute, attributes, known_word};
use crate::tc::micros;
use crate::xstats::Xstats;
use dumbbell_model::queue::Cake;
use dumbbell_model::tables::Int;
use dumbbell_model::ScenarioError;

/// `TCA_CAKE_STATS_…`
const MEMORY_LIMIT: u16 = 3;
const MEMORY_USED: u16 = 4;
const TINS: u16 = 10;
/// `TCA_CAKE_TIN_STATS_…`
const DROPPED: u16 = 4;
const MARKED: u16 = 8;
const SPARSE_FLOWS: u16 = 21;
const BULK_FLOWS: u16 = 22;

impl OnLinux for Cake {
    fn arguments(&self, _: &str) -> Result<String, ScenarioError> {
        let bandwidth = match self.bandwidth.as_bps() {
            0 => "unlimited".to_owned(),
            bps => format!("bandwidth {bps}bit"),
        };
        let mut line = format!(
            "{bandwidth} {} {} rtt {} {} overhead {} mpu {} {}",
            self.diffserv.word(),
            self.isolation.word(),
            micros(self.rtt.as_ns()),
            self.atm.word(),
            self.overhead_bytes,
            self.mpu_bytes,
            self.ack_filter.word(),
        );
        if self.ingress {
            line += " ingress";
        }
        if self.memlimit_bytes > 0 {
            line += &format!(" memlimit {}b", self.memlimit_bytes);
        }
        Ok(line)
    }

    /// Sums over all tins. Drops by a full memory are in no counter: none, unless it was ever full.
    fn xstats(bytes: &[u8], common: Xstats) -> Xstats {
        let number = |kind| attribute(bytes, kind).and_then(|found| known_word(found, 0));
        let full = number(MEMORY_USED).zip(number(MEMORY_LIMIT)).map(|(used, limit)| used > limit);
        let tins: Vec<&[u8]> = attribute(bytes, TINS).map(attributes).unwrap_or_default();
        let sum = |kind| {
            let numbers = tins.iter().map(|tin| known_word(attribute(tin, kind)?, 0));
            let total: Option<u32> = numbers.sum();
            Int::from(total.filter(|_| !tins.is_empty()))
        };
        let none = full == Some(false) || sum(DROPPED).get() == Some(0);
        Xstats {
            dropped_overflow: if none { Int::from(0_u32) } else { Int::UNKNOWN },
            marked: sum(MARKED),
            new_flows: sum(SPARSE_FLOWS),
            old_flows: sum(BULK_FLOWS),
            ..common
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::put_attribute;

    fn statistics(used: u32, tins: &[[u32; 4]]) -> Vec<u8> {
        let mut all = Vec::new();
        put_attribute(&mut all, MEMORY_LIMIT, &1000_u32.to_ne_bytes());
        put_attribute(&mut all, MEMORY_USED, &used.to_ne_bytes());
        let mut nested = Vec::new();
        for (number, tin) in tins.iter().enumerate() {
            let mut one = Vec::new();
            for (kind, value) in [DROPPED, MARKED, SPARSE_FLOWS, BULK_FLOWS].into_iter().zip(tin) {
                put_attribute(&mut one, kind, &value.to_ne_bytes());
            }
            put_attribute(&mut nested, number as u16 + 1, &one);
        }
        put_attribute(&mut all, TINS, &nested);
        all
    }

    #[test]
    fn tins_are_summed() {
        let read = |bytes: &[u8]| {
            let found = Cake::xstats(bytes, Xstats::common(9, 0));
            [found.dropped_overflow, found.marked, found.new_flows, found.old_flows].map(Int::get)
        };
        let tins = [[4, 3, 2, 1], [5, 6, 7, 8]];
        assert_eq!(read(&statistics(1000, &tins)), [Some(0), Some(9), Some(9), Some(9)]);
        assert_eq!(read(&statistics(1001, &tins))[0], None);
        assert_eq!(read(&[]), [None; 4]);
    }
}
