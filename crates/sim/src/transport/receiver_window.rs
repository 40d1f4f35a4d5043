//! The receiver's memory and window: what it offers (RFC 9293 §3.8.6), how the buffer grows
//! (dynamic right-sizing, Feng & Fisk 2001), how the application reads.

use super::receiver::{Receiver, SEGMENT_OVERHEAD_BYTES};
use dumbbell_model::{DelayedAck, Span};

/// Memory of an out-of-order segment at least.
const OUT_OF_ORDER_SEGMENT_BYTES: u64 = 2304;
/// `struct skb_shared_info`: a segment that takes as much beside its payload was not merged.
const SHARED_INFO_BYTES: u64 = 320;
/// Segments that one buffer can hold (MAX_SKB_FRAGS).
const MERGED_SEGMENTS: u64 = 17;
/// How often a rate-limited application reads.
pub(super) const SLOW_READ_INTERVAL: Span = Span::from_ms(10);

impl Receiver {
    /// SO_RCVLOWAT makes room for twice that (`tcp_set_rcvlowat`).
    pub(super) fn set_lowat(&mut self) {
        self.sink.lowat_bytes = self.sink.lowat_bytes.min(self.options.tcp_rmem[2] >> 1);
        let wanted = self.sink.lowat_bytes << 1;
        if wanted > self.rcvbuf {
            self.rcvbuf = wanted;
            self.window_clamp = self.win_from_space(wanted);
        }
    }

    /// `tcp_grow_window`: the advertised window opens by two segments per segment, if buffers of
    /// this kind would fit (`__tcp_grow_window`).
    pub(super) fn grow_window(&mut self, length: u64) {
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
        if self.options.delayed_ack != DelayedAck::EverySecond {
            self.ack.quick |= 1;
        }
    }

    /// Share of a buffer that is window (`tcp_win_from_space`).
    pub(super) fn win_from_space(&self, space: u64) -> u64 {
        let scale = self.options.tcp_adv_win_scale;
        if scale <= 0 {
            space >> scale.unsigned_abs()
        } else {
            space - (space >> scale)
        }
    }

    /// Is the memory of a segment that of its payload, once it is merged with the one before
    /// (`tcp_try_coalesce`)?
    pub(super) fn merges_well(&self) -> bool {
        u64::from(self.options.rx_segment_bytes) < self.advmss + SHARED_INFO_BYTES
    }

    /// Memory in use (`sk_rmem_alloc`): in-order segments merge well, out-of-order ranges each
    /// keep a buffer of their own, or more where they are long.
    pub(super) fn memory(&self) -> u64 {
        let unread = self.rcv_nxt - self.copied_seq;
        let per_segment = u64::from(self.options.rx_segment_bytes);
        let in_order = unread * per_segment / self.advmss;
        if self.merges_well() {
            let buffers = self.unread_buffers.len() + self.reassembly.buffers();
            return in_order
                + self.reassembly.bytes() * per_segment / self.advmss
                + buffers as u64 * SEGMENT_OVERHEAD_BYTES;
        }
        in_order
            + self.reassembly.bytes() * per_segment.max(OUT_OF_ORDER_SEGMENT_BYTES) / self.advmss
            + self.reassembly.ranges() as u64 * SEGMENT_OVERHEAD_BYTES
    }

    /// Most bytes in one buffer.
    pub(super) fn merged_most(&self) -> u64 {
        MERGED_SEGMENTS * self.advmss
    }

    /// So many bytes more wait to be read. They come in one buffer, which merges with the last
    /// one as a whole or not at all (`tcp_queue_rcv`, `tcp_ofo_queue`).
    pub(super) fn queue_unread(&mut self, bytes: u64) {
        let most = self.merged_most();
        match self.unread_buffers.back_mut() {
            Some(last) if *last + bytes <= most => *last += bytes,
            _ if bytes > 0 => self.unread_buffers.push_back(bytes),
            _ => {}
        }
    }

    pub(super) fn space(&self) -> u64 {
        self.win_from_space(self.rcvbuf.saturating_sub(self.memory()))
    }

    pub(super) fn receive_window(&self) -> u64 {
        (self.rcv_wup + self.rcv_wnd).saturating_sub(self.rcv_nxt)
    }

    /// `__tcp_select_window`: RFC 1122 §4.2.3.3 silly-window avoidance.
    pub(super) fn select_window(&self) -> u64 {
        // A subflow offers the connection's room (`mptcp_space`).
        let (mut free, allowed) = match self.in_use() {
            Some(subflow) => (subflow.shared.free_bytes, subflow.shared.full_bytes),
            None => (self.space(), self.win_from_space(self.rcvbuf)),
        };
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
    pub(super) fn select_and_set_window(&mut self) -> u64 {
        if self.select_window() < self.win_from_space(self.rcvbuf) >> 2 {
            // Little room: acknowledge less eagerly.
            let full = self.window_clamp.min(self.win_from_space(self.rcvbuf));
            if self.space() < full >> 1 {
                self.ack.quick = 0;
            }
        }
        let offered = self.offered_window();
        self.rcv_wnd = self.next_window();
        self.rcv_wup = self.rcv_nxt;
        if self.in_use().is_some() {
            self.share_window();
            let unit = 1u64 << self.wscale;
            return self.rcv_wnd.min(65_535 << self.wscale) / unit * unit;
        }
        offered
    }

    /// What the next ACK offers, as the header can say it.
    pub(super) fn offered_window(&self) -> u64 {
        let unit = 1u64 << self.wscale;
        self.next_window().min(65_535 << self.wscale) / unit * unit
    }

    fn next_window(&self) -> u64 {
        let unit = 1u64 << self.wscale;
        // Of a subflow, the connection's window is what does not shrink.
        let current = if self.in_use().is_some() { 0 } else { self.receive_window() };
        let window = self.select_window();
        if window < current {
            current.div_ceil(unit) * unit
        } else {
            window
        }
    }

    /// The application reads what waits once it is enough (`tcp_recvmsg`).
    pub(super) fn read_available(&mut self) {
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

    pub(super) fn read_slowly(&mut self) {
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
    pub(super) fn read(&mut self, bytes: u64) {
        let mut left = bytes;
        while let Some(front) = self.unread_buffers.front_mut().filter(|_| left > 0) {
            let piece = left.min(*front);
            *front -= piece;
            left -= piece;
            self.copied_seq += piece;
            if *front == 0 {
                self.unread_buffers.pop_front();
            }
            if self.merges_well() {
                self.adjust_space(); // After each buffer (`tcp_recvmsg_locked`).
            }
        }
        if !self.merges_well() {
            self.adjust_space();
        }
        self.clean_up(bytes);
    }

    /// So much was read: an ACK may be due (`tcp_cleanup_rbuf`).
    pub(crate) fn clean_up(&mut self, bytes: u64) {
        // The application has read everything, up to the end of what the sender wrote in one go.
        // Of an application that answers, or once it is the end, two such pieces, and more than the FIN.
        let copied = bytes > u64::from(self.finished);
        let small = self.ack.pushed > u8::from(self.ack.interactive);
        let emptied = copied && small && self.memory() == 0;
        let overdue = self.rcv_nxt - self.rcv_wup > self.ack.rcv_mss;
        let mut due = self.ack.scheduled && (overdue || emptied);
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
    pub(super) fn adjust_space(&mut self) {
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

    pub(super) fn enlarge(&mut self, copied: u64) {
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
