//! Packets as values and as bytes: the contents of TCP segments, datagrams and echoes, frame
//! lengths, and the [`Tap`] trait for observers of packets.

pub mod accecn;
pub mod ecmp;
pub mod frame;
pub mod mptcp;
pub mod pcapng;
pub mod read;
pub mod tap;
pub mod tap_packets;
pub mod tcp;
pub mod wire;
mod wire_mptcp;

pub use accecn::AccurateEcn;
pub use frame::{Body, Packet};
pub use mptcp::Multipath;
pub use tap::Tap;
pub use tap_packets::TapPackets;
pub use tcp::{Cause, SackBlock, Segment};
pub use wire_mptcp::MultipathHeaders;
