//! Flows: TCP, and the kinds of traffic with parameters in the catalogue.

use crate::options::{Options, Written};
use crate::quantity::{parse, positive_size, positive_time, rate, size, time, Exact, RTT, TIME};
use crate::queue::{codepoint, default_of};
use crate::read::{fail, Fields, Loc, Node, Result};
use crate::Section;
use dumbbell_model::catalogue::congestion_control;
use dumbbell_model::catalogue::parameter::{Parameter, Unit};
use dumbbell_model::catalogue::traffic::{Entry, ENTRIES};
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;

/// Fields of a flow.
pub(crate) const FLOW: Section = Section {
    name: "flows[]",
    taken: &[
        "name",
        "group",
        "from",
        "to",
        "start",
        "stop",
        "start_jitter",
        "dscp",
        "count",
        "tcp",
        "udp",
        "ping",
        "video",
        "voice",
    ],
    refused: &["mptcp"],
};

const KINDS: &[&str] = &["tcp", "udp", "ping", "video", "voice"];
/// Most flows of a page: a browser draws each.
pub(crate) const MOST_FLOWS: u64 = 1000;

/// A flow in the form of the scenario, its start jitter in base RTTs, and its path.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) scenario: Value,
    pub(crate) jitter_rtts: Option<Exact>,
    pub(crate) at: Loc,
}

/// Reads the flows of a file. `hosts`: TCP options by host.
pub(crate) fn flows(fields: &Fields<'_>, hosts: &BTreeMap<String, Options>) -> Result<Vec<Flow>> {
    let Some(node) = fields.get("flows") else { return Ok(Vec::new()) };
    let mut flows: Vec<Flow> = Vec::new();
    let mut names = std::collections::BTreeSet::new();
    for node in node.items()? {
        let fields = node.fields(&FLOW)?;
        let count = fields.read("count", |node| node.whole(1, 1_000_000_000))?;
        let copies = count.unwrap_or(1) as u64;
        if flows.len() as u64 + copies > MOST_FLOWS {
            return fail(&node.at, format!("more than {MOST_FLOWS} flows, too many for a page"));
        }
        for k in 1..=copies {
            let number = flows.len() as u64 + 1;
            let filled = |text: String| match count {
                Some(count) => numbered(&text, k, count as u64),
                None => text,
            };
            let made = flow(&fields, hosts, number, &filled)?;
            if !names.insert(made.scenario["name"].to_string()) {
                let hint = if count.is_some() { "; with count, write {i} in the name" } else { "" };
                let name = made.scenario["name"].as_str().unwrap_or_default();
                return fail(&node.at, format!("two flows are named {name}{hint}"));
            }
            flows.push(made);
        }
    }
    Ok(flows)
}

/// Text with `k` in place of `{i}`, and the number `n` further on in place of `{i+n}`.
fn numbered(text: &str, k: u64, count: u64) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("{i") {
        out.push_str(&rest[..start]);
        let tail = &rest[start + 2..];
        let found = tail.find('}').and_then(|end| {
            let inner = &tail[..end];
            let more = if inner.is_empty() { Some("0") } else { inner.strip_prefix('+') }?;
            let digits = (1..=9).contains(&more.len()) && more.bytes().all(|b| b.is_ascii_digit());
            if digits {
                Some((end, more.parse::<u64>().ok()?))
            } else {
                None
            }
        });
        match found {
            Some((end, more)) => {
                out.push_str(&((k - 1 + more) % count + 1).to_string());
                rest = &tail[end + 1..];
            }
            None => {
                out.push_str("{i");
                rest = tail;
            }
        }
    }
    out + rest
}

fn flow(
    fields: &Fields<'_>,
    hosts: &BTreeMap<String, Options>,
    number: u64,
    filled: &impl Fn(String) -> String,
) -> Result<Flow> {
    let name = fields.read("name", Node::name)?.map_or_else(|| format!("flow{number}"), filled);
    let end = |name| Ok(filled(fields.need(name)?.name()?));
    let (from, to) = (end("from")?, end("to")?);
    for (field, host) in [("from", &from), ("to", &to)] {
        if !hosts.contains_key(host) {
            let known: Vec<_> = hosts.keys().take(8).map(String::as_str).collect();
            let known = known.join(", ");
            return fields.need(field)?.fail(format!("no host {host} (known: {known})"));
        }
    }
    let mut jitter_ns = 0;
    let mut jitter_rtts = None;
    if let Some(node) = fields.get("start_jitter") {
        let (family, exact) = parse(&node, &[TIME, RTT])?;
        if family == RTT {
            jitter_rtts = Some(exact);
        } else {
            jitter_ns = crate::quantity::integer(&node, family, exact)?;
        }
    }
    let kind = fields.exactly_one(KINDS)?;
    let node = fields.need(kind)?;
    let traffic = match kind {
        "tcp" => json!({"tcp": tcp(&node, [hosts.get(&from), hosts.get(&to)])?}),
        "voice" => json!({"udp": voice(&node)?}),
        _ => match ENTRIES.iter().find(|entry| entry.name == kind) {
            Some(entry) => json!({ kind: listed(entry, &node)? }),
            None => return node.fail("unknown kind of traffic"),
        },
    };
    let scenario = json!({
        "name": name,
        "group": fields.read("group", Node::name)?.unwrap_or_default(),
        "from": from,
        "to": to,
        "start_ns": fields.read("start", time)?.unwrap_or(0),
        "stop_ns": fields.read("stop", time)?,
        "start_jitter_ns": jitter_ns,
        "dscp": fields.read("dscp", codepoint)?.unwrap_or(0),
        "traffic": traffic,
    });
    Ok(Flow { scenario, jitter_rtts, at: fields.at.clone() })
}

/// Mapping of a short form, or the mapping that is written.
fn long<'a>(node: &Node<'a>, field: &str, held: &'a mut Map<String, Value>) -> Result<Fields<'a>> {
    if node.value.is_object() {
        return node.any_fields();
    }
    held.insert(field.to_owned(), node.value.clone());
    Ok(Fields::of(held, node.at.clone()))
}

/// Fails at the first field with another name.
fn known(fields: &Fields<'_>, names: &[&str]) -> Result<()> {
    match fields.all().find(|(name, _)| !names.contains(name)) {
        Some((name, node)) => {
            node.fail(format!("unknown field {name} (known: {})", names.join(", ")))
        }
        None => Ok(()),
    }
}

fn parameter(node: &Node<'_>, one: &Parameter) -> Result<Value> {
    Ok(match (one.unit, one.least > 0) {
        (Unit::Choice, _) => node.choice(one.choices, one.name)?.into(),
        (Unit::Bytes, true) => positive_size(node)?.into(),
        (Unit::Bytes, false) => size(node)?.into(),
        (Unit::Time, true) => positive_time(node)?.into(),
        (Unit::Time, false) => time(node)?.into(),
        (Unit::Rate, _) => rate(node)?.into(),
        _ => node.flag()?.into(),
    })
}

/// Traffic of a kind with parameters in the catalogue.
fn listed(entry: &Entry, node: &Node<'_>) -> Result<Value> {
    let mut held = Map::new();
    let fields = long(node, entry.short, &mut held)?;
    let written = || entry.parameters.iter().filter(|one| one.unit != Unit::Unwritten);
    known(&fields, &written().map(|one| one.name).collect::<Vec<_>>())?;
    let mut made = Map::new();
    for one in entry.parameters {
        let value = match fields.read(one.name, |node| parameter(node, one))? {
            Some(value) => value,
            None if one.unit == Unit::Unwritten => Value::Null,
            None => match default_of(one) {
                Value::Null => return fields.need(one.name).map(|_| Value::Null),
                value => value,
            },
        };
        made.insert(one.field.to_owned(), value);
    }
    Ok(Value::Object(made))
}

/// Speech: an RTP datagram (RFC 3550) of G.711 every 20 ms.
fn voice(node: &Node<'_>) -> Result<Value> {
    let mut held = Map::new();
    let fields = long(node, "codec", &mut held)?;
    known(&fields, &["codec"])?;
    let codec = fields.read("codec", |node| node.choice(&["g711"], "codec"))?;
    let datagram_bytes = 160 + 12;
    Ok(json!({
        "rate_bps": datagram_bytes * 8 * 50,
        "datagram_bytes": datagram_bytes,
        "interval_ns": 0,
        "mtu_bytes": 1500,
        "sleeps": false,
        "codec": codec.unwrap_or_else(|| "g711".to_owned()),
    }))
}

fn algorithm(node: &Node<'_>) -> Result<&'static congestion_control::Entry> {
    let entries = congestion_control::ENTRIES;
    match entries.iter().find(|entry| Some(entry.name) == node.text()) {
        Some(entry) if entry.coupled => node.fail(format!(
            "{} couples the subflows of a multipath connection; tcp has one path",
            entry.name
        )),
        Some(entry) => Ok(entry),
        None => {
            let single = entries.iter().filter(|entry| !entry.coupled);
            let names: Vec<_> = single.map(|entry| entry.name).collect();
            let found = crate::read::shown(node.value);
            node.fail(format!("unknown congestion control {found} (known: {})", names.join(", ")))
        }
    }
}

fn source(node: &Node<'_>) -> Result<Value> {
    let kinds = &["bulk", "periodic", "on_off"];
    if node.text() == Some("bulk") {
        return Ok(json!({"bulk": {"bytes": null, "refill_ns": 0}}));
    }
    let fields = node.only(kinds)?;
    let kind = fields.exactly_one(kinds)?;
    let node = fields.need(kind)?;
    Ok(match kind {
        "bulk" => {
            let fields = node.only(&["bytes", "refill"])?;
            let refill = fields.read("refill", time)?.unwrap_or(0);
            json!({"bulk": {"bytes": fields.read("bytes", positive_size)?, "refill_ns": refill}})
        }
        "periodic" => {
            let fields = node.only(&["chunk", "interval", "bytes"])?;
            json!({"periodic": {
                "chunk_bytes": positive_size(&fields.need("chunk")?)?,
                "interval_ns": positive_time(&fields.need("interval")?)?,
                "bytes": fields.read("bytes", positive_size)?,
            }})
        }
        _ => {
            let fields = node.only(&["chunk", "interval", "on", "off", "lengths", "bytes"])?;
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

fn tcp(node: &Node<'_>, hosts: [Option<&Options>; 2]) -> Result<Value> {
    let mut held = Map::new();
    let fields = long(node, "congestion_control", &mut held)?;
    known(&fields, &["congestion_control", "fq", "bytes", "source", "sink", "sender", "receiver"])?;
    let chosen = algorithm(&fields.need("congestion_control")?)?;
    let fq = fields.read("fq", Node::flag)?.unwrap_or(chosen.paced_by_fq);
    let bytes = fields.read("bytes", positive_size)?;
    let source = match fields.read("source", source)? {
        Some(_) if bytes.is_some() => {
            return fields.need("bytes")?.fail("bytes and source exclude each other");
        }
        Some(source) => source,
        None => json!({"bulk": {"bytes": bytes, "refill_ns": 0}}),
    };
    let sink = match fields.get("sink") {
        Some(node) => {
            let fields = node.only(&["lowat", "rate"])?;
            let lowat = fields.read("lowat", positive_size)?.unwrap_or(1);
            json!({"lowat_bytes": lowat, "rate_bps": fields.read("rate", rate)?})
        }
        None => json!({"lowat_bytes": 1, "rate_bps": null}),
    };
    let side = |name, host: Option<&Options>| {
        fields.read(name, |node| {
            let base = host.cloned().unwrap_or_else(crate::options::plain);
            Ok(Value::Object(Written::read(node, false)?.over(&base)))
        })
    };
    Ok(json!({
        "congestion_control": chosen.name,
        "fq": fq,
        "source": source,
        "sink": sink,
        "sender": side("sender", hosts[0])?,
        "receiver": side("receiver", hosts[1])?,
    }))
}
