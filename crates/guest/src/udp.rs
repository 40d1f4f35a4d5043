//! UDP at a constant bit rate.

use crate::clock;
use crate::frame::{CLIENT_PORT, SERVER_PORT};
use crate::sys;
use crate::tcp::{Ends, Side};
use dumbbell_model::scenario::Udp;
use std::io::{ErrorKind, Result};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// The receiver looks this often.
const READ_NS: i64 = 10_000_000;
/// Room for what arrives between two looks, and for what the sender's device has not taken.
const BUFFER_BYTES: i32 = 16 << 20;
const MOST_BYTES: usize = 65_507;
/// IP and UDP headers.
const HEADERS_BYTES: u64 = 28;
const IP_HEADER_BYTES: u64 = 20;

static ZEROS: [u8; MOST_BYTES] = [0; MOST_BYTES];

/// A flow of datagrams.
pub(crate) struct UdpFlow {
    spec: Udp,
    pub(crate) start: i64,
    stop: i64,
    sender: OwnedFd,
    receiver: OwnedFd,
    /// Datagrams sent; each is due at its number times the gap.
    sent: Arc<AtomicU64>,
    /// A thread of its own sends.
    alone: bool,
    pub(crate) received: u64,
    pub(crate) last_delivery: Option<i64>,
    next_read: i64,
    /// One per datagram, if they are kept: then the receiver wakes for each.
    keeps_probes: bool,
    pub(crate) probes: Vec<Probe>,
}

/// A packet that asks how long its way takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) sent: i64,
    /// Until its answer, or itself, was there.
    pub(crate) delay: Option<i64>,
}

/// The number of the probe of which only the lower bytes are known: the latest that has them.
pub(crate) fn numbered(probes: &mut [Probe], low: u64, bits: u32) -> Option<&mut Probe> {
    let newest = probes.len().checked_sub(1)? as u64;
    let mask = u64::MAX >> (64 - bits.min(64));
    let back = newest.wrapping_sub(low) & mask;
    probes.get_mut(newest.checked_sub(back)? as usize)
}

/// The receiver's socket; to be called in its namespace.
pub(crate) fn listen(ends: Ends) -> Result<OwnedFd> {
    let receiver = sys::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK, 0)?;
    sys::set_option(receiver.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, BUFFER_BYTES)?;
    sys::bind(receiver.as_fd(), &sys::inet(ends.to, SERVER_PORT + ends.flow as u16))?;
    Ok(receiver)
}

impl UdpFlow {
    /// A flow; to be called in the sender's namespace.
    pub(crate) fn new(
        ends: Ends,
        spec: Udp,
        receiver: OwnedFd,
        start: i64,
        stop: i64,
        keeps_probes: bool,
    ) -> Result<Self> {
        let sender = sys::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK, 0)?;
        sys::set_option(sender.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, BUFFER_BYTES)?;
        sys::bind(sender.as_fd(), &sys::inet(ends.from, CLIENT_PORT + ends.flow as u16))?;
        sys::connect(sender.as_fd(), &sys::inet(ends.to, SERVER_PORT + ends.flow as u16))?;
        sys::set_dscp(sender.as_fd(), ends.dscp)?;
        Ok(Self {
            spec,
            start,
            stop,
            sender,
            receiver,
            sent: Arc::default(),
            alone: false,
            received: 0,
            last_delivery: None,
            next_read: start + READ_NS,
            keeps_probes,
            probes: Vec::new(),
        })
    }

    /// Datagrams sent.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// When datagram `number` is sent.
    fn due(&self, number: u64) -> i64 {
        self.start + due_ns(&self.spec, number)
    }

    /// Sends in a thread of its own, as an ordinary program does: it wakes with the timers of others,
    /// within Linux's slack. Not where probes are kept: the time of each is noted as it is sent.
    fn sleeps(&self) -> bool {
        self.spec.sleeps && !self.keeps_probes
    }

    pub(crate) fn next(&self) -> Option<i64> {
        if self.sleeps() {
            return Some(if self.alone { self.next_read } else { self.start });
        }
        let due = self.due(self.sent());
        Some(if due < self.stop { due.min(self.next_read) } else { self.next_read })
    }

    /// Does what is due.
    pub(crate) fn turn(&mut self, now: i64) -> Result<()> {
        if self.sleeps() {
            if !self.alone && now >= self.start {
                self.alone = true;
                self.begin_alone()?;
            }
        } else {
            self.send_due(now)?;
        }
        if now >= self.next_read || self.keeps_probes {
            self.next_read = now + READ_NS;
            self.read(now)?;
        }
        Ok(())
    }

    fn send_due(&mut self, now: i64) -> Result<()> {
        while self.due(self.sent()) <= now && self.due(self.sent()) < self.stop {
            let number = self.sent.fetch_add(1, Ordering::Relaxed);
            let bytes = payload_bytes(&self.spec);
            if self.keeps_probes {
                self.probes.push(Probe { sent: now, delay: None });
                let mut datagram = vec![0; bytes];
                let number = number.to_le_bytes();
                let known = bytes.min(number.len());
                datagram[..known].copy_from_slice(&number[..known]);
                send(self.sender.as_fd(), &datagram)?;
            } else {
                send(self.sender.as_fd(), &ZEROS[..bytes])?;
            }
        }
        Ok(())
    }

    fn begin_alone(&self) -> Result<()> {
        let (spec, sent) = (self.spec, Arc::clone(&self.sent));
        let length = self.stop.saturating_sub(self.start);
        let socket = self.sender.as_fd().try_clone_to_owned()?;
        sys::ordinary_program(move || {
            let begin = clock::monotonic_ns()?;
            loop {
                let due = due_ns(&spec, sent.load(Ordering::Relaxed));
                if due >= length {
                    return Ok(());
                }
                let wait = begin + due - clock::monotonic_ns()?;
                if wait > 0 {
                    sys::sleep_ns(wait as u64);
                }
                sent.fetch_add(1, Ordering::Relaxed);
                send(socket.as_fd(), &ZEROS[..payload_bytes(&spec)])?;
            }
        })
    }

    /// What it waits for: each datagram, if its time counts.
    pub(crate) fn waits(&self) -> Option<(Side, BorrowedFd<'_>, i16)> {
        self.keeps_probes.then(|| (Side::Receiver, self.receiver.as_fd(), libc::POLLIN))
    }

    /// Takes what has arrived.
    pub(crate) fn read(&mut self, now: i64) -> Result<()> {
        if self.keeps_probes {
            return self.read_probes(now);
        }
        loop {
            match sys::discard(self.receiver.as_fd(), 0) {
                Ok(_) => {
                    self.received += 1;
                    self.last_delivery = Some(now);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    fn read_probes(&mut self, now: i64) -> Result<()> {
        let mut number = [0; 8];
        loop {
            let known = match sys::receive(self.receiver.as_fd(), &mut number) {
                Ok(known) => known.min(8),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            self.received += 1;
            self.last_delivery = Some(now);
            number[known..].fill(0);
            let low = u64::from_le_bytes(number);
            if let Some(probe) = numbered(&mut self.probes, low, 8 * known.max(1) as u32) {
                probe.delay.get_or_insert(now - probe.sent);
            }
        }
    }

    pub(crate) fn spec(&self) -> &Udp {
        &self.spec
    }
}

/// When datagram `number` is sent, from the start on; with an interval, those that are due since its
/// last multiple go together at its next, as iperf3 sends.
fn due_ns(spec: &Udp, number: u64) -> i64 {
    let bits = u128::from(number) * u128::from(spec.datagram_bytes) * 8;
    let ns = bits * 1_000_000_000 / u128::from(spec.rate_bps.as_bps().max(1));
    let interval = u128::from(spec.interval.as_ns());
    let at = if interval == 0 { ns } else { ns.next_multiple_of(interval) };
    at as i64
}

fn payload_bytes(spec: &Udp) -> usize {
    (spec.datagram_bytes as usize).min(MOST_BYTES)
}

/// Sends a datagram. What finds no room is lost before the first link, and counts as sent.
fn send(socket: BorrowedFd<'_>, datagram: &[u8]) -> Result<()> {
    match sys::send(socket, datagram) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(()),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
        Err(error) => Err(error),
    }
}

/// IP packets of a datagram.
pub(crate) fn fragments(spec: &Udp) -> u64 {
    let whole = spec.datagram_bytes + HEADERS_BYTES;
    if whole <= spec.mtu_bytes {
        return 1;
    }
    let room = (spec.mtu_bytes - IP_HEADER_BYTES) / 8 * 8;
    (whole - IP_HEADER_BYTES).div_ceil(room)
}
