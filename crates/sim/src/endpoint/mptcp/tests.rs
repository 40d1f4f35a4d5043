//! Integrity: the received content equals the written content. Every byte of the stream has its own
//! content. Subflows carry the bytes that the connection gave them, and the receiver places them by
//! the mappings in segments.

use crate::endpoint::mptcp::ends::Multipath;
use crate::endpoint::Ends;
use crate::held::Held::Lent;
use crate::lab::{apart, delay, mbps, multipath, serial, set_options, Silent};
use crate::world::World;
use dumbbell_cc::plugin::NoPlugins;
use dumbbell_model::scenario::{Algorithm, Change, Loss, Reordering, Scenario, Scheduler, Source};
use dumbbell_model::Span;

const BYTES: u64 = 2_000_000;
const SCHEDULERS: [Scheduler; 6] = [
    Scheduler::Default,
    Scheduler::LowestRtt,
    Scheduler::RoundRobin,
    Scheduler::Redundant,
    Scheduler::Blest,
    Scheduler::Ecf,
];

/// Content of byte `offset`.
fn content(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn connection<'a>(world: &'a World<'_>) -> &'a Multipath {
    let found = world.endpoints.iter().find_map(Ends::multipath);
    found.unwrap_or_else(|| panic!("the scenario has a connection"))
}

/// Content read by the receiving application, reconstructed from the subflows.
fn received(world: &World<'_>) -> Vec<u8> {
    let mut stream = vec![0; BYTES as usize];
    let mut known = vec![false; BYTES as usize];
    for tcp in &connection(world).subflows {
        let (Some(sending), Some(receiving)) = (&tcp.sender.subflow, &tcp.receiver.subflow) else {
            continue;
        };
        let mut carried = Vec::new();
        for &(seq, dsn, bytes) in &sending.written {
            assert_eq!(carried.len() as u64, seq, "a subflow is written without gaps");
            carried.extend((dsn..dsn + bytes).map(content));
        }
        for &(seq, dsn, bytes) in &receiving.taken {
            for offset in 0..bytes {
                let (from, to) = ((seq + offset) as usize, (dsn + offset) as usize);
                assert!(!known[to] || stream[to] == carried[from], "two contents of byte {to}");
                (stream[to], known[to]) = (carried[from], true);
            }
        }
    }
    assert!(known.iter().all(|known| *known), "bytes never arrived");
    stream
}

#[track_caller]
fn arrives_whole(scenario: &Scenario, what: &str) {
    let Ok(mut world) = crate::session::begin(Lent(scenario), 7, Lent(&NoPlugins)) else {
        panic!("{what}: no world")
    };
    assert!(world.run(&Silent).is_ok(), "{what}");
    let connection = connection(&world);
    assert!(connection.conserves().is_ok(), "{what}");
    assert_eq!(connection.connection.receiver.delivered_bytes(), BYTES, "{what}");
    let written: Vec<u8> = (0..BYTES).map(content).collect();
    assert_eq!(hash(&received(&world)), hash(&written), "{what}");
}

/// Scenario with 2 MB over two paths of 10 and 4 Mbit/s, modified by `change`.
fn two_paths(scheduler: Scheduler, change: impl Fn(&mut Scenario)) -> Scenario {
    let pipes = [
        (serial(mbps(10), Span::from_ms(10), 30), delay(Span::from_ms(10))),
        (serial(mbps(4), Span::from_ms(50), 30), delay(Span::from_ms(50))),
    ];
    let mut scenario = apart(Span::from_s(120), &pipes);
    let source = Source::Bulk { bytes: Some(BYTES), refill: Span::ZERO };
    multipath(&mut scenario, Algorithm::Cubic, scheduler, source, &[0, 1]);
    change(&mut scenario);
    scenario
}

fn path(scenario: &mut Scenario, name: &str) -> usize {
    scenario.links.iter().position(|link| link.name == name).unwrap_or(0)
}

#[test]
fn content_survives_loss_and_reordering() {
    for scheduler in SCHEDULERS {
        let scenario = two_paths(scheduler, |scenario| {
            for name in ["p0", "p1"] {
                let at = path(scenario, name);
                let forward = &mut scenario.links[at].forward;
                forward.loss = Loss::Independent { probability: 0.03 };
                forward.reordering =
                    Some(Reordering { probability: 0.05, extra_delay: Span::from_ms(20) });
                scenario.links[at].backward.loss = Loss::Independent { probability: 0.02 };
            }
        });
        arrives_whole(&scenario, &format!("{scheduler:?}"));
    }
}

#[test]
fn content_survives_the_failure_of_a_path() {
    for scheduler in SCHEDULERS {
        for failing in ["p0", "p1"] {
            let scenario = two_paths(scheduler, |scenario| {
                let at = path(scenario, failing);
                let change = Change {
                    at: Span::from_ms(400),
                    rate_bps: None,
                    delay: None,
                    loss: Some(Loss::Independent { probability: 1.0 }),
                    state: None,
                };
                scenario.links[at].forward.changes.push(change.clone());
                scenario.links[at].backward.changes.push(change);
            });
            arrives_whole(&scenario, &format!("{scheduler:?} without {failing}"));
        }
    }
}

#[test]
fn content_survives_a_full_window() {
    for scheduler in SCHEDULERS {
        let scenario = two_paths(scheduler, |scenario| {
            set_options(scenario, |o| o.tcp_rmem = [4096, 65_536, 65_536]);
            scenario.connections[0].sink.rate_bps = Some(mbps(2));
            scenario.connections[0].opportunistic = true;
        });
        arrives_whole(&scenario, &format!("{scheduler:?}"));
    }
}
