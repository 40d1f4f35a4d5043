//! Application and send buffer of the sender.

use super::sender::Sender;
use dumbbell_model::scenario::Tcp;
use dumbbell_model::writer::Writer;
use dumbbell_model::{TcpOptions, Time};

pub(crate) struct SendBuffer {
    pub(super) writer: Writer,
    /// TCP_NODELAY.
    pub(super) nodelay: bool,
    /// TCP_NOTSENT_LOWAT, bytes.
    pub(super) notsent_lowat: u64,
    /// Payload bytes written.
    pub(super) written_bytes: u64,
    /// True if the application writes no more data.
    pub(super) stopped: bool,
    /// True from a write or a poll that finds the buffer full until a third of it is free
    /// (`SOCK_NOSPACE`). Writes that succeed in between do not change it.
    pub(super) no_space: bool,
    /// True from a wake-up for space until the application runs.
    pub(super) woken: bool,
    /// Memory limit, bytes (`sk_sndbuf`).
    pub(crate) sndbuf: u64,
    /// Skbs of the retransmission queue. Each takes its overhead.
    pub(super) sent_skbs: u64,
    /// Time of the application's next write.
    pub(super) source_at: Option<Time>,
    /// Bytes copied so far by the interrupted `sendmsg`.
    pub(super) copied_bytes: u64,
}

impl SendBuffer {
    pub(super) fn new(writer: Writer, options: &TcpOptions) -> Self {
        Self {
            writer,
            nodelay: false,
            notsent_lowat: u64::MAX,
            written_bytes: 0,
            stopped: false,
            no_space: false,
            woken: false,
            sndbuf: options.tcp_wmem[1],
            sent_skbs: 0,
            source_at: None,
            copied_bytes: 0,
        }
    }
}

impl Sender {
    /// Returns true if the application waits for the time of its next write.
    pub(crate) fn waits_to_write(&self) -> bool {
        self.buffer.source_at.is_some()
    }

    /// Sets the socket options of a flow.
    pub(crate) fn set_socket_options(&mut self, tcp: &Tcp) {
        self.buffer.nodelay = tcp.nodelay();
        self.buffer.notsent_lowat = tcp.notsent_lowat_bytes.map_or(u64::MAX, u64::from);
    }

    /// Sets whether a write waits for memory (`SOCK_NOSPACE`).
    pub(crate) fn set_no_space(&mut self, no_space: bool) {
        self.buffer.no_space = no_space;
    }
}
