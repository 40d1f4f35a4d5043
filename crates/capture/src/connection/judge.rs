//! Classification of data segments: new, reordered, retransmitted, or duplicated by the network;
//! and the evidence for it.

use super::order;
use super::sent::Seen;

/// Class of a data segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// New data.
    New,
    /// First transmission that later segments overtook before the tap.
    Reordered(Evidence),
    /// Retransmission.
    Retransmitted(Evidence),
    /// Duplicate of a packet that passed before.
    Duplicate(Evidence),
    /// Keep-alive probe (RFC 9293 §3.8.4): a byte that is already acknowledged. Or zero-window
    /// probe (§3.8.6.1): the first byte beyond a closed window.
    KeepAlive,
}

/// Evidence of a judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Its bytes passed the tap before.
    SeenBefore,
    /// Its bytes were acknowledged before.
    Acknowledged,
    /// IP identification: sent before or after bytes that follow it in the stream.
    Identification,
    /// Timestamp option: sent before or after bytes that follow it in the stream.
    Timestamp,
    /// Time since its hole appeared, compared with the RTT.
    Time,
    /// Packets before it are missing, and the sender had paused.
    Missing,
    /// Identical TCP header and payload, where no retransmission is expected.
    Content,
}

/// Number of kinds of evidence.
pub const EVIDENCE: usize = 7;

/// RTT where it is unknown, as in Wireshark.
const UNKNOWN_RTT_NS: i64 = 3_000_000;

/// Ordering information of a data segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamped {
    pub now_ns: i64,
    pub tsval: Option<u32>,
    /// IP identification, if the sender counts it.
    pub identification: Option<u16>,
}

/// Minimum timestamp ticks per RTT with which a timestamp identifies a retransmission.
const TICKS_PER_RTT: i64 = 2;

/// Classifies a segment in a hole of the stream: was it sent before or after `later`? `later` is
/// the first segment behind the hole that was a first transmission.
pub(crate) fn in_hole(
    segment: &Stamped,
    later: Option<&Seen>,
    rtt_ns: i64,
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
        Some(_) if timestamps_decide(rtt_ns, tick_ns) => {
            return Judgement::Reordered(Evidence::Timestamp);
        }
        _ => {}
    }
    let rtt_ns = if rtt_ns > 0 { rtt_ns } else { UNKNOWN_RTT_NS };
    // A retransmission for the hole comes one RTT after the hole appeared.
    if segment.now_ns - later.first_ns >= rtt_ns - rtt_ns / 10 {
        Judgement::Retransmitted(Evidence::Time)
    } else {
        Judgement::Reordered(Evidence::Time)
    }
}

/// Returns true if retransmissions for a loss always have a later timestamp.
pub(crate) fn timestamps_decide(rtt_ns: i64, tick_ns: i64) -> bool {
    rtt_ns / TICKS_PER_RTT >= tick_ns
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
        repeated: false,
        retransmitted: false,
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
