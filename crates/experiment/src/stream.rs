//! Connections: congestion control, applications, and the TCP options of both hosts.

use crate::kind::{known, long};
use crate::options::{plain, Options, Written};
use crate::plugins;
use crate::quantity::{positive_size, positive_time, rate, time};
use crate::read::{Fields, Node, Refusal, Result};
use crate::words::shown;
use dumbbell_model::catalogue::congestion_control::Algorithm;
use serde_json::{json, Map, Value};

/// Fields of every connection.
pub(crate) const STREAM: [&str; 7] =
    ["congestion_control", "fq", "bytes", "source", "sink", "sender", "receiver"];

/// Stacks of TCP.
pub(crate) const STACKS: &[&str] = &[LINUX, "smoltcp"];
/// The stack of all connections that name none.
const LINUX: &str = "linux";

/// A connection as written.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    algorithm: Algorithm,
    fq: Option<bool>,
    /// Writes of the sending application, in the form of the scenario.
    pub(crate) source: Value,
    /// Reads of the receiving application, in the form of the scenario.
    pub(crate) sink: Value,
    /// Options of the sender and of the receiver.
    sides: [Option<Written>; 2],
    /// Stack of the sender.
    stack: String,
    /// TCP_NODELAY.
    pub(crate) nodelay: Option<bool>,
    /// TCP_NOTSENT_LOWAT, bytes.
    pub(crate) notsent_lowat: Option<u64>,
}

/// Sink that reads at once.
fn eager() -> Value {
    json!({"lowat_bytes": 1, "rate_bps": null})
}

impl Stream {
    /// A bulk transfer.
    pub(crate) fn bulk(algorithm: Algorithm, fq: Option<bool>) -> Self {
        let source = json!({"bulk": {"bytes": null, "refill_ns": 0}});
        let stack = LINUX.to_owned();
        Self {
            algorithm,
            fq,
            source,
            sink: eager(),
            sides: [None, None],
            stack,
            nodelay: None,
            notsent_lowat: None,
        }
    }

    /// Reads the fields that every connection has. `choose`: reads the congestion control.
    pub(crate) fn read(
        fields: &Fields<'_>,
        choose: impl FnOnce(&Node<'_>) -> Result<Algorithm>,
    ) -> Result<Self> {
        let algorithm = choose(&fields.need("congestion_control")?)?;
        let bytes = fields.read("bytes", positive_size)?;
        let source = match fields.read("source", source)? {
            Some(source) => source,
            None => json!({"bulk": {"bytes": bytes, "refill_ns": 0}}),
        };
        let sink = fields.read("sink", |node| {
            let fields = node.any_fields()?;
            let lowat = fields.read("lowat", positive_size)?.unwrap_or(1);
            Ok(json!({"lowat_bytes": lowat, "rate_bps": fields.read("rate", rate)?}))
        })?;
        let side = |name| fields.read(name, |node| Written::read(node, false));
        Ok(Self {
            algorithm,
            fq: fields.read("fq", Node::flag)?,
            source,
            sink: sink.unwrap_or_else(eager),
            sides: [side("sender")?, side("receiver")?],
            stack: LINUX.to_owned(),
            nodelay: None,
            notsent_lowat: None,
        })
    }

    /// Reads a TCP connection.
    pub(crate) fn tcp(node: &Node<'_>) -> Result<Self> {
        let mut held = Map::new();
        let fields = long(node, "congestion_control", &mut held)?;
        for (name, node) in fields.all() {
            if ["scheduler", "path_manager", "subflows"].contains(&name) {
                let message =
                    format!("{name} is for the subflows of mptcp; a tcp flow has one path");
                return Refusal::new(&node.at, message).found(shown(node.value)).err();
            }
        }
        known(&fields, &[&STREAM[..], &["stack", "nodelay", "notsent_lowat"]].concat())?;
        let stack = fields.read("stack", |node| node.choice(STACKS, "stack"))?;
        let stack = stack.unwrap_or_else(|| LINUX.to_owned());
        let nodelay = fields.read("nodelay", Node::flag)?;
        let notsent_lowat = fields.read("notsent_lowat", positive_size)?;
        Ok(Self { stack, nodelay, notsent_lowat, ..Self::read(&fields, algorithm)? })
    }

    /// Reads the connection of arriving flows, whose sizes are drawn.
    pub(crate) fn arriving(node: &Node<'_>) -> Result<Self> {
        let mut held = Map::new();
        let fields = long(node, "congestion_control", &mut held)?;
        known(&fields, &["congestion_control", "fq", "sender", "receiver"])?;
        Self::read(&fields, algorithm)
    }

    /// Returns true if one side has options of its own.
    pub(crate) fn has_options(&self) -> bool {
        self.sides.iter().any(Option::is_some)
    }

    /// TCP settings in the form of the scenario.
    ///
    /// # Arguments
    /// - `source`: what the sender writes.
    /// - `hosts`: options of both hosts; `None`: the host is unknown.
    pub(crate) fn transport(&self, source: Value, hosts: [Option<&Options>; 2]) -> Value {
        let [sender, receiver] = [0, 1].map(|side| {
            let own = self.sides[side].as_ref()?;
            Some(hosts[side].map_or_else(|| own.over(&plain()), |host| own.over(host)))
        });
        let mut tcp = json!({
            "congestion_control": self.algorithm,
            "fq": self.fq.unwrap_or(self.algorithm.entry().paced_by_fq),
            "source": source,
            "sink": self.sink,
            "sender": sender,
            "receiver": receiver,
        });
        if let Some(nodelay) = self.nodelay {
            tcp["nodelay"] = json!(nodelay);
        }
        if let Some(bytes) = self.notsent_lowat {
            tcp["notsent_lowat_bytes"] = json!(bytes);
        }
        if self.stack != LINUX {
            tcp["stack"] = json!(self.stack);
        }
        tcp
    }
}

/// Congestion control of a connection with one path.
pub(crate) fn algorithm(node: &Node<'_>) -> Result<Algorithm> {
    let found = plugins::algorithm(node.text().unwrap_or_default());
    match found.filter(|algorithm| !algorithm.is_coupled()) {
        Some(algorithm) => Ok(algorithm),
        None => node.fail(format!("unknown congestion control {}", shown(node.value))),
    }
}

/// Congestion control of the subflows of a connection.
pub(crate) fn of_subflow(node: &Node<'_>) -> Result<Algorithm> {
    match plugins::algorithm(node.text().unwrap_or_default()) {
        Some(algorithm) if algorithm.entry().needs_ecn => {
            let why = "needs ECN at both ends, which multipath connections do not negotiate";
            node.fail(format!("{} {why}", algorithm.entry().name))
        }
        Some(algorithm) => Ok(algorithm),
        None => node.fail(format!("unknown congestion control {}", shown(node.value))),
    }
}

fn source(node: &Node<'_>) -> Result<Value> {
    let kinds = &["bulk", "periodic", "on_off"];
    if node.text() == Some("bulk") {
        return Ok(json!({"bulk": {"bytes": null, "refill_ns": 0}}));
    }
    let fields = node.any_fields()?;
    let kind = fields.exactly_one(kinds)?;
    let node = fields.need(kind)?;
    Ok(match kind {
        "bulk" => {
            let fields = node.any_fields()?;
            let refill = fields.read("refill", time)?.unwrap_or(0);
            json!({"bulk": {"bytes": fields.read("bytes", positive_size)?, "refill_ns": refill}})
        }
        "periodic" => {
            let fields = node.any_fields()?;
            json!({"periodic": {
                "chunk_bytes": positive_size(&fields.need("chunk")?)?,
                "interval_ns": positive_time(&fields.need("interval")?)?,
                "bytes": fields.read("bytes", positive_size)?,
            }})
        }
        _ => {
            let fields = node.any_fields()?;
            let words = &["fixed", "exponential"];
            let lengths = fields.read("lengths", |node| node.choice(words, "distribution"))?;
            json!({"on_off": {
                "chunk_bytes": positive_size(&fields.need("chunk")?)?,
                "interval_ns": positive_time(&fields.need("interval")?)?,
                "on_ns": positive_time(&fields.need("on")?)?,
                "off_ns": time(&fields.need("off")?)?,
                "exponential": lengths.as_deref() == Some("exponential"),
                "bytes": fields.read("bytes", positive_size)?,
            }})
        }
    })
}
