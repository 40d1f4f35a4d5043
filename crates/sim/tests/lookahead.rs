//! Packets that are handed on together arrive as if each had come by itself: whether somebody looks
//! on, which asks for every packet in its turn, changes no result.

mod lab;

use dumbbell_model::scenario::{Algorithm, Loss, Pipe, Scenario, SprayPolicy, SprayWhat, Stretch};
use dumbbell_model::{Rate, Span};
use lab::{delay, dumbbell, ping, run_seed, serial, sprayed, tcp, udp, Run, BULK};
use proptest::prelude::*;

/// The same scenario with the way of its packets kept for an instant.
fn observed(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    let nothing = Stretch { from: Span::ZERO, to: Span::from_ps(1) };
    scenario.sampling.hops = Some(nothing);
    scenario
}

/// Everything but the kept ways.
fn results(run: &Run) -> Vec<(&str, String)> {
    let tables = run.output.tables.iter().filter(|table| table.spec.name != "hops");
    tables.map(|table| (table.spec.name, format!("{:?}", table.columns))).collect()
}

/// Pairs whose far hosts lie so many microseconds behind the shared link.
fn behind(mid: Pipe, delays_us: &[u64]) -> Scenario {
    let mut scenario = dumbbell(Span::from_s(2), delays_us.len(), mid.clone(), mid);
    scenario.taps.clear();
    for (pair, &us) in delays_us.iter().enumerate() {
        let name = format!("b{pair}");
        let own = scenario.links.iter_mut().filter(|link| link.name == name);
        own.for_each(|link| {
            link.forward = delay(Span::from_us(us));
            link.backward = delay(Span::from_us(us));
        });
        let algorithms = [Algorithm::Reno, Algorithm::Cubic, Algorithm::Bbr];
        let flow = match pair % 5 {
            3 => udp(&format!("f{pair}"), pair, Rate::from_bps(700_000)),
            4 => ping(&format!("f{pair}"), pair, Span::from_ms(7)),
            kind => tcp(&format!("f{pair}"), pair, algorithms[kind], BULK),
        };
        scenario.flows.push(flow);
    }
    scenario
}

#[test]
fn one_event_stands_for_many_packets() {
    let scenario = behind(serial(Rate::from_bps(50_000_000), Span::from_ms(1), 100), &[9000, 4000]);
    let (alone, seen) = (run_seed(&scenario, 1), run_seed(&observed(&scenario), 1));
    assert_eq!(results(&alone), results(&seen));
    assert!(alone.output.packets == seen.output.packets && alone.output.packets > 10_000);
    // Of three events for a data packet and two for an ACK one each is left, or so.
    let saved = seen.output.events - alone.output.events;
    assert!(saved > alone.output.packets / 2, "{} of {}", saved, seen.output.events);
}

#[test]
fn hashed_paths_are_known_before_the_run() {
    let path = serial(Rate::from_bps(50_000_000), Span::from_ms(1), 100);
    let saved = [SprayPolicy::PerFlow, SprayPolicy::Random].map(|policy| {
        let paths = [path.clone(), path.clone()];
        let mut scenario = sprayed(Span::from_s(2), &paths, policy, SprayWhat::Both);
        scenario.taps.clear();
        for link in scenario.links.iter_mut().filter(|link| link.name == "b0") {
            link.forward = delay(Span::from_ms(9));
            link.backward = delay(Span::from_ms(9));
        }
        scenario.flows.push(tcp("f", 0, Algorithm::Cubic, BULK));
        let (alone, seen) = (run_seed(&scenario, 1), run_seed(&observed(&scenario), 1));
        assert_eq!(results(&alone), results(&seen));
        (seen.output.events - alone.output.events) as f64 / alone.output.packets as f64
    });
    assert!(saved[0] > 0.5 && saved[1] == 0.0, "{saved:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn whoever_looks_on_sees_the_same(
        delays_us in prop::collection::vec(prop_oneof![Just(0), Just(10_000), 1..30_000u64], 1..7),
        bps in 2_000_000..40_000_000u64,
        limit in 5..100u64,
        probability in prop_oneof![Just(0.0), 0.0..0.02f64],
        (own_us, jitter_us) in (0..5000u64, prop_oneof![2 => Just(0), 1 => 1..3000u64]),
        seed in 0..1000u64,
    ) {
        let mid = Pipe {
            loss: Loss::Independent { probability },
            jitter: Span::from_us(jitter_us),
            ..serial(Rate::from_bps(bps), Span::from_us(own_us), limit)
        };
        let scenario = behind(mid, &delays_us);
        let (alone, seen) = (run_seed(&scenario, seed), run_seed(&observed(&scenario), seed));
        prop_assert_eq!(results(&alone), results(&seen));
        prop_assert!(alone.output.events <= seen.output.events);
    }
}
