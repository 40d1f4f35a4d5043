//! What stacks ask of their task.

use crate::Spec;

/// Smallest datagram that a path must carry (RFC 9000 §14).
const SMALLEST_DATAGRAM_BYTES: u16 = 1200;
/// Largest number of streams.
const STREAMS: u32 = 100;

/// Checks the size of datagrams and the number of streams of a QUIC connection.
///
/// # Errors
/// The first that is out of range, in a sentence.
pub fn check_quic(spec: &Spec) -> Result<(), String> {
    if spec.datagram_bytes < SMALLEST_DATAGRAM_BYTES {
        return Err(format!(
            "QUIC needs datagrams of {SMALLEST_DATAGRAM_BYTES} bytes (RFC 9000 §14), the hosts' MTU \
             leaves {}",
            spec.datagram_bytes
        ));
    }
    if spec.streams == 0 || spec.streams > STREAMS {
        return Err(format!("{} streams; allowed: 1 to {STREAMS}", spec.streams));
    }
    Ok(())
}
