//! Random networks and impairments: no packet is lost track of, no check of the simulator fails,
//! and no result leaves the bounds that physics sets.

mod lab;

use dumbbell_model::catalogue::discipline;
use dumbbell_model::catalogue::parameter::{Unit, Value};
use dumbbell_model::queue::{
    self, AckFilter, Band, Cells, Diffserv, DrrClass, Framing, Htb, HtbClass, Isolation, Queue,
};
use dumbbell_model::scenario::{
    AckAggregation, Algorithm, Change, EcnField, EcnFlag, Loss, NeighbourDiscovery, Pipe, Policer,
    Reordering, Rewrite, Scenario, Shaper, Slots, Source, SprayPolicy, SprayWhat, Stretch, Traffic,
};
use dumbbell_model::{Rate, Span, TcpOptions};
use lab::{ping, run_seed, set_options, single_path, sprayed, tcp, tcp_of, udp, wire, Run, BULK};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::{BTreeMap, BTreeSet};

fn small() -> impl Strategy<Value = f64> {
    prop_oneof![3 => Just(0.0), 2 => 0.0..0.05f64, 1 => 0.0..0.5f64]
}

fn micros(most: u64) -> impl Strategy<Value = Span> {
    prop_oneof![1 => Just(Span::ZERO), 2 => (1..most).prop_map(Span::from_us)]
}

fn rate() -> impl Strategy<Value = Rate> {
    prop_oneof![(500_000..5_000_000u64), (5_000_000..50_000_000u64)].prop_map(Rate::from_bps)
}

fn loss() -> impl Strategy<Value = Loss> {
    prop_oneof![
        2 => Just(Loss::None),
        1 => small().prop_map(|probability| Loss::Independent { probability }),
        1 => (small(), 0.05..1.0f64, small(), 0.0..1.0f64).prop_map(
            |(good_to_bad, bad_to_good, loss_good, loss_bad)| Loss::GilbertElliott {
                good_to_bad, bad_to_good, loss_good, loss_bad,
            }
        ),
    ]
}

/// A discipline without classes.
fn leaf() -> impl Strategy<Value = Queue> {
    let parts = (1..200u64, 1..20_000u64, 1..200u64, 1..4u32, any::<bool>(), 0..11u32);
    parts.prop_map(|(limit_packets, target_us, more_ms, flows, ecn, kind)| {
        let target = Span::from_us(target_us);
        let interval = target + Span::from_ms(more_ms);
        // Sometimes with fewer queues than flows.
        let quantum_bytes = [300, 1514, 3028][flows as usize - 1];
        let pie = queue::Pie {
            limit_packets,
            target,
            tupdate: Span::from_ms(more_ms),
            alpha: flows,
            beta: 10 * flows,
            ecn,
            bytemode: flows == 1,
        };
        let ce_threshold = if more_ms % 2 == 0 { Span::ZERO } else { Span::from_ms(1) };
        match kind {
            0 => Queue::Codel(queue::Codel { limit_packets, target, interval, ecn, ce_threshold }),
            1 => Queue::FqCodel(queue::FqCodel {
                limit_packets,
                flows,
                quantum_bytes,
                target,
                interval,
                ecn,
                ce_threshold,
                ce_threshold_ect1: flows == 2,
            }),
            2 => Queue::Pie(pie),
            3 => Queue::FqPie(queue::FqPie { pie, flows, quantum_bytes, ecn_prob_percent: 10 }),
            4 => Queue::Red(queue::Red {
                limit_bytes: 3000 * limit_packets,
                min_bytes: 500 * limit_packets,
                max_bytes: 2000 * limit_packets,
                average_packet_bytes: 1000,
                burst_packets: limit_packets,
                probability: 0.1,
                ecn,
                harddrop: flows == 2,
                nodrop: ecn && flows == 3,
                adaptive: flows == 3,
            }),
            5 => Queue::Sfq(queue::Sfq {
                limit_packets,
                flows,
                depth_packets: 1 + limit_packets as u32 / 2,
                quantum_bytes,
                headdrop: ecn,
            }),
            6 => Queue::Fq(queue::Fq {
                limit_packets,
                flow_limit_packets: 1 + limit_packets / 2,
                quantum_bytes,
                initial_quantum_bytes: 2 * quantum_bytes,
                priority_bands: flows == 2,
            }),
            7 => Queue::Choke(queue::Choke {
                limit_packets: 2 + limit_packets,
                min_packets: 1 + limit_packets / 4,
                max_packets: 2 + limit_packets / 2,
                burst_packets: 1 + limit_packets,
                probability: 0.1,
                ecn,
            }),
            8 => Queue::Dualpi2(queue::Dualpi2 {
                limit_packets,
                target,
                tupdate: Span::from_ms(more_ms),
                alpha: 41,
                beta: 819,
                step_threshold: target,
                min_qlen_step: flows - 1,
                coupling_factor: flows,
                classic_protection_percent: more_ms as u32 / 2,
                drop_on_overload: flows == 1,
                drop_enqueue: more_ms % 2 == 0,
                any_ect: ecn,
            }),
            9 => Queue::Cake(queue::Cake {
                bandwidth: Rate::default(),
                diffserv: [Diffserv::Three, Diffserv::BestEffort][more_ms as usize % 2],
                isolation: [Isolation::Triple, Isolation::Hosts][flows as usize % 2],
                rtt: interval,
                overhead_bytes: 14,
                mpu_bytes: 84,
                atm: Cells::Ptm,
                ack_filter: if ecn { AckFilter::On } else { AckFilter::Aggressive },
                ingress: flows == 3,
                memlimit_bytes: 3000 * limit_packets as u32,
            }),
            _ => Queue::HeadDrop(queue::HeadDrop { limit_packets }),
        }
    })
}

/// One, or two as classes of a third.
fn in_classes((one, other, kind, rate): (Queue, Queue, u32, Rate)) -> Queue {
    let dscp = || vec![0, 46];
    match kind {
        0 => Queue::Prio(queue::Prio {
            bands: vec![Band { dscp: dscp(), queue: one }, Band { dscp: vec![], queue: other }],
        }),
        1 => Queue::Drr(queue::Drr {
            classes: vec![
                DrrClass { dscp: dscp(), quantum_bytes: 1514, queue: one },
                DrrClass { dscp: vec![], quantum_bytes: 4000, queue: other },
            ],
        }),
        2 => {
            let class = |dscp, queue, share: u64| HtbClass {
                dscp,
                rate_bps: Rate::from_bps(rate.as_bps() / share),
                ceil_bps: rate,
                burst_bytes: 1600,
                cburst_bytes: 1600,
                priority: share as u32 % 2,
                quantum_bytes: 1514,
                queue,
            };
            let classes = vec![class(dscp(), one, 3), class(vec![], other, 2)];
            Queue::Htb(Htb { rate_bps: rate, burst_bytes: 1600, classes })
        }
        3..=5 => match one {
            Queue::Cake(cake) => Queue::Cake(queue::Cake { bandwidth: rate, ..cake }),
            other => other,
        },
        _ => one,
    }
}

/// A queue and what empties it.
fn service() -> impl Strategy<Value = (Queue, Shaper)> {
    let packets = (1..80u64)
        .prop_map(|limit| Queue::DropTail { limit_packets: Some(limit), limit_bytes: None });
    let bytes = (3000..100_000u64)
        .prop_map(|limit| Queue::DropTail { limit_packets: None, limit_bytes: Some(limit) });
    let drop_tail = || prop_oneof![packets.clone(), bytes.clone()];
    let netem = || {
        (micros(20_000), micros(3000), 1..200u64).prop_map(|(delay, jitter, limit_packets)| {
            Queue::Netem { delay, jitter, limit_packets }
        })
    };
    let tbf = || {
        (rate(), 1600..20_000u64).prop_map(|(rate_bps, burst_bytes)| Shaper::Tbf {
            rate_bps,
            burst_bytes,
            initial_bytes: None,
            peak: None,
        })
    };
    let discipline = || (leaf(), leaf(), 0..8u32, rate()).prop_map(in_classes);
    let serial = || rate().prop_map(|rate_bps| Shaper::Serial { rate_bps });
    let trace = || {
        proptest::collection::vec(0..40u64, 1..20).prop_map(|mut deliveries_ms| {
            deliveries_ms.sort_unstable();
            deliveries_ms.push(41);
            Shaper::Trace { deliveries_ms }
        })
    };
    prop_oneof![
        1 => Just((wire().queue, Shaper::None)),
        3 => (drop_tail(), serial()),
        4 => prop_oneof![
            (discipline(), serial()).boxed(),
            (discipline(), tbf()).boxed(),
            (discipline(), trace()).boxed(),
        ]
        .prop_map(|(queue, shaper)| {
            let shapes_itself = queue.own_rate().is_some();
            (queue, if shapes_itself { Shaper::None } else { shaper })
        }),
        2 => (drop_tail(), tbf()),
        1 => (drop_tail(), trace()),
        1 => (netem(), Just(Shaper::None)),
        2 => (netem(), tbf()),
    ]
}

fn change(rated: bool) -> impl Strategy<Value = Change> {
    let new_rate = proptest::option::of(rate()).prop_map(move |r| r.filter(|_| rated));
    let values = (new_rate, proptest::option::of(micros(30_000)), proptest::option::of(loss()));
    (0..1_500_000u64, values).prop_map(|(at, (rate_bps, delay, loss))| Change {
        at: Span::from_us(at),
        rate_bps,
        delay,
        loss,
    })
}

/// Returns true if slots may stand behind this queue and shaper.
fn takes_slots((queue, shaper): &(Queue, Shaper)) -> bool {
    matches!(shaper, Shaper::Serial { .. }) && queue.own_rate().is_none()
}

fn rewrite() -> impl Strategy<Value = Rewrite> {
    let field = prop::sample::select(vec![None, Some(EcnField::NotEct), Some(EcnField::Ce)]);
    (field, any::<bool>(), any::<bool>()).prop_map(|(ecn, set, strip)| {
        let flags = vec![EcnFlag::Ece, EcnFlag::Ae];
        let (set_flags, clear_flags) = if set { (flags, vec![]) } else { (vec![], flags) };
        Rewrite { flow: None, nth: vec![], ecn, clear_flags, set_flags, strip_accecn: strip }
    })
}

fn pipe() -> impl Strategy<Value = Pipe> {
    let policer = (rate(), 2000..50_000u64)
        .prop_map(|(rate_bps, burst_bytes)| Policer { rate_bps, burst_bytes });
    let reordering = (small(), micros(10_000))
        .prop_map(|(probability, extra_delay)| Reordering { probability, extra_delay });
    let aggregation = (micros(5000), 1..20u32)
        .prop_map(|(max_wait, max_acks)| AckAggregation { max_wait, max_acks });
    let damage = (loss(), small(), small());
    let timing = (micros(20_000), micros(3000), proptest::option::weighted(0.3, reordering));
    let slots = (micros(3000), micros(6000), 0..9u32, 0..9000u32, micros(2000)).prop_map(
        |(min, more, packets, bytes, pause)| Slots {
            min,
            max: min + more + Span::from_us(1),
            packets,
            bytes,
            pause,
            pause_every: Span::from_ms(50),
        },
    );
    let extras = (
        proptest::option::weighted(0.2, policer),
        proptest::option::weighted(0.2, aggregation),
        (-4..30i32, 0..100u32, any::<bool>()).prop_map(|(overhead_bytes, mpu_bytes, atm)| {
            Framing { overhead_bytes, mpu_bytes, atm }
        }),
        proptest::option::weighted(0.3, slots),
        proptest::collection::vec(rewrite(), 0..2),
    );
    (damage, timing, extras, service()).prop_flat_map(|(damage, timing, extras, service)| {
        let rated = matches!(service.1, Shaper::Serial { .. } | Shaper::Tbf { .. });
        proptest::collection::vec(change(rated), 0..3).prop_map(move |mut changes| {
            changes.sort_by_key(|change| change.at);
            Pipe {
                policer: extras.0,
                loss: damage.0.clone(),
                corruption: damage.1,
                duplication: damage.2,
                queue: service.0.clone(),
                shaper: service.1.clone(),
                // CAKE as a shaper has an overhead of its own.
                framing: match &service.0 {
                    Queue::Cake(cake) if cake.bandwidth > Rate::default() => Framing::default(),
                    _ => extras.2,
                },
                delay: timing.0,
                jitter: timing.1,
                reordering: timing.2,
                ack_aggregation: extras.1,
                slots: extras.3.filter(|_| takes_slots(&service)),
                rewrites: extras.4.clone(),
                changes,
            }
        })
    })
}

fn algorithm() -> impl Strategy<Value = Algorithm> {
    prop::sample::select(single_path())
}

fn source() -> impl Strategy<Value = Source> {
    prop_oneof![
        3 => Just(BULK),
        1 => (1..300_000u64).prop_map(|bytes| Source::Bulk {
            bytes: Some(bytes),
            refill: Span::ZERO,
        }),
        1 => micros(100_000).prop_map(|refill| Source::Bulk { bytes: None, refill }),
        1 => (1..50_000u64, 1..200u64).prop_map(|(chunk_bytes, ms)| Source::Periodic {
            chunk_bytes,
            interval: Span::from_ms(ms),
            bytes: None,
        }),
    ]
}

type Switches = (bool, bool, bool, bool, u32, u32);

fn options((gso, sack, timestamps, scaling, recovery, probes): Switches, o: &mut TcpOptions) {
    o.gso = gso;
    o.tcp_sack = sack;
    o.tcp_dsack = sack;
    o.tcp_timestamps = timestamps;
    o.tcp_window_scaling = scaling;
    o.tcp_recovery = recovery;
    o.tcp_early_retrans = probes;
}

fn switches() -> impl Strategy<Value = Switches> {
    let probes = prop::sample::select(vec![0u32, 3]);
    (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), 0..8u32, probes)
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let policy = prop::sample::select(vec![
        SprayPolicy::RoundRobin,
        SprayPolicy::Random,
        SprayPolicy::PerFlow,
    ]);
    let what = prop::sample::select(vec![SprayWhat::Data, SprayWhat::Acks, SprayWhat::Both]);
    let network = (proptest::collection::vec((pipe(), pipe()), 1..4), policy, what, any::<bool>());
    let traffic = (algorithm(), source(), any::<bool>(), micros(50_000), 100..3000u64);
    let other = (rate(), 1..5000u64, micros(20_000), any::<bool>());
    (network, traffic, other, switches(), micros(500)).prop_map(
        |(network, traffic, other, switches, processing)| {
            let (paths, policy, what, discovery) = network;
            let forward: Vec<Pipe> = paths.iter().map(|(forward, _)| forward.clone()).collect();
            let mut scenario = sprayed(Span::from_ms(1500), &forward, policy, what);
            for (index, (_, backward)) in paths.into_iter().enumerate() {
                let link = scenario.links.iter_mut().find(|l| l.name == format!("p{index}"));
                link.expect("named by number").backward = backward;
            }
            scenario.nodes[0].processing_jitter = processing;
            set_options(&mut scenario, |o| {
                options(switches, o);
                o.tcp_ecn = 1 + u32::from(discovery);
            });
            let (algorithm, source, fq, start_jitter, stop_ms) = traffic;
            let mut flow = tcp("tcp", 0, algorithm, source);
            tcp_of(&mut flow).fq = fq;
            flow.start_jitter = start_jitter;
            flow.stop = (stop_ms < 1500).then(|| Span::from_ms(stop_ms));
            let (rate, datagram_bytes, interval, with_ping) = other;
            let mut datagrams = udp("udp", 0, rate);
            datagrams.dscp = if fq { 46 } else { 0 };
            if let Traffic::Udp(udp) = &mut datagrams.traffic {
                (udp.datagram_bytes, udp.interval) = (datagram_bytes, interval);
                udp.rate_bps = Rate::from_bps(rate.as_bps().min(datagram_bytes * 8000));
            }
            scenario.flows = vec![flow, datagrams];
            if with_ping {
                scenario.flows.push(ping("ping", 0, Span::from_ms(20)));
            }
            scenario.neighbour_discovery = discovery.then_some(NeighbourDiscovery {
                reachable: Span::from_s(10),
                probe_delay: Span::from_s(5),
            });
            scenario
        },
    )
}

/// Bits per second that a pipe can carry at most in any second, and bytes it may save up.
fn capacity(pipe: &Pipe) -> Option<(u64, u64)> {
    let changed = pipe.changes.iter().filter_map(|change| change.rate_bps);
    let fastest = |rate: Rate| changed.map(Rate::as_bps).max().unwrap_or(0).max(rate.as_bps());
    if let Queue::Cake(cake) = &pipe.queue {
        if cake.bandwidth > Rate::default() {
            return Some((cake.bandwidth.as_bps(), 2 * 1514));
        }
    }
    if let Queue::Htb(htb) = &pipe.queue {
        // A class may go into debt by a frame, and the parent lends while it has none itself.
        return Some((htb.rate_bps.as_bps(), 2 * 1600 + 4 * 1514));
    }
    match pipe.shaper {
        // A wire below a discipline is a bucket for one frame.
        Shaper::Serial { rate_bps } if pipe.queue.is_discipline() => {
            Some((fastest(rate_bps), u64::from(pipe.framing.wire_bytes(1514))))
        }
        Shaper::Serial { rate_bps } => Some((fastest(rate_bps), 0)),
        Shaper::Tbf { rate_bps, burst_bytes, .. } => Some((fastest(rate_bps), burst_bytes)),
        Shaper::None | Shaper::Trace { .. } => None,
    }
}

/// Least one-way time of any path.
fn least_delay(scenario: &Scenario, forward: bool) -> u64 {
    let paths = scenario.links.iter().filter(|link| link.name.starts_with('p'));
    let delays = paths.map(|link| {
        let pipe = if forward { &link.forward } else { &link.backward };
        let netem = match &pipe.queue {
            Queue::Netem { delay, .. } => delay.as_ns(),
            _ => 0,
        };
        let first = match &pipe.queue {
            Queue::Netem { .. } => netem + pipe.delay.as_ns(),
            _ => pipe.delay.as_ns(),
        };
        // A change replaces netem's delay where there is netem, else the pipe's.
        let fixed = first - if netem > 0 { netem } else { first };
        let later = pipe.changes.iter().filter_map(|c| c.delay).map(|d| d.as_ns() + fixed);
        later.min().unwrap_or(first).min(first)
    });
    delays.min().unwrap_or(0)
}

/// Limit of a queue in packets, if it has one.
fn limit_packets(queue: &Queue) -> Option<u64> {
    match queue {
        Queue::DropTail { limit_packets, .. } => *limit_packets,
        Queue::Netem { limit_packets, .. } => Some(*limit_packets),
        discipline => discipline.parameters().into_iter().find_map(|(one, value)| match value {
            Value::Whole(limit) if one.name == "limit" && one.unit == Unit::Packets => Some(limit),
            _ => None,
        }),
    }
}

/// A discipline that no test draws is not tested: names those of the catalogue that are missing.
#[test]
fn every_discipline_is_drawn() {
    let mut runner = TestRunner::deterministic();
    let strategy = (leaf(), leaf(), 0..9u32, rate()).prop_map(in_classes);
    let mut drawn = BTreeSet::new();
    for _ in 0..400 {
        let Ok(tree) = strategy.new_tree(&mut runner) else { panic!("a queue") };
        drawn.extend(tree.current().entry().map(|entry| entry.key));
    }
    let missing: Vec<_> = discipline::ENTRIES
        .iter()
        .map(|entry| entry.key)
        .filter(|key| *key != "drop_tail" && !drawn.contains(key))
        .collect();
    assert!(missing.is_empty(), "{missing:?}: add them to `leaf`");
}

fn check_pipes(scenario: &Scenario, run: &Run) {
    for link in &scenario.links {
        for (direction, pipe) in [("forward", &link.forward), ("backward", &link.backward)] {
            let name = format!("{}/{direction}", link.name);
            let of = |column: &str| run.pipe(&name, column);
            let dropped: i64 = ["overflow", "random", "scripted", "policed", "corrupted", "aqm"]
                .iter()
                .map(|reason| of(&format!("dropped_{reason}_packets")))
                .sum();
            let rest = of("left_packets") + dropped + of("remaining_packets");
            assert_eq!(of("arrived_packets"), rest, "{name}");
            assert!(of("left_bytes") <= of("arrived_bytes"), "{name}");
            if let Some((bps, saved)) = capacity(pipe) {
                let bits = u128::from(bps) * u128::from(scenario.duration.as_ns()) / 1_000_000_000;
                // Where the line does not send all of the Ethernet header, frames are longer there.
                let spared = i64::from(-pipe.framing.overhead_bytes.min(0));
                let most = bits as i64 / 8 + saved as i64 + 1 + spared * of("left_packets");
                assert!(of("left_bytes") <= most, "{name}: {} of {most}", of("left_bytes"));
            }
            let limit = limit_packets(&pipe.queue);
            if let Some(limit) = limit {
                assert!(of("queue_max_packets") <= limit as i64, "{name}");
            }
        }
    }
}

fn check_flows(scenario: &Scenario, run: &Run) {
    let duplicated =
        scenario.links.iter().any(|l| l.forward.duplication + l.backward.duplication > 0.0);
    let round_trip = (least_delay(scenario, true) + least_delay(scenario, false)) as i64;
    for flow in &scenario.flows {
        let of = |column: &str| run.flow(&flow.name, column);
        if !duplicated {
            assert!(of("received_packets") <= of("sent_packets"), "{}", flow.name);
            assert!(of("received_bytes") <= of("sent_bytes"), "{}", flow.name);
            assert!(of("delivered_bytes") <= of("sent_bytes"), "{}", flow.name);
        }
        let measured = if flow.name == "tcp" { "tap_rtt_min_ns" } else { "rtt_min_ns" };
        let least = of(measured);
        assert!(least < 0 || least >= round_trip, "{}: {least} {round_trip}", flow.name);
        assert!(of("retransmitted_packets") <= of("data_packets"));
        assert!(of("spurious_retransmitted_packets") <= of("retransmitted_packets"));
    }
    let tcp = |column: &str| run.flow("tcp", column);
    // TCP measures in microseconds, after retransmissions in its timestamps' milliseconds. BBR's
    // probes and retransmissions bear the time that pacing plans, which lies ahead.
    let unpaced = |traffic: &Traffic| matches!(traffic, Traffic::Tcp(tcp) if tcp.congestion_control != Algorithm::Bbr && !tcp.fq);
    let unpaced = scenario.flows.iter().any(|flow| unpaced(&flow.traffic));
    let least = tcp("rtt_min_ns");
    assert!(!unpaced || least < 0 || least + 1_000_000 >= round_trip, "{least} {round_trip}");
    assert!(tcp("delivered_bytes") <= tcp("sent_bytes"), "duplicates deliver nothing");
    let kinds = ["fast", "timeout", "probe"];
    let sum: i64 = kinds.iter().map(|kind| tcp(&format!("{kind}_retransmitted_packets"))).sum();
    assert_eq!(sum, tcp("retransmitted_packets"));
    for rows in run.samples("tcp", "delivered_bytes").windows(2) {
        assert!(rows[0].1 <= rows[1].1, "what is delivered stays delivered");
    }
    let acked = run.samples("tcp", "acked_bytes");
    for (acked, delivered) in acked.iter().zip(run.samples("tcp", "delivered_bytes")) {
        assert!(acked.1 <= delivered.1, "acknowledged before it arrived: {acked:?} {delivered:?}");
    }
}

/// Each hop is one that a pipe counted, and each packet goes on where and when it had arrived.
fn check_hops(scenario: &Scenario, run: &Run) {
    let times = ["offered_ns", "leaves_ns", "ended_ns"].map(|column| run.ints("hops", column));
    let [pipes, dropped] = ["pipe", "dropped"].map(|column| run.texts("hops", column));
    let mut counted: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    for (row, (pipe, reason)) in pipes.iter().zip(dropped).enumerate() {
        let [offered, left, ended] = times.map(|column| column[row]);
        assert!(left < 0 || offered <= left, "{pipe}: left before it came");
        assert!(ended < 0 || left.max(offered) <= ended, "{pipe}: ended before it left");
        let fate = match reason.as_str() {
            "" if ended < 0 => "remaining",
            "" => {
                assert!(left >= 0, "{pipe}: arrived and never left");
                "left"
            }
            reason => {
                assert!(ended >= 0, "{pipe}: dropped at no time");
                reason
            }
        };
        *counted.entry((pipe, fate)).or_default() += 1;
    }
    // ARP's packets are in the pipes' counts only.
    if scenario.neighbour_discovery.is_none() {
        for pipe in run.texts("pipes", "pipe") {
            let hops = |fate: &str| counted.get(&(pipe, fate)).copied().unwrap_or(0);
            for fate in ["left", "remaining"] {
                assert_eq!(hops(fate), run.pipe(pipe, &format!("{fate}_packets")), "{pipe} {fate}");
            }
            for reason in ["overflow", "random", "scripted", "policed", "corrupted", "aqm"] {
                let dropped = run.pipe(pipe, &format!("dropped_{reason}_packets"));
                let filtered = if reason == "aqm" { hops("filtered") } else { 0 };
                assert_eq!(hops(reason) + filtered, dropped, "{pipe} {reason}");
            }
        }
    }
    check_ways(scenario, run);
}

/// Hops of a packet join, where it was not copied: the next begins where and when the last ended.
fn check_ways(scenario: &Scenario, run: &Run) {
    let links = scenario.links.iter();
    if links.flat_map(|l| [&l.forward, &l.backward]).any(|pipe| pipe.duplication > 0.0) {
        return;
    }
    let [flows, directions, pipes] =
        ["flow", "direction", "pipe"].map(|column| run.texts("hops", column));
    let numbers = run.ints("hops", "packet_number");
    let [offered, ended] = ["offered_ns", "ended_ns"].map(|column| run.ints("hops", column));
    let mut last: BTreeMap<(&str, &str, i64), (i64, &str)> = BTreeMap::new();
    for row in 0..numbers.len() {
        let Some((name, direction)) = pipes[row].split_once('/') else { panic!("{}", pipes[row]) };
        let Some(link) = scenario.links.iter().find(|link| link.name == name) else { panic!() };
        let [from, to] = match direction {
            "forward" => [&link.a, &link.b],
            _ => [&link.b, &link.a],
        };
        let packet = (flows[row].as_str(), directions[row].as_str(), numbers[row]);
        if let Some((before, at)) = last.insert(packet, (ended[row], to)) {
            assert!(before >= 0 && before <= offered[row], "{packet:?} went on before it arrived");
            assert_eq!(at, from, "{packet:?} went on from elsewhere");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..<_>::default() })]

    #[test]
    fn nothing_is_lost_track_of_and_bounds_hold(scenario in scenario(), seed in 0..1000u64) {
        prop_assert_eq!(scenario.validate(), Ok(()));
        let mut looked_at = scenario.clone();
        // The last instant belongs to the run.
        let to = scenario.duration + Span::from_ns(1);
        looked_at.sampling.hops = Some(Stretch { from: Span::ZERO, to });
        let run = run_seed(&looked_at, seed);
        check_pipes(&scenario, &run);
        check_flows(&scenario, &run);
        check_hops(&scenario, &run);
    }
}
