//! Where the caller's values lie in the memory of a module: pages that the caller adds behind it.

/// Bytes of a page.
const PAGE: u32 = 64 << 10;

/// Offset of `struct dumbbell_conn`.
pub(crate) const CONN: u32 = 0;
/// Offset of `struct dumbbell_window`.
pub(crate) const WINDOW: u32 = 256;
/// Offset of a sample or an event.
pub(crate) const SAMPLE: u32 = 320;
/// Offset of a number that a hook gives.
pub(crate) const NUMBER: u32 = 448;
/// Bytes of all these.
pub(crate) const VIEW_BYTES: usize = 512;
/// Offset of the text of a failure.
pub(crate) const MESSAGE: u32 = 512;
/// Bytes of that text.
pub(crate) const MESSAGE_BYTES: u32 = 256;
/// Offset of `struct dumbbell_parameters`, with the list and the names behind it.
pub(crate) const PARAMETERS: u32 = 1024;
/// Alignment of the state, which suits every table.
const STATE_ALIGN: u32 = 4096;

/// Addresses in the memory of an instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    /// First byte.
    pub(crate) base: u32,
    /// State of the connection.
    pub(crate) state: u32,
    /// Pages to add.
    pub(crate) pages: u32,
}

impl Area {
    /// Area at an address for parameters and a state of so many bytes.
    pub(crate) fn new(base: u32, parameters: usize, state: u32) -> Self {
        let at = (PARAMETERS + parameters as u32).next_multiple_of(STATE_ALIGN);
        Self { base, state: base + at, pages: (at + state.max(1)).div_ceil(PAGE) }
    }

    /// Address of an offset.
    pub(crate) fn at(self, offset: u32) -> u32 {
        self.base + offset
    }
}

/// `struct dumbbell_parameters` for an address, with all that it points to.
pub(crate) fn parameters(given: &[(String, f64)], at: u32) -> Vec<u8> {
    let (front, entry) = (8, 16);
    let mut bytes = (at + front).to_le_bytes().to_vec();
    bytes.extend((given.len() as u32).to_le_bytes());
    let mut name_at = at + front + entry * given.len() as u32;
    for (name, value) in given {
        bytes.extend(name_at.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(value.to_le_bytes());
        name_at += name.len() as u32 + 1;
    }
    for (name, _) in given {
        bytes.extend(name.bytes().chain([0]));
    }
    bytes
}
