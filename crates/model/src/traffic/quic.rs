//! A connection of a QUIC stack.

use super::{Carrier, Demand, TrafficKind};
use crate::validate::in_range;
use crate::ScenarioError;
use serde::{Deserialize, Serialize};

/// A QUIC connection. The client, at the flow's source, sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quic {
    /// Stack of both ends.
    pub stack: QuicStack,
    /// Congestion control of the client.
    pub congestion_control: QuicControl,
    /// Streams that are written at once.
    pub streams: u64,
    /// Bytes to send over all streams; 0: until the flow stops.
    pub bytes: u64,
}

/// A QUIC stack. Whether a build has it is known where a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuicStack {
    /// quinn-proto.
    Quinn,
}

impl QuicStack {
    /// Name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quinn => "quinn",
        }
    }
}

/// Congestion control of a QUIC stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuicControl {
    /// CUBIC.
    Cubic,
    /// BBR version 1.
    Bbr,
    /// NewReno (RFC 9002 §7).
    NewReno,
}

impl QuicControl {
    /// Name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::NewReno => "new_reno",
        }
    }
}

/// Largest datagram on Ethernet.
const MOST_BYTES: u64 = 1472;
/// Most streams.
const STREAMS: u64 = 100;

impl Quic {
    /// Name of stack and congestion control in tables.
    pub fn label(&self) -> String {
        format!("{}:{}", self.stack.name(), self.congestion_control.name())
    }
}

impl TrafficKind for Quic {
    fn check(&self, at: &str) -> Result<(), ScenarioError> {
        in_range(at, "streams", self.streams, 1, STREAMS)
    }

    fn carrier(&self) -> Carrier {
        Carrier::Udp { datagram_bytes: MOST_BYTES, mtu_bytes: MOST_BYTES + 28 }
    }

    fn demand(&self, _seconds: f64) -> Option<Demand> {
        None
    }
}
