//! ACK processing (Linux's `tcp_ack`, `tcp_clean_rtx_queue`): RFC 9293 §3.10.7.4, Karn's rule (RFC
//! 6298 §3), and the steps that depend on them.

use super::ecn::Mode;
use super::rate::Building;
use super::receiver::PAWS_WINDOW_MS;
use super::recovery::Rexmit;
use super::sacktag::{AckFlags, Tagging};
use super::sender::Sender;
use super::xmit_timer::Pending;
use dumbbell_cc::{AckEvent, AckSample, CaState};
use dumbbell_packet::Segment;

impl Sender {
    /// `tcp_ack`.
    pub(crate) fn on_ack(&mut self, ack: &Segment) {
        let prior_una = self.snd_una;
        let mut flags = AckFlags { data: ack.payload_bytes > 0, ..AckFlags::default() };
        let mut tagging = Tagging::default();
        (self.tsval_ms, self.tsecr_ms) = (ack.tsval_ms, ack.tsecr_ms);
        self.echoes = ack.timestamps;
        if ack.ack > self.snd_nxt {
            return; // Acknowledges unsent data (RFC 9293 §3.10.7.4).
        }
        if ack.ack < prior_una {
            self.on_old_ack(ack, prior_una, flags, tagging);
            return;
        }
        if ack.ack > prior_una {
            flags.snd_una_advanced = true;
            self.xmit_timer.retransmits = 0;
            self.abc_count(ack.ack - prior_una);
        }
        let delivered = self.delivered;
        let lost = self.lost;
        let renege = self.scoreboard.sack_renege;
        let prior_packets = self.scoreboard.packets_out;
        let prior_fack = if self.options.tcp_sack { self.highest_sack_seq() } else { self.snd_una };
        tagging.building.sample.prior_in_flight = self.in_flight();
        self.check_app_limited_again();

        let predicted = flags.snd_una_advanced && self.header_predicted(ack);
        flags.window_update = self.update_window(ack, prior_una);
        self.snd_una = ack.ack;
        if ack.entries.blocks() > 0 {
            self.sacktag(ack, prior_una, &mut flags, &mut tagging);
        }
        flags.ece = self.ecn_echoed(ack);
        self.delivered += u64::from(tagging.sack_delivered);
        self.xmit_timer.probes_out = 0;
        if prior_packets > 0 {
            self.clean_rtx_queue(prior_fack, prior_una, &mut flags, &mut tagging);
            self.rack_update_reo_wnd(tagging.building.sample.prior_delivered);
        }
        let told = self.ecn.delivered_ce;
        match self.ecn.mode {
            Mode::Accurate => {
                let sacked_bytes = tagging.sacked_bytes;
                self.accurate_feedback(ack, delivered, prior_una, sacked_bytes, &mut flags);
            }
            // `tcp_count_delivered`
            _ if flags.ece => self.ecn.delivered_ce += self.delivered - delivered,
            _ => {}
        }
        if self.cc.wants_acks() {
            let conn = self.conn();
            let event = AckEvent { slow_path: !predicted, ece: flags.ece };
            self.cc.in_ack_event(&conn, &mut self.window, event);
        }
        if prior_packets == 0 {
            self.on_ack_without_queue(prior_una, flags);
            return;
        }
        if self.recovery.tlp_high_seq.is_some() {
            let acked = self.process_tlp_ack(ack.ack, &flags);
            tagging.building.sample.acks_tlp_retransmission = acked;
        }
        let counted = self.delivered;
        let mut rexmit = Rexmit::None;
        let dubious = !flags.not_dup() || flags.alert() || self.congestion.state != CaState::Open;
        if dubious {
            let duplicate = !flags.snd_una_advanced && !flags.not_dup() && !flags.dsacking;
            self.fastretrans_alert(prior_una, duplicate, &mut flags, &mut rexmit);
        }
        if flags.set_timer {
            self.set_xmit_timer();
        }
        if self.ecn.mode == Mode::Classic && flags.ece {
            self.ecn.delivered_ce += self.delivered - counted; // `tcp_add_reno_sack`
        }
        let newly_delivered = self.delivered - delivered;
        let newly_lost = self.lost - lost;
        let building = &mut tagging.building;
        building.sample.ack_delayed = flags.maybe_delayed;
        building.sample.marked = (self.ecn.delivered_ce - told) as u32;
        self.rate_generate(newly_delivered, newly_lost, renege, building);
        self.cong_control(newly_delivered as u32, &flags, building);
        self.xmit_recovery(rexmit);
    }

    /// Returns true if an ACK has the predicted header: no SACK blocks, an unchanged window, no ECN
    /// echo (`tcp_rcv_established`, `pred_flags`).
    fn header_predicted(&self, ack: &Segment) -> bool {
        let same_ecn = match self.ecn.mode {
            Mode::Accurate => ack.accurate_ecn().is_none() && self.has_known_ace(ack),
            Mode::Off | Mode::Classic => !ack.flags.ece(),
        };
        ack.entries.blocks() == 0 && u64::from(ack.window_bytes) == self.snd_wnd && same_ecn
    }

    /// Rejects a pure ACK whose timestamp is older than the last one, with a rate-limited ACK (PAWS,
    /// RFC 7323 §5; `tcp_paws_discard`). A duplicate ACK within 1.2 RTOs passes if its window is not
    /// larger (`tcp_disordered_ack`, `tcp_tsval_replay`). So the SACK blocks of reordered ACKs are lost.
    pub(super) fn paws_rejects(&mut self, ack: &Segment) -> bool {
        let age_ms = self.ts_recent_ms.wrapping_sub(ack.tsval_ms) as i32;
        let pure = ack.payload_bytes == 0 && !ack.flags.fin;
        if age_ms <= PAWS_WINDOW_MS || !pure || !ack.timestamps {
            return false;
        }
        let repeats = ack.ack == self.snd_una && u64::from(ack.window_bytes) <= self.snd_wnd;
        if repeats && age_ms as u64 * 1000 <= self.tick.to_us(self.rto_jiffies()) * 6 / 5 {
            return false;
        }
        self.challenge();
        true
    }

    /// Processes an old ACK, which may still carry new SACK blocks.
    fn on_old_ack(
        &mut self,
        ack: &Segment,
        prior_una: u64,
        mut flags: AckFlags,
        mut tagging: Tagging,
    ) {
        if ack.entries.blocks() == 0 || ack.ack < prior_una.saturating_sub(self.max_window) {
            return;
        }
        let mut rexmit = Rexmit::None;
        self.sacktag(ack, prior_una, &mut flags, &mut tagging);
        self.fastretrans_alert(prior_una, false, &mut flags, &mut rexmit);
        self.xmit_recovery(rexmit);
    }

    fn on_ack_without_queue(&mut self, prior_una: u64, mut flags: AckFlags) {
        if flags.dsacking {
            let mut rexmit = Rexmit::None;
            self.fastretrans_alert(prior_una, false, &mut flags, &mut rexmit);
        }
        self.ack_probe();
        if self.recovery.tlp_high_seq.is_some() {
            let ack = self.snd_una;
            self.process_tlp_ack(ack, &flags);
        }
    }

    /// Updates the window (RFC 9293 §3.10.7.4). Returns true if the ACK counts as a window update
    /// (`tcp_ack_update_window`).
    fn update_window(&mut self, ack: &Segment, prior_una: u64) -> bool {
        let window = u64::from(ack.window_bytes);
        let later = self.window_seq.is_none_or(|told| ack.seq > told);
        let wider = self.window_seq == Some(ack.seq) && window > self.snd_wnd;
        let newer = ack.ack > prior_una || later || wider;
        if newer {
            self.window_seq = Some(ack.seq);
        }
        if newer && self.snd_wnd != window {
            self.snd_wnd = window;
            self.slow_start_after_idle_check();
            self.max_window = self.max_window.max(window);
        }
        newer
    }

    /// Removes acknowledged segments, takes RTT samples and detects reordering.
    fn clean_rtx_queue(
        &mut self,
        prior_fack: u64,
        prior_una: u64,
        flags: &mut AckFlags,
        tagging: &mut Tagging,
    ) {
        debug_assert!(self.recovery.lost_skb.is_none(), "the algorithm was told of each lost skb");
        let prior_sacked = self.scoreboard.sacked_out;
        let mut acked = AckedSegments::default();
        while self.queue.front().is_some_and(|head| head.end() <= self.snd_una) {
            self.clean_head(&mut acked, flags, &mut tagging.building);
        }
        if self.queue.front().is_some_and(|head| head.sacked) {
            flags.sack_renege = true;
        }
        let now_us = self.now_us();
        let mut seq_rtt_us = None;
        let mut ca_rtt_us = None;
        if let Some(first_us) = acked.first_us.filter(|_| !flags.retransmitted_data_acked) {
            seq_rtt_us = Some(now_us - first_us);
            ca_rtt_us = Some(now_us - acked.last_us);
            if acked.packets == 1
                && prior_sacked == 0
                && self.snd_una - prior_una < u64::from(self.mss_cache())
                && tagging.building.sample.prior_delivered + 1 == self.delivered
                && !flags.alert()
            {
                flags.maybe_delayed = true; // The ACK of a single short segment is probably delayed.
            }
        }
        let mut sack_rtt_us = None;
        if let Some(first_us) = tagging.first_sacked_us {
            sack_rtt_us = Some(now_us - first_us);
            ca_rtt_us = Some(now_us - tagging.last_sacked_us);
        }
        let updated = self.update_rtt(flags, seq_rtt_us, sack_rtt_us, ca_rtt_us, tagging);
        if flags.data_acked {
            flags.set_timer = true;
            if self.options.tcp_sack {
                if acked.reord.is_some_and(|reord| reord < prior_fack) {
                    self.check_sack_reordering(acked.reord.unwrap_or(prior_fack));
                }
                let delta = prior_sacked - self.scoreboard.sacked_out;
                if let Some((_, count)) = &mut self.scoreboard.lost_hint {
                    *count -= delta.min(*count);
                }
            } else {
                self.remove_reno_sacks(acked.packets);
                if flags.retransmitted_data_acked {
                    flags.orig_sack_acked = false;
                }
            }
        } else if let (true, Some(sack_rtt), Some(head)) =
            (updated, sack_rtt_us, self.queue.front())
        {
            // The SACKed data was sent after the head's last transmission, so the RTO is not
            // postponed.
            if sack_rtt > now_us.saturating_sub(head.sent_us()) {
                flags.set_timer = true;
            }
        }
        let sample = AckSample {
            pkts_acked: acked.packets,
            rtt_us: tagging.building.sample.rtt_us,
            in_flight: (self.delivered - tagging.building.sample.prior_delivered) as u32,
        };
        let conn = self.conn();
        self.cc.pkts_acked(&conn, &mut self.window, &sample);
    }

    /// Accounts for the completely acknowledged head of the queue and removes it.
    fn clean_head(
        &mut self,
        acked: &mut AckedSegments,
        flags: &mut AckFlags,
        building: &mut Building,
    ) {
        let id = self.queue.front_id();
        let head = *self.queue.get(id);
        self.queue.pop();
        if head.ever_retransmitted {
            if head.retransmitted {
                self.scoreboard.retrans_out -= 1;
            }
            flags.retransmitted_data_acked = true;
        } else if !head.sacked {
            acked.last_us = head.sent_us();
            acked.first_us.get_or_insert(head.sent_us());
            if acked.reord.is_none_or(|reord| head.seq < reord) {
                acked.reord = Some(head.seq);
            }
            if head.end() <= self.recovery.high_seq {
                flags.orig_sack_acked = true;
            }
        }
        if head.sacked {
            self.scoreboard.sacked_out -= 1;
        } else if self.options.tcp_sack {
            self.delivered += 1;
            // Eifel (RFC 3522): an echo older than the retransmission acknowledges the original.
            let spurious =
                head.ever_retransmitted && self.echo_before((head.sent_ns / 1_000_000) as u32);
            if !spurious {
                self.rack_advance(head.ever_retransmitted, head.end(), head.sent_us());
            }
        }
        if head.lost {
            self.scoreboard.lost_out -= 1;
        }
        self.scoreboard.packets_out -= 1;
        // An skb is freed as a whole (`tcp_trim_head` keeps its overhead).
        if !self.queue.front().is_some_and(|next| next.continues_skb) {
            self.buffer.sent_skbs -= 1;
        }
        acked.packets += 1;
        self.rate.segment_delivered(&head, self.delivered, building);
        flags.data_acked = true;
        if self.scoreboard.retransmit_hint == Some(id) {
            self.scoreboard.retransmit_hint = None;
        }
        if self.scoreboard.lost_hint.is_some_and(|(hint, _)| hint == id) {
            self.scoreboard.lost_hint = None;
        }
    }

    /// Returns true if the ACK echoes a timestamp older than `stamp_ms` (`tcp_tsopt_ecr_before`).
    pub(crate) fn echo_before(&self, stamp_ms: u32) -> bool {
        self.options.tcp_timestamps
            && self.echoes
            && (self.tsecr_ms.wrapping_sub(stamp_ms) as i32) < 0
    }

    /// Takes an RTT sample from never-retransmitted segments (Karn), else from SACKed segments,
    /// else from the timestamp. Returns true if there is a sample (`tcp_ack_update_rtt`).
    fn update_rtt(
        &mut self,
        flags: &AckFlags,
        seq_rtt_us: Option<u64>,
        sack_rtt_us: Option<u64>,
        mut ca_rtt_us: Option<u64>,
        tagging: &mut Tagging,
    ) -> bool {
        let mut rtt_us = seq_rtt_us.or(sack_rtt_us);
        if rtt_us.is_none() && self.options.tcp_timestamps && self.echoes && flags.data_acked {
            let delta_ms = (self.now_ms() as u32).wrapping_sub(self.tsecr_ms);
            if delta_ms < i32::MAX as u32 / 1000 {
                rtt_us = Some(u64::from(delta_ms.max(1)) * 1000);
                ca_rtt_us = rtt_us;
            }
        }
        tagging.building.sample.rtt_us = ca_rtt_us.map_or(-1, |us| us as i64);
        let Some(rtt_us) = rtt_us else { return false };
        let ca_rtt_us = ca_rtt_us.unwrap_or(rtt_us);
        let delayed = flags.maybe_delayed && ca_rtt_us > u64::from(self.rtt.min_us());
        if !delayed {
            let now = self.jiffies();
            self.rtt.update_min(ca_rtt_us, now);
        }
        self.rtt.estimate(rtt_us, self.snd_una, self.snd_nxt);
        self.xmit_timer.backoff = 0;
        true
    }

    /// Grows or reduces the window for one ACK (`tcp_cong_control`).
    fn cong_control(&mut self, acked_sacked: u32, flags: &AckFlags, building: &Building) {
        if self.cc.controls_rate() {
            let conn = self.conn();
            self.cc.cong_control(&conn, &mut self.window, &building.sample);
            self.apply_requests();
            return;
        }
        if self.in_cwnd_reduction() && self.options.rate_halving {
            self.cwnd_down(flags);
        } else if self.in_cwnd_reduction() {
            let lost = building.sample.losses > 0;
            self.cwnd_reduction(acked_sacked, lost, flags.snd_una_advanced);
        } else if self.may_raise_cwnd(flags) {
            let acked = self.growth_of(acked_sacked);
            if acked > 0 {
                self.cong_avoid(acked);
                if std::mem::take(&mut self.window.enter_cwr) {
                    self.enter_cwr();
                }
            }
            self.usage.cwnd_stamp = self.jiffies();
        }
        self.update_pacing_rate();
    }

    /// `tcp_may_raise_cwnd`.
    fn may_raise_cwnd(&self, flags: &AckFlags) -> bool {
        if self.scoreboard.reordering > self.options.tcp_reordering {
            return flags.forward_progress();
        }
        flags.data_acked
    }

    /// `tcp_update_pacing_rate`.
    pub(crate) fn update_pacing_rate(&mut self) {
        let ratio =
            self.cc.pacing_ratio().unwrap_or(if self.window.cwnd < self.window.ssthresh / 2 {
                self.options.tcp_pacing_ss_ratio
            } else {
                self.options.tcp_pacing_ca_ratio
            });
        let mut rate = u64::from(self.mss_cache()) * ((1_000_000 / 100) << 3);
        rate *= u64::from(ratio);
        rate = rate.saturating_mul(u64::from(self.window.cwnd.max(self.scoreboard.packets_out)));
        if self.rtt.srtt_us8 > 0 {
            rate /= u64::from(self.rtt.srtt_us8);
        }
        self.window.pacing_rate = rate;
    }

    /// Checks whether a zero window has opened (`tcp_ack_probe`).
    fn ack_probe(&mut self) {
        if !self.has_unsent() {
            return;
        }
        let end = self.write_seq + u64::from(self.fin);
        let head_end = (self.snd_nxt + u64::from(self.mss)).min(end);
        if head_end <= self.snd_una + self.snd_wnd {
            self.xmit_timer.backoff = 0;
            if self.xmit_timer.pending == Pending::ZeroWindowProbe {
                self.clear_timer();
            }
        } else {
            let when = self.probe0_jiffies();
            self.reset_xmit_timer(Pending::ZeroWindowProbe, when);
        }
    }

    /// RTO with back-off, ticks (`icsk_rto`).
    pub(crate) fn rto_jiffies(&self) -> u64 {
        self.rtt.rto_jiffies(self.xmit_timer.backoff)
    }
}

/// Segments that one ACK removed from the queue.
#[derive(Clone, Copy, Debug, Default)]
struct AckedSegments {
    packets: u32,
    /// Send times of the first and last segment that was never retransmitted or SACKed.
    first_us: Option<u64>,
    last_us: u64,
    /// Lowest sequence number of these segments.
    reord: Option<u64>,
}
