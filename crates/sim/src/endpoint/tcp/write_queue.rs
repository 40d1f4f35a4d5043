//! Written, unsent data in skbs as in the kernel (`sk_write_queue`). A GSO skb never spans two of
//! them, so their boundaries determine how segments are grouped.

use std::collections::VecDeque;

/// An unsent skb with contiguous bytes.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    /// Length, never 0.
    bytes: u64,
    /// True if its last segment has PSH.
    push: bool,
    /// True if its beginning has been sent.
    cut: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct WriteQueue {
    /// Unsent skbs, oldest first.
    buffers: VecDeque<Buffer>,
}

impl WriteQueue {
    /// Length of the first skb; 0 if there is none.
    pub(crate) fn head_bytes(&self) -> u64 {
        self.buffers.front().map_or(0, |buffer| buffer.bytes)
    }

    pub(crate) fn buffers(&self) -> usize {
        self.buffers.len()
    }

    /// Returns true if the first skb is also the last one, which still grows
    /// (`tcp_write_queue_tail`).
    pub(crate) fn head_is_tail(&self) -> bool {
        self.buffers.len() <= 1
    }

    /// Free bytes of the last skb, for skbs of `goal` bytes.
    pub(crate) fn tail_room_bytes(&self, goal: u64) -> u64 {
        self.buffers.back().map_or(0, |last| goal.saturating_sub(last.bytes))
    }

    /// Returns true if part of the last skb has been sent.
    pub(crate) fn tail_is_cut(&self) -> bool {
        self.buffers.back().is_some_and(|last| last.cut)
    }

    /// Appends to the last skb. The end of an earlier call loses its PSH (`tcp_sendmsg_locked`).
    pub(crate) fn append(&mut self, bytes: u64, first_of_call: bool) {
        if let Some(last) = self.buffers.back_mut().filter(|_| bytes > 0) {
            last.bytes += bytes;
            last.push &= !first_of_call;
        }
    }

    /// Starts a new skb.
    pub(crate) fn begin(&mut self, bytes: u64) {
        if bytes > 0 {
            self.buffers.push_back(Buffer { bytes, push: false, cut: false });
        }
    }

    /// Marks the last skb with PSH (`tcp_mark_push`).
    pub(crate) fn mark_push(&mut self) {
        if let Some(last) = self.buffers.back_mut() {
            last.push = true;
        }
    }

    /// Takes bytes from the first skb; the rest stays one skb (`tso_fragment`). Returns true if the
    /// last segment has PSH.
    pub(crate) fn take(&mut self, bytes: u64) -> bool {
        let Some(head) = self.buffers.front_mut() else { return false };
        debug_assert!(bytes <= head.bytes, "a unit lies in one buffer");
        head.bytes = head.bytes.saturating_sub(bytes);
        if head.bytes > 0 {
            head.cut |= bytes > 0;
            return false;
        }
        let push = head.push;
        self.buffers.pop_front();
        push
    }
}
