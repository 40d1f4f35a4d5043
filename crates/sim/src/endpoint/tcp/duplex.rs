//! An endpoint with data in both directions: sender and receiver share segments. Segments of one
//! carry the ACKs of the other (`tcp_transmit_skb`), and both process each arriving segment
//! (`tcp_rcv_established`).

use super::receiver::Receiver;
use super::sender::{Phase, Sender};
use dumbbell_model::Time;
use dumbbell_packet::Segment;

/// Sender and receiver of an endpoint. Outgoing segments are collected in the sender's `out`, in
/// order.
pub(crate) struct End<'a> {
    pub(crate) sender: &'a mut Sender,
    pub(crate) receiver: &'a mut Receiver,
}

impl End<'_> {
    /// Opens the connection actively.
    pub(crate) fn open(&mut self, now: Time) {
        self.receiver.open(now);
        self.send(now, |sender| sender.start(now));
    }

    /// Processes a segment of the peer.
    pub(crate) fn on_segment(&mut self, now: Time, segment: &Segment, ecn_field: u8) {
        self.receiver.arrives(now, ecn_field);
        self.sender.ecn_arrives(ecn_field, self.receiver.is_later(segment));
        match (self.sender.phase, segment.flags.is_syn()) {
            (Phase::Closed, true) => return self.receive(|receiver| receiver.on_syn(segment)),
            (Phase::SynSent { first, tries, .. }, true) => {
                self.receiver.opened(segment);
                self.send(now, |sender| {
                    sender.set_now(now);
                    sender.on_syn_ack(segment, first, tries);
                });
                return self.receiver.ecn_opened(self.sender);
            }
            (Phase::Established, true) => return self.send(now, Sender::challenge),
            (Phase::SynSent { .. }, false) | (_, true) => return,
            _ => {}
        }
        let handshake = self.sender.phase == Phase::Closed;
        if handshake {
            let Some(rtt) = self.receiver.accept(segment) else { return };
            // The third segment reflects an ECN field; it reports no counter (`tcp_check_req`).
            self.sender.ecn_arrives(ecn_field, false);
            self.sender.ecn_accepted(&self.receiver.ecn);
            self.sender.accept(now, segment, rtt, self.receiver.syn_ack_timeouts);
        }
        let mut rejected = false;
        if self.sender.phase == Phase::Established {
            self.send(now, |sender| {
                sender.set_now(now);
                rejected = sender.paws_rejects(segment);
            });
        }
        if rejected {
            return;
        }
        if self.sender.phase == Phase::Established && segment.ack > self.sender.snd_nxt {
            return; // It acknowledges what was never sent (RFC 9293, 3.10.7.4).
        }
        let mut admitted = false;
        self.receive(|receiver| admitted = receiver.admits(segment));
        if !admitted {
            return;
        }
        self.sender.follow_option(self.receiver.ecn.option);
        if self.sender.phase == Phase::Established {
            self.send(now, |sender| sender.on_ack_of_both(now, segment));
        }
        if !handshake {
            self.receiver.measure_rtt_by_timestamp(segment);
        }
        let data = segment.payload_bytes > 0 || segment.flags.fin;
        let before = self.receiver.rcv_nxt;
        if data {
            let closing = self.sender.fin;
            self.receive(|receiver| {
                receiver.data_queue(segment);
                receiver.closes(closing);
            });
        }
        if self.sender.phase == Phase::Established {
            self.send(now, Sender::data_snd_check);
        }
        if data {
            self.receive(Receiver::ack_check);
            self.receive(|receiver| receiver.wake_application(before));
        }
        if !self.sender.wrote_all() {
            self.send(now, Sender::wake_source);
        }
    }

    /// Runs a step of the receiver, whose segments follow those sent so far.
    pub(crate) fn receive(&mut self, act: impl FnOnce(&mut Receiver)) {
        self.receiver.follow(self.sender);
        act(self.receiver);
        self.sender.out.append(&mut self.receiver.out);
    }

    /// Runs a step of the sender. Its segments carry the ACK.
    pub(crate) fn send(&mut self, now: Time, act: impl FnOnce(&mut Sender)) {
        self.receiver.set_now(now);
        self.sender.carry(self.receiver.carried());
        if self.sender.has_option_on_demand() {
            self.sender.ecn.received = self.receiver.ecn.received;
        }
        act(self.sender);
        let sent = self.sender.sent();
        if sent.any {
            self.receiver.carried_ack(sent.data);
            if self.sender.has_option_on_demand() {
                self.receiver.ecn.received = self.sender.ecn.received;
            }
        }
    }
}

/// Kinds of segments sent since the last query.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SentSince {
    pub(crate) any: bool,
    /// True if a segment carried data.
    pub(crate) data: bool,
}
