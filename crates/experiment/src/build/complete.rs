//! Checks of names, base RTTs, and what follows from them.

use super::network::WAYS;
use super::{field, text, Builder};
use crate::code::Code;
use crate::graph::Graph;
use crate::limit::{fill, Pending, Rtts};
use crate::near::suggested;
use crate::programs::talks;
use crate::read::{below, item, Loc, Refusal, Result};
use serde_json::Value;
use std::collections::BTreeSet;

/// Hosts between which packets pass, with the links of their interfaces, and where the file names them.
struct Pair {
    from: String,
    to: String,
    links: [Option<usize>; 2],
    at: Loc,
}

/// Base RTTs, ns.
#[derive(Default)]
pub(crate) struct BaseRtts {
    pub(crate) of_flows: Vec<(String, u64)>,
    /// The largest through each pipe, by index of the link and direction.
    through_ns: Vec<Option<u64>>,
}

impl BaseRtts {
    /// Sets the limits of both queues of a link.
    pub(super) fn fill(&self, link: &mut Value, index: usize, limits: &[Pending; 2]) -> Result<()> {
        for (side, way) in WAYS.into_iter().enumerate() {
            let through_ns = self.through_ns[2 * index + side];
            let rtts = Rtts { of_flows: &self.of_flows, through_ns };
            fill(&mut link[way], &limits[side], rtts)?;
        }
        Ok(())
    }
}

impl Builder<'_> {
    /// Completes limits of queues and start jitter; returns the base RTTs.
    pub(super) fn complete(&mut self, graph: &mut Graph) -> Result<BaseRtts> {
        self.check_ends()?;
        let mut pairs = self.pairs();
        let flows = pairs.len();
        let hosts = self.hosts();
        for (i, [from, to]) in talks(&self.file.programs, &hosts) {
            let at = item(&field("programs"), i);
            pairs.push(Pair { from, to, links: [None, None], at });
        }
        let mut rtts_ns = Vec::with_capacity(pairs.len());
        let mut through_ns = vec![None; 2 * self.links.len()];
        for pair in &pairs {
            let both = graph.check(&pair.from, &pair.to, pair.links).or_else(|fault| {
                let at = fault.route.map(|route| self.origins.of("routes", route));
                let refusal = Refusal::new(at.as_ref().unwrap_or(&pair.at), fault.message);
                refusal.code(Code::NoPath).err()
            })?;
            let rtt_ns = both[0].delay_ns.saturating_add(both[1].delay_ns);
            for &pipe in both.iter().flat_map(|path| &path.pipes) {
                through_ns[pipe] = through_ns[pipe].max(Some(rtt_ns));
            }
            rtts_ns.push(rtt_ns);
        }
        let largest = rtts_ns.iter().copied().max();
        let names = self.flows.iter().chain(&self.processes).map(|flow| text(flow, "name"));
        let rtts = BaseRtts {
            of_flows: names
                .zip(&rtts_ns[..flows])
                .map(|(name, rtt_ns)| (name.to_owned(), *rtt_ns))
                .collect(),
            through_ns: through_ns.into_iter().map(|through_ns| through_ns.or(largest)).collect(),
        };
        for (i, pending) in self.pending.iter().enumerate() {
            rtts.fill(&mut self.links[i], i, pending)?;
        }
        for (index, jitter) in &self.jitters {
            self.flows[*index]["start_jitter_ns"] = jitter.ns(rtts_ns[*index]).into();
        }
        Ok(rtts)
    }

    /// Flows and arrivals, with the interfaces of subflows.
    fn pairs(&self) -> Vec<Pair> {
        let pair = |flow: &Value, links, at| Pair {
            from: text(flow, "from").to_owned(),
            to: text(flow, "to").to_owned(),
            links,
            at,
        };
        let of_flows = self.flows.iter().enumerate().map(|(i, flow)| {
            let between = self.interfaces.get(&i).map(|one| [Some(one.local), Some(one.remote)]);
            pair(flow, between.unwrap_or_default(), self.origins.of("flows", i))
        });
        let of_arrivals = self
            .processes
            .iter()
            .enumerate()
            .map(|(i, process)| pair(process, [None, None], self.origins.of("arrivals", i)));
        of_flows.chain(of_arrivals).collect()
    }

    /// Checks the names that routing needs. The reader of the scenario checks all others.
    fn check_ends(&self) -> Result<()> {
        let mut joined: BTreeSet<&str> = BTreeSet::new();
        for (i, link) in self.links.iter().enumerate() {
            for end in [text(link, "a"), text(link, "b")] {
                joined.insert(end);
                if !self.numbers.contains_key(end) {
                    let at = below(&self.origins.of("links", i), "between");
                    let known = suggested(end, self.numbers.keys().map(String::as_str));
                    let refusal = Refusal::new(&at, format!("no node {end}")).allowed(known);
                    return refusal.code(Code::NoNode).err();
                }
            }
        }
        for (section, list) in [("flows", &self.flows), ("arrivals", &self.processes)] {
            for (i, flow) in list.iter().enumerate() {
                if !(self.is_host(text(flow, "from")) && self.is_host(text(flow, "to"))) {
                    self.check_hosts(flow, &self.origins.of(section, i))?;
                }
            }
        }
        self.check_programs()?;
        for (i, node) in self.nodes.iter().enumerate() {
            let name = text(node, "name");
            if !joined.contains(name) {
                let at = self.origins.of("nodes", i);
                let refusal = Refusal::new(&at, format!("no link joins {name}"));
                return refusal.code(Code::NoPath).err();
            }
        }
        Ok(())
    }

    /// Checks the hosts that programs name.
    fn check_programs(&self) -> Result<()> {
        for program in &self.file.programs {
            let (on, at) = (&program.on, below(&program.at, "on"));
            let Some(&number) = self.numbers.get(on) else {
                let refusal = Refusal::new(&at, format!("no node {on}"));
                let known = suggested(on, self.hosts());
                return refusal.allowed(known).code(Code::NoNode).err();
            };
            if !self.is_host(on) {
                let kind = text(&self.nodes[number], "kind");
                let refusal = Refusal::new(&at, format!("{on} is not a host but a {kind}"));
                return refusal.code(Code::Program).err();
            }
            if let Some(name) = program.addressed().find(|name| !self.is_host(name)) {
                let message = format!("{{{name}}}: no host {name}");
                let refusal = Refusal::new(&below(&program.at, "run"), message);
                let known = suggested(name, self.hosts());
                return refusal.allowed(known).code(Code::NoNode).err();
            }
        }
        Ok(())
    }
}
