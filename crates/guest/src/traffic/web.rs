//! A session's connection: the server's socket, and the client's socket, which opens it.

use super::stream::{set_congestion_control, set_socket_options, ESTABLISHED, READ_BYTES};
use crate::application::{Application, Ends, Opening, Side, Wait};
use crate::flow_rows::{FlowReport, FlowSampler};
use crate::info::TcpInfo;
use crate::sys;
use dumbbell_model::scenario::{Source, Tcp};
use nix::poll::{ppoll, PollFd, PollFlags};
use nix::sys::time::TimeSpec;
use std::any::Any;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

static ZEROS: [u8; 65536] = [0; 65536];
/// Interval at which a closing connection is polled.
const CLOSING_LOOK_NS: i64 = 200_000;

/// Phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Not yet opened.
    Waiting,
    Connecting,
    /// The client is connected.
    Open,
    /// Closed by both ends; the server waits for the last ACK.
    Closing,
    Finished {
        at: i64,
    },
}

/// A socket and the state of its application.
pub(crate) struct Socket {
    pub(crate) socket: Option<OwnedFd>,
    unwritten: u64,
    /// True after a write found the send buffer full, until poll(2) finds the socket writeable: a server
    /// sleeps until then, also if other events wake this program.
    full: bool,
    pub(crate) read_bytes: u64,
    pub(crate) ended: bool,
    closes: bool,
}

impl Socket {
    fn new(socket: Option<OwnedFd>) -> Self {
        Self { socket, unwritten: 0, full: false, read_bytes: 0, ended: false, closes: false }
    }

    /// Writes pending bytes that fit into the send buffer, then closes if requested.
    fn write(&mut self) -> Result<()> {
        let Some(socket) = &self.socket else { return Ok(()) };
        if self.full && !is_writeable(socket.as_fd())? {
            return Ok(());
        }
        self.full = false;
        while self.unwritten > 0 {
            let most = self.unwritten.min(ZEROS.len() as u64) as usize;
            match sys::send(socket.as_fd(), &ZEROS[..most]) {
                Ok(sent) => self.unwritten -= sent as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.full = true;
                    return Ok(());
                }
                Err(error) if gone(&error) => self.unwritten = 0,
                Err(error) => return Err(error),
            }
        }
        if std::mem::take(&mut self.closes) {
            match sys::shutdown_write(socket.as_fd()) {
                Err(error) if !gone(&error) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads all available data. Returns true if there was data or the end of the stream.
    fn read(&mut self) -> Result<bool> {
        let Some(socket) = &self.socket else { return Ok(false) };
        let mut some = false;
        while !self.ended {
            match sys::discard(socket.as_fd(), READ_BYTES) {
                Ok(0) => self.ended = true,
                Ok(count) => self.read_bytes += count as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(some),
                Err(error) if gone(&error) => self.ended = true,
                Err(error) => return Err(error),
            }
            some = true;
        }
        Ok(some)
    }

    fn waits(&self) -> Option<(BorrowedFd<'_>, i16)> {
        let reads = if self.ended { 0 } else { libc::POLLIN };
        let writes = if self.unwritten > 0 { libc::POLLOUT } else { 0 };
        let socket = self.socket.as_ref()?;
        (reads | writes != 0).then_some((socket.as_fd(), reads | writes))
    }
}

/// Returns true if poll(2) finds a socket writeable, or closed.
fn is_writeable(socket: BorrowedFd<'_>) -> Result<bool> {
    let mut polled = [PollFd::new(socket, PollFlags::POLLOUT)];
    Ok(ppoll(&mut polled, Some(TimeSpec::new(0, 0)), None)? > 0)
}

fn gone(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::NotConnected
    )
}

/// A connection between a client and a server.
pub(crate) struct WebFlow {
    flow: usize,
    spec: Tcp,
    phase: Phase,
    start: Option<i64>,
    established: Option<i64>,
    last_delivery: Option<i64>,
    listener: OwnedFd,
    target: libc::sockaddr_in,
    dscp: u8,
    pub(crate) server: Socket,
    pub(crate) client: Socket,
    /// True if a socket may be ready to read, write or accept.
    ready: bool,
    look_again: Option<i64>,
    /// True if the client has connected since the last query.
    connected: bool,
}

/// Opens the connection of a page's flow.
pub(super) fn open(spec: &Tcp, opening: &Opening<'_>) -> Result<Box<dyn Application>> {
    let ends = opening.ends;
    let (source, destination) =
        (sys::inet(ends.from, ends.client_port()), sys::inet(ends.to, ends.server_port()));
    if spec.source == Source::Messages {
        opening.at_destination()?;
        let listener = listen(&destination, ends.dscp, spec)?;
        opening.at_source()?;
        return Ok(Box::new(WebFlow::new(ends, spec.clone(), listener, &source, destination)?));
    }
    opening.at_source()?;
    let listener = listen(&source, ends.dscp, spec)?;
    opening.at_destination()?;
    Ok(Box::new(WebFlow::new(ends, spec.clone(), listener, &destination, source)?))
}

/// Opens a socket with the congestion control and the flow's socket options.
fn socket(spec: &Tcp) -> Result<OwnedFd> {
    let socket = sys::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0)?;
    set_congestion_control(socket.as_fd(), spec.congestion_control)?;
    set_socket_options(socket.as_fd(), spec)?;
    Ok(socket)
}

/// Opens the server's listening socket; called in its namespace.
fn listen(address: &libc::sockaddr_in, dscp: u8, spec: &Tcp) -> Result<OwnedFd> {
    let listener = socket(spec)?;
    sys::set_option(listener.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    sys::bind(listener.as_fd(), address)?;
    sys::set_dscp(listener.as_fd(), dscp)?;
    sys::listen(listener.as_fd())?;
    Ok(listener)
}

impl WebFlow {
    /// Makes a connection from the client to `target`; called in the client's namespace.
    fn new(
        ends: Ends,
        spec: Tcp,
        listener: OwnedFd,
        client_address: &libc::sockaddr_in,
        target: libc::sockaddr_in,
    ) -> Result<Self> {
        let client = socket(&spec)?;
        sys::bind(client.as_fd(), client_address)?;
        sys::set_dscp(client.as_fd(), ends.dscp)?;
        Ok(Self {
            flow: ends.flow,
            spec,
            phase: Phase::Waiting,
            start: None,
            established: None,
            last_delivery: None,
            listener,
            target,
            dscp: ends.dscp,
            server: Socket::new(None),
            client: Socket::new(Some(client)),
            ready: false,
            look_again: None,
            connected: false,
        })
    }

    /// True if the flow's direction is from the client to the server.
    fn messages(&self) -> bool {
        self.spec.source == Source::Messages
    }

    /// Sender and receiver of the flow's data.
    fn ends(&self) -> (&Socket, &Socket) {
        if self.messages() {
            (&self.client, &self.server)
        } else {
            (&self.server, &self.client)
        }
    }

    fn accept(&mut self, now: i64) -> Result<()> {
        if self.server.socket.is_some() || self.phase == Phase::Waiting {
            return Ok(());
        }
        match sys::accept(self.listener.as_fd()) {
            Ok(server) => {
                set_socket_options(server.as_fd(), &self.spec)?;
                sys::set_dscp(server.as_fd(), self.dscp)?;
                if !self.messages() {
                    self.established = Some(now);
                }
                self.server.socket = Some(server);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn connect(&mut self, now: i64) -> Result<()> {
        let Some(client) = &self.client.socket else { return Ok(()) };
        let mut pending = [0; 4];
        sys::get_option(client.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR, &mut pending)?;
        if i32::from_ne_bytes(pending) != 0 {
            self.phase = Phase::Finished { at: now }; // Given up: nobody answers.
        } else if TcpInfo::of(client.as_fd())?.state() == ESTABLISHED {
            self.phase = Phase::Open;
            self.connected = true;
            if self.messages() {
                self.established = Some(now);
            }
        }
        Ok(())
    }

    /// Returns true if the client has connected since the last call.
    pub(crate) fn take_connected(&mut self) -> bool {
        std::mem::take(&mut self.connected)
    }

    /// Opens the connection from the client.
    pub(crate) fn open(&mut self, now: i64) -> Result<()> {
        let Some(client) = &self.client.socket else { return Ok(()) };
        self.start = Some(now);
        self.phase = Phase::Connecting;
        sys::connect(client.as_fd(), &self.target)
    }

    /// Writes a request at the client.
    pub(crate) fn ask(&mut self, bytes: u64) -> Result<()> {
        self.client.unwritten += bytes;
        self.client.write()
    }

    /// Returns true if the server has written all responses.
    pub(crate) fn wrote_all(&self) -> bool {
        self.server.socket.is_some() && self.server.unwritten == 0
    }

    /// Writes a response, or a part of it, at the server.
    pub(crate) fn answer(&mut self, bytes: u64) -> Result<()> {
        self.server.unwritten += bytes;
        self.server.write()
    }

    /// Closes the client's sending direction.
    pub(crate) fn close(&mut self) -> Result<()> {
        self.client.closes = true;
        self.client.write()
    }
}

impl Application for WebFlow {
    /// Time of the next poll. The arrival of the server's last ACK causes no event: a socket closed in
    /// both directions hangs up at once.
    fn next(&self) -> Option<i64> {
        self.look_again
    }

    fn turn(&mut self, now: i64) -> Result<()> {
        let due = self.look_again.is_some_and(|at| at <= now);
        if !std::mem::take(&mut self.ready) && !due {
            return Ok(());
        }
        self.accept(now)?;
        if self.phase == Phase::Connecting {
            self.connect(now)?;
        }
        let asked = self.server.read()?;
        let answered = self.phase != Phase::Connecting && self.client.read()?;
        let delivered = if self.messages() { asked } else { answered };
        if delivered {
            self.last_delivery = Some(now);
        }
        self.server.write()?;
        self.client.write()?;
        if self.server.ended && self.phase == Phase::Open {
            self.phase = Phase::Closing;
            self.server.closes = true;
            self.server.write()?;
        }
        if let (Phase::Closing, Some(server)) = (self.phase, &self.server.socket) {
            // 7: TCP_CLOSE, 6: TCP_TIME_WAIT, 5: TCP_FIN_WAIT2.
            if matches!(TcpInfo::of(server.as_fd())?.state(), 5..=7) {
                self.phase = Phase::Finished { at: now };
            }
        }
        let closing = self.phase == Phase::Closing;
        self.look_again = closing.then_some(now + CLOSING_LOOK_NS);
        Ok(())
    }

    fn waits(&self) -> Vec<Wait<'_>> {
        let mut found: Vec<(BorrowedFd<'_>, i16)> = Vec::with_capacity(3);
        if matches!(self.phase, Phase::Waiting | Phase::Finished { .. }) {
            return Vec::new();
        }
        if self.server.socket.is_none() {
            found.push((self.listener.as_fd(), libc::POLLIN));
        }
        match (self.phase, &self.client.socket) {
            (Phase::Connecting, Some(client)) => found.push((client.as_fd(), libc::POLLOUT)),
            _ => found.extend(self.client.waits()),
        }
        found.extend(self.server.waits());
        found.into_iter().map(|(fd, wanted)| (Side::Sender, fd, wanted)).collect()
    }

    fn happened(&mut self, _side: Side) {
        self.ready = true;
    }

    fn sample(&mut self, now: i64, sampler: &mut FlowSampler<'_>) -> Result<()> {
        let (sender, receiver) = self.ends();
        match (self.phase, &sender.socket) {
            (Phase::Open | Phase::Closing, Some(socket)) => {
                sampler.socket(self.flow, now, socket.as_fd(), receiver.read_bytes)
            }
            _ => Ok(()),
        }
    }

    fn report(&self, report: &mut FlowReport<'_>) -> Result<()> {
        let end = match self.phase {
            Phase::Finished { at } => at,
            _ => report.end,
        };
        let row = &mut report.flows[self.flow];
        row.kind = "tcp".to_owned();
        row.congestion_control = self.spec.congestion_control.linux_name().to_owned();
        row.start_ns = self.start.into();
        row.established_ns = self.established.into();
        row.end_ns = end.into();
        let (sender, receiver) = self.ends();
        if let (Some(socket), Some(_)) = (&receiver.socket, self.start) {
            row.received_packets = TcpInfo::of(socket.as_fd())?.segments_in().into();
        }
        report.delivered(self.flow, receiver.read_bytes, self.last_delivery);
        if let Some(socket) = &sender.socket {
            report.sender(self.flow, &TcpInfo::of(socket.as_fd())?);
        }
        Ok(())
    }

    fn page_connection(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }
}
