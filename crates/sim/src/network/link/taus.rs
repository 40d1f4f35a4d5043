//! Linux's seeded random numbers: the combined Tausworthe generator of L'Ecuyer 1999, taus113
//! (`prandom_u32_state`), and what netem draws with it.

/// Value of a table for one standard deviation (`NETEM_DIST_SCALE`).
const SCALE: i64 = 8192;

/// State of the generator.
#[derive(Clone, Debug)]
pub(super) struct Taus([u32; 4]);

impl Taus {
    /// Generator with a seed (`prandom_seed_state`): each part has a smallest value.
    pub(super) fn new(seed: u64) -> Self {
        let mixed = ((seed >> 32) ^ (seed << 10) ^ seed) as u32;
        Self([2, 8, 16, 128].map(|least| if mixed < least { mixed + least } else { mixed }))
    }

    pub(super) fn next(&mut self) -> u32 {
        const PARTS: [(u32, u32, u32, u32); 4] =
            [(6, 13, !1, 18), (2, 27, !7, 2), (13, 21, !15, 7), (3, 12, !127, 13)];
        for (part, (left, right, mask, up)) in self.0.iter_mut().zip(PARTS) {
            *part = ((*part & mask) << up) ^ (((*part << left) ^ *part) >> right);
        }
        self.0.iter().fold(0, |all, part| all ^ part)
    }

    /// Draws a time around a mean, ns (`tabledist`). `table`: `None` for the uniform distribution within
    /// `spread` of the mean.
    pub(super) fn time(
        &mut self,
        mean: i64,
        spread: i64,
        table: Option<&[i16]>,
        memory: Option<&mut Memory>,
    ) -> i64 {
        if spread == 0 {
            return mean;
        }
        let number = match memory {
            Some(memory) => memory.next(self),
            None => self.next(),
        };
        let Some(table) = table else {
            return i64::from(number) % (2 * spread) + mean - spread;
        };
        let value =
            table.get(number as usize % table.len().max(1)).map_or(0, |one| i64::from(*one));
        let rest = (spread % SCALE) * value;
        let rounded = if rest >= 0 { rest + SCALE / 2 } else { rest - SCALE / 2 };
        rounded / SCALE + (spread / SCALE) * value + mean
    }
}

/// The number before, which has a weight in the next one (`struct crndstate`).
#[derive(Clone, Debug)]
pub(super) struct Memory {
    weight: u32,
    last: u32,
}

impl Memory {
    /// `last`: the kernel takes one that nobody knows.
    pub(super) fn new(weight: u32, last: u32) -> Self {
        Self { weight, last }
    }

    /// Next number (`get_crandom`).
    pub(super) fn next(&mut self, taus: &mut Taus) -> u32 {
        let value = u64::from(taus.next());
        if self.weight == 0 {
            return value as u32;
        }
        let weight = u64::from(self.weight) + 1;
        let mixed = value * ((1 << 32) - weight) + u64::from(self.last) * weight;
        self.last = (mixed >> 32) as u32;
        self.last
    }

    /// Returns true with a probability; 0 draws nothing.
    pub(super) fn strikes(&mut self, probability: u32, taus: &mut Taus) -> bool {
        probability > 0 && probability >= self.next(taus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L'Ecuyer 1999, table 1: the parts of taus113 have periods of 2³¹ − 1, 2²⁹ − 1, 2²⁸ − 1, 2²⁵ − 1. The
    /// shortest comes back after its period, and not before.
    #[test]
    fn the_last_part_has_its_period() {
        let mut taus = Taus::new(1);
        let first = taus.0[3] & !127;
        let mut period = 0_u64;
        loop {
            taus.next();
            period += 1;
            if taus.0[3] & !127 == first || period > 1 << 26 {
                break;
            }
        }
        assert_eq!(period, (1 << 25) - 1);
    }

    /// A weight of w gives the mean 1/2 and, over numbers one apart, the correlation w.
    #[test]
    fn numbers_are_as_correlated_as_the_weight_says() {
        let (mut taus, mut memory) = (Taus::new(7), Memory::new(1 << 30, 0));
        let numbers: Vec<f64> =
            (0..200_000).map(|_| f64::from(memory.next(&mut taus)) / 4_294_967_296.0).collect();
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        let product = |apart: usize| {
            numbers.iter().zip(&numbers[apart..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>()
        };
        let correlation = product(1) / product(0);
        assert!((mean - 0.5).abs() < 0.005 && (correlation - 0.25).abs() < 0.01, "{correlation}");
    }

    #[test]
    fn a_table_gives_its_values_around_the_mean() {
        let mut taus = Taus::new(3);
        let table = [-8192, 0, 4096];
        for _ in 0..50 {
            let time = taus.time(1_000_000, 10_001, Some(&table), None);
            assert!([989_999, 1_000_000, 1_005_001].contains(&time), "{time}");
        }
    }
}
