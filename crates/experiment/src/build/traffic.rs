//! Traffic of a scenario: flows, multipath connections, pages, arrivals.

use super::{field, Builder};
use crate::code::Code;
use crate::flow::{Flow, Traffic};
use crate::graph::Graph;
use crate::multipath::{Hosts, Mptcp};
use crate::near::suggested;
use crate::read::{below, fail, item, Refusal, Result, Step};
use serde_json::{json, Value};

/// Memory that a flow takes while its experiment is read, and the limit of all.
const FLOW_BYTES: u64 = 2_000;
const MAX_FLOW_BYTES: u64 = 4_000_000_000;

/// A number with two significant digits, as `4.2` or `1e+02`.
fn two_digits(number: f64) -> String {
    let written = format!("{number:.1e}");
    let (head, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent >= 2 {
        return format!("{}e+{exponent:02}", head.trim_end_matches('0').trim_end_matches('.'));
    }
    let rounded: f64 = written.parse().unwrap_or(number);
    format!("{rounded}")
}

impl Builder<'_> {
    /// Adds the flows of the workload and those written in the file.
    pub(super) fn add_flows(&mut self, most: Option<u64>, graph: &mut Graph) -> Result<()> {
        let file = self.file;
        self.check_size(most)?;
        for flow in file.workload.iter().chain(&file.flows) {
            let mut shared = None;
            for k in 1..=flow.count.unwrap_or(1) {
                self.add_flow(flow, k, &mut shared, graph)?;
            }
        }
        Ok(())
    }

    /// Refuses flows that would not fit into memory while they are read.
    fn check_size(&self, most: Option<u64>) -> Result<()> {
        let counts = || self.file.flows.iter().map(|flow| flow.count.unwrap_or(1));
        let total: u64 = counts().sum();
        let largest = counts().max().unwrap_or(0);
        let at = counts().position(|count| count == largest).unwrap_or(0);
        let at = item(&field("flows"), at);
        if most.is_some_and(|most| total + self.file.workload.len() as u64 > most) {
            let most = most.unwrap_or(0);
            return fail(&at, format!("more than {most} flows, too many for a page"));
        }
        if total * FLOW_BYTES <= MAX_FLOW_BYTES {
            return Ok(());
        }
        let gigabytes = two_digits(total as f64 * FLOW_BYTES as f64 / 1e9);
        let limit = MAX_FLOW_BYTES / 1_000_000_000;
        let message = format!(
            "{total} flows would take about {gigabytes} GB of memory to read, above the limit of \
             {limit} GB; as arrivals they would take less"
        );
        Refusal::new(&below(&at, "count"), message).found(largest.to_string()).err()
    }

    /// Adds the `k`-th copy of a flow, counted from 1. `shared`: traffic of the copies before it.
    fn add_flow(
        &mut self,
        flow: &Flow,
        k: u64,
        shared: &mut Option<Value>,
        graph: &mut Graph,
    ) -> Result<()> {
        let index = self.flows.len();
        let name = match &flow.name {
            Some(name) => flow.filled(name, k),
            None => format!("flow{}", index + 1),
        };
        if !self.flow_names.insert(name.clone()) {
            let hint =
                if flow.count.is_some() { "; with count, write {i} in the name" } else { "" };
            let message = format!("two flows are named {name}{hint}");
            return Refusal::new(&below(&flow.at, "name"), message).code(Code::FlowTaken).err();
        }
        let (from, to) = (flow.filled(&flow.from, k), flow.filled(&flow.to, k));
        if let Some(jitter) = flow.jitter {
            // Only the first subflow of a multipath connection has jitter: the others start relative
            // to it.
            self.jitters.push((index, jitter));
        }
        let hosts = [self.options(&from), self.options(&to)];
        let traffic = match &flow.traffic {
            Traffic::Made(traffic) => traffic.clone(),
            Traffic::Tcp(stream) => {
                let tcp = || json!({"tcp": stream.transport(stream.source.clone(), hosts)});
                if stream.has_options() {
                    tcp()
                } else {
                    shared.get_or_insert_with(tcp).clone()
                }
            }
            Traffic::Mptcp(_) => Value::Null,
        };
        let mut made = json!({
            "name": name,
            "group": flow.group,
            "from": from,
            "to": to,
            "start_ns": flow.start_ns,
            "stop_ns": flow.stop_ns,
            "start_jitter_ns": 0,
            "dscp": flow.dscp,
        });
        // Moved: `json!` copies what it is given.
        made["traffic"] = traffic;
        if let Traffic::Mptcp(spec) = &flow.traffic {
            return self.add_connection(spec, &made, &flow.at, graph);
        }
        self.origins.entry("flows", index, flow.at.clone());
        self.flows.push(made);
        Ok(())
    }

    /// Adds a multipath connection, with a flow per subflow. `here`: path of the flow in the file.
    fn add_connection(
        &mut self,
        spec: &Mptcp,
        flow: &Value,
        here: &[Step],
        graph: &mut Graph,
    ) -> Result<()> {
        let at = below(here, "mptcp");
        self.check_hosts(flow, here)?;
        let hosts = Hosts { from: super::text(flow, "from"), to: super::text(flow, "to") };
        let found = spec.subflows(hosts, graph, &at)?;
        let options = [self.options(hosts.from), self.options(hosts.to)];
        let tcp = spec.stream.transport("subflow".into(), options);
        let connection = super::text(flow, "name");
        self.origins.entry("connections", self.connections.len(), at.clone());
        let mut subflows = Vec::new();
        for (i, between) in found.into_iter().enumerate() {
            let name = format!("{connection}/{}", i + 1);
            if !self.flow_names.insert(name.clone()) {
                let message = format!("two flows are named {name}");
                return Refusal::new(&below(here, "name"), message).code(Code::FlowTaken).err();
            }
            let mut part = flow.clone();
            part["name"] = name.as_str().into();
            if let Some(start_ns) = between.spec.start_ns {
                part["start_ns"] = start_ns.into();
            }
            part["stop_ns"] = between.spec.stop_ns.into();
            part["traffic"] = json!({"tcp": tcp});
            subflows.push(json!({
                "flow": name,
                "local": graph.link_name(between.local),
                "remote": graph.link_name(between.remote),
                "backup": between.spec.backup,
            }));
            self.origins.entry("flows", self.flows.len(), at.clone());
            self.interfaces.insert(self.flows.len(), between);
            self.flows.push(part);
        }
        self.connections.push(json!({
            "name": connection,
            "group": flow["group"],
            "scheduler": spec.scheduler,
            "subflows": subflows,
            "source": spec.stream.source,
            "sink": spec.stream.sink,
            "stop_ns": flow["stop_ns"],
            "opportunistic": spec.opportunistic,
        }));
        Ok(())
    }

    /// Adds a session per page, and a flow per connection.
    pub(super) fn add_pages(&mut self) -> Result<()> {
        let file = self.file;
        let mut names = std::collections::BTreeSet::new();
        for (i, page) in file.pages.iter().enumerate() {
            self.origins.entry("sessions", i, page.at.clone());
            if !names.insert(&page.name) {
                let message = format!("two pages are named {}", page.name);
                return Refusal::new(&below(&page.at, "name"), message).code(Code::FlowTaken).err();
            }
            let (session, connections) = page.session();
            self.sessions.push(session);
            for (name, server) in connections {
                if !self.flow_names.insert(name.clone()) {
                    let message = format!("two flows are named {name}");
                    return Refusal::new(&page.at, message).code(Code::FlowTaken).err();
                }
                self.origins.entry("flows", self.flows.len(), page.at.clone());
                self.flows.push(json!({
                    "name": name,
                    "group": "",
                    "from": server,
                    "to": page.client,
                    "start_ns": 0,
                    "stop_ns": null,
                    "start_jitter_ns": 0,
                    "dscp": 0,
                    "traffic": {"tcp": page.stream.transport("session".into(), [None, None])},
                }));
            }
        }
        Ok(())
    }

    /// Adds clients that send requests, and a flow per connection.
    pub(super) fn add_requests(&mut self) -> Result<()> {
        let file = self.file;
        for (i, requests) in file.requests.iter().enumerate() {
            self.origins.entry("requests", i, requests.at.clone());
            let pages = file.pages.iter().map(|page| &page.name);
            let mut before = pages.chain(file.requests[..i].iter().map(|other| &other.name));
            if before.any(|name| *name == requests.name) {
                let message = format!("two pages or requests are named {}", requests.name);
                let at = below(&requests.at, "name");
                return Refusal::new(&at, message).code(Code::FlowTaken).err();
            }
            let (source, from, to) = requests.direction();
            let transport = requests.stream.transport(source.into(), [None, None]);
            for name in requests.flows() {
                if !self.flow_names.insert(name.clone()) {
                    let message = format!("two flows are named {name}");
                    return Refusal::new(&requests.at, message).code(Code::FlowTaken).err();
                }
                self.origins.entry("flows", self.flows.len(), requests.at.clone());
                self.flows.push(json!({
                    "name": name,
                    "group": requests.group,
                    "from": from,
                    "to": to,
                    "start_ns": 0,
                    "stop_ns": null,
                    "start_jitter_ns": 0,
                    "dscp": requests.dscp,
                    "traffic": {"tcp": transport},
                }));
            }
            self.requests.push(requests.scenario());
        }
        Ok(())
    }

    /// Adds the arrival processes.
    pub(super) fn add_arrivals(&mut self) {
        let file = self.file;
        for (i, process) in file.arrivals.iter().enumerate() {
            self.origins.entry("arrivals", i, process.at.clone());
            let hosts = [self.options(&process.from), self.options(&process.to)];
            let made = process.scenario(hosts);
            self.processes.push(made);
        }
    }

    /// Refuses a flow unless both endpoints are hosts. `at`: the flow in the file.
    pub(super) fn check_hosts(&self, flow: &Value, at: &[Step]) -> Result<()> {
        let of_page = ["pages", "requests"]
            .iter()
            .any(|name| at.first() == Some(&Step::Field((*name).to_owned())));
        for (end, of_pages) in [("from", "server"), ("to", "client")] {
            let name = super::text(flow, end);
            if !self.is_host(name) {
                let here = below(at, if of_page { of_pages } else { end });
                let known = suggested(name, self.hosts());
                let refusal = Refusal::new(&here, format!("no host {name}")).allowed(known);
                return refusal.code(Code::NoNode).err();
            }
        }
        Ok(())
    }
}
