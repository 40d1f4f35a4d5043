//! Retransmission queue: segments sent and not yet cumulatively acknowledged (Linux's
//! `tcp_rtx_queue`), in order of sequence number. A linked list gives the order of sending for RACK
//! (`tsorted_sent_queue`).

/// Number of a segment, from 0 for the first one sent.
pub(crate) type SegmentId = u64;

/// No neighbour.
const NONE: u32 = u32::MAX;
/// Bits of an id that a neighbour keeps: the queue never holds that many segments.
const ID_BITS: u32 = 31;
/// Delivery state that gave a rate sample already.
pub(crate) const USED: u32 = u32::MAX;

/// A sent segment (`struct tcp_skb_cb`): one cache line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) seq: u64,
    pub(crate) payload_bytes: u32,
    pub(crate) fin: bool,
    /// True with PSH, at the end of a write.
    pub(crate) push: bool,
    /// True if the segment is in the same skb as the previous one.
    pub(crate) continues_skb: bool,
    /// SACKed (`TCPCB_SACKED_ACKED`).
    pub(crate) sacked: bool,
    /// Marked lost (`TCPCB_LOST`).
    pub(crate) lost: bool,
    /// Retransmitted and not yet known lost again (`TCPCB_SACKED_RETRANS`).
    pub(crate) retransmitted: bool,
    /// Ever retransmitted (`TCPCB_EVER_RETRANS`).
    pub(crate) ever_retransmitted: bool,
    /// `snd_nxt` at the last retransmission (`ack_seq`): data above it was sent later.
    pub(crate) snd_nxt_at_retransmit: u64,
    /// True if sent while application-limited.
    pub(crate) app_limited: bool,
    /// Time of the last delivery until transmission, µs modulo 2^32; [`USED`] after use in a rate
    /// sample.
    pub(crate) delivered_us: u32,
    /// Packets in flight after transmission, at most 2^16 − 1.
    pub(crate) tx_in_flight: u16,
    /// Packets marked lost until transmission, modulo 2^16.
    pub(crate) lost_before: u16,
    /// Packets delivered until then, modulo 2^32.
    pub(crate) delivered: u32,
    /// Time from the transmission of the packet delivered last until then, at most 2^32 − 1 µs.
    pub(crate) send_phase_us: u32,
    /// Time of the last transmission, ns (`skb_mstamp_ns`).
    pub(crate) sent_ns: u64,
    /// Overhead memory in the send buffer.
    pub(crate) overhead_bytes: u16,
    /// Neighbours in the order of sending: the low bits of their ids ([`near`]), or [`NONE`].
    previous: u32,
    next: u32,
    listed: bool,
}

impl Sent {
    pub(crate) fn new(seq: u64, payload_bytes: u32, fin: bool) -> Self {
        Self {
            seq,
            payload_bytes,
            fin,
            push: false,
            continues_skb: false,
            sacked: false,
            lost: false,
            retransmitted: false,
            ever_retransmitted: false,
            snd_nxt_at_retransmit: 0,
            app_limited: false,
            delivered_us: USED,
            tx_in_flight: 0,
            lost_before: 0,
            delivered: 0,
            send_phase_us: 0,
            sent_ns: 0,
            overhead_bytes: 0,
            previous: NONE,
            next: NONE,
            listed: false,
        }
    }

    /// End sequence number; a FIN counts as one.
    pub(crate) fn end(&self) -> u64 {
        self.seq + u64::from(self.payload_bytes) + u64::from(self.fin)
    }

    pub(crate) fn sent_us(&self) -> u64 {
        self.sent_ns / 1000
    }
}

/// Low bits of an id.
fn near(id: SegmentId) -> u32 {
    (id & ((1 << ID_BITS) - 1)) as u32
}

/// Id of a neighbour in a queue that begins at `base`; `None` for [`NONE`].
fn far(base: SegmentId, neighbour: u32) -> Option<SegmentId> {
    let above = neighbour.wrapping_sub(near(base)) & ((1 << ID_BITS) - 1);
    (neighbour != NONE).then_some(base + u64::from(above))
}

/// Fewer places keep their memory.
const PLACES_KEPT: usize = 64;
/// Half of the memory is given back when less than this part of the places is in use. The queue is
/// long at the end of slow start.
const IN_USE: usize = 4;

/// Retransmission queue. Ids are consecutive; the front is the oldest unacknowledged segment.
#[derive(Default)]
pub(crate) struct RtxQueue {
    /// A segment's place is its id modulo the number of places, a power of two.
    places: Vec<Sent>,
    /// Id of the front.
    base: SegmentId,
    /// Id of the next new segment.
    end: SegmentId,
    /// Ends of the list in order of sending.
    oldest: Option<SegmentId>,
    newest: Option<SegmentId>,
}

impl RtxQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.base == self.end
    }

    pub(crate) fn len(&self) -> usize {
        (self.end - self.base) as usize
    }

    /// Returns true with at most one skb (`tcp_rtx_queue_empty_or_single_skb`).
    pub(crate) fn is_empty_or_single_skb(&self) -> bool {
        (self.base..self.end).skip(1).all(|id| self.get(id).continues_skb)
    }

    /// Id after the last segment of the skb with `id`.
    pub(crate) fn skb_end(&self, id: SegmentId) -> SegmentId {
        (id + 1..self.end).find(|&next| !self.get(next).continues_skb).unwrap_or(self.end)
    }

    /// Id of the front, or of the next segment if the queue is empty.
    pub(crate) fn front_id(&self) -> SegmentId {
        self.base
    }

    /// Id of the next new segment.
    pub(crate) fn end_id(&self) -> SegmentId {
        self.end
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&Sent> {
        if self.is_empty() {
            None
        } else {
            Some(self.get(self.base))
        }
    }

    #[inline]
    fn place(&self, id: SegmentId) -> usize {
        id as usize & self.places.len().wrapping_sub(1)
    }

    #[inline]
    pub(crate) fn get(&self, id: SegmentId) -> &Sent {
        debug_assert!((self.base..self.end).contains(&id));
        &self.places[self.place(id)]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: SegmentId) -> &mut Sent {
        debug_assert!((self.base..self.end).contains(&id));
        let place = self.place(id);
        &mut self.places[place]
    }

    /// Changes the number of places.
    #[cold]
    fn resize(&mut self, places: usize) {
        let held: Vec<Sent> = (self.base..self.end).map(|id| *self.get(id)).collect();
        self.places = vec![Sent::new(0, 0, false); places];
        for (id, segment) in (self.base..).zip(held) {
            *self.get_mut(id) = segment;
        }
    }

    /// Removes the marks of loss.
    pub(crate) fn unmark_lost(&mut self) {
        for id in self.base..self.end {
            self.get_mut(id).lost = false;
        }
    }

    /// Replaces a segment, but keeps its position in the order of sending.
    pub(crate) fn replace(&mut self, id: SegmentId, new: Sent) {
        let old = self.get_mut(id);
        let (previous, next, listed) = (old.previous, old.next, old.listed);
        *old = Sent { previous, next, listed, ..new };
    }

    /// Appends a new segment, the newest in the order of sending. Returns its id.
    pub(crate) fn push(&mut self, segment: Sent) -> SegmentId {
        if self.len() == self.places.len() {
            self.resize((2 * self.places.len()).max(4));
        }
        let id = self.end;
        self.end += 1;
        let previous = match self.newest {
            Some(newest) => {
                self.get_mut(newest).next = near(id);
                near(newest)
            }
            None => {
                self.oldest = Some(id);
                NONE
            }
        };
        self.newest = Some(id);
        *self.get_mut(id) = Sent { previous, next: NONE, listed: true, ..segment };
        id
    }

    /// Removes the front.
    pub(crate) fn pop(&mut self) {
        let Some(front) = self.front() else { return };
        if front.listed && front.previous == NONE {
            // The oldest in the order of sending, as nearly always.
            let behind = far(self.base, front.next);
            self.oldest = behind;
            match behind {
                Some(behind) => self.get_mut(behind).previous = NONE,
                None => self.newest = None,
            }
        } else {
            self.unlist(self.base);
        }
        self.base += 1;
        if self.places.len() > PLACES_KEPT && self.len() < self.places.len() / IN_USE {
            self.resize(self.places.len() / 2);
        }
    }

    /// Merges the next segment into this one. Ids of later segments decrease by one.
    pub(crate) fn absorb_next(&mut self, id: SegmentId) {
        let gone = id + 1;
        self.unlist(gone);
        let next = *self.get(gone);
        for later in gone + 1..self.end {
            *self.get_mut(later - 1) = *self.get(later);
        }
        self.end -= 1;
        let kept = self.get_mut(id);
        kept.payload_bytes += next.payload_bytes;
        kept.fin |= next.fin;
        kept.push |= next.push;
        kept.ever_retransmitted |= next.ever_retransmitted;
        let moved = |at: SegmentId| if at > gone { at - 1 } else { at };
        let base = self.base;
        for held in base..self.end {
            let segment = self.get_mut(held);
            for neighbour in [&mut segment.previous, &mut segment.next] {
                if let Some(at) = far(base, *neighbour) {
                    *neighbour = near(moved(at));
                }
            }
        }
        (self.oldest, self.newest) = (self.oldest.map(moved), self.newest.map(moved));
    }

    /// First segment that ends after `seq`, or the end (`tcp_sacktag_bsearch`).
    pub(crate) fn find(&self, seq: u64) -> SegmentId {
        // Fast path: almost all segments have equal size.
        let Some(front) = self.front() else { return self.base };
        if seq < front.end() {
            return self.base;
        }
        let size = u64::from(front.payload_bytes).max(1);
        let guess = self.base + (seq - front.seq) / size;
        if guess < self.end {
            let segment = self.get(guess);
            if segment.seq <= seq && seq < segment.end() {
                return guess;
            }
        }
        let (mut low, mut high) = (self.base, self.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).end() <= seq {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Makes a segment the newest in the order of sending.
    pub(crate) fn list_newest(&mut self, id: SegmentId) {
        self.unlist(id);
        let newest = self.newest;
        let segment = self.get_mut(id);
        segment.listed = true;
        segment.previous = newest.map_or(NONE, near);
        segment.next = NONE;
        match newest {
            Some(newest) => self.get_mut(newest).next = near(id),
            None => self.oldest = Some(id),
        }
        self.newest = Some(id);
    }

    /// Removes a segment from the order of sending.
    pub(crate) fn unlist(&mut self, id: SegmentId) {
        let segment = self.get_mut(id);
        if !segment.listed {
            return;
        }
        segment.listed = false;
        let (previous, next) = (segment.previous, segment.next);
        let [before, behind] = [previous, next].map(|neighbour| far(self.base, neighbour));
        match before {
            Some(before) => self.get_mut(before).next = next,
            None => self.oldest = behind,
        }
        match behind {
            Some(behind) => self.get_mut(behind).previous = previous,
            None => self.newest = before,
        }
    }

    /// Oldest segment in the order of sending.
    pub(crate) fn oldest(&self) -> Option<SegmentId> {
        self.oldest
    }

    /// Next segment in the order of sending.
    pub(crate) fn younger(&self, id: SegmentId) -> Option<SegmentId> {
        far(self.base, self.get(id).next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(queue: &RtxQueue) -> Vec<SegmentId> {
        let mut ids = Vec::new();
        let mut at = queue.oldest();
        while let Some(id) = at {
            ids.push(id);
            at = queue.younger(id);
        }
        ids
    }

    #[test]
    fn a_sent_segment_is_one_cache_line() {
        assert_eq!(size_of::<Sent>(), 64);
    }

    proptest! {
        #[test]
        fn the_list_of_sending_is_a_permutation_and_find_is_exact(
            operations in prop::collection::vec((0u8..5, 0u64..64, 1u32..3000), 1..200)
        ) {
            let mut queue = RtxQueue::default();
            let mut model: Vec<SegmentId> = Vec::new();
            let mut seq = 0;
            for (operation, pick, size) in operations {
                match operation {
                    0 | 1 => {
                        let size = if operation == 0 { 1448 } else { size };
                        let id = queue.push(Sent::new(seq, size, false));
                        seq += u64::from(size);
                        model.push(id);
                    }
                    2 if !queue.is_empty() => {
                        let id = queue.front_id() + pick % queue.len() as u64;
                        queue.list_newest(id);
                        model.retain(|&m| m != id);
                        model.push(id);
                    }
                    3 if !queue.is_empty() => {
                        let id = queue.front_id();
                        queue.pop();
                        model.retain(|&m| m != id);
                    }
                    4 if queue.len() > 1 => {
                        let id = queue.front_id() + pick % (queue.len() as u64 - 1);
                        let end = queue.get(id + 1).end();
                        queue.absorb_next(id);
                        prop_assert_eq!(queue.get(id).end(), end);
                        model.retain(|&m| m != id + 1);
                        model.iter_mut().for_each(|m| *m -= u64::from(*m > id));
                    }
                    _ => {}
                }
                prop_assert_eq!(list(&queue), model.clone());
                if let Some(front) = queue.front() {
                    let seq = front.seq + pick * 997;
                    let found = queue.find(seq);
                    let slow = (queue.front_id()..queue.end_id())
                        .find(|&id| queue.get(id).end() > seq)
                        .unwrap_or(queue.end_id());
                    prop_assert_eq!(found, slow);
                }
            }
        }
    }
}
