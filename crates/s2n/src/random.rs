//! Random numbers of the adapter, from the seed of the run.

use s2n_quic_core::random::Generator;

/// SplitMix64 (Steele, Lea, Flood 2014). Nothing here needs secrecy.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Stream for a purpose: each has its own.
    pub(crate) fn new(seed: &[u8; 32], purpose: u8) -> Self {
        let fold = |state: u64, &byte: &u8| (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let state = seed.iter().chain([&purpose]).fold(0xcbf2_9ce4_8422_2325, fold);
        let mut stream = Self(state);
        stream.next();
        stream
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Fills `bytes`.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let drawn = self.next().to_le_bytes();
            chunk.copy_from_slice(&drawn[..chunk.len()]);
        }
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
