//! Multipath TCP (RFC 8684) above its subflows, as in Linux (net/mptcp/protocol.c). `send`
//! distributes one byte stream over subflows according to a `scheduler`, with retransmissions in
//! `reinject`; `receive` reassembles it; `connection` joins both. The subflows are connections of
//! `endpoint/tcp`. `ends` is the interface to the world.

mod chunks;
pub(crate) mod connection;
pub(crate) mod ends;
pub(crate) mod receive;
mod record;
mod reinject;
pub(crate) mod scheduler;
pub(crate) mod send;
#[cfg(test)]
mod tests;

use crate::endpoint::tcp::ends::TcpEnds;
use crate::endpoint::tcp::receiver::Receiver;
use crate::endpoint::tcp::sender::Sender;
use receive::DataReceiver;
use send::DataSender;

/// Connection and subflow index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SubflowOf {
    pub(crate) connection: u32,
    pub(crate) number: u32,
}

/// Runtime state of a connection, both endpoints.
pub(crate) struct Connection {
    pub(crate) sender: DataSender,
    pub(crate) receiver: DataReceiver,
    /// Stage of each subflow.
    pub(crate) due: Vec<Stage>,
    /// True if congestion control is coupled.
    pub(crate) coupled: bool,
    /// True after the sender has received the receiver's DATA_FIN.
    pub(crate) peer_closed: bool,
}

/// Stage of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Before its start time.
    Early,
    /// Waiting for the connection to be established.
    Waits,
    /// Opened.
    Opened,
    /// Removed or ended.
    Removed,
}

/// Subflows of a connection; the first one opens it.
pub(crate) struct Subflows<'a> {
    pub(crate) ends: &'a mut [TcpEnds],
}

impl Subflows<'_> {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn sender(&mut self, subflow: usize) -> &mut Sender {
        &mut self.ends[subflow].sender
    }

    pub(crate) fn receiver(&mut self, subflow: usize) -> &mut Receiver {
        &mut self.ends[subflow].receiver
    }
}
