//! Study 1's paths: two shaped links that take packets in turn.

mod lab;

use dumbbell_model::queue::Queue;
use dumbbell_model::scenario::{
    Algorithm, NeighbourDiscovery, Pipe, Scenario, Shaper, SprayPolicy, SprayWhat,
};
use dumbbell_model::{Rate, Span};
use lab::{
    delay, dumbbell, mbps, run, scripted, segments, serial, sprayed, tcp, tcp_of, with, BULK,
    FRAME_BYTES, SEGMENT_BYTES,
};

const ALL: [Algorithm; 4] = [Algorithm::Reno, Algorithm::Bic, Algorithm::Cubic, Algorithm::Bbr];

/// The study's switch: a token bucket of 10 Mbit/s over netem, 5 ms.
fn switch() -> Pipe {
    Pipe {
        shaper: Shaper::Tbf {
            rate_bps: mbps(10),
            burst_bytes: 5120,
            initial_bytes: Some(5120),
            peak: None,
        },
        queue: Queue::Netem {
            delay: Span::from_ms(5),
            jitter: Span::ZERO,
            limit_packets: 100,
            words: None,
        },
        ..delay(Span::ZERO)
    }
}

fn over_paths(count: usize, algorithm: Algorithm) -> Scenario {
    let paths = vec![switch(); count];
    let (policy, what) = (SprayPolicy::RoundRobin, SprayWhat::Both);
    let mut scenario = sprayed(Span::from_s(20), &paths, policy, what);
    scenario.flows.push(tcp("f", 0, algorithm, BULK));
    scenario
}

#[test]
fn two_paths_carry_twice_what_one_carries() {
    for (paths, algorithm) in [1, 2].into_iter().flat_map(|n| ALL.map(|algorithm| (n, algorithm))) {
        let run = run(&over_paths(paths, algorithm));
        let goodput = run.flow("f", "delivered_bytes") as f64 * 8.0 / 20.0;
        let bound = paths as f64 * 10e6 * SEGMENT_BYTES as f64 / FRAME_BYTES as f64;
        let burst = paths as f64 * 5120.0 * 8.0 / 20.0;
        assert!(goodput <= bound + burst, "{paths} {algorithm:?}: {goodput} above {bound}");
        assert!(goodput > 0.965 * bound, "{paths} {algorithm:?}: {goodput} of {bound}");
        assert!(run.flow("f", "tap_rtt_min_ns") >= 10_000_000);
    }
}

#[test]
fn units_of_offload_leave_together() {
    let scenario = over_paths(2, Algorithm::Bbr);
    let alone = with(&scenario, |o| o.gso = false);
    assert_ne!(run(&scenario).output.digest, run(&alone).output.digest);
}

#[test]
fn neighbour_discovery_reorders_equal_paths() {
    let mut scenario = over_paths(2, Algorithm::Bbr);
    tcp_of(&mut scenario.flows[0]).fq = true;
    let quiet = run(&scenario).flow("f", "reordered_packets");
    scenario.neighbour_discovery =
        Some(NeighbourDiscovery { reachable: Span::from_s(3), probe_delay: Span::from_ms(500) });
    let asked = run(&scenario).flow("f", "reordered_packets");
    assert!(asked > 20 * (quiet + 1), "{quiet} {asked}");
}

#[test]
fn who_sprays_is_not_known_from_its_questions() {
    let established = |paths: usize, asks: bool| {
        let mut scenario = over_paths(paths, Algorithm::Reno);
        let discovery =
            NeighbourDiscovery { reachable: Span::from_s(30), probe_delay: Span::from_s(5) };
        scenario.neighbour_discovery = asks.then_some(discovery);
        run(&scenario).flow("f", "established_ns")
    };
    let round_trip = established(2, false);
    // One path: a question and its answer before the SYN, and the way back is known.
    assert_eq!(established(1, true), 2 * round_trip);
    // Two: a question before the SYN-ACK, too (`arp_solicit` asks under the slave's address).
    assert_eq!(established(2, true), 3 * round_trip);
}

#[test]
fn a_host_with_fq_and_a_link_of_its_own_fills_the_bottleneck_too() {
    for algorithm in ALL {
        let forward = serial(mbps(10), Span::from_ms(5), 100);
        let mut scenario = dumbbell(Span::from_s(20), 1, forward, delay(Span::from_ms(5)));
        let own = scenario.links.iter_mut().find(|link| link.name == "a0");
        let fast = serial(Rate::from_bps(2_400_000_000), Span::from_us(50), 1000);
        own.unwrap_or_else(|| panic!("the host has a link")).forward = fast;
        scenario.flows.push(tcp("f", 0, algorithm, BULK));
        tcp_of(&mut scenario.flows[0]).fq = true;
        let goodput = run(&scenario).flow("f", "delivered_bytes") as f64 * 8.0 / 20.0;
        let bound = 10e6 * SEGMENT_BYTES as f64 / FRAME_BYTES as f64;
        assert!(goodput <= bound && goodput > 0.97 * bound, "{algorithm:?}: {goodput} of {bound}");
    }
}

#[test]
fn rack_finds_a_lost_retransmission_without_a_timeout() {
    // Segment 60 and its retransmission, which is the data packet some 60 later.
    for again in 100..180 {
        let lossy = scripted(serial(mbps(10), Span::from_ms(5), 200), "f", [60, again]);
        let mut scenario = dumbbell(Span::from_s(5), 1, lossy, delay(Span::from_ms(5)));
        scenario.flows.push(tcp("f", 0, Algorithm::Cubic, segments(400)));
        let rack = run(&scenario);
        let twice = rack.ints("drops", "seq_bytes") == [59 * SEGMENT_BYTES as i64; 2];
        if rack.flow("f", "retransmitted_packets") == 2 && twice {
            let without = run(&with(&scenario, |o| o.tcp_recovery = 0));
            assert_eq!(rack.flow("f", "timeouts"), 0);
            assert!(without.flow("f", "timeouts") > 0);
            return;
        }
    }
    panic!("no run lost the retransmission");
}
