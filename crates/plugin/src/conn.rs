//! What an algorithm sees of its connection, and what it may change. All but [`Window`] has the layout of
//! `dumbbell_cc.h`.

/// `ssthresh` before the first loss (Linux TCP_INFINITE_SSTHRESH).
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// Linux's congestion states (`enum tcp_ca_state`).
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    /// Nothing unusual.
    Open = 0,
    /// Duplicate ACKs or SACKs, nothing marked lost yet.
    Disorder = 1,
    /// Window reduced by ECN or a local queue.
    Cwr = 2,
    /// Fast recovery.
    Recovery = 3,
    /// After a retransmission time-out.
    Loss = 4,
}

/// Events outside ACK processing (`enum tcp_ca_event`).
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaEvent {
    /// First transmission while nothing is in flight.
    TxStart = 0,
    /// Restart of the window after an idle period.
    CwndRestart = 1,
    /// End of a window reduction (PRR finished).
    CompleteCwr = 2,
    /// Retransmission time-out.
    Loss = 3,
    /// A loss that a tail loss probe repaired (BBR v3's `CA_EVENT_TLP_RECOVERY`).
    TlpRecovery = 6,
}

/// An skb that was marked lost, as it was when it was sent.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LostSkb {
    /// Packets of the skb.
    pub packets: u32,
    /// Packets in flight after it was sent.
    pub tx_in_flight: u32,
    /// Packets marked lost since then, with its own.
    pub lost_since_sent: i64,
    /// True if it was sent while application-limited.
    pub app_limited: bool,
    /// True if its delivery was counted before.
    pub used: bool,
}

/// Properties of an ACK (`enum tcp_ca_ack_event_flags`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckEvent {
    /// True unless the ACK only acknowledges new data in order on the header-prediction path
    /// (`CA_ACK_SLOWPATH`).
    pub slow_path: bool,
    /// True if the ACK echoes a congestion mark (`CA_ACK_ECE`).
    pub ece: bool,
}

/// State that an algorithm may change: the window, the threshold and the pacing rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window, packets (`snd_cwnd`).
    pub cwnd: u32,
    /// ACKed packets counted towards the next increase (`snd_cwnd_cnt`).
    pub cwnd_cnt: u32,
    /// Slow-start threshold, packets.
    pub ssthresh: u32,
    /// Upper bound, packets (`snd_cwnd_clamp`).
    pub cwnd_clamp: u32,
    /// Pacing rate, bytes per second; `u64::MAX` if not limited (`sk_pacing_rate`).
    pub pacing_rate: u64,
    /// True if segments are to be paced (`sk_pacing_status`).
    pub pacing: bool,
    /// New value of the connection's `app_limited` after the hook. BBR marks its own low-rate
    /// samples in PROBE_RTT this way. The caller takes the value (`Option::take`).
    pub app_limited: Option<u64>,
    /// New length of IP packets after the hook, bytes (`tcp_sync_mss`); the caller takes it.
    pub mtu: Option<u32>,
    /// True to reduce the window after `cong_avoid` as for a mark (`tcp_enter_cwr`); the caller takes
    /// it.
    pub enter_cwr: bool,
}

/// Snapshot of the connection that an algorithm may read, taken before each hook.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Conn {
    /// Current time, microseconds (`tcp_mstamp`).
    pub now_us: u64,
    /// Current time, milliseconds (`tcp_jiffies32` at 1000 Hz).
    pub now_ms: u64,
    /// Smoothed RTT times 8, microseconds; 0 before the first sample (`srtt_us`).
    pub srtt_us8: u32,
    /// Windowed minimum RTT, microseconds; `u32::MAX` before the first sample.
    pub min_rtt_us: u32,
    /// First unacknowledged byte.
    pub snd_una: u64,
    /// Next byte to send.
    pub snd_nxt: u64,
    /// Payload bytes per segment (`mss_cache`).
    pub mss: u32,
    /// Bytes of IP and TCP headers with timestamps, without other options.
    pub header_bytes: u32,
    /// Packets in flight: out − SACKed − lost + retransmitted.
    pub in_flight: u32,
    /// Packets SACKed and not yet acknowledged (`sacked_out`).
    pub sacked_out: u32,
    /// Packets delivered since the start of the connection (`delivered`).
    pub delivered: u64,
    /// Time of the most recent delivery, microseconds (`delivered_mstamp`).
    pub delivered_us: u64,
    /// Packets that the peer reported as marked (`delivered_ce`). Classic ECN: packets delivered by ACKs
    /// with ECE.
    pub delivered_ce: u64,
    /// True if both ends negotiated ECN (`TCP_ECN_OK`).
    pub ecn: bool,
    /// Packets marked lost since the start of the connection (`lost`).
    pub lost: u64,
    /// Value of `delivered` at which the application-limited phase ends; 0 outside such a phase
    /// (`app_limited`).
    pub app_limited: u64,
    /// True if the last flight filled the congestion window (`tcp_is_cwnd_limited`).
    pub cwnd_limited: bool,
    /// True if the last flight filled the window, without the rule of slow start
    /// (`tp->is_cwnd_limited`).
    pub cwnd_limited_flight: bool,
    /// True if the segment of the last tail loss probe was first sent while application-limited.
    pub tlp_app_limited: bool,
    /// Congestion state before the current hook.
    pub state: CaState,
    /// Send time of the last data segment, milliseconds (`lsndtime`).
    pub last_send_ms: u64,
    /// Congestion window before the reduction, packets (`prior_cwnd`).
    pub prior_cwnd: u32,
    /// Earliest departure time of the next packet, nanoseconds (`tcp_wstamp_ns`).
    pub wstamp_ns: u64,
    /// Current time, nanoseconds (`tcp_clock_cache`).
    pub now_ns: u64,
    /// Timestamp of the last ACK, ms (`rcv_tsval`). The peer's clock begins at 0, without the random
    /// offset of Linux.
    pub tsval_ms: u32,
    /// Own timestamp that the last ACK echoes, ms (`rcv_tsecr`).
    pub tsecr_ms: u32,
    /// Random 32-bit number for this hook, from the algorithm's own stream (`prandom_u32_max` in
    /// BBR's cycle phase); 0 unless it [draws](CongestionControl::draws).
    pub random: u32,
}

/// Sample of one ACK (`struct ack_sample`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Packets newly ACKed or SACKed.
    pub pkts_acked: u32,
    /// RTT of the most recently sent of these packets, microseconds; negative if invalid.
    pub rtt_us: i64,
    /// Packets in flight before this ACK.
    pub in_flight: u32,
}

/// Delivery rate over one ACK (`struct rate_sample`; draft-cheng-iccrg-delivery-rate-estimation).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// `delivered` when the most recently ACKed packet was sent.
    pub prior_delivered: u64,
    /// Packets delivered over the interval; negative if invalid.
    pub delivered: i64,
    /// Length of the interval, microseconds; not positive if invalid.
    pub interval_us: i64,
    /// RTT of the most recently (S)ACKed packet, microseconds; negative if invalid.
    pub rtt_us: i64,
    /// Packets newly marked lost by this ACK.
    pub losses: u32,
    /// Packets newly ACKed or SACKed by this ACK.
    pub acked_sacked: u32,
    /// Packets in flight before this ACK.
    pub prior_in_flight: u32,
    /// True if the most recently sent packet left while the sender was application-limited.
    pub app_limited: bool,
    /// True if the most recently sent packet was a retransmission.
    pub retransmitted: bool,
    /// True if the receiver probably delayed this ACK (one packet, low flight; `is_ack_delayed`).
    pub ack_delayed: bool,
    /// Packets in flight after the most recently sent packet left.
    pub tx_in_flight: u32,
    /// Packets marked lost since then.
    pub lost: i64,
    /// Packets that this ACK reported as marked, counted as in [`Conn::delivered_ce`].
    pub marked: u32,
    /// True if the ACK acknowledges the retransmission of a tail loss probe.
    pub acks_tlp_retransmission: bool,
}

impl Window {
    /// Window at the start of a connection (`tcp_init_sock`, `tcp_init_transfer`).
    pub fn new(initcwnd: u32) -> Self {
        Self {
            cwnd: initcwnd,
            cwnd_cnt: 0,
            ssthresh: INFINITE_SSTHRESH,
            cwnd_clamp: u32::MAX,
            pacing_rate: u64::MAX,
            pacing: false,
            app_limited: None,
            mtu: None,
            enter_cwr: false,
        }
    }

    /// Returns true below the threshold, where every ACK grows the window (`tcp_in_slow_start`).
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows the window in slow start up to the threshold, RFC 5681 §3.1 with byte counting.
    /// Returns the ACKed packets beyond the threshold (`tcp_slow_start`).
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let cwnd = self.cwnd.saturating_add(acked).min(self.ssthresh);
        let left = acked - (cwnd - self.cwnd);
        self.cwnd = cwnd.min(self.cwnd_clamp);
        left
    }

    /// Grows the window by one packet per `w` ACKed packets (`tcp_cong_avoid_ai`).
    pub fn additive_increase(&mut self, w: u32, acked: u32) {
        // Credits from a higher w count for at most one packet now.
        if self.cwnd_cnt >= w {
            self.cwnd_cnt = 0;
            self.cwnd += 1;
        }
        self.cwnd_cnt += acked;
        if self.cwnd_cnt >= w {
            let delta = self.cwnd_cnt / w;
            self.cwnd_cnt -= delta * w;
            self.cwnd += delta;
        }
        self.cwnd = self.cwnd.min(self.cwnd_clamp);
    }
}

impl CaState {
    /// State with this number in C; `None`: there is none.
    pub fn numbered(number: u32) -> Option<Self> {
        let all = [Self::Open, Self::Disorder, Self::Cwr, Self::Recovery, Self::Loss];
        all.into_iter().find(|one| *one as u32 == number)
    }
}

impl CaEvent {
    /// Event with this number in C; `None`: there is none.
    pub fn numbered(number: u32) -> Option<Self> {
        use CaEvent::{CompleteCwr, CwndRestart, Loss, TlpRecovery, TxStart};
        let all = [TxStart, CwndRestart, CompleteCwr, Loss, TlpRecovery];
        all.into_iter().find(|one| *one as u32 == number)
    }
}
