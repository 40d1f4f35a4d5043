//! Without SACK: limited transmit (RFC 3042) and NewReno (RFC 6582), packet by packet.

mod lab;

use dumbbell_model::scenario::Algorithm;
use dumbbell_model::TcpOptions;
use lab::run;
use lab::trace::{wired, Sent, FIRST_ACK_NS, FULL_NS};
use lab::BULK;

const MS: i64 = 1_000_000;

/// Without window scaling, all ACKs offer the window of the SYN-ACK.
fn no_sack(o: &mut TcpOptions) {
    (o.tcp_sack, o.tcp_dsack, o.tcp_window_scaling) = (false, false, false);
}

/// Time on the wire of the window scale, 4 bytes, which the SYN lacks here.
const SCALE_NS: i64 = 4 * 80;

/// The `nth` duplicate ACK, if 1 of a first flight of ten is lost: the others are acknowledged one frame
/// after the other, and the first ACK of all is none (below).
fn duplicate(nth: i64) -> i64 {
    FIRST_ACK_NS - SCALE_NS + nth * FULL_NS
}

/// RFC 3042 §2: each of the first two duplicate ACKs sends one new segment; RFC 5681 §3.2: the third
/// sends the lost one again.
#[test]
fn two_duplicates_send_new_segments_and_the_third_the_lost_one() {
    let run = run(&wired(Algorithm::Reno, BULK, [1], no_sack));
    let expected = [
        Sent { at_ns: duplicate(1), segment: 11, again: false },
        Sent { at_ns: duplicate(2), segment: 12, again: false },
        Sent { at_ns: duplicate(3), segment: 1, again: true },
    ];
    assert_eq!(run.sent()[10..13], expected);
    assert_eq!((run.flow("f", "recoveries"), run.flow("f", "retransmitted_packets")), (1, 1));
}

/// RFC 5681 §2: an ACK that tells a window is no duplicate. The first one after the SYN-ACK lies behind
/// it in sequence, and so tells one (`tcp_may_update_window`), the same without scaling or one rounded
/// up to a multiple of 128 with it: the fourth is the third duplicate.
#[test]
fn an_ack_that_tells_a_window_is_no_duplicate() {
    for scaling in [false, true] {
        let scenario = wired(Algorithm::Reno, BULK, [1], |o| {
            no_sack(o);
            o.tcp_window_scaling = scaling;
        });
        let later = if scaling { SCALE_NS } else { 0 };
        assert_eq!(run(&scenario).resent()[0], (duplicate(3) + later, 1));
    }
}

/// RFC 6582 §3.2 step 3: a partial ACK sends the next hole again, so that holes are repaired one per
/// round trip. Segments 1, 3 and 5 of ten are lost; the third duplicate sends 1 again on an idle
/// link, its ACK is back a frame and 20 ms later and acknowledges up to 2, and so on.
#[test]
fn partial_acks_send_one_hole_per_round_trip_again() {
    let run = run(&wired(Algorithm::Reno, BULK, [1, 3, 5], no_sack));
    let third = duplicate(3);
    let round = FULL_NS + 20 * MS;
    let resent = run.resent();
    assert_eq!(resent, [(third, 1), (third + round, 3), (third + 2 * round, 5)]);
    assert_eq!((run.flow("f", "recoveries"), run.flow("f", "timeouts")), (1, 0));
}

/// RFC 6582 §3.2 step 2: recovery lasts until all is acknowledged that was sent before it: 1 to 10
/// and the two segments of limited transmit. The partial ACKs of 1 and 3 do not end it, that of 5
/// does, and leaves a window of ssthresh, half of 10.
#[test]
fn recovery_ends_when_what_was_out_is_acknowledged_and_leaves_half_the_window() {
    let run = run(&wired(Algorithm::Reno, BULK, [1, 3, 5], no_sack));
    let third = duplicate(3);
    let round = FULL_NS + 20 * MS;
    let windows = run.windows();
    let recovery: Vec<i64> =
        windows.iter().filter(|(_, state, _)| state == "Recovery").map(|sample| sample.0).collect();
    let (first, last) = (recovery[0], recovery[recovery.len() - 1]);
    assert!(first > third && first <= third + 20_000, "{first}");
    let end = third + 3 * round;
    assert!(last <= end && last > end - 20_000, "{last} {end}");
    assert_eq!(run.window_after(end), 5);
}
