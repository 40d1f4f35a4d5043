//! Receive-side skbs: memory per segment (`truesize`) and coalescing (`skb_try_coalesce`). The
//! model follows Linux 6.1 over veth, where the memory of each queued segment was printed.

use dumbbell_model::{ReceiveBuffer, TcpOptions};
use std::collections::VecDeque;

/// Size of `struct sk_buff`, and of the 1 KiB head for the headers.
const SK_BUFF_BYTES: u64 = 256;
const SMALL_HEAD_BYTES: u64 = 1024;
const HEAD_BYTES: u64 = SK_BUFF_BYTES + SMALL_HEAD_BYTES;
/// A head from `skb_small_head_cache`: 384 bytes (MAX_TCP_HEADER) and `struct skb_shared_info`.
const SMALL_CACHE_BYTES: u64 = 704;
const SMALL_CACHE_HEAD_BYTES: u64 = SK_BUFF_BYTES + SMALL_CACHE_BYTES;
/// Bytes of a head used by headers, headroom and `struct skb_shared_info`.
const HEAD_USED_BYTES: u64 = 640;
/// Maximum number of fragments per skb (MAX_SKB_FRAGS).
const FRAGMENTS_MAX: u64 = 17;
/// Size of the sender's pages (SKB_FRAG_PAGE_ORDER).
const PAGE_BYTES: u64 = 32_768;
/// Header in each page of a Multipath TCP sender (`struct mptcp_data_frag`).
const CHUNK_HEADER_BYTES: u64 = 40;

/// Layout of received skbs, a choice per host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SkbLayout {
    buffer: ReceiveBuffer,
    /// Heads of copied segments come from `skb_small_head_cache` where they fit.
    small_head: bool,
    /// Payload in a page of the sender. A segment across a page boundary has two fragments.
    page_bytes: u64,
    /// Maximum payload of coalesced segments.
    most_bytes: u64,
}

impl SkbLayout {
    #[cfg(test)]
    pub(crate) const COPIED: Self = Self {
        buffer: ReceiveBuffer::Copied,
        small_head: false,
        page_bytes: PAGE_BYTES,
        most_bytes: u64::MAX,
    };

    pub(crate) fn of(options: &TcpOptions) -> Self {
        Self {
            buffer: options.rx_segment,
            small_head: options.skb_small_head,
            page_bytes: PAGE_BYTES,
            most_bytes: u64::MAX,
        }
    }

    /// Layout for a Multipath TCP connection, which coalesces up to an eighth of its buffer
    /// (`mptcp_try_coalesce`).
    pub(crate) fn of_connection(options: &TcpOptions, rcvbuf: u64) -> Self {
        let page_bytes = PAGE_BYTES - CHUNK_HEADER_BYTES;
        Self { page_bytes, most_bytes: rcvbuf >> 3, ..Self::of(options) }
    }

    pub(crate) fn most_bytes(self) -> u64 {
        self.most_bytes
    }

    /// Memory of an arriving segment.
    pub(crate) fn arriving_memory(self, bytes: u64) -> u64 {
        match self.buffer {
            ReceiveBuffer::Pages => HEAD_BYTES + bytes,
            ReceiveBuffer::SmallHead => SMALL_CACHE_HEAD_BYTES + bytes,
            ReceiveBuffer::Copied => SK_BUFF_BYTES + self.copied_head_bytes(bytes) + bytes,
            ReceiveBuffer::Own { bytes: own } => u64::from(own),
        }
    }

    /// Memory that limits the window growth per segment (`truesize_adjust`). For an in-order segment
    /// with payload in pages, the head does not count.
    pub(crate) fn judged_memory(self, bytes: u64, in_order: bool) -> u64 {
        match self.buffer {
            ReceiveBuffer::Pages | ReceiveBuffer::SmallHead if in_order => bytes,
            _ => self.arriving_memory(bytes),
        }
    }

    /// Size of the head into which payload is copied (`__pskb_pull_tail`). A head of its own is big
    /// enough, or the new one has 128 bytes more than needed, rounded up to cache lines, then to a
    /// power of two (`kmalloc_reserve`).
    fn copied_head_bytes(self, payload: u64) -> u64 {
        let own = if self.small_head { SMALL_CACHE_BYTES } else { SMALL_HEAD_BYTES };
        if payload + HEAD_USED_BYTES <= own {
            return own;
        }
        let data_bytes = (payload + HEAD_USED_BYTES / 2 + 128).next_multiple_of(64);
        (data_bytes + HEAD_USED_BYTES / 2).next_power_of_two()
    }
}

/// An skb with payload that waits to be read or to become in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReceivedSkb {
    /// Payload that is not read.
    pub(crate) bytes: u64,
    /// Payload that was read, which is part of the skb's length.
    read_bytes: u64,
    /// Memory (`truesize`).
    pub(crate) memory_bytes: u64,
    /// Memory without fragments (`SKB_TRUESIZE` of its head).
    head_memory_bytes: u64,
    /// True if there is payload in the head.
    in_head: bool,
    /// Free bytes behind the payload in the head (`skb_tailroom`); 0 if there are fragments.
    tail_bytes: u64,
    /// Number of fragments.
    fragments: u64,
    /// Start of its mapping in a subflow.
    mapping: u64,
}

impl ReceivedSkb {
    /// The skb of an arriving segment with payload from `seq`.
    pub(crate) fn arriving(layout: SkbLayout, seq: u64, bytes: u64) -> Self {
        let memory_bytes = layout.arriving_memory(bytes);
        let own = Self {
            bytes,
            read_bytes: 0,
            memory_bytes,
            head_memory_bytes: memory_bytes,
            in_head: true,
            tail_bytes: 0,
            fragments: 0,
            mapping: 0,
        };
        match layout.buffer {
            ReceiveBuffer::Pages | ReceiveBuffer::SmallHead => {
                let last = seq + bytes.max(1) - 1;
                let fragments = 1 + last / layout.page_bytes - seq / layout.page_bytes;
                let head_memory_bytes = memory_bytes - bytes;
                Self { in_head: false, fragments, head_memory_bytes, ..own }
            }
            ReceiveBuffer::Copied => {
                let tail_bytes = layout.copied_head_bytes(bytes) - HEAD_USED_BYTES - bytes;
                Self { tail_bytes, head_memory_bytes: memory_bytes - bytes, ..own }
            }
            ReceiveBuffer::Own { .. } => own,
        }
    }

    /// The skb with a mapping that starts there. Only skbs of one mapping are coalesced.
    pub(crate) fn of_mapping(self, start: u64) -> Self {
        Self { mapping: start, ..self }
    }

    /// The skb with its fragments, if it has any, of this number.
    pub(crate) fn in_fragments(self, count: u8) -> Self {
        let fragments = if self.fragments > 0 { count.into() } else { 0 };
        Self { fragments, ..self }
    }

    /// The skb if it has this many bytes, otherwise one for some of them, from `seq` on.
    pub(crate) fn part(self, layout: SkbLayout, seq: u64, bytes: u64) -> Self {
        if self.bytes == bytes {
            return self;
        }
        Self::arriving(layout, seq, bytes).of_mapping(self.mapping)
    }

    /// Coalesces the following skb if there is space and the result has at most `most_bytes`.
    /// Returns true on success (`skb_try_coalesce`).
    pub(crate) fn merge(&mut self, next: &Self, most_bytes: u64) -> bool {
        let bytes = self.read_bytes + self.bytes + next.bytes;
        if self.mapping != next.mapping || bytes > most_bytes {
            return false;
        }
        if next.bytes > 0 && next.bytes <= self.tail_bytes {
            self.tail_bytes -= next.bytes;
        } else if next.in_head || self.fragments + next.fragments > FRAGMENTS_MAX {
            return false; // The head of an skb is not a page (`skb_head_is_locked`).
        } else {
            self.fragments += next.fragments;
            self.tail_bytes = 0;
            self.memory_bytes += next.memory_bytes - next.head_memory_bytes;
        }
        self.bytes += next.bytes;
        true
    }

    /// Splits off the first bytes, with a head of their own.
    fn split(&mut self, bytes: u64) -> Self {
        let mut part = Self { bytes, ..*self };
        if self.fragments > 0 {
            part.fragments = (self.fragments * bytes).div_ceil(self.bytes);
            part.memory_bytes = self.head_memory_bytes + bytes;
            self.fragments -= part.fragments - 1;
            self.memory_bytes -= bytes;
        }
        self.bytes -= bytes;
        part
    }

    /// Releases the fragments of an skb that waits, if its payload is copied or fits into the free
    /// space of its head (`skb_condense`).
    pub(crate) fn condense(&mut self) {
        if self.fragments == 0 {
            self.memory_bytes = self.head_memory_bytes;
            return;
        }
        let free_bytes = self.head_memory_bytes - SK_BUFF_BYTES - HEAD_USED_BYTES;
        if !self.in_head && self.bytes <= free_bytes {
            self.memory_bytes = self.head_memory_bytes;
            self.tail_bytes = free_bytes - self.bytes;
            self.fragments = 0;
            self.in_head = true;
        }
    }
}

/// Data that waits to be read (`sk_receive_queue`).
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceiveQueue {
    /// The last skb, mostly the only one.
    last: Option<ReceivedSkb>,
    /// Skbs before the last, oldest first.
    earlier: VecDeque<ReceivedSkb>,
    memory_bytes: u64,
}

impl ReceiveQueue {
    /// Memory of all skbs.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Number of skbs.
    pub(crate) fn skbs(&self) -> u64 {
        (self.earlier.len() + usize::from(self.last.is_some())) as u64
    }

    /// Appends an skb, or coalesces it with the last one (`tcp_queue_rcv`).
    pub(crate) fn push(&mut self, skb: ReceivedSkb) {
        self.push_within(skb, u64::MAX);
    }

    /// Appends an skb, or coalesces it with the last one up to `most_bytes`
    /// (`mptcp_try_coalesce`).
    pub(crate) fn push_within(&mut self, skb: ReceivedSkb, most_bytes: u64) {
        if skb.bytes == 0 {
            return;
        }
        if let Some(last) = &mut self.last {
            let before = last.memory_bytes;
            if last.merge(&skb, most_bytes) {
                self.memory_bytes += last.memory_bytes - before;
                return;
            }
            self.earlier.push_back(*last);
        }
        self.memory_bytes += skb.memory_bytes;
        self.last = Some(skb);
    }

    /// Removes the first skb, or its first `most` bytes.
    pub(crate) fn take(&mut self, most: u64) -> Option<ReceivedSkb> {
        let only = self.earlier.is_empty();
        let first = if only { self.last.as_mut() } else { self.earlier.front_mut() }?;
        let before = first.memory_bytes;
        if first.bytes > most {
            let part = first.split(most);
            self.memory_bytes -= before - first.memory_bytes;
            return Some(part);
        }
        self.memory_bytes -= before;
        if only {
            self.last.take()
        } else {
            self.earlier.pop_front()
        }
    }

    /// Ends the last skb: later ones are not coalesced with it.
    pub(crate) fn end_last(&mut self) {
        self.earlier.extend(self.last.take());
    }

    /// Reads up to `most` bytes from the first skb and frees an empty skb. Returns `None` if there
    /// is no data or `most` is 0.
    pub(crate) fn read(&mut self, most: u64) -> Option<u64> {
        let only = self.earlier.is_empty();
        let first = if only { self.last.as_mut() } else { self.earlier.front_mut() };
        let first = first.filter(|_| most > 0)?;
        let piece = most.min(first.bytes);
        first.bytes -= piece;
        first.read_bytes += piece;
        if first.bytes == 0 {
            self.memory_bytes -= first.memory_bytes;
            if only {
                self.last = None;
            } else {
                self.earlier.pop_front();
            }
        }
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u64 = 1448;

    const COPIED: SkbLayout = SkbLayout::COPIED;
    const PAGES: SkbLayout = SkbLayout { buffer: ReceiveBuffer::Pages, ..COPIED };

    fn filled(layout: SkbLayout, segments: u64) -> ReceiveQueue {
        let mut queue = ReceiveQueue::default();
        for at in 0..segments {
            queue.push(ReceivedSkb::arriving(layout, at * FULL, FULL));
        }
        queue
    }

    #[test]
    fn pages_merge_as_linux_does() {
        // Linux 6.1, 200 segments: new skbs started with these segments, counted from 1.
        let began = [1, 18, 34, 50, 67, 83, 99, 115, 132, 148, 164, 181];
        let mut skbs = 0;
        for segments in 1..=182 {
            skbs += usize::from(began.contains(&segments));
            let queue = filled(PAGES, segments);
            assert_eq!(queue.earlier.len() + 1, skbs, "{segments}");
            assert_eq!(queue.memory_bytes(), segments * FULL + skbs as u64 * 1280);
        }
    }

    #[test]
    fn two_copied_segments_share_a_buffer() {
        // Linux 6.1: 5800 bytes for the first segment, none for the second.
        let memory = |segments| filled(COPIED, segments).memory_bytes();
        assert_eq!([1, 2, 3, 4].map(memory), [5800, 5800, 11_600, 11_600]);
        let mut early = ReceivedSkb::arriving(COPIED, 0, FULL);
        early.condense();
        assert_eq!(early.memory_bytes, 4352);
        // Shorter segments, on arrival and condensed: 1144 and 304 bytes.
        for (bytes, arrived, condensed) in [(1144, 3448, 2304), (304, 1584, 1280)] {
            let mut early = ReceivedSkb::arriving(COPIED, 0, bytes);
            assert_eq!(early.memory_bytes, arrived);
            early.condense();
            assert_eq!(early.memory_bytes, condensed);
        }
    }

    #[test]
    fn copied_segments_have_small_heads_since_6_3() {
        // Linux 6.12: 384 bytes do not fit into a small head and its 128 bytes of reserve into 1024.
        let layout = SkbLayout { small_head: true, ..COPIED };
        let head = |bytes| layout.arriving_memory(bytes) - SK_BUFF_BYTES - bytes;
        assert_eq!(
            [64, 65, 256, 257, 384, 1280, 1281].map(head),
            [704, 1024, 1024, 2048, 2048, 2048, 4096]
        );
    }

    #[test]
    fn a_short_skb_that_waits_has_its_payload_in_the_head() {
        // Linux 6.1: 96 bytes waited in 1280 bytes of memory, 384 bytes of its head are free.
        let full = ReceivedSkb::arriving(PAGES, 96, FULL);
        let mut short = ReceivedSkb::arriving(PAGES, 0, 96);
        assert_eq!(short.memory_bytes, 1376);
        short.condense();
        assert_eq!(short.memory_bytes, 1280);
        // The next skb becomes a fragment of it. It cannot become a fragment of another skb.
        assert!({ short }.merge(&full, u64::MAX) && !{ full }.merge(&short, u64::MAX));
        assert!(short.merge(&ReceivedSkb::arriving(PAGES, 96, 288), u64::MAX));
        assert_eq!((short.bytes, short.memory_bytes, short.tail_bytes), (384, 1280, 0));
        let mut long = ReceivedSkb::arriving(PAGES, 0, 385);
        long.condense();
        assert_eq!(long.memory_bytes, 1665);
        // Smaller heads have 64 bytes of space.
        let small = SkbLayout { buffer: ReceiveBuffer::SmallHead, ..PAGES };
        for (bytes, memory_bytes) in [(64, 960), (65, 1025)] {
            let mut skb = ReceivedSkb::arriving(small, 0, bytes);
            skb.condense();
            assert_eq!(skb.memory_bytes, memory_bytes);
        }
    }

    #[test]
    fn bytes_that_were_read_count_for_the_limit_of_a_connection() {
        let mut queue = ReceiveQueue::default();
        let skb = |at| ReceivedSkb::arriving(PAGES, at * FULL, FULL);
        queue.push_within(skb(0), 2 * FULL);
        queue.push_within(skb(1), 2 * FULL);
        assert_eq!((queue.skbs(), queue.read(2 * FULL - 1)), (1, Some(2 * FULL - 1)));
        queue.push_within(skb(2), 2 * FULL);
        assert_eq!(queue.skbs(), 2);
    }

    #[test]
    fn buffers_of_their_own_do_not_merge() {
        let layout = SkbLayout { buffer: ReceiveBuffer::Own { bytes: 2304 }, ..PAGES };
        assert_eq!(filled(layout, 10).memory_bytes(), 23_040);
    }

    #[test]
    fn reading_frees_a_buffer_when_it_is_empty() {
        let mut queue = filled(COPIED, 4);
        assert_eq!(queue.read(FULL), Some(FULL));
        assert_eq!(queue.memory_bytes(), 11_600);
        assert_eq!(queue.read(10 * FULL), Some(FULL));
        assert_eq!(queue.memory_bytes(), 5800);
        assert_eq!(queue.read(0), None);
        assert_eq!(queue.read(10 * FULL), Some(2 * FULL));
        assert_eq!((queue.memory_bytes(), queue.read(1)), (0, None));
    }
}
