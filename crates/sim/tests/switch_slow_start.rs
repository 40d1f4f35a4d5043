//! The ways out of slow start and back into it: HyStart++ (RFC 9406), HyStart, SEARCH, and the window
//! after idleness (RFC 2861, RFC 5681 §4.1), round by round.

mod lab;

use dumbbell_model::scenario::{Algorithm, Change, Loss, Pipe, Scenario, Source};
use dumbbell_model::{Search, Span, TcpOptions};
use lab::trace::{kept, over};
use lab::{mbps, run, serial, Run, BULK, SEGMENT_BYTES};

const MS: i64 = 1_000_000;
/// Slow start has not ended.
const NO_THRESHOLD: i64 = 0x7fff_ffff;

/// Data leaves from 100 ms on, over 100 ms there and back; what leaves from 200 ms on takes 20 ms
/// more, until a moment.
fn rising(
    algorithm: Algorithm,
    until_ms: Option<u64>,
    change: impl Fn(&mut TcpOptions),
) -> Scenario {
    let to = |at_us, ms| Change {
        at: Span::from_us(at_us),
        rate_bps: None,
        delay: Some(Span::from_ms(ms)),
        loss: None,
        state: None,
    };
    let mut changes = vec![to(199_500, 110)];
    changes.extend(until_ms.map(|ms| to(1000 * ms - 500, 90)));
    let pipe = Pipe { changes, ..apart(90) };
    every_ms(over(algorithm, BULK, pipe, |o| {
        o.tcp_wmem = [4096, 1_000_000, 4_000_000];
        change(o);
    }))
}

/// A delay. Segments arrive 3 µs apart, so that each is read and acknowledged by itself.
fn apart(ms: u64) -> Pipe {
    serial(mbps(4000), Span::from_ms(ms), 10_000)
}

fn every_ms(mut scenario: Scenario) -> Scenario {
    scenario.sampling.interval = Span::from_ms(1);
    scenario
}

fn rise(algorithm: Algorithm, until_ms: Option<u64>, change: impl Fn(&mut TcpOptions)) -> Run {
    run(&rising(algorithm, until_ms, change))
}

fn loss_from(at_ms: u64, loss: Loss) -> Change {
    Change { at: Span::from_ms(at_ms), rate_bps: None, delay: None, loss: Some(loss), state: None }
}

fn plus_plus(o: &mut TcpOptions) {
    o.hystart_plus_plus = true;
}

fn windows<const N: usize>(run: &Run, at_ms: [i64; N]) -> [i64; N] {
    at_ms.map(|ms| run.window_after((ms + 1) * MS))
}

/// RFC 9406 §4.2. The round of 10 measures 100 ms, that of 20 measures 120: more than an eighth above
/// (12.5 ms), seen with the eighth sample. Seven ACKs have counted in full, the other 13 count a
/// quarter (3, 1 left): 30. Then 31/4: 37 (3 left); 40/4: 47; 47/4: 58 (3 left); 61/4: 73 (1 left).
/// That was the fifth round of conservative slow start, the one in which it began included; the
/// first ACK of the next makes 73 the threshold, and its 73 ACKs add one segment.
#[test]
fn a_lasting_rise_of_the_rtt_ends_slow_start_after_five_rounds_of_a_quarter() {
    for algorithm in [Algorithm::Reno, Algorithm::Cubic] {
        let run = rise(algorithm, None, plus_plus);
        assert_eq!(windows(&run, [200, 320, 440, 560, 680, 800]), [20, 30, 37, 47, 58, 73]);
        let threshold = |ms| run.sample_at("f", "ssthresh_packets", Span::from_ms(ms));
        assert_eq!((threshold(900), threshold(930)), (NO_THRESHOLD, 73));
        if algorithm == Algorithm::Reno {
            assert_eq!(windows(&run, [920]), [74]);
        }
    }
}

/// RFC 9406 §4.2: the RTT falls below that of the round in which it rose: slow start resumes. The
/// round of 30 measures 100 ms again, seen with its eighth ACK: seven count a quarter, with one
/// left 8/4 = 2, the other 23 in full: 55, and then 110. Slow start alone has 40, 80 and 160.
#[test]
fn slow_start_resumes_when_the_rise_was_passing() {
    let run = rise(Algorithm::Reno, Some(320), plus_plus);
    assert_eq!(windows(&run, [200, 320, 420, 520]), [20, 30, 55, 110]);
    assert_eq!(run.sample_at("f", "ssthresh_packets", Span::from_ms(530)), NO_THRESHOLD);
    let plain = rise(Algorithm::Reno, Some(320), |_| ());
    assert_eq!(windows(&plain, [200, 320, 420, 520]), [20, 40, 80, 160]);
}

/// RFC 9406 §4.3: only the first slow start is examined. All that leaves from 500 to 700 ms is lost,
/// in a round that grew by a quarter; after the time-out the window doubles every 120 ms as ever.
#[test]
fn slow_start_after_a_loss_is_a_plain_one() {
    let mut scenario = rising(Algorithm::Reno, None, plus_plus);
    let changes = &mut scenario.links[0].forward.changes;
    changes.push(loss_from(500, Loss::Independent { probability: 1.0 }));
    changes.push(loss_from(700, Loss::None));
    scenario.duration = Span::from_ms(1600);
    let run = run(&kept(scenario));
    let (sent_ns, _) = run.resent()[0];
    let rounds = [60, 180, 300, 420].map(|ms| run.window_after(sent_ns + ms * MS));
    assert_eq!((rounds, run.flow("f", "timeouts")), ([1, 2, 4, 8], 1));
}

/// RFC 9406 §4.2, §4.3: an ACK counts for eight segments at most (L), a burst that is not paced. Ten
/// segments leave a link of 10 Mbit/s, 1.2112 ms each; the ACKs of the first nine are lost, the tenth
/// leaves the receiver at 42.22 and arrives at 52.22 ms. Slow start alone counts ten.
#[test]
fn an_ack_for_ten_segments_counts_for_eight_with_hystart_plus_plus() {
    let window = |on: bool| {
        let pipe = serial(mbps(10), Span::from_ms(10), 1000);
        let mut scenario = over(Algorithm::Reno, BULK, pipe, |o| o.hystart_plus_plus = on);
        let lost = Loss::Independent { probability: 1.0 };
        scenario.links[0].backward.changes = vec![loss_from(25, lost), loss_from(42, Loss::None)];
        let run = run(&scenario);
        assert_eq!(run.acked()[0].segments, 10);
        run.window_after(53 * MS)
    };
    assert_eq!((window(true), window(false)), (18, 20));
}

/// Ha & Rhee 2011, §4.2: HyStart does not wait. Linux gathers eight samples and looks at the ninth
/// (`hystart_update`), before it counts; eight ACKs have made 28 of 20 by then. Slow start is over,
/// and a fall of the RTT does not bring it back.
#[test]
fn hystart_ends_slow_start_at_once() {
    let run = rise(Algorithm::Cubic, Some(320), |_| ());
    assert_eq!(run.sample_at("f", "ssthresh_packets", Span::from_ms(325)), 28);
    assert_eq!(run.sample_at("f", "ssthresh_packets", Span::from_ms(530)), 28);
}

/// 20 Mbit/s and 30 ms hold 50 packets, the queue a thousand. Slow start fills it and loses; with
/// HyStart++ it ends before.
#[test]
fn hystart_plus_plus_leaves_slow_start_before_a_long_queue_is_full() {
    let losses = |change: fn(&mut TcpOptions)| {
        let pipe = serial(mbps(20), Span::from_ms(20), 1000);
        let mut scenario = every_ms(over(Algorithm::Reno, BULK, pipe, change));
        scenario.duration = Span::from_s(3);
        scenario.sampling.packets = None;
        let run = run(&scenario);
        (
            run.drops("mid/forward").len(),
            run.sample_at("f", "ssthresh_packets", Span::from_ms(2900)),
        )
    };
    let (lost, threshold) = losses(plus_plus);
    assert_eq!(lost, 0);
    assert!((50..1000).contains(&threshold), "{threshold}");
    assert!(losses(|_| ()).0 > 50);
}

/// Window, threshold and drops after slow start over 20 Mbit/s and 100 ms (165 packets) with a queue
/// of 2000 packets.
fn searched(algorithm: Algorithm, search: Search, search_rollback: bool) -> (i64, usize) {
    let pipe = serial(mbps(20), Span::from_ms(90), 2000);
    let mut scenario = every_ms(over(algorithm, BULK, pipe, |o| {
        (o.search, o.search_rollback) = (search, search_rollback);
        (o.tcp_wmem, o.tcp_rmem) = ([4096, 16_000_000, 16_000_000], [4096, 16_000_000, 16_000_000]);
    }));
    scenario.duration = Span::from_s(3);
    scenario.sampling.packets = None;
    let run = run(&scenario);
    let threshold = run.sample_at("f", "ssthresh_packets", Span::from_ms(2900));
    (threshold, run.drops("mid/forward").len())
}

/// draft-chung-ccwg-search §3: with a queue that holds it, the window reaches 6.2 BDP with version
/// 3.1, 5.3 with version 4.0 (closed forms in `crates/cc/src/search/tests.rs`), each up to the end
/// of a bin. Rolled back by 1.75 BDP, and drained to 1.05.
#[test]
fn search_leaves_slow_start_when_deliveries_no_longer_double() {
    let bdp = 2e7 * 0.1 / (8.0 * 1514.0);
    let between = |found: i64, low: f64, high: f64| {
        let found = found as f64 / bdp;
        assert!((low..high).contains(&found), "{found} BDP");
    };
    for algorithm in [Algorithm::Reno, Algorithm::Cubic] {
        for (search, low) in [(Search::Delivered, 6.18), (Search::Sent, 5.32)] {
            let (threshold, lost) = searched(algorithm, search, false);
            between(threshold, low, low + 0.7);
            assert_eq!(lost, 0);
        }
        between(searched(algorithm, Search::Delivered, true).0, 6.18 - 1.75, 6.88 - 1.75);
        between(searched(algorithm, Search::Sent, true).0, 1.0, 1.1);
    }
    assert!(searched(Algorithm::Reno, Search::Off, false).1 > 500);
}

/// The window before and after a pause: 70 segments are written at 20 ms, and again an interval later.
fn idle(interval_ms: u64, change: impl Fn(&mut TcpOptions)) -> [i64; 2] {
    let source = Source::Periodic {
        chunk_bytes: 70 * SEGMENT_BYTES,
        interval: Span::from_ms(interval_ms),
        bytes: None,
    };
    let run = run(&every_ms(over(Algorithm::Reno, source, apart(10), |o| {
        o.tcp_wmem = [4096, 1_000_000, 4_000_000];
        change(o);
    })));
    windows(&run, [150, 20 + interval_ms as i64 + 5])
}

/// RFC 2861 §3.1 (`tcp_cwnd_restart`): halved for each time-out of 220 ms that has passed since the
/// last segment left, not below the initial window (RFC 5681 §4.1 goes there at once). 10, 20 and 40
/// segments leave at 20, 40 and 60 ms, and their ACKs open the window to 80. Idle for 160, 260, 510,
/// 760 and 860 ms: 0, 1, 2, 3 and 3 time-outs. From 5: 5, 10, 20 and 35 until 80 ms, then 75; idle
/// for 740 ms: 37, 18, 9. From 12: 12, 24 and 34, each of which left when the window was full, so that
/// their ACKs count: 82; idle for 760 ms: 41, 20, and 12 in place of 10.
#[test]
fn an_idle_connections_window_is_halved_for_each_timeout() {
    for (interval_ms, window) in [(200, 80), (300, 40), (550, 20), (800, 10), (900, 10)] {
        assert_eq!(idle(interval_ms, |_| ()), [80, window], "every {interval_ms} ms");
        assert_eq!(idle(interval_ms, |o| o.tcp_slow_start_after_idle = false), [80, 80]);
    }
    assert_eq!(idle(800, |o| o.initcwnd = 5), [75, 9]);
    assert_eq!(idle(800, |o| o.initcwnd = 12), [82, 12]);
}

/// Window after chunks of `segments` every 50 ms over an RTT of 20 ms.
fn rate_limited(algorithm: Algorithm, segments: u64, change: impl Fn(&mut TcpOptions)) -> i64 {
    let source = Source::Periodic {
        chunk_bytes: segments * SEGMENT_BYTES,
        interval: Span::from_ms(50),
        bytes: None,
    };
    let run = run(&every_ms(over(algorithm, source, apart(10), |o| {
        o.tcp_slow_start_after_idle = false;
        change(o);
    })));
    run.sample_at("f", "cwnd_packets", Span::from_ms(900))
}

/// draft-ietf-ccwg-ratelimited-increase §3: with flights of 4, slow start goes to twice the initial
/// window, and congestion avoidance (a threshold of 8) one segment beyond it. Linux does not open a
/// window of which less than half is used. Flights of 15 open it to 30 in both.
#[test]
fn a_rate_limited_sender_opens_its_window_as_far_as_its_flights_did() {
    let draft = |o: &mut TcpOptions| o.rate_limited_increase = true;
    let avoids = |o: &mut TcpOptions| (o.rate_limited_increase, o.ssthresh) = (true, 8);
    for algorithm in [Algorithm::Reno, Algorithm::Cubic] {
        assert_eq!(rate_limited(algorithm, 4, |_| ()), 10);
        assert_eq!(rate_limited(algorithm, 4, draft), 20);
        assert_eq!(rate_limited(algorithm, 4, avoids), 11);
        assert_eq!(rate_limited(algorithm, 15, |_| ()), 30);
        assert_eq!(rate_limited(algorithm, 15, draft), 30);
    }
}
