//! Congestion state machine (Linux's `tcp_fastretrans_alert`): entry to and exit from Recovery and
//! Loss, F-RTO (RFC 5682), proportional rate reduction (RFC 6937).

use super::sacktag::AckFlags;
use super::sender::Sender;
use dumbbell_cc::{CaEvent, CaState, INFINITE_SSTHRESH};

/// Retransmission step after an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rexmit {
    None,
    /// Retransmit lost segments.
    Lost,
    /// F-RTO step 2b: send new data first.
    New,
}

impl Sender {
    /// `tcp_fastretrans_alert`.
    pub(crate) fn fastretrans_alert(
        &mut self,
        prior_una: u64,
        duplicate: bool,
        flags: &mut AckFlags,
        rexmit: &mut Rexmit,
    ) {
        let mut fast_rexmit = false;
        let mut do_lost = duplicate || (flags.data_sacked && self.force_fast_retransmit());
        if self.scoreboard.packets_out == 0 && self.scoreboard.sacked_out > 0 {
            self.scoreboard.sacked_out = 0;
        }
        if flags.ece {
            self.congestion.prior_ssthresh = 0; // A mark is never undone.
        }
        if self.check_sack_reneging(flags) {
            return;
        }
        if self.congestion.state == CaState::Open {
            self.recovery.retrans_stamp_ms = None;
        } else if self.snd_una >= self.recovery.high_seq && self.leave_reduction() {
            return;
        }
        match self.congestion.state {
            CaState::Recovery => {
                if !flags.snd_una_advanced {
                    if !self.options.tcp_sack {
                        self.add_reno_sack(duplicate);
                    }
                } else if self.try_undo_partial(prior_una, &mut do_lost) {
                    return;
                }
                if self.try_undo_dsack() {
                    self.try_to_open(flags);
                }
                self.identify_loss(flags);
                if self.congestion.state != CaState::Recovery {
                    if !self.time_to_recover() {
                        return;
                    }
                    self.enter_recovery(flags.ece);
                }
            }
            state => {
                if state == CaState::Loss {
                    self.process_loss(flags, duplicate, rexmit);
                    self.identify_loss(flags);
                    if !(self.congestion.state == CaState::Open || flags.lost_retransmission) {
                        return;
                    }
                }
                if !self.options.tcp_sack {
                    if flags.snd_una_advanced {
                        self.scoreboard.sacked_out = 0;
                    }
                    self.add_reno_sack(duplicate);
                }
                if self.congestion.state <= CaState::Disorder {
                    self.try_undo_dsack();
                }
                self.identify_loss(flags);
                if !self.time_to_recover() {
                    self.try_to_open(flags);
                    return;
                }
                self.enter_recovery(flags.ece);
                fast_rexmit = true;
            }
        }
        if !self.is_rack() && do_lost {
            self.update_scoreboard(fast_rexmit);
        }
        *rexmit = Rexmit::Lost;
    }

    /// Ends a reduction when `high_seq` is acknowledged. Returns true if ACK processing is
    /// complete.
    fn leave_reduction(&mut self) -> bool {
        match self.congestion.state {
            CaState::Cwr => {
                if self.snd_una != self.recovery.high_seq {
                    self.end_cwnd_reduction();
                    self.set_state(CaState::Open);
                }
            }
            CaState::Recovery => {
                if !self.options.tcp_sack {
                    self.scoreboard.sacked_out = 0;
                }
                if self.try_undo_recovery() {
                    return true;
                }
                self.end_cwnd_reduction();
            }
            CaState::Open | CaState::Disorder | CaState::Loss => {}
        }
        false
    }

    /// Delays the reaction to SACKed data at the head, which may be reneging
    /// (`tcp_check_sack_reneging`).
    fn check_sack_reneging(&mut self, flags: &mut AckFlags) -> bool {
        if !(flags.sack_renege && flags.snd_una_advanced) {
            return false;
        }
        let delay = self.tick.us(u64::from(self.rtt.srtt_us8 >> 4)).max(self.tick.ms(10));
        self.set_timer(super::xmit_timer::Pending::Retransmit, delay);
        flags.set_timer = false;
        true
    }

    /// `tcp_identify_packet_loss`.
    fn identify_loss(&mut self, flags: &mut AckFlags) {
        if self.queue.is_empty() {
            return;
        }
        if !self.options.tcp_sack {
            self.newreno_mark_lost(flags.snd_una_advanced);
        } else if self.scoreboard.fack {
            self.fack_mark_lost_retransmissions();
        } else if self.is_rack() {
            let retrans_out = self.scoreboard.retrans_out;
            if self.rack_mark_lost() {
                flags.set_timer = false;
            }
            if retrans_out > self.scoreboard.retrans_out {
                flags.lost_retransmission = true;
            }
        }
    }

    /// `tcp_time_to_recover`.
    fn time_to_recover(&self) -> bool {
        if self.scoreboard.fack {
            return self.scoreboard.lost_out > 0 || self.fackets_out() > self.scoreboard.reordering;
        }
        self.scoreboard.lost_out > 0
            || (!self.is_rack() && self.scoreboard.sacked_out + 1 > self.scoreboard.reordering)
    }

    pub(super) fn force_fast_retransmit(&self) -> bool {
        self.highest_sack_seq()
            > self.snd_una + u64::from(self.scoreboard.reordering) * u64::from(self.mss_cache())
    }

    /// Marks losses (RFC 6675, `tcp_update_scoreboard`, `tcp_mark_head_lost`).
    fn update_scoreboard(&mut self, fast_rexmit: bool) {
        if !self.options.tcp_sack {
            return;
        }
        if self.scoreboard.fack {
            self.fack_update_scoreboard();
        } else if self.scoreboard.sacked_out >= self.scoreboard.reordering {
            self.mark_head_lost(self.scoreboard.sacked_out - self.scoreboard.reordering, false);
        } else if fast_rexmit {
            self.mark_head_lost(1, true);
        }
    }

    fn mark_head_lost(&mut self, packets: u32, head_only: bool) {
        let (mut id, mut count) = match self.scoreboard.lost_hint {
            Some((hint, count)) => {
                if head_only && self.queue.get(hint).seq > self.snd_una {
                    return;
                }
                (hint, count)
            }
            None => (self.queue.front_id(), 0),
        };
        while id < self.queue.end_id() {
            self.scoreboard.lost_hint = Some((id, count));
            let segment = self.queue.get(id);
            if segment.end() > self.snd_nxt {
                break;
            }
            count += u32::from(segment.sacked);
            if count > packets {
                break;
            }
            if !segment.lost {
                self.mark_lost(id);
            }
            if head_only {
                break;
            }
            id += 1;
        }
        self.tell_lost_skb();
    }

    /// `tcp_current_ssthresh`.
    pub(crate) fn current_ssthresh(&self) -> u32 {
        if self.in_cwnd_reduction() {
            return self.window.ssthresh;
        }
        self.window.ssthresh.max((self.window.cwnd >> 1) + (self.window.cwnd >> 2))
    }

    /// `tcp_enter_recovery`.
    pub(crate) fn enter_recovery(&mut self, ece: bool) {
        self.counters.recoveries += 1;
        self.losses.loss(self.snd_una);
        if !self.any_retrans_done() {
            self.recovery.retrans_stamp_ms = None;
        }
        self.congestion.prior_ssthresh = 0;
        self.init_undo();
        if !self.in_cwnd_reduction() {
            if !ece {
                self.congestion.prior_ssthresh = self.current_ssthresh();
            }
            self.init_cwnd_reduction();
        }
        self.set_state(CaState::Recovery);
    }

    /// `tcp_init_cwnd_reduction`.
    pub(crate) fn init_cwnd_reduction(&mut self) {
        self.recovery.high_seq = self.snd_nxt;
        self.recovery.tlp_high_seq = None;
        self.window.cwnd_cnt = 0;
        self.congestion.bytes_acked = 0;
        self.congestion.prior_cwnd = self.window.cwnd;
        self.congestion.prr_delivered = 0;
        self.congestion.prr_out = 0;
        self.window.ssthresh = self.cc_ssthresh();
        self.ecn_queue_cwr();
    }

    /// Proportional rate reduction (RFC 6937 §3.1, `tcp_cwnd_reduction`).
    pub(crate) fn cwnd_reduction(
        &mut self,
        newly_acked_sacked: u32,
        newly_lost: bool,
        advanced: bool,
    ) {
        if newly_acked_sacked == 0 || self.congestion.prior_cwnd == 0 {
            return;
        }
        self.congestion.prr_delivered += newly_acked_sacked;
        let in_flight = self.in_flight();
        let delta = i64::from(self.window.ssthresh) - i64::from(in_flight);
        let mut send = if delta < 0 {
            // Proportional part: spreads the reduction over a round.
            let dividend = u64::from(self.window.ssthresh)
                * u64::from(self.congestion.prr_delivered)
                + u64::from(self.congestion.prior_cwnd)
                - 1;
            (dividend / u64::from(self.congestion.prior_cwnd)) as i64
                - i64::from(self.congestion.prr_out)
        } else {
            // Slow-start reduction bound, conservative unless the ACK advanced without new loss.
            let mut send = (i64::from(self.congestion.prr_delivered)
                - i64::from(self.congestion.prr_out))
            .max(i64::from(newly_acked_sacked));
            if advanced && !newly_lost {
                send += 1;
            }
            send.min(delta)
        };
        send = send.max(i64::from(self.congestion.prr_out == 0));
        self.window.cwnd = (i64::from(in_flight) + send).max(1) as u32;
    }

    /// `tcp_end_cwnd_reduction`.
    fn end_cwnd_reduction(&mut self) {
        if self.cc.controls_rate() {
            return;
        }
        if self.window.ssthresh < INFINITE_SSTHRESH
            && (self.congestion.state == CaState::Cwr || self.recovery.undo_marker.is_some())
        {
            self.window.cwnd = if self.options.rate_halving {
                self.window.cwnd.min(self.window.ssthresh) // tcp_complete_cwr before 3.2
            } else {
                self.window.ssthresh
            };
            self.usage.cwnd_stamp = self.jiffies();
        }
        self.cwnd_event(CaEvent::CompleteCwr);
    }

    /// `tcp_any_retrans_done`.
    pub(super) fn any_retrans_done(&self) -> bool {
        self.scoreboard.retrans_out > 0
            || self.queue.front().is_some_and(|head| head.ever_retransmitted)
    }

    /// `tcp_try_keep_open`.
    pub(crate) fn try_keep_open(&mut self) {
        let disorder =
            self.scoreboard.sacked_out + self.scoreboard.lost_out > 0 || self.any_retrans_done();
        let state = if disorder { CaState::Disorder } else { CaState::Open };
        if self.congestion.state != state {
            self.set_state(state);
            self.recovery.high_seq = self.snd_nxt;
        }
    }

    /// `tcp_try_to_open`.
    fn try_to_open(&mut self, flags: &AckFlags) {
        if !self.any_retrans_done() {
            self.recovery.retrans_stamp_ms = None;
        }
        if flags.ece {
            self.enter_cwr();
        }
        if self.congestion.state != CaState::Cwr {
            self.try_keep_open();
            self.moderate_cwnd();
        }
    }

    /// Processes an ACK in Loss state, including F-RTO (`tcp_process_loss`).
    fn process_loss(&mut self, flags: &AckFlags, duplicate: bool, rexmit: &mut Rexmit) {
        let recovered = self.snd_una >= self.recovery.high_seq;
        if flags.snd_una_advanced && self.try_undo_loss(false) {
            return;
        }
        if self.recovery.frto {
            // RFC 5682 §3.1 step 3b: never-retransmitted data was delivered, so the time-out was
            // spurious.
            if flags.orig_sack_acked && self.try_undo_loss(true) {
                return;
            }
            if self.snd_nxt > self.recovery.high_seq {
                if flags.data_sacked || duplicate {
                    self.recovery.frto = false; // Step 3a: the loss was real.
                }
            } else if flags.snd_una_advanced && !recovered {
                self.recovery.high_seq = self.snd_nxt;
                // Step 2b: sends new data.
                if self.has_unsent() && self.snd_una + self.snd_wnd > self.snd_nxt {
                    *rexmit = Rexmit::New;
                    return;
                }
                self.recovery.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery();
            return;
        }
        if !self.options.tcp_sack {
            if self.snd_nxt > self.recovery.high_seq && duplicate {
                self.add_reno_sack(true);
            } else if flags.snd_una_advanced {
                self.scoreboard.sacked_out = 0;
            }
        }
        *rexmit = Rexmit::Lost;
    }

    /// `tcp_xmit_recovery`.
    pub(crate) fn xmit_recovery(&mut self, rexmit: Rexmit) {
        match rexmit {
            Rexmit::None => {}
            Rexmit::New => {
                self.push_pending();
                if self.snd_nxt <= self.recovery.high_seq {
                    self.recovery.frto = false;
                    self.xmit_retransmit_queue();
                }
            }
            Rexmit::Lost => self.xmit_retransmit_queue(),
        }
    }

    /// `tcp_enter_loss`.
    pub(crate) fn enter_loss(&mut self) {
        let new_recovery = self.congestion.state < CaState::Recovery;
        self.timeout_mark_lost();
        if self.congestion.state <= CaState::Disorder
            || self.recovery.high_seq <= self.snd_una
            || (self.congestion.state == CaState::Loss && self.xmit_timer.retransmits == 0)
        {
            self.congestion.prior_ssthresh = self.current_ssthresh();
            self.congestion.prior_cwnd = self.window.cwnd;
            self.window.ssthresh = self.cc_ssthresh();
            self.cwnd_event(CaEvent::Loss);
            self.init_undo();
        }
        self.window.cwnd = self.in_flight() + 1;
        self.window.cwnd_cnt = 0;
        self.congestion.bytes_acked = 0;
        self.usage.cwnd_stamp = self.jiffies();
        if self.congestion.state <= CaState::Disorder
            && self.scoreboard.sacked_out >= self.options.tcp_reordering
        {
            // A time-out after so many duplicate ACKs: reordering was overestimated.
            self.scoreboard.reordering =
                self.scoreboard.reordering.min(self.options.tcp_reordering);
        }
        self.set_state(CaState::Loss);
        self.recovery.high_seq = self.snd_nxt;
        self.ecn_queue_cwr();
        self.recovery.tlp_high_seq = None;
        self.recovery.frto =
            self.options.tcp_frto > 0 && (new_recovery || self.xmit_timer.retransmits > 0);
    }

    /// `tcp_timeout_mark_lost`.
    fn timeout_mark_lost(&mut self) {
        let renege = self.queue.front().is_some_and(|head| head.sacked);
        if renege {
            self.scoreboard.sacked_out = 0;
            self.scoreboard.sack_renege = true;
        } else if !self.options.tcp_sack {
            self.scoreboard.sacked_out = 0;
        }
        let head = self.queue.front_id();
        for id in head..self.queue.end_id() {
            if renege {
                self.queue.get_mut(id).sacked = false;
            } else if self.is_rack()
                && id != head
                && self.rack_remaining_us(self.queue.get(id).sent_us(), 0) > 0
            {
                continue; // Sent too recently to count as lost.
            }
            self.mark_lost(id);
        }
        self.tell_lost_skb();
        self.scoreboard.lost_hint = None;
        self.scoreboard.retransmit_hint = None;
    }

    /// Counts a duplicate ACK as a SACK on a connection without SACK (`tcp_add_reno_sack`).
    fn add_reno_sack(&mut self, duplicate: bool) {
        if !duplicate {
            return;
        }
        let before = self.scoreboard.sacked_out;
        self.scoreboard.sacked_out += 1;
        self.check_reno_reordering(0);
        self.delivered += u64::from(self.scoreboard.sacked_out.saturating_sub(before));
    }

    /// `tcp_remove_reno_sacks`.
    pub(crate) fn remove_reno_sacks(&mut self, acked: u32) {
        if acked > 0 {
            self.delivered += u64::from(acked.saturating_sub(self.scoreboard.sacked_out).max(1));
            self.scoreboard.sacked_out = self.scoreboard.sacked_out.saturating_sub(acked - 1);
        }
        self.check_reno_reordering(acked);
    }

    /// Detects reordering if there are more duplicate ACKs than holes allow
    /// (`tcp_check_reno_reordering`).
    fn check_reno_reordering(&mut self, addend: u32) {
        let holes = self.scoreboard.lost_out.max(1).min(self.scoreboard.packets_out);
        if self.scoreboard.sacked_out + holes > self.scoreboard.packets_out {
            self.scoreboard.sacked_out = self.scoreboard.packets_out - holes;
            self.scoreboard.reordering =
                (self.scoreboard.packets_out + addend).min(self.options.tcp_max_reordering);
            self.scoreboard.reord_seen += 1;
        }
    }

    /// Processes an ACK during a tail-loss-probe episode (RFC 8985 §7.4, `tcp_process_tlp_ack`).
    /// Returns true if it may acknowledge the probe's retransmission.
    pub(crate) fn process_tlp_ack(&mut self, ack: u64, flags: &AckFlags) -> bool {
        let Some(high) = self.recovery.tlp_high_seq.filter(|&high| ack >= high) else {
            return false;
        };
        if !self.recovery.tlp_retrans || flags.dsack_tlp {
            self.recovery.tlp_high_seq = None;
        } else if ack > high {
            // The probe repaired a loss.
            self.cwnd_event(CaEvent::TlpRecovery);
            self.init_cwnd_reduction();
            self.set_state(CaState::Cwr);
            self.end_cwnd_reduction();
            self.try_keep_open();
        } else if !(flags.snd_una_advanced || flags.not_dup() || flags.data_sacked) {
            self.recovery.tlp_high_seq = None;
        } else {
            return true;
        }
        false
    }
}
