//! Connections packet by packet: classification and counters.

use dumbbell_capture::connection::judge::{Evidence, Judgement};
use dumbbell_capture::connection::recovery::RetransmissionKind;
use dumbbell_capture::connection::stream::{Stream, Verdict};
use dumbbell_capture::connection::{Closing, EarlierCapture};
use dumbbell_capture::tcp_header::TcpFlags;
use dumbbell_capture::{Connection, PacketInfo, TcpHeader};

const SYN: u8 = 2;
const ACK: u8 = 16;
const FIN: u8 = 1;
const RST: u8 = 4;
const MS: i64 = 1_000_000;
/// Initial sequence numbers: the client's numbers wrap after 999 bytes.
const CLIENT: u32 = u32::MAX - 999;
const SERVER: u32 = 5000;

/// A connection and its next sequence numbers. Positions count from the first byte.
struct Wire {
    connection: Connection,
    now_ms: i64,
    frame: u64,
    identifications: [u16; 2],
    sack: bool,
    /// Timestamp echo of the next packets; by default a time later than all packets so far.
    echo: Option<u32>,
    proved: Vec<u64>,
    shared_counter: bool,
}

impl Wire {
    /// Wire without a handshake.
    fn new() -> Self {
        Self {
            connection: Connection::default(),
            now_ms: 0,
            frame: 0,
            identifications: [65_530, 40],
            sack: true,
            echo: None,
            proved: Vec::new(),
            shared_counter: false,
        }
    }

    /// Wire after a handshake. The tap is 20 ms from the client and 30 ms from the server.
    fn open(sack: bool) -> Self {
        let mut wire = Self { sack, ..Self::new() };
        wire.handshake(0, 0, SYN);
        wire.handshake(30, 1, SYN | ACK);
        wire.send(50, 0, ACK, 0, 0, 0, &[]);
        wire
    }

    fn handshake(&mut self, at_ms: i64, side: usize, flags: u8) {
        let segment = TcpHeader {
            sequence: [CLIENT, SERVER][side],
            acknowledgement: CLIENT.wrapping_add(1),
            flags: TcpFlags(flags),
            window: 1000,
            window_scale: Some(7),
            sack_permitted: self.sack,
            timestamps: Some((at_ms as u32, 0)),
            ..TcpHeader::default()
        };
        self.pass(at_ms, side, segment, None);
    }

    fn pass(
        &mut self,
        at_ms: i64,
        side: usize,
        segment: TcpHeader,
        identification: Option<u16>,
    ) -> Option<Verdict> {
        self.now_ms = at_ms;
        self.frame += 1;
        let info = PacketInfo {
            now_ns: at_ms * MS,
            frame: self.frame,
            wire_bytes: 66 + segment.payload_bytes,
            identification,
            shared_counter: self.shared_counter,
            ..PacketInfo::default()
        };
        self.connection.packet(side, &info, &segment, &mut self.proved)
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of a header")]
    fn send(
        &mut self,
        at_ms: i64,
        side: usize,
        flags: u8,
        position: i64,
        length: u32,
        ack: i64,
        sack: &[(i64, i64)],
    ) -> Option<Verdict> {
        self.identifications[side] = self.identifications[side].wrapping_add(1);
        let identification = self.identifications[side];
        let initial = [CLIENT, SERVER];
        let at = |side: usize, position: i64| initial[side].wrapping_add(1 + position as u32);
        let mut segment = TcpHeader {
            sequence: at(side, position),
            acknowledgement: at(1 - side, ack),
            flags: TcpFlags(flags | ACK),
            window: 1000,
            payload_bytes: length,
            timestamps: Some((at_ms as u32, self.echo.unwrap_or(at_ms as u32))),
            sack_count: sack.len() as u8,
            ..TcpHeader::default()
        };
        for (block, (start, end)) in segment.sack.iter_mut().zip(sack) {
            *block = (at(1 - side, *start), at(1 - side, *end));
        }
        self.pass(at_ms, side, segment, Some(identification))
    }

    /// Sends data of the client.
    fn data(&mut self, at_ms: i64, position: i64) -> Judgement {
        let verdict = self.send(at_ms, 0, 0, position, 100, 0, &[]);
        assert_eq!(verdict.map(|verdict| verdict.position), Some(position));
        verdict.map_or(Judgement::New, |verdict| verdict.judgement)
    }

    /// Sends a retransmission of the client and returns its kind.
    fn retransmit(&mut self, at_ms: i64, position: i64) -> Option<RetransmissionKind> {
        self.send(at_ms, 0, 0, position, 100, 0, &[]).and_then(|verdict| verdict.kind)
    }

    fn ack(&mut self, at_ms: i64, ack: i64, sack: &[(i64, i64)]) {
        self.send(at_ms, 1, 0, 0, 0, ack, sack);
    }

    fn stream(&self) -> &Stream {
        match &self.connection.sides[0].stream {
            Some(stream) => stream,
            None => panic!("no data was seen"),
        }
    }
}

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
    assert_eq!(wire.stream().counters.retransmitted, [1, 2, 0]);
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
    assert_eq!(wire.stream().counters.retransmitted, [0, 0, 0]);
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
        earlier: Some(EarlierCapture { after_ns: after_us * 1000, identified: false, odd: true }),
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
