//! Captures: reads pcap and pcapng of any origin as a stream, and says what is in them.
//!
//! Files are hostile: nothing is allocated by a length that they give, what is wrong is told with its
//! offset, and what can be read is read.

pub mod connection;
pub mod decode;
pub mod file;
mod fragments;
mod input;
mod pcap;
mod pcapng;
pub mod ping;
pub mod rate;
pub mod segment;
pub mod survey;

pub use connection::{Connection, Passing};
pub use decode::{Address, IpPacket, LinkType};
pub use file::{CaptureFile, Problem, Record};
pub use segment::Segment;
pub use survey::{Conversation, Layer, Survey, Told};
