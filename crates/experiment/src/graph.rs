//! Graph of the network, by the names of its nodes and links.

use dumbbell_model::paths::{Address, Fault, Network, Path, Place};
use serde_json::Value;
use std::collections::BTreeMap;

/// Graph of nodes and links.
pub(crate) struct Graph {
    network: Network,
    /// Numbers of the nodes by name.
    numbers: BTreeMap<String, usize>,
    names: Vec<String>,
    link_names: Vec<String>,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Fixed delay of a pipe, netem's included, ns.
pub(crate) fn fixed_ns(pipe: &Value) -> u64 {
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    number(&pipe["delay_ns"]).saturating_add(number(&pipe["queue"]["netem"]["delay_ns"]))
}

impl Graph {
    /// Graph of a scenario's nodes, links and routes. A node that only links name forwards; a route
    /// that names unknown nodes or links is refused later, by the reader of the scenario.
    pub(crate) fn new(nodes: &[Value], links: &[Value], routes: &[Value]) -> Self {
        let mut places: Vec<Place> = Vec::with_capacity(nodes.len());
        let mut numbers = BTreeMap::new();
        for node in nodes {
            let place = Place {
                name: text(&node["name"]),
                forwards: node["kind"] != "host",
                sprays: !node["spray"].is_null(),
            };
            numbers.insert(place.name.clone(), places.len());
            places.push(place);
        }
        let mut ends = Vec::with_capacity(links.len());
        for link in links {
            let mut number = |name: &str| match numbers.get(name) {
                Some(&number) => number,
                None => {
                    let name = name.to_owned();
                    places.push(Place { name: name.clone(), forwards: true, sprays: false });
                    numbers.insert(name, places.len() - 1);
                    places.len() - 1
                }
            };
            let name = |end: &'static str| link[end].as_str().unwrap_or_default();
            ends.push((number(name("a")), number(name("b"))));
        }
        let delays: Vec<_> = links
            .iter()
            .map(|link| (fixed_ns(&link["forward"]), fixed_ns(&link["backward"])))
            .collect();
        let names = places.iter().map(|place| place.name.clone()).collect();
        let link_names: Vec<String> = links.iter().map(|link| text(&link["name"])).collect();
        let mut network = Network::new(places, ends, &delays);
        let by_name: BTreeMap<&str, usize> = if routes.is_empty() {
            BTreeMap::new()
        } else {
            link_names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect()
        };
        for (i, route) in routes.iter().enumerate() {
            let via = route["via"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let via: Vec<usize> = via.filter_map(|name| by_name.get(name).copied()).collect();
            let known = |end: &str| numbers.get(route[end].as_str().unwrap_or_default()).copied();
            if let (Some(at), Some(to)) = (known("at"), known("to")) {
                network.add_route(i, at, to, &via);
            }
        }
        Self { network, numbers, names, link_names }
    }

    fn address(&self, name: &str, link: Option<usize>) -> Address {
        // Names were checked: no other is asked for.
        Address { node: self.numbers.get(name).copied().unwrap_or(0), link }
    }

    /// Name of a link.
    pub(crate) fn link_name(&self, link: usize) -> &str {
        &self.link_names[link]
    }

    /// Names of both nodes of a link.
    pub(crate) fn ends(&self, link: usize) -> (&str, &str) {
        let (a, b) = self.network.ends()[link];
        (&self.names[a], &self.names[b])
    }

    /// Links at a node, ascending.
    pub(crate) fn links_of(&self, node: &str) -> Vec<usize> {
        let number = self.numbers.get(node);
        let pipes = number.map(|number| self.network.leaving(*number)).unwrap_or_default();
        pipes.iter().map(|pipe| pipe / 2).collect()
    }

    /// Paths from one host to another and back. `links`: links of both interfaces; `None`: any.
    ///
    /// # Errors
    /// There is no path, or it has a loop.
    pub(crate) fn check(
        &mut self,
        from: &str,
        to: &str,
        links: [Option<usize>; 2],
    ) -> Result<[Path; 2], Fault> {
        let (from, to) = (self.address(from, links[0]), self.address(to, links[1]));
        let there = self.network.path(from.node, to, from.link)?;
        Ok([there, self.network.path(to.node, from, to.link)?])
    }
}
