//! Flows as written.

use crate::kind::{listed, voice};
use crate::multipath::Mptcp;
use crate::quantity::{integer, parse, time, Exact, RTT, TIME};
use crate::queue::codepoint;
use crate::read::{Fields, Loc, Node, Result};
use crate::stream::Stream;
use dumbbell_model::catalogue::traffic::{Entry, ENTRIES};
use serde_json::{json, Value};

const MOST_OF_A_KIND: i128 = 1_000_000_000;

/// Start jitter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Jitter {
    Time(u64),
    /// Multiple of the flow's base RTT.
    Rtts(Exact),
}

impl Jitter {
    fn read(node: &Node<'_>) -> Result<Self> {
        let (family, exact) = parse(node, &[TIME, RTT])?;
        if family == RTT {
            return Ok(Self::Rtts(exact));
        }
        Ok(Self::Time(integer(node, family, exact)?))
    }

    /// Jitter of a flow with this base RTT, ns.
    pub(crate) fn ns(self, rtt_ns: u64) -> u64 {
        match self {
            Self::Time(ns) => ns,
            Self::Rtts(exact) => {
                let (top, bottom) = exact.ratio().unwrap_or((u128::MAX, 1));
                let ns = u128::from(rtt_ns).saturating_mul(top) / bottom;
                u64::try_from(ns).unwrap_or(u64::MAX)
            }
        }
    }
}

/// Traffic of a flow.
#[derive(Clone, Debug)]
pub(crate) enum Traffic {
    Tcp(Box<Stream>),
    Mptcp(Box<Mptcp>),
    /// In the form of the scenario.
    Made(Value),
}

/// A flow as written.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) name: Option<String>,
    pub(crate) group: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) start_ns: u64,
    pub(crate) stop_ns: Option<u64>,
    pub(crate) jitter: Option<Jitter>,
    pub(crate) dscp: u64,
    /// Number of such flows; `None`: one, without numbers in its names.
    pub(crate) count: Option<u64>,
    pub(crate) traffic: Traffic,
    pub(crate) at: Loc,
}

impl Flow {
    fn read(node: &Node<'_>) -> Result<Self> {
        let fields = node.any_fields()?;
        let listed_kinds = ENTRIES.iter().filter(|entry| !entry.parameters.is_empty());
        let mut kinds = vec!["tcp", "mptcp"];
        kinds.extend(listed_kinds.map(|entry| entry.name));
        kinds.push("voice");
        let kind = fields.exactly_one(&kinds)?;
        let traffic = fields.need(kind)?;
        let traffic = match kind {
            "tcp" => Traffic::Tcp(Box::new(Stream::tcp(&traffic)?)),
            "mptcp" => Traffic::Mptcp(Box::new(Mptcp::read(&traffic)?)),
            "voice" => Traffic::Made(json!({"udp": voice(&traffic)?})),
            _ => Traffic::Made(json!({ kind: listed(entry(kind, &traffic)?, &traffic)? })),
        };
        let count = fields.read("count", |node| node.whole(1, MOST_OF_A_KIND))?;
        Ok(Self {
            name: fields.read("name", Node::name)?,
            group: fields.read("group", Node::name)?.unwrap_or_default(),
            from: fields.need("from")?.name()?,
            to: fields.need("to")?.name()?,
            start_ns: fields.read("start", time)?.unwrap_or(0),
            stop_ns: fields.read("stop", time)?,
            jitter: fields.read("start_jitter", Jitter::read)?,
            dscp: fields.read("dscp", codepoint)?.unwrap_or(0),
            count: count.map(|count| count as u64),
            traffic,
            at: node.at.clone(),
        })
    }

    /// Text with the number `k` of a copy in place of `{i}`.
    pub(crate) fn filled(&self, text: &str, k: u64) -> String {
        match self.count {
            Some(count) if text.contains("{i") => numbered(text, k, count),
            _ => text.to_owned(),
        }
    }
}

/// Entry of a kind in the catalogue.
pub(crate) fn entry(kind: &str, node: &Node<'_>) -> Result<&'static Entry> {
    match ENTRIES.iter().find(|entry| entry.name == kind) {
        Some(entry) => Ok(entry),
        None => node.fail("unknown kind of traffic"),
    }
}

/// Flows of a file.
pub(crate) fn flows(fields: &Fields<'_>) -> Result<Vec<Flow>> {
    let Some(node) = fields.get("flows") else { return Ok(Vec::new()) };
    node.items()?.iter().map(Flow::read).collect()
}

/// Text with `k` in place of `{i}`, and the number `n` further on in place of `{i+n}`: below `count`, 1
/// follows `count`, so that these are the same numbers in another order.
fn numbered(text: &str, k: u64, count: u64) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("{i") {
        out.push_str(&rest[..start]);
        let tail = &rest[start + 2..];
        let found = tail.find('}').and_then(|end| {
            let inner = &tail[..end];
            let more = if inner.is_empty() { Some("0") } else { inner.strip_prefix('+') }?;
            let digits = (1..=9).contains(&more.len()) && more.bytes().all(|b| b.is_ascii_digit());
            if digits {
                Some((end, more.parse::<u64>().ok()?))
            } else {
                None
            }
        });
        match found {
            Some((end, more)) => {
                let number = if more < count { (k - 1 + more) % count + 1 } else { k + more };
                out.push_str(&number.to_string());
                rest = &tail[end + 1..];
            }
            None => {
                out.push_str("{i");
                rest = tail;
            }
        }
    }
    out + rest
}
