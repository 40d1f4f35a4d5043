//! A Multipath TCP connection: the applications at its ends, its subflows, and what the kernel says of
//! both.

use crate::frame::{CLIENT_PORT, SERVER_PORT};
use crate::info::TcpInfo;
use crate::pm::{Endpoint, PathManager};
use crate::sys;
use crate::tcp::{name_of, read_at_once, Side, PACED_READ_NS, READ_BYTES};
use crate::writer::Writer;
use dumbbell_model::scenario::{Connection, Tcp};
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

const IPPROTO_MPTCP: i32 = 262;
const SOL_MPTCP: i32 = 284;
const MPTCP_INFO: i32 = 1;
const MPTCP_TCPINFO: i32 = 2;
const MPTCP_SUBFLOW_ADDRS: i32 = 3;
/// `struct mptcp_subflow_data`, and what follows it per subflow.
const HEADER_BYTES: usize = 16;
const TCP_INFO_BYTES: usize = 256;
const ADDRESSES_BYTES: usize = 256;
const SUBFLOWS_MAX: usize = 64;

/// `struct mptcp_info`, as far as it is used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Info {
    flags: u32,
    token: u32,
    write_seq: u64,
    pub(crate) snd_una: u64,
    rcv_nxt: u64,
}

impl Info {
    fn of(fd: BorrowedFd<'_>) -> Result<Self> {
        let mut bytes = [0_u8; 64];
        sys::get_option(fd, SOL_MPTCP, MPTCP_INFO, &mut bytes)?;
        let word = |at: usize| crate::netlink::word(&bytes, at);
        let long = |at: usize| crate::netlink::long(&bytes, at);
        Ok(Self {
            flags: word(8),
            token: word(12),
            write_seq: long(16),
            snd_una: long(24),
            rcv_nxt: long(32),
        })
    }

    /// One end does not speak Multipath TCP.
    pub(crate) fn fell_back(&self) -> bool {
        self.flags & 1 != 0
    }
}

/// What the kernel says of all subflows of a socket: the client's port, and its `tcp_info`.
/// `side`: 0 where the socket is the client's, 1 where it is the server's.
fn subflows(fd: BorrowedFd<'_>, side: usize) -> Result<Vec<(u16, TcpInfo)>> {
    let read = |option: i32, each: usize| -> Result<Vec<Vec<u8>>> {
        let mut bytes = vec![0_u8; HEADER_BYTES + SUBFLOWS_MAX * each];
        bytes[0..4].copy_from_slice(&(HEADER_BYTES as u32).to_ne_bytes());
        bytes[12..16].copy_from_slice(&(each as u32).to_ne_bytes());
        sys::get_option(fd, SOL_MPTCP, option, &mut bytes)?;
        let count = crate::netlink::word(&bytes, 4) as usize;
        // The kernel's own structure may be shorter.
        let each = (crate::netlink::word(&bytes, 12) as usize).clamp(1, each);
        let all = bytes.split_off(HEADER_BYTES);
        Ok(all.chunks_exact(each).take(count).map(<[u8]>::to_vec).collect())
    };
    let addresses = read(MPTCP_SUBFLOW_ADDRS, ADDRESSES_BYTES)?;
    let infos = read(MPTCP_TCPINFO, TCP_INFO_BYTES)?;
    // Local and remote, each in 128 bytes: family, port.
    let at = side * ADDRESSES_BYTES / 2 + 2;
    let found = addresses.iter().zip(&infos).filter_map(|(address, info)| {
        let port = u16::from_be_bytes([*address.get(at)?, *address.get(at + 1)?]);
        Some((port, TcpInfo::of_bytes(info)))
    });
    Ok(found.collect())
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Waiting,
    Connecting,
    Writing,
    /// All was written; the sender waits until it has arrived.
    Closing,
    Finished {
        at: i64,
    },
}

/// How far a subflow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Wanted,
    /// The kernel opens it, or has.
    Created,
    /// And the other end knows that it is a backup.
    Marked,
    Removed,
}

/// A subflow: where it runs, when, and what is known of it.
pub(crate) struct Part {
    pub(crate) flow: usize,
    ends: [Endpoint; 2],
    backup: bool,
    pub(crate) from: i64,
    until: i64,
    stage: Stage,
    pub(crate) established: Option<i64>,
    /// What the kernel said last of both its sockets.
    pub(crate) sender: Option<TcpInfo>,
    pub(crate) receiver: Option<TcpInfo>,
}

/// A connection between two hosts.
pub(crate) struct MptcpFlow {
    pub(crate) spec: Connection,
    pub(crate) tcp: Tcp,
    pub(crate) parts: Vec<Part>,
    pub(crate) phase: Phase,
    pub(crate) start: i64,
    stop: i64,
    pub(crate) established: Option<i64>,
    pub(crate) last_delivery: Option<i64>,
    listener: OwnedFd,
    sender: OwnedFd,
    receiver: Option<OwnedFd>,
    manager: PathManager,
    /// The kernel lets the other host accept subflows only while someone listens there.
    _other_manager: PathManager,
    /// Where the stream begins in the kernel's sequence numbers.
    base: u64,
    pub(crate) info: Info,
    /// Payload that arrived in order.
    pub(crate) delivered: u64,
    pub(crate) writer: Writer,
    next_read: Option<i64>,
    target: libc::sockaddr_in,
    ready: [bool; 2],
    changed: bool,
    read_all: bool,
    /// When it was looked at last.
    looked: i64,
    ended: Option<UnixStream>,
}

/// Where a subflow runs: number of its flow, addresses, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) flow: usize,
    pub(crate) from: [u8; 4],
    pub(crate) to: [u8; 4],
    pub(crate) start: i64,
    pub(crate) stop: i64,
}

/// A socket of a host that speaks Multipath TCP, or does not.
fn socket(speaks: bool) -> Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK;
    let protocol = if speaks { IPPROTO_MPTCP } else { 0 };
    sys::socket(libc::AF_INET, kind, protocol)
        .map_err(|error| Error::other(format!("Multipath TCP: {error}")))
}

/// What the receiving host has: to be made in its namespace.
/// `speaks`: it speaks Multipath TCP.
pub(crate) fn listen(first: Place, dscp: u8, speaks: bool) -> Result<(OwnedFd, PathManager)> {
    let listener = socket(speaks)?;
    sys::set_option(listener.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    // Of any address: subflows come to others than the first.
    sys::bind(listener.as_fd(), &sys::inet([0; 4], SERVER_PORT + first.flow as u16))?;
    sys::set_dscp(listener.as_fd(), dscp)?;
    sys::listen(listener.as_fd())?;
    Ok((listener, PathManager::open()?))
}

impl MptcpFlow {
    /// A connection; to be called in the sender's namespace. `places`: of its subflows.
    pub(crate) fn new(
        spec: Connection,
        tcp: Tcp,
        dscp: u8,
        places: &[Place],
        (listener, other): (OwnedFd, PathManager),
        speaks: bool,
        writer: Writer,
    ) -> Result<Self> {
        let first = places[0];
        let sender = socket(speaks)?;
        let name = name_of(tcp.congestion_control);
        let option = libc::TCP_CONGESTION;
        sys::set_option_bytes(sender.as_fd(), libc::IPPROTO_TCP, option, name.as_bytes())
            .map_err(|error| Error::other(format!("congestion control {name}: {error}")))?;
        sys::bind(sender.as_fd(), &sys::inet(first.from, CLIENT_PORT + first.flow as u16))?;
        sys::set_dscp(sender.as_fd(), dscp)?;
        let server_port = SERVER_PORT + first.flow as u16;
        let part = |(number, place): (usize, &Place)| Part {
            flow: place.flow,
            ends: [
                Endpoint {
                    address: place.from,
                    port: CLIENT_PORT + place.flow as u16,
                    id: number as u8,
                },
                Endpoint { address: place.to, port: server_port, id: number as u8 },
            ],
            backup: spec.subflows[number].backup,
            from: place.start,
            until: place.stop,
            stage: Stage::Wanted,
            established: None,
            sender: None,
            receiver: None,
        };
        Ok(Self {
            parts: places.iter().enumerate().map(part).collect(),
            phase: Phase::Waiting,
            start: first.start,
            stop: spec.stop.map_or(i64::MAX, |stop| stop.as_ns() as i64),
            established: None,
            last_delivery: None,
            listener,
            sender,
            receiver: None,
            manager: PathManager::open()?,
            _other_manager: other,
            base: 0,
            info: Info::default(),
            delivered: 0,
            writer,
            next_read: None,
            target: sys::inet(first.to, server_port),
            ready: [false; 2],
            changed: false,
            read_all: false,
            looked: -1,
            ended: None,
            spec,
            tcp,
        })
    }

    /// When this connection wants to be looked at without an event.
    pub(crate) fn next(&self) -> Option<i64> {
        let started = (self.phase == Phase::Waiting).then_some(self.start);
        let open = matches!(self.phase, Phase::Writing | Phase::Closing);
        let stop = (self.phase == Phase::Writing).then_some(self.stop);
        let parts = self.parts.iter().filter(|_| open).filter_map(|part| match part.stage {
            Stage::Wanted => Some(part.from),
            Stage::Created | Stage::Marked => Some(part.until),
            Stage::Removed => None,
        });
        // What was due before waits for an event.
        let parts = parts.filter(|&at| at > self.looked);
        [started, stop, self.writer.next, self.next_read].into_iter().flatten().chain(parts).min()
    }

    /// Descriptors and events that this connection waits for.
    pub(crate) fn waits(&self) -> Vec<(Side, BorrowedFd<'_>, i16)> {
        let mut found = Vec::with_capacity(3);
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
        if matches!(self.phase, Phase::Writing | Phase::Closing) {
            push(Side::Manager, self.manager.events(), libc::POLLIN);
        }
        match &self.receiver {
            Some(receiver) if self.spec.sink.rate_bps.is_none() => {
                let fd = self.ended.as_ref().map_or(receiver.as_fd(), AsFd::as_fd);
                push(Side::Receiver, fd, libc::POLLIN);
            }
            None if self.accepts() => push(Side::Receiver, self.listener.as_fd(), libc::POLLIN),
            Some(_) | None => {}
        }
        found
    }

    fn accepts(&self) -> bool {
        let begun = matches!(self.phase, Phase::Connecting | Phase::Writing | Phase::Closing);
        begun && !self.read_all
    }

    /// Something happened on one side.
    pub(crate) fn happened(&mut self, side: Side) {
        match side {
            Side::Sender => self.ready[0] = true,
            Side::Receiver => self.ready[1] = true,
            Side::Manager => self.changed = true,
        }
    }

    /// Does what is due.
    pub(crate) fn turn(&mut self, now: i64) -> Result<()> {
        self.looked = now;
        let [sender_ready, receiver_ready] = std::mem::take(&mut self.ready);
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
        if receiver_ready {
            match self.receiver {
                None => self.accept()?,
                Some(_) => self.read(now)?,
            }
        }
        if self.next_read.is_some_and(|at| now >= at) {
            self.read(now)?;
        }
        if matches!(self.phase, Phase::Writing | Phase::Closing) {
            if std::mem::take(&mut self.changed) {
                self.manager.drain()?;
                self.look()?;
                for part in &mut self.parts {
                    // TCP_ESTABLISHED is 1.
                    if part.sender.is_some_and(|info| info.state() == 1) {
                        part.established.get_or_insert(now);
                    }
                }
            }
            self.manage(now)?;
        }
        Ok(())
    }

    /// Opens subflows whose time has come, as soon as the kernel lets us, and closes them.
    fn manage(&mut self, now: i64) -> Result<()> {
        if self.info.fell_back() {
            return Ok(());
        }
        let token = self.info.token;
        for part in self.parts.iter_mut().skip(1) {
            if part.stage == Stage::Wanted && now >= part.from {
                match self.manager.create(token, part.ends) {
                    Ok(()) => part.stage = Stage::Created,
                    // Not before the other end has acknowledged something.
                    Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) => {}
                    // It is plain TCP, as the kernel has not told us yet.
                    Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                        part.stage = Stage::Removed;
                    }
                    Err(error) => return Err(error),
                }
            }
            if part.stage == Stage::Created && part.backup {
                // There is nothing to tell it on before the subflow is established.
                if self.manager.make_backup(token, part.ends).is_ok() {
                    part.stage = Stage::Marked;
                }
            }
        }
        for part in &mut self.parts {
            if now >= part.until && part.stage != Stage::Removed {
                part.stage = Stage::Removed;
                match self.manager.destroy(token, part.ends) {
                    // It is gone already.
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    other => other?,
                }
            }
        }
        Ok(())
    }

    fn connected(&mut self, now: i64) -> Result<()> {
        let mut pending = [0; 4];
        sys::get_option(self.sender.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR, &mut pending)?;
        match i32::from_ne_bytes(pending) {
            0 if TcpInfo::of(self.sender.as_fd())?.state() == 1 => {
                self.established = Some(now);
                // Of plain TCP there is none.
                let plain = Info { flags: 1, ..Info::default() };
                self.info = Info::of(self.sender.as_fd()).unwrap_or(plain);
                self.base = self.info.write_seq;
                self.phase = Phase::Writing;
                let all = self.writer.begin(now, self.sender.as_fd())?;
                self.wrote(all)
            }
            0 => Ok(()),
            _ => {
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
        self.look()?;
        self.phase = Phase::Finished { at: now };
        Ok(())
    }

    fn accept(&mut self) -> Result<()> {
        if !self.accepts() {
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
        if self.ended.is_some() {
            return self.read_to_the_end(now);
        }
        while let Some(receiver) = self.receiver.as_ref().filter(|_| budget > 0) {
            match sys::discard(receiver.as_fd(), READ_BYTES.min(budget)) {
                Ok(0) => return self.read_to_the_end(now),
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

    fn read_to_the_end(&mut self, now: i64) -> Result<()> {
        self.look()?;
        self.last_delivery = Some(now);
        self.read_all = true;
        self.next_read = None;
        (self.receiver, self.ended) = (None, None);
        Ok(())
    }

    /// Asks the kernel how everything is.
    pub(crate) fn look(&mut self) -> Result<()> {
        if self.established.is_none() {
            return Ok(());
        }
        if self.info.fell_back() {
            return self.look_at_tcp();
        }
        match Info::of(self.sender.as_fd()) {
            Ok(info) => self.info = Info { token: self.info.token, ..info },
            // It is plain TCP now, and the kernel answers for that.
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                return self.look_at_tcp();
            }
            Err(error) => return Err(error),
        }
        for (port, info) in subflows(self.sender.as_fd(), 0)? {
            if let Some(part) = self.part(port) {
                part.sender = Some(info);
            }
        }
        if let Some(receiver) = &self.receiver {
            let fd = receiver.as_fd();
            let (info, infos) = match (Info::of(fd), subflows(fd, 1)) {
                (Ok(info), Ok(infos)) => (info, infos),
                _ => return self.look_at_tcp(),
            };
            self.delivered = info.rcv_nxt.wrapping_sub(self.base).min(self.writer.written());
            for (port, info) in infos {
                if let Some(part) = self.part(port) {
                    part.receiver = Some(info);
                }
            }
            if info.fell_back() {
                let first = self.parts[0].receiver.map_or(0, |info| info.bytes_received());
                self.delivered = first.min(self.writer.written());
            }
        }
        Ok(())
    }

    /// The same after a fall-back to TCP, of the only subflow.
    fn look_at_tcp(&mut self) -> Result<()> {
        self.info.flags |= 1;
        let first = &mut self.parts[0];
        let info = TcpInfo::of(self.sender.as_fd())?;
        self.info.snd_una = self.base.wrapping_add(info.bytes_acked().saturating_sub(1));
        first.sender = Some(info);
        if let Some(receiver) = &self.receiver {
            let info = TcpInfo::of(receiver.as_fd())?;
            self.delivered = info.bytes_received().min(self.writer.written());
            first.receiver = Some(info);
        }
        Ok(())
    }

    fn part(&mut self, port: u16) -> Option<&mut Part> {
        self.parts.iter_mut().find(|part| part.ends[0].port == port)
    }

    /// Payload acknowledged at the level of the connection.
    pub(crate) fn acked(&self) -> u64 {
        self.info.snd_una.wrapping_sub(self.base).min(self.writer.written())
    }

    /// At the end of the run.
    pub(crate) fn finish(&mut self, now: i64) -> Result<()> {
        self.look()?;
        let ago_ms = self
            .parts
            .iter()
            .filter_map(|part| part.receiver)
            .filter(|info| info.bytes_received() > 0)
            .map(|info| i64::from(info.last_data_received_ms()))
            .min();
        if let Some(ago_ms) = ago_ms.filter(|_| !self.read_all) {
            self.last_delivery = Some(now - ago_ms * 1_000_000);
        }
        Ok(())
    }
}
