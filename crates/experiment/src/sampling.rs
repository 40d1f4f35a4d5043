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
const DEFAULT_NS: u64 = 20_000_000;
const TABLES: [&str; 4] = ["samples", "queues", "drops", "probes"];

/// Tables that a run records over time.
#[derive(Clone, Debug)]
pub(crate) struct Sampling {
    interval_ns: u64,
    /// Tables that are kept.
    keep: Vec<String>,
    /// Time ranges and the capture, in the form of the scenario.
    packets: Option<Value>,
    hops: Option<Value>,
    capture: Option<Value>,
    /// Number of first repeats that keep tables; `None`: all.
    pub(crate) repeats: Option<u64>,
}

fn range(node: &Node<'_>) -> Result<Value> {
    let fields = node.any_fields()?;
    let from = fields.read("from", time)?.unwrap_or(0);
    Ok(json!({"from_ns": from, "to_ns": positive_time(&fields.need("to")?)?}))
}

fn capture(node: &Node<'_>) -> Result<Option<Value>> {
    match node.value {
        Value::Bool(true) => Ok(Some(json!({"snap_bytes": 96}))),
        Value::Bool(false) => Ok(None),
        _ => {
            let snap = node.any_fields()?.read("snap", positive_size)?.unwrap_or(96);
            if snap > 65_535 {
                return node.fail("snap is at most 65535 bytes");
            }
            Ok(Some(json!({ "snap_bytes": snap })))
        }
    }
}

/// Returns true if packets may wait in a pipe of the scenario.
pub(crate) fn waits(pipe: &Value) -> bool {
    pipe["shaper"] != "none" || pipe["queue"].get("drop_tail").is_none()
}

impl Sampling {
    fn plain(interval_ns: u64, keep: &[&str]) -> Self {
        let keep = keep.iter().map(|name| (*name).to_owned()).collect();
        Self { interval_ns, keep, packets: None, hops: None, capture: None, repeats: None }
    }

    /// Reads the field `sampling`.
    pub(crate) fn read(node: &Node<'_>) -> Result<Self> {
        if node.text() == Some("none") {
            return Ok(Self::plain(DEFAULT_NS, &[]));
        }
        if !node.value.is_object() {
            return Ok(Self::plain(positive_time(node)?, &["samples", "queues"]));
        }
        let fields = node.any_fields()?;
        let mut keep = Vec::new();
        if let Some(node) = fields.get("keep") {
            for node in node.items()? {
                keep.push(node.choice(&TABLES, "table")?);
            }
        }
        let repeats = fields.read("repeats", |node| node.whole(1, 100_000))?;
        Ok(Self {
            interval_ns: fields.read("interval", positive_time)?.unwrap_or(DEFAULT_NS),
            keep,
            packets: fields.read("packets", range)?,
            hops: fields.read("hops", range)?,
            capture: fields.read("capture", capture)?.flatten(),
            repeats: repeats.map(|count| count as u64),
        })
    }

    /// The default: windows and queues over time, at some [`POINTS`] times, in at most [`MOST_ROWS`] rows.
    /// Probes are kept where there is ping, voice or video.
    ///
    /// # Arguments
    /// - `programs`: number of programs, each with a connection or so.
    /// - `arrivals`: true if other flows arrive. Then no windows are kept: flows could not be forgotten
    ///   when they are over.
    pub(crate) fn default(
        duration_ns: u64,
        links: &[Value],
        flows: &[Value],
        programs: usize,
        arrivals: bool,
    ) -> Self {
        let queues: u64 = links
            .iter()
            .flat_map(|link| ["forward", "backward"].map(|way| u64::from(waits(&link[way]))))
            .sum();
        let windows = if arrivals { 0 } else { (flows.len() + programs) as u64 };
        let mut keep = Vec::new();
        for (table, series) in [("samples", windows), ("queues", queues)] {
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
        let probes = || flows.iter().map(|flow| probes(flow, duration_ns)).sum::<f64>();
        if judged && probes() <= MOST_PROBES {
            names.push("probes");
        }
        Self::plain(interval_ns(duration_ns, points), &names)
    }

    fn made(&self, keeps: impl Fn(&str) -> bool, ranges: bool) -> Value {
        let mut fields = Map::new();
        fields.insert("interval_ns".to_owned(), self.interval_ns.into());
        for table in TABLES {
            fields.insert(table.to_owned(), keeps(table).into());
        }
        for (name, value) in
            [("packets", &self.packets), ("hops", &self.hops), ("capture", &self.capture)]
        {
            let value = value.clone().filter(|_| ranges);
            fields.insert(name.to_owned(), value.unwrap_or_default());
        }
        Value::Object(fields)
    }

    fn keeps(&self, table: &str) -> bool {
        self.keep.iter().any(|name| name == table)
    }

    /// The form of the scenario.
    pub(crate) fn scenario(&self) -> Value {
        self.made(|table| self.keeps(table), true)
    }

    /// The form of the scenario for repeats without tables; `None`: all repeats record alike. Metrics need
    /// probes in every repeat.
    pub(crate) fn unsampled(&self) -> Option<Value> {
        self.repeats?;
        let ranges = [&self.packets, &self.hops, &self.capture];
        let records = !self.keep.is_empty() || ranges.into_iter().any(Option::is_some);
        records.then(|| self.made(|table| table == "probes" && self.keeps(table), false))
    }
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
    if traffic.get("tcp").is_some() || traffic.get("quic").is_some() {
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
