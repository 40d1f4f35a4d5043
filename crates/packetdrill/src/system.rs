//! The seam between a script and the system under test.

use crate::script::Call;
use std::collections::BTreeMap;

/// A TCP and its host: an application's calls, a wire, and a clock.
///
/// Errors are sentences: the script ends with them.
pub trait System {
    /// Time, µs.
    fn now_us(&mut self) -> i64;

    /// Lets time pass, up to `until_us`.
    fn wait(&mut self, until_us: i64);

    /// A packet arrives, whole as IP; `mss`: it stands for segments of this payload (0: for one).
    ///
    /// # Errors
    /// The system refuses it.
    fn inject(&mut self, packet: &[u8], mss: u16) -> Result<(), String>;

    /// The next packet that was sent and not yet received here, with its time in µs; None if
    /// none is sent up to `until_us`.
    ///
    /// # Errors
    /// The system fails.
    fn receive(&mut self, until_us: i64) -> Result<Option<(i64, Vec<u8>)>, String>;

    /// The application calls. None if the call blocks, as the script says: see [`Self::returned`].
    ///
    /// # Errors
    /// The call is not known here, its arguments are none, or what it wrote is not what the script says.
    fn call(&mut self, call: &Call) -> Result<Option<Answer>, String>;

    /// Waits for the call that blocks; its answer, and the time in µs at which it returned.
    ///
    /// # Errors
    /// As of [`Self::call`], or it does not return.
    fn returned(&mut self) -> Result<(Answer, i64), String>;

    /// Runs a line of the shell.
    ///
    /// # Errors
    /// It cannot be run, or says that it failed.
    fn shell(&mut self, line: &str) -> Result<(), String>;

    /// State of the connection with a descriptor of the script (`tcp_info`), by packetdrill's names.
    ///
    /// # Errors
    /// The descriptor has none.
    fn info(&mut self, fd: i64) -> Result<BTreeMap<String, i128>, String>;
}

/// Answer to a system call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Result; −1 for an error.
    pub result: i64,
    /// Number of the error.
    pub errno: i32,
    /// Port of the other end, of an accepted connection.
    pub peer_port: Option<u16>,
}
