//! State of a connection as `tcp_info` has it, by packetdrill's names.

use crate::endpoint::tcp::ecn::Mode;
use crate::endpoint::tcp::receiver::Receiver;
use crate::endpoint::tcp::sender::{Phase, Sender};
use dumbbell_cc::CaState;
use std::collections::BTreeMap;

const ESTABLISHED: i128 = 1;
const SYN_SENT: i128 = 2;
const FIN_WAIT1: i128 = 4;
const FIN_WAIT2: i128 = 5;
const CLOSE: i128 = 7;
const CLOSE_WAIT: i128 = 8;
const LAST_ACK: i128 = 9;
const CLOSING: i128 = 11;
const OPT_TIMESTAMPS: i128 = 1;
const OPT_SACK: i128 = 2;
const OPT_WSCALE: i128 = 4;
const OPT_ECN: i128 = 8;

/// What the model knows; fields that it does not have are left out.
///
/// `answers`: this end's FIN followed the peer's.
pub(super) fn of(sender: &Sender, receiver: &Receiver, answers: bool) -> BTreeMap<String, i128> {
    let options = &sender.options;
    let bit = |on: bool, bit: i128| if on { bit } else { 0 };
    let ca_state = match sender.congestion.state {
        CaState::Open => 0,
        CaState::Disorder => 1,
        CaState::Cwr => 2,
        CaState::Recovery => 3,
        CaState::Loss => 4,
    };
    let state = match sender.phase {
        Phase::SynSent { .. } => SYN_SENT,
        Phase::Established => match (sender.fin, receiver.finished) {
            (false, false) => ESTABLISHED,
            (false, true) => CLOSE_WAIT,
            (true, false) => FIN_WAIT1,
            (true, true) if answers => LAST_ACK,
            (true, true) => CLOSING,
        },
        Phase::Finished(_) if !receiver.finished => FIN_WAIT2,
        Phase::Closed | Phase::Finished(_) | Phase::GivenUp(_) => CLOSE,
    };
    let agreed = bit(options.tcp_timestamps, OPT_TIMESTAMPS)
        | bit(options.tcp_sack, OPT_SACK)
        | bit(options.tcp_window_scaling, OPT_WSCALE)
        | bit(sender.ecn.mode != Mode::Off, OPT_ECN);
    let board = &sender.scoreboard;
    // Zero-window probes double no RTO (`icsk_rto`).
    let retransmitted = if board.packets_out > 0 { sender.xmit_timer.backoff } else { 0 };
    let [e1_bytes, ce_bytes, e0_bytes] = sender.ecn.feedback.counted_bytes();
    [
        ("state", state),
        ("ca_state", ca_state),
        ("options", agreed),
        ("snd_mss", sender.mss.into()),
        ("unacked", board.packets_out.into()),
        ("sacked", board.sacked_out.into()),
        ("lost", board.lost_out.into()),
        ("retrans", board.retrans_out.into()),
        ("rtt", (sender.rtt.srtt_us8 >> 3).into()),
        ("rttvar", (sender.rtt.rttvar_us4 >> 2).into()),
        ("snd_ssthresh", sender.window.ssthresh.into()),
        ("snd_cwnd", sender.window.cwnd.into()),
        ("rto", sender.tick.to_us(sender.rtt.rto_jiffies(retransmitted)).into()),
        ("backoff", sender.xmit_timer.backoff.into()),
        ("min_rtt", sender.rtt.min_us().into()),
        ("pacing_rate", sender.window.pacing_rate.into()),
        ("dsack_dups", board.dsack_dups.into()),
        ("reordering", board.reordering.into()),
        ("reord_seen", board.reord_seen.into()),
        ("total_retrans", sender.counters.retransmitted.into()),
        ("delivered", sender.delivered.into()),
        ("delivered_ce", sender.ecn.delivered_ce.into()),
        ("delivered_e1_bytes", e1_bytes.into()),
        ("delivered_ce_bytes", ce_bytes.into()),
        ("delivered_e0_bytes", e0_bytes.into()),
        ("rcv_mss", receiver.ack.rcv_mss.into()),
        ("bytes_received", receiver.rcv_nxt.into()),
        ("bytes_acked", (sender.snd_una + 1).into()),
        ("snd_wnd", sender.snd_wnd.into()),
    ]
    .map(|(name, value)| (format!("tcpi_{name}"), value))
    .into()
}
