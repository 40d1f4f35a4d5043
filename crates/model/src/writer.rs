//! The application that writes on a connection: the times of its writes and the bytes due by then. It has
//! no sockets and no clock. An engine drives it and writes what fits into the send buffer.

use crate::arrivals::unit;
use crate::rng::Rng;
use crate::validate::above_zero;
use crate::{ScenarioError, Span, Time};
use serde::{Deserialize, Serialize};

/// Maximum delay of a program's wake-up after its sleep, unless another timer's interrupt comes first
/// (PR_SET_TIMERSLACK in prctl(2)).
pub const TIMER_SLACK: Span = Span::from_us(50);

/// The sending application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Source {
    /// Bulk transfer: writes whenever the send buffer has space.
    Bulk {
        /// Total bytes; `null`: until the flow stops.
        bytes: Option<u64>,
        /// Sleep after each fill of the send buffer; the [`TIMER_SLACK`] is added. 0: writes as soon
        /// as there is space.
        #[serde(rename = "refill_ns")]
        refill: Span,
    },
    /// Application-limited: writes a chunk at a fixed interval. Bytes that do not fit into the send
    /// buffer are written with the next chunk.
    Periodic {
        /// Bytes per write.
        chunk_bytes: u64,
        /// Interval between writes.
        #[serde(rename = "interval_ns")]
        interval: Span,
        /// Total bytes; `null`: until the flow stops.
        bytes: Option<u64>,
    },
    /// On/off, as video players: writes a chunk at an interval while it is on, nothing while it is
    /// off. Each on period begins with a chunk, at least one interval after the last chunk.
    OnOff {
        /// Bytes per write.
        chunk_bytes: u64,
        /// Interval between writes of a burst.
        #[serde(rename = "interval_ns")]
        interval: Span,
        /// Time on, or its mean.
        #[serde(rename = "on_ns")]
        on: Span,
        /// Time off, or its mean; 0: always on.
        #[serde(rename = "off_ns")]
        off: Span,
        /// Both times are exponential, drawn anew each time.
        exponential: bool,
        /// Total bytes; `null`: until the flow stops.
        bytes: Option<u64>,
    },
    /// Server of a session, which opens the connection from the other end.
    Session,
    /// Client that opens the connection and sends messages, which the server does not answer.
    Messages,
    /// Subflow: carries the data that the scheduler of a Multipath TCP connection assigns.
    Subflow,
}

impl Source {
    /// Returns true if a session, or a client with requests, drives the connection.
    pub fn is_driven(self) -> bool {
        matches!(self, Self::Session | Self::Messages)
    }

    /// Sleep after each fill of the send buffer; `None`: it does not sleep.
    pub fn rests(self) -> Option<Span> {
        match self {
            Self::Bulk { refill, .. } if !refill.is_zero() => Some(refill),
            _ => None,
        }
    }

    /// Bytes per write call. An application that sleeps writes larger blocks.
    pub fn write_bytes(self) -> u64 {
        match self.rests() {
            Some(_) => 1 << 18,
            None => 1 << 16,
        }
    }

    /// Total bytes, if they are limited.
    fn total(self) -> Option<u64> {
        match self {
            Self::Bulk { bytes, .. } | Self::Periodic { bytes, .. } | Self::OnOff { bytes, .. } => {
                bytes
            }
            Self::Session | Self::Messages | Self::Subflow => None,
        }
    }

    /// Checks the fields of the source at `at`.
    pub(crate) fn check(self, at: &str) -> Result<(), ScenarioError> {
        let kind = match self {
            Self::Bulk { .. } => "bulk",
            Self::Periodic { chunk_bytes, interval, .. } => {
                above_zero(at, "periodic.chunk_bytes", chunk_bytes)?;
                above_zero(at, "periodic.interval_ns", interval.as_ns())?;
                "periodic"
            }
            Self::OnOff { chunk_bytes, interval, on, .. } => {
                above_zero(at, "on_off.chunk_bytes", chunk_bytes)?;
                above_zero(at, "on_off.interval_ns", interval.as_ns())?;
                above_zero(at, "on_off.on_ns", on.as_ns())?;
                "on_off"
            }
            // Checked with their session or connection.
            Self::Session | Self::Messages | Self::Subflow => return Ok(()),
        };
        above_zero(at, &format!("{kind}.bytes"), self.total().unwrap_or(1))
    }

    /// Upper bound of the packets of `payload_bytes` that it writes in this time.
    pub fn packets_in(self, seconds: f64, payload_bytes: f64) -> f64 {
        let most = match self {
            Self::Periodic { chunk_bytes, interval, .. }
            | Self::OnOff { chunk_bytes, interval, .. } => {
                let chunks = seconds * 1e9 / interval.as_ns() as f64;
                chunks * (chunk_bytes as f64 / payload_bytes).ceil()
            }
            Self::Bulk { .. } | Self::Session | Self::Messages | Self::Subflow => f64::INFINITY,
        };
        self.total().map_or(most, |bytes| most.min(bytes as f64 / payload_bytes))
    }
}

/// Progress of a [`Source`].
#[derive(Clone, Debug)]
pub struct Writer {
    source: Source,
    rng: Rng,
    /// Bytes due since the start.
    allowed: u64,
    /// Time of the next call of [`Self::act`].
    next: Option<Time>,
    /// End of the on period.
    on_until: Option<Time>,
}

impl Writer {
    /// Makes a writer before its first call of [`Self::act`]. `rng`: its random stream.
    pub fn new(source: Source, rng: Rng) -> Self {
        Self { source, rng, allowed: 0, next: None, on_until: None }
    }

    /// Source of its data.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Makes the bytes of this moment due. The first call comes when the connection is established,
    /// the later ones at [`Self::next`].
    pub fn act(&mut self, now: Time) {
        self.next = match self.source {
            Source::Bulk { .. } => {
                self.allowed = u64::MAX;
                self.source.rests().map(|rest| now + rest + TIMER_SLACK)
            }
            Source::Periodic { chunk_bytes, interval, .. } => {
                self.allowed = self.allowed.saturating_add(chunk_bytes);
                Some(now + interval)
            }
            Source::OnOff { chunk_bytes, interval, on, off, exponential, .. } => {
                self.allowed = self.allowed.saturating_add(chunk_bytes);
                let until = match self.on_until.filter(|&until| now < until) {
                    Some(until) => until,
                    None => now + self.lasts(on, exponential),
                };
                self.on_until = Some(until);
                let next = now + interval;
                Some(if next < until {
                    next
                } else {
                    next.max(until + self.lasts(off, exponential))
                })
            }
            Source::Session | Source::Messages | Source::Subflow => None,
        };
        self.allowed = self.allowed.min(self.source.total().unwrap_or(u64::MAX));
    }

    /// Length of an on or off period.
    fn lasts(&mut self, mean: Span, exponential: bool) -> Span {
        if exponential {
            Span::from_ps((-libm::log(unit(&mut self.rng)) * mean.as_ps() as f64) as u64)
        } else {
            mean
        }
    }

    /// Time of the next call of [`Self::act`]; `None`: there is none.
    pub fn next(&self) -> Option<Time> {
        self.next
    }

    /// Makes further bytes due, for sources that others drive.
    pub fn allow(&mut self, bytes: u64) {
        self.allowed += bytes;
    }

    /// Bytes due that are not yet written.
    pub fn left(&self, written: u64) -> u64 {
        self.allowed.saturating_sub(written)
    }

    /// Returns true if it writes as soon as the send buffer has space.
    pub fn fills_room(&self) -> bool {
        match self.source {
            Source::Bulk { .. } => self.source.rests().is_none(),
            Source::Session | Source::Messages => true,
            Source::Periodic { .. } | Source::OnOff { .. } | Source::Subflow => false,
        }
    }

    /// Returns true if all bytes are written; the connection must then be closed.
    pub fn is_complete(&self, written: u64) -> bool {
        self.source.total() == Some(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(source: Source) -> Writer {
        Writer::new(source, Rng::named(1, "test"))
    }

    /// Times in µs and bytes of at most `most` rounds, if all bytes fit into the buffer.
    fn rounds(source: Source, most: usize) -> Vec<(u64, u64)> {
        let mut writer = writer(source);
        let (mut at, mut written, mut rounds) = (Some(Time::ZERO), 0, Vec::new());
        while let Some(now) = at.filter(|_| rounds.len() < most) {
            writer.act(now);
            let left = writer.left(written);
            written += left;
            rounds.push((now.as_us(), left));
            at = if writer.is_complete(written) { None } else { writer.next() };
        }
        rounds
    }

    #[test]
    fn chunks_come_at_their_interval_and_the_last_is_what_is_left() {
        let interval = Span::from_ms(10);
        let source = Source::Periodic { chunk_bytes: 400, interval, bytes: Some(1000) };
        assert_eq!(rounds(source, 9), [(0, 400), (10_000, 400), (20_000, 200)]);
    }

    #[test]
    fn bulk_data_is_written_as_room_comes_or_in_rounds_with_a_rest_and_the_slack() {
        let mut bulk = writer(Source::Bulk { bytes: None, refill: Span::ZERO });
        bulk.act(Time::ZERO);
        assert!(bulk.fills_room() && bulk.next().is_none() && !bulk.is_complete(1 << 40));
        let mut rests = writer(Source::Bulk { bytes: None, refill: Span::from_ms(1) });
        rests.act(Time::ZERO);
        assert!(!rests.fills_room());
        assert_eq!(rests.next().map(Time::as_us), Some(1050));
    }

    #[test]
    fn a_session_may_write_what_it_was_asked_for() {
        let mut writer = writer(Source::Session);
        writer.act(Time::ZERO);
        assert_eq!(writer.left(0), 0);
        writer.allow(700);
        assert_eq!((writer.left(500), writer.is_complete(700)), (200, false));
    }

    fn on_off(on: Span, off: Span, exponential: bool, bytes: Option<u64>) -> Source {
        Source::OnOff { chunk_bytes: 400, interval: Span::from_ms(10), on, off, exponential, bytes }
    }

    #[test]
    fn bursts_of_fixed_length_begin_after_the_time_off() {
        // On for 25 ms: chunks at 0, 10 and 20 ms. Off for 75 ms: the next begins at 100 ms.
        let source = on_off(Span::from_ms(25), Span::from_ms(75), false, Some(2200));
        let times = [0, 10_000, 20_000, 100_000, 110_000, 120_000];
        let bytes = [400, 400, 400, 400, 400, 200];
        assert_eq!(rounds(source, 9), times.into_iter().zip(bytes).collect::<Vec<_>>());
    }

    #[test]
    fn bursts_drawn_from_an_exponential_distribution_are_as_long_as_it_says() {
        // The k-th chunk is in a burst that lasts longer than k - 1 intervals, which a burst of mean
        // m does with probability exp(-(k - 1) i / m): 1 / (1 - exp(-i / m)) chunks per burst.
        let (on, off) = (Span::from_ms(40), Span::from_ms(500));
        let rounds = rounds(on_off(on, off, true, None), 100_000);
        let gaps = rounds.windows(2).filter(|pair| pair[1].0 - pair[0].0 > 10_000);
        let per_burst = 100_000.0 / (gaps.count() + 1) as f64;
        // Hardly any time off is so short that two bursts look like one.
        let expected = 1.0 / (1.0 - libm::exp(-0.25));
        assert!((per_burst / expected - 1.0).abs() < 0.03, "{per_burst} {expected}");
        // From burst to burst: time on and time off, 540 ms in the mean.
        let burst_us = rounds[99_999].0 as f64 / (100_000.0 / expected);
        assert!((burst_us / 540_000.0 - 1.0).abs() < 0.03, "{burst_us}");
    }
}
