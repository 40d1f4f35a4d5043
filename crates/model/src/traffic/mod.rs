//! Kinds of traffic, one per file, listed in `catalogue/traffic.rs`. Other modules use them through
//! [`TrafficKind`] and do not match on the kind.

use crate::rng::Rng;
use crate::units::Span;
use crate::{for_traffic, ScenarioError};
use serde::{Deserialize, Serialize};

macro_rules! files {
    ($($variant:ident $module:ident $held:ty { $($entry:tt)+ };)+) => {
        $(
            mod $module;
            pub use $module::$variant;
        )+
    };
}
for_traffic!(files);

pub use ping::EchoProtocol;
pub use quic::{QuicControl, QuicEncryption, QuicStack};
pub use tcp::{Sink, TcpStack};
pub use udp::Codec;

/// Ethernet, IPv4 and UDP (or ICMP) headers of a packet.
const DATAGRAM_HEADERS_BYTES: u64 = 42;
const IP_HEADER_BYTES: u64 = 20;
const UDP_HEADER_BYTES: u64 = 8;

/// Properties that every kind of traffic has.
pub trait TrafficKind {
    /// Checks the fields; `at` is the path of the kind in the scenario.
    ///
    /// # Errors
    /// The first field out of range.
    fn check(&self, at: &str) -> Result<(), ScenarioError>;

    /// Protocol of its packets.
    fn carrier(&self) -> Carrier;

    /// Transport stack from outside that carries it.
    fn stack(&self) -> Option<&'static str> {
        None
    }

    /// Upper bound of what it sends in this time. `None`: path and congestion window decide.
    fn demand(&self, seconds: f64) -> Option<Demand>;
}

/// Protocol of a flow's packets, as captures and taps see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// A TCP connection.
    Tcp,
    /// UDP datagrams from the source to the destination.
    Udp {
        /// Largest payload of a datagram.
        datagram_bytes: u64,
        /// IP packet size above which a datagram is fragmented.
        mtu_bytes: u64,
    },
    /// ICMP echo requests and replies.
    IcmpEcho,
    /// UDP datagrams that the destination sends back.
    UdpEcho,
}

impl Carrier {
    /// IP packets per datagram (RFC 791 §3.2: all fragments but the last carry a multiple of eight bytes).
    pub fn fragments(self) -> u64 {
        match self {
            Self::Udp { datagram_bytes, mtu_bytes } => {
                let total = datagram_bytes + UDP_HEADER_BYTES;
                if total + IP_HEADER_BYTES <= mtu_bytes {
                    return 1;
                }
                total.div_ceil((mtu_bytes - IP_HEADER_BYTES) / 8 * 8)
            }
            Self::Tcp | Self::IcmpEcho | Self::UdpEcho => 1,
        }
    }
}

/// Upper bound of what a flow sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// IP packets from the source.
    pub packets: f64,
    /// Length of the largest frame.
    pub frame_bytes: f64,
    /// Replies per packet.
    pub answers: f64,
}

macro_rules! define {
    ($($variant:ident $module:ident $held:ty { $($entry:tt)+ };)+) => {
        /// Traffic of a flow.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case", deny_unknown_fields)]
        pub enum Traffic {
            $(
                #[doc = concat!("`", stringify!($module), "` in the catalogue.")]
                $variant($held),
            )+
        }

        impl TrafficKind for Traffic {
            fn check(&self, at: &str) -> Result<(), ScenarioError> {
                match self {
                    $(Self::$variant(spec) => {
                        spec.check(&format!("{at}.{}", stringify!($module)))
                    })+
                }
            }

            fn carrier(&self) -> Carrier {
                match self {
                    $(Self::$variant(spec) => spec.carrier(),)+
                }
            }

            fn stack(&self) -> Option<&'static str> {
                match self {
                    $(Self::$variant(spec) => spec.stack(),)+
                }
            }

            fn demand(&self, seconds: f64) -> Option<Demand> {
                match self {
                    $(Self::$variant(spec) => spec.demand(seconds),)+
                }
            }
        }
    };
}
for_traffic!(define);

impl Traffic {
    /// Returns the TCP connection, if it is one.
    pub fn tcp(&self) -> Option<&Tcp> {
        match self {
            Self::Tcp(tcp) => Some(tcp),
            _ => None,
        }
    }
}

/// Seed of a stack.
fn seed(mut random: Rng) -> [u8; 32] {
    let mut seed = [0; 32];
    for chunk in seed.chunks_mut(8) {
        chunk.copy_from_slice(&random.next_u64().to_le_bytes());
    }
    seed
}

/// Number of packets in this time at an interval.
fn per_interval(seconds: f64, interval: Span) -> f64 {
    seconds * 1e9 / interval.as_ns() as f64
}
