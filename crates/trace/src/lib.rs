//! Event traces of ns-2 and ns-3: reads a stream of any length and returns result tables or the
//! hops of every packet.
//!
//! Files are untrusted. No allocation uses a number from a file, memory does not grow with the
//! length of the file, every problem is reported with its line, and all readable lines are read.

pub mod delays;
pub mod event;
mod fields;
pub mod hops;
mod lines;
mod links;
mod network;
mod ns2;
mod ns3;
mod ns3_headers;
mod problems;
pub mod read;
pub mod sequence;
pub mod streams;
pub mod summary;
mod wireless;

pub use event::{Event, EventKind};
pub use hops::{Hops, Window};
pub use links::{DropPlace, LinkCounts};
pub use network::{Link, Network, Stream};
pub use problems::Problem;
pub use read::{read, EventSink, Format, OpenError, Reading};
pub use summary::Summary;
