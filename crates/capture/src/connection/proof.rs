//! Retransmissions that were not needed, where the receiver proves it: by a DSACK (RFC 2883), by a
//! timestamp that echoes the first transmission (Eifel, RFC 3522 §3), or because the acknowledgement
//! had passed the tap before the retransmission did.

use super::judge::{Evidence, Stamped};
use super::order;
use std::collections::VecDeque;

/// Retransmissions that are remembered of a stream.
const REMEMBERED_MAX: usize = 1024;

/// How it was proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// A DSACK named its bytes.
    Dsack,
    /// The acknowledgement echoed an older timestamp.
    Timestamp,
    /// It was acknowledged when it passed.
    Acknowledged,
}

/// A segment that was sent again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repeated {
    pub start: i64,
    pub end: i64,
    pub tsval: Option<u32>,
    pub identification: Option<u16>,
    /// Identification and timestamp of the first bytes behind it that were sent once by then.
    pub later: Option<(u16, u32)>,
    pub frame: u64,
    /// Proved: here, its bytes had been acknowledged already.
    pub needless: bool,
    /// A DSACK named it.
    pub told: bool,
}

/// The latest retransmissions, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proofs {
    resent: VecDeque<Repeated>,
    /// Proved, by [`Proof`].
    pub(crate) proved: [u64; 3],
    /// Copies that have passed and that no DSACK named yet.
    copies: VecDeque<(i64, i64)>,
    /// DSACKs that name no retransmission, or one of which a copy has passed.
    pub(crate) unexplained: u64,
}

impl Proofs {
    /// A retransmission.
    pub(crate) fn add(&mut self, repeated: Repeated) {
        if repeated.needless {
            self.proved[Proof::Acknowledged as usize] += 1;
        }
        if self.resent.len() == REMEMBERED_MAX {
            self.resent.pop_front();
        }
        self.resent.push_back(repeated);
    }

    /// A copy made on the way passes: the receiver will tell of it.
    pub(crate) fn copied(&mut self, start: i64, end: i64) {
        if self.copies.len() == REMEMBERED_MAX {
            self.copies.pop_front();
        }
        self.copies.push_back((start, end));
    }

    /// Is a segment the first transmission of bytes whose retransmission has overtaken it? Then it was
    /// sent before this, and before what follows in the stream.
    pub(crate) fn overtaken(&self, start: i64, segment: &Stamped) -> Option<Evidence> {
        let of_it = self.resent.iter().rev().find(|one| one.start <= start && start < one.end)?;
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

    /// A DSACK block. Adds the number of the frame that it proves to have been needless.
    pub(crate) fn dsack(&mut self, start: i64, end: i64, proved: &mut Vec<u64>) {
        if let Some(copy) = self.copies.iter().position(|one| one.0 < end && start < one.1) {
            self.copies.remove(copy);
            self.unexplained += 1;
            return;
        }
        let mut named = false;
        for one in self.resent.iter_mut().rev() {
            if one.start < end && start < one.end {
                named = true;
                // Each arrival in vain is told once, whatever else has proved it before.
                if !std::mem::replace(&mut one.told, true) {
                    if !std::mem::replace(&mut one.needless, true) {
                        self.proved[Proof::Dsack as usize] += 1;
                        proved.push(one.frame);
                    }
                    return;
                }
            }
        }
        self.unexplained += u64::from(!named);
    }

    /// The cumulative acknowledgement moves on from `acked` and echoes this timestamp. Adds the
    /// numbers of the frames that repeated the first byte and were sent later than what is echoed.
    pub(crate) fn echo(&mut self, acked: i64, tsecr: u32, proved: &mut Vec<u64>) {
        let repeated = self.resent.iter_mut().filter(|one| one.start <= acked && acked < one.end);
        for one in repeated {
            if !one.needless && one.tsval.is_some_and(|sent| order::older(tsecr, sent)) {
                one.needless = true;
                self.proved[Proof::Timestamp as usize] += 1;
                proved.push(one.frame);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.resent.is_empty()
    }
}
