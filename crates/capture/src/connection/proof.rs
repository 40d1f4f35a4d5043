//! Retransmissions that were not needed, where the receiver proves it: by a DSACK (RFC 2883), by a
//! timestamp that echoes the first transmission (Eifel, RFC 3522 §3), or because the acknowledgement
//! had passed the tap before the retransmission did.

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

#[derive(Clone, Copy, Debug)]
struct Resent {
    start: i64,
    end: i64,
    tsval: Option<u32>,
    frame: u64,
    needless: bool,
}

/// The latest retransmissions, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Proofs {
    resent: VecDeque<Resent>,
    /// Proved, by [`Proof`].
    pub(crate) proved: [u64; 3],
    /// DSACKs that name no retransmission: copies made on the way.
    pub(crate) unexplained: u64,
}

impl Proofs {
    /// A retransmission; `acknowledged`: its bytes had been already.
    pub(crate) fn add(
        &mut self,
        (start, end): (i64, i64),
        tsval: Option<u32>,
        frame: u64,
        acknowledged: bool,
    ) {
        if acknowledged {
            self.proved[Proof::Acknowledged as usize] += 1;
        }
        if self.resent.len() == REMEMBERED_MAX {
            self.resent.pop_front();
        }
        self.resent.push_back(Resent { start, end, tsval, frame, needless: acknowledged });
    }

    /// A DSACK block. Adds the number of the frame that it proves to have been needless.
    pub(crate) fn dsack(&mut self, start: i64, end: i64, proved: &mut Vec<u64>) {
        let mut named = false;
        for one in self.resent.iter_mut().rev() {
            if one.start < end && start < one.end {
                named = true;
                if !one.needless {
                    one.needless = true;
                    self.proved[Proof::Dsack as usize] += 1;
                    proved.push(one.frame);
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
