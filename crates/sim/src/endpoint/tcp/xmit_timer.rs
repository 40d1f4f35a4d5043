//! Timer shared by all retransmission purposes (`icsk_retransmit_timer`).

use super::sender::Sender;
use crate::wheel::Timer;
use dumbbell_cc::CaState;

/// Purpose of the timer (`icsk_pending`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pending {
    #[default]
    None,
    Retransmit,
    LossProbe,
    Reordering,
    ZeroWindowProbe,
}

#[derive(Default)]
pub(crate) struct XmitTimer {
    pub(super) pending: Pending,
    /// Jiffy at which the pending timer is due (`icsk_timeout`).
    pub(super) timeout: u64,
    pub(super) timer: Timer,
    /// Doublings of the time-out (`icsk_backoff`).
    pub(super) backoff: u32,
    /// Time-outs since the last acknowledgement of new data (`icsk_retransmits`).
    pub(super) retransmits: u32,
    /// Zero-window probes without a response (`icsk_probes_out`).
    pub(super) probes_out: u32,
}

impl Sender {
    /// Jiffy at which the timer is due; `None` if not set (`icsk_timeout`).
    pub(crate) fn xmit_timeout(&self) -> Option<u64> {
        (self.xmit_timer.pending != Pending::None).then_some(self.xmit_timer.timeout)
    }

    /// Returns true after a retransmission time-out, until new data is acknowledged.
    pub(crate) fn is_timed_out(&self) -> bool {
        self.congestion.state == CaState::Loss && self.xmit_timer.retransmits > 0
    }
}
