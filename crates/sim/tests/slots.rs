//! Transmission opportunities: waits, bursts and rates that follow from the parameters alone.

mod lab;

use dumbbell_model::queue::Queue;
use dumbbell_model::scenario::{Algorithm, Pipe, Scenario, Slots};
use dumbbell_model::Span;
use lab::{dumbbell, mbps, near, one_flow, ping, run, run_seed, serial, udp, wire, BULK};

const MS: i64 = 1_000_000;

fn slots(min_us: u64, max_us: u64) -> Slots {
    Slots {
        distribution: None,
        min: Span::from_us(min_us),
        max: Span::from_us(max_us),
        packets: 0,
        bytes: 0,
        pause: Span::ZERO,
        pause_every: Span::ZERO,
    }
}

fn slotted(slots: Slots, pipe: Pipe) -> Pipe {
    Pipe { slots: Some(slots), ..pipe }
}

/// A queue without a wire.
fn queue(limit: u64) -> Pipe {
    Pipe { queue: Queue::DropTail { limit_packets: Some(limit), limit_bytes: None }, ..wire() }
}

fn over(duration: Span, pipe: Pipe) -> Scenario {
    dumbbell(duration, 1, pipe, wire())
}

#[test]
fn a_lone_packet_waits_for_the_slot_that_it_asked_for() {
    let mut scenario = over(Span::from_s(2), slotted(slots(2000, 2000), queue(10)));
    scenario.flows.push(ping("p", 0, Span::from_ms(50)));
    let run = run(&scenario);
    assert_eq!(run.flow("p", "rtt_min_ns"), 2 * MS);
    assert_eq!(run.pipe("mid/forward", "sojourn_max_ns"), 2 * MS);
}

#[test]
fn the_wait_of_lone_packets_is_uniform_between_both_ends() {
    let mut scenario = over(Span::from_s(100), slotted(slots(1000, 9000), queue(10)));
    scenario.flows.push(ping("p", 0, Span::from_ms(20)));
    let run = run(&scenario);
    let (least, most) =
        (run.pipe("mid/forward", "left_packets"), run.pipe("mid/forward", "sojourn_max_ns"));
    assert_eq!(least, 5000);
    // 5000 draws of a width of 8 ms: the ends are met within a hundredth, the mean within 1 %.
    assert!((MS..MS + 80_000).contains(&run.flow("p", "rtt_min_ns")));
    assert!((9 * MS - 80_000..9 * MS).contains(&most), "{most}");
    near(run.pipe_mean("mid/forward", "sojourn_mean_ns"), 5e6, 0.02);
}

#[test]
fn those_that_come_meanwhile_leave_together_and_wait_half_as_long() {
    let mut scenario = over(Span::from_s(5), slotted(slots(2000, 2000), queue(100)));
    scenario.flows.push(udp("u", 0, mbps(80))); // One datagram of 8000 bits every 0.1 ms.
    let run = run(&scenario);
    // One asks, 20 come within 2 ms, that at its end included: waits 2.0, 1.9 … 0.0 ms.
    near(run.pipe_mean("mid/forward", "sojourn_mean_ns"), 1e6, 1e-3);
    assert_eq!(run.pipe("mid/forward", "sojourn_max_ns"), 2 * MS);
    assert!((20..=21).contains(&run.pipe("mid/forward", "queue_max_packets")));
}

#[test]
fn a_budget_of_packets_or_bytes_bounds_each_slot() {
    // Frames of 1042 bytes; the fourth exceeds 4000 bytes and still leaves.
    for (packets, bytes) in [(4, 0), (0, 4000)] {
        let budget = Slots { packets, bytes, ..slots(1000, 1000) };
        let mut scenario = over(Span::from_s(5), slotted(budget, queue(50)));
        scenario.flows.push(udp("u", 0, mbps(80)));
        let left = run(&scenario).pipe("mid/forward", "left_packets");
        assert!((19_990..=20_000).contains(&left), "{left}");
    }
}

#[test]
fn slots_behind_a_wire_keep_its_rate() {
    let pipe = slotted(slots(1000, 5000), serial(mbps(20), Span::from_ms(5), 100));
    let mut scenario = over(Span::from_s(5), pipe);
    scenario.flows.push(udp("u", 0, mbps(30)));
    let run = run(&scenario);
    let left = run.pipe("mid/forward", "left_bytes");
    // 20 Mbit/s for 5 s, without what waits for the last slot, at most 5 ms behind a frame.
    let most = 12_500_000;
    assert!(left <= most && left >= most - 12_500 - 2 * 1042, "{left}");
    // Packets that wait for their slot are in the queue.
    assert_eq!(run.pipe("mid/forward", "queue_max_packets"), 100);
}

#[test]
fn a_discipline_in_front_of_slots_has_the_wires_rate() {
    let queue = Queue::HeadDrop(dumbbell_model::queue::HeadDrop { limit_packets: 100 });
    let wire = Pipe { queue, ..serial(mbps(20), Span::from_ms(5), 100) };
    let mut scenario = over(Span::from_s(5), slotted(slots(1000, 5000), wire));
    scenario.flows.push(udp("u", 0, mbps(30)));
    let left = run(&scenario).pipe("mid/forward", "left_bytes");
    let most = 12_500_000 + 1514;
    assert!(left <= most && left >= most - 12_500 - 3 * 1514, "{left}");
}

#[test]
fn nothing_leaves_in_a_pause() {
    let paused =
        Slots { pause: Span::from_ms(100), pause_every: Span::from_s(1), ..slots(1000, 1000) };
    let longest = |seed| {
        let mut scenario = over(Span::from_s(10), slotted(paused.clone(), queue(1000)));
        scenario.flows.push(udp("u", 0, mbps(8)));
        let run = run_seed(&scenario, seed);
        assert_eq!(run.pipe("mid/forward", "dropped_overflow_packets"), 0);
        run.pipe("mid/forward", "sojourn_max_ns")
    };
    // The first packet of a pause comes within 1 ms, or its slot would lie within 1 ms of the beginning.
    for seed in 0..5 {
        assert!((99 * MS..=101 * MS).contains(&longest(seed)), "{}", longest(seed));
    }
}

#[test]
fn both_directions_pause_at_once() {
    // A ping of 0.2 ms that meets a pause on its way there meets none on its way back.
    let paused = Slots { pause: Span::from_ms(300), pause_every: Span::from_s(1), ..slots(0, 100) };
    let pipe = slotted(paused, queue(1000));
    let mut scenario = dumbbell(Span::from_s(10), 1, pipe.clone(), pipe);
    scenario.flows.push(ping("p", 0, Span::from_ms(1)));
    scenario.sampling.probes = true;
    for seed in 0..5 {
        let run = run_seed(&scenario, seed);
        let longest = run.ints("probes", "delay_ns").iter().copied().max().unwrap_or(0);
        assert!((295 * MS..=301 * MS).contains(&longest), "{longest}");
    }
}

#[test]
fn tcp_fills_a_wire_with_slots() {
    let pipe = slotted(slots(2000, 8000), serial(mbps(20), Span::from_ms(10), 100));
    let scenario = one_flow(20_000, Algorithm::Cubic, BULK, pipe);
    let goodput = run(&scenario).goodput_bps("f", Span::from_s(5), Span::from_s(20));
    near(goodput, 20e6 * 1448.0 / 1514.0, 0.02);
}
