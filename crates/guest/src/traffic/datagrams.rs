//! Datagram sockets, shared by the kinds of traffic over UDP and ICMP.

use crate::application::{Ends, Probe};
use crate::sys;
use std::io::{ErrorKind, Result};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Largest payload of a UDP datagram.
pub(super) const MOST_BYTES: usize = 65_507;
/// Socket buffers: for datagrams that arrive between two reads, and for those queued at the sender's device.
const BUFFER_BYTES: i32 = 16 << 20;

static ZEROS: [u8; MOST_BYTES] = [0; MOST_BYTES];

/// Sends a datagram. If the socket buffer is full, the datagram is lost but counts as sent.
pub(super) fn send(socket: BorrowedFd<'_>, datagram: &[u8]) -> Result<()> {
    match sys::send(socket, datagram) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(()),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
        Err(error) => Err(error),
    }
}

/// Sends a datagram of zeros.
pub(super) fn send_zeros(socket: BorrowedFd<'_>, bytes: usize) -> Result<()> {
    send(socket, &ZEROS[..bytes.min(MOST_BYTES)])
}

/// Receives a datagram if there is one.
pub(super) fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<Option<usize>> {
    match sys::receive(socket, buffer) {
        Ok(length) => Ok(Some(length)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens the sender's socket; called in the sender's namespace.
pub(super) fn sender(ends: Ends) -> Result<OwnedFd> {
    let sender = sys::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK, 0)?;
    sys::set_option(sender.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, BUFFER_BYTES)?;
    sys::bind(sender.as_fd(), &sys::inet(ends.from, ends.client_port()))?;
    sys::connect(sender.as_fd(), &sys::inet(ends.to, ends.server_port()))?;
    sys::set_dscp(sender.as_fd(), ends.dscp)?;
    Ok(sender)
}

/// Opens the socket of a server that answers one client; called in the server's namespace.
pub(super) fn server(ends: Ends) -> Result<OwnedFd> {
    let socket = sys::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK, 0)?;
    sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, BUFFER_BYTES)?;
    sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, BUFFER_BYTES)?;
    sys::bind(socket.as_fd(), &sys::inet(ends.to, ends.server_port()))?;
    sys::connect(socket.as_fd(), &sys::inet(ends.from, ends.client_port()))?;
    sys::set_dscp(socket.as_fd(), ends.dscp)?;
    Ok(socket)
}

/// Receiver that counts datagrams.
pub(super) struct Receiver {
    socket: OwnedFd,
    /// Datagrams received.
    pub(super) received: u64,
    /// Payload received.
    pub(super) received_bytes: u64,
    pub(super) last_delivery: Option<i64>,
}

impl Receiver {
    /// Opens the receiver; called in its namespace.
    pub(super) fn open(ends: Ends) -> Result<Self> {
        let socket = sys::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK, 0)?;
        sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, BUFFER_BYTES)?;
        sys::bind(socket.as_fd(), &sys::inet(ends.to, ends.server_port()))?;
        Ok(Self { socket, received: 0, received_bytes: 0, last_delivery: None })
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Counts the datagrams that have arrived.
    pub(super) fn read(&mut self, now: i64) -> Result<()> {
        loop {
            match sys::discard(self.socket.as_fd(), 0) {
                Ok(bytes) => self.count(now, bytes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Counts the datagrams that have arrived and notes the delay of each. A datagram begins with its number.
    pub(super) fn read_probes(&mut self, now: i64, probes: &mut [Probe]) -> Result<()> {
        loop {
            let mut number = [0; 8];
            let bytes = match sys::receive_beginning(self.socket.as_fd(), &mut number) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            self.count(now, bytes);
            let bits = 8 * bytes.clamp(1, number.len()) as u32;
            if let Some(probe) = numbered(probes, u64::from_le_bytes(number), bits) {
                probe.delay.get_or_insert(now - probe.sent);
            }
        }
    }

    fn count(&mut self, now: i64, bytes: usize) {
        self.received += 1;
        self.received_bytes += bytes as u64;
        self.last_delivery = Some(now);
    }
}

/// Makes a datagram that begins with its number.
pub(super) fn numbered_datagram(number: u64, bytes: usize) -> Vec<u8> {
    let mut datagram = vec![0; bytes];
    let number = number.to_le_bytes();
    let known = bytes.min(number.len());
    datagram[..known].copy_from_slice(&number[..known]);
    datagram
}

/// Returns the latest probe whose number has these lower bits.
pub(super) fn numbered(probes: &mut [Probe], low: u64, bits: u32) -> Option<&mut Probe> {
    let newest = probes.len().checked_sub(1)? as u64;
    let mask = u64::MAX >> (64 - bits.min(64));
    let back = newest.wrapping_sub(low) & mask;
    probes.get_mut(newest.checked_sub(back)? as usize)
}
