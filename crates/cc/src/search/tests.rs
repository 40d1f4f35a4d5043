//! SEARCH by closed forms. All times are in initial RTTs, all volumes in bandwidth-delay products.
//!
//! Slow start sends two packets per ACKed one, so `A(t)` ACKed packets mean `2·A(t)` sent. Below
//! the capacity `A(t) = 2^t / ln 2`. From time 0 on the path delivers at its capacity, and
//! `A(t) = 1/ln 2 + t`. The packet ACKed at `t` left at `u` with `A(u) = A(t)/2`. Then
//! `norm_diff = 1 − (A(t) − A(t−3.5)) / 2·(A(u) − A(u−3.5))`, for both versions. It reaches 0.35 at
//! t = 4.742 and 0.26 at t = 3.881. The window is what is in flight: `A(t)`.

use super::*;
use crate::reno::tests::conn;
use crate::reno::Reno;
use crate::{AckSample, CongestionControl, INFINITE_SSTHRESH};
use dumbbell_model::TcpOptions;
use std::collections::VecDeque;

const RTT_US: u64 = 100_000;
const MSS: u64 = 1000;
/// A bin, initial RTTs.
const BIN: f64 = 0.35;

fn options(search: Against, search_rollback: bool) -> TcpOptions {
    let Some(profile) = TcpOptions::profile("linux-6.1") else { panic!("no profile") };
    TcpOptions { search, search_rollback, ..profile }
}

/// A sender and a path. Packets in flight are kept with their send times.
struct Path {
    reno: Reno,
    window: Window,
    at: Conn,
    /// Time of a packet at the bottleneck, microseconds; 0: no bottleneck.
    service_us: u64,
    free_us: u64,
    /// Arrival of the ACK and send time of each packet, microseconds.
    flight: VecDeque<(u64, u64)>,
}

impl Path {
    fn new(against: Against, rollback: bool, service_us: u64) -> Self {
        let mut path = Self {
            reno: Reno::new(&options(against, rollback)),
            window: Window::new(10),
            at: conn(0),
            service_us,
            free_us: 0,
            flight: VecDeque::new(),
        };
        path.send(|_| 0);
        path
    }

    fn send(&mut self, extra_us: impl Fn(u64) -> u64) {
        while self.flight.len() < self.window.cwnd as usize {
            let now_us = self.at.now_us;
            self.free_us = self.free_us.max(now_us) + self.service_us;
            // Packets of one flow stay in order.
            let last_us = self.flight.back().map_or(0, |(ack_us, _)| *ack_us);
            let ack_us = (self.free_us + RTT_US + extra_us(now_us)).max(last_us);
            self.flight.push_back((ack_us, now_us));
            self.at.snd_nxt += MSS;
        }
    }

    /// Processes the next ACK.
    fn step(&mut self, extra_us: impl Fn(u64) -> u64) {
        let Some((ack_us, sent_us)) = self.flight.pop_front() else { return };
        self.at.now_us = ack_us;
        self.at.snd_una += MSS;
        self.at.delivered += 1;
        self.at.in_flight = self.flight.len() as u32;
        let sample = AckSample { pkts_acked: 1, rtt_us: (ack_us - sent_us) as i64, in_flight: 0 };
        self.reno.pkts_acked(&self.at, &mut self.window, &sample);
        self.reno.cong_avoid(&self.at, &mut self.window, 1);
        self.send(extra_us);
    }

    fn ended(&self) -> bool {
        self.window.ssthresh != INFINITE_SSTHRESH
    }
}

/// Window before and after the exit, in BDPs.
fn exit(against: Against, rollback: bool, bdp: u64) -> (f64, f64) {
    let mut path = Path::new(against, rollback, RTT_US / bdp);
    let mut before = 0;
    while !path.ended() {
        before = before.max(path.window.cwnd);
        path.step(|_| 0);
        assert!(path.at.now_us < 100 * RTT_US, "slow start has not ended");
    }
    // The service time is a whole number of microseconds.
    let full = RTT_US as f64 / path.service_us as f64;
    let of_bdp = |window: u32| f64::from(window) / full;
    (of_bdp(before), of_bdp(path.window.cwnd))
}

const BDPS: [u64; 6] = [150, 200, 500, 700, 1000, 3000];

/// The exit waits for the end of a bin, in which the window grows by a bin's ACKs (0.35 BDP). Before
/// the path is full, ACKs come in trains, not evenly as in the closed form.
#[test]
fn slow_start_ends_where_the_closed_form_says() {
    for bdp in BDPS {
        for (against, window) in [(Against::Delivered, 6.185), (Against::Sent, 5.323)] {
            let (before, after) = exit(against, false, bdp);
            assert!((window - 0.1..window + 2.0 * BIN).contains(&after), "{bdp}: {after}");
            assert!(before <= after);
        }
    }
}

/// At capacity five bins (2 RTTs, rounded down) deliver 1.75 BDP; three (1 RTT, rounded up) 1.05.
#[test]
fn the_window_is_rolled_back_by_two_rtts_or_drained_to_one() {
    for bdp in BDPS {
        let packet = 4.0 / bdp as f64;
        let (before, after) = exit(Against::Delivered, true, bdp);
        assert!((before - after - 1.75).abs() <= packet, "{bdp}: {before} {after}");
        let (_, after) = exit(Against::Sent, true, bdp);
        assert!((after - 1.05).abs() <= packet, "{bdp}: {after}");
    }
}

#[test]
fn deliveries_that_double_do_not_end_it() {
    for against in [Against::Delivered, Against::Sent] {
        let mut path = Path::new(against, false, 0);
        while path.window.cwnd < 100_000 {
            path.step(|_| 0);
            assert!(!path.ended(), "at {} packets", path.window.cwnd);
        }
    }
}

/// Delays that rise and fall by `depth` RTTs over a period of 3.33 RTTs, as those of a
/// geostationary satellite (draft §4, window size).
fn swing(depth: f64) -> impl Fn(u64) -> u64 + Copy {
    move |now_us| {
        let phase = (now_us as f64 / (3.33 * RTT_US as f64)).fract();
        (depth * RTT_US as f64 * (1.0 - (2.0 * phase - 1.0).abs())) as u64
    }
}

#[test]
fn jitter_alone_does_not_end_it() {
    for against in [Against::Delivered, Against::Sent] {
        for depth in [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0] {
            let mut path = Path::new(against, false, 0);
            while path.window.cwnd < 100_000 {
                path.step(swing(depth));
                assert!(!path.ended(), "{depth}: at {} packets", path.window.cwnd);
            }
        }
    }
}

/// One bin after another with these bytes, at a constant RTT.
fn feed(state: &mut Search, at: &mut Conn, window: &mut Window, bins: u64, bytes: u64) {
    for _ in 0..bins {
        at.now_us += 35_001;
        at.snd_una += bytes;
        at.snd_nxt += bytes;
        at.delivered += bytes / MSS;
        state.update(at, window, 100_000);
    }
}

fn flat(pause_us: u64, limited: bool) -> bool {
    let Some(mut state) = Search::new(Against::Delivered, false) else { panic!("off") };
    let (mut at, mut window) = (conn(1), Window::new(10));
    feed(&mut state, &mut at, &mut window, 13, 10_000);
    assert_eq!(window.ssthresh, INFINITE_SSTHRESH);
    at.now_us += pause_us;
    at.app_limited = if limited { at.delivered + 20 } else { 0 };
    feed(&mut state, &mut at, &mut window, 1, 10_000);
    at.app_limited = 0;
    feed(&mut state, &mut at, &mut window, 2, 10_000);
    window.ssthresh != INFINITE_SSTHRESH
}

/// Deliveries that do not grow at all have a norm_diff of 0.5: the first check ends slow start, with
/// 10 bins, 2 for the RTT and one for interpolation. Two initial RTTs are six bins.
#[test]
fn a_pause_or_an_idle_application_begins_anew() {
    assert!(flat(0, false));
    assert!(flat(4 * 35_000, false));
    assert!(!flat(7 * 35_000, false));
    assert!(!flat(0, true));
}

#[test]
fn an_rtt_far_above_the_first_leaves_nothing_to_compare() {
    for (rtt_us, ends) in [(14 * 35_000, true), (15 * 35_000, false)] {
        let Some(mut state) = Search::new(Against::Delivered, false) else { panic!("off") };
        let (mut at, mut window) = (conn(1), Window::new(10));
        for bin in 0..40 {
            at.now_us += 35_001;
            at.snd_una += 10_000;
            at.snd_nxt += 10_000;
            state.update(&at, &mut window, if bin == 0 { 100_000 } else { rtt_us });
        }
        assert_eq!(window.ssthresh != INFINITE_SSTHRESH, ends);
    }
}
