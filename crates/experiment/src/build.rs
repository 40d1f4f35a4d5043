//! Scenario of an experiment file.

use crate::factors::placed;
use crate::flow::{flows, Flow};
use crate::limit::{fill, Pending};
use crate::link::{checked, Both, Link, LINK};
use crate::node::{routers, routes, Route, Router};
use crate::options::{hosts, Options, Written};
use crate::quantity::{positive_time, time};
use crate::read::{fail, Fields, Loc, Node, Refusal, Result, Step};
use crate::template::{self, Topology};
use crate::{sampling, Section};
use dumbbell_model::paths::{Address, Network, Place};
use dumbbell_model::Scenario;
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;

/// Fields of a file.
pub(crate) const FILE: Section = Section {
    name: "file",
    taken: &[
        "dumbbell",
        "name",
        "description",
        "template",
        "hosts",
        "routers",
        "switches",
        "links",
        "routes",
        "flows",
        "taps",
        "sampling",
        "neighbour_discovery",
        "duration",
        "factors",
        "expect",
        "repeats",
        "seed",
    ],
    refused: &["workload", "arrivals", "pages", "programs", "search"],
};

/// A cell of an experiment file.
#[derive(Clone, Debug)]
pub struct Expanded {
    /// Scenario as JSON, as the Python layer writes it.
    pub json: Value,
    /// Scenario, checked.
    pub scenario: Scenario,
    /// Base RTT of each flow, ns.
    pub rtts_ns: BTreeMap<String, u64>,
    /// Seed of the first repeat.
    pub seed: u64,
}

/// Expands an experiment file with one level of each factor.
///
/// # Arguments
/// - `file`: the file, parsed.
/// - `levels`: index of the level by factor; the first if none is given.
///
/// # Errors
/// The file is wrong, or holds what the playground does not take.
pub fn expand(file: &Value, levels: &BTreeMap<String, usize>) -> Result<Expanded> {
    let root = Node { value: file, at: Vec::new() };
    if !file.is_object() || file.get("dumbbell").is_none() {
        return root.fail("no experiment of Dumbbell: the file should begin with 'dumbbell: 1'");
    }
    // Unknown fields first: what is wrong with one has no reference of its own.
    root.fields(&FILE)?;
    let placed = placed(file, levels)?;
    let root = Node { value: &placed, at: Vec::new() };
    Builder::new(&root.fields(&FILE)?)?.expanded()
}

/// A node before its options are known.
struct Named {
    name: String,
    kind: &'static str,
    at: Loc,
}

struct Builder<'a> {
    fields: Fields<'a>,
    duration_ns: u64,
    nodes: Vec<Value>,
    options: BTreeMap<String, Options>,
    links: Vec<Value>,
    pending: Vec<[Pending; 2]>,
    routes: Vec<Value>,
    /// Path in the scenario → path in the file.
    origins: Vec<(String, Loc)>,
}

/// Entries by name; the last of equal names counts, at the place of the first.
fn unique<T>(entries: Vec<(String, T)>) -> Vec<(String, T)> {
    let mut out: Vec<(String, T)> = Vec::new();
    for (name, value) in entries {
        match out.iter_mut().find(|(known, _)| *known == name) {
            Some(held) => held.1 = value,
            None => out.push((name, value)),
        }
    }
    out
}

impl<'a> Builder<'a> {
    fn new(fields: &Fields<'a>) -> Result<Self> {
        fields.need("dumbbell")?.whole(1, 1)?;
        let duration = fields.need("duration")?;
        Ok(Self {
            fields: fields.clone(),
            duration_ns: positive_time(&duration)?,
            nodes: Vec::new(),
            options: BTreeMap::new(),
            links: Vec::new(),
            pending: Vec::new(),
            routes: Vec::new(),
            origins: vec![
                ("duration_ns".to_owned(), duration.at),
                ("sampling".to_owned(), vec![Step::Field("sampling".to_owned())]),
            ],
        })
    }

    fn expanded(mut self) -> Result<Expanded> {
        let fields = self.fields.clone();
        let name = fields.need("name")?.name()?;
        let topology = fields.read("template", template::read)?.unwrap_or_default();
        let written = hosts(&fields)?;
        self.add_nodes(&topology, &written)?;
        self.add_links(&topology)?;
        self.add_routes(&topology)?;
        let flows = flows(&fields, &self.options)?;
        if flows.is_empty() {
            return fail(&fields.at, "there is no traffic: flows are missing");
        }
        let rtts_ns = self.fill(&flows)?;
        let flows = self.with_jitter(flows, &rtts_ns);
        let sampling = match fields.read("sampling", sampling::read)? {
            Some(sampling) => sampling,
            None => sampling::default(self.duration_ns, &self.links, &flows),
        };
        let json = json!({
            "version": 1,
            "name": name,
            "duration_ns": self.duration_ns,
            "nodes": self.nodes,
            "links": self.links,
            "routes": self.routes,
            "flows": flows,
            "arrivals": [],
            "sessions": [],
            "connections": [],
            "taps": self.taps()?,
            "sampling": sampling,
            "neighbour_discovery": self.discovery()?,
        });
        let seed = fields.read("seed", |node| node.whole(0, 1 << 62))?.unwrap_or(1) as u64;
        let scenario = Scenario::from_json(&json.to_string()).map_err(|error| {
            let longest = self
                .origins
                .iter()
                .filter(|(path, _)| error.path.starts_with(path.as_str()))
                .max_by_key(|(path, _)| path.len());
            let at = longest.map_or_else(Vec::new, |(_, at)| at.clone());
            Refusal { at, message: format!("{}: {}", error.path, error.message), elsewhere: false }
        })?;
        Ok(Expanded { json, scenario, rtts_ns, seed })
    }

    fn add_nodes(&mut self, topology: &Topology, written: &[(String, Written)]) -> Result<()> {
        let (routers, switches) =
            (routers(&self.fields, "routers")?, routers(&self.fields, "switches")?);
        let nothing = Written::default();
        let of_host = |name: &str| written.iter().find(|(known, _)| known == name).map(|(_, w)| w);
        let defaults = of_host("defaults").unwrap_or(&nothing);
        let mut named: Vec<Named> = Vec::new();
        let at = |section: &str, name: &str| {
            vec![Step::Field(section.to_owned()), Step::Field(name.to_owned())]
        };
        let template = vec![Step::Field("template".to_owned())];
        let mut add = |name: &str, kind: &'static str, at: Loc| {
            match named.iter_mut().find(|one| one.name == name) {
                Some(one) if one.kind != kind => {
                    return fail(&at, format!("{name} is a {} already", one.kind));
                }
                Some(one) => one.at = at,
                None => named.push(Named { name: name.to_owned(), kind, at }),
            }
            Ok(())
        };
        for name in &topology.hosts {
            add(name, "host", template.clone())?;
        }
        for (kind, entries) in [("router", &topology.routers), ("switch", &topology.switches)] {
            for (name, _) in entries {
                add(name, kind, template.clone())?;
            }
        }
        for (name, _) in written.iter().filter(|(name, _)| name != "defaults") {
            add(name, "host", at("hosts", name))?;
        }
        for (kind, section, entries) in
            [("router", "routers", &routers), ("switch", "switches", &switches)]
        {
            for (name, _) in entries {
                add(name, kind, at(section, name))?;
            }
        }
        for one in named {
            self.origins.push((format!("nodes[{}]", self.nodes.len()), one.at));
            if one.kind == "host" {
                let own = of_host(&one.name).unwrap_or(&nothing);
                let jitter = own.processing_jitter_ns.or(defaults.processing_jitter_ns);
                let options = own.under(defaults);
                self.nodes.push(json!({
                    "name": one.name, "kind": "host", "spray": null,
                    "processing_jitter_ns": jitter.unwrap_or(0), "tcp": options,
                }));
                self.options.insert(one.name, options);
                continue;
            }
            let find = |entries: &[(String, Router)]| {
                entries.iter().find(|(name, _)| *name == one.name).map(|(_, router)| router.clone())
            };
            let of_template = find(&topology.routers).or_else(|| find(&topology.switches));
            let own = find(if one.kind == "router" { &routers } else { &switches });
            let spray = own.as_ref().and_then(|own| own.spray.clone());
            let spray = spray.or_else(|| of_template.and_then(|router| router.spray));
            self.nodes.push(json!({
                "name": one.name, "kind": one.kind, "spray": spray.unwrap_or_default(),
                "processing_jitter_ns": own.map_or(0, |own| own.processing_jitter_ns), "tcp": null,
            }));
        }
        self.copy_segments(written, defaults);
        Ok(())
    }

    /// Sets `rx_segment: copied` where the file sets none, if a router linearises segments.
    fn copy_segments(&mut self, written: &[(String, Written)], defaults: &Written) {
        let copies = |node: &Value| {
            node["spray"]["policy"] == "round_robin" && node["spray"]["what"] != "acks"
        };
        if !self.nodes.iter().any(copies) {
            return;
        }
        for node in &mut self.nodes {
            let name = node["name"].as_str().unwrap_or_default().to_owned();
            let own = written.iter().find(|(known, _)| *known == name);
            let writes = own.is_some_and(|(_, own)| own.writes_rx_segment());
            let in_pages = ["pages", "small_head"].map(Value::from);
            if writes || defaults.writes_rx_segment() || !node["tcp"].is_object() {
                continue;
            }
            if in_pages.contains(&node["tcp"]["rx_segment"]) {
                node["tcp"]["rx_segment"] = "copied".into();
                if let Some(options) = self.options.get_mut(&name) {
                    options.insert("rx_segment".to_owned(), "copied".into());
                }
            }
        }
    }

    fn add_links(&mut self, topology: &Topology) -> Result<()> {
        let mut placed = unique(topology.links.clone());
        let nodes = self.fields.read("links", Node::items)?.unwrap_or_default();
        for node in nodes {
            let fields = checked(&node, LINK.taken, LINK.refused)?;
            let both = Both::read(&fields)?;
            let name = fields.read("name", Node::name)?;
            let Some(between) = fields.get("between") else {
                let found = name.as_deref().unwrap_or_default();
                let Some((_, link)) = placed.iter_mut().find(|(known, _)| known == found) else {
                    let message = "between is missing, and no link of a template has this name";
                    return node.fail(message);
                };
                let [forward, backward] = link.directions();
                link.pipes = both.over([&forward, &backward]);
                (link.extra_ns, link.at) = ([0, 0], node.at.clone());
                continue;
            };
            let items = between.items()?;
            let [a, b] = &items[..] else { return between.fail("two nodes are needed") };
            let ends = (a.name()?, b.name()?);
            for end in [&ends.0, &ends.1] {
                if !self.nodes.iter().any(|known| known["name"] == end.as_str()) {
                    return between.fail(format!("no node {end}"));
                }
            }
            let name = name.unwrap_or_else(|| format!("{}-{}", ends.0, ends.1));
            if placed.iter().any(|(known, _)| *known == name) {
                return node.fail(format!("{name} is the name of another link"));
            }
            let pipes = both.directions();
            placed.push((name, Link { ends, pipes, extra_ns: [0, 0], at: node.at.clone() }));
        }
        for (name, link) in placed {
            self.origins.push((format!("links[{}]", self.links.len()), link.at.clone()));
            let (forward, first) = link.pipes[0].scenario(link.extra_ns[0], &link.at)?;
            let (backward, second) = link.pipes[1].scenario(link.extra_ns[1], &link.at)?;
            self.links.push(json!({
                "name": name, "a": link.ends.0, "b": link.ends.1,
                "forward": forward, "backward": backward,
            }));
            self.pending.push([first, second]);
        }
        self.check_joined()
    }

    fn check_joined(&self) -> Result<()> {
        for (i, node) in self.nodes.iter().enumerate() {
            let name = &node["name"];
            if !self.links.iter().any(|link| link["a"] == *name || link["b"] == *name) {
                let at = self.origin(&format!("nodes[{i}]"));
                return fail(&at, format!("no link joins {}", name.as_str().unwrap_or_default()));
            }
        }
        Ok(())
    }

    fn origin(&self, path: &str) -> Loc {
        let found = self.origins.iter().find(|(known, _)| known == path);
        found.map_or_else(Vec::new, |(_, at)| at.clone())
    }

    fn add_routes(&mut self, topology: &Topology) -> Result<()> {
        let written = routes(&self.fields)?;
        let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
        for route in topology.routes.iter().chain(&written) {
            for node in &route.at {
                let via = route.via.iter().map(|via| self.resolve(node, via, route));
                let via = via.collect::<Result<Vec<_>>>()?;
                for to in &route.to {
                    let made = json!({"at": node, "to": to, "via": via});
                    let key = (node.clone(), to.clone());
                    if let Some(&index) = seen.get(&key) {
                        self.routes[index] = made;
                        continue;
                    }
                    seen.insert(key, self.routes.len());
                    self.origins
                        .push((format!("routes[{}]", self.routes.len()), route.from.clone()));
                    self.routes.push(made);
                }
            }
        }
        Ok(())
    }

    /// Name of the link `via`, or of the only link to a neighbour `via`.
    fn resolve(&self, node: &str, via: &str, route: &Route) -> Result<String> {
        if self.links.iter().any(|link| link["name"] == via) {
            return Ok(via.to_owned());
        }
        let joins = |link: &&Value, name: &str| link["a"] == name || link["b"] == name;
        let found: Vec<_> =
            self.links.iter().filter(|link| joins(link, node) && joins(link, via)).collect();
        match found[..] {
            [link] => Ok(link["name"].as_str().unwrap_or_default().to_owned()),
            [] => fail(&route.from, format!("{via} is no link or neighbour of {node}")),
            _ => fail(&route.from, format!("several links join {node} and {via}; name one")),
        }
    }

    /// Graph of the network.
    fn network(&self) -> Network {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let places: Vec<Place> = self
            .nodes
            .iter()
            .map(|node| Place {
                name: text(&node["name"]),
                forwards: node["kind"] != "host",
                sprays: node["spray"].is_object(),
            })
            .collect();
        let number = |name: &Value| {
            places.iter().position(|place| *name == place.name.as_str()).unwrap_or(0)
        };
        let ends = self.links.iter().map(|link| (number(&link["a"]), number(&link["b"])));
        let ends = ends.collect();
        let fixed_ns = |pipe: &Value| {
            let netem = pipe["queue"]["netem"]["delay_ns"].as_u64().unwrap_or(0);
            pipe["delay_ns"].as_u64().unwrap_or(0) + netem
        };
        let delays: Vec<_> = self
            .links
            .iter()
            .map(|link| (fixed_ns(&link["forward"]), fixed_ns(&link["backward"])))
            .collect();
        let mut network = Network::new(places.clone(), ends, &delays);
        for (i, route) in self.routes.iter().enumerate() {
            let via = route["via"].as_array().into_iter().flatten();
            let via: Vec<usize> = via
                .filter_map(|name| self.links.iter().position(|link| link["name"] == *name))
                .collect();
            let known = |name: &Value| places.iter().position(|p| *name == p.name.as_str());
            if let (Some(at), Some(to)) = (known(&route["at"]), known(&route["to"])) {
                network.add_route(i, at, to, &via);
            }
        }
        network
    }

    /// Sets the limits of all queues; returns the base RTT of each flow.
    fn fill(&mut self, flows: &[Flow]) -> Result<BTreeMap<String, u64>> {
        let mut network = self.network();
        let numbers: BTreeMap<String, usize> = self
            .nodes
            .iter()
            .enumerate()
            .map(|(i, node)| (node["name"].as_str().unwrap_or_default().to_owned(), i))
            .collect();
        let mut through = vec![None; 2 * self.links.len()];
        let mut rtts_ns = BTreeMap::new();
        let mut largest = None;
        for flow in flows {
            let end = |name: &str| {
                let name = flow.scenario[name].as_str().unwrap_or_default();
                Address { node: numbers.get(name).copied().unwrap_or(0), link: None }
            };
            let (from, to) = (end("from"), end("to"));
            let mut path = |from: Address, to: Address| {
                network.path(from.node, to, None).or_else(|fault| fail(&flow.at, fault.message))
            };
            let both = [path(from, to)?, path(to, from)?];
            let rtt_ns = both[0].delay_ns.saturating_add(both[1].delay_ns);
            for &pipe in both.iter().flat_map(|path| &path.pipes) {
                through[pipe] = through[pipe].max(Some(rtt_ns));
            }
            largest = largest.max(Some(rtt_ns));
            let name = flow.scenario["name"].as_str().unwrap_or_default();
            rtts_ns.insert(name.to_owned(), rtt_ns);
        }
        for (i, pending) in self.pending.iter().enumerate() {
            for (side, way) in ["forward", "backward"].into_iter().enumerate() {
                let rtt_ns = through[2 * i + side].or(largest);
                fill(&mut self.links[i][way], &pending[side], &rtts_ns, rtt_ns)?;
            }
        }
        Ok(rtts_ns)
    }

    /// Flows of the scenario, with jitter that is a multiple of the base RTT.
    fn with_jitter(&mut self, flows: Vec<Flow>, rtts_ns: &BTreeMap<String, u64>) -> Vec<Value> {
        let one = |(i, flow): (usize, Flow)| {
            self.origins.push((format!("flows[{i}]"), flow.at));
            let mut made = flow.scenario;
            if let Some((top, bottom)) = flow.jitter_rtts.and_then(|exact| exact.ratio()) {
                let rtt = made["name"].as_str().and_then(|name| rtts_ns.get(name));
                let ns = u128::from(*rtt.unwrap_or(&0)).saturating_mul(top) / bottom;
                made["start_jitter_ns"] = u64::try_from(ns).unwrap_or(u64::MAX).into();
            }
            made
        };
        flows.into_iter().enumerate().map(one).collect()
    }

    fn taps(&self) -> Result<Vec<Value>> {
        let Some(node) = self.fields.get("taps") else { return Ok(Vec::new()) };
        let one = |node: &Node<'_>| {
            let fields = node.only(&["name", "at", "link"])?;
            let (at, link) = (fields.need("at")?.name()?, fields.need("link")?.name()?);
            let name = fields.read("name", Node::name)?;
            let name = name.unwrap_or_else(|| format!("{at}:{link}"));
            Ok(json!({"name": name, "node": at, "link": link}))
        };
        node.items()?.iter().map(one).collect()
    }

    fn discovery(&self) -> Result<Value> {
        const REACHABLE_NS: u64 = 30_000_000_000;
        const PROBE_DELAY_NS: u64 = 5_000_000_000;
        let Some(node) = self.fields.get("neighbour_discovery") else { return Ok(Value::Null) };
        let empty = Map::new();
        let fields = match node.value {
            Value::Bool(false) => return Ok(Value::Null),
            Value::Bool(true) => Fields::of(&empty, node.at.clone()),
            _ => node.only(&["reachable", "probe_delay"])?,
        };
        let reachable = fields.read("reachable", positive_time)?.unwrap_or(REACHABLE_NS);
        let delay = fields.read("probe_delay", time)?.unwrap_or(PROBE_DELAY_NS);
        Ok(json!({"reachable_ns": reachable, "probe_delay_ns": delay}))
    }
}
