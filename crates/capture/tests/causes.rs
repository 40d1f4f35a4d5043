//! Causes of retransmissions: without a report of a hole since the first transmission, none is fast
//! (RFC 5681 §3.2, RFC 6675 §4, RFC 8985 §6.2). Twins of public captures with labels (TCPRS).

mod wire;

use dumbbell_capture::connection::recovery::RetransmissionKind::{
    self, Fast, Handshake, Probe, Timeout,
};
use wire::{Wire, ACK, FIN, SYN};

/// Wire after twenty segments: the RTT from the tap to the receiver is once `min_ms`, then `ms`.
/// Returns also the position of the next segment.
fn measured(min_ms: i64, ms: i64) -> (Wire, i64) {
    let mut wire = Wire::open(true);
    for number in 0..20 {
        wire.data(60 + number, 100 * number);
    }
    for number in 0..20 {
        let rtt_ms = if number == 0 { min_ms } else { ms };
        wire.ack(60 + number + rtt_ms, 100 * (number + 1), &[]);
    }
    (wire, 2000)
}

fn fin(wire: &mut Wire, at_ms: i64, position: i64) -> Option<RetransmissionKind> {
    wire.send(at_ms, 0, FIN, position, 0, 0, &[]).and_then(|verdict| verdict.kind)
}

#[test]
fn after_advancing_acks_alone_the_timer_expired() {
    // rto001, frame 493: the smoothed RTT at the tap is larger than the pause.
    let (mut wire, at) = measured(60, 300);
    for number in 0..6 {
        wire.data(1000, at + 100 * number);
    }
    wire.ack(1100, at + 100, &[]);
    wire.ack(1100, at + 200, &[]);
    assert_eq!(wire.retransmit(1390, at + 200), Some(Timeout));
    // All that was in flight goes again.
    wire.ack(1516, at + 300, &[]);
    assert_eq!(wire.retransmit(1517, at + 300), Some(Timeout));
    assert_eq!(wire.stream().recoveries(), (1, 0));
}

#[test]
fn without_any_ack_the_timer_expired() {
    // comp008, frames 1190, 2113 and 3199; fack038, frame 54.
    let (mut wire, at) = measured(60, 300);
    for number in 0..6 {
        wire.data(1000, at + 100 * number);
    }
    assert_eq!(wire.retransmit(1340, at), Some(Timeout));
}

#[test]
fn a_fin_is_repeated_by_a_probe_and_then_by_the_timer() {
    // comp014, frames 360 to 367: the ACK of the FIN passes the tap and is lost behind it.
    let (mut wire, at) = measured(50, 50);
    assert_eq!(fin(&mut wire, 1000, at), None);
    wire.ack(1040, at + 1, &[]);
    assert_eq!(fin(&mut wire, 1160, at), Some(Probe));
    // The receiver reports the repeated FIN (DSACK). That is no hole.
    wire.ack(1300, at + 1, &[(at, at + 1)]);
    assert_eq!(fin(&mut wire, 1310, at), Some(Timeout));
    assert_eq!(fin(&mut wire, 1850, at), Some(Timeout));
    assert_eq!(wire.stream().counters.retransmitted, [0; 6]);
    assert_eq!(wire.stream().counters.retransmitted_fins, 3);
}

#[test]
fn a_lost_retransmission_that_no_ack_reports_waits_for_the_timer() {
    // comp025, frame 75; fack032, frame 29.
    let (mut wire, at) = measured(60, 300);
    for number in 0..6 {
        wire.data(1000, at + 100 * number);
    }
    wire.ack(1240, at, &[(at + 100, at + 400)]);
    assert_eq!(wire.retransmit(1262, at), Some(Fast));
    wire.ack(1300, at, &[(at + 100, at + 600)]);
    assert_eq!(wire.retransmit(1600, at), Some(Timeout));
    // fack018, frame 54: SACK of a segment that was sent after the retransmission.
    let (mut wire, at) = measured(60, 300);
    for number in 0..6 {
        wire.data(1000, at + 100 * number);
    }
    wire.ack(1240, at, &[(at + 100, at + 400)]);
    assert_eq!(wire.retransmit(1262, at), Some(Fast));
    wire.data(1270, at + 600);
    wire.ack(1520, at, &[(at + 100, at + 700)]);
    assert_eq!(wire.retransmit(1541, at), Some(Fast));
}

#[test]
fn a_tail_in_recovery_waits_for_the_timer() {
    // fast015, frame 52: RFC 8985 §7.2 has no probe in recovery.
    let (mut wire, at) = measured(60, 130);
    for number in 0..6 {
        wire.data(1000, at + 100 * number);
    }
    wire.ack(1130, at, &[(at + 100, at + 500)]);
    assert_eq!(wire.retransmit(1151, at), Some(Fast));
    wire.ack(1280, at + 500, &[]);
    assert_eq!(wire.retransmit(1470, at + 500), Some(Timeout));
}

#[test]
fn a_report_long_before_is_not_answered() {
    // fast015, frame 19; fack040, frame 59: one SACK, then nothing for an RTT and more.
    let (mut wire, at) = measured(60, 300);
    for number in 0..6 {
        wire.data(1000, at + 100 * number);
    }
    wire.ack(1125, at, &[(at + 100, at + 200)]);
    assert_eq!(wire.retransmit(1373, at), Some(Timeout));
    // comp005, frame 416: the same report is answered at once, one SACKed segment suffices.
    let (mut wire, at) = measured(60, 300);
    for number in 0..6 {
        wire.data(1000, at + 100 * number);
    }
    wire.ack(1600, at, &[(at + 100, at + 200)]);
    assert_eq!(wire.retransmit(1621, at), Some(Fast));
}

#[test]
fn a_report_holds_when_the_hole_was_filled_meanwhile() {
    // The segment came late to the receiver: SACK, then an ACK of all. The sender had answered SACK.
    let (mut wire, at) = measured(50, 50);
    for number in [0, 2, 3, 4] {
        wire.data(1000, at + 100 * number);
    }
    wire.ack(1030, at + 100, &[(at + 200, at + 500)]);
    wire.data(1031, at + 100);
    wire.ack(1045, at + 500, &[]);
    assert_eq!(wire.retransmit(1055, at + 100), Some(Fast));
    // A connection without SACK.
    let mut wire = Wire::open(false);
    for number in 0..5 {
        wire.data(60, 100 * number);
    }
    for _ in 0..4 {
        wire.ack(95, 100, &[]);
    }
    wire.ack(96, 500, &[]);
    assert_eq!(wire.retransmit(115, 100), Some(Fast));
}

#[test]
fn without_acks_in_the_capture_time_decides() {
    let mut wire = Wire::new();
    for number in 0..4 {
        wire.data(60 + number, 100 * number);
    }
    assert_eq!(wire.retransmit(120, 100), Some(Fast));
}

#[test]
fn repeated_syns_have_a_kind_of_their_own() {
    let mut wire = Wire::new();
    let kind = |wire: &mut Wire, at_ms, side, flags| {
        let verdict = wire.handshake(at_ms, side, flags);
        verdict.and_then(|verdict| verdict.kind)
    };
    assert_eq!(kind(&mut wire, 0, 0, SYN), None);
    assert_eq!(kind(&mut wire, 1000, 0, SYN), Some(Handshake));
    assert_eq!(kind(&mut wire, 3000, 0, SYN), Some(Handshake));
    assert_eq!(kind(&mut wire, 3030, 1, SYN | ACK), None);
    assert_eq!(kind(&mut wire, 4030, 1, SYN | ACK), Some(Handshake));
    let sides = &wire.connection.sides;
    assert_eq!([0, 1].map(|side| sides[side].retransmitted_syns), [2, 1]);
    assert_eq!([0, 1].map(|side| sides[side].syns), [3, 2]);
}
