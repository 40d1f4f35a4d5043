//! Congestion state around the algorithm: the current episode and its window reduction (PRR, RFC
//! 6937; ABC, RFC 3465).

use dumbbell_cc::CaState;

pub(crate) struct CongestionState {
    pub(crate) state: CaState,
    /// Window before the reduction, packets.
    pub(super) prior_cwnd: u32,
    /// Slow-start threshold before the reduction, packets; 0 if there is none to restore.
    pub(super) prior_ssthresh: u32,
    /// Packets delivered and sent during the reduction (RFC 6937 §3).
    pub(super) prr_delivered: u32,
    pub(super) prr_out: u32,
    /// Acknowledged bytes that have not moved the window yet (RFC 3465).
    pub(super) bytes_acked: u64,
}

impl Default for CongestionState {
    fn default() -> Self {
        Self {
            state: CaState::Open,
            prior_cwnd: 0,
            prior_ssthresh: 0,
            prr_delivered: 0,
            prr_out: 0,
            bytes_acked: 0,
        }
    }
}
