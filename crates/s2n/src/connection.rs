//! One connection: two endpoints of s2n-quic, their applications, and virtual time.

use crate::application::{Application, Reader, Writer};
use crate::endpoint::{at, Port};
use crate::io::{Arrived, Outgoing};
use crate::settings::Endpoints;
use crate::signal::Signal;
use crate::watch::Watch;
use dumbbell_stack::{Side, Spec, Stack, State, Transmit};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Addresses of the ends. The simulator routes by flow.
const ADDRESSES: [([u8; 4], u16); 2] = [([10, 0, 0, 1], 40_000), ([10, 0, 0, 2], 4433)];

/// One end.
struct End {
    port: Box<dyn Port>,
    outgoing: Outgoing,
    /// The endpoint has something new, and may want to send.
    news: bool,
    /// The application has something new.
    signal: Arc<Signal>,
}

impl End {
    fn new(port: Box<dyn Port>) -> Self {
        Self { port, outgoing: Outgoing::default(), news: false, signal: Signal::new(None) }
    }

    /// Lets the application and the endpoint act until none has anything to do.
    fn drive(&mut self, now: Duration, application: &mut dyn Application) {
        loop {
            let polled = self.signal.take();
            if polled {
                application.poll(now, &self.signal);
            }
            let acted = self.port.poll_wakeups(at(now));
            self.news |= acted;
            if !polled && !acted {
                return;
            }
        }
    }
}

/// A connection with both of its ends.
pub struct Connection {
    ends: [End; 2],
    writer: Writer,
    reader: Reader,
    bytes: Option<u64>,
    received: Option<Duration>,
    client: Watch,
    lost: Option<String>,
    scratch: Vec<u8>,
}

fn address(side: Side) -> SocketAddr {
    let (ip, port) = ADDRESSES[side as usize];
    SocketAddr::new(Ipv4Addr::from(ip).into(), port)
}

fn other(side: Side) -> Side {
    match side {
        Side::Client => Side::Server,
        Side::Server => Side::Client,
    }
}

impl Connection {
    /// Creates a connection that is not yet open.
    ///
    /// # Errors
    /// What s2n-quic cannot do.
    pub fn new(spec: &Spec) -> Result<Self, String> {
        let Endpoints { ports, connector, acceptor } = Endpoints::new(spec)?;
        Ok(Self {
            ends: ports.map(End::new),
            writer: Writer::new(connector, spec.streams, spec.bytes),
            reader: Reader::new(acceptor),
            bytes: spec.bytes,
            received: None,
            client: Watch::default(),
            lost: None,
            scratch: Vec::new(),
        })
    }

    fn drive(&mut self, now: Duration, side: Side) {
        let application: &mut dyn Application = match side {
            Side::Client => &mut self.writer,
            Side::Server => &mut self.reader,
        };
        let end = &mut self.ends[side as usize];
        end.drive(now, application);
        let watch = end.port.watch();
        if let Some(error) = watch.closed.filter(|_| self.lost.is_none()) {
            self.lost = Some(error.to_string());
        }
        if side == Side::Client {
            self.client = watch.clone();
        } else if self.bytes == Some(self.reader.bytes) {
            self.received = self.received.or(self.reader.last);
        }
    }

    /// Lets the endpoint handle its timers and write what it may send.
    fn write(&mut self, now: Duration, side: Side) {
        let end = &mut self.ends[side as usize];
        end.news = false;
        end.port.transmit(at(now), &mut end.outgoing);
        self.drive(now, side);
    }
}

impl Stack for Connection {
    fn open(&mut self, now: Duration) {
        self.writer.open(address(Side::Server));
        self.drive(now, Side::Client);
    }

    fn stop(&mut self, now: Duration) {
        self.writer.stop();
        self.drive(now, Side::Client);
    }

    fn receive(&mut self, now: Duration, side: Side, ecn_field: u8, datagram: &[u8]) {
        self.scratch.clear();
        self.scratch.extend(datagram);
        let end = &mut self.ends[side as usize];
        let from = s2n_quic_core::inet::SocketAddress::from(address(other(side))).into();
        let datagram = Some(&mut self.scratch[..]);
        end.port.receive(at(now), &mut Arrived { from, ecn_field, datagram });
        end.news = true;
        self.drive(now, side);
    }

    fn wake(&mut self, now: Duration, side: Side) {
        let end = &mut self.ends[side as usize];
        if end.port.timeout().is_some_and(|due| due <= now) {
            end.news = true;
            self.write(now, side);
        }
    }

    fn transmit(&mut self, now: Duration, side: Side, out: &mut Vec<u8>) -> Option<Transmit> {
        loop {
            let end = &mut self.ends[side as usize];
            if let Some(sent) = end.outgoing.pop(out) {
                return Some(sent);
            }
            if !end.news {
                return None;
            }
            self.write(now, side);
        }
    }

    fn deadline(&mut self, side: Side) -> Option<Duration> {
        self.ends[side as usize].port.timeout()
    }

    fn state(&self) -> State {
        let established = self.writer.established;
        State {
            established,
            delivered_bytes: self.reader.bytes,
            last_delivery: self.reader.last,
            received: self.received,
            acknowledged: self.writer.acknowledged,
            lost: self.lost.clone(),
            cwnd_bytes: self.client.cwnd_bytes,
            // s2n-quic does not tell it.
            ssthresh_bytes: None,
            in_flight_bytes: self.client.in_flight_bytes,
            datagram_bytes: self.client.datagram_bytes,
            srtt: self.client.srtt.filter(|_| established.is_some()),
            rtt_min: self.client.rtt_min.filter(|_| established.is_some()),
            lost_packets: Some(self.client.lost_packets),
            congestion_events: Some(self.client.congestion_events),
        }
    }
}
