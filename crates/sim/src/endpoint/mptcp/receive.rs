//! Receiver of a connection: data in order of data sequence numbers, with one buffer and one window
//! for all subflows (net/mptcp/protocol.c).

use super::Subflows;
use crate::endpoint::tcp::reassembly::Reassembly;
use crate::endpoint::tcp::receive_buffer::{ReceiveQueue, ReceivedSkb, SkbLayout};
use crate::endpoint::tcp::receiver::Receiver;
use crate::endpoint::tcp::receiver_window::{DEFAULT_SCALING_RATIO, RATIO_SHIFT};
use crate::endpoint::tcp::subflow::Shared;
use dumbbell_model::scenario::Sink;
use dumbbell_model::{Span, TcpOptions, Time};
use dumbbell_packet::SackBlock;

/// Read interval of a rate-limited application.
const SLOW_READ_INTERVAL: Span = Span::from_ms(10);

/// Samples of the subflows' RTT, of which the least counts (`MPTCP_RTT_SAMPLES`).
const RTT_SAMPLES: usize = 5;

/// Counters for the tables.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    /// Duplicate data bytes.
    pub(crate) duplicate_bytes: u64,
    /// Data bytes beyond the window, dropped.
    pub(crate) beyond_window_bytes: u64,
    /// Maximum number of out-of-order bytes.
    pub(crate) out_of_order_max_bytes: u64,
    /// Time with out-of-order data.
    pub(crate) blocked: Span,
}

/// Receiver of a connection.
pub(crate) struct DataReceiver {
    sink: Sink,
    options: TcpOptions,
    pub(crate) ack_seq: u64,
    /// Bytes read by the application.
    copied: u64,
    /// Data in order that waits to be read (`sk_receive_queue`).
    unread: ReceiveQueue,
    /// Bytes of it in the queue from which the application reads (`msk->receive_queue`, until Linux
    /// 6.14).
    spliced: u64,
    reassembly: Reassembly,
    rcvbuf: u64,
    window_end: u64,
    last_window: u64,
    /// Data sequence number of the DATA_FIN, once known.
    pub(crate) fin_at: Option<u64>,
    pub(crate) closed: bool,
    /// True after the peer has seen this side's DATA_FIN.
    pub(crate) close_seen: bool,

    /// Share of memory that counts as window, in 256ths (`msk->scaling_ratio`, Linux 6.6).
    scaling_ratio: u64,
    /// Last samples of the subflows' RTT, microseconds times 8, the oldest at `rtt_next`
    /// (`msk->rcv_rtt_est`, with `rcvbuf_grow`).
    rtt_samples_us8: [u64; RTT_SAMPLES],
    rtt_next: usize,
    /// Measurement of the data read per RTT (`rcvq_space`), and its start.
    space_time: Option<Time>,
    space_rtt_us8: u64,
    space_copied: u64,
    space_bytes: u64,
    pub(crate) read_at: Option<Time>,
    blocked_since: Option<Time>,
    pub(crate) last_delivery: Option<Time>,
    /// True for subflows whose receiver may have sent segments.
    pub(crate) touched: Vec<bool>,
    pub(crate) counters: Counters,
}

impl DataReceiver {
    pub(crate) fn new(sink: Sink, options: &TcpOptions, subflows: usize) -> Self {
        Self {
            sink,
            options: options.clone(),
            ack_seq: 0,
            copied: 0,
            unread: ReceiveQueue::default(),
            spliced: 0,
            reassembly: Reassembly::default(),
            rcvbuf: options.tcp_rmem[1],
            window_end: 0,
            last_window: 0,
            fin_at: None,
            closed: false,
            close_seen: false,
            scaling_ratio: DEFAULT_SCALING_RATIO,
            rtt_samples_us8: [u64::MAX; RTT_SAMPLES],
            rtt_next: 0,
            space_time: None,
            space_rtt_us8: 0,
            space_copied: 0,
            space_bytes: 0,
            read_at: None,
            blocked_since: None,
            last_delivery: None,
            touched: vec![false; subflows],
            counters: Counters::default(),
        }
    }

    fn mss(&self) -> u64 {
        u64::from(self.options.mtu_bytes - 40 - if self.options.tcp_timestamps { 12 } else { 0 })
    }

    /// `mptcp_win_from_space`.
    fn win_from_space(&self, space: u64) -> u64 {
        if self.options.scaling_ratio {
            (space * self.scaling_ratio) >> RATIO_SHIFT
        } else {
            self.options.window_share(space)
        }
    }

    /// Memory for a window (`mptcp_space_from_win`; until Linux 6.5 whole segments).
    fn space_from_win(&self, window: u64) -> u64 {
        if self.options.scaling_ratio {
            return (window << RATIO_SHIFT) / self.scaling_ratio;
        }
        let mss = self.mss();
        let mut per_segment = mss + 320 + 576; // SKB_TRUESIZE(advmss + MAX_TCP_HEADER)
        while self.win_from_space(per_segment) < mss {
            per_segment += 128;
        }
        window / mss * per_segment
    }

    /// Memory in use (`__mptcp_rmem`).
    fn memory(&self) -> u64 {
        self.unread.memory_bytes() + self.reassembly.memory_bytes()
    }

    fn space(&self) -> u64 {
        self.win_from_space(self.rcvbuf.saturating_sub(self.memory()))
    }

    /// Initialises the buffer when the first subflow is established (`mptcp_rcv_space_init`).
    pub(crate) fn begin(&mut self, now: Time, window: u64) {
        // As in Linux, this MSS excludes timestamps. Before `scaling_ratio` the measurement has no
        // start time, so the first read ends it (`mptcp_sk_clone_init` sets it in 6.12).
        let advmss = u64::from(self.options.mtu_bytes - 40);
        self.space_time = self.options.scaling_ratio.then_some(now);
        self.space_bytes = window.min(10 * advmss).max(1);
        if self.sink.rate_bps.is_some() {
            self.read_at = Some(now + SLOW_READ_INTERVAL);
        }
    }

    /// Copies the connection's state to a subflow's receiver, for its ACKs.
    pub(crate) fn export_state(&self, receiver: &mut Receiver) {
        if let Some(subflow) = &mut receiver.subflow {
            subflow.shared = Shared {
                data_ack: self.ack_seq,
                window_end: self.window_end,
                free_bytes: self.space(),
                full_bytes: self.win_from_space(self.rcvbuf),
                last_window: self.last_window,
                closes: self.closed && !self.close_seen,
            };
        }
    }

    /// Copies the offered window back from a subflow's receiver.
    pub(crate) fn import_window(&mut self, receiver: &Receiver) {
        if let Some(subflow) = &receiver.subflow {
            self.window_end = self.window_end.max(subflow.shared.window_end);
            self.last_window = subflow.shared.last_window;
        }
    }

    /// Processes in-order data of a subflow (`mptcp_data_ready`). Returns true if some was taken.
    pub(crate) fn data_ready(&mut self, now: Time, receiver: &mut Receiver) -> bool {
        if self.options.rcvbuf_grow {
            self.sample_rtt(receiver);
        }
        let limit = self.rcvbuf.max(receiver.rcvbuf_bytes());
        !self.blocks(limit) && self.take_from(now, receiver)
    }

    /// Returns true if data waits in its subflow while the connection's buffer is full, until Linux
    /// 6.18.
    fn limits_subflows(&self) -> bool {
        !self.options.rcvbuf_grow
    }

    /// Returns true if the memory in use is above `limit` and data waits to be read, which will free
    /// some. Linux does not ask for the latter: out-of-order data alone can stop a connection there.
    fn blocks(&self, limit: u64) -> bool {
        self.limits_subflows() && self.memory() > limit && self.delivered_bytes() > self.copied
    }

    /// Takes in-order data from a subflow, until the buffer is full
    /// (`__mptcp_move_skbs_from_subflow`). Returns true if there was some.
    fn take_from(&mut self, now: Time, receiver: &mut Receiver) -> bool {
        let before = receiver.in_order_bytes();
        if self.limits_subflows() {
            self.rcvbuf = self.rcvbuf.max(receiver.rcvbuf_bytes());
        }
        while let Some((dsn, skb)) = receiver.take_skb() {
            self.arrived(now, dsn, skb);
            if self.blocks(self.rcvbuf) {
                break;
            }
        }
        self.check_fin();
        receiver.in_order_bytes() > before
    }

    /// Returns true if an ACK need not precede the application's read: it has enough data
    /// (`mptcp_data_avail`), or no such rule applies.
    pub(crate) fn is_readable(&self) -> bool {
        let waiting = self.delivered_bytes() - self.copied;
        !self.options.mptcp_set_rcvlowat || waiting >= self.sink.lowat_bytes
    }

    /// Processes an skb (`__mptcp_move_skb`, `__mptcp_ofo_queue`).
    pub(crate) fn arrived(&mut self, now: Time, dsn: u64, mut skb: ReceivedSkb) {
        let bytes = skb.bytes;
        let end = dsn + bytes;
        let layout = SkbLayout::of_connection(&self.options, self.rcvbuf);
        let counters = &mut self.counters;
        if end <= self.ack_seq {
            counters.duplicate_bytes += bytes;
            return;
        }
        if dsn > self.ack_seq {
            if end > self.window_end {
                counters.beyond_window_bytes += bytes;
                return;
            }
            let before = self.reassembly.bytes();
            self.reassembly.insert(layout, SackBlock { start: dsn, end }, skb);
            let held = self.reassembly.bytes();
            counters.duplicate_bytes += bytes - (held - before);
            counters.out_of_order_max_bytes = counters.out_of_order_max_bytes.max(held);
            self.blocked_since.get_or_insert(now);
            return;
        }
        counters.duplicate_bytes += self.ack_seq - dsn;
        if dsn < self.ack_seq {
            self.unread.end_last(); // Not coalesced (`MPTCP_SKB_CB(from)->offset`).
            skb.bytes = end - self.ack_seq;
        }
        self.unread.push_within(skb, layout.most_bytes());
        self.ack_seq = end;
        if !self.reassembly.is_empty() {
            let before = self.reassembly.bytes();
            let (next, _) = self.reassembly.advance(end);
            while let Some(buffer) = self.reassembly.take_skb(self.ack_seq) {
                self.ack_seq += buffer.bytes;
                self.unread.push_within(buffer, layout.most_bytes());
            }
            debug_assert_eq!(self.ack_seq, next);
            let used = next - end;
            self.counters.duplicate_bytes += before - self.reassembly.bytes() - used;
            if self.reassembly.is_empty() {
                let since = self.blocked_since.take().unwrap_or(now);
                self.counters.blocked = self.counters.blocked + now.since(since);
            }
        }
        self.last_delivery = Some(now);
    }

    /// Blocked time up to `now`, for the end of a run.
    pub(crate) fn blocked_until(&self, now: Time) -> Span {
        let open = self.blocked_since.map_or(Span::ZERO, |since| now.since(since));
        self.counters.blocked + open
    }

    /// Sets the end of the stream (DATA_FIN).
    pub(crate) fn ends_at(&mut self, dsn: u64) {
        self.fin_at = Some(dsn);
        self.check_fin();
    }

    /// Closes this side after all data, and acknowledges the DATA_FIN.
    fn check_fin(&mut self) {
        if !self.closed && self.fin_at == Some(self.ack_seq) {
            self.ack_seq += 1;
            self.closed = true;
        }
    }

    /// Out-of-order bytes.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.reassembly.bytes()
    }

    /// Payload bytes delivered in order.
    pub(crate) fn delivered_bytes(&self) -> u64 {
        self.ack_seq - u64::from(self.closed)
    }

    /// Lets the application read if enough data is available (`mptcp_recvmsg`).
    pub(crate) fn read_available(&mut self, now: Time, subflows: &mut Subflows<'_>) {
        if self.sink.rate_bps.is_some() {
            return;
        }
        loop {
            let waiting = self.delivered_bytes() - self.copied;
            let pressed = self.memory() > self.rcvbuf - (self.rcvbuf >> 3);
            let enough = waiting >= self.sink.lowat_bytes || pressed || self.closed;
            if waiting == 0 || !enough {
                return;
            }
            self.read(now, waiting, subflows);
        }
    }

    /// Lets a rate-limited application read.
    pub(crate) fn read_slowly(&mut self, now: Time, subflows: &mut Subflows<'_>) {
        let Some(rate) = self.sink.rate_bps else { return };
        self.read_at = Some(now + SLOW_READ_INTERVAL);
        if self.delivered_bytes() > self.copied {
            self.read(now, rate.bytes_in(SLOW_READ_INTERVAL), subflows);
        }
    }

    /// Reads at most `most` bytes (`mptcp_recvmsg`). The autotuning counts each part of the queue.
    fn read(&mut self, now: Time, most: u64, subflows: &mut Subflows<'_>) {
        let mut bytes = 0;
        if self.options.rcvbuf_grow {
            self.spliced = self.delivered_bytes() - self.copied;
        }
        loop {
            let part = self.spliced.min(most - bytes);
            let mut left = part;
            while let Some(piece) = self.unread.read(left) {
                left -= piece;
            }
            self.copied += part;
            self.spliced -= part;
            bytes += part;
            if part > 0 {
                self.adjust_space(now, part, subflows);
            }
            if self.spliced > 0 || !self.splice(now, subflows) || bytes == most {
                break;
            }
        }
        // mptcp_cleanup_rbuf
        let space = self.space();
        let doubled = space > 0 && space >= self.last_window << 1;
        let emptied = self.memory() == 0;
        for subflow in 0..subflows.len() {
            if doubled || subflows.receiver(subflow).could_clean_up(emptied) {
                self.with(now, subflow, subflows, |receiver| {
                    if receiver.is_open() {
                        receiver.clean_up(bytes);
                    }
                });
            }
        }
    }

    /// Moves the data that arrived since to the queue from which the application reads, and then the
    /// data that waits in subflows. Returns true if there was some (`__mptcp_move_skbs`).
    fn splice(&mut self, now: Time, subflows: &mut Subflows<'_>) -> bool {
        if self.limits_subflows() {
            for subflow in 0..subflows.len() {
                self.take_from(now, subflows.receiver(subflow));
            }
        }
        self.unread.end_last();
        self.spliced = self.delivered_bytes() - self.copied;
        self.spliced > 0
    }

    /// Runs a step of a subflow's receiver with the connection's state.
    pub(crate) fn with(
        &mut self,
        now: Time,
        subflow: usize,
        subflows: &mut Subflows<'_>,
        act: impl FnOnce(&mut Receiver),
    ) {
        let receiver = subflows.receiver(subflow);
        self.export_state(receiver);
        receiver.set_now(now);
        act(receiver);
        self.touched[subflow] |= !receiver.out.is_empty();
        self.import_window(receiver);
    }

    /// Autotunes the buffer to the data read per RTT (dynamic right-sizing, `mptcp_rcv_space_adjust`).
    fn adjust_space(&mut self, now: Time, copied: u64, subflows: &mut Subflows<'_>) {
        self.space_copied += copied;
        let elapsed_us = self.space_time.map_or(u64::MAX, |began| now.since(began).as_us());
        let grown = if self.options.rcvbuf_grow {
            let rtt_us8 = self.rtt_samples_us8.iter().min().copied().unwrap_or(u64::MAX);
            if rtt_us8 == u64::MAX || elapsed_us < rtt_us8 >> 3 {
                return;
            }
            // Data that waits to be read does not count (`mptcp_inq_hint`).
            self.space_copied.saturating_sub(self.delivered_bytes() - self.copied)
        } else {
            if self.space_rtt_us8 > 0 && elapsed_us < self.space_rtt_us8 >> 3 {
                return;
            }
            self.measure_subflows(subflows);
            if self.space_rtt_us8 == 0 || elapsed_us < self.space_rtt_us8 >> 3 {
                return;
            }
            self.space_copied
        };
        if grown > self.space_bytes {
            let before = std::mem::replace(&mut self.space_bytes, grown);
            self.grow_buffers(now, before, subflows);
        }
        self.space_copied = 0;
        self.space_time = Some(now);
    }

    /// Takes the longest RTT and the least share of payload from the subflows.
    fn measure_subflows(&mut self, subflows: &mut Subflows<'_>) {
        self.space_rtt_us8 = 0;
        let mut ratio = u64::MAX;
        for subflow in 0..subflows.len() {
            let receiver = subflows.receiver(subflow);
            if !receiver.has_joined() {
                continue;
            }
            self.space_rtt_us8 = self.space_rtt_us8.max(receiver.rtt_us8());
            ratio = ratio.min(receiver.scaling_ratio());
        }
        if self.options.scaling_ratio {
            self.scaling_ratio = ratio;
        }
    }

    /// Takes a sample of a subflow's RTT and share of payload, once per window of that subflow
    /// (`mptcp_rcv_rtt_update`, Linux 6.19).
    fn sample_rtt(&mut self, receiver: &mut Receiver) {
        let Some(rtt_us8) = receiver.new_rtt_us8() else { return };
        self.rtt_samples_us8[self.rtt_next] = rtt_us8;
        self.rtt_next = (self.rtt_next + 1) % RTT_SAMPLES;
        self.scaling_ratio = (7 * self.scaling_ratio + receiver.scaling_ratio()) >> 3;
    }

    /// Grows the buffer after the bytes read per RTT rose from `before` to `space_bytes`; the
    /// buffers of the subflows follow (`mptcp_rcvbuf_grow`).
    fn grow_buffers(&mut self, now: Time, before: u64, subflows: &mut Subflows<'_>) {
        if !self.options.tcp_moderate_rcvbuf {
            return;
        }
        let reserve = if self.options.rcvbuf_grow { 0 } else { 16 * self.mss() };
        let window = (self.space_bytes << 1) + reserve;
        let window = window + ((window * (self.space_bytes - before) / before) << 1);
        let rcvbuf = self.space_from_win(window).min(self.options.tcp_rmem[2]);
        if rcvbuf <= self.rcvbuf {
            return;
        }
        self.rcvbuf = rcvbuf;
        let window_clamp = self.win_from_space(rcvbuf);
        for subflow in 0..subflows.len() {
            if !subflows.receiver(subflow).has_joined() {
                continue;
            }
            if self.options.rcvbuf_grow {
                subflows.receiver(subflow).read_per_rtt(self.space_bytes);
                continue;
            }
            self.with(now, subflow, subflows, |receiver| {
                receiver.enlarge_to(rcvbuf, window_clamp);
                if receiver.is_open() {
                    receiver.clean_up(1);
                }
            });
        }
    }
}
