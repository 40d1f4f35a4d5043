//! Sessions: pages over connections with data both ways, against times worked out by hand.

mod lab;

use dumbbell_model::scenario::{
    Algorithm, Exchange, Object, Origin, Pipe, Protocol, Scenario, Session, Source, Stretch,
};
use dumbbell_model::Span;
use lab::{delay, dumbbell, mbps, run, scripted, serial, tcp, Run, SEGMENT_BYTES};

const REQUEST_BYTES: u64 = 400;
/// Bytes at 10 Mbit/s, nanoseconds.
const fn wire_ns(frame_bytes: i64) -> i64 {
    frame_bytes * 800
}
/// Both ways take 10 ms.
const HALF_RTT_NS: i64 = 10_000_000;
/// From the handshake's end to the first write.
const WAKE_UP_NS: i64 = 1000;
/// When the request is at the server: the SYN-ACK alone is on a wire.
const ASKED_NS: i64 = 3 * HALF_RTT_NS + wire_ns(74) + WAKE_UP_NS;
/// The first full segment at the client, after the ACK of the request.
const FIRST_BYTE_NS: i64 = ASKED_NS + wire_ns(66) + wire_ns(1514) + HALF_RTT_NS;

fn object(name: &str, after: &[u32], response_bytes: u64) -> Object {
    Object {
        name: name.into(),
        group: String::new(),
        origin: 0,
        after: after.to_vec(),
        delay: Span::ZERO,
        exchange: Exchange { request_bytes: REQUEST_BYTES, response_bytes },
        service: Span::ZERO,
    }
}

/// A page from a0 to b0, whose link to the client is 10 Mbit/s.
fn page(connections: usize, protocol: Protocol, objects: Vec<Object>, forward: Pipe) -> Scenario {
    let mut scenario = dumbbell(Span::from_ms(20_000), 1, forward, delay(Span::from_ms(10)));
    let names: Vec<String> = (0..connections).map(|i| format!("c{i}")).collect();
    for name in &names {
        scenario.flows.push(tcp(name, 0, Algorithm::Cubic, Source::Session));
    }
    let origin = Origin { connections: names, protocol, lookup: Span::ZERO, setup: Vec::new() };
    scenario.sessions.push(Session {
        name: "page".into(),
        start: Span::ZERO,
        start_jitter: Span::ZERO,
        origins: vec![origin],
        objects,
    });
    let to = scenario.duration;
    scenario.sampling.packets = Some(Stretch { from: Span::ZERO, to });
    scenario
}

fn ten_mbit() -> Pipe {
    serial(mbps(10), Span::from_ms(10), 1000)
}

/// A column of the object of this name.
#[track_caller]
fn of(run: &Run, name: &str, column: &str) -> i64 {
    let row = run.texts("transfers", "object").iter().position(|object| object == name);
    run.ints("transfers", column)[row.unwrap_or_else(|| panic!("{name} has not arrived"))]
}

#[test]
fn an_object_takes_two_round_trips_and_its_time_on_the_wire() {
    let objects = vec![object("index", &[], 10 * SEGMENT_BYTES)];
    let run = run(&page(1, Protocol::Http1, objects, ten_mbit()));
    assert_eq!(of(&run, "index", "start_ns"), 0);
    assert_eq!(of(&run, "index", "request_ns"), 2 * HALF_RTT_NS + wire_ns(74) + WAKE_UP_NS);
    assert_eq!(of(&run, "index", "first_byte_ns"), FIRST_BYTE_NS);
    assert_eq!(of(&run, "index", "end_ns"), FIRST_BYTE_NS + 9 * wire_ns(1514));
    assert_eq!(of(&run, "index", "transfer_bytes"), 10 * SEGMENT_BYTES as i64);
    assert_eq!(run.flow("c0", "delivered_bytes"), 10 * SEGMENT_BYTES as i64);
    assert_eq!(run.flow("c0", "retransmitted_packets"), 0);
}

#[test]
fn the_next_object_over_the_same_connection_needs_no_handshake() {
    let objects = vec![object("index", &[], 1000), object("image", &[0], 1000)];
    let run = run(&page(6, Protocol::Http1, objects, ten_mbit()));
    let first_end = of(&run, "index", "end_ns");
    assert_eq!(of(&run, "image", "request_ns"), first_end);
    // The server answers what it has just got: its ACK rides on the answer.
    let answer = wire_ns(1066);
    assert_eq!(of(&run, "image", "end_ns"), first_end + 2 * HALF_RTT_NS + answer);
    assert_eq!(run.flow("c1", "start_ns"), -1);
    assert_eq!(run.ints("transfers", "end_ns").iter().filter(|&&end| end >= 0).count(), 2);
}

#[test]
fn more_connections_open_while_objects_wait() {
    let mut objects = vec![object("index", &[], 1000)];
    objects.extend((0..4).map(|i| object(&format!("image{i}"), &[0], 1000)));
    let run = run(&page(3, Protocol::Http1, objects, ten_mbit()));
    let first_end = of(&run, "index", "end_ns");
    // One goes over the connection there is, which is free again before the others are open.
    assert_eq!(of(&run, "image0", "request_ns"), first_end);
    assert_eq!(of(&run, "image1", "request_ns"), of(&run, "image0", "end_ns"));
    // The others wait for a handshake: behind image0 on the wire, one behind the other.
    let opened = first_end + 2 * HALF_RTT_NS + WAKE_UP_NS + wire_ns(1066) + wire_ns(74);
    assert_eq!(of(&run, "image2", "request_ns"), opened);
    assert_eq!(of(&run, "image3", "request_ns"), opened + wire_ns(74));
    assert_eq!(run.ints("transfers", "end_ns").iter().filter(|&&end| end >= 0).count(), 5);
}

#[test]
fn answers_share_a_connection_of_http_2() {
    let bytes = 1_000_000;
    let objects = vec![object("a", &[], bytes), object("b", &[], bytes)];
    let shared = run(&page(1, Protocol::Http2, objects.clone(), ten_mbit()));
    let in_turn = run(&page(1, Protocol::Http1, objects, ten_mbit()));
    // By turns they end within what was written before the second was asked for: the first send
    // buffer; in turn a round trip and the whole second apart.
    let apart = |run: &Run| of(run, "b", "end_ns") - of(run, "a", "end_ns");
    assert!(apart(&shared) <= wire_ns(100_000), "{}", apart(&shared));
    assert!(apart(&in_turn) > 2 * HALF_RTT_NS + wire_ns(1_000_000), "{}", apart(&in_turn));
    assert_eq!(of(&shared, "b", "request_ns"), of(&shared, "a", "request_ns"));
    assert_eq!(of(&in_turn, "b", "request_ns"), of(&in_turn, "a", "end_ns"));
    // Headers of frames: a million bytes are 62.
    assert_eq!(shared.flow("c0", "delivered_bytes"), 2 * (1_000_000 + 62 * 9));
}

#[test]
fn tls_and_the_name_cost_their_round_trips() {
    let objects = vec![object("index", &[], 1000)];
    let plain = page(1, Protocol::Http1, objects, ten_mbit());
    let mut secure = plain.clone();
    let origin = &mut secure.sessions[0].origins[0];
    origin.lookup = Span::from_ms(30);
    origin.setup = vec![Exchange { request_bytes: 517, response_bytes: 1000 }; 2];
    let extra = of(&run(&secure), "index", "end_ns") - of(&run(&plain), "index", "end_ns");
    let exchanges = 2 * (2 * HALF_RTT_NS + wire_ns(1066));
    assert_eq!(extra, 30_000_000 + exchanges);
}

#[test]
fn a_lost_answer_and_a_lost_request_are_sent_again() {
    let objects = vec![object("index", &[], 3 * SEGMENT_BYTES)];
    let mut lossy = page(1, Protocol::Http1, objects, scripted(ten_mbit(), "c0", [2]));
    let answered = run(&lossy);
    assert_eq!(answered.flow("c0", "retransmitted_packets"), 1);
    assert_eq!(of(&answered, "index", "transfer_bytes"), 3 * SEGMENT_BYTES as i64);
    lossy.links[0].forward = ten_mbit();
    lossy.links[0].backward = scripted(delay(Span::from_ms(10)), "c0", [1]);
    let asked = run(&lossy);
    // The server's data never had to be sent again; the client's request was, by its own timer.
    assert_eq!(asked.flow("c0", "retransmitted_packets"), 0);
    assert!(of(&asked, "index", "end_ns") > of(&answered, "index", "request_ns") + 60_000_000);
    assert_eq!(asked.flow("c0", "delivered_bytes"), 3 * SEGMENT_BYTES as i64);
}

#[test]
fn connections_close_when_the_page_is_there() {
    let objects = vec![object("index", &[], 20 * SEGMENT_BYTES)];
    let run = run(&page(1, Protocol::Http1, objects, ten_mbit()));
    let end = of(&run, "index", "end_ns");
    // The client's FIN there, the server's back, the last ACK there.
    let closed = run.flow("c0", "end_ns");
    assert_eq!(closed, end + 3 * HALF_RTT_NS + wire_ns(66));
}

#[test]
fn a_pause_of_a_person_and_of_the_server_are_waited_for() {
    let mut objects = vec![object("index", &[], 1000), object("next", &[0], 1000)];
    objects[1].delay = Span::from_ms(500);
    objects[0].service = Span::from_ms(70);
    let run = run(&page(1, Protocol::Http1, objects, ten_mbit()));
    let plain = FIRST_BYTE_NS - wire_ns(1514) + wire_ns(1066);
    assert_eq!(of(&run, "index", "end_ns"), plain + 70_000_000 - wire_ns(66));
    assert_eq!(of(&run, "next", "start_ns"), of(&run, "index", "end_ns") + 500_000_000);
}
