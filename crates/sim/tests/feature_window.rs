//! Windows and buffers: each option set otherwise, and what that does to a run.

mod lab;

use dumbbell_model::scenario::{Algorithm, Scenario, Source};
use dumbbell_model::{Rate, ReceiveBuffer, Span, TcpOptions};
use lab::{
    delay, dumbbell, mbps, near, one_flow, run, segments, serial, tcp, tcp_of, with, Run, BULK,
    SEGMENT_BYTES,
};

const MS: i64 = 1_000_000;

/// One flow, 20 ms there and back without a bottleneck.
fn one(duration_ms: u64, algorithm: Algorithm, source: Source) -> Scenario {
    one_flow(duration_ms, algorithm, source, delay(Span::from_ms(10)))
}

fn most(run: &Run, column: &str) -> i64 {
    run.samples("f", column).into_iter().map(|(_, value)| value).max().unwrap_or(-1)
}

#[test]
fn the_initial_window_decides_the_number_of_rounds() {
    // n segments with a window doubling from w: the end is at 1.5 RTT and one RTT per further
    // round. In the first rounds each segment is acknowledged at once (quick ACKs).
    let scenario = one(1000, Algorithm::Reno, segments(15));
    for (window, rounds) in [(1, 3), (3, 2), (10, 1), (15, 0)] {
        let end = run(&with(&scenario, |o| o.initcwnd = window)).transfer_end("f");
        let expected = 30 * MS + rounds * 20 * MS;
        assert!((0..=1000).contains(&(end - expected)), "initcwnd {window}: {end}");
    }
}

/// The SYN is sent again after 1 and 3 s. It was not lost, as its timestamp tells; without one, two
/// in vain leave a window of one segment.
#[test]
fn a_syn_sent_again_in_vain_does_not_close_the_window() {
    for (there_ms, timestamps, closes) in
        [(1700, true, false), (1700, false, false), (3500, true, false), (3500, false, true)]
    {
        let pipe = delay(Span::from_ms(there_ms));
        let scenario = one_flow(60_000, Algorithm::Reno, segments(10), pipe);
        let end = run(&with(&scenario, |o| o.tcp_timestamps = timestamps)).transfer_end("f");
        // There twice, and 10 ms back, if all segments may leave at once.
        let late = end - (2 * there_ms as i64 + 10) * MS;
        assert!(late >= 0);
        assert_eq!(late > MS, closes, "{there_ms} ms, timestamps {timestamps}: {late}");
    }
}

#[test]
fn the_initial_receive_window_bounds_the_first_flight() {
    let scenario = one(1000, Algorithm::Reno, segments(10));
    let free = run(&scenario).transfer_end("f");
    let held = run(&with(&scenario, |o| o.initrwnd = 2)).transfer_end("f");
    assert!(held >= free + 20 * MS, "{free} {held}");
}

#[test]
fn without_scaling_the_window_is_65535_at_most() {
    // Behind a line, so that ACKs arrive one by one and no small segment follows another.
    let line = serial(mbps(1000), Span::from_ms(10), 2000);
    let scenario = one_flow(2000, Algorithm::Cubic, BULK, line);
    let scaled = run(&scenario);
    let plain = run(&with(&scenario, |o| o.tcp_window_scaling = false));
    assert!(most(&scaled, "rwnd_bytes") > 1_000_000);
    assert!((64_000..=65_535).contains(&most(&plain, "rwnd_bytes")));
    assert!(most(&plain, "in_flight_packets") as u64 <= 65_535 / SEGMENT_BYTES + 1);
}

#[test]
fn timestamps_take_twelve_bytes_of_each_segment() {
    let scenario =
        one(1000, Algorithm::Cubic, Source::Bulk { bytes: Some(1460 * 1448), refill: Span::ZERO });
    let with_them = run(&scenario);
    let without = run(&with(&scenario, |o| o.tcp_timestamps = false));
    assert_eq!(with_them.flow("f", "data_packets"), 1460);
    assert_eq!(without.flow("f", "data_packets"), 1448);
    // The frames are full either way.
    let frames = |run: &Run| run.flow("f", "sent_bytes") / 1514;
    assert!(frames(&with_them) > frames(&without));
}

#[test]
fn a_smaller_mtu_takes_more_segments() {
    let bytes = 1000 * 948;
    let source = Source::Bulk { bytes: Some(bytes), refill: Span::ZERO };
    let line = serial(mbps(10), Span::from_ms(10), 100);
    let scenario = with(&one_flow(3000, Algorithm::Cubic, source, line), |o| o.mtu_bytes = 1000);
    assert_eq!(run(&scenario).flow("f", "data_packets"), 1000);
}

/// Goodput in the fourth second over a path of 200 Mbit/s with room for its BDP.
fn long_fat(change: impl Fn(&mut TcpOptions)) -> f64 {
    let pipe = serial(mbps(200), Span::from_ms(10), 400);
    let scenario = with(&one_flow(4000, Algorithm::Cubic, BULK, pipe), change);
    run(&scenario).goodput_bps("f", Span::from_s(3), Span::from_ms(3990))
}

#[test]
fn the_receive_buffer_grows_only_with_autotuning_and_to_its_maximum() {
    let tuned = long_fat(|_| ());
    let fixed = long_fat(|o| o.tcp_moderate_rcvbuf = false);
    let bounded = long_fat(|o| o.tcp_rmem = [4096, 131_072, 200_000]);
    assert!(tuned > 150e6, "{tuned}");
    // 65536 bytes of window per 20 ms are 26 Mbit/s.
    near(fixed, 65_536.0 * 8.0 / 0.02, 0.05);
    // Half of 200000 bytes of memory is window: 40 Mbit/s.
    near(bounded, 100_000.0 * 8.0 / 0.02, 0.05);
}

#[test]
fn the_window_is_a_share_of_the_buffer() {
    let buffer = 262_144;
    let window = |scale: i32| {
        let scenario = with(&one(1500, Algorithm::Cubic, BULK), |o| {
            o.tcp_moderate_rcvbuf = false;
            o.tcp_rmem = [4096, buffer, buffer];
            o.tcp_adv_win_scale = scale;
            o.rx_segment = ReceiveBuffer::Own { bytes: 960 }; // So thin that the window opens.
        });
        most(&run(&scenario), "rwnd_bytes") as f64
    };
    // The window is offered in units of its scale and below the clamp of one segment.
    near(window(1), 131_072.0, 0.02);
    near(window(2), 196_608.0, 0.02);
    near(window(-1), 131_072.0, 0.02);
}

#[test]
fn thick_buffers_keep_the_window_from_opening() {
    let window = |kind: ReceiveBuffer| {
        let scenario = with(&one(1500, Algorithm::Cubic, BULK), |o| o.rx_segment = kind);
        most(&run(&scenario), "rwnd_bytes")
    };
    let (pages, copied) = (window(ReceiveBuffer::Pages), window(ReceiveBuffer::Copied));
    assert!(pages > copied, "{pages} {copied}");
}

#[test]
fn the_send_buffer_bounds_what_is_sent_and_written() {
    let free = long_fat(|_| ());
    let bound = long_fat(|o| o.tcp_wmem = [4096, 16_384, 65_536]);
    assert!(bound < free / 2.0, "{bound} {free}");
    // More than the buffer in a round trip: its last unit is filled up again whenever a part of
    // it was sent. Linux 6.1 itself carries 74 and 143 Mbit/s here, the start included.
    assert!(bound > 65_536.0 * 8.0 / 0.02, "{bound}");
    let larger = long_fat(|o| o.tcp_wmem = [4096, 16_384, 524_288]);
    assert!((1.5..=2.4).contains(&(larger / bound)), "{larger} {bound}");
}

#[test]
fn an_idle_connection_restarts_from_its_initial_window() {
    // 200 segments at a time, 2 s apart: ten or more RTOs.
    let source = Source::Periodic {
        chunk_bytes: 200 * SEGMENT_BYTES,
        interval: Span::from_s(2),
        bytes: None,
    };
    let mut scenario = one(3000, Algorithm::Reno, source);
    scenario.sampling.interval = Span::from_ms(1);
    let at = Span::from_ms(2030); // The second chunk is written at 2.02 s, its ACKs come at 2.04 s.
    let window = |s: &Scenario| {
        let run = run(s);
        (
            run.sample_at("f", "cwnd_packets", Span::from_s(1)),
            run.sample_at("f", "cwnd_packets", at),
        )
    };
    let (before, after) = window(&scenario);
    assert!(before > 60 && after == 10, "{before} {after}");
    let (before, after) = window(&with(&scenario, |o| o.tcp_slow_start_after_idle = false));
    assert!(before > 60 && after == before, "{before} {after}");
    // RFC 2861: halved once per RTO, not below the restart window.
    let (_, larger) = window(&with(&scenario, |o| o.initcwnd = 40));
    assert_eq!(larger, 40);
}

#[test]
fn an_application_that_does_not_fill_the_window_does_not_open_it() {
    // Every RTT three segments, or eight: slow start goes on while cwnd < 2·(most in flight).
    let window = |count: u64| {
        let source = Source::Periodic {
            chunk_bytes: count * SEGMENT_BYTES,
            interval: Span::from_ms(25),
            bytes: None,
        };
        most(&run(&one(3000, Algorithm::Reno, source)), "cwnd_packets")
    };
    assert_eq!(window(3), 10);
    let eight = window(8);
    assert!((16..=17).contains(&eight), "{eight}");
}

#[test]
fn an_application_limited_window_decays() {
    // A large write opens the window, then small ones use little of it (RFC 2861 §3.2).
    let source = Source::Periodic {
        chunk_bytes: 2 * SEGMENT_BYTES,
        interval: Span::from_ms(20),
        bytes: None,
    };
    let scenario = with(&one(5000, Algorithm::Reno, source), |o| o.initcwnd = 100);
    let scenario = with(&scenario, |o| o.tcp_slow_start_after_idle = true);
    let last = |s: &Scenario| run(s).sample_at("f", "cwnd_packets", Span::from_ms(4900));
    assert_eq!(last(&scenario), 100, "never below the initial window");
    let mut grown = one(6000, Algorithm::Reno, source);
    grown.flows[0].stop = None;
    tcp_of(&mut grown.flows[0]).source = Source::Bulk { bytes: None, refill: Span::from_ms(30) };
    let refilled = most(&run(&grown), "cwnd_packets");
    assert!(refilled > 10, "{refilled}");
}

#[test]
fn a_slow_reader_sets_the_rate() {
    let mut scenario = one(5000, Algorithm::Cubic, BULK);
    tcp_of(&mut scenario.flows[0]).sink.rate_bps = Some(Rate::from_bps(8_000_000));
    let slow = run(&scenario);
    near(slow.goodput_bps("f", Span::from_s(2), Span::from_ms(4990)), 8e6, 0.03);
    assert_eq!(slow.flow("f", "dropped_packets"), 0);
    assert_eq!(slow.flow("f", "timeouts"), 0);
}

#[test]
fn a_refill_interval_limits_the_rate_to_the_buffer_per_interval() {
    let every = |ms: u64| {
        let source = Source::Bulk { bytes: None, refill: Span::from_ms(ms) };
        let run = run(&one(4000, Algorithm::Reno, source));
        run.goodput_bps("f", Span::from_s(1), Span::from_ms(3990))
    };
    let (often, seldom) = (every(50), every(200));
    assert!(seldom < often, "{seldom} {often}");
}

#[test]
fn a_periodic_source_delivers_what_it_writes() {
    let source =
        Source::Periodic { chunk_bytes: 3000, interval: Span::from_ms(50), bytes: Some(30_000) };
    let pipe = || delay(Span::from_ms(10));
    let mut scenario = dumbbell(Span::from_s(2), 1, pipe(), pipe());
    scenario.flows.push(tcp("f", 0, Algorithm::Reno, source));
    assert_eq!(run(&scenario).flow("f", "delivered_bytes"), 30_000);
}
