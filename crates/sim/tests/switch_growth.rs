//! How often the receiver acknowledges, and what an ACK counts for when the window grows: appropriate
//! byte counting (RFC 3465) as Linux had it before 3.9.

mod lab;

use dumbbell_model::scenario::{Algorithm, Change, Loss, Scenario, Source};
use dumbbell_model::{DelayedAck, Span, TcpOptions};
use lab::trace::{over, wired};
use lab::{mbps, run, scripted, segments, serial, tcp_of, ten_ms, Run, BULK, SEGMENT_BYTES};

const MS: i64 = 1_000_000;

/// The receiver reads 1000 segments at a time, so that reading asks for no ACK of its own and no
/// ACK waits for it.
fn reads_late(mut scenario: Scenario) -> Scenario {
    tcp_of(&mut scenario.flows[0]).sink.lowat_bytes = 1000 * SEGMENT_BYTES;
    scenario
}

/// How many segments the ACKs acknowledge in all, one after the other.
fn acks(count: u64, how: DelayedAck, change: impl Fn(&mut TcpOptions)) -> Vec<i64> {
    let run = run(&reads_late(wired(Algorithm::Reno, segments(count), [], |o| {
        o.delayed_ack = how;
        change(o);
    })));
    assert_eq!(run.flow("f", "retransmitted_packets"), 0);
    run.acked().iter().map(|ack| ack.segments).collect()
}

/// Route attribute quickack: one ACK for each segment.
#[test]
fn without_delayed_acks_each_segment_is_acknowledged() {
    let all: Vec<i64> = (1..=101).collect();
    assert_eq!(acks(101, DelayedAck::Never, |_| ()), all);
}

/// RFC 1122 §4.2.3.2, RFC 5681 §4.2: at least for every second full segment, while the receiver's
/// window opens too; the last of 101 has the FIN and is acknowledged at once.
#[test]
fn every_second_segment_is_acknowledged_from_the_first_on() {
    let every_second: Vec<i64> = (1..=50).map(|ack| 2 * ack).chain([101]).collect();
    assert_eq!(acks(101, DelayedAck::EverySecond, |_| ()), every_second);
}

/// Linux starts with 16 quick ACKs (`TCP_MAX_QUICKACKS`; a window of 45 segments would allow 22), and
/// acknowledges every second segment then, where the receiver's window has no room to open.
#[test]
fn sixteen_quick_acks_come_first() {
    let expected: Vec<i64> = (1..=16).chain((9..=50).map(|ack| 2 * ack)).chain([101]).collect();
    let fixed = |o: &mut TcpOptions| {
        o.tcp_moderate_rcvbuf = false;
        o.tcp_rmem = [4096, 131_072, 131_072];
    };
    assert_eq!(acks(101, DelayedAck::Adaptive, fixed), expected);
}

/// When the first ACK of a lone segment comes, which leaves 1 µs after the handshake of 20 ms.
fn lone(how: DelayedAck) -> i64 {
    let source =
        Source::Periodic { chunk_bytes: SEGMENT_BYTES, interval: Span::from_s(5), bytes: None };
    let scenario = over(Algorithm::Reno, source, ten_ms(), |o| o.delayed_ack = how);
    run(&reads_late(scenario)).acked()[0].at_ns
}

/// RFC 1122 §4.2.3.2: a lone segment waits for a second one, by Linux for 40 ms (`TCP_ATO_MIN`) from
/// the tick in which it came, 30 ms: to 70, the end of that tick 71.
#[test]
fn a_lone_segment_is_acknowledged_after_40_ms_or_at_once() {
    assert_eq!(lone(DelayedAck::Never), 40 * MS + 1000);
    assert_eq!(lone(DelayedAck::Adaptive), 40 * MS + 1000);
    assert_eq!(lone(DelayedAck::EverySecond), 71 * MS + 10 * MS);
}

/// RFC 9293 §3.10.7.4: what was received before is acknowledged at once, whatever the policy. The
/// first ACK of a lone segment is lost; sent again at 248 ms (20 + 220, on the wheel 31 · 8), it
/// arrives at 258, and its ACK at 268.
#[test]
fn a_segment_that_came_before_is_acknowledged_at_once() {
    let source =
        Source::Periodic { chunk_bytes: SEGMENT_BYTES, interval: Span::from_s(5), bytes: None };
    let mut scenario = over(Algorithm::Reno, source, ten_ms(), |o| {
        o.delayed_ack = DelayedAck::EverySecond;
    });
    scenario.links[0].backward.changes = mute(25_000, 200_000);
    let acked = run(&reads_late(scenario)).acked();
    assert_eq!(acked[0].at_ns, 268 * MS);
}

/// All is lost between two moments, microseconds.
fn mute(from_us: u64, to_us: u64) -> Vec<Change> {
    let change = |at_us, loss| Change {
        at: Span::from_us(at_us),
        rate_bps: None,
        delay: None,
        loss: Some(loss),
        state: None,
    };
    vec![change(from_us, Loss::Independent { probability: 1.0 }), change(to_us, Loss::None)]
}

/// What the four settings of `tcp_abc` make of a scenario: not set, 0, 1, 2.
fn four(scenario: impl Fn(Option<u32>) -> Scenario) -> [Run; 4] {
    [None, Some(0), Some(1), Some(2)].map(|abc| run(&scenario(abc)))
}

/// Slow start over 20 ms, an ACK for every second segment.
fn slow_start(abc: Option<u32>) -> Scenario {
    reads_late(over(Algorithm::Reno, BULK, ten_ms(), |o| {
        (o.initcwnd, o.tcp_abc, o.delayed_ack) = (4, abc, DelayedAck::EverySecond);
    }))
}

/// RFC 3465 §2.2, §2.3, RFC 5681 §3.1: an ACK counts for one segment (0), for what it acknowledges
/// but one at most (1), or two at most (2); Linux since 3.9: for what it acknowledges. From 4, two
/// ACKs of two segments each make 6, or 8; three ACKs make 9 of 6, six more make 16 of 8.
#[test]
fn in_slow_start_with_every_second_ack_byte_counting_to_two_doubles_the_window() {
    let windows = |run: &Run| [30, 50, 70].map(|ms| run.window_after(ms * MS));
    let [packets, off, one, two] = four(slow_start);
    assert_eq!(windows(&packets), [4, 8, 16]);
    assert_eq!(windows(&off), [4, 6, 9]);
    assert_eq!(windows(&one), [4, 6, 9]);
    assert_eq!(windows(&two), [4, 8, 16]);
}

/// The same at every moment: with each ACK of two segments the window grows by two, or by one.
#[test]
fn in_slow_start_the_window_is_the_first_and_what_acks_counted_for() {
    for (run, per_ack) in four(slow_start).iter().zip([2, 1, 1, 2]) {
        let mut seen = 0;
        for (window, acked) in windows_and_acked(run) {
            if (1..200).contains(&acked) {
                assert_eq!(window, 4 + acked / 2 * per_ack, "{acked}");
                seen += 1;
            }
        }
        assert!(seen > 100);
    }
}

/// Window and acknowledged segments at each sample, as long as each ACK covers two segments.
fn windows_and_acked(run: &Run) -> Vec<(i64, i64)> {
    let acked = run.samples("f", "acked_bytes").into_iter();
    let windows = run.samples("f", "cwnd_packets").into_iter();
    windows.zip(acked).map(|((_, w), (_, a))| (w, a / SEGMENT_BYTES as i64)).collect()
}

/// RFC 3465 §2.3: a stretch ACK. Ten segments leave a link of 10 Mbit/s, 1.2112 ms each, from
/// 20.112 ms on; the ACKs of the first seven are lost, the eighth, for eight segments, arrives at
/// 20.112 + 8 · 1.2112 + 20 = 49.80 ms, the tenth at 52.22 ms. It counts for eight, one, one, two.
#[test]
fn an_ack_for_eight_segments_counts_for_eight_or_one_or_two() {
    let runs = four(|abc| {
        let pipe = serial(mbps(10), Span::from_ms(10), 1000);
        let mut scenario = over(Algorithm::Reno, BULK, pipe, |o| o.tcp_abc = abc);
        // The seventh leaves the receiver at 38.59, the eighth at 39.80 ms.
        scenario.links[0].backward.changes = mute(25_000, 39_000);
        scenario
    });
    let windows = |run: &Run| [49_000, 50_000, 54_000].map(|us| run.window_after(us * 1000));
    let expected = [[10, 18, 20], [10, 11, 13], [10, 11, 13], [10, 12, 14]];
    for (run, expected) in runs.iter().zip(expected) {
        assert_eq!(run.acked()[0].segments, 8);
        assert_eq!(windows(run), expected);
    }
}

/// RFC 3465 §2.1: in congestion avoidance a window of bytes moves it by one segment: from 8, all of
/// 8, 9, 10, … segments, one per round trip. Without byte counting a window of ACKs does: from 8, all
/// of 8, 9, … ACKs of two segments each, half as fast. Linux since 3.9 counts segments.
#[test]
fn in_congestion_avoidance_acks_count_half_as_much_as_the_bytes_they_acknowledge() {
    let runs = four(|abc| {
        reads_late(over(Algorithm::Reno, BULK, ten_ms(), |o| {
            (o.initcwnd, o.ssthresh) = (8, 8);
            (o.tcp_abc, o.delayed_ack) = (abc, DelayedAck::EverySecond);
        }))
    });
    for (run, segments_per_count) in runs.iter().zip([1, 2, 1, 1]) {
        let (mut from, mut to) = (i64::MAX, 0);
        for (window, acked) in windows_and_acked(run) {
            if (0..=300).contains(&acked) {
                let (mut expected, mut left) = (8, acked / segments_per_count);
                while left >= expected {
                    left -= expected;
                    expected += 1;
                }
                assert_eq!(window, expected, "{acked} acknowledged");
                (from, to) = (from.min(window), to.max(window));
            }
        }
        assert!(from == 8 && to >= 18, "{from} {to}");
    }
}

/// CUBIC went on by ACKs (`tcp_reno_cong_avoid` alone looked at bytes): `tcp_abc` makes no difference
/// above the threshold.
#[test]
fn cubic_counts_acks_above_its_threshold() {
    let windows = |abc| {
        let run = run(&reads_late(wired(Algorithm::Cubic, BULK, [], |o| {
            (o.initcwnd, o.ssthresh) = (20, 20);
            (o.tcp_abc, o.delayed_ack) = (Some(abc), DelayedAck::EverySecond);
        })));
        run.samples("f", "cwnd_packets")
    };
    assert_eq!(windows(1), windows(0));
}

/// RFC 3465 §2.3: after a time-out an ACK counts for one segment at most, whatever the limit. All of
/// ten are lost; 1 is sent again at 248 ms (20 + 220, on the wheel 31 · 8), and acknowledged after
/// 40 ms (299 = the end of the tick 258 + 40), at 309 ms: a window of 2. The ACK of 2 and 3 at 329 ms
/// makes it 3, where packets count 4.
#[test]
fn after_a_timeout_an_ack_counts_for_one_segment() {
    let runs = four(|abc| {
        reads_late(over(Algorithm::Reno, BULK, scripted(ten_ms(), "f", 1..=10), |o| {
            (o.tcp_abc, o.delayed_ack) = (abc, DelayedAck::EverySecond);
        }))
    });
    for (run, window) in runs.iter().zip([4, 3, 3, 3]) {
        assert_eq!([308, 310, 328, 330].map(|ms| run.window_after(ms * MS)), [1, 2, 2, window]);
    }
}
