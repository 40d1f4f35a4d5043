//! Multipath TCP (RFC 8684) in the sender and receiver of a subflow: handshake, mappings to the
//! connection's stream, shared window. `mptcp` contains the decisions for the connection as a
//! whole.

use super::mappings::{Mapping, Mappings};
use super::output::Push;
use super::receive_buffer::ReceivedSkb;
use super::receiver::Receiver;
use super::sender::{Phase, Sender};
use crate::wheel::Timer;
use dumbbell_model::Time;
use dumbbell_packet::mptcp::MAPPING_BYTES;
use dumbbell_packet::tcp::Syn;
use dumbbell_packet::{Multipath, Segment};
use std::collections::VecDeque;

/// Role of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Opens the connection.
    Opens,
    /// Joins a connection.
    Joins { backup: bool },
}

impl Role {
    fn syn(self) -> Multipath {
        match self {
            Self::Opens => Multipath::Capable,
            Self::Joins { backup } => Multipath::Join { backup },
        }
    }

    fn third(self) -> Multipath {
        match self {
            Self::Opens => Multipath::CapableAck { mapped_bytes: 0 },
            Self::Joins { .. } => Multipath::JoinAck,
        }
    }
}

/// Place of the first byte that is written to a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begins {
    /// First byte of a chunk of the connection's send buffer.
    Chunk,
    /// Within a chunk.
    Within,
}

/// Bytes acknowledged between losses, as OLIA counts them (Khalili et al. 2013, §4.1: l1 and l2).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossIntervals {
    /// Acknowledged bytes at the last loss and at the one before.
    last: u64,
    before: u64,
}

impl LossIntervals {
    /// Records a loss.
    pub(super) fn loss(&mut self, snd_una: u64) {
        (self.before, self.last) = (self.last, snd_una);
    }

    pub(crate) fn since_bytes(&self, snd_una: u64) -> u64 {
        snd_una - self.last
    }

    pub(crate) fn between_bytes(&self) -> u64 {
        self.last - self.before
    }
}

/// Subflow state of a sender.
#[derive(Clone, Debug)]
pub(crate) struct SendingSubflow {
    pub(crate) role: Role,
    pub(super) mappings: Mappings,
    /// Subflow sequence numbers at which skbs with a mapping of their own start.
    skb_starts: VecDeque<u64>,
    /// Subflow sequence numbers within skbs at which a chunk of the connection starts.
    chunk_starts: VecDeque<u64>,
    /// Bytes of the first skb.
    first_skb_bytes: u64,
    /// True after the peer has shown that it knows the subflow (`fully_established`).
    pub(crate) confirmed: bool,
    /// True if the peer has no Multipath TCP: plain TCP (RFC 8684 §3.7).
    pub(crate) fell_back: bool,
    /// Retransmission timer of a join's third segment.
    third_timer: Timer,
    /// Data sequence number of the DATA_FIN, until it is acknowledged.
    pub(crate) data_fin: Option<u64>,
    /// True after the peer's DATA_FIN.
    pub(crate) peer_closed: bool,
    /// Data from the connection: subflow sequence number, data sequence number, bytes.
    #[cfg(test)]
    pub(crate) written: Vec<(u64, u64, u64)>,
}

/// State shared by all receivers of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shared {
    /// Next data byte expected.
    pub(crate) data_ack: u64,
    /// End of the offered window in data sequence space (`rcv_wnd_sent`).
    pub(crate) window_end: u64,
    /// Free space in the connection's buffer (`mptcp_space`), and its total, as window.
    pub(crate) free_bytes: u64,
    pub(crate) full_bytes: u64,
    /// Window of the last ACK (`old_wspace`).
    pub(crate) last_window: u64,
    /// True after all data and the DATA_FIN: this side closes.
    pub(crate) closes: bool,
}

/// Subflow state of a receiver.
#[derive(Clone, Debug)]
pub(crate) struct ReceivingSubflow {
    pub(crate) role: Role,
    pub(crate) mappings: Mappings,
    pub(crate) shared: Shared,
    /// End of the connection's window in this subflow's last ACK.
    window_end: u64,
    /// Window whose RTT the connection took last (`prev_rtt_seq`).
    rtt_seq: u64,
    /// True if this host has no Multipath TCP.
    pub(crate) refuses: bool,
    /// Data to the connection: subflow sequence number, data sequence number, bytes.
    #[cfg(test)]
    pub(crate) taken: Vec<(u64, u64, u64)>,
}

impl Sender {
    /// Bytes of the option with a mapping that each segment of a subflow has.
    #[inline(always)]
    pub(super) fn mapping_bytes(&self) -> u32 {
        match &self.subflow {
            Some(subflow) if !subflow.fell_back => MAPPING_BYTES,
            _ => 0,
        }
    }

    /// Makes the sender a subflow; `plain` is true on a host without Multipath TCP.
    pub(crate) fn make_subflow(&mut self, role: Role, plain: bool) {
        self.mss -= if plain { 0 } else { MAPPING_BYTES };
        self.subflow = Some(Box::new(SendingSubflow {
            role,
            mappings: Mappings::default(),
            skb_starts: VecDeque::new(),
            chunk_starts: VecDeque::new(),
            first_skb_bytes: 0,
            confirmed: false,
            fell_back: plain,
            third_timer: Timer::default(),
            data_fin: None,
            peer_closed: false,
            #[cfg(test)]
            written: Vec::new(),
        }));
    }

    fn in_use(&self) -> Option<&SendingSubflow> {
        self.subflow.as_deref().filter(|subflow| !subflow.fell_back)
    }

    /// Returns true if the subflow may carry data (`__mptcp_subflow_active`).
    pub(crate) fn carries_data(&self) -> bool {
        let joined = self.subflow.as_ref().is_some_and(|subflow| {
            subflow.role == Role::Opens || subflow.confirmed || subflow.fell_back
        });
        self.phase == Phase::Established && !self.fin && joined
    }

    /// Returns true if all written data is acknowledged (`tcp_rtx_and_write_queues_empty`).
    pub(crate) fn is_idle(&self) -> bool {
        self.snd_una >= self.write_seq
    }

    /// Option of a SYN.
    pub(super) fn multipath_of_syn(&self) -> Option<Multipath> {
        self.in_use().map(|subflow| subflow.role.syn())
    }

    /// Option of a segment without data.
    pub(super) fn multipath_of_bare(&self) -> Option<Multipath> {
        let subflow = self.in_use()?;
        Some(match subflow.data_fin {
            _ if !subflow.confirmed => subflow.role.third(),
            Some(dsn) => Multipath::DataFin { dsn },
            None => Multipath::NoMapping { closed: subflow.peer_closed },
        })
    }

    /// Records the length of the first skb.
    pub(super) fn note_first_skb(&mut self, bytes: u64) {
        if let Some(subflow) = self.subflow.as_mut().filter(|subflow| subflow.first_skb_bytes == 0)
        {
            subflow.first_skb_bytes = bytes;
        }
    }

    /// Option of a data segment.
    pub(super) fn multipath_of_data(&self, seq: u64, bytes: u32) -> Option<Multipath> {
        let subflow = self.in_use()?;
        // All segments of the first skb contain the start of the stream, as in Linux.
        let first = seq < subflow.first_skb_bytes && subflow.role == Role::Opens;
        if first && !subflow.confirmed {
            let mapped_bytes = subflow.first_skb_bytes.min(u64::from(u16::MAX)) as u16;
            return Some(Multipath::CapableAck { mapped_bytes });
        }
        let dsn = subflow.mappings.dsn(seq)?;
        let fin = subflow.data_fin == Some(dsn + u64::from(bytes));
        let starts = &subflow.skb_starts;
        let start = starts.partition_point(|&start| start <= seq).checked_sub(1);
        let offset_bytes = start.map_or(0, |at| (seq - starts[at]) as u32);
        let (chunks, end) = (&subflow.chunk_starts, seq + u64::from(bytes));
        let within =
            chunks.partition_point(|&at| at < end) - chunks.partition_point(|&at| at <= seq);
        Some(Multipath::Mapping { dsn, offset_bytes, fragments: 1 + within as u8, fin })
    }

    /// Returns true if the mapping of an skb begins at `seq`. Skbs of two mappings are never merged
    /// (`mptcp_skb_can_collapse`).
    pub(super) fn begins_mapping(&self, seq: u64) -> bool {
        let starts = self.in_use().map(|subflow| &subflow.skb_starts);
        starts.is_some_and(|starts| starts.binary_search(&seq).is_ok())
    }

    /// Processes the SYN-ACK. Returns false if a join was refused.
    pub(super) fn multipath_answered(&mut self, answer: &Segment) -> bool {
        let (now, tick) = (self.now, self.tick);
        let Some(subflow) = &mut self.subflow else { return true };
        match (subflow.role, answer.multipath()) {
            _ if subflow.fell_back => {}
            (Role::Opens, Some(Multipath::Capable)) => {}
            (Role::Opens, _) => {
                subflow.fell_back = true;
                self.mss += MAPPING_BYTES;
            }
            (Role::Joins { .. }, Some(Multipath::Join { .. })) => {
                // schedule_3rdack_retransmission: a second, since there is no RTT yet.
                let clock = tick.jiffies(now);
                subflow.third_timer.set(tick, clock, clock + tick.ms(1000));
            }
            (Role::Joins { .. }, _) => return false,
        }
        true
    }

    /// Processes the option of an ACK; the first one confirms the subflow
    /// (`check_fully_established`). Returns the data ACK, if any.
    pub(crate) fn take_data_ack(&mut self, segment: &Segment) -> Option<(u64, bool)> {
        let subflow = self.subflow.as_mut()?;
        if subflow.fell_back {
            return None;
        }
        let Some(Multipath::DataAck { data_ack, fin }) = segment.multipath() else { return None };
        if segment.flags.syn == Syn::No {
            subflow.confirmed = true;
            subflow.third_timer = Timer::default();
        }
        Some((data_ack, fin))
    }

    /// Data ACK of a plain TCP connection.
    pub(crate) fn plain_data_ack(&self) -> Option<u64> {
        let fell_back = self.subflow.as_ref().is_some_and(|subflow| subflow.fell_back);
        fell_back.then_some(self.snd_una.min(self.write_seq))
    }

    /// Retransmits the third segment of a join.
    pub(super) fn on_third_timer(&mut self) {
        let (now, tick) = (self.now, self.tick);
        let srtt_us = u64::from(self.rtt.srtt_us8 >> 2); // Twice the RTT.
        let Some(subflow) = &mut self.subflow else { return };
        if subflow.third_timer.take_due(now) && !subflow.confirmed {
            let clock = tick.jiffies(now);
            subflow.third_timer.set(tick, clock, clock + tick.us(srtt_us.max(1000)));
            let ack = self.segment_header();
            self.out.push(&ack);
        }
    }

    pub(super) fn third_timer_fires(&self) -> Time {
        self.subflow.as_ref().map_or(Time::NEVER, |subflow| subflow.third_timer.fires)
    }

    /// Writes bytes of the connection's stream into one skb. Returns their number
    /// (`mptcp_sendmsg_frag`).
    pub(crate) fn write_mapped(&mut self, dsn: u64, most: u64, begins: Begins) -> u64 {
        let goal = self.size_goal();
        let write_seq = self.write_seq;
        let Some(subflow) = &self.subflow else { return 0 };
        // The mapping of a partly sent skb is final (`mptcp_skb_ext_copy`: `frozen`).
        let continues =
            subflow.mappings.end() == Some(dsn) && !self.write_queue.tail_is_partly_sent();
        let space = if continues { self.write_queue.tail_space_bytes(goal) } else { 0 };
        let bytes = most.min(if space > 0 { space } else { goal });
        if space > 0 {
            self.write_queue.append(bytes, true);
        } else {
            self.slow_start_after_idle_check(); // tcp_skb_entail
            self.write_queue.begin(bytes);
        }
        if let Some(subflow) = &mut self.subflow {
            subflow.mappings.insert(write_seq, dsn, bytes);
            if space == 0 {
                subflow.skb_starts.push_back(write_seq);
            } else if begins == Begins::Chunk {
                subflow.chunk_starts.push_back(write_seq);
            }
            #[cfg(test)]
            subflow.written.push((write_seq, dsn, bytes));
        }
        self.write_seq += bytes;
        self.buffer.written_bytes += bytes;
        bytes
    }

    /// Sends the written data (`tcp_push`).
    pub(crate) fn push_mapped(&mut self) {
        self.mark_push();
        self.push(Push::Pending);
    }

    /// Widens the window to that of the connection (`mptcp_check_allowed_size`).
    pub(crate) fn widen_window(&mut self, bytes: u64) {
        self.snd_wnd = self.snd_wnd.max(bytes);
    }

    /// Ranges of the connection's stream that are written here and not acknowledged.
    pub(crate) fn outstanding(&self) -> Vec<Mapping> {
        self.subflow.as_ref().map_or(Vec::new(), |subflow| subflow.mappings.from(self.snd_una))
    }

    /// Removes mappings of acknowledged bytes.
    pub(super) fn forget_mappings(&mut self) {
        let snd_una = self.snd_una;
        if let Some(subflow) = &mut self.subflow {
            subflow.mappings.forget_below(snd_una);
            while subflow.skb_starts.get(1).is_some_and(|&next| next <= snd_una) {
                subflow.skb_starts.pop_front();
            }
            while subflow.chunk_starts.front().is_some_and(|&start| start <= snd_una) {
                subflow.chunk_starts.pop_front();
            }
        }
    }

    /// Sends a segment without data and with the current option (`tcp_send_ack`).
    pub(crate) fn send_bare(&mut self, now: Time) {
        self.set_now(now);
        let segment = self.segment_header();
        self.out.push(&segment);
    }

    /// Send-buffer memory in use, and its limit.
    pub(crate) fn memory(&self) -> (u64, u64) {
        (self.queued_memory(), self.buffer.sndbuf)
    }
}

impl Receiver {
    /// Makes the receiver a subflow.
    pub(crate) fn make_subflow(&mut self, role: Role, refuses: bool) {
        self.subflow = Some(Box::new(ReceivingSubflow {
            role,
            mappings: Mappings::default(),
            shared: Shared::default(),
            window_end: 0,
            rtt_seq: 0,
            refuses,
            #[cfg(test)]
            taken: Vec::new(),
        }));
    }

    pub(super) fn in_use(&self) -> Option<&ReceivingSubflow> {
        self.subflow.as_deref().filter(|subflow| !subflow.refuses)
    }

    /// Option of a SYN-ACK.
    pub(super) fn multipath_of_syn_ack(&self) -> Option<Multipath> {
        self.in_use().map(|subflow| subflow.role.syn())
    }

    /// Option of an ACK.
    pub(super) fn multipath_of_ack(&self) -> Option<Multipath> {
        let Shared { data_ack, closes, .. } = self.in_use()?.shared;
        Some(Multipath::DataAck { data_ack, fin: closes })
    }

    /// Records a mapping, and the wider window that another subflow has offered since
    /// (`rwin_update`).
    pub(crate) fn take_mapping(&mut self, segment: &Segment) {
        let payload = u64::from(segment.payload_bytes);
        let window = self.receive_window();
        let Some(subflow) = &mut self.subflow else { return };
        let dsn = match segment.multipath() {
            _ if subflow.refuses => segment.seq,
            Some(Multipath::Mapping { dsn, .. }) => dsn,
            // Start of the stream: both sequence spaces agree.
            Some(Multipath::CapableAck { .. }) => segment.seq,
            _ => return,
        };
        if payload > 0 {
            subflow.mappings.insert(segment.seq, dsn, payload);
            let behind = subflow.shared.window_end.saturating_sub(subflow.window_end);
            if payload >= window && behind > 0 {
                self.rcv_wnd += behind;
                subflow.window_end += behind;
            }
        }
    }

    /// The skb with what the option of its segment says. Segments of one mapping are coalesced
    /// (`mptcp_skb_can_collapse`). The payload is in the chunks of the connection, which the
    /// subflow's sequence numbers do not tell.
    pub(super) fn mapped(&self, skb: ReceivedSkb, segment: &Segment) -> ReceivedSkb {
        match segment.multipath() {
            Some(Multipath::Mapping { offset_bytes, fragments, .. }) if self.in_use().is_some() => {
                skb.of_mapping(segment.seq - u64::from(offset_bytes)).in_fragments(fragments)
            }
            _ => skb,
        }
    }

    /// Acknowledges the third segment of a join, and each of its retransmissions.
    pub(crate) fn answer_join(&mut self, segment: &Segment) {
        let joins = self.in_use().is_some_and(|subflow| subflow.role != Role::Opens);
        if joins && segment.multipath() == Some(Multipath::JoinAck) && segment.payload_bytes == 0 {
            self.send_ack();
        }
    }

    /// Next skb of in-order data for the connection, and its data sequence number. Its bytes are
    /// contiguous in the connection's stream.
    pub(crate) fn take_skb(&mut self) -> Option<(u64, ReceivedSkb)> {
        let fin = u64::from(self.finished || self.fin_at == Some(self.rcv_nxt));
        let end = self.rcv_nxt - fin;
        let from = self.copied_seq;
        if from >= end {
            return None;
        }
        let piece = self.subflow.as_ref()?.mappings.piece(from, end)?;
        let skb = self.unread.take(piece.bytes)?;
        self.copied_seq += skb.bytes;
        let copied_seq = self.copied_seq;
        if let Some(subflow) = &mut self.subflow {
            #[cfg(test)]
            subflow.taken.push((from, piece.dsn, skb.bytes));
            subflow.mappings.forget_below(copied_seq);
        }
        Some((piece.dsn, skb.of_mapping(0)))
    }

    /// Shares the offered window with the connection, whose window never shrinks
    /// (`mptcp_set_rwin`).
    pub(super) fn share_window(&mut self) {
        let rcv_wnd = self.rcv_wnd;
        let Some(subflow) = self.subflow.as_mut().filter(|subflow| !subflow.refuses) else {
            return;
        };
        let shared = &mut subflow.shared;
        shared.window_end = shared.window_end.max(shared.data_ack + rcv_wnd);
        subflow.window_end = shared.window_end;
        shared.last_window = shared.window_end - shared.data_ack;
        self.rcv_wnd = shared.last_window;
    }

    /// Bytes that arrived in order and went to the connection.
    pub(crate) fn in_order_bytes(&self) -> u64 {
        self.copied_seq
    }

    /// Returns true while the subflow is established and no FIN was received (`tcp_can_send_ack`).
    pub(crate) fn is_open(&self) -> bool {
        self.established && !self.finished
    }

    /// Returns true once the connection has the subflow (`conn_list`).
    pub(crate) fn has_joined(&self) -> bool {
        self.established
    }

    /// Sends an ACK at once if more than a segment is not acknowledged (`subflow_data_ready`).
    pub(crate) fn acknowledge_blocked(&mut self) {
        self.ack.now |= self.rcv_nxt - self.rcv_wup > self.ack.rcv_mss;
    }

    /// Memory limit, bytes (`sk_rcvbuf`).
    pub(crate) fn rcvbuf_bytes(&self) -> u64 {
        self.rcvbuf
    }

    /// Receiver's RTT × 8, microseconds.
    pub(crate) fn rtt_us8(&self) -> u64 {
        self.rcv_rtt_us8
    }

    /// Currently offered window, bytes.
    pub(crate) fn offered(&self) -> u64 {
        self.rcv_wnd
    }

    /// Returns true if a scheduled ACK may be sent early after a read
    /// (`mptcp_subflow_could_cleanup`).
    pub(crate) fn could_clean_up(&self, emptied: bool) -> bool {
        let overdue = self.rcv_nxt - self.rcv_wup > self.ack.rcv_mss;
        self.ack.scheduled && (overdue || (emptied && self.ack.pushed > 0))
    }

    /// Returns the receiver's RTT times 8, microseconds, once per receive window (`prev_rtt_seq`).
    pub(crate) fn new_rtt_us8(&mut self) -> Option<u64> {
        let subflow = self.subflow.as_mut()?;
        if self.rcv_rtt_us8 == 0 || subflow.rtt_seq == self.rcv_rtt_seq {
            return None;
        }
        subflow.rtt_seq = self.rcv_rtt_seq;
        Some(self.rcv_rtt_us8)
    }

    /// Share of memory that counts as window, in 256ths.
    pub(crate) fn scaling_ratio(&self) -> u64 {
        self.scaling_ratio
    }

    /// Grows the buffer with that of the connection (`mptcp_rcv_space_adjust`).
    pub(crate) fn enlarge_to(&mut self, rcvbuf: u64, window_clamp: u64) {
        self.rcvbuf = rcvbuf;
        self.window_clamp = window_clamp;
    }
}
