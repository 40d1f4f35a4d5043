//! Explicit Congestion Notification (RFC 3168) as Linux has it: agreed in the handshake, a mark is
//! echoed until the sender says that it has reduced its window, which it does once per round trip.

use super::receiver::Receiver;
use super::sender::Sender;
use dumbbell_cc::CaState;
use dumbbell_packet::tcp::{Flags, Syn};
use dumbbell_packet::{Cause, Segment};

/// The ECN field of a packet (RFC 3168 §5): not capable.
const NOT_ECT: u8 = 0;
/// Congestion was experienced.
const CE: u8 = 3;
/// ECT(0), as Linux sends.
const ECT_0: u8 = 2;
/// ACKs sent at once after a mark: the sender's window may be small.
const QUICKACKS: u32 = 2;

/// The sending half.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SenderEcn {
    /// Both sides agreed.
    on: bool,
    /// The next new segment says that the window was reduced (TCP_ECN_QUEUE_CWR).
    queue_cwr: bool,
    /// Segments delivered whose ACKs echoed a mark.
    pub(crate) delivered_ce: u64,
}

/// The receiving half.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReceiverEcn {
    on: bool,
    /// A mark is echoed until the sender answers (TCP_ECN_DEMAND_CWR).
    echo: bool,
    /// Segments of this connection were capable (TCP_ECN_SEEN).
    seen: bool,
}

impl Sender {
    /// RFC 3168 §6.1.1: the SYN asks, but not when it is sent again (tcp_ecn_fallback).
    pub(super) fn ecn_syn(&self, tries: u32) -> Flags {
        let asks = self.options.tcp_ecn == 1 && tries == 1;
        Flags { syn: Syn::Opens, ece: asks, cwr: asks, ..Flags::default() }
    }

    /// The answer to it.
    pub(super) fn ecn_syn_ack(&mut self, segment: &Segment) {
        self.ecn.on = self.options.tcp_ecn == 1 && segment.flags.ece && !segment.flags.cwr;
    }

    /// The ECN field of a segment (RFC 3168 §6.1.2, §6.1.5): new data may be marked, retransmissions
    /// and what carries no data may not (`tcp_ecn_send`).
    pub(crate) fn ecn_field(&self, segment: &Segment) -> u8 {
        let capable = self.ecn.on && segment.cause == Cause::New && segment.payload_bytes > 0;
        if capable {
            ECT_0
        } else {
            NOT_ECT
        }
    }

    /// New data says once that the window was reduced (RFC 3168 §6.1.2).
    pub(super) fn ecn_send(&mut self, segment: &mut Segment) {
        if self.ecn_field(segment) == ECT_0 {
            segment.flags.cwr = std::mem::take(&mut self.ecn.queue_cwr);
        }
    }

    /// The ACK echoes a mark (`tcp_ecn_rcv_ecn_echo`).
    pub(super) fn ecn_echoed(&self, ack: &Segment) -> bool {
        self.ecn.on && ack.flags.ece && !ack.flags.is_syn()
    }

    /// The window is reduced for whatever reason (`tcp_ecn_queue_cwr`).
    pub(super) fn ecn_queue_cwr(&mut self) {
        self.ecn.queue_cwr = self.ecn.on;
    }

    /// The reduction was taken back (`tcp_ecn_withdraw_cwr`).
    pub(super) fn ecn_withdraw_cwr(&mut self) {
        self.ecn.queue_cwr = false;
    }

    /// RFC 3168 §6.1.2: as for a loss, once per window (`tcp_enter_cwr`).
    pub(super) fn enter_cwr(&mut self) {
        self.congestion.prior_ssthresh = 0;
        if self.congestion.state < CaState::Cwr {
            self.recovery.undo_marker = None;
            self.init_cwnd_reduction();
            self.set_state(CaState::Cwr);
        }
    }
}

impl Receiver {
    /// RFC 3168 §6.1.1: a SYN that asks is answered.
    pub(super) fn ecn_syn(&mut self, segment: &Segment) -> Flags {
        let asks = segment.flags.ece && segment.flags.cwr;
        self.ecn.on = asks && self.options.tcp_ecn > 0;
        self.ecn_syn_ack_flags()
    }

    pub(super) fn ecn_syn_ack_flags(&self) -> Flags {
        Flags { syn: Syn::Answers, ece: self.ecn.on, ..Flags::default() }
    }

    /// The sender has reduced its window (`tcp_ecn_accept_cwr`).
    pub(super) fn ecn_accept_cwr(&mut self, segment: &Segment) {
        if self.ecn.on && segment.flags.cwr {
            self.ecn.echo = false;
            if segment.payload_bytes > 0 {
                self.ack.now = true;
            }
        }
    }

    /// What the ECN field of a data segment says (`tcp_ecn_check_ce`).
    pub(super) fn ecn_check_ce(&mut self) {
        if !self.ecn.on {
            return;
        }
        match self.ecn_field {
            NOT_ECT => {
                // Probably a retransmission.
                if self.ecn.seen {
                    self.enter_quickack(QUICKACKS);
                }
            }
            CE => {
                if !self.ecn.echo {
                    self.enter_quickack(QUICKACKS);
                    self.ecn.echo = true;
                }
                self.ecn.seen = true;
            }
            _ => self.ecn.seen = true,
        }
    }

    /// RFC 3168 §6.1.3: every ACK echoes.
    pub(super) fn ecn_echoes(&self) -> bool {
        self.ecn.on && self.ecn.echo
    }
}
