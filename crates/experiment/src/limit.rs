//! Limits of queues, of which some need the base RTT.

use crate::quantity::{integer, parse, Exact, BDP, MAX, PACKETS, SIZE, TIME};
use crate::read::{fail, Loc, Node, Result};
use serde_json::Value;
use std::collections::BTreeMap;

/// Frame of a packet at Ethernet's MTU.
pub(crate) const FRAME_BYTES: u64 = 1514;

/// Limit of a queue as written.
#[derive(Clone, Debug)]
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
        return node.fail("a limit above 0 is needed");
    }
    if family == BDP {
        return match exact.ratio() {
            Some((top, bottom)) if top <= 1_000_000 * bottom => Ok(Limit::Bdp(exact, flow)),
            _ => node.fail("more than a million BDP"),
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
    let nodes = node.one_or_more()?;
    let found = nodes.iter().map(limit).collect::<Result<Vec<_>>>()?;
    let counted = found.iter().filter(|limit| matches!(limit, Limit::Packets(_))).count();
    if found.len() > 2 || (found.len() == 2 && counted != 1) {
        return node.fail("one limit, or one in packets and one in bytes, BDP or time");
    }
    Ok(found)
}

/// Limit of netem: packets or BDP.
pub(crate) fn packet_limit(node: &Node<'_>) -> Result<Limit> {
    match limit(node)? {
        Limit::Bytes(_) | Limit::TimeNs(_) => node.fail("netem counts packets: 100 packets, 1 BDP"),
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

/// Bytes of a limit.
fn bytes(
    limit: &Limit,
    pending: &Pending,
    rtts_ns: &BTreeMap<String, u64>,
    through_ns: Option<u64>,
) -> Result<u64> {
    let ((span_ns, unit), (top, bottom)) = match limit {
        Limit::Packets(_) => return Ok(0),
        Limit::Bytes(bytes) => return Ok(*bytes),
        Limit::TimeNs(ns) => ((u128::from(*ns), 1), pending_rate(pending)?),
        Limit::Bdp(multiple, flow) => {
            let rate = pending_rate(pending)?;
            let known = flow.as_ref().map_or(through_ns, |flow| rtts_ns.get(flow).copied());
            let Some(rtt_ns) = known else {
                return fail(&pending.at, "a BDP of an unknown flow");
            };
            let (times, over) = multiple.ratio().unwrap_or((u128::MAX, 1));
            let span = u128::from(rtt_ns).checked_mul(times);
            let Some(span) = span else { return fail(&pending.at, "a queue limit too large") };
            ((span, over), rate)
        }
    };
    let scaled = unit.checked_mul(bottom).and_then(|below| below.checked_mul(8_000_000_000));
    let (Some(above), Some(below)) = (span_ns.checked_mul(top), scaled) else {
        return fail(&pending.at, "a queue limit too large");
    };
    match (above / below).max(u128::from(FRAME_BYTES)) {
        size if size <= MAX => Ok(size as u64),
        _ => fail(&pending.at, "a queue limit too large"),
    }
}

fn pending_rate(pending: &Pending) -> Result<Rate> {
    match pending.rate {
        Some(rate) => Ok(rate),
        None => fail(&pending.at, "a BDP or a time needs a pipe with a rate"),
    }
}

/// Sets the limits of a pipe's queue.
///
/// `through_ns`: largest base RTT of the flows through the pipe; `None`: none passes it.
pub(crate) fn fill(
    pipe: &mut Value,
    pending: &Pending,
    rtts_ns: &BTreeMap<String, u64>,
    through_ns: Option<u64>,
) -> Result<()> {
    for limit in &pending.limits {
        let size = bytes(limit, pending, rtts_ns, through_ns)?;
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
