//! Requests and responses over persistent connections, as remote procedure calls, and messages without
//! a response.
//!
//! Connections are flows with the source `session`, from the server to the client, which opens them. Of
//! messages they are flows with the source `messages`, from the client. A connection has one request at a
//! time. Times and sizes are drawn from the seed, alike on all engines.

use crate::arrivals::{unit, Size};
use crate::rng::Rng;
use crate::units::Span;
use crate::writer::Source;
use serde::{Deserialize, Serialize};

/// A client that sends requests to a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// Name, unique among requests and sessions.
    pub name: String,
    /// Group of the requests in `transfers`; empty: their name.
    #[serde(default)]
    pub group: String,
    /// Names of its flows. All are opened at the start.
    pub connections: Vec<String>,
    /// Time at which the connections are opened.
    #[serde(rename = "start_ns")]
    pub start: Span,
    /// End of the requests; `null`: end of the run. Requests that are due before are completed.
    #[serde(rename = "stop_ns")]
    pub stop: Option<Span>,
    /// Times of the requests.
    pub load: Load,
    /// Number of requests; in a closed loop of each connection. `null`: no limit.
    pub count: Option<u64>,
    /// Bytes of a request.
    pub request: Size,
    /// Bytes of a response; `null`: messages, which the server does not answer.
    pub response: Option<Size>,
    /// Time of the server before it responds.
    #[serde(rename = "service_ns")]
    pub service: Span,
    /// Writes per request, of equal size.
    pub request_writes: u32,
    /// Writes per response, of equal size.
    pub response_writes: u32,
}

/// Times at which requests are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Load {
    /// Each connection sends its first request when it is established, and the next one a think time
    /// after the response.
    Closed {
        /// Think time, or its mean.
        #[serde(rename = "think_ns")]
        think: Span,
        /// Exponential distribution.
        exponential: bool,
    },
    /// Requests are due at an interval, whether earlier ones are answered or not. They wait for a free
    /// connection.
    Open {
        /// Interval, or its mean.
        #[serde(rename = "interval_ns")]
        interval: Span,
        /// Exponential distribution: a Poisson process.
        exponential: bool,
    },
}

impl Load {
    /// Draws the time from a response, or from a request in an open loop, until the next request.
    pub fn gap(self, rng: &mut Rng) -> Span {
        let (Self::Closed { think: mean, exponential }
        | Self::Open { interval: mean, exponential }) = self;
        if exponential {
            Span::from_ps((-libm::log(unit(rng)) * mean.as_ps() as f64) as u64)
        } else {
            mean
        }
    }
}

/// Lengths of the writes of `bytes` bytes: equal, the first ones a byte longer if need be, none empty.
pub fn writes(bytes: u64, count: u32) -> impl Iterator<Item = u64> {
    let count = u64::from(count).min(bytes).max(1);
    (0..count).map(move |i| bytes / count + u64::from(i < bytes % count))
}

impl Requests {
    /// Source of its flows.
    pub fn source(&self) -> Source {
        if self.response.is_some() {
            Source::Session
        } else {
            Source::Messages
        }
    }

    /// Mean number of requests in a run of this duration; `None`: responses decide.
    pub fn expected(&self, duration: Span) -> Option<f64> {
        let Load::Open { interval, .. } = self.load else { return None };
        let until = self.stop.unwrap_or(duration).min(duration);
        let span = until.as_ns().saturating_sub(self.start.as_ns());
        let most = span as f64 / interval.as_ns() as f64;
        Some(self.count.map_or(most, |count| most.min(count as f64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_equal_and_complete() {
        assert_eq!(writes(100, 1).collect::<Vec<_>>(), [100]);
        assert_eq!(writes(100, 3).collect::<Vec<_>>(), [34, 33, 33]);
        assert_eq!(writes(2, 5).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn an_exponential_gap_has_its_mean() {
        let interval = Span::from_ms(10);
        let (mut rng, load) = (Rng::named(1, "gaps"), Load::Open { interval, exponential: true });
        let sum: f64 = (0..100_000).map(|_| load.gap(&mut rng).as_ns() as f64).sum();
        // Standard error: 0.3 %.
        assert!((sum / 100_000.0 / 1e7 - 1.0).abs() < 0.015, "{sum}");
    }
}
