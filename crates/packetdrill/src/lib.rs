//! packetdrill's language, written from its documentation: a script is read ([`Script::parse`]) and played
//! ([`play`]) against any TCP behind the trait [`System`]. Nothing here does I/O.
//!
//! A script says at which time an application calls the system, which packets arrive, and which
//! packets the TCP under test must send. Sequence numbers in it are relative; [`flow`] maps them.

pub mod calls;
mod check;
mod cursor;
pub mod exchange;
pub mod flow;
mod packets;
mod parse;
mod play;
pub mod script;
pub mod settings;
pub mod shell;
pub mod symbols;
pub mod system;
pub mod wire;

pub use play::{play, Failure, Played, Seen};
pub use script::Script;
pub use settings::Settings;
pub use system::System;

/// Error in a script, with its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct Wrong {
    /// Line of the script, from 1.
    pub line: u32,
    /// Message: the text that was found, and what is allowed.
    pub message: String,
}
