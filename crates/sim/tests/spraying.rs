//! What spraying over two paths and lost retransmissions show: offload, ARP, PAWS, DSACK, RACK.
#![allow(missing_docs)]

mod common;

use common::{drop_segments, dumbbell, hosts, ints, mbit, ms, of, run, sprayed, traffic, transfer};
use dumbbell_model::scenario::{Algorithm, Loss, NeighbourDiscovery, Scenario};
use dumbbell_model::{Span, TcpOptions};

const PAYLOAD: u64 = 1448;

/// The scenario with the hosts' options changed.
fn with(scenario: &Scenario, change: impl Fn(&mut TcpOptions)) -> Scenario {
    let mut changed = scenario.clone();
    hosts(&mut changed, change);
    changed
}

fn lossy(algorithm: Algorithm) -> Scenario {
    let mut scenario = sprayed(algorithm);
    scenario.duration = Span::from_s(20);
    for link in scenario.links.iter_mut().filter(|l| l.b == "r2") {
        link.forward.loss = Loss::Independent { probability: 0.02 };
    }
    scenario
}

#[test]
fn rack_finds_a_lost_retransmission_without_a_timeout() {
    let mut scenario = dumbbell(mbit(10), 200);
    transfer(&mut scenario, 400 * PAYLOAD);
    // Segment 60 and its retransmission, which is the data packet some 60 later.
    for again in 100..180 {
        drop_segments(&mut scenario, &[60, again]);
        let rack = run(&scenario, 1);
        if of(&rack, "retransmitted_packets") != 2 || of(&rack, "dropped_packets") != 2 {
            continue;
        }
        if ints(&rack, "drops", "seq_bytes") != [59 * PAYLOAD as i64; 2] {
            continue;
        }
        let without = run(&with(&scenario, |tcp| tcp.tcp_recovery = 0), 1);
        assert_eq!(of(&rack, "timeouts"), 0);
        assert!(of(&without, "timeouts") > 0);
        return;
    }
    panic!("no run lost the retransmission");
}

#[test]
fn dsack_takes_reductions_back() {
    let scenario = lossy(Algorithm::Cubic);
    let dsack = run(&scenario, 1);
    let without = run(&with(&scenario, |tcp| tcp.tcp_dsack = false), 1);
    assert_ne!(dsack.digest, without.digest);
}

#[test]
fn timestamps_make_paws_refuse_reordered_segments() {
    let scenario = lossy(Algorithm::Bbr);
    let output = run(&scenario, 1);
    assert!(of(&output, "paws_rejected_packets") > 100);
    let without = run(&with(&scenario, |tcp| tcp.tcp_timestamps = false), 1);
    assert_eq!(of(&without, "paws_rejected_packets"), 0);
    assert!(of(&without, "retransmitted_packets") < of(&output, "retransmitted_packets"));
}

#[test]
fn units_of_offload_leave_together() {
    let scenario = sprayed(Algorithm::Bbr);
    assert_ne!(run(&scenario, 1).digest, run(&with(&scenario, |tcp| tcp.gso = false), 1).digest);
}

#[test]
fn neighbour_discovery_reorders_equal_paths() {
    let mut scenario = sprayed(Algorithm::Bbr);
    scenario.duration = Span::from_s(20);
    traffic(&mut scenario.flows[0]).fq = true;
    let quiet = of(&run(&scenario, 1), "reordered_packets");
    let spec = NeighbourDiscovery { reachable: Span::from_s(3), probe_delay: ms(500) };
    scenario.neighbour_discovery = Some(spec);
    let asked = of(&run(&scenario, 1), "reordered_packets");
    assert!(asked > 20 * (quiet + 1), "{quiet} {asked}");
}
