//! The application that writes on a connection: what it may have written by now, and what fits.

use crate::sys;
use dumbbell_model::scenario::Source;
use std::io::{ErrorKind, Result};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// What is written: its content does not matter.
static ZEROS: [u8; 1 << 18] = [0; 1 << 18];

/// Writes what a source has.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    source: Source,
    written: Arc<AtomicU64>,
    allowed: u64,
    /// When it may write more.
    pub(crate) next: Option<i64>,
}

impl Writer {
    pub(crate) fn new(source: Source) -> Self {
        Self { source, written: Arc::default(), allowed: 0, next: None }
    }

    /// So much was written.
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// It writes whenever there is room.
    pub(crate) fn writes_at_once(&self) -> bool {
        matches!(self.source, Source::Bulk { .. }) && !self.writes_alone()
    }

    /// It writes and closes without being told to, and sleeps in between.
    pub(crate) fn writes_alone(&self) -> bool {
        self.source.rests().is_some()
    }

    /// The connection is established.
    pub(crate) fn begin(&mut self, now: i64, socket: BorrowedFd<'_>) -> Result<bool> {
        if self.writes_alone() {
            self.begin_alone(socket)?;
            return Ok(false);
        }
        self.next = Some(now);
        self.due(now, socket)
    }

    /// Writes in a thread of its own, as an ordinary program does: how long it sleeps depends on the
    /// timers of others, within Linux's slack. It ends when all is written or the connection closed.
    fn begin_alone(&mut self, socket: BorrowedFd<'_>) -> Result<()> {
        let mut own = Self { allowed: u64::MAX, next: None, ..self.clone() };
        let Source::Bulk { bytes, refill } = self.source else { return Ok(()) };
        own.allowed = bytes.unwrap_or(own.allowed);
        let socket = socket.try_clone_to_owned()?;
        // A write fails once the flow has stopped: then there is nothing left to do.
        sys::ordinary_program(move || {
            while !own.write(socket.as_fd())? {
                sys::sleep_ns(refill.as_ns());
            }
            sys::shutdown_write(socket.as_fd())
        })
    }

    /// It may write more now. True: that was all.
    pub(crate) fn due(&mut self, now: i64, socket: BorrowedFd<'_>) -> Result<bool> {
        match self.source {
            Source::Bulk { bytes, .. } => {
                self.allowed = bytes.unwrap_or(u64::MAX);
                self.next = None;
            }
            Source::Periodic { chunk_bytes, interval, bytes } => {
                self.allowed = (self.allowed + chunk_bytes).min(bytes.unwrap_or(u64::MAX));
                let due = self.next.unwrap_or(now);
                self.next = Some(due + interval.as_ns() as i64);
            }
            Source::Session | Source::Subflow => {} // `web` or `mptcp` carries it.
        }
        self.write(socket)
    }

    /// Fills the send buffer. True: that was all.
    pub(crate) fn write(&mut self, socket: BorrowedFd<'_>) -> Result<bool> {
        while self.written() < self.allowed {
            let most = (self.allowed - self.written()).min(self.source.write_bytes()) as usize;
            match sys::send(socket, &ZEROS[..most.min(ZEROS.len())]) {
                Ok(sent) => {
                    self.written.fetch_add(sent as u64, Ordering::Relaxed);
                    if sent < most {
                        return Ok(false); // full
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        let total = match self.source {
            Source::Bulk { bytes, .. } | Source::Periodic { bytes, .. } => bytes,
            Source::Session | Source::Subflow => None,
        };
        Ok(total.is_some_and(|total| self.written() >= total))
    }
}
