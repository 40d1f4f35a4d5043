//! What a browser and its servers do while a page loads: which request goes over which connection
//! when, and in which order answers are written. Without sockets or a clock: an engine tells what
//! happened and does what is asked.

mod connection;
mod visit;

pub use visit::{Command, Visit};
