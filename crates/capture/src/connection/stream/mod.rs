//! One direction of a connection: the data of one side and the ACKs of the other.

mod ack;
mod classify;
mod data;
mod network;

use super::delayed::Delayed;
use super::flight::Flight;
use super::judge::{Evidence, Judgement, EVIDENCE};
use super::order::{Clock, Identifications};
use super::proof::Proofs;
use super::recovery::{Recovery, RetransmissionKind, KINDS};
use super::rtt::Rtt;
use super::sacked::Sacked;
use super::sent::{Seen, Sent};
use super::unseen::Unseen;
use super::PacketInfo;
use crate::rate::Rates;
use std::collections::VecDeque;

pub(crate) use ack::Ack;
pub(crate) use data::Data;

/// Maximum step of a position within the stream.
const STEP_MAX: i64 = 1 << 30;
/// Maximum distance of a segment without data ahead of the captured data, if no larger window is
/// known.
const AHEAD_BYTES: u64 = 1 << 16;

/// Classification of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Position of its first byte in the stream, from 0.
    pub position: i64,
    /// Class of the segment.
    pub judgement: Judgement,
    /// Kind of the retransmission, if it is one.
    pub kind: Option<RetransmissionKind>,
}

impl Verdict {
    /// Classification of a repeated SYN or SYN-ACK, whose sequence number precedes the stream.
    pub(crate) fn repeated_syn(kind: RetransmissionKind) -> Self {
        let judgement = Judgement::Retransmitted(Evidence::SeenBefore);
        Self { position: -1, judgement, kind: Some(kind) }
    }
}

/// Counters of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Packets with payload.
    pub data_packets: u64,
    /// Sum of their payload, repeated bytes included.
    pub payload_bytes: u64,
    /// Payload without repeated bytes.
    pub unique_bytes: u64,
    /// Acknowledged bytes that are not in the capture.
    pub unseen_bytes: u64,
    /// Retransmissions with payload by [`RetransmissionKind`].
    pub retransmitted: [u64; KINDS],
    /// Retransmitted FINs without payload.
    pub retransmitted_fins: u64,
    /// Payload of the retransmissions.
    pub retransmitted_bytes: u64,
    /// Retransmissions by [`super::judge::Evidence`].
    pub retransmitted_by: [u64; EVIDENCE],
    /// Reordered segments by [`super::judge::Evidence`].
    pub reordered_by: [u64; EVIDENCE],
    /// Duplicates.
    pub duplicates: u64,
    /// Keep-alive and zero-window probes.
    pub keep_alives: u64,
    /// Time of the first data packet.
    pub first_ns: Option<i64>,
    /// Time of the last data packet.
    pub last_ns: Option<i64>,
    /// Largest payload.
    pub segment_max_bytes: u32,
}

#[derive(Clone, Copy, Debug)]
struct Passed {
    sequence: u32,
    payload_bytes: u32,
    tsval: u32,
    identification: u16,
}

/// State of a stream.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Sequence number of position 0.
    origin: u32,
    /// End of the highest byte seen or acknowledged.
    next: i64,
    /// Cumulative ACK position.
    acked: i64,
    /// True after the first ACK.
    acknowledged: bool,
    sent: Sent,
    sacked: Sacked,
    identifications: Identifications,
    passed: VecDeque<Passed>,
    /// Missing packets that carried none of the bytes from `next` on.
    explained: u32,
    /// True if the last segment was a retransmission.
    retransmitted_last: bool,
    /// Lost tail segments whose retransmissions may still follow in order.
    tail: i64,
    recovery: Recovery,
    network: network::Network,
    proofs: Proofs,
    /// Acknowledged bytes that are not in the capture.
    unseen: Unseen,
    /// Time at which data last advanced `next`.
    moved_ns: i64,
    /// Time of the sender's last packet.
    heard_ns: i64,
    /// TcpHeader without data ahead of the captured data.
    ahead: Option<Seen>,
    clock: Clock,
    /// Counters.
    pub counters: Counters,
    /// RTT from the tap to the receiver and back.
    pub rtt: Rtt,
    /// Bytes in flight.
    pub flight: Flight,
    /// Delayed-ACK statistics of the receiver.
    pub delayed: Delayed,
    /// Payload and unique bytes over time.
    pub rates: Rates<2>,
}

impl Stream {
    /// Stream with the sequence number of its first byte; `acknowledged` is true if all earlier
    /// bytes are acknowledged.
    pub(crate) fn new(origin: u32, acknowledged: bool) -> Self {
        Self {
            origin,
            next: 0,
            acked: 0,
            acknowledged,
            sent: Sent::default(),
            sacked: Sacked::default(),
            identifications: Identifications::default(),
            passed: VecDeque::new(),
            explained: 0,
            retransmitted_last: false,
            tail: 0,
            recovery: Recovery::default(),
            network: network::Network::default(),
            proofs: Proofs::default(),
            unseen: Unseen::default(),
            moved_ns: i64::MIN,
            heard_ns: i64::MIN,
            ahead: None,
            clock: Clock::default(),
            counters: Counters::default(),
            rtt: Rtt::default(),
            flight: Flight::default(),
            delayed: Delayed::default(),
            rates: Rates::default(),
        }
    }

    /// End of the highest byte seen or acknowledged.
    pub fn next(&self) -> i64 {
        self.next
    }

    /// Cumulative ACK position.
    pub fn acked(&self) -> i64 {
        self.acked
    }

    /// Bytes sent, and neither acknowledged nor SACKed at the tap.
    pub fn in_flight_bytes(&self) -> i64 {
        self.next - self.acked - self.sacked.bytes()
    }

    /// Acknowledged payload, without a FIN.
    pub fn acked_bytes(&self) -> u64 {
        let known = self.counters.unique_bytes + self.counters.unseen_bytes;
        (self.acked.max(0) as u64).min(known)
    }

    /// Number of time-outs and of entries into fast recovery.
    pub fn recoveries(&self) -> (u64, u64) {
        (self.recovery.timeouts, self.recovery.recoveries)
    }

    /// Spurious retransmissions by [`super::proof::Proof`].
    pub fn spurious(&self) -> [u64; 3] {
        self.proofs.proved
    }

    /// DSACKs that match no retransmission.
    pub fn unexplained_dsacks(&self) -> u64 {
        self.proofs.unexplained
    }

    /// Position of a sequence number, the closest to the highest byte.
    pub fn position(&self, sequence: u32) -> i64 {
        let near = self.origin.wrapping_add(self.next as u32);
        self.next + i64::from(sequence.wrapping_sub(near) as i32)
    }

    /// Processes the identification of a packet without data.
    pub(crate) fn bare(&mut self, info: &PacketInfo) {
        if self.identify(info.identification) > 0 && self.acked == self.next {
            // No data was in flight that could have been lost.
            self.identifications.jumps();
        }
        self.heard_ns = info.now_ns;
    }

    /// Processes an identification. Returns the number of additional missing packets.
    fn identify(&mut self, identification: Option<u16>) -> u32 {
        let before = self.identifications.missing();
        if let Some(identification) = identification {
            self.identifications.add(identification);
        }
        self.identifications.missing().saturating_sub(before)
    }

    /// Processes a segment without data: detects keep-alives. If the segment is ahead, all bytes
    /// before it were sent and are not in the capture.
    pub(crate) fn detect_keep_alive(
        &mut self,
        info: &PacketInfo,
        sequence: u32,
        stamp: Option<u32>,
        window_bytes: u64,
    ) {
        let position = self.position(sequence);
        let before = position == self.next - 1;
        self.counters.keep_alives += u64::from(before && self.acked == self.next);
        let most = window_bytes.max(AHEAD_BYTES).min(STEP_MAX as u64) as i64;
        if position > self.next && position - self.acked <= most {
            self.next = position;
            self.ahead = Some(Seen {
                start: position,
                end: position,
                first_ns: info.now_ns,
                last_ns: info.now_ns,
                tsval: stamp.unwrap_or(0),
                identification: info.identification.unwrap_or(0),
                repeated: false,
                retransmitted: false,
                bare: true,
            });
        }
    }
}
