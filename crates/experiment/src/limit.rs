//! Limits of queues, of which some need the base RTT.

use crate::code::Code;
use crate::quantity::{integer, parse, Exact, BDP, MAX, PACKETS, SIZE, TIME};
use crate::read::{Loc, Node, Refusal, Result};
use crate::words::shown;
use serde_json::Value;

/// Frame of a packet at Ethernet's MTU.
pub(crate) const FRAME_BYTES: u64 = 1514;

/// Limit of a queue as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Limit {
    Packets(u64),
    Bytes(u64),
    TimeNs(u64),
    /// Bandwidth-delay products, with the RTT of a flow; `None`: the largest through the pipe.
    Bdp(Exact, Option<String>),
}

/// Rate as a fraction, bit/s.
pub(crate) type Rate = (u128, u128);

fn limit(node: &Node<'_>) -> Result<Limit> {
    let (mut flow, mut head) = (None, None);
    if let Some((before, name)) = node.text().and_then(|text| text.split_once(" of ")) {
        if before.trim().to_lowercase().ends_with("bdp") {
            head = Some(Value::String(before.to_owned()));
            flow = Some(name.trim().to_owned());
        }
    }
    let node = &Node { value: head.as_ref().unwrap_or(node.value), at: node.at.clone() };
    let (family, exact) = parse(node, &[PACKETS, SIZE, BDP, TIME])?;
    if exact.is_zero() {
        let refusal = node.refusal("a limit above 0 is needed").found(shown(node.value));
        return refusal.code(Code::OutOfRange).err();
    }
    if family == BDP {
        return match exact.ratio() {
            Some((top, bottom)) if top <= 1_000_000 * bottom => Ok(Limit::Bdp(exact, flow)),
            _ => node
                .refusal("more than a million BDP")
                .found(shown(node.value))
                .code(Code::OutOfRange)
                .err(),
        };
    }
    let number = integer(node, family, exact)?;
    Ok(if family == PACKETS {
        Limit::Packets(number)
    } else if family == TIME {
        Limit::TimeNs(number)
    } else {
        Limit::Bytes(number)
    })
}

/// One limit, or one in packets and one in bytes, BDP or time.
pub(crate) fn limits(node: &Node<'_>) -> Result<Vec<Limit>> {
    let nodes = if node.value.is_array() { node.items()? } else { vec![node.clone()] };
    let found = nodes.iter().map(limit).collect::<Result<Vec<_>>>()?;
    let counted = found.iter().filter(|limit| matches!(limit, Limit::Packets(_))).count();
    if found.is_empty() || found.len() > 2 || (found.len() == 2 && counted != 1) {
        return node
            .refusal("one limit, or one in packets and one in bytes, BDP or time")
            .found(shown(node.value))
            .code(Code::QueueLimit)
            .err();
    }
    Ok(found)
}

/// Limit of netem: packets or BDP.
pub(crate) fn packet_limit(node: &Node<'_>) -> Result<Limit> {
    match limit(node)? {
        Limit::Bytes(_) | Limit::TimeNs(_) => node
            .refusal("netem counts packets")
            .found(shown(node.value))
            .allowed(["100 packets", "1 BDP"])
            .code(Code::QueueLimit)
            .err(),
        found => Ok(found),
    }
}

/// Limits of a pipe that need its rate or the base RTT.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) limits: Vec<Limit>,
    pub(crate) rate: Option<Rate>,
    pub(crate) at: Loc,
}

/// Base RTTs of the flows, ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtts<'a> {
    /// By flow, in the order of the scenario.
    pub(crate) of_flows: &'a [(String, u64)],
    /// Largest of the flows through a pipe; `None`: none passes it.
    pub(crate) through_ns: Option<u64>,
}

impl Pending {
    /// Returns true if no limit depends on an RTT.
    pub(crate) fn is_fixed(&self) -> bool {
        !self.limits.iter().any(|limit| matches!(limit, Limit::Bdp(..)))
    }

    /// Bytes of a limit; 0 for one in packets.
    fn bytes(&self, limit: &Limit, rtts: Rtts<'_>) -> Result<u64> {
        let (span_ns, unit) = match limit {
            Limit::Packets(_) => return Ok(0),
            Limit::Bytes(bytes) => return Ok(*bytes),
            Limit::TimeNs(ns) => (Some(u128::from(*ns)), 1),
            Limit::Bdp(multiple, flow) => {
                self.rate()?;
                let rtt_ns = self.rtt_ns(flow.as_deref(), rtts)?;
                let (times, over) = multiple.ratio().unwrap_or((u128::MAX, 1));
                (u128::from(rtt_ns).checked_mul(times), over)
            }
        };
        let (top, bottom) = self.rate()?;
        let above = span_ns.and_then(|span| span.checked_mul(top));
        let below = unit.checked_mul(bottom).and_then(|below| below.checked_mul(8_000_000_000));
        match above.zip(below).map(|(above, below)| (above / below).max(FRAME_BYTES.into())) {
            Some(size) if size <= MAX => Ok(size as u64),
            size => {
                let refusal = Refusal::new(&self.at, "a queue limit too large").code(Code::Bdp);
                let found = size.map(|size| format!("{} bytes", scientific(size as f64)));
                Refusal { found, ..refusal }.err()
            }
        }
    }

    fn rtt_ns(&self, flow: Option<&str>, rtts: Rtts<'_>) -> Result<u64> {
        let of = |name: &str| rtts.of_flows.iter().find(|(known, _)| known == name);
        let found = flow.map_or(rtts.through_ns, |name| of(name).map(|(_, rtt_ns)| *rtt_ns));
        found.map_or_else(
            || {
                let refusal = Refusal::new(&self.at, "a BDP of an unknown flow").code(Code::Bdp);
                let known = rtts.of_flows.iter().map(|(name, _)| name.as_str());
                Refusal { found: flow.map(str::to_owned), ..refusal.allowed(known) }.err()
            },
            Ok,
        )
    }

    fn rate(&self) -> Result<Rate> {
        let refusal = || Refusal::new(&self.at, "a BDP or a time needs a pipe with a rate");
        self.rate.map_or_else(|| refusal().code(Code::Bdp).err(), Ok)
    }
}

/// A number as `1.2e+20`.
fn scientific(number: f64) -> String {
    let written = format!("{number:.1e}");
    match written.split_once('e') {
        Some((head, digits)) if !digits.starts_with('-') => format!("{head}e+{digits:0>2}"),
        _ => written,
    }
}

/// Sets the limits of a pipe's queue.
pub(crate) fn fill(pipe: &mut Value, pending: &Pending, rtts: Rtts<'_>) -> Result<()> {
    for limit in &pending.limits {
        let size = pending.bytes(limit, rtts)?;
        let queue = &mut pipe["queue"];
        if let Some(netem) = queue.get_mut("netem") {
            netem["limit_packets"] = match limit {
                Limit::Packets(packets) => *packets,
                _ => size.div_ceil(FRAME_BYTES),
            }
            .into();
        } else if let Limit::Packets(packets) = limit {
            queue["drop_tail"]["limit_packets"] = (*packets).into();
        } else {
            queue["drop_tail"]["limit_bytes"] = size.into();
        }
    }
    Ok(())
}
