//! Proofs of spurious retransmissions: a DSACK (RFC 2883), a timestamp that echoes the first
//! transmission (Eifel, RFC 3522 §3), or an ACK that passed the tap before the retransmission.

use super::judge::{Evidence, Stamped};
use super::order;
use std::collections::VecDeque;

/// Maximum number of retransmissions kept per stream.
const REMEMBERED_MAX: usize = 1024;

/// Kind of proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// A DSACK reported its bytes.
    Dsack,
    /// The ACK echoed an older timestamp.
    Timestamp,
    /// Its bytes were already acknowledged when it passed.
    Acknowledged,
}

/// A retransmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retransmission {
    pub start: i64,
    pub end: i64,
    pub tsval: Option<u32>,
    pub identification: Option<u16>,
    /// Identification and timestamp of the first segment behind it that was transmitted once by
    /// then.
    pub later: Option<(u16, u32)>,
    pub frame: u64,
    /// Proved spurious. For a new retransmission: its bytes were already acknowledged.
    pub spurious: bool,
    /// Reported by a DSACK.
    pub dsacked: bool,
}

/// Most recent retransmissions, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proofs {
    retransmissions: VecDeque<Retransmission>,
    /// End of the highest byte retransmitted.
    end: i64,
    /// Spurious retransmissions by [`Proof`].
    pub(crate) proved: [u64; 3],
    /// Duplicates that passed and that no DSACK has reported yet.
    duplicates: VecDeque<(i64, i64)>,
    /// DSACKs that match no retransmission, or match a duplicate made by the network.
    pub(crate) unexplained: u64,
}

impl Proofs {
    /// Adds a retransmission.
    pub(crate) fn add(&mut self, repeated: Retransmission) {
        if repeated.spurious {
            self.proved[Proof::Acknowledged as usize] += 1;
        }
        if self.retransmissions.len() == REMEMBERED_MAX {
            self.retransmissions.pop_front();
        }
        self.end = self.end.max(repeated.end);
        self.retransmissions.push_back(repeated);
    }

    /// Adds a duplicate made by the network, which the receiver will report.
    pub(crate) fn copied(&mut self, start: i64, end: i64) {
        if self.duplicates.len() == REMEMBERED_MAX {
            self.duplicates.pop_front();
        }
        self.duplicates.push_back((start, end));
    }

    /// Returns evidence that a segment is a reordered first transmission: its retransmission passed
    /// before it. It must have been sent before the retransmission and before the bytes that follow
    /// it.
    pub(crate) fn reordering_evidence(&self, start: i64, segment: &Stamped) -> Option<Evidence> {
        let of_it =
            self.retransmissions.iter().rev().find(|one| one.start <= start && start < one.end)?;
        match (segment.identification, of_it.identification, segment.tsval, of_it.tsval) {
            (Some(own), Some(again), _, _) => {
                let before = of_it.later.map_or(again, |(identification, _)| identification);
                let first = [again, before].map(|other| order::sent_before(own, other));
                (first == [Some(true); 2]).then_some(Evidence::Identification)
            }
            (None, _, Some(own), Some(again)) => {
                let before = of_it.later.map_or(again, |(_, tsval)| tsval);
                let first = order::older(own, again) && !order::older(before, own);
                first.then_some(Evidence::Timestamp)
            }
            _ => None,
        }
    }

    /// Processes a DSACK block. Appends the number of the frame that it proves spurious.
    pub(crate) fn dsack(&mut self, start: i64, end: i64, proved: &mut Vec<u64>) {
        if let Some(duplicate) = self.duplicates.iter().position(|one| one.0 < end && start < one.1)
        {
            self.duplicates.remove(duplicate);
            self.unexplained += 1;
            return;
        }
        let mut named = false;
        for one in self.retransmissions.iter_mut().rev() {
            if one.start < end && start < one.end {
                named = true;
                // A receiver reports each spurious arrival once, whatever else has proved it.
                if !std::mem::replace(&mut one.dsacked, true) {
                    if !std::mem::replace(&mut one.spurious, true) {
                        self.proved[Proof::Dsack as usize] += 1;
                        proved.push(one.frame);
                    }
                    return;
                }
            }
        }
        self.unexplained += u64::from(!named);
    }

    /// Processes an advance of the cumulative ACK from `acked` with a timestamp echo. Appends the
    /// numbers of frames that retransmitted the first byte and were sent later than the echoed
    /// segment.
    pub(crate) fn echo(&mut self, acked: i64, tsecr: u32, proved: &mut Vec<u64>) {
        if acked >= self.end {
            return;
        }
        let repeated =
            self.retransmissions.iter_mut().filter(|one| one.start <= acked && acked < one.end);
        for one in repeated {
            if !one.spurious && one.tsval.is_some_and(|sent| order::older(tsecr, sent)) {
                one.spurious = true;
                self.proved[Proof::Timestamp as usize] += 1;
                proved.push(one.frame);
            }
        }
    }
}
