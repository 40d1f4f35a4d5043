//! Event traces of ns-2 and ns-3: read as a stream of any length, told as result tables or as the way
//! of every packet.
//!
//! Files are hostile: nothing is allocated by a number that they give, what is kept does not grow with
//! their length, what is wrong is told with its line, and what can be read is read.

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

pub use event::{Event, What};
pub use hops::{Hops, Window};
pub use links::{LinkCounts, Place};
pub use network::{Link, Network, Stream};
pub use problems::Problem;
pub use read::{read, Format, Kept, OpenError, Reading};
pub use summary::Summary;
