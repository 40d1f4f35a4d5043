//! A connection of a QUIC stack.

use super::{seed, Carrier, Demand, TrafficKind, IP_HEADER_BYTES, UDP_HEADER_BYTES};
use crate::rng::Rng;
use crate::validate::in_range;
use crate::ScenarioError;
use dumbbell_stack::{Log, Spec};
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
    /// Protection of the packets.
    #[serde(default)]
    pub encryption: QuicEncryption,
}

/// Protection of QUIC packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuicEncryption {
    /// Packets have the lengths of encrypted ones, and are not protected.
    #[default]
    None,
    /// TLS 1.3 with keys from the seed.
    Tls,
}

/// A QUIC stack. Whether a build has it is known where a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuicStack {
    /// quinn-proto.
    Quinn,
    /// s2n-quic.
    S2n,
    /// The stack of a Rust program that runs the simulator.
    Own,
}

impl QuicStack {
    /// Name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quinn => "quinn",
            Self::S2n => "s2n",
            Self::Own => "own",
        }
    }
}

/// Congestion control of a QUIC stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuicControl {
    /// CUBIC.
    Cubic,
    /// BBR: version 1 of quinn, version 2 of s2n.
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
    /// Connection between hosts with this MTU; `random`: stream of the flow.
    pub fn spec(&self, mtu_bytes: u32, random: Rng) -> Spec {
        let room = mtu_bytes.saturating_sub((IP_HEADER_BYTES + UDP_HEADER_BYTES) as u32);
        Spec {
            congestion_control: self.congestion_control.name().to_owned(),
            streams: self.streams as u32,
            bytes: (self.bytes > 0).then_some(self.bytes),
            datagram_bytes: u16::try_from(room).unwrap_or(u16::MAX),
            seed: seed(random),
            encrypts: self.encryption == QuicEncryption::Tls,
            secrets: Log::default(),
            logs: None,
        }
    }

    /// Checks that the stack can do what is asked for.
    fn check_stack(&self, at: &str) -> Result<(), ScenarioError> {
        let refusal = |field: &str, message: &str| {
            Err(ScenarioError { path: format!("{at}.{field}"), message: message.to_owned() })
        };
        if self.stack == QuicStack::S2n && self.congestion_control == QuicControl::NewReno {
            return refusal("congestion_control", "s2n has no new_reno; allowed: cubic, bbr");
        }
        if self.stack == QuicStack::S2n && self.encryption == QuicEncryption::Tls {
            return refusal("encryption", "s2n runs without encryption; quinn has tls");
        }
        Ok(())
    }

    /// Name of stack and congestion control in tables.
    pub fn label(&self) -> String {
        format!("{}:{}", self.stack.name(), self.congestion_control.name())
    }
}

impl TrafficKind for Quic {
    fn check(&self, at: &str) -> Result<(), ScenarioError> {
        in_range(at, "streams", self.streams, 1, STREAMS)?;
        self.check_stack(at)
    }

    fn carrier(&self) -> Carrier {
        Carrier::Udp { datagram_bytes: MOST_BYTES, mtu_bytes: MOST_BYTES + 28 }
    }

    fn stack(&self) -> Option<&'static str> {
        Some(self.stack.name())
    }

    fn demand(&self, _seconds: f64) -> Option<Demand> {
        None
    }
}
