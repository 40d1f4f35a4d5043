//! Short exchanges whose every packet has a known time, read from the tables to the nanosecond.

mod lab;

use dumbbell_model::scenario::{Algorithm, Pipe, Scenario, Source};
use dumbbell_model::Span;
use lab::{
    delay, dumbbell, left_open, mbps, run, scripted, segments, serial, tcp, with, SEGMENT_BYTES,
};

const MS: i64 = 1_000_000;
/// Serialisation at 10 Mbit/s, nanoseconds per byte.
const BYTE_NS: i64 = 800;
/// The frame of a SYN with its options, of an ACK with timestamps, of a full segment.
const SYN: i64 = 74;
const ACK: i64 = 66;
const FULL: i64 = 1514;
/// From the handshake's end to the application's first write.
const WAKE_UP: i64 = 1000;
/// From its first unit to the rest of what it writes.
const COPYING: i64 = 256;
/// From an ACK that makes space until the application writes: three readings of the clock.
const WRITES: i64 = 3 * 256;

fn over(source: Source, forward: Pipe) -> Scenario {
    let mut scenario = dumbbell(Span::from_s(2), 1, forward, delay(Span::from_ms(10)));
    scenario.sampling.interval = Span::from_us(100);
    scenario.flows.push(tcp("f", 0, Algorithm::Reno, source));
    scenario
}

fn ten_mbit() -> Pipe {
    serial(mbps(10), Span::from_ms(10), 100)
}

#[test]
fn the_handshake_takes_a_syn_and_a_round_trip() {
    let run = run(&over(segments(1), ten_mbit()));
    assert_eq!(run.flow("f", "start_ns"), 0);
    assert_eq!(run.flow("f", "established_ns"), 20 * MS + SYN * BYTE_NS);
}

#[test]
fn ten_segments_leave_the_wire_one_after_the_other() {
    let run = run(&over(segments(10), ten_mbit()));
    let established = 20 * MS + SYN * BYTE_NS;
    // The handshake's ACK is on the wire first; the data waits behind it.
    // The FIN follows: the application closes after its last write, and that was sent already.
    let end = established + ACK * BYTE_NS + (10 * FULL + ACK) * BYTE_NS + 10 * MS;
    assert_eq!(run.transfer_end("f"), end);
    assert_eq!(run.flow("f", "last_delivery_ns"), end);
    // The ACK of the FIN comes back at once.
    assert_eq!(run.flow("f", "end_ns"), end + 10 * MS);
    // SYN, ACK, ten segments, FIN, and the ACK of the other side's FIN.
    assert_eq!(run.flow("f", "sent_packets"), 14);
    assert_eq!(run.flow("f", "sent_bytes"), SYN + ACK + 10 * FULL + ACK + ACK);
    // Round trips at the sender's tap: the first segment's and the last one's.
    assert_eq!(run.flow("f", "tap_rtt_samples"), 10);
    let data = end - ACK * BYTE_NS; // Without the FIN.
    assert_eq!(run.flow("f", "tap_rtt_max_ns"), data + 10 * MS - established - WAKE_UP);
}

#[test]
fn a_small_segment_is_its_bytes_longer_than_an_ack() {
    let run = run(&over(Source::Bulk { bytes: Some(100), refill: Span::ZERO }, ten_mbit()));
    let established = 20 * MS + SYN * BYTE_NS;
    let end = established + (ACK + ACK + 100 + ACK) * BYTE_NS + 10 * MS; // Its FIN follows.
    assert_eq!(run.transfer_end("f"), end);
    assert_eq!(run.flow("f", "delivered_bytes"), 100);
}

#[test]
fn each_round_of_slow_start_doubles() {
    // A pure delay: 10, 20, 40 segments at 20, 40, 60 ms; each segment is acknowledged at once.
    let run = run(&over(segments(70), delay(Span::from_ms(10))));
    assert_eq!(run.transfer_end("f"), 70 * MS + WAKE_UP + COPYING + WRITES);
    let delivered = run.samples("f", "delivered_bytes");
    let at = |ms: i64| delivered.iter().find(|(time, _)| *time == ms * MS + 100_000).map(|s| s.1);
    let bytes = |count: u64| Some((count * SEGMENT_BYTES) as i64);
    assert_eq!(
        (at(29), at(30), at(49), at(50), at(70)),
        (Some(0), bytes(10), bytes(10), bytes(30), bytes(70),)
    );
    let windows = run.samples("f", "cwnd_packets");
    let window = |ms: i64| windows.iter().find(|(time, _)| *time == ms * MS + 100_000).map(|s| s.1);
    assert_eq!((window(25), window(45), window(65)), (Some(10), Some(20), Some(40)));
}

#[test]
fn a_fast_retransmission_comes_with_the_third_duplicate() {
    // Segment 3 of 10 is lost on the serial link, 1.2112 ms each. RACK without reordering seen
    // marks it lost with the third SACK: that of segment 6.
    let scenario = over(segments(10), scripted(ten_mbit(), "f", [3]));
    let run = run(&scenario);
    let first = 20 * MS + (SYN + ACK) * BYTE_NS;
    let dropped = run.drops("mid/forward");
    assert_eq!(dropped.len(), 1);
    // Loss strikes at the entrance of the link, in the burst after the handshake.
    let burst = 20 * MS + SYN * BYTE_NS + WAKE_UP;
    assert_eq!((dropped[0].0, dropped[0].2), (burst, 2 * SEGMENT_BYTES as i64));
    // Segments 1, 2, 4, 5, 6 are the first five on the wire.
    let third_sack = first + 5 * FULL * BYTE_NS + 20 * MS;
    // The wire is free by then: nine segments end after 10.9 ms. The retransmission arrives last.
    let end = third_sack + FULL * BYTE_NS + 10 * MS;
    assert_eq!(run.transfer_end("f"), end);
    assert_eq!(run.flow("f", "fast_retransmitted_packets"), 1);
    assert_eq!(run.flow("f", "spurious_retransmitted_packets"), 0);
    assert_eq!((run.flow("f", "recoveries"), run.flow("f", "timeouts")), (1, 0));
}

#[test]
fn a_lost_only_segment_comes_again_after_220_ms() {
    let scenario = over(left_open(1), scripted(delay(Span::from_ms(10)), "f", [1]));
    let timed_out = run(&with(&scenario, |o| o.tcp_early_retrans = 0));
    // Sent at 20 ms, RTO 220 ms on a wheel of 8 ms at that distance, 10 ms to the receiver.
    let end = timed_out.flow("f", "last_delivery_ns");
    assert!((250 * MS..=258 * MS).contains(&end), "{end}");
    assert_eq!(timed_out.flow("f", "timeout_retransmitted_packets"), 1);
    // With one segment out the probe waits as long (RFC 8985 §7.2 with Linux's 200 ms).
    let probed = run(&scenario);
    assert_eq!(probed.flow("f", "probe_retransmitted_packets"), 1);
    assert_eq!(probed.flow("f", "last_delivery_ns"), end);
}

#[test]
fn halving_at_the_first_loss() {
    // Ten segments of 40 in the third round; the window at the loss is 40 or a little more.
    let scenario = over(segments(300), scripted(delay(Span::from_ms(10)), "f", [31]));
    let run = run(&scenario);
    let thresholds = run.samples("f", "ssthresh_packets");
    let first = thresholds.iter().find(|(_, value)| *value < 1000).expect("a loss");
    // Segments 31 to 70 leave at 60 ms; the SACKs come at 80 ms.
    assert_eq!(first.0, 80 * MS + if first.0 > 80 * MS { 100_000 } else { 0 });
    assert_eq!(first.1, 20);
}

#[test]
fn a_remembered_threshold_ends_slow_start() {
    // 10, then 16 at the threshold, then one more per round trip (RFC 5681 §3.1).
    let scenario = with(&over(segments(200), delay(Span::from_ms(10))), |o| o.ssthresh = 16);
    let windows = run(&scenario).samples("f", "cwnd_packets");
    let window = |ms: i64| windows.iter().find(|(time, _)| *time == ms * MS).map(|s| s.1);
    assert_eq!([25, 45, 65, 85].map(window), [Some(10), Some(16), Some(17), Some(18)]);
}

/// The queue has room for one: behind the handshake's ACK on the wire the first segment waits, the
/// second, of 100 bytes, and the FIN are dropped. Without SACK, and so without a probe, the time-out
/// sends both as one segment.
#[test]
fn a_fin_goes_with_the_data_before_it_when_both_are_sent_again() {
    let source = Source::Bulk { bytes: Some(SEGMENT_BYTES + 100), refill: Span::ZERO };
    let scenario = over(source, serial(mbps(10), Span::from_ms(10), 1));
    let run = run(&with(&scenario, |o| (o.tcp_sack, o.tcp_dsack) = (false, false)));
    let dropped: Vec<_> = run.drops("mid/forward").iter().map(|drop| drop.2).collect();
    assert_eq!(dropped, [SEGMENT_BYTES as i64, SEGMENT_BYTES as i64 + 100]);
    assert_eq!((run.flow("f", "timeouts"), run.flow("f", "retransmitted_packets")), (1, 1));
    assert_eq!(run.flow("f", "received_bytes"), SYN + ACK + FULL + (ACK + 100) + ACK);
}

/// What comes back: the SYN-ACK, an ACK for each segment, and the receiver's FIN, which carries the
/// ACK of the sender's.
#[test]
fn the_receivers_fin_carries_the_ack_of_the_senders() {
    let run = run(&over(segments(3), ten_mbit()));
    assert_eq!(run.pipe("mid/backward", "arrived_packets"), 1 + 3 + 1);
}
