//! Linux's netem as the queue, with the words of `tc`, and distributions by name or from a file.

use crate::code::Code;
use crate::files::{Files, Unreadable};
use crate::limit::{packet_limit, Limit};
use crate::near::shortened;
use crate::quantity::{positive_time, share, time};
use crate::read::{beyond, Fields, Node, Refusal, Result, Step};
use dumbbell_model::netem::TABLE_MAX;
use serde_json::{json, Value};

/// Distributions that have a name in `tc`.
pub(crate) const DISTRIBUTIONS: [&str; 4] = ["uniform", "normal", "pareto", "paretonormal"];
/// Fields beyond delay, addition and limit.
const WORDS: [&str; 6] = ["loss", "ecn", "duplicate", "corrupt", "reorder", "seed"];
/// Longest file of a distribution: 16384 values of 6 characters with their spaces, and comments.
const MAX_TABLE_BYTES: u64 = 1 << 20;

/// Linux's netem as the queue.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Netem {
    pub(crate) delay_ns: Option<u64>,
    jitter_ns: u64,
    pub(crate) limit: Limit,
    /// Words in the form of the scenario; `distribution` is what the file says.
    words: Option<Value>,
}

impl Netem {
    /// Reads a netem that was checked.
    pub(crate) fn read(node: &Node<'_>) -> Result<Self> {
        let fields = node.any_fields()?;
        let delay = fields.get("delay");
        let curve = delay.as_ref().filter(|node| node.value.is_object());
        let curve = curve.map(Node::any_fields).transpose()?;
        let delay_ns = match &curve {
            Some(curve) => Some(time(&curve.need("mean")?)?),
            None => delay.as_ref().map(time).transpose()?,
        };
        let given = curve.is_some() || WORDS.iter().any(|name| fields.get(name).is_some());
        Ok(Self {
            delay_ns,
            jitter_ns: fields.read("jitter", time)?.unwrap_or(0),
            limit: packet_limit(&fields.need("limit")?)?,
            words: given.then(|| words(&fields, curve.as_ref())).transpose()?,
        })
    }

    /// The queue in the form of the scenario, without its limit. `at`: the pipe.
    pub(crate) fn scenario(&self, files: &dyn Files, at: &[Step]) -> Result<Value> {
        let mut fields = json!({
            "delay_ns": self.delay_ns.unwrap_or(0),
            "jitter_ns": self.jitter_ns,
            "limit_packets": null,
        });
        if let Some(words) = &self.words {
            let mut words = words.clone();
            let name = words["distribution"].as_str().unwrap_or_default().to_owned();
            words["distribution"] = distribution(&name, files, at)?;
            fields["words"] = words;
        }
        Ok(json!({ "netem": fields }))
    }
}

fn words(fields: &Fields<'_>, curve: Option<&Fields<'_>>) -> Result<Value> {
    let of_curve = |name: &str, read: fn(&Node<'_>) -> Result<u64>| match curve {
        Some(curve) => curve.read(name, read),
        None => Ok(None),
    };
    let correlation = match curve {
        Some(curve) => curve.read("correlation", share)?,
        None => None,
    };
    let name = match curve {
        Some(curve) => curve.read("distribution", Node::name)?,
        None => None,
    };
    let none = || json!({"probability": 0.0, "correlation": 0.0});
    Ok(json!({
        "jitter_ns": of_curve("jitter", time)?.unwrap_or(0),
        "distribution": name.unwrap_or_else(|| "uniform".to_owned()),
        "delay_correlation": correlation.unwrap_or(0.0),
        "loss": fields.read("loss", loss)?.unwrap_or_else(|| "none".into()),
        "ecn": fields.get("ecn").is_some_and(|node| node.value == &Value::Bool(true)),
        "duplicate": fields.read("duplicate", correlated)?.unwrap_or_else(none),
        "corrupt": fields.read("corrupt", correlated)?.unwrap_or_else(none),
        "reorder": fields.read("reorder", |node| {
            let mut made = correlated(node)?;
            let gap = match node.value.is_object() {
                true => node.any_fields()?.read("gap", |gap| gap.whole(1, u32::MAX.into()))?,
                false => None,
            };
            made["gap"] = (gap.unwrap_or(1) as u64).into();
            Ok(made)
        })?,
        "seed": fields.read("seed", seed)?,
    }))
}

/// Seed of netem's generator.
pub(crate) fn seed(node: &Node<'_>) -> Result<u64> {
    Ok(node.whole(0, 1 << 53)? as u64)
}

fn correlated(node: &Node<'_>) -> Result<Value> {
    if !node.value.is_object() {
        return Ok(json!({"probability": share(node)?, "correlation": 0.0}));
    }
    let fields = node.any_fields()?;
    let correlation = fields.read("correlation", share)?.unwrap_or(0.0);
    Ok(json!({"probability": share(&fields.need("probability")?)?, "correlation": correlation}))
}

fn loss(node: &Node<'_>) -> Result<Value> {
    if !node.value.is_object() {
        return Ok(json!({"random": correlated(node)?}));
    }
    let fields = node.any_fields()?;
    let chosen = fields.exactly_one(&["random", "state", "gemodel"])?;
    let node = fields.need(chosen)?;
    Ok(match chosen {
        "random" => json!({"random": correlated(&node)?}),
        "state" => json!({"state": four_states(&node.any_fields()?)?}),
        _ => {
            let fields = node.any_fields()?;
            let p = share(&fields.need("p")?)?;
            json!({"gemodel": {
                "p": p,
                "r": fields.read("r", share)?.unwrap_or(1.0 - p),
                "loss_bad": fields.read("loss_bad", share)?.unwrap_or(1.0),
                "loss_good": fields.read("loss_good", share)?.unwrap_or(0.0),
            }})
        }
    })
}

/// Transitions of four states, with the defaults of `tc`.
pub(crate) fn four_states(fields: &Fields<'_>) -> Result<Value> {
    let p13 = share(&fields.need("p13")?)?;
    Ok(json!({
        "p13": p13,
        "p31": fields.read("p31", share)?.unwrap_or(1.0 - p13),
        "p32": fields.read("p32", share)?.unwrap_or(0.0),
        "p23": fields.read("p23", share)?.unwrap_or(1.0),
        "p14": fields.read("p14", share)?.unwrap_or(0.0),
    }))
}

/// Waits for slots from a distribution.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Waits {
    name: String,
    pub(crate) delay_ns: u64,
    pub(crate) jitter_ns: u64,
    seed: Option<u64>,
}

impl Waits {
    /// Reads waits that were checked.
    pub(crate) fn read(node: &Node<'_>) -> Result<Self> {
        let fields = node.any_fields()?;
        Ok(Self {
            name: fields.need("name")?.name()?,
            delay_ns: time(&fields.need("delay")?)?,
            jitter_ns: positive_time(&fields.need("jitter")?)?,
            seed: fields.read("seed", seed)?,
        })
    }

    /// Waits in the form of the scenario. `at`: the pipe.
    pub(crate) fn scenario(&self, files: &dyn Files, at: &[Step]) -> Result<Value> {
        Ok(json!({
            "distribution": distribution(&self.name, files, at)?,
            "delay_ns": self.delay_ns,
            "jitter_ns": self.jitter_ns,
            "seed": self.seed,
        }))
    }
}

/// A distribution in the form of the scenario: one with a name, or the table of a file in iproute2's form.
fn distribution(name: &str, files: &dyn Files, at: &[Step]) -> Result<Value> {
    if DISTRIBUTIONS.contains(&name) {
        return Ok(name.into());
    }
    let refuse = |message: String, found: &str| {
        let refusal = Refusal::new(at, message).found(shortened(found, 60));
        refusal.allowed(DISTRIBUTIONS).code(Code::RatesFile)
    };
    let data = match files.read(name, MAX_TABLE_BYTES) {
        Ok(data) => data,
        Err(Unreadable::Nowhere) => return beyond(at, "distribution"),
        Err(Unreadable::TooLarge) => {
            let message = format!("a table of a distribution larger than {MAX_TABLE_BYTES} bytes");
            return refuse(message, name).err();
        }
        Err(Unreadable::Reason(reason)) => {
            let message = format!("no distribution of this name, and no file: {reason}");
            return refuse(message, name).err();
        }
    };
    let (mut values, text) = (Vec::new(), String::from_utf8_lossy(&data));
    for (number, line) in (1..).zip(text.lines()) {
        let words = if line.starts_with('#') { "" } else { line };
        for word in words.split_whitespace() {
            let value: Option<i16> = word.parse().ok();
            let Some(value) = value.filter(|_| values.len() < TABLE_MAX) else {
                let message = format!(
                    "line {number} of {name}: a table has at most {TABLE_MAX} whole numbers from -32768 to 32767"
                );
                return refuse(message, word).err();
            };
            values.push(value);
        }
    }
    if values.is_empty() {
        return refuse(format!("{name} has no values"), name).err();
    }
    Ok(json!({"table": {"values": values}}))
}
