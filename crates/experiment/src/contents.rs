//! Contents of a file beside its scenario: name, repeats, seed, expectations, search.

use crate::fields::{Context, WORST};
use crate::quantity::share;
use crate::read::{Fields, Node, Result};
use serde_json::{json, Value};

/// Contents of a checked cell, for the layer that runs experiments.
pub(crate) fn contents(cell: &Value, context: &Context) -> Result<Value> {
    let root = Node { value: cell, at: Vec::new() }.any_fields()?;
    let reader = Reader { context };
    let expect = reader.each(&root, "expect", &Reader::bounds)?;
    let access = |link: &Value| !link["access"].is_null();
    let links = cell["links"].as_array();
    Ok(json!({
        "name": root.need("name")?.name()?,
        "seed": whole(&root, "seed", 1),
        "repeats": reader.repeats(&root)?,
        "expect": expect,
        "search": reader.search(&root)?,
        "access_links": links.is_some_and(|links| links.iter().any(access)),
    }))
}

struct Reader<'c> {
    context: &'c Context,
}

fn whole(fields: &Fields<'_>, name: &str, default: u64) -> u64 {
    fields.get(name).and_then(|node| node.value.as_u64()).unwrap_or(default)
}

fn plain(fields: &Fields<'_>, name: &str) -> Value {
    fields.get(name).map_or(Value::Null, |node| node.value.clone())
}

/// A number, also as text, or a percentage.
fn number(fields: &Fields<'_>, name: &str) -> Result<Option<f64>> {
    fields.read(name, |node| {
        let parsed = node.value.as_f64().or_else(|| node.text()?.trim().parse().ok());
        parsed.map_or_else(|| share(node), Ok)
    })
}

impl Reader<'_> {
    fn each(
        &self,
        fields: &Fields<'_>,
        name: &str,
        read: &dyn Fn(&Self, &Node<'_>) -> Result<Value>,
    ) -> Result<Vec<Value>> {
        let nodes = fields.read(name, Node::items)?.unwrap_or_default();
        nodes.iter().map(|node| read(self, node)).collect()
    }

    fn metric(&self, fields: &Fields<'_>) -> Value {
        let name = fields.get("metric").and_then(|node| node.text()).unwrap_or_default();
        let known = self.context.metrics.as_ref().and_then(|metrics| metrics.get(name));
        known.map_or(name, |metric| metric.name.as_str()).into()
    }

    fn bounds(&self, node: &Node<'_>) -> Result<Value> {
        let fields = node.any_fields()?;
        let chosen = fields.get("where").map_or_else(|| json!({}), |node| node.value.clone());
        Ok(json!({
            "metric": self.metric(&fields),
            "flow": plain(&fields, "flow"),
            "where": chosen,
            "above": number(&fields, "above")?,
            "below": number(&fields, "below")?,
        }))
    }

    fn constraint(&self, node: &Node<'_>) -> Result<Value> {
        let mut made = self.bounds(node)?;
        made["over"] = over(&node.any_fields()?);
        Ok(made)
    }

    fn repeats(&self, root: &Fields<'_>) -> Result<Value> {
        let Some(node) = root.get("repeats") else { return Ok(json!({"min": 1, "max": 1})) };
        if let Some(count) = node.value.as_u64() {
            return Ok(json!({"min": count, "max": count}));
        }
        let fields = node.any_fields()?;
        let until = fields.read("until", |node| {
            let fields = node.any_fields()?;
            Ok(json!({
                "metric": self.metric(&fields),
                "flow": plain(&fields, "flow"),
                "relative_half_width": fields.read("relative_half_width", share)?,
                "half_width": number(&fields, "half_width")?,
            }))
        })?;
        Ok(json!({
            "min": whole(&fields, "min", 10), "max": whole(&fields, "max", 100), "until": until,
        }))
    }

    fn search(&self, root: &Fields<'_>) -> Result<Value> {
        let Some(node) = root.get("search") else { return Ok(Value::Null) };
        let fields = node.any_fields()?;
        let optimise = fields.read("optimise", |node| self.aim(&node.any_fields()?))?;
        let attack = fields.read("attack", |node| {
            let short = json!({"metric": node.value});
            let value = if node.value.is_object() { node.value } else { &short };
            let fields = Node { value, at: node.at.clone() }.any_fields()?;
            let mut aim = self.aim(&fields)?;
            let tolerance = fields.read("tolerance", share)?.unwrap_or(0.1);
            aim["tolerance"] = tolerance.into();
            let worst = WORST.iter().find(|(name, _)| aim["metric"] == *name);
            aim["measured"] = worst.map_or(aim["metric"].clone(), |(_, metric)| (*metric).into());
            Ok(aim)
        })?;
        Ok(json!({
            "optimise": optimise,
            "attack": attack,
            "evaluations": whole(&fields, "evaluations", 0),
            "repeats": whole(&fields, "repeats", 3),
            "seed": whole(&fields, "seed", 1),
            "batch": whole(&fields, "batch", 4),
        }))
    }

    fn aim(&self, fields: &Fields<'_>) -> Result<Value> {
        let chosen = fields.get("where").map_or_else(|| json!({}), |node| node.value.clone());
        Ok(json!({
            "metric": self.metric(fields),
            "goal": plain(fields, "goal"),
            "flow": plain(fields, "flow"),
            "where": chosen,
            "over": over(fields),
            "subject_to": self.each(fields, "subject_to", &Reader::constraint)?,
        }))
    }
}

fn over(fields: &Fields<'_>) -> Value {
    fields.get("over").map_or_else(|| "worst".into(), |node| node.value.clone())
}
