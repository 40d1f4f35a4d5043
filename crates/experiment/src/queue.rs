//! Queue disciplines: those with parameters come from the catalogue; prio, drr and htb have classes.

use crate::code::Code;
use crate::limit::FRAME_BYTES;
use crate::quantity::{
    packets, positive_size, positive_time, rate, share, signed_size, size, time,
};
use crate::read::{Fields, Node, Refusal, Result};
use dumbbell_model::catalogue::discipline::{Entry, ENTRIES};
use dumbbell_model::catalogue::parameter::{Default as Given, Parameter, Unit, Value as Known};
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;

/// Default burst of HTB: the minimum of `tc`.
const HTB_BURST_BYTES: u64 = 1600;
const MOST_CLASSES: usize = 16;

/// A queue in the form of the scenario.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Queue {
    pub(crate) scenario: Value,
    /// Rate of a discipline that shapes, bit/s.
    pub(crate) own_rate: Option<u64>,
    /// Name of the discipline.
    pub(crate) name: &'static str,
}

impl Queue {
    /// Name of a discipline with a rate of its own, for messages.
    pub(crate) fn shaping(&self) -> &'static str {
        if self.name == "htb" {
            "htb"
        } else {
            "cake with a bandwidth"
        }
    }
}

/// Default of a parameter in the form of the scenario; `null` if it follows from others.
pub(crate) fn default_of(parameter: &Parameter) -> Value {
    match parameter.default {
        Given::Given(Known::Whole(number)) => number.into(),
        Given::Given(Known::Share(share)) => share.into(),
        Given::Given(Known::Flag(flag)) => flag.into(),
        Given::Given(Known::Name(name)) => name.into(),
        Given::Derived(_) | Given::Required => Value::Null,
    }
}

/// Value of a parameter of the catalogue.
pub(crate) fn parameter(node: &Node<'_>, one: &Parameter) -> Result<Value> {
    Ok(match (one.unit, one.least > 0) {
        (Unit::Packets, _) => packets(node)?.into(),
        (Unit::Bytes, false) => size(node)?.into(),
        (Unit::Bytes, _) => positive_size(node)?.into(),
        (Unit::Signed, _) => signed_size(node)?.into(),
        (Unit::Rate, _) => rate(node)?.into(),
        (Unit::Time, true) => positive_time(node)?.into(),
        (Unit::Time, false) => time(node)?.into(),
        (Unit::Share, _) => share(node)?.into(),
        (Unit::Flag, _) => node.flag()?.into(),
        (Unit::Choice, _) => node.choice(one.choices, one.name)?.into(),
        _ => (node.whole(one.least.into(), one.most.into())? as u64).into(),
    })
}

/// Sets defaults that follow from other parameters as `tc` derives them.
fn derive(name: &str, values: &mut BTreeMap<&str, Value>) {
    let number = |values: &BTreeMap<&str, Value>, name| values.get(name).and_then(Value::as_u64);
    match name {
        "red" | "choke" => {
            let limit = number(values, "limit").unwrap_or(0);
            let (min, max) = (number(values, "min"), number(values, "max"));
            let red = name == "red";
            let most = max.unwrap_or(match min {
                Some(min) if red => 3 * min,
                _ => limit / 4,
            });
            let least = min.unwrap_or(most / 3);
            let unit = if red { 3 * number(values, "avpkt").unwrap_or(1).max(1) } else { 3 };
            for (name, value) in
                [("min", least), ("max", most), ("burst", (2 * least + most) / unit)]
            {
                if values.get(name).is_none_or(Value::is_null) {
                    values.insert(name, value.into());
                }
            }
        }
        "cake" => {
            for name in ["bandwidth", "memlimit"] {
                if values.get(name).is_none_or(Value::is_null) {
                    values.insert(name, 0.into());
                }
            }
        }
        _ => {}
    }
}

/// A discipline with parameters in the catalogue.
fn listed(entry: &'static Entry, fields: &Fields<'_>) -> Result<Queue> {
    let mut values = BTreeMap::new();
    for one in entry.parameters {
        let written = fields.read(one.name, |node| parameter(node, one))?;
        values.insert(one.name, written.unwrap_or_else(|| default_of(one)));
    }
    let own_rate = match entry.name {
        "cake" => values.get("bandwidth").and_then(Value::as_u64),
        _ => None,
    };
    derive(entry.name, &mut values);
    let mut found = json!({});
    if entry.key == "drop_tail" {
        found = json!({"limit_packets": null, "limit_bytes": null});
    }
    for one in entry.parameters {
        let mut held = &mut found;
        for step in one.field.split('.') {
            held = &mut held[step];
        }
        *held = values.remove(one.name).unwrap_or(Value::Null);
    }
    Ok(Queue { scenario: json!({ entry.key: found }), own_rate, name: entry.name })
}

/// Names of codepoints.
pub(crate) fn codepoint_names() -> Vec<String> {
    let selectors = (0..8).map(|class| format!("CS{class}"));
    let assured = (1..5).flat_map(|class| (1..4).map(move |drop| format!("AF{class}{drop}")));
    let first = ["BE", "LE"].map(str::to_owned).into_iter();
    first.chain(selectors).chain(assured).chain(["VA", "EF"].map(str::to_owned)).collect()
}

/// Codepoints by name (RFC 2474 §4.2.2, RFC 2597 §6, RFC 3246 §2.7, RFC 5865 §3.4, RFC 8622 §2).
pub(crate) fn codepoint(node: &Node<'_>) -> Result<u64> {
    if let Some(number) = node.value.as_u64().filter(|number| *number <= 63) {
        return Ok(number);
    }
    let name = node.text().unwrap_or_default().to_uppercase();
    let digits: Vec<u64> =
        name.chars().skip(2).filter_map(|c| c.to_digit(10)).map(u64::from).collect();
    match (name.as_str(), &digits[..]) {
        ("BE", _) => Ok(0),
        ("LE", _) => Ok(1),
        ("VA", _) => Ok(44),
        ("EF", _) => Ok(46),
        (text, [class @ 0..=7]) if text == format!("CS{class}") => Ok(8 * class),
        (text, [class @ 1..=4, drop @ 1..=3]) if text == format!("AF{class}{drop}") => {
            Ok(8 * class + 2 * drop)
        }
        _ => node
            .refusal("unknown codepoint")
            .found(crate::words::shown(node.value))
            .allowed(["EF", "AF41", "CS1", "BE", "a number from 0 to 63"])
            .code(Code::UnknownName)
            .err(),
    }
}

/// Codepoints and queue of a class.
fn class(fields: &Fields<'_>) -> Result<Map<String, Value>> {
    let dscp = fields.read("dscp", |node| {
        let nodes = node.one_or_more()?;
        nodes.iter().map(|node| Ok(codepoint(node)?.into())).collect::<Result<Vec<Value>>>()
    })?;
    let queue = match fields.get("queue") {
        Some(node) => queue(&node)?.scenario,
        None => plain("pfifo")?.scenario,
    };
    let mut made = Map::new();
    made.insert("dscp".to_owned(), dscp.unwrap_or_default().into());
    made.insert("queue".to_owned(), queue);
    Ok(made)
}

fn plain(name: &str) -> Result<Queue> {
    let nothing = Node { value: &Value::Null, at: Vec::new() };
    named(name, &nothing)
}

fn classes<'a>(
    node: &Node<'a>,
    made: impl Fn(&Fields<'a>, Map<String, Value>) -> Result<Value>,
) -> Result<Value> {
    let nodes = node.items()?;
    if nodes.is_empty() || nodes.len() > MOST_CLASSES {
        return node.fail("1 to 16 classes are needed");
    }
    let one = |node: &Node<'a>| {
        let fields = node.any_fields()?;
        let common = class(&fields)?;
        made(&fields, common)
    };
    nodes.iter().map(one).collect()
}

/// Value of a mapping with more fields.
fn with(mut map: Map<String, Value>, more: &[(&str, u64)]) -> Value {
    map.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())));
    Value::Object(map)
}

fn htb(node: &Node<'_>) -> Result<Queue> {
    let fields = node.any_fields()?;
    let own = rate(&fields.need("rate")?)?;
    let burst = fields.read("burst", positive_size)?.unwrap_or(HTB_BURST_BYTES);
    let classes = match (fields.get("queue"), fields.get("classes")) {
        (_, Some(written)) => classes(&written, |fields, common| {
            let bytes = |name, default| Ok(fields.read(name, positive_size)?.unwrap_or(default));
            let priority = fields.read("prio", |node| node.whole(0, 7))?.unwrap_or(0);
            let more = [
                ("rate_bps", rate(&fields.need("rate")?)?),
                ("ceil_bps", fields.read("ceil", rate)?.unwrap_or(own)),
                ("burst_bytes", bytes("burst", HTB_BURST_BYTES)?),
                ("cburst_bytes", bytes("cburst", HTB_BURST_BYTES)?),
                ("priority", priority as u64),
                ("quantum_bytes", bytes("quantum", FRAME_BYTES)?),
            ];
            Ok(with(common, &more))
        })?,
        (_, None) => {
            let more = [
                ("rate_bps", own),
                ("ceil_bps", own),
                ("burst_bytes", burst),
                ("cburst_bytes", burst),
                ("priority", 0),
                ("quantum_bytes", FRAME_BYTES),
            ];
            json!([with(class(&fields)?, &more)])
        }
    };
    let made = json!({"rate_bps": own, "burst_bytes": burst, "classes": classes});
    Ok(Queue { scenario: json!({"htb": made}), own_rate: Some(own), name: "htb" })
}

fn named(name: &str, node: &Node<'_>) -> Result<Queue> {
    let plain = |name, scenario| Queue { scenario, own_rate: None, name };
    match name {
        "prio" => {
            let bands = node.any_fields()?.need("bands")?;
            let bands = classes(&bands, |_, map| Ok(Value::Object(map)))?;
            Ok(plain("prio", json!({"prio": {"bands": bands}})))
        }
        "drr" => {
            let written = node.any_fields()?.need("classes")?;
            let made = classes(&written, |fields, map| {
                let quantum = fields.read("quantum", positive_size)?.unwrap_or(FRAME_BYTES);
                Ok(with(map, &[("quantum_bytes", quantum)]))
            })?;
            Ok(plain("drr", json!({"drr": {"classes": made}})))
        }
        "htb" => htb(node),
        _ => match ENTRIES.iter().find(|entry| entry.name == name) {
            Some(entry) if !entry.parameters.is_empty() => listed(entry, &node.any_fields()?),
            _ => {
                let known: Vec<_> = ENTRIES.iter().map(|entry| entry.name).collect();
                node.fail(format!("unknown queue {name} (known: {})", known.join(", ")))
            }
        },
    }
}

/// A queue discipline: its name, or a mapping from its name to its parameters.
pub(crate) fn queue(node: &Node<'_>) -> Result<Queue> {
    if let Some(name) = node.text() {
        if ["prio", "drr", "htb"].contains(&name) {
            return node.fail(format!("{name} needs its parameters: {{{name}: {{…}}}}"));
        }
        return named(name, &Node { value: &Value::Null, at: node.at.clone() });
    }
    let fields = node.any_fields()?;
    let given: Vec<_> = fields.all().filter(|(_, node)| !node.value.is_null()).collect();
    match &given[..] {
        [(name, parameters)] => named(name, parameters),
        _ => {
            let names: Vec<_> = given.iter().map(|(name, _)| *name).collect();
            let found = if names.is_empty() { "none".to_owned() } else { names.join(" and ") };
            let refusal = Refusal::new(&node.at, "exactly one of these is needed").found(found);
            refusal.allowed(ENTRIES.iter().map(|entry| entry.name)).code(Code::OneOf).err()
        }
    }
}
