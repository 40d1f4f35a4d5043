//! Multipath TCP of newer releases of Linux: what each option of their profiles changes.

mod lab;

use dumbbell_model::scenario::{Algorithm, Pipe, Scenario, Scheduler, Stretch, Tap};
use dumbbell_model::{Span, TcpOptions};
use lab::*;

/// So many Mbit/s, milliseconds one way, packets of queue; and the same delay back.
fn path(rate: u64, delay_ms: u64, limit: u64) -> (Pipe, Pipe) {
    let way = Span::from_ms(delay_ms);
    (serial(mbps(rate), way, limit), delay(way))
}

/// Paths of 10 Mbit/s with an RTT of 100 ms, as in 7.3 but for `change`.
fn over(paths: &[usize], seconds: u64, change: fn(&mut TcpOptions)) -> Scenario {
    let mut scenario = apart(Span::from_s(seconds), &[path(10, 50, 1000), path(10, 50, 1000)]);
    multipath(&mut scenario, Algorithm::Cubic, Scheduler::Default, BULK, paths);
    set_options(&mut scenario, |options| {
        *options = TcpOptions::profile("linux-7.3").expect("shipped");
        change(options);
    });
    scenario
}

#[test]
fn the_send_buffers_of_all_subflows_add_up() {
    let goodput = |change| {
        let run = run(&over(&[0, 1], 10, change));
        run.goodput_bps("m", Span::from_s(3), Span::from_s(10))
    };
    // Unacknowledged data is at most the buffer: 100 kB per 100 ms are 8 Mbit/s.
    let largest = goodput(|options| {
        options.tcp_wmem = [4096, 16_384, 100_000];
        options.mptcp_sync_sndbuf = false;
    });
    assert!((6e6..=8e6).contains(&largest), "{largest}");
    let sum = goodput(|options| options.tcp_wmem = [4096, 16_384, 100_000]);
    assert!(sum > 1.5 * largest && sum < 8.0 * 204_096.0 / 0.1, "{sum} {largest}");
}

/// Windows of the ACKs of one subflow from 2 s on, with a receive buffer that does not grow.
fn windows(change: fn(&mut TcpOptions)) -> Vec<i64> {
    let mut scenario = over(&[0], 3, change);
    set_options(&mut scenario, |options| options.tcp_moderate_rcvbuf = false);
    scenario.taps.push(Tap { name: "far".into(), node: "b0".into(), link: "y0".into() });
    scenario.sampling.packets = Some(Stretch { from: Span::from_s(2), to: Span::from_s(3) });
    let run = run(&scenario);
    let rows = run.texts("packets", "direction").iter().zip(run.ints("packets", "window_bytes"));
    rows.filter(|(way, _)| *way == "back").map(|(_, window)| *window).collect()
}

#[test]
fn acks_follow_the_read_where_reading_opens_the_window() {
    let after = windows(|_| {});
    let before = windows(|options| options.mptcp_set_rcvlowat = false);
    assert!(after.len() > 100 && before.len() > 100);
    // All of the buffer: 131 072 bytes, of which the share of payload is window. Before the read a
    // segment takes 2384 of them.
    let least = |windows: &[i64]| windows.iter().min().copied().unwrap_or_default();
    assert!(least(&after) > least(&before), "{} {}", least(&after), least(&before));
    assert!(after.iter().all(|&window| window == after[0]), "{after:?}");
}
