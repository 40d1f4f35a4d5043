//! Random networks and impairments: no packet is lost track of, no check of the simulator fails,
//! and no result leaves the bounds that physics sets.

mod drawn;
mod lab;

use drawn::{in_classes, leaf, rate, scenario};
use dumbbell_model::catalogue::discipline;
use dumbbell_model::catalogue::parameter::{Unit, Value};
use dumbbell_model::queue::Queue;
use dumbbell_model::scenario::{Algorithm, LinkState, Pipe, Scenario, Shaper, Stretch, Traffic};
use dumbbell_model::{Rate, Span};
use lab::{run_seed, Run};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::{BTreeMap, BTreeSet};

/// Reasons of drops with a column of their own.
const REASONS: [&str; 7] =
    ["overflow", "random", "scripted", "policed", "corrupted", "aqm", "link_down"];

/// Bits per second that a pipe can carry at most in any second, and bytes it may save up.
fn capacity(pipe: &Pipe) -> Option<(u64, u64)> {
    let changed = pipe.changes.iter().filter_map(|change| change.rate_bps);
    let fastest = |rate: Rate| changed.map(Rate::as_bps).max().unwrap_or(0).max(rate.as_bps());
    if let Queue::Cake(cake) = &pipe.queue {
        if cake.bandwidth > Rate::default() {
            return Some((cake.bandwidth.as_bps(), 2 * 1514));
        }
    }
    if let Queue::Htb(htb) = &pipe.queue {
        // A class may go into debt by a frame, and the parent lends while it has none itself.
        return Some((htb.rate_bps.as_bps(), 2 * 1600 + 4 * 1514));
    }
    match pipe.shaper {
        // A wire below a discipline is a bucket for one frame.
        Shaper::Serial { rate_bps } if pipe.queue.is_discipline() => {
            Some((fastest(rate_bps), u64::from(pipe.framing.wire_bytes(1514))))
        }
        Shaper::Serial { rate_bps } => Some((fastest(rate_bps), 0)),
        Shaper::Tbf { rate_bps, burst_bytes, .. } => Some((fastest(rate_bps), burst_bytes)),
        Shaper::None | Shaper::Trace { .. } => None,
    }
}

/// Least one-way time of any path.
fn least_delay(scenario: &Scenario, forward: bool) -> u64 {
    let paths = scenario.links.iter().filter(|link| link.name.starts_with('p'));
    let delays = paths.map(|link| {
        let pipe = if forward { &link.forward } else { &link.backward };
        let netem = match &pipe.queue {
            // Packets may be early, or draw less than the mean.
            Queue::Netem { words: Some(_), .. } => return 0,
            Queue::Netem { delay, .. } => delay.as_ns(),
            _ => 0,
        };
        let first = match &pipe.queue {
            Queue::Netem { .. } => netem + pipe.delay.as_ns(),
            _ => pipe.delay.as_ns(),
        };
        // A change replaces netem's delay where there is netem, else the pipe's.
        let fixed = first - if netem > 0 { netem } else { first };
        let later = pipe.changes.iter().filter_map(|c| c.delay).map(|d| d.as_ns() + fixed);
        later.min().unwrap_or(first).min(first)
    });
    delays.min().unwrap_or(0)
}

/// Most packets that a queue may hold, if it has a limit in packets.
fn limit_packets(queue: &Queue) -> Option<u64> {
    match queue {
        // Each of three bands has the limit. Eight packets that found no flow waiting are in none, nor is the
        // one that a shaper holds (`tests/linux/test_fq_limits.py`).
        Queue::Fq(fq) if fq.priority_bands => Some(3 * fq.limit_packets + 8 + 1),
        Queue::DropTail { limit_packets, .. } => *limit_packets,
        // The kernel asks for the limit before it doubles a packet (`netem_enqueue`).
        Queue::Netem { limit_packets, words: Some(words), .. }
            if words.duplicate.probability > 0.0 =>
        {
            Some(limit_packets + 1)
        }
        Queue::Netem { limit_packets, .. } => Some(*limit_packets),
        discipline => discipline.parameters().into_iter().find_map(|(one, value)| match value {
            Value::Whole(limit) if one.name == "limit" && one.unit == Unit::Packets => Some(limit),
            _ => None,
        }),
    }
}

/// True if a link, or netem at it, doubles packets.
fn doubles(pipe: &Pipe) -> bool {
    let by_netem = match &pipe.queue {
        Queue::Netem { words: Some(words), .. } => words.duplicate.probability > 0.0,
        _ => false,
    };
    by_netem || pipe.duplication > 0.0
}

/// A discipline that no test draws is not tested: names those of the catalogue that are missing.
#[test]
fn every_discipline_is_drawn() {
    let mut runner = TestRunner::deterministic();
    let strategy = (leaf(), leaf(), 0..9u32, rate()).prop_map(in_classes);
    let mut drawn = BTreeSet::new();
    for _ in 0..400 {
        let Ok(tree) = strategy.new_tree(&mut runner) else { panic!("a queue") };
        drawn.extend(tree.current().entry().map(|entry| entry.key));
    }
    let missing: Vec<_> = discipline::ENTRIES
        .iter()
        .map(|entry| entry.key)
        .filter(|key| *key != "drop_tail" && !drawn.contains(key))
        .collect();
    assert!(missing.is_empty(), "{missing:?}: add them to `leaf`");
}

fn check_pipes(scenario: &Scenario, run: &Run) {
    for link in &scenario.links {
        for (direction, pipe) in [("forward", &link.forward), ("backward", &link.backward)] {
            let name = format!("{}/{direction}", link.name);
            let of = |column: &str| run.pipe(&name, column);
            let dropped: i64 =
                REASONS.iter().map(|reason| of(&format!("dropped_{reason}_packets"))).sum();
            let rest = of("left_packets") + dropped + of("remaining_packets");
            assert_eq!(of("arrived_packets"), rest, "{name}");
            assert!(of("left_bytes") <= of("arrived_bytes"), "{name}");
            if let Some((bps, saved)) = capacity(pipe) {
                let bits = u128::from(bps) * u128::from(scenario.duration.as_ns()) / 1_000_000_000;
                // Where the line does not send all of the Ethernet header, frames are longer there.
                let spared = i64::from(-pipe.framing.overhead_bytes.min(0));
                // A link that comes up has a full bucket.
                let ups = pipe.changes.iter().filter(|c| c.state == Some(LinkState::Up)).count();
                let saved = saved as i64 * (1 + ups as i64);
                let most = bits as i64 / 8 + saved + 1 + spared * of("left_packets");
                assert!(of("left_bytes") <= most, "{name}: {} of {most}", of("left_bytes"));
            }
            let limit = limit_packets(&pipe.queue);
            if let Some(limit) = limit {
                assert!(of("queue_max_packets") <= limit as i64, "{name}");
            }
        }
    }
}

fn check_flows(scenario: &Scenario, run: &Run) {
    let duplicated =
        scenario.links.iter().any(|link| doubles(&link.forward) || doubles(&link.backward));
    let round_trip = (least_delay(scenario, true) + least_delay(scenario, false)) as i64;
    for flow in &scenario.flows {
        let of = |column: &str| run.flow(&flow.name, column);
        if !duplicated {
            assert!(of("received_packets") <= of("sent_packets"), "{}", flow.name);
            assert!(of("received_bytes") <= of("sent_bytes"), "{}", flow.name);
            assert!(of("delivered_bytes") <= of("sent_bytes"), "{}", flow.name);
        }
        let measured = if flow.name == "tcp" { "tap_rtt_min_ns" } else { "rtt_min_ns" };
        let least = of(measured);
        assert!(least < 0 || least >= round_trip, "{}: {least} {round_trip}", flow.name);
        // A FIN alone is no data packet, but may be retransmitted.
        assert!(of("retransmitted_packets") <= of("sent_packets"));
        assert!(of("spurious_retransmitted_packets") <= of("retransmitted_packets"));
    }
    let tcp = |column: &str| run.flow("tcp", column);
    // TCP measures in microseconds, after retransmissions in its timestamps' milliseconds. BBR's
    // probes and retransmissions bear the time that pacing plans, which lies ahead.
    let unpaced = |traffic: &Traffic| matches!(traffic, Traffic::Tcp(tcp) if tcp.congestion_control != Algorithm::Bbr && !tcp.fq);
    let unpaced = scenario.flows.iter().any(|flow| unpaced(&flow.traffic));
    let least = tcp("rtt_min_ns");
    assert!(!unpaced || least < 0 || least + 1_000_000 >= round_trip, "{least} {round_trip}");
    assert!(tcp("delivered_bytes") <= tcp("sent_bytes"), "duplicates deliver nothing");
    let kinds = ["fast", "timeout", "probe"];
    let sum: i64 = kinds.iter().map(|kind| tcp(&format!("{kind}_retransmitted_packets"))).sum();
    assert_eq!(sum, tcp("retransmitted_packets"));
    for rows in run.samples("tcp", "delivered_bytes").windows(2) {
        assert!(rows[0].1 <= rows[1].1, "what is delivered stays delivered");
    }
    let acked = run.samples("tcp", "acked_bytes");
    for (acked, delivered) in acked.iter().zip(run.samples("tcp", "delivered_bytes")) {
        assert!(acked.1 <= delivered.1, "acknowledged before it arrived: {acked:?} {delivered:?}");
    }
}

/// Each hop is one that a pipe counted, and each packet goes on where and when it had arrived.
fn check_hops(scenario: &Scenario, run: &Run) {
    let times = ["offered_ns", "leaves_ns", "ended_ns"].map(|column| run.ints("hops", column));
    let [pipes, dropped] = ["pipe", "dropped"].map(|column| run.texts("hops", column));
    let mut counted: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    for (row, (pipe, reason)) in pipes.iter().zip(dropped).enumerate() {
        let [offered, left, ended] = times.map(|column| column[row]);
        assert!(left < 0 || offered <= left, "{pipe}: left before it came");
        assert!(ended < 0 || left.max(offered) <= ended, "{pipe}: ended before it left");
        let fate = match reason.as_str() {
            "" if ended < 0 => "remaining",
            "" => {
                assert!(left >= 0, "{pipe}: arrived and never left");
                "left"
            }
            reason => {
                assert!(ended >= 0, "{pipe}: dropped at no time");
                reason
            }
        };
        *counted.entry((pipe, fate)).or_default() += 1;
    }
    // ARP's packets are in the pipes' counts only.
    if scenario.neighbour_discovery.is_none() {
        for pipe in run.texts("pipes", "pipe") {
            let hops = |fate: &str| counted.get(&(pipe, fate)).copied().unwrap_or(0);
            for fate in ["left", "remaining"] {
                assert_eq!(hops(fate), run.pipe(pipe, &format!("{fate}_packets")), "{pipe} {fate}");
            }
            for reason in REASONS {
                let dropped = run.pipe(pipe, &format!("dropped_{reason}_packets"));
                let filtered = if reason == "aqm" { hops("filtered") } else { 0 };
                assert_eq!(hops(reason) + filtered, dropped, "{pipe} {reason}");
            }
        }
    }
    check_ways(scenario, run);
}

/// Hops of a packet join, where it was not copied: the next begins where and when the last ended.
fn check_ways(scenario: &Scenario, run: &Run) {
    let links = scenario.links.iter();
    if links.flat_map(|l| [&l.forward, &l.backward]).any(doubles) {
        return;
    }
    let [flows, directions, pipes] =
        ["flow", "direction", "pipe"].map(|column| run.texts("hops", column));
    let numbers = run.ints("hops", "packet_number");
    let [offered, ended] = ["offered_ns", "ended_ns"].map(|column| run.ints("hops", column));
    let mut last: BTreeMap<(&str, &str, i64), (i64, &str)> = BTreeMap::new();
    for row in 0..numbers.len() {
        let Some((name, direction)) = pipes[row].split_once('/') else { panic!("{}", pipes[row]) };
        let Some(link) = scenario.links.iter().find(|link| link.name == name) else { panic!() };
        let [from, to] = match direction {
            "forward" => [&link.a, &link.b],
            _ => [&link.b, &link.a],
        };
        let packet = (flows[row].as_str(), directions[row].as_str(), numbers[row]);
        if let Some((before, at)) = last.insert(packet, (ended[row], to)) {
            assert!(before >= 0 && before <= offered[row], "{packet:?} went on before it arrived");
            assert_eq!(at, from, "{packet:?} went on from elsewhere");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..<_>::default() })]

    #[test]
    fn nothing_is_lost_track_of_and_bounds_hold(scenario in scenario(), seed in 0..1000u64) {
        prop_assert_eq!(scenario.validate(), Ok(()));
        let mut looked_at = scenario.clone();
        // The last instant belongs to the run.
        let to = scenario.duration + Span::from_ns(1);
        looked_at.sampling.hops = Some(Stretch { from: Span::ZERO, to });
        let run = run_seed(&looked_at, seed);
        check_pipes(&scenario, &run);
        check_flows(&scenario, &run);
        check_hops(&scenario, &run);
    }
}
