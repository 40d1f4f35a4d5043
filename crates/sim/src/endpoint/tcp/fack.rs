//! Forward acknowledgement (Mathis & Mahdavi, SIGCOMM 1996) as in Linux before 4.15: segments below
//! the highest SACK, less the reordering degree, have left the network. Includes its detection of
//! lost retransmissions and its retransmission of unmarked segments.

use super::sender::{Retransmission, Sender};
use dumbbell_cc::CaState;

impl Sender {
    /// Packets from the first unacknowledged one to the highest SACK (`tp->fackets_out`).
    pub(super) fn fackets_out(&self) -> u32 {
        if self.scoreboard.sacked_out == 0 {
            return 0;
        }
        let above = self.queue.find(self.highest_sack_seq().saturating_sub(1)) + 1;
        (above.min(self.queue.end_id()) - self.queue.front_id()) as u32
    }

    /// Disables FACK after reordering, since holes are no longer losses (`tcp_disable_fack`).
    pub(super) fn disable_fack(&mut self) {
        if self.scoreboard.fack {
            self.scoreboard.fack = false;
            self.scoreboard.lost_hint = None;
        }
    }

    /// Marks losses by FACK (`tcp_update_scoreboard`).
    pub(super) fn fack_update_scoreboard(&mut self) {
        let lost = self.fackets_out().saturating_sub(self.scoreboard.reordering).max(1);
        let front = self.queue.front_id();
        let end = (front + u64::from(lost)).min(self.queue.end_id());
        let begin = self.scoreboard.lost_hint.map_or(front, |(hint, _)| hint.max(front));
        for id in begin..end {
            if !self.queue.get(id).lost {
                self.mark_lost(id);
            }
        }
        self.tell_lost_skb();
        self.scoreboard.lost_hint = Some((end.max(begin), 0));
    }

    /// Marks a retransmission lost if new data sent after it is SACKed before it
    /// (`tcp_mark_lost_retrans`).
    pub(super) fn fack_mark_lost_retransmissions(&mut self) {
        if self.scoreboard.retrans_out == 0
            || self.scoreboard.sacked_out == 0
            || self.congestion.state != CaState::Recovery
        {
            return;
        }
        let received = self.highest_sack_seq();
        let above = self.queue.find(received.saturating_sub(1)).min(self.queue.end_id());
        for id in self.queue.front_id()..above {
            let segment = self.queue.get_mut(id);
            if segment.retransmitted && !segment.sacked && segment.snd_nxt_at_retransmit < received
            {
                segment.retransmitted = false;
                self.scoreboard.retrans_out -= 1;
                self.mark_lost(id);
                self.scoreboard.retransmit_hint =
                    self.scoreboard.retransmit_hint.map(|hint| hint.min(id)).or(Some(id));
            }
        }
    }

    /// Retransmits holes below the highest SACK if no lost segment can be retransmitted and no new
    /// data may be sent (RFC 6675 §4, NextSeg rule 3; `tcp_xmit_retransmit_queue` before 4.15).
    pub(super) fn forward_retransmit(&mut self) {
        if self.congestion.state != CaState::Recovery
            || self.scoreboard.sacked_out == 0
            || self.may_send_now()
        {
            return;
        }
        let above = self.queue.find(self.highest_sack_seq().saturating_sub(1));
        for id in self.queue.front_id()..above.min(self.queue.end_id()) {
            if self.window.cwnd <= self.in_flight() {
                return;
            }
            let segment = self.queue.get(id);
            if segment.sacked || segment.lost || segment.retransmitted {
                continue;
            }
            if !self.retransmit(id, Retransmission::Fast, false) {
                return;
            }
            self.congestion.prr_out += 1;
        }
    }

    /// Returns true if there is new data and both windows allow it (`tcp_may_send_now`).
    fn may_send_now(&self) -> bool {
        let next = self.write_seq.saturating_sub(self.snd_nxt).min(u64::from(self.mss_cache()));
        self.has_unsent()
            && self.in_flight() < self.window.cwnd
            && self.snd_nxt + next <= self.snd_una + self.snd_wnd
    }
}
