//! Multipath TCP (RFC 8684) above its subflows, as Linux has it (net/mptcp/protocol.c): one stream of
//! bytes, which `send` gives to subflows as a `scheduler` decides (once more, in `reinject`) and `receive` puts
//! together again.
//! The subflows themselves are connections of `transport`; `turn` lets the world act on both.

pub(crate) mod receive;
mod record;
mod reinject;
pub(crate) mod scheduler;
pub(crate) mod send;
#[cfg(test)]
mod tests;
pub(crate) mod turn;

use crate::endpoint::tcp::TcpEnds;
use crate::endpoint::Ends;
use crate::flow::FlowState;
use crate::transport::receiver::Receiver;
use crate::transport::sender::Sender;
use receive::DataReceiver;
use send::DataSender;
use std::sync::Arc;

/// A connection at run time, both its ends.
pub(crate) struct Connection {
    pub(crate) sender: DataSender,
    pub(crate) receiver: DataReceiver,
    /// Number of the flow of each subflow; the first opens the connection.
    pub(crate) flows: Arc<[u32]>,
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

/// The subflows of one connection among all flows.
pub(crate) struct Subflows<'a> {
    pub(crate) flows: &'a mut [FlowState],
    pub(crate) numbers: &'a [u32],
}

impl Subflows<'_> {
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    pub(crate) fn ends(&mut self, subflow: usize) -> &mut TcpEnds {
        match &mut self.flows[self.numbers[subflow] as usize].ends {
            Ends::Tcp(tcp) => tcp,
            Ends::Udp(_) | Ends::Ping(_) => unreachable!("validated: subflows are TCP"),
        }
    }

    pub(crate) fn sender(&mut self, subflow: usize) -> &mut Sender {
        &mut self.ends(subflow).sender
    }

    pub(crate) fn receiver(&mut self, subflow: usize) -> &mut Receiver {
        &mut self.ends(subflow).receiver
    }
}
