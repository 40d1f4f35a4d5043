//! Parts of a scenario that the next cell takes over, since all that they were made of is equal.

use super::complete::BaseRtts;
use super::network::{Made, WAYS};
use super::{Builder, OptionSets, Placed};
use crate::flow::Jitter;
use crate::graph::fixed_ns;
use crate::limit::Pending;
use crate::node::{Route, Router};
use crate::sampling::waits;
use dumbbell_model::scenario::{Link, Scenario};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Nodes of a template: hosts, routers, switches.
type Nodes = (Vec<String>, [Vec<(String, Router)>; 2]);

/// A scenario that was made, with what its parts were made of.
#[derive(Default)]
pub(crate) struct Before {
    /// The scenario. Hosts lack their options.
    pub(crate) json: Value,
    pub(crate) options: OptionSets,
    nodes: Nodes,
    numbers: BTreeMap<String, usize>,
    placed: Placed,
    routes: Vec<Route>,
    pending: Vec<[Pending; 2]>,
    rtts: BaseRtts,
    flow_names: BTreeSet<String>,
    jitters: Vec<(usize, Jitter)>,
}

/// Parts of a scenario that equal those of the one before.
#[derive(Debug, Default)]
pub(crate) struct Same {
    pub(crate) nodes: bool,
    pub(crate) flows: bool,
    /// By index of the link.
    pub(crate) links: Vec<bool>,
}

/// Sections of a file of which nodes are made, and those of which traffic is made.
const OF_NODES: [&str; 3] = ["hosts", "routers", "switches"];
const OF_TRAFFIC: [&str; 5] = ["workload", "flows", "arrivals", "pages", "requests"];

fn taken(json: &mut Value, section: &str) -> Vec<Value> {
    match json.get_mut(section).map(Value::take) {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}

impl Builder<'_> {
    fn template_nodes(&self) -> Nodes {
        let topology = &self.file.topology;
        (topology.hosts.clone(), [topology.routers.clone(), topology.switches.clone()])
    }

    /// Returns true if the template has the nodes of the scenario before.
    fn has_nodes(&self, before: &Before) -> bool {
        let (hosts, [routers, switches]) = &before.nodes;
        let topology = &self.file.topology;
        *hosts == topology.hosts && *routers == topology.routers && *switches == topology.switches
    }

    /// Renews links of the scenario before, if nothing else can differ from it: no other section
    /// changed, and nodes, routes, ends and fixed delays of links are equal. Returns `None` with
    /// nothing changed otherwise, and if a link is wrong.
    pub(crate) fn relink(
        &self,
        before: &mut Before,
        scenario: &mut Scenario,
        changed: &[&str],
    ) -> Option<()> {
        let links_only = changed.iter().all(|name| ["template", "links"].contains(name));
        let placed = self.placed().ok().filter(|_| links_only)?;
        let equal = placed.links.len() == before.placed.links.len() && self.has_nodes(before);
        if !equal || self.file.topology.routes != before.routes {
            return None;
        }
        let mut renewed = Vec::new();
        for (i, (old, new)) in before.placed.links.iter().zip(&placed.links).enumerate() {
            if old == new {
                continue;
            }
            let (mut json, limits) = self.made_link(&new.0, &new.1, &mut Made::default()).ok()?;
            let was = &before.json["links"][i];
            let alike = |way| {
                let (one, other) = (&was[way], &json[way]);
                fixed_ns(one) == fixed_ns(other) && waits(one) == waits(other)
            };
            if old.0 != new.0 || old.1.ends != new.1.ends || !WAYS.into_iter().all(alike) {
                return None;
            }
            before.rtts.fill(&mut json, i, &limits).ok()?;
            renewed.push((i, Link::deserialize(&json).ok()?, json, limits));
        }
        for (i, link, json, limits) in renewed {
            scenario.links[i] = link;
            before.json["links"][i] = json;
            before.pending[i] = limits;
        }
        before.placed = placed;
        Some(())
    }

    /// Takes over the nodes of the scenario before if they are equal; returns true if so.
    pub(super) fn keep_nodes(
        &mut self,
        before: &mut Before,
        changed: &dyn Fn(&str) -> bool,
    ) -> bool {
        if !self.has_nodes(before) || OF_NODES.into_iter().any(changed) {
            return false;
        }
        self.numbers = std::mem::take(&mut before.numbers);
        self.nodes = taken(&mut before.json, "nodes");
        self.options = std::mem::take(&mut before.options);
        true
    }

    /// Takes over the traffic of the scenario before if it is equal; returns true if so.
    ///
    /// Subflows depend on links, too: a scenario with them is made anew.
    pub(super) fn keep_traffic(
        &mut self,
        before: &mut Before,
        changed: &dyn Fn(&str) -> bool,
    ) -> bool {
        let subflows = before.json["connections"].as_array().is_some_and(|all| !all.is_empty());
        if subflows || OF_TRAFFIC.into_iter().any(changed) {
            return false;
        }
        self.flow_names = std::mem::take(&mut before.flow_names);
        self.jitters = std::mem::take(&mut before.jitters);
        self.flows = taken(&mut before.json, "flows");
        self.sessions = taken(&mut before.json, "sessions");
        self.requests = taken(&mut before.json, "requests");
        self.processes = taken(&mut before.json, "arrivals");
        true
    }

    /// Takes over the links of the scenario before that are equal, by their index.
    pub(super) fn kept_links(
        &self,
        placed: &Placed,
        before: &mut Before,
    ) -> Vec<Option<(Value, [Pending; 2])>> {
        // A joint trace has changes until the end of the run.
        let as_long = before.json["duration_ns"] == self.file.duration_ns;
        let old = std::mem::take(&mut before.placed.links);
        let pending = std::mem::take(&mut before.pending);
        let mut made = taken(&mut before.json, "links").into_iter().zip(pending);
        let mut old = old.into_iter();
        let one = |link: &(String, crate::link::Link)| {
            let (known, made) = (old.next()?, made.next()?);
            (known == *link && (as_long || !link.1.is_traced())).then_some(made)
        };
        placed.links.iter().map(one).collect()
    }

    /// Parts that the next scenario may take over, beside the scenario.
    pub(super) fn before(&mut self, placed: Placed, rtts: BaseRtts) -> Before {
        Before {
            json: Value::Null,
            options: OptionSets::default(),
            nodes: self.template_nodes(),
            numbers: std::mem::take(&mut self.numbers),
            placed,
            routes: self.file.topology.routes.clone(),
            rtts,
            pending: std::mem::take(&mut self.pending),
            flow_names: std::mem::take(&mut self.flow_names),
            jitters: std::mem::take(&mut self.jitters),
        }
    }
}
