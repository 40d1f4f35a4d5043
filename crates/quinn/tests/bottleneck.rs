//! Connections over a bottleneck of 20 Mbit/s with a delay of 20 ms and a queue of 60 kB.

use dumbbell_quinn::Quinn;
use dumbbell_stack::line::{self, Seen, DELAY, DROPTAIL, QUEUE};
use dumbbell_stack::{Log, Maker, Side, Spec};
use std::time::Duration;

fn spec(congestion_control: &str) -> Spec {
    Spec {
        congestion_control: congestion_control.to_owned(),
        streams: 3,
        bytes: None,
        datagram_bytes: 1472,
        seed: [7; 32],
        encrypts: false,
        secrets: Log::default(),
        logs: None,
    }
}

fn run(spec: &Spec, stop: Option<Duration>, end: Duration) -> Seen {
    match Quinn.make(spec) {
        Ok(stack) => line::run(stack, DROPTAIL, stop, end),
        Err(why) => panic!("{why}"),
    }
}

const TEN: Duration = Duration::from_secs(10);

#[test]
fn every_congestion_control_fills_the_line_and_repeats_itself() {
    for control in ["new_reno", "cubic", "bbr"] {
        let seen = run(&spec(control), None, TEN);
        let rate = seen.state.delivered_bytes as f64 * 8.0 / 10.0;
        // 20 Mbit/s carry at most 1452 of 1452 bytes of a datagram here.
        assert!((17e6..20e6).contains(&rate), "{control}: {rate}");
        assert!(seen.dropped > 0 && seen.state.lost_packets > Some(0), "{control}");
        assert!(seen.state.rtt_min >= Some(2 * DELAY), "{control}");
        assert_eq!(seen.state.datagram_bytes, Some(1452), "{control}");
        assert_eq!(seen.state.lost, None, "{control}");
        assert_eq!(run(&spec(control), None, TEN).hash, seen.hash, "{control}");
        let other = Spec { seed: [8; 32], ..spec(control) };
        assert_ne!(run(&other, None, TEN).hash, seen.hash, "{control}");
    }
}

#[test]
fn the_handshake_takes_a_round_trip_and_finite_data_arrives_whole() {
    for bytes in [1, 2, 3, 1_000_000] {
        let seen = run(&Spec { bytes: Some(bytes), ..spec("cubic") }, None, TEN);
        let state = seen.state;
        assert_eq!(state.delivered_bytes, bytes);
        assert!(state.established >= Some(2 * DELAY) && state.established < Some(3 * DELAY));
        assert!(state.received >= Some(3 * DELAY), "{:?}", state.received);
        assert!(state.acknowledged >= state.received.map(|at| at + DELAY));
        assert_eq!(state.received, state.last_delivery);
    }
}

#[test]
fn encryption_changes_bytes_alone() {
    for control in ["new_reno", "cubic", "bbr"] {
        let plain = run(&spec(control), None, TEN);
        let encrypted = Spec { encrypts: true, ..spec(control) };
        let seen = run(&encrypted, None, TEN);
        assert_eq!(seen.datagrams, plain.datagrams, "{control}");
        assert_eq!(seen.state, plain.state, "{control}");
        assert_ne!(seen.hash, plain.hash, "{control}");
        assert_eq!(run(&encrypted, None, TEN).hash, seen.hash, "{control}");
    }
}

#[test]
fn nothing_is_sent_for_the_first_time_after_the_stop() {
    let stop = Duration::from_secs(2);
    let seen = run(&spec("cubic"), Some(stop), TEN);
    // What was in the queue and on the line arrives.
    assert!(seen.state.last_delivery < Some(stop + QUEUE + 2 * DELAY));
    assert_eq!(seen.state.acknowledged, None);
}

#[test]
fn what_quinn_cannot_do_is_said() {
    let refused = |spec: Spec| Quinn.make(&spec).err().unwrap_or_default();
    assert_eq!(refused(spec("vegas")), "quinn has no vegas; allowed: new_reno, cubic, bbr");
    assert!(refused(Spec { datagram_bytes: 1000, ..spec("cubic") }).contains("RFC 9000 §14"));
    assert!(refused(Spec { streams: 0, ..spec("cubic") }).contains("allowed: 1 to 100"));
}

#[test]
fn foreign_datagrams_break_nothing() {
    let Ok(mut stack) = Quinn.make(&spec("cubic")) else { panic!("made") };
    stack.open(Duration::ZERO);
    for (number, length) in (0..2000_u32).map(|number| (number, number as usize % 1500)) {
        let bytes: Vec<u8> =
            (0..length).map(|at| (number.wrapping_mul(2_654_435_761) >> (at % 24)) as u8).collect();
        stack.receive(Duration::from_millis(1), Side::BOTH[number as usize % 2], 0, &bytes);
        let mut out = Vec::new();
        while stack.transmit(Duration::from_millis(1), Side::Server, &mut out).is_some() {}
    }
}
