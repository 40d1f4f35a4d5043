//! Sender of a TCP connection as in Linux: state, construction, entry points. Other files of this
//! directory contain the behaviour by subject. Each function names its Linux counterpart.
//!
//! If the peer sends data, too, `duplex` joins sender and receiver.

use super::congestion_state::CongestionState;
use super::duplex::SentSince;
use super::ecn::SenderEcn;
use super::handshake::SynOptions;
use super::host_queue::HostQueue;
use super::oow_limit::OowLimit;
use super::out_queue::OutQueue;
use super::pacer::Pacer;
use super::rack::Rack;
use super::rate::RateState;
use super::recovery_state::RecoveryState;
use super::rtt::RttState;
use super::rtx_queue::RtxQueue;
use super::scoreboard::Scoreboard;
use super::send_buffer::SendBuffer;
use super::subflow::{LossIntervals, SendingSubflow};
use super::time_wait::Closed;
use super::window_usage::WindowUsage;
use super::write_queue::WriteQueue;
use super::xmit_timer::XmitTimer;
use crate::events::Turn;
use crate::wheel::{earliest, Jiffy, Tick};
use dumbbell_cc::{CaEvent, CaState, CongestionControl, Conn, Window};
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::Algorithm;
use dumbbell_model::writer::Writer;
use dumbbell_model::{TcpOptions, Time};
use dumbbell_packet::tcp::TIMESTAMPS_BYTES;
use dumbbell_packet::{Cause, Segment};
use std::sync::Arc;

/// Reason of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retransmission {
    Fast,
    Timeout,
    Probe,
}

impl Retransmission {
    /// Cause for captures.
    pub(crate) fn cause(self) -> Cause {
        match self {
            Self::Fast => Cause::Fast,
            Self::Timeout => Cause::Timeout,
            Self::Probe => Cause::Probe,
        }
    }
}

/// State of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not started.
    Closed,
    /// SYN sent: time of the first transmission, number of transmissions, time-out in jiffies.
    SynSent {
        first: Time,
        tries: u32,
        timeout: u64,
    },
    Established,
    /// All data and the FIN are acknowledged.
    Finished(Time),
    /// Too many retransmissions without a response.
    GivenUp(Time),
}

/// Counters for the `flows` table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) data_packets: u64,
    pub(crate) retransmitted: u64,
    pub(crate) fast: u64,
    pub(crate) timeout: u64,
    pub(crate) probe: u64,
    pub(crate) timeouts: u64,
    pub(crate) recoveries: u64,
    pub(crate) undos: u64,
}

/// Sender of a connection.
pub(crate) struct Sender {
    pub(crate) options: Arc<TcpOptions>,
    pub(crate) tick: Tick,
    pub(crate) cc: Box<dyn CongestionControl>,
    pub(crate) window: Window,
    rng: Rng,
    /// True if the algorithm needs a number for each hook.
    draws: bool,
    pub(crate) phase: Phase,
    pub(crate) now: Time,
    /// Current time, microseconds and milliseconds.
    now_us: u64,
    now_ms: u64,
    jiffy: Jiffy,
    /// Segments to put on the wire, in order.
    pub(crate) out: OutQueue,

    // Sequence space.
    pub(crate) snd_una: u64,
    pub(crate) snd_nxt: u64,
    pub(crate) write_seq: u64,
    pub(super) write_queue: WriteQueue,
    /// `write_seq` at the last mark of PSH.
    pub(super) pushed_seq: u64,
    pub(crate) snd_wnd: u64,
    /// Sequence number of the last segment that updated the window (`snd_wl1`); `None` for the SYN.
    pub(super) window_seq: Option<u64>,
    pub(crate) max_window: u64,
    pub(crate) fin: bool,
    pub(crate) mss: u32,
    pub(crate) small_seq: u64,
    pub(crate) queue: RtxQueue,

    pub(super) buffer: SendBuffer,
    pub(crate) scoreboard: Scoreboard,
    pub(crate) congestion: CongestionState,
    pub(super) recovery: RecoveryState,
    pub(super) usage: WindowUsage,
    /// Packets delivered and lost so far (`tp->delivered`, `tp->lost`).
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    /// Jiffy of the last data segment sent (`tp->lsndtime`).
    pub(super) last_send: u64,

    pub(crate) rtt: RttState,
    pub(crate) rack: Rack,
    pub(crate) rate: RateState,
    /// Timestamp and timestamp echo of the ACK being processed.
    pub(crate) tsval_ms: u32,
    pub(crate) tsecr_ms: u32,
    /// True if that ACK has timestamps: in the first millisecond of a run they are 0.
    pub(crate) echoes: bool,
    /// Latest timestamp of the peer, which is echoed.
    pub(crate) ts_recent_ms: u32,

    pub(super) xmit_timer: XmitTimer,
    pub(super) pacer: Pacer,
    pub(crate) host_queue: HostQueue,

    /// ACK fields of every segment.
    pub(super) carried: Segment,
    pub(super) sent_since: SentSince,

    pub(crate) losses: LossIntervals,
    /// Subflow state, for Multipath TCP.
    pub(crate) subflow: Option<Box<SendingSubflow>>,
    oow_limit: OowLimit,
    /// End of the connection.
    pub(super) closed: Closed,
    /// Options of the SYN.
    pub(crate) offers: SynOptions,
    pub(crate) ecn: SenderEcn,
    pub(crate) counters: Counters,
    pub(crate) established_at: Option<Time>,
}

/// Window offered to a peer that sends no data: that of the SYN, without timestamps.
fn window_of_no_data(options: &TcpOptions) -> u32 {
    let mss_bytes = u64::from(options.mtu_bytes) - 40;
    options.first_window(options.tcp_rmem[1], mss_bytes) as u32
}

/// Window before the algorithm's own initialisation (`tcp_init_metrics`).
fn initial_window(options: &TcpOptions, pacing: bool) -> Window {
    let window = Window { pacing, ..Window::new(options.initcwnd) };
    match options.ssthresh {
        0 => window,
        ssthresh => Window { ssthresh, ..window },
    }
}

impl Sender {
    pub(crate) fn new(
        algorithm: Algorithm,
        cc: Box<dyn CongestionControl>,
        options: &Arc<TcpOptions>,
        writer: Writer,
        fq: bool,
        rng: Rng,
    ) -> Self {
        let header = 40 + if options.tcp_timestamps { 12 } else { 0 };
        Self {
            options: Arc::clone(options),
            tick: Tick::new(options.hz),
            draws: cc.draws(),
            cc,
            window: initial_window(options, fq),
            rng,
            phase: Phase::Closed,
            now: Time::ZERO,
            now_us: 0,
            now_ms: 0,
            jiffy: Jiffy::default(),
            out: OutQueue::default(),
            snd_una: 0,
            snd_nxt: 0,
            write_seq: 0,
            write_queue: WriteQueue::default(),
            pushed_seq: 0,
            snd_wnd: 0,
            window_seq: None,
            max_window: 0,
            fin: false,
            mss: options.mtu_bytes - header,
            small_seq: 0,
            queue: RtxQueue::default(),
            buffer: SendBuffer::new(writer, options),
            scoreboard: Scoreboard::new(options),
            congestion: CongestionState::default(),
            recovery: RecoveryState::default(),
            usage: WindowUsage::new(options.initcwnd),
            delivered: 0,
            lost: 0,
            last_send: 0,
            rtt: RttState::new(options),
            rack: Rack::default(),
            rate: RateState::default(),
            tsval_ms: 0,
            tsecr_ms: 0,
            echoes: false,
            ts_recent_ms: 0,
            xmit_timer: XmitTimer::default(),
            pacer: Pacer::new(fq),
            host_queue: HostQueue::default(),
            carried: Segment { window_bytes: window_of_no_data(options), ..Segment::default() },
            sent_since: SentSince::default(),
            losses: LossIntervals::default(),
            subflow: None,
            oow_limit: OowLimit::default(),
            closed: Closed::No,
            offers: SynOptions::of(options),
            ecn: SenderEcn::new(algorithm),
            counters: Counters::default(),
            established_at: None,
        }
    }

    /// Sets the current time.
    pub(crate) fn set_now(&mut self, now: Time) {
        self.now = now;
        self.now_us = now.as_us();
        self.now_ms = self.now_us / 1000;
        self.tick.follow(&mut self.jiffy, now);
    }

    /// Processes a segment of the peer.
    pub(crate) fn on_segment(&mut self, now: Time, segment: &Segment) {
        self.set_now(now);
        if self.closed.is_reached() {
            self.on_late_segment(segment);
            return;
        }
        if segment.tsval_ms.wrapping_sub(self.ts_recent_ms) as i32 >= 0 {
            self.ts_recent_ms = segment.tsval_ms;
        }
        match self.phase {
            Phase::SynSent { first, tries, .. } if segment.flags.is_syn() => {
                self.on_syn_ack(segment, first, tries);
            }
            Phase::Established => self.on_established(segment),
            Phase::Finished(_) if segment.flags.fin => self.acknowledge_fin(segment),
            _ => {}
        }
    }

    fn on_established(&mut self, segment: &Segment) {
        if segment.flags.is_syn() {
            self.challenge();
            return; // A repeated SYN-ACK: its ACK was lost.
        }
        if self.paws_rejects(segment) {
            return;
        }
        if self.host_queue.take_deferred() {
            self.tsq_write();
            self.host_queue.passed();
        }
        self.on_ack(segment);
        self.on_acked(segment);
    }

    /// Completes the processing of an ACK.
    fn on_acked(&mut self, segment: &Segment) {
        self.data_snd_check();
        if segment.flags.fin {
            self.acknowledge_fin(segment);
        }
        self.check_finished();
    }

    /// Processes the ACK of a segment for a subflow. Returns true if the Multipath TCP step and
    /// [`Self::on_segment_then`] must follow.
    pub(crate) fn on_segment_first(&mut self, now: Time, segment: &Segment) -> bool {
        if self.phase != Phase::Established || segment.flags.is_syn() {
            self.on_segment(now, segment);
            return false;
        }
        self.set_now(now);
        if segment.tsval_ms.wrapping_sub(self.ts_recent_ms) as i32 >= 0 {
            self.ts_recent_ms = segment.tsval_ms;
        }
        if self.paws_rejects(segment) {
            return false;
        }
        self.on_ack(segment);
        self.forget_mappings();
        true
    }

    /// Completes the processing of a segment after the Multipath TCP step.
    pub(crate) fn on_segment_then(&mut self, segment: &Segment) {
        self.on_acked(segment);
    }

    /// Finishes the connection when all data and the FIN are acknowledged.
    fn check_finished(&mut self) {
        if self.fin && self.snd_una > self.write_seq {
            self.phase = Phase::Finished(self.now);
            self.clear_timer();
        }
    }

    /// Sends a rate-limited challenge ACK to an unexpected segment (RFC 5961 §4;
    /// `tcp_send_challenge_ack`, `tcp_oow_rate_limited`).
    pub(super) fn challenge(&mut self) {
        if !self.oow_limit.blocks(self.tick, self.jiffy.number) {
            self.begin_skb(0);
            let ack = self.ecn_third(self.segment_header());
            self.note_skb();
            self.sent_since.any = true;
            self.out.push(&ack);
        }
    }

    /// Lets the source write.
    pub(crate) fn on_source(&mut self, now: Time) {
        self.set_now(now);
        self.buffer.source_at = None;
        if self.phase == Phase::Established {
            self.fill_from_source();
            self.check_space();
        }
    }

    /// Stops the source.
    pub(crate) fn stop(&mut self, now: Time) {
        self.set_now(now);
        self.buffer.stopped = true;
        self.buffer.source_at = None;
        if self.phase == Phase::Established {
            self.close();
        }
    }

    /// Sends a FIN after the written data (`tcp_send_fin`).
    pub(crate) fn close(&mut self) {
        if !self.fin {
            self.fin = true;
            self.push_pending();
        }
    }

    /// Processes due timers. Calls without a due timer have no effect.
    pub(crate) fn on_timeout(&mut self, now: Time) {
        self.set_now(now);
        if self.xmit_timer.timer.take_due(now) {
            self.on_write_timer();
        }
        self.on_third_timer();
        if self.pacer.releases_at() <= now {
            self.release_fq();
        }
        if self.pacer.take_due(now) {
            self.tsq_write();
        }
        if self.host_queue.take_due(now) {
            self.small_queue_event();
        }
        if self.buffer.source_at.is_some_and(|at| at <= now) {
            self.on_source(now);
        }
    }

    /// Time of the next call of [`Self::on_timeout`].
    #[inline(always)]
    pub(crate) fn next_deadline(&self) -> Time {
        earliest([
            self.xmit_timer.timer.fires,
            self.pacer.timer(),
            self.host_queue.wakes(),
            self.buffer.source_at.unwrap_or(Time::NEVER),
            self.pacer.releases_at(),
            self.third_timer_fires(),
        ])
    }

    /// Next expiry of the timer on the wheel, with its insertion order.
    #[inline(always)]
    pub(crate) fn wheel_turn(&mut self, set: &mut u64) -> (Time, Turn) {
        self.xmit_timer.timer.turn(set)
    }

    /// Returns true while the connection is established.
    pub(crate) fn is_open(&self) -> bool {
        self.phase == Phase::Established
    }

    pub(crate) fn jiffies(&self) -> u64 {
        self.jiffy.number
    }

    pub(crate) fn now_us(&self) -> u64 {
        self.now_us
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// Packets in the network as far as the sender knows (`tcp_packets_in_flight`).
    pub(crate) fn in_flight(&self) -> u32 {
        self.scoreboard.in_flight()
    }

    pub(crate) fn in_cwnd_reduction(&self) -> bool {
        matches!(self.congestion.state, CaState::Cwr | CaState::Recovery)
    }

    /// Returns true if data or a FIN waits to be sent.
    pub(crate) fn has_unsent(&self) -> bool {
        self.write_seq > self.snd_nxt || (self.fin && self.snd_nxt == self.write_seq)
    }

    /// Snapshot of the connection for congestion control.
    pub(crate) fn conn(&mut self) -> Conn {
        Conn {
            now_us: self.now_us(),
            now_ms: self.now_ms(),
            srtt_us8: self.rtt.srtt_us8,
            min_rtt_us: self.rtt.min_us(),
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            mss: self.mss_cache(),
            header_bytes: self.header_bytes(),
            in_flight: self.in_flight(),
            sacked_out: self.scoreboard.sacked_out,
            delivered: self.delivered,
            delivered_us: self.rate.delivered_us,
            delivered_ce: self.ecn.delivered_ce,
            ecn: self.ecn.is_on(),
            lost: self.lost,
            app_limited: self.rate.app_limited,
            cwnd_limited: self.is_cwnd_limited(),
            cwnd_limited_flight: self.usage.cwnd_limited,
            tlp_app_limited: self.recovery.tlp_app_limited,
            state: self.congestion.state,
            last_send_ms: self.tick.to_us(self.last_send) / 1000,
            prior_cwnd: self.congestion.prior_cwnd,
            wstamp_ns: self.pacer.earliest_ns(),
            now_ns: self.now.as_ns(),
            tsval_ms: self.tsval_ms,
            tsecr_ms: self.tsecr_ms,
            random: self.random(),
        }
    }

    /// A number for the hook that is called next.
    pub(super) fn random(&mut self) -> u32 {
        if self.draws {
            self.rng.next_u64() as u32
        } else {
            0
        }
    }

    pub(crate) fn set_state(&mut self, state: CaState) {
        let conn = self.conn();
        self.cc.set_state(&conn, &mut self.window, state);
        self.apply_requests();
        self.congestion.state = state;
    }

    pub(crate) fn cwnd_event(&mut self, event: CaEvent) {
        let conn = self.conn();
        self.cc.cwnd_event(&conn, &mut self.window, event);
        self.apply_requests();
    }

    pub(crate) fn cc_ssthresh(&mut self) -> u32 {
        let conn = self.conn();
        self.cc.ssthresh(&conn, &mut self.window)
    }

    /// Bytes of IP and TCP headers with timestamps.
    fn header_bytes(&self) -> u32 {
        40 + if self.options.tcp_timestamps { TIMESTAMPS_BYTES } else { 0 }
    }

    /// Applies the algorithm's requests: `app_limited` (BBR in PROBE_RTT) and `mtu` (Prague).
    pub(crate) fn apply_requests(&mut self) {
        if let Some(mtu) = self.window.mtu.take() {
            let option = self.mss_cache() - self.mss;
            self.mss = mtu - self.header_bytes() - option;
        }
        if let Some(until) = self.window.app_limited.take() {
            self.rate.app_limited = until;
        }
    }

    pub(crate) fn segment_header(&self) -> Segment {
        let Segment { entries, sack, .. } = self.carried;
        let mut header = Segment { entries, sack, ..self.plain_header() };
        self.fill_on_demand(&mut header);
        match self.multipath_of_bare() {
            None => header,
            option => header.with_multipath(option),
        }
    }

    /// Header without SACK blocks and Multipath TCP option.
    #[inline(always)]
    pub(super) fn plain_header(&self) -> Segment {
        let Segment { ack, window_bytes, flags, .. } = self.carried;
        Segment {
            seq: self.snd_nxt,
            ack,
            window_bytes,
            timestamps: self.options.tcp_timestamps,
            tsval_ms: self.now_ms() as u32,
            tsecr_ms: self.ts_recent_ms,
            flags,
            ..Segment::default()
        }
    }

    /// Returns true if a header needs no option but timestamps.
    #[inline(always)]
    pub(super) fn has_plain_header(&self) -> bool {
        self.carried.entries.is_empty() && self.subflow.is_none() && !self.ecn.skb_option
    }

    /// Sets the ACK fields of the following segments: `ack`, `window_bytes`, `sack`, `tsecr_ms` and
    /// the flag ECE.
    pub(super) fn carry(&mut self, acknowledgement: Segment) {
        self.ts_recent_ms = acknowledgement.tsecr_ms;
        self.carried = acknowledgement;
        self.sent_since = SentSince::default();
    }

    /// Kinds of segments sent since the last [`Self::carry`].
    pub(super) fn sent(&self) -> SentSince {
        self.sent_since
    }

    /// Processes an ACK that may come with data.
    pub(super) fn on_ack_of_both(&mut self, now: Time, segment: &Segment) {
        self.set_now(now);
        self.on_ack(segment);
        self.check_finished();
    }

    /// Allows the source to write `bytes` more bytes.
    pub(crate) fn allow(&mut self, now: Time, bytes: u64) {
        self.buffer.writer.allow(bytes);
        if self.phase == Phase::Established && self.buffer.source_at.is_none() {
            self.on_source(now);
        }
    }

    /// Returns true if all requested data of a session is written.
    pub(crate) fn wrote_all(&self) -> bool {
        self.phase == Phase::Established && self.buffer.writer.left(self.buffer.written_bytes) == 0
    }
}
