//! Set of the packets of a flow that have arrived, to recognise duplicates of the network.

use std::collections::BTreeMap;

/// Packet numbers as runs without a gap: first → one past the last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrived {
    runs: BTreeMap<u64, u64>,
}

impl Arrived {
    /// Adds a packet number. Returns false if it was there already.
    pub(crate) fn insert(&mut self, number: u64) -> bool {
        let before = self.runs.range(..=number).next_back().map(|(&first, &end)| (first, end));
        if before.is_some_and(|(_, end)| number < end) {
            return false;
        }
        let end = self.runs.remove(&(number + 1)).unwrap_or(number + 1);
        match before {
            Some((first, until)) if until == number => self.runs.insert(first, end),
            _ => self.runs.insert(number, end),
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_number_is_new_once(numbers in prop::collection::vec(0_u64..60, 0..300)) {
            let (mut arrived, mut all) = (Arrived::default(), BTreeSet::new());
            for number in numbers {
                prop_assert_eq!(arrived.insert(number), all.insert(number));
                let runs: Vec<u64> = arrived.runs.iter().flat_map(|(&a, &b)| a..b).collect();
                prop_assert_eq!(runs, all.iter().copied().collect::<Vec<_>>());
                let gaps = arrived.runs.iter().zip(arrived.runs.iter().skip(1));
                prop_assert!(gaps.into_iter().all(|((_, end), (start, _))| end < start));
            }
        }
    }
}
