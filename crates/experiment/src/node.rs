//! Routers and switches, spraying, explicit routes.

use crate::quantity::time;
use crate::read::{Fields, Node, Result};
use serde_json::{json, Value};

/// A router or switch as written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Router {
    /// `None`: not written. A spray of `null` switches that of a template off.
    pub(crate) spray: Option<Value>,
    pub(crate) processing_jitter_ns: u64,
}

/// Packet spraying in the form of the scenario; `none`: `null`.
pub(crate) fn spray(node: &Node<'_>) -> Result<Value> {
    if node.text() == Some("none") {
        return Ok(Value::Null);
    }
    let policies = &["round_robin", "random", "per_flow"];
    let made = |policy: String, what: String, first: Option<u64>| json!({"policy": policy, "what": what, "first": first});
    if !node.value.is_object() {
        return Ok(made(node.choice(policies, "spraying policy")?, "both".to_owned(), None));
    }
    let fields = node.any_fields()?;
    let policy = fields.need("policy")?.choice(policies, "spraying policy")?;
    let what =
        fields.read("what", |node| node.choice(&["data", "acks", "both"], "kind of packets"));
    let first = fields.read("first", |node| node.whole(0, u32::MAX.into()))?;
    Ok(made(policy, what?.unwrap_or_else(|| "both".to_owned()), first.map(|first| first as u64)))
}

/// Routers or switches of a file, by name.
pub(crate) fn routers(fields: &Fields<'_>, section: &str) -> Result<Vec<(String, Router)>> {
    let Some(node) = fields.get(section) else { return Ok(Vec::new()) };
    let all = node.any_fields()?;
    let one = |(name, node): (&str, Node<'_>)| {
        let fields = node.any_fields()?;
        let written = fields.names().any(|name| name == "spray");
        let read = fields.read("spray", spray)?;
        let spray = if written { Some(read.unwrap_or(Value::Null)) } else { None };
        let processing_jitter_ns = fields.read("processing_jitter", time)?.unwrap_or(0);
        Ok((name.to_owned(), Router { spray, processing_jitter_ns }))
    };
    all.all().map(one).collect()
}

/// An explicit route of a file or a template.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Route {
    pub(crate) at: Vec<String>,
    pub(crate) to: Vec<String>,
    pub(crate) via: Vec<String>,
    pub(crate) from: crate::Loc,
}

/// Explicit routes of a file.
pub(crate) fn routes(fields: &Fields<'_>) -> Result<Vec<Route>> {
    let Some(node) = fields.get("routes") else { return Ok(Vec::new()) };
    let one = |node: &Node<'_>| {
        let fields = node.any_fields()?;
        let names = |name| -> Result<Vec<String>> {
            fields.need(name)?.one_or_more()?.iter().map(Node::name).collect()
        };
        Ok(Route { at: names("at")?, to: names("to")?, via: names("via")?, from: node.at.clone() })
    };
    node.items()?.iter().map(one).collect()
}
