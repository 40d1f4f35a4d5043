//! The handshake of TLS 1.3 without cryptography: the messages have the order of a handshake with a certificate
//! (RFC 8446 §2) and its lengths, and carry the transport parameters (RFC 9001 §8.2). Packets
//! have the tag's bytes (RFC 9001 §5.3), set to zero, and are not protected.

use bytes::Bytes;
use dumbbell_stack::tls::{
    CLIENT_HELLO, FINISHED, HEADER_BYTES, SAMPLE_BYTES, SERVER_FLIGHT, SERVER_HELLO, TAG_BYTES,
};
use s2n_codec::{Encoder, EncoderValue};
use s2n_quic_core::application::ServerName;
use s2n_quic_core::crypto::retry::IntegrityTag;
use s2n_quic_core::crypto::tls::{self, ApplicationParameters, CipherSuite, ConnectionInfo};
use s2n_quic_core::crypto::{
    packet_protection, scatter, CryptoSuite, HandshakeHeaderKey, HandshakeKey, HeaderKey,
    HeaderProtectionMask, InitialHeaderKey, InitialKey, Key, OneRttHeaderKey, OneRttKey, RetryKey,
    ZeroRttHeaderKey, ZeroRttKey,
};
use s2n_quic_core::transport;
use std::task::Poll;

/// Protocol that both ends agree on: QUIC demands one (RFC 9001 §8.1).
const PROTOCOL: &[u8] = b"dumbbell";

/// The key that changes nothing.
pub(crate) struct NullKey;

impl Key for NullKey {
    fn decrypt(
        &self,
        _packet_number: u64,
        _header: &[u8],
        payload: &mut [u8],
    ) -> Result<(), packet_protection::Error> {
        if payload.len() < TAG_BYTES {
            return Err(packet_protection::Error::DECRYPT_ERROR);
        }
        Ok(())
    }

    fn encrypt(
        &mut self,
        _packet_number: u64,
        _header: &[u8],
        payload: &mut scatter::Buffer<'_>,
    ) -> Result<(), packet_protection::Error> {
        payload.flatten().write_slice(&[0; TAG_BYTES]);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG_BYTES
    }

    fn aead_confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn aead_integrity_limit(&self) -> u64 {
        u64::MAX
    }

    fn cipher_suite(&self) -> CipherSuite {
        CipherSuite::Unknown
    }
}

impl HeaderKey for NullKey {
    fn opening_header_protection_mask(&self, _sample: &[u8]) -> HeaderProtectionMask {
        HeaderProtectionMask::default()
    }

    fn opening_sample_len(&self) -> usize {
        SAMPLE_BYTES
    }

    fn sealing_header_protection_mask(&self, _sample: &[u8]) -> HeaderProtectionMask {
        HeaderProtectionMask::default()
    }

    fn sealing_sample_len(&self) -> usize {
        SAMPLE_BYTES
    }
}

impl InitialKey for NullKey {
    type HeaderKey = Self;

    fn new_server(_connection_id: &[u8]) -> (Self, Self) {
        (Self, Self)
    }

    fn new_client(_connection_id: &[u8]) -> (Self, Self) {
        (Self, Self)
    }
}

impl OneRttKey for NullKey {
    fn derive_next_key(&self) -> Self {
        Self
    }
}

impl RetryKey for NullKey {
    fn generate_tag(_payload: &[u8]) -> IntegrityTag {
        IntegrityTag::default()
    }

    fn validate(_payload: &[u8], _tag: IntegrityTag) -> Result<(), packet_protection::Error> {
        Err(packet_protection::Error::DECRYPT_ERROR) // Servers send no Retry.
    }
}

impl InitialHeaderKey for NullKey {}
impl HandshakeKey for NullKey {}
impl HandshakeHeaderKey for NullKey {}
impl OneRttHeaderKey for NullKey {}
impl ZeroRttKey for NullKey {}
impl ZeroRttHeaderKey for NullKey {}

/// Step of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The client has to send its ClientHello.
    Hello,
    /// The client waits for the ServerHello.
    AwaitsServerHello,
    /// The client waits for the server's flight, and then sends Finished.
    AwaitsFlight,
    /// The server waits for the ClientHello, and then sends its messages.
    AwaitsClientHello,
    /// The server waits for Finished.
    AwaitsFinished,
    /// The handshake is complete.
    Done,
}

/// One end of a handshake.
#[derive(Debug)]
pub(crate) struct NullSession {
    step: Step,
    own: Vec<u8>,
    server_name: Option<ServerName>,
    /// Bytes of a message that has not arrived as a whole.
    partial: Vec<u8>,
}

impl CryptoSuite for NullSession {
    type HandshakeKey = NullKey;
    type HandshakeHeaderKey = NullKey;
    type InitialKey = NullKey;
    type InitialHeaderKey = NullKey;
    type OneRttKey = NullKey;
    type OneRttHeaderKey = NullKey;
    type ZeroRttKey = NullKey;
    type ZeroRttHeaderKey = NullKey;
    type RetryKey = NullKey;
}

/// A message with this many bytes and the transport parameters.
fn message((kind, bytes): (u8, usize), parameters: &[u8]) -> Bytes {
    let length = (bytes + parameters.len()) as u32;
    let mut out = vec![kind];
    out.extend(&length.to_be_bytes()[1..]);
    out.resize(out.len() + bytes, 0);
    out.extend(parameters);
    out.into()
}

impl NullSession {
    /// Takes a whole message of this kind from the bytes read so far: its transport parameters.
    fn take(&mut self, (kind, bytes): (u8, usize)) -> Result<Option<Vec<u8>>, transport::Error> {
        let Some(header) = self.partial.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let length = header[1..].iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
        if header[0] != kind || length < bytes {
            return Err(transport::Error::PROTOCOL_VIOLATION);
        }
        if self.partial.len() < HEADER_BYTES + length {
            return Ok(None);
        }
        let whole: Vec<u8> = self.partial.drain(..HEADER_BYTES + length).collect();
        Ok(Some(whole[HEADER_BYTES + bytes..].to_vec()))
    }

    /// Tells the connection what was agreed on.
    fn agree<C: tls::Context<Self>>(
        &mut self,
        context: &mut C,
        peer: &[u8],
    ) -> Result<(), transport::Error> {
        context.on_application_protocol(Bytes::from_static(PROTOCOL))?;
        let parameters = ApplicationParameters { transport_parameters: peer };
        context.on_one_rtt_keys(NullKey, NullKey, parameters)
    }

    /// Takes a step. Returns `false` if a message is missing.
    fn advance<C: tls::Context<Self>>(
        &mut self,
        context: &mut C,
    ) -> Result<bool, transport::Error> {
        let (awaited, received) = match self.step {
            Step::Hello => {
                if let Some(name) = self.server_name.take() {
                    context.on_server_name(name)?;
                }
                context.send_initial(message(CLIENT_HELLO, &self.own));
                self.step = Step::AwaitsServerHello;
                return Ok(true);
            }
            Step::Done => return Ok(false),
            Step::AwaitsServerHello => (SERVER_HELLO, context.receive_initial(None)),
            Step::AwaitsClientHello => (CLIENT_HELLO, context.receive_initial(None)),
            Step::AwaitsFlight => (SERVER_FLIGHT, context.receive_handshake(None)),
            Step::AwaitsFinished => (FINISHED, context.receive_handshake(None)),
        };
        self.partial.extend(received.iter().flatten());
        let Some(peer) = self.take(awaited)? else { return Ok(received.is_some()) };
        match self.step {
            Step::AwaitsServerHello => {
                context.on_handshake_keys(NullKey, NullKey)?;
                self.step = Step::AwaitsFlight;
            }
            Step::AwaitsClientHello => {
                context.send_initial(message(SERVER_HELLO, &[]));
                context.on_handshake_keys(NullKey, NullKey)?;
                context.send_handshake(message(SERVER_FLIGHT, &self.own));
                self.agree(context, &peer)?;
                self.step = Step::AwaitsFinished;
            }
            Step::AwaitsFlight => {
                self.agree(context, &peer)?;
                context.send_handshake(message(FINISHED, &[]));
                context.on_handshake_complete()?;
                self.step = Step::Done;
            }
            Step::AwaitsFinished => {
                context.on_handshake_complete()?;
                self.step = Step::Done;
            }
            Step::Hello | Step::Done => {}
        }
        Ok(true)
    }
}

impl tls::Session for NullSession {
    fn poll<C: tls::Context<Self>>(
        &mut self,
        context: &mut C,
    ) -> Poll<Result<(), transport::Error>> {
        while self.advance(context)? {}
        if self.step == Step::Done {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    }
}

/// TLS of both ends.
#[derive(Debug)]
pub(crate) struct NullTls;

impl tls::Endpoint for NullTls {
    type Session = NullSession;

    fn new_server_session<P: EncoderValue>(
        &mut self,
        transport_parameters: &P,
        _connection_info: ConnectionInfo,
    ) -> NullSession {
        let own = transport_parameters.encode_to_vec();
        let step = Step::AwaitsClientHello;
        NullSession { step, own, server_name: None, partial: Vec::new() }
    }

    fn new_client_session<P: EncoderValue>(
        &mut self,
        transport_parameters: &P,
        server_name: ServerName,
    ) -> NullSession {
        let own = transport_parameters.encode_to_vec();
        let server_name = Some(server_name);
        NullSession { step: Step::Hello, own, server_name, partial: Vec::new() }
    }

    fn max_tag_length(&self) -> usize {
        TAG_BYTES
    }
}
