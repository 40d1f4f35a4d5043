//! Whose turn it is: flows that have just begun before the others (RFC 8290 §4.2), each with a deficit
//! in bytes (Shreedhar and Varghese 1995). FQ-CoDel, FQ-PIE and fq go round like this.

use std::collections::VecDeque;

/// A flow's part in the rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    /// Bytes that it may still send in its turn.
    pub(super) deficit: i64,
    /// It stands in one of the lists.
    pub(super) listed: bool,
}

/// Two lists of flows by number.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

impl Rounds {
    /// A flow that stands in no list has a packet.
    pub(super) fn begin(&mut self, flow: usize, share: &mut Share) {
        share.listed = true;
        self.new.push_back(flow);
    }

    /// The flow at the head.
    pub(super) fn head(&self) -> Option<usize> {
        self.new.front().or_else(|| self.old.front()).copied()
    }

    /// The head has sent its share: it gets another, behind all old ones.
    pub(super) fn spent(&mut self, quantum: i64, share: &mut Share) {
        share.deficit += quantum;
        if let Some(flow) = self.pop() {
            self.old.push_back(flow);
        }
    }

    /// The head has nothing to send. A new one passes through the old ones first, so that none
    /// starves; an old one leaves. True if it left.
    pub(super) fn idle(&mut self, share: &mut Share) -> bool {
        let was_new = !self.new.is_empty();
        let Some(flow) = self.pop() else { return false };
        if was_new && !self.old.is_empty() {
            self.old.push_back(flow);
            return false;
        }
        share.listed = false;
        true
    }

    fn pop(&mut self) -> Option<usize> {
        self.new.pop_front().or_else(|| self.old.pop_front())
    }

    /// New and old flows.
    pub(super) fn lengths(&self) -> (usize, usize) {
        (self.new.len(), self.old.len())
    }
}
