//! The handshake of TLS 1.3 without cryptography: the messages have the order of a handshake with a certificate
//! (RFC 8446 §2) and its lengths, and carry the transport parameters (RFC 9001 §8.2). Packets
//! have the tag's bytes (RFC 9001 §5.3), set to zero, and are not protected.

use bytes::BytesMut;
use dumbbell_stack::tls::{
    Message, CLIENT_HELLO, FINISHED, HEADER_BYTES, SAMPLE_BYTES, SERVER_FLIGHT, SERVER_HELLO,
    TAG_BYTES, TICKETS,
};
use quinn_proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey,
    ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use std::any::Any;
use std::sync::Arc;

/// The key that changes nothing.
struct NullKey;

impl HeaderKey for NullKey {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        SAMPLE_BYTES
    }
}

impl PacketKey for NullKey {
    fn encrypt(&self, _packet: u64, _buf: &mut [u8], _header_len: usize) {}

    fn decrypt(
        &self,
        _packet: u64,
        _header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let length = payload.len().checked_sub(TAG_BYTES).ok_or(CryptoError)?;
        payload.truncate(length);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG_BYTES
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

fn packet_keys() -> KeyPair<Box<dyn PacketKey>> {
    KeyPair { local: Box::new(NullKey), remote: Box::new(NullKey) }
}

fn keys() -> Keys {
    let header = KeyPair { local: Box::new(NullKey) as _, remote: Box::new(NullKey) as _ };
    Keys { header, packet: packet_keys() }
}

/// Step of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The client has to send its ClientHello.
    Hello,
    /// It waits for the first message of the other end.
    AwaitsHello,
    /// The server has read the ClientHello, or the client the ServerHello: Handshake keys are due.
    HandshakeKeys,
    /// The server has to send its flight; then 1-RTT keys are due.
    Flight,
    /// The client waits for the server's flight.
    AwaitsFlight,
    /// The client has to send Finished; then 1-RTT keys are due.
    Finish,
    /// The server waits for Finished.
    AwaitsFinished,
    /// The server has to send its tickets. The handshake is complete.
    Tickets,
    /// The handshake is complete.
    Done,
}

/// One end of a handshake.
pub(crate) struct NullSession {
    side: Side,
    step: Step,
    own: Vec<u8>,
    peer: Option<TransportParameters>,
    /// Bytes of a message that has not arrived as a whole.
    partial: Vec<u8>,
}

impl NullSession {
    fn new(side: Side, parameters: &TransportParameters) -> Self {
        let mut own = Vec::new();
        parameters.write(&mut own);
        let step = if side.is_client() { Step::Hello } else { Step::AwaitsHello };
        Self { side, step, own, peer: None, partial: Vec::new() }
    }

    /// Takes a whole message from the bytes read so far.
    fn message(&mut self) -> Option<(u8, Vec<u8>)> {
        let (&kind, length) = (self.partial.first()?, self.partial.get(1..HEADER_BYTES)?);
        let length = length.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
        let body = self.partial.get(HEADER_BYTES..HEADER_BYTES + length)?.to_vec();
        self.partial.drain(..HEADER_BYTES + length);
        Some((kind, body))
    }

    fn act(&mut self, kind: u8, body: &[u8]) -> Result<bool, TransportError> {
        let unexpected = || TransportError::from(TransportErrorCode::PROTOCOL_VIOLATION);
        let (expected, with_parameters, next) = match (self.side, self.step) {
            (Side::Server, Step::AwaitsHello) => (CLIENT_HELLO, true, Step::HandshakeKeys),
            (Side::Client, Step::AwaitsHello) => (SERVER_HELLO, false, Step::HandshakeKeys),
            (Side::Client, Step::AwaitsFlight) => (SERVER_FLIGHT, true, Step::Finish),
            (Side::Server, Step::AwaitsFinished) => (FINISHED, false, Step::Tickets),
            (Side::Client, Step::Done) => (TICKETS, false, Step::Done),
            _ => return Err(unexpected()),
        };
        let parameters = body.get(expected.1..).filter(|_| kind == expected.0);
        let mut parameters = parameters.ok_or_else(unexpected)?;
        self.step = next;
        if with_parameters {
            self.peer = Some(TransportParameters::read(self.side, &mut parameters)?);
        }
        Ok(with_parameters)
    }
}

/// Appends a message with this many bytes and the transport parameters.
fn write(out: &mut Vec<u8>, (kind, bytes): Message, parameters: &[u8]) {
    let length = (bytes + parameters.len()) as u32;
    out.push(kind);
    out.extend(&length.to_be_bytes()[1..]);
    out.resize(out.len() + bytes, 0);
    out.extend(parameters);
}

impl Session for NullSession {
    fn initial_keys(&self, _dst_cid: &ConnectionId, _side: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        !matches!(self.step, Step::Tickets | Step::Done)
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.partial.extend(buf);
        let mut has_data = false;
        while let Some((kind, body)) = self.message() {
            has_data |= self.act(kind, &body)?;
        }
        Ok(has_data)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        match self.step {
            Step::Hello => {
                write(buf, CLIENT_HELLO, &self.own);
                self.step = Step::AwaitsHello;
                None
            }
            Step::HandshakeKeys if self.side.is_client() => {
                self.step = Step::AwaitsFlight;
                Some(keys())
            }
            Step::HandshakeKeys => {
                write(buf, SERVER_HELLO, &[]);
                self.step = Step::Flight;
                Some(keys())
            }
            Step::Flight => {
                write(buf, SERVER_FLIGHT, &self.own);
                self.step = Step::AwaitsFinished;
                Some(keys())
            }
            Step::Finish => {
                write(buf, FINISHED, &[]);
                self.step = Step::Done;
                Some(keys())
            }
            Step::Tickets => {
                write(buf, TICKETS, &[]);
                self.step = Step::Done;
                None
            }
            Step::AwaitsHello | Step::AwaitsFlight | Step::AwaitsFinished | Step::Done => None,
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(packet_keys())
    }

    fn is_valid_retry(&self, _orig: &ConnectionId, _header: &[u8], _payload: &[u8]) -> bool {
        false // Servers send no Retry.
    }

    fn export_keying_material(
        &self,
        _output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

/// Configuration of both ends.
pub(crate) struct NullTls;

impl ClientConfig for NullTls {
    fn start_session(
        self: Arc<Self>,
        _version: u32,
        _server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(NullSession::new(Side::Client, params)))
    }
}

impl ServerConfig for NullTls {
    fn initial_keys(&self, _version: u32, _dst: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _version: u32, _orig: &ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(
        self: Arc<Self>,
        _version: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        Box::new(NullSession::new(Side::Server, params))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::{self, Drawing, SERVER_NAME};
    use dumbbell_stack::random::Random;
    use dumbbell_stack::Log;

    /// Lengths of what an end writes, in turn, until both are silent; `true`: then come new keys.
    fn lengths(client: Arc<dyn ClientConfig>, server: Arc<dyn ServerConfig>) -> Vec<(usize, bool)> {
        let parameters = |side| TransportParameters::read(side, &mut [].as_slice());
        let (Ok(of_client), Ok(of_server)) = (parameters(Side::Server), parameters(Side::Client))
        else {
            panic!("no parameters are valid");
        };
        let drawing = Drawing::new(Random::of(1));
        let _present = drawing.begin();
        let opened = client.start_session(1, SERVER_NAME, &of_client);
        let opened = opened.unwrap_or_else(|error| panic!("{error}"));
        let mut ends = [opened, server.start_session(1, &of_server)];
        let (mut lengths, mut silent, mut from) = (Vec::new(), 0, 0);
        while silent < 2 {
            let mut written = Vec::new();
            let keys = ends[from].write_handshake(&mut written);
            from = 1 - from;
            if written.is_empty() && keys.is_none() {
                silent += 1;
                continue;
            }
            silent = 0;
            lengths.push((written.len(), keys.is_some()));
            let read = ends[from].read_handshake(&written);
            read.unwrap_or_else(|error| panic!("{error}"));
        }
        assert!(ends.iter().all(|end| !end.is_handshaking()));
        lengths
    }

    #[test]
    fn messages_have_the_lengths_of_tls() {
        let (Ok(client), Ok(server)) = (tls::client(&Log::default()), tls::server()) else {
            panic!("valid configurations");
        };
        let of_tls = lengths(Arc::new(client), Arc::new(server));
        assert_eq!(lengths(Arc::new(NullTls), Arc::new(NullTls)), of_tls);
    }
}
