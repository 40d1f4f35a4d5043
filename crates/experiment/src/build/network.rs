//! Nodes, links and routes of a scenario.

use super::{field, text, Before, Builder, Same};
use crate::code::Code;
use crate::limit::Pending;
use crate::link::Link;
use crate::node::{Route, Router};
use crate::options::Written;
use crate::pipe::Pipe;
use crate::read::{below, object, Loc, Refusal, Result};
use serde_json::{json, Value};
use std::collections::BTreeMap;

const DEFAULTS: &str = "defaults";
pub(super) const WAYS: [&str; 2] = ["forward", "backward"];

/// Entries by name.
fn by_name<T>(entries: &[(String, T)]) -> BTreeMap<&str, &T> {
    entries.iter().map(|(name, value)| (name.as_str(), value)).collect()
}

/// Section of the nodes of a kind.
fn plural(kind: &str) -> &'static str {
    match kind {
        "host" => "hosts",
        "router" => "routers",
        _ => "switches",
    }
}

/// Links in order, each found by its name.
#[derive(Default)]
pub(super) struct Placed {
    pub(super) links: Vec<(String, Link)>,
    indices: BTreeMap<String, usize>,
}

impl Placed {
    fn put(&mut self, name: String, link: Link) {
        match self.indices.get(&name) {
            Some(&index) => self.links[index].1 = link,
            None => {
                self.indices.insert(name.clone(), self.links.len());
                self.links.push((name, link));
            }
        }
    }
}

impl Builder<'_> {
    /// Adds the nodes of the template, then those of the file.
    pub(super) fn add_nodes(&mut self) -> Result<()> {
        let file = self.file;
        let topology = &file.topology;
        let mut named: Vec<(&str, &'static str)> = Vec::new();
        named.extend(topology.hosts.iter().map(|name| (name.as_str(), "host")));
        named.extend(topology.routers.iter().map(|(name, _)| (name.as_str(), "router")));
        named.extend(topology.switches.iter().map(|(name, _)| (name.as_str(), "switch")));
        let mut kinds: BTreeMap<&str, &'static str> = named.iter().copied().collect();
        let hosts = file.hosts.iter().map(|(name, _)| name).filter(|name| *name != DEFAULTS);
        let hosts = hosts.map(|name| (name, "host"));
        let routers = file.routers.iter().map(|(name, _)| (name, "router"));
        let switches = file.switches.iter().map(|(name, _)| (name, "switch"));
        for (name, kind) in hosts.chain(routers).chain(switches) {
            let known = *kinds.entry(name).or_insert(kind);
            if known != kind {
                let at = below(&field(plural(kind)), name);
                let refusal = Refusal::new(&at, format!("{name} is a {known} already"));
                return refusal.code(Code::NameTaken).err();
            }
            named.push((name, kind));
        }
        let hosts = by_name(&file.hosts);
        let templates = [by_name(&topology.routers), by_name(&topology.switches)];
        let sections = [by_name(&file.routers), by_name(&file.switches)];
        for (name, kind) in named {
            if self.numbers.contains_key(name) {
                continue;
            }
            let node = if kind == "host" {
                self.host(name, &hosts)
            } else {
                let template = templates.iter().find_map(|of_kind| of_kind.get(name)).copied();
                let own = sections[usize::from(kind == "switch")].get(name).copied();
                self.router(name, kind, template, own)
            };
            self.numbers.insert(name.to_owned(), self.nodes.len());
            self.nodes.push(node);
        }
        self.copy_segments(&hosts);
        Ok(())
    }

    fn host(&mut self, name: &str, hosts: &BTreeMap<&str, &Written>) -> Value {
        let (plain, index) = (Written::default(), self.nodes.len());
        let own = hosts.get(name);
        let defaults = hosts.get(DEFAULTS);
        let at = match (own, defaults) {
            (Some(_), _) => below(&field("hosts"), name),
            (None, Some(_)) => below(&field("hosts"), DEFAULTS),
            (None, None) => field("template"),
        };
        self.origins.entry("nodes", index, at);
        let defaults = defaults.copied().unwrap_or(&plain);
        match own {
            Some(own) => self.options.push(own.under(defaults)),
            None => self.options.push_plain(|| plain.under(defaults)),
        }
        let own = own.copied().unwrap_or(&plain);
        let jitter_ns = own.processing_jitter_ns.or(defaults.processing_jitter_ns);
        json!({
            "name": name,
            "kind": "host",
            "spray": null,
            "processing_jitter_ns": jitter_ns.unwrap_or(0),
            "tcp": null,
        })
    }

    fn router(
        &mut self,
        name: &str,
        kind: &str,
        template: Option<&Router>,
        own: Option<&Router>,
    ) -> Value {
        let at = if own.is_some() { below(&field(plural(kind)), name) } else { field("template") };
        self.origins.entry("nodes", self.nodes.len(), at);
        self.options.push_none();
        let written = own.and_then(|own| own.spray.as_ref());
        let spray = written.or_else(|| template.and_then(|router| router.spray.as_ref()));
        json!({
            "name": name,
            "kind": kind,
            "spray": spray.cloned().unwrap_or_default(),
            "processing_jitter_ns": own.map_or(0, |own| own.processing_jitter_ns),
            "tcp": null,
        })
    }

    /// Sets `rx_segment: copied` where the file sets none, if a router linearises segments: TEQL's device
    /// has no scatter-gather.
    fn copy_segments(&mut self, hosts: &BTreeMap<&str, &Written>) {
        let copies = |node: &Value| {
            node["spray"]["policy"] == "round_robin" && node["spray"]["what"] != "acks"
        };
        let writes = |name: &str| hosts.get(name).is_some_and(|own| own.writes_rx_segment());
        if writes(DEFAULTS) || !self.nodes.iter().any(copies) {
            return;
        }
        let nodes = &self.nodes;
        self.options.change(|node, options| {
            let mut in_pages = ["pages", "small_head"].iter();
            let in_pages = in_pages.any(|kind| options["rx_segment"] == *kind);
            (in_pages && !writes(text(&nodes[node], "name"))).then(|| {
                let mut copied = options.clone();
                copied.insert("rx_segment".to_owned(), "copied".into());
                copied
            })
        });
    }

    /// The template's links with the changes of the file, then the file's own links.
    pub(super) fn placed(&self) -> Result<Placed> {
        let file = self.file;
        let mut placed = Placed::default();
        for (name, link) in &file.topology.links {
            placed.put(name.clone(), link.clone());
        }
        for written in &file.links {
            let Some(ends) = &written.between else {
                let name = written.name.clone().unwrap_or_default();
                let Some(&index) = placed.indices.get(&name) else {
                    let message = "between is missing, and no link of a template has this name";
                    let refusal = Refusal::new(&written.at, message).code(Code::NoNode);
                    let known = placed.links.iter().map(|(name, _)| name.as_str());
                    let found = Some(name).filter(|name| !name.is_empty());
                    return Refusal { found, ..refusal.allowed(known) }.err();
                };
                let changed = written.changed(&placed.links[index].1, file.duration_ns)?;
                placed.links[index].1 = changed;
                continue;
            };
            let name = written.name.clone().unwrap_or_else(|| format!("{}-{}", ends.0, ends.1));
            if placed.indices.contains_key(&name) {
                let message = format!("{name} is the name of another link");
                return Refusal::new(&written.at, message).code(Code::NameTaken).err();
            }
            placed.put(name, written.link(ends, file.duration_ns)?);
        }
        Ok(placed)
    }

    /// Adds all links. Those that equal links of the scenario before are taken over.
    pub(super) fn add_links(&mut self, before: &mut Before, same: &mut Same) -> Result<Placed> {
        let placed = self.placed()?;
        let mut made = Made::default();
        for (_, link) in &placed.links {
            for (side, pipe) in link.pipes.iter().enumerate() {
                *made.uses.entry(key(pipe, side)).or_default() += 1;
            }
        }
        let kept = self.kept_links(&placed, before);
        for ((name, link), kept) in placed.links.iter().zip(kept) {
            // Limits in BDP are filled in anew.
            let fixed =
                |(_, pending): &(Value, [Pending; 2])| pending.iter().all(Pending::is_fixed);
            same.links.push(kept.as_ref().is_some_and(fixed));
            self.origins.entry("links", self.links.len(), link.at.clone());
            let (json, pending) = kept.map_or_else(|| self.made_link(name, link, &mut made), Ok)?;
            self.links.push(json);
            self.pending.push(pending);
        }
        Ok(placed)
    }

    /// A link in the form of the scenario, and its limits.
    pub(super) fn made_link(
        &self,
        name: &str,
        link: &Link,
        made: &mut Made,
    ) -> Result<(Value, [Pending; 2])> {
        let duration_ns = self.file.duration_ns;
        let mut pipe = |side: usize| -> Result<_> {
            let pipe: &Pipe = &link.pipes[side];
            let (mut json, pending) = match made.take(pipe, side, &link.at) {
                Some(found) => found,
                None => {
                    let at = below(&link.at, WAYS[side]);
                    let found = pipe.scenario(self.files, duration_ns, &at)?;
                    made.keep(pipe, side, &link.at, &found);
                    found
                }
            };
            if link.extra_ns[side] > 0 {
                let delay_ns = json["delay_ns"].as_u64().unwrap_or(0);
                json["delay_ns"] = delay_ns.saturating_add(link.extra_ns[side]).into();
            }
            Ok((json, pending))
        };
        let ((forward, first), (backward, second)) = (pipe(0)?, pipe(1)?);
        let json = object([
            ("name", name.into()),
            ("a", link.ends.0.as_str().into()),
            ("b", link.ends.1.as_str().into()),
            ("forward", forward),
            ("backward", backward),
        ]);
        Ok((json, [first, second]))
    }

    /// Adds routes. A route of the file replaces the template's to the same destination.
    pub(super) fn add_routes(&mut self) -> Result<()> {
        let file = self.file;
        if file.topology.routes.is_empty() && file.routes.is_empty() {
            return Ok(());
        }
        let links: BTreeMap<String, ()> =
            self.links.iter().map(|link| (text(link, "name").to_owned(), ())).collect();
        let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for route in file.topology.routes.iter().chain(&file.routes) {
            for node in &route.at {
                let resolve = |via: &String| match links.contains_key(via) {
                    true => Ok(via.clone()),
                    false => self.resolve(node, via, route),
                };
                let via = route.via.iter().map(resolve).collect::<Result<Vec<_>>>()?;
                for to in &route.to {
                    let made = json!({"at": node, "to": to, "via": via});
                    let index = *seen.entry((node, to)).or_insert(self.routes.len());
                    self.origins.entry("routes", index, route.from.clone());
                    if index < self.routes.len() {
                        self.routes[index] = made;
                    } else {
                        self.routes.push(made);
                    }
                }
            }
        }
        Ok(())
    }

    /// Name of the only link to a neighbour `via`.
    fn resolve(&self, node: &str, via: &str, route: &Route) -> Result<String> {
        let joins = |link: &Value, name: &str| link["a"] == name || link["b"] == name;
        let here: Vec<&Value> = self.links.iter().filter(|link| joins(link, node)).collect();
        let name = |link: &&Value| text(link, "name").to_owned();
        let found: Vec<String> = here.iter().filter(|link| joins(link, via)).map(name).collect();
        let refuse = |at: &Loc, message: String, known: Vec<String>| {
            Refusal::new(at, message).found(via).allowed(known).code(Code::NoPath).err()
        };
        match &found[..] {
            [link] => Ok(link.clone()),
            [] => {
                let message = format!("no link or neighbour of {node}");
                refuse(&below(&route.from, "via"), message, here.iter().map(name).collect())
            }
            _ => {
                let message = format!("several links join {node} and {via}; name one");
                refuse(&route.from, message, found)
            }
        }
    }
}

/// A pipe of the scenario, with its limits.
type MadePipe = (Value, Pending);

/// Pipe of the file in one direction.
type Key = (usize, usize);

fn key(pipe: &Pipe, side: usize) -> Key {
    (std::ptr::from_ref(pipe) as usize, side)
}

/// Pipes of the scenario that were made, for other links with the same pipe of the file.
#[derive(Default)]
pub(super) struct Made {
    /// Links that still need a pipe.
    uses: BTreeMap<Key, usize>,
    pipes: BTreeMap<Key, (Loc, MadePipe)>,
}

impl Made {
    /// Pipe for one more link at a place in the file, if it was made.
    fn take(&mut self, pipe: &Pipe, side: usize, at: &Loc) -> Option<MadePipe> {
        let key = key(pipe, side);
        let left = self.uses.get_mut(&key)?;
        *left = left.saturating_sub(1);
        let (place, found) = self.pipes.get(&key)?;
        if place != at {
            return None;
        }
        if *left == 0 {
            return self.pipes.remove(&key).map(|(_, found)| found);
        }
        Some(found.clone())
    }

    /// Keeps a pipe if another link needs it.
    fn keep(&mut self, pipe: &Pipe, side: usize, at: &Loc, found: &MadePipe) {
        let key = key(pipe, side);
        if self.uses.get(&key).is_some_and(|left| *left > 0) {
            self.pipes.insert(key, (at.clone(), found.clone()));
        }
    }
}
