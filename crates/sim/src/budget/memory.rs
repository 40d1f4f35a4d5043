//! Memory of a run besides its records: hosts, links, flows, packets under way, and the rows of flows.

use super::{most_bps, Load, Network};
use crate::arrive::needs_all;
use crate::qdisc::tells_flows_apart;
use dumbbell_model::scenario::{Arrivals, Pipe, Scenario};
use dumbbell_model::traffic::TrafficKind;
use dumbbell_model::{Queue, Span};

/// A host, in the scenario and in the tables of the network.
const NODE_BYTES: f64 = 1_500.0;
/// A link, with both pipes and their rows.
const LINK_BYTES: f64 = 4_500.0;
/// A flow with its endpoint, windows aside.
const FLOW_BYTES: f64 = 6_000.0;
/// Both ends of a connection of a transport stack, with what it has sent and not yet acknowledged.
const STACK_BYTES: f64 = 110_000.0;
/// A flow that is over: its rows, packed, as a stream and in Python.
const ROW_BYTES: f64 = 250.0;
/// Place of a flow that cannot be used again.
const PLACE_BYTES: f64 = 350.0;
/// A packet, in its sender's queue, in the network, and on a line.
const PACKET_BYTES: f64 = 350.0;
/// Time after the last packet until the timers of a flow are over.
const LAST_TIMERS: Span = Span::from_ms(300);
/// Round trips of a short flow: handshake, slow start, and the last ACK.
const SHORT_FLOW_TRIPS: f64 = 8.0;

/// Estimates what takes memory: field of the scenario and bytes.
pub(super) fn parts(
    scenario: &Scenario,
    network: &Network<'_>,
    loads: &[Load],
) -> Vec<(String, f64)> {
    let fixed = scenario.flows.len();
    let stacks = scenario.flows.iter().filter(|flow| flow.traffic.stack().is_some()).count();
    let flying: f64 = (0..fixed).map(|flow| under_way(network, flow, &loads[flow])).sum();
    let mut parts = vec![
        ("nodes".to_owned(), NODE_BYTES * scenario.nodes.len() as f64),
        ("links".to_owned(), LINK_BYTES * scenario.links.len() as f64),
        (
            "flows".to_owned(),
            FLOW_BYTES * fixed as f64 + STACK_BYTES * stacks as f64 + PACKET_BYTES * flying,
        ),
    ];
    let all = needs_all(scenario);
    let pipes = scenario.links.iter().flat_map(|link| [&link.forward, &link.backward]);
    let numbered = pipes.into_iter().any(|pipe| tells_flows_apart(&pipe.queue));
    for (i, arrivals) in scenario.arrivals.iter().enumerate() {
        let flows = arrivals.expected(scenario.duration);
        let at_once = if all { flows } else { at_one_time(network, fixed + i, arrivals, flows) };
        let places = if numbered { PLACE_BYTES * flows } else { 0.0 };
        let bytes = ROW_BYTES * flows + FLOW_BYTES * at_once + places;
        parts.push((format!("arrivals[{i}].per_second"), bytes));
    }
    parts
}

/// Packets of a flow under way: those of its rate in a round trip, and in the queues on its path.
fn under_way(network: &Network<'_>, flow: usize, load: &Load) -> f64 {
    let [out, back] = &network.paths[flow];
    let [begin, end] = load.stretch.map(|at| at.as_ns() as f64 / 1e9);
    let rate = load.packets / (end - begin).max(1e-9);
    let trip_s = network.delay(out).as_secs_f64() + network.delay(back).as_secs_f64();
    let queued = out.iter().map(|&number| {
        let pipe = network.pipe(number);
        let share = 1.0 / network.sharing[number].max(1.0);
        share * queue_packets(pipe, load.frame_bytes)
    });
    (rate * trip_s + queued.sum::<f64>()).min(load.packets)
}

/// Maximum length of a queue, in packets; one that nothing empties slowly is short.
fn queue_packets(pipe: &Pipe, frame_bytes: f64) -> f64 {
    if most_bps(pipe).is_infinite() {
        return 0.0;
    }
    match pipe.queue {
        Queue::DropTail { limit_packets: Some(limit), .. } => limit as f64,
        Queue::DropTail { limit_bytes: Some(limit), .. } => limit as f64 / frame_bytes.max(64.0),
        _ => 1000.0,
    }
}

/// Flows of a process that exist at one time: by Little's law, and those that the path cannot carry.
fn at_one_time(network: &Network<'_>, number: usize, arrivals: &Arrivals, flows: f64) -> f64 {
    let [out, back] = &network.paths[number];
    let trip_s = network.delay(out).as_secs_f64() + network.delay(back).as_secs_f64();
    let capacity = out.iter().map(|&pipe| most_bps(network.pipe(pipe)));
    let capacity = capacity.fold(f64::INFINITY, f64::min);
    let offered = 8.0 * arrivals.per_second * arrivals.size.mean_bytes();
    let left_over = flows * (1.0 - capacity / offered).max(0.0);
    let lasts_s = SHORT_FLOW_TRIPS * trip_s + LAST_TIMERS.as_secs_f64();
    (arrivals.per_second * lasts_s + left_over).min(flows)
}
