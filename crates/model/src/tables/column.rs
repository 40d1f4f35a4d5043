//! Columns of result tables, packed: runs of a million flows have 60 numbers in each row.
//!
//! Every [`BLOCK_ROWS`] values become a block: whole numbers as differences from the smallest of the
//! block, with as many bytes as the largest difference needs; texts without the prefix that all of the
//! block share; a block of equal values as one value.

/// Rows of a block.
pub const BLOCK_ROWS: usize = 1024;

/// Values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Integers.
    Int(Packed<Ints>),
    /// Floats.
    Float(Packed<Floats>),
    /// Texts.
    Text(Packed<Texts>),
}

impl Column {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Int(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Packs all values, so that no memory is kept for more.
    pub fn seal(&mut self) {
        match self {
            Self::Int(values) => values.seal(),
            Self::Float(values) => values.seal(),
            Self::Text(values) => values.seal(),
        }
    }

    /// Appends the values of another column of the same type; those of another type are left out.
    pub fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Int(values), Self::Int(others)) => values.append(others),
            (Self::Float(values), Self::Float(others)) => values.append(others),
            (Self::Text(values), Self::Text(others)) => values.append(others),
            _ => {}
        }
    }
}

/// Values that are not packed yet, and how they are packed.
pub trait Values: Default + 'static {
    /// A value.
    type Value<'a>;
    /// A block of values.
    type Block;
    /// Number of values.
    fn len(&self) -> usize;
    /// Returns true if there are no values.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Adds a value.
    fn push(&mut self, value: Self::Value<'_>);
    /// Packs all values and forgets them.
    fn pack(&mut self) -> Self::Block;
    /// Calls `f` with each value.
    fn each(&self, f: &mut impl FnMut(Self::Value<'_>));
    /// Calls `f` with each value of a block.
    fn each_packed(block: &Self::Block, f: &mut impl FnMut(Self::Value<'_>));
    /// Number of values of a block.
    fn packed_len(block: &Self::Block) -> usize;
}

/// Blocks of packed values, and the last values.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed<V: Values> {
    blocks: Vec<V::Block>,
    last: V,
    packed: usize,
}

impl<V: Values> Default for Packed<V> {
    fn default() -> Self {
        Self { blocks: Vec::new(), last: V::default(), packed: 0 }
    }
}

impl<V: Values> Packed<V> {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.packed + self.last.len()
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a value.
    pub fn push(&mut self, value: V::Value<'_>) {
        self.last.push(value);
        if self.last.len() == BLOCK_ROWS {
            self.close();
        }
    }

    /// Packs the last values.
    fn close(&mut self) {
        if !self.last.is_empty() {
            self.packed += self.last.len();
            self.blocks.push(self.last.pack());
        }
    }

    /// Packs all values, so that no memory is kept for more.
    fn seal(&mut self) {
        self.close();
        self.last = V::default();
    }

    /// Appends other values.
    pub fn append(&mut self, mut other: Self) {
        if other.blocks.is_empty() {
            other.last.each(&mut |value| self.push(value));
            return;
        }
        self.close();
        self.packed += other.packed;
        self.blocks.append(&mut other.blocks);
        self.last = other.last;
    }

    /// Calls `f` with each value, in order.
    pub fn each(&self, mut f: impl FnMut(V::Value<'_>)) {
        self.blocks.iter().for_each(|block| V::each_packed(block, &mut f));
        self.last.each(&mut f);
    }

    /// Removes about the first `rows` values in whole blocks, and calls `f` with each; all of them if
    /// fewer are left. Columns that were filled together give equally many.
    pub fn take(&mut self, rows: usize, mut f: impl FnMut(V::Value<'_>)) {
        self.close();
        let mut taken = 0;
        let begun = |block: &V::Block| {
            let begins = taken < rows;
            taken += V::packed_len(block);
            begins
        };
        let count = self.blocks.iter().map(begun).take_while(|&begins| begins).count();
        for block in self.blocks.drain(..count) {
            self.packed -= V::packed_len(&block);
            V::each_packed(&block, &mut f);
        }
    }
}

impl Packed<Ints> {
    /// All values.
    pub fn to_vec(&self) -> Vec<i64> {
        let mut values = Vec::with_capacity(self.len());
        self.each(|value| values.push(value));
        values
    }
}

impl Packed<Floats> {
    /// All values.
    pub fn to_vec(&self) -> Vec<f64> {
        let mut values = Vec::with_capacity(self.len());
        self.each(|value| values.push(value));
        values
    }
}

impl Packed<Texts> {
    /// All values.
    pub fn to_vec(&self) -> Vec<String> {
        let mut values = Vec::with_capacity(self.len());
        self.each(|value| values.push(value.to_owned()));
        values
    }
}

/// Integers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ints(Vec<i64>);

/// A block of integers.
#[derive(Clone, Debug, PartialEq)]
pub struct IntBlock {
    least: i64,
    rows: u32,
    /// Differences from `least`, little-endian, equally many bytes each.
    bytes: Box<[u8]>,
}

impl Values for Ints {
    type Value<'a> = i64;
    type Block = IntBlock;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn push(&mut self, value: i64) {
        self.0.push(value);
    }

    fn pack(&mut self) -> IntBlock {
        let least = self.0.iter().copied().min().unwrap_or(0);
        let most = self.0.iter().copied().max().unwrap_or(0);
        let width = (64 - most.abs_diff(least).leading_zeros()).div_ceil(8) as usize;
        let mut bytes = Vec::with_capacity(width * self.0.len());
        for value in &self.0 {
            bytes.extend_from_slice(&value.abs_diff(least).to_le_bytes()[..width]);
        }
        let block = IntBlock { least, rows: self.0.len() as u32, bytes: bytes.into() };
        self.0.clear();
        block
    }

    fn each(&self, f: &mut impl FnMut(i64)) {
        self.0.iter().copied().for_each(f);
    }

    fn each_packed(block: &IntBlock, f: &mut impl FnMut(i64)) {
        let width = block.bytes.len() / block.rows.max(1) as usize;
        if width == 0 {
            return (0..block.rows).for_each(|_| f(block.least));
        }
        for bytes in block.bytes.chunks_exact(width) {
            let mut word = [0; 8];
            word[..width].copy_from_slice(bytes);
            f(block.least.wrapping_add_unsigned(u64::from_le_bytes(word)));
        }
    }

    fn packed_len(block: &IntBlock) -> usize {
        block.rows as usize
    }
}

/// Floats.
#[derive(Clone, Debug, Default)]
pub struct Floats(Vec<f64>);

impl PartialEq for Floats {
    /// Compares bits: two unknown values are equal.
    fn eq(&self, other: &Self) -> bool {
        self.0.iter().map(|v| v.to_bits()).eq(other.0.iter().map(|v| v.to_bits()))
    }
}

/// A block of floats: the bits of one value for all, or of each.
#[derive(Clone, Debug, PartialEq)]
pub struct FloatBlock {
    rows: u32,
    bits: Box<[u64]>,
}

impl Values for Floats {
    type Value<'a> = f64;
    type Block = FloatBlock;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    fn pack(&mut self) -> FloatBlock {
        let rows = self.0.len() as u32;
        let mut bits: Vec<u64> = self.0.drain(..).map(f64::to_bits).collect();
        if bits.iter().all(|&one| one == bits[0]) {
            bits.truncate(1);
        }
        FloatBlock { rows, bits: bits.into() }
    }

    fn each(&self, f: &mut impl FnMut(f64)) {
        self.0.iter().copied().for_each(f);
    }

    fn each_packed(block: &FloatBlock, f: &mut impl FnMut(f64)) {
        match &block.bits[..] {
            &[bits] => (0..block.rows).for_each(|_| f(f64::from_bits(bits))),
            each => each.iter().for_each(|&bits| f(f64::from_bits(bits))),
        }
    }

    fn packed_len(block: &FloatBlock) -> usize {
        block.rows as usize
    }
}

/// Texts, one behind the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texts {
    all: String,
    /// End of each text.
    ends: Vec<u32>,
}

impl Texts {
    fn iter(&self) -> impl Iterator<Item = &str> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, &end)| &self.all[begin as usize..end as usize])
    }
}

/// A block of texts.
#[derive(Clone, Debug, PartialEq)]
pub struct TextBlock {
    /// Beginning that all texts share.
    prefix: Box<str>,
    /// The rest of each text, one behind the other.
    rests: Box<str>,
    /// Length of each rest.
    lengths: IntBlock,
}

impl Values for Texts {
    type Value<'a> = &'a str;
    type Block = TextBlock;

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn push(&mut self, value: &str) {
        self.all.push_str(value);
        self.ends.push(self.all.len() as u32);
    }

    fn pack(&mut self) -> TextBlock {
        let mut texts = self.iter();
        let mut prefix = texts.next().unwrap_or("");
        for text in texts {
            if text.starts_with(prefix) {
                continue;
            }
            let same = prefix.char_indices().zip(text.char_indices());
            let same = same.take_while(|(a, b)| a == b).last();
            prefix = &prefix[..same.map_or(0, |((at, last), _)| at + last.len_utf8())];
        }
        let rests: Vec<&str> = self.iter().map(|text| &text[prefix.len()..]).collect();
        let lengths = Ints(rests.iter().map(|rest| rest.len() as i64).collect()).pack();
        let block = TextBlock { prefix: prefix.into(), rests: rests.concat().into(), lengths };
        self.all.clear();
        self.ends.clear();
        block
    }

    fn each(&self, f: &mut impl FnMut(&str)) {
        self.iter().for_each(f);
    }

    fn each_packed(block: &TextBlock, f: &mut impl FnMut(&str)) {
        let (mut text, mut at) = (String::from(&*block.prefix), 0);
        Ints::each_packed(&block.lengths, &mut |length| {
            text.truncate(block.prefix.len());
            text.push_str(&block.rests[at..at + length as usize]);
            at += length as usize;
            f(&text);
        });
    }

    fn packed_len(block: &TextBlock) -> usize {
        block.lengths.rows as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_come_back(values in prop::collection::vec(any::<i64>(), 0..3000), low in 0u32..64) {
            let values: Vec<i64> = values.into_iter().map(|value| value >> low).collect();
            let mut packed = Packed::<Ints>::default();
            values.iter().for_each(|&value| packed.push(value));
            prop_assert_eq!(packed.len(), values.len());
            prop_assert_eq!(packed.to_vec(), values);
        }

        #[test]
        fn texts_come_back(values in prop::collection::vec("w[eé]b\\.[0-9é]{0,3}|", 0..2100)) {
            let mut packed = Packed::<Texts>::default();
            values.iter().for_each(|value| packed.push(value));
            prop_assert_eq!(packed.to_vec(), values);
        }

        #[test]
        fn floats_come_back(bits in prop::collection::vec(any::<u64>(), 0..2100), same in any::<bool>()) {
            let mut packed = Packed::<Floats>::default();
            let bits: Vec<u64> = if same { vec![f64::NAN.to_bits(); bits.len()] } else { bits };
            bits.iter().for_each(|&bits| packed.push(f64::from_bits(bits)));
            let found: Vec<u64> = packed.to_vec().into_iter().map(f64::to_bits).collect();
            prop_assert_eq!(found, bits);
        }

        #[test]
        fn parts_are_joined_in_order(sizes in prop::collection::vec(0usize..2100, 0..5), rows in 1usize..3000) {
            let mut packed = Packed::<Ints>::default();
            let mut next = 0;
            for size in sizes {
                let mut part = Packed::default();
                (0..size).for_each(|_| {
                    part.push(next);
                    next += 1;
                });
                packed.append(part);
            }
            prop_assert_eq!(packed.to_vec(), (0..next).collect::<Vec<i64>>());
            let mut taken = Vec::new();
            while !packed.is_empty() {
                let before = packed.len();
                packed.take(rows, |value| taken.push(value));
                prop_assert!(before - packed.len() >= rows.min(before));
            }
            prop_assert_eq!(taken, (0..next).collect::<Vec<i64>>());
        }
    }

    #[test]
    fn rows_of_similar_flows_take_few_bytes() {
        let mut times = Packed::<Ints>::default();
        let mut names = Packed::<Texts>::default();
        let mut unknown = Packed::<Floats>::default();
        for flow in 0..BLOCK_ROWS as i64 {
            times.push(600_000_000_000 + flow * 4_000_000); // 22 bits of differences: 4 bytes
            names.push(&format!("web.{}", 500_000 + flow)); // "web.50" is shared
            unknown.push(f64::NAN);
        }
        assert_eq!(times.blocks[0].bytes.len(), 4 * BLOCK_ROWS);
        assert_eq!(&*names.blocks[0].prefix, "web.50");
        assert_eq!(names.blocks[0].rests.len(), 4 * BLOCK_ROWS);
        assert_eq!(unknown.blocks[0].bits.len(), 1);
    }
}
