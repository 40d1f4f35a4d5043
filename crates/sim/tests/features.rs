//! No feature counts until its absence changes a run: each switched off, in the direction expected.
#![allow(missing_docs)]

mod common;

use common::{
    drop_segments, dumbbell, finished_ns, hosts, ints, mbit, ms, of, run, serial, sprayed, traffic,
    transfer,
};
use dumbbell_model::scenario::{Algorithm, Loss, NeighbourDiscovery, Scenario, Source};
use dumbbell_model::{Rate, Span, TcpOptions};

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
fn initial_window_of_two_takes_round_trips_more() {
    let mut scenario = dumbbell(mbit(10), 100);
    transfer(&mut scenario, 10 * PAYLOAD);
    let ten = finished_ns(&run(&scenario, 1));
    let two = finished_ns(&run(&with(&scenario, |tcp| tcp.initcwnd = 2), 1));
    // 2 + 4 + 4 segments: two round trips of at least 10 ms more, less what overlapped.
    assert!(two - ten > 10_000_000, "{ten} {two}");
}

#[test]
fn sack_repairs_many_losses_in_one_round_trip() {
    // Fast enough that the link does not hide the waiting.
    let mut scenario = dumbbell(mbit(100), 200);
    transfer(&mut scenario, 100 * PAYLOAD);
    drop_segments(&mut scenario, &[40, 43, 46, 49, 52, 55]);
    let sack = run(&scenario, 1);
    let newreno = run(&with(&scenario, |tcp| (tcp.tcp_sack, tcp.tcp_dsack) = (false, false)), 1);
    assert_eq!(of(&sack, "retransmitted_packets"), 6);
    // NewReno repairs one hole per round trip (RFC 6582 §3.2): five round trips more.
    assert!(finished_ns(&newreno) - finished_ns(&sack) > 40_000_000);
}

#[test]
fn tail_loss_probe_beats_the_timeout() {
    let mut scenario = dumbbell(mbit(10), 100);
    transfer(&mut scenario, 10 * PAYLOAD);
    drop_segments(&mut scenario, &[9, 10]);
    let probe = run(&scenario, 1);
    let timeout = run(&with(&scenario, |tcp| tcp.tcp_early_retrans = 0), 1);
    assert_eq!((of(&probe, "probe_retransmitted_packets"), of(&probe, "timeouts")), (1, 0));
    assert_eq!(of(&timeout, "timeouts"), 1);
    // The probe after two RTTs proves the loss; the RTO would come after 200 ms.
    assert!(finished_ns(&timeout) - finished_ns(&probe) > 100_000_000);
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
fn sack_compression_saves_acks() {
    let mut scenario = dumbbell(mbit(50), 100);
    scenario.duration = Span::from_s(10);
    let compressed = run(&scenario, 1);
    let each = run(&with(&scenario, |tcp| tcp.tcp_comp_sack_nr = 0), 1);
    let acks = |output| of(output, "tap_acks_with_sack");
    assert!(acks(&compressed) < acks(&each), "{} {}", acks(&compressed), acks(&each));
}

#[test]
fn reordering_degree_grows_up_to_its_bound() {
    let scenario = lossy(Algorithm::Bbr);
    let free = of(&run(&scenario, 1), "reordering_packets");
    let bound =
        of(&run(&with(&scenario, |tcp| tcp.tcp_max_reordering = 3), 1), "reordering_packets");
    assert!(free > 3 && bound <= 3, "{free} {bound}");
}

#[test]
fn delayed_acks_halve_the_acks_of_a_long_transfer() {
    let mut scenario = dumbbell(mbit(10), 100);
    scenario.duration = Span::from_s(20);
    let output = run(&scenario, 1);
    let share = of(&output, "tap_acks") as f64 / of(&output, "tap_data_packets") as f64;
    // Every segment in the quick-ACK phase and in recovery, every second one otherwise.
    assert!((0.5..0.62).contains(&share), "{share}");
}

#[test]
fn a_fixed_receive_buffer_bounds_the_rate() {
    let mut scenario = dumbbell(Rate::from_bps(200_000_000), 1000);
    let tuned = run(&scenario, 1);
    hosts(&mut scenario, |tcp| {
        tcp.tcp_moderate_rcvbuf = false;
        tcp.tcp_rmem = [4096, 131_072, 131_072];
    });
    let fixed = run(&scenario, 1);
    let delivered = |output| of(output, "delivered_bytes");
    assert!(delivered(&fixed) * 2 < delivered(&tuned));
    // 64 KiB per round trip of 10 ms.
    assert!(delivered(&fixed) as f64 <= 65_536.0 * 5.0 / 0.01);
}

#[test]
fn a_small_send_buffer_bounds_what_is_in_flight() {
    let scenario = dumbbell(Rate::from_bps(200_000_000), 1000);
    let small = with(&scenario, |tcp| tcp.tcp_wmem = [4096, 16_384, 100_000]);
    let in_flight = |s: &Scenario| {
        ints(&run(s, 1), "samples", "in_flight_packets").into_iter().max().unwrap_or(0)
    };
    assert!(in_flight(&small) < 120, "{}", in_flight(&small));
    assert!(in_flight(&scenario) > 150, "{}", in_flight(&scenario));
}

#[test]
fn slow_start_after_idle_restarts_the_window() {
    let mut scenario = dumbbell(mbit(50), 500);
    traffic(&mut scenario.flows[0]).source =
        Source::Periodic { chunk_bytes: 300_000, interval: Span::from_s(1), bytes: None };
    let restarted = run(&scenario, 1);
    let kept = run(&with(&scenario, |tcp| tcp.tcp_slow_start_after_idle = false), 1);
    assert!(of(&restarted, "delivered_bytes") <= of(&kept, "delivered_bytes"));
    let last = |output| *ints(output, "samples", "cwnd_packets").last().expect("samples");
    assert!(last(&restarted) < last(&kept), "{} {}", last(&restarted), last(&kept));
}

#[test]
fn hystart_leaves_slow_start_before_the_buffer_overflows() {
    let scenario = dumbbell(mbit(10), 200);
    let first_second = |s: &Scenario| {
        let output = run(s, 1);
        ints(&output, "drops", "time_ns").into_iter().filter(|&t| t < 1_000_000_000).count()
    };
    assert_eq!(first_second(&scenario), 0);
    assert!(first_second(&with(&scenario, |tcp| tcp.cubic_hystart = false)) > 50);
}

#[test]
fn cubics_switches_change_a_run() {
    let mut scenario = dumbbell(mbit(10), 30);
    scenario.duration = Span::from_s(60);
    scenario.links[1].forward.loss = Loss::Independent { probability: 0.002 };
    let base = run(&scenario, 1).digest;
    let digest = |change: fn(&mut TcpOptions)| run(&with(&scenario, change), 1).digest;
    assert_ne!(base, digest(|tcp| tcp.cubic_fast_convergence = false));
    assert_ne!(base, digest(|tcp| tcp.cubic_tcp_friendliness = false));
}

#[test]
fn frto_and_eifel_recognise_a_spurious_timeout() {
    // The link stands still for half a second: nothing is lost, the RTO fires.
    let mut scenario = dumbbell(mbit(10), 100);
    let change = |at, delay| dumbbell_model::scenario::Change {
        at: ms(at),
        rate_bps: None,
        delay: Some(ms(delay)),
        loss: None,
    };
    scenario.links[1].forward = serial(mbit(10), 200, ms(5));
    scenario.links[1].forward.changes = vec![change(2000, 600)];
    let detected = run(&scenario, 1);
    assert!(of(&detected, "timeouts") >= 1);
    assert!(of(&detected, "undos") >= 1);
    let blind = with(&scenario, |tcp| {
        tcp.tcp_frto = 0;
        tcp.tcp_timestamps = false;
        (tcp.tcp_sack, tcp.tcp_dsack) = (false, false);
    });
    let blind = run(&blind, 1);
    assert_eq!(of(&blind, "undos"), 0);
    let again = |output| of(output, "retransmitted_packets");
    assert!(again(&blind) > again(&detected), "{} {}", again(&blind), again(&detected));
}

#[test]
fn small_queues_keep_the_hosts_own_queue_short() {
    let mut scenario = dumbbell(Rate::from_bps(1_000_000_000), 10_000);
    let longest = |s: &Scenario| {
        ints(&run(s, 1), "pipes", "queue_max_packets").into_iter().max().unwrap_or(0)
    };
    // The slow link is the host's own: about a millisecond of data waits there. One hop further,
    // where small queues do not reach, the window does.
    let mut far = scenario.clone();
    scenario.links[0].forward = serial(mbit(10), 10_000, Span::ZERO);
    far.links[2].forward = serial(mbit(10), 10_000, Span::ZERO);
    let (own, further) = (longest(&scenario), longest(&far));
    assert!(own < 20 && further > 5 * own, "{own} {further}");
}

#[test]
fn pacing_spreads_a_window_over_the_round_trip() {
    let scenario = dumbbell(mbit(50), 1000);
    let mut paced = scenario.clone();
    traffic(&mut paced.flows[0]).fq = true;
    let early = |s: &Scenario| {
        let output = run(s, 1);
        ints(&output, "pipes", "queue_max_packets")[2]
    };
    assert!(early(&paced) <= early(&scenario), "{} {}", early(&paced), early(&scenario));
    assert_ne!(run(&paced, 1).digest, run(&scenario, 1).digest);
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

#[test]
fn bbr_visits_probe_rtt_every_ten_seconds() {
    let mut scenario = dumbbell(mbit(10), 100);
    scenario.duration = Span::from_s(31);
    scenario.flows[0] = common::tcp("f", "s", "d", Algorithm::Bbr);
    let output = run(&scenario, 1);
    let times = ints(&output, "samples", "time_ns");
    let windows = ints(&output, "samples", "cwnd_packets");
    let mut dips = Vec::new();
    for (time, window) in times.iter().zip(windows) {
        let second = time / 1_000_000_000;
        if window == 4 && dips.last().is_none_or(|&last| second > last + 5) {
            dips.push(second);
        }
    }
    assert_eq!(dips.len(), 3, "{dips:?}");
}

#[test]
fn an_rto_of_a_second_waits_a_second() {
    let mut scenario = dumbbell(mbit(10), 100);
    hosts(&mut scenario, |tcp| tcp.tcp_early_retrans = 0);
    transfer(&mut scenario, 10 * PAYLOAD);
    drop_segments(&mut scenario, &[10]);
    let short = finished_ns(&run(&scenario, 1));
    let long = finished_ns(&run(&with(&scenario, |tcp| tcp.rto_min = Span::from_s(1)), 1));
    // 800 ms more, give or take the timer wheel's 64 ms.
    assert!((700_000_000..=900_000_000).contains(&(long - short)), "{}", long - short);
}
