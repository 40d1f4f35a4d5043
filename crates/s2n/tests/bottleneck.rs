//! Connections over a bottleneck of 20 Mbit/s with a delay of 20 ms and a bounded queue.

use dumbbell_s2n::S2n;
use dumbbell_stack::line::{self, Faults, Seen, DELAY, DROPTAIL, LARGEST_DATAGRAM_BYTES, QUEUE};
use dumbbell_stack::{Log, Maker, Side, Spec, Stack};
use std::time::Duration;

const CONTROLS: [&str; 2] = ["cubic", "bbr"];

fn spec(congestion_control: &str) -> Spec {
    Spec {
        congestion_control: congestion_control.to_owned(),
        streams: 3,
        bytes: None,
        datagram_bytes: LARGEST_DATAGRAM_BYTES as u16,
        seed: [7; 32],
        encrypts: false,
        secrets: Log::default(),
        logs: None,
    }
}

fn made(spec: &Spec) -> Box<dyn Stack> {
    match S2n.make(spec) {
        Ok(stack) => stack,
        Err(why) => panic!("{why}"),
    }
}

fn run(spec: &Spec, faults: Faults, stop: Option<Duration>, end: Duration) -> Seen {
    line::run(made(spec), faults, stop, end)
}

const TEN: Duration = Duration::from_secs(10);

#[test]
fn every_congestion_control_fills_the_line_and_repeats_itself() {
    for control in CONTROLS {
        let seen = run(&spec(control), DROPTAIL, None, TEN);
        let rate = seen.state.delivered_bytes as f64 * 8.0 / 10.0;
        assert!((17e6..20e6).contains(&rate), "{control}: {rate}");
        assert!(seen.dropped > 0 && seen.state.lost_packets > Some(0), "{control}");
        // Several packets are lost for each reduction of the window.
        assert!(seen.state.congestion_events > Some(0), "{control}");
        assert!(seen.state.congestion_events < seen.state.lost_packets, "{control}");
        assert!(seen.state.rtt_min >= Some(2 * DELAY), "{control}");
        assert!(seen.state.srtt >= seen.state.rtt_min, "{control}");
        assert!(seen.state.cwnd_bytes > Some(50_000), "{control}");
        assert_eq!(seen.state.lost, None, "{control}");
        assert_eq!(run(&spec(control), DROPTAIL, None, TEN).hash, seen.hash, "{control}");
        let other = Spec { seed: [8; 32], ..spec(control) };
        assert_ne!(run(&other, DROPTAIL, None, TEN).hash, seen.hash, "{control}");
    }
}

#[test]
fn the_handshake_takes_a_round_trip_and_finite_data_arrives_whole() {
    for control in CONTROLS {
        for bytes in [1, 2, 3, 1_000_000] {
            let state =
                run(&Spec { bytes: Some(bytes), ..spec(control) }, DROPTAIL, None, TEN).state;
            assert_eq!(state.delivered_bytes, bytes);
            assert!(state.established >= Some(2 * DELAY) && state.established < Some(3 * DELAY));
            assert!(state.received >= Some(3 * DELAY), "{:?}", state.received);
            assert!(state.acknowledged >= state.received.map(|at| at + DELAY));
            assert_eq!(state.received, state.last_delivery);
            assert_eq!(state.in_flight_bytes, Some(0));
        }
    }
}

#[test]
fn a_small_queue_drops_and_everything_is_delivered() {
    for control in CONTROLS {
        let bytes = Some(1_000_000);
        let faults = Faults { drops: Duration::from_millis(6), ..DROPTAIL };
        let seen = run(&Spec { bytes, ..spec(control) }, faults, None, TEN);
        assert!(seen.dropped > 0 && seen.state.lost_packets > Some(0), "{control}");
        assert_eq!(Some(seen.state.delivered_bytes), bytes, "{control}");
        assert!(seen.state.acknowledged > seen.state.received, "{control}");
    }
}

#[test]
fn losses_either_way_break_neither_handshake_nor_transfer() {
    for control in CONTROLS {
        for loses_one_of in 3..15 {
            let spec =
                Spec { bytes: Some(200_000), seed: [loses_one_of as u8; 32], ..spec(control) };
            let faults = Faults { loses_one_of, ..DROPTAIL };
            let Seen { state, dropped, .. } = run(&spec, faults, None, 10 * TEN);
            assert!(dropped > 10, "{control}, one of {loses_one_of}: {dropped}");
            assert_eq!(state.delivered_bytes, 200_000, "{control}, one of {loses_one_of}");
            assert!(state.acknowledged.is_some(), "{control}, one of {loses_one_of}");
        }
    }
}

#[test]
fn marks_reduce_the_window_without_a_loss() {
    for control in CONTROLS {
        let faults = Faults { drops: Duration::MAX, marks: Duration::from_millis(10), ..DROPTAIL };
        let seen = run(&spec(control), faults, None, TEN);
        assert!(seen.state.congestion_events > Some(1), "{control}");
        assert_eq!(seen.state.lost_packets, Some(0), "{control}");
        assert!(seen.state.srtt < Some(Duration::from_millis(80)), "{control}");
    }
}

#[test]
fn a_connection_that_has_nothing_to_say_ends_after_its_idle_timeout() {
    let finite = Spec { bytes: Some(1000), ..spec("cubic") };
    let state = run(&finite, DROPTAIL, None, 10 * TEN).state;
    assert!(state.lost.is_some_and(|why| why.contains("idle timer")));
    assert_eq!(state.delivered_bytes, 1000);
}

#[test]
fn path_mtu_discovery_keeps_to_the_limit() {
    for (limit, found) in [(1200, 1200..=1200), (1400, 1380..=1400), (1472, 1452..=1472)] {
        let spec = Spec { datagram_bytes: limit, ..spec("cubic") };
        let state = run(&spec, DROPTAIL, None, TEN).state;
        assert!(state.datagram_bytes.is_some_and(|bytes| found.contains(&bytes)), "{limit}");
    }
}

#[test]
fn nothing_is_sent_for_the_first_time_after_the_stop() {
    let stop = Duration::from_secs(2);
    let seen = run(&spec("cubic"), DROPTAIL, Some(stop), TEN);
    // What was in the queue and on the line arrives.
    assert!(seen.state.last_delivery > Some(stop));
    assert!(seen.state.last_delivery < Some(stop + QUEUE + 2 * DELAY));
    assert_eq!(seen.state.acknowledged, None);
}

#[test]
fn what_s2n_cannot_do_is_said() {
    let refused = |spec: Spec| S2n.make(&spec).err().unwrap_or_default();
    assert_eq!(refused(spec("new_reno")), "s2n has no new_reno; allowed: cubic, bbr");
    assert!(refused(Spec { datagram_bytes: 1000, ..spec("cubic") }).contains("RFC 9000 §14"));
    assert!(refused(Spec { streams: 0, ..spec("cubic") }).contains("allowed: 1 to 100"));
    assert!(refused(Spec { streams: 101, ..spec("cubic") }).contains("allowed: 1 to 100"));
}

#[test]
fn a_wake_before_the_deadline_has_no_effect() {
    let mut stack = made(&spec("cubic"));
    let mut out = Vec::new();
    stack.open(Duration::ZERO);
    while stack.transmit(Duration::ZERO, Side::Client, &mut out).is_some() {}
    let Some(due) = stack.deadline(Side::Client) else { panic!("no timer of the handshake") };
    let early = due - Duration::from_nanos(1);
    stack.wake(early, Side::Client);
    assert_eq!(stack.transmit(early, Side::Client, &mut out), None);
    assert_eq!(stack.deadline(Side::Client), Some(due));
    stack.wake(due, Side::Client);
    assert!(stack.deadline(Side::Client) > Some(due));
    assert!(stack.transmit(due, Side::Client, &mut out).is_some());
}

#[test]
fn foreign_datagrams_break_nothing() {
    let mut stack = made(&spec("cubic"));
    stack.open(Duration::ZERO);
    for (number, length) in (0..2000_u32).map(|number| (number, number as usize % 1500)) {
        let bytes: Vec<u8> =
            (0..length).map(|at| (number.wrapping_mul(2_654_435_761) >> (at % 24)) as u8).collect();
        stack.receive(Duration::from_millis(1), Side::BOTH[number as usize % 2], 0, &bytes);
        let mut out = Vec::new();
        while stack.transmit(Duration::from_millis(1), Side::Server, &mut out).is_some() {}
    }
}
