//! Data segments of a stream.

use super::{Passed, Stream, Verdict, STEP_MAX};
use crate::connection::judge::{Evidence, Judgement};
use crate::connection::proof::Retransmission;
use crate::connection::recovery::{RetransmissionKind, RetransmittedSegment};
use crate::connection::sent::{Seen, Sent};

/// Number of recent packets searched for a duplicate.
const RECENT_PACKETS: usize = 64;

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
    pub coalesced: bool,
    /// RTT between tap and sender: minimum and smoothed; 0 if unknown.
    pub near_rtt_ns: i64,
    pub near_srtt_ns: i64,
    /// True if the receiver's window is closed.
    pub closed: bool,
    /// True if SACK is in use.
    pub sack: bool,
    /// True if the other side has sent data since this side last did.
    pub turned: bool,
    /// Evidence that the frame was captured before.
    pub duplicate: Option<Evidence>,
    /// True if this capture contains frames twice.
    pub duplicated: bool,
}

impl Stream {
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
        if data.coalesced {
            self.identifications.jumps();
        }
        if let Some(tsval) = data.tsval {
            self.clock.add(tsval, data.now_ns);
        }
        let judgement = self.judge(data, start, end, missing);
        let (kind, retransmitted) = match judgement {
            Judgement::Retransmitted(evidence) => {
                let kind = self.retransmit(data, start, end, evidence);
                self.explain(missing, evidence);
                (Some(kind), true)
            }
            // The receiver reports a duplicate made by a link, but not a frame captured twice.
            Judgement::Duplicate(_) if !data.duplicated => {
                self.proofs.copied(start, end);
                (None, false)
            }
            _ => (None, false),
        };
        self.retransmitted_last = retransmitted;
        match judgement {
            Judgement::KeepAlive => {}
            Judgement::Duplicate(_) => {
                self.rates.add(data.now_ns, [u64::from(data.payload_bytes), 0]);
            }
            _ => self.keep(data, start, end, retransmitted),
        }
        self.count(data, judgement);
        self.remember(data);
        self.heard_ns = data.now_ns;
        Some(Verdict { position: start, judgement, kind })
    }

    /// Inserts the segment into the stream.
    pub(super) fn keep(&mut self, data: &Data, start: i64, end: i64, retransmitted: bool) {
        let seen = Seen {
            start: start.max(self.acked),
            end,
            first_ns: data.now_ns,
            last_ns: data.now_ns,
            tsval: data.tsval.unwrap_or(0),
            identification: data.identification.unwrap_or(0),
            repeated: false,
            retransmitted,
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

    pub(super) fn retransmit(
        &mut self,
        data: &Data,
        start: i64,
        end: i64,
        evidence: Evidence,
    ) -> RetransmissionKind {
        let before_ns = match self.sent.at(start) {
            Some(seen) => Some(seen.last_ns),
            None => self.sent.behind(start).next().or(self.ahead.as_ref()).map(|one| one.first_ns),
        };
        let later = self.later(start).map(|seen| (seen.identification, seen.tsval));
        let resent = RetransmittedSegment {
            now_ns: data.now_ns,
            start,
            end,
            acked: self.acked,
            next: self.next,
            before_ns,
            near_rtt_ns: data.near_srtt_ns,
            sack: data.sack,
            acknowledged: self.acknowledged,
        };
        let kind = if self.fits_path(data, start, end) {
            RetransmissionKind::PathMtu
        } else {
            let kind = self.recovery.kind(&resent, &self.rtt);
            self.unless_discarded(kind, start, end)
        };
        let counters = &mut self.counters;
        // A FIN without payload is no data packet.
        if data.payload_bytes > 0 {
            counters.retransmitted[kind as usize] += 1;
            counters.retransmitted_by[evidence as usize] += 1;
            counters.retransmitted_bytes += u64::from(data.payload_bytes);
        } else {
            counters.retransmitted_fins += 1;
        }
        if data.payload_bytes > 0 {
            let seen = !self.unseen.touches(start, end);
            let acknowledged = evidence == Evidence::Acknowledged && end <= self.acked && seen;
            self.proofs.add(Retransmission {
                start,
                end,
                tsval: data.tsval,
                identification: data.identification,
                later,
                frame: data.frame,
                spurious: acknowledged,
                dsacked: false,
            });
        }
        self.flight.lost(data.now_ns);
        kind
    }

    pub(super) fn count(&mut self, data: &Data, judgement: Judgement) {
        let counters = &mut self.counters;
        match judgement {
            Judgement::Reordered(evidence) => counters.reordered_by[evidence as usize] += 1,
            Judgement::Duplicate(_) => counters.duplicates += 1,
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

    pub(super) fn remember(&mut self, data: &Data) {
        if self.passed.len() == RECENT_PACKETS {
            self.passed.pop_front();
        }
        self.passed.push_back(Passed {
            sequence: data.sequence,
            payload_bytes: data.payload_bytes,
            tsval: data.tsval.unwrap_or(0),
            identification: data.identification.unwrap_or(0),
        });
    }
}
