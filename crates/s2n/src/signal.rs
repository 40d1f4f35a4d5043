//! Wakers of the applications.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::task::{Wake, Waker};

/// Set when somebody is to be polled: an application, or one of its streams.
#[derive(Debug)]
pub(crate) struct Signal {
    set: AtomicBool,
    /// The application's signal, if this is a stream's.
    above: Option<Arc<Self>>,
}

impl Signal {
    /// A signal that is set.
    pub(crate) fn new(above: Option<&Arc<Self>>) -> Arc<Self> {
        Arc::new(Self { set: AtomicBool::new(true), above: above.map(Arc::clone) })
    }

    /// Clears the signal. Returns whether it was set.
    pub(crate) fn take(&self) -> bool {
        self.set.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(Arc::clone(self))
    }

    fn set(&self) {
        self.set.store(true, Ordering::Relaxed);
        if let Some(above) = &self.above {
            above.set();
        }
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.set();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.set();
    }
}
