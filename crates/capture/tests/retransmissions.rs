//! Retransmissions, reordering and duplicates, packet by packet.

mod wire;

use dumbbell_capture::connection::judge::{Evidence, Judgement};
use dumbbell_capture::connection::recovery::RetransmissionKind;
use dumbbell_capture::connection::EarlierCapture;
use dumbbell_capture::tcp_header::TcpFlags;
use dumbbell_capture::{PacketInfo, TcpHeader};
use wire::{Wire, ACK, CLIENT, FIN, MS, SERVER};

#[test]
fn holes_that_sack_reported_are_filled_by_fast_retransmissions() {
    let mut wire = Wire::open(true);
    for number in [0, 1, 2, 3, 4, 5] {
        wire.data(60 + number, 100 * number);
    }
    wire.ack(95, 100, &[]);
    for end in [300, 400, 500] {
        wire.ack(96, 100, &[(200, end)]);
    }
    assert_eq!(wire.connection.sides[1].duplicate_acks, 3);
    assert_eq!(wire.stream().flight.max_bytes, 600);
    assert_eq!(wire.retransmit(117, 100), Some(RetransmissionKind::Fast));
    // 100 to 200 and 500 to 600 are in flight, the rest is SACKed.
    assert_eq!(wire.stream().in_flight_bytes(), 200);
    assert_eq!(wire.stream().recoveries(), (0, 1));
    // The retransmission is lost, too: only the timer can help.
    assert_eq!(wire.retransmit(500, 100), Some(RetransmissionKind::Timeout));
    assert_eq!(wire.retransmit(501, 500), Some(RetransmissionKind::Timeout));
    wire.ack(540, 600, &[]);
    assert_eq!(wire.stream().recoveries(), (1, 1));
    assert_eq!(wire.stream().counters.retransmitted, [1, 2, 0, 0, 0, 0]);
}

#[test]
fn without_sack_three_duplicates_signal_a_loss_and_there_are_no_probes() {
    let mut wire = Wire::open(false);
    for number in 0..5 {
        wire.data(60 + number, 100 * number);
    }
    for _ in 0..4 {
        wire.ack(95, 100, &[]);
    }
    assert_eq!(wire.retransmit(115, 100), Some(RetransmissionKind::Fast));
    let mut wire = Wire::open(false);
    wire.data(60, 0);
    assert_eq!(wire.retransmit(400, 0), Some(RetransmissionKind::Timeout));
}

#[test]
fn a_tail_is_probed_once_then_times_out() {
    let mut wire = Wire::open(true);
    wire.data(60, 0);
    wire.data(61, 100);
    assert_eq!(wire.retransmit(180, 100), Some(RetransmissionKind::Probe));
    assert_eq!(wire.retransmit(420, 0), Some(RetransmissionKind::Timeout));
}

#[test]
fn a_lost_tail_is_known_by_the_packets_that_are_missing() {
    let mut wire = after_ten_segments();
    // Two more are lost before the tap; both are retransmitted.
    wire.identifications[0] = wire.identifications[0].wrapping_add(2);
    assert_eq!(wire.data(400, 1000), Judgement::Retransmitted(Evidence::Missing));
    assert_eq!(wire.data(401, 1100), Judgement::Retransmitted(Evidence::Missing));
    assert_eq!(wire.data(402, 1200), Judgement::New);
    // A pause without missing packets is only a pause.
    wire.ack(440, 1300, &[]);
    assert_eq!(wire.data(900, 1300), Judgement::New);
}

/// Wire after ten segments with a pause between the fifth and the sixth.
fn after_ten_segments() -> Wire {
    let mut wire = Wire::open(true);
    for number in 0..10 {
        let at_ms = 60 + number + 60 * i64::from(number >= 5);
        assert_eq!(wire.data(at_ms, 100 * number), Judgement::New);
        wire.ack(at_ms + 35, 100 * (number + 1), &[]);
    }
    wire
}

#[test]
fn a_gap_in_identifications_alone_is_no_retransmission() {
    // Three packets are missing, and the sender was idle for longer than a time-out.
    let mut wire = after_ten_segments();
    wire.identifications[0] = wire.identifications[0].wrapping_add(3);
    assert_eq!(wire.data(47_000, 1000), Judgement::New);
    let fin = |wire: &mut Wire, at_ms| wire.send(at_ms, 0, FIN, 1000, 0, 0, &[]);
    let mut wire = after_ten_segments();
    wire.identifications[0] = wire.identifications[0].wrapping_add(3);
    assert_eq!(fin(&mut wire, 47_000).and_then(|verdict| verdict.kind), None);
    // Within a time-out, from a host with a counter shared between its connections.
    let mut wire = after_ten_segments();
    wire.identifications[0] = wire.identifications[0].wrapping_add(3);
    wire.shared_counter = true;
    assert_eq!(wire.data(400, 1000), Judgement::New);
    // The counter was never observed to stand still during a pause.
    let mut wire = Wire::open(true);
    for number in 0..10 {
        wire.data(60 + number, 100 * number);
        wire.ack(95 + number, 100 * (number + 1), &[]);
    }
    wire.identifications[0] = wire.identifications[0].wrapping_add(3);
    assert_eq!(wire.data(400, 1000), Judgement::New);
    // An ACK without data shows that other connections use the counter.
    let mut wire = after_ten_segments();
    wire.identifications[0] = wire.identifications[0].wrapping_add(1);
    wire.send(300, 0, 0, 1000, 0, 0, &[]);
    wire.identifications[0] = wire.identifications[0].wrapping_add(2);
    assert_eq!(wire.data(400, 1000), Judgement::New);
}

#[test]
fn a_segment_larger_than_a_packet_makes_gaps_in_identifications() {
    let mut wire = after_ten_segments();
    // Offload: one frame of three segments takes three identifications.
    wire.send(200, 0, 0, 1000, 4000, 0, &[]);
    wire.ack(235, 5000, &[]);
    wire.identifications[0] = wire.identifications[0].wrapping_add(2);
    assert_eq!(wire.data(500, 5000), Judgement::New);
}

#[test]
fn identifications_that_jump_without_a_pause_mean_nothing() {
    // Segments joined by offload count as one step each, and each flight begins after a pause.
    let mut wire = Wire::open(true);
    for number in 0..20 {
        wire.identifications[0] = wire.identifications[0].wrapping_add(4);
        assert_eq!(wire.data(60 + 60 * number, 100 * number), Judgement::New);
        wire.ack(95 + 60 * number, 100 * (number + 1), &[]);
    }
    assert_eq!(wire.stream().counters.retransmitted, [0; 6]);
}

#[test]
fn within_a_tick_of_the_clock_the_same_stamp_is_no_copy() {
    let mut wire = Wire::new();
    for number in 0..4 {
        let segment = TcpHeader {
            sequence: 100 * number,
            flags: TcpFlags(ACK),
            payload_bytes: 100,
            timestamps: Some((7, 0)),
            ..TcpHeader::default()
        };
        wire.pass(0, 0, segment, None);
        if number == 3 {
            let lost = TcpHeader { sequence: 100, ..segment };
            let retransmission = wire.pass(0, 0, lost, None).map(|verdict| verdict.judgement);
            assert_eq!(retransmission, Some(Judgement::Retransmitted(Evidence::SeenBefore)));
        }
    }
}

#[test]
fn dsack_and_echoes_prove_what_was_spurious_and_duplicates_are_not() {
    let mut wire = Wire::open(true);
    wire.data(60, 0);
    wire.data(61, 100);
    // Duplicate of the packet.
    wire.identifications[0] -= 1;
    let copy = TcpHeader {
        sequence: CLIENT.wrapping_add(101),
        flags: TcpFlags(ACK),
        payload_bytes: 100,
        timestamps: Some((61, 0)),
        ..TcpHeader::default()
    };
    let identification = wire.identifications[0] + 1;
    let verdict = wire.pass(62, 0, copy, Some(identification));
    let judgement = verdict.map(|verdict| verdict.judgement);
    assert_eq!(judgement, Some(Judgement::Duplicate(Evidence::Identification)));
    wire.identifications[0] += 1;
    wire.ack(92, 200, &[(100, 200)]);
    assert_eq!(wire.stream().unexplained_dsacks(), 1);
    assert_eq!(wire.connection.sides[1].dsacks, 1);
    assert!(wire.proved.is_empty());
    // Retransmission of data that has arrived.
    wire.data(100, 200);
    assert_eq!(wire.retransmit(300, 200), Some(RetransmissionKind::Probe));
    let retransmission = wire.frame;
    wire.ack(310, 300, &[]);
    wire.ack(331, 300, &[(200, 300)]);
    assert_eq!(wire.proved, [retransmission]);
    assert_eq!(wire.stream().spurious(), [1, 0, 0]);
    assert_eq!(wire.stream().counters.duplicates, 1);
    // The ACK echoes the first of the two, so no DSACK is needed.
    wire.data(400, 300);
    wire.retransmit(600, 300);
    let retransmission = wire.frame;
    (wire.echo, wire.proved) = (Some(400), Vec::new());
    wire.ack(610, 400, &[]);
    assert_eq!(wire.proved, [retransmission]);
    assert_eq!(wire.stream().spurious(), [1, 1, 0]);
}

#[test]
fn what_its_retransmission_has_overtaken_is_no_second_one() {
    let mut wire = Wire::open(true);
    wire.data(60, 0);
    let overtaken = wire.identifications[0].wrapping_add(1);
    wire.identifications[0] = overtaken;
    for number in 2..6 {
        wire.data(61, 100 * number);
        wire.ack(92, 100, &[(200, 100 * (number + 1))]);
    }
    let filled = wire.data(115, 100);
    assert_eq!(filled, Judgement::Retransmitted(Evidence::Identification));
    wire.identifications[0] = overtaken.wrapping_sub(1);
    assert_eq!(wire.data(120, 100), Judgement::Reordered(Evidence::Identification));
}

#[test]
fn a_lost_tail_is_retransmitted_no_sooner_than_a_probe_or_a_time_out() {
    // One packet is missing after an RTT of 50 ms: no timer has expired.
    let mut wire = after_ten_segments();
    wire.identifications[0] = wire.identifications[0].wrapping_add(1);
    assert_eq!(wire.data(200, 1000), Judgement::New);
    // A probe repeats the second of two.
    let mut wire = after_ten_segments();
    wire.identifications[0] = wire.identifications[0].wrapping_add(2);
    assert_eq!(wire.data(240, 1100), Judgement::Retransmitted(Evidence::Missing));
    // More segments than were ever in flight cannot have been lost.
    let mut wire = after_ten_segments();
    wire.identifications[0] = wire.identifications[0].wrapping_add(500);
    assert_eq!(wire.data(400, 1000), Judgement::New);
}

/// Passes the same packet of side 0 or 1 again after a time, without identification.
fn repeat_without_identification(
    wire: &mut Wire,
    (at_ms, after_us): (i64, i64),
    segment: &TcpHeader,
    duplicated: bool,
) -> Option<Judgement> {
    wire.frame += 1;
    let info = PacketInfo {
        now_ns: at_ms * MS + after_us * 1000,
        frame: wire.frame,
        wire_bytes: 166,
        earlier: Some(EarlierCapture {
            after_ns: after_us * 1000,
            evidence: Evidence::Content,
            odd: true,
        }),
        duplicated,
        ..PacketInfo::default()
    };
    let verdict = wire.connection.packet(0, &info, segment, &mut wire.proved);
    verdict.map(|verdict| verdict.judgement)
}

#[test]
fn a_frame_captured_twice_is_a_duplicate_unless_a_loss_was_reported() {
    let data = |position: i64| TcpHeader {
        sequence: CLIENT.wrapping_add(1 + position as u32),
        acknowledgement: SERVER + 1,
        flags: TcpFlags(ACK),
        window: 1000,
        payload_bytes: 100,
        ..TcpHeader::default()
    };
    let mut wire = Wire::open(true);
    wire.pass(60, 0, data(0), None);
    let copy = repeat_without_identification(&mut wire, (60, 20), &data(0), true);
    assert_eq!(copy, Some(Judgement::Duplicate(Evidence::Content)));
    let counters = wire.stream().counters;
    assert_eq!((counters.duplicates, counters.unique_bytes), (1, 100));
    wire.ack(90, 100, &[]);
    // The frame passed once on the wire, so it measures the RTT.
    assert_eq!(wire.stream().rtt.samples, 1);
    // With an unknown RTT and a reported hole, the segment is a retransmission.
    let mut wire = Wire::new();
    for position in [0, 100, 200, 300] {
        wire.pass(0, 0, data(position), None);
    }
    wire.ack(0, 0, &[(100, 400)]);
    let retransmission = repeat_without_identification(&mut wire, (0, 300), &data(0), false);
    assert_eq!(retransmission, Some(Judgement::Retransmitted(Evidence::SeenBefore)));
}

#[test]
fn an_acknowledgement_captured_twice_is_no_duplicate_one() {
    let ack = TcpHeader {
        sequence: CLIENT.wrapping_add(1),
        acknowledgement: SERVER + 101,
        flags: TcpFlags(ACK),
        window: 1000,
        ..TcpHeader::default()
    };
    let duplicates = |duplicated| {
        let mut wire = Wire::open(true);
        wire.send(60, 1, 0, 0, 100, 0, &[]);
        wire.send(61, 1, 0, 100, 100, 0, &[]);
        wire.pass(90, 0, ack, None);
        repeat_without_identification(&mut wire, (90, 20), &ack, duplicated);
        let side = &wire.connection.sides[0];
        (side.duplicate_acks, side.duplicates)
    };
    assert_eq!(duplicates(true), (0, 1));
    // Without duplicated frames in the capture, it is a duplicate ACK.
    assert_eq!(duplicates(false), (1, 0));
}
