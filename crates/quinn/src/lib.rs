//! QUIC by quinn-proto, as a stack of Dumbbell: client and server of one connection, virtual time, and all
//! randomness from one seed. Encryption is null (`null_tls.rs`: tags have the length of AES-GCM's, handshake
//! messages that of TLS 1.3's, contents are not encrypted) or TLS 1.3 (`tls.rs`).

mod application;
mod connection;
mod keys;
mod null_tls;
mod settings;
mod tls;

pub use connection::Connection;
use dumbbell_stack::{Maker, Spec, Stack};

/// Makes connections.
#[derive(Clone, Copy, Debug)]
pub struct Quinn;

impl Maker for Quinn {
    fn make(&self, spec: &Spec) -> Result<Box<dyn Stack>, String> {
        Ok(Box::new(Connection::new(spec)?))
    }
}
