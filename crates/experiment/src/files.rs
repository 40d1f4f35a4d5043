//! Files that an experiment names: traces of deliveries and of rates, plug-ins. The caller reads them.

use dumbbell_model::catalogue::plugin::Facts;

/// Why a file has no contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It has more bytes than its kind may have.
    TooLarge,
    /// The system's reason.
    Reason(String),
    /// There are no files here, as in a page.
    Nowhere,
}

/// Files beside an experiment.
pub trait Files {
    /// Contents of the file with this name, at most `most_bytes`.
    ///
    /// # Errors
    /// It cannot be read.
    fn read(&self, name: &str, most_bytes: u64) -> Result<Vec<u8>, Unreadable>;

    /// Facts of the plug-in in the file at `path`, declared by `name`. Its name and parameters are the
    /// caller's to fill in.
    ///
    /// # Errors
    /// It cannot be loaded.
    fn plugin(&self, name: &str, path: &str) -> Result<Facts, Unreadable>;
}

/// No files.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str, _: u64) -> Result<Vec<u8>, Unreadable> {
        Err(Unreadable::Nowhere)
    }

    fn plugin(&self, _: &str, _: &str) -> Result<Facts, Unreadable> {
        Err(Unreadable::Nowhere)
    }
}
