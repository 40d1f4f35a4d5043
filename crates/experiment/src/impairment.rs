//! Losses, slots, and changes of a pipe over time.

use crate::netem::{four_states, Waits};
use crate::quantity::{positive_time, rate, share, size, time};
use crate::read::{Node, Result};
use serde_json::{json, Map, Value};

/// Loss in the form of the scenario.
pub(crate) fn loss(node: &Node<'_>) -> Result<Value> {
    const KINDS: &[&str] = &["none", "independent", "gilbert_elliott", "state", "scripted"];
    if node.text() == Some("none") {
        return Ok("none".into());
    }
    if !node.value.is_object() {
        return Ok(json!({"independent": {"probability": share(node)?}}));
    }
    let fields = node.any_fields()?;
    let chosen = fields.exactly_one(KINDS)?;
    let node = fields.need(chosen)?;
    Ok(match chosen {
        "independent" => {
            let probability = share(&node.any_fields()?.need("probability")?)?;
            json!({"independent": {"probability": probability}})
        }
        "gilbert_elliott" => {
            let fields = node.any_fields()?;
            let mut made = json!({"gilbert_elliott": {
                "good_to_bad": share(&fields.need("good_to_bad")?)?,
                "bad_to_good": share(&fields.need("bad_to_good")?)?,
                "loss_good": fields.read("loss_good", share)?.unwrap_or(0.0),
                "loss_bad": fields.read("loss_bad", share)?.unwrap_or(1.0),
            }});
            if let Some(every) = fields.read("every", positive_time)? {
                made["gilbert_elliott"]["every_ns"] = every.into();
            }
            made
        }
        "state" => {
            let fields = node.any_fields()?;
            let mut made = json!({"state": {"chain": four_states(&fields)?}});
            if let Some(every) = fields.read("every", positive_time)? {
                made["state"]["every_ns"] = every.into();
            }
            made
        }
        "scripted" => {
            let mut drops = Vec::new();
            for one in node.items()? {
                let fields = one.any_fields()?;
                let flow = fields.need("flow")?.name()?;
                for nth in fields.need("nth")?.one_or_more()? {
                    drops.push(json!({"flow": flow, "nth": nth.whole(1, 1 << 53)? as u64}));
                }
            }
            json!({"scripted": {"drops": drops}})
        }
        _ => "none".into(),
    })
}

/// New values of a pipe at a time. `None`: the value stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Change {
    pub(crate) at_ns: u64,
    pub(crate) rate_bps: Option<u64>,
    pub(crate) delay_ns: Option<u64>,
    pub(crate) loss: Option<Value>,
    pub(crate) state: Option<&'static str>,
}

impl Change {
    /// Reads a change.
    pub(crate) fn read(node: &Node<'_>) -> Result<Self> {
        let fields = node.any_fields()?;
        let state = fields.read("state", |node| match node.text() {
            Some("up") => Ok("up"),
            Some("down") => Ok("down"),
            _ => node.fail("neither up nor down"),
        })?;
        Ok(Self {
            at_ns: time(&fields.need("at")?)?,
            rate_bps: fields.read("rate", rate)?,
            delay_ns: fields.read("delay", time)?,
            loss: fields.read("loss", loss)?,
            state,
        })
    }

    /// Names of the values that change.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let names = [
            ("rate", self.rate_bps.is_some()),
            ("delay", self.delay_ns.is_some()),
            ("loss", self.loss.is_some()),
            ("state", self.state.is_some()),
        ];
        names.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }

    /// The change in the form of the scenario.
    pub(crate) fn scenario(&self) -> Value {
        let mut made = json!({
            "at_ns": self.at_ns,
            "rate_bps": self.rate_bps,
            "delay_ns": self.delay_ns,
            "loss": self.loss,
        });
        if let Some(state) = self.state {
            made["state"] = state.into();
        }
        made
    }
}

/// Waits for slots from a distribution.
pub(crate) fn waits(node: &Node<'_>) -> Result<Option<Waits>> {
    node.any_fields()?.read("distribution", Waits::read)
}

/// Slots in which packets leave, in the form of the scenario.
pub(crate) fn slots(node: &Node<'_>) -> Result<Value> {
    const MOST: i128 = i32::MAX as i128;
    let fields = node.any_fields()?;
    let span = |name| Ok(fields.read(name, time)?.unwrap_or(0));
    let (min, max) = match waits(node)? {
        Some(waits) => (0, waits.delay_ns.saturating_add(waits.jitter_ns)),
        None => (span("min")?, positive_time(&fields.need("max")?)?),
    };
    let packets = fields.read("packets", |node| node.whole(0, MOST))?.unwrap_or(0);
    let bytes = fields.read("bytes", size)?.unwrap_or(0);
    let (pause, every) = (span("pause")?, span("pause_every")?);
    let mut made = Map::new();
    for (name, value) in [
        ("min_ns", min),
        ("max_ns", max),
        ("packets", packets as u64),
        ("bytes", bytes),
        ("pause_ns", pause),
        ("pause_every_ns", every),
    ] {
        made.insert(name.to_owned(), value.into());
    }
    Ok(Value::Object(made))
}
