//! Which hole is found lost when: forward acknowledgement, plain SACK (RFC 6675) and the
//! retransmission of what is not marked (NextSeg rule 3), packet by packet.

mod lab;

use dumbbell_model::scenario::{Algorithm, Change, Source};
use dumbbell_model::{Span, TcpOptions};
use lab::trace::{may_reorder, over, wired, FIRST_ACK_NS, FULL_NS};
use lab::{run, scripted, segments, ten_ms, with, BULK, SEGMENT_BYTES};

const MS: i64 = 1_000_000;

fn fack(o: &mut TcpOptions) {
    o.tcp_fack = true;
}

/// When segment 1 is sent again if the first `lost` of ten are lost.
fn recovers_at(lost: u64, change: impl Fn(&mut TcpOptions)) -> i64 {
    let run = run(&wired(Algorithm::Reno, segments(10), 1..=lost, change));
    assert_eq!(run.flow("f", "recoveries"), 1);
    let (at, segment) = run.resent()[0];
    assert_eq!(segment, 1);
    at
}

/// Mathis & Mahdavi 1996, §2.2: recovery begins when snd.fack − snd.una exceeds three segments, or
/// with the third duplicate. The first SACK behind `k` lost segments puts snd.fack at k + 1, the
/// n-th at k + n: more than three for k = 1, 2, 3, 4 with n = 3, 2, 1, 1. The n-th survivor is
/// acknowledged n − 1 frames after the first.
#[test]
fn fack_recovers_when_more_than_three_segments_lie_below_the_highest_sack() {
    for (lost, sack) in [(1, 3), (2, 2), (3, 1), (4, 1)] {
        assert_eq!(recovers_at(lost, fack), FIRST_ACK_NS + (sack - 1) * FULL_NS, "{lost} lost");
    }
}

/// RFC 6675 §5: DupThresh SACKs, however many segments are missing in front of them.
#[test]
fn plain_sack_waits_for_the_third_duplicate() {
    for lost in 1..=4 {
        assert_eq!(recovers_at(lost, |_| ()), FIRST_ACK_NS + 2 * FULL_NS, "{lost} lost");
    }
}

/// Below the highest SACK, less the reordering degree of three, all is lost. Segments 1 to 6 of 12
/// are; the SACKs of 7, 8 and 9 mark the first 4, 5 and 6, and that of 10 finds nothing more to mark.
#[test]
fn fack_marks_all_that_lies_three_segments_below_the_highest_sack() {
    let scenario = wired(Algorithm::Reno, segments(12), 1..=6, |o| {
        o.initcwnd = 12;
        fack(o);
    });
    let run = run(&scenario);
    let lost_at = |sack: i64| {
        let at = FIRST_ACK_NS + (sack - 1) * FULL_NS;
        run.samples("f", "lost_packets").into_iter().find(|sample| sample.0 > at).map(|s| s.1)
    };
    assert_eq!([1, 2, 3, 4].map(lost_at), [Some(4), Some(5), Some(6), Some(6)]);
    assert_eq!(run.flow("f", "timeouts"), 0);
}

/// A retransmission is lost too: of 20 segments the first, and the 23rd packet, which is segment 1
/// again after two segments of limited transmit (RFC 3042). What was sent after it is SACKed a round
/// trip later; then FACK sends it once more (`tcp_mark_lost_retrans`), RACK likewise, since what was
/// sent later was delivered (RFC 8985 §6.2 step 5, no window in recovery before reordering is seen),
/// and plain SACK (RFC 6675 §5.1 has no rule for it) waits for the time-out.
#[test]
fn fack_and_rack_find_a_lost_retransmission_that_plain_sack_leaves_to_the_timeout() {
    let scenario = wired(Algorithm::Reno, BULK, [1, 23], |o| {
        (o.initcwnd, o.ssthresh, o.rate_halving) = (20, 20, true);
    });
    let plain = run(&scenario);
    let fack = run(&with(&scenario, fack));
    let rack = run(&with(&scenario, |o| o.tcp_recovery = 1));
    assert_eq!([&plain, &fack, &rack].map(|run| run.flow("f", "timeouts")), [1, 0, 0]);
    // The third SACK starts recovery, the fifth lets segment 23 go (one for two ACKs). It is alone
    // on the wire, and its SACK comes 20 ms and its frame later.
    let third = FIRST_ACK_NS + 2 * FULL_NS;
    let next_sack = FIRST_ACK_NS + 4 * FULL_NS + FULL_NS + 20 * MS;
    for run in [&fack, &rack] {
        assert_eq!(run.resent()[..2], [(third, 1), (next_sack, 1)]);
    }
    assert_eq!(plain.resent()[0], (third, 1));
    // Sent at the third SACK; the time-out is 200 ms beyond the round trip.
    assert!(plain.resent()[1].0 > third + 220 * MS);
}

/// The same on a path without serialisation: the retransmission and what is sent after it leave at
/// one instant, and are told apart by sequence (`ack_seq`, in `tcp_mark_lost_retrans`).
#[test]
fn what_left_at_the_instant_of_a_retransmission_but_after_it_tells_of_its_loss() {
    let pipe = scripted(ten_ms(), "f", [1, 23]);
    // Written at one instant, all at once.
    let at_once = Source::Periodic {
        chunk_bytes: 100 * SEGMENT_BYTES,
        interval: Span::from_s(9),
        bytes: None,
    };
    let run = run(&over(Algorithm::Reno, at_once, pipe, |o| {
        (o.initcwnd, o.ssthresh, o.rate_halving) = (20, 20, true);
        fack(o);
    }));
    // Data begins 1 µs after the handshake of 20 ms.
    let sacks = 40 * MS + 1000;
    assert_eq!(run.resent()[..2], [(sacks, 1), (sacks + 20 * MS, 1)]);
    assert_eq!(run.flow("f", "timeouts"), 0);
}

/// Duplicate ACKs that it takes to send the first of ten lost segments again, and the reordering
/// degree; with or without two segments of the second flight that three and four others overtake.
fn duplicates_before_recovery(overtaken: bool) -> (usize, i64) {
    // One retransmission, of segment 11, comes before.
    let lost = if overtaken { 102..=111 } else { 101..=110 };
    let mut scenario = wired(Algorithm::Reno, BULK, lost, fack);
    if overtaken {
        // The first ACK lets 11 and 12 go, the second, a frame later, 13 and 14. These and the later
        // ones take 0.55 ms less, four and a half frames: 13, 14, 15, 11, 16, 12, 17.
        scenario.links[0].forward.reordering = may_reorder();
        scenario.links[0].forward.changes = vec![Change {
            at: Span::from_ns((FIRST_ACK_NS + FULL_NS * 3 / 2) as u64),
            rate_bps: None,
            delay: Some(Span::from_us(9_450)),
            loss: None,
            state: None,
        }];
    }
    let run = run(&scenario);
    let resent = run.resent();
    let at = resent.iter().find(|(_, segment)| *segment == 101).expect("sent again").0;
    let acks = run.acked().into_iter().filter(|ack| ack.segments == 100 && ack.at_ns <= at);
    (acks.count() - 1, run.sample_at("f", "reordering_packets", Span::from_ns(at as u64)))
}

/// Reordering is no loss. FACK takes the SACK of 14 for the loss of 11; then 11 itself arrives, when
/// 15 is the highest SACKed: a reordering by five, more than the degree of three, and FACK is off
/// (`tcp_disable_fack`). From then on it takes five duplicates (RFC 6675 with that degree), however
/// many segments are missing.
#[test]
fn observed_reordering_switches_fack_off() {
    assert_eq!(duplicates_before_recovery(false), (1, 3));
    assert_eq!(duplicates_before_recovery(true), (5, 5));
}

/// RFC 6675 §4, NextSeg rule 3. Segments 5 and 9 of ten are lost. SACKs of 6, 7, 8 send 5 again;
/// that of 10 leaves one SACKed segment above 9, too few to call it lost. No new data is left: with
/// the rule 9 is sent again with that SACK, without it it waits for the time-out.
#[test]
fn an_unmarked_hole_is_sent_again_when_there_is_nothing_else_to_send() {
    let scenario = wired(Algorithm::Reno, segments(10), [5, 9], |_| ());
    let without = run(&scenario);
    let with_rule = run(&with(&scenario, |o| o.forward_retransmit = true));
    // Eight frames of ten are on the wire: 1 to 4, 6, 7, 8, 10.
    let ack_of = |nth: i64| FIRST_ACK_NS + (nth - 1) * FULL_NS;
    assert_eq!(with_rule.resent(), [(ack_of(7), 5), (ack_of(8), 9)]);
    assert_eq!(with_rule.flow("f", "timeouts"), 0);
    // 5 leaves when the seventh ACK comes and 9 right behind it.
    assert_eq!(with_rule.transfer_end("f"), ack_of(8) + FULL_NS + 10 * MS);
    assert_eq!(without.resent()[0], (ack_of(7), 5));
    assert_eq!((without.flow("f", "timeouts"), without.resent()[1].1), (1, 9));
    assert!(without.transfer_end("f") > with_rule.transfer_end("f") + 200 * MS);
}

/// RFC 6937 §3: prr_out counts whatever is sent in recovery, retransmissions by rule 3 too. As above:
/// slow start went from 10 to 14 with four ACKs, so ssthresh is 7. The third duplicate delivers 1,
/// sends 5 (out 1); the SACK of 10 delivers 2, sends 9 (out 2); that of the FIN, a segment of its own,
/// delivers 3. The ACK of 5 delivers 4, leaves 9, 10 and the FIN (both SACKed), and 9's retransmission
/// in flight: 2. It advances without a new loss, so that max(4 − 2, 1) + 1 = 3 more may be sent, below
/// 7 − 2: a window of 5.
#[test]
fn what_rule_3_sends_counts_against_the_reduction() {
    let scenario = wired(Algorithm::Reno, segments(10), [5, 9], |o| o.forward_retransmit = true);
    let ack_of_5 = FIRST_ACK_NS + 7 * FULL_NS + 20 * MS;
    assert_eq!(run(&scenario).window_after(ack_of_5), 5);
}
