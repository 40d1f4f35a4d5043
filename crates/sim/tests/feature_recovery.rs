//! Loss recovery: each part switched off or set otherwise, and what that does to a run.

mod lab;

use dumbbell_model::scenario::{Algorithm, Change, Loss, Pipe, Reordering, Scenario};
use dumbbell_model::{Span, TcpOptions};
use lab::{
    delay, dumbbell, left_open, mbps, one_flow, run, scripted, segments, serial, tcp, ten_ms, with,
    Run, BULK,
};

const MS: i64 = 1_000_000;

#[test]
fn the_timeout_is_200_ms_beyond_the_round_trip_and_doubles() {
    let lossy = scripted(ten_ms(), "f", 1..=6);
    let scenario = with(&one_flow(30_000, Algorithm::Cubic, left_open(1), lossy), |o| {
        o.tcp_early_retrans = 0;
    });
    let run = run(&scenario);
    let times: Vec<i64> = run.drops("mid/forward").iter().map(|drop| drop.0).collect();
    assert_eq!((times.len(), run.flow("f", "timeouts")), (6, 6));
    // RFC 6298 §2.3, §5.5 with Linux's floor under the variation: 20 + 200 ms, then twice that
    // each time. Linux's timer wheel is late by an eighth at most.
    let mut rto = 220 * MS;
    for pair in times.windows(2) {
        let waited = pair[1] - pair[0];
        assert!(rto <= waited && waited <= rto * 9 / 8 + MS, "{rto} {waited}");
        rto *= 2;
    }
}

/// Rounded up to a tick first, and then doubled (`icsk_rto`).
#[test]
fn the_timeout_doubles_in_ticks() {
    let pipe = scripted(delay(Span::from_us(10_300)), "f", 1..=5);
    let mut scenario = one_flow(10_000, Algorithm::Cubic, left_open(1), pipe);
    scenario.sampling.interval = Span::from_ms(50);
    let run = run(&with(&scenario, |o| o.tcp_early_retrans = 0));
    let mut rtos: Vec<i64> = run.samples("f", "rto_ns").iter().map(|&(_, rto)| rto / MS).collect();
    rtos.dedup();
    assert_eq!(rtos[..5], [221, 442, 884, 1768, 3536]);
}

#[test]
fn a_connection_without_answers_is_given_up() {
    let mut scenario = one_flow(100_000, Algorithm::Reno, left_open(10), ten_ms());
    scenario.links[0].forward.loss = Loss::Independent { probability: 1.0 };
    let syns = |retries| {
        let run = run(&with(&scenario, |o| o.tcp_syn_retries = retries));
        (run.flow("f", "sent_packets"), run.flow("f", "end_ns") / 1_000_000_000)
    };
    // 1 + 2 + 4 = 7 s after three SYNs, 15 s after four.
    assert_eq!(syns(2), (3, 7));
    let (sent, end) = syns(3);
    assert!(sent == 4 && (15..=16).contains(&end), "{sent} {end}");
    // After the handshake: the first flight, then one retransmission per time-out.
    scenario.links[0].forward = scripted(ten_ms(), "f", 1..=100);
    let run = run(&with(&scenario, |o| (o.tcp_retries2, o.tcp_early_retrans) = (3, 0)));
    assert_eq!((run.flow("f", "timeouts"), run.flow("f", "retransmitted_packets")), (3, 3));
    assert!(run.flow("f", "end_ns") < 5_000 * MS);
}

#[test]
fn rack_repairs_what_too_few_duplicates_report() {
    // The last but one of ten is lost: one SACK. RACK waits a quarter of the minimum RTT.
    let scenario =
        with(&one_flow(3000, Algorithm::Reno, segments(10), scripted(ten_ms(), "f", [9])), |o| {
            o.tcp_early_retrans = 0;
        });
    let rack = run(&scenario);
    let without = run(&with(&scenario, |o| o.tcp_recovery = 0));
    assert_eq!((rack.flow("f", "timeouts"), rack.flow("f", "recoveries")), (0, 1));
    assert_eq!((without.flow("f", "timeouts"), without.flow("f", "recoveries")), (1, 0));
    // Sent at 20 ms, SACK at 40 ms, 5 ms of window and 2 ms of timer, 10 ms to the receiver.
    let end = rack.transfer_end("f");
    assert!((55 * MS..=60 * MS).contains(&end), "{end}");
    assert!(without.transfer_end("f") > 230 * MS);
}

#[test]
fn a_tail_loss_probe_comes_after_two_round_trips() {
    let lossy = scripted(ten_ms(), "f", [9, 10]);
    let scenario = one_flow(3000, Algorithm::Reno, left_open(10), lossy);
    let probe = run(&scenario);
    let without = run(&with(&scenario, |o| o.tcp_early_retrans = 0));
    assert_eq!(probe.flow("f", "probe_retransmitted_packets"), 1);
    assert_eq!((probe.flow("f", "timeouts"), without.flow("f", "timeouts")), (0, 1));
    // ACKs at 40 ms; the probe 2·20 + 2 ms later; its SACK a round trip later finds segment 9.
    let end = probe.flow("f", "last_delivery_ns");
    assert!((112 * MS..=118 * MS).contains(&end), "{end}");
    assert!(without.flow("f", "last_delivery_ns") > 250 * MS);
}

#[test]
fn a_tail_loss_probe_sends_a_deferred_skb_whole() {
    // Segments 2 to 10 are lost. The ACK of the first opens the window for two more. They wait for a
    // larger skb (`tcp_tso_should_defer`): the next ACK is due, but never comes. The probe sends one
    // skb within the window, not one segment (`tcp_write_xmit` with `push_one` 2).
    let path = scripted(delay(Span::from_us(100)), "f", 2..=10);
    let mut scenario = dumbbell(Span::from_ms(20), 1, path, delay(Span::from_us(100)));
    scenario.flows.push(tcp("f", 0, Algorithm::Reno, segments(100)));
    scenario.sampling.interval = Span::from_us(50);
    let run = run(&scenario);
    let flight = run.samples("f", "in_flight_packets");
    let at = |us: i64| flight.iter().find(|(time, _)| *time == us * 1000).map(|sample| sample.1);
    // 2·0.4 + 2 ms after the ACK, on a wheel of 1 ms.
    assert_eq!((at(3900), at(4100)), (Some(9), Some(11)));
}

#[test]
fn sack_repairs_six_holes_at_once_and_new_reno_one_per_round_trip() {
    let pipe = serial(mbps(100), Span::from_ms(10), 500);
    let lossy = scripted(pipe, "f", [61, 63, 65, 67, 69, 71]);
    let scenario = one_flow(3000, Algorithm::Reno, segments(400), lossy);
    let sack = run(&scenario);
    let newreno = run(&with(&scenario, |o| (o.tcp_sack, o.tcp_dsack) = (false, false)));
    for run in [&sack, &newreno] {
        assert_eq!((run.flow("f", "retransmitted_packets"), run.flow("f", "timeouts")), (6, 0));
    }
    assert!(sack.flow("f", "tap_sack_blocks") > 0);
    assert_eq!(newreno.flow("f", "tap_sack_blocks"), 0);
    // Five more round trips, in which new data is sent too.
    let longer = newreno.transfer_end("f") - sack.transfer_end("f");
    assert!((60 * MS..=110 * MS).contains(&longer), "{longer}");
}

/// Two thirds of a second of a rate at which one packet in a hundred is overtaken.
fn overtaken(extra_ms: u64) -> Scenario {
    let reordering = Some(Reordering { probability: 0.01, extra_delay: Span::from_ms(extra_ms) });
    let pipe = Pipe { reordering, ..serial(mbps(20), Span::from_ms(10), 100) };
    one_flow(5000, Algorithm::Cubic, BULK, pipe)
}

fn spurious(run: &Run) -> i64 {
    run.flow("f", "spurious_retransmitted_packets")
}

fn blind(o: &mut TcpOptions) {
    // RFC 6675 with a degree that stays at three: every overtaken packet is sent again.
    o.tcp_recovery = 0;
    o.tcp_max_reordering = 3;
}

#[test]
fn the_reordering_degree_adapts_up_to_its_bound() {
    let scenario = with(&overtaken(4), |o| o.tcp_recovery = 0);
    let free = run(&scenario);
    let bound = run(&with(&scenario, blind));
    assert!(free.flow("f", "reordering_packets") > 3);
    assert_eq!(bound.flow("f", "reordering_packets"), 3);
    assert!(spurious(&bound) > 20 * spurious(&free).max(1), "{}", spurious(&bound));
    // A degree that is high from the start needs no lesson.
    assert_eq!(spurious(&run(&with(&scenario, |o| o.tcp_reordering = 30))), 0);
}

#[test]
fn timestamps_and_dsack_each_undo_what_reordering_reduced() {
    let scenario = with(&overtaken(4), blind);
    let eifel = run(&with(&scenario, |o| o.tcp_dsack = false));
    let dsack = run(&with(&scenario, |o| o.tcp_timestamps = false));
    let none = run(&with(&scenario, |o| (o.tcp_timestamps, o.tcp_dsack) = (false, false)));
    assert_eq!(none.flow("f", "undos"), 0);
    let delivered = |run: &Run| run.flow("f", "delivered_bytes");
    for run in [&eifel, &dsack] {
        assert!(run.flow("f", "undos") * 10 > run.flow("f", "recoveries") * 8);
        assert!(delivered(run) * 2 > delivered(&none) * 3, "{}", delivered(run));
    }
}

#[test]
fn rack_without_its_threshold_waits_for_the_first_overtaken_packet_too() {
    let scenario = overtaken(4);
    assert_eq!(spurious(&run(&with(&scenario, |o| o.tcp_recovery = 1))), 1);
    assert_eq!(spurious(&run(&with(&scenario, |o| o.tcp_recovery = 1 | 4))), 0);
}

#[test]
fn racks_window_widens_with_dsacks() {
    // Overtaken by 9 ms: more than a quarter of the minimum RTT, less than half.
    let scenario = overtaken(9);
    let adaptive = spurious(&run(&scenario));
    let fixed = spurious(&run(&with(&scenario, |o| o.tcp_recovery = 1 | 2)));
    let unaware = spurious(&run(&with(&scenario, |o| o.tcp_dsack = false)));
    assert!(10 * adaptive < fixed && 10 * adaptive < unaware, "{adaptive} {fixed} {unaware}");
}

#[test]
fn compressed_sacks_are_fewer_the_longer_they_may_wait() {
    let scenario = overtaken(4);
    let acks =
        |change: fn(&mut TcpOptions)| run(&with(&scenario, change)).flow("f", "tap_acks_with_sack");
    let none = acks(|o| o.tcp_comp_sack_nr = 0);
    let some = acks(|_| ());
    let slack = acks(|o| o.tcp_comp_sack_slack = Span::from_ms(3));
    let short = acks(|o| {
        o.tcp_comp_sack_delay = Span::from_us(10);
        o.tcp_comp_sack_slack = Span::ZERO;
    });
    assert!(slack < some && some < short && short <= none, "{slack} {some} {short} {none}");
    let one = acks(|o| o.tcp_comp_sack_nr = 1);
    assert!(one > some, "{one} {some}");
}

/// All packets are held for 600 ms once: the time-out is spurious.
fn stalled() -> Scenario {
    let change = |at_ms, delay_ms| Change {
        at: Span::from_ms(at_ms),
        rate_bps: None,
        delay: Some(Span::from_ms(delay_ms)),
        loss: None,
        state: None,
    };
    let mut pipe = serial(mbps(10), Span::from_ms(10), 200);
    pipe.changes = vec![change(1000, 600)];
    one_flow(5000, Algorithm::Cubic, BULK, pipe)
}

#[test]
fn a_spurious_timeout_is_undone_by_f_rto_or_by_timestamps() {
    let scenario = stalled();
    let run_with = |frto: u32, timestamps: bool| {
        run(&with(&scenario, |o| {
            o.tcp_dsack = false;
            o.tcp_early_retrans = 0;
            (o.tcp_frto, o.tcp_timestamps) = (frto, timestamps);
        }))
    };
    let none = run_with(0, false);
    assert!(none.flow("f", "timeouts") >= 1);
    assert_eq!(none.flow("f", "undos"), 0);
    for (frto, timestamps) in [(2, false), (0, true)] {
        let undone = run_with(frto, timestamps);
        assert!(undone.flow("f", "timeouts") >= 1);
        assert!(undone.flow("f", "undos") >= 1, "frto {frto}");
        assert!(spurious(&undone) < spurious(&none), "frto {frto}");
    }
}

#[test]
fn proportional_rate_reduction_spreads_the_reduction_over_the_round_trip() {
    // On a serial link ACKs come evenly, so cwnd falls evenly to ssthresh (RFC 6937 §3).
    let pipe = serial(mbps(50), Span::from_ms(40), 1000);
    let mut scenario = one_flow(3000, Algorithm::Reno, BULK, scripted(pipe, "f", [600]));
    scenario.sampling.interval = Span::from_ms(1);
    let run = run(&scenario);
    let (states, windows) = (run.texts("samples", "state"), run.samples("f", "cwnd_packets"));
    let target = run.sample_at("f", "ssthresh_packets", Span::from_ms(2900));
    let recovery: Vec<(i64, i64)> = (0..states.len())
        .filter(|&row| states[row] == "Recovery")
        .map(|row| windows[row])
        .collect();
    assert_eq!(run.flow("f", "recoveries"), 1);
    let (first, last) = (recovery[0], recovery[recovery.len() - 1]);
    assert!(first.1 > target * 9 / 5 && last.1 >= target, "{first:?} {last:?} {target}");
    assert!(last.1 <= target + 2, "{last:?} {target}");
    for pair in recovery.windows(2) {
        assert!(pair[1].1 <= pair[0].1 && pair[0].1 - pair[1].1 <= 8, "{pair:?}");
    }
}

/// The ACK of a retransmission gives a sample by its timestamp, of a millisecond at least
/// (`tcp_rtt_tsopt_us`). In the first millisecond of a run timestamps are 0.
#[test]
fn timestamps_of_zero_are_timestamps() {
    let pipe = scripted(delay(Span::from_us(20)), "f", [3]);
    let longest_us = |start_ms: u64| {
        let mut scenario = one_flow(20, Algorithm::Reno, segments(20), pipe.clone());
        scenario.links[0].backward = delay(Span::from_us(20));
        scenario.flows[0].start = Span::from_ms(start_ms);
        scenario.sampling.interval = Span::from_us(20);
        let samples = run(&scenario).samples("f", "srtt_ns");
        samples.iter().map(|&(_, srtt)| srtt / 1000).max().unwrap_or(-1)
    };
    let first = longest_us(0);
    // 40 us before, and an eighth of a millisecond is added.
    assert!((125..200).contains(&first), "{first}");
    assert_eq!(first, longest_us(5));
}
