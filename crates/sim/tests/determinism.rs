//! Same scenario and seed, same digest: again, in another thread, beside other parts.
#![allow(missing_docs)]

mod common;

use common::{dumbbell, ints, link, mbit, ms, node, open, run, sprayed, udp};
use dumbbell_model::scenario::{Algorithm, Loss, NeighbourDiscovery, NodeKind};
use dumbbell_model::{Rate, Span};

fn lossy() -> dumbbell_model::Scenario {
    let mut scenario = sprayed(Algorithm::Bbr);
    for link in &mut scenario.links {
        link.forward.loss = Loss::Independent { probability: 0.01 };
    }
    let reachable = Span::from_s(1);
    scenario.neighbour_discovery = Some(NeighbourDiscovery { reachable, probe_delay: ms(100) });
    scenario.flows[0].start_jitter = ms(10);
    scenario
}

#[test]
fn the_same_seed_gives_the_same_digest_and_another_seed_another() {
    let scenario = lossy();
    let first = run(&scenario, 1).digest;
    assert_eq!(first, run(&scenario, 1).digest);
    assert_ne!(first, run(&scenario, 2).digest);
}

#[test]
fn threads_change_nothing() {
    let scenario = lossy();
    let alone: Vec<_> = (1..=4).map(|seed| run(&scenario, seed).digest).collect();
    let together: Vec<_> = std::thread::scope(|scope| {
        let scenario = &scenario;
        let workers: Vec<_> =
            (1..=4).map(|seed| scope.spawn(move || run(scenario, seed).digest)).collect();
        workers.into_iter().map(|worker| worker.join().expect("no panic")).collect()
    });
    assert_eq!(alone, together);
}

#[test]
fn a_part_more_does_not_reshuffle_the_losses_of_another() {
    let mut scenario = dumbbell(mbit(10), 100);
    scenario.flows = vec![udp("f", "s", "d", Rate::from_bps(1_000_000), 1000)];
    scenario.links[1].forward.loss = Loss::Independent { probability: 0.1 };
    let alone = ints(&run(&scenario, 5), "drops", "seq_bytes");
    assert!(alone.len() > 30);
    scenario.nodes.push(node("x", NodeKind::Host));
    scenario.nodes.push(node("y", NodeKind::Host));
    let mut noisy = open();
    noisy.loss = Loss::Independent { probability: 0.5 };
    scenario.links.push(link("x", "y", noisy, open()));
    scenario.flows.push(udp("g", "x", "y", Rate::from_bps(1_000_000), 1000));
    let beside = run(&scenario, 5);
    let flows = beside.tables.iter().find(|t| t.spec.name == "drops").expect("drops");
    let dumbbell_model::tables::Column::Text(names) = &flows.columns[3] else { panic!("names") };
    let of_f: Vec<i64> = ints(&beside, "drops", "seq_bytes")
        .into_iter()
        .zip(names)
        .filter(|(_, name)| *name == "f")
        .map(|(seq, _)| seq)
        .collect();
    assert_eq!(alone, of_f);
}
