//! UDP at a constant bit rate.

use super::{Carrier, Demand, TrafficKind, DATAGRAM_HEADERS_BYTES};
use crate::units::{Rate, Span};
use crate::validate::{above_zero, error, in_range};
use crate::ScenarioError;
use serde::{Deserialize, Serialize};

/// UDP at a constant bit rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Udp {
    /// Payload rate.
    pub rate_bps: Rate,
    /// Payload of a datagram; one larger than the path's MTU travels in IP fragments.
    pub datagram_bytes: u64,
    /// Interval at which the datagrams due are sent together; 0: each is sent when it is due.
    #[serde(rename = "interval_ns")]
    pub interval: Span,
    /// IP packet size above which datagrams are fragmented.
    pub mtu_bytes: u64,
    /// The sender is an ordinary program: it sleeps between datagrams and wakes late by up to the
    /// [`TIMER_SLACK`](crate::writer::TIMER_SLACK). If `probes` are recorded, the kernel's engines
    /// send on time.
    #[serde(default)]
    pub sleeps: bool,
    /// Codec of the payload, if that is speech.
    #[serde(default)]
    pub codec: Option<Codec>,
}

/// Codecs of speech.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Codec {
    /// ITU-T G.711, 64 kbit/s.
    G711,
}

impl Codec {
    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::G711 => "g711",
        }
    }
}

/// Largest payload of a UDP datagram over IPv4.
const MOST_BYTES: u64 = 65_507;

impl TrafficKind for Udp {
    fn check(&self, at: &str) -> Result<(), ScenarioError> {
        above_zero(at, "rate_bps", self.rate_bps.as_bps())?;
        above_zero(at, "datagram_bytes", self.datagram_bytes)?;
        if self.datagram_bytes > MOST_BYTES {
            let found = self.datagram_bytes;
            return error(
                format!("{at}.datagram_bytes"),
                format!("{found} bytes; UDP over IPv4 carries at most {MOST_BYTES}"),
            );
        }
        in_range(at, "mtu_bytes", self.mtu_bytes, 68, 65_535)
    }

    fn carrier(&self) -> Carrier {
        Carrier::Udp { datagram_bytes: self.datagram_bytes, mtu_bytes: self.mtu_bytes }
    }

    fn demand(&self, seconds: f64) -> Option<Demand> {
        let datagrams = self.rate_bps.as_bps() as f64 / 8.0 / self.datagram_bytes as f64;
        let frame = (self.datagram_bytes + DATAGRAM_HEADERS_BYTES).min(self.mtu_bytes + 14);
        Some(Demand {
            packets: datagrams * seconds * self.carrier().fragments() as f64,
            frame_bytes: frame as f64,
            answers: 0.0,
        })
    }
}
