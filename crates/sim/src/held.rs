//! Inputs of a run: lent to it, or shared with it.

use std::ops::Deref;
use std::sync::Arc;

/// A value that a run only reads. A run that is called borrows it; a session, which outlives the
/// call, shares it.
pub(crate) enum Held<'a, T: ?Sized> {
    /// Borrowed from the caller.
    Lent(&'a T),
    /// Shared with others.
    Shared(Arc<T>),
}

impl<T: ?Sized> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Lent(value) => value,
            Self::Shared(value) => value,
        }
    }
}
