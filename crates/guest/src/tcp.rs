//! A TCP flow: the application that writes, the one that reads, and what the kernel says of both.

use crate::frame::{CLIENT_PORT, SERVER_PORT};
use crate::info::TcpInfo;
use crate::sys;
use crate::writer::Writer;
use dumbbell_model::scenario::{Algorithm, Tcp};
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Most that is read at once.
pub(crate) const READ_BYTES: usize = 1 << 20;
/// Of the thread that reads.
const STACK_BYTES: usize = 65_536;
/// A reader with a rate reads this often.
pub(crate) const PACED_READ_NS: i64 = 10_000_000;

/// Reads in a thread of its own; the stream that is returned ends when the connection does.
pub(crate) fn read_at_once(receiver: OwnedFd) -> Result<UnixStream> {
    let (here, there) = UnixStream::pair()?;
    let read = move || {
        sys::discard_all(receiver.as_fd());
        drop(there);
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(read)?;
    Ok(here)
}

/// How far a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Waiting,
    Connecting,
    Writing,
    /// All was written; the sender waits for the last ACK.
    Closing,
    Finished {
        at: i64,
    },
}

/// A flow between two hosts.
pub(crate) struct TcpFlow {
    pub(crate) spec: Tcp,
    pub(crate) phase: Phase,
    pub(crate) start: i64,
    stop: i64,
    pub(crate) established: Option<i64>,
    pub(crate) last_delivery: Option<i64>,
    listener: OwnedFd,
    pub(crate) sender: OwnedFd,
    pub(crate) receiver: Option<OwnedFd>,
    /// What the kernel said last of the receiver's socket.
    pub(crate) received: Option<TcpInfo>,
    writer: Writer,
    next_read: Option<i64>,
    target: libc::sockaddr_in,
    sender_ready: bool,
    receiver_ready: bool,
    /// Ends when a reader that reads at once has read all.
    ended: Option<UnixStream>,
}

/// Where something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Sender,
    Receiver,
    /// The path manager of Multipath TCP.
    Manager,
}

/// The name by which Linux knows an algorithm.
pub(crate) fn name_of(algorithm: Algorithm) -> &'static str {
    let entry = algorithm.entry();
    entry.linux.map_or(entry.name, |linux| linux.name)
}

/// The addresses of both ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) flow: usize,
    pub(crate) from: [u8; 4],
    pub(crate) to: [u8; 4],
    pub(crate) dscp: u8,
}

/// A listening socket; to be called in the receiver's namespace.
pub(crate) fn listen(ends: Ends) -> Result<OwnedFd> {
    let listener = sys::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0)?;
    sys::set_option(listener.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    sys::bind(listener.as_fd(), &sys::inet(ends.to, SERVER_PORT + ends.flow as u16))?;
    sys::set_dscp(listener.as_fd(), ends.dscp)?;
    sys::listen(listener.as_fd())?;
    Ok(listener)
}

impl TcpFlow {
    /// A flow; to be called in the sender's namespace.
    pub(crate) fn new(
        ends: Ends,
        spec: Tcp,
        listener: OwnedFd,
        start: i64,
        stop: i64,
        writer: Writer,
    ) -> Result<Self> {
        let sender = sys::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0)?;
        let name = name_of(spec.congestion_control);
        sys::set_option_bytes(
            sender.as_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_bytes(),
        )
        .map_err(|error| Error::other(format!("congestion control {name}: {error}")))?;
        sys::bind(sender.as_fd(), &sys::inet(ends.from, CLIENT_PORT + ends.flow as u16))?;
        sys::set_dscp(sender.as_fd(), ends.dscp)?;
        Ok(Self {
            spec,
            phase: Phase::Waiting,
            start,
            stop,
            established: None,
            last_delivery: None,
            listener,
            sender,
            receiver: None,
            received: None,
            writer,
            next_read: None,
            target: sys::inet(ends.to, SERVER_PORT + ends.flow as u16),
            sender_ready: false,
            receiver_ready: false,
            ended: None,
        })
    }

    /// When this flow wants to be looked at without an event.
    pub(crate) fn next(&self) -> Option<i64> {
        let started = (self.phase == Phase::Waiting).then_some(self.start);
        let stop = matches!(self.phase, Phase::Writing).then_some(self.stop);
        [started, stop, self.writer.next, self.next_read].into_iter().flatten().min()
    }

    /// Descriptors and events that this flow waits for.
    pub(crate) fn waits(&self) -> Vec<(Side, BorrowedFd<'_>, i16)> {
        let mut found = Vec::with_capacity(2);
        let mut push = |side, fd, events| found.push((side, fd, events));
        let sender = self.sender.as_fd();
        match self.phase {
            Phase::Waiting | Phase::Finished { .. } => {}
            Phase::Connecting => push(Side::Sender, sender, libc::POLLOUT),
            Phase::Writing if self.writer.writes_at_once() => {
                push(Side::Sender, sender, libc::POLLOUT);
            }
            Phase::Writing if self.writer.writes_alone() => push(Side::Sender, sender, 0), // POLLHUP
            Phase::Writing => {}
            Phase::Closing => push(Side::Sender, sender, 0), // POLLHUP
        }
        match &self.receiver {
            Some(receiver) if self.spec.sink.rate_bps.is_none() => {
                let fd = self.ended.as_ref().map_or(receiver.as_fd(), AsFd::as_fd);
                push(Side::Receiver, fd, libc::POLLIN);
            }
            None if matches!(self.phase, Phase::Connecting | Phase::Writing | Phase::Closing)
                && self.received.is_none() =>
            {
                push(Side::Receiver, self.listener.as_fd(), libc::POLLIN);
            }
            Some(_) | None => {}
        }
        found
    }

    /// Something happened on one side.
    pub(crate) fn happened(&mut self, side: Side) {
        match side {
            Side::Sender => self.sender_ready = true,
            Side::Receiver => self.receiver_ready = true,
            Side::Manager => {}
        }
    }

    /// Does what is due.
    pub(crate) fn turn(&mut self, now: i64) -> Result<()> {
        let sender_ready = std::mem::take(&mut self.sender_ready);
        match self.phase {
            Phase::Waiting if now >= self.start => {
                self.start = now;
                sys::connect(self.sender.as_fd(), &self.target)?;
                self.phase = Phase::Connecting;
            }
            Phase::Connecting if sender_ready => self.connected(now)?,
            Phase::Writing if sender_ready && self.writer.writes_alone() => self.closed(now)?,
            Phase::Writing => {
                let fd = self.sender.as_fd();
                if self.writer.next.is_some_and(|at| now >= at) {
                    let all = self.writer.due(now, fd)?;
                    self.wrote(all)?;
                } else if sender_ready {
                    let all = self.writer.write(fd)?;
                    self.wrote(all)?;
                }
                if self.phase == Phase::Writing && now >= self.stop {
                    self.close()?;
                }
            }
            Phase::Closing if sender_ready => self.closed(now)?,
            Phase::Waiting | Phase::Connecting | Phase::Closing | Phase::Finished { .. } => {}
        }
        if std::mem::take(&mut self.receiver_ready) {
            match self.receiver {
                None => self.accept()?,
                Some(_) => self.read(now)?,
            }
        }
        if self.next_read.is_some_and(|at| now >= at) {
            self.read(now)?;
        }
        Ok(())
    }

    fn connected(&mut self, now: i64) -> Result<()> {
        let mut pending = [0; 4];
        sys::get_option(self.sender.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR, &mut pending)?;
        match i32::from_ne_bytes(pending) {
            0 if TcpInfo::of(self.sender.as_fd())?.state() == 1 => {
                self.established = Some(now);
                self.phase = Phase::Writing;
                let all = self.writer.begin(now, self.sender.as_fd())?;
                self.wrote(all)
            }
            0 => Ok(()),
            _ => {
                // Given up: nobody answers any more.
                self.phase = Phase::Finished { at: now };
                Ok(())
            }
        }
    }

    /// Goes on writing; at the end it closes.
    fn wrote(&mut self, all: bool) -> Result<()> {
        if all {
            self.close()?;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        self.writer.next = None;
        self.phase = Phase::Closing;
        sys::shutdown_write(self.sender.as_fd())
    }

    /// The other end has closed, too.
    fn closed(&mut self, now: i64) -> Result<()> {
        // 7: TCP_CLOSE, 6: TCP_TIME_WAIT, 5: TCP_FIN_WAIT2.
        if matches!(TcpInfo::of(self.sender.as_fd())?.state(), 5..=7) {
            self.phase = Phase::Finished { at: now };
        }
        Ok(())
    }

    fn accept(&mut self) -> Result<()> {
        if self.receiver.is_some() || self.received.is_some() || self.phase == Phase::Waiting {
            return Ok(());
        }
        match sys::accept(self.listener.as_fd()) {
            Ok(receiver) => {
                let low = self.spec.sink.lowat_bytes.min(i32::MAX as u64) as i32;
                if low > 1 {
                    sys::set_option(receiver.as_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, low)?;
                }
                self.next_read = self.spec.sink.rate_bps.map(|_| self.start);
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

    fn read(&mut self, now: i64) -> Result<()> {
        let mut budget = match self.spec.sink.rate_bps {
            Some(rate) => {
                self.next_read = Some(now + PACED_READ_NS);
                (u128::from(rate.as_bps()) * PACED_READ_NS as u128 / 8_000_000_000) as usize
            }
            None => usize::MAX,
        };
        let Some(receiver) = &self.receiver else { return Ok(()) };
        if self.ended.is_some() {
            self.received = Some(TcpInfo::of(receiver.as_fd())?);
            self.last_delivery = Some(now);
            (self.receiver, self.ended) = (None, None);
            return Ok(());
        }
        while budget > 0 {
            match sys::discard(receiver.as_fd(), READ_BYTES.min(budget)) {
                Ok(0) => {
                    self.received = Some(TcpInfo::of(receiver.as_fd())?);
                    self.last_delivery = Some(now);
                    self.receiver = None; // closed
                    self.next_read = None;
                    return Ok(());
                }
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

    /// At the end of the run: what arrived, and when.
    pub(crate) fn finish(&mut self, now: i64) -> Result<()> {
        if let Some(receiver) = &self.receiver {
            let info = TcpInfo::of(receiver.as_fd())?;
            if info.bytes_received() > 0 {
                let ago = i64::from(info.last_data_received_ms()) * 1_000_000;
                self.last_delivery = Some(now - ago);
            }
            self.received = Some(info);
        }
        Ok(())
    }
}
