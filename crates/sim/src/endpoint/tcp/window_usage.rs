//! Use of the congestion window, for its validation (RFC 2861, RFC 7661 in Linux's form).

#[derive(Default)]
pub(crate) struct WindowUsage {
    /// The window held data back in the last flight (`is_cwnd_limited`).
    pub(super) cwnd_limited: bool,
    /// Most packets out in the last flight.
    pub(super) max_packets_out: u32,
    /// End of the flight (`cwnd_usage_seq`).
    pub(super) cwnd_usage_seq: u64,
    /// Most packets of the window used since `cwnd_stamp`.
    pub(super) cwnd_used: u32,
    /// Jiffy (`snd_cwnd_stamp`).
    pub(super) cwnd_stamp: u64,
}
