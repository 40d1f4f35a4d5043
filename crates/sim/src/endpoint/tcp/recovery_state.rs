//! State of a loss-recovery episode: its end, and evidence that it was spurious. `recovery` acts on
//! it.

use super::rtx_queue::SegmentId;

pub(crate) struct RecoveryState {
    /// Sequence number that ends the episode.
    pub(super) high_seq: u64,
    /// `snd_una` at the start of the episode, while it may be undone.
    pub(super) undo_marker: Option<u64>,
    /// Retransmissions not yet proved spurious; negative without retransmissions.
    pub(super) undo_retrans: i64,
    /// Timestamp of the first retransmission of this episode, ms.
    pub(super) retrans_stamp_ms: Option<u32>,
    /// True during F-RTO (RFC 5682).
    pub(super) frto: bool,
    /// `snd_nxt` at the tail loss probe (RFC 8985 §7.3).
    pub(super) tlp_high_seq: Option<u64>,
    /// True if the probe was a retransmission.
    pub(super) tlp_retrans: bool,
    /// True if the probed segment was sent while application-limited before.
    pub(super) tlp_app_limited: bool,
    /// Last skb that was marked lost, as first and last segment, until the algorithm is told.
    pub(super) lost_skb: Option<(SegmentId, SegmentId)>,
}

impl Default for RecoveryState {
    fn default() -> Self {
        Self {
            high_seq: 0,
            undo_marker: None,
            undo_retrans: -1,
            retrans_stamp_ms: None,
            frto: false,
            tlp_high_seq: None,
            tlp_retrans: false,
            tlp_app_limited: false,
            lost_skb: None,
        }
    }
}
