//! Classification of data segments by the state of their stream.

use super::{Data, Stream};
use crate::connection::judge::{self, Evidence, Judgement, Stamped};
use crate::connection::sent::Seen;

/// Maximum number of segments behind a hole searched for a first transmission.
const LATER_AMONG: usize = 64;
/// Maximum time by which a capture may record a packet after its ACK, if the RTT is unknown.
const GLITCH_NS: i64 = 100_000;
/// Minimum time beyond an RTT from a loss to its time-out: Linux's minimum RTO. Also the RTT where
/// it is unknown.
const PAUSE_NS: i64 = 200_000_000;
/// Initial window, segments (RFC 6928).
const INITIAL_SEGMENTS: i64 = 10;
/// Maximum time beyond two RTTs from a loss to its time-out: minimum RTO of RFC 6298 (rule 2.4).
/// After a longer time, the sender was idle.
const TIMEOUT_MAX_NS: i64 = 1_000_000_000;

impl Stream {
    pub(super) fn judge(&mut self, data: &Data, start: i64, end: i64, missing: u32) -> Judgement {
        if let Some(evidence) = data.duplicate {
            return Judgement::Duplicate(evidence);
        }
        if start == self.next && data.closed && data.payload_bytes == 1 && !data.fin {
            return Judgement::KeepAlive;
        }
        if start >= self.next {
            return self.judge_next(data, start, missing);
        }
        if data.payload_bytes <= 1 && !data.fin && end == self.acked && self.acked == self.next {
            return Judgement::KeepAlive;
        }
        if let Some(evidence) = self.duplicate_evidence(data) {
            return Judgement::Duplicate(evidence);
        }
        let stamped = Stamped {
            now_ns: data.now_ns,
            tsval: data.tsval,
            identification: data.identification.filter(|_| self.identifications.counted()),
        };
        if let Some(evidence) = self.proofs.reordering_evidence(start, &stamped) {
            return Judgement::Reordered(evidence);
        }
        // Captured just after its ACK: two queues of a device or of the capture.
        let glitch_ns = (self.rtt_ns(data.near_rtt_ns) / 2).max(GLITCH_NS);
        if self.unseen.since(start).is_some_and(|at_ns| data.now_ns - at_ns < glitch_ns) {
            return Judgement::New;
        }
        if start < self.acked {
            return Judgement::Retransmitted(Evidence::Acknowledged);
        }
        if self.sent.at(start).is_some() || self.sent.is_forgotten(start) {
            return Judgement::Retransmitted(Evidence::SeenBefore);
        }
        judge::in_hole(
            &stamped,
            self.later(start).as_ref(),
            self.rtt_ns(data.near_rtt_ns),
            self.clock.tick_ns(),
        )
    }

    /// Classifies a segment beyond all captured data: new, unless it retransmits data lost before
    /// the tap.
    pub(super) fn judge_next(&mut self, data: &Data, start: i64, missing: u32) -> Judgement {
        let rtt_ns = self.rtt_ns(data.near_rtt_ns);
        let rtt_ns = if rtt_ns > 0 { rtt_ns } else { PAUSE_NS };
        let silent_ns = match self.heard_ns {
            i64::MIN => 0,
            heard_ns => data.now_ns.saturating_sub(heard_ns),
        };
        // Retransmissions in order are clocked by ACKs.
        let continues = missing == 0 && start == self.next && silent_ns <= 2 * rtt_ns;
        if self.tail > 0 && continues {
            self.tail -= 1;
            return Judgement::Retransmitted(Evidence::Missing);
        }
        let lost = self.lost_before(data, start, rtt_ns, silent_ns);
        if lost > 0 {
            // Retransmissions of the other missing packets may follow in order.
            self.tail = if start == self.next { lost - 1 } else { 0 };
            return Judgement::Retransmitted(Evidence::Missing);
        }
        self.tail = 0;
        if start == self.next && self.recovery.is_open() && data.identification.is_some() {
            self.identifications.contiguous(missing, silent_ns >= rtt_ns / 2);
        }
        self.explained = self.identifications.missing();
        Judgement::New
    }

    /// Number of segments lost before the tap, if this one is the first or last of their
    /// retransmissions; 0 if it is new data. Lost segments leave gaps in the identifications that
    /// the hole in the stream does not explain. No segment behind them has revealed the loss. They
    /// are therefore retransmitted by an earlier recovery, a probe (RFC 8985 §7.2) or a time-out,
    /// within the time limits of these. Nothing else causes a packet here: all captured data is
    /// acknowledged, and the packet is no response to data.
    pub(super) fn lost_before(&self, data: &Data, start: i64, rtt_ns: i64, silent_ns: i64) -> i64 {
        let unexplained = self.identifications.missing().saturating_sub(self.explained);
        if unexplained == 0 {
            return 0;
        }
        let segment = i64::from(self.counters.segment_max_bytes.max(1));
        let hole = (start - self.next + segment - 1) / segment;
        let lost = i64::from(unexplained) - hole;
        let window = (self.flight.max_bytes / segment).max(INITIAL_SEGMENTS);
        let counts = self.identifications.detects_missing() && !data.shared_counter;
        if lost <= 0 || lost > 2 * window || self.moved_ns == i64::MIN || !counts {
            return 0;
        }
        let pause_ns = data.now_ns.saturating_sub(self.moved_ns);
        // Fast recovery retransmits after an RTT. A probe repeats the last of several segments
        // after two RTTs. A single segment waits for a delayed ACK as long as a time-out takes.
        let pause_min_ns = match start > self.next {
            _ if self.retransmitted_last => 0,
            true => rtt_ns,
            false => PAUSE_NS,
        };
        let soonest_ns = rtt_ns.saturating_add(pause_min_ns);
        let latest_ns = TIMEOUT_MAX_NS.saturating_add(rtt_ns.saturating_mul(2));
        let timed = pause_ns >= soonest_ns - soonest_ns / 10 && silent_ns <= latest_ns;
        let quiet = self.acknowledged && self.acked == self.next && !data.turned;
        // Without SACK a time-out retransmits all data, and many of these packets are lost again.
        let tells = data.sack || !self.retransmitted_last;
        if timed && quiet && tells {
            lost
        } else {
            0
        }
    }

    /// Processes missing packets before a retransmission. In recovery or after signs of loss, one
    /// of them was an earlier retransmission of the same bytes.
    pub(super) fn explain(&mut self, missing: u32, evidence: Evidence) {
        if evidence == Evidence::Missing {
            self.explained = self.identifications.missing();
        } else if missing > 0 && self.recovery.repeated() {
            self.explained = self.explained.saturating_add(1);
        }
    }

    /// Returns evidence that the same packet passed before.
    pub(super) fn duplicate_evidence(&self, data: &Data) -> Option<Evidence> {
        let counted = self.identifications.counted();
        let later_stamp =
            judge::timestamps_decide(self.rtt_ns(data.near_rtt_ns), self.clock.tick_ns());
        self.passed.iter().rev().find_map(|one| {
            let same = one.sequence == data.sequence && one.payload_bytes == data.payload_bytes;
            match (data.identification, data.tsval) {
                _ if !same => None,
                (Some(identification), _) if counted => {
                    (one.identification == identification).then_some(Evidence::Identification)
                }
                // A retransmission comes at least an RTT later, with a later timestamp.
                (_, Some(tsval)) if later_stamp => {
                    (one.tsval == tsval).then_some(Evidence::Timestamp)
                }
                _ => None,
            }
        })
    }

    /// Returns true if the sender may have retransmitted a segment so soon: a loss was reported an
    /// RTT after the segment.
    pub(crate) fn expects_retransmission(
        &self,
        sequence: u32,
        near_rtt_ns: i64,
        after_ns: i64,
    ) -> bool {
        let rtt_ns = self.rtt_ns(near_rtt_ns);
        let start = self.position(sequence);
        start >= self.acked
            && after_ns >= rtt_ns - rtt_ns / 10
            && self.recovery.hole_reported(start)
    }

    pub(super) fn rtt_ns(&self, near_rtt_ns: i64) -> i64 {
        // One of the two is close to 0 if the tap is at an end.
        self.rtt.min_ns.saturating_add(near_rtt_ns)
    }

    /// First segment behind a position that was a first transmission.
    pub(super) fn later(&self, start: i64) -> Option<Seen> {
        let seen = self.sent.behind(start).take(LATER_AMONG).find(|seen| !seen.retransmitted);
        seen.copied().or_else(|| self.ahead.filter(|ahead| ahead.start > start))
    }
}
