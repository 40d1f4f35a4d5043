//! Congestion control, one algorithm per file. Pure: no clock, no I/O, no knowledge of the
//! simulator. Units are Linux's: windows in packets, RTTs in microseconds, sequence numbers as
//! unwrapped 64-bit byte counts.
//!
//! The trait follows Linux's `tcp_congestion_ops` hook by hook, because this crate promises to
//! behave as Linux does. Each file cites the RFC or paper at every step and names the constants
//! that differ from it.

pub mod careful_resume;
pub mod coupled;
pub mod hystart_plus_plus;
pub mod minmax;
pub mod plugin;
pub mod search;
pub mod start_up;

use coupled::Subflow;
use dumbbell_model::catalogue::congestion_control::Algorithm;
use dumbbell_model::{for_congestion_controls, TcpOptions};
use plugin::Plugins;

/// `ssthresh` before the first loss (Linux TCP_INFINITE_SSTHRESH).
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// Linux's congestion states (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    /// Nothing unusual.
    Open,
    /// Duplicate ACKs or SACKs, nothing marked lost yet.
    Disorder,
    /// Window reduced by ECN or a local queue.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission time-out.
    Loss,
}

/// Events outside ACK processing (`enum tcp_ca_event`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaEvent {
    /// First transmission while nothing is in flight.
    TxStart,
    /// Restart of the window after an idle period.
    CwndRestart,
    /// End of a window reduction (PRR finished).
    CompleteCwr,
    /// Retransmission time-out.
    Loss,
    /// A loss that a tail loss probe repaired (BBR v3's `CA_EVENT_TLP_RECOVERY`).
    TlpRecovery,
}

/// An skb that was marked lost, as it was when it was sent.
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

/// Congestion-control algorithm with Linux's hooks. A default does what Linux does without the
/// hook.
pub trait CongestionControl: Send {
    /// Initialises the algorithm when the connection is established (`init`).
    fn init(&mut self, _conn: &Conn, _window: &mut Window) {}

    /// Takes the RTT of the SYN of an active open, microseconds, before [`Self::init`] (`pkts_acked` of
    /// the SYN-ACK).
    fn syn_acked(&mut self, _rtt_us: u32) {}

    /// Returns the new slow-start threshold after a loss, packets (`ssthresh`).
    fn ssthresh(&mut self, conn: &Conn, window: &mut Window) -> u32;

    /// Grows the window for `acked` packets (`cong_avoid`). Called in Open state, and in Disorder
    /// if the ACK advanced `snd_una`. Never called if [`Self::controls_rate`] is true.
    fn cong_avoid(&mut self, _conn: &Conn, _window: &mut Window, _acked: u32) {}

    /// Returns the window to which the ACKs of a flight of `flight` packets lead, packets (`limit()` of
    /// draft-ietf-ccwg-ratelimited-increase §3); `None`: no such limit is known for the algorithm.
    fn growth_limit(&self, _window: &Window, _flight: u32) -> Option<u32> {
        None
    }

    /// Returns the window to restore when a reduction is undone (`undo_cwnd`).
    fn undo_cwnd(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        window.cwnd.max(conn.prior_cwnd)
    }

    /// Returns true if the algorithm needs [`Self::in_ack_event`] for every ACK.
    fn wants_acks(&self) -> bool {
        false
    }

    /// Processes an ACK after the acknowledged segments have left the retransmission queue
    /// (`in_ack_event`).
    fn in_ack_event(&mut self, _conn: &Conn, _window: &mut Window, _event: AckEvent) {}

    /// Processes the packets that an ACK acknowledged (`pkts_acked`).
    fn pkts_acked(&mut self, _conn: &Conn, _window: &mut Window, _sample: &AckSample) {}

    /// Prepares for the new congestion state (`set_state`).
    fn set_state(&mut self, _conn: &Conn, _window: &mut Window, _state: CaState) {}

    /// Processes an event outside ACK processing (`cwnd_event`).
    fn cwnd_event(&mut self, _conn: &Conn, _window: &mut Window, _event: CaEvent) {}

    /// Returns true if the algorithm sets window and pacing rate on every ACK (`cong_control`).
    fn controls_rate(&self) -> bool {
        false
    }

    /// Does all congestion control for one ACK, instead of `cong_avoid` and PRR (`cong_control`).
    fn cong_control(&mut self, _conn: &Conn, _window: &mut Window, _sample: &RateSample) {}

    /// Returns true if the algorithm needs [`Self::marked_lost`], and application-limited phases are to be
    /// found at each ACK and timer, too.
    fn wants_losses(&self) -> bool {
        false
    }

    /// Processes an skb that was marked lost (BBR v3's `skb_marked_lost`).
    fn marked_lost(&mut self, _conn: &Conn, _window: &mut Window, _lost: &LostSkb) {}

    /// Segments per burst, in place of TCP's own rule (BBR v3's `tso_segs`); `None`: TCP's.
    fn tso_segs(&self, _mss: u32, _window: &Window) -> Option<u32> {
        None
    }

    /// Minimum segments per burst of a paced sender (`min_tso_segs`); `None`: that of the host
    /// (`net.ipv4.tcp_min_tso_segs`).
    fn min_tso_segs(&self, _window: &Window) -> Option<u32> {
        None
    }

    /// Returns true if the algorithm reads [`Conn::random`].
    fn draws(&self) -> bool {
        false
    }

    /// Pacing rate in percent of a window per RTT, in place of TCP's ratio; `None`: TCP's.
    fn pacing_ratio(&self) -> Option<u32> {
        None
    }

    /// Send buffer as a multiple of the window (`sndbuf_expand`).
    fn sndbuf_expand(&self) -> u32 {
        2
    }

    /// Minimum window of a reduction by rate halving, packets (`min_cwnd` before Linux 3.2).
    fn min_cwnd(&self, window: &Window) -> u32 {
        window.ssthresh
    }

    /// Returns true if congestion avoidance counts bytes where the connection does (RFC 3465 §2.1).
    /// Otherwise it counts ACKs.
    fn counts_bytes(&self) -> bool {
        false
    }

    /// Receives a snapshot of all subflows of the connection; `me` is the index of this one. Called
    /// before the hooks of each ACK if the algorithm is coupled (`Algorithm::is_coupled`).
    fn subflows(&mut self, _all: &[Subflow], _me: usize) {}

    /// Name of the algorithm's phase, for samples and tests.
    fn phase(&self) -> &'static str {
        ""
    }
}

macro_rules! files {
    ($($variant:ident $module:ident $entry:tt;)+) => {
        $(pub mod $module;)+

        /// Creates an instance of the algorithm for a flow.
        pub fn new(
            algorithm: Algorithm,
            options: &TcpOptions,
            plugins: &dyn Plugins,
            flow: &str,
        ) -> Box<dyn CongestionControl> {
            match algorithm {
                $(Algorithm::$variant => $module::new(options),)+
                Algorithm::Plugin(plugin) => plugins.make(plugin, flow, options),
            }
        }
    };
}
for_congestion_controls!(files);

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
