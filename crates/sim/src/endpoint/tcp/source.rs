//! Application side of the sender: writes, send buffer and its autotuning (`tcp_sndbuf_expand`,
//! `tcp_check_space`).

use super::output::{Push, GSO_MAX_BYTES};
use super::sender::{Phase, Sender};
use super::CLOCK_READING;
use dumbbell_model::scenario::Source;
use dumbbell_model::{Span, Time};

/// Overhead per segment in Linux's calculation of the send buffer.
const MAX_TCP_HEADER_BYTES: u64 = 320;
const SHARED_INFO_BYTES: u64 = 320;
const SK_BUFF_BYTES: u64 = 256;
/// Time from the first skb that leaves an empty queue to the next one, while the rest of the call is
/// copied. Any positive value lets the first skb come before those of other paths.
const RUNNING: Span = CLOCK_READING;
/// Time from a wake-up until the application writes: it returns from `ppoll`, asks for the time, and
/// TCP asks when it sends.
const WAKE_UP: Span = Span::from_ns(3 * CLOCK_READING.as_ns());

impl Sender {
    /// Bytes per skb of the write queue: a GSO skb, at most half of the largest window offered by
    /// the peer (`tcp_xmit_size_goal`).
    pub(super) fn size_goal(&self) -> u64 {
        let mss = u64::from(self.mss);
        if !self.options.gso {
            return mss;
        }
        let most = GSO_MAX_BYTES.min((self.max_window >> 1).max(536));
        (most / mss * mss).max(mss)
    }

    /// Memory of written, unacknowledged data (`sk_wmem_queued`).
    pub(super) fn queued_memory(&self) -> u64 {
        self.write_seq.saturating_sub(self.snd_una)
            + (self.buffer.sent_skbs + self.write_queue.skbs() as u64)
                * self.options.skb_overhead_bytes()
    }

    /// Grows the send buffer to twice the window (three times for BBR) in the worst packing
    /// (`tcp_sndbuf_expand`).
    pub(crate) fn expand_sndbuf(&mut self) {
        let per_segment =
            (u64::from(self.options.mtu_bytes) - 40 + MAX_TCP_HEADER_BYTES + SHARED_INFO_BYTES)
                .next_power_of_two()
                + SK_BUFF_BYTES;
        let segments = self.window.cwnd.max(self.scoreboard.reordering + 1).max(10);
        let wanted = u64::from(self.cc.sndbuf_expand()) * u64::from(segments) * per_segment;
        self.buffer.sndbuf = self.buffer.sndbuf.max(wanted.min(self.options.tcp_wmem[2]));
    }

    /// Checks for free space: grows the buffer if the window is not filled, and wakes the
    /// application (`tcp_check_space`, `sk_stream_write_space`).
    pub(crate) fn check_space(&mut self) {
        if !self.buffer.no_space {
            return;
        }
        if self.in_flight() < self.window.cwnd {
            self.expand_sndbuf();
            self.usage.cwnd_stamp = self.jiffies();
        }
        if self.subflow.is_some() {
            return; // The connection's buffer applies.
        }
        if self.is_writeable() {
            self.buffer.no_space = false;
        }
    }

    /// Wakes an application that waits for space. It writes a moment later: on the kernel a process
    /// runs when all packets that have arrived are processed.
    pub(crate) fn wake_source(&mut self) {
        let waking = self.buffer.source_at.is_some();
        if self.phase != Phase::Established || self.buffer.stopped || self.buffer.no_space || waking
        {
            return;
        }
        let more = self.buffer.writer.fills_room()
            && self.buffer.writer.left(self.buffer.written_bytes) > 0;
        if more {
            self.buffer.source_at = Some(self.now + WAKE_UP);
            self.buffer.woken = true;
        }
    }

    /// Time at which an application that has been woken writes.
    fn woken_until(&self) -> Option<Time> {
        self.buffer.source_at.filter(|&at| at > self.now && at <= self.now + WAKE_UP)
    }

    /// Sends what small queues held back. If the application has been woken, it comes first
    /// (`__do_softirq` stops for a process), and TCP waits for its call (`TCP_TSQ_DEFERRED`) or for the
    /// next segment.
    pub(super) fn small_queue_event(&mut self) {
        match self.woken_until() {
            Some(at) => self.host_queue.defer(at),
            None => self.tsq_write(),
        }
    }

    /// Writes the application's data that fits.
    pub(crate) fn fill_from_source(&mut self) {
        if self.buffer.stopped {
            self.close();
            return;
        }
        self.check_app_limited();
        if self.subflow.is_some() {
            return; // The connection writes.
        }
        // Segments sent since the wake-up took memory: the application's poll looks again.
        if core::mem::take(&mut self.buffer.woken) && !self.is_writeable() {
            self.buffer.no_space = true;
            return;
        }
        self.buffer.writer.act(self.now);
        self.host_queue.set_in_process(true);
        self.write(self.buffer.writer.left(self.buffer.written_bytes));
        self.host_queue.set_in_process(false);
        if self.buffer.writer.is_complete(self.buffer.written_bytes) {
            self.buffer.stopped = true;
            self.close();
        } else if self.buffer.source_at.is_none() {
            self.buffer.source_at = self.buffer.writer.next();
        }
    }

    /// Writes up to `wanted` bytes while the send buffer has space, in pieces of an application's
    /// call.
    fn write(&mut self, wanted: u64) {
        if self.scoreboard.packets_out == 0 {
            self.slow_start_after_idle_check();
        }
        let mut left = wanted;
        let mut full = false;
        while left > 0 && !full && self.buffer.source_at.is_none() {
            let written;
            (written, full) = self.write_piece(left);
            left -= written;
        }
        // A server's poll waits for requests and sees a full buffer (`tcp_poll`).
        if self.buffer.writer.source().is_driven() && !self.is_writeable() {
            self.buffer.no_space = true;
        }
    }

    /// Returns true if a third of the send buffer is free, and less than half of TCP_NOTSENT_LOWAT is
    /// not sent (`__sk_stream_is_writeable`, `tcp_stream_memory_free`).
    fn is_writeable(&self) -> bool {
        let queued = self.queued_memory();
        self.buffer.sndbuf.saturating_sub(queued) >= queued >> 1
            && self.not_sent() << 1 < self.buffer.notsent_lowat
    }

    /// Written bytes that are not sent.
    fn not_sent(&self) -> u64 {
        self.write_seq.saturating_sub(self.snd_nxt)
    }

    /// Returns true if a new skb may begin (`sk_stream_memory_free`).
    fn memory_free(&self) -> bool {
        self.queued_memory() < self.buffer.sndbuf && self.not_sent() < self.buffer.notsent_lowat
    }

    /// Performs one call of `tcp_sendmsg_locked`, or the rest of one. Returns the number of bytes
    /// written, and whether the buffer is full.
    fn write_piece(&mut self, wanted: u64) -> (u64, bool) {
        let begun = core::mem::take(&mut self.buffer.copied_bytes);
        self.begin_call(begun > 0);
        let result = self.write_in_call(wanted, begun);
        self.end_call();
        result
    }

    fn write_in_call(&mut self, wanted: u64, begun: u64) -> (u64, bool) {
        let goal = self.size_goal();
        let wanted = wanted.min(self.buffer.writer.source().write_bytes() - begun);
        let mut written = 0;
        let mut full = false;
        while written < wanted {
            let space = self.write_queue.tail_space_bytes(goal).min(wanted - written);
            let bytes = if space > 0 {
                self.write_queue.append(space, begun + written == 0);
                space
            } else if self.memory_free() {
                // A new skb starts while the memory is below the limit, and is then filled.
                let bytes = goal.min(wanted - written);
                self.write_queue.begin(bytes);
                bytes
            } else {
                full = true;
                self.buffer.no_space = true;
                break;
            };
            written += bytes;
            self.write_seq += bytes;
            if written < wanted && self.push_full_buffer() && self.may_pause() {
                self.buffer.written_bytes += written;
                self.buffer.copied_bytes = begun + written;
                self.buffer.source_at = Some(self.now + RUNNING);
                return (written, false);
            }
        }
        self.buffer.written_bytes += written;
        if written > 0 {
            self.mark_push();
            self.push(if full { Push::Forced } else { Push::Pending });
        }
        (written, full)
    }

    /// Sends when the last skb is full and more data follows. If more than half of the receive
    /// window is not marked, all data is sent (`forced_push`). Otherwise one skb is sent if nothing
    /// else waits. Returns true if that skb was sent.
    fn push_full_buffer(&mut self) -> bool {
        if self.write_seq > self.pushed_seq + (self.max_window >> 1) {
            self.mark_push();
            self.push(Push::Forced);
        } else if self.write_queue.head_is_tail() {
            let before = self.out.len();
            self.push(Push::One); // tcp_push_one
            return self.out.len() > before;
        }
        false
    }

    /// Returns true if the rest of a call may be written a moment later, by the next call of the
    /// source.
    fn may_pause(&self) -> bool {
        let source = self.buffer.writer.source();
        matches!(source, Source::Bulk { .. }) || source.is_driven()
    }

    pub(super) fn mark_push(&mut self) {
        self.write_queue.mark_push();
        self.pushed_seq = self.write_seq;
    }

    /// Sends a segment of at most `most_bytes` bytes into a small window (`tcp_write_wakeup`).
    pub(crate) fn send_fitting(&mut self, most_bytes: u32) {
        let small_seq = self.small_seq;
        let before = self.out.len();
        self.write_xmit(Push::Fitting { most_bytes });
        if self.out.len() > before {
            if let Some(sent) = self.out.last_mut() {
                sent.flags.psh = true;
            }
        }
        self.small_seq = small_seq; // Nagle's algorithm does not count it.
    }
}
