//! Packets kept at taps in a stretch of time.

mod lab;

use dumbbell_model::scenario::{Algorithm, Scenario, Stretch, Tap};
use dumbbell_model::Span;
use lab::{delay, one_flow, run, scripted, segments, Run};
use std::collections::BTreeMap;

/// Ten segments over 10 ms each way, without the second; taps at both hosts.
fn scenario(from_ms: u64, to_ms: u64) -> Scenario {
    let mid = scripted(delay(Span::from_ms(10)), "f", [2]);
    let mut scenario = one_flow(2000, Algorithm::Reno, segments(10), mid);
    scenario.taps.push(Tap { name: "far".into(), node: "b0".into(), link: "b0".into() });
    scenario.sampling.packets =
        Some(Stretch { from: Span::from_ms(from_ms), to: Span::from_ms(to_ms) });
    scenario
}

/// Times at a tap by direction and number.
fn seen(run: &Run, tap: &str) -> BTreeMap<(String, i64), i64> {
    let directions = run.texts("packets", "direction").iter();
    let numbers = run.ints("packets", "packet_number").iter().zip(run.ints("packets", "time_ns"));
    let keys = directions.zip(numbers).zip(run.texts("packets", "tap"));
    let here = keys.filter(|(_, at)| *at == tap);
    here.map(|((direction, (number, time)), _)| ((direction.clone(), *number), *time)).collect()
}

#[test]
fn a_packet_has_one_number_at_all_taps_and_takes_the_propagation_delay() {
    let run = run(&scenario(0, 2000));
    let (near, far) = (seen(&run, "tap"), seen(&run, "far"));
    let lost = near.len() - far.len();
    assert_eq!(lost, 1, "the second segment is dropped between the taps");
    for (packet, at) in &far {
        let took = (at - near[packet]) * if packet.0 == "out" { 1 } else { -1 };
        assert_eq!(took, 10_000_000, "{packet:?}");
    }
}

#[test]
fn sack_blocks_are_told_as_in_the_header() {
    let run = run(&scenario(0, 2000));
    let acks: Vec<_> =
        run.texts("packets", "sack_ranges_bytes").iter().filter(|s| !s.is_empty()).collect();
    assert_eq!(acks[0], "2896-4344", "segment 3 arrives after 1");
    let flags = run.texts("packets", "tcp_flags").iter().zip(run.ints("packets", "seq_bytes"));
    let fins: Vec<_> =
        flags.filter(|(flags, _)| flags.contains("fin")).map(|(_, seq)| *seq).collect();
    assert_eq!(fins[0], 10 * 1448, "behind the last segment, which left before the end was known");
}

#[test]
fn the_stretch_begins_with_its_first_and_ends_before_its_last_instant() {
    // The SYN leaves at 0, its answer arrives at 20 ms.
    let whole = run(&scenario(0, 20));
    assert_eq!(whole.ints("packets", "time_ns"), [0, 10_000_000, 10_000_000]);
    let later = run(&scenario(10, 20));
    assert_eq!(later.ints("packets", "time_ns"), [10_000_000, 10_000_000]);
}

#[test]
fn keeping_packets_changes_nothing_else() {
    let kept = run(&scenario(0, 2000));
    let mut without = scenario(0, 2000);
    without.sampling.packets = None;
    let bare = run(&without);
    assert!(bare.ints("packets", "time_ns").is_empty());
    for column in ["delivered_bytes", "retransmitted_packets", "end_ns", "tap_sack_blocks"] {
        assert_eq!(kept.flow("f", column), bare.flow("f", column), "{column}");
    }
}
