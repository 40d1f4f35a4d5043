//! Coupled congestion control: the three goals of RFC 6356 §2 as laws, for LIA, OLIA and BALIA. Bounds
//! leave 20 % for what the fluid models do not have: losses of whole bursts at a drop-tail queue, and a
//! second subflow that is small and so loses its window by time-outs.

mod lab;

use dumbbell_model::scenario::{Algorithm, Pipe, Scenario, Scheduler};
use dumbbell_model::Span;
use lab::*;

const COUPLED: [Algorithm; 3] = [Algorithm::Lia, Algorithm::Olia, Algorithm::Balia];
const SECONDS: u64 = 80;

/// 20 Mbit/s, 20 ms each way, a queue of one bandwidth-delay product.
fn path() -> (Pipe, Pipe) {
    (serial(mbps(20), Span::from_ms(20), 70), delay(Span::from_ms(20)))
}

/// A TCP connection over one of the paths, from a host of its own.
fn add_tcp(scenario: &mut Scenario, name: &str, path: usize, start_ms: u64) {
    for end in ["from", "to"] {
        scenario.nodes.push(host(format!("{name}-{end}")));
    }
    let (r, s) = (format!("r{path}"), format!("s{path}"));
    scenario.links.push(link(&format!("{name}-in"), &format!("{name}-from"), &r, wire(), wire()));
    scenario.links.push(link(&format!("{name}-out"), &s, &format!("{name}-to"), wire(), wire()));
    let mut flow = tcp(name, 0, Algorithm::Reno, BULK);
    (flow.from, flow.to) = (format!("{name}-from"), format!("{name}-to"));
    flow.start = Span::from_ms(start_ms);
    scenario.flows.push(flow);
}

/// Mean goodput of flows over four seeds and start times, Mbit/s.
fn goodputs<const N: usize>(build: impl Fn(u64) -> Scenario, names: [&str; N]) -> [f64; N] {
    goodputs_of(4, build, names)
}

/// The same over so many runs.
fn goodputs_of<const N: usize>(
    runs: u64,
    build: impl Fn(u64) -> Scenario,
    names: [&str; N],
) -> [f64; N] {
    let mut sums = [0.0; N];
    for number in 0..runs {
        let run = run_seed(&build(37 * number), number);
        for (sum, name) in sums.iter_mut().zip(names) {
            *sum += run.flow(name, "delivered_bytes") as f64 * 8e-6 / SECONDS as f64;
        }
    }
    sums.map(|sum| sum / runs as f64)
}

/// A connection over these paths (a path may be named twice), and TCP over each as often as it says.
fn beside(
    algorithm: Algorithm,
    subflows: &[usize],
    others: [usize; 2],
) -> impl Fn(u64) -> Scenario + '_ {
    move |shift_ms| {
        let mut scenario = apart(Span::from_s(SECONDS), &[path(), path()]);
        multipath(&mut scenario, algorithm, Scheduler::LowestRtt, BULK, subflows);
        for (path, count) in others.into_iter().enumerate() {
            for number in 0..count {
                let start = 100 + shift_ms + 61 * number as u64;
                add_tcp(&mut scenario, &format!("t{path}{number}"), path, start);
            }
        }
        scenario
    }
}

/// Goal 1: at least what a connection over the better path alone gets.
#[test]
fn throughput_is_improved_over_the_best_single_path() {
    let [single] = goodputs(beside(Algorithm::Reno, &[0], [1, 4]), ["m"]);
    for algorithm in COUPLED {
        let [both] = goodputs(beside(algorithm, &[0, 1], [1, 4]), ["m"]);
        assert!(both > 0.8 * single, "{algorithm:?}: {both} against {single} Mbit/s");
    }
    // Where nobody else is, both paths are filled.
    for algorithm in COUPLED {
        let [alone] = goodputs(beside(algorithm, &[0, 1], [0, 0]), ["m"]);
        assert!(alone > 0.9 * 2.0 * 18.8, "{algorithm:?}: {alone} Mbit/s");
    }
}

/// Goal 2: a TCP connection at a bottleneck of two subflows keeps what one more TCP would leave it.
#[test]
fn no_harm_is_done_at_a_shared_bottleneck() {
    let half = 18.8 / 2.0;
    for algorithm in COUPLED {
        let [other] = goodputs(beside(algorithm, &[0, 0], [1, 0]), ["t00"]);
        assert!(other > 0.8 * half, "{algorithm:?} leaves {other} of {half} Mbit/s");
    }
    // Uncoupled subflows take a share each. Runs differ by a tenth: over 24 it is 7.4.
    let [other] = goodputs_of(12, beside(Algorithm::Reno, &[0, 0], [1, 0]), ["t00"]);

    assert!(other < 0.8 * half, "Reno leaves {other} of {half} Mbit/s");
}

/// Goal 3: traffic moves off the path with more congestion.
#[test]
fn congestion_is_balanced() {
    let share = |algorithm| {
        let [light, heavy] = goodputs(beside(algorithm, &[0, 1], [1, 4]), ["m/1", "m/2"]);
        light / (light + heavy)
    };
    let uncoupled = share(Algorithm::Reno);
    for algorithm in COUPLED {
        let coupled = share(algorithm);
        assert!(coupled > uncoupled, "{algorithm:?}: {coupled} against {uncoupled}");
    }
}

/// Weighted Vegas keeps a few packets in the queues, and loses none.
#[test]
fn weighted_vegas_queues_little() {
    let run = run(&beside(Algorithm::Wvegas, &[0, 1], [0, 0])(0));
    for pipe in ["p0/forward", "p1/forward"] {
        let queued = run.pipe_mean(pipe, "queue_mean_packets");
        assert!((1.0..20.0).contains(&queued), "{pipe}: {queued}");
    }
    let goodput = run.goodput_bps("m", Span::from_s(20), Span::from_s(SECONDS)) / 1e6;
    assert!(goodput > 0.95 * 2.0 * 18.8, "{goodput} Mbit/s");
}
