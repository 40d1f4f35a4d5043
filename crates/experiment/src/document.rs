//! A whole experiment file without factors, as written.

use crate::arrivals::{arrivals, Arrivals};
use crate::flow::{flows, Flow};
use crate::link::{links, Written as WrittenLink};
use crate::node::{routers, routes, Route, Router};
use crate::options::{hosts, Written as WrittenHost};
use crate::pages::{pages, Page};
use crate::programs::{programs, Program};
use crate::quantity::{positive_time, time};
use crate::read::{Fields, Node, Result};
use crate::sampling::Sampling;
use crate::template::{self, Topology};
use crate::workload;
use serde_json::{json, Map, Value};

const MAX_SEED: i128 = 1 << 62;

/// Contents of a file.
pub(crate) struct Document {
    pub(crate) name: String,
    pub(crate) duration_ns: u64,
    pub(crate) topology: Topology,
    pub(crate) hosts: Vec<(String, WrittenHost)>,
    pub(crate) routers: Vec<(String, Router)>,
    pub(crate) switches: Vec<(String, Router)>,
    pub(crate) links: Vec<WrittenLink>,
    pub(crate) routes: Vec<Route>,
    pub(crate) workload: Vec<Flow>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) arrivals: Vec<Arrivals>,
    pub(crate) pages: Vec<Page>,
    pub(crate) programs: Vec<Program>,
    /// Taps in the form of the scenario.
    pub(crate) taps: Vec<Value>,
    pub(crate) sampling: Option<Sampling>,
    /// Neighbour discovery in the form of the scenario, or null.
    pub(crate) discovery: Value,
    pub(crate) seed: u64,
}

impl Document {
    /// Reads a file without factors.
    pub(crate) fn read(file: &Value) -> Result<Self> {
        let root = Node { value: file, at: Vec::new() };
        let fields = root.any_fields()?;
        fields.need("dumbbell")?.whole(1, 1)?;
        let seed = fields.read("seed", |node| node.whole(0, MAX_SEED))?.unwrap_or(1);
        let read = Self {
            name: fields.need("name")?.name()?,
            duration_ns: positive_time(&fields.need("duration")?)?,
            topology: fields.read("template", template::read)?.unwrap_or_default(),
            hosts: hosts(&fields)?,
            routers: routers(&fields, "routers")?,
            switches: routers(&fields, "switches")?,
            links: links(&fields)?,
            routes: routes(&fields)?,
            workload: fields.read("workload", workload::flows)?.unwrap_or_default(),
            flows: flows(&fields)?,
            arrivals: arrivals(&fields)?,
            pages: pages(&fields)?,
            programs: programs(&fields)?,
            taps: taps(&fields)?,
            sampling: fields.read("sampling", Sampling::read)?,
            discovery: discovery(&fields)?,
            seed: seed as u64,
        };
        Ok(read)
    }
}

/// Taps in the form of the scenario. Default name: `node:link`.
fn taps(fields: &Fields<'_>) -> Result<Vec<Value>> {
    let Some(node) = fields.get("taps") else { return Ok(Vec::new()) };
    let one = |node: &Node<'_>| {
        let fields = node.any_fields()?;
        let (at, link) = (fields.need("at")?.name()?, fields.need("link")?.name()?);
        let name = fields.read("name", Node::name)?;
        let name = name.unwrap_or_else(|| format!("{at}:{link}"));
        Ok(json!({"name": name, "node": at, "link": link}))
    };
    node.items()?.iter().map(one).collect()
}

/// Address resolution (ARP) with Linux's times.
fn discovery(fields: &Fields<'_>) -> Result<Value> {
    const REACHABLE_NS: u64 = 30_000_000_000;
    const PROBE_DELAY_NS: u64 = 5_000_000_000;
    let Some(node) = fields.get("neighbour_discovery") else { return Ok(Value::Null) };
    let empty = Map::new();
    let fields = match node.value {
        Value::Bool(false) => return Ok(Value::Null),
        Value::Bool(true) => Fields::of(&empty, node.at.clone()),
        _ => node.any_fields()?,
    };
    let reachable = fields.read("reachable", positive_time)?.unwrap_or(REACHABLE_NS);
    let delay = fields.read("probe_delay", time)?.unwrap_or(PROBE_DELAY_NS);
    Ok(json!({"reachable_ns": reachable, "probe_delay_ns": delay}))
}
