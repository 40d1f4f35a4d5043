//! Multipath TCP (RFC 8684) above its subflows, as Linux has it (net/mptcp/protocol.c): one stream of
//! bytes, which `send` gives to subflows as a `scheduler` decides (once more, in `reinject`) and `receive` puts
//! together again; `connection` is both. The subflows themselves are connections of `endpoint/tcp`;
//! `ends` lets the world act on all of them.

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

/// Connection and number of a subflow in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SubflowOf {
    pub(crate) connection: u32,
    pub(crate) number: u32,
}

/// A connection at run time, both its ends.
pub(crate) struct Connection {
    pub(crate) sender: DataSender,
    pub(crate) receiver: DataReceiver,
    /// When each subflow may be opened was reached, and it was.
    pub(crate) due: Vec<Stage>,
    /// The algorithm looks at all subflows.
    pub(crate) coupled: bool,
    /// The receiving end closes, as the sending one has heard.
    pub(crate) peer_closed: bool,
}

/// How far a subflow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its time has not come.
    Early,
    /// It waits for the connection to be established.
    Waits,
    /// It was opened.
    Opened,
    /// It was removed, or ended.
    Removed,
}

/// The subflows of a connection; the first opens it.
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
