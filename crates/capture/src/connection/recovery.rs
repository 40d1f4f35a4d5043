//! Kind of a retransmission, inferred from the packets at the tap.
//!
//! - Fast recovery: an ACK has reported a hole, by a duplicate ACK (RFC 5681 §3.2), by SACK (RFC 6675
//!   §4, RFC 8985 §6.2) or, in recovery, by a partial ACK (RFC 6582 §3.2).
//! - Tail loss probe (RFC 8985 §7.2): the last segment sent, outside recovery, without a report.
//! - Time-out (RFC 6298 §5): any other retransmission without a report; and with a report, if no ACK
//!   calls for it and nothing has moved for an RTT and a margin. All retransmissions until everything
//!   sent before is acknowledged belong to the time-out.

use super::rtt::Rtt;

/// Minimum time from the last progress to a time-out, beyond an RTT: half of Linux's minimum RTO
/// (200 ms).
const TIMEOUT_BEYOND_RTT_NS: i64 = 100_000_000;
/// Maximum response time of a sender to an ACK.
const ANSWER_NS: i64 = 10_000_000;
/// RTT where it is unknown.
const UNKNOWN_RTT_NS: i64 = 100_000_000;
/// Duplicate ACKs that signal a loss without SACK (RFC 5681 §3.2).
const DUPLICATES: u32 = 3;

/// Kind of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetransmissionKind {
    /// Fast recovery.
    Fast,
    /// Time-out.
    Timeout,
    /// Tail loss probe.
    Probe,
    /// ICMP had reported a smaller path MTU: the bytes are sent again in smaller segments (RFC 1191
    /// §6.5, RFC 8201 §5.4).
    PathMtu,
    /// Time-out or probe of a packet that ICMP had reported as discarded: destination unreachable, or
    /// time exceeded.
    Unreachable,
    /// SYN or SYN-ACK: its timer expired (RFC 6298 §5.7), or a repeated SYN was answered.
    Handshake,
}

/// Number of kinds.
pub const KINDS: usize = 6;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    /// Fast recovery, until this position is acknowledged.
    Recovery { until: i64 },
    /// After a time-out, until this position is acknowledged.
    Loss { until: i64 },
}

/// Loss-recovery state of the sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recovery {
    state: State,
    /// Previous state, and the time of the ACK that ended it. The sender receives this ACK later
    /// than the tap.
    left: Option<(State, i64)>,
    /// Time of the last advance of the cumulative ACK.
    progress_ns: i64,
    /// Time of the last ACK.
    acknowledged_ns: i64,
    /// End of the highest SACKed byte.
    sacked: i64,
    /// Bytes in flight at the latest duplicate ACK without SACK, and at earlier ones that overlap.
    duplicated: Option<(i64, i64)>,
    duplicates: u32,
    acked: i64,
    repeated: bool,
    /// True after a probe, until an ACK advances.
    probed: bool,
    /// Time-outs.
    pub(crate) timeouts: u64,
    /// Entries into fast recovery.
    pub(crate) recoveries: u64,
}

/// A retransmission to classify.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetransmittedSegment {
    pub now_ns: i64,
    pub start: i64,
    pub end: i64,
    /// Cumulative ACK position.
    pub acked: i64,
    /// End of the highest byte sent.
    pub next: i64,
    /// Time of the last capture of its bytes, or of the appearance of their hole.
    pub before_ns: Option<i64>,
    /// RTT between tap and sender.
    pub near_rtt_ns: i64,
    /// True with SACK, which tail loss probes need (RFC 8985 §7).
    pub sack: bool,
    /// True if the capture has ACKs of this stream.
    pub acknowledged: bool,
}

impl Recovery {
    /// Processes an advance of the cumulative ACK.
    pub(crate) fn progress(&mut self, now_ns: i64, acked: i64) {
        self.progress_ns = now_ns;
        self.acked = acked;
        self.duplicates = 0;
        self.probed = false;
        if let State::Recovery { until } | State::Loss { until } = self.state {
            if acked >= until {
                self.left = Some((self.state, now_ns));
                self.state = State::Open;
            }
        }
    }

    /// Processes an ACK.
    pub(crate) fn acknowledged(&mut self, now_ns: i64, duplicate: bool) {
        self.acknowledged_ns = now_ns;
        self.duplicates = self.duplicates.saturating_add(u32::from(duplicate));
    }

    /// Processes a duplicate ACK without SACK, with bytes from `acked` to `next` in flight.
    pub(crate) fn duplicated(&mut self, acked: i64, next: i64) {
        let earlier = self.duplicated.filter(|(_, end)| acked < *end);
        let start = earlier.map_or(acked, |(start, _)| start);
        self.duplicated = Some((start, next.max(start)));
    }

    pub(crate) fn sacked(&mut self, end: i64) {
        self.sacked = self.sacked.max(end);
    }

    /// Leaves recovery because its first retransmission was spurious and the sender undoes it (RFC
    /// 4015, 5682).
    pub(crate) fn undo(&mut self) {
        self.state = State::Open;
    }

    /// Classifies a retransmission and updates the state.
    pub(crate) fn kind(&mut self, resent: &RetransmittedSegment, rtt: &Rtt) -> RetransmissionKind {
        if let Some((before, left_ns)) = self.left.filter(|_| self.state == State::Open) {
            if resent.now_ns.saturating_sub(left_ns) < resent.near_rtt_ns {
                self.repeated = true;
                return if matches!(before, State::Loss { .. }) {
                    RetransmissionKind::Timeout
                } else {
                    RetransmissionKind::Fast
                };
            }
        }
        let kind = self.decide(resent, rtt);
        let begun = self.state != State::Open;
        self.repeated =
            begun || kind == RetransmissionKind::Timeout && self.duplicates >= DUPLICATES;
        self.probed |= kind == RetransmissionKind::Probe;
        let until = resent.next.max(resent.end);
        match (kind, self.state) {
            (RetransmissionKind::Fast, State::Open) => {
                self.state = State::Recovery { until };
                self.recoveries += 1;
            }
            (RetransmissionKind::Timeout, State::Loss { .. })
                if resent.start <= resent.acked && self.is_late(resent, rtt) =>
            {
                self.state = State::Loss { until };
                self.timeouts += 1;
            }
            (RetransmissionKind::Timeout, State::Open | State::Recovery { .. }) => {
                self.state = State::Loss { until };
                self.timeouts += 1;
            }
            _ => {}
        }
        kind
    }

    /// Returns true outside recovery and without a reported hole since the last advance.
    pub(crate) fn is_open(&self) -> bool {
        self.state == State::Open && self.duplicates == 0 && self.sacked <= self.acked
    }

    /// Time of the last ACK.
    pub(crate) fn last_ack_ns(&self) -> i64 {
        self.acknowledged_ns
    }

    /// Returns true if ACKs have reported a hole at a position.
    pub(crate) fn hole_reported(&self, start: i64) -> bool {
        self.sacked > start || self.duplicates >= DUPLICATES
    }

    /// Returns true if the bytes of the last retransmission must have been retransmitted before.
    pub(crate) fn repeated(&self) -> bool {
        self.repeated
    }

    /// Returns true if an ACK has reported a hole at a position since the first transmission of its
    /// byte: bytes behind it were SACKed, or a duplicate ACK without SACK came.
    fn reported(&self, start: i64) -> bool {
        let duplicated = |(from, end): (i64, i64)| from <= start && start < end;
        self.sacked > start || self.duplicated.is_some_and(duplicated)
    }

    fn decide(&self, resent: &RetransmittedSegment, rtt: &Rtt) -> RetransmissionKind {
        // A capture without ACKs has no reports, whatever the receiver sent.
        let reported = !resent.acknowledged || self.reported(resent.start);
        let head = resent.start <= resent.acked;
        let tail = resent.end >= resent.next;
        let may_probe = tail && resent.sack && !self.probed;
        let in_vain = head && self.is_late(resent, rtt);
        match self.state {
            State::Loss { .. } => RetransmissionKind::Timeout,
            // A partial ACK calls for the next segment (RFC 6582 §3.2), and the end of the scoreboard
            // for the last one (RFC 6675 §4, rule 4).
            State::Recovery { .. } if in_vain || !reported && !self.called_for(resent, rtt) => {
                RetransmissionKind::Timeout
            }
            State::Recovery { .. } => RetransmissionKind::Fast,
            // Linux probes before a time-out, even if this is the only segment in flight.
            State::Open if may_probe && !self.hole_reported(resent.start) => {
                RetransmissionKind::Probe
            }
            State::Open if in_vain || !reported => RetransmissionKind::Timeout,
            State::Open => RetransmissionKind::Fast,
        }
    }

    /// Returns true if there was no progress for so long that the retransmission timer must have
    /// expired, and the segment responds to no ACK.
    fn is_late(&self, resent: &RetransmittedSegment, rtt: &Rtt) -> bool {
        let since = self.progress_ns.max(resent.before_ns.unwrap_or(i64::MIN));
        // The timer exceeds the sender's smoothed RTT (RFC 6298 §2), which that of the tap may exceed.
        let least_ns = if rtt.samples > 0 { rtt.min_ns } else { i64::MAX };
        let far_ns = rtt.smoothed_ns().unwrap_or(UNKNOWN_RTT_NS).min(least_ns);
        let whole_rtt_ns = far_ns.saturating_add(resent.near_rtt_ns);
        let late = resent.now_ns.saturating_sub(since)
            >= whole_rtt_ns.saturating_add(TIMEOUT_BEYOND_RTT_NS);
        late && !self.called_for(resent, rtt)
    }

    /// Returns true if the retransmission may respond to the last ACK: it follows as soon as the ACK
    /// reaches the sender, or after RACK's reordering window of a quarter of an RTT (RFC 8985 §6.2).
    fn called_for(&self, resent: &RetransmittedSegment, rtt: &Rtt) -> bool {
        let window_ns = (rtt.min_ns.max(0) / 4).max(ANSWER_NS);
        resent.now_ns.saturating_sub(self.acknowledged_ns)
            <= resent.near_rtt_ns.saturating_add(window_ns)
    }
}
