//! Connections packet by packet: handshake, counters, close.

mod wire;

use dumbbell_capture::connection::judge::{Evidence, Judgement};
use dumbbell_capture::connection::recovery::RetransmissionKind;
use dumbbell_capture::connection::Closing;
use dumbbell_capture::tcp_header::TcpFlags;
use dumbbell_capture::TcpHeader;
use wire::{Wire, ACK, CLIENT, FIN, MS, RST, SERVER, SYN};

#[test]
fn the_handshake_gives_round_trips_unless_a_syn_was_repeated() {
    let wire = Wire::open(true);
    assert_eq!(wire.connection.syn_rtt_ns(), Some(30 * MS));
    assert_eq!(wire.connection.handshake_rtt_ns(), Some(50 * MS));
    assert_eq!(wire.connection.opener, Some(0));
    let mut wire = Wire::new();
    wire.handshake(0, 0, SYN);
    wire.handshake(1000, 0, SYN);
    wire.handshake(1030, 1, SYN | ACK);
    wire.send(1050, 0, ACK, 0, 0, 0, &[]);
    assert_eq!(wire.connection.syn_rtt_ns(), None);
    assert_eq!(wire.connection.handshake_rtt_ns(), None);
}

#[test]
fn bytes_are_counted_once_over_the_wrap_of_sequence_numbers() {
    for mut wire in [Wire::open(true), Wire::new()] {
        for number in 0..20 {
            // Without a handshake the first captured byte is the first.
            assert_eq!(wire.data(60 + number, number * 100), Judgement::New);
        }
        wire.ack(110, 2000, &[]);
        let stream = wire.stream();
        assert_eq!((stream.counters.data_packets, stream.counters.unique_bytes), (20, 2000));
        assert_eq!((stream.acked(), stream.acked_bytes(), stream.next()), (2000, 2000, 2000));
        assert_eq!(
            (stream.rtt.samples, stream.rtt.min_ns, stream.rtt.max_ns),
            (20, 31 * MS, 50 * MS)
        );
        assert_eq!(stream.flight.max_bytes, 2000);
    }
}

#[test]
fn a_window_is_scaled_where_both_announced_it_and_zero_ones_are_counted() {
    let mut wire = Wire::open(true);
    wire.data(60, 0);
    wire.ack(90, 100, &[]);
    assert_eq!(wire.connection.sides[1].window_max_bytes, 1000 << 7);
    let zero = TcpHeader {
        sequence: SERVER + 1,
        acknowledgement: CLIENT.wrapping_add(101),
        flags: TcpFlags(ACK),
        ..TcpHeader::default()
    };
    wire.pass(91, 1, zero, Some(90));
    assert_eq!(wire.connection.sides[1].zero_windows, 1);
    assert_eq!(wire.connection.sides[1].window_min_bytes, Some(0));
    let mut unknown = Wire::new();
    unknown.ack(0, 0, &[]);
    assert_eq!(unknown.connection.sides[1].window_max_bytes, 1000);
}

#[test]
fn requests_and_responses_take_turns() {
    let mut wire = Wire::open(true);
    for round in 0..3 {
        wire.send(100 * round + 60, 0, 0, 100 * round, 100, 200 * round, &[]);
        for half in 0..2 {
            let position = 200 * round + 100 * half;
            wire.send(100 * round + 90, 1, 0, position, 100, 100 * (round + 1), &[]);
        }
    }
    let turns: Vec<_> = wire.connection.sides.iter().map(|side| side.turns).collect();
    assert_eq!(turns, [3, 3]);
    assert_eq!(wire.stream().counters.unique_bytes, 300);
}

#[test]
fn a_connection_closes_half_then_whole_or_is_reset() {
    let mut wire = Wire::open(true);
    wire.data(60, 0);
    wire.send(61, 0, FIN, 100, 0, 0, &[]);
    assert_eq!(wire.connection.closing, Some(Closing::Half(0)));
    assert_eq!(wire.retransmit(400, 0), Some(RetransmissionKind::Timeout));
    wire.send(90, 1, FIN, 0, 0, 101, &[]);
    assert_eq!(wire.connection.closing, Some(Closing::Both));
    // The FIN takes a sequence number but is no byte.
    assert_eq!((wire.stream().counters.unique_bytes, wire.stream().acked_bytes()), (100, 100));
    assert_eq!(wire.stream().counters.unseen_bytes, 0);
    let mut wire = Wire::open(true);
    wire.send(60, 1, RST, 0, 0, 0, &[]);
    assert_eq!(wire.connection.closing, Some(Closing::Reset(1)));
    let mut wire = Wire::open(true);
    wire.send(60, 0, FIN, 0, 0, 0, &[]);
    wire.send(90, 1, RST, 0, 0, 1, &[]);
    assert_eq!(wire.connection.closing, Some(Closing::Reset(1)));
}

#[test]
fn in_mid_connection_nothing_is_known_of_what_was_before() {
    // The first of three segments was lost before the tap, and nothing is acknowledged.
    let mut wire = Wire::new();
    for position in [100, 200, 300] {
        wire.send(position, 0, 0, position, 100, 0, &[]);
    }
    let filled = wire.send(400, 0, 0, 0, 100, 0, &[]).map(|verdict| verdict.judgement);
    assert_eq!(filled, Some(Judgement::Retransmitted(Evidence::Identification)));
    wire.ack(420, 400, &[]);
    assert_eq!((wire.stream().spurious(), wire.stream().counters.unique_bytes), ([0; 3], 400));
    // An ACK before them shows where the stream continues.
    let mut wire = Wire::new();
    wire.ack(0, 0, &[]);
    let late = wire.identifications[0].wrapping_add(1);
    wire.identifications[0] = late;
    wire.send(10, 0, 0, 100, 100, 0, &[]);
    wire.identifications[0] = late.wrapping_sub(1);
    let swapped = wire.send(11, 0, 0, 0, 100, 0, &[]);
    let judgement = swapped.map(|verdict| verdict.judgement);
    assert!(matches!(judgement, Some(Judgement::Reordered(_))), "{judgement:?}");
    assert_eq!(wire.stream().counters.unique_bytes, 200);
}

#[test]
fn bytes_that_were_acknowledged_and_not_seen_are_counted_until_they_are() {
    let mut wire = Wire::open(true);
    wire.data(60, 0);
    wire.data(61, 900);
    for end in [200, 400, 600, 800, 1000] {
        wire.ack(90, end, &[]);
    }
    assert_eq!(wire.stream().counters.unseen_bytes, 800);
    assert_eq!((wire.stream().acked_bytes(), wire.stream().counters.unique_bytes), (1000, 200));
    // A segment captured after its ACK is neither lost nor retransmitted.
    let verdict = wire.send(90, 0, 0, 1000, 100, 0, &[]);
    assert_eq!(verdict.map(|verdict| verdict.judgement), Some(Judgement::New));
    wire.ack(91, 1200, &[]);
    assert_eq!(wire.data(91, 1100), Judgement::New);
    assert_eq!(wire.stream().counters.unseen_bytes, 800);
    assert_eq!(wire.stream().counters.unique_bytes, 400);
    assert_eq!(wire.stream().spurious(), [0; 3]);
}

#[test]
fn probes_of_a_closed_window_are_no_data() {
    let mut wire = Wire::open(true);
    wire.data(60, 0);
    let closed = TcpHeader {
        sequence: SERVER + 1,
        acknowledgement: CLIENT.wrapping_add(101),
        flags: TcpFlags(ACK),
        ..TcpHeader::default()
    };
    wire.pass(90, 1, closed, Some(90));
    for at_ms in [300, 600, 1200] {
        let verdict = wire.send(at_ms, 0, 0, 100, 1, 0, &[]);
        assert_eq!(verdict.map(|verdict| verdict.judgement), Some(Judgement::KeepAlive));
    }
    wire.ack(1300, 100, &[]);
    assert_eq!(wire.data(1400, 100), Judgement::New);
    assert_eq!(wire.stream().counters.keep_alives, 3);
    assert_eq!(wire.stream().counters.unique_bytes, 200);
    // Linux probes a peer without a byte of data.
    wire.ack(1450, 200, &[]);
    wire.send(9000, 0, 0, 199, 0, 0, &[]);
    assert_eq!(wire.stream().counters.keep_alives, 4);
}

#[test]
fn without_acknowledgements_what_is_forgotten_was_still_seen() {
    let mut wire = Wire::new();
    for number in 0..1000 {
        wire.data(number, 100 * number);
    }
    let retransmission =
        wire.send(1001, 0, 0, 10_000, 100, 0, &[]).map(|verdict| verdict.judgement);
    assert_eq!(retransmission, Some(Judgement::Retransmitted(Evidence::SeenBefore)));
    assert_eq!(wire.stream().counters.unique_bytes, 100_000);
}

#[test]
fn a_byte_that_is_acknowledged_asks_whether_the_other_lives() {
    let mut wire = Wire::open(true);
    wire.data(60, 0);
    wire.ack(90, 100, &[]);
    let verdict = wire.send(9000, 0, 0, 99, 1, 0, &[]);
    assert_eq!(verdict.map(|verdict| verdict.judgement), Some(Judgement::KeepAlive));
    assert_eq!(wire.stream().counters.keep_alives, 1);
    assert_eq!(wire.stream().counters.unique_bytes, 100);
}

#[test]
fn segments_cut_otherwise_the_second_time_are_joined() {
    let mut wire = Wire::open(true);
    wire.data(60, 0);
    wire.data(61, 100);
    wire.data(62, 300);
    // One retransmission of captured data, of the hole, and of new bytes.
    let verdict = wire.send(200, 0, 0, 150, 400, 0, &[]);
    let judgement = verdict.map(|verdict| verdict.judgement);
    assert_eq!(judgement, Some(Judgement::Retransmitted(Evidence::SeenBefore)));
    assert_eq!(wire.stream().counters.unique_bytes, 550);
    assert_eq!(wire.stream().next(), 550);
    wire.ack(240, 550, &[]);
    // Only the first range was captured once and whole, and those that filled and followed the
    // hole.
    assert_eq!(wire.stream().rtt.samples, 3);
}

#[test]
fn where_only_acknowledgements_are_seen_bytes_are_known_to_be_unseen() {
    let mut wire = Wire::new();
    for number in 0..10 {
        wire.ack(number, 500 * number, &[]);
    }
    let stream = wire.stream();
    assert_eq!((stream.counters.unseen_bytes, stream.counters.unique_bytes), (4500, 0));
    assert_eq!(stream.acked_bytes(), 4500);
    // An impossible ACK is ignored.
    wire.ack(11, 1 << 31, &[]);
    assert_eq!(wire.stream().acked(), 4500);
}

#[test]
fn what_a_bare_segment_is_ahead_of_was_sent_before() {
    let mut wire = Wire::open(true);
    wire.data(60, 0);
    wire.ack(90, 100, &[]);
    // Three segments were not captured; an ACK of the same sender follows them.
    wire.identifications[0] = wire.identifications[0].wrapping_add(3);
    wire.send(200, 0, 0, 400, 0, 0, &[]);
    assert_eq!(wire.stream().in_flight_bytes(), 300);
    assert_eq!(wire.data(700, 100), Judgement::Retransmitted(Evidence::Identification));
    assert_eq!(wire.data(701, 200), Judgement::Retransmitted(Evidence::Identification));
    // Data beyond it is new.
    assert_eq!(wire.data(702, 400), Judgement::New);
    // Captured after the ACK although sent before it.
    let mut wire = Wire::open(true);
    wire.data(60, 0);
    let late = wire.identifications[0].wrapping_add(1);
    wire.identifications[0] = late;
    wire.send(61, 0, 0, 200, 0, 0, &[]);
    wire.identifications[0] = late.wrapping_sub(1);
    assert_eq!(wire.data(62, 100), Judgement::Reordered(Evidence::Identification));
    // A sequence number beyond any window does not belong to this stream.
    let mut wire = Wire::open(true);
    wire.data(60, 0);
    wire.send(61, 0, 0, 1 << 24, 0, 0, &[]);
    assert_eq!(wire.data(62, 100), Judgement::New);
}

#[test]
fn a_receiver_seen_alone_sends_duplicate_acknowledgements_too() {
    let mut wire = Wire::new();
    for (at_ms, ack) in [(0, 0), (1, 100), (2, 100), (3, 100), (4, 300), (5000, 300)] {
        wire.ack(at_ms, ack, &[]);
    }
    wire.ack(9000, 300, &[(400, 500)]);
    assert_eq!(wire.connection.sides[1].duplicate_acks, 3);
}

#[test]
fn data_counts_from_the_syn_that_was_acknowledged() {
    // The server answers three times, each time with another initial sequence number.
    for acknowledged in [SERVER, 900_000_000, 3_000_000_000] {
        let mut wire = Wire::new();
        wire.handshake(0, 0, SYN);
        wire.handshake(30, 1, SYN | ACK);
        for (at_ms, sequence) in [(1030, 900_000_000), (3030, 3_000_000_000)] {
            let repeated = TcpHeader {
                sequence,
                acknowledgement: CLIENT.wrapping_add(1),
                flags: TcpFlags(SYN | ACK),
                ..TcpHeader::default()
            };
            wire.pass(at_ms, 1, repeated, None);
        }
        let client = TcpHeader {
            sequence: CLIENT.wrapping_add(1),
            acknowledgement: acknowledged + 1,
            flags: TcpFlags(ACK),
            window: 1000,
            payload_bytes: 100,
            ..TcpHeader::default()
        };
        wire.pass(3050, 0, client, Some(7));
        let server = TcpHeader {
            sequence: acknowledged + 1,
            acknowledgement: CLIENT.wrapping_add(101),
            ..client
        };
        let verdict = wire.pass(3080, 1, server, Some(8));
        assert_eq!(verdict.map(|verdict| verdict.position), Some(0), "{acknowledged}");
        let Some(stream) = &wire.connection.sides[1].stream else { panic!("no data was seen") };
        assert_eq!((stream.counters.unique_bytes, stream.counters.unseen_bytes), (100, 0));
    }
}
