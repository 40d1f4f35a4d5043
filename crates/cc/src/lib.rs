//! Congestion control, one algorithm per file. Pure: no clock, no I/O, no knowledge of the
//! simulator. Units are Linux's: windows in packets, RTTs in microseconds, sequence numbers as
//! unwrapped 64-bit byte counts.
//!
//! The trait follows Linux's `tcp_congestion_ops` hook by hook, because the promise of this crate
//! is to behave as Linux does; each file cites RFC or paper at every step and says where Linux's
//! constant differs.

pub mod coupled;
pub mod hystart_plus_plus;
pub mod minmax;

use coupled::Subflow;
use dumbbell_model::catalogue::congestion_control::Algorithm;
use dumbbell_model::{for_congestion_controls, TcpOptions};

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
    /// First transmission when nothing is in flight.
    TxStart,
    /// The window was restarted after idleness.
    CwndRestart,
    /// End of a window reduction (PRR finished).
    CompleteCwr,
    /// Time-out.
    Loss,
}

/// How an acknowledgement arrived (`enum tcp_ca_ack_event_flags`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckEvent {
    /// It did more than acknowledge new data in order, or header prediction failed
    /// (`CA_ACK_SLOWPATH`).
    pub slow_path: bool,
    /// It echoed a congestion mark (`CA_ACK_ECE`).
    pub ece: bool,
}

/// What an algorithm may change: the window and what goes with it.
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
    /// The algorithm wants its segments paced (`sk_pacing_status`).
    pub pacing: bool,
    /// Value the connection's `app_limited` takes after the hook: BBR marks its own low-rate
    /// samples in PROBE_RTT. The caller takes it (`Option::take`).
    pub app_limited: Option<u64>,
}

/// What an algorithm may see of the connection. A snapshot taken before each hook.
#[derive(Clone, Copy, Debug)]
pub struct Conn {
    /// Now, microseconds (`tcp_mstamp`).
    pub now_us: u64,
    /// Now, milliseconds (`tcp_jiffies32` at 1000 Hz).
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
    /// Packets in flight: out − SACKed − lost + retransmitted.
    pub in_flight: u32,
    /// Packets delivered so far (`delivered`).
    pub delivered: u64,
    /// Time of the most recent delivery, microseconds (`delivered_mstamp`).
    pub delivered_us: u64,
    /// Packets marked lost so far (`lost`).
    pub lost: u64,
    /// Nonzero while the delivery rate is limited by the application: `delivered` at which that
    /// ends (`app_limited`).
    pub app_limited: u64,
    /// Did the last flight fill the window (`tcp_is_cwnd_limited`)?
    pub cwnd_limited: bool,
    /// State before the current hook.
    pub state: CaState,
    /// Time the last data segment was sent, milliseconds (`lsndtime`).
    pub last_send_ms: u64,
    /// Window before the reduction (`prior_cwnd`).
    pub prior_cwnd: u32,
    /// Window in use when the connection was last paced by fq's or TCP's clock: earliest departure
    /// time of the next packet, nanoseconds (`tcp_wstamp_ns`).
    pub wstamp_ns: u64,
    /// Now, nanoseconds (`tcp_clock_cache`).
    pub now_ns: u64,
    /// The algorithm's own randomness: one 32-bit draw, fresh at every hook that needs one
    /// (`prandom_u32_max` in BBR's cycle phase).
    pub random: u32,
    /// Bytes per pacing burst limit and the like.
    pub min_tso_segs: u32,
}

/// What one ACK said (`struct ack_sample`).
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Packets newly ACKed or SACKed.
    pub pkts_acked: u32,
    /// RTT of the most recent of them, microseconds; negative if none is valid.
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
    /// In flight before this ACK.
    pub prior_in_flight: u32,
    /// Was the packet sent while application-limited?
    pub app_limited: bool,
    /// Was the most recent packet a retransmission?
    pub retransmitted: bool,
    /// Is this ACK likely delayed (single packet, low in flight; `is_ack_delayed`)?
    pub ack_delayed: bool,
}

/// A congestion-control algorithm: Linux's hooks. Defaults do what Linux does without the hook.
pub trait CongestionControl: Send {
    /// The connection is established (`init`).
    fn init(&mut self, _conn: &Conn, _window: &mut Window) {}

    /// New slow-start threshold at a loss (`ssthresh`).
    fn ssthresh(&mut self, conn: &Conn, window: &mut Window) -> u32;

    /// Grow the window for `acked` packets (`cong_avoid`). Called in Open state, or in Disorder
    /// when the ACK advanced; not called for algorithms with [`Self::controls_rate`].
    fn cong_avoid(&mut self, _conn: &Conn, _window: &mut Window, _acked: u32) {}

    /// The window to restore when a reduction is taken back (`undo_cwnd`).
    fn undo_cwnd(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        window.cwnd.max(conn.prior_cwnd)
    }

    /// Does the algorithm see every acknowledgement ([`Self::in_ack_event`])?
    fn wants_acks(&self) -> bool {
        false
    }

    /// An acknowledgement arrived, before what it acknowledges is taken from the queue
    /// (`in_ack_event`).
    fn in_ack_event(&mut self, _conn: &Conn, _window: &mut Window, _event: AckEvent) {}

    /// Packets were acknowledged (`pkts_acked`).
    fn pkts_acked(&mut self, _conn: &Conn, _window: &mut Window, _sample: &AckSample) {}

    /// The congestion state is about to change (`set_state`).
    fn set_state(&mut self, _conn: &Conn, _window: &mut Window, _state: CaState) {}

    /// Something else happened (`cwnd_event`).
    fn cwnd_event(&mut self, _conn: &Conn, _window: &mut Window, _event: CaEvent) {}

    /// Does the algorithm set window and pacing rate itself on every ACK (`cong_control`)?
    fn controls_rate(&self) -> bool {
        false
    }

    /// All of congestion control for one ACK, instead of `cong_avoid` and PRR (`cong_control`).
    fn cong_control(&mut self, _conn: &Conn, _window: &mut Window, _sample: &RateSample) {}

    /// Least segments per burst when paced (`min_tso_segs`).
    fn min_tso_segs(&self, conn: &Conn, _window: &Window) -> u32 {
        conn.min_tso_segs
    }

    /// Send buffer in units of the window (`sndbuf_expand`).
    fn sndbuf_expand(&self) -> u32 {
        2
    }

    /// Least window of a reduction by rate halving (`min_cwnd` before Linux 3.2).
    fn min_cwnd(&self, window: &Window) -> u32 {
        window.ssthresh
    }

    /// Above the threshold it grows by a window's worth of bytes where bytes are counted (RFC 3465
    /// §2.1); else by ACKs.
    fn counts_bytes(&self) -> bool {
        false
    }

    /// The subflows of the connection that this one, number `me`, belongs to. Told before the hooks
    /// of each ACK, if the algorithm is coupled (`Algorithm::is_coupled`).
    fn subflows(&mut self, _all: &[Subflow], _me: usize) {}

    /// Name of the algorithm's own phase, for samples and tests.
    fn phase(&self) -> &'static str {
        ""
    }
}

macro_rules! files {
    ($($variant:ident $module:ident $entry:tt;)+) => {
        $(pub mod $module;)+

        /// A new instance of the algorithm.
        pub fn new(algorithm: Algorithm, options: &TcpOptions) -> Box<dyn CongestionControl> {
            match algorithm {
                $(Algorithm::$variant => $module::new(options),)+
            }
        }
    };
}
for_congestion_controls!(files);

impl Window {
    /// At the start of a connection (`tcp_init_sock`, `tcp_init_transfer`).
    pub fn new(initcwnd: u32) -> Self {
        Self {
            cwnd: initcwnd,
            cwnd_cnt: 0,
            ssthresh: INFINITE_SSTHRESH,
            cwnd_clamp: u32::MAX,
            pacing_rate: u64::MAX,
            pacing: false,
            app_limited: None,
        }
    }

    /// Below the threshold, every ACK grows the window (`tcp_in_slow_start`).
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start, RFC 5681 §3.1 with byte counting: up to the threshold; returns the ACKed packets
    /// that are left (`tcp_slow_start`).
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let cwnd = self.cwnd.saturating_add(acked).min(self.ssthresh);
        let left = acked - (cwnd - self.cwnd);
        self.cwnd = cwnd.min(self.cwnd_clamp);
        left
    }

    /// Additive increase: one packet per `w` ACKed packets (`tcp_cong_avoid_ai`).
    pub fn additive_increase(&mut self, w: u32, acked: u32) {
        // Credits gathered at a higher w are applied gently now.
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
