//! Scheduler of FQ-CoDel, FQ-PIE and fq: deficit round robin in bytes (Shreedhar and Varghese 1995) with
//! new flows before old ones (RFC 8290 §4.2).

use std::collections::VecDeque;

/// State of a flow in the scheduler.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    /// Bytes that the flow may still send in this round.
    pub(super) deficit: i64,
    /// True if the flow is in one of the lists.
    pub(super) listed: bool,
}

/// Lists of new and old flows, by index.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

impl Rounds {
    /// Adds a flow that is in no list, when it gets a packet.
    pub(super) fn begin(&mut self, flow: usize, share: &mut Share) {
        share.listed = true;
        self.new.push_back(flow);
    }

    /// Flow to serve.
    pub(super) fn head(&self) -> Option<usize> {
        self.new.front().or_else(|| self.old.front()).copied()
    }

    /// Refills the deficit of the head and moves it behind all old flows.
    pub(super) fn spent(&mut self, quantum: i64, share: &mut Share) {
        share.deficit += quantum;
        if let Some(flow) = self.pop() {
            self.old.push_back(flow);
        }
    }

    /// Handles a head without packets. A new flow moves behind the old flows, if there are any;
    /// an old flow is removed. Returns true if it was removed.
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

    /// Removes the head; returns true if it was a new flow.
    pub(super) fn remove_head(&mut self) -> bool {
        let was_new = !self.new.is_empty();
        self.pop();
        was_new
    }

    /// Adds a flow behind all old flows.
    pub(super) fn append_old(&mut self, flow: usize) {
        self.old.push_back(flow);
    }

    fn pop(&mut self) -> Option<usize> {
        self.new.pop_front().or_else(|| self.old.pop_front())
    }

    /// Numbers of new and old flows.
    pub(super) fn lengths(&self) -> (usize, usize) {
        (self.new.len(), self.old.len())
    }
}
