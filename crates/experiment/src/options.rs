//! TCP options of hosts: profiles, and options by their Linux names.

use crate::quantity::{positive_size, positive_time, size, sysctl, SIZE, TIME};
use crate::read::{fail, Fields, Node, Refusal, Result};
use crate::words::shown;
use dumbbell_model::catalogue::parameter::{Parameter, Unit};
use dumbbell_model::catalogue::tcp_options::ENTRIES;
use dumbbell_model::tcp_options::{DEFAULT_PROFILE, PROFILES};
use serde_json::{json, Map, Value};
use std::sync::LazyLock;

/// Options of the scenario by name.
pub(crate) type Options = Map<String, Value>;

/// Options that a host writes, by field of the scenario.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    profile: Option<String>,
    options: Options,
    /// SACK is switched off.
    without_sack: bool,
    /// Upper bound of the processing delay, ns.
    pub(crate) processing_jitter_ns: Option<u64>,
}

fn profile(name: &str) -> Options {
    static KNOWN: LazyLock<Vec<(&str, Options)>> = LazyLock::new(|| {
        let read = |text: &str| serde_json::from_str(text).unwrap_or_default();
        PROFILES.iter().map(|(name, text)| (*name, read(text))).collect()
    });
    KNOWN.iter().find(|(known, _)| *known == name).map_or_else(Map::new, |(_, one)| one.clone())
}

/// Sizes `[min, default, max]` or `min default max`; a bare number is in bytes.
pub(crate) fn sizes(node: &Node<'_>) -> Result<Value> {
    let parts: Vec<Value> = match node.value {
        Value::String(text) => text.split_whitespace().map(Value::from).collect(),
        Value::Array(items) => items.clone(),
        _ => Vec::new(),
    };
    if parts.len() != 3 {
        let message = "three sizes are needed: minimum, default, maximum";
        return node.refusal(message).found(shown(node.value)).err();
    }
    let one = |part: &Value| {
        let digits = match part {
            Value::String(text) => text.parse::<u64>().ok(),
            other => other.as_u64(),
        };
        let part = Node { value: part, at: node.at.clone() };
        digits
            .map_or_else(|| size(&part), Ok)
            .map_err(|refusal| Refusal { nearest: None, ..refusal })
    };
    parts.iter().map(|part| one(part).map(Value::from)).collect()
}

/// `pages`, `small_head`, `copied`, or the size of a separate buffer per segment.
pub(crate) fn receive_buffer(node: &Node<'_>) -> Result<Value> {
    const NAMES: [&str; 3] = ["pages", "small_head", "copied"];
    if let Some(name) = node.text().filter(|name| NAMES.contains(name)) {
        return Ok(name.into());
    }
    let bytes = size(node).map_err(|refusal| {
        let allowed = NAMES.into_iter().chain(["a size, as 2304 bytes"]);
        Refusal { nearest: None, ..refusal }.allowed(allowed)
    })?;
    Ok(json!({"own": {"bytes": bytes}}))
}

fn value(node: &Node<'_>, one: &Parameter) -> Result<Value> {
    let bare = one.name == one.field;
    Ok(match one.unit {
        Unit::Signed => {
            let most = i128::from(one.most);
            (node.whole(-most, most)? as i64).into()
        }
        Unit::Choice => node.choice(one.choices, one.name)?.into(),
        Unit::Bytes if bare => sysctl(node, SIZE)?.into(),
        Unit::Bytes => positive_size(node)?.into(),
        Unit::Time if bare => sysctl(node, TIME)?.into(),
        Unit::Time => positive_time(node)?.into(),
        Unit::Flag => node.flag()?.into(),
        Unit::Sizes => sizes(node)?,
        Unit::Buffer => receive_buffer(node)?,
        _ => (node.whole(one.least.into(), one.most.into())? as u64).into(),
    })
}

impl Written {
    /// Reads the options of a host (`host`: with its jitter) or of one side of a flow.
    pub(crate) fn read(node: &Node<'_>, host: bool) -> Result<Self> {
        let fields = node.any_fields()?;
        let mut read = Self::default();
        for (name, node) in fields.all() {
            let entry = ENTRIES.iter().map(|entry| &entry.parameter).find(|one| one.name == name);
            let known =
                entry.is_some() || name == "profile" || (host && name == "processing_jitter");
            if !known {
                return node.fail(format!("unknown TCP option {name}"));
            }
            if node.value.is_null() {
                continue;
            }
            let Some(one) = entry else { continue };
            let found = value(&node, one)?;
            read.without_sack |= name == "tcp_sack" && found == false;
            read.options.insert(one.field.to_owned(), found);
        }
        let names: Vec<_> = PROFILES.iter().map(|(name, _)| *name).collect();
        read.profile = fields.read("profile", |node| node.choice(&names, "profile"))?;
        read.processing_jitter_ns = Self::jitter(&fields, host)?;
        Ok(read)
    }

    fn jitter(fields: &Fields<'_>, host: bool) -> Result<Option<u64>> {
        if host {
            fields.read("processing_jitter", crate::quantity::time)
        } else {
            Ok(None)
        }
    }

    /// Returns true if the buffer of received segments is written.
    pub(crate) fn writes_rx_segment(&self) -> bool {
        self.options.contains_key("rx_segment")
    }

    /// All options: `base`, or the profile if one is written, overridden by these.
    pub(crate) fn over(&self, base: &Options) -> Options {
        let mut options = self.profile.as_deref().map_or_else(|| base.clone(), profile);
        self.apply(&mut options);
        options
    }

    /// Overrides options with these, without the profile.
    fn apply(&self, options: &mut Options) {
        options.extend(self.options.clone());
        if self.without_sack {
            for name in ["tcp_dsack", "tcp_fack"] {
                if !self.options.contains_key(name) {
                    options.insert(name.to_owned(), false.into());
                }
            }
        }
    }

    /// All options of a host: the profile, overridden by `defaults`, then by its own.
    pub(crate) fn under(&self, defaults: &Self) -> Options {
        let name = self.profile.as_deref().or(defaults.profile.as_deref());
        let mut options = profile(name.unwrap_or(DEFAULT_PROFILE));
        defaults.apply(&mut options);
        self.apply(&mut options);
        options
    }
}

/// Options of a host that is not known.
pub(crate) fn plain() -> Options {
    profile(DEFAULT_PROFILE)
}

/// Mappings of `hosts`, by name.
pub(crate) fn hosts(fields: &Fields<'_>) -> Result<Vec<(String, Written)>> {
    let Some(node) = fields.get("hosts") else { return Ok(Vec::new()) };
    let hosts = node.any_fields()?;
    let one = |(name, node): (&str, Node<'_>)| Ok((name.to_owned(), Written::read(&node, true)?));
    let read = hosts.all().map(one).collect::<Result<Vec<_>>>()?;
    match read.iter().find(|(name, _)| name.is_empty()) {
        Some(_) => fail(&node.at, "a host without a name"),
        None => Ok(read),
    }
}
