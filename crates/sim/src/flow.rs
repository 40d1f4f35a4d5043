//! A flow at run time: its two ends and what is counted of it.

use crate::arrived::Arrived;
use crate::datagram::{PingState, UdpSink, UdpSource};
use crate::reorder::Reorder;
use crate::transport::endpoint::End;
use crate::transport::receiver::Receiver;
use crate::transport::sender::{Phase, Sender};
use dumbbell_model::Time;

/// What the flow carries.
pub(crate) enum Ends {
    Tcp(Box<TcpEnds>),
    Udp { source: UdpSource, sink: UdpSink },
    Ping(PingState),
}

/// The ends of a TCP connection: who sends the flow's data, who gets it.
pub(crate) struct TcpEnds {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// The halves of the other direction, where data goes both ways.
    pub(crate) requests: Option<Box<Requests>>,
    /// Where this is a subflow of Multipath TCP.
    pub(crate) subflow: Option<SubflowOf>,
}

/// Whose subflow, and the how-manieth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SubflowOf {
    pub(crate) connection: u32,
    pub(crate) number: u32,
}

/// The direction of a session's requests: from where the flow goes to.
pub(crate) struct Requests {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Number of the session, and of the connection in it.
    pub(crate) session: usize,
    pub(crate) connection: usize,
    /// The client was told that it is connected.
    pub(crate) connected: bool,
}

impl TcpEnds {
    /// The end that answers requests: where the flow comes from.
    pub(crate) fn server(&mut self) -> Option<End<'_>> {
        let requests = self.requests.as_mut()?;
        Some(End { sender: &mut self.sender, receiver: &mut requests.receiver })
    }

    /// The end that makes them.
    pub(crate) fn client(&mut self) -> Option<End<'_>> {
        let requests = self.requests.as_mut()?;
        Some(End { sender: &mut requests.sender, receiver: &mut self.receiver })
    }
}

/// Sums over samples of a sender's state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowSums {
    pub(crate) samples: u64,
    pub(crate) cwnd: u64,
    pub(crate) cwnd_max: u64,
    pub(crate) in_flight: u64,
    pub(crate) srtt_us8: u64,
}

/// A flow at run time.
pub(crate) struct FlowState {
    pub(crate) ends: Ends,
    /// Codepoint of its packets.
    pub(crate) dscp: u8,
    pub(crate) start: Time,
    pub(crate) stop: Option<Time>,
    /// Packets sent outward and back.
    pub(crate) sent: [u64; 2],
    pub(crate) sent_bytes: u64,
    pub(crate) received_packets: u64,
    pub(crate) received_bytes: u64,
    pub(crate) dropped: u64,
    pub(crate) reorder: Reorder,
    /// Packets of the source that have arrived, where the network makes copies.
    pub(crate) arrived: Option<Box<Arrived>>,
    /// Packets whose payload was there already, because another copy of them had brought it.
    pub(crate) copies: u64,
    pub(crate) windows: WindowSums,
}

impl FlowState {
    /// Payload that arrived in order.
    pub(crate) fn delivered_bytes(&self) -> u64 {
        match &self.ends {
            Ends::Tcp(tcp) => {
                let fin = u64::from(tcp.sender.fin && tcp.receiver.rcv_nxt > tcp.sender.write_seq);
                tcp.receiver.rcv_nxt - fin
            }
            Ends::Udp { sink, .. } => sink.delivered_bytes,
            Ends::Ping(_) => 0,
        }
    }

    /// Packets that arrived at the destination with payload that was there already.
    pub(crate) fn duplicate_packets(&self) -> u64 {
        match &self.ends {
            Ends::Tcp(tcp) => tcp.receiver.duplicate_packets,
            Ends::Udp { .. } | Ends::Ping(_) => 0,
        }
    }

    /// A sample of the sender's window for the flow's means, which end with its `stop`: what its
    /// buffer still holds then is no part of them. False if there will be no other.
    pub(crate) fn sample_window(&mut self, now: Time) -> bool {
        if self.stop.is_some_and(|stop| now > stop) {
            return false;
        }
        if let Ends::Tcp(tcp) = &self.ends {
            let sender = &tcp.sender;
            if matches!(sender.phase, Phase::Finished(_) | Phase::GivenUp(_)) {
                return false;
            }
            if sender.established_at.is_some() && sender.is_open() {
                let sums = &mut self.windows;
                sums.samples += 1;
                sums.cwnd += u64::from(sender.window.cwnd);
                sums.cwnd_max = sums.cwnd_max.max(u64::from(sender.window.cwnd));
                sums.in_flight += u64::from(sender.in_flight());
                sums.srtt_us8 += u64::from(sender.rtt.srtt_us8);
            }
        }
        true
    }
}
