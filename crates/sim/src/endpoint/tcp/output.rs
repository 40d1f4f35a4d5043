//! Output of new data (Linux's tcp_output.c): windows, pacing, small queues, Nagle with Minshall's
//! rule (RFC 1122 §4.2.3.4).

use super::rtx_queue::{SegmentId, Sent};
use super::sender::Sender;
use super::xmit_timer::Pending;
use dumbbell_cc::{CaEvent, CaState};
use dumbbell_model::Time;
use dumbbell_packet::frame::ETHERNET_HEADER_BYTES;
use dumbbell_packet::tcp::Flags;
use dumbbell_packet::{Cause, Segment};

/// Number of the first segment that is paced (`tcp_update_skb_after_send`).
const FIRST_PACED_SEGMENT: u64 = 10;
/// sk_pacing_shift: small queues hold about 1 ms at the pacing rate.
const PACING_SHIFT: u32 = 10;
/// Maximum bytes of a GSO skb (GSO_MAX_SIZE less headers).
pub(crate) const GSO_MAX_BYTES: u64 = 65_536 - 1 - 320;
/// tcp_tso_rtt_log: skbs are larger for small RTTs.
const TSO_RTT_LOG: u32 = 9;
const NS_PER_MS: u64 = 1_000_000;

/// Mode of sending from the write queue (`push_one` and `nonagle` of `tcp_write_xmit`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Push {
    /// All data that the windows allow. Nagle may hold back a small segment.
    Pending,
    /// All data that the windows allow.
    Forced,
    /// One skb within the windows.
    One,
    /// One skb within the windows; if the congestion window is full, one segment (`push_one` 2).
    Probe,
    /// One segment of at most `most_bytes` bytes, regardless of the congestion window.
    Fitting { most_bytes: u32 },
}

/// Reason to defer an skb until it is larger.
enum Defer {
    No,
    /// Waits for the congestion window.
    CongestionWindow,
    /// Waits for the receive window, or for more data from the application.
    Other,
}

impl Sender {
    /// `tcp_data_snd_check`.
    pub(crate) fn data_snd_check(&mut self) {
        self.push_pending();
        self.check_space();
    }

    /// `__tcp_push_pending_frames`.
    pub(crate) fn push_pending(&mut self) {
        self.push(Push::Pending);
    }

    /// Sends pending data in the given mode.
    pub(super) fn push(&mut self, push: Push) {
        if self.has_unsent() && self.write_xmit(push) {
            self.check_probe_timer();
        }
    }

    /// Sends data from the write queue (`tcp_write_xmit`). Returns true if nothing is in flight and
    /// nothing could be sent.
    pub(crate) fn write_xmit(&mut self, push: Push) -> bool {
        self.fit_option_on_demand();
        let (most_bytes, probe) = match push {
            Push::Fitting { most_bytes } => (most_bytes, true),
            Push::Probe => (u32::MAX, true),
            Push::Pending | Push::Forced | Push::One => (u32::MAX, false),
        };
        let mss = u64::from(self.mss.min(most_bytes));
        let one = probe || push == Push::One;
        let mut sent = 0;
        let mut limited = false;
        let fitting = matches!(push, Push::Fitting { .. });
        let burst_segments = if fitting { 1 } else { self.burst_segments() };
        while self.has_unsent() {
            if self.pacing_blocked() {
                break;
            }
            let in_flight = self.in_flight();
            let mut head = self.write_queue.head_bytes();
            // A last segment with FIN ignored the congestion window (tcp_cwnd_test until 6.9).
            let closes = self.options.fin_beyond_cwnd
                && self.fin
                && self.write_queue.head_is_tail()
                && head <= mss;
            if in_flight >= self.window.cwnd && !probe && !closes {
                break;
            }
            // At least two bursts per window (tcp_cwnd_test).
            let cwnd_left = self.window.cwnd.saturating_sub(in_flight).max(1);
            let quota = cwnd_left.min((self.window.cwnd >> 1).max(1)).min(burst_segments);
            if self.options.grow_skb {
                let most = (u64::from(quota) * mss).saturating_sub(head);
                self.write_queue.grow_head(most, self.subflow.is_some());
                head = self.write_queue.head_bytes();
            }
            let first = head.min(mss) + u64::from(self.fin && head == 0);
            let window_end = self.snd_una + self.snd_wnd;
            if self.snd_nxt + first > window_end {
                break;
            }
            if head > mss && !one {
                match self.defers(burst_segments, head) {
                    Defer::No => {}
                    Defer::CongestionWindow => {
                        limited = true;
                        break;
                    }
                    Defer::Other => break,
                }
            }
            let last = self.write_queue.head_is_tail() && self.fin;
            let Some(length) = self.burst_length(push, u64::from(quota) * mss, last) else { break };
            let last = last && length == head;
            if self.small_queue_blocked(length, 0) {
                self.write_queue.split_head(length);
                break;
            }
            let fits = self.snd_nxt + length < window_end;
            sent += self.send_burst(length, last && fits);
            if one || (last && !fits) {
                break;
            }
        }
        limited |= self.in_flight() >= self.window.cwnd;
        if sent > 0 || limited {
            self.cwnd_validate(limited);
        }
        if sent > 0 {
            if self.in_cwnd_reduction() {
                self.congestion.prr_out += sent;
            }
            if !probe {
                self.schedule_loss_probe(false);
            }
            return false;
        }
        self.scoreboard.packets_out == 0 && self.has_unsent()
    }

    /// Bytes of the next skb, at most `quota_bytes` (`tcp_mss_split_point`); `last` is true if the
    /// FIN follows the first skb of the queue. Returns `None` if Nagle's algorithm holds them.
    #[inline]
    fn burst_length(&self, push: Push, quota_bytes: u64, last: bool) -> Option<u64> {
        let mss = u64::from(self.mss);
        let head = self.write_queue.head_bytes();
        let window = self.snd_una + self.snd_wnd - self.snd_nxt;
        let mut length = head.min(quota_bytes);
        if self.write_queue.head_is_tail() || (head > mss && quota_bytes > window) {
            length = length.min(window);
            let partial = length % mss;
            if partial > 0
                && length < quota_bytes
                && !last
                && push == Push::Pending
                && self.nagle_holds()
            {
                length -= partial; // Minshall: one small segment at a time.
                if length == 0 {
                    return None;
                }
            }
        }
        Some(length)
    }

    /// Returns true if Nagle's algorithm holds a small segment.
    fn nagle_holds(&self) -> bool {
        !self.buffer.nodelay && self.scoreboard.packets_out > 0 && self.small_seq > self.snd_una
    }

    /// Maximum segments per skb: about 1 ms at the pacing rate, more for small RTTs
    /// (`tcp_tso_autosize`). TCP builds such skbs for every device since Linux 4.17. If the device
    /// has no TSO, they are segmented below the qdisc.
    pub(super) fn burst_segments(&mut self) -> u32 {
        if !self.options.gso {
            return 1;
        }
        self.random();
        if let Some(segments) = self.cc.tso_segs(self.mss, &self.window) {
            return segments;
        }
        let least = self.cc.min_tso_segs(&self.window).unwrap_or(self.options.tcp_min_tso_segs);
        let mut bytes = self.window.pacing_rate >> PACING_SHIFT;
        let halvings = self.rtt.min_us() >> TSO_RTT_LOG;
        if halvings < u32::BITS {
            bytes += GSO_MAX_BYTES >> halvings;
        }
        let bytes = bytes.min(GSO_MAX_BYTES);
        ((bytes / u64::from(self.mss)) as u32).max(least)
    }

    /// Decides whether to wait for the next ACK and send a larger skb; the first skb has `head`
    /// bytes (`tcp_tso_should_defer`).
    fn defers(&self, burst_segments: u32, head: u64) -> Defer {
        if self.congestion.state >= CaState::Recovery {
            return Defer::No;
        }
        let now_ns = self.now.as_ns();
        if now_ns > self.pacer.earliest_ns() + NS_PER_MS {
            return Defer::No; // The last write was more than 1 ms ago.
        }
        let mss = u64::from(self.mss_cache());
        let send_window = self.snd_una + self.snd_wnd - self.snd_nxt;
        let cong_window = u64::from(self.window.cwnd - self.in_flight()) * mss;
        let limit = send_window.min(cong_window);
        if limit >= u64::from(burst_segments) * mss {
            return Defer::No;
        }
        // An skb that is not the last one gets no more data.
        if !self.write_queue.head_is_tail() && limit >= head {
            return Defer::No;
        }
        // A third of the window is worth sending (tcp_tso_win_divisor).
        if limit >= self.snd_wnd.min(u64::from(self.window.cwnd) * mss) / 3 {
            return Defer::No;
        }
        let Some(oldest) = self.queue.front() else { return Defer::No };
        let srtt_ns = u64::from(self.rtt.srtt_us8) * (1000 >> 3);
        let expected_ack = oldest.sent_ns + srtt_ns;
        if expected_ack > now_ns + (srtt_ns >> 1).min(NS_PER_MS) {
            return Defer::No; // The next ACK is too late.
        }
        if cong_window < send_window && cong_window <= head {
            return Defer::CongestionWindow;
        }
        let by_receiver = cong_window >= send_window && send_window <= head;
        if !by_receiver && self.fin && self.write_queue.head_is_tail() {
            return Defer::No;
        }
        Defer::Other
    }

    /// Sends `length` new bytes as one skb (`tcp_transmit_skb`, `tcp_event_new_data_sent`). Returns
    /// the number of segments.
    fn send_burst(&mut self, length: u64, fin: bool) -> u32 {
        let mss = u64::from(self.mss);
        let segments = length.div_ceil(mss).max(1) as u32;
        self.note_first_skb(length);
        self.stamp(length, segments, false);
        let in_flight = self.in_flight() + segments;
        let prior_packets = self.scoreboard.packets_out;
        let push = self.write_queue.take(length);
        let mut left = length;
        self.begin_skb(0);
        for index in 1..=segments {
            let payload_bytes = left.min(mss) as u32;
            left -= u64::from(payload_bytes);
            let mut segment = Sent::new(self.snd_nxt, payload_bytes, fin && index == segments);
            segment.push = push && index == segments;
            segment.continues_skb = index > 1;
            segment.sent_ns = self.pacer.departs_ns();
            if index == segments {
                segment.overhead_bytes = self.options.skb_overhead_bytes() as u16;
            }
            self.rate_segment_sent(&mut segment, in_flight);
            let end = segment.end();
            self.queue.push(segment);
            // The last segment of a multi-segment skb has PSH to end coalescing at the receiver.
            // Single retransmitted segments do not (`__tcp_transmit_skb`).
            segment.push |= segments > 1 && index == segments;
            self.emit(&segment, Cause::New);
            self.snd_nxt = end;
            self.scoreboard.packets_out += 1;
            if payload_bytes < self.mss {
                self.small_seq = end;
            }
        }
        self.buffer.sent_skbs += 1;
        self.note_skb();
        if prior_packets == 0 || self.xmit_timer.pending == Pending::LossProbe {
            self.rearm_rto();
        }
        self.check_space();
        segments
    }

    /// Sets the departure time of an skb, and of the next skb if paced (`__tcp_transmit_skb`,
    /// `tcp_update_skb_after_send`).
    pub(super) fn stamp(&mut self, bytes: u64, segments: u32, same_skb: bool) {
        if bytes > 0 {
            // `tcp_event_data_sent`
            if self.in_flight() == 0 {
                self.cwnd_event(CaEvent::TxStart);
            }
            self.last_send = self.jiffies();
            self.counters.data_packets += u64::from(segments);
        }
        let rate = self.window.pacing_rate;
        let unpaced = self.counters.data_packets < FIRST_PACED_SEGMENT;
        let paced = self.window.pacing && rate != u64::MAX && rate > 0 && !unpaced;
        self.pacer.sent(self.now, same_skb, bytes, paced.then_some(rate));
    }

    /// Puts a segment on the wire, or into fq.
    pub(super) fn emit(&mut self, sent: &Sent, cause: Cause) {
        if self.has_plain_header() {
            self.emit_with(self.plain_header(), sent, cause);
        } else {
            self.emit_with_options(sent, cause);
        }
    }

    #[inline(never)]
    fn emit_with_options(&mut self, sent: &Sent, cause: Cause) {
        self.emit_with(self.segment_header(), sent, cause);
    }

    #[inline(always)]
    fn emit_with(&mut self, header: Segment, sent: &Sent, cause: Cause) {
        let Sent { seq, payload_bytes, .. } = *sent;
        let mut segment = Segment {
            seq,
            payload_bytes,
            tsval_ms: (self.pacer.departs_ns() / NS_PER_MS) as u32,
            flags: Flags { fin: sent.fin, psh: sent.push, ..header.flags },
            cause,
            ..header
        };
        if payload_bytes > 0 && self.subflow.is_some() {
            segment = segment.with_multipath(self.multipath_of_data(seq, payload_bytes));
        }
        if segment.entries.blocks() > 0
            && segment.frame_bytes() > ETHERNET_HEADER_BYTES + self.options.mtu_bytes
        {
            segment.clear_sack(); // The header has no space for them.
        }
        self.sent_since.any = true;
        self.sent_since.data |= payload_bytes > 0;
        self.ecn_send(&mut segment);
        self.release_fq();
        if self.pacer.holds(self.now) {
            let leaves = self.pacer.wait(segment);
            if payload_bytes > 0 {
                let memory = u64::from(payload_bytes) + u64::from(sent.overhead_bytes);
                self.host_queue.count(memory);
                self.host_queue.queued(memory, Some(leaves));
            }
        } else {
            if payload_bytes > 0 {
                if self.host_queue.is_below_tcp() {
                    self.count_host_queue();
                } else {
                    let memory = u64::from(payload_bytes) + u64::from(sent.overhead_bytes);
                    // Subflows do not count it: over 36 cells the kernel's goodput is met as well
                    // without, and opportunistic retransmissions need idle subflows.
                    if self.subflow.is_none() {
                        self.host_queue.pass(self.now, memory);
                    }
                }
            }
            self.out.push(&segment);
        }
    }

    /// Ends an skb of `segments` retransmitted segments before `next`. The last of several has PSH
    /// (`__tcp_transmit_skb`). The rest of the original skb becomes a separate skb
    /// (`tcp_fragment`).
    pub(super) fn end_skb(&mut self, next: SegmentId, segments: u32) {
        if segments > 0 {
            self.split_before(next);
        }
        let queued = self.pacer.last_waiting();
        if let Some(last) = queued.or(self.out.last_mut()).filter(|_| segments > 1) {
            last.flags.psh = true;
        }
    }

    /// Releases segments from fq that are due. Free space in fq wakes TCP (`tcp_wfree`).
    pub(crate) fn release_fq(&mut self) {
        while let Some(segment) = self.pacer.release(self.now) {
            // The segment moves from fq into the queue of the link.
            if self.host_queue.is_below_tcp() && segment.payload_bytes > 0 {
                self.count_host_queue();
            }
            self.out.push(&segment);
        }
    }

    /// Returns true if TCP's own pacing blocks sending, and sets the timer (`tcp_pacing_check`).
    pub(super) fn pacing_blocked(&mut self) -> bool {
        self.window.pacing && self.pacer.blocks(self.now)
    }

    /// Applies TCP small queues: at most about 1 ms of data, and at least two segments, in the
    /// host's own queue; twice as much for retransmissions (`tcp_small_queue_check`).
    pub(super) fn small_queue_blocked(&mut self, bytes: u64, factor: u32) -> bool {
        let skb = if self.host_queue.is_below_tcp() {
            self.segment_memory()
        } else {
            bytes + self.options.skb_overhead_bytes()
        };
        let mut limit = (2 * skb).max(self.window.pacing_rate >> PACING_SHIFT);
        if !self.window.pacing {
            limit = limit.min(self.options.tcp_limit_output_bytes);
        }
        if !self.host_queue.exceeds(self.now, limit << factor)
            || self.queue.is_empty_or_single_skb()
        {
            return false;
        }
        self.host_queue.throttle(self.now);
        true
    }

    /// Counts a segment in the host's queue with an unknown departure time.
    fn count_host_queue(&mut self) {
        self.host_queue.count(self.segment_memory());
    }

    /// Sets the departure time of a segment in the host's queue; `None` if it was dropped.
    pub(crate) fn host_queued(&mut self, leaves: Option<Time>) {
        self.host_queue.queued(self.segment_memory(), leaves);
    }

    fn segment_memory(&self) -> u64 {
        u64::from(self.mss) + self.options.skb_overhead_bytes()
    }

    /// Continues after space in the host's queue or at the next pacing time (`tcp_tsq_write`).
    pub(crate) fn tsq_write(&mut self) {
        if self.scoreboard.lost_out > self.scoreboard.retrans_out
            && self.window.cwnd > self.in_flight()
        {
            self.xmit_retransmit_queue();
        }
        if self.has_unsent() {
            self.write_xmit(Push::Pending);
        }
        self.check_space();
    }
}
