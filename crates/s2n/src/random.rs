//! Random numbers of s2n-quic, from the seed of the run.

use dumbbell_stack::random;
use s2n_quic_core::random::Generator;

/// A stream of random numbers. Nothing here needs secrecy.
#[derive(Clone, Debug)]
pub(crate) struct Random(random::Random);

impl Random {
    /// Stream for a purpose: each has its own.
    pub(crate) fn new(seed: &[u8; 32], purpose: u8) -> Self {
        Self(random::Random::new(seed, purpose))
    }

    /// Fills `bytes`.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

impl Generator for Random {
    fn public_random_fill(&mut self, dest: &mut [u8]) {
        self.fill(dest);
    }

    fn private_random_fill(&mut self, dest: &mut [u8]) {
        self.fill(dest);
    }
}
