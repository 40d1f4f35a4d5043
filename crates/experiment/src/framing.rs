//! Framing of a link, with the names of tc-cake(8) for common access lines.

use crate::quantity::{signed_size, size};
use crate::read::{Node, Result};
use serde_json::{json, Value};

/// Bytes around the frame, minimum length, ATM cells (tc-cake(8), keywords of `overhead`).
const FRAMINGS: &[(&str, i64, u64, bool)] = &[
    ("ethernet", 38, 84, false),
    ("ether-vlan", 42, 84, false),
    ("pppoe", 46, 84, false),
    ("docsis", 18, 64, false),
    ("ipoa-vcmux", 8, 0, true),
    ("ipoa-llcsnap", 16, 0, true),
    ("bridged-vcmux", 24, 0, true),
    ("bridged-llcsnap", 32, 0, true),
    ("pppoa-vcmux", 10, 0, true),
    ("pppoa-llc", 14, 0, true),
    ("pppoe-vcmux", 32, 0, true),
    ("pppoe-llcsnap", 40, 0, true),
];
const ETHERNET_HEADER_BYTES: i64 = 14;

/// Names of framings, and `none`.
pub(crate) fn framing_names() -> Vec<&'static str> {
    FRAMINGS.iter().map(|(name, ..)| *name).chain(["none"]).collect()
}

/// Framing in the form of the scenario.
pub(crate) fn framing(node: &Node<'_>) -> Result<Value> {
    let made = |overhead: i64, mpu: u64, atm: bool| json!({"overhead_bytes": overhead, "mpu_bytes": mpu, "atm": atm});
    let Some(name) = node.text() else {
        let fields = node.any_fields()?;
        return Ok(made(
            fields.read("overhead", signed_size)?.unwrap_or(0),
            fields.read("mpu", size)?.unwrap_or(0),
            fields.read("atm", Node::flag)?.unwrap_or(false),
        ));
    };
    if name == "none" {
        return Ok(made(0, 0, false));
    }
    match FRAMINGS.iter().find(|(known, ..)| *known == name) {
        Some((_, around, mpu, atm)) => Ok(made(around - ETHERNET_HEADER_BYTES, *mpu, *atm)),
        None => node.fail(format!("unknown framing {name}")),
    }
}
