//! RACK loss detection (RFC 8985 §6 in Linux's form, tcp_recovery.c), and NewReno loss detection
//! for connections without SACK (RFC 6582).

use super::rate::sent_after;
use super::sender::Sender;
use super::xmit_timer::Pending;
use dumbbell_cc::CaState;

/// Number of recoveries for which a widened reordering window is kept (RFC 8985 §6.2 step 4).
const REO_WND_PERSIST: u8 = 16;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    /// Send time of the most recently sent segment that was delivered (`rack.mstamp`).
    pub(crate) sent_us: u64,
    /// End sequence number of this segment.
    pub(crate) end_seq: u64,
    /// RTT of this segment, microseconds.
    pub(crate) rtt_us: u64,
    /// True if these values changed since the last loss detection.
    pub(crate) advanced: bool,
    /// True after a DSACK, until the reordering window is adapted.
    pub(crate) dsack_seen: bool,
    /// Reordering window in quarters of the minimum RTT.
    pub(crate) reo_wnd_steps: u32,
    /// Recoveries left before the window shrinks again.
    pub(crate) reo_wnd_persist: u8,
    last_delivered: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            sent_us: 0,
            end_seq: 0,
            rtt_us: 0,
            advanced: false,
            dsack_seen: false,
            reo_wnd_steps: 1,
            reo_wnd_persist: 0,
            last_delivered: 0,
        }
    }
}

impl Rack {
    /// A DSACK proved the window too small (`tcp_try_undo_dsack`).
    pub(crate) fn persist_more(&mut self) {
        self.reo_wnd_persist = (self.reo_wnd_persist + 1).min(REO_WND_PERSIST);
    }
}

impl Sender {
    pub(crate) fn is_rack(&self) -> bool {
        self.options.rack_always || self.options.tcp_recovery & 1 != 0
    }

    /// Advances RACK's clock for a delivered segment (RFC 8985 §6.2 step 2, `tcp_rack_advance`).
    pub(crate) fn rack_advance(&mut self, retransmitted: bool, end_seq: u64, sent_us: u64) {
        let rtt_us = self.now_us().saturating_sub(sent_us);
        if rtt_us < u64::from(self.rtt.min_us()) && retransmitted {
            // Ambiguous: the original was probably delivered, not the retransmission.
            return;
        }
        self.rack.advanced = true;
        self.rack.rtt_us = rtt_us;
        if sent_after(sent_us, self.rack.sent_us, end_seq, self.rack.end_seq) {
            self.rack.sent_us = sent_us;
            self.rack.end_seq = end_seq;
        }
    }

    /// Reordering window, microseconds (RFC 8985 §6.2 step 3, `tcp_rack_reo_wnd`).
    fn rack_reo_wnd_us(&self) -> u64 {
        if self.scoreboard.reord_seen == 0 {
            if self.congestion.state >= CaState::Recovery {
                return 0;
            }
            if self.scoreboard.sacked_out >= self.scoreboard.reordering
                && self.options.tcp_recovery & 4 == 0
            {
                return 0;
            }
        }
        let quarters = u64::from(self.rtt.min_us() >> 2) * u64::from(self.rack.reo_wnd_steps);
        quarters.min(u64::from(self.rtt.srtt_us8 >> 3))
    }

    /// Microseconds until a segment sent at `sent_us` counts as lost. It is lost if not positive.
    pub(crate) fn rack_remaining_us(&self, sent_us: u64, reo_wnd_us: u64) -> i64 {
        (self.rack.rtt_us + reo_wnd_us) as i64 - self.now_us().saturating_sub(sent_us) as i64
    }

    /// Marks lost segments (RFC 8985 §6.2 step 5). Returns the time until the last remaining
    /// candidate counts as lost, microseconds (`tcp_rack_detect_loss`).
    fn rack_detect_loss(&mut self) -> u64 {
        let reo_wnd_us = self.rack_reo_wnd_us();
        let mut wait_us = 0;
        let mut at = self.queue.oldest();
        while let Some(id) = at {
            at = self.queue.younger(id);
            let segment = *self.queue.get(id);
            if segment.lost && !segment.retransmitted {
                continue;
            }
            if !sent_after(self.rack.sent_us, segment.sent_us(), self.rack.end_seq, segment.end()) {
                break;
            }
            let remaining = self.rack_remaining_us(segment.sent_us(), reo_wnd_us);
            if remaining <= 0 {
                self.mark_lost(id);
                self.queue.unlist(id);
            } else {
                wait_us = wait_us.max(remaining as u64);
            }
        }
        self.tell_lost_skb();
        wait_us
    }

    /// Detects losses after an ACK. Returns true if the reordering timer was set
    /// (`tcp_rack_mark_lost`).
    pub(crate) fn rack_mark_lost(&mut self) -> bool {
        if !self.rack.advanced {
            return false;
        }
        self.rack.advanced = false;
        let wait_us = self.rack_detect_loss();
        if wait_us == 0 {
            return false;
        }
        // TCP_TIMEOUT_MIN_US
        let timeout = self.tick.us(wait_us + 2000).min(self.rto_jiffies());
        self.set_timer(Pending::Reordering, timeout);
        true
    }

    /// Processes the expiry of the reordering timer (`tcp_rack_reo_timeout`).
    pub(crate) fn rack_reo_timeout(&mut self) {
        let before = self.in_flight();
        let lost = self.lost;
        self.rack_detect_loss();
        if before != self.in_flight() {
            if self.congestion.state != CaState::Recovery {
                self.enter_recovery(false);
                if !self.cc.controls_rate() {
                    self.cwnd_reduction(1, self.lost > lost, false);
                }
            }
            self.xmit_retransmit_queue();
        }
        if self.xmit_timer.pending != Pending::Retransmit {
            self.rearm_rto();
        }
    }

    /// Widens the reordering window on DSACKs and narrows it after sixteen recoveries without one
    /// (RFC 8985 §6.2 step 4, `tcp_rack_update_reo_wnd`).
    pub(crate) fn rack_update_reo_wnd(&mut self, prior_delivered: u64) {
        if self.options.tcp_recovery & 2 != 0 || prior_delivered == 0 {
            return;
        }
        if prior_delivered < self.rack.last_delivered {
            self.rack.dsack_seen = false;
        }
        if self.rack.dsack_seen {
            self.rack.reo_wnd_steps = (self.rack.reo_wnd_steps + 1).min(0xff);
            self.rack.dsack_seen = false;
            self.rack.last_delivered = self.delivered;
            self.rack.reo_wnd_persist = REO_WND_PERSIST;
        } else if self.rack.reo_wnd_persist == 0 {
            self.rack.reo_wnd_steps = 1;
        }
    }

    /// Marks the head lost without SACK after enough duplicate ACKs, and at each partial ACK (RFC
    /// 6582 §3.2, `tcp_newreno_mark_lost`).
    pub(crate) fn newreno_mark_lost(&mut self, advanced: bool) {
        let enough = self.congestion.state < CaState::Recovery
            && self.scoreboard.sacked_out >= self.scoreboard.reordering;
        let partial = self.congestion.state == CaState::Recovery && advanced;
        if (enough || partial) && self.queue.front().is_some_and(|head| !head.lost) {
            let head = self.queue.front_id();
            self.split_before(head + 1);
            self.mark_lost(head);
            self.tell_lost_skb();
        }
    }
}
