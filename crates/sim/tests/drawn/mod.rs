//! Random scenarios: two routers with parallel links, every impairment and queue discipline, every kind
//! of traffic.

use crate::lab::{ping, set_options, single_path, sprayed, tcp, tcp_of, udp, wire, BULK};
use dumbbell_model::netem::{
    Correlated, Distribution, EarlyReorder, FourStates, NetemLoss, NetemWords,
};
use dumbbell_model::queue::{
    self, AckFilter, Band, Cells, Diffserv, DrrClass, Framing, Htb, HtbClass, Isolation, Queue,
};
use dumbbell_model::scenario::{
    AckAggregation, Algorithm, Change, EcnField, EcnFlag, LinkState, Loss, NeighbourDiscovery,
    Pipe, Policer, Reordering, Rewrite, Scenario, Shaper, Slots, Source, SprayPolicy, SprayWhat,
    Traffic,
};
use dumbbell_model::{Rate, Span, TcpOptions};
use proptest::prelude::*;

fn small() -> impl Strategy<Value = f64> {
    prop_oneof![3 => Just(0.0), 2 => 0.0..0.05f64, 1 => 0.0..0.5f64]
}

fn micros(most: u64) -> impl Strategy<Value = Span> {
    prop_oneof![1 => Just(Span::ZERO), 2 => (1..most).prop_map(Span::from_us)]
}

pub(crate) fn rate() -> impl Strategy<Value = Rate> {
    prop_oneof![(500_000..5_000_000u64), (5_000_000..50_000_000u64)].prop_map(Rate::from_bps)
}

fn loss() -> BoxedStrategy<Loss> {
    prop_oneof![
        2 => Just(Loss::None),
        1 => small().prop_map(|probability| Loss::Independent { probability }),
        1 => (small(), 0.05..1.0f64, small(), 0.0..1.0f64).prop_map(
            |(good_to_bad, bad_to_good, loss_good, loss_bad)| Loss::GilbertElliott {
                good_to_bad, bad_to_good, loss_good, loss_bad, every: None,
            }
        ),
        1 => four_states().prop_map(|chain| Loss::State { chain, every: None }),
    ]
    .boxed()
}

fn four_states() -> BoxedStrategy<FourStates> {
    (small(), 0.0..1.0f64, 0.0..1.0f64, small())
        .prop_map(|(p13, p31, p23, p14)| FourStates { p13, p31, p32: (1.0 - p31) / 2.0, p23, p14 })
        .boxed()
}

/// Words of netem.
fn words() -> BoxedStrategy<NetemWords> {
    let chance = || {
        (small(), small())
            .prop_map(|(probability, correlation)| Correlated { probability, correlation })
    };
    let table = proptest::collection::vec(any::<i16>(), 1..9);
    let distribution = prop_oneof![
        2 => Just(Distribution::Uniform),
        1 => Just(Distribution::Pareto),
        1 => table.prop_map(|values| Distribution::Table { values }),
    ];
    let loss = prop_oneof![
        Just(NetemLoss::None),
        chance().prop_map(NetemLoss::Random),
        four_states().prop_map(NetemLoss::State),
        (small(), small(), small(), small()).prop_map(|(p, r, loss_bad, loss_good)| {
            NetemLoss::Gemodel { p, r, loss_bad, loss_good }
        }),
    ];
    let early = (chance(), 1..9u32).prop_map(|(one, gap)| EarlyReorder {
        probability: one.probability,
        correlation: one.correlation,
        gap,
    });
    let reorder = proptest::option::of(early);
    (1..9000u64, distribution, loss, chance(), chance(), small(), reorder)
        .prop_map(
            |(jitter_us, distribution, loss, duplicate, corrupt, delay_correlation, reorder)| {
                NetemWords {
                    jitter: Span::from_us(jitter_us),
                    distribution,
                    delay_correlation,
                    ecn: loss != NetemLoss::None && jitter_us % 2 == 0,
                    loss,
                    duplicate,
                    corrupt,
                    reorder,
                    seed: None,
                }
            },
        )
        .boxed()
}

/// Takes out of a pipe the fields that netem's words exclude.
fn alone(mut pipe: Pipe) -> Pipe {
    if matches!(pipe.queue, Queue::Netem { words: Some(_), .. }) {
        (pipe.loss, pipe.corruption, pipe.duplication) = (Loss::None, 0.0, 0.0);
        pipe.ack_aggregation = None;
        pipe.changes.iter_mut().for_each(|change| change.loss = None);
    }
    pipe
}

/// A discipline without classes.
pub(crate) fn leaf() -> impl Strategy<Value = Queue> {
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
pub(crate) fn in_classes((one, other, kind, rate): (Queue, Queue, u32, Rate)) -> Queue {
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
fn service() -> BoxedStrategy<(Queue, Shaper)> {
    let packets = (1..80u64)
        .prop_map(|limit| Queue::DropTail { limit_packets: Some(limit), limit_bytes: None });
    let bytes = (3000..100_000u64)
        .prop_map(|limit| Queue::DropTail { limit_packets: None, limit_bytes: Some(limit) });
    let drop_tail = || prop_oneof![packets.clone(), bytes.clone()];
    let netem = || {
        let words = proptest::option::of(words().prop_map(Box::new));
        (micros(20_000), micros(3000), 1..200u64, words).prop_map(
            |(delay, jitter, limit_packets, words)| match words {
                Some(words) => Queue::Netem {
                    delay: delay + Span::from_us(1),
                    jitter: Span::ZERO,
                    limit_packets,
                    words: Some(words),
                },
                None => Queue::Netem { delay, jitter, limit_packets, words: None },
            },
        )
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
    .boxed()
}

fn change(rated: bool) -> impl Strategy<Value = Change> {
    let new_rate = proptest::option::of(rate()).prop_map(move |r| r.filter(|_| rated));
    let values = (new_rate, proptest::option::of(micros(30_000)), proptest::option::of(loss()));
    (0..1_500_000u64, values).prop_map(|(at, (rate_bps, delay, loss))| Change {
        at: Span::from_us(at),
        rate_bps,
        delay,
        loss,
        state: None,
    })
}

/// Sets the states of a pipe's changes, in order of time: none, or down and up in turn.
fn fail(changes: &mut [Change], fails: bool) {
    let states = [LinkState::Down, LinkState::Up].into_iter().cycle();
    for (change, state) in changes.iter_mut().zip(states) {
        change.state = Some(state).filter(|_| fails);
    }
}

/// Returns true if slots may stand behind this queue and shaper.
fn takes_slots((queue, shaper): &(Queue, Shaper)) -> bool {
    matches!(shaper, Shaper::Serial { .. }) && queue.own_rate().is_none()
}

fn rewrite() -> BoxedStrategy<Rewrite> {
    let field = prop::sample::select(vec![None, Some(EcnField::NotEct), Some(EcnField::Ce)]);
    (field, any::<bool>(), any::<bool>())
        .prop_map(|(ecn, set, strip)| {
            let flags = vec![EcnFlag::Ece, EcnFlag::Ae];
            let (set_flags, clear_flags) = if set { (flags, vec![]) } else { (vec![], flags) };
            Rewrite { flow: None, nth: vec![], ecn, clear_flags, set_flags, strip_accecn: strip }
        })
        .boxed()
}

fn pipe() -> BoxedStrategy<Pipe> {
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
            distribution: None,
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
    (damage, timing, extras, service())
        .prop_flat_map(|(damage, timing, extras, service)| {
            let rated = matches!(service.1, Shaper::Serial { .. } | Shaper::Tbf { .. });
            let changes = (proptest::collection::vec(change(rated), 0..4), any::<bool>());
            changes.prop_map(move |(mut changes, fails)| {
                changes.sort_by_key(|change| change.at);
                fail(&mut changes, fails);
                alone(Pipe {
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
                    slots: extras.3.clone().filter(|_| takes_slots(&service)),
                    rewrites: extras.4.clone(),
                    changes,
                })
            })
        })
        .boxed()
}

fn algorithm() -> impl Strategy<Value = Algorithm> {
    prop::sample::select(single_path())
}

fn source() -> BoxedStrategy<Source> {
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
    .boxed()
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

pub(crate) fn scenario() -> impl Strategy<Value = Scenario> {
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
