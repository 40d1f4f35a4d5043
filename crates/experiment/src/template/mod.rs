//! Templates of common networks: dumbbell, parallel paths, parking lot. Those of data centres are in
//! [`fabrics`].

mod fabrics;

use crate::link::{shared, Both, Link, Pipes};
use crate::node::{spray, Route, Router};
use crate::pipe::Pipe;
use crate::quantity::time;
use crate::read::{below, fail, Fields, Loc, Node, Result};
use serde_json::{json, Value};
use std::sync::Arc;

const MOST_PAIRS: i128 = 10_000;
const MOST_PATHS: i128 = 1_000;

/// Network of a template.
#[derive(Clone, Debug, Default)]
pub(crate) struct Topology {
    pub(crate) hosts: Vec<String>,
    pub(crate) routers: Vec<(String, Router)>,
    pub(crate) switches: Vec<(String, Router)>,
    pub(crate) links: Vec<(String, Link)>,
    pub(crate) routes: Vec<Route>,
}

impl Topology {
    fn link(&mut self, a: &str, b: &str, pipes: &Pipes, at: &Loc) {
        self.named(format!("{a}-{b}"), (a, b), pipes, [0, 0], at);
    }

    fn named(
        &mut self,
        name: String,
        (a, b): (&str, &str),
        pipes: &Pipes,
        extra_ns: [u64; 2],
        at: &Loc,
    ) {
        let ends = (a.to_owned(), b.to_owned());
        self.links.push((name, Link { ends, pipes: pipes.clone(), extra_ns, at: at.clone() }));
    }
}

/// One-way delays of an RTT, forward and backward.
fn split(rtt_ns: u64) -> [u64; 2] {
    [rtt_ns - rtt_ns / 2, rtt_ns / 2]
}

fn shaped(pipes: &[Pipe; 2], delays_ns: [u64; 2]) -> Pipes {
    shared([0, 1].map(|side| pipes[side].shaped(delays_ns[side])))
}

/// Spraying of a template's routers. `default`: its policy where none is written.
fn sprayed(fields: &Fields<'_>, default: &str) -> Result<Value> {
    if fields.names().any(|name| name == "spray") {
        return Ok(fields.read("spray", spray)?.unwrap_or(Value::Null));
    }
    Ok(json!({"policy": default, "what": "both", "first": null}))
}

fn access(fields: &Fields<'_>) -> Result<Pipes> {
    Ok(shared(fields.read("access", Both::alone)?.unwrap_or_default().directions()))
}

/// Names such as `s1` to `s4`.
fn numbered(letter: &str, count: i128) -> Vec<String> {
    (1..=count).map(|i| format!("{letter}{i}")).collect()
}

/// Names of the templates.
pub(crate) const NAMES: [&str; 5] =
    ["dumbbell", "parallel-paths", "parking-lot", "fat-tree", "leaf-spine"];

/// Reads the template of a file and expands it.
pub(crate) fn read(node: &Node<'_>) -> Result<Topology> {
    let fields = node.any_fields()?;
    let kind = fields.exactly_one(&NAMES)?;
    let node = fields.need(kind)?;
    match kind {
        "dumbbell" => dumbbell(&node),
        "parallel-paths" => parallel_paths(&node),
        "parking-lot" => parking_lot(&node),
        "fat-tree" => fabrics::fat_tree(&node),
        _ => fabrics::leaf_spine(&node),
    }
}

/// RTT of each pair: one for all, one per pair, or spread evenly.
fn rtts(node: &Node<'_>, count: u64) -> Result<Vec<u64>> {
    match node.value {
        Value::Array(_) => node.items()?.iter().map(time).collect(),
        Value::Object(_) => {
            let fields = node.any_fields()?;
            let low = i128::from(time(&fields.need("from")?)?);
            let high = i128::from(time(&fields.need("to")?)?);
            let steps = i128::from(count.saturating_sub(1).max(1));
            let rtt = |i: i128| (low + ((high - low) * i).div_euclid(steps)) as u64;
            Ok((0..i128::from(count)).map(rtt).collect())
        }
        _ => Ok(vec![time(node)?; count as usize]),
    }
}

fn dumbbell(node: &Node<'_>) -> Result<Topology> {
    let fields = node.any_fields()?;
    let pairs = fields.read("pairs", |node| node.whole(1, MOST_PAIRS))?.unwrap_or(1) as u64;
    let rtts = rtts(&fields.need("rtt")?, pairs)?;
    let least = rtts.iter().copied().min().unwrap_or(0);
    let bottleneck = shaped(&Both::read(&fields)?.directions(), split(least));
    let access = access(&fields)?;
    let routers = ["r1", "r2"].map(|name| (name.to_owned(), Router::default())).to_vec();
    let mut out = Topology { routers, ..Topology::default() };
    for i in 1..=pairs {
        let source = format!("s{i}");
        out.link(&source, "r1", &access, &node.at);
        out.hosts.push(source);
    }
    out.named("bottleneck".to_owned(), ("r1", "r2"), &bottleneck, [0, 0], &node.at);
    for (i, rtt) in (1..).zip(&rtts) {
        let sink = format!("d{i}");
        let extra_ns = split(rtt - least);
        out.named(format!("r2-{sink}"), ("r2", &sink), &access, extra_ns, &node.at);
        out.hosts.push(sink);
    }
    Ok(out)
}

/// Fields and RTT of each of several parallel paths.
fn paths(fields: &Fields<'_>) -> Result<Vec<(Both, Option<u64>)>> {
    match fields.get("paths") {
        None => Ok(vec![(Both::default(), None); 2]),
        Some(node) if node.value.is_array() => {
            let one = |node: &Node<'_>| {
                let fields = node.any_fields()?;
                Ok((Both::read(&fields)?, fields.read("rtt", time)?))
            };
            node.one_or_more()?.iter().map(one).collect()
        }
        Some(node) => Ok(vec![(Both::default(), None); node.whole(1, MOST_PATHS)? as usize]),
    }
}

/// Numbers of the paths in use; `None`: all.
fn used(fields: &Fields<'_>) -> Result<Option<Vec<i128>>> {
    let Some(node) = fields.get("use") else { return Ok(None) };
    if node.text() == Some("all") {
        return Ok(None);
    }
    let items = node.items()?;
    let used = items.iter().map(|node| node.whole(1, MOST_PATHS)).collect::<Result<Vec<_>>>()?;
    Ok(Some(used))
}

fn parallel_paths(node: &Node<'_>) -> Result<Topology> {
    let fields = node.any_fields()?;
    let sources = fields.read("sources", |node| node.whole(1, MOST_PAIRS))?.unwrap_or(1);
    let sinks = fields.read("destinations", |node| node.whole(1, MOST_PAIRS))?.unwrap_or(sources);
    let rtt = time(&fields.need("rtt")?)?;
    let paths = paths(&fields)?;
    let chosen = used(&fields)?;
    let count = chosen.as_ref().map_or(paths.len(), Vec::len);
    let policy = sprayed(&fields, "round_robin")?;
    let sprays = if count > 1 { policy } else { Value::Null };
    let router = Router { spray: Some(sprays), ..Router::default() };
    let common = Both::read(&fields)?.directions();
    let access = access(&fields)?;
    let routers = ["r1", "r2"].map(|name| (name.to_owned(), router.clone())).to_vec();
    let mut out = Topology { routers, ..Topology::default() };
    let (sources, sinks) = (numbered("s", sources), numbered("d", sinks));
    let nothing = Arc::new(Pipe::default());
    for name in &sources {
        out.link(name, "r1", &access, &node.at);
    }
    for (i, (own, own_rtt)) in (1..).zip(&paths) {
        let delays = split(own_rtt.unwrap_or(rtt));
        let [forward, backward] = shaped(&own.over([&common[0], &common[1]]), delays);
        let name = format!("p{i}");
        out.link("r1", &name, &[nothing.clone(), backward], &node.at);
        out.link(&name, "r2", &[forward, nothing.clone()], &node.at);
        out.switches.push((name, Router::default()));
    }
    for name in &sinks {
        out.link("r2", name, &access, &node.at);
    }
    if let Some(used) = chosen {
        let from = below(&node.at, "use");
        for (here, to, link) in [("r1", &sinks, "r1-p#"), ("r2", &sources, "p#-r2")] {
            let via = used.iter().map(|i| link.replace('#', &i.to_string())).collect();
            let at = vec![here.to_owned()];
            out.routes.push(Route { at, to: to.clone(), via, from: from.clone() });
        }
    }
    out.hosts = sources.into_iter().chain(sinks).collect();
    Ok(out)
}

fn parking_lot(node: &Node<'_>) -> Result<Topology> {
    let fields = node.any_fields()?;
    let hops = fields.read("hops", |node| node.whole(1, MOST_PATHS))?.unwrap_or(2) as u64;
    let [there, back] = split(time(&fields.need("rtt")?)?);
    let pipes = Both::read(&fields)?.directions();
    let access = access(&fields)?;
    let routers: Vec<_> = (1..=hops + 1).map(|i| (format!("r{i}"), Router::default())).collect();
    let mut out = Topology { routers, ..Topology::default() };
    let part = |total: u64, i: u64| {
        let upto = |i: u64| u128::from(total) * u128::from(i) / u128::from(hops);
        (upto(i) - upto(i - 1)) as u64
    };
    let mut ends = vec![("s0".to_owned(), 1, "d0".to_owned(), hops + 1)];
    for i in 1..=hops {
        let hop = shaped(&pipes, [part(there, i), part(back, i)]);
        let (a, b) = (format!("r{i}"), format!("r{}", i + 1));
        out.named(format!("hop{i}"), (&a, &b), &hop, [0, 0], &node.at);
        ends.push((format!("s{i}"), i, format!("d{i}"), i + 1));
    }
    for (source, first, sink, last) in ends {
        out.link(&source, &format!("r{first}"), &access, &node.at);
        out.link(&format!("r{last}"), &sink, &access, &node.at);
        out.hosts.extend([source, sink]);
    }
    match u128::from(there).checked_mul(hops.into()) {
        Some(_) => Ok(out),
        None => fail(&node.at, "an RTT too large"),
    }
}
