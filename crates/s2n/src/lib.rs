//! s2n-quic as a stack of Dumbbell: client and server of one connection, virtual time, and all randomness from one
//! seed. Encryption is null (`null_tls.rs`): tags have the length of AES-GCM's, handshake messages about that of
//! TLS 1.3's; contents are not encrypted. s2n-quic writes no qlog: the logs of [`Spec::logs`] stay empty.
//!
//! s2n-quic's time has a resolution of 1 µs, and its timers expire up to 1 ms early if something else wakes the
//! endpoint. Its CUBIC computes with the C library's cube root: with another one a window may differ in its last bit.

mod application;
mod connection;
mod endpoint;
mod ids;
mod io;
mod null_tls;
mod random;
mod settings;
mod signal;
mod watch;

pub use connection::Connection;
use dumbbell_stack::{Maker, Spec, Stack};

/// Makes connections.
#[derive(Clone, Copy, Debug)]
pub struct S2n;

impl Maker for S2n {
    fn make(&self, spec: &Spec) -> Result<Box<dyn Stack>, String> {
        Ok(Box::new(Connection::new(spec)?))
    }
}
