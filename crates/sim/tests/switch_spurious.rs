//! Reductions that were needless, and their undoing (RFC 3522, RFC 3708, RFC 5682), and repairs that
//! spare a time-out (RFC 8985), packet by packet.

mod lab;

use dumbbell_model::scenario::{Algorithm, Change, Pipe, Scenario};
use dumbbell_model::{Span, TcpOptions};
use lab::trace::{may_reorder, over, wired, FIRST_ACK_NS, FULL_NS};
use lab::{run, scripted, ten_ms, Run, BULK};

const MS: i64 = 1_000_000;
/// Before the first loss.
const NO_THRESHOLD: i64 = 0x7fff_ffff;

fn delay_from(at: Span, delay: Span) -> Change {
    Change { at, rate_bps: None, delay: Some(delay), loss: None, state: None }
}

/// The second flight of twenty, 11 to 30, leaves two segments per ACK. The first ACK sends 11 and 12
/// over 10 ms; what the later ones send takes 0.55 ms less, four and a half frames, and overtakes:
/// 13, 14, 15, 11, 16, 12, 17. The third SACK, that of 15, starts recovery with half of 20.
fn overtaken(timestamps: bool, dsack: bool) -> Run {
    let mut scenario = wired(Algorithm::Reno, BULK, [], |o| {
        (o.tcp_timestamps, o.tcp_dsack) = (timestamps, dsack);
    });
    let at = Span::from_ns((FIRST_ACK_NS + FULL_NS * 3 / 2) as u64);
    scenario.links[0].forward.changes = vec![delay_from(at, Span::from_us(9_450))];
    scenario.links[0].forward.reordering = may_reorder();
    scenario.duration = Span::from_ms(90); // Before slow start fills the queue.
    run(&scenario)
}

/// When the threshold was 10 first, and when it was infinite again.
fn reduced_and_undone(run: &Run) -> (i64, Option<i64>) {
    let thresholds = run.samples("f", "ssthresh_packets");
    let reduced = thresholds.iter().find(|sample| sample.1 == 10).expect("a reduction").0;
    let undone = thresholds.iter().find(|sample| sample.0 > reduced && sample.1 == NO_THRESHOLD);
    (reduced, undone.map(|sample| sample.0))
}

/// Eifel (RFC 3522): the ACK of the original 11, which arrives half a frame after 15 (65 µs), echoes
/// a time before the retransmission. The window is 20 again and grows by what the ACK delivers: 21.
#[test]
fn a_timestamp_undoes_a_needless_reduction_with_the_ack_of_the_original() {
    let run = overtaken(true, false);
    assert_eq!((run.flow("f", "recoveries"), run.flow("f", "undos")), (1, 1));
    let (reduced, undone) = reduced_and_undone(&run);
    let undone = undone.expect("undone");
    assert!((40_000..=100_000).contains(&(undone - reduced)), "{reduced} {undone}");
    assert_eq!(run.window_after(undone - 1), 21);
}

/// RFC 3708: the retransmission arrives too, and the DSACK tells, a round trip after it was sent:
/// 19.45 ms and its frame, behind at most three frames of new data.
#[test]
fn a_dsack_undoes_a_needless_reduction_a_round_trip_later() {
    let run = overtaken(false, true);
    assert_eq!((run.flow("f", "recoveries"), run.flow("f", "undos")), (1, 1));
    let (reduced, undone) = reduced_and_undone(&run);
    let waited = undone.expect("undone") - reduced;
    let round = 19_450_000 + FULL_NS;
    assert!(round - 20_000 <= waited && waited <= round + 3 * FULL_NS + 20_000, "{waited}");
}

/// Without either, nothing tells.
#[test]
fn without_timestamps_and_dsack_a_needless_reduction_stays() {
    let run = overtaken(false, false);
    assert_eq!((run.flow("f", "recoveries"), run.flow("f", "undos")), (1, 0));
    assert_eq!(reduced_and_undone(&run).1, None);
}

/// Ten segments leave at 20 ms, when the way there has become 400 ms long; the time-out at 240 ms, on
/// the wheel 248 = 31 · 8, is needless. ACKs of the originals come at 430 ms.
fn held(frto: u32, timestamps: bool) -> Run {
    let pipe =
        Pipe { changes: vec![delay_from(Span::from_ms(15), Span::from_ms(400))], ..ten_ms() };
    run(&over(Algorithm::Reno, BULK, pipe, |o| {
        (o.tcp_frto, o.tcp_timestamps) = (frto, timestamps);
        (o.tcp_sack, o.tcp_dsack) = (true, false);
    }))
}

/// What left from a moment on.
fn from(run: &Run, at_ms: i64, count: usize) -> Vec<(i64, i64)> {
    let sent = run.sent().into_iter().filter(|sent| sent.at_ns >= at_ms * MS);
    sent.take(count).map(|sent| (sent.at_ns / MS, sent.segment)).collect()
}

/// RFC 5682 §2.1 step 2b: the first ACK after a time-out sends new segments, two, in place of
/// retransmissions; step 3b: the second, of what was not sent again, tells that the time-out was
/// needless.
#[test]
fn f_rto_sends_two_new_segments_and_then_takes_the_timeout_back() {
    let run = held(2, false);
    assert_eq!(from(&run, 200, 3), [(248, 1), (430, 11), (430, 12)]);
    assert_eq!((run.flow("f", "retransmitted_packets"), run.flow("f", "undos")), (1, 1));
    assert_eq!(run.sample_at("f", "ssthresh_packets", Span::from_ms(440)), NO_THRESHOLD);
}

/// Eifel: the echo of the first ACK is older than the retransmission.
#[test]
fn a_timestamp_takes_a_needless_timeout_back_with_the_first_ack() {
    let run = held(0, true);
    assert_eq!((run.flow("f", "retransmitted_packets"), run.flow("f", "undos")), (1, 1));
    assert_eq!(run.sample_at("f", "ssthresh_packets", Span::from_ms(440)), NO_THRESHOLD);
}

/// RFC 5681 §3.1, RFC 6298 §5: with neither, slow start from one segment sends again what the network
/// still holds, 2 and 3 first; the threshold stays at half of 10.
#[test]
fn without_either_what_the_network_holds_is_sent_again() {
    let run = held(0, false);
    assert_eq!(from(&run, 200, 3), [(248, 1), (430, 2), (430, 3)]);
    assert_eq!(run.flow("f", "undos"), 0);
    assert_eq!(run.sample_at("f", "ssthresh_packets", Span::from_ms(440)), 5);
}

/// RFC 5682 §2.1 step 3a: all of ten are lost. The ACK of 1 at 268 ms lets 11 and 12 go; their SACKs
/// at 288 ms show that the loss was real, and retransmission goes on with 2.
#[test]
fn f_rto_goes_on_with_retransmissions_when_new_segments_are_sacked() {
    let scenario = |frto: u32| {
        let pipe = scripted(ten_ms(), "f", 1..=10);
        over(Algorithm::Reno, BULK, pipe, move |o: &mut TcpOptions| o.tcp_frto = frto)
    };
    let on = run(&scenario(2));
    assert_eq!(from(&on, 200, 4), [(248, 1), (268, 11), (268, 12), (288, 2)]);
    let off = run(&scenario(0));
    assert_eq!(from(&off, 200, 3), [(248, 1), (268, 2), (268, 3)]);
    assert_eq!((on.flow("f", "undos"), off.flow("f", "undos")), (0, 0));
}

/// All of ten are lost; RACK and tail loss probes as asked for.
fn lost_flight(early_retrans: u32) -> Scenario {
    over(Algorithm::Reno, BULK, scripted(ten_ms(), "f", 1..=10), |o| {
        (o.tcp_early_retrans, o.tcp_recovery) = (early_retrans, 1);
    })
}

/// RFC 8985 §7.2, §7.3: the probe comes after two round trips and 2 ms (more than one segment is out),
/// 42 ticks from 20 to 62, the end of that tick 63; it is new data, although the window is full. §6.2:
/// its SACK at 83 ms is of what was sent later than all of 1 to 10, by more than a quarter of the
/// round trip: they are lost.
#[test]
fn a_probe_is_new_data_if_there_is_any_and_rack_repairs_what_it_finds() {
    let run = run(&lost_flight(3));
    assert_eq!(from(&run, 21, 2), [(63, 11), (83, 1)]);
    assert_eq!((run.flow("f", "timeouts"), run.flow("f", "recoveries")), (0, 1));
    let without = lab::run(&lost_flight(0));
    assert_eq!(from(&without, 21, 1), [(248, 1)]);
    assert_eq!(without.flow("f", "timeouts"), 1);
}
