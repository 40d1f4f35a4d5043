//! ACK policy of the receiver: delayed ACKs (RFC 1122 §4.2.3.2), quick ACKs, SACK compression.

use super::receiver::Receiver;
use crate::soft_timers::SoftRange;
use dumbbell_model::{DelayedAck, Span};
use dumbbell_packet::tcp::Flags;
use dumbbell_packet::Segment;

/// Number of duplicate ACKs that are never compressed (TCP_FASTRETRANS_THRESH).
const DUPACKS_UNCOMPRESSED: u32 = 3;
/// Maximum delay of an ACK (TCP_DELACK_MAX).
const DELACK_MAX_MS: u64 = 200;

impl Receiver {
    pub(super) fn incr_quickack(&mut self, most: u32) {
        if self.options.delayed_ack == DelayedAck::EverySecond {
            return;
        }
        let quick = (self.rcv_wnd / (2 * self.ack.rcv_mss)) as u32;
        let quick = if quick == 0 { 2 } else { quick }.min(most);
        self.ack.quick = self.ack.quick.max(quick);
    }

    pub(super) fn enter_quickack(&mut self, most: u32) {
        self.incr_quickack(most);
        self.ack.interactive = false;
        self.ack.ato = self.ato_min;
    }

    /// Returns true in quick-ACK mode.
    pub(super) fn sends_quick(&self) -> bool {
        self.ack.quick > 0 && !self.ack.interactive
    }

    /// Sends an ACK if one is due, or delays it (`__tcp_ack_snd_check`; RFC 1122 §4.2.3.2, RFC 5681
    /// §4.2).
    pub(crate) fn ack_check(&mut self) {
        if !self.ack.scheduled && !self.ack.now {
            return;
        }
        if self.options.delayed_ack == DelayedAck::Never {
            self.send_ack();
            return;
        }
        if self.rcv_nxt - self.rcv_wup > self.ack.rcv_mss {
            let selected = self.select_window();
            let waits = self.rcv_nxt - self.copied_seq < self.sink.lowat_bytes;
            if waits || selected >= self.rcv_wnd {
                self.send_of_window(selected, Flags::default());
                return;
            }
            self.end_quick_acks();
        }
        if self.sends_quick() || self.ack.now {
            self.send_ack();
            return;
        }
        if self.reassembly.is_empty() {
            self.delay_ack();
            return;
        }
        self.compress_ack();
    }

    /// Compresses SACKs: after three duplicate ACKs, further ones wait for a share of the RTT,
    /// 1 ms at most.
    pub(super) fn compress_ack(&mut self) {
        if !self.options.tcp_sack || self.compressed >= self.options.tcp_comp_sack_nr {
            self.send_ack();
            return;
        }
        if self.compressed_rcv_nxt != self.rcv_nxt {
            self.compressed_rcv_nxt = self.rcv_nxt;
            self.dup_acks = 0;
        }
        if self.dup_acks < DUPACKS_UNCOMPRESSED {
            self.dup_acks += 1;
            self.send_ack();
            return;
        }
        self.compressed += 1;
        if self.compressed_timer.is_queued() {
            return;
        }
        let mut rtt_us8 = self.rcv_rtt_us8;
        if self.srtt_us8 > 0 && self.srtt_us8 < rtt_us8 {
            rtt_us8 = self.srtt_us8;
        }
        let share = u64::from(self.options.tcp_comp_sack_rtt_percent);
        let delay_ns =
            (rtt_us8 * (1000 >> 3) * share / 100).min(self.options.tcp_comp_sack_delay.as_ns());
        let soft = self.now + Span::from_ns(delay_ns);
        self.compressed_timer = SoftRange { soft, hard: soft + self.options.tcp_comp_sack_slack };
    }

    pub(super) fn send_compressed(&mut self) {
        if self.compressed > 0 {
            self.send_ack();
        }
    }

    /// Maximum of the delayed ACK's estimate, in ticks.
    pub(super) fn ato_max(&self) -> u64 {
        if self.options.delack_from_rto_min {
            self.rto.min(self.tick.ms(DELACK_MAX_MS))
        } else {
            self.rto
        }
    }

    /// `tcp_delack_max`, in ticks.
    fn delack_max(&self) -> u64 {
        let most = self.tick.ms(DELACK_MAX_MS);
        if self.options.delack_from_rto_min {
            most.min(self.tick.us(self.options.rto_min.as_us()).max(2) - 1)
        } else {
            most
        }
    }

    /// `tcp_send_delayed_ack`.
    pub(super) fn delay_ack(&mut self) {
        let now = self.jiffy.number;
        let delack_min = self.ato_min;
        let mut ato = self.ack.ato;
        if ato > delack_min {
            let mut most = self.tick.ms(500);
            if self.srtt_us8 > 0 {
                most = most.min(self.tick.us(self.srtt_us8 >> 3).max(delack_min));
            }
            ato = ato.min(most);
        }
        ato = ato.min(self.delack_max());
        let mut timeout = now + ato;
        if let Some(due) = self.ack.timer {
            if due <= now + (ato >> 2) {
                self.send_ack();
                return;
            }
            timeout = timeout.min(due);
        }
        self.ack.timer = Some(timeout);
        self.ack.wheel.set(self.tick, now, timeout);
    }

    pub(super) fn delayed_ack_timeout(&mut self) {
        self.heard_at = self.now;
        if self.compressed > 0 {
            self.send_compressed();
            return;
        }
        let Some(due) = self.ack.timer else { return };
        if due > self.jiffy.number {
            self.ack.wheel.set(self.tick, self.jiffy.number, due);
            return;
        }
        self.ack.timer = None;
        if self.ack.scheduled {
            if self.ack.interactive {
                self.ack.interactive = false;
                self.ack.ato = self.ato_min;
            } else {
                // The application sends no data that could carry the ACK: the next delay is longer.
                self.ack.ato = (self.ack.ato << 1).min(self.ato_max());
            }
            self.send_ack();
        }
    }

    pub(super) fn header(&self) -> Segment {
        match self.multipath_of_ack() {
            None => self.plain_header(),
            option => self.plain_header().with_multipath(option),
        }
    }

    /// Header without SACK blocks and options of Multipath TCP and Accurate ECN.
    #[inline(always)]
    fn plain_header(&self) -> Segment {
        Segment {
            seq: self.snd_nxt.unwrap_or(u64::from(self.fins > 0)),
            ack: self.rcv_nxt,
            timestamps: self.options.tcp_timestamps,
            tsval_ms: (self.heard_at.as_us() / 1000) as u32,
            tsecr_ms: self.ts_recent_ms,
            flags: Flags { ace: self.ecn_ace(), ..Flags::default() },
            window_bytes: self.rcv_wnd.min(u64::from(u32::MAX)) as u32,
            ..Segment::default()
        }
    }

    /// Returns true if a header needs no option but timestamps.
    #[inline(always)]
    fn has_plain_header(&self) -> bool {
        self.subflow.is_none() && self.sack_count == 0 && self.dsack.is_none() && !self.ecn.option
    }

    /// Reads the clock before an ACK from a read or from the timer of compressed ACKs
    /// (`__tcp_cleanup_rbuf`, `tcp_compressed_ack_kick`). Kernels before `tcp_rcvbuf_grow` do not:
    /// that ACK has the time stamp of the last segment or read.
    pub(super) fn read_clock_for_ack(&mut self) {
        if self.options.rcvbuf_grow {
            self.heard_at = self.now;
        }
    }

    /// `tcp_send_ack`.
    pub(super) fn send_ack(&mut self) {
        self.send(Flags::default());
    }

    /// Sends an ACK of an earlier `rcv_nxt`, which leaves a delayed ACK pending (`__tcp_send_ack`).
    pub(super) fn send_special_ack(&mut self, rcv_nxt: u64) {
        let window_bytes = self.set_window(self.select_window()) as u32;
        let mut header = self.header();
        self.fill_sack(&mut header);
        self.fill_counters(&mut header);
        self.push(Segment { ack: rcv_nxt, ..header }, window_bytes, Flags::default());
        self.told_counters();
    }

    /// Sends an ACK on behalf of the Multipath TCP connection.
    pub(crate) fn send_now(&mut self) {
        self.send_ack();
    }

    /// Sends a segment without data: an ACK with the given flags.
    pub(super) fn send(&mut self, flags: Flags) {
        self.send_of_window(self.select_window(), flags);
    }

    fn send_of_window(&mut self, selected: u64, flags: Flags) {
        let window_bytes = self.set_window(selected) as u32;
        if self.has_plain_header() {
            self.push(self.plain_header(), window_bytes, flags);
        } else {
            self.push_with_options(window_bytes, flags);
        }
        self.ack_sent();
    }

    #[inline(never)]
    fn push_with_options(&mut self, window_bytes: u32, flags: Flags) {
        let mut header = self.header();
        self.fill_sack(&mut header);
        self.fill_counters(&mut header);
        self.push(header, window_bytes, flags);
    }

    #[inline(always)]
    fn push(&mut self, header: Segment, window_bytes: u32, flags: Flags) {
        let seq = header.seq - u64::from(flags.fin);
        let flags = Flags { fin: flags.fin, ..header.flags };
        self.out.push(&Segment { seq, window_bytes, flags, ..header });
    }

    /// ACK fields of a data segment of the same endpoint. Changes no state.
    pub(super) fn carried(&self) -> Segment {
        let window = if self.established { self.offered_window() } else { self.rcv_wnd };
        let mut segment = Segment { window_bytes: window as u32, ..self.header() };
        self.fill_sack(&mut segment);
        if !self.has_option_on_demand() {
            self.fill_counters(&mut segment); // Otherwise the sender does, skb by skb.
        }
        segment
    }

    /// Processes the transmission of an ACK by the sender, with or without data.
    pub(super) fn carried_ack(&mut self, data: bool) {
        self.heard_at = self.now; // `tcp_write_xmit`
        if self.established {
            self.set_window(self.select_window());
            self.ack_sent();
        }
        // tcp_event_data_sent
        let since = self.jiffy.number - self.ack.last_data;
        if data && since < self.ack.ato {
            self.ack.interactive = true;
        }
    }

    /// `tcp_event_ack_sent`.
    fn ack_sent(&mut self) {
        self.told_counters();
        self.dsack = None;
        self.compressed = 0;
        self.compressed_timer = SoftRange::NOT_QUEUED;
        if self.ack.quick > 0 {
            let counted = u32::from(self.ack.scheduled || self.ack.now);
            if counted >= self.ack.quick {
                self.ack.quick = 0;
                self.ack.ato = self.ato_min;
            } else {
                self.ack.quick -= counted;
            }
        }
        self.ack.scheduled = false;
        self.ack.now = false;
        self.ack.pushed = 0;
        self.ack.timer = None; // The timer stays on the wheel (INET_CSK_CLEAR_TIMERS is not defined).
    }
}
