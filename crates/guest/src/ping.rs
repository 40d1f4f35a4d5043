//! ICMP echo requests (RFC 792), answered by the other host's kernel.

use crate::sys;
use crate::tcp::{Ends, Side};
use dumbbell_model::scenario::Ping;
use std::io::{ErrorKind, Result};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const HEADER_BYTES: usize = 8;
const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;

/// A flow of requests.
pub(crate) struct PingFlow {
    spec: Ping,
    identity: u16,
    pub(crate) start: i64,
    stop: i64,
    socket: OwnedFd,
    /// When each request was sent; 0 again when it was answered.
    asked: Vec<i64>,
    pub(crate) answered: u64,
    pub(crate) rtt_sum_ns: i64,
    pub(crate) rtt_min_ns: Option<i64>,
    pub(crate) last_delivery: Option<i64>,
}

impl PingFlow {
    /// A flow; to be called in the sender's namespace.
    pub(crate) fn new(ends: Ends, spec: Ping, start: i64, stop: i64) -> Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK;
        let socket = sys::socket(libc::AF_INET, kind, libc::IPPROTO_ICMP)?;
        sys::bind(socket.as_fd(), &sys::inet(ends.from, 0))?;
        sys::connect(socket.as_fd(), &sys::inet(ends.to, 0))?;
        Ok(Self {
            spec,
            identity: ends.flow as u16 + 1,
            start,
            stop,
            socket,
            asked: Vec::new(),
            answered: 0,
            rtt_sum_ns: 0,
            rtt_min_ns: None,
            last_delivery: None,
        })
    }

    pub(crate) fn sent(&self) -> u64 {
        self.asked.len() as u64
    }

    pub(crate) fn next(&self) -> Option<i64> {
        let due = self.start + self.asked.len() as i64 * self.spec.interval.as_ns() as i64;
        (due < self.stop).then_some(due)
    }

    pub(crate) fn waits(&self) -> (Side, BorrowedFd<'_>, i16) {
        (Side::Receiver, self.socket.as_fd(), libc::POLLIN)
    }

    /// Does what is due.
    pub(crate) fn turn(&mut self, now: i64) -> Result<()> {
        self.read(now)?;
        while self.next().is_some_and(|due| due <= now) {
            let number = self.asked.len() as u16;
            let request = self.request(number);
            self.asked.push(now.max(1));
            match sys::send(self.socket.as_fd(), &request) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn request(&self, number: u16) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES + self.spec.payload_bytes as usize];
        bytes[0] = ECHO_REQUEST;
        bytes[4..6].copy_from_slice(&self.identity.to_be_bytes());
        bytes[6..8].copy_from_slice(&number.to_be_bytes());
        // The payload is zero, so the checksum (RFC 1071) is that of three words.
        let sum = u32::from(ECHO_REQUEST) << 8;
        let sum = sum + u32::from(self.identity) + u32::from(number);
        let folded = (sum & 0xffff) + (sum >> 16);
        bytes[2..4].copy_from_slice(&(!(folded as u16)).to_be_bytes());
        bytes
    }

    fn read(&mut self, now: i64) -> Result<()> {
        let mut packet = [0; 128];
        loop {
            let length = match sys::receive(self.socket.as_fd(), &mut packet) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            let header = usize::from(packet[0] & 15) * 4;
            let Some(icmp) = packet.get(header..header + HEADER_BYTES) else { continue };
            let identity = u16::from_be_bytes([icmp[4], icmp[5]]);
            if length < header + HEADER_BYTES || icmp[0] != ECHO_REPLY || identity != self.identity
            {
                continue;
            }
            let low = usize::from(u16::from_be_bytes([icmp[6], icmp[7]]));
            // The number counts modulo 65 536: it is the latest request with these bits.
            let Some(newest) = self.asked.len().checked_sub(1) else { continue };
            let number = newest - (newest.wrapping_sub(low) & 0xffff).min(newest);
            let sent = std::mem::take(&mut self.asked[number]);
            if sent > 0 {
                let rtt = now - sent;
                self.answered += 1;
                self.rtt_sum_ns += rtt;
                self.rtt_min_ns = Some(self.rtt_min_ns.map_or(rtt, |least| least.min(rtt)));
                self.last_delivery = Some(now);
            }
        }
    }
}
