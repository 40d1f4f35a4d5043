//! A pause of a session that a plug-in asks for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Asks a session to pause after the event that is processed. A plug-in has a copy.
#[derive(Clone, Debug, Default)]
pub struct Pause(Arc<AtomicBool>);

impl Pause {
    /// Asks for a pause.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns true if a pause was asked for, once.
    pub(crate) fn take(&self) -> bool {
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Relaxed)
    }
}
