//! Every kind of chance at once: the same seed repeats the run wherever it runs, and each random
//! stream belongs to its part alone.

mod lab;

use dumbbell_model::queue::Queue;
use dumbbell_model::scenario::{
    Algorithm, Loss, NeighbourDiscovery, Pipe, Reordering, Scenario, Shaper,
};
use dumbbell_model::Span;
use lab::{
    delay, dumbbell, host, link, mbps, run, run_seed, serial, single_path, tcp, udp, wire, BULK,
};

fn random_everywhere() -> Scenario {
    let ms = Span::from_ms;
    let loss = Loss::GilbertElliott {
        good_to_bad: 0.01,
        bad_to_good: 0.3,
        loss_good: 0.0,
        loss_bad: 0.5,
        every: None,
    };
    let forward = Pipe {
        loss,
        duplication: 0.01,
        corruption: 0.001,
        jitter: ms(2),
        reordering: Some(Reordering { probability: 0.01, extra_delay: ms(3) }),
        ..serial(mbps(10), ms(10), 50)
    };
    let backward = Pipe {
        loss: Loss::Independent { probability: 0.01 },
        queue: Queue::Netem { delay: ms(10), jitter: ms(1), limit_packets: 100, words: None },
        shaper: Shaper::Tbf {
            rate_bps: mbps(5),
            burst_bytes: 5000,
            initial_bytes: None,
            peak: None,
        },
        ..wire()
    };
    let algorithms = single_path();
    let mut scenario = dumbbell(Span::from_s(2), algorithms.len(), forward, backward);
    for (pair, algorithm) in algorithms.into_iter().enumerate() {
        let mut flow = tcp(&format!("f{pair}"), pair, algorithm, BULK);
        flow.start_jitter = ms(100);
        scenario.flows.push(flow);
    }
    scenario.neighbour_discovery =
        Some(NeighbourDiscovery { reachable: Span::from_s(1), probe_delay: ms(500) });
    scenario
}

#[test]
fn the_same_seed_repeats_the_run() {
    let scenario = random_everywhere();
    let (one, two) = (run_seed(&scenario, 7), run_seed(&scenario, 7));
    assert_eq!(one.output.digest, two.output.digest);
    assert_eq!(one.output.packets, two.output.packets);
    assert_eq!(one.output.events, two.output.events);
    assert_eq!(one.samples("f0", "cwnd_packets"), two.samples("f0", "cwnd_packets"));
}

#[test]
fn other_seeds_give_other_tables_where_there_is_chance() {
    let scenario = random_everywhere();
    let mut digests: Vec<_> = (1..=5).map(|seed| run_seed(&scenario, seed).output.digest).collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 5);
}

#[test]
fn without_chance_the_seed_decides_nothing() {
    let mut scenario = dumbbell(Span::from_s(2), 1, serial(mbps(10), Span::from_ms(5), 30), wire());
    scenario.flows.push(tcp("f", 0, Algorithm::Reno, BULK));
    assert_eq!(run_seed(&scenario, 1).output.digest, run_seed(&scenario, 2).output.digest);
}

#[test]
fn threads_side_by_side_give_what_one_after_the_other_gives() {
    let scenario = random_everywhere();
    let alone: Vec<_> = (1..=4).map(|seed| run_seed(&scenario, seed).output.digest).collect();
    let together: Vec<_> = std::thread::scope(|scope| {
        let scenario = &scenario;
        let workers: Vec<_> = (1..=4)
            .map(|seed| scope.spawn(move || run_seed(scenario, seed).output.digest))
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("no panic")).collect()
    });
    assert_eq!(alone, together);
}

#[test]
fn a_scenario_read_from_its_file_runs_alike() {
    let scenario = random_everywhere();
    let text = serde_json::to_string(&scenario).expect("scenarios can be written");
    let read = Scenario::from_json(&text).expect("what is written can be read");
    assert_eq!(scenario, read);
    assert_eq!(run(&scenario).output.digest, run(&read).output.digest);
}

#[test]
fn the_name_of_a_scenario_decides_nothing() {
    let scenario = random_everywhere();
    let other = Scenario { name: "another".into(), ..scenario.clone() };
    assert_eq!(run(&scenario).output.digest, run(&other).output.digest);
}

#[test]
fn an_unrelated_part_does_not_shift_a_links_random_stream() {
    let forward = Pipe {
        loss: Loss::Independent { probability: 0.1 },
        jitter: Span::from_ms(1),
        ..delay(Span::from_ms(5))
    };
    let mut scenario = dumbbell(Span::from_s(2), 1, forward, wire());
    scenario.flows.push(udp("f", 0, mbps(2)));
    let alone = run(&scenario);
    let lossy = Pipe {
        loss: Loss::Independent { probability: 0.2 },
        ..serial(mbps(5), Span::from_ms(3), 20)
    };
    // First in its list, so that every number inside shifts.
    scenario.links.insert(0, link("other", "x", "y", lossy.clone(), lossy));
    scenario.nodes.splice(0..0, [host("x"), host("y")]);
    let mut flow = tcp("g", 0, Algorithm::Bbr, BULK);
    (flow.from, flow.to) = ("x".into(), "y".into());
    flow.start_jitter = Span::from_ms(50);
    scenario.flows.insert(0, flow);
    let beside = run(&scenario);
    assert!(beside.pipe("other/forward", "dropped_random_packets") > 0);
    let drops = alone.drops("mid/forward");
    assert!(drops.len() > 20, "{}", drops.len());
    assert_eq!(drops, beside.drops("mid/forward"));
    // Jitter comes from the same stream.
    assert_eq!(alone.flow("f", "last_delivery_ns"), beside.flow("f", "last_delivery_ns"));
}

#[test]
fn what_is_recorded_does_not_change_what_happens() {
    let loud = random_everywhere();
    let mut quiet = loud.clone();
    quiet.sampling.samples = false;
    quiet.sampling.queues = false;
    quiet.sampling.drops = false;
    quiet.taps.clear();
    let (loud, quiet) = (run(&loud), run(&quiet));
    assert_eq!(loud.ints("flows", "delivered_bytes"), quiet.ints("flows", "delivered_bytes"));
    assert_eq!(loud.ints("pipes", "arrived_bytes"), quiet.ints("pipes", "arrived_bytes"));
    assert_eq!(loud.output.packets, quiet.output.packets);
    assert!(quiet.ints("samples", "time_ns").is_empty());
}

#[test]
fn a_finer_sampling_changes_only_what_is_sampled() {
    let coarse = random_everywhere();
    let mut fine = coarse.clone();
    fine.sampling.interval = Span::from_us(700);
    let (coarse, fine) = (run(&coarse), run(&fine));
    assert_eq!(coarse.ints("flows", "delivered_bytes"), fine.ints("flows", "delivered_bytes"));
    assert_eq!(coarse.ints("drops", "time_ns"), fine.ints("drops", "time_ns"));
}
