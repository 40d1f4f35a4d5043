//! The application that writes on a connection: writes the bytes due that fit into the send buffer.

use crate::sys;
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::Source;
use dumbbell_model::{writer, Time};
use std::io::{ErrorKind, Result};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Payload of all writes.
static ZEROS: [u8; 1 << 18] = [0; 1 << 18];

/// Writer of a source's data.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    writer: writer::Writer,
    written: Arc<AtomicU64>,
    /// Time at which more bytes are due.
    pub(crate) next: Option<i64>,
}

impl Writer {
    /// Makes a writer. `rng`: the simulator's stream of the same flow.
    pub(crate) fn new(source: Source, rng: Rng) -> Self {
        Self { writer: writer::Writer::new(source, rng), written: Arc::default(), next: None }
    }

    /// Bytes written.
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Returns true if it writes whenever the send buffer has space.
    pub(crate) fn writes_at_once(&self) -> bool {
        self.writer.fills_room()
    }

    /// Returns true if it writes and closes in its own thread, which sleeps in between.
    pub(crate) fn writes_alone(&self) -> bool {
        self.writer.source().rests().is_some()
    }

    /// Begins when the connection is established. Returns true if all bytes are written.
    pub(crate) fn begin(&mut self, now: i64, socket: BorrowedFd<'_>) -> Result<bool> {
        if self.writes_alone() {
            self.begin_alone(socket)?;
            return Ok(false);
        }
        self.next = Some(now);
        self.due(now, socket)
    }

    /// Writes in its own thread, as an ordinary program: its sleeps end with other timers, within the
    /// timer slack. The thread ends when all bytes are written or the connection is closed.
    fn begin_alone(&mut self, socket: BorrowedFd<'_>) -> Result<()> {
        let Some(rest) = self.writer.source().rests() else { return Ok(()) };
        let mut own = Self { next: None, ..self.clone() };
        own.writer.act(Time::ZERO); // It rests by itself.
        let socket = socket.try_clone_to_owned()?;
        // A write fails after the flow's stop: then the thread is done.
        sys::ordinary_program(move || {
            while !own.write(socket.as_fd())? {
                sys::sleep_ns(rest.as_ns());
            }
            sys::shutdown_write(socket.as_fd())
        })
    }

    /// Writes the bytes that became due. Returns true if all bytes are written.
    pub(crate) fn due(&mut self, now: i64, socket: BorrowedFd<'_>) -> Result<bool> {
        self.writer.act(Time::from_ns(self.next.unwrap_or(now) as u64));
        self.next = self.writer.next().map(|at| at.as_ns() as i64);
        self.write(socket)
    }

    /// Fills the send buffer. Returns true if all bytes are written.
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
