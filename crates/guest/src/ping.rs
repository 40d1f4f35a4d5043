//! Echo requests: by ICMP (RFC 792), answered by the other host's kernel, or by UDP (RFC 862), answered
//! by a socket there.

use crate::frame::{CLIENT_PORT, SERVER_PORT};
use crate::sys;
use crate::tcp::{Ends, Side};
use crate::udp::{numbered, Probe};
use dumbbell_model::scenario::{EchoProtocol, Ping};
use dumbbell_packet::frame::ETHERNET_HEADER_BYTES;
use std::io::{ErrorKind, Result};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Of ICMP, and of UDP.
const HEADER_BYTES: usize = 8;
const IP_HEADER_BYTES: u64 = 20;
/// A packet that no link of an experiment splits.
const UNFRAGMENTED_BYTES: u64 = 576;
const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;
const MOST_BYTES: usize = 65_535;

/// How requests travel.
enum Way {
    Icmp { identity: u16 },
    Udp { echo: OwnedFd },
}

/// A flow of requests.
pub(crate) struct PingFlow {
    spec: Ping,
    pub(crate) start: i64,
    stop: i64,
    socket: OwnedFd,
    way: Way,
    pub(crate) probes: Vec<Probe>,
    pub(crate) answered: u64,
    pub(crate) rtt_sum_ns: i64,
    pub(crate) rtt_min_ns: Option<i64>,
    pub(crate) last_delivery: Option<i64>,
}

/// The socket that answers, if no kernel does; to be called in the other host's namespace.
pub(crate) fn answer(ends: Ends, spec: Ping) -> Result<Option<OwnedFd>> {
    if spec.protocol == EchoProtocol::Icmp {
        return Ok(None);
    }
    let echo = sys::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK, 0)?;
    sys::bind(echo.as_fd(), &sys::inet(ends.to, SERVER_PORT + ends.flow as u16))?;
    sys::connect(echo.as_fd(), &sys::inet(ends.from, CLIENT_PORT + ends.flow as u16))?;
    sys::set_dscp(echo.as_fd(), ends.dscp)?;
    Ok(Some(echo))
}

impl PingFlow {
    /// A flow; to be called in the sender's namespace.
    pub(crate) fn new(
        ends: Ends,
        spec: Ping,
        answer: Option<OwnedFd>,
        start: i64,
        stop: i64,
    ) -> Result<Self> {
        let (way, kind, protocol, ports) = match answer {
            None => {
                let identity = ends.flow as u16 + 1;
                (Way::Icmp { identity }, libc::SOCK_RAW, libc::IPPROTO_ICMP, [0, 0])
            }
            Some(echo) => {
                let ports = [CLIENT_PORT + ends.flow as u16, SERVER_PORT + ends.flow as u16];
                (Way::Udp { echo }, libc::SOCK_DGRAM, 0, ports)
            }
        };
        let socket = sys::socket(libc::AF_INET, kind | libc::SOCK_NONBLOCK, protocol)?;
        sys::bind(socket.as_fd(), &sys::inet(ends.from, ports[0]))?;
        sys::connect(socket.as_fd(), &sys::inet(ends.to, ports[1]))?;
        sys::set_dscp(socket.as_fd(), ends.dscp)?;
        Ok(Self {
            spec,
            start,
            stop,
            socket,
            way,
            probes: Vec::new(),
            answered: 0,
            rtt_sum_ns: 0,
            rtt_min_ns: None,
            last_delivery: None,
        })
    }

    pub(crate) fn sent(&self) -> u64 {
        self.probes.len() as u64
    }

    /// Frames of all requests; unknown where they travel in fragments.
    pub(crate) fn sent_bytes(&self) -> Option<u64> {
        let packet_bytes = IP_HEADER_BYTES + HEADER_BYTES as u64 + self.spec.payload_bytes;
        let whole = packet_bytes <= UNFRAGMENTED_BYTES;
        whole.then(|| self.sent() * (u64::from(ETHERNET_HEADER_BYTES) + packet_bytes))
    }

    pub(crate) fn next(&self) -> Option<i64> {
        let due = self.start + self.probes.len() as i64 * self.spec.interval.as_ns() as i64;
        (due < self.stop).then_some(due)
    }

    pub(crate) fn waits(&self) -> Vec<(Side, BorrowedFd<'_>, i16)> {
        let mut all = vec![(Side::Sender, self.socket.as_fd(), libc::POLLIN)];
        if let Way::Udp { echo } = &self.way {
            all.push((Side::Receiver, echo.as_fd(), libc::POLLIN));
        }
        all
    }

    /// Does what is due.
    pub(crate) fn turn(&mut self, now: i64) -> Result<()> {
        self.answer()?;
        self.read(now)?;
        while self.next().is_some_and(|due| due <= now) {
            let request = self.request(self.probes.len() as u64);
            self.probes.push(Probe { sent: now, delay: None });
            send(&self.socket, &request)?;
        }
        Ok(())
    }

    fn request(&self, number: u64) -> Vec<u8> {
        let payload_bytes = self.spec.payload_bytes as usize;
        let Way::Icmp { identity } = self.way else {
            let mut bytes = number.to_le_bytes().to_vec();
            bytes.resize(payload_bytes, 0);
            return bytes;
        };
        let number = number as u16;
        let mut bytes = vec![0; HEADER_BYTES + payload_bytes];
        bytes[0] = ECHO_REQUEST;
        bytes[4..6].copy_from_slice(&identity.to_be_bytes());
        bytes[6..8].copy_from_slice(&number.to_be_bytes());
        // The payload is zero, so the checksum (RFC 1071) is that of three words.
        let sum = u32::from(ECHO_REQUEST) << 8;
        let sum = sum + u32::from(identity) + u32::from(number);
        let folded = (sum & 0xffff) + (sum >> 16);
        bytes[2..4].copy_from_slice(&(!(folded as u16)).to_be_bytes());
        bytes
    }

    /// Sends back what has arrived at the other host.
    fn answer(&mut self) -> Result<()> {
        let Way::Udp { echo } = &self.way else { return Ok(()) };
        let mut datagram = vec![0; MOST_BYTES];
        while let Some(length) = receive(echo, &mut datagram)? {
            send(echo, &datagram[..length])?;
        }
        Ok(())
    }

    fn read(&mut self, now: i64) -> Result<()> {
        let mut packet = [0; 128];
        while let Some(length) = receive(&self.socket, &mut packet)? {
            let Some((low, bits)) = self.number_of(&packet[..length.min(128)]) else { continue };
            let Some(probe) = numbered(&mut self.probes, low, bits) else { continue };
            if probe.delay.is_some() {
                continue;
            }
            let rtt = now - probe.sent;
            probe.delay = Some(rtt);
            self.answered += 1;
            self.rtt_sum_ns += rtt;
            self.rtt_min_ns = Some(self.rtt_min_ns.map_or(rtt, |least| least.min(rtt)));
            self.last_delivery = Some(now);
        }
        Ok(())
    }

    /// Of which request this is the answer: the lower bits of its number.
    fn number_of(&self, packet: &[u8]) -> Option<(u64, u32)> {
        let Way::Icmp { identity: own } = self.way else {
            let number = packet.first_chunk()?;
            return Some((u64::from_le_bytes(*number), 64));
        };
        let header = usize::from(packet.first()? & 15) * 4;
        let icmp = packet.get(header..header + HEADER_BYTES)?;
        let identity = u16::from_be_bytes([icmp[4], icmp[5]]);
        let number = u64::from(u16::from_be_bytes([icmp[6], icmp[7]]));
        (icmp[0] == ECHO_REPLY && identity == own).then_some((number, 16))
    }
}

/// Receives if there is something.
fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> Result<Option<usize>> {
    match sys::receive(socket.as_fd(), buffer) {
        Ok(length) => Ok(Some(length)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(None),
        Err(error) => Err(error),
    }
}

/// Sends; what finds no room is lost.
fn send(socket: &OwnedFd, bytes: &[u8]) -> Result<()> {
    match sys::send(socket.as_fd(), bytes) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
        Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(()),
        Err(error) => Err(error),
    }
}
