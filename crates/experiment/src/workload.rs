//! Workloads of Flent. Each expands to flows.
//!
//! Høiland-Jørgensen et al., "Flent: The FLExible Network Tester", VALUETOOLS 2017; RRUL after D. Täht,
//! "Realtime Response Under Load" (2012). Codepoints of RRUL are Flent's: BE, BK (CS1), CS5, EF.

use crate::flow::{entry, Flow, Jitter, Traffic};
use crate::kind::{listed, voice};
use crate::quantity::{positive_time, time};
use crate::read::{Fields, Loc, Node, Result, Step};
use crate::stream::{algorithm, Stream};
use serde_json::{json, Value};

const KINDS: [&str; 5] = ["rrul", "rrul_be", "tcp_nup", "tcp_ndown", "rtt_fair"];
const BE: u64 = 0;
const CS1: u64 = 8;
const CS5: u64 = 40;
const EF: u64 = 46;
/// Codepoints of the TCP flows of RRUL, in order.
const CLASSES: [u64; 4] = [BE, CS1, CS5, EF];
const UDP_PROBES: [(&str, u64); 3] = [("udp_be", BE), ("udp_bk", CS1), ("udp_ef", EF)];
const MOST_STREAMS: i128 = 10_000;
const STREAMS: i128 = 12;

/// Fields of every workload: probes during the whole run, and load for the time `length`.
struct Load {
    client: String,
    stream: Stream,
    before_ns: u64,
    length_ns: u64,
    interval_ns: u64,
    start_jitter_ns: u64,
    at: Loc,
}

impl Load {
    fn read(fields: &Fields<'_>) -> Result<Self> {
        let cubic = Value::from("cubic");
        let plain = Node { value: &cubic, at: fields.at.clone() };
        let control = algorithm(&fields.get("congestion_control").unwrap_or(plain))?;
        let span = |name, default| Ok(fields.read(name, time)?.unwrap_or(default));
        let positive = |name, default| Ok(fields.read(name, positive_time)?.unwrap_or(default));
        Ok(Self {
            client: fields.need("client")?.name()?,
            stream: Stream::bulk(control, None),
            before_ns: span("before", 5_000_000_000)?,
            length_ns: positive("length", 60_000_000_000)?,
            interval_ns: positive("interval", 200_000_000)?,
            start_jitter_ns: span("start_jitter", 20_000_000)?,
            at: vec![Step::Field("workload".to_owned())],
        })
    }

    fn flow(&self, name: &str, ends: [&str; 2], dscp: u64, traffic: Traffic) -> Flow {
        Flow {
            name: Some(name.to_owned()),
            group: String::new(),
            from: ends[0].to_owned(),
            to: ends[1].to_owned(),
            start_ns: 0,
            stop_ns: None,
            jitter: None,
            dscp,
            count: None,
            traffic,
            at: self.at.clone(),
        }
    }

    /// Bulk flow for the time of the load.
    fn tcp(&self, name: &str, ends: [&str; 2], dscp: u64) -> Flow {
        Flow {
            start_ns: self.before_ns,
            stop_ns: Some(self.before_ns.saturating_add(self.length_ns)),
            jitter: Some(Jitter::Time(self.start_jitter_ns)),
            ..self.flow(name, ends, dscp, Traffic::Tcp(Box::new(self.stream.clone())))
        }
    }

    /// Flows of a class each, which repeat.
    fn several(&self, name: &str, ends: [&str; 2], count: i128, classes: &[u64]) -> Vec<Flow> {
        let classes = classes.iter().cycle();
        (1..=count)
            .zip(classes)
            .map(|(i, dscp)| self.tcp(&format!("{name}{i}"), ends, *dscp))
            .collect()
    }

    /// Echo requests from the client during the whole run.
    fn probe(&self, name: &str, to: &str, protocol: &str, dscp: u64) -> Result<Flow> {
        let written = json!({"interval": format!("{} ns", self.interval_ns), "protocol": protocol});
        let node = Node { value: &written, at: self.at.clone() };
        let ping = listed(entry("ping", &node)?, &node)?;
        Ok(self.flow(name, [&self.client, to], dscp, Traffic::Made(json!({ "ping": ping }))))
    }

    /// Speech.
    fn voice(&self, name: &str, ends: [&str; 2], dscp: u64) -> Result<Flow> {
        let node = Node { value: &Value::from("g711"), at: self.at.clone() };
        let speech = Traffic::Made(json!({"udp": voice(&node)?}));
        Ok(self.flow(name, ends, dscp, speech))
    }
}

/// Flows of a workload.
pub(crate) fn flows(node: &Node<'_>) -> Result<Vec<Flow>> {
    let fields = node.any_fields()?;
    let kind = fields.exactly_one(&KINDS)?;
    let chosen = fields.need(kind)?;
    let fields = chosen.any_fields()?;
    let common = ["client", "congestion_control", "before", "length", "interval", "start_jitter"];
    let own: &[&str] = match kind {
        "rtt_fair" => &["servers"],
        "rrul" | "rrul_be" => &["server", "up", "down", "voice"],
        _ => &["server", "streams"],
    };
    crate::kind::known(&fields, &[&common[..], own].concat())?;
    let load = Load::read(&fields)?;
    match kind {
        "rrul" => rrul(&load, &fields, &CLASSES),
        "rrul_be" => rrul(&load, &fields, &[BE]),
        "rtt_fair" => rtt_fair(&load, &fields),
        _ => {
            let server = fields.need("server")?.name()?;
            let streams = fields.read("streams", |node| node.whole(1, MOST_STREAMS))?;
            let (name, ends) = match kind {
                "tcp_nup" => ("up", [load.client.as_str(), &server]),
                _ => ("down", [server.as_str(), &load.client]),
            };
            let mut flows = load.several(name, ends, streams.unwrap_or(STREAMS), &[BE]);
            flows.push(load.probe("icmp", &server, "icmp", BE)?);
            Ok(flows)
        }
    }
}

/// RRUL: simultaneous flows up and down, RTT probes by ICMP and UDP, optionally speech.
fn rrul(load: &Load, fields: &Fields<'_>, classes: &[u64]) -> Result<Vec<Flow>> {
    let count = |name| Ok(fields.read(name, |node| node.whole(0, MOST_STREAMS))?.unwrap_or(4));
    let (up, down) = (count("up")?, count("down")?);
    let server = fields.need("server")?.name()?;
    let (there, back) = ([load.client.as_str(), &server], [server.as_str(), &load.client]);
    let mut flows = load.several("up", there, up, classes);
    flows.extend(load.several("down", back, down, classes));
    flows.push(load.probe("icmp", &server, "icmp", BE)?);
    let marked = classes.len() > 1;
    for (name, dscp) in UDP_PROBES {
        flows.push(load.probe(name, &server, "udp", if marked { dscp } else { BE })?);
    }
    if fields.read("voice", Node::flag)?.unwrap_or(false) {
        let best = if marked { EF } else { BE };
        flows.push(load.voice("voice_up", there, best)?);
        flows.push(load.voice("voice_down", back, best)?);
    }
    Ok(flows)
}

/// A flow up, a flow down and RTT probes for each of several servers.
fn rtt_fair(load: &Load, fields: &Fields<'_>) -> Result<Vec<Flow>> {
    let mut flows = Vec::new();
    for (i, node) in (1..).zip(fields.need("servers")?.one_or_more()?) {
        let server = node.name()?;
        flows.push(load.tcp(&format!("up{i}"), [&load.client, &server], BE));
        flows.push(load.tcp(&format!("down{i}"), [&server, &load.client], BE));
        flows.push(load.probe(&format!("icmp{i}"), &server, "icmp", BE)?);
    }
    Ok(flows)
}
