//! The application that writes on a connection: when it acts, and how much it may have written by then.
//! Without sockets or a clock; an engine has it act and writes what fits into the send buffer.

use crate::scenario::{Source, TIMER_SLACK};
use crate::Time;

/// What a [`Source`] has to write.
#[derive(Clone, Debug)]
pub struct Writer {
    source: Source,
    /// Bytes that it may have written by now.
    allowed: u64,
}

impl Writer {
    /// A writer that has not acted yet.
    pub fn new(source: Source) -> Self {
        Self { source, allowed: 0 }
    }

    /// What it writes.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Its time has come, at first when the connection is established: what is due may be written.
    pub fn act(&mut self) {
        match self.source {
            Source::Bulk { bytes, .. } => self.allowed = bytes.unwrap_or(u64::MAX),
            Source::Periodic { chunk_bytes, bytes, .. } => {
                let due = self.allowed.saturating_add(chunk_bytes);
                self.allowed = due.min(bytes.unwrap_or(u64::MAX));
            }
            Source::Session | Source::Subflow => {}
        }
    }

    /// Others decide: so many bytes more may be written.
    pub fn allow(&mut self, bytes: u64) {
        self.allowed += bytes;
    }

    /// Bytes that it may write now.
    pub fn left(&self, written: u64) -> u64 {
        self.allowed.saturating_sub(written)
    }

    /// When it acts again, having acted at `now`; `None`: it does not by itself.
    pub fn next(&self, now: Time) -> Option<Time> {
        match self.source {
            Source::Periodic { interval, .. } => Some(now + interval),
            Source::Bulk { .. } => self.source.rests().map(|rest| now + rest + TIMER_SLACK),
            Source::Session | Source::Subflow => None,
        }
    }

    /// Returns true if it writes as soon as there is room, without acting again.
    pub fn fills_room(&self) -> bool {
        match self.source {
            Source::Bulk { .. } => self.source.rests().is_none(),
            Source::Session => true,
            Source::Periodic { .. } | Source::Subflow => false,
        }
    }

    /// Returns true if everything is written: the connection is to be closed.
    pub fn is_complete(&self, written: u64) -> bool {
        match self.source {
            Source::Bulk { bytes, .. } | Source::Periodic { bytes, .. } => bytes == Some(written),
            Source::Session | Source::Subflow => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    /// Times and bytes of all rounds, where all fits.
    fn rounds(source: Source) -> Vec<(u64, u64)> {
        let mut writer = Writer::new(source);
        let (mut at, mut written, mut rounds) = (Some(Time::ZERO), 0, Vec::new());
        while let Some(now) = at {
            writer.act();
            let left = writer.left(written);
            written += left;
            rounds.push((now.as_us(), left));
            at = if writer.is_complete(written) { None } else { writer.next(now) };
        }
        rounds
    }

    #[test]
    fn chunks_come_at_their_interval_and_the_last_is_what_is_left() {
        let interval = Span::from_ms(10);
        let source = Source::Periodic { chunk_bytes: 400, interval, bytes: Some(1000) };
        assert_eq!(rounds(source), [(0, 400), (10_000, 400), (20_000, 200)]);
    }

    #[test]
    fn bulk_data_is_written_as_room_comes_or_in_rounds_with_a_rest_and_the_slack() {
        let bulk = Writer::new(Source::Bulk { bytes: None, refill: Span::ZERO });
        assert!(bulk.fills_room() && bulk.next(Time::ZERO).is_none() && !bulk.is_complete(1 << 40));
        let rests = Writer::new(Source::Bulk { bytes: None, refill: Span::from_ms(1) });
        assert!(!rests.fills_room());
        assert_eq!(rests.next(Time::ZERO).map(Time::as_us), Some(1050));
    }

    #[test]
    fn a_session_may_write_what_it_was_asked_for() {
        let mut writer = Writer::new(Source::Session);
        writer.act();
        assert_eq!(writer.left(0), 0);
        writer.allow(700);
        assert_eq!((writer.left(500), writer.is_complete(700)), (200, false));
    }
}
