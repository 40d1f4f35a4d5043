//! Undo of spurious recoveries (Linux's `tcp_try_undo_*`): by DSACK (RFC 3708) and by timestamps
//! (Eifel, RFC 3522, RFC 4015).

use super::sender::Sender;
use dumbbell_cc::CaState;

impl Sender {
    /// `tcp_init_undo`.
    pub(super) fn init_undo(&mut self) {
        self.recovery.undo_marker = Some(self.snd_una);
        self.recovery.undo_retrans = i64::from(self.scoreboard.retrans_out);
        if self.recovery.tlp_high_seq.is_some() && self.recovery.tlp_retrans {
            self.recovery.undo_retrans += 1;
        }
        if self.recovery.undo_retrans == 0 {
            self.recovery.undo_retrans = -1;
        }
    }

    /// Returns true if the ACK echoes a timestamp from before the first retransmission
    /// (`tcp_packet_delayed`).
    pub(super) fn packet_delayed(&self) -> bool {
        match self.recovery.retrans_stamp_ms {
            Some(stamp) => self.echo_before(stamp),
            None => self.options.tcp_sack || self.snd_una < self.recovery.high_seq,
        }
    }

    /// `tcp_may_undo`.
    pub(super) fn may_undo(&self) -> bool {
        self.recovery.undo_marker.is_some()
            && (self.recovery.undo_retrans == 0 || self.packet_delayed())
    }

    /// `tcp_undo_cwnd_reduction`.
    pub(super) fn undo_cwnd_reduction(&mut self, unmark_loss: bool) {
        self.counters.undos += 1;
        if unmark_loss {
            self.queue.unmark_lost();
            self.scoreboard.lost_out = 0;
            self.scoreboard.lost_hint = None;
            self.scoreboard.retransmit_hint = None;
        }
        if self.congestion.prior_ssthresh > 0 {
            let conn = self.conn();
            self.window.cwnd = self.cc.undo_cwnd(&conn, &mut self.window);
            if self.congestion.prior_ssthresh > self.window.ssthresh {
                self.window.ssthresh = self.congestion.prior_ssthresh;
                self.ecn_withdraw_cwr();
            }
        }
        self.moderate_cwnd();
        self.usage.cwnd_stamp = self.jiffies();
        self.recovery.undo_marker = None;
        self.rack.advanced = true;
    }

    /// Returns true if the state must be kept without SACK until data above `high_seq` is
    /// acknowledged (RFC 6582 §5, `tcp_is_non_sack_preventing_reopen`).
    pub(super) fn reopen_prevented(&mut self) -> bool {
        if self.snd_una != self.recovery.high_seq || self.options.tcp_sack {
            return false;
        }
        if !self.any_retrans_done() {
            self.recovery.retrans_stamp_ms = None;
        }
        true
    }

    /// `tcp_try_undo_recovery`.
    pub(super) fn try_undo_recovery(&mut self) -> bool {
        if self.may_undo() {
            self.undo_cwnd_reduction(false);
        } else if self.rack.reo_wnd_persist > 0 {
            self.rack.reo_wnd_persist -= 1;
        }
        if self.reopen_prevented() {
            return true;
        }
        self.set_state(CaState::Open);
        self.scoreboard.sack_renege = false;
        false
    }

    /// `tcp_try_undo_dsack`.
    pub(super) fn try_undo_dsack(&mut self) -> bool {
        if self.recovery.undo_marker.is_some() && self.recovery.undo_retrans == 0 {
            self.rack.persist_more();
            self.undo_cwnd_reduction(false);
            return true;
        }
        false
    }

    /// `tcp_try_undo_loss`.
    pub(super) fn try_undo_loss(&mut self, frto: bool) -> bool {
        if !(frto || self.may_undo()) {
            return false;
        }
        self.undo_cwnd_reduction(true);
        self.xmit_timer.retransmits = 0;
        if self.reopen_prevented() {
            return true;
        }
        if frto || self.options.tcp_sack {
            self.set_state(CaState::Open);
            self.scoreboard.sack_renege = false;
        }
        true
    }

    /// Undoes recovery at a partial ACK. Returns true if ACK processing is complete
    /// (`tcp_try_undo_partial`).
    pub(super) fn try_undo_partial(&mut self, prior_una: u64, do_lost: &mut bool) -> bool {
        if self.recovery.undo_marker.is_some() && self.packet_delayed() {
            // A delayed packet filled the hole, not the retransmission: reordering.
            self.check_sack_reordering(prior_una);
            if self.scoreboard.retrans_out > 0 {
                return true;
            }
            if !self.any_retrans_done() {
                self.recovery.retrans_stamp_ms = None;
            }
            self.undo_cwnd_reduction(true);
            self.try_keep_open();
        } else {
            *do_lost = self.force_fast_retransmit();
        }
        false
    }
}
