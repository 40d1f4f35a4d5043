//! Rewriting of the headers that ECN uses.

use crate::read::{Node, Result};
use serde_json::{json, Value};

/// Rewrites in the form of the scenario.
pub(crate) fn rewrites(node: &Node<'_>) -> Result<Value> {
    let made: Result<Vec<_>> = node.items()?.iter().map(rewrite).collect();
    Ok(made?.into())
}

fn rewrite(node: &Node<'_>) -> Result<Value> {
    const ECN: &[&str] = &["not_ect", "ect1", "ect0", "ce"];
    const FLAGS: &[&str] = &["ece", "cwr", "ae"];
    let fields = node.any_fields()?;
    let chosen = |node: &Node<'_>, among: &[&str]| match node.text() {
        Some(name) if among.contains(&name) => Ok(Value::from(name)),
        _ => node.fail("unknown name"),
    };
    let flags = |name| {
        let read = |node: &Node<'_>| {
            node.one_or_more()?.iter().map(|one| chosen(one, FLAGS)).collect::<Result<Vec<_>>>()
        };
        Ok(fields.read(name, read)?.unwrap_or_default())
    };
    let numbers = |node: &Node<'_>| {
        let read = |one: &Node<'_>| Ok(one.whole(1, 1 << 53)? as u64);
        node.one_or_more()?.iter().map(read).collect::<Result<Vec<_>>>()
    };
    let (cleared, set) = (flags("clear_flags")?, flags("set_flags")?);
    let made = json!({
        "flow": fields.read("flow", Node::name)?,
        "nth": fields.read("nth", numbers)?.unwrap_or_default(),
        "ecn": fields.read("ecn", |node| chosen(node, ECN))?,
        "clear_flags": cleared,
        "set_flags": set,
        "strip_accecn":
            fields.read("strip_option", |node| chosen(node, &["accecn"]))?.is_some(),
    });
    Ok(made)
}
