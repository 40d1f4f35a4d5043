//! A byte stream between two hosts, by TCP or Multipath TCP: its sockets, the sending and the receiving
//! application.

use crate::application::{Side, Wait};
use crate::info::TcpInfo;
use crate::sys;
use crate::writer::Writer;
use dumbbell_model::scenario::{Algorithm, Sink, Tcp};
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Maximum bytes per read.
pub(super) const READ_BYTES: usize = 1 << 20;
/// Stack of the thread that reads.
const STACK_BYTES: usize = 65_536;
/// Interval of reads of a rate-limited reader.
const PACED_READ_NS: i64 = 10_000_000;
/// TCP_ESTABLISHED in `tcp_info`.
pub(super) const ESTABLISHED: u8 = 1;

/// Phase of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Waiting,
    Connecting,
    Writing,
    /// All bytes are written; the sender waits for the last ACK.
    Closing,
    Finished {
        at: i64,
    },
    /// TCP gave the connection up, or its peer reset it.
    GivenUp {
        at: i64,
    },
}

/// Callbacks of a kind of stream.
pub(super) trait Notes {
    /// Called when the connection is established.
    fn connected(&mut self, _stream: &Stream) -> Result<()> {
        Ok(())
    }

    /// Called when the sending socket hangs up. Returns true if the connection is closed.
    fn closed(&mut self, stream: &Stream) -> Result<bool>;

    /// Called when the receiver has read all data, before its socket is closed.
    fn read_all(&mut self, stream: &Stream) -> Result<()>;
}

/// Both ends of a stream.
pub(super) struct Stream {
    pub(super) phase: Phase,
    pub(super) start: i64,
    stop: i64,
    pub(super) established: Option<i64>,
    pub(super) last_delivery: Option<i64>,
    pub(super) writer: Writer,
    sink: Sink,
    listener: OwnedFd,
    pub(super) sender: OwnedFd,
    pub(super) receiver: Option<OwnedFd>,
    /// True if the receiver has read all data and is closed.
    pub(super) has_read_all: bool,
    next_read: Option<i64>,
    target: libc::sockaddr_in,
    sender_ready: bool,
    receiver_ready: bool,
    /// Stream that ends when a reader without a rate limit has read all data.
    ended: Option<UnixStream>,
}

/// Sockets and applications of a new stream.
pub(super) struct Parts {
    pub(super) listener: OwnedFd,
    pub(super) sender: OwnedFd,
    pub(super) target: libc::sockaddr_in,
    pub(super) writer: Writer,
    pub(super) sink: Sink,
    pub(super) start: i64,
    pub(super) stop: i64,
}

/// Length of BBR v1's `tcp_bbr_info`.
const BBR_INFO_BYTES: usize = 20;

/// Sets the congestion control of a socket.
pub(super) fn set_congestion_control(socket: BorrowedFd<'_>, algorithm: Algorithm) -> Result<()> {
    let name = algorithm.linux_name();
    sys::set_option_bytes(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes())
        .map_err(|error| Error::other(format!("congestion control {name}: {error}")))?;
    check_version(socket, algorithm)
}

/// TCP_NOTSENT_LOWAT (`include/uapi/linux/tcp.h`).
const NOTSENT_LOWAT: libc::c_int = 25;

/// Sets TCP_NODELAY and TCP_NOTSENT_LOWAT if the flow has them.
pub(super) fn set_socket_options(socket: BorrowedFd<'_>, spec: &Tcp) -> Result<()> {
    if spec.nodelay() {
        sys::set_option(socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
    }
    match spec.notsent_lowat_bytes {
        Some(bytes) => sys::set_option(socket, libc::IPPROTO_TCP, NOTSENT_LOWAT, bytes as i32),
        None => Ok(()),
    }
}

/// Checks the version of BBR: both have the name `bbr`, and their `tcp_bbr_info` differ in length.
fn check_version(socket: BorrowedFd<'_>, algorithm: Algorithm) -> Result<()> {
    let asked = match algorithm {
        Algorithm::Bbr => 1,
        Algorithm::Bbr3 => 3,
        _ => return Ok(()),
    };
    let mut info = [0; 128];
    let length = sys::get_option(socket, libc::IPPROTO_TCP, libc::TCP_CC_INFO, &mut info)?;
    let found = if length > BBR_INFO_BYTES { 3 } else { 1 };
    if found == asked {
        return Ok(());
    }
    let how = if asked == 3 {
        "BBR v3 needs a kernel with its patch: dumbbell kernel build --release 6.12 --patch FILE --name bbr3"
    } else {
        "choose another kernel for BBR v1"
    };
    Err(Error::other(format!(
        "the congestion control bbr of this kernel is version {found}; {how}"
    )))
}

/// Reads in its own thread. The returned stream ends with the connection.
fn read_at_once(receiver: OwnedFd) -> Result<UnixStream> {
    let (here, there) = UnixStream::pair()?;
    let read = move || {
        sys::discard_all(receiver.as_fd());
        drop(there);
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(read)?;
    Ok(here)
}

impl Stream {
    pub(super) fn new(parts: Parts) -> Self {
        Self {
            phase: Phase::Waiting,
            start: parts.start,
            stop: parts.stop,
            established: None,
            last_delivery: None,
            writer: parts.writer,
            sink: parts.sink,
            listener: parts.listener,
            sender: parts.sender,
            receiver: None,
            has_read_all: false,
            next_read: None,
            target: parts.target,
            sender_ready: false,
            receiver_ready: false,
            ended: None,
        }
    }

    /// Returns true while the connection is established and not finished.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Writing | Phase::Closing)
    }

    /// Time at which the stream finished, or the end of the run.
    pub(super) fn finished_at(&self, end: i64) -> i64 {
        match self.phase {
            Phase::Finished { at } | Phase::GivenUp { at } => at,
            _ => end,
        }
    }

    pub(super) fn next(&self) -> Option<i64> {
        let started = (self.phase == Phase::Waiting).then_some(self.start);
        let stop = (self.phase == Phase::Writing).then_some(self.stop);
        [started, stop, self.writer.next, self.next_read].into_iter().flatten().min()
    }

    pub(super) fn waits(&self) -> Vec<Wait<'_>> {
        let mut found = Vec::with_capacity(3);
        let sender = self.sender.as_fd();
        let events = match self.phase {
            Phase::Connecting => Some(libc::POLLOUT),
            Phase::Writing if self.writer.writes_at_once() => Some(libc::POLLOUT),
            Phase::Writing if self.writer.writes_alone() => Some(0), // POLLHUP
            Phase::Closing => Some(0),                               // POLLHUP
            Phase::Waiting | Phase::Writing | Phase::Finished { .. } | Phase::GivenUp { .. } => {
                None
            }
        };
        found.extend(events.map(|events| (Side::Sender, sender, events)));
        match &self.receiver {
            Some(receiver) if self.sink.rate_bps.is_none() => {
                let fd = self.ended.as_ref().map_or(receiver.as_fd(), AsFd::as_fd);
                found.push((Side::Receiver, fd, libc::POLLIN));
            }
            None if self.accepts() => {
                found.push((Side::Receiver, self.listener.as_fd(), libc::POLLIN));
            }
            Some(_) | None => {}
        }
        found
    }

    fn accepts(&self) -> bool {
        (self.is_open() || self.phase == Phase::Connecting) && !self.has_read_all
    }

    pub(super) fn happened(&mut self, side: Side) {
        match side {
            Side::Sender => self.sender_ready = true,
            Side::Receiver => self.receiver_ready = true,
            Side::Manager => {}
        }
    }

    /// Performs the actions that are due.
    pub(super) fn turn(&mut self, now: i64, notes: &mut dyn Notes) -> Result<()> {
        let sender_ready = std::mem::take(&mut self.sender_ready);
        match self.phase {
            Phase::Waiting if now >= self.start => {
                self.start = now;
                sys::connect(self.sender.as_fd(), &self.target)?;
                self.phase = Phase::Connecting;
            }
            Phase::Connecting if sender_ready => self.connected(now, notes)?,
            Phase::Writing if sender_ready && self.writer.writes_alone() => {
                self.closed(now, notes)?;
            }
            Phase::Writing => self.write(now, sender_ready)?,
            Phase::Closing if sender_ready => self.closed(now, notes)?,
            Phase::Waiting
            | Phase::Connecting
            | Phase::Closing
            | Phase::Finished { .. }
            | Phase::GivenUp { .. } => {}
        }
        if std::mem::take(&mut self.receiver_ready) {
            match self.receiver {
                None => self.accept()?,
                Some(_) => self.read(now, notes)?,
            }
        }
        if self.next_read.is_some_and(|at| now >= at) {
            self.read(now, notes)?;
        }
        Ok(())
    }

    fn write(&mut self, now: i64, sender_ready: bool) -> Result<()> {
        let sender = self.sender.as_fd();
        let wrote = if self.writer.next.is_some_and(|at| now >= at) {
            self.writer.due(now, sender)
        } else if sender_ready {
            self.writer.write(sender)
        } else {
            Ok(false)
        };
        match wrote {
            Ok(all) if all || now >= self.stop => self.close(now),
            Ok(_) => Ok(()),
            Err(error) => self.gives_up(now, error),
        }
    }

    /// Ends the stream if an error says that its connection is gone.
    ///
    /// # Errors
    /// Another error.
    fn gives_up(&mut self, now: i64, error: Error) -> Result<()> {
        let gone =
            [libc::ETIMEDOUT, libc::EHOSTUNREACH, libc::ECONNRESET, libc::EPIPE, libc::ENOTCONN];
        if !error.raw_os_error().is_some_and(|number| gone.contains(&number)) {
            return Err(error);
        }
        self.writer.next = None;
        self.phase = Phase::GivenUp { at: now };
        Ok(())
    }

    /// Error that the socket holds; 0 without one (`SO_ERROR`).
    fn pending_error(&self) -> Result<i32> {
        let mut pending = [0; 4];
        sys::get_option(self.sender.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR, &mut pending)?;
        Ok(i32::from_ne_bytes(pending))
    }

    fn connected(&mut self, now: i64, notes: &mut dyn Notes) -> Result<()> {
        if self.pending_error()? != 0 {
            self.phase = Phase::GivenUp { at: now }; // Nobody answers.
            return Ok(());
        }
        if TcpInfo::of(self.sender.as_fd())?.state() != ESTABLISHED {
            return Ok(());
        }
        self.established = Some(now);
        notes.connected(self)?;
        self.phase = Phase::Writing;
        if self.writer.begin(now, self.sender.as_fd())? {
            self.close(now)?;
        }
        Ok(())
    }

    fn close(&mut self, now: i64) -> Result<()> {
        self.writer.next = None;
        self.phase = Phase::Closing;
        sys::shutdown_write(self.sender.as_fd()).or_else(|error| self.gives_up(now, error))
    }

    fn closed(&mut self, now: i64, notes: &mut dyn Notes) -> Result<()> {
        if !notes.closed(self)? {
            return Ok(());
        }
        self.phase = match self.pending_error()? {
            0 => Phase::Finished { at: now },
            _ => Phase::GivenUp { at: now },
        };
        Ok(())
    }

    fn accept(&mut self) -> Result<()> {
        if !self.accepts() {
            return Ok(());
        }
        match sys::accept(self.listener.as_fd()) {
            Ok(receiver) => {
                let low = self.sink.lowat_bytes.min(i32::MAX as u64) as i32;
                if low > 1 {
                    sys::set_option(receiver.as_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, low)?;
                }
                self.next_read = self.sink.rate_bps.map(|_| self.start);
                if low <= 1 && self.next_read.is_none() {
                    self.ended = Some(read_at_once(receiver.try_clone()?)?);
                }
                self.receiver = Some(receiver);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn read(&mut self, now: i64, notes: &mut dyn Notes) -> Result<()> {
        let mut budget = match self.sink.rate_bps {
            Some(rate) => {
                self.next_read = Some(now + PACED_READ_NS);
                (u128::from(rate.as_bps()) * PACED_READ_NS as u128 / 8_000_000_000) as usize
            }
            None => usize::MAX,
        };
        if self.ended.is_some() {
            return self.read_to_the_end(now, notes);
        }
        while let Some(receiver) = self.receiver.as_ref().filter(|_| budget > 0) {
            match sys::discard(receiver.as_fd(), READ_BYTES.min(budget)) {
                Ok(0) => return self.read_to_the_end(now, notes),
                Ok(count) => {
                    budget -= count;
                    self.last_delivery = Some(now);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn read_to_the_end(&mut self, now: i64, notes: &mut dyn Notes) -> Result<()> {
        notes.read_all(self)?;
        self.last_delivery = Some(now);
        self.has_read_all = true;
        self.next_read = None;
        (self.receiver, self.ended) = (None, None);
        Ok(())
    }
}
