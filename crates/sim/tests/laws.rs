//! Closed forms and bounds: serialisation, propagation, token buckets, capacity, the sawtooth.
#![allow(missing_docs)]

mod common;

use common::{
    delay, drop_segments, dumbbell, finished_ns, floats, hosts, ints, mbit, ms, of, run, serial,
    sprayed, tbf_netem, tcp, traffic, transfer, udp,
};
use dumbbell_model::scenario::{Algorithm, Loss, Queue, ScriptedDrop, Source};
use dumbbell_model::{Rate, Span};
use proptest::prelude::*;

/// Ethernet, IPv4, TCP with timestamps around a full segment, and around none.
const FRAME: u64 = 1514;
const PAYLOAD: u64 = 1448;

#[test]
fn ten_segments_arrive_after_two_round_trips_less_a_half_and_their_serialisation() {
    let mut scenario = dumbbell(mbit(10), 100);
    transfer(&mut scenario, 10 * PAYLOAD);
    let output = run(&scenario, 1);
    // SYN (74 bytes) 5 ms + 59.2 µs, SYN-ACK 5 ms, then the first write 1 µs later; the ACK of the
    // SYN-ACK (66 bytes) is ahead of the ten frames on the wire, which then take 5 ms.
    let ns = |bytes: u64| bytes * 800;
    let handshake = 5_000_000 + ns(74) + 5_000_000;
    let wire_free = ns(66).max(1000);
    let expected = handshake + wire_free + ns(10 * FRAME) + 5_000_000;
    assert_eq!(finished_ns(&output), expected as i64);
}

#[test]
fn udp_above_the_rate_loses_the_rest_and_fills_the_link() {
    let mut scenario = dumbbell(mbit(10), 50);
    scenario.flows = vec![udp("f", "s", "d", mbit(20), 1458)];
    let output = run(&scenario, 1);
    // Frames of 1500 bytes: 20 Mbit/s of payload is 20.576 on the wire, of which 10 pass.
    let sent = of(&output, "sent_packets") as f64;
    let lost = of(&output, "dropped_packets") as f64;
    let share = 1.0 - 10.0 / (20.0 * 1500.0 / 1458.0);
    // The 50 in the queue and the one on the wire are not lost; one packet of rounding.
    assert!((lost - (sent * share - 51.0)).abs() <= 1.0, "{lost} of {sent}");
    let carried = of(&output, "received_bytes") as f64 * 8.0 / 5.0 / 10e6;
    assert!(carried > 0.995 && carried <= 1.0, "{carried}");
}

#[test]
fn udp_below_the_rate_waits_for_nobody() {
    let mut scenario = dumbbell(mbit(10), 50);
    scenario.flows = vec![udp("f", "s", "d", mbit(5), 1000)];
    let output = run(&scenario, 1);
    assert_eq!(of(&output, "dropped_packets"), 0);
    let waited = ints(&output, "pipes", "sojourn_max_ns");
    assert!(waited.iter().all(|&ns| ns == 0), "{waited:?}");
}

#[test]
fn a_saturated_path_carries_its_rate_times_payload_over_frame() {
    for algorithm in [Algorithm::Reno, Algorithm::Bic, Algorithm::Cubic, Algorithm::Bbr] {
        let mut scenario = dumbbell(mbit(10), 100);
        scenario.duration = Span::from_s(20);
        scenario.links[1].forward = tbf_netem(mbit(10), ms(5));
        scenario.flows = vec![tcp("f", "s", "d", algorithm)];
        let output = run(&scenario, 1);
        let goodput = of(&output, "delivered_bytes") as f64 * 8.0 / 20.0;
        let bound = 10e6 * PAYLOAD as f64 / FRAME as f64;
        assert!(goodput <= bound + 5120.0 * 8.0 / 20.0, "{algorithm:?}: {goodput}");
        assert!(goodput > 0.975 * bound, "{algorithm:?}: {goodput} of {bound}");
        assert!(of(&output, "tap_rtt_min_ns") >= 10_000_000, "{algorithm:?}");
    }
}

#[test]
fn a_host_with_fq_and_a_link_of_its_own_fills_the_bottleneck_too() {
    for algorithm in [Algorithm::Reno, Algorithm::Bic, Algorithm::Cubic, Algorithm::Bbr] {
        let mut scenario = dumbbell(mbit(10), 100);
        scenario.duration = Span::from_s(20);
        scenario.links[0].forward = serial(Rate::from_bps(2_400_000_000), 1000, Span::from_us(50));
        scenario.flows = vec![tcp("f", "s", "d", algorithm)];
        traffic(&mut scenario.flows[0]).fq = true;
        let goodput = of(&run(&scenario, 1), "delivered_bytes") as f64 * 8.0 / 20.0;
        let bound = 10e6 * PAYLOAD as f64 / FRAME as f64;
        assert!(goodput <= bound && goodput > 0.975 * bound, "{algorithm:?}: {goodput} of {bound}");
    }
}

#[test]
fn spraying_over_two_paths_carries_twice_one_path() {
    let mut scenario = sprayed(Algorithm::Cubic);
    scenario.duration = Span::from_s(20);
    let output = run(&scenario, 1);
    let goodput = of(&output, "delivered_bytes") as f64 * 8.0 / 20.0;
    let bound = 20e6 * PAYLOAD as f64 / FRAME as f64;
    assert!(goodput <= bound * 1.001 && goodput > 0.97 * bound, "{goodput} of {bound}");
}

#[test]
fn renos_sawtooth_under_periodic_loss() {
    // One loss every n segments: the window runs from W/2 to W. With delayed ACKs Linux still adds
    // one segment per round (byte counting), so n = 3/8 W², and the mean is 3/4 W.
    let n = 600u64;
    let mut scenario = dumbbell(Rate::from_bps(1_000_000_000), 1000);
    scenario.duration = Span::from_s(60);
    scenario.flows = vec![tcp("f", "s", "d", Algorithm::Reno)];
    drop_segments(&mut scenario, &(1..400).map(|k| k * n).collect::<Vec<_>>());
    let output = run(&scenario, 1);
    let top = (8.0 * n as f64 / 3.0).sqrt();
    let mean = floats(&output, "flows", "cwnd_mean_packets")[0];
    // Slow start at the beginning and the round of recovery are not in the formula: 10 %.
    assert!((mean / (0.75 * top) - 1.0).abs() < 0.1, "{mean} against {}", 0.75 * top);
    assert!(of(&output, "recoveries") > 50);
    assert_eq!(of(&output, "timeouts"), 0);
}

#[test]
fn a_lost_retransmission_waits_twice_as_long_each_time() {
    // The last segment and its next three transmissions are lost. No probe, so the RTO acts:
    // 200 ms + RTT, doubled each time (RFC 6298 §5.5).
    let mut scenario = dumbbell(mbit(10), 100);
    hosts(&mut scenario, |tcp| tcp.tcp_early_retrans = 0);
    transfer(&mut scenario, 3 * PAYLOAD);
    drop_segments(&mut scenario, &[3, 4, 5]);
    let output = run(&scenario, 1);
    assert_eq!(of(&output, "timeouts"), 3);
    let finish_ms = finished_ns(&output) / 1_000_000;
    // RTO of a first sample: RTT + 200 ms; 210 + 420 + 840 after the first sending near 10 ms, each
    // up to 12 % late on the timer wheel.
    assert!((1480..=1680).contains(&finish_ms), "{finish_ms}");
}

#[test]
fn equal_reno_flows_share_alike() {
    let mut scenario = dumbbell(mbit(20), 60);
    scenario.duration = Span::from_s(60);
    let mut second = tcp("g", "s", "d", Algorithm::Reno);
    second.start = ms(500);
    scenario.flows = vec![tcp("f", "s", "d", Algorithm::Reno), second];
    scenario.links[1].forward.loss = Loss::Independent { probability: 0.0005 };
    let delivered = ints(&run(&scenario, 3), "flows", "delivered_bytes");
    let (a, b) = (delivered[0] as f64, delivered[1] as f64);
    let jain = (a + b) * (a + b) / (2.0 * (a * a + b * b));
    assert!(jain > 0.95, "{jain}");
}

#[test]
fn ack_clock_and_window_bound_the_rate_of_a_short_buffer() {
    // A window of 65 535 bytes and an RTT of 10 ms: at most 52.4 Mbit/s, whatever the link.
    let mut scenario = dumbbell(Rate::from_bps(1_000_000_000), 1000);
    hosts(&mut scenario, |tcp| tcp.tcp_window_scaling = false);
    let output = run(&scenario, 1);
    let goodput = of(&output, "delivered_bytes") as f64 * 8.0 / 5.0;
    assert!(goodput < 65_535.0 * 8.0 / 0.01, "{goodput}");
    assert!(goodput > 0.8 * 65_535.0 * 8.0 / 0.0105, "{goodput}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn packets_are_conserved_and_bounds_hold(
        rate in 500_000u64..50_000_000,
        packets in 1u64..200,
        loss in 0.0f64..0.2,
        corruption in 0.0f64..0.05,
        duplication in 0.0f64..0.05,
        jitter_us in 0u64..3000,
        netem in any::<bool>(),
        algorithm in prop::sample::select(vec![
            Algorithm::Reno, Algorithm::Bic, Algorithm::Cubic, Algorithm::Bbr]),
        sack in any::<bool>(),
        seed in 0u64..1000,
    ) {
        let rate = Rate::from_bps(rate);
        let mut scenario = dumbbell(rate, packets);
        scenario.duration = Span::from_s(2);
        if netem {
            scenario.links[1].forward = tbf_netem(rate, ms(5));
            scenario.links[1].forward.queue =
                Queue::Netem { delay: ms(5), jitter: Span::from_us(jitter_us), limit_packets: packets };
        } else {
            scenario.links[1].forward = serial(rate, packets, ms(5));
            scenario.links[1].forward.jitter = Span::from_us(jitter_us);
        }
        let forward = &mut scenario.links[1].forward;
        forward.loss = Loss::Independent { probability: loss };
        forward.corruption = corruption;
        forward.duplication = duplication;
        scenario.links[1].backward = delay(ms(5));
        hosts(&mut scenario, |tcp| { tcp.tcp_sack = sack; tcp.tcp_dsack = sack; });
        scenario.flows = vec![tcp("f", "s", "d", algorithm), udp("u", "s", "d", Rate::from_bps(300_000), 8192)];
        scenario.flows[1].start = ms(300);
        // run() fails if a packet is lost track of.
        let output = run(&scenario, seed);
        let bytes: i64 = ints(&output, "flows", "received_bytes").iter().sum();
        prop_assert!(bytes as f64 * 8.0 <= rate.as_bps() as f64 * 2.0 + 5120.0 * 8.0);
        let rtt = of(&output, "rtt_min_ns");
        prop_assert!(rtt == -1 || rtt >= 10_000_000, "{}", rtt);
        prop_assert!(of(&output, "delivered_bytes") <= of(&output, "sent_bytes"));
    }
}

#[test]
fn a_periodic_source_delivers_what_it_writes() {
    let mut scenario = dumbbell(mbit(10), 100);
    traffic(&mut scenario.flows[0]).source =
        Source::Periodic { chunk_bytes: 3000, interval: ms(50), bytes: Some(30_000) };
    assert_eq!(of(&run(&scenario, 1), "delivered_bytes"), 30_000);
}

#[test]
fn scripted_loss_names_its_segment() {
    let mut scenario = dumbbell(mbit(10), 100);
    let drop = ScriptedDrop { flow: "f".into(), nth: 7 };
    scenario.links[1].forward.loss = Loss::Scripted { drops: vec![drop] };
    transfer(&mut scenario, 20 * PAYLOAD);
    let output = run(&scenario, 1);
    assert_eq!(ints(&output, "drops", "seq_bytes"), [6 * PAYLOAD as i64]);
    assert_eq!(of(&output, "retransmitted_packets"), 1);
    assert_eq!(of(&output, "delivered_bytes"), 20 * PAYLOAD as i64);
}
