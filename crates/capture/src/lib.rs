//! Captures: reads pcap and pcapng of any origin as a stream, and says what is in them.
//!
//! Files are hostile: nothing is allocated by a length that they give, what is wrong is told with its
//! offset, and what can be read is read.

pub mod decode;
pub mod file;
mod fragments;
mod input;
mod pcap;
mod pcapng;
pub mod survey;

pub use decode::{Address, Headers, LinkType};
pub use file::{CaptureFile, Problem, Record};
pub use survey::{Conversation, Layer, Survey};
