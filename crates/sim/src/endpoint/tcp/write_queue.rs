//! What was written and not sent, in buffers as the kernel keeps it (`sk_write_queue`): a unit of
//! segmentation offload never spans two of them, so their bounds decide how segments are grouped.

use std::collections::VecDeque;

/// A buffer of bytes that follow each other.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    /// Never 0.
    bytes: u64,
    /// Its last segment carries PSH.
    push: bool,
    /// Its beginning has been sent.
    cut: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct WriteQueue {
    /// Oldest first.
    buffers: VecDeque<Buffer>,
}

impl WriteQueue {
    /// Bytes of the buffer that is sent next; 0 if there is none.
    pub(crate) fn head_bytes(&self) -> u64 {
        self.buffers.front().map_or(0, |buffer| buffer.bytes)
    }

    pub(crate) fn buffers(&self) -> usize {
        self.buffers.len()
    }

    /// The buffer that is sent next is the one that grows (`tcp_write_queue_tail`).
    pub(crate) fn head_is_tail(&self) -> bool {
        self.buffers.len() <= 1
    }

    /// Bytes that the last buffer still takes, if one is to hold `goal`.
    pub(crate) fn tail_room_bytes(&self, goal: u64) -> u64 {
        self.buffers.back().map_or(0, |last| goal.saturating_sub(last.bytes))
    }

    /// Part of the last buffer has been sent.
    pub(crate) fn tail_is_cut(&self) -> bool {
        self.buffers.back().is_some_and(|last| last.cut)
    }

    /// Fills the last buffer up. What an earlier call wrote is no longer the end of anything
    /// (`tcp_sendmsg_locked`).
    pub(crate) fn append(&mut self, bytes: u64, first_of_call: bool) {
        if let Some(last) = self.buffers.back_mut().filter(|_| bytes > 0) {
            last.bytes += bytes;
            last.push &= !first_of_call;
        }
    }

    /// Begins a new buffer.
    pub(crate) fn begin(&mut self, bytes: u64) {
        if bytes > 0 {
            self.buffers.push_back(Buffer { bytes, push: false, cut: false });
        }
    }

    /// What was written so far is to be handed over at once (`tcp_mark_push`).
    pub(crate) fn mark_push(&mut self) {
        if let Some(last) = self.buffers.back_mut() {
            last.push = true;
        }
    }

    /// Takes bytes from the first buffer; the rest of it stays one (`tso_fragment`). True if the
    /// last segment carries PSH.
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
