//! Capture analysis: reads pcap, pcapng and snoop files of any origin as a stream and analyses
//! their TCP connections.
//!
//! Files are untrusted. No allocation uses a length from a file, every problem is reported with its
//! offset, and all readable records are read.
//!
//! Files are hostile: nothing is allocated by a length that they give, what is wrong is told with its
//! offset, and what can be read is read.

pub mod connection;
#[cfg(feature = "files")]
pub mod connections;
pub mod decode;
#[cfg(feature = "files")]
mod doubles;
#[cfg(feature = "files")]
pub mod file;
#[cfg(feature = "files")]
mod fragments;
#[cfg(feature = "files")]
pub mod input;
#[cfg(feature = "files")]
mod pcap;
#[cfg(feature = "files")]
mod pcapng;
#[cfg(feature = "files")]
pub mod ping;
pub mod rate;
pub mod segment;
#[cfg(feature = "files")]
pub mod sightings;
#[cfg(feature = "files")]
mod snoop;
#[cfg(feature = "files")]
mod sources;
#[cfg(feature = "files")]
pub mod survey;
mod tap;
#[cfg(feature = "files")]
mod tunnels;

pub use connection::{Connection, Passing};
pub use decode::{Address, IpPacket, LinkType};
#[cfg(feature = "files")]
pub use file::{CaptureFile, Problem, Record};
pub use segment::Segment;
#[cfg(feature = "files")]
pub use survey::{Conversation, Layer, Survey, Told};
pub use tap::Taps;
#[cfg(feature = "files")]
pub use tunnels::Tallies;
