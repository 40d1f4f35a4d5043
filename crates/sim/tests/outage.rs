//! A link that goes down and up: what is lost, what is not, and what begins anew.

mod lab;

use dumbbell_model::queue::Queue;
use dumbbell_model::scenario::{Algorithm, Change, LinkState, Loss, Pipe, Scenario, Shaper};
use dumbbell_model::{Rate, Span};
use lab::{dumbbell, mbps, near, run, serial, tcp, udp, wire, Run, BULK};

fn state(at_us: u64, state: LinkState) -> Change {
    let at = Span::from_us(at_us);
    Change { at, rate_bps: None, delay: None, loss: None, state: Some(state) }
}

/// Down from 100.5 ms to 200.5 ms.
fn outage() -> Vec<Change> {
    vec![state(100_500, LinkState::Down), state(200_500, LinkState::Up)]
}

/// A datagram of 1042 bytes each millisecond from 0 on, for half a second, through this link.
fn datagrams(mid: Pipe) -> Run {
    let mut scenario = dumbbell(Span::from_s(1), 1, mid, wire());
    let mut flow = udp("u", 0, mbps(8));
    flow.stop = Some(Span::from_us(499_500));
    scenario.flows.push(flow);
    run(&scenario)
}

/// Packets that arrived, were dropped for this reason, and left.
fn counts(run: &Run, reason: &str) -> [i64; 3] {
    let of = |column: &str| run.pipe("mid/forward", column);
    [of("arrived_packets"), of(&format!("dropped_{reason}_packets")), of("left_packets")]
}

#[test]
fn what_is_offered_and_what_is_inside_is_lost() {
    // 0.8336 ms on the wire and 5 ms in propagation: those of 95 to 100 ms are inside, and a hundred
    // come while the link is down.
    let pipe = serial(mbps(10), Span::from_ms(5), 100);
    let run = datagrams(Pipe { changes: outage(), ..pipe });
    assert_eq!(counts(&run, "link_down"), [500, 106, 394]);
    // The reason is the outage, whatever the loss; that of 1 is over when the link comes up.
    let changes = vec![
        state(100_500, LinkState::Down),
        Change { loss: Some(Loss::None), state: None, ..state(150_000, LinkState::Up) },
        state(200_500, LinkState::Up),
    ];
    let loss = Loss::Independent { probability: 1.0 };
    let run = datagrams(Pipe { changes, loss, ..serial(mbps(10), Span::from_ms(5), 100) });
    assert_eq!(counts(&run, "link_down"), [500, 100, 299]);
    assert_eq!(counts(&run, "random"), [500, 101, 299]);
}

#[test]
fn the_queue_is_flushed() {
    // At 4 Mbit/s a datagram takes 2.084 ms: at 100.5 ms, 101 have come and 48 have left.
    let pipe = serial(mbps(4), Span::ZERO, 1000);
    let run = datagrams(Pipe { changes: vec![state(100_500, LinkState::Down)], ..pipe });
    assert_eq!(counts(&run, "link_down"), [500, 452, 48]);
    assert_eq!(run.pipe("mid/forward", "remaining_packets"), 0);
}

#[test]
fn a_change_while_the_link_is_down_holds_when_it_is_up() {
    // From 200.5 ms on half of the datagrams fit: 299.5 ms of 4 Mbit/s.
    let pipe = serial(mbps(10), Span::ZERO, 10);
    let slower = Change { rate_bps: Some(mbps(4)), state: None, ..state(150_000, LinkState::Up) };
    let mut changes = outage();
    changes.insert(1, slower);
    let [arrived, down, left] = counts(&datagrams(Pipe { changes, ..pipe }), "link_down");
    assert_eq!([arrived, down], [500, 101]);
    near((left - 100) as f64, 299.5 / 2.084 + 10.0, 0.02);
}

#[test]
fn a_bucket_is_full_when_the_link_comes_up() {
    // Ten datagrams pass at once; then the rate of one in 10.42 ms.
    let shaper = Shaper::Tbf {
        rate_bps: Rate::from_bps(800_000),
        burst_bytes: 10_420,
        initial_bytes: Some(0),
        peak: None,
    };
    let queue = Queue::DropTail { limit_packets: Some(1), limit_bytes: None };
    let pipe = Pipe { shaper, queue, ..serial(mbps(1), Span::ZERO, 1) };
    let before = datagrams(Pipe { changes: vec![state(200_500, LinkState::Down)], ..pipe.clone() });
    let changes = vec![state(200_500, LinkState::Down), state(201_500, LinkState::Up)];
    let after = datagrams(Pipe { changes, ..pipe });
    let [_, _, left] = counts(&before, "link_down");
    let [_, _, both] = counts(&after, "link_down");
    near((both - left) as f64, 10.0 + 299.5 / 10.42, 0.08);
}

/// A bulk flow over a link of 10 Mbit/s and 20 ms that is down from 2 to `to_s`.
fn transfer(to_s: u64) -> Scenario {
    let fails = vec![state(2_000_000, LinkState::Down), state(to_s * 1_000_000, LinkState::Up)];
    let pipe = |changes| Pipe { changes, ..serial(mbps(10), Span::from_ms(10), 50) };
    let mut scenario = dumbbell(Span::from_s(20), 1, pipe(fails.clone()), pipe(fails));
    scenario.flows.push(tcp("f", 0, Algorithm::Cubic, BULK));
    scenario.sampling.samples = true;
    scenario.sampling.interval = Span::from_ms(10);
    scenario
}

#[test]
fn tcp_goes_on_at_the_first_time_out_after_the_outage() {
    // Time-outs double: with an RTO of r the last before 5 s is the first that finds the link up.
    let run = run(&transfer(5));
    let delivered = run.samples("f", "delivered_bytes");
    let at = |ms: i64| delivered.iter().find(|row| row.0 >= ms * 1_000_000).map_or(0, |row| row.1);
    assert!(at(1990) > 0);
    assert_eq!(at(2100), at(5000), "nothing arrives while the link is down");
    let again = delivered.iter().find(|row| row.1 > at(5000)).map_or(0, |row| row.0 / 1_000_000);
    assert!((5_000..5_000 + 3_000).contains(&again), "{again} ms");
    assert!(run.flow("f", "timeouts") >= 3);
    assert!(run.pipe("mid/forward", "dropped_link_down_packets") > 50);
}
