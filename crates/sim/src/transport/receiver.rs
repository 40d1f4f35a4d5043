//! The receiving half as Linux has it: acknowledging (delayed ACKs, quick ACKs, SACK compression),
//! SACK and DSACK blocks (RFC 2018, RFC 2883), window and buffer autotuning (dynamic right-sizing),
//! reading by the application.

use super::reassembly::Reassembly;
use super::wheel::Tick;
use dumbbell_model::scenario::Sink;
use dumbbell_model::{Span, TcpOptions, Time};
use dumbbell_packet::tcp::{Flags, SACK_BLOCKS_MAX, SACK_BLOCKS_WITH_TIMESTAMPS};
use dumbbell_packet::{SackBlock, Segment};

/// TCP_MAX_QUICKACKS.
const MAX_QUICKACKS: u32 = 16;
/// TCP_ATO_MIN and TCP_DELACK_MIN: 40 ms.
const ATO_MIN_MS: u64 = 40;
/// Duplicate ACKs that are never compressed (TCP_FASTRETRANS_THRESH).
const DUPACKS_UNCOMPRESSED: u32 = 3;
/// Memory around the payload of a segment that could not be merged with its neighbour.
const SEGMENT_OVERHEAD_BYTES: u64 = 1280;
/// Memory of an out-of-order segment at least.
const OUT_OF_ORDER_SEGMENT_BYTES: u64 = 2304;
/// A timestamp may be this much older than the last one (TCP_PAWS_WINDOW).
const PAWS_WINDOW_MS: i32 = 1;
/// How often a rate-limited application reads.
const SLOW_READ_INTERVAL: Span = Span::from_ms(10);

/// ACKs owed (`icsk_ack`).
#[derive(Clone, Copy, Debug, Default)]
struct AckState {
    /// An ACK is owed.
    scheduled: bool,
    /// Send it now.
    now: bool,
    /// Quick ACKs left.
    quick: u32,
    /// Delayed-ACK time-out in ticks; 0 before the first data.
    ato: u64,
    /// Tick at which the delayed ACK is due.
    timer: Option<u64>,
    fires: Option<Time>,
    last_data: u64,
    /// Estimate of the sender's segment size.
    rcv_mss: u64,
}

/// The receiving half.
pub(crate) struct Receiver {
    options: TcpOptions,
    sink: Sink,
    tick: Tick,
    now: Time,
    /// Segments to put on the wire, in order.
    pub(crate) out: Vec<Segment>,
    syn_ack_at: Option<Time>,
    established: bool,
    advmss: u64,
    wscale: u32,

    pub(crate) rcv_nxt: u64,
    rcv_wup: u64,
    rcv_wnd: u64,
    rcv_ssthresh: u64,
    window_clamp: u64,
    rcvbuf: u64,
    copied_seq: u64,
    reassembly: Reassembly,
    fin_at: Option<u64>,
    finished: bool,
    fin_timer: Option<(Time, u32)>,

    ack: AckState,
    sacks: [SackBlock; SACK_BLOCKS_MAX],
    sack_count: usize,
    dsack: Option<SackBlock>,
    compressed: u32,
    compressed_rcv_nxt: u64,
    dup_acks: u32,
    compressed_timer: Option<Time>,

    ts_recent_ms: u32,
    last_tsecr_ms: u32,
    /// Handshake RTT × 8, microseconds.
    srtt_us8: u64,
    rcv_rtt_us8: u64,
    space_time: Time,
    space_seq: u64,
    space_bytes: u64,
    read_at: Option<Time>,

    /// Payload bytes that arrived twice.
    pub(crate) duplicate_packets: u64,
    /// Segments refused for their old timestamp.
    pub(crate) paws_rejected_packets: u64,
    pub(crate) last_delivery: Option<Time>,
}

impl Receiver {
    pub(crate) fn new(options: &TcpOptions, sink: Sink) -> Self {
        let header = 40 + if options.tcp_timestamps { 12 } else { 0 };
        Self {
            options: options.clone(),
            sink,
            tick: Tick::new(options.hz),
            now: Time::ZERO,
            out: Vec::new(),
            syn_ack_at: None,
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
            reassembly: Reassembly::default(),
            fin_at: None,
            finished: false,
            fin_timer: None,
            ack: AckState { rcv_mss: 536, ..AckState::default() },
            sacks: Default::default(),
            sack_count: 0,
            dsack: None,
            compressed: 0,
            compressed_rcv_nxt: 0,
            dup_acks: 0,
            compressed_timer: None,
            ts_recent_ms: 0,
            last_tsecr_ms: 0,
            srtt_us8: 0,
            rcv_rtt_us8: 0,
            space_time: Time::ZERO,
            space_seq: 0,
            space_bytes: 0,
            read_at: None,
            duplicate_packets: 0,
            paws_rejected_packets: 0,
            last_delivery: None,
        }
    }

    /// A segment of the sender arrived.
    pub(crate) fn on_segment(&mut self, now: Time, segment: &Segment) {
        self.now = now;
        if segment.flags.syn {
            self.on_syn(segment);
            return;
        }
        if !self.established {
            self.establish();
        }
        if let Some(fin_at) = self.fin_at {
            if self.finished && segment.ack > 0 && segment.payload_bytes == 0 && !segment.flags.fin
            {
                self.fin_timer = None; // Our FIN is acknowledged.
                return;
            }
            debug_assert!(fin_at >= self.copied_seq || self.finished);
        }
        if self.paws_rejects(segment) {
            return;
        }
        self.replace_ts_recent(segment);
        if segment.payload_bytes == 0 && !segment.flags.fin {
            if segment.seq < self.rcv_nxt && segment.seq != self.rcv_nxt {
                self.send_ack(); // Window probe (RFC 9293 §3.8.6.1).
            }
            return;
        }
        self.data_queue(segment);
        self.ack_check();
        self.read_available();
    }

    /// RFC 7323 §5: a segment whose timestamp is older than the last one in order is refused, and
    /// answered with a duplicate ACK (`tcp_paws_discard`, `tcp_send_dupack`). Under reordering this
    /// hits new data: what was sent before a retransmission and arrives after it.
    fn paws_rejects(&mut self, segment: &Segment) -> bool {
        let age_ms = self.ts_recent_ms.wrapping_sub(segment.tsval_ms) as i32;
        if !self.options.tcp_timestamps || segment.payload_bytes == 0 || age_ms <= PAWS_WINDOW_MS {
            return false;
        }
        self.paws_rejected_packets += 1;
        self.dsack = None;
        if segment.seq < self.rcv_nxt {
            self.duplicate_packets += 1;
            self.enter_quickack();
            self.set_dsack(SackBlock { start: segment.seq, end: segment.end().min(self.rcv_nxt) });
        }
        self.send_ack();
        true
    }

    /// RFC 7323 §4.3: echo the earliest segment not yet acknowledged (`tcp_replace_ts_recent`).
    fn replace_ts_recent(&mut self, segment: &Segment) {
        if segment.seq <= self.rcv_wup
            && segment.tsval_ms.wrapping_sub(self.ts_recent_ms) as i32 >= 0
        {
            self.ts_recent_ms = segment.tsval_ms;
        }
    }

    /// `tcp_select_initial_window`.
    fn on_syn(&mut self, segment: &Segment) {
        if !self.established {
            let space = self.win_from_space(self.rcvbuf);
            let space = if space > self.advmss { space / self.advmss * self.advmss } else { space };
            self.rcv_wnd = space.min(65_535);
            if self.options.initrwnd > 0 {
                let wanted = u64::from(self.options.initrwnd) * self.advmss;
                self.rcv_wnd = self.rcv_wnd.min(wanted);
            }
            if self.options.tcp_window_scaling {
                let most = self.options.tcp_rmem[2].max(212_992).max(space);
                self.wscale = most.ilog2().saturating_sub(15).min(14);
            }
            self.window_clamp = 65_535 << self.wscale;
            self.rcv_ssthresh = self.rcv_wnd;
            self.ts_recent_ms = segment.tsval_ms;
            self.syn_ack_at = Some(self.now);
        }
        let window_bytes = self.rcv_wnd;
        let header = self.header();
        let flags = Flags { syn: true, ..Flags::default() };
        self.out.push(Segment { flags, window_bytes, ..header });
    }

    /// The handshake is complete (`tcp_init_buffer_space`).
    fn establish(&mut self) {
        self.established = true;
        if let Some(sent) = self.syn_ack_at {
            self.srtt_us8 = self.now.since(sent).as_us().max(1) << 3;
        }
        let full = self.win_from_space(self.rcvbuf);
        if self.window_clamp >= full {
            self.window_clamp = full;
        }
        if self.window_clamp > 2 * self.advmss && self.window_clamp + self.advmss > full {
            self.window_clamp = (2 * self.advmss).max(full - self.advmss);
        }
        self.rcv_ssthresh = self.rcv_ssthresh.min(self.window_clamp);
        self.space_time = self.now;
        self.space_bytes = self.rcv_ssthresh.min(self.rcv_wnd).min(10 * self.advmss);
        if self.sink.lowat_bytes > 1 {
            self.set_lowat();
        }
        if self.sink.rate_bps.is_some() {
            self.read_at = Some(self.now + SLOW_READ_INTERVAL);
        }
    }

    /// SO_RCVLOWAT makes room for twice that (`tcp_set_rcvlowat`).
    fn set_lowat(&mut self) {
        self.sink.lowat_bytes = self.sink.lowat_bytes.min(self.options.tcp_rmem[2] >> 1);
        let wanted = self.sink.lowat_bytes << 1;
        if wanted > self.rcvbuf {
            self.rcvbuf = wanted;
            self.window_clamp = self.win_from_space(wanted);
        }
    }

    /// `tcp_data_queue`.
    fn data_queue(&mut self, segment: &Segment) {
        let (seq, end) = (segment.seq, segment.end());
        self.dsack = None;
        if segment.flags.fin {
            self.fin_at = Some(end);
        }
        if end <= self.rcv_nxt {
            self.duplicate_packets += 1;
            self.set_dsack(SackBlock { start: seq, end });
            self.enter_quickack();
            self.ack.scheduled = true;
            return;
        }
        if seq > self.rcv_nxt {
            if seq >= self.rcv_nxt + self.receive_window() {
                self.enter_quickack();
                self.ack.scheduled = true;
                return;
            }
            self.queue_out_of_order(SackBlock { start: seq, end });
            return;
        }
        if seq < self.rcv_nxt {
            self.set_dsack(SackBlock { start: seq, end: self.rcv_nxt });
        }
        if self.receive_window() == 0 {
            self.enter_quickack();
            self.ack.scheduled = true;
            return;
        }
        self.rcv_nxt = end;
        self.data_received(segment);
        if !self.reassembly.is_empty() {
            let (next, duplicate) = self.reassembly.advance(self.rcv_nxt);
            self.rcv_nxt = next;
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

    /// Everything has arrived: close our side too.
    fn finish(&mut self) {
        self.ack.now = true;
        if !self.finished {
            self.finished = true;
            self.fin_timer = Some((self.now, 0));
        }
    }

    /// `tcp_data_queue_ofo`.
    fn queue_out_of_order(&mut self, block: SackBlock) {
        if self.memory() + self.advmss + SEGMENT_OVERHEAD_BYTES > self.rcvbuf {
            return; // No room: as if lost (tcp_try_rmem_schedule).
        }
        self.ack.scheduled = true;
        let first = self.reassembly.is_empty();
        if let Some(duplicate) = self.reassembly.insert(block) {
            if duplicate == block {
                self.duplicate_packets += 1;
            }
            self.set_dsack(duplicate);
        }
        if !self.options.tcp_sack {
            return;
        }
        if first {
            self.sacks[0] = block;
            self.sack_count = 1;
        } else {
            self.new_sack(block);
        }
        self.grow_window(block.end - block.start);
    }

    /// Most recent block first (RFC 2018 §4; `tcp_sack_new_ofo_skb`).
    fn new_sack(&mut self, block: SackBlock) {
        let touching = self.sacks[..self.sack_count]
            .iter()
            .position(|held| block.start <= held.end && held.start <= block.end);
        match touching {
            Some(index) => {
                if index >= 2 {
                    self.send_compressed();
                }
                let held = &mut self.sacks[index];
                held.start = held.start.min(block.start);
                held.end = held.end.max(block.end);
                self.sacks[..=index].rotate_right(1);
                self.coalesce_sacks();
            }
            None => {
                if self.sack_count >= 2 {
                    self.send_compressed();
                }
                self.sack_count = (self.sack_count + 1).min(SACK_BLOCKS_MAX);
                self.sacks[..self.sack_count].rotate_right(1);
                self.sacks[0] = block;
            }
        }
    }

    /// The first block may have grown into others.
    fn coalesce_sacks(&mut self) {
        let mut index = 1;
        while index < self.sack_count {
            let other = self.sacks[index];
            let first = &mut self.sacks[0];
            if first.start <= other.end && other.start <= first.end {
                first.start = first.start.min(other.start);
                first.end = first.end.max(other.end);
                self.sacks[index..self.sack_count].rotate_left(1);
                self.sack_count -= 1;
            } else {
                index += 1;
            }
        }
    }

    /// Blocks below `rcv_nxt` are acknowledged now (`tcp_sack_remove`).
    fn remove_sacks(&mut self) {
        if self.reassembly.is_empty() {
            self.sack_count = 0;
            return;
        }
        let mut kept = 0;
        for index in 0..self.sack_count {
            if self.sacks[index].start > self.rcv_nxt {
                self.sacks[kept] = self.sacks[index];
                kept += 1;
            }
        }
        self.sack_count = kept;
    }

    fn set_dsack(&mut self, block: SackBlock) {
        if self.options.tcp_dsack {
            self.dsack = Some(match self.dsack {
                Some(held) if block.start <= held.end && held.start <= block.end => {
                    SackBlock { start: held.start.min(block.start), end: held.end.max(block.end) }
                }
                _ => block,
            });
        }
    }

    /// `tcp_event_data_recv`.
    fn data_received(&mut self, segment: &Segment) {
        self.ack.scheduled = true;
        let length = u64::from(segment.payload_bytes);
        if length >= self.ack.rcv_mss {
            self.ack.rcv_mss = length.min(self.advmss);
        }
        self.measure_rtt(segment);
        let now = self.tick.jiffies(self.now);
        let ato_min = self.tick.ms(ATO_MIN_MS);
        let rto = self.tick.us((self.srtt_us8 >> 3) + 200_000);
        if self.ack.ato == 0 {
            self.incr_quickack(MAX_QUICKACKS);
            self.ack.ato = ato_min;
        } else {
            let gap = now - self.ack.last_data;
            if gap <= ato_min / 2 {
                self.ack.ato = (self.ack.ato >> 1) + ato_min / 2;
            } else if gap < self.ack.ato {
                self.ack.ato = ((self.ack.ato >> 1) + gap).min(rto);
            } else if gap > rto {
                self.incr_quickack(MAX_QUICKACKS); // The sender restarts its window.
            }
        }
        self.ack.last_data = now;
        if length >= 128 {
            self.grow_window(length);
        }
    }

    /// The receiver's RTT from echoed timestamps (`tcp_rcv_rtt_measure_ts`).
    fn measure_rtt(&mut self, segment: &Segment) {
        if segment.tsecr_ms == self.last_tsecr_ms || segment.tsecr_ms == 0 {
            return;
        }
        self.last_tsecr_ms = segment.tsecr_ms;
        if u64::from(segment.payload_bytes) < self.ack.rcv_mss {
            return;
        }
        let now_ms = (self.now.as_us() / 1000) as u32;
        let sample_us = u64::from(now_ms.wrapping_sub(segment.tsecr_ms).max(1)) * 1000;
        let old = self.rcv_rtt_us8;
        let scaled = sample_us << 3;
        self.rcv_rtt_us8 =
            if old == 0 || scaled < old { scaled } else { old - (old >> 3) + sample_us };
    }

    /// `tcp_grow_window`: the advertised window opens by two segments per segment, if buffers of
    /// this kind would fit (`__tcp_grow_window`).
    fn grow_window(&mut self, length: u64) {
        let room = self.window_clamp.min(self.space()).saturating_sub(self.rcv_ssthresh);
        if room == 0 {
            return;
        }
        // Measured on Linux: the first of two merged buffers carries the memory of both.
        let mut share = self.win_from_space(2 * u64::from(self.options.rx_segment_bytes));
        if share > length {
            share >>= 1;
            let mut window = self.win_from_space(self.options.tcp_rmem[2]) >> 1;
            while self.rcv_ssthresh <= window && share > length {
                share >>= 1;
                window >>= 1;
            }
            if self.rcv_ssthresh > window {
                return;
            }
        }
        self.rcv_ssthresh += room.min((2 * self.advmss).max(2 * length));
        self.ack.quick |= 1;
    }

    fn incr_quickack(&mut self, most: u32) {
        let quick = (self.rcv_wnd / (2 * self.ack.rcv_mss)) as u32;
        let quick = if quick == 0 { 2 } else { quick }.min(most);
        self.ack.quick = self.ack.quick.max(quick);
    }

    fn enter_quickack(&mut self) {
        self.incr_quickack(MAX_QUICKACKS);
        self.ack.ato = self.tick.ms(ATO_MIN_MS);
    }

    /// Is an ACK due? (`__tcp_ack_snd_check`; RFC 1122 §4.2.3.2, RFC 5681 §4.2)
    fn ack_check(&mut self) {
        if !self.ack.scheduled && !self.ack.now {
            return;
        }
        let second_segment = self.rcv_nxt - self.rcv_wup > self.ack.rcv_mss
            && (self.rcv_nxt - self.copied_seq < self.sink.lowat_bytes
                || self.select_window() >= self.rcv_wnd);
        if second_segment || self.ack.quick > 0 || self.ack.now {
            self.send_ack();
            return;
        }
        if self.reassembly.is_empty() {
            self.delay_ack();
            return;
        }
        self.compress_ack();
    }

    /// SACK compression: after three duplicate ACKs, further ones wait for 5 % of the RTT, 1 ms at
    /// most.
    fn compress_ack(&mut self) {
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
        if self.compressed_timer.is_some() {
            return;
        }
        let mut rtt_us8 = self.rcv_rtt_us8;
        if self.srtt_us8 > 0 && self.srtt_us8 < rtt_us8 {
            rtt_us8 = self.srtt_us8;
        }
        let delay_ns = (rtt_us8 * (1000 >> 3) / 20).min(self.options.tcp_comp_sack_delay.as_ns());
        // The timer may be late by the slack; in virtual time nothing else wakes the processor,
        // and it fires at the end of its range.
        let slack = self.options.tcp_comp_sack_slack;
        self.compressed_timer = Some(self.now + Span::from_ns(delay_ns) + slack);
    }

    fn send_compressed(&mut self) {
        if self.compressed > 0 {
            self.send_ack();
        }
    }

    /// `tcp_send_delayed_ack`.
    fn delay_ack(&mut self) {
        let now = self.tick.jiffies(self.now);
        let delack_min = self.tick.ms(ATO_MIN_MS);
        let mut ato = self.ack.ato;
        if ato > delack_min {
            let mut most = self.tick.ms(500);
            if self.srtt_us8 > 0 {
                most = most.min(self.tick.us(self.srtt_us8 >> 3).max(delack_min));
            }
            ato = ato.min(most);
        }
        ato = ato.min(self.tick.ms(200));
        let mut timeout = now + ato;
        if let Some(due) = self.ack.timer {
            if due <= now + (ato >> 2) {
                self.send_ack();
                return;
            }
            timeout = timeout.min(due);
        }
        self.ack.timer = Some(timeout);
        self.ack.fires = Some(self.tick.fires_at(self.now, timeout));
    }

    /// A timer may be due; a call too many does nothing.
    pub(crate) fn on_timeout(&mut self, now: Time) {
        self.now = now;
        if self.compressed_timer.is_some_and(|at| at <= now) {
            self.compressed_timer = None;
            if self.compressed > 0 {
                self.send_ack();
            }
        }
        if self.ack.fires.is_some_and(|at| at <= now) {
            self.ack.fires = None;
            self.delayed_ack_timeout();
        }
        if self.read_at.is_some_and(|at| at <= now) {
            self.read_slowly();
        }
        if let Some((at, tries)) = self.fin_timer.filter(|(at, _)| *at <= now) {
            debug_assert!(at <= now);
            self.send_fin(tries);
        }
    }

    /// When [`Self::on_timeout`] must be called next.
    pub(crate) fn next_deadline(&self) -> Time {
        [self.compressed_timer, self.ack.fires, self.read_at, self.fin_timer.map(|(at, _)| at)]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(Time::NEVER)
    }

    fn delayed_ack_timeout(&mut self) {
        if self.compressed > 0 {
            self.send_compressed();
            return;
        }
        let Some(due) = self.ack.timer else { return };
        if due > self.tick.jiffies(self.now) {
            self.ack.fires = Some(self.tick.fires_at(self.now, due));
            return;
        }
        self.ack.timer = None;
        if self.ack.scheduled {
            // The application sends nothing the ACK could ride on: wait longer next time.
            let rto = self.tick.us((self.srtt_us8 >> 3) + 200_000);
            self.ack.ato = (self.ack.ato << 1).min(rto);
            self.send_ack();
        }
    }

    fn send_fin(&mut self, tries: u32) {
        let header = self.header();
        let fin = Flags { fin: true, ..Flags::default() };
        self.out.push(Segment { flags: fin, ..header });
        self.fin_timer = (tries < 8).then(|| (self.now + Span::from_ms(200 << tries), tries + 1));
    }

    fn header(&self) -> Segment {
        Segment {
            ack: self.rcv_nxt,
            timestamps: self.options.tcp_timestamps,
            tsval_ms: (self.now.as_us() / 1000) as u32,
            tsecr_ms: self.ts_recent_ms,
            window_bytes: self.rcv_wnd,
            ..Segment::default()
        }
    }

    /// `tcp_send_ack`.
    fn send_ack(&mut self) {
        let window_bytes = self.select_and_set_window();
        let mut segment = Segment { window_bytes, ..self.header() };
        self.fill_sack(&mut segment);
        self.out.push(segment);
        // tcp_event_ack_sent
        self.compressed = 0;
        self.compressed_timer = None;
        if self.ack.quick > 0 {
            let counted = u32::from(self.ack.scheduled || self.ack.now);
            if counted >= self.ack.quick {
                self.ack.quick = 0;
                self.ack.ato = self.tick.ms(ATO_MIN_MS);
            } else {
                self.ack.quick -= counted;
            }
        }
        self.ack.scheduled = false;
        self.ack.now = false;
        self.ack.timer = None;
        self.ack.fires = None;
    }

    /// DSACK first, then the most recent blocks, as many as fit (RFC 2883 §4).
    fn fill_sack(&mut self, segment: &mut Segment) {
        if !self.options.tcp_sack {
            return;
        }
        let most =
            if self.options.tcp_timestamps { SACK_BLOCKS_WITH_TIMESTAMPS } else { SACK_BLOCKS_MAX };
        let held = self.sacks[..self.sack_count].iter().copied();
        let blocks = self.dsack.take().into_iter().chain(held).take(most);
        for block in blocks {
            segment.sack[usize::from(segment.sack_count)] = block;
            segment.sack_count += 1;
        }
    }

    /// Share of a buffer that is window (`tcp_win_from_space`).
    fn win_from_space(&self, space: u64) -> u64 {
        let scale = self.options.tcp_adv_win_scale;
        if scale <= 0 {
            space >> scale.unsigned_abs()
        } else {
            space - (space >> scale)
        }
    }

    /// Memory in use (`sk_rmem_alloc`): in-order segments merge well, out-of-order ranges each
    /// keep a buffer of their own.
    fn memory(&self) -> u64 {
        let unread = self.rcv_nxt - self.copied_seq;
        let per_segment = u64::from(self.options.rx_segment_bytes);
        unread * per_segment / self.advmss
            + self.reassembly.bytes() * per_segment.max(OUT_OF_ORDER_SEGMENT_BYTES) / self.advmss
            + self.reassembly.ranges() as u64 * SEGMENT_OVERHEAD_BYTES
    }

    fn space(&self) -> u64 {
        self.win_from_space(self.rcvbuf.saturating_sub(self.memory()))
    }

    fn receive_window(&self) -> u64 {
        (self.rcv_wup + self.rcv_wnd).saturating_sub(self.rcv_nxt)
    }

    /// `__tcp_select_window`: RFC 1122 §4.2.3.3 silly-window avoidance.
    fn select_window(&self) -> u64 {
        let mut free = self.space();
        let allowed = self.win_from_space(self.rcvbuf);
        let full = self.window_clamp.min(allowed);
        let mss = self.ack.rcv_mss.min(full);
        let unit = 1 << self.wscale;
        if free < full >> 1 {
            free = free / unit * unit;
            if free < allowed >> 4 || free < mss {
                return 0;
            }
        }
        free = free.min(self.rcv_ssthresh);
        if self.wscale > 0 {
            return free.div_ceil(unit) * unit;
        }
        let window = self.rcv_wnd;
        if window + mss <= free || window > free {
            free / mss * mss
        } else {
            window
        }
    }

    /// `tcp_select_window`: never shrinks what was offered (RFC 9293 §3.8.6).
    fn select_and_set_window(&mut self) -> u64 {
        if self.select_window() < self.win_from_space(self.rcvbuf) >> 2 {
            // Little room: acknowledge less eagerly.
            let full = self.window_clamp.min(self.win_from_space(self.rcvbuf));
            if self.space() < full >> 1 {
                self.ack.quick = 0;
            }
        }
        let unit = 1u64 << self.wscale;
        let current = self.receive_window();
        let mut window = self.select_window();
        if window < current {
            window = current.div_ceil(unit) * unit;
        }
        self.rcv_wnd = window;
        self.rcv_wup = self.rcv_nxt;
        window.min(65_535 << self.wscale) / unit * unit
    }

    /// The application reads what waits once it is enough (`tcp_recvmsg`).
    fn read_available(&mut self) {
        if self.sink.rate_bps.is_some() {
            return;
        }
        let waiting = self.rcv_nxt - self.copied_seq;
        let pressed = self.memory() > self.rcvbuf - (self.rcvbuf >> 3)
            || self.receive_window() <= self.ack.rcv_mss;
        if waiting > 0 && (waiting >= self.sink.lowat_bytes || pressed || self.finished) {
            self.read(waiting);
        }
    }

    fn read_slowly(&mut self) {
        let Some(rate) = self.sink.rate_bps else { return };
        self.read_at = Some(self.now + SLOW_READ_INTERVAL);
        let waiting = self.rcv_nxt - self.copied_seq;
        let bytes = rate.bytes_in(SLOW_READ_INTERVAL).min(waiting);
        if bytes > 0 {
            self.read(bytes);
        }
    }

    /// Reading: buffer autotuning, then an ACK if it is overdue or the window has doubled
    /// (`tcp_cleanup_rbuf`).
    fn read(&mut self, bytes: u64) {
        self.copied_seq += bytes;
        self.adjust_space();
        let mut due = self.ack.scheduled && self.rcv_nxt - self.rcv_wup > self.ack.rcv_mss;
        if !due && !self.finished {
            let current = self.receive_window();
            if 2 * current <= self.window_clamp {
                let window = self.select_window();
                due = window > 0 && window >= 2 * current;
            }
        }
        if due {
            self.send_ack();
        }
    }

    /// Dynamic right-sizing: buffer for twice of what was read in an RTT, more if it grows
    /// (`tcp_rcv_space_adjust`; Feng & Fisk 2001).
    fn adjust_space(&mut self) {
        let elapsed_us = self.now.since(self.space_time).as_us();
        if self.rcv_rtt_us8 == 0 || elapsed_us < self.rcv_rtt_us8 >> 3 {
            return;
        }
        let copied = self.copied_seq - self.space_seq;
        if copied > self.space_bytes {
            if self.options.tcp_moderate_rcvbuf {
                self.enlarge(copied);
            }
            self.space_bytes = copied;
        }
        self.space_seq = self.copied_seq;
        self.space_time = self.now;
    }

    fn enlarge(&mut self, copied: u64) {
        let mut window = (copied << 1) + 16 * self.advmss;
        let grow = window * (copied - self.space_bytes) / self.space_bytes;
        window += grow << 1;
        let mut per_segment = self.advmss + 320 + 576; // SKB_TRUESIZE(advmss + MAX_TCP_HEADER)
        while self.win_from_space(per_segment) < self.advmss {
            per_segment += 128;
        }
        let rcvbuf = (window / self.advmss * per_segment).min(self.options.tcp_rmem[2]);
        if rcvbuf > self.rcvbuf {
            self.rcvbuf = rcvbuf;
            self.window_clamp = self.win_from_space(rcvbuf);
        }
    }
}
