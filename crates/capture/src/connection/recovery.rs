//! Why a segment was sent again: what the sender must have been doing, from what passed the tap.
//!
//! - In fast recovery (RFC 5681 §3.2, RFC 6675, RFC 8985) acknowledgements have told of a hole.
//! - After a time-out (RFC 6298 §5) nothing has moved for longer than a round trip and more; what
//!   follows until everything sent before is acknowledged is sent because of it.
//! - A tail loss probe (RFC 8985 §7) is the last segment that was sent, without any sign of loss.

use super::rtt::Rtt;

/// A time-out comes at least this much later than a round trip after the last progress: half of
/// Linux's smallest (200 ms).
const TIMEOUT_BEYOND_RTT_NS: i64 = 100_000_000;
/// A sender answers an acknowledgement within this.
const ANSWER_NS: i64 = 10_000_000;
/// Taken for the round trip where none was measured.
const UNKNOWN_RTT_NS: i64 = 100_000_000;
/// Duplicate acknowledgements that tell of a loss without SACK (RFC 5681 §3.2).
const DUPLICATES: u32 = 3;

/// Why a segment was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// In fast recovery.
    Fast,
    /// Because of a time-out.
    Timeout,
    /// As a tail loss probe.
    Probe,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    /// Fast recovery, until so much is acknowledged.
    Recovery { until: i64 },
    /// After a time-out, likewise.
    Loss { until: i64 },
}

/// The sender's side of loss recovery.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recovery {
    state: State,
    /// What it was before, and when the acknowledgement passed that ended it: the sender learns of that
    /// later than the tap.
    left: Option<(State, i64)>,
    /// When the cumulative acknowledgement moved last.
    progress_ns: i64,
    /// When any acknowledgement passed last.
    acknowledged_ns: i64,
    /// Behind the highest byte that a SACK block named.
    sacked: i64,
    duplicates: u32,
    acked: i64,
    repeated: bool,
    /// A probe is out that nothing has been acknowledged since.
    probed: bool,
    /// Time-outs.
    pub(crate) timeouts: u64,
    /// Times that fast recovery began.
    pub(crate) recoveries: u64,
}

/// A segment that is sent again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resent {
    pub now_ns: i64,
    pub start: i64,
    pub end: i64,
    /// Everything before is acknowledged.
    pub acked: i64,
    /// Behind the highest byte sent.
    pub next: i64,
    /// When its bytes passed last, or when their hole was seen.
    pub before_ns: Option<i64>,
    /// Round trip between tap and sender.
    pub near_ns: i64,
    /// Probes need SACK (RFC 8985 §7).
    pub sack: bool,
}

impl Recovery {
    /// The cumulative acknowledgement moves to here.
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

    /// An acknowledgement passes.
    pub(crate) fn acknowledged(&mut self, now_ns: i64, duplicate: bool) {
        self.acknowledged_ns = now_ns;
        self.duplicates = self.duplicates.saturating_add(u32::from(duplicate));
    }

    pub(crate) fn sacked(&mut self, end: i64) {
        self.sacked = self.sacked.max(end);
    }

    /// The retransmission that began this was proved needless: the sender undoes it (RFC 4015, 5682).
    pub(crate) fn undo(&mut self) {
        self.state = State::Open;
    }

    /// In which kind of recovery is this sent?
    pub(crate) fn kind(&mut self, resent: &Resent, rtt: &Rtt) -> Kind {
        if let Some((before, left_ns)) = self.left.filter(|_| self.state == State::Open) {
            if resent.now_ns.saturating_sub(left_ns) < resent.near_ns {
                self.repeated = true;
                return if matches!(before, State::Loss { .. }) {
                    Kind::Timeout
                } else {
                    Kind::Fast
                };
            }
        }
        let kind = self.decide(resent, rtt);
        let begun = self.state != State::Open;
        self.repeated = begun || kind == Kind::Timeout && self.duplicates >= DUPLICATES;
        self.probed |= kind == Kind::Probe;
        let until = resent.next.max(resent.end);
        match (kind, self.state) {
            (Kind::Fast, State::Open) => {
                self.state = State::Recovery { until };
                self.recoveries += 1;
            }
            (Kind::Timeout, State::Loss { .. })
                if resent.start <= resent.acked && self.is_late(resent, rtt) =>
            {
                self.state = State::Loss { until };
                self.timeouts += 1;
            }
            (Kind::Timeout, State::Open | State::Recovery { .. }) => {
                self.state = State::Loss { until };
                self.timeouts += 1;
            }
            _ => {}
        }
        kind
    }

    /// Neither in recovery, nor have acknowledgements told of a hole since they moved last.
    pub(crate) fn is_open(&self) -> bool {
        self.state == State::Open && self.duplicates == 0 && self.sacked <= self.acked
    }

    /// When any acknowledgement passed last.
    pub(crate) fn last_ack_ns(&self) -> i64 {
        self.acknowledged_ns
    }

    /// Have acknowledgements told of a hole at a position?
    pub(crate) fn told(&self, start: i64) -> bool {
        self.sacked > start || self.duplicates >= DUPLICATES
    }

    /// Must the last retransmission have been tried before?
    pub(crate) fn repeated(&self) -> bool {
        self.repeated
    }

    fn decide(&self, resent: &Resent, rtt: &Rtt) -> Kind {
        let told = self.told(resent.start);
        let head = resent.start <= resent.acked;
        let tail = resent.end >= resent.next;
        let may_probe = tail && resent.sack && !self.probed;
        match self.state {
            State::Loss { .. } => Kind::Timeout,
            State::Recovery { .. } if head && self.is_late(resent, rtt) => Kind::Timeout,
            State::Recovery { .. } => Kind::Fast,
            // Linux probes before it times out, also when nothing else is out.
            State::Open if may_probe && !told => Kind::Probe,
            State::Open if head && self.is_late(resent, rtt) => Kind::Timeout,
            State::Open => Kind::Fast,
        }
    }

    /// Has nothing moved for so long that the timer must have run out?
    fn is_late(&self, resent: &Resent, rtt: &Rtt) -> bool {
        let since = self.progress_ns.max(resent.before_ns.unwrap_or(i64::MIN));
        let far_ns = rtt.smoothed_ns().unwrap_or(UNKNOWN_RTT_NS);
        let round_trip = far_ns.saturating_add(resent.near_ns);
        let late =
            resent.now_ns.saturating_sub(since) >= round_trip.saturating_add(TIMEOUT_BEYOND_RTT_NS);
        // What an acknowledgement calls for comes as soon as the sender has it.
        let called_for = resent.now_ns.saturating_sub(self.acknowledged_ns)
            <= resent.near_ns.saturating_add(ANSWER_NS);
        late && !called_for
    }
}
