//! Video over UDP: frames at an interval while it is on, nothing while it is off.

use super::{Carrier, Demand, TrafficKind, DATAGRAM_HEADERS_BYTES};
use crate::units::{Rate, Span};
use crate::validate::{above_zero, in_range};
use crate::writer::Source;
use crate::ScenarioError;
use serde::{Deserialize, Serialize};

/// Video over UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Video {
    /// Payload rate while it is on.
    pub rate_bps: Rate,
    /// Interval between frames. A frame is the payload of one interval at the rate.
    #[serde(rename = "frame_ns")]
    pub frame: Span,
    /// Largest payload of a datagram. The datagrams of a frame are sent together.
    pub datagram_bytes: u64,
    /// Time on, or its mean.
    #[serde(rename = "on_ns")]
    pub on: Span,
    /// Time off, or its mean; 0: always on.
    #[serde(rename = "off_ns")]
    pub off: Span,
    /// Distribution of both times.
    pub lengths: Lengths,
}

/// Distribution of the times on and off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lengths {
    /// Constant.
    Fixed,
    /// Exponential, drawn anew each time.
    Exponential,
}

/// Largest payload of a datagram that an Ethernet frame carries.
const MOST_BYTES: u64 = 1472;

impl Video {
    /// Payload of a frame of video, at least 1 byte.
    pub fn frame_bytes(&self) -> u64 {
        let bits = u128::from(self.rate_bps.as_bps()) * u128::from(self.frame.as_ns());
        ((bits / 8_000_000_000) as u64).max(1)
    }

    /// Application that writes the frames. Each frame is a chunk.
    pub fn source(&self) -> Source {
        Source::OnOff {
            chunk_bytes: self.frame_bytes(),
            interval: self.frame,
            on: self.on,
            off: self.off,
            exponential: self.lengths == Lengths::Exponential,
            bytes: None,
        }
    }

    /// Payloads of the datagrams that carry `bytes`.
    pub fn datagrams(&self, bytes: u64) -> impl Iterator<Item = u64> {
        let most = self.datagram_bytes;
        (0..bytes.div_ceil(most)).map(move |number| most.min(bytes - number * most))
    }
}

impl TrafficKind for Video {
    fn check(&self, at: &str) -> Result<(), ScenarioError> {
        above_zero(at, "rate_bps", self.rate_bps.as_bps())?;
        above_zero(at, "frame_ns", self.frame.as_ns())?;
        above_zero(at, "on_ns", self.on.as_ns())?;
        in_range(at, "datagram_bytes", self.datagram_bytes, 1, MOST_BYTES)
    }

    fn carrier(&self) -> Carrier {
        Carrier::Udp { datagram_bytes: self.datagram_bytes, mtu_bytes: MOST_BYTES + 28 }
    }

    fn demand(&self, seconds: f64) -> Option<Demand> {
        Some(Demand {
            packets: self.source().packets_in(seconds, self.datagram_bytes as f64),
            frame_bytes: (self.datagram_bytes + DATAGRAM_HEADERS_BYTES) as f64,
            answers: 0.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_what_the_rate_carries_in_its_interval() {
        let video = Video {
            rate_bps: Rate::from_bps(1_000_000),
            frame: Span::from_ms(40),
            datagram_bytes: 1200,
            on: Span::from_ms(1000),
            off: Span::from_ms(1000),
            lengths: Lengths::Fixed,
        };
        // 1 Mbit/s for 40 ms: 5000 bytes, in four datagrams of 1200 and one of 200.
        assert_eq!(video.frame_bytes(), 5000);
        assert_eq!(video.datagrams(5000).collect::<Vec<_>>(), [1200, 1200, 1200, 1200, 200]);
        // 25 frames a second of five datagrams, were it always on.
        assert_eq!(video.demand(1.0).map(|demand| demand.packets), Some(125.0));
    }
}
