//! Explicit Congestion Notification (RFC 3168) as in Linux. The handshake negotiates it. The
//! receiver echoes a mark until the sender signals a window reduction, which happens once per RTT.

use super::receiver::Receiver;
use super::sender::Sender;
use dumbbell_cc::CaState;
use dumbbell_packet::tcp::{Flags, Syn};
use dumbbell_packet::{Cause, Segment};

/// ECN field (RFC 3168 §5): not ECN-capable.
const NOT_ECT: u8 = 0;
/// ECN field: congestion experienced.
const CE: u8 = 3;
/// ECN field: ECN-capable, ECT(0), as Linux sends.
const ECT_0: u8 = 2;
/// Quick ACKs after a mark, because the sender's window may be small.
const QUICKACKS: u32 = 2;

/// ECN state of the sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SenderEcn {
    /// True if both sides negotiated ECN.
    on: bool,
    /// True if the next new segment must signal the reduced window with CWR (TCP_ECN_QUEUE_CWR).
    queue_cwr: bool,
    /// Segments whose ACKs echoed a mark.
    pub(crate) delivered_ce: u64,
}

/// ECN state of the receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReceiverEcn {
    on: bool,
    /// True while ACKs echo a mark, until the sender responds with CWR (TCP_ECN_DEMAND_CWR).
    echo: bool,
    /// True after an ECN-capable segment (TCP_ECN_SEEN).
    seen: bool,
}

impl Sender {
    /// Flags of the SYN. Only the first transmission requests ECN (RFC 3168 §6.1.1,
    /// tcp_ecn_fallback).
    pub(super) fn ecn_syn(&self, tries: u32) -> Flags {
        let asks = self.options.tcp_ecn == 1 && tries == 1;
        Flags { syn: Syn::Opens, ece: asks, cwr: asks, ..Flags::default() }
    }

    /// Processes the ECN flags of the SYN-ACK.
    pub(super) fn ecn_syn_ack(&mut self, segment: &Segment) {
        self.ecn.on = self.options.tcp_ecn == 1 && segment.flags.ece && !segment.flags.cwr;
    }

    /// ECN field of a segment: new data is ECN-capable; retransmissions and segments without data
    /// are not (RFC 3168 §6.1.2, §6.1.5; `tcp_ecn_send`).
    pub(crate) fn ecn_field(&self, segment: &Segment) -> u8 {
        let capable = self.ecn.on && segment.cause == Cause::New && segment.payload_bytes > 0;
        if capable {
            ECT_0
        } else {
            NOT_ECT
        }
    }

    /// Sets CWR on the next new data segment after a reduction (RFC 3168 §6.1.2).
    pub(super) fn ecn_send(&mut self, segment: &mut Segment) {
        if self.ecn_field(segment) == ECT_0 {
            segment.flags.cwr = std::mem::take(&mut self.ecn.queue_cwr);
        }
    }

    /// Returns true if the ACK echoes a mark (`tcp_ecn_rcv_ecn_echo`).
    pub(super) fn ecn_echoed(&self, ack: &Segment) -> bool {
        self.ecn.on && ack.flags.ece && !ack.flags.is_syn()
    }

    /// Requests CWR after any window reduction (`tcp_ecn_queue_cwr`).
    pub(super) fn ecn_queue_cwr(&mut self) {
        self.ecn.queue_cwr = self.ecn.on;
    }

    /// Withdraws CWR when the reduction is undone (`tcp_ecn_withdraw_cwr`).
    pub(super) fn ecn_withdraw_cwr(&mut self) {
        self.ecn.queue_cwr = false;
    }

    /// Reduces the window as for a loss, once per window of data (RFC 3168 §6.1.2,
    /// `tcp_enter_cwr`).
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
    /// Processes a SYN that may request ECN. Returns the flags of the SYN-ACK (RFC 3168 §6.1.1).
    pub(super) fn ecn_syn(&mut self, segment: &Segment) -> Flags {
        let asks = segment.flags.ece && segment.flags.cwr;
        self.ecn.on = asks && self.options.tcp_ecn > 0;
        self.ecn_syn_ack_flags()
    }

    pub(super) fn ecn_syn_ack_flags(&self) -> Flags {
        Flags { syn: Syn::Answers, ece: self.ecn.on, ..Flags::default() }
    }

    /// Stops the echo when the sender has reduced its window (`tcp_ecn_accept_cwr`).
    pub(super) fn ecn_accept_cwr(&mut self, segment: &Segment) {
        if self.ecn.on && segment.flags.cwr {
            self.ecn.echo = false;
            if segment.payload_bytes > 0 {
                self.ack.now = true;
            }
        }
    }

    /// Processes the ECN field of a data segment (`tcp_ecn_check_ce`).
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

    /// Returns true while every ACK echoes a mark (RFC 3168 §6.1.3).
    pub(super) fn ecn_echoes(&self) -> bool {
        self.ecn.on && self.ecn.echo
    }
}
