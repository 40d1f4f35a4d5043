//! Recording of tables over time, and its default.

use crate::quantity::{positive_size, positive_time, time};
use crate::read::{Node, Result};
use serde_json::{json, Map, Value};

/// Points in time that a figure can show.
const POINTS: u64 = 500;
/// Most rows of a run.
const MOST_ROWS: u64 = 40_000;
/// Fewest points: with more flows or queues than these allow, their table is not kept.
const FEWEST_POINTS: u64 = 50;
const MOST_PROBES: f64 = 200_000.0;
const SHORTEST_NS: u64 = 1_000_000;
const STEPS: [u64; 8] = [1, 2, 3, 4, 5, 6, 8, 10];
const TABLES: [&str; 4] = ["samples", "queues", "drops", "probes"];

fn made(interval_ns: u64, keep: &[&str], packets: Value, hops: Value, capture: Value) -> Value {
    let mut fields = Map::new();
    fields.insert("interval_ns".to_owned(), interval_ns.into());
    for table in TABLES {
        fields.insert(table.to_owned(), keep.contains(&table).into());
    }
    for (name, value) in [("packets", packets), ("hops", hops), ("capture", capture)] {
        fields.insert(name.to_owned(), value);
    }
    Value::Object(fields)
}

/// Reads the field `sampling`.
pub(crate) fn read(node: &Node<'_>) -> Result<Value> {
    const NULL: Value = Value::Null;
    const DEFAULT_NS: u64 = 20_000_000;
    if node.text() == Some("none") {
        return Ok(made(DEFAULT_NS, &[], NULL, NULL, NULL));
    }
    if !node.value.is_object() {
        return Ok(made(positive_time(node)?, &["samples", "queues"], NULL, NULL, NULL));
    }
    let fields = node.only(&["interval", "keep", "packets", "hops", "capture", "repeats"])?;
    let interval_ns = fields.read("interval", positive_time)?.unwrap_or(DEFAULT_NS);
    let mut keep = Vec::new();
    if let Some(node) = fields.get("keep") {
        for node in node.items()? {
            keep.push(node.choice(&TABLES, "table")?);
        }
    }
    let range = |name| {
        fields.read(name, |node| {
            let fields = node.only(&["from", "to"])?;
            let from = fields.read("from", time)?.unwrap_or(0);
            Ok(json!({"from_ns": from, "to_ns": positive_time(&fields.need("to")?)?}))
        })
    };
    let capture = fields.read("capture", |node| match node.value {
        Value::Bool(true) => Ok(json!({"snap_bytes": 96})),
        Value::Bool(false) => Ok(NULL),
        _ => {
            let snap = node.only(&["snap"])?.read("snap", positive_size)?.unwrap_or(96);
            if snap > 65_535 {
                return node.fail("snap is at most 65535 bytes");
            }
            Ok(json!({ "snap_bytes": snap }))
        }
    })?;
    fields.read("repeats", |node| node.whole(1, 100_000))?;
    let keep: Vec<_> = keep.iter().map(String::as_str).collect();
    let [packets, hops] = [range("packets")?, range("hops")?].map(Option::unwrap_or_default);
    Ok(made(interval_ns, &keep, packets, hops, capture.unwrap_or_default()))
}

/// Windows and queues over time, at some [`POINTS`] times, in at most [`MOST_ROWS`] rows.
pub(crate) fn default(duration_ns: u64, links: &[Value], flows: &[Value]) -> Value {
    let waits = |pipe: &Value| pipe["shaper"] != "none" || pipe["queue"].get("drop_tail").is_none();
    let queues: u64 = links
        .iter()
        .flat_map(|link| ["forward", "backward"].map(|way| u64::from(waits(&link[way]))))
        .sum();
    let mut keep = Vec::new();
    for (table, series) in [("samples", flows.len() as u64), ("queues", queues)] {
        if series > 0 && series * FEWEST_POINTS <= MOST_ROWS {
            keep.push((table, series));
        }
    }
    let rows = |keep: &[(&str, u64)]| keep.iter().map(|(_, series)| series).sum::<u64>();
    if rows(&keep) * FEWEST_POINTS > MOST_ROWS {
        // The larger of both goes; of equal ones the first.
        let first = keep.len() < 2 || keep[0].1 >= keep[1].1;
        keep.remove(usize::from(!first));
    }
    let points = POINTS.min(MOST_ROWS / rows(&keep).max(1));
    let mut names: Vec<_> = keep.iter().map(|(name, _)| *name).collect();
    let judged = flows.iter().any(|flow| is_judged(&flow["traffic"]));
    if judged && flows.iter().map(|flow| probes(flow, duration_ns)).sum::<f64>() <= MOST_PROBES {
        names.push("probes");
    }
    let none = Value::Null;
    made(interval_ns(duration_ns, points), &names, none.clone(), none.clone(), none)
}

/// Returns true if the quality of a flow is read from its probes.
fn is_judged(traffic: &Value) -> bool {
    let has = |kind| traffic.get(kind).is_some();
    has("ping") || has("video") || traffic["udp"]["codec"].is_string()
}

/// Echo requests, or datagrams, that a flow sends at most.
fn probes(flow: &Value, duration_ns: u64) -> f64 {
    let traffic = &flow["traffic"];
    let number = |value: &Value| value.as_f64().unwrap_or(1.0);
    if let Some(ping) = traffic.get("ping") {
        return duration_ns as f64 / number(&ping["interval_ns"]);
    }
    if let Some(udp) = traffic.get("udp") {
        let bits = 8.0 * number(&udp["datagram_bytes"]);
        return duration_ns as f64 * 1e-9 * number(&udp["rate_bps"]) / bits;
    }
    if let Some(video) = traffic.get("video") {
        let frames = duration_ns as f64 / number(&video["frame_ns"]);
        let bits = 8.0 * number(&video["datagram_bytes"]);
        return frames + duration_ns as f64 * 1e-9 * number(&video["rate_bps"]) / bits;
    }
    if traffic.get("tcp").is_some() {
        0.0
    } else {
        f64::INFINITY
    }
}

/// The shortest round interval that gives at most so many points.
fn interval_ns(duration_ns: u64, points: u64) -> u64 {
    let duration = u128::from(duration_ns);
    let points = u128::from(points.max(1));
    let mut power: u128 = 1;
    while power * 10 * points < duration {
        power *= 10;
    }
    let steps = STEPS.map(|step| u128::from(step) * power);
    let found = steps.into_iter().find(|step| step * points >= duration);
    (found.unwrap_or(power * 10) as u64).max(SHORTEST_NS)
}
