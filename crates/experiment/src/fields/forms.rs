//! Short forms: a value in place of a mapping.

use crate::code::Code;
use crate::read::{Node, Result};
use dumbbell_model::catalogue::discipline;
use serde_json::{json, Value};

/// Meaning of a short form.
pub(crate) enum Expansion {
    /// No short form: the mapping itself.
    Same,
    /// This value.
    As(Value),
    /// Nothing that is left to check.
    Done,
}

/// A short form of a section.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub(crate) expand: fn(&Node<'_>) -> Result<Expansion>,
    /// JSON Schema of the short form.
    pub(crate) schema: fn() -> Value,
}

/// The value of one field.
fn of(name: &str, node: &Node<'_>) -> Result<Expansion> {
    if node.value.is_object() {
        return Ok(Expansion::Same);
    }
    Ok(Expansion::As(json!({ name: node.value })))
}

/// True for an empty mapping, false for nothing.
fn switch(node: &Node<'_>) -> Result<Expansion> {
    Ok(if node.value.is_boolean() { Expansion::Done } else { Expansion::Same })
}

/// Values of one name stand for a whole mapping.
fn word(node: &Node<'_>, name: &str) -> bool {
    node.text() == Some(name)
}

macro_rules! forms {
    ($($name:ident: $expand:expr, $schema:expr;)+) => {
        impl Form {
            $(pub(crate) const $name: Self = Self { expand: $expand, schema: || $schema };)+
        }
    };
}

forms! {
    ACCESS: |node| of("type", node), json!({"type": "string", "enum": crate::fields::network::ACCESS_LINKS});
    ATTACK: |node| of("metric", node), json!({"type": "string"});
    PLUGIN: |node| of("file", node), json!({"type": "string", "examples": ["./libmine.so"]});
    EXPONENTIAL: |node| of("mean", node), json!({"type": "string"});
    TCP: |node| of("congestion_control", node), crate::schema::algorithms(&crate::fields::traffic::single());
    MPTCP: |node| of("congestion_control", node), crate::schema::algorithms(&crate::fields::traffic::every());
    VOICE: |node| of("codec", node), json!({"type": "string", "enum": ["g711"]});
    UDP: |node| of("rate", node), json!({"type": "string", "examples": ["10 Mbit/s"]});
    QUIC: |node| of("congestion_control", node), json!({"type": "string", "examples": ["cubic"]});
    VIDEO: |node| of("rate", node), json!({"type": "string", "examples": ["10 Mbit/s"]});
    PING: |node| of("interval", node), json!({"type": "string", "examples": ["1 s"]});
    CAPTURE: switch, json!({"type": "boolean"});
    NEIGHBOUR_DISCOVERY: switch, json!({"type": "boolean"});
    SHAPER: |node| Ok(if word(node, "none") { Expansion::Done } else { Expansion::Same }), json!({"const": "none"});
    SOURCE: |node| Ok(if word(node, "bulk") { Expansion::Done } else { Expansion::Same }), json!({"const": "bulk"});
    SIZE: |node| Ok(match node.value {
        Value::String(_) | Value::Number(_) | Value::Bool(_) => Expansion::As(json!({"fixed": node.value})),
        _ => Expansion::Same,
    }), json!({"type": "string", "examples": ["20 KiB"]});
    LOSS: |node| Ok(match node.value {
        Value::Object(_) => Expansion::Same,
        _ if word(node, "none") => Expansion::Done,
        value => Expansion::As(json!({"independent": {"probability": value}})),
    }), json!({"type": "string", "examples": ["1 %", "none"]});
    MEAN: |node| of("mean", node), json!({"type": "string", "examples": ["40 ms"]});
    PROBABILITY: |node| of("probability", node), json!({"type": "string", "examples": ["1 %"]});
    NETEM_LOSS: |node| Ok(match node.value {
        Value::Object(_) => Expansion::Same,
        value => Expansion::As(json!({"random": {"probability": value}})),
    }), json!({"type": "string", "examples": ["1 %"]});
    SPRAY: |node| if word(node, "none") { Ok(Expansion::Done) } else { of("policy", node) },
        json!({"enum": ["round_robin", "random", "per_flow", "none"]});
    SAMPLING: |node| Ok(match node.value {
        Value::Object(_) => Expansion::Same,
        _ if word(node, "none") => Expansion::Done,
        value => Expansion::As(json!({"interval": value})),
    }), json!({"type": "string", "examples": ["20 ms", "none"]});
    REPEATS: |node| Ok(match node.value {
        Value::Object(_) => Expansion::Same,
        _ => {
            node.whole(1, 100_000)?;
            Expansion::Done
        }
    }), json!({"type": "integer", "minimum": 1, "maximum": 100_000});
    PATHS: |node| Ok(Expansion::As(match node.value {
        Value::Array(_) => json!({"each": node.value}),
        value => json!({"count": value}),
    })), json!({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "array"}]});
    RTT: |node| Ok(Expansion::As(match node.value {
        Value::Array(_) => json!({"each": node.value}),
        Value::Object(_) => json!({"spread": node.value}),
        value => json!({"all": value}),
    })), {
        let time = json!({"type": "string", "examples": ["40 ms"]});
        json!({"anyOf": [
            time,
            {"type": "array", "items": time},
            {
                "type": "object",
                "properties": {
                    "from": {"description": "Lowest base RTT.", "type": "string", "examples": ["40 ms"]},
                    "to": {"description": "Highest base RTT.", "type": "string", "examples": ["40 ms"]},
                },
                "required": ["from", "to"],
            },
        ]})
    };
    FRAMING: |node| match node.value {
        _ if word(node, "none") => Ok(Expansion::Done),
        Value::String(_) => {
            let names = crate::framing::framing_names();
            node.choice(&names, "framing").map(|_| Expansion::Done)
        }
        _ => Ok(Expansion::Same),
    }, json!({"type": "string", "enum": crate::framing::framing_names()});
    QUEUE: queue, json!({"type": "string", "enum": plain_queues()});
}

/// Names of the disciplines that need no parameter.
pub(crate) fn plain_queues() -> Vec<&'static str> {
    let plain = discipline::ENTRIES.iter().filter(|entry| !entry.parameters.is_empty());
    plain.map(|entry| entry.name).collect()
}

fn queue(node: &Node<'_>) -> Result<Expansion> {
    if node.value.is_object() {
        return Ok(Expansion::Same);
    }
    let plain = plain_queues();
    if let Some(name) = node.text().filter(|name| ["prio", "drr", "htb"].contains(name)) {
        let parameters = if name == "htb" { "{rate: …}" } else { "{…}" };
        return node
            .refusal(format!("{name} needs its parameters"))
            .found(name)
            .allowed([format!("{{{name}: {parameters}}}")])
            .code(Code::QueueParameters)
            .err();
    }
    node.choice(&plain, "queue").map(|_| Expansion::Done)
}
