//! Written, unsent data in skbs as in the kernel (`sk_write_queue`). A GSO skb never spans two of
//! them, so their boundaries determine how segments are grouped.

use std::collections::VecDeque;

/// An unsent skb with contiguous bytes.
#[derive(Clone, Copy, Debug)]
struct QueuedSkb {
    /// Length, never 0.
    bytes: u64,
    /// True if its last segment has PSH.
    push: bool,
    /// True if its beginning has been sent.
    partly_sent: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct WriteQueue {
    /// Unsent skbs, oldest first.
    skbs: VecDeque<QueuedSkb>,
}

impl WriteQueue {
    /// Length of the first skb; 0 if there is none.
    pub(crate) fn head_bytes(&self) -> u64 {
        self.skbs.front().map_or(0, |buffer| buffer.bytes)
    }

    pub(crate) fn skbs(&self) -> usize {
        self.skbs.len()
    }

    /// Returns true if the first skb is also the last one, which still grows
    /// (`tcp_write_queue_tail`).
    pub(crate) fn head_is_tail(&self) -> bool {
        self.skbs.len() <= 1
    }

    /// Free bytes of the last skb, for skbs of `goal` bytes.
    pub(crate) fn tail_space_bytes(&self, goal: u64) -> u64 {
        self.skbs.back().map_or(0, |last| goal.saturating_sub(last.bytes))
    }

    /// Returns true if part of the last skb has been sent.
    pub(crate) fn tail_is_partly_sent(&self) -> bool {
        self.skbs.back().is_some_and(|last| last.partly_sent)
    }

    /// Appends to the last skb. The end of an earlier call loses its PSH (`tcp_sendmsg_locked`).
    pub(crate) fn append(&mut self, bytes: u64, first_of_call: bool) {
        if let Some(last) = self.skbs.back_mut().filter(|_| bytes > 0) {
            last.bytes += bytes;
            last.push &= !first_of_call;
        }
    }

    /// Starts a new skb.
    pub(crate) fn begin(&mut self, bytes: u64) {
        if bytes > 0 {
            self.skbs.push_back(QueuedSkb { bytes, push: false, partly_sent: false });
        }
    }

    /// Marks the last skb with PSH (`tcp_mark_push`).
    pub(crate) fn mark_push(&mut self) {
        if let Some(last) = self.skbs.back_mut() {
            last.push = true;
        }
    }

    /// Moves up to `most` bytes of the second skb to the first (`tcp_grow_skb`, Linux 6.10). If skbs
    /// are `mapped`, only the rest of a split skb has the mapping of the one before it
    /// (`mptcp_skb_can_collapse`).
    pub(crate) fn grow_head(&mut self, most: u64, mapped: bool) {
        let Some(second) = self.skbs.get_mut(1) else { return };
        if mapped && !second.partly_sent {
            return;
        }
        let bytes = most.min(second.bytes);
        second.bytes -= bytes;
        let (push, empty) = (second.push, second.bytes == 0);
        if empty {
            self.skbs.remove(1);
        }
        if let Some(head) = self.skbs.front_mut() {
            head.bytes += bytes;
            head.push |= push && empty;
        }
    }

    /// Splits the first skb behind `bytes` (`tso_fragment`).
    pub(crate) fn split_head(&mut self, bytes: u64) {
        let Some(head) = self.skbs.front_mut().filter(|head| bytes < head.bytes) else { return };
        let rest = QueuedSkb { bytes: head.bytes - bytes, push: head.push, partly_sent: true };
        (head.bytes, head.push) = (bytes, false);
        self.skbs.insert(1, rest);
    }

    /// Takes bytes from the first skb; the rest stays one skb (`tso_fragment`). Returns true if the
    /// last segment has PSH.
    pub(crate) fn take(&mut self, bytes: u64) -> bool {
        let Some(head) = self.skbs.front_mut() else { return false };
        debug_assert!(bytes <= head.bytes, "a burst is in one skb");
        head.bytes = head.bytes.saturating_sub(bytes);
        if head.bytes > 0 {
            head.partly_sent |= bytes > 0;
            return false;
        }
        let push = head.push;
        self.skbs.pop_front();
        push
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_skb_takes_from_the_second() {
        let mut queue = WriteQueue::default();
        queue.begin(1000);
        queue.grow_head(500, false); // There is no second.
        queue.begin(3000);
        queue.mark_push();
        queue.grow_head(1200, false);
        assert_eq!((queue.head_bytes(), queue.skbs()), (2200, 2));
        // Its end, and with it the PSH, comes with its last byte.
        queue.grow_head(9000, false);
        assert_eq!((queue.head_bytes(), queue.skbs()), (4000, 1));
        assert!(queue.take(4000));
    }
    #[test]
    fn mapped_skbs_join_after_a_split() {
        let mut queue = WriteQueue::default();
        queue.begin(1000);
        queue.begin(3000);
        queue.grow_head(500, true);
        assert_eq!(queue.head_bytes(), 1000);
        queue.split_head(400);
        queue.grow_head(500, true);
        assert_eq!((queue.head_bytes(), queue.skbs()), (900, 3));
    }
}
