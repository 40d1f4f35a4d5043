//! Multipath TCP: what a connection over several paths carries, and that nothing is lost or made up
//! when paths lose, fail, come and go (RFC 8684).

mod lab;

use dumbbell_model::scenario::{Algorithm, Change, Loss, Pipe, Scenario, Scheduler, Source};
use dumbbell_model::tcp_options::PROFILES;
use dumbbell_model::{Span, TcpOptions};
use lab::*;

const SCHEDULERS: [Scheduler; 6] = [
    Scheduler::Default,
    Scheduler::LowestRtt,
    Scheduler::RoundRobin,
    Scheduler::Redundant,
    Scheduler::Blest,
    Scheduler::Ecf,
];

/// So many Mbit/s, milliseconds one way, packets of queue; and the same delay back.
fn path(rate: u64, delay_ms: u64, limit: u64) -> (Pipe, Pipe) {
    let way = Span::from_ms(delay_ms);
    (serial(mbps(rate), way, limit), delay(way))
}

fn bytes(bytes: u64) -> Source {
    Source::Bulk { bytes: Some(bytes), refill: Span::ZERO }
}

/// Two paths, CUBIC, and this scheduler.
fn over(paths: &[(Pipe, Pipe)], seconds: u64, scheduler: Scheduler, source: Source) -> Scenario {
    let mut scenario = apart(Span::from_s(seconds), paths);
    let all: Vec<usize> = (0..paths.len()).collect();
    multipath(&mut scenario, Algorithm::Cubic, scheduler, source, &all);
    scenario
}

/// From a time on the path loses everything; `until` it does not any more.
fn fails(pipe: &mut Pipe, from_s: u64, until_s: Option<u64>) {
    let change = |at: u64, loss| Change {
        at: Span::from_s(at),
        rate_bps: None,
        delay: None,
        loss: Some(loss),
        state: None,
    };
    pipe.changes.push(change(from_s, Loss::Independent { probability: 1.0 }));
    pipe.changes.extend(until_s.map(|at| change(at, Loss::None)));
}

fn connection(run: &Run, column: &str) -> i64 {
    run.ints("connections", column)[0]
}

/// The goodput that so many Mbit/s of link allow, in bits per second.
fn payload_bps(rate: u64) -> f64 {
    rate as f64 * 1e6 * 1424.0 / 1514.0
}

#[test]
fn every_scheduler_fills_both_paths_and_redundant_gains_nothing() {
    for scheduler in SCHEDULERS {
        let paths = [path(10, 10, 60), path(10, 10, 60)];
        let run = run(&over(&paths, 20, scheduler, BULK));
        let goodput = run.goodput_bps("m", Span::from_s(5), Span::from_s(20));
        let (low, high) = match scheduler {
            Scheduler::Redundant => (0.9, 1.02),
            _ => (1.9, 2.0),
        };
        let share = goodput / payload_bps(10);
        assert!((low..=high).contains(&share), "{scheduler:?}: {share}");
        // Either way both paths are full: the first router cannot tell copies from data.
        let carried = connection(&run, "carried_bytes") as f64 * 8.0 / 20.0;
        assert!(carried > 1.8 * payload_bps(10), "{scheduler:?}: {carried}");
    }
}

#[test]
fn every_release_fills_both_paths() {
    for &(name, _) in PROFILES {
        let paths = [path(10, 10, 60), path(10, 10, 60)];
        let mut scenario = over(&paths, 20, Scheduler::Default, BULK);
        set_options(&mut scenario, |options| {
            *options = TcpOptions::profile(name).expect("shipped");
        });
        let goodput = run(&scenario).goodput_bps("m", Span::from_s(5), Span::from_s(20));
        let share = goodput / payload_bps(10);
        // Multipath TCP came with 5.6; before, the connection is plain TCP.
        let paths = if matches!(name, "linux-2.6.26" | "linux-4.15") { 1.0 } else { 2.0 };
        assert!((0.95 * paths..=1.02 * paths).contains(&share), "{name}: {share}");
    }
}

#[test]
fn a_single_subflow_is_as_fast_as_tcp_but_for_its_longer_headers() {
    for scheduler in SCHEDULERS {
        let paths = [path(10, 10, 60)];
        let mut plain = apart(Span::from_s(20), &paths);
        plain.flows.push(tcp("t", 0, Algorithm::Cubic, BULK));
        let tcp = run(&plain).flow("t", "delivered_bytes") as f64;
        let one = run(&over(&paths, 20, scheduler, BULK)).flow("m", "delivered_bytes") as f64;
        near(one / 1424.0, tcp / 1448.0, 0.01);
    }
}

#[test]
fn all_that_was_written_arrives_once_through_loss_and_reordering() {
    for scheduler in SCHEDULERS {
        for algorithm in [Algorithm::Cubic, Algorithm::Lia, Algorithm::Bbr] {
            let mut paths = [path(10, 10, 30), path(6, 40, 30)];
            for (forward, backward) in &mut paths {
                forward.loss = Loss::Independent { probability: 0.02 };
                backward.loss = Loss::Independent { probability: 0.01 };
                forward.reordering = Some(dumbbell_model::scenario::Reordering {
                    probability: 0.02,
                    extra_delay: Span::from_ms(15),
                });
            }
            let mut scenario = apart(Span::from_s(120), &paths);
            multipath(&mut scenario, algorithm, scheduler, bytes(3_000_000), &[0, 1]);
            let run = run(&scenario);
            let what = format!("{scheduler:?} {algorithm:?}");
            assert_eq!(run.flow("m", "delivered_bytes"), 3_000_000, "{what}");
            assert_eq!(connection(&run, "acked_bytes"), 3_000_000, "{what}");
            assert!(run.transfer_end("m") > 0, "{what}");
        }
    }
}

#[test]
fn a_failed_path_holds_nothing_back_for_long() {
    for scheduler in SCHEDULERS {
        let mut paths = [path(10, 10, 60), path(10, 10, 60)];
        fails(&mut paths[1].0, 5, None);
        fails(&mut paths[1].1, 5, None);
        let run = run(&over(&paths, 30, scheduler, bytes(20_000_000)));
        assert_eq!(run.flow("m", "delivered_bytes"), 20_000_000, "{scheduler:?}");
        // At 10 Mbit/s from then on it would take until 14 s (redundant: 17 s).
        let end_s = run.transfer_end("m") as f64 / 1e9;
        assert!(end_s < 22.0, "{scheduler:?}: {end_s} s");
    }
}

#[test]
fn a_path_that_comes_back_is_used_again() {
    for scheduler in SCHEDULERS {
        let mut paths = [path(10, 10, 60), path(10, 10, 60)];
        fails(&mut paths[1].0, 5, Some(8));
        let run = run(&over(&paths, 60, scheduler, BULK));
        let carried = |from, to| run.goodput_bps("m/2", Span::from_s(from), Span::from_s(to));
        assert!(carried(6, 8) < 0.05 * payload_bps(10), "{scheduler:?}: {}", carried(6, 8));
        assert!(carried(30, 60) > 0.8 * payload_bps(10), "{scheduler:?}: {}", carried(30, 60));
    }
}

#[test]
fn subflows_come_and_go_while_data_flows() {
    for scheduler in SCHEDULERS {
        let paths = [path(10, 10, 60), path(10, 10, 60)];
        let mut scenario = over(&paths, 40, scheduler, BULK);
        scenario.flows[1].start = Span::from_s(10);
        scenario.flows[1].stop = Some(Span::from_s(20));
        let run = run(&scenario);
        let both = |from, to| {
            let of = |name| run.goodput_bps(name, Span::from_s(from), Span::from_s(to));
            (of("m/1") / payload_bps(10), of("m/2") / payload_bps(10))
        };
        assert!(both(5, 10).0 > 0.9 && both(5, 10).1 == 0.0, "{scheduler:?}");
        assert!(both(14, 20).0 > 0.85 && both(14, 20).1 > 0.85, "{scheduler:?} {:?}", both(14, 20));
        assert!(both(25, 40).0 > 0.9 && both(25, 40).1 == 0.0, "{scheduler:?} {:?}", both(25, 40));
        let whole = run.goodput_bps("m", Span::from_s(25), Span::from_s(40));
        assert!(whole > 0.9 * payload_bps(10), "{scheduler:?}: {whole}");
    }
}

#[test]
fn the_first_subflow_may_be_the_one_that_goes() {
    let paths = [path(10, 10, 60), path(10, 10, 60)];
    let mut scenario = over(&paths, 30, Scheduler::Default, bytes(20_000_000));
    scenario.flows[0].stop = Some(Span::from_s(5));
    let run = run(&scenario);
    assert_eq!(run.flow("m", "delivered_bytes"), 20_000_000);
}

#[test]
fn a_backup_waits_until_nothing_else_is_left() {
    for scheduler in SCHEDULERS {
        let mut paths = [path(10, 10, 60), path(10, 10, 60)];
        fails(&mut paths[0].0, 10, None);
        fails(&mut paths[0].1, 10, None);
        let mut scenario = over(&paths, 60, scheduler, BULK);
        scenario.connections[0].subflows[1].backup = true;
        let run = run(&scenario);
        assert_eq!(run.sample_at("m/2", "acked_bytes", Span::from_s(9)), 0, "{scheduler:?}");
        let after = run.goodput_bps("m", Span::from_s(40), Span::from_s(60));
        assert!(after > 0.9 * payload_bps(10), "{scheduler:?}: {after}");
    }
}

#[test]
fn a_host_without_multipath_tcp_gets_plain_tcp() {
    let cases = [true, false].map(|sender| SCHEDULERS.map(|scheduler| (sender, scheduler)));
    for (sender, scheduler) in cases.into_iter().flatten() {
        let paths = [path(10, 10, 60), path(10, 10, 60)];
        let mut scenario = over(&paths, 10, scheduler, bytes(5_000_000));
        let host = &mut scenario.nodes[usize::from(!sender)];
        if let Some(tcp) = &mut host.tcp {
            tcp.mptcp_enabled = false;
        }
        let run = run(&scenario);
        assert_eq!(connection(&run, "fell_back"), 1);
        assert_eq!(run.flow("m", "delivered_bytes"), 5_000_000);
        assert_eq!(run.flow("m/2", "sent_packets"), 0);
        // Segments are as long as TCP's.
        let first = run.flow("m/1", "data_packets") - run.flow("m/1", "retransmitted_packets");
        assert_eq!(first, 5_000_000 / 1448 + 1);
    }
}

/// A fast and a slow, deep path with a receive buffer that is wide enough for the fast one.
fn held_back(cc: Algorithm, scheduler: Scheduler, paths: &[usize], opportunistic: bool) -> Run {
    let pipes = [path(30, 10, 100), path(1, 100, 100)];
    let mut scenario = apart(Span::from_s(40), &pipes);
    multipath(&mut scenario, cc, scheduler, BULK, paths);
    set_options(&mut scenario, |o| o.tcp_rmem = [4096, 131_072, 1_000_000]);
    scenario.connections[0].opportunistic = opportunistic;
    run(&scenario)
}

fn goodput(run: &Run) -> f64 {
    run.goodput_bps("m", Span::from_s(10), Span::from_s(40))
}

#[test]
fn a_slow_path_holds_the_window_back_unless_it_is_left_alone() {
    let alone = held_back(Algorithm::Cubic, Scheduler::LowestRtt, &[0], false);
    assert!(goodput(&alone) > 0.95 * payload_bps(30));
    let both = held_back(Algorithm::Cubic, Scheduler::LowestRtt, &[0, 1], false);
    // A segment on the slow path holds the window of half a megabyte for the delay and a full queue.
    let slow_s = 0.2 + 101.0 * 1514.0 * 8.0 / 1e6;
    assert!(goodput(&both) < 1.2 * 500_000.0 * 8.0 / slow_s, "{}", goodput(&both));
    assert!(connection(&both, "blocked_ns") > 20_000_000_000);
    assert!(connection(&both, "out_of_order_max_bytes") <= 500_000);
    let spared = held_back(Algorithm::Cubic, Scheduler::Blest, &[0, 1], false);
    assert!(goodput(&spared) > 1.5 * goodput(&both), "{}", goodput(&spared));
    // ECF compares completion times and ignores the window: the slow path is worth its RTT for the
    // megabytes that wait to be sent, and its whole congestion window then queues there.
    let some = goodput(&held_back(Algorithm::Cubic, Scheduler::Ecf, &[0, 1], false));
    assert!(some > 0.8 * goodput(&both), "{some}");
}

#[test]
fn opportunistic_retransmission_and_penalties_free_the_window() {
    // CUBIC returns to its previous window within a few RTTs after a penalty.
    for (cc, gain) in [(Algorithm::Reno, 3.0), (Algorithm::Lia, 3.0), (Algorithm::Cubic, 1.2)] {
        let without = held_back(cc, Scheduler::LowestRtt, &[0, 1], false);
        let with = held_back(cc, Scheduler::LowestRtt, &[0, 1], true);
        assert_eq!(connection(&without, "penalties"), 0);
        assert!(connection(&with, "penalties") > 0 && connection(&with, "reinjected_bytes") > 0);
        let (without, with) = (goodput(&without), goodput(&with));
        assert!(with > gain * without, "{cc:?}: {with} {without}");
    }
}

#[test]
fn a_slow_reader_stalls_the_window_and_loses_nothing() {
    for scheduler in SCHEDULERS {
        let paths = [path(20, 10, 60), path(20, 20, 60)];
        let mut scenario = over(&paths, 60, scheduler, bytes(4_000_000));
        scenario.connections[0].sink.rate_bps = Some(mbps(1));
        scenario.connections[0].sink.lowat_bytes = 1;
        let sink = scenario.connections[0].sink;
        scenario.flows.iter_mut().for_each(|flow| tcp_of(flow).sink = sink);
        // The first data of a subflow that was not used for long says a long RTT, within which much
        // is read: the buffer would grow until it holds all.
        set_options(&mut scenario, |o| o.tcp_rmem = [4096, 131_072, 131_072]);
        let run = run(&scenario);
        // 4 MB at 1 Mbit/s are 32 s.
        assert_eq!(run.flow("m", "delivered_bytes"), 4_000_000, "{scheduler:?}");
        assert_eq!(connection(&run, "acked_bytes"), 4_000_000, "{scheduler:?}");
        let end_s = run.flow("m", "end_ns") as f64 / 1e9;
        assert!((20.0..45.0).contains(&end_s), "{scheduler:?}: {end_s}");
    }
}

#[test]
fn the_same_seed_gives_the_same_digest() {
    for scheduler in SCHEDULERS {
        let mut paths = [path(10, 10, 20), path(7, 25, 20)];
        paths[0].0.loss = Loss::Independent { probability: 0.01 };
        let scenario = over(&paths, 10, scheduler, BULK);
        let digests: Vec<_> =
            [1, 1, 2].iter().map(|&seed| run_seed(&scenario, seed).output.digest).collect();
        assert_eq!(digests[0], digests[1], "{scheduler:?}");
        assert_ne!(digests[0], digests[2], "{scheduler:?}");
    }
}
