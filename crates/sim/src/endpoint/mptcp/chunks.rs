//! Chunks of a connection's send buffer (`struct mptcp_data_frag`). A chunk is contiguous data in a
//! page that the application's writes share (`sk_page_frag`).

use std::collections::VecDeque;

/// Size of a page (SKB_FRAG_PAGE_ORDER).
const PAGE_BYTES: u64 = 32_768;
/// Header of a chunk, which precedes its data in the page.
const HEADER_BYTES: u64 = 40;
/// Data bytes for which a page must have space besides the header (`mptcp_page_frag_refill`).
const LEAST_BYTES: u64 = 32;

#[derive(Clone, Copy, Debug)]
struct Chunk {
    /// End of its data in the connection's stream.
    end: u64,
    /// Bytes of its header and of the alignment before it.
    overhead: u64,
}

/// Chunks that are not acknowledged, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Chunks {
    chunks: VecDeque<Chunk>,
    /// First free byte of the newest chunk's page.
    page_offset: u64,
    /// Overhead of all chunks, bytes.
    overhead: u64,
}

impl Chunks {
    /// Space behind the last chunk, if it has data beyond `next` (`mptcp_frag_can_collapse_to`).
    pub(super) fn tail_space(&self, next: u64) -> u64 {
        match self.chunks.back() {
            Some(last) if last.end > next => PAGE_BYTES - self.page_offset,
            _ => 0,
        }
    }

    /// Begins a chunk at `written`, in a new page if the old one has no space or no chunk
    /// (`skb_page_frag_refill`). Returns its space (`mptcp_carve_data_frag`).
    pub(super) fn carve(&mut self, written: u64) -> u64 {
        if self.chunks.is_empty() || self.page_offset + HEADER_BYTES + LEAST_BYTES > PAGE_BYTES {
            self.page_offset = 0;
        }
        let overhead = self.page_offset.next_multiple_of(8) - self.page_offset + HEADER_BYTES;
        self.page_offset += overhead;
        self.overhead += overhead;
        self.chunks.push_back(Chunk { end: written, overhead });
        PAGE_BYTES - self.page_offset
    }

    /// Appends bytes to the last chunk.
    pub(super) fn append(&mut self, bytes: u64) {
        if let Some(last) = self.chunks.back_mut() {
            last.end += bytes;
            self.page_offset += bytes;
        }
    }

    /// Frees the chunks that end at or before `una`.
    pub(super) fn free_below(&mut self, una: u64) {
        while let Some(first) = self.chunks.front().filter(|first| first.end <= una) {
            self.overhead -= first.overhead;
            self.chunks.pop_front();
        }
    }

    /// Overhead of all chunks, bytes.
    pub(super) fn overhead_bytes(&self) -> u64 {
        self.overhead
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// End of the oldest chunk.
    pub(super) fn first_end(&self) -> Option<u64> {
        self.chunks.front().map(|first| first.end)
    }

    /// End of the chunk with the byte `at`.
    pub(super) fn end_of(&self, at: u64) -> Option<u64> {
        self.chunks.get(self.chunks.partition_point(|chunk| chunk.end <= at)).map(|chunk| chunk.end)
    }

    /// Returns true if a chunk ends at `at`.
    pub(super) fn ends_at(&self, at: u64) -> bool {
        let first = self.chunks.partition_point(|chunk| chunk.end < at);
        self.chunks.get(first).is_some_and(|chunk| chunk.end == at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_share_a_page() {
        let mut chunks = Chunks::default();
        assert_eq!(chunks.carve(0), 32_728);
        chunks.append(81);
        // Its data is unsent: it grows.
        assert_eq!(chunks.tail_space(0), 32_728 - 81);
        // Its data was sent: a chunk begins behind it, at a multiple of 8.
        assert_eq!(chunks.tail_space(81), 0);
        assert_eq!(chunks.carve(81), 32_768 - 168);
        assert_eq!(chunks.overhead_bytes(), 40 + 47);
        chunks.append(32_600 - 71);
        // 71 bytes are left, one too few.
        assert_eq!(chunks.carve(32_610), 32_728);
        assert_eq!((chunks.end_of(80), chunks.end_of(81)), (Some(81), Some(32_610)));
        assert!(chunks.ends_at(81) && !chunks.ends_at(82));
        chunks.append(1);
        chunks.free_below(32_611);
        assert!(chunks.is_empty() && chunks.overhead_bytes() == 0);
    }
}
