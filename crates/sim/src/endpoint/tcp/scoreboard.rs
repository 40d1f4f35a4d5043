//! Scoreboard of the sender: SACKed, lost and retransmitted segments (RFC 6675; counters of `struct
//! tcp_sock`, all in packets).

use super::rtx_queue::SegmentId;
use dumbbell_model::TcpOptions;
use dumbbell_packet::SackBlock;

pub(crate) struct Scoreboard {
    /// Unacknowledged packets.
    pub(crate) packets_out: u32,
    /// SACKed packets, or duplicate ACKs without SACK.
    pub(crate) sacked_out: u32,
    /// Packets marked lost.
    pub(crate) lost_out: u32,
    /// Retransmissions in flight.
    pub(crate) retrans_out: u32,
    /// End of the highest SACKed byte.
    pub(super) highest_sack: u64,
    /// SACK blocks of the previous ACK (`recv_sack_cache`).
    pub(super) sack_cache: Vec<SackBlock>,
    /// First candidate for retransmission.
    pub(super) retransmit_hint: Option<SegmentId>,
    /// Last segment examined for losses, and the number of SACKed packets up to it.
    pub(super) lost_hint: Option<(SegmentId, u32)>,
    /// True if FACK is enabled and no reordering was seen.
    pub(super) fack: bool,
    /// Reordering degree, packets.
    pub(crate) reordering: u32,
    /// Number of reordering events.
    pub(crate) reord_seen: u32,
    /// Number of DSACKed segments.
    pub(super) dsack_dups: u64,
    /// True if the receiver dropped SACKed data.
    pub(super) sack_renege: bool,
}

impl Scoreboard {
    pub(super) fn new(options: &TcpOptions) -> Self {
        Self {
            packets_out: 0,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            highest_sack: 0,
            sack_cache: Vec::with_capacity(4),
            retransmit_hint: None,
            lost_hint: None,
            fack: options.tcp_fack && options.tcp_sack,
            reordering: options.tcp_reordering,
            reord_seen: 0,
            dsack_dups: 0,
            sack_renege: false,
        }
    }

    /// Packets that left the network: SACKed or lost (`tcp_left_out`).
    pub(super) fn left_out(&self) -> u32 {
        self.sacked_out + self.lost_out
    }

    /// Packets in the network as far as the sender knows (`tcp_packets_in_flight`).
    pub(super) fn in_flight(&self) -> u32 {
        self.packets_out - self.left_out().min(self.packets_out) + self.retrans_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_left_the_network_is_not_in_flight() {
        let Some(options) = TcpOptions::profile("linux-6.1") else { panic!("a profile") };
        let mut scoreboard = Scoreboard::new(&options);
        assert_eq!(scoreboard.in_flight(), 0);
        (scoreboard.packets_out, scoreboard.sacked_out) = (10, 3);
        (scoreboard.lost_out, scoreboard.retrans_out) = (2, 1);
        assert_eq!(scoreboard.in_flight(), 10 - 3 - 2 + 1);
        // Without SACK, there may be more duplicate ACKs than packets in flight.
        scoreboard.sacked_out = 12;
        assert_eq!(scoreboard.in_flight(), 1);
    }
}
