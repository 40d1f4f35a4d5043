//! A file that tells where a run is: virtual time, and the plug-in's hook that is being executed.

use memmap2::{MmapMut, MmapOptions};
use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Bytes of the file: virtual time in ns (8), 1 inside of a hook (4), number of the flow among those
/// with plug-ins (4).
pub const PAGE_BYTES: usize = 16;

/// The file, mapped.
#[derive(Debug)]
pub struct Page {
    bytes: MmapMut,
}

#[expect(unsafe_code, reason = "the file is a page of this run alone, and its cells are atomic")]
impl Page {
    /// Maps a file of [`PAGE_BYTES`].
    ///
    /// # Errors
    /// The file cannot be mapped.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        // SAFETY: nobody makes the file shorter.
        let bytes = unsafe { MmapOptions::new().len(PAGE_BYTES).map_mut(&file)? };
        Ok(Self { bytes })
    }

    /// A page that nobody reads.
    ///
    /// # Errors
    /// There is no memory.
    pub fn private() -> io::Result<Self> {
        Ok(Self { bytes: MmapOptions::new().len(PAGE_BYTES).map_anon()? })
    }

    fn time(&self) -> &AtomicU64 {
        // SAFETY: a mapping begins at a page, and is long enough.
        unsafe { &*self.bytes.as_ptr().cast::<AtomicU64>() }
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: as above; `at` is 8 or 12.
        unsafe { &*self.bytes.as_ptr().add(at).cast::<AtomicU32>() }
    }

    /// Tells the time that the run has reached.
    pub fn reached(&self, at_ns: u64) {
        self.time().store(at_ns, Ordering::Relaxed);
    }

    /// Tells that a hook of a flow begins.
    pub(crate) fn enter(&self, flow: u32, at_ns: u64) {
        self.time().store(at_ns, Ordering::Relaxed);
        self.word(12).store(flow, Ordering::Relaxed);
        self.word(8).store(1, Ordering::Relaxed);
    }

    /// Tells that the hook is over.
    pub(crate) fn leave(&self) {
        self.word(8).store(0, Ordering::Relaxed);
    }
}
