//! An episode of loss recovery: where it ends, and what proves it spurious (`recovery` acts on it).

pub(crate) struct RecoveryState {
    /// Sequence number that ends the episode.
    pub(super) high_seq: u64,
    /// `snd_una` at the start of the episode, while it may be undone.
    pub(super) undo_marker: Option<u64>,
    /// Retransmissions not yet proved spurious; negative: none was made.
    pub(super) undo_retrans: i64,
    /// Timestamp (ms) of the first retransmission of this episode.
    pub(super) retrans_stamp_ms: Option<u32>,
    /// F-RTO (RFC 5682) is under way.
    pub(super) frto: bool,
    /// End of what was sent when the tail loss probe was (RFC 8985 §7.3).
    pub(super) tlp_high_seq: Option<u64>,
    /// The probe was a retransmission.
    pub(super) tlp_retrans: bool,
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
        }
    }
}
