//! Three-way handshake (RFC 9293 §3.5) of sender and receiver: SYN and SYN-ACK with their timers,
//! negotiated options, and the initial state of a connection.

use super::receiver::Receiver;
use super::receiver_window::SLOW_READ_INTERVAL;
use super::rtt::{RttState, RTO_MAX_US};
use super::sender::{Phase, Sender};
use super::timers::backoff_ms;
use super::xmit_timer::Pending;
use crate::wheel::Timer;
use dumbbell_model::{Span, TcpOptions, Time};
use dumbbell_packet::tcp::Flags;
use dumbbell_packet::Segment;

/// Options of a SYN that an end may lack, beside the MSS.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SynOptions {
    timestamps: bool,
    sack: bool,
    window_scale: bool,
}

impl SynOptions {
    /// Options that an end offers, or answers after negotiation.
    pub(crate) fn of(options: &TcpOptions) -> Self {
        Self {
            timestamps: options.tcp_timestamps,
            sack: options.tcp_sack,
            window_scale: options.tcp_window_scaling,
        }
    }

    fn put(self, syn: Segment) -> Segment {
        Segment { timestamps: self.timestamps, ..syn }
            .with_syn_options(self.sack, self.window_scale)
    }
}

/// Time from the end of the handshake to the application's first write. Any positive value orders
/// the first data behind the handshake's ACK, as on a real host.
const WAKE_UP: Span = Span::from_us(1);

/// `net.ipv4.tcp_synack_retries`.
const SYN_ACK_RETRIES: u32 = 5;

impl Sender {
    /// Sends the SYN.
    pub(crate) fn start(&mut self, now: Time) {
        self.set_now(now);
        let timeout = self.tick.us(self.options.rto_initial.as_us()); // RFC 6298 §2.1
        self.phase = Phase::SynSent { first: now, tries: 1, timeout };
        self.send_syn(timeout, 1);
    }

    fn send_syn(&mut self, timeout: u64, tries: u32) {
        let syn = Segment {
            flags: self.ecn_syn(tries),
            tsval_ms: self.now_ms() as u32,
            window_bytes: self.carried.window_bytes,
            ..Segment::default()
        };
        self.out.push(&self.offers.put(syn).with_multipath(self.multipath_of_syn()));
        self.set_timer(Pending::Retransmit, timeout);
    }

    pub(super) fn on_syn_ack(&mut self, segment: &Segment, first: Time, tries: u32) {
        self.ecn_syn_ack(segment);
        self.clear_timer();
        if !self.multipath_answered(segment) {
            self.phase = Phase::GivenUp(self.now);
            return;
        }
        let rtt_us = self.syn_rtt_us(segment, first, tries);
        // The SYN was retransmitted at least twice (`tcp_init_transfer`), and not spuriously: the
        // SYN-ACK does not answer the first one (`tcp_try_undo_spurious_syn`).
        let answers_first =
            self.options.tcp_timestamps && segment.tsecr_ms == (first.as_us() / 1000) as u32;
        if tries > 2 && !answers_first {
            self.window.cwnd = 1;
        }
        if let Some(rtt_us) = rtt_us {
            self.cc.syn_acked(rtt_us.min(u64::from(u32::MAX)) as u32);
        }
        self.established(segment, rtt_us);
        self.begin_skb(0);
        let ack = self.ecn_third(self.segment_header());
        self.note_skb();
        self.sent_since.any = true;
        self.out.push(&ack);
        self.buffer.source_at = Some(self.now + WAKE_UP);
    }

    /// Initialises the established connection (`tcp_init_transfer`). `rtt_us` is the RTT of the
    /// handshake.
    fn established(&mut self, segment: &Segment, rtt_us: Option<u64>) {
        self.phase = Phase::Established;
        self.established_at = Some(self.now);
        if self.options.tcp_window_scaling {
            // Rounded up to the window scale (`__tcp_select_window`).
            let unit = 1 << self.options.window_scale();
            self.carried.window_bytes = self.carried.window_bytes.next_multiple_of(unit);
        }
        self.delivered = 1; // The SYN counts.
        self.rate.delivered_us = self.now.as_us();
        self.snd_wnd = u64::from(segment.window_bytes);
        // A SYN precedes all data.
        self.window_seq = (!segment.flags.is_syn()).then_some(segment.seq);
        self.max_window = self.snd_wnd;
        match rtt_us {
            Some(us) => self.rtt.sample(us, 0, 0, self.jiffies()),
            None => self.rtt.no_sample_of_syn(),
        }
        self.usage.cwnd_stamp = self.jiffies();
        if !self.cc.controls_rate() {
            self.update_pacing_rate(); // From the SYN's RTT (`tcp_ack`); limits the first skbs.
        }
        let conn = self.conn();
        let controlled = self.cc.controls_rate();
        self.cc.init(&conn, &mut self.window);
        self.expand_sndbuf(); // Hybla's window is larger by now (`tcp_init_transfer`).
        if controlled && !self.cc.controls_rate() {
            self.update_pacing_rate(); // Prague without ECN is Reno.
        }
    }

    /// RTT of the SYN, microseconds. For a retransmitted SYN, only timestamps give it
    /// (`tcp_ack_update_rtt`).
    fn syn_rtt_us(&self, segment: &Segment, first: Time, tries: u32) -> Option<u64> {
        if tries == 1 {
            return Some(self.now.since(first).as_us().max(1));
        }
        let delta_ms = (self.now_ms() as u32).wrapping_sub(segment.tsecr_ms).max(1);
        self.options.tcp_timestamps.then(|| 1000 * u64::from(delta_ms))
    }

    /// Establishes a passively opened connection with the peer's first segment after its SYN
    /// (`tcp_rcv_state_process` in SYN_RECV). `rtt_us` is the RTT of the SYN-ACK.
    ///
    /// `again`: retransmissions of the SYN-ACK.
    pub(super) fn accept(&mut self, now: Time, segment: &Segment, rtt_us: Option<u64>, again: u32) {
        self.set_now(now);
        if again > 1 {
            self.window.cwnd = 1; // RFC 5681 §3.1; `tcp_init_transfer`.
        }
        self.established(segment, rtt_us);
        self.last_send = self.jiffies();
    }

    /// Retransmits the SYN (`tcp_retransmit_timer` in SYN_SENT).
    pub(crate) fn on_syn_timeout(&mut self, first: Time, tries: u32, timeout: u64) {
        let (retries, linear) =
            (self.options.tcp_syn_retries, self.options.tcp_syn_linear_timeouts);
        let most =
            Span::from_ms(backoff_ms((self.options.rto_initial.as_us() / 1000).max(1), retries));
        // Time-outs that do not double reach the number of retries before the time for them is over;
        // with doubling both ends coincide (`retransmits_timed_out`).
        let too_long = linear > 0 && tries > 1 && self.now.since(first) >= most;
        if tries > retries.saturating_add(linear) || too_long {
            self.phase = Phase::GivenUp(self.now);
            return;
        }
        let timeout = if tries > linear { timeout * 2 } else { timeout };
        let timeout = timeout.min(self.tick.us(RTO_MAX_US));
        self.counters.timeouts += 1;
        self.phase = Phase::SynSent { first, tries: tries + 1, timeout };
        self.send_syn(timeout, tries + 1);
    }
}

impl Receiver {
    /// Initialises the receiver of an active open with data in both directions
    /// (`tcp_connect_init`).
    pub(super) fn open(&mut self, now: Time) {
        self.set_now(now);
        self.snd_nxt = Some(0);
        // The use of timestamps is not negotiated yet.
        let mss = u64::from(self.options.mtu_bytes) - 40;
        self.select_initial_window(mss);
    }

    /// Processes the SYN-ACK (`tcp_rcv_synsent_state_process`).
    pub(super) fn opened(&mut self, segment: &Segment) {
        self.ts_recent_ms = segment.tsval_ms;
        self.established = true;
        self.init_buffer_space();
    }

    /// Completes the handshake, if there was one. Returns the RTT of the SYN-ACK, microseconds, if
    /// known.
    pub(super) fn accept(&mut self, segment: &Segment) -> Option<Option<u64>> {
        self.syn_ack_at?;
        let rtt_us = self.handshake_rtt_us(segment);
        self.establish(segment);
        Some(rtt_us)
    }

    /// `tcp_select_initial_window`.
    fn select_initial_window(&mut self, mss: u64) {
        self.rcv_wnd = self.options.first_window(self.rcvbuf, mss);
        if self.options.tcp_window_scaling {
            self.wscale = u32::from(self.options.window_scale());
        }
        self.window_clamp = 65_535 << self.wscale;
        self.rcv_ssthresh = self.rcv_wnd;
    }

    /// Processes a SYN.
    pub(super) fn on_syn(&mut self, segment: &Segment) {
        self.select_initial_window(self.advmss);
        if self.syn_ack_at.is_none() {
            // The SYN-ACK to a retransmitted SYN echoes the first timestamp (`tcp_check_req`).
            self.ts_recent_ms = segment.tsval_ms;
            self.syn_ack_at = Some(self.now);
        } else {
            self.syn_ack_retransmitted = true;
        }
        self.set_syn_ack_timer();
        let flags = self.ecn_syn(segment);
        self.send_syn_ack(flags);
    }

    /// Sets the SYN-ACK timer. The time-out doubles each time (`reqsk_timeout`).
    fn set_syn_ack_timer(&mut self) {
        let timeout = self.tick.us(self.options.rto_initial.as_us()) << self.syn_ack_timeouts;
        let due = self.jiffy.number + timeout.min(self.tick.us(RTO_MAX_US));
        self.syn_ack_timer.set(self.tick, self.jiffy.number, due);
    }

    /// `reqsk_timer_handler`.
    pub(super) fn syn_ack_timeout(&mut self) {
        if self.syn_ack_timeouts < SYN_ACK_RETRIES {
            self.syn_ack_timeouts += 1;
            self.syn_ack_retransmitted = true;
            self.set_syn_ack_timer();
            self.send_syn_ack(self.ecn_syn_ack_flags(self.syn_ack_timeouts - 1));
        }
    }

    fn send_syn_ack(&mut self, flags: Flags) {
        let window_bytes = self.rcv_wnd.min(u64::from(u32::MAX)) as u32;
        self.heard_at = self.now;
        let header = self.header();
        let segment = Segment { flags, window_bytes, ..header };
        let segment = SynOptions::of(&self.options).put(segment);
        let segment = segment.with_multipath(self.multipath_of_syn_ack());
        let accurate = self.ecn_syn_ack_option();
        self.ecn.syn_acks += 1;
        self.out.push(&accurate.map_or(segment, |option| segment.with_accurate_ecn(option)));
    }

    /// RTT of the SYN-ACK, microseconds. For a retransmitted SYN-ACK, only timestamps give it
    /// (`tcp_synack_rtt_meas`, `tcp_ack_update_rtt`). The segment that completes the handshake may
    /// be data that waited long in a queue.
    fn handshake_rtt_us(&self, segment: &Segment) -> Option<u64> {
        let sent = self.syn_ack_at?;
        if !self.syn_ack_retransmitted {
            return Some(self.now.since(sent).as_us().max(1));
        }
        let now_ms = (self.now.as_us() / 1000) as u32;
        let delta_ms = u64::from(now_ms.wrapping_sub(segment.tsecr_ms).max(1));
        self.options.tcp_timestamps.then_some(1000 * delta_ms)
    }

    /// Completes the handshake of the receiver.
    pub(super) fn establish(&mut self, segment: &Segment) {
        self.established = true;
        self.ecn_third(segment);
        self.syn_ack_timer = Timer::default();
        let mut rtt = RttState::new(&self.options);
        match self.handshake_rtt_us(segment) {
            Some(us) => rtt.estimate(us, 0, 0),
            None => rtt.no_sample_of_syn(),
        }
        self.srtt_us8 = u64::from(rtt.srtt_us8);
        self.rto = self.tick.us(rtt.rto_us);
        self.init_buffer_space();
        self.reader_accepts();
    }

    /// `tcp_init_buffer_space`.
    fn init_buffer_space(&mut self) {
        self.ack.last_data = self.jiffy.number;
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
}
