//! Clients that send requests to servers over persistent connections.

use crate::arrivals::Size;
use crate::quantity::{positive_time, time};
use crate::queue::codepoint;
use crate::read::{Fields, Loc, Node, Result};
use crate::stream::{algorithm, Stream};
use serde_json::{json, Value};

/// Requests as written.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) client: String,
    pub(crate) server: String,
    connections: u64,
    start_ns: u64,
    stop_ns: Option<u64>,
    count: Option<u64>,
    /// Closed or open loop, in the form of the scenario.
    load: Value,
    request: Size,
    response: Option<Size>,
    service_ns: u64,
    request_writes: u64,
    response_writes: u64,
    pub(crate) dscp: u64,
    pub(crate) stream: Stream,
    pub(crate) at: Loc,
}

impl Requests {
    fn read(node: &Node<'_>) -> Result<Self> {
        let fields = node.any_fields()?;
        let whole = |name, most| {
            let found = fields.read(name, |node| node.whole(1, most))?;
            Ok(found.map(|number| number as u64))
        };
        let cubic = Value::from("cubic");
        let plain = Node { value: &cubic, at: node.at.clone() };
        let control = algorithm(&fields.get("congestion_control").unwrap_or(plain))?;
        let mut stream = Stream::bulk(control, fields.read("fq", Node::flag)?);
        stream.nodelay = Some(fields.read("nodelay", Node::flag)?.unwrap_or(false));
        Ok(Self {
            name: fields.need("name")?.name()?,
            group: fields.read("group", Node::name)?.unwrap_or_default(),
            client: fields.need("client")?.name()?,
            server: fields.need("server")?.name()?,
            connections: whole("connections", 10_000)?.unwrap_or(1),
            start_ns: fields.read("start", time)?.unwrap_or(0),
            stop_ns: fields.read("stop", time)?,
            count: whole("count", 1_000_000_000)?,
            load: load(&fields)?,
            request: Size::read(&fields.need("request")?)?,
            response: fields.read("response", Size::read)?,
            service_ns: fields.read("service", time)?.unwrap_or(0),
            request_writes: whole("request_writes", 1000)?.unwrap_or(1),
            response_writes: whole("response_writes", 1000)?.unwrap_or(1),
            dscp: fields.read("dscp", codepoint)?.unwrap_or(0),
            stream,
            at: node.at.clone(),
        })
    }

    /// Names of the flows.
    pub(crate) fn flows(&self) -> Vec<String> {
        (1..=self.connections).map(|number| format!("{}-{number}", self.name)).collect()
    }

    /// Source of the flows, and the hosts at which they begin and end. Messages go from the client.
    pub(crate) fn direction(&self) -> (&'static str, &str, &str) {
        match self.response {
            Some(_) => ("session", &self.server, &self.client),
            None => ("messages", &self.client, &self.server),
        }
    }

    /// Form of the scenario.
    pub(crate) fn scenario(&self) -> Value {
        json!({
            "name": self.name,
            "group": self.group,
            "connections": self.flows(),
            "start_ns": self.start_ns,
            "stop_ns": self.stop_ns,
            "load": self.load,
            "count": self.count,
            "request": self.request.scenario(),
            "response": self.response.as_ref().map(Size::scenario),
            "service_ns": self.service_ns,
            "request_writes": self.request_writes,
            "response_writes": self.response_writes,
        })
    }
}

/// Closed or open loop, in the form of the scenario.
fn load(fields: &Fields<'_>) -> Result<Value> {
    let words = &["fixed", "exponential"];
    let times = fields.read("times", |node| node.choice(words, "distribution"))?;
    let exponential = |default: bool| times.as_ref().map_or(default, |one| one == "exponential");
    if let Some(interval_ns) = fields.read("interval", positive_time)? {
        let exponential = exponential(false);
        return Ok(json!({"open": {"interval_ns": interval_ns, "exponential": exponential}}));
    }
    if let Some(node) = fields.get("per_second") {
        let per_second = node.value.as_f64().filter(|number| *number > 0.0).unwrap_or(1.0);
        let interval_ns = (1e9 / per_second).round().clamp(1.0, 1e18) as u64;
        let exponential = exponential(true);
        return Ok(json!({"open": {"interval_ns": interval_ns, "exponential": exponential}}));
    }
    let think_ns = fields.read("think", time)?.unwrap_or(0);
    Ok(json!({"closed": {"think_ns": think_ns, "exponential": exponential(false)}}))
}

/// Requests of a file.
pub(crate) fn requests(fields: &Fields<'_>) -> Result<Vec<Requests>> {
    let Some(node) = fields.get("requests") else { return Ok(Vec::new()) };
    node.items()?.iter().map(Requests::read).collect()
}
