//! Retransmission (Linux's tcp_output.c): one segment, or all lost ones as far as the window allows;
//! skbs of the retransmission queue that are split, joined and collapsed.

use super::rtx_queue::SegmentId;
use super::sender::{Retransmission, Sender};
use super::xmit_timer::Pending;
use dumbbell_cc::CaState;

impl Sender {
    /// Retransmits a segment. Returns false if the receive window forbids it, or if the host's fq still
    /// holds it (`__tcp_retransmit_skb`).
    pub(crate) fn retransmit_raw(
        &mut self,
        id: SegmentId,
        why: Retransmission,
        same_skb: bool,
    ) -> bool {
        let segment = self.queue.get(id);
        // TCP goes on when fq has sent it (`skb_still_in_host_queue`).
        if self.pacer.has_data(segment.seq, segment.end()) {
            self.host_queue.throttle(self.now);
            return false;
        }
        if segment.seq >= self.snd_una + self.snd_wnd && segment.seq != self.snd_una {
            return false;
        }
        if !same_skb {
            self.fit_option_on_demand();
            while self.collapses(id) {
                self.collapse(id);
            }
            self.split_before(id);
            self.begin_skb(self.queue.get(id).payload_bytes);
        }
        let mut segment = *self.queue.get(id);
        self.counters.retransmitted += 1;
        match why {
            Retransmission::Fast => self.counters.fast += 1,
            Retransmission::Timeout => self.counters.timeout += 1,
            Retransmission::Probe => self.counters.probe += 1,
        }
        self.stamp(u64::from(segment.payload_bytes), 1, same_skb);
        segment.sent_ns = self.pacer.departs_ns();
        let in_flight = self.in_flight() + 1;
        self.rate_segment_sent(&mut segment, in_flight);
        segment.ever_retransmitted = true;
        self.queue.replace(id, segment);
        self.queue.list_newest(id);
        self.emit(&segment, why.cause());
        if !same_skb {
            self.note_skb();
        }
        true
    }

    /// Returns true if a retransmitted segment absorbs the next one: both are separate skbs and fit
    /// into one segment (`tcp_retrans_try_collapse`). A FIN without data thus joins the data before
    /// it.
    fn collapses(&self, id: SegmentId) -> bool {
        let [next_id, after_id] = [id + 1, id + 2];
        // Different mappings stay separate (`mptcp_skb_can_collapse`).
        if next_id >= self.queue.end_id() || self.subflow.is_some() {
            return false;
        }
        let (segment, next) = (self.queue.get(id), self.queue.get(next_id));
        let alone = after_id >= self.queue.end_id() || !self.queue.get(after_id).continues_skb;
        let window_end = self.snd_una + self.snd_wnd;
        let most = window_end.saturating_sub(segment.seq).min(u64::from(self.mss)) as u32;
        !(next.continues_skb || segment.sacked || next.sacked)
            && alone
            && segment.payload_bytes < most
            && segment.payload_bytes + next.payload_bytes <= most
            && next.end() <= window_end
    }

    /// `tcp_collapse_retrans`.
    fn collapse(&mut self, id: SegmentId) {
        let gone = *self.queue.get(id + 1);
        self.queue.absorb_next(id);
        self.buffer.sent_skbs -= 1;
        self.scoreboard.packets_out -= 1; // tcp_adjust_pcount
        self.scoreboard.retrans_out -= u32::from(gone.retransmitted);
        self.scoreboard.lost_out -= u32::from(gone.lost);
        if !self.options.tcp_sack {
            self.scoreboard.sacked_out = self.scoreboard.sacked_out.saturating_sub(1);
        }
        self.scoreboard.lost_hint = None;
        self.scoreboard.retransmit_hint =
            self.scoreboard.retransmit_hint.map(|hint| hint - u64::from(hint > id));
    }

    /// Begins an skb with this segment, where it was in one with the segment before
    /// (`tcp_fragment`).
    pub(crate) fn split_before(&mut self, id: SegmentId) {
        if id >= self.queue.end_id() {
            return;
        }
        let continued = core::mem::take(&mut self.queue.get_mut(id).continues_skb);
        // The rest of an skb whose first segments are acknowledged is one already (`tcp_trim_head`).
        if continued && id != self.queue.front_id() {
            self.buffer.sent_skbs += 1;
        }
    }

    /// Moves a SACKed segment to the SACKed skb before it, and then the SACKed skb behind, too, if
    /// they have segments of one size (`tcp_shift_skb_data`). Without one before, it becomes an skb
    /// of its own (`tcp_match_skb_to_sack`). `closes_skb`: the last segment of an skb that one block
    /// contains as a whole, which moves with the others even if it is shorter.
    pub(super) fn shift_sacked(&mut self, id: SegmentId, stays: bool, closes_skb: bool) {
        let (front, end) = (self.queue.front_id(), self.queue.end_id());
        let bytes = if closes_skb { self.seglen(id - 1) } else { self.queue.get(id).payload_bytes };
        self.split_before(id + 1);
        let fits = !stays
            && id != front
            && self.queue.get(id - 1).sacked
            && self.seglen(id - 1) == bytes
            && !self.begins_mapping(self.queue.get(id).seq);
        if !fits {
            return self.split_before(id);
        }
        self.join_before(id);
        if id + 1 < end {
            let next = self.queue.get(id + 1);
            if next.sacked && next.payload_bytes == bytes && !self.begins_mapping(next.seq) {
                self.join_before(id + 1);
            }
        }
    }

    /// Payload of an skb from this segment on.
    fn skb_bytes(&self, id: SegmentId) -> u64 {
        let payload = |id| u64::from(self.queue.get(id).payload_bytes);
        let rest = (id + 1..self.queue.end_id()).take_while(|&id| self.queue.get(id).continues_skb);
        payload(id) + rest.map(payload).sum::<u64>()
    }

    /// Size of the segments of the skb that ends with this one (`tcp_skb_seglen`).
    fn seglen(&self, mut id: SegmentId) -> u32 {
        let front = self.queue.front_id();
        loop {
            let segment = self.queue.get(id);
            let bytes = segment.payload_bytes;
            if id == front
                || !segment.continues_skb
                || self.queue.get(id - 1).payload_bytes <= bytes
            {
                return bytes;
            }
            id -= 1;
        }
    }

    fn join_before(&mut self, id: SegmentId) {
        let segment = self.queue.get_mut(id);
        if !core::mem::replace(&mut segment.continues_skb, true) {
            self.buffer.sent_skbs -= 1;
        }
    }

    /// `tcp_retransmit_skb`.
    pub(crate) fn retransmit(
        &mut self,
        id: SegmentId,
        why: Retransmission,
        same_skb: bool,
    ) -> bool {
        let sent = self.retransmit_raw(id, why, same_skb);
        let snd_nxt = self.snd_nxt;
        let segment = self.queue.get_mut(id);
        if sent {
            segment.retransmitted = true;
            segment.snd_nxt_at_retransmit = snd_nxt;
            self.scoreboard.retrans_out += 1;
        }
        let stamp_ms = (segment.sent_ns / 1_000_000) as u32;
        self.recovery.retrans_stamp_ms.get_or_insert(stamp_ms);
        self.recovery.undo_retrans = self.recovery.undo_retrans.max(0) + 1;
        sent
    }

    /// Retransmits lost segments as far as the window allows (`tcp_xmit_retransmit_queue`).
    pub(crate) fn xmit_retransmit_queue(&mut self) {
        if self.scoreboard.packets_out == 0 {
            return;
        }
        let head = self.queue.front_id();
        let mut id = self.scoreboard.retransmit_hint.unwrap_or(head);
        let mut hole_seen = false;
        let mut rearm = false;
        let why = if self.congestion.state == CaState::Loss {
            Retransmission::Timeout
        } else {
            Retransmission::Fast
        };
        let most = self.burst_segments();
        let mut skb_segments = 0;
        while id < self.queue.end_id() {
            // Consecutive segments of one skb are retransmitted as one skb.
            let same_skb = (1..most).contains(&skb_segments) && self.queue.get(id).continues_skb;
            if !same_skb {
                self.end_skb(id, std::mem::take(&mut skb_segments));
                if self.pacing_blocked() {
                    break;
                }
            }
            if !hole_seen {
                self.scoreboard.retransmit_hint = Some(id);
            }
            if self.window.cwnd <= self.in_flight()
                || self.scoreboard.retrans_out >= self.scoreboard.lost_out
            {
                break;
            }
            let segment = *self.queue.get(id);
            if !segment.lost || segment.sacked || segment.retransmitted {
                hole_seen |= !segment.lost && !segment.retransmitted && !segment.sacked;
                self.end_skb(id, std::mem::take(&mut skb_segments));
            } else {
                // Asked once for each skb, by its whole size (`tcp_small_queue_check`).
                let blocked = !same_skb && self.small_queue_blocked(self.skb_bytes(id), 1);
                if blocked || !self.retransmit(id, why, same_skb) {
                    break;
                }
                skb_segments += 1;
                if self.in_cwnd_reduction() {
                    self.congestion.prr_out += 1;
                }
                if id == head && self.xmit_timer.pending != Pending::Reordering {
                    rearm = true;
                }
            }
            id += 1;
        }
        self.end_skb(id, skb_segments);
        if self.options.forward_retransmit && self.options.tcp_sack {
            self.forward_retransmit();
        }
        if rearm {
            let rto = self.rto_jiffies();
            self.reset_xmit_timer(Pending::Retransmit, rto);
        }
    }
}
