//! Explicit Congestion Notification (RFC 3168) as in Linux. The handshake negotiates it. The
//! receiver echoes a mark until the sender signals a window reduction, which happens once per RTT.
//!
//! A congestion control may need ECN (DCTCP, RFC 8257): then both ends ask for it whatever their
//! options say, all segments are ECN-capable, and the receiver echoes each mark.

use super::receiver::Receiver;
use super::sender::Sender;
use dumbbell_cc::CaState;
use dumbbell_model::catalogue::congestion_control::Algorithm;
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
    /// True if the algorithm needs ECN.
    needed: bool,
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
    /// True if the algorithm of the connection needs ECN.
    needed: bool,
    on: bool,
    /// With such an algorithm: true if the last segment was marked (`ce_state`), and `rcv_nxt` after
    /// it.
    marked: bool,
    prior_rcv_nxt: u64,
    /// True while ACKs echo a mark, until the sender responds with CWR (TCP_ECN_DEMAND_CWR).
    echo: bool,
    /// True after an ECN-capable segment (TCP_ECN_SEEN).
    seen: bool,
}

impl SenderEcn {
    /// State before the handshake.
    pub(super) fn new(algorithm: Algorithm) -> Self {
        Self { needed: algorithm.entry().needs_ecn, ..Self::default() }
    }

    /// Returns true if both sides negotiated ECN.
    pub(super) fn is_on(&self) -> bool {
        self.on
    }
}

impl ReceiverEcn {
    /// State before the handshake.
    pub(super) fn new(algorithm: Algorithm) -> Self {
        Self { needed: algorithm.entry().needs_ecn, ..Self::default() }
    }

    /// ECN field of a segment without data (`tcp_ecn_send`, `tcp_ecn_send_synack`).
    pub(super) fn field(&self) -> u8 {
        if self.needed && self.on {
            ECT_0
        } else {
            NOT_ECT
        }
    }
}

impl Sender {
    /// True if this end asks for ECN.
    fn ecn_asks(&self) -> bool {
        self.ecn.needed || self.options.tcp_ecn == 1
    }

    /// Flags of the SYN. Only the first transmission requests ECN (RFC 3168 §6.1.1,
    /// tcp_ecn_fallback).
    pub(super) fn ecn_syn(&self, tries: u32) -> Flags {
        let asks = self.ecn_asks() && tries == 1;
        Flags { syn: Syn::Opens, ece: asks, cwr: asks, ..Flags::default() }
    }

    /// Processes the ECN flags of the SYN-ACK.
    pub(super) fn ecn_syn_ack(&mut self, segment: &Segment) {
        self.ecn.on = self.ecn_asks() && segment.flags.ece && !segment.flags.cwr;
    }

    /// ECN field of a segment: new data is ECN-capable; retransmissions and segments without data
    /// are not (RFC 3168 §6.1.2, §6.1.5; `tcp_ecn_send`). If the algorithm needs ECN, all are, the
    /// SYN included (RFC 8257 §3.1, §3.4 leave it open).
    pub(crate) fn ecn_field(&self, segment: &Segment) -> u8 {
        let new_data = segment.cause == Cause::New && segment.payload_bytes > 0;
        let opens = segment.flags.syn == Syn::Opens;
        let capable = if self.ecn.needed { self.ecn.on || opens } else { self.ecn.on && new_data };
        if capable {
            ECT_0
        } else {
            NOT_ECT
        }
    }

    /// Sets CWR on the next new data segment after a reduction (RFC 3168 §6.1.2).
    pub(super) fn ecn_send(&mut self, segment: &mut Segment) {
        let new_data = segment.cause == Cause::New && segment.payload_bytes > 0;
        if self.ecn.on && new_data {
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
        self.ecn.on = asks && (self.ecn.needed || self.options.tcp_ecn > 0);
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
                self.ecn_marked(true);
                if !self.ecn.echo {
                    self.enter_quickack(QUICKACKS);
                    self.ecn.echo = true;
                }
                self.ecn.seen = true;
            }
            _ => {
                self.ecn_marked(false);
                self.ecn.seen = true;
            }
        }
    }

    /// Echoes each mark (RFC 8257 §3.2, `dctcp_ece_ack_update`). Where segments with and without
    /// marks follow each other, an ACK for the former is sent first.
    fn ecn_marked(&mut self, marked: bool) {
        if !self.ecn.needed {
            return;
        }
        if self.ecn.marked != marked {
            if self.ack.timer.is_some() {
                self.ecn.echo = self.ecn.marked;
                self.send_special_ack(self.ecn.prior_rcv_nxt);
            }
            self.ack.now = true;
        }
        self.ecn.prior_rcv_nxt = self.rcv_nxt;
        self.ecn.marked = marked;
        self.ecn.echo = marked;
    }

    /// Returns true while every ACK echoes a mark (RFC 3168 §6.1.3).
    pub(super) fn ecn_echoes(&self) -> bool {
        self.ecn.on && self.ecn.echo
    }
}
