//! Sending (Linux's tcp_output.c): new data, retransmissions, pacing, small queues, window
//! validation (RFC 2861), Nagle with Minshall's rule (RFC 1122 §4.2.3.4).

use super::rtx_queue::{Sent, SegmentId};
use super::sender::{Pending, Retransmission, Sender};
use dumbbell_cc::{CaEvent, CaState};
use dumbbell_model::Time;
use dumbbell_packet::tcp::Flags;
use dumbbell_packet::Segment;

/// The first segments are not paced (as fq's initial quantum).
const UNPACED_SEGMENTS: u64 = 10;
/// sk_pacing_shift: small queues hold about a millisecond of the pacing rate.
const PACING_SHIFT: u32 = 10;

impl Sender {
    /// `tcp_data_snd_check`.
    pub(crate) fn data_snd_check(&mut self) {
        self.push_pending();
        self.check_space();
    }

    /// `__tcp_push_pending_frames`.
    pub(crate) fn push_pending(&mut self) {
        if self.has_unsent() && self.write_xmit(false) {
            self.check_probe_timer();
        }
    }

    /// `tcp_write_xmit`. With `probe`, exactly one segment whatever the window says. True if
    /// nothing is out and nothing could be sent.
    pub(crate) fn write_xmit(&mut self, probe: bool) -> bool {
        let mut sent = 0;
        while self.has_unsent() {
            if self.pacing_blocked() {
                break;
            }
            if self.in_flight() >= self.window.cwnd && !probe {
                break;
            }
            let unsent = self.write_seq - self.snd_nxt;
            let payload = unsent.min(u64::from(self.mss)) as u32;
            let fin = self.fin && u64::from(payload) == unsent;
            let end = self.snd_nxt + u64::from(payload) + u64::from(fin);
            if end > self.snd_una + self.snd_wnd {
                break;
            }
            let partial = payload < self.mss && !fin && !probe;
            if partial && self.packets_out > 0 && self.small_seq > self.snd_una {
                break; // Minshall: one small segment at a time.
            }
            if self.small_queue_blocked(0) {
                break;
            }
            self.send_new(payload, fin);
            sent += 1;
            if probe {
                break;
            }
        }
        let limited = self.in_flight() >= self.window.cwnd;
        if sent > 0 || limited {
            self.cwnd_validate(limited);
        }
        if sent > 0 {
            if self.in_cwnd_reduction() {
                self.prr_out += sent;
            }
            if !probe {
                self.schedule_loss_probe(false);
            }
            return false;
        }
        self.packets_out == 0 && self.has_unsent()
    }

    /// Sends the next new segment (`tcp_transmit_skb`, `tcp_event_new_data_sent`).
    fn send_new(&mut self, payload_bytes: u32, fin: bool) {
        let mut segment = Sent::new(self.snd_nxt, payload_bytes, fin);
        self.stamp(&mut segment);
        let (seq, end) = (segment.seq, segment.end());
        let id = self.queue.push(segment);
        self.queue.list_newest(id);
        self.emit(seq, payload_bytes, fin);
        let prior_packets = self.packets_out;
        self.snd_nxt = end;
        if payload_bytes < self.mss {
            self.small_seq = end;
        }
        self.packets_out += 1;
        if prior_packets == 0 || self.pending == Pending::LossProbe {
            self.rearm_rto();
        }
        self.check_space();
    }

    /// Gives a segment its time of departure and delivery snapshot, and counts it.
    fn stamp(&mut self, segment: &mut Sent) {
        if self.in_flight() == 0 {
            self.cwnd_event(CaEvent::TxStart);
        }
        self.last_send = self.jiffies();
        self.counters.data_packets += 1;
        let prior_wstamp_ns = self.wstamp_ns;
        self.wstamp_ns = self.wstamp_ns.max(self.now.as_ns());
        segment.sent_ns = self.wstamp_ns;
        self.rate_segment_sent(segment);
        let paced = self.window.pacing || self.fq;
        let rate = self.window.pacing_rate;
        if paced && rate != u64::MAX && rate > 0 && self.counters.data_packets >= UNPACED_SEGMENTS
        {
            let mut length_ns = u64::from(segment.payload_bytes) * 1_000_000_000 / rate;
            // A late timer is made up for, by half a segment's time at most.
            let credit = self.wstamp_ns - prior_wstamp_ns;
            length_ns -= (length_ns / 2).min(credit);
            self.wstamp_ns += length_ns;
        }
    }

    fn emit(&mut self, seq: u64, payload_bytes: u32, fin: bool) {
        let psh = seq + u64::from(payload_bytes) == self.write_seq;
        let header = self.segment_header();
        self.out.push(Segment {
            seq,
            payload_bytes,
            flags: Flags { syn: false, fin, psh },
            ..header
        });
    }

    /// Paced and too early: sets the timer (`tcp_pacing_check`).
    fn pacing_blocked(&mut self) -> bool {
        if !(self.window.pacing || self.fq) || self.wstamp_ns <= self.now.as_ns() {
            return false;
        }
        if self.pacing_timer.is_none() {
            self.pacing_timer = Some(Time::from_ns(self.wstamp_ns));
        }
        true
    }

    /// TCP small queues: about a millisecond of data, at least two segments, in the host's own
    /// queue; twice that for retransmissions (`tcp_small_queue_check`).
    fn small_queue_blocked(&mut self, factor: u32) -> bool {
        while self.host_queue.front().is_some_and(|(leaves, _)| *leaves <= self.now) {
            if let Some((_, bytes)) = self.host_queue.pop_front() {
                self.host_queue_bytes -= bytes;
            }
        }
        let segment = u64::from(self.mss) + super::sender::SEGMENT_OVERHEAD_BYTES;
        let mut limit = (2 * segment).max(self.window.pacing_rate >> PACING_SHIFT);
        if !(self.window.pacing || self.fq) {
            limit = limit.min(self.options.tcp_limit_output_bytes);
        }
        if self.host_queue_bytes <= limit << factor || self.queue.len() <= 1 {
            return false;
        }
        self.small_queue_timer = self.host_queue.front().map(|(leaves, _)| *leaves);
        true
    }

    /// The host's queue took one of our segments and will let it go at `leaves`.
    pub(crate) fn host_queued(&mut self, leaves: Time) {
        let bytes = u64::from(self.mss) + super::sender::SEGMENT_OVERHEAD_BYTES;
        self.host_queue.push_back((leaves, bytes));
        self.host_queue_bytes += bytes;
    }

    /// Room in the host's queue, or time for the next paced segment (`tcp_tsq_write`).
    pub(crate) fn tsq_write(&mut self) {
        if self.lost_out > self.retrans_out && self.window.cwnd > self.in_flight() {
            self.xmit_retransmit_queue();
        }
        if self.has_unsent() {
            self.write_xmit(false);
        }
        self.check_space();
    }

    /// Was the window the limit, in this round? (`tcp_cwnd_validate`)
    fn cwnd_validate(&mut self, limited: bool) {
        if self.snd_una >= self.cwnd_usage_seq
            || limited
            || (!self.cwnd_limited && self.packets_out > self.max_packets_out)
        {
            self.cwnd_limited = limited;
            self.max_packets_out = self.packets_out;
            self.cwnd_usage_seq = self.snd_nxt;
        }
        if self.is_cwnd_limited() {
            self.cwnd_used = 0;
            self.cwnd_stamp = self.jiffies();
            return;
        }
        self.cwnd_used = self.cwnd_used.max(self.packets_out);
        if self.options.tcp_slow_start_after_idle
            && self.jiffies() - self.cwnd_stamp >= self.rto_jiffies()
            && !self.cc.controls_rate()
        {
            self.cwnd_application_limited();
        }
    }

    /// `tcp_is_cwnd_limited`.
    pub(crate) fn is_cwnd_limited(&self) -> bool {
        self.cwnd_limited
            || (self.window.in_slow_start() && self.window.cwnd < 2 * self.max_packets_out)
    }

    /// RFC 2861 §3.2: an application-limited window decays (`tcp_cwnd_application_limited`).
    fn cwnd_application_limited(&mut self) {
        if self.state == CaState::Open && !self.no_space {
            let used = self.cwnd_used.max(self.options.initcwnd);
            if used < self.window.cwnd {
                self.window.ssthresh = self.current_ssthresh();
                self.window.cwnd = (self.window.cwnd + used) >> 1;
            }
            self.cwnd_used = 0;
        }
        self.cwnd_stamp = self.jiffies();
    }

    /// RFC 2861 §3.1, RFC 5681 §4.1: after an idle RTO the window restarts
    /// (`tcp_slow_start_after_idle_check`, `tcp_cwnd_restart`).
    pub(crate) fn slow_start_after_idle_check(&mut self) {
        if !self.options.tcp_slow_start_after_idle
            || self.packets_out > 0
            || self.cc.controls_rate()
            || self.counters.data_packets == 0
        {
            return;
        }
        let rto = self.rto_jiffies();
        let mut idle = self.jiffies() - self.last_send;
        if idle <= rto {
            return;
        }
        self.cwnd_event(CaEvent::CwndRestart);
        self.window.ssthresh = self.current_ssthresh();
        let restart = self.options.initcwnd.min(self.window.cwnd);
        let mut cwnd = self.window.cwnd;
        while idle > rto && cwnd > restart {
            idle -= rto;
            cwnd >>= 1;
        }
        self.window.cwnd = cwnd.max(restart);
        self.cwnd_stamp = self.jiffies();
        self.cwnd_used = 0;
    }

    /// Sends a segment once more (`__tcp_retransmit_skb`); false if the window forbids it.
    pub(crate) fn retransmit_raw(&mut self, id: SegmentId, why: Retransmission) -> bool {
        let mut segment = *self.queue.get(id);
        if segment.seq >= self.snd_una + self.snd_wnd && segment.seq != self.snd_una {
            return false;
        }
        self.counters.retransmitted += 1;
        match why {
            Retransmission::Fast => self.counters.fast += 1,
            Retransmission::Timeout => self.counters.timeout += 1,
            Retransmission::Probe => self.counters.probe += 1,
        }
        self.stamp(&mut segment);
        segment.ever_retransmitted = true;
        let (seq, payload, fin) = (segment.seq, segment.payload_bytes, segment.fin);
        let stored = self.queue.get_mut(id);
        stored.sent_ns = segment.sent_ns;
        stored.first_tx_us = segment.first_tx_us;
        stored.delivered_us = segment.delivered_us;
        stored.delivered = segment.delivered;
        stored.app_limited = segment.app_limited;
        stored.ever_retransmitted = true;
        self.queue.list_newest(id);
        self.emit(seq, payload, fin);
        true
    }

    /// `tcp_retransmit_skb`.
    pub(crate) fn retransmit(&mut self, id: SegmentId, why: Retransmission) -> bool {
        let sent = self.retransmit_raw(id, why);
        let segment = self.queue.get_mut(id);
        if sent {
            segment.retransmitted = true;
            self.retrans_out += 1;
        }
        let stamp_ms = (segment.sent_ns / 1_000_000) as u32;
        self.retrans_stamp_ms.get_or_insert(stamp_ms);
        self.undo_retrans = self.undo_retrans.max(0) + 1;
        sent
    }

    /// Retransmits what is marked lost as far as the window allows
    /// (`tcp_xmit_retransmit_queue`).
    pub(crate) fn xmit_retransmit_queue(&mut self) {
        if self.packets_out == 0 {
            return;
        }
        let head = self.queue.front_id();
        let mut id = self.retransmit_hint.unwrap_or(head);
        let mut hole_seen = false;
        let mut rearm = false;
        let why = if self.state == CaState::Loss {
            Retransmission::Timeout
        } else {
            Retransmission::Fast
        };
        while id < self.queue.end_id() {
            if self.pacing_blocked() {
                break;
            }
            if !hole_seen {
                self.retransmit_hint = Some(id);
            }
            if self.window.cwnd <= self.in_flight() || self.retrans_out >= self.lost_out {
                break;
            }
            let segment = self.queue.get(id);
            if !segment.lost {
                if !segment.retransmitted && !segment.sacked {
                    hole_seen = true;
                }
            } else if !segment.sacked && !segment.retransmitted {
                if self.small_queue_blocked(1) || !self.retransmit(id, why) {
                    break;
                }
                if self.in_cwnd_reduction() {
                    self.prr_out += 1;
                }
                if id == head && self.pending != Pending::Reordering {
                    rearm = true;
                }
            }
            id += 1;
        }
        if rearm {
            let rto = self.rto_jiffies();
            self.set_timer(Pending::Retransmit, rto);
        }
    }
}
