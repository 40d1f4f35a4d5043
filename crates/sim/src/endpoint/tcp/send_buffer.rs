//! The application above the sender, and the send buffer between them.

use super::sender::Sender;
use dumbbell_model::writer::Writer;
use dumbbell_model::{TcpOptions, Time};

pub(crate) struct SendBuffer {
    pub(super) writer: Writer,
    /// Payload written so far.
    pub(super) written_bytes: u64,
    /// The application writes nothing more.
    pub(super) stopped: bool,
    /// A write waits for memory (`SOCK_NOSPACE`).
    pub(super) no_space: bool,
    /// Limit of the memory (`sk_sndbuf`), bytes.
    pub(crate) sndbuf: u64,
    /// Memory around the payload of what is sent and neither acknowledged nor SACKed.
    pub(super) sent_overhead_bytes: u64,
    /// When the application writes next.
    pub(super) source_at: Option<Time>,
    /// Bytes copied so far by the interrupted `sendmsg`.
    pub(super) copied_bytes: u64,
}

impl SendBuffer {
    pub(super) fn new(writer: Writer, options: &TcpOptions) -> Self {
        Self {
            writer,
            written_bytes: 0,
            stopped: false,
            no_space: false,
            sndbuf: options.tcp_wmem[1],
            sent_overhead_bytes: 0,
            source_at: None,
            copied_bytes: 0,
        }
    }
}

impl Sender {
    /// The application waits for its time to write.
    pub(crate) fn waits_to_write(&self) -> bool {
        self.buffer.source_at.is_some()
    }

    /// A write waits for memory, or no longer (`SOCK_NOSPACE`).
    pub(crate) fn set_no_space(&mut self, no_space: bool) {
        self.buffer.no_space = no_space;
    }
}
