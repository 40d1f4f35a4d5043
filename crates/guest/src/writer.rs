//! The application that writes on a connection: what it may have written by now, and what fits.

use crate::sys;
use dumbbell_model::scenario::Source;
use std::io::{ErrorKind, Result};
use std::os::fd::BorrowedFd;

/// What is written: its content does not matter.
static ZEROS: [u8; 65536] = [0; 65536];

/// Writes what a source has.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    source: Source,
    pub(crate) written: u64,
    allowed: u64,
    /// When it may write more.
    pub(crate) next: Option<i64>,
}

impl Writer {
    pub(crate) fn new(source: Source) -> Self {
        Self { source, written: 0, allowed: 0, next: None }
    }

    /// It writes whenever there is room.
    pub(crate) fn writes_at_once(&self) -> bool {
        matches!(self.source, Source::Bulk { refill, .. } if refill.is_zero())
    }

    /// The connection is established.
    pub(crate) fn begin(&mut self, now: i64, socket: BorrowedFd<'_>) -> Result<bool> {
        self.next = Some(now);
        self.due(now, socket)
    }

    /// It may write more now. True: that was all.
    pub(crate) fn due(&mut self, now: i64, socket: BorrowedFd<'_>) -> Result<bool> {
        match self.source {
            Source::Bulk { bytes, refill } => {
                self.allowed = bytes.unwrap_or(u64::MAX);
                self.next = (!refill.is_zero()).then(|| now + refill.as_ns() as i64);
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
        while self.written < self.allowed {
            let most = (self.allowed - self.written).min(ZEROS.len() as u64) as usize;
            match sys::send(socket, &ZEROS[..most]) {
                Ok(sent) => {
                    self.written += sent as u64;
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
        Ok(total.is_some_and(|total| self.written >= total))
    }
}
