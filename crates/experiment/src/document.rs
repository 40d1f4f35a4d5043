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
use crate::requests::{requests, Requests};
use crate::sampling::Sampling;
use crate::template::{self, Topology};
use crate::workload;
use serde_json::{json, Map, Value};

const MAX_SEED: i128 = 1 << 62;

/// Contents of a file.
#[derive(Default)]
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
    pub(crate) requests: Vec<Requests>,
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
        let mut read = Self::default();
        read.renew(file, &|_| true)?;
        Ok(read)
    }

    /// Reads again the sections that `changed` names; the others are as they were.
    pub(crate) fn renew(&mut self, file: &Value, changed: &dyn Fn(&str) -> bool) -> Result<()> {
        let root = Node { value: file, at: Vec::new() };
        let fields = root.any_fields()?;
        /// Reads a section by name if it changed.
        macro_rules! renew {
            ($($name:literal: $field:ident = $read:expr,)+) => {
                $(if changed($name) {
                    self.$field = $read;
                })+
            };
        }
        fields.need("dumbbell")?.whole(1, 1)?;
        renew! {
            "seed": seed = fields.read("seed", |node| node.whole(0, MAX_SEED))?.unwrap_or(1) as u64,
            "name": name = fields.need("name")?.name()?,
            "duration": duration_ns = positive_time(&fields.need("duration")?)?,
            "template": topology = fields.read("template", template::read)?.unwrap_or_default(),
            "hosts": hosts = hosts(&fields)?,
            "routers": routers = routers(&fields, "routers")?,
            "switches": switches = routers(&fields, "switches")?,
            "links": links = links(&fields)?,
            "routes": routes = routes(&fields)?,
            "workload": workload = fields.read("workload", workload::flows)?.unwrap_or_default(),
            "flows": flows = flows(&fields)?,
            "arrivals": arrivals = arrivals(&fields)?,
            "pages": pages = pages(&fields)?,
            "requests": requests = requests(&fields)?,
            "programs": programs = programs(&fields)?,
            "taps": taps = taps(&fields)?,
            "sampling": sampling = fields.read("sampling", Sampling::read)?,
            "neighbour_discovery": discovery = discovery(&fields)?,
        }
        Ok(())
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
