//! Traffic of the kinds with parameters in the catalogue, and speech.

use crate::queue::{default_of, parameter};
use crate::read::{Fields, Node, Result};
use dumbbell_model::catalogue::parameter::Unit;
use dumbbell_model::catalogue::traffic::Entry;
use serde_json::{json, Map, Value};

/// Mapping of a short form, or the mapping that is written.
pub(crate) fn long<'a>(
    node: &Node<'a>,
    field: &str,
    held: &'a mut Map<String, Value>,
) -> Result<Fields<'a>> {
    if node.value.is_object() {
        return node.any_fields();
    }
    held.insert(field.to_owned(), node.value.clone());
    Ok(Fields::of(held, node.at.clone()))
}

/// Fails at the first field with another name.
pub(crate) fn known(fields: &Fields<'_>, names: &[&str]) -> Result<()> {
    match fields.all().find(|(name, _)| !names.contains(name)) {
        Some((name, node)) => {
            node.fail(format!("unknown field {name} (known: {})", names.join(", ")))
        }
        None => Ok(()),
    }
}

/// Traffic of a kind with parameters in the catalogue.
pub(crate) fn listed(entry: &Entry, node: &Node<'_>) -> Result<Value> {
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
pub(crate) fn voice(node: &Node<'_>) -> Result<Value> {
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
