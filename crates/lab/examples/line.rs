//! A flow alone on a line of 20 Mbit/s and 40 ms: `line SECONDS FLOW STACK`, with a flow's traffic as JSON and the stack
//! that is `own` (quinn or s2n). Prints the datagrams or segments with payload that it sent. `benchmarks/stacks.py` counts its instructions.

use dumbbell_lab::{json, run, Maker, Value};
use std::env::args;
use std::sync::Arc;

#[allow(clippy::print_stdout)]
fn main() -> Result<(), String> {
    let [_, seconds, traffic, stack] =
        args().collect::<Vec<_>>().try_into().map_err(|_| "line SECONDS FLOW STACK")?;
    let stack: Arc<dyn Maker> = match stack.as_str() {
        "s2n" => Arc::new(dumbbell_s2n::S2n),
        _ => Arc::new(dumbbell_quinn::Quinn),
    };
    let mut flow = json!({"name": "f", "from": "s1", "to": "d1"});
    let traffic: Value = traffic.parse().map_err(|error| format!("{traffic}: {error}"))?;
    for (name, value) in traffic.as_object().ok_or("FLOW is no object")? {
        flow[name] = value.clone();
    }
    let experiment = json!({
        "dumbbell": 1,
        "name": "line",
        "template": {"dumbbell": {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"}},
        "flows": [flow],
        "duration": format!("{seconds} s"),
        "sampling": {"keep": []},
    });
    let found = run(&experiment, stack)?;
    println!("{}", found.flow("f", "data_packets").unwrap_or(0.0));
    Ok(())
}
