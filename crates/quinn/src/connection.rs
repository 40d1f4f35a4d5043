//! One connection: two endpoints of quinn-proto, their applications, and virtual time.

use crate::application::{Reader, Writer};
use crate::settings::Settings;
use crate::tls::{Drawing, Present, SERVER_NAME};
use bytes::BytesMut;
use dumbbell_stack::{Side, Spec, Stack, State, Transmit};
use quinn_proto::{ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, Event};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// A place in quinn's time. Only differences count.
#[allow(clippy::disallowed_types)]
pub(crate) type Instant = std::time::Instant;

/// Datagrams of a transmission, as quinn's own driver has at most (`MAX_TRANSMIT_SEGMENTS`).
const DATAGRAMS: usize = 10;
/// Addresses of the ends. The simulator routes by flow.
const ADDRESSES: [([u8; 4], u16); 2] = [([10, 0, 0, 1], 40_000), ([10, 0, 0, 2], 4433)];

/// One end.
struct End {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, quinn_proto::Connection)>,
    /// Answers of the endpoint itself, not of a connection.
    answers: Vec<(Vec<u8>, u8)>,
}

impl End {
    fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, connection: None, answers: Vec::new() }
    }
}

/// A connection with both of its ends.
pub struct Connection {
    base: Instant,
    ends: [End; 2],
    client: quinn_proto::ClientConfig,
    writer: Writer,
    reader: Reader,
    bytes: Option<u64>,
    established: Option<Duration>,
    received: Option<Duration>,
    lost: Option<String>,
    /// Random numbers of TLS, if there is encryption.
    drawing: Option<Drawing>,
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

fn ecn_field(codepoint: Option<EcnCodepoint>) -> u8 {
    codepoint.map_or(0, |codepoint| codepoint as u8)
}

impl Connection {
    /// Creates a connection that is not yet open.
    ///
    /// # Errors
    /// What quinn cannot do.
    pub fn new(spec: &Spec) -> Result<Self, String> {
        // quinn knows no other clock. A day later, so that no difference leaves its range.
        #[allow(clippy::disallowed_methods)]
        let base = Instant::now() + Duration::from_secs(86_400);
        let Settings { client_endpoint, server_endpoint, client, server, drawing } =
            Settings::new(spec, base)?;
        let ends = [
            End::new(Endpoint::new(client_endpoint, None, true, None)),
            End::new(Endpoint::new(server_endpoint, Some(Arc::clone(&server)), true, None)),
        ];
        Ok(Self {
            base,
            ends,
            client,
            writer: Writer::new(spec.streams, spec.bytes),
            reader: Reader::default(),
            bytes: spec.bytes,
            established: None,
            received: None,
            lost: None,
            drawing,
            scratch: Vec::new(),
        })
    }

    /// Lets TLS draw from this connection's stream, while the result lives.
    fn drawing(&self) -> Option<Present> {
        self.drawing.as_ref().map(Drawing::begin)
    }

    fn at(&self, now: Duration) -> Instant {
        self.base + now
    }

    /// Moves events between a connection, its endpoint and its application until there are none.
    fn drive(&mut self, now: Duration, side: Side) {
        let End { endpoint, connection, .. } = &mut self.ends[side as usize];
        let Some((handle, connection)) = connection else { return };
        loop {
            let mut moved = false;
            while let Some(event) = connection.poll_endpoint_events() {
                moved = true;
                if let Some(event) = endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            while let Some(event) = connection.poll() {
                moved = true;
                match (event, side) {
                    (Event::Connected, Side::Client) => {
                        self.established = Some(now);
                        self.writer.connected(connection);
                    }
                    (Event::Stream(event), Side::Client) => {
                        self.writer.on_event(now, &event, connection);
                    }
                    (Event::Stream(event), Side::Server) => {
                        self.reader.on_event(now, &event, connection);
                        if self.bytes == Some(self.reader.bytes) {
                            self.received.get_or_insert(now);
                        }
                    }
                    (Event::ConnectionLost { reason }, _) => {
                        self.lost.get_or_insert(reason.to_string());
                    }
                    _ => {}
                }
            }
            if !moved {
                break;
            }
        }
    }
}

impl Stack for Connection {
    fn open(&mut self, now: Duration) {
        let _present = self.drawing();
        let at = self.at(now);
        let server = address(Side::Server);
        let end = &mut self.ends[Side::Client as usize];
        match end.endpoint.connect(at, self.client.clone(), server, SERVER_NAME) {
            Ok(opened) => end.connection = Some(opened),
            Err(error) => self.lost = Some(error.to_string()),
        }
        self.drive(now, Side::Client);
    }

    fn stop(&mut self, now: Duration) {
        let _present = self.drawing();
        if let Some((_, connection)) = &mut self.ends[Side::Client as usize].connection {
            self.writer.stop(connection);
        }
        self.drive(now, Side::Client);
    }

    fn receive(&mut self, now: Duration, side: Side, ecn_field: u8, datagram: &[u8]) {
        let _present = self.drawing();
        let at = self.at(now);
        let end = &mut self.ends[side as usize];
        let codepoint = EcnCodepoint::from_bits(ecn_field);
        let data = BytesMut::from(datagram);
        self.scratch.clear();
        let buffer = &mut self.scratch;
        let event = end.endpoint.handle(at, address(other(side)), None, codepoint, data, buffer);
        match event {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut end.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                buffer.clear();
                match end.endpoint.accept(incoming, at, buffer, None) {
                    Ok(opened) => end.connection = Some(opened),
                    Err(error) => {
                        if let Some(answer) = error.response {
                            let bytes = buffer[..answer.size].to_vec();
                            end.answers.push((bytes, self::ecn_field(answer.ecn)));
                        }
                    }
                }
            }
            Some(DatagramEvent::Response(answer)) => {
                let bytes = buffer[..answer.size].to_vec();
                end.answers.push((bytes, self::ecn_field(answer.ecn)));
            }
            None => {}
        }
        self.drive(now, side);
    }

    fn wake(&mut self, now: Duration, side: Side) {
        let _present = self.drawing();
        let at = self.at(now);
        if let Some((_, connection)) = &mut self.ends[side as usize].connection {
            if connection.poll_timeout().is_some_and(|due| due <= at) {
                connection.handle_timeout(at);
            }
        }
        self.drive(now, side);
    }

    fn transmit(&mut self, now: Duration, side: Side, out: &mut Vec<u8>) -> Option<Transmit> {
        let _present = self.drawing();
        let at = self.at(now);
        let end = &mut self.ends[side as usize];
        if let Some((bytes, ecn_field)) = end.answers.pop() {
            out.extend(&bytes);
            return Some(Transmit { ecn_field, datagram_bytes: bytes.len() });
        }
        let (_, connection) = end.connection.as_mut()?;
        self.scratch.clear();
        let sent = connection.poll_transmit(at, DATAGRAMS, &mut self.scratch)?;
        out.extend(&self.scratch[..sent.size]);
        let datagram_bytes = sent.segment_size.unwrap_or(sent.size);
        Some(Transmit { ecn_field: ecn_field(sent.ecn), datagram_bytes })
    }

    fn deadline(&mut self, side: Side) -> Option<Duration> {
        let (_, connection) = self.ends[side as usize].connection.as_mut()?;
        connection.poll_timeout().map(|due| due.saturating_duration_since(self.base))
    }

    fn state(&self) -> State {
        let known = State {
            established: self.established,
            delivered_bytes: self.reader.bytes,
            last_delivery: self.reader.last,
            received: self.received,
            acknowledged: self.writer.acknowledged,
            lost: self.lost.clone(),
            ..State::default()
        };
        let Some((_, client)) = &self.ends[Side::Client as usize].connection else { return known };
        let path = client.stats().path;
        let control = client.congestion_state().metrics();
        State {
            cwnd_bytes: Some(control.congestion_window),
            ssthresh_bytes: control.ssthresh,
            datagram_bytes: Some(path.current_mtu),
            srtt: self.established.map(|_| path.rtt),
            rtt_min: self.established.map(|_| path.min_rtt),
            lost_packets: Some(path.lost_packets),
            congestion_events: Some(path.congestion_events),
            ..known
        }
    }
}
