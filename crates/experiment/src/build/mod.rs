//! Scenario of an experiment file.

mod complete;
mod kept;
mod network;
mod option_sets;
mod traffic;

pub(crate) use kept::{Before, Same};
pub(crate) use option_sets::OptionSets;

use crate::document::Document;
use crate::files::Files;
use crate::flow::Jitter;
use crate::graph::Graph;
use crate::limit::Pending;
use crate::multipath::Between;
use crate::options::Options;
use crate::origins::Origins;
use crate::programs;
use crate::read::{item, Loc, Result, Step};
use crate::sampling::Sampling;
use network::Placed;
use serde_json::{json, Value};
use std::collections::{BTreeMap, BTreeSet};

/// A scenario, and where its parts stand in the file.
pub(crate) struct Built {
    /// The scenario. Hosts lack their options.
    pub(crate) json: Value,
    pub(crate) options: OptionSets,
    /// Base RTT of each flow, ns.
    pub(crate) rtts_ns: Vec<(String, u64)>,
    pub(crate) sampling: Sampling,
    pub(crate) origins: Origins,
    /// Parts that equal those of the scenario before.
    pub(crate) same: Same,
    /// Parts that the next scenario may take over; `json` and `options` are still empty.
    pub(crate) before: Before,
}

/// Builds the scenario of a file, part by part.
pub(crate) struct Builder<'a> {
    file: &'a Document,
    files: &'a dyn Files,
    origins: Origins,
    nodes: Vec<Value>,
    options: OptionSets,
    /// Indices of the nodes by name.
    numbers: BTreeMap<String, usize>,
    links: Vec<Value>,
    /// Limits by link and direction.
    pending: Vec<[Pending; 2]>,
    routes: Vec<Value>,
    flows: Vec<Value>,
    flow_names: BTreeSet<String>,
    /// Interfaces of the subflows by index of their flow.
    interfaces: BTreeMap<usize, Between>,
    /// Start jitter by index of the flow.
    jitters: Vec<(usize, Jitter)>,
    sessions: Vec<Value>,
    requests: Vec<Value>,
    processes: Vec<Value>,
    connections: Vec<Value>,
}

fn field(name: &str) -> Loc {
    vec![Step::Field(name.to_owned())]
}

/// Text of a field of a part of the scenario.
fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

impl<'a> Builder<'a> {
    pub(crate) fn new(file: &'a Document, files: &'a dyn Files) -> Self {
        Self {
            file,
            files,
            origins: Origins::default(),
            nodes: Vec::new(),
            options: OptionSets::default(),
            numbers: BTreeMap::new(),
            links: Vec::new(),
            pending: Vec::new(),
            routes: Vec::new(),
            flows: Vec::new(),
            flow_names: BTreeSet::new(),
            interfaces: BTreeMap::new(),
            jitters: Vec::new(),
            sessions: Vec::new(),
            requests: Vec::new(),
            processes: Vec::new(),
            connections: Vec::new(),
        }
    }

    /// The scenario. `most_flows`: most flows; `None`: as many as fit into memory.
    pub(crate) fn built(self, most_flows: Option<u64>) -> Result<Built> {
        self.renewed(most_flows, Before::default(), &|_| true)
    }

    /// The scenario, which takes over equal parts of the one before. `changed`: whether a section of
    /// the file differs from that of the scenario before.
    ///
    /// Origins of nodes and traffic that are taken over are not noted: an error is not to be placed.
    pub(crate) fn renewed(
        mut self,
        most_flows: Option<u64>,
        mut before: Before,
        changed: &dyn Fn(&str) -> bool,
    ) -> Result<Built> {
        let file = self.file;
        let mut same = Same { nodes: self.keep_nodes(&mut before, changed), ..Same::default() };
        if !same.nodes {
            self.add_nodes()?;
        }
        let placed = self.add_links(&mut before, &mut same)?;
        self.add_routes()?;
        let mut graph = Graph::new(&self.nodes, &self.links, &self.routes);
        same.flows = same.nodes && self.keep_traffic(&mut before, changed);
        if !same.flows {
            self.add_flows(most_flows, &mut graph)?;
            self.add_pages()?;
            self.add_requests()?;
            self.add_arrivals();
        }
        let rtts = self.complete(&mut graph)?;
        let rtts_ns = rtts.of_flows.clone();
        same.flows &= self.jitters.is_empty();
        let sampling = file.sampling.clone().unwrap_or_else(|| {
            let arrivals = !self.processes.is_empty();
            let programs = file.programs.len();
            Sampling::default(file.duration_ns, &self.links, &self.flows, programs, arrivals)
        });
        for (section, entries) in [("taps", file.taps.len()), ("programs", file.programs.len())] {
            for i in 0..entries {
                self.origins.entry(section, i, item(&field(section), i));
            }
        }
        for (section, name) in [
            ("duration_ns", "duration"),
            ("sampling", "sampling"),
            ("neighbour_discovery", "neighbour_discovery"),
        ] {
            self.origins.section(section, field(name));
        }
        let before = self.before(placed, rtts);
        let mut json = json!({
            "version": 1,
            "name": file.name,
            "duration_ns": file.duration_ns,
            "taps": file.taps,
            "sampling": sampling.scenario(),
            "neighbour_discovery": file.discovery,
        });
        for (name, list) in [
            ("nodes", self.nodes),
            ("links", self.links),
            ("routes", self.routes),
            ("flows", self.flows),
            ("arrivals", self.processes),
            ("sessions", self.sessions),
            ("connections", self.connections),
        ] {
            json[name] = list.into();
        }
        if !self.requests.is_empty() {
            json["requests"] = self.requests.into();
        }
        if !file.programs.is_empty() {
            json["programs"] = programs::scenario(&file.programs).into();
        }
        Ok(Built {
            json,
            options: self.options,
            rtts_ns,
            sampling,
            origins: self.origins,
            same,
            before,
        })
    }

    /// Options of a host; `None`: there is no such host.
    fn options(&self, host: &str) -> Option<&Options> {
        self.options.of(*self.numbers.get(host)?)
    }

    /// Names of all hosts.
    fn hosts(&self) -> BTreeSet<&str> {
        let hosts = self.nodes.iter().filter(|node| node["kind"] == "host");
        hosts.map(|node| text(node, "name")).collect()
    }

    /// Returns true if a host has this name.
    fn is_host(&self, name: &str) -> bool {
        self.numbers.get(name).is_some_and(|number| self.nodes[*number]["kind"] == "host")
    }
}
