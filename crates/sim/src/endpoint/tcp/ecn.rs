//! Explicit Congestion Notification (RFC 3168) as in Linux. The handshake negotiates it. The
//! receiver echoes a mark until the sender signals a window reduction, which happens once per RTT.
//!
//! Both ends may agree on Accurate ECN instead; see [`accecn`](super::accecn).
//!
//! A congestion control may need ECN (DCTCP, RFC 8257): then both ends ask for it whatever their
//! options say, all segments are ECN-capable, and the receiver echoes each mark.

use super::accecn::{first_option, is_possible, reflection, Feedback, Received};
use super::receiver::Receiver;
use super::sender::Sender;
use dumbbell_cc::CaState;
use dumbbell_model::catalogue::congestion_control::Algorithm;
use dumbbell_packet::tcp::{Flags, Syn, CWR, ECE};
use dumbbell_packet::{AccurateEcn, Cause, Segment};

/// ECN field (RFC 3168 §5): not ECN-capable.
pub(super) const NOT_ECT: u8 = 0;
/// ECN field: ECN-capable, of a scalable congestion control (RFC 9331 §4.1).
pub(super) const ECT_1: u8 = 1;
/// ECN field: ECN-capable, as Linux sends.
pub(super) const ECT_0: u8 = 2;
/// ECN field: congestion experienced.
pub(super) const CE: u8 = 3;
/// Quick ACKs after a mark, because the sender's window may be small.
const QUICKACKS: u32 = 2;
/// Value of `tcp_ecn` that asks for Accurate ECN; from it on it is accepted.
const TCP_ECN_ACCURATE: u32 = 3;
/// ACE field of a SYN that asks for Accurate ECN (RFC 9768 §3.1.1), and of one that asks for ECN.
const ASKS_ACCURATE: u8 = 7;
const ASKS: u8 = CWR | ECE;

/// Kind of ECN of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    #[default]
    Off,
    /// RFC 3168.
    Classic,
    /// RFC 9768.
    Accurate,
}

/// ECN field of ECN-capable segments.
fn ect(l4s: bool) -> u8 {
    if l4s {
        ECT_1
    } else {
        ECT_0
    }
}

/// ECN state of the sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SenderEcn {
    /// True if the algorithm needs ECN.
    needed: bool,
    /// True if the algorithm sends ECT(1) and needs Accurate ECN.
    l4s: bool,
    pub(super) mode: Mode,
    /// True if the next new segment must signal the reduced window with CWR (TCP_ECN_QUEUE_CWR).
    queue_cwr: bool,
    /// Packets that the peer reported as marked (`delivered_ce`). Classic ECN: packets delivered by ACKs
    /// with ECE.
    pub(crate) delivered_ce: u64,
    /// ECN field of the segment being processed.
    pub(super) field: u8,
    /// Accurate ECN: true if the segments have the option.
    pub(super) option: bool,
    /// True if the MSS leaves space for it.
    pub(super) shortened: bool,
    /// `tcp_ecn_option: 1`: true if the skb being sent has it.
    pub(super) skb_option: bool,
    /// `tcp_ecn_option: 1`: true during a call of the application, and if its MSS leaves space.
    pub(super) in_call: bool,
    pub(super) call_shortened: bool,
    /// Accurate ECN: true if no segment is ECN-capable, since the handshake failed to show that the
    /// path lets ECN fields through.
    unsure: bool,
    /// True if the segment being processed has a later timestamp than those before.
    pub(super) ts_progress: bool,
    pub(super) feedback: Feedback,
    /// Counters of an end that receives no data.
    pub(super) received: Received,
}

/// ECN state of the receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReceiverEcn {
    /// True if the algorithm of the connection needs ECN.
    needed: bool,
    /// True if it sends ECT(1) and needs Accurate ECN.
    l4s: bool,
    pub(super) mode: Mode,
    /// With such an algorithm: true if the last segment was marked (`ce_state`), and `rcv_nxt` after
    /// it.
    marked: bool,
    prior_rcv_nxt: u64,
    /// True while ACKs echo a mark, until the sender responds with CWR (TCP_ECN_DEMAND_CWR).
    echo: bool,
    /// True after an ECN-capable segment (TCP_ECN_SEEN).
    pub(super) seen: bool,
    /// ECN field of the SYN.
    syn_field: u8,
    /// Number of SYN-ACKs sent.
    pub(super) syn_acks: u32,
    /// True if the peer saw the SYN-ACK with CE.
    marked_syn_ack: bool,
    /// Accurate ECN: true if the segments have the option.
    pub(super) option: bool,
    /// Accurate ECN: true if no segment is ECN-capable; see [`SenderEcn`].
    unsure: bool,
    /// Accurate ECN: true if the third segment had no ACE field: counters of the option are not used
    /// (TCP_ACCECN_OPT_FAIL_RECV).
    bleached: bool,
    /// Accurate ECN: true if segments with the option do not arrive (TCP_ACCECN_OPT_FAIL_SEND).
    pub(super) option_failed: bool,
    /// First byte of the duplicate that the last segment reported, if it had the option, too
    /// (`accecn_opt_sent_w_dsack`).
    pub(super) told_duplicate: Option<u64>,
    pub(super) received: Received,
}

impl SenderEcn {
    /// State before the handshake.
    pub(super) fn new(algorithm: Algorithm) -> Self {
        let entry = algorithm.entry();
        Self { needed: entry.needs_ecn, l4s: entry.l4s, ..Self::default() }
    }

    /// Returns true if both sides negotiated ECN.
    pub(super) fn is_on(&self) -> bool {
        self.mode != Mode::Off
    }
}

impl ReceiverEcn {
    /// State before the handshake.
    pub(super) fn new(algorithm: Algorithm) -> Self {
        let entry = algorithm.entry();
        Self { needed: entry.needs_ecn, l4s: entry.l4s, ..Self::default() }
    }

    /// ECN field of a segment without data (`tcp_ecn_send`, `tcp_ecn_send_synack`).
    pub(super) fn field(&self, segment: &Segment) -> u8 {
        let syn = segment.flags.is_syn();
        let capable = match self.mode {
            Mode::Off => false,
            _ if segment.flags.rst => false,
            Mode::Accurate if !syn => !self.unsure,
            Mode::Classic | Mode::Accurate => self.needed,
        };
        if capable {
            ect(self.l4s)
        } else {
            NOT_ECT
        }
    }
}

impl Sender {
    /// ACE field of the SYN. Retransmissions ask less, in case the flags are the reason why there is no
    /// answer (RFC 3168 §6.1.1, RFC 9768 §3.1.4.1; `tcp_ecn_clear_syn`).
    pub(super) fn ecn_syn(&self, tries: u32) -> Flags {
        let accurate = self.asks_accurate();
        let ace = match tries {
            1 | 2 if accurate => ASKS_ACCURATE,
            1 if self.ecn_asks() => ASKS,
            _ => 0,
        };
        Flags { syn: Syn::Opens, ace, ..Flags::default() }
    }

    /// Returns true if this end asks for ECN.
    fn ecn_asks(&self) -> bool {
        self.ecn.needed || matches!(self.options.tcp_ecn, 1 | TCP_ECN_ACCURATE | 4)
    }

    fn asks_accurate(&self) -> bool {
        self.ecn.l4s || self.options.tcp_ecn == TCP_ECN_ACCURATE
    }

    /// Processes the ECN flags of the SYN-ACK (`tcp_ecn_rcv_synack`).
    pub(super) fn ecn_syn_ack(&mut self, segment: &Segment) {
        if !self.ecn_asks() {
            return;
        }
        let ace = segment.flags.ace;
        self.ecn.mode = match ace {
            0 | 7 => Mode::Off,
            ECE if self.ecn.l4s => Mode::Off,
            ECE => Mode::Classic,
            5 if !self.asks_accurate() => Mode::Classic,
            _ => Mode::Accurate,
        };
        if self.ecn.mode != Mode::Accurate {
            return;
        }
        self.ecn.feedback = Feedback::after_syn_ack();
        if self.ecn.field == CE {
            let sent = if self.ecn.needed { ect(self.ecn.l4s) } else { NOT_ECT };
            if ace == 5 || is_possible(sent, ace) {
                self.ecn.received.count_syn_ack();
            } else {
                self.ecn.unsure = true;
            }
        }
        if segment.accurate_ecn().is_some() && self.options.tcp_ecn_option > 0 {
            self.ecn.received.option_answered();
            self.use_accurate_option();
        }
        self.carry_counters();
    }

    /// The third segment of the handshake reflects the ECN field of the SYN-ACK
    /// (`tcp_send_ack_reflect_ect`).
    pub(super) fn ecn_third(&self, third: Segment) -> Segment {
        if self.ecn.mode != Mode::Accurate {
            return third;
        }
        let flags = Flags { ace: reflection(self.ecn.field), ..third.flags };
        Segment { flags, ..third }
    }

    /// Adopts the outcome of the receiver's handshake, after a passive open.
    pub(super) fn ecn_accepted(&mut self, receiver: &ReceiverEcn) {
        self.ecn.mode = receiver.mode;
        self.ecn.unsure = receiver.unsure;
        self.ecn.feedback.without_option = receiver.bleached;
        self.ecn.delivered_ce = u64::from(receiver.marked_syn_ack);
        if receiver.option {
            self.use_accurate_option();
        }
    }

    /// ECN field of a segment: new data is ECN-capable; retransmissions and segments without data
    /// are not (RFC 3168 §6.1.2, §6.1.5; `tcp_ecn_send`). If the algorithm needs ECN, all are, the
    /// SYN included (RFC 8257 §3.1, §3.4 leave it open). With Accurate ECN all are but the SYN.
    pub(crate) fn ecn_field(&self, segment: &Segment) -> u8 {
        let new_data = segment.cause == Cause::New && segment.payload_bytes > 0;
        let syn = segment.flags.is_syn();
        let capable = match self.ecn.mode {
            _ if syn => self.ecn.needed,
            _ if self.closed.answers() => false,
            Mode::Off => false,
            Mode::Classic => self.ecn.needed || new_data,
            Mode::Accurate => !self.ecn.unsure,
        };
        if capable {
            ect(self.ecn.l4s)
        } else {
            NOT_ECT
        }
    }

    /// Sets CWR on the next new data segment after a reduction (RFC 3168 §6.1.2).
    pub(super) fn ecn_send(&mut self, segment: &mut Segment) {
        let new_data = segment.cause == Cause::New && segment.payload_bytes > 0;
        if self.ecn.mode == Mode::Classic && new_data && std::mem::take(&mut self.ecn.queue_cwr) {
            segment.flags.ace |= CWR;
        }
    }

    /// Returns true if the ACK echoes a mark (`tcp_ecn_rcv_ecn_echo`).
    pub(super) fn ecn_echoed(&self, ack: &Segment) -> bool {
        self.ecn.mode == Mode::Classic && ack.flags.ece() && !ack.flags.is_syn()
    }

    /// Requests CWR after any window reduction (`tcp_ecn_queue_cwr`).
    pub(super) fn ecn_queue_cwr(&mut self) {
        self.ecn.queue_cwr = self.ecn.mode == Mode::Classic;
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
    /// Processes a SYN that may request ECN. Returns the flags of the SYN-ACK (RFC 3168 §6.1.1, RFC 9768
    /// §3.1.2; `tcp_ecn_create_request`).
    pub(super) fn ecn_syn(&mut self, segment: &Segment) -> Flags {
        let ace = segment.flags.ace;
        self.ecn.syn_field = self.ecn_field;
        if self.ecn.syn_acks > 0 {
            self.ecn.unsure |= ace == 0;
            return self.ecn_syn_ack_flags(self.syn_ack_timeouts); // The first SYN decides.
        }
        let accepts = self.ecn.l4s || self.options.tcp_ecn >= TCP_ECN_ACCURATE;
        self.ecn.mode = if accepts && !matches!(ace, 0 | ASKS) {
            Mode::Accurate
        } else if ace & ASKS == ASKS
            && !self.ecn.l4s
            && (self.ecn.needed || self.options.tcp_ecn > 0)
        {
            Mode::Classic
        } else {
            Mode::Off
        };
        self.ecn_syn_ack_flags(0)
    }

    /// Flags of the SYN-ACK after `timeouts` retransmissions by its timer. After the first it asks for
    /// nothing (`tcp_ecn_make_synack`).
    pub(super) fn ecn_syn_ack_flags(&self, timeouts: u32) -> Flags {
        let ace = match self.ecn.mode {
            Mode::Accurate if timeouts == 0 => reflection(self.ecn.syn_field),
            Mode::Off | Mode::Accurate => 0,
            Mode::Classic => ECE,
        };
        Flags { syn: Syn::Answers, ace, ..Flags::default() }
    }

    /// Option of the SYN-ACK; none on a retransmission.
    pub(super) fn ecn_syn_ack_option(&self) -> Option<AccurateEcn> {
        let sends = self.ecn.mode == Mode::Accurate && self.options.tcp_ecn_option > 0;
        (sends && !self.syn_ack_retransmitted).then(first_option)
    }

    /// Processes the segment that completes the handshake (`tcp_ecn_openreq_child`).
    pub(super) fn ecn_third(&mut self, third: &Segment) {
        if self.ecn.mode != Mode::Accurate {
            return;
        }
        let ace = third.flags.ace;
        let sent = if self.ecn.needed { ect(self.ecn.l4s) } else { NOT_ECT };
        let bare = third.end() == third.seq && third.entries.blocks() == 0;
        let reflects = bare && matches!(ace, 2 | 3 | 4 | 6);
        let bleached = ace == 0 && third.entries.blocks() == 0;
        let resent_twice = self.ecn.syn_acks > 2;
        let impossible = reflects && !is_possible(sent, ace);
        self.ecn.bleached = bleached;
        self.ecn.unsure |= bleached || impossible || resent_twice;
        self.ecn.marked_syn_ack = reflects && !impossible && ace == 6;
        self.ecn.option = third.accurate_ecn().is_some() && self.options.tcp_ecn_option > 0;
        self.ecn.received = Received::after_syn(self.ecn.syn_field);
    }

    /// Adopts the outcome of the sender's handshake, after an active open.
    pub(super) fn ecn_opened(&mut self, sender: &Sender) {
        self.ecn.mode = sender.ecn.mode;
        self.ecn.option = sender.ecn.option;
        self.ecn.unsure = sender.ecn.unsure;
        self.ecn.received = sender.ecn.received;
    }

    /// Stops the echo when the sender has reduced its window (`tcp_ecn_accept_cwr`).
    pub(super) fn ecn_accept_cwr(&mut self, segment: &Segment) {
        if self.ecn.mode == Mode::Classic && segment.flags.cwr() {
            self.ecn.echo = false;
            if segment.payload_bytes > 0 {
                self.ack.now = true;
            }
        }
    }

    /// Processes the ECN field of a data segment (`tcp_data_ecn_check`).
    pub(super) fn ecn_check_ce(&mut self) {
        if self.ecn.mode == Mode::Off {
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
                if self.ecn.mode == Mode::Classic && !self.ecn.echo {
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
        if !self.ecn.needed || self.ecn.l4s {
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

    /// ACE field of an ACK: classic, ECE while every ACK echoes a mark (RFC 3168 §6.1.3).
    pub(super) fn ecn_ace(&self) -> u8 {
        match self.ecn.mode {
            Mode::Off => 0,
            Mode::Classic => u8::from(self.ecn.echo),
            Mode::Accurate => self.ecn.received.ace(),
        }
    }
}
