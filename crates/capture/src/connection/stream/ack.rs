//! ACKs of a stream.

use super::{Stream, STEP_MAX};

/// Maximum time between duplicate ACKs of a receiver captured alone; after longer times it answers
/// a keep-alive.
const REPEATS_WITHIN_NS: i64 = 1_000_000_000;

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

impl Stream {
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
        if duplicate && ack.sack.is_empty() {
            self.recovery.duplicated(self.acked, self.next);
        }
        if position > self.acked {
            self.advance(ack, position, proved);
        }
        self.acknowledged = true;
        Acked { duplicate, dsack }
    }

    /// Processes SACK blocks (RFC 2018 §3). A first block that is acknowledged or lies within the
    /// second is a DSACK (RFC 2883 §4). Returns true for a DSACK.
    pub(super) fn sack(
        &mut self,
        blocks: &[(u32, u32)],
        acked: i64,
        proved: &mut Vec<u64>,
    ) -> bool {
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

    pub(super) fn undo_if(&mut self, proved: bool) {
        if proved {
            self.recovery.undo();
        }
    }

    pub(super) fn advance(&mut self, ack: &Ack<'_>, position: i64, proved: &mut Vec<u64>) {
        if let Some(tsecr) = ack.tsecr {
            let known = proved.len();
            self.proofs.echo(self.acked, tsecr, proved);
            self.undo_if(proved.len() > known);
        }
        let (mut segments, mut latest) = (0, None);
        let mut covered = self.acked;
        while let Some(seen) = self.sent.acknowledged(position) {
            segments += u64::from(!seen.bare);
            let from = covered.max(self.sent.forgotten());
            self.counters.unseen_bytes += self.unseen.add(from, seen.start, ack.now_ns);
            covered = seen.end;
            if !seen.repeated && !seen.bare {
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
