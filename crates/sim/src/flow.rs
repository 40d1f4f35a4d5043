//! A flow at run time: its two ends and what is counted of it.

use crate::datagram::{PingState, UdpSink, UdpSource};
use crate::reorder::Reorder;
use crate::transport::receiver::Receiver;
use crate::transport::sender::Sender;
use dumbbell_model::Time;

/// What the flow carries.
pub(crate) enum Ends {
    Tcp(Box<TcpEnds>),
    Udp { source: UdpSource, sink: UdpSink },
    Ping(PingState),
}

/// The two halves of a TCP connection.
pub(crate) struct TcpEnds {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
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

    /// A sample of the sender's window for the flow's means.
    pub(crate) fn sample_window(&mut self) {
        if let Ends::Tcp(tcp) = &self.ends {
            let sender = &tcp.sender;
            if sender.established_at.is_some() && sender.is_open() {
                let sums = &mut self.windows;
                sums.samples += 1;
                sums.cwnd += u64::from(sender.window.cwnd);
                sums.cwnd_max = sums.cwnd_max.max(u64::from(sender.window.cwnd));
                sums.in_flight += u64::from(sender.in_flight());
                sums.srtt_us8 += u64::from(sender.rtt.srtt_us8);
            }
        }
    }
}
