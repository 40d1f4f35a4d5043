//! How the window falls in recovery, and where it ends: rate halving and proportional rate reduction
//! (RFC 6937), ACK by ACK.

mod lab;

use dumbbell_model::scenario::{Algorithm, Source};
use dumbbell_model::{Span, TcpOptions};
use lab::trace::{wired, FIRST_ACK_NS, FULL_NS};
use lab::{run, Run, BULK, SEGMENT_BYTES};

const MS: i64 = 1_000_000;

/// A window of 20 in congestion avoidance; the first segment is lost. The SACKs of 2 to 20 come one
/// frame after the other; the first two let 21 and 22 go, the third sends 1 again.
fn one_of_twenty(algorithm: Algorithm, rate_halving: bool) -> Run {
    run(&wired(algorithm, BULK, [1], |o| {
        (o.initcwnd, o.ssthresh, o.rate_halving) = (20, 20, rate_halving);
    }))
}

/// Which SACKs, from 1, sent new segments between the retransmission and its ACK. SACKs 20 and 21
/// are those of 21 and 22, the retransmission's ACK is the 22nd.
fn sacks_that_send(run: &Run) -> Vec<i64> {
    assert_eq!(run.resent(), [(FIRST_ACK_NS + 2 * FULL_NS, 1)]);
    let ack_of = |sack: i64| match sack {
        1..=19 => FIRST_ACK_NS + (sack - 1) * FULL_NS,
        // A round trip and its frame after what sent it.
        _ => FIRST_ACK_NS + (sack - 20) * FULL_NS + FULL_NS + 20 * MS,
    };
    let sent = run.sent();
    let sends = |sack: &i64| sent.iter().any(|s| !s.again && s.at_ns == ack_of(*sack));
    (4..=21).filter(sends).collect()
}

/// Mathis, Semke & Mahdavi 1999, `tcp_cwnd_down`: the window falls by one with every second ACK, from
/// the third SACK on, which is the first: 19 (one more than the 18 in flight), then 20 − n/2 at an
/// even SACK n, so that each odd one lets a segment go.
#[test]
fn rate_halving_sends_one_packet_for_two_acks() {
    let run = one_of_twenty(Algorithm::Reno, true);
    assert_eq!(sacks_that_send(&run), [5, 7, 9, 11, 13, 15, 17, 19, 21]);
    for sack in 3..=19 {
        let window = run.window_after(FIRST_ACK_NS + (sack - 1) * FULL_NS);
        let expected = if sack == 3 { 19 } else { 20 - sack / 2 };
        assert_eq!(window, expected, "SACK {sack}");
    }
}

/// CUBIC asks for 717/1024 of 20: 14 (RFC 9438 §4.6). Rate halving goes on at one for two until the
/// window is that, at the twelfth SACK, and sends one for one from then on.
#[test]
fn rate_halving_stops_at_the_threshold() {
    let run = one_of_twenty(Algorithm::Cubic, true);
    assert_eq!(sacks_that_send(&run), [5, 7, 9, 11, 13, 14, 15, 16, 17, 18, 19, 20, 21]);
}

/// RFC 6937 §3.1, with RecoverFS 20 and ssthresh 14. The n-th SACK delivers d = n − 2 in all and
/// allows ceil(14·d/20), the retransmission counted: 1 2 3 3 4 5 5 6 7 7 8 9 10 for d = 1 … 13, so
/// that SACKs 4 5 7 8 10 11 13 14 15 send. At d = 15 the flight has come down to 14 and nothing goes;
/// from d = 16 it is below, and each SACK sends one (the slow-start bound, at most 14 − 13).
#[test]
fn proportional_reduction_spreads_what_cubic_gives_up_over_the_round_trip() {
    let run = one_of_twenty(Algorithm::Cubic, false);
    assert_eq!(sacks_that_send(&run), [4, 5, 7, 8, 10, 11, 13, 14, 15, 18, 19, 20, 21]);
}

/// Twelve of twenty are lost; FACK finds them. Windows with rate halving, at SACKs 1 to 8 and the
/// ACKs of the retransmissions after them, and at the end of recovery.
fn twelve_of_twenty(change: impl Fn(&mut TcpOptions)) -> Run {
    let run = run(&wired(Algorithm::Reno, BULK, 1..=12, |o| {
        (o.initcwnd, o.ssthresh, o.tcp_fack) = (20, 20, true);
        change(o);
    }));
    assert_eq!((run.flow("f", "timeouts"), run.flow("f", "recoveries")), (0, 1));
    run
}

/// The last window in recovery, and the first after it.
fn around_the_end(run: &Run) -> (i64, i64) {
    let windows = run.windows();
    let last = windows.iter().rposition(|(_, state, _)| state == "Recovery").expect("a recovery");
    (windows[last].2, windows[last + 1].2)
}

/// `tcp_cwnd_down`: the window is at most one more than what is in flight, and falls with every
/// second ACK to min_cwnd, 10/2 for Reno. SACK n of segment 12 + n marks 9 + n lost, up to 12; in
/// flight are 20 − n − lost + sent again: 9 8 7 7 6 6 5 5; one is sent again with SACKs 1 2 3 5 7.
#[test]
fn rate_halving_follows_the_flight_down_when_much_is_lost() {
    let run = twelve_of_twenty(|o| o.rate_halving = true);
    let window = |sack: i64| run.window_after(FIRST_ACK_NS + (sack - 1) * FULL_NS);
    assert_eq!([1, 2, 3, 4, 5, 6, 7, 8].map(window), [10, 9, 8, 7, 7, 6, 6, 5]);
    let sack = |at_ns: i64| (at_ns - FIRST_ACK_NS) / FULL_NS + 1;
    let first: Vec<(i64, i64)> =
        run.resent()[..5].iter().map(|(at, id)| (sack(*at), *id)).collect();
    assert_eq!(first, [(1, 1), (2, 2), (3, 3), (5, 4), (7, 5)]);
}

/// The end: min(cwnd, ssthresh) of 5 and 10 for rate halving (`tcp_complete_cwr`), and the ACK that
/// ends recovery counts in slow start: 6. RFC 6937 §3.1 ends with ssthresh.
#[test]
fn rate_halving_ends_where_it_came_to_and_proportional_reduction_at_the_threshold() {
    assert_eq!(around_the_end(&twelve_of_twenty(|o| o.rate_halving = true)), (5, 6));
    assert_eq!(around_the_end(&twelve_of_twenty(|_| ())).1, 10);
}

/// RFC 6937 §3: at the end the window is ssthresh, however little is in flight. Of twenty segments, all
/// there are, the first 17 are lost, and all are sent again. The ACK before the last delivers 3 + 16
/// of 3 + 17 and leaves one in flight; it advances, 17 are sent, so that max(19 − 17, 1) + 1 = 3 more
/// could go: a window of 4. The last one makes it 10.
#[test]
fn proportional_reduction_ends_at_the_threshold_with_little_in_flight() {
    let source = Source::Periodic {
        chunk_bytes: 20 * SEGMENT_BYTES,
        interval: Span::from_s(5),
        bytes: None,
    };
    let run = run(&wired(Algorithm::Reno, source, 1..=17, |o| {
        (o.initcwnd, o.ssthresh, o.tcp_fack) = (20, 20, true);
        o.tcp_wmem = [4096, 1_000_000, 4_000_000];
    }));
    assert_eq!((run.flow("f", "retransmitted_packets"), run.flow("f", "timeouts")), (17, 0));
    assert_eq!(around_the_end(&run), (4, 10));
}
