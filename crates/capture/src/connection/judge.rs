//! What a data segment is: new, overtaken on its way, sent again, or a copy made on the way; and what
//! says so.

use super::order;
use super::sent::Seen;

/// What a data segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Beyond everything before it.
    New,
    /// Sent once, and overtaken by later ones on its way to the tap.
    Reordered(Evidence),
    /// Sent again by the sender.
    Retransmitted(Evidence),
    /// The very same packet once more.
    Copy(Evidence),
    /// A byte that is acknowledged already, to see whether the other side lives (RFC 9293 §3.8.4), or
    /// the first beyond a window that is closed, to see whether it has opened (§3.8.6.1).
    KeepAlive,
}

/// What a judgement rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Its bytes passed before.
    SeenBefore,
    /// Its bytes had been acknowledged.
    Acknowledged,
    /// IP identification: sent before, or after, bytes that follow it in the stream.
    Identification,
    /// Timestamp option, likewise.
    Timestamp,
    /// Time since its hole was seen, against the round trip.
    Time,
    /// Packets before it are missing, and the sender had paused.
    Missing,
    /// Identical TCP header and payload within a millisecond.
    Content,
}

/// How many kinds of evidence there are.
pub const EVIDENCE: usize = 7;

/// Taken for the round trip where it is unknown, as Wireshark does.
const UNKNOWN_RTT_NS: i64 = 3_000_000;

/// A data segment, as far as its order tells something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamped {
    pub now_ns: i64,
    pub tsval: Option<u32>,
    /// Only of a sender that counts them.
    pub identification: Option<u16>,
}

/// A clock with shorter ticks than this part of a round trip tells a retransmission by its stamp.
const TICKS_PER_ROUND_TRIP: i64 = 2;

/// A segment in a hole: `later` is what is known of bytes behind it that were sent for the first time
/// when they were seen first. Sent before these, or after?
pub(crate) fn in_hole(
    segment: &Stamped,
    later: Option<&Seen>,
    round_trip_ns: i64,
    tick_ns: i64,
) -> Judgement {
    let Some(later) = later else { return Judgement::Retransmitted(Evidence::Time) };
    let known = segment.identification;
    match known.and_then(|known| order::sent_before(known, later.identification)) {
        Some(true) => return Judgement::Reordered(Evidence::Identification),
        Some(false) => return Judgement::Retransmitted(Evidence::Identification),
        None => {}
    }
    match segment.tsval {
        Some(tsval) if order::older(tsval, later.tsval) => {
            return Judgement::Reordered(Evidence::Timestamp);
        }
        Some(tsval) if tsval != later.tsval => {
            return Judgement::Retransmitted(Evidence::Timestamp);
        }
        Some(_) if stamps_tell(round_trip_ns, tick_ns) => {
            return Judgement::Reordered(Evidence::Timestamp);
        }
        _ => {}
    }
    let round_trip_ns = if round_trip_ns > 0 { round_trip_ns } else { UNKNOWN_RTT_NS };
    // What is sent again because of the hole comes a round trip after the hole was seen.
    if segment.now_ns - later.first_ns >= round_trip_ns - round_trip_ns / 10 {
        Judgement::Retransmitted(Evidence::Time)
    } else {
        Judgement::Reordered(Evidence::Time)
    }
}

/// Does whatever is sent again because of a loss have a later stamp?
pub(crate) fn stamps_tell(round_trip_ns: i64, tick_ns: i64) -> bool {
    round_trip_ns / TICKS_PER_ROUND_TRIP >= tick_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Seen = Seen {
        start: 100,
        end: 200,
        first_ns: 1_000_000,
        last_ns: 1_000_000,
        tsval: 50,
        identification: 3,
        again: false,
        resent: false,
        bare: false,
    };

    fn judged(identification: Option<u16>, tsval: Option<u32>, now_ns: i64) -> Judgement {
        in_hole(&Stamped { now_ns, tsval, identification }, Some(&LATER), 10_000_000, 10_000_000)
    }

    #[test]
    fn the_best_evidence_decides() {
        use Evidence::{Identification, Time, Timestamp};
        use Judgement::{Reordered, Retransmitted};
        assert_eq!(judged(Some(65_535), Some(60), 90_000_000), Reordered(Identification));
        assert_eq!(judged(Some(4), Some(50), 1_000_001), Retransmitted(Identification));
        assert_eq!(judged(Some(30_000), Some(60), 90_000_000), Retransmitted(Timestamp));
        assert_eq!(judged(Some(40_000), None, 90_000_000), Retransmitted(Time));
        assert_eq!(judged(None, Some(49), 90_000_000), Reordered(Timestamp));
        assert_eq!(judged(None, Some(51), 1_000_001), Retransmitted(Timestamp));
        assert_eq!(judged(None, Some(50), 9_999_999), Reordered(Time));
        assert_eq!(judged(None, None, 10_000_000), Retransmitted(Time));
    }
}
