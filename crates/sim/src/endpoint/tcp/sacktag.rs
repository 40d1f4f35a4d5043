//! SACK scoreboard (RFC 2018, RFC 2883; Linux's `tcp_sacktag_write_queue`).

use super::rate::Building;
use super::rtx_queue::{SegmentId, USED};
use super::sender::Sender;
use dumbbell_cc::{CaState, LostSkb};
use dumbbell_packet::{SackBlock, Segment};

/// Events of one ACK (Linux's FLAG_* bits).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckFlags {
    pub(crate) data: bool,
    pub(crate) window_update: bool,
    pub(crate) data_acked: bool,
    pub(crate) retransmitted_data_acked: bool,
    pub(crate) data_sacked: bool,
    pub(crate) lost_retransmission: bool,
    pub(crate) orig_sack_acked: bool,
    pub(crate) snd_una_advanced: bool,
    pub(crate) dsacking: bool,
    pub(crate) dsack_tlp: bool,
    pub(crate) set_timer: bool,
    pub(crate) sack_renege: bool,
    pub(crate) maybe_delayed: bool,
    /// True if the ACK echoes a mark (RFC 3168).
    pub(crate) ece: bool,
}

impl AckFlags {
    /// Returns FLAG_NOT_DUP: data, a window update, or data acknowledged.
    pub(crate) fn not_dup(&self) -> bool {
        self.data || self.window_update || self.data_acked
    }
    /// Returns FLAG_CA_ALERT.
    pub(crate) fn alert(&self) -> bool {
        self.data_sacked || self.dsacking || self.ece
    }
    /// Returns FLAG_FORWARD_PROGRESS.
    pub(crate) fn forward_progress(&self) -> bool {
        self.data_acked || self.data_sacked
    }
}

/// State of SACK tagging during one ACK (`struct tcp_sacktag_state`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tagging {
    /// Lowest reordered sequence number.
    reord: Option<u64>,
    /// True for the last of several segments of an skb that the block contains as a whole.
    closes_skb: bool,
    /// Send times of the first and last never-retransmitted SACKed segment.
    pub(crate) first_sacked_us: Option<u64>,
    pub(crate) last_sacked_us: u64,
    pub(crate) sack_delivered: u32,
    /// Newly SACKed payload bytes.
    pub(crate) sacked_bytes: u32,
    pub(crate) building: Building,
}

impl Sender {
    /// End of the highest SACKed byte (`tcp_highest_sack_seq`).
    pub(crate) fn highest_sack_seq(&self) -> u64 {
        if self.scoreboard.sacked_out == 0 {
            return self.snd_una;
        }
        self.scoreboard.highest_sack.max(self.snd_una)
    }

    /// Applies the SACK blocks of an ACK.
    pub(crate) fn sacktag(
        &mut self,
        ack: &Segment,
        prior_una: u64,
        flags: &mut AckFlags,
        tagging: &mut Tagging,
    ) {
        if self.scoreboard.sacked_out == 0 {
            self.scoreboard.highest_sack = self.snd_una;
        }
        let blocks = ack.sack_blocks();
        let dsack = self.check_dsack(ack.ack, blocks, prior_una, flags, tagging);
        if ack.ack < prior_una.saturating_sub(self.max_window) || self.scoreboard.packets_out == 0 {
            return;
        }
        // Valid blocks in order of sequence numbers. The first block of the ACK may be a DSACK.
        let mut used: [(SackBlock, bool); 4] = Default::default();
        let mut count = 0;
        for (i, block) in blocks.iter().enumerate() {
            let is_dsack = i == 0 && dsack;
            if self.block_valid(is_dsack, *block) && block.end > prior_una {
                used[count] = (*block, is_dsack);
                count += 1;
            }
        }
        let used = &mut used[..count];
        used.sort_by_key(|(block, _)| block.start);
        if self.scoreboard.sacked_out == 0 {
            self.scoreboard.sack_cache.clear();
        }
        for &(block, is_dsack) in used.iter() {
            if is_dsack {
                self.tag_range(block.start, block.end, true, flags, tagging);
            } else {
                self.tag_uncached(block, flags, tagging);
            }
        }
        self.scoreboard.sack_cache.clear();
        self.scoreboard.sack_cache.extend(used.iter().map(|(block, _)| *block));
        if self.congestion.state != CaState::Loss || self.recovery.undo_marker.is_some() {
            if let Some(low) = tagging.reord {
                self.check_sack_reordering(low);
            }
        }
    }

    /// Tags the parts of a block that the previous ACK did not contain.
    fn tag_uncached(&mut self, block: SackBlock, flags: &mut AckFlags, tagging: &mut Tagging) {
        let mut start = block.start;
        for i in 0..self.scoreboard.sack_cache.len() {
            let cached = self.scoreboard.sack_cache[i];
            if cached.end <= start || cached.start >= block.end {
                continue;
            }
            if start < cached.start {
                self.tag_range(start, cached.start, false, flags, tagging);
            }
            start = start.max(cached.end);
        }
        if start < block.end {
            self.tag_range(start, block.end, false, flags, tagging);
        }
    }

    /// Tags all segments within `start..end` (`tcp_sacktag_walk`).
    fn tag_range(
        &mut self,
        start: u64,
        end: u64,
        dsack: bool,
        flags: &mut AckFlags,
        tagging: &mut Tagging,
    ) {
        let mut id = self.queue.find(start);
        let mut skb_end = id;
        while id < self.queue.end_id() {
            let segment = self.queue.get(id);
            if segment.seq >= end {
                break;
            }
            if segment.seq >= start && segment.end() <= end {
                let begins_skb = id >= skb_end;
                if begins_skb {
                    skb_end = self.queue.skb_end(id);
                }
                tagging.closes_skb = !begins_skb && id + 1 == skb_end;
                self.tag_one(id, dsack, flags, tagging);
            }
            id += 1;
        }
    }

    /// `tcp_sacktag_one`.
    fn tag_one(&mut self, id: SegmentId, dsack: bool, flags: &mut AckFlags, tagging: &mut Tagging) {
        let segment = *self.queue.get(id);
        let (start, end) = (segment.seq, segment.end());
        if dsack && segment.ever_retransmitted {
            if self.recovery.undo_marker.is_some_and(|marker| end > marker)
                && self.recovery.undo_retrans > 0
            {
                self.recovery.undo_retrans -= 1;
            }
            if segment.sacked && tagging.reord.is_none_or(|reord| start < reord) {
                tagging.reord = Some(start);
            }
        }
        if end <= self.snd_una {
            return;
        }
        if !segment.sacked {
            self.rack_advance(segment.ever_retransmitted, end, segment.sent_us());
            let mut lost = segment.lost;
            let mut retransmitted = segment.retransmitted;
            if retransmitted {
                // Not marked lost again: the retransmission counts as still in flight.
                if lost {
                    lost = false;
                    retransmitted = false;
                    self.scoreboard.lost_out -= 1;
                    self.scoreboard.retrans_out -= 1;
                }
            } else {
                if !segment.ever_retransmitted {
                    // A never-retransmitted hole is filled: reordering.
                    if start < self.highest_sack_seq()
                        && tagging.reord.is_none_or(|reord| start < reord)
                    {
                        tagging.reord = Some(start);
                    }
                    if end <= self.recovery.high_seq {
                        flags.orig_sack_acked = true;
                    }
                    tagging.first_sacked_us.get_or_insert(segment.sent_us());
                    tagging.last_sacked_us = segment.sent_us();
                }
                if lost {
                    lost = false;
                    self.scoreboard.lost_out -= 1;
                }
            }
            let tagged = self.queue.get_mut(id);
            tagged.lost = lost;
            tagged.retransmitted = retransmitted;
            tagged.sacked = true;
            let resent = segment.retransmitted && !segment.lost;
            self.shift_sacked(id, resent, tagging.closes_skb);
            flags.data_sacked = true;
            self.scoreboard.sacked_out += 1;
            tagging.sack_delivered += 1;
            tagging.sacked_bytes += segment.payload_bytes;
            if let Some((hint, count)) = &mut self.scoreboard.lost_hint {
                if id < *hint {
                    *count += 1;
                }
            }
        }
        if dsack && self.queue.get(id).retransmitted {
            self.queue.get_mut(id).retransmitted = false;
            self.scoreboard.retrans_out -= 1;
        }
        self.rate_segment_delivered(id, &mut tagging.building);
        if self.queue.get(id).sacked {
            self.queue.unlist(id);
        }
        self.scoreboard.highest_sack = self.scoreboard.highest_sack.max(end);
    }

    /// Returns true if the first block is a DSACK (RFC 2883 §4; `tcp_check_dsack`,
    /// `tcp_dsack_seen`).
    fn check_dsack(
        &mut self,
        ack: u64,
        blocks: &[SackBlock],
        prior_una: u64,
        flags: &mut AckFlags,
        tagging: &mut Tagging,
    ) -> bool {
        let Some(&first) = blocks.first() else { return false };
        let below = first.start < ack;
        let inside = blocks.get(1).is_some_and(|b| first.start >= b.start && first.end <= b.end);
        if !below && !inside {
            return false;
        }
        let length = first.end.saturating_sub(first.start);
        if length == 0 || length > self.max_window {
            return false;
        }
        let segments = if length > u64::from(self.mss) {
            length.div_ceil(u64::from(self.mss))
        } else {
            if self.recovery.tlp_high_seq == Some(first.end) {
                flags.dsack_tlp = true;
            }
            1
        };
        self.scoreboard.dsack_dups += segments;
        if self.scoreboard.dsack_dups > self.counters.retransmitted {
            return false;
        }
        if self.scoreboard.reord_seen > 0 && !flags.dsack_tlp {
            self.rack.dsack_seen = true;
        }
        flags.dsacking = true;
        tagging.sack_delivered += segments as u32;
        if let Some(marker) = self.recovery.undo_marker {
            if self.recovery.undo_retrans > 0 && first.end <= prior_una && first.end > marker {
                self.recovery.undo_retrans = (self.recovery.undo_retrans - segments as i64).max(0);
            }
        }
        true
    }

    /// `tcp_is_sackblock_valid`.
    fn block_valid(&self, is_dsack: bool, block: SackBlock) -> bool {
        if block.end > self.snd_nxt || block.start >= block.end {
            return false;
        }
        if block.start > self.snd_una {
            return true;
        }
        let Some(marker) = self.recovery.undo_marker.filter(|_| is_dsack) else { return false };
        if block.end > self.snd_una {
            return false;
        }
        block.start >= marker
            || (block.end > marker && block.start >= block.end.saturating_sub(self.max_window))
    }

    /// Processes the arrival of a segment below the highest SACK without retransmission: the
    /// reordering degree is at least the distance (`tcp_check_sack_reordering`).
    pub(crate) fn check_sack_reordering(&mut self, low_seq: u64) {
        let fack = self.highest_sack_seq();
        if low_seq >= fack {
            return;
        }
        let metric = fack - low_seq;
        let mss = u64::from(self.mss_cache());
        if metric > u64::from(self.scoreboard.reordering) * mss {
            self.disable_fack();
            self.scoreboard.reordering =
                (metric.div_ceil(mss) as u32).min(self.options.tcp_max_reordering);
        }
        self.scoreboard.reord_seen += 1;
    }

    /// Marks a segment lost, or its retransmission (`tcp_mark_skb_lost`). After the last one,
    /// [`Self::tell_lost_skb`] follows.
    pub(crate) fn mark_lost(&mut self, id: SegmentId) {
        if self.queue.get(id).sacked {
            return;
        }
        let first_to_send = match self.scoreboard.retransmit_hint {
            None => self.scoreboard.retrans_out >= self.scoreboard.lost_out,
            Some(hint) => id < hint,
        };
        if first_to_send {
            self.scoreboard.retransmit_hint = Some(id);
        }
        let segment = self.queue.get_mut(id);
        if segment.lost && !segment.retransmitted {
            return;
        }
        self.join_lost_skb(id);
        let segment = self.queue.get_mut(id);
        if segment.lost {
            segment.retransmitted = false;
            self.scoreboard.retrans_out -= 1;
        } else {
            segment.lost = true;
            self.scoreboard.lost_out += 1;
        }
        self.lost += 1;
    }

    /// Adds a segment to the skb that was marked lost last, or tells the algorithm of that one.
    fn join_lost_skb(&mut self, id: SegmentId) {
        if !self.cc.wants_losses() {
            return;
        }
        let continues = self.queue.get(id).continues_skb;
        let joined = self.recovery.lost_skb.filter(|&(_, last)| continues && last + 1 == id);
        if joined.is_none() {
            self.tell_lost_skb();
        }
        self.recovery.lost_skb = Some((joined.map_or(id, |(first, _)| first), id));
    }

    /// Tells the algorithm of an skb once all of its segments are marked lost
    /// (`tcp_notify_skb_loss_event` of BBR v3's kernel).
    pub(crate) fn tell_lost_skb(&mut self) {
        let Some((first, last)) = self.recovery.lost_skb.take() else { return };
        let segment = *self.queue.get(first);
        let lost = LostSkb {
            packets: (last - first + 1) as u32,
            tx_in_flight: u32::from(segment.tx_in_flight),
            lost_since_sent: i64::from((self.lost as u16).wrapping_sub(segment.lost_before)),
            app_limited: segment.app_limited,
            used: segment.delivered_us == USED,
        };
        let conn = self.conn();
        self.cc.marked_lost(&conn, &mut self.window, &lost);
    }
}
