//! Receive memory and window: the offered window (RFC 9293 §3.8.6), buffer autotuning (dynamic
//! right-sizing, Feng & Fisk 2001), application reads.

use super::receive_buffer::SkbLayout;
use super::receiver::Receiver;
use super::CLOCK_READING;
use dumbbell_model::{DelayedAck, Span};

/// Share of memory that counts as window until it is measured, in 256ths.
pub(crate) const DEFAULT_SCALING_RATIO: u64 = 128;
/// Binary logarithm of 256 (`TCP_RMEM_TO_WIN_SCALE`): scaling ratios are in 256ths.
pub(crate) const RATIO_SHIFT: u32 = 8;

/// RTT below which the buffer grows less (`tcp_rcvbuf_low_rtt`).
const LOW_RTT_US: u64 = 1000;

/// Readings of the clock from the arrival that completes what an application waits for until it has
/// read one skb. Any positive number sends the ACK that opens the window after the ACKs of that
/// arrival, as on a real host.
const WAKE_UP_READINGS: u64 = 3;

/// Read interval of a rate-limited application.
pub(super) const SLOW_READ_INTERVAL: Span = Span::from_ms(10);

impl Receiver {
    /// Sets the buffer to twice SO_RCVLOWAT (`tcp_set_rcvlowat`).
    pub(super) fn set_lowat(&mut self) {
        self.sink.lowat_bytes = self.sink.lowat_bytes.min(self.options.tcp_rmem[2] >> 1);
        let wanted = self.sink.lowat_bytes << 1;
        if wanted > self.rcvbuf {
            self.rcvbuf = wanted;
            self.window_clamp = self.win_from_space(wanted);
        }
    }

    /// Opens the advertised window by two segments per segment if skbs of this kind would fit
    /// (`tcp_grow_window`, `__tcp_grow_window`).
    pub(super) fn grow_window(&mut self, length: u64, in_order: bool) {
        let space = self.window_clamp.min(self.space()).saturating_sub(self.rcv_ssthresh);
        if space == 0 {
            return;
        }
        let memory = SkbLayout::of(&self.options).judged_memory(length, in_order);
        let mut increase = 2 * self.advmss;
        let mut share = self.win_from_space(memory);
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
            increase = 2 * self.ack.rcv_mss;
        }
        self.rcv_ssthresh += space.min(increase.max(2 * length));
        if self.options.delayed_ack != DelayedAck::EverySecond {
            self.ack.quick |= 1;
        }
    }

    /// Grows a full buffer up to its maximum, or else reduces the window. Returns true if the data
    /// fits now (`tcp_clamp_window`).
    pub(super) fn clamp_window(&mut self) -> bool {
        self.ack.quick = 0;
        let memory = self.memory();
        self.rcvbuf = self.rcvbuf.max(memory.min(self.options.tcp_rmem[2]));
        if memory > self.rcvbuf {
            self.rcv_ssthresh = self.window_clamp.min(2 * self.advmss);
        }
        memory <= self.rcvbuf
    }

    /// Part of a buffer that counts as window (`tcp_win_from_space`).
    pub(super) fn win_from_space(&self, space: u64) -> u64 {
        if self.options.scaling_ratio {
            (space * self.scaling_ratio) >> RATIO_SHIFT
        } else {
            self.options.window_share(space)
        }
    }

    /// Measures the share of a segment's memory that is payload (`tcp_measure_rcv_mss`, Linux 6.6).
    pub(super) fn measure_scaling_ratio(&mut self, length: u64) {
        if !self.options.scaling_ratio {
            return;
        }
        let memory = SkbLayout::of(&self.options).arriving_memory(length);
        let ratio = ((length << RATIO_SHIFT) / memory).clamp(1, 255);
        if ratio != self.scaling_ratio {
            self.scaling_ratio = ratio;
            self.window_clamp = self.win_from_space(self.rcvbuf);
            self.space_bytes = self.space_bytes.min(self.window_clamp);
        }
    }

    /// Memory in use (`sk_rmem_alloc`).
    pub(super) fn memory(&self) -> u64 {
        self.unread.memory_bytes() + self.reassembly.memory_bytes()
    }

    /// Free part of the window (`tcp_space`).
    pub(super) fn space(&self) -> u64 {
        let used = self.memory() + self.reader.backlog_bytes;
        self.win_from_space(self.rcvbuf.saturating_sub(used))
    }

    pub(super) fn receive_window(&self) -> u64 {
        (self.rcv_wup + self.rcv_wnd).saturating_sub(self.rcv_nxt)
    }

    /// Free and full window of the buffer. A subflow offers those of the connection's
    /// (`mptcp_space`).
    fn free_and_allowed(&self) -> (u64, u64) {
        match self.in_use() {
            Some(subflow) => (subflow.shared.free_bytes, subflow.shared.full_bytes),
            None => (self.space(), self.win_from_space(self.rcvbuf)),
        }
    }

    /// Ends quick ACKs if less than half of the window is free (`__tcp_select_window`).
    pub(super) fn end_quick_acks(&mut self) {
        let (free, allowed) = self.free_and_allowed();
        if free < self.window_clamp.min(allowed) >> 1 {
            self.ack.quick = 0;
        }
    }

    /// Window to offer, with silly-window avoidance (RFC 1122 §4.2.3.3, `__tcp_select_window`).
    pub(super) fn select_window(&self) -> u64 {
        let (mut free, allowed) = self.free_and_allowed();
        let full = self.window_clamp.min(allowed);
        let mss = self.ack.rcv_mss.min(full);
        if mss == 0 {
            return 0;
        }
        if free < full >> 1 {
            free = self.whole_units(free);
            if free < allowed >> 4 || free < mss {
                return 0;
            }
        }
        free = free.min(self.rcv_ssthresh);
        if self.wscale > 0 {
            return self.begun_units(free);
        }
        let window = self.rcv_wnd;
        if window + mss <= free || window > free {
            free / mss * mss
        } else {
            window
        }
    }

    /// Sets the window of an ACK for a [`Self::select_window`]. It never shrinks an offered window
    /// (RFC 9293 §3.8.6, `tcp_select_window`).
    pub(super) fn set_window(&mut self, selected: u64) -> u64 {
        self.end_quick_acks();
        self.rcv_wnd = self.next_window(selected);
        self.rcv_wup = self.rcv_nxt;
        if self.in_use().is_some() {
            self.share_window();
        }
        self.in_header(self.rcv_wnd)
    }

    /// Window of the next ACK, as encoded in the header.
    pub(super) fn offered_window(&self) -> u64 {
        self.in_header(self.next_window(self.select_window()))
    }

    /// A window as the header can encode it.
    fn in_header(&self, window: u64) -> u64 {
        self.whole_units(window.min(65_535 << self.wscale))
    }

    /// Rounds a window down to the unit of the header's field (RFC 7323 §2.3).
    fn whole_units(&self, window: u64) -> u64 {
        window >> self.wscale << self.wscale
    }

    /// Rounds a window up to that unit.
    pub(super) fn begun_units(&self, window: u64) -> u64 {
        self.whole_units(window + (1 << self.wscale) - 1)
    }

    fn next_window(&self, window: u64) -> u64 {
        // With Multipath TCP, the connection's window must not shrink, but the subflow's may.
        let current = if self.in_use().is_some() { 0 } else { self.receive_window() };
        if window < current {
            self.begun_units(current)
        } else {
            window
        }
    }

    /// Wakes the application once enough data is readable, if a segment extended it from
    /// `before` (`tcp_data_ready`; `tcp_data_queue_ofo` wakes nobody). An application that waits for
    /// more than one byte takes a moment to run.
    pub(super) fn wake_application(&mut self, before: u64) {
        if self.sink.rate_bps.is_some() || self.rcv_nxt == before || !self.is_readable() {
            return;
        }
        if self.sink.lowat_bytes > 1 {
            let readings =
                WAKE_UP_READINGS + self.readings_per_skb() * self.unread.skbs().saturating_sub(1);
            self.read_at.get_or_insert(self.now + Span::from_ns(readings * CLOCK_READING.as_ns()));
        } else if self.reads_behind() {
            self.wake_reader();
        } else {
            self.reader.sleep();
            self.read(self.unread_bytes());
        }
    }

    /// Readings of the clock with each skb that is read: `tcp_rcv_space_adjust` reads it, before the
    /// release with `tcp_rcvbuf_grow`.
    pub(super) fn readings_per_skb(&self) -> u64 {
        u64::from(!self.options.rcvbuf_grow)
    }

    pub(super) fn unread_bytes(&self) -> u64 {
        self.rcv_nxt - self.copied_seq
    }

    /// `tcp_epollin_ready`.
    fn is_readable(&self) -> bool {
        let unread = self.unread_bytes();
        let pressed = || {
            self.memory() > self.rcvbuf - (self.rcvbuf >> 3)
                || self.receive_window() <= self.ack.rcv_mss
        };
        unread > 0 && (unread >= self.sink.lowat_bytes || self.finished || pressed())
    }

    /// Lets the application read all data, or as much as its rate allows.
    pub(super) fn application_reads(&mut self) {
        let Some(rate) = self.sink.rate_bps else {
            self.read_at = None;
            return self.read(self.unread_bytes());
        };
        self.read_at = Some(self.now + SLOW_READ_INTERVAL);
        let bytes = rate.bytes_in(SLOW_READ_INTERVAL).min(self.unread_bytes());
        if bytes > 0 {
            self.read(bytes);
        }
    }

    /// Reads data: autotunes the buffer, then sends an ACK if it is overdue or the window has
    /// doubled (`tcp_cleanup_rbuf`).
    pub(super) fn read(&mut self, bytes: u64) {
        self.take(bytes, Span::ZERO);
        self.clean_up(bytes);
    }

    /// Takes up to `bytes` bytes from the queue, each skb in the time `each`.
    pub(super) fn take(&mut self, bytes: u64, each: Span) {
        let mut left = bytes;
        while let Some(piece) = self.unread.read(left) {
            left -= piece;
            self.now += each;
            self.copied_seq += piece;
            self.adjust_space(); // After each skb (`tcp_recvmsg_locked`).
        }
    }

    /// Sends an ACK if one is due after a read of `bytes` bytes (`tcp_cleanup_rbuf`).
    pub(crate) fn clean_up(&mut self, bytes: u64) {
        if self.ack_is_due(bytes) {
            self.read_clock_for_ack();
            self.send_ack();
        }
    }

    /// Returns true if an ACK is due after a read of `bytes` bytes.
    pub(super) fn ack_is_due(&self, bytes: u64) -> bool {
        // The application has read all data up to the end of a write. If the application responds
        // to data, or at the end of the stream, this takes two such pieces, and more than the FIN.
        let copied = bytes > u64::from(self.finished);
        let small = self.ack.pushed > u8::from(self.ack.interactive);
        let emptied = copied && small && self.memory() == 0;
        let overdue = self.rcv_nxt - self.rcv_wup > self.ack.rcv_mss;
        if self.ack.scheduled && (overdue || emptied) {
            return true;
        }
        let current = self.receive_window();
        if self.finished || 2 * current > self.window_clamp {
            return false;
        }
        let window = self.select_window();
        window > 0 && window >= 2 * current
    }

    /// Grows the buffer to twice the data read per RTT, and further if that grows (dynamic
    /// right-sizing, `tcp_rcv_space_adjust`; Feng & Fisk 2001).
    pub(super) fn adjust_space(&mut self) {
        if !self.options.rcvbuf_grow {
            self.heard_at = self.now; // Later kernels leave the time of the last segment.
        }
        let elapsed_us = self.heard_at.since(self.space_time).as_us();
        if self.rcv_rtt_us8 == 0 || elapsed_us < self.rcv_rtt_us8 >> 3 {
            return;
        }
        let mut copied = self.copied_seq - self.space_seq;
        if self.options.scaling_ratio {
            // Bytes that wait to be read do not count (6.16, and stable releases of 6.12).
            copied = copied.saturating_sub(self.unread_bytes());
        }
        if copied > self.space_bytes {
            let before = std::mem::replace(&mut self.space_bytes, copied);
            self.grow_buffer(before);
        }
        self.space_seq = self.copied_seq;
        self.space_time = self.heard_at;
    }

    /// Grows the buffer after the bytes read per RTT rose from `before` to `space_bytes`.
    fn grow_buffer(&mut self, before: u64) {
        if !self.options.tcp_moderate_rcvbuf {
            return;
        }
        let window = if self.options.rcvbuf_grow {
            self.window_with_doubling(before)
        } else {
            let window = (self.space_bytes << 1) + 16 * self.advmss;
            window + ((window * (self.space_bytes - before) / before) << 1)
        };
        self.enlarge(window);
    }

    /// Takes the bytes that the connection's application read per RTT (`tcp_rcvbuf_grow` for a subflow).
    pub(crate) fn read_per_rtt(&mut self, bytes: u64) {
        let before = std::mem::replace(&mut self.space_bytes, bytes);
        self.grow_buffer(before);
    }

    /// Grows the buffer while data waits out of order (`tcp_data_queue_ofo`, Linux 6.19).
    pub(super) fn grow_for_reordering(&mut self) {
        if self.options.rcvbuf_grow {
            self.grow_buffer(self.space_bytes);
        }
    }

    /// Window for twice the data of an RTT, for a sender that doubles it, and for what waits out of
    /// order (`tcp_rcvbuf_grow`; 32-bit as there).
    fn window_with_doubling(&self, before: u64) -> u64 {
        let window = self.space_bytes << 1;
        let rtt_us = self.rcv_rtt_us8 >> 3;
        let grow = if rtt_us < LOW_RTT_US {
            window * rtt_us / LOW_RTT_US
        } else {
            let rise = self.space_bytes.wrapping_sub(before) & u64::from(u32::MAX);
            (window << 1).wrapping_mul(rise) / before
        };
        let waiting = self.reassembly.end().map_or(0, |end| end - self.rcv_nxt);
        window.wrapping_add(grow).wrapping_add(waiting) & u64::from(u32::MAX)
    }

    /// Enlarges the buffer so that `window` bytes fit, up to its maximum.
    fn enlarge(&mut self, window: u64) {
        let wanted = if self.options.scaling_ratio {
            (window << RATIO_SHIFT) / self.scaling_ratio // `tcp_space_from_win`
        } else {
            let mut per_segment = self.advmss + 320 + 576; // SKB_TRUESIZE(advmss + MAX_TCP_HEADER)
            while self.win_from_space(per_segment) < self.advmss {
                per_segment += 128;
            }
            window / self.advmss * per_segment
        };
        let rcvbuf = wanted.min(self.options.tcp_rmem[2]);
        if rcvbuf > self.rcvbuf {
            self.rcvbuf = rcvbuf;
            self.window_clamp = self.win_from_space(rcvbuf);
        }
    }
}
