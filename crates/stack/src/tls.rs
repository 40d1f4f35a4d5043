//! Lengths of TLS 1.3's handshake for stacks without encryption, so that their packets are as long as with it: X25519, and
//! an Ed25519 certificate of 335 bytes. Larger certificates take more. `dumbbell-quinn` compares them with rustls' messages.

/// Tag of AES-128-GCM (RFC 9001 §5.3).
pub const TAG_BYTES: usize = 16;
/// Sample for header protection (RFC 9001 §5.4.2).
pub const SAMPLE_BYTES: usize = 16;
/// Type and length before a message (RFC 8446 §4).
pub const HEADER_BYTES: usize = 4;

/// A message: its type, and its bytes beside header and transport parameters.
pub type Message = (u8, usize);

/// ClientHello.
pub const CLIENT_HELLO: Message = (1, 152);
/// ServerHello.
pub const SERVER_HELLO: Message = (2, 86);
/// EncryptedExtensions, Certificate, CertificateVerify and Finished.
pub const SERVER_FLIGHT: Message = (8, 466);
/// Finished of the client.
pub const FINISHED: Message = (20, 32);
/// Tickets for a later connection, which there is not (RFC 8446 §4.6.1).
pub const TICKETS: Message = (4, 174);
