//! One direction of a connection: the data of one side and the ACKs of the other.

use super::delayed::Delayed;
use super::flight::Flight;
use super::judge::{self, Evidence, Judgement, Stamped, EVIDENCE};
use super::order::{Clock, Identifications};
use super::proof::{Proofs, Repeated};
use super::recovery::{Kind, Recovery, Resent};
use super::rtt::Rtt;
use super::sacked::Sacked;
use super::sent::{Seen, Sent};
use super::unseen::Unseen;
use super::Passing;
use crate::rate::Rates;
use std::collections::VecDeque;

/// Number of recent packets searched for a duplicate.
const COPIES_AMONG: usize = 64;
/// Maximum number of segments behind a hole searched for a first transmission.
const LATER_AMONG: usize = 64;
/// Maximum step of a position within the stream.
const STEP_MAX: i64 = 1 << 30;
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
/// Maximum distance of a segment without data ahead of the captured data, if no larger window is
/// known.
const AHEAD_BYTES: u64 = 1 << 16;
/// Maximum time between duplicate ACKs of a receiver captured alone; after longer times it answers
/// a keep-alive.
const REPEATS_WITHIN_NS: i64 = 1_000_000_000;

/// Classification of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Position of its first byte in the stream, from 0.
    pub position: i64,
    /// Class of the segment.
    pub judgement: Judgement,
    /// Kind of the retransmission, if it is one.
    pub kind: Option<Kind>,
}

/// Counters of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Packets with payload.
    pub data_packets: u64,
    /// Sum of their payload, repeated bytes included.
    pub payload_bytes: u64,
    /// Payload without repeated bytes.
    pub unique_bytes: u64,
    /// Acknowledged bytes that are not in the capture.
    pub unseen_bytes: u64,
    /// Retransmissions by [`Kind`].
    pub retransmitted: [u64; 3],
    /// Payload of the retransmissions.
    pub retransmitted_bytes: u64,
    /// Retransmissions by [`Evidence`].
    pub retransmitted_by: [u64; EVIDENCE],
    /// Reordered segments by [`Evidence`].
    pub reordered_by: [u64; EVIDENCE],
    /// Duplicates.
    pub copies: u64,
    /// Keep-alive and zero-window probes.
    pub keep_alives: u64,
    /// Time of the first data packet.
    pub first_ns: Option<i64>,
    /// Time of the last data packet.
    pub last_ns: Option<i64>,
    /// Largest payload.
    pub segment_max_bytes: u32,
}

/// A segment with payload or FIN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data {
    pub now_ns: i64,
    pub frame: u64,
    pub sequence: u32,
    pub payload_bytes: u32,
    pub fin: bool,
    pub tsval: Option<u32>,
    pub identification: Option<u16>,
    /// True if the sender shares one identification counter between its connections.
    pub shared_counter: bool,
    /// True if the payload exceeds a packet: offload joined segments or has not split them yet.
    pub joined: bool,
    /// RTT between tap and sender: minimum and smoothed; 0 if unknown.
    pub near_ns: i64,
    pub near_smoothed_ns: i64,
    /// True if the receiver's window is closed.
    pub closed: bool,
    /// True if SACK is in use.
    pub sack: bool,
    /// True if the other side has sent data since this side last did.
    pub turned: bool,
    /// Evidence that the frame was captured before.
    pub copy: Option<Evidence>,
    /// True if this capture contains frames twice.
    pub doubled: bool,
}

/// An ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack<'a> {
    pub now_ns: i64,
    pub acknowledgement: u32,
    pub sack: &'a [(u32, u32)],
    pub tsecr: Option<u32>,
    /// True for a pure ACK without a window update.
    pub bare: bool,
    /// True if the capture contains no packet of the other side.
    pub alone: bool,
}

/// Classification of an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acked {
    pub duplicate: bool,
    pub dsack: bool,
}

#[derive(Clone, Copy, Debug)]
struct Passed {
    sequence: u32,
    payload_bytes: u32,
    tsval: u32,
    identification: u16,
}

/// State of a stream.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Sequence number of position 0.
    origin: u32,
    /// End of the highest byte seen or acknowledged.
    next: i64,
    /// Cumulative ACK position.
    acked: i64,
    /// True after the first ACK.
    acknowledged: bool,
    sent: Sent,
    sacked: Sacked,
    identifications: Identifications,
    passed: VecDeque<Passed>,
    /// Missing packets that carried none of the bytes from `next` on.
    explained: u32,
    /// True if the last segment was a retransmission.
    resent_last: bool,
    /// Lost tail segments whose retransmissions may still follow in order.
    tail: i64,
    recovery: Recovery,
    proofs: Proofs,
    /// Acknowledged bytes that are not in the capture.
    unseen: Unseen,
    /// Time at which data last advanced `next`.
    moved_ns: i64,
    /// Time of the sender's last packet.
    heard_ns: i64,
    /// Segment without data ahead of the captured data.
    ahead: Option<Seen>,
    clock: Clock,
    /// Counters.
    pub counters: Counters,
    /// RTT from the tap to the receiver and back.
    pub rtt: Rtt,
    /// Bytes in flight.
    pub flight: Flight,
    /// Delayed-ACK statistics of the receiver.
    pub delayed: Delayed,
    /// Payload and unique bytes over time.
    pub rates: Rates<2>,
}

impl Stream {
    /// Stream with the sequence number of its first byte; `acknowledged` is true if all earlier
    /// bytes are acknowledged.
    pub(crate) fn new(origin: u32, acknowledged: bool) -> Self {
        Self {
            origin,
            next: 0,
            acked: 0,
            acknowledged,
            sent: Sent::default(),
            sacked: Sacked::default(),
            identifications: Identifications::default(),
            passed: VecDeque::new(),
            explained: 0,
            resent_last: false,
            tail: 0,
            recovery: Recovery::default(),
            proofs: Proofs::default(),
            unseen: Unseen::default(),
            moved_ns: i64::MIN,
            heard_ns: i64::MIN,
            ahead: None,
            clock: Clock::default(),
            counters: Counters::default(),
            rtt: Rtt::default(),
            flight: Flight::default(),
            delayed: Delayed::default(),
            rates: Rates::default(),
        }
    }

    /// End of the highest byte seen or acknowledged.
    pub fn next(&self) -> i64 {
        self.next
    }

    /// Cumulative ACK position.
    pub fn acked(&self) -> i64 {
        self.acked
    }

    /// Bytes sent, and neither acknowledged nor SACKed at the tap.
    pub fn in_flight_bytes(&self) -> i64 {
        self.next - self.acked - self.sacked.bytes()
    }

    /// Acknowledged payload, without a FIN.
    pub fn acked_bytes(&self) -> u64 {
        let known = self.counters.unique_bytes + self.counters.unseen_bytes;
        (self.acked.max(0) as u64).min(known)
    }

    /// Number of time-outs and of entries into fast recovery.
    pub fn recoveries(&self) -> (u64, u64) {
        (self.recovery.timeouts, self.recovery.recoveries)
    }

    /// Spurious retransmissions by [`super::proof::Proof`].
    pub fn needless(&self) -> [u64; 3] {
        self.proofs.proved
    }

    /// DSACKs that match no retransmission.
    pub fn unexplained_dsacks(&self) -> u64 {
        self.proofs.unexplained
    }

    /// Position of a sequence number, the closest to the highest byte.
    pub fn position(&self, sequence: u32) -> i64 {
        let near = self.origin.wrapping_add(self.next as u32);
        self.next + i64::from(sequence.wrapping_sub(near) as i32)
    }

    /// Processes the identification of a packet without data.
    pub(crate) fn bare(&mut self, passing: &Passing) {
        if self.identify(passing.identification) > 0 && self.acked == self.next {
            // No data was in flight that could have been lost.
            self.identifications.jumps();
        }
        self.heard_ns = passing.now_ns;
    }

    /// Processes an identification. Returns the number of additional missing packets.
    fn identify(&mut self, identification: Option<u16>) -> u32 {
        let before = self.identifications.missing();
        if let Some(identification) = identification {
            self.identifications.add(identification);
        }
        self.identifications.missing().saturating_sub(before)
    }

    /// Processes a segment without data: detects keep-alives. If the segment is ahead, all bytes
    /// before it were sent and are not in the capture.
    pub(crate) fn asks(
        &mut self,
        passing: &Passing,
        sequence: u32,
        stamp: Option<u32>,
        window_bytes: u64,
    ) {
        let position = self.position(sequence);
        let before = position == self.next - 1;
        self.counters.keep_alives += u64::from(before && self.acked == self.next);
        let most = window_bytes.max(AHEAD_BYTES).min(STEP_MAX as u64) as i64;
        if position > self.next && position - self.acked <= most {
            self.next = position;
            self.ahead = Some(Seen {
                start: position,
                end: position,
                first_ns: passing.now_ns,
                last_ns: passing.now_ns,
                tsval: stamp.unwrap_or(0),
                identification: passing.identification.unwrap_or(0),
                again: false,
                resent: false,
                bare: true,
            });
        }
    }

    /// First segment behind a position that was a first transmission.
    fn later(&self, start: i64) -> Option<Seen> {
        let seen = self.sent.behind(start).take(LATER_AMONG).find(|seen| !seen.resent);
        seen.copied().or_else(|| self.ahead.filter(|ahead| ahead.start > start))
    }

    /// Processes a segment with data or a FIN.
    pub(crate) fn data(&mut self, data: &Data) -> Option<Verdict> {
        let start = self.position(data.sequence);
        let end = start + i64::from(data.payload_bytes) + i64::from(data.fin);
        if (end - self.next).abs() > STEP_MAX {
            return None;
        }
        if !self.acknowledged {
            // Without an ACK, no byte is known to precede the first.
            self.acked = self.acked.min(start);
        }
        let missing = self.identify(data.identification);
        if data.joined {
            self.identifications.jumps();
        }
        if let Some(tsval) = data.tsval {
            self.clock.add(tsval, data.now_ns);
        }
        let judgement = self.judge(data, start, end, missing);
        let (kind, resent) = match judgement {
            Judgement::Retransmitted(evidence) => {
                let kind = self.sent_again(data, start, end, evidence);
                self.explain(missing, evidence);
                (Some(kind), true)
            }
            // The receiver reports a duplicate made by a link, but not a frame captured twice.
            Judgement::Copy(_) if !data.doubled => {
                self.proofs.copied(start, end);
                (None, false)
            }
            _ => (None, false),
        };
        self.resent_last = resent;
        match judgement {
            Judgement::KeepAlive => {}
            Judgement::Copy(_) => self.rates.add(data.now_ns, [u64::from(data.payload_bytes), 0]),
            _ => self.keep(data, start, end, resent),
        }
        self.count(data, judgement);
        self.remember(data);
        self.heard_ns = data.now_ns;
        Some(Verdict { position: start, judgement, kind })
    }

    fn judge(&mut self, data: &Data, start: i64, end: i64, missing: u32) -> Judgement {
        if let Some(evidence) = data.copy {
            return Judgement::Copy(evidence);
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
        if let Some(evidence) = self.is_copy(data) {
            return Judgement::Copy(evidence);
        }
        let stamped = Stamped {
            now_ns: data.now_ns,
            tsval: data.tsval,
            identification: data.identification.filter(|_| self.identifications.counted()),
        };
        if let Some(evidence) = self.proofs.overtaken(start, &stamped) {
            return Judgement::Reordered(evidence);
        }
        // Captured just after its ACK: two queues of a device or of the capture.
        let glitch_ns = (self.round_trip_ns(data.near_ns) / 2).max(GLITCH_NS);
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
            self.round_trip_ns(data.near_ns),
            self.clock.tick_ns(),
        )
    }

    /// Classifies a segment beyond all captured data: new, unless it retransmits data lost before
    /// the tap.
    fn judge_next(&mut self, data: &Data, start: i64, missing: u32) -> Judgement {
        let round_trip_ns = self.round_trip_ns(data.near_ns);
        let round_trip_ns = if round_trip_ns > 0 { round_trip_ns } else { PAUSE_NS };
        let silent_ns = match self.heard_ns {
            i64::MIN => 0,
            heard_ns => data.now_ns.saturating_sub(heard_ns),
        };
        // Retransmissions in order are clocked by ACKs.
        let goes_on = missing == 0 && start == self.next && silent_ns <= 2 * round_trip_ns;
        if self.tail > 0 && goes_on {
            self.tail -= 1;
            return Judgement::Retransmitted(Evidence::Missing);
        }
        let lost = self.lost_before(data, start, round_trip_ns, silent_ns);
        if lost > 0 {
            // Retransmissions of the other missing packets may follow in order.
            self.tail = if start == self.next { lost - 1 } else { 0 };
            return Judgement::Retransmitted(Evidence::Missing);
        }
        self.tail = 0;
        if start == self.next && self.recovery.is_open() && data.identification.is_some() {
            self.identifications.went_on(missing, silent_ns >= round_trip_ns / 2);
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
    fn lost_before(&self, data: &Data, start: i64, round_trip_ns: i64, silent_ns: i64) -> i64 {
        let segment = i64::from(self.counters.segment_max_bytes.max(1));
        let hole = (start - self.next + segment - 1) / segment;
        let unexplained = self.identifications.missing().saturating_sub(self.explained);
        let lost = i64::from(unexplained) - hole;
        let window = (self.flight.max_bytes / segment).max(INITIAL_SEGMENTS);
        let counts = self.identifications.tells_missing() && !data.shared_counter;
        if lost <= 0 || lost > 2 * window || self.moved_ns == i64::MIN || !counts {
            return 0;
        }
        let pause_ns = data.now_ns.saturating_sub(self.moved_ns);
        // Fast recovery retransmits after an RTT. A probe repeats the last of several segments
        // after two RTTs. A single segment waits for a delayed ACK as long as a time-out takes.
        let pause_min_ns = match start > self.next {
            _ if self.resent_last => 0,
            true => round_trip_ns,
            false => PAUSE_NS,
        };
        let soonest_ns = round_trip_ns.saturating_add(pause_min_ns);
        let latest_ns = TIMEOUT_MAX_NS.saturating_add(round_trip_ns.saturating_mul(2));
        let timed = pause_ns >= soonest_ns - soonest_ns / 10 && silent_ns <= latest_ns;
        let quiet = self.acknowledged && self.acked == self.next && !data.turned;
        // Without SACK a time-out retransmits all data, and many of these packets are lost again.
        let tells = data.sack || !self.resent_last;
        if timed && quiet && tells {
            lost
        } else {
            0
        }
    }

    /// Processes missing packets before a retransmission. In recovery or after signs of loss, one
    /// of them was an earlier retransmission of the same bytes.
    fn explain(&mut self, missing: u32, evidence: Evidence) {
        if evidence == Evidence::Missing {
            self.explained = self.identifications.missing();
        } else if missing > 0 && self.recovery.repeated() {
            self.explained = self.explained.saturating_add(1);
        }
    }

    /// Returns evidence that the same packet passed before.
    fn is_copy(&self, data: &Data) -> Option<Evidence> {
        let counted = self.identifications.counted();
        let later_stamp =
            judge::stamps_tell(self.round_trip_ns(data.near_ns), self.clock.tick_ns());
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
    pub(crate) fn calls_for(&self, sequence: u32, near_ns: i64, after_ns: i64) -> bool {
        let round_trip_ns = self.round_trip_ns(near_ns);
        let start = self.position(sequence);
        start >= self.acked
            && after_ns >= round_trip_ns - round_trip_ns / 10
            && self.recovery.told(start)
    }

    fn round_trip_ns(&self, near_ns: i64) -> i64 {
        // One of the two is close to 0 if the tap is at an end.
        self.rtt.min_ns.saturating_add(near_ns)
    }

    fn sent_again(&mut self, data: &Data, start: i64, end: i64, evidence: Evidence) -> Kind {
        let before_ns = match self.sent.at(start) {
            Some(seen) => Some(seen.last_ns),
            None => self.sent.behind(start).next().or(self.ahead.as_ref()).map(|one| one.first_ns),
        };
        let later = self.later(start).map(|seen| (seen.identification, seen.tsval));
        let resent = Resent {
            now_ns: data.now_ns,
            start,
            end,
            acked: self.acked,
            next: self.next,
            before_ns,
            near_ns: data.near_smoothed_ns,
            sack: data.sack,
        };
        let kind = self.recovery.kind(&resent, &self.rtt);
        let counters = &mut self.counters;
        // A FIN without payload is no data packet.
        if data.payload_bytes > 0 {
            counters.retransmitted[kind as usize] += 1;
            counters.retransmitted_by[evidence as usize] += 1;
            counters.retransmitted_bytes += u64::from(data.payload_bytes);
        }
        if data.payload_bytes > 0 {
            let seen = !self.unseen.touches(start, end);
            let acknowledged = evidence == Evidence::Acknowledged && end <= self.acked && seen;
            self.proofs.add(Repeated {
                start,
                end,
                tsval: data.tsval,
                identification: data.identification,
                later,
                frame: data.frame,
                needless: acknowledged,
                told: false,
            });
        }
        self.flight.lost(data.now_ns);
        kind
    }

    /// Inserts the segment into the stream.
    fn keep(&mut self, data: &Data, start: i64, end: i64, resent: bool) {
        let seen = Seen {
            start: start.max(self.acked),
            end,
            first_ns: data.now_ns,
            last_ns: data.now_ns,
            tsval: data.tsval.unwrap_or(0),
            identification: data.identification.unwrap_or(0),
            again: false,
            resent,
            bare: data.payload_bytes == 0,
        };
        let held = |sent: &Sent| sent.at(end - 1).is_some() || sent.is_forgotten(end - 1);
        let fin = data.fin && end > self.acked && (start >= self.next || !held(&self.sent));
        let unique = if start >= self.next {
            self.next = end;
            self.moved_ns = data.now_ns;
            self.sent.append(seen, self.acknowledged);
            end - start
        } else if end <= self.acked {
            let appeared = self.unseen.appear(start, end);
            self.counters.unseen_bytes -= appeared;
            appeared as i64
        } else {
            let filled = self.sent.fill(seen);
            self.next = self.next.max(end);
            filled
        };
        let unique = (unique - i64::from(fin)).clamp(0, i64::from(data.payload_bytes)) as u64;
        self.counters.unique_bytes += unique;
        self.rates.add(data.now_ns, [u64::from(data.payload_bytes), unique]);
        self.flight.sent(self.in_flight_bytes());
    }

    fn count(&mut self, data: &Data, judgement: Judgement) {
        let counters = &mut self.counters;
        match judgement {
            Judgement::Reordered(evidence) => counters.reordered_by[evidence as usize] += 1,
            Judgement::Copy(_) => counters.copies += 1,
            Judgement::KeepAlive => counters.keep_alives += 1,
            Judgement::New | Judgement::Retransmitted(_) => {}
        }
        if data.payload_bytes > 0 {
            counters.data_packets += 1;
            counters.payload_bytes += u64::from(data.payload_bytes);
            counters.segment_max_bytes = counters.segment_max_bytes.max(data.payload_bytes);
            counters.first_ns.get_or_insert(data.now_ns);
            counters.last_ns = Some(data.now_ns);
        }
    }

    fn remember(&mut self, data: &Data) {
        if self.passed.len() == COPIES_AMONG {
            self.passed.pop_front();
        }
        self.passed.push_back(Passed {
            sequence: data.sequence,
            payload_bytes: data.payload_bytes,
            tsval: data.tsval.unwrap_or(0),
            identification: data.identification.unwrap_or(0),
        });
    }

    /// Processes an ACK of the other side. Appends the numbers of frames that it proves spurious to
    /// `proved`.
    pub(crate) fn ack(&mut self, ack: &Ack<'_>, proved: &mut Vec<u64>) -> Acked {
        let position = self.position(ack.acknowledgement);
        if (position - self.next).abs() > STEP_MAX {
            return Acked::default();
        }
        if !self.acknowledged {
            // The ACK reveals the first unacknowledged byte, which may precede the first captured
            // one.
            self.acked = self.acked.min(position);
        }
        let dsack = !ack.sack.is_empty() && self.sack(ack.sack, position, proved);
        let soon = ack.now_ns.saturating_sub(self.recovery.last_ack_ns()) <= REPEATS_WITHIN_NS;
        let out = self.next > self.acked || ack.alone && (soon || !ack.sack.is_empty());
        let duplicate = self.acknowledged && position == self.acked && out && ack.bare;
        self.recovery.acknowledged(ack.now_ns, duplicate);
        if position > self.acked {
            self.advance(ack, position, proved);
        }
        self.acknowledged = true;
        Acked { duplicate, dsack }
    }

    /// Processes SACK blocks (RFC 2018 §3). A first block that is acknowledged or lies within the
    /// second is a DSACK (RFC 2883 §4). Returns true for a DSACK.
    fn sack(&mut self, blocks: &[(u32, u32)], acked: i64, proved: &mut Vec<u64>) -> bool {
        let block = |at: usize| {
            blocks.get(at).map(|block| (self.position(block.0), self.position(block.1)))
        };
        let Some(first) = block(0) else { return false };
        let within = block(1).is_some_and(|second| second.0 <= first.0 && first.1 <= second.1);
        let dsack = first.1 <= acked || within;
        for block in blocks.iter().skip(usize::from(dsack)) {
            let (start, end) = (self.position(block.0), self.position(block.1));
            // A block beyond the sent data is invalid.
            if end <= self.next {
                self.sacked.add(start.max(acked).max(self.acked), end);
                self.recovery.sacked(end);
            }
        }
        if dsack {
            let known = proved.len();
            self.proofs.dsack(first.0, first.1, proved);
            self.undo_if(proved.len() > known);
        }
        dsack
    }

    fn undo_if(&mut self, proved: bool) {
        if proved {
            self.recovery.undo();
        }
    }

    fn advance(&mut self, ack: &Ack<'_>, position: i64, proved: &mut Vec<u64>) {
        if !self.proofs.is_empty() {
            if let Some(tsecr) = ack.tsecr {
                let known = proved.len();
                self.proofs.echo(self.acked, tsecr, proved);
                self.undo_if(proved.len() > known);
            }
        }
        let (mut segments, mut latest) = (0, None);
        let mut covered = self.acked;
        while let Some(seen) = self.sent.acknowledged(position) {
            segments += u64::from(!seen.bare);
            let from = covered.max(self.sent.forgotten());
            self.counters.unseen_bytes += self.unseen.add(from, seen.start, ack.now_ns);
            covered = seen.end;
            if !seen.again && !seen.bare {
                latest = Some(ack.now_ns - seen.first_ns);
                self.rtt.add(ack.now_ns - seen.first_ns);
            }
        }
        // An ACK delayed by a hole does not measure the path.
        if let Some(latest) = latest.filter(|_| self.recovery.is_open()) {
            self.rtt.smooth(latest);
        }
        self.delayed.add(segments);
        let first = self.sent.first_start().map_or(position, |start| start.min(position));
        let from = covered.max(self.sent.forgotten());
        self.counters.unseen_bytes += self.unseen.add(from, first, ack.now_ns);
        self.next = self.next.max(position);
        self.acked = position;
        self.sacked.acknowledged(position);
        self.recovery.progress(ack.now_ns, position);
        self.flight.acknowledged(ack.now_ns, position, self.next);
    }
}
