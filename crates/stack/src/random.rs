//! Random numbers of adapters, from the seed of the run.

/// A stream of random numbers: SplitMix64 (Steele, Lea, Flood 2014). Nothing here needs secrecy.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Stream for a purpose: each has its own.
    pub fn new(seed: &[u8; 32], purpose: u8) -> Self {
        let fold = |state: u64, &byte: &u8| (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let state = seed.iter().chain([&purpose]).fold(0xcbf2_9ce4_8422_2325, fold);
        let mut stream = Self::of(state);
        stream.next();
        stream
    }

    /// Stream from a number.
    pub fn of(state: u64) -> Self {
        Self(state)
    }

    /// The next number.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Fills `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let drawn = self.next().to_le_bytes();
            chunk.copy_from_slice(&drawn[..chunk.len()]);
        }
    }

    /// A seed for a generator of the stack.
    pub fn seed(&mut self) -> [u8; 32] {
        let mut seed = [0; 32];
        self.fill(&mut seed);
        seed
    }
}
