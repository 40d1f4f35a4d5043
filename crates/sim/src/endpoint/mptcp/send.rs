//! Sender of a connection: writes of the application, data given to subflows, and data acknowledged
//! by the peer (net/mptcp/protocol.c).

use super::chunks::Chunks;
use super::scheduler::{self, Pick, Schedule, Stream, View};
use super::Subflows;
use crate::endpoint::tcp::sender::Phase;
use crate::endpoint::tcp::subflow::Begins;
use crate::wheel::{Tick, Timer};
use dumbbell_model::scenario::Connection;
use dumbbell_model::writer::Writer;
use dumbbell_model::{TcpOptions, Time};
use std::collections::VecDeque;

/// Minimum RTO (TCP_RTO_MIN), ms.
pub(super) const RTO_MIN_MS: u64 = 200;
/// Segments that a subflow may hold beyond its congestion window, so that TCP builds large skbs and
/// defers them as with a full write queue. Without them, a subflow sends segment by segment and
/// takes more than its share from TCP at a drop-tail queue.
const AHEAD_SEGMENTS: u32 = 2;
/// The connection's state of a subflow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SubflowState {
    pub(crate) backup: bool,
    /// Number of the connection's time-outs with outstanding data and without a segment
    /// (`stale_count`).
    pub(super) stale_count: u32,
    /// True if the subflow counts as dead until a segment arrives.
    pub(crate) stale: bool,
    /// Time of the last segment, ticks, and its value when the count began.
    pub(super) heard: u64,
    pub(super) heard_at_count: u64,
    /// Number of its time-outs that were processed.
    pub(super) timeouts: u64,
    /// Time of the last halving of its window for blocking the others.
    pub(super) penalised: Option<Time>,
    /// True after it was removed or given up.
    pub(crate) gone: bool,
    /// Its send buffer when the connection's was sized last.
    cached_sndbuf: u64,
}

/// Counters for the tables.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    /// Data bytes given to a subflow after another one had them.
    pub(crate) reinjected_bytes: u64,
    /// Halvings of the window of a blocking subflow.
    pub(crate) penalties: u64,
}

/// Cause of sending: the application, or an ACK on a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    Process,
    /// An ACK. If `first`, the first data goes to this subflow regardless of the scheduler.
    Ack {
        subflow: usize,
        first: bool,
    },
}

/// Sender of a connection.
pub(crate) struct DataSender {
    pub(super) tick: Tick,
    writer: Writer,
    pub(super) scheduler: Box<dyn Schedule>,
    opportunistic: bool,
    pub(crate) stopped: bool,
    /// Time of the application's next action.
    pub(crate) source_at: Option<Time>,

    /// Bytes written by the application.
    pub(crate) written: u64,
    /// Next byte to give to a subflow: `snd_nxt`, except for data given again.
    pub(super) next: u64,
    pub(crate) snd_nxt: u64,
    pub(crate) snd_una: u64,
    pub(crate) window_end: u64,
    pub(super) chunks: Chunks,
    memory: u64,
    sndbuf: u64,
    /// Minimum of the buffer (`tcp_wmem[0]`), to which those of the subflows are added; `None` until
    /// Linux 6.6 (`__mptcp_sync_sndbuf`).
    sndbuf_base: Option<u64>,
    /// True if a full buffer also ends the last chunk, since Linux 6.9.
    full_ends_chunk: bool,
    /// True if the scheduler decides before each piece of data (`msk->last_snd`, until Linux 6.5).
    decides_per_piece: bool,
    pub(crate) no_space: bool,

    /// Retransmission timer.
    pub(crate) timer: Timer,
    pub(super) timer_jiffies: u64,
    pub(super) timeouts_of_fin: u32,
    pub(crate) states: Vec<SubflowState>,
    /// Data to reinject after a subflow's time-out: start, end, and the subflow to avoid.
    pub(super) reinject: VecDeque<(u64, u64, usize)>,
    pub(super) views: Vec<View>,
    /// True for subflows that got data.
    pub(crate) touched: Vec<bool>,
    /// True after the DATA_FIN was sent.
    pub(crate) fin_sent: bool,
    pub(crate) fin_acked: bool,
    pub(crate) fell_back: bool,
    pub(crate) counters: Counters,
}

impl DataSender {
    pub(crate) fn new(spec: &Connection, options: &TcpOptions, writer: Writer) -> Self {
        let state = |subflow: &dumbbell_model::scenario::Subflow| SubflowState {
            backup: subflow.backup,
            ..SubflowState::default()
        };
        let tick = Tick::new(options.hz);
        Self {
            tick,
            writer,
            scheduler: scheduler::new(spec.scheduler, options.mptcp_last_snd),
            opportunistic: spec.opportunistic,
            stopped: false,
            source_at: None,
            written: 0,
            next: 0,
            snd_nxt: 0,
            snd_una: 0,
            window_end: 0,
            chunks: Chunks::default(),
            memory: 0,
            sndbuf: options.tcp_wmem[1],
            sndbuf_base: options.mptcp_sync_sndbuf.then_some(options.tcp_wmem[0]),
            full_ends_chunk: options.mptcp_sync_sndbuf,
            decides_per_piece: options.mptcp_last_snd,
            no_space: false,
            timer: Timer::default(),
            timer_jiffies: tick.ms(RTO_MIN_MS),
            timeouts_of_fin: 0,
            states: spec.subflows.iter().map(state).collect(),
            reinject: VecDeque::new(),
            views: Vec::with_capacity(spec.subflows.len()),
            touched: vec![false; spec.subflows.len()],
            fin_sent: false,
            fin_acked: false,
            fell_back: false,
            counters: Counters::default(),
        }
    }

    // The application

    /// Lets the application write.
    pub(crate) fn on_source(&mut self, now: Time, subflows: &mut Subflows<'_>) {
        self.source_at = None;
        if self.stopped {
            return;
        }
        self.writer.act(now);
        self.write(now, self.writer.left(self.written), subflows);
        if self.writer.is_complete(self.written) {
            self.stop(now, subflows);
        } else {
            self.source_at = self.writer.next();
        }
    }

    /// Lets an application that waits for space write (`mptcp_write_space`).
    pub(crate) fn write_space(&mut self, now: Time, subflows: &mut Subflows<'_>) {
        self.size_buffer(subflows);
        if self.no_space && self.is_writeable() {
            self.set_no_space(false, subflows);
            if self.writer.fills_room() {
                self.on_source(now, subflows);
            }
        }
    }

    /// `sk_stream_is_writeable`.
    fn is_writeable(&self) -> bool {
        self.sndbuf.saturating_sub(self.memory) >= self.memory >> 1
    }

    /// Sizes the buffer by those of the subflows: by the largest, or by their sum once that of an
    /// established subflow has changed (`mptcp_propagate_sndbuf` of 6.1 and of 6.7).
    fn size_buffer(&mut self, subflows: &mut Subflows<'_>) {
        let (mut sum, mut changed) = (0, false);
        for subflow in 0..subflows.len() {
            let state = &mut self.states[subflow];
            let sender = subflows.sender(subflow);
            if sender.phase == Phase::Closed || state.gone {
                changed |= core::mem::take(&mut state.cached_sndbuf) > 0;
                continue;
            }
            let sndbuf = sender.memory().1;
            sum += sndbuf;
            if sender.is_open() {
                changed |= core::mem::replace(&mut state.cached_sndbuf, sndbuf) != sndbuf;
            }
            if self.sndbuf_base.is_none() {
                self.sndbuf = self.sndbuf.max(sndbuf);
            }
        }
        if let Some(base) = self.sndbuf_base.filter(|_| changed) {
            self.sndbuf = base + sum;
        }
    }

    /// Sets the wait for space. Subflows grow their buffers only while the application waits
    /// (`tcp_check_space`).
    fn set_no_space(&mut self, no_space: bool, subflows: &mut Subflows<'_>) {
        self.no_space = no_space;
        for subflow in 0..subflows.len() {
            subflows.sender(subflow).set_no_space(no_space);
        }
    }

    /// Writes data piece by piece (`mptcp_sendmsg`).
    fn write(&mut self, now: Time, wanted: u64, subflows: &mut Subflows<'_>) {
        let mut left = wanted;
        let mut full = false;
        while left > 0 && !full {
            let piece = left.min(self.writer.source().write_bytes());
            let mut copied = 0;
            while copied < piece {
                let Some(space) = self.chunk_space() else {
                    full = true;
                    self.set_no_space(true, subflows);
                    break;
                };
                let bytes = space.min(piece - copied);
                self.chunks.append(bytes);
                self.written += bytes;
                self.memory += bytes;
                copied += bytes;
            }
            left -= copied;
            if copied > 0 {
                let sent = self.sent_bytes(subflows);
                self.push(now, Context::Process, subflows);
                if full && self.sent_bytes(subflows) > sent && self.ends_wait(subflows) {
                    full = !self.writer.fills_room();
                }
            }
        }
    }

    fn sent_bytes(&self, subflows: &mut Subflows<'_>) -> u64 {
        (0..subflows.len()).map(|subflow| subflows.sender(subflow).snd_nxt).sum()
    }

    /// Until Linux 6.6, data that is sent before the call returns may end the wait for space
    /// (`MPTCP_NOSPACE`), as a subflow's buffer has grown. `sk_stream_wait_memory` then sets
    /// `SOCK_NOSPACE` once more, and nobody clears it: the subflows go on growing their buffers.
    fn ends_wait(&mut self, subflows: &mut Subflows<'_>) -> bool {
        if self.sndbuf_base.is_some() {
            return false;
        }
        self.size_buffer(subflows);
        self.no_space = !self.is_writeable();
        !self.no_space
    }

    /// Space of the chunk that takes the next bytes; `None` if the buffer is full. Until Linux 6.8 a
    /// full buffer still filled its last chunk (`mptcp_send_limit`).
    fn chunk_space(&mut self) -> Option<u64> {
        let full = self.memory >= self.sndbuf;
        let tail = self.chunks.tail_space(self.next);
        if tail > 0 && !(full && self.full_ends_chunk) {
            return Some(tail);
        }
        if full {
            return None;
        }
        let before = self.chunks.overhead_bytes();
        let space = self.chunks.carve(self.written);
        self.memory += self.chunks.overhead_bytes() - before;
        Some(space)
    }

    /// Ends the stream.
    pub(crate) fn stop(&mut self, now: Time, subflows: &mut Subflows<'_>) {
        self.stopped = true;
        self.source_at = None;
        self.check_fin(now, subflows);
    }

    /// Sends the DATA_FIN on all subflows once all data was given to subflows
    /// (`mptcp_check_send_data_fin`).
    fn check_fin(&mut self, now: Time, subflows: &mut Subflows<'_>) {
        if !self.stopped || self.fin_sent || self.next < self.written {
            return;
        }
        self.fin_sent = true;
        if self.fell_back {
            subflows.sender(0).stop(now);
            self.touched[0] = true;
            return;
        }
        self.snd_nxt = self.written + 1;
        self.send_fin(now, subflows);
        self.reset_timer(now);
    }

    pub(super) fn send_fin(&mut self, now: Time, subflows: &mut Subflows<'_>) {
        let written = self.written;
        for subflow in 0..subflows.len() {
            let sender = subflows.sender(subflow);
            if let Some(of) = &mut sender.subflow {
                of.data_fin = Some(written);
            }
            if sender.carries_data() {
                sender.send_bare(now);
                self.touched[subflow] = true;
            }
        }
    }

    // Giving data to subflows

    fn stream(&self) -> Stream {
        Stream {
            una: self.snd_una,
            next: self.next,
            written: self.written,
            window_end: self.window_end,
        }
    }

    pub(super) fn view(&mut self, subflow: usize, subflows: &mut Subflows<'_>) -> View {
        let SubflowState { backup, stale, gone, .. } = self.states[subflow];
        let sender = subflows.sender(subflow);
        let (queued_bytes, sndbuf) = sender.memory();
        let unsent = sender.write_seq.saturating_sub(sender.snd_nxt);
        let mss = sender.mss;
        View {
            active: sender.carries_data() && !stale && !gone,
            backup,
            in_loss: sender.is_timed_out(),
            cwnd: sender.window.cwnd,
            in_flight: sender.in_flight(),
            unsent: (unsent.div_ceil(u64::from(mss)) as u32).saturating_sub(AHEAD_SEGMENTS),
            mss,
            srtt_us: sender.rtt.srtt_us8 >> 3,
            rttvar_us: sender.rtt.mdev_us4 >> 2,
            queued_bytes,
            has_memory: queued_bytes < sndbuf,
            pacing_rate: sender.window.pacing_rate,
        }
    }

    /// Gives data to subflows (`__mptcp_push_pending`, `__mptcp_subflow_push_pending`). Returns the
    /// subflow that must continue, if it is not the one that acts.
    pub(crate) fn push(
        &mut self,
        now: Time,
        context: Context,
        subflows: &mut Subflows<'_>,
    ) -> Option<usize> {
        let mut writing: Option<usize> = None;
        let mut delegate = None;
        let mut pushed = false;
        self.views.clear();
        for subflow in 0..subflows.len() {
            let view = self.view(subflow, subflows);
            self.views.push(view);
        }
        if !self.reinject.is_empty() {
            pushed |= self.push_reinjections(now, subflows);
        }
        let fills = self.scheduler.fills_buffers();
        let mut first = matches!(context, Context::Ack { first: true, .. });
        while self.next < self.written || !fills {
            let stream = self.stream();
            if self.fell_back && stream.next >= stream.written {
                break;
            }
            let pick = match context {
                _ if !first && self.burst_goes_on(writing) => {
                    let subflow = writing.unwrap_or_default();
                    Some(Pick { subflow, from: stream.next, most_bytes: u64::MAX })
                }
                _ if self.fell_back => self.views[0].has_memory.then_some(Pick {
                    subflow: 0,
                    from: stream.next,
                    most_bytes: u64::MAX,
                }),
                Context::Ack { subflow, .. } if first => {
                    Some(Pick { subflow, from: stream.next, most_bytes: u64::MAX })
                }
                _ => {
                    self.set_timeout(now, subflows);
                    self.scheduler.pick(&stream, &self.views)
                }
            };
            let Some(pick) = pick else { break };
            if pick.from >= stream.written {
                break;
            }
            if let Context::Ack { subflow, .. } = context {
                if fills && !self.fell_back && pick.subflow != subflow {
                    delegate = Some(pick.subflow);
                    break;
                }
            }
            if let Some(before) = writing.filter(|&before| before != pick.subflow) {
                self.release(now, before, subflows);
            }
            writing = Some(pick.subflow);
            let bytes = self.give(now, &pick, subflows);
            if bytes == 0 {
                break;
            }
            first = false;
            pushed = true;
            if !self.fell_back {
                self.scheduler.sent(&pick, bytes);
            }
            self.next = self.next.max(pick.from + bytes);
            self.snd_nxt = self.snd_nxt.max(self.next);
            self.views[pick.subflow] = self.view(pick.subflow, subflows);
        }
        if let Some(last) = writing {
            self.release(now, last, subflows);
        }
        if pushed {
            if !self.timer.is_set() {
                self.reset_timer(now);
            }
            self.check_fin(now, subflows);
        }
        delegate
    }

    /// Returns true if the subflow being written to gets the next data without a decision: up to the
    /// end of a chunk, and beyond it while the burst lasts (`__subflow_push_pending`, Linux 6.6).
    fn burst_goes_on(&self, writing: Option<usize>) -> bool {
        let Some(subflow) = writing.filter(|_| self.scheduler.fills_buffers()) else {
            return false;
        };
        if self.decides_per_piece || self.fell_back {
            return false;
        }
        let view = &self.views[subflow];
        !self.chunks.ends_at(self.next)
            || (self.scheduler.burst_lasts() && view.has_memory && view.active)
    }

    /// `mptcp_push_release`.
    fn release(&mut self, now: Time, subflow: usize, subflows: &mut Subflows<'_>) {
        let sender = subflows.sender(subflow);
        sender.set_now(now);
        sender.push_mapped();
        self.views[subflow] = self.view(subflow, subflows);
    }

    /// Gives a subflow data that fits into one of its skbs and one chunk of the connection. Returns
    /// the number of bytes (`mptcp_sendmsg_frag`).
    fn give(&mut self, now: Time, pick: &Pick, subflows: &mut Subflows<'_>) -> u64 {
        let window = self.window_end.saturating_sub(pick.from);
        let chunk_end = self.chunks.end_of(pick.from).unwrap_or(self.written);
        let most = (chunk_end.min(self.written) - pick.from).min(pick.most_bytes);
        let begins = if self.chunks.ends_at(pick.from) { Begins::Chunk } else { Begins::Within };
        let sender = subflows.sender(pick.subflow);
        sender.set_now(now);
        self.touched[pick.subflow] = true;
        if self.fell_back {
            return sender.write_mapped(pick.from, most, begins);
        }
        sender.widen_window(window);
        if window == 0 {
            self.scheduler.window_full(&self.views);
            if self.opportunistic {
                self.unblock(now, pick.subflow, subflows);
            }
            // All data has arrived and none is in transit: one repeated byte probes the window.
            if self.snd_una == self.snd_nxt && self.snd_una > 0 {
                let sender = subflows.sender(pick.subflow);
                if sender.is_idle() {
                    sender.write_mapped(self.snd_una - 1, 1, Begins::Within);
                }
            }
            return 0;
        }
        sender.write_mapped(pick.from, most.min(window), begins)
    }

    // What the other end says

    /// Processes the data ACK of an ACK on a subflow, whose window is `window` (`ack_update_msk`).
    /// Returns the subflow that must continue sending.
    pub(crate) fn acked(
        &mut self,
        now: Time,
        subflow: usize,
        data_ack: u64,
        window: u64,
        subflows: &mut Subflows<'_>,
    ) -> Option<usize> {
        let una = if data_ack > self.snd_nxt { self.snd_una } else { data_ack.max(self.snd_una) };
        // The window begins where the ACK says, which a slow path brings late.
        let begins = data_ack.min(una);
        self.window_end = self.window_end.max(begins + window);
        let mut delegate = None;
        if self.window_end > self.next {
            delegate = self.push(now, Context::Ack { subflow, first: false }, subflows);
        }
        if una > self.snd_una {
            self.snd_una = una;
            self.clean_una(now);
        }
        self.fin_acked |= self.fin_sent && self.snd_una > self.written;
        delegate
    }

    /// Frees acknowledged chunks (`__mptcp_clean_una`).
    pub(super) fn clean_una(&mut self, now: Time) {
        let una = self.snd_una.min(self.written);
        self.chunks.free_below(una);
        self.memory = self.written - una + self.chunks.overhead_bytes();
        self.next = self.next.max(una);
        let all = if self.fin_sent { self.written + 1 } else { self.written };
        if self.snd_una == self.snd_nxt && self.snd_una == all {
            self.timer = Timer::default();
        } else {
            self.reset_timer(now);
        }
    }

    /// Records a segment on a subflow, which shows that it is alive (`mptcp_subflow_active`).
    pub(crate) fn heard(&mut self, now: Time, subflow: usize) {
        let jiffies = self.tick.jiffies(now);
        let state = &mut self.states[subflow];
        state.heard = jiffies;
        state.stale = false;
    }
}
