//! Acknowledging, sending and pacing: each part set otherwise, and what that does to a run.

mod lab;

use dumbbell_model::scenario::{AckAggregation, SprayWhat};
use dumbbell_model::scenario::{
    Algorithm, NeighbourDiscovery, Pipe, Scenario, Source, SprayPolicy,
};
use dumbbell_model::{Span, TcpOptions};
use lab::{
    delay, mbps, near, one_flow, run, scripted, segments, serial, sprayed, tcp, tcp_of, ten_ms,
    with, Run, BULK, SEGMENT_BYTES,
};

const MS: i64 = 1_000_000;

fn change(mut scenario: Scenario, f: impl FnOnce(&mut Scenario)) -> Scenario {
    f(&mut scenario);
    scenario
}

/// The receiver reads in large pieces, so that reading never asks for an ACK.
fn reads_late(scenario: &Scenario) -> Scenario {
    change(scenario.clone(), |s| tcp_of(&mut s.flows[0]).sink.lowat_bytes = 30_000)
}

#[test]
fn quick_acks_come_first_and_then_every_second_segment_has_one() {
    let acks = |count: u64| {
        let pipe = serial(mbps(100), Span::from_ms(10), 2000);
        let scenario = one_flow(20_000, Algorithm::Reno, segments(count), pipe);
        let run = run(&with(&reads_late(&scenario), |o| o.tcp_moderate_rcvbuf = false));
        assert_eq!(run.flow("f", "retransmitted_packets"), 0);
        run.flow("f", "tap_acks")
    };
    // SYN-ACK and FIN beside those of data.
    let ten = acks(10);
    assert!((11..=13).contains(&ten), "{ten}");
    // While the window opens each segment that opens it is acknowledged; then every second one.
    let (long, longer) = (acks(2000), acks(4000));
    // The window does not hold an even number of segments: now and then one waits for the timer.
    assert!((1000..=1030).contains(&(longer - long)), "{long} {longer}");
}

#[test]
fn a_single_segment_waits_40_ms_for_company() {
    let source =
        Source::Periodic { chunk_bytes: SEGMENT_BYTES, interval: Span::from_ms(30), bytes: None };
    let scenario = one_flow(5000, Algorithm::Reno, source, ten_ms());
    // A reader that empties the buffer after a segment with PSH has it acknowledged at once (Linux
    // since 6.1.58), when it has read the clock.
    assert_eq!(run(&scenario).flow("f", "tap_rtt_max_ns"), 20 * MS + 256);
    let run = run(&reads_late(&scenario));
    // Quick at first; once those are used up a lone segment is acknowledged with its successor,
    // 30 ms later, or by the timer: 40 ms and its tick.
    assert_eq!(run.flow("f", "tap_rtt_min_ns"), 20 * MS);
    let longest = run.flow("f", "tap_rtt_max_ns");
    assert!((49 * MS..=70 * MS).contains(&longest), "{longest}");
}

/// The receiver's own RTO after a handshake of 200 ms is three times that: the first sample counts
/// twice in the variation (RFC 6298 §2.2).
#[test]
fn a_lone_segment_is_acknowledged_at_once_after_a_gap_longer_than_the_receivers_rto() {
    for (gap_ms, delayed) in [(500, true), (700, false)] {
        let interval = Span::from_ms(gap_ms);
        let source = Source::Periodic { chunk_bytes: SEGMENT_BYTES, interval, bytes: None };
        let scenario = one_flow(20_000, Algorithm::Reno, source, delay(Span::from_ms(190)));
        let run = run(&reads_late(&scenario));
        assert_eq!(run.flow("f", "tap_rtt_min_ns"), 200 * MS);
        let longest = run.flow("f", "tap_rtt_max_ns");
        assert_eq!(longest > 230 * MS, delayed, "{gap_ms} ms: {longest}");
    }
}

#[test]
fn aggregated_acks_come_in_batches() {
    let aggregation = Some(AckAggregation { max_wait: Span::from_ms(5), max_acks: 8 });
    let plain = one_flow(3000, Algorithm::Cubic, BULK, serial(mbps(20), Span::from_ms(10), 60));
    let batched = change(plain.clone(), |s| s.links[0].backward.ack_aggregation = aggregation);
    let rtt = |s: &Scenario| run(s).flow("f", "tap_rtt_min_ns");
    let (alone, held) = (rtt(&plain), rtt(&batched));
    assert!(held > alone && held <= alone + 5 * MS, "{alone} {held}");
    // A batch is answered by a burst.
    let burst = |s: &Scenario| run(s).pipe("mid/forward", "queue_max_packets");
    assert!(burst(&batched) >= burst(&plain));
}

/// A batch enters the queue packet by packet: what does not fit is dropped.
#[test]
fn a_batch_of_acks_obeys_the_queues_limit() {
    let aggregation = Some(AckAggregation { max_wait: Span::from_ms(50), max_acks: 16 });
    let mut scenario = one_flow(3000, Algorithm::Cubic, BULK, serial(mbps(20), Span::ZERO, 60));
    scenario.links[0].backward = serial(mbps(1), Span::from_ms(10), 4);
    scenario.links[0].backward.ack_aggregation = aggregation;
    let run = run(&scenario);
    assert_eq!(run.pipe("mid/backward", "queue_max_packets"), 4);
    assert!(run.pipe("mid/backward", "dropped_overflow_packets") > 0);
}

#[test]
fn fq_paces_at_the_ratio_asked_for() {
    // In slow start at twice cwnd/srtt, in congestion avoidance at 1.2 times.
    let mut scenario = one_flow(3000, Algorithm::Reno, BULK, scripted(ten_ms(), "f", [300]));
    assert!(run(&scenario).samples("f", "pacing_bps").iter().all(|(_, rate)| *rate == -1));
    tcp_of(&mut scenario.flows[0]).fq = true;
    let ratio = |s: &Scenario, at: Span| {
        let run = run(s);
        let value = |column: &str| run.sample_at("f", column, at) as f64;
        let window_bps = value("cwnd_packets") * SEGMENT_BYTES as f64 * 8.0;
        value("pacing_bps") / (window_bps / (value("srtt_ns") / 1e9))
    };
    near(ratio(&scenario, Span::from_ms(55)), 2.0, 0.05);
    near(ratio(&scenario, Span::from_ms(2500)), 1.2, 0.05);
    let other = with(&scenario, |o| (o.tcp_pacing_ss_ratio, o.tcp_pacing_ca_ratio) = (300, 150));
    near(ratio(&other, Span::from_ms(55)), 3.0, 0.05);
    near(ratio(&other, Span::from_ms(2500)), 1.5, 0.05);
}

/// Longest queue of the bottleneck while a window of 60 segments, less than the path holds, goes
/// round.
fn burst(fq: bool, change: impl Fn(&mut TcpOptions)) -> i64 {
    let source = Source::Bulk { bytes: None, refill: Span::ZERO };
    let mut scenario =
        one_flow(2000, Algorithm::Reno, source, serial(mbps(100), Span::from_ms(10), 500));
    scenario = with(&scenario, |o| {
        o.tcp_moderate_rcvbuf = false;
        o.tcp_rmem = [4096, 174_000, 174_000];
        change(o);
    });
    tcp_of(&mut scenario.flows[0]).fq = fq;
    run(&scenario).pipe("mid/forward", "queue_max_packets")
}

#[test]
fn pacing_keeps_the_queue_short() {
    let (bursts, paced) = (burst(false, |_| ()), burst(true, |_| ()));
    // Reno paces at 1.2 times its window per RTT.
    assert_eq!(paced, 11);
    assert!(paced * 3 < bursts * 2, "{paced} {bursts}");
    // Segment by segment nothing ever waits for more than one other.
    let single = burst(true, |o| o.gso = false);
    assert!(single <= paced, "{single} {paced}");
    // Larger units make larger bursts.
    let units = burst(true, |o| o.tcp_min_tso_segs = 32);
    assert!(units > paced, "{units} {paced}");
}

#[test]
fn small_queues_bound_what_waits_in_the_host() {
    let queue = |limit: u64| {
        let pipe = serial(mbps(1000), Span::ZERO, 10_000);
        let mut scenario = one_flow(1000, Algorithm::Reno, BULK, ten_ms());
        scenario.links[1].forward = pipe;
        let scenario = with(&scenario, |o| {
            o.queue_at_interface = true;
            o.tcp_limit_output_bytes = limit;
            o.tcp_rmem = [4096, 8_000_000, 16_000_000];
            o.tcp_wmem = [4096, 8_000_000, 16_000_000];
        });
        run(&scenario).pipe("a0/forward", "queue_max_packets")
    };
    let (small, default, large) = (queue(20_000), queue(1_048_576), queue(100_000_000));
    assert!(small < default && default <= large, "{small} {default} {large}");
    // One unit may be begun below the limit: 44 segments of 64 KB.
    assert!(small <= 20_000 / 1448 + 45, "{small}");
    // Reno is not paced, but its pacing rate counts: a millisecond of it.
    assert!(default <= 1_048_576 / 1448 + 45, "{default}");
}

#[test]
fn paws_refuses_what_a_retransmission_overtook() {
    // Two paths, one 15 ms longer: round-robin. Losses are retransmitted past older segments.
    let short = serial(mbps(10), Span::from_ms(5), 100);
    let long = Pipe { delay: Span::from_ms(20), ..short.clone() };
    let loss = dumbbell_model::scenario::Loss::Independent { probability: 0.01 };
    let paths = [Pipe { loss, ..short }, long];
    let mut scenario = sprayed(Span::from_s(10), &paths, SprayPolicy::RoundRobin, SprayWhat::Both);
    scenario.flows.push(tcp("f", 0, Algorithm::Bbr, BULK));
    let refused = |s: &Scenario| run(s).flow("f", "paws_rejected_packets");
    assert!(refused(&scenario) > 0);
    assert_eq!(refused(&with(&scenario, |o| o.tcp_timestamps = false)), 0);
    let one_path = change(scenario, |s| s.links.retain(|link| link.name != "p1"));
    assert_eq!(refused(&one_path), 0, "in order nothing is refused");
}

#[test]
fn neighbours_are_found_before_the_first_packet_passes() {
    let scenario = one_flow(3000, Algorithm::Reno, segments(10), ten_ms());
    let known = run(&scenario).transfer_end("f");
    let asked = change(scenario, |s| {
        let reachable = Span::from_s(30);
        s.neighbour_discovery =
            Some(NeighbourDiscovery { reachable, probe_delay: Span::from_s(5) });
    });
    let asked = run(&asked);
    // The question and its answer over the middle link: a round trip, once; the way back is known
    // from the question.
    assert_eq!(asked.transfer_end("f") - known, 20 * MS);
    let packets = |run: &Run| run.pipe("mid/forward", "arrived_packets");
    assert_eq!(packets(&asked), asked.flow("f", "sent_packets") + 1);
}

#[test]
fn hystart_leaves_slow_start_when_the_delay_rises() {
    let scenario = one_flow(1500, Algorithm::Cubic, BULK, serial(mbps(20), Span::from_ms(20), 300));
    let first_loss = |s: &Scenario| run(s).drops("mid/forward").len();
    let threshold = |s: &Scenario| run(s).sample_at("f", "ssthresh_packets", Span::from_ms(1400));
    let off = with(&scenario, |o| o.cubic_hystart = false);
    assert_eq!(first_loss(&scenario), 0);
    assert!(first_loss(&off) > 50);
    // BDP: 20 Mbit/s · 30 ms / 1514 bytes = 50 packets; the queue has room for six times that.
    let left_at = threshold(&scenario);
    assert!((30..=150).contains(&left_at), "{left_at}");
}

#[test]
fn fast_convergence_aims_lower_after_a_second_loss() {
    // Losses before the old window is reached again (RFC 9438 §4.7): the plateau is at 0.85 of the
    // window instead of at the window.
    let lossy = scripted(delay(Span::from_ms(50)), "f", [600, 3000]);
    let scenario = with(&one_flow(9000, Algorithm::Cubic, BULK, lossy), |o| {
        o.cubic_hystart = false;
        o.cubic_tcp_friendliness = false;
    });
    let plateau = |s: &Scenario| {
        let run = run(s);
        assert_eq!(run.flow("f", "recoveries"), 2);
        let reduced = run.sample_at("f", "ssthresh_packets", Span::from_s(8)) as f64;
        let windows = run.samples("f", "cwnd_packets");
        // The plateau: where the window stays longest between the epoch and the end.
        let late: Vec<i64> = windows.iter().map(|w| w.1).filter(|w| *w as f64 > reduced).collect();
        (reduced * 1024.0 / 717.0, late)
    };
    let (old_on, on) = plateau(&scenario);
    let (old_off, off) = plateau(&with(&scenario, |o| o.cubic_fast_convergence = false));
    assert!((old_on - old_off).abs() < 1.5);
    let near_plateau = |late: &[i64], level: f64| {
        late.iter().filter(|w| (**w as f64 / level - 1.0).abs() < 0.01).count()
    };
    let lower = old_on * (1.0 + 717.0 / 1024.0) / 2.0;
    assert!(near_plateau(&on, lower) > 2 * near_plateau(&off, lower));
    assert!(near_plateau(&off, old_on) > 2 * near_plateau(&on, old_on));
}

#[test]
fn the_reno_friendly_region_helps_on_a_short_path() {
    let scenario = one_flow(10_000, Algorithm::Cubic, BULK, {
        let lossy = (1..400).map(|k| k * 300);
        scripted(delay(Span::from_ms(1)), "f", lossy)
    });
    let delivered = |s: &Scenario| run(s).flow("f", "delivered_bytes");
    let friendly = delivered(&scenario);
    let cubic = delivered(&with(&scenario, |o| o.cubic_tcp_friendliness = false));
    assert!(friendly * 10 > cubic * 11, "{friendly} {cubic}");
}

#[test]
fn bbr_drains_to_four_packets_every_ten_seconds() {
    let scenario = one_flow(32_000, Algorithm::Bbr, BULK, serial(mbps(5), Span::from_ms(10), 100));
    let run = run(&scenario);
    let windows = run.samples("f", "cwnd_packets");
    let mut dips: Vec<(i64, i64)> = Vec::new();
    for (at, _) in windows.iter().filter(|(at, window)| *window == 4 && *at > 1_000 * MS) {
        match dips.last_mut() {
            Some((_, end)) if *at - *end <= 20 * MS => *end = *at,
            _ => dips.push((*at, *at)),
        }
    }
    assert_eq!(dips.len(), 3, "{dips:?}");
    for dip in &dips {
        // 200 ms and a round trip at least; sampled every 10 ms.
        assert!((190 * MS..=300 * MS).contains(&(dip.1 - dip.0)), "{dip:?}");
    }
    for pair in dips.windows(2) {
        near((pair[1].0 - pair[0].0) as f64, 10.2e9, 0.05);
    }
    // Between the dips the rate is the link's.
    near(run.goodput_bps("f", Span::from_s(3), Span::from_s(9)), 5e6 * 1448.0 / 1514.0, 0.02);
}

#[test]
fn a_source_that_is_on_and_off_delivers_a_burst_in_each_period_and_nothing_between() {
    // On for 250 ms: chunks at 0, 100 and 200 ms; off for 750 ms. 40 segments each take 5 ms here.
    let chunk_bytes = 40 * SEGMENT_BYTES;
    let source = |bytes| Source::OnOff {
        chunk_bytes,
        interval: Span::from_ms(100),
        on: Span::from_ms(250),
        off: Span::from_ms(750),
        exponential: false,
        bytes,
    };
    let pipe = serial(mbps(100), Span::from_ms(10), 2000);
    let mut scenario = one_flow(4000, Algorithm::Cubic, source(None), pipe);
    scenario.sampling.samples = true;
    let endless = run(&scenario);
    let delivered = |run: &Run, ms: u64| run.sample_at("f", "delivered_bytes", Span::from_ms(ms));
    for period in 0..4 {
        let bursts = (period as i64 + 1) * 3 * chunk_bytes as i64;
        for ms in [450, 990] {
            assert_eq!(delivered(&endless, period * 1000 + ms), bursts, "{period}: {ms} ms");
        }
    }
    // With a total it ends with what is left, and closes.
    tcp_of(&mut scenario.flows[0]).source = source(Some(5 * chunk_bytes - 7));
    let whole = run(&scenario);
    assert_eq!(whole.flow("f", "delivered_bytes"), 5 * chunk_bytes as i64 - 7);
    let end_ns = whole.flow("f", "end_ns");
    assert!((1100 * MS..1300 * MS).contains(&end_ns), "{end_ns}");
}

/// The send buffer is sized after the algorithm has set its first window (`tcp_init_transfer`). At an
/// RTT of 600 ms Hybla begins with 24 packets instead of 2, and writes for 24 instead of 10.
#[test]
fn the_first_write_fills_a_buffer_for_the_first_window_of_hybla() {
    let first_write = |algorithm| {
        let run = run(&one_flow(900, algorithm, BULK, delay(Span::from_ms(600))));
        let [unsent, in_flight] = ["unsent_bytes", "in_flight_packets"]
            .map(|column| run.sample_at("f", column, Span::from_ms(700)));
        unsent + in_flight * SEGMENT_BYTES as i64
    };
    let [reno, hybla] = [Algorithm::Reno, Algorithm::Hybla].map(first_write);
    assert!((70_000..110_000).contains(&reno), "{reno}");
    assert!((190_000..280_000).contains(&hybla), "{hybla}");
}
