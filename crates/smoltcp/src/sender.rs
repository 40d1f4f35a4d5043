//! A connection: an interface and a socket of smoltcp, and the application that writes.

use crate::wire::Wire;
use dumbbell_stack::random::Random;
use dumbbell_stack::{ip, Side, Spec, Stack, State, Transmit};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State as Phase};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, Ipv4Address};
use std::time::Duration;

/// Send buffer: Linux's largest (`tcp_wmem`), so that no window is too large for it.
const SEND_BUFFER_BYTES: usize = 4 << 20;
/// Receive buffer: nothing but acknowledgements arrives.
const RECEIVE_BUFFER_BYTES: usize = 1 << 16;
/// Smallest MTU of a link with IPv4 (RFC 791 §3.2).
const SMALLEST_MTU_BYTES: u16 = 68;
/// Both hosts are in one network.
const PREFIX_BITS: u8 = 8;

/// The end of a connection that opens it and sends.
pub struct Sender {
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    wire: Wire,
    /// Bytes that the application has yet to write; `None`: without end.
    left: Option<u64>,
    stopped: bool,
    opened: bool,
    established: Option<Duration>,
    acknowledged: Option<Duration>,
    lost: Option<String>,
    deadline: Option<Duration>,
}

/// smoltcp's time has microseconds.
fn instant(now: Duration) -> Instant {
    Instant::from_micros(i64::try_from(now.as_micros()).unwrap_or(i64::MAX))
}

impl Sender {
    /// Creates a connection that is not yet open.
    ///
    /// # Errors
    /// What smoltcp cannot do.
    pub fn new(spec: &Spec) -> Result<Self, String> {
        if spec.datagram_bytes < SMALLEST_MTU_BYTES {
            let mtu = spec.datagram_bytes;
            return Err(format!("IPv4 needs an MTU of {SMALLEST_MTU_BYTES} bytes; found {mtu}"));
        }
        let control = match spec.congestion_control.as_str() {
            "reno" => CongestionControl::Reno,
            "cubic" => CongestionControl::Cubic,
            other => return Err(format!("smoltcp has no {other}; allowed: cubic, reno")),
        };
        let mut wire = Wire::new(usize::from(spec.datagram_bytes));
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = Random::new(&spec.seed, 0).next();
        let mut interface = Interface::new(config, &mut wire, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            // One address fits.
            let _ = addresses.push(IpCidr::new(address(Side::Client), PREFIX_BITS));
        });
        let buffer = |bytes: usize| SocketBuffer::new(vec![0; bytes]);
        let mut socket = Socket::new(buffer(RECEIVE_BUFFER_BYTES), buffer(SEND_BUFFER_BYTES));
        socket.set_congestion_control(control);
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        Ok(Self {
            interface,
            sockets,
            socket,
            wire,
            left: spec.bytes,
            stopped: false,
            opened: false,
            established: None,
            acknowledged: None,
            lost: None,
            deadline: None,
        })
    }

    /// Lets the interface and the application act until neither has anything to do.
    fn drive(&mut self, now: Duration) {
        if !self.opened {
            return;
        }
        let at = instant(now);
        loop {
            self.interface.poll(at, &mut self.wire, &mut self.sockets);
            if !self.write() {
                break;
            }
        }
        let socket = self.sockets.get::<Socket<'_>>(self.socket);
        if !matches!(socket.state(), Phase::Closed | Phase::SynSent) {
            self.established.get_or_insert(now);
        }
        let empty = socket.send_queue() == 0 && self.left == Some(0);
        if empty && self.established.is_some() {
            self.acknowledged.get_or_insert(now);
        }
        if socket.state() == Phase::Closed && self.acknowledged.is_none() && !self.stopped {
            self.lost.get_or_insert("the connection was reset or timed out".to_owned());
        }
        let due = self.interface.poll_at(at, &self.sockets);
        self.deadline = due.map(|due| {
            let due = Duration::from_micros(due.total_micros().unsigned_abs());
            // Work that is due now is done: the next call is a microsecond later.
            due.max(Duration::from_micros(at.total_micros().unsigned_abs() + 1))
        });
    }

    /// Writes what the send buffer has room for. Returns true if there was something.
    fn write(&mut self) -> bool {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        let mut some = false;
        while !self.stopped && self.left != Some(0) && socket.can_send() {
            let most =
                self.left.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX));
            // The buffer's zeros are the data.
            let written = socket.send(|room| (room.len().min(most), room.len().min(most)));
            let Ok(bytes @ 1..) = written else { break };
            self.left = self.left.map(|left| left - bytes as u64);
            some = true;
        }
        let ends = self.stopped || self.left == Some(0);
        if ends && socket.may_send() {
            socket.close();
            some = true;
        }
        some
    }
}

fn address(side: Side) -> IpAddress {
    IpAddress::Ipv4(Ipv4Address::from(ip::ADDRESSES[side as usize]))
}

impl Stack for Sender {
    fn open(&mut self, now: Duration) {
        self.opened = true;
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        let [own, peer] = ip::PORTS;
        let to = (address(Side::Server), peer);
        if let Err(error) = socket.connect(self.interface.context(), to, own) {
            self.lost = Some(error.to_string());
        }
        self.drive(now);
    }

    fn stop(&mut self, now: Duration) {
        self.stopped = true;
        self.drive(now);
    }

    fn receive(&mut self, now: Duration, side: Side, _ecn_field: u8, datagram: &[u8]) {
        if side == Side::Client {
            self.wire.arrived.push_back(datagram.to_vec());
            self.drive(now);
        }
    }

    fn wake(&mut self, now: Duration, side: Side) {
        if side == Side::Client {
            self.drive(now);
        }
    }

    fn transmit(&mut self, _now: Duration, side: Side, out: &mut Vec<u8>) -> Option<Transmit> {
        if side != Side::Client {
            return None;
        }
        let packet = self.wire.sent.pop_front()?;
        out.extend(&packet);
        Some(Transmit { ecn_field: 0, datagram_bytes: packet.len() })
    }

    fn deadline(&mut self, side: Side) -> Option<Duration> {
        self.deadline.filter(|_| side == Side::Client)
    }

    fn state(&self) -> State {
        State {
            established: self.established,
            acknowledged: self.acknowledged,
            lost: self.lost.clone(),
            ..State::default()
        }
    }
}
