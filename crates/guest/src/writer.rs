//! The application that writes on a connection: what it may have written by now, and what fits.

use crate::sys;
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::Source;
use dumbbell_model::{writer, Time};
use std::io::{ErrorKind, Result};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// What is written: its content does not matter.
static ZEROS: [u8; 1 << 18] = [0; 1 << 18];

/// Writes what a source has.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    writer: writer::Writer,
    written: Arc<AtomicU64>,
    /// When it may write more.
    pub(crate) next: Option<i64>,
}

impl Writer {
    /// `rng` is the simulator's for the same flow.
    pub(crate) fn new(source: Source, rng: Rng) -> Self {
        Self { writer: writer::Writer::new(source, rng), written: Arc::default(), next: None }
    }

    /// So much was written.
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// It writes whenever there is room.
    pub(crate) fn writes_at_once(&self) -> bool {
        self.writer.fills_room()
    }

    /// It writes and closes without being told to, and sleeps in between.
    pub(crate) fn writes_alone(&self) -> bool {
        self.writer.source().rests().is_some()
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
        let Some(rest) = self.writer.source().rests() else { return Ok(()) };
        let mut own = Self { next: None, ..self.clone() };
        own.writer.act(Time::ZERO); // It rests by itself.
        let socket = socket.try_clone_to_owned()?;
        // A write fails once the flow has stopped: then there is nothing left to do.
        sys::ordinary_program(move || {
            while !own.write(socket.as_fd())? {
                sys::sleep_ns(rest.as_ns());
            }
            sys::shutdown_write(socket.as_fd())
        })
    }

    /// It may write more now. True: that was all.
    pub(crate) fn due(&mut self, now: i64, socket: BorrowedFd<'_>) -> Result<bool> {
        self.writer.act(Time::from_ns(self.next.unwrap_or(now) as u64));
        self.next = self.writer.next().map(|at| at.as_ns() as i64);
        self.write(socket)
    }

    /// Fills the send buffer. True: that was all.
    pub(crate) fn write(&mut self, socket: BorrowedFd<'_>) -> Result<bool> {
        let call_bytes = self.writer.source().write_bytes();
        while self.writer.left(self.written()) > 0 {
            let most = self.writer.left(self.written()).min(call_bytes) as usize;
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
        Ok(self.writer.is_complete(self.written()))
    }
}
