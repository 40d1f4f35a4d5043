//! Flows that arrive during a run: the tables are those of a run that knows all flows beforehand.

mod lab;

use dumbbell_model::queue::{self, Queue};
use dumbbell_model::scenario::{Algorithm, Arrivals, Loss, Pipe, Scenario, Size};
use dumbbell_model::Span;
use lab::{delay, dumbbell, mbps, run, segments, serial, tcp, tcp_of, udp};

const DURATION: Span = Span::from_ms(4000);

/// A process between the hosts of a pair, about 200 flows.
fn process(name: &str, pair: usize) -> Arrivals {
    let mut flow = tcp(name, pair, Algorithm::Cubic, segments(1));
    Arrivals {
        name: name.into(),
        group: "short".into(),
        from: flow.from.clone(),
        to: flow.to.clone(),
        start: Span::ZERO,
        stop: None,
        dscp: 0,
        per_second: 50.0,
        size: Size::Pareto { shape: 1.2, min_bytes: 2000, max_bytes: 1_000_000 },
        tcp: Box::new(tcp_of(&mut flow).clone()),
    }
}

/// Two processes, a TCP flow that lasts, one that ends, and a UDP flow over one narrow link.
fn mixed(forward: Pipe) -> Scenario {
    let back = delay(Span::from_ms(10));
    let mut scenario = dumbbell(DURATION, 2, forward, back);
    scenario.taps.clear();
    (scenario.sampling.samples, scenario.sampling.drops) = (false, false);
    scenario.flows.push(tcp("lasts", 0, Algorithm::Cubic, lab::BULK));
    scenario.flows.push(tcp("ends", 1, Algorithm::Reno, segments(100)));
    scenario.flows.push(udp("udp", 1, mbps(1)));
    let half = Some(Span::from_ms(2000));
    scenario.arrivals = vec![process("web", 0), Arrivals { stop: half, ..process("mail", 1) }];
    scenario
}

fn narrow() -> Pipe {
    serial(mbps(20), Span::from_ms(10), 50)
}

/// The scenario with all its flows written out.
fn written_out(scenario: &Scenario) -> Scenario {
    Scenario { arrivals: Vec::new(), ..scenario.drawn(1).into_owned() }
}

#[track_caller]
fn same(scenario: &Scenario) {
    let (arriving, known) = (run(scenario), run(&written_out(scenario)));
    assert_eq!(arriving.texts("flows", "flow"), known.texts("flows", "flow"));
    assert_eq!(arriving.ints("flows", "end_ns"), known.ints("flows", "end_ns"));
    assert_eq!(arriving.output.digest, known.output.digest);
    assert_eq!(arriving.output.events, known.output.events);
    // Poisson, mean 300: six standard deviations.
    let flows = arriving.texts("flows", "flow").len();
    assert!((196..=407).contains(&flows), "{flows}");
}

#[test]
fn places_are_used_again() {
    same(&mixed(narrow()));
}

#[test]
fn queues_per_flow_know_its_number() {
    let fq_codel = Queue::FqCodel(queue::FqCodel {
        limit_packets: 100,
        flows: 64,
        quantum_bytes: 1514,
        target: Span::from_ms(5),
        interval: Span::from_ms(100),
        ecn: false,
        ce_threshold: Span::ZERO,
        ce_threshold_ect1: false,
    });
    same(&mixed(Pipe { queue: fq_codel, ..narrow() }));
}

#[test]
fn lost_and_duplicated_packets_keep_a_flow_alive() {
    let loss = Loss::Independent { probability: 0.05 };
    same(&mixed(Pipe { loss, duplication: 0.05, jitter: Span::from_ms(5), ..narrow() }));
}

#[test]
fn observed_flows_are_known_beforehand() {
    let mut scenario = mixed(narrow());
    (scenario.sampling.samples, scenario.sampling.drops) = (true, true);
    same(&scenario);
    let found = run(&scenario);
    assert!(found.texts("samples", "flow").iter().any(|name| name == "web.100"));
}
