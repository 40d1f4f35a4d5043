//! Receiver as in Linux: ACKs (delayed ACKs, quick ACKs, SACK compression), SACK and DSACK blocks
//! (RFC 2018, RFC 2883), window and buffer autotuning (dynamic right-sizing), application reads.

use super::ecn::{Mode, ReceiverEcn};
use super::oow_limit::OowLimit;
use super::out_queue::OutQueue;
use super::reader::Reader;
use super::reassembly::Reassembly;
use super::receive_buffer::{ReceiveQueue, ReceivedSkb, SkbLayout};
use super::receiver_window::DEFAULT_SCALING_RATIO;
use super::sender::Sender;
use super::subflow::ReceivingSubflow;
use crate::events::Turn;
use crate::soft_timers::SoftRange;
use crate::wheel::{earliest, Jiffy, Tick, Timer};
use dumbbell_model::catalogue::congestion_control::Algorithm;
use dumbbell_model::scenario::Sink;
use dumbbell_model::{TcpOptions, Time};
use dumbbell_packet::frame::{ETHERNET_HEADER_BYTES, IPV4_HEADER_BYTES};
use dumbbell_packet::tcp::{SACK_BLOCKS_MAX, TCP_HEADER_BYTES, TIMESTAMPS_BYTES};
use dumbbell_packet::{SackBlock, Segment};
use std::sync::Arc;

/// Maximum number of quick ACKs (TCP_MAX_QUICKACKS).
pub(super) const MAX_QUICKACKS: u32 = 16;
/// Minimum delayed-ACK time-out (TCP_ATO_MIN, TCP_DELACK_MIN), ms.
pub(super) const ATO_MIN_MS: u64 = 40;
/// MSS of a peer that announces none, and the least one, bytes (TCP_MSS_DEFAULT, TCP_MIN_MSS).
const MSS_DEFAULT_BYTES: u32 = 536;
const MSS_MIN_BYTES: u32 = 88;
/// Maximum age of a timestamp relative to the last one, ms (TCP_PAWS_WINDOW).
pub(super) const PAWS_WINDOW_MS: i32 = 1;

/// Delayed-ACK state (`icsk_ack`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckState {
    /// True if an ACK is scheduled.
    pub(super) scheduled: bool,
    /// True if the ACK must be sent at once.
    pub(super) now: bool,
    /// Segments with PSH, or short ones, since the last ACK, up to 2.
    pub(super) pushed: u8,
    /// Quick ACKs left.
    pub(super) quick: u32,
    /// Delayed-ACK time-out in ticks; 0 before the first data.
    pub(super) ato: u64,
    /// Tick at which the delayed ACK is due.
    pub(super) timer: Option<u64>,
    pub(super) wheel: Timer,
    pub(super) last_data: u64,
    /// True if the application responds to data, so that ACKs are piggybacked (`pingpong`).
    pub(super) interactive: bool,
    /// Estimate of the sender's segment size.
    pub(super) rcv_mss: u64,
    /// Length of the last segment, if it was shorter; 0: it was not (`last_seg_size`).
    pub(super) last_segment: u64,
}

/// Receiver of a connection.
pub(crate) struct Receiver {
    pub(super) options: Arc<TcpOptions>,
    pub(super) sink: Sink,
    /// Next sequence number of this side's own data, for pure ACKs; `None` without own data.
    pub(super) snd_nxt: Option<u64>,
    pub(super) tick: Tick,
    pub(super) now: Time,
    pub(super) jiffy: Jiffy,
    /// Ticks of the minimum delayed-ACK time-out.
    pub(super) ato_min: u64,
    /// Segments to put on the wire, in order.
    pub(crate) out: OutQueue,
    /// Time of the first SYN-ACK (`snt_synack`).
    pub(super) syn_ack_at: Option<Time>,
    pub(super) syn_ack_retransmitted: bool,
    /// SYN-ACK retransmission timer (`rsk_timer`).
    pub(super) syn_ack_timer: Timer,
    pub(super) syn_ack_timeouts: u32,
    pub(super) established: bool,
    pub(super) advmss: u64,
    pub(super) wscale: u32,

    pub(crate) rcv_nxt: u64,
    pub(super) rcv_wup: u64,
    pub(super) rcv_wnd: u64,
    pub(super) rcv_ssthresh: u64,
    pub(super) window_clamp: u64,
    pub(super) rcvbuf: u64,
    pub(super) copied_seq: u64,
    pub(super) unread: ReceiveQueue,
    pub(super) reassembly: Reassembly,
    pub(super) fin_at: Option<u64>,
    pub(super) finished: bool,
    /// True once this side's FIN is acknowledged: the socket is gone.
    pub(super) closed: bool,
    /// Time at which the application closes this side; [`Time::NEVER`] if it does not.
    pub(super) close_at: Time,
    /// Number of transmissions of this side's FIN.
    pub(super) fins: u32,
    pub(super) fin_timer: Timer,

    pub(super) ack: AckState,
    pub(super) sacks: [SackBlock; SACK_BLOCKS_MAX],
    pub(super) sack_count: usize,
    pub(super) dsack: Option<SackBlock>,
    pub(super) compressed: u32,
    pub(super) compressed_rcv_nxt: u64,
    pub(super) dup_acks: u32,
    /// Timer of the compressed ACK (`compressed_ack_timer`).
    pub(super) compressed_timer: SoftRange,
    /// The same as the host's soft timers have it.
    queued_timer: SoftRange,

    oow_limit: OowLimit,
    pub(super) ts_recent_ms: u32,
    pub(super) last_tsecr_ms: u32,
    /// Handshake RTT × 8, microseconds.
    pub(super) srtt_us8: u64,
    /// RTO of the handshake (`icsk_rto`), ticks. A receiver without own data keeps it.
    pub(super) rto: u64,
    pub(super) rcv_rtt_us8: u64,
    /// Share of memory that counts as window, in 256ths (`tp->scaling_ratio`).
    pub(super) scaling_ratio: u64,
    /// Start of the current RTT measurement by window (`rcv_rtt_est`).
    pub(super) rcv_rtt_since: Option<Time>,
    pub(super) rcv_rtt_seq: u64,
    /// Time at which the connection last read the clock (`tcp_mstamp`): time stamps of ACKs and
    /// autotuning have this time.
    pub(super) heard_at: Time,
    pub(super) space_time: Time,
    pub(super) space_seq: u64,
    pub(super) space_bytes: u64,
    pub(super) read_at: Option<Time>,
    pub(super) reader: Reader,

    /// Subflow state, for Multipath TCP.
    pub(crate) subflow: Option<Box<ReceivingSubflow>>,
    pub(super) ecn: ReceiverEcn,
    /// ECN field of the segment being processed.
    pub(super) ecn_field: u8,
    /// Segments with only duplicate data.
    pub(crate) duplicate_packets: u64,
    /// Segments rejected by PAWS.
    pub(crate) paws_rejected_packets: u64,
    pub(crate) last_delivery: Option<Time>,
}

impl Receiver {
    pub(crate) fn new(options: &Arc<TcpOptions>, sink: Sink, algorithm: Algorithm) -> Self {
        let header = 40 + if options.tcp_timestamps { 12 } else { 0 };
        Self {
            options: Arc::clone(options),
            sink,
            snd_nxt: None,
            tick: Tick::new(options.hz),
            now: Time::ZERO,
            jiffy: Jiffy::default(),
            ato_min: Tick::new(options.hz).ms(ATO_MIN_MS),
            out: OutQueue::default(),
            syn_ack_at: None,
            syn_ack_retransmitted: false,
            syn_ack_timer: Timer::default(),
            syn_ack_timeouts: 0,
            established: false,
            advmss: u64::from(options.mtu_bytes - header),
            wscale: 0,
            rcv_nxt: 0,
            rcv_wup: 0,
            rcv_wnd: 0,
            rcv_ssthresh: 0,
            window_clamp: 0,
            rcvbuf: options.tcp_rmem[1],
            copied_seq: 0,
            unread: ReceiveQueue::default(),
            reassembly: Reassembly::default(),
            fin_at: None,
            finished: false,
            closed: false,
            close_at: Time::NEVER,
            fins: 0,
            fin_timer: Timer::default(),
            ack: AckState { rcv_mss: 536, ..AckState::default() },
            sacks: Default::default(),
            sack_count: 0,
            dsack: None,
            compressed: 0,
            compressed_rcv_nxt: 0,
            dup_acks: 0,
            compressed_timer: SoftRange::NOT_QUEUED,
            queued_timer: SoftRange::NOT_QUEUED,
            oow_limit: OowLimit::default(),
            ts_recent_ms: 0,
            last_tsecr_ms: 0,
            srtt_us8: 0,
            rto: 0,
            rcv_rtt_us8: 0,
            scaling_ratio: DEFAULT_SCALING_RATIO,
            rcv_rtt_since: None,
            rcv_rtt_seq: 0,
            heard_at: Time::ZERO,
            space_time: Time::ZERO,
            space_seq: 0,
            space_bytes: 0,
            read_at: None,
            reader: Reader::default(),
            subflow: None,
            ecn: ReceiverEcn::new(algorithm),
            ecn_field: 0,
            duplicate_packets: 0,
            paws_rejected_packets: 0,
            last_delivery: None,
        }
    }

    /// Announces the MSS of the host's own device (`tp->advmss`). The peer's may be smaller.
    pub(crate) fn advertise(&mut self, mtu_bytes: u32) {
        let smaller = u64::from(self.options.mtu_bytes);
        self.advmss = self.advmss + u64::from(mtu_bytes) - smaller;
    }

    /// Sets the current time.
    pub(crate) fn set_now(&mut self, now: Time) {
        self.now = now;
        self.tick.follow(&mut self.jiffy, now);
    }

    /// Processes a segment; `ecn_field` is from its IP header (RFC 3168 §5).
    pub(crate) fn on_segment(&mut self, now: Time, segment: &Segment, ecn_field: u8) {
        if !self.reader_holds(now, segment, ecn_field) {
            self.process(now, segment, ecn_field);
        }
    }

    /// Processes a segment while no application owns the socket.
    #[inline(always)]
    pub(super) fn process(&mut self, now: Time, segment: &Segment, ecn_field: u8) {
        let before = self.rcv_nxt;
        if self.on_segment_first(now, segment, ecn_field) {
            self.ack_check();
            self.wake_application(before);
        }
    }

    /// Processes a segment up to the delivery of data. Returns true if data was processed, so that
    /// the ACK check and the application follow.
    pub(crate) fn on_segment_first(&mut self, now: Time, segment: &Segment, ecn_field: u8) -> bool {
        self.set_now(now);
        self.heard_at = now;
        self.ecn_field = ecn_field;
        if self.closed {
            self.on_late_segment(segment);
            return false;
        }
        if segment.flags.is_syn() {
            if !self.established {
                self.on_syn(segment);
            } else if !self.oow_limit.blocks(self.tick, self.jiffy.number) {
                self.send_ack(); // Challenge ACK (RFC 5961 §4.2).
            }
            return false;
        }
        let handshake = !self.established;
        if handshake {
            self.establish(segment);
        }
        if let Some(fin_at) = self.fin_at {
            if self.finished && segment.ack > 0 && segment.payload_bytes == 0 && !segment.flags.fin
            {
                self.fin_timer = Timer::default(); // This side's FIN is acknowledged.
                self.closed = self.subflow.is_none();
                return false;
            }
            debug_assert!(fin_at >= self.copied_seq || self.finished);
        }
        self.answer_join(segment);
        if !self.admits(segment) {
            return false;
        }
        if !handshake {
            self.measure_rtt_by_timestamp(segment);
        }
        if segment.payload_bytes == 0 && !segment.flags.fin {
            return false;
        }
        self.take_mapping(segment);
        self.data_queue(segment);
        true
    }

    /// Validates a segment. Returns true if it is acceptable (`tcp_validate_incoming`).
    pub(super) fn admits(&mut self, segment: &Segment) -> bool {
        if self.paws_rejects(segment) {
            return false;
        }
        if !self.acceptable(segment) {
            self.send_duplicate_ack(segment);
            return false;
        }
        if self.ecn.mode == Mode::Accurate && !self.finished {
            self.count_arrival(segment);
        }
        self.replace_ts_recent(segment);
        true
    }

    /// Rejects a segment whose timestamp is older than the last in-order one, with a duplicate ACK
    /// (PAWS, RFC 7323 §5; `tcp_paws_discard`, `tcp_send_dupack`). With reordering this also drops
    /// new data that was sent before a retransmission and arrives after it.
    pub(super) fn paws_rejects(&mut self, segment: &Segment) -> bool {
        let age_ms = self.ts_recent_ms.wrapping_sub(segment.tsval_ms) as i32;
        if !self.options.tcp_timestamps || segment.end() == segment.seq || age_ms <= PAWS_WINDOW_MS
        {
            return false;
        }
        self.paws_rejected_packets += 1;
        self.send_duplicate_ack(segment);
        true
    }

    /// Returns true if part of a segment is within the window, which starts at the last ACK sent
    /// (RFC 9293 §3.10.7.4, `tcp_sequence`). An unacceptable segment has no effect, nor has its
    /// timestamp.
    fn acceptable(&self, segment: &Segment) -> bool {
        segment.end() >= self.rcv_wup && segment.seq <= self.rcv_nxt + self.receive_window()
    }

    /// Sends a duplicate ACK (`tcp_send_dupack`). ACKs to segments without data, such as window
    /// probes (RFC 9293 §3.8.6.1), are rate-limited (`tcp_oow_rate_limited`).
    fn send_duplicate_ack(&mut self, segment: &Segment) {
        if segment.end() == segment.seq {
            if self.oow_limit.blocks(self.tick, self.jiffy.number) {
                return;
            }
        } else if segment.seq < self.rcv_nxt {
            self.dsack = None;
            self.duplicate_packets += 1;
            self.enter_quickack(MAX_QUICKACKS);
            self.hears_duplicate(segment.seq);
            self.set_dsack(SackBlock { start: segment.seq, end: segment.end().min(self.rcv_nxt) });
        }
        self.send_ack();
    }

    /// Stores the timestamp to echo: that of the earliest unacknowledged segment (RFC 7323 §4.3,
    /// `tcp_replace_ts_recent`).
    pub(super) fn replace_ts_recent(&mut self, segment: &Segment) {
        if segment.seq <= self.rcv_wup
            && segment.tsval_ms.wrapping_sub(self.ts_recent_ms) as i32 >= 0
        {
            self.ts_recent_ms = segment.tsval_ms;
        }
    }

    /// Prepares a receiver with own data for an arriving segment.
    pub(super) fn arrives(&mut self, now: Time, ecn_field: u8) {
        self.set_now(now);
        self.heard_at = now;
        self.ecn_field = ecn_field;
        self.snd_nxt.get_or_insert(0);
    }

    /// Copies the sequence number, RTT and RTO of the sender at this side.
    pub(super) fn follow(&mut self, sender: &Sender) {
        self.snd_nxt = Some(sender.snd_nxt);
        if sender.rtt.srtt_us8 > 0 {
            self.srtt_us8 = u64::from(sender.rtt.srtt_us8);
            self.rto = sender.rto_jiffies();
        }
    }

    /// `tcp_data_queue`.
    pub(super) fn data_queue(&mut self, segment: &Segment) {
        let (seq, end) = (segment.seq, segment.end());
        self.dsack = None;
        self.ecn_accept_cwr(segment);
        if segment.flags.fin {
            self.fin_at = Some(end);
        }
        if end <= self.rcv_nxt {
            self.duplicate_packets += 1;
            self.hears_duplicate(seq);
            self.set_dsack(SackBlock { start: seq, end });
            self.acknowledge_at_once();
            return;
        }
        if seq > self.rcv_nxt {
            if seq >= self.rcv_nxt + self.receive_window() {
                self.acknowledge_at_once();
                return;
            }
            self.queue_out_of_order(SackBlock { start: seq, end }, segment);
            return;
        }
        if seq < self.rcv_nxt {
            self.set_dsack(SackBlock { start: seq, end: self.rcv_nxt });
        }
        if self.receive_window() == 0 {
            self.acknowledge_at_once();
            return;
        }
        let layout = SkbLayout::of(&self.options);
        let skb = ReceivedSkb::arriving(layout, self.rcv_nxt, end - self.rcv_nxt);
        self.unread.push(self.mapped(skb, segment));
        self.rcv_nxt = end;
        if segment.payload_bytes > 0 {
            self.data_received(segment);
        }
        if !self.reassembly.is_empty() {
            let (next, duplicate) = self.reassembly.advance(self.rcv_nxt);
            while let Some(buffer) = self.reassembly.take_skb(self.rcv_nxt) {
                self.unread.push(buffer);
                self.rcv_nxt += buffer.bytes;
            }
            debug_assert_eq!(self.rcv_nxt, next);
            if let Some(block) = duplicate {
                self.set_dsack(block);
            }
            // RFC 5681 §4.2: a filled gap is acknowledged at once.
            if self.reassembly.is_empty() {
                self.ack.now = true;
            }
        }
        self.remove_sacks();
        self.last_delivery = Some(self.now);
        if self.fin_at == Some(self.rcv_nxt) {
            self.finish();
        }
    }

    /// Schedules an immediate ACK for duplicates and segments outside the window (RFC 9293
    /// §3.10.7.4), regardless of the delayed-ACK policy.
    fn acknowledge_at_once(&mut self) {
        self.enter_quickack(MAX_QUICKACKS);
        self.ack.scheduled = true;
        self.ack.now = true;
    }

    /// `tcp_data_queue_ofo`.
    pub(super) fn queue_out_of_order(&mut self, block: SackBlock, segment: &Segment) {
        self.ecn_check_ce();
        if self.memory() > self.rcvbuf && !self.clamp_window() {
            return; // Dropped without memory (tcp_try_rmem_schedule). Linux would collapse skbs first.
        }
        if self.options.scaling_ratio {
            self.measure_rcv_mss(segment); // As the ratio, since 6.6.
        }
        self.ack.scheduled = true;
        let first = self.reassembly.is_empty();
        // A new skb is charged after the window grows, a coalesced one before.
        let layout = SkbLayout::of(&self.options);
        let skb = ReceivedSkb::arriving(layout, block.start, block.end - block.start);
        let skb = self.mapped(skb, segment);
        let own_skb = self.reassembly.needs_skb(layout, block, &skb);
        let grows = self.options.tcp_sack && !self.reassembly.has_in_one_skb(block);
        if own_skb && grows {
            self.grow_window(block.end - block.start, false);
        }
        if let Some(duplicate) = self.reassembly.insert(layout, block, skb) {
            if duplicate == block {
                self.duplicate_packets += 1;
            }
            self.set_dsack(duplicate);
        }
        if self.options.tcp_sack {
            if first {
                self.sacks[0] = block;
                self.sack_count = 1;
            } else {
                self.new_sack(block);
            }
            if !own_skb && grows {
                // Its head does not count, as for data in order.
                self.grow_window(block.end - block.start, true);
            }
        }
        self.grow_for_reordering();
        if self.reader.is_awake() {
            self.wake_reader(); // The window may have grown.
        }
    }

    /// `tcp_measure_rcv_mss`: the longest segment, or the length of two shorter ones in a row.
    fn measure_rcv_mss(&mut self, segment: &Segment) {
        let length = u64::from(segment.payload_bytes.min(self.reader.unit_bytes));
        let last = std::mem::take(&mut self.ack.last_segment);
        if length >= self.ack.rcv_mss {
            if length != self.ack.rcv_mss {
                self.measure_scaling_ratio(length);
            }
            self.ack.rcv_mss = length.min(self.advmss);
            if segment.flags.psh {
                self.ack.pushed = self.ack.pushed.max(1);
            }
            return;
        }
        // With options that not each segment has: SACK blocks make the payload shorter.
        let plain = TCP_HEADER_BYTES + if segment.timestamps { TIMESTAMPS_BYTES } else { 0 };
        let joined = segment.payload_bytes - length as u32;
        let whole = segment.frame_bytes() - ETHERNET_HEADER_BYTES - IPV4_HEADER_BYTES - joined;
        let remnant = segment.flags.psh || segment.flags.fin;
        let full = MSS_MIN_BYTES + TCP_HEADER_BYTES <= whole && !remnant;
        if full || whole >= MSS_DEFAULT_BYTES + TCP_HEADER_BYTES {
            let length = u64::from(whole - plain);
            self.ack.last_segment = length;
            if length == last {
                self.ack.rcv_mss = length;
                return;
            }
        }
        self.ack.pushed = (self.ack.pushed + 1).min(2);
    }

    /// `tcp_event_data_recv`.
    pub(super) fn data_received(&mut self, segment: &Segment) {
        self.ack.scheduled = true;
        let length = u64::from(segment.payload_bytes);
        self.measure_rcv_mss(segment);
        self.measure_rtt_by_window();
        let now = self.jiffy.number;
        let (ato_min, rto) = (self.ato_min, self.rto);
        if self.ack.ato == 0 {
            self.incr_quickack(MAX_QUICKACKS);
            self.ack.ato = ato_min;
        } else {
            let gap = now - self.ack.last_data;
            if gap <= ato_min / 2 {
                self.ack.ato = (self.ack.ato >> 1) + ato_min / 2;
            } else if gap < self.ack.ato {
                self.ack.ato = ((self.ack.ato >> 1) + gap).min(self.ato_max());
            } else if gap > rto {
                self.incr_quickack(MAX_QUICKACKS); // The sender restarts its window.
            }
        }
        self.ack.last_data = now;
        self.ecn_check_ce();
        if length >= 128 {
            self.grow_window(length, true);
        }
    }

    /// Bytes that the application has read, without the FIN, and true if these are all.
    pub(crate) fn read_so_far(&self) -> (u64, bool) {
        (self.copied_seq - u64::from(self.finished), self.finished)
    }

    /// Processes due timers. Calls without a due timer have no effect.
    pub(crate) fn on_timeout(&mut self, now: Time) {
        self.catch_up(now);
        self.set_now(now);
        if self.syn_ack_timer.take_due(now) {
            self.syn_ack_timeout();
        }
        if self.ack.wheel.take_due(now) {
            self.delayed_ack_timeout();
        }
        if self.read_at.is_some_and(|at| at <= now) {
            self.application_reads();
        }
        if self.reader.event <= now {
            self.reader_event();
        }
        if self.close_at <= now {
            self.close_at = Time::NEVER;
            self.send_fin();
        }
        if self.fin_timer.take_due(now) {
            self.send_fin();
        }
    }

    /// The host has run the timer of the compressed ACK, and has removed it
    /// (`tcp_compressed_ack_kick`).
    pub(crate) fn compressed_ack_kick(&mut self, now: Time) {
        self.catch_up(now);
        self.set_now(now);
        self.queued_timer = SoftRange::NOT_QUEUED;
        self.compressed_timer = SoftRange::NOT_QUEUED;
        if self.compressed > 0 {
            self.read_clock_for_ack();
            self.send_ack();
        }
    }

    /// Returns the timer of the compressed ACK if the host's soft timers must change.
    #[inline(always)]
    pub(crate) fn changed_soft_timer(&mut self) -> Option<SoftRange> {
        if self.compressed_timer == self.queued_timer {
            return None;
        }
        self.queued_timer = self.compressed_timer;
        Some(self.compressed_timer)
    }

    /// Time of the next call of [`Self::on_timeout`].
    #[inline(always)]
    pub(crate) fn next_deadline(&self) -> Time {
        earliest([
            self.ack.wheel.fires,
            self.syn_ack_timer.fires,
            self.read_at.unwrap_or(Time::NEVER),
            self.reader.event,
            self.close_at,
            self.fin_timer.fires,
        ])
    }

    /// Next expiry of the timers on the wheel, with their insertion order.
    #[inline(always)]
    pub(crate) fn wheel_turn(&mut self, set: &mut u64) -> (Time, Turn) {
        if !self.syn_ack_timer.is_set() && !self.fin_timer.is_set() {
            return self.ack.wheel.turn(set); // The usual case.
        }
        let first = self.syn_ack_timer.turn(set).min(self.ack.wheel.turn(set));
        first.min(self.fin_timer.turn(set))
    }
}
