//! TCP's two ends as Linux has them.

mod abc;
pub(crate) mod ack;
pub(crate) mod duplex;
pub(crate) mod ecn;
mod fack;
mod handshake;
pub(crate) mod mappings;
pub(crate) mod output;
pub(crate) mod rack;
pub(crate) mod rate;
mod rate_halving;
pub(crate) mod reassembly;
pub(crate) mod receive_buffer;
pub(crate) mod receiver;
mod receiver_ack;
mod receiver_sack;
mod receiver_window;
pub(crate) mod recovery;
pub(crate) mod rtt;
pub(crate) mod rtx_queue;
pub(crate) mod sacktag;
pub(crate) mod sender;
pub(crate) mod source;
pub(crate) mod subflow;
pub(crate) mod timers;
pub(crate) mod wheel;
mod write_queue;
