//! Random streams derived by name, so that adding a part does not reshuffle the others.
//!
//! Generator: xoshiro256++ (Blackman & Vigna 2019), seeded from SHA-256 of seed and name.

use sha2::{Digest, Sha256};

/// Random stream of one named part of one run.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// Stream `name` (for example `link/p1/forward/loss`) of the run with this seed.
    pub fn named(seed: u64, name: &str) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(seed.to_le_bytes());
        hasher.update(name.as_bytes());
        let hash = hasher.finalize();
        let mut state = [0; 4];
        for (word, bytes) in state.iter_mut().zip(hash.chunks_exact(8)) {
            *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        }
        // The generator needs a state other than zero. No input with a SHA-256 of zeros is known.
        state[0] |= u64::from(state == [0; 4]);
        Self { state }
    }

    /// Returns 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Returns a uniform number in `0..bound` by multiplication (Lemire 2019, bias below 2^-64·bound);
    /// 0 if the bound is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns true with this probability (0–1, resolution 2^-53).
    pub fn chance(&mut self, probability: f64) -> bool {
        ((self.next_u64() >> 11) as f64) < probability * (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_stable_and_independent_by_name() {
        let first = |seed, name| Rng::named(seed, name).next_u64();
        assert_eq!(first(1, "a"), first(1, "a"));
        assert_ne!(first(1, "a"), first(1, "b"));
        assert_ne!(first(1, "a"), first(2, "a"));
    }

    #[test]
    fn chance_has_its_mean_and_its_ends() {
        let mut rng = Rng::named(7, "test");
        let hits = (0..100_000).filter(|_| rng.chance(0.01)).count();
        // Binomial(100 000, 0.01): mean 1000, σ 31.5; six σ.
        assert!((811..=1189).contains(&hits), "{hits}");
        assert!((0..1000).all(|_| !rng.chance(0.0)));
        assert!((0..1000).all(|_| rng.chance(1.0)));
        assert!((0..1000).all(|_| rng.below(7) < 7));
    }
}
