//! TCP endpoints as in Linux.

mod abc;
mod accecn;
pub(crate) mod ack;
mod congestion_state;
pub(crate) mod duplex;
pub(crate) mod ecn;
pub(crate) mod ends;
mod fack;
pub(crate) mod handshake;
pub(crate) mod host_queue;
pub(crate) mod mappings;
mod oow_limit;
pub(crate) mod out_queue;
pub(crate) mod output;
mod pacer;
pub(crate) mod rack;
pub(crate) mod rate;
mod rate_halving;
mod rate_limited;
mod reader;
pub(crate) mod reassembly;
pub(crate) mod receive_buffer;
pub(crate) mod receiver;
mod receiver_ack;
mod receiver_close;
mod receiver_rtt;
mod receiver_sack;
pub(crate) mod receiver_window;
pub(crate) mod recovery;
mod recovery_state;
mod retransmit;
pub(crate) mod rtt;
pub(crate) mod rtx_queue;
pub(crate) mod sacktag;
pub(crate) mod scoreboard;
#[cfg(feature = "packetdrill")]
pub(crate) mod script;
mod send_buffer;
pub(crate) mod sender;
pub(crate) mod source;
pub(crate) mod stack;
pub(crate) mod subflow;
mod time_wait;
pub(crate) mod timers;
mod undo;
mod window_usage;
mod write_queue;
pub(crate) mod xmit_timer;

use dumbbell_model::Span;

/// Time of one reading of the clock by the kernel in virtual time.
const CLOCK_READING: Span = Span::from_ns(256);

/// Bytes of options in a header (RFC 9293 §3.1).
const OPTIONS_BYTES_MAX: u32 = 40;

/// Bytes of options that are left beside timestamps and SACK blocks.
fn sack_space(timestamps: bool, blocks: usize) -> u32 {
    let timestamps = if timestamps { dumbbell_packet::tcp::TIMESTAMPS_BYTES } else { 0 };
    let sack = if blocks > 0 { 4 + 8 * blocks as u32 } else { 0 };
    OPTIONS_BYTES_MAX - timestamps - sack
}
