//! Capture analysis: reads pcap, pcapng and snoop files of any origin as a stream and analyses
//! their TCP connections.
//!
//! Files are untrusted. No allocation uses a length from a file, every problem is reported with its
//! offset, and all readable records are read.

pub mod connection;
#[cfg(feature = "files")]
pub mod connections;
pub mod decode;
#[cfg(feature = "files")]
mod duplicates;
#[cfg(feature = "files")]
pub mod file;
#[cfg(feature = "files")]
mod fragments;
#[cfg(feature = "files")]
pub mod icmp;
#[cfg(feature = "files")]
pub mod input;
#[cfg(feature = "files")]
mod pcap;
#[cfg(feature = "files")]
mod pcapng;
#[cfg(feature = "files")]
pub mod ping;
pub mod rate;
#[cfg(feature = "files")]
mod records;
#[cfg(feature = "files")]
pub mod sightings;
#[cfg(feature = "files")]
mod snoop;
#[cfg(feature = "files")]
mod sources;
#[cfg(feature = "files")]
pub mod survey;
mod tap;
pub mod tcp_header;
#[cfg(feature = "files")]
mod tunnels;

pub use connection::{Connection, PacketInfo};
pub use decode::{Address, IpPacket, LinkType};
#[cfg(feature = "files")]
pub use file::{CaptureFile, Problem, Record};
#[cfg(feature = "files")]
pub use survey::{Conversation, ConversationKind, Survey, TcpPacket};
pub use tap::Taps;
pub use tcp_header::TcpHeader;
#[cfg(feature = "files")]
pub use tunnels::Tallies;
