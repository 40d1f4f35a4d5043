//! The trait of congestion controls.

use crate::{AckEvent, AckSample, CaEvent, CaState, Conn, LostSkb, RateSample, Window};

/// Snapshot of a subflow for its siblings, taken before the hooks of an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subflow {
    /// True while the subflow is established and not closed.
    pub active: bool,
    /// Congestion window, packets.
    pub cwnd: u32,
    /// True in slow start.
    pub slow_start: bool,
    /// Payload bytes per segment.
    pub mss: u32,
    /// Smoothed RTT times 8, microseconds; 0 before the first sample.
    pub srtt_us8: u32,
    /// Bytes acknowledged since the last loss (`l2r` of OLIA).
    pub since_loss_bytes: u64,
    /// Bytes acknowledged between the last two losses (`l1r` of OLIA).
    pub between_losses_bytes: u64,
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
