//! Shapers of a pipe: serialisation, token bucket, packet-delivery trace.

use crate::code::Code;
use crate::files::{Files, Unreadable};
use crate::limit::{Rate, FRAME_BYTES};
use crate::near::shortened;
use crate::quantity::{positive_size, rate, size};
use crate::read::{beyond, Node, Refusal, Result, Step};
use serde_json::{json, Value};

const TRACE_PACKET_BITS: u128 = 1504 * 8;
const MAX_TRACE_BYTES: u64 = 8 << 20;

/// A shaper as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shaper {
    /// In the form of the scenario, with its rate for the BDP.
    Made(Value, Option<Rate>),
    /// Name of the file of a packet-delivery trace.
    File(String),
}

impl Shaper {
    /// No shaper.
    pub(crate) fn none() -> Self {
        Self::Made("none".into(), None)
    }

    /// Serialisation at a rate, bit/s.
    pub(crate) fn serial(rate: u64) -> Self {
        Self::Made(json!({"serial": {"rate_bps": rate}}), Some((rate.into(), 1)))
    }

    /// Packet-delivery trace.
    fn trace(times_ms: &[u64]) -> Self {
        let rate = match times_ms.last() {
            Some(&last) if last > 0 => {
                Some((times_ms.len() as u128 * TRACE_PACKET_BITS * 1000, last.into()))
            }
            _ => None,
        };
        Self::Made(json!({"trace": {"deliveries_ms": times_ms}}), rate)
    }

    /// The shaper in the form of the scenario, and its rate for the BDP. `at`: the pipe.
    pub(crate) fn scenario(&self, files: &dyn Files, at: &[Step]) -> Result<(Value, Option<Rate>)> {
        match self {
            Self::Made(scenario, rate) => Ok((scenario.clone(), *rate)),
            Self::File(name) => Self::trace(&deliveries(name, files, at)?).scenario(files, at),
        }
    }
}

/// Times of a file in mahimahi's format, ms.
fn deliveries(name: &str, files: &dyn Files, at: &[Step]) -> Result<Vec<u64>> {
    let refuse = |message: String, found: &str| {
        Refusal::new(at, message).found(shortened(found, 60)).code(Code::RatesFile).err()
    };
    let data = match files.read(name, MAX_TRACE_BYTES) {
        Ok(data) => data,
        Err(Unreadable::Nowhere) => return beyond(at, "file"),
        Err(Unreadable::TooLarge) => {
            return refuse(format!("a trace larger than {MAX_TRACE_BYTES} bytes"), name);
        }
        Err(Unreadable::Reason(reason)) => {
            return refuse(format!("the trace cannot be read: {reason}"), name);
        }
    };
    let mut times = Vec::new();
    // A carriage return alone ends a line, too; a line feed behind it begins no other.
    let text = String::from_utf8_lossy(&data).replace("\r\n", "\n").replace('\r', "\n");
    for (number, line) in (1..).zip(text.split('\n')) {
        let line = line.trim_matches([' ', '\t', '\x0b', '\x0c']);
        if line.is_empty() {
            continue;
        }
        let digits = line.len() <= 12 && line.bytes().all(|byte| byte.is_ascii_digit());
        let Some(ms) = line.parse().ok().filter(|_| digits) else {
            let message = format!("line {number} of {name} is not a time in milliseconds");
            return refuse(message, line);
        };
        times.push(ms);
    }
    Ok(times)
}

/// Reads a shaper.
pub(crate) fn shaper(node: &Node<'_>) -> Result<Shaper> {
    if node.text() == Some("none") {
        return Ok(Shaper::none());
    }
    let fields = node.any_fields()?;
    let chosen = fields.exactly_one(&["none", "serial", "tbf", "trace"])?;
    let node = fields.need(chosen)?;
    match chosen {
        "serial" => Ok(Shaper::serial(rate(&node.any_fields()?.need("rate")?)?)),
        "tbf" => tbf(&node),
        "trace" => {
            let fields = node.any_fields()?;
            if fields.exactly_one(&["file", "deliveries"])? == "file" {
                return Ok(Shaper::File(fields.need("file")?.name()?));
            }
            let times = fields.need("deliveries")?.items()?;
            let times = times.iter().map(|node| node.whole(0, 1 << 40).map(|ms| ms as u64));
            Ok(Shaper::trace(&times.collect::<Result<Vec<u64>>>()?))
        }
        _ => Ok(Shaper::none()),
    }
}

fn tbf(node: &Node<'_>) -> Result<Shaper> {
    let fields = node.any_fields()?;
    let own = rate(&fields.need("rate")?)?;
    let burst = positive_size(&fields.need("burst")?)?;
    let initial = match fields.get("initial") {
        None => Value::Null,
        Some(node) => match node.text() {
            Some("full") => burst.into(),
            Some("empty") => 0.into(),
            Some("random") => Value::Null,
            _ => size(&node)?.into(),
        },
    };
    let peak = fields.read("peak", |node| {
        let fields = node.any_fields()?;
        let burst = fields.read("burst", positive_size)?.unwrap_or(FRAME_BYTES);
        Ok(json!({"rate_bps": rate(&fields.need("rate")?)?, "burst_bytes": burst}))
    })?;
    let made = json!({
        "rate_bps": own, "burst_bytes": burst, "initial_bytes": initial, "peak": peak,
    });
    Ok(Shaper::Made(json!({ "tbf": made }), Some((own.into(), 1))))
}
