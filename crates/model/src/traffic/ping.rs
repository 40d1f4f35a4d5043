//! Echo requests and replies.

use super::{per_interval, Carrier, Demand, TrafficKind, DATAGRAM_HEADERS_BYTES};
use crate::units::Span;
use crate::validate::{above_zero, in_range};
use crate::ScenarioError;
use serde::{Deserialize, Serialize};

/// Echo requests and their replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ping {
    /// Interval between requests.
    #[serde(rename = "interval_ns")]
    pub interval: Span,
    /// Payload of ICMP or UDP.
    pub payload_bytes: u64,
    /// Protocol of the requests.
    #[serde(default)]
    pub protocol: EchoProtocol,
}

/// Protocol of echo requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EchoProtocol {
    /// ICMP (RFC 792).
    #[default]
    Icmp,
    /// UDP (RFC 862).
    Udp,
}

impl EchoProtocol {
    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Icmp => "icmp",
            Self::Udp => "udp",
        }
    }
}

impl TrafficKind for Ping {
    fn check(&self, at: &str) -> Result<(), ScenarioError> {
        above_zero(at, "interval_ns", self.interval.as_ns())?;
        // By UDP the payload carries the number of the request.
        let least = if self.protocol == EchoProtocol::Udp { 8 } else { 0 };
        in_range(at, "payload_bytes", self.payload_bytes, least, 65_507)
    }

    fn carrier(&self) -> Carrier {
        match self.protocol {
            EchoProtocol::Icmp => Carrier::IcmpEcho,
            EchoProtocol::Udp => Carrier::UdpEcho,
        }
    }

    fn demand(&self, seconds: f64) -> Option<Demand> {
        Some(Demand {
            packets: per_interval(seconds, self.interval),
            frame_bytes: (self.payload_bytes + DATAGRAM_HEADERS_BYTES) as f64,
            answers: 1.0,
        })
    }
}
