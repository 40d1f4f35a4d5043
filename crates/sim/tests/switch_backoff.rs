//! Timers of loss recovery against RFC 6298: the first time-out, its back-off, the end. A timer of
//! `n` ticks of 1 ms is late on Linux's wheel, by less than 8, 64, 512 or 4096 ticks from 63, 504,
//! 4032 and 32 256 ticks on, and fires at a multiple of them.

mod lab;

use dumbbell_model::scenario::{Algorithm, Change, Loss, Scenario};
use dumbbell_model::{Span, TcpOptions};
use lab::trace::{kept, over};
use lab::{delay, one_flow, run, scripted, segments, ten_ms, with};

const MS: i64 = 1_000_000;

/// All packets of the first link are lost, from the start.
fn mute(retries: u32, initial_ms: u64) -> Scenario {
    let mut scenario = kept(one_flow(60_000, Algorithm::Reno, segments(1), ten_ms()));
    scenario.links[0].forward.loss = Loss::Independent { probability: 1.0 };
    with(&scenario, |o| {
        o.tcp_syn_retries = retries;
        o.rto_initial = Span::from_ms(initial_ms);
    })
}

/// RFC 6298 §2.1, §5.5 and 5.7: RTO before a sample, twice as long after each time-out; given up
/// when the last, doubled too, passes. 3 s (RFC 2988): 0, 3, 3 + 6 = 9 and 9 + 12 = 21 s, on the
/// wheel 3008; 9008 → 9216 = 18 · 512; 21 216 → 21 504 = 42 · 512. 1 s: 0, 1, 3 and 7 s, on the
/// wheel 1024 = 16 · 64; 3024 → 3072 = 48 · 64; 7072 → 7104 = 111 · 64.
#[test]
fn syns_are_sent_again_after_the_initial_timeout_and_twice_that() {
    for (initial_ms, times_ms, end_ms) in
        [(3000, [0, 3008, 9216], 21_504), (1000, [0, 1024, 3072], 7104)]
    {
        let run = run(&mute(2, initial_ms));
        assert_eq!(run.syns(), times_ms.map(|ms| ms * MS));
        assert_eq!(run.flow("f", "end_ns"), end_ms * MS);
    }
}

/// When a lone data segment leaves, none of which arrives, in whole milliseconds.
fn sendings(there_ms: u64, duration_ms: u64, change: impl Fn(&mut TcpOptions)) -> (Vec<i64>, i64) {
    let pipe = scripted(delay(Span::from_ms(there_ms)), "f", 1..=100);
    let mut scenario = over(Algorithm::Reno, segments(1), pipe, change);
    scenario.duration = Span::from_ms(duration_ms);
    scenario.sampling.interval = Span::from_s(1);
    let run = run(&kept(scenario));
    let times = run.sent().iter().map(|sent| sent.at_ns / MS).collect();
    (times, run.flow("f", "end_ns") / MS)
}

/// RFC 6298 §2.2: RTO = R + 4 · R/2; Linux: at least R + rto_min (`tcp_rtt_estimator`). The handshake
/// gives R, the data leaves 1 µs later. R = 20 ms: 220 ticks from 20, to 240 → 248 = 31 · 8.
/// With a rto_min of 1 s: 1020 from 20, to 1040 → 1088 = 17 · 64. R = 300 ms: 900 from 300, to
/// 1200 → 1216 = 19 · 64.
#[test]
fn the_first_timeout_is_three_round_trips_or_the_round_trip_and_the_minimum() {
    for (there_ms, minimum_ms, first, again) in
        [(10, 200, 20, 248), (10, 1000, 20, 1088), (290, 200, 300, 1216)]
    {
        let (times, _) = sendings(there_ms, 3000, |o| o.rto_min = Span::from_ms(minimum_ms));
        assert_eq!(times[..2], [first, again], "{there_ms} {minimum_ms}");
    }
}

/// RFC 6298 §5.5, §2.5: doubled each time, 120 s at most (`TCP_RTO_MAX`).
#[test]
fn timeouts_double_up_to_two_minutes() {
    let (times, _) = sendings(10, 600_000, |_| ());
    let mut rto = 220;
    assert!(times.len() > 12, "{times:?}");
    for pair in times.windows(2) {
        let waited = pair[1] - pair[0];
        assert!(rto <= waited && waited <= rto * 9 / 8 + 1, "{rto}: {times:?}");
        rto = (2 * rto).min(120_000);
    }
    assert_eq!(rto, 120_000);
}

/// RFC 1122 §4.2.3.5 (R2), as Linux reckons it: a connection is given up at the first time-out as
/// long after the first retransmission as so many doublings of 200 ms take (`tcp_model_timeout`),
/// for three (2⁴ − 1) · 200 ms = 3 s. RTO 220 ms: sent again 0, 440 and 1320 ms after the first
/// retransmission, given up at 3080 ms. RTO 900 ms: 0, 1800, and given up at 5400 ms.
#[test]
fn a_connection_is_given_up_after_the_time_that_its_retries_would_take() {
    for (there_ms, again, first, rto) in [(10, 3, 20, 220), (290, 2, 300, 900)] {
        let (times, end) = sendings(there_ms, 60_000, |o| o.tcp_retries2 = 3);
        assert_eq!(times.len(), 1 + again, "{times:?}");
        let doubled = rto * ((2 << again) - 1);
        let waited = end - first;
        assert!(doubled <= waited && waited <= doubled * 9 / 8 + 1, "{end}");
    }
}

/// RFC 6298 §5.7: a SYN that had to be sent again gives no sample, and data begins with an RTO of
/// 3 s; its timestamp gives one (RFC 7323 §4), and then it is 220 ms. The path is open from 500 ms
/// on: the SYN of 1024 ms arrives, data leaves at 1044. 3000 ticks to 4044 → 4096 = 64 · 64; 220
/// ticks to 1264 → 1272 = 159 · 8.
#[test]
fn after_a_syn_in_vain_the_timeout_is_3_s_unless_timestamps_tell_the_round_trip() {
    for (timestamps, again) in [(false, 4096), (true, 1272)] {
        let mut pipe = ten_ms();
        pipe.loss = Loss::Independent { probability: 1.0 };
        let first = scripted(ten_ms(), "f", [1]).loss;
        let at = Span::from_ms(500);
        pipe.changes =
            vec![Change { at, rate_bps: None, delay: None, loss: Some(first), state: None }];
        let mut scenario =
            over(Algorithm::Reno, segments(1), pipe, |o| o.tcp_timestamps = timestamps);
        scenario.duration = Span::from_s(10);
        scenario.sampling.interval = Span::from_s(1);
        let times: Vec<i64> = run(&kept(scenario)).sent().iter().map(|s| s.at_ns / MS).collect();
        assert_eq!(times, [1044, again], "timestamps {timestamps}");
    }
}
