use super::*;
use crate::reno::tests::{avoiding, check_operations, conn, operations, options};
use crate::INFINITE_SSTHRESH;
use proptest::prelude::*;

/// CUBIC without Reno-friendly growth.
fn without_friendliness() -> Cubic {
    Cubic::new(&TcpOptions { cubic_tcp_friendliness: false, ..options() })
}

/// Exact integer cube root, rounded down.
fn exact_cube_root(a: u64) -> u64 {
    let (mut low, mut high) = (0u64, 2_642_246);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if u128::from(middle).pow(3) <= u128::from(a) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

fn digest(arguments: impl Iterator<Item = u64>) -> u64 {
    arguments
        .fold(0, |digest: u64, a| digest.wrapping_mul(31).wrapping_add(u64::from(cube_root(a))))
}

#[test]
fn constants_are_those_of_linux() {
    assert_eq!((CUBE_SCALE, CUBE_FACTOR, FRIENDLY_SCALE), (410, 2_681_735_677, 15));
}

/// Digests of the results of Linux 6.1's `cubic_root`.
#[test]
fn cube_root_is_that_of_linux() {
    assert_eq!(digest(0..1_000_000), 7_209_897_370_770_729_793);
    assert_eq!(digest((1..1_000_000).map(|d| CUBE_FACTOR * d)), 13_533_383_942_941_164_842);
    let powers = (6..64).flat_map(|bit| (0..3).map(move |offset| (1 << bit) - 1 + offset));
    assert_eq!(digest(powers.chain([u64::MAX])), 1_445_195_931_988_282_702);
}

#[test]
fn cube_root_against_the_exact_one() {
    for a in 0..1_000_000 {
        let error = i64::from(cube_root(a)) - exact_cube_root(a) as i64;
        assert!((0..=1).contains(&error), "{a}: {error}");
    }
    for n in 1..=64u32 {
        assert_eq!(cube_root(u64::from(n).pow(3)), n);
    }
    for distance in 1..1_000_000 {
        let a = CUBE_FACTOR * distance;
        let exact = exact_cube_root(a);
        let error = u64::from(cube_root(a)).abs_diff(exact);
        assert!(error * 1000 <= exact * 2, "{distance}: {error} of {exact}");
    }
}

/// RFC 9438 §4.2 with integers: a loss at 166 takes 50 packets, ∛(50/0.4) = 5 s; one at 1333
/// takes 400, ∛(400/0.4) = 10 s. At K the target is W_max exactly.
#[test]
fn the_curve_is_back_at_w_max_after_k() {
    for (w_max, reduced, k_ms) in [(166, 116, 5000), (1333, 933, 10_000)] {
        let mut cubic = without_friendliness();
        assert_eq!(cubic.ssthresh(&conn(0), &mut Window::new(w_max)), reduced);
        let start = 1_000_000;
        cubic.growth.update(start, reduced, 1, false);
        assert_eq!(u64::from(cubic.growth.k), (k_ms << TIME_SHIFT) / 1000);
        let target = |after_ms: u64| cubic.growth.target(start + after_ms as u32, start);
        assert!(target(0).abs_diff(reduced) <= 1, "at the start the reduced window");
        assert_eq!(target(k_ms), w_max);
        // One packet below and above it: C·t³ = 1 at t = 1.3569 s, 1390/1024 s; times are cut to
        // 2⁻¹⁰ s.
        assert_eq!((target(k_ms - 1357), target(k_ms - 1356)), (w_max - 1, w_max));
        assert_eq!((target(k_ms + 1357), target(k_ms + 1358)), (w_max, w_max + 1));
        assert_eq!(target(2 * k_ms).abs_diff(2 * w_max - reduced), 0, "symmetric");
    }
}

/// 64 bits hold 410·t³ up to 347 s. Linux's curve wraps there, and so does this one.
#[test]
fn the_cube_wraps_as_in_linux() {
    let growth = Growth::default();
    assert_eq!(growth.target(347_000, 0), 16_729_090);
    assert_eq!(growth.target(348_000, 0), 96_923);
}

/// Drives ACKs at one window per RTT for `ms` milliseconds and returns the window at the end.
fn drive(cubic: &mut Cubic, window: &mut Window, start_ms: u64, rtt_ms: u64, ms: u64) -> u32 {
    let mut credit = 0;
    for now_ms in start_ms..start_ms + ms {
        credit += u64::from(window.cwnd);
        cubic.cong_avoid(&conn(now_ms), window, (credit / rtt_ms) as u32);
        credit %= rtt_ms;
    }
    window.cwnd
}

#[test]
fn after_a_loss_the_window_follows_the_curve() {
    let mut cubic = without_friendliness();
    let reduced = cubic.ssthresh(&conn(0), &mut Window::new(1333));
    let mut window = avoiding(reduced);
    let halfway = drive(&mut cubic, &mut window, 1_000_000, 100, 5000);
    assert!((1275..=1284).contains(&halfway), "1333 − 0.4·5³ = 1283: {halfway}");
    let plateau = drive(&mut cubic, &mut window, 1_005_000, 100, 5000);
    assert!((1331..=1333).contains(&plateau), "W_max after K: {plateau}");
    let beyond = drive(&mut cubic, &mut window, 1_010_000, 100, 5000);
    assert!((1370..=1384).contains(&beyond), "1333 + 0.4·5³ = 1383: {beyond}");
}

#[test]
fn the_curve_looks_one_rtt_ahead() {
    let mut growth = Growth { w_max: 1333, ..Growth::default() };
    growth.start_epoch(1000, 933, 1);
    let now = growth.target(1100, 1000);
    for (rtt_us, ahead_ms) in [(1, 1), (1000, 1), (1001, 2), (100_000, 100)] {
        growth.min_delay_us = None;
        let later = growth.target(1100 + ahead_ms, 1000);
        growth.min_delay_us = Some(rtt_us);
        assert_eq!(growth.target(1100, 1000), later);
        assert!(later >= now);
    }
}

#[test]
fn loss_reduces_to_seven_tenths_and_two_at_least() {
    let threshold = |cwnd| Cubic::new(&options()).ssthresh(&conn(0), &mut Window::new(cwnd));
    assert_eq!([1, 2, 3, 4, 5, 10, 1024].map(threshold), [2, 2, 2, 2, 3, 7, 717]);
}

#[test]
fn fast_convergence_changes_w_max() {
    let w_max = |fast_convergence, second| {
        let on = TcpOptions { cubic_fast_convergence: fast_convergence, ..options() };
        let mut cubic = Cubic::new(&on);
        cubic.ssthresh(&conn(0), &mut Window::new(1000));
        cubic.ssthresh(&conn(0), &mut Window::new(second));
        cubic.growth.w_max
    };
    assert_eq!([999, 1000, 1001].map(|cwnd| w_max(true, cwnd)), [849, 1000, 1001]);
    assert_eq!([999, 1000, 1001].map(|cwnd| w_max(false, cwnd)), [999, 1000, 1001]);
}

/// RFC 9438 §4.3: at a short RTT the curve is slower than Reno with β = 0.7, which grows by
/// 8/15 packet per RTT.
#[test]
fn friendliness_lifts_growth_at_short_rtts() {
    let grown = |friendly| {
        let on = TcpOptions { cubic_tcp_friendliness: friendly, ..options() };
        let mut cubic = Cubic::new(&on);
        cubic.ssthresh(&conn(0), &mut Window::new(100));
        drive(&mut cubic, &mut avoiding(70), 1_000_000, 10, 1000) - 70
    };
    let (friendly, alone) = (grown(true), grown(false));
    assert!((50..=54).contains(&friendly), "100 RTTs · 8/15 = 53: {friendly}");
    assert!(alone < 28, "{alone}");
}

#[test]
fn reno_window_grows_when_more_than_15_eighths_of_a_window_is_acked() {
    let estimate = |acked| {
        let mut growth = Growth { acked, reno_cwnd: 80, count: 1000, ..Growth::default() };
        growth.stay_reno_friendly(80);
        (growth.reno_cwnd, growth.acked, growth.count)
    };
    assert_eq!(estimate(0), (80, 0, 1000));
    assert_eq!(estimate(149), (80, 149, 1000));
    assert_eq!(estimate(150), (80, 150, 1000));
    assert_eq!(estimate(151), (81, 1, 80));
    assert_eq!(estimate(301), (82, 1, 40));
}

#[test]
fn growth_is_at_most_one_and_a_half_per_rtt() {
    let mut growth = Growth { w_max: 100_000, ..Growth::default() };
    growth.update(1000, 10, 1, false);
    growth.update(60_000, 10, 1, false);
    assert_eq!(growth.count, MIN_COUNT);
}

#[test]
fn the_count_is_kept_for_31_ms_while_the_window_stays() {
    let mut growth = Growth { w_max: 1333, ..Growth::default() };
    growth.update(1000, 933, 1, false);
    growth.count = 12_345;
    growth.update(1031, 933, 1, false);
    assert_eq!(growth.count, 12_345);
    growth.update(1032, 933, 1, false);
    assert_ne!(growth.count, 12_345);
    // Another window within one millisecond does not recompute the curve.
    growth.count = 12_345;
    growth.update(1032, 934, 1, false);
    assert_eq!(growth.count, 12_345);
    growth.update(1033, 934, 1, false);
    assert_ne!(growth.count, 12_345);
}

#[test]
fn idle_time_does_not_count() {
    let epoch_after = |now_ms, last_send_ms| {
        let mut cubic = without_friendliness();
        cubic.growth.epoch_ms = Some(5000);
        let idle = Conn { last_send_ms, ..conn(now_ms) };
        cubic.cwnd_event(&idle, &mut Window::new(10), CaEvent::CwndRestart);
        assert_eq!(cubic.growth.epoch_ms, Some(5000), "other events change nothing");
        cubic.cwnd_event(&idle, &mut Window::new(10), CaEvent::TxStart);
        cubic.growth.epoch_ms
    };
    assert_eq!(epoch_after(9000, 9001), Some(5000));
    assert_eq!(epoch_after(9000, 9000), Some(5000));
    assert_eq!(epoch_after(9000, 8999), Some(5001));
    assert_eq!(epoch_after(9000, 5000), Some(9000));
    assert_eq!(epoch_after(9000, 4999), Some(9000), "not beyond now");
    let mut cubic = without_friendliness();
    cubic.cwnd_event(&conn(9000), &mut Window::new(10), CaEvent::TxStart);
    assert_eq!(cubic.growth.epoch_ms, None);
}

#[test]
fn a_time_out_starts_over() {
    let mut cubic = Cubic::new(&options());
    cubic.ssthresh(&conn(0), &mut Window::new(1000));
    cubic.hystart.found = true;
    cubic.set_state(&conn(0), &mut Window::new(1), CaState::Recovery);
    assert_eq!((cubic.growth.w_max, cubic.hystart.found), (1000, true));
    cubic.set_state(&conn(0), &mut Window::new(1), CaState::Loss);
    assert_eq!((cubic.growth.w_max, cubic.hystart.found), (0, false));
}

/// Drives a slow-start round of 40 ACKs that are `gap_us` apart. Returns the index of the ACK that
/// set the threshold, and the threshold.
fn round(hystart: bool, gap_us: u64, rtt_us: &dyn Fn(u64) -> i64) -> Option<(u64, u32)> {
    let mut cubic = Cubic::new(&TcpOptions { cubic_hystart: hystart, ..options() });
    let start = Conn { snd_nxt: 1000, ..conn(1000) };
    let mut window = Window::new(16);
    cubic.init(&start, &mut window);
    for ack in 1..=40u64 {
        let conn = Conn { now_us: start.now_us + ack * gap_us, snd_una: 500, ..start };
        let sample = AckSample { pkts_acked: 1, rtt_us: rtt_us(ack), in_flight: 16 };
        cubic.pkts_acked(&conn, &mut window, &sample);
        if !window.in_slow_start() {
            return Some((ack, window.ssthresh));
        }
        window.cwnd += 1;
    }
    None
}

/// Train: RTT 40 ms, half of it is 20 ms; ACK 20 is at 20 ms, ACK 21 beyond. With HyStart off
/// slow start overshoots.
#[test]
fn hystart_ends_at_a_long_ack_train() {
    assert_eq!(round(true, 1000, &|_| 40_000), Some((21, 36)));
    assert_eq!(round(false, 1000, &|_| 40_000), None);
    // ACKs of a train are 2 ms apart at most.
    assert_eq!(round(true, 2000, &|_| 40_000), Some((11, 26)));
    assert_eq!(round(true, 2001, &|_| 40_000), None);
}

#[test]
fn pacing_and_bursts_lengthen_the_train() {
    let found = |pacing, pacing_rate, elapsed_us| {
        let mut hystart = Hystart::default();
        let window = Window { pacing, pacing_rate, ..Window::new(16) };
        let now = Conn { now_us: elapsed_us, ..conn(0) };
        hystart.last_ack_us = elapsed_us as u32;
        hystart.train_is_long(&now, &window, 40_000)
    };
    assert_eq!((found(false, u64::MAX, 20_000), found(false, u64::MAX, 20_001)), (false, true));
    assert_eq!((found(true, u64::MAX, 40_000), found(true, u64::MAX, 40_001)), (false, true));
    assert_eq!((found(true, 1, 41_000), found(true, 1, 41_001)), (false, true));
    assert_eq!((found(true, 0, 40_000), found(true, 0, 40_001)), (false, true));
    assert_eq!(burst_delay_us(260_860_000), 1000);
    assert_eq!(burst_delay_us(260_860_001), 999);
}

/// Delay: the round's minimum over more than 8 samples must exceed 40 ms by more than 5 ms.
#[test]
fn hystart_ends_at_a_risen_delay() {
    // The first ACK sets the minimum; a new round begins after it.
    let risen = |rtt_us: i64| {
        let mut cubic = Cubic::new(&options());
        let mut window = Window::new(16);
        cubic.init(&conn(0), &mut window);
        let sample = |rtt_us| AckSample { pkts_acked: 1, rtt_us, in_flight: 16 };
        cubic.pkts_acked(&conn(1000), &mut window, &sample(40_000));
        (1..=20u64).find(|ack| {
            let conn = Conn { snd_una: 1, snd_nxt: 1, ..conn(1000 + ack * 3) };
            cubic.pkts_acked(&conn, &mut window, &sample(rtt_us));
            !window.in_slow_start()
        })
    };
    assert_eq!(risen(45_000), None);
    assert_eq!(risen(45_001), Some(9));
}

#[test]
fn hystart_tolerance_has_bounds() {
    let risen = |min_delay_us, rtt_us| {
        let mut hystart = Hystart { round_rtt_us: u32::MAX, samples: 8, ..Hystart::default() };
        hystart.delay_has_risen(rtt_us, min_delay_us)
    };
    assert_eq!((risen(8000, 12_000), risen(8000, 12_001)), (false, true));
    assert_eq!((risen(200_000, 216_000), risen(200_000, 216_001)), (false, true));
}

#[test]
fn hystart_leaves_small_windows_alone() {
    let found = |cwnd| {
        let mut cubic = Cubic::new(&options());
        let mut window = Window::new(cwnd);
        cubic.init(&conn(1000), &mut window);
        let sample = AckSample { pkts_acked: 1, rtt_us: 1, in_flight: cwnd };
        cubic.pkts_acked(&conn(1002), &mut window, &sample);
        window.ssthresh
    };
    assert_eq!([15, 16].map(found), [INFINITE_SSTHRESH, 16]);
}

#[test]
fn samples_within_a_second_of_a_reduction_are_discarded() {
    let min_delay = |elapsed_ms: u64| {
        let mut cubic = Cubic::new(&options());
        cubic.growth.epoch_ms = Some(5000);
        let sample = AckSample { pkts_acked: 1, rtt_us: 0, in_flight: 1 };
        cubic.pkts_acked(&conn(5000 + elapsed_ms), &mut avoiding(10), &sample);
        cubic.growth.min_delay_us
    };
    assert_eq!([0, 999, 1000].map(min_delay), [None, None, Some(1)]);
}

proptest! {
    #[test]
    fn operations_keep_the_window_in_bounds(
        clamp in 1..1_000_000u32,
        switches: (bool, bool, bool),
        operations in operations(),
    ) {
        let options = TcpOptions {
            cubic_hystart: switches.0,
            cubic_fast_convergence: switches.1,
            cubic_tcp_friendliness: switches.2,
            ..options()
        };
        check_operations(&mut Cubic::new(&options), clamp, &operations);
    }

    /// From the loss to K + 1 s, the target never falls.
    #[test]
    fn the_curve_rises(w_max in 10..100_000u32, steps in proptest::collection::vec(1..500u32, 50)) {
        let mut growth = Growth { w_max, ..Growth::default() };
        growth.start_epoch(0, w_max * 7 / 10, 1);
        let (mut now_ms, mut target) = (0, growth.target(0, 0));
        for step in steps {
            now_ms += step;
            let next = growth.target(now_ms, 0);
            prop_assert!(next >= target);
            target = next;
        }
    }
}
