//! Multipath TCP (RFC 8684): connections as written, and the interfaces of their subflows.

use crate::code::Code;
use crate::graph::Graph;
use crate::kind::{known, long};
use crate::quantity::time;
use crate::read::{below, item, Loc, Node, Refusal, Result, Step};
use crate::stream::{of_subflow, Stream, STREAM};
use serde_json::Map;
use std::collections::BTreeMap;

const SCHEDULERS: &[&str] = &["default", "lowest_rtt", "round_robin", "redundant", "blest", "ecf"];
const PATH_MANAGERS: &[&str] = &["fullmesh", "ndiffports"];
const MOST_SUBFLOWS: i128 = 64;

/// A subflow as written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subflow {
    local: Option<String>,
    remote: Option<String>,
    pub(crate) backup: bool,
    pub(crate) start_ns: Option<u64>,
    pub(crate) stop_ns: Option<u64>,
}

#[derive(Clone, Debug)]
enum Wanted {
    /// As many as there are paths, or a number.
    Number(Option<usize>),
    Named(Vec<Subflow>),
}

/// A connection as written.
#[derive(Clone, Debug)]
pub(crate) struct Mptcp {
    pub(crate) stream: Stream,
    pub(crate) scheduler: String,
    /// Subflows over the same interfaces, told apart by their ports.
    by_port: bool,
    pub(crate) opportunistic: bool,
    wanted: Wanted,
}

/// Subflow between two interfaces: links at the opening host and at the other one.
#[derive(Clone, Debug)]
pub(crate) struct Between {
    pub(crate) local: usize,
    pub(crate) remote: usize,
    pub(crate) spec: Subflow,
}

/// Names of the hosts of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hosts<'a> {
    pub(crate) from: &'a str,
    pub(crate) to: &'a str,
}

impl Subflow {
    fn read(node: &Node<'_>) -> Result<Self> {
        let fields = node.any_fields()?;
        Ok(Self {
            local: fields.read("local", Node::name)?,
            remote: fields.read("remote", Node::name)?,
            backup: fields.read("backup", Node::flag)?.unwrap_or(false),
            start_ns: fields.read("start", time)?,
            stop_ns: fields.read("stop", time)?,
        })
    }
}

impl Mptcp {
    /// Reads the field `mptcp`.
    pub(crate) fn read(node: &Node<'_>) -> Result<Self> {
        let mut held = Map::new();
        let fields = long(node, "congestion_control", &mut held)?;
        let own = ["scheduler", "path_manager", "subflows", "opportunistic"];
        known(&fields, &[&STREAM[..], &own].concat())?;
        let chosen = |name, names, what| fields.read(name, |node| node.choice(names, what));
        let wanted = match fields.get("subflows") {
            None => Wanted::Number(None),
            Some(node) if node.value.is_array() => {
                Wanted::Named(node.items()?.iter().map(Subflow::read).collect::<Result<_>>()?)
            }
            Some(node) => Wanted::Number(Some(node.whole(1, MOST_SUBFLOWS)? as usize)),
        };
        let manager = chosen("path_manager", PATH_MANAGERS, "path manager")?;
        Ok(Self {
            stream: Stream::read(&fields, of_subflow)?,
            scheduler: chosen("scheduler", SCHEDULERS, "scheduler")?
                .unwrap_or_else(|| "default".to_owned()),
            by_port: manager.as_deref() == Some("ndiffports"),
            opportunistic: fields.read("opportunistic", Node::flag)?.unwrap_or(false),
            wanted,
        })
    }

    /// Subflows of the connection. The first one opens it. `at`: path of `mptcp` in the file.
    pub(crate) fn subflows(
        &self,
        hosts: Hosts<'_>,
        graph: &mut Graph,
        at: &[Step],
    ) -> Result<Vec<Between>> {
        let number = match &self.wanted {
            Wanted::Named(named) => return self.named(named, hosts, graph, at),
            Wanted::Number(number) => *number,
        };
        let Hosts { from, to } = hosts;
        let meshed = reachable(hosts, graph);
        let Some(first) = meshed.first() else {
            let message = format!("there is no path from {from} to {to}");
            return Refusal::new(at, message).code(Code::NoPath).err();
        };
        if self.by_port {
            return Ok(vec![first.clone(); number.unwrap_or(2)]);
        }
        let (wanted, count) = (number.unwrap_or(meshed.len()), meshed.len());
        if wanted > count {
            let paths = if count == 1 { "path" } else { "paths" };
            let message = format!(
                "{wanted} subflows, but {from} and {to} have {count} {paths} between their \
                 interfaces; several subflows over the same interfaces need path_manager: ndiffports"
            );
            let refusal = Refusal::new(&below(at, "subflows"), message).found(wanted.to_string());
            return refusal.code(Code::Subflows).err();
        }
        Ok(meshed.into_iter().take(wanted).collect())
    }

    fn named(
        &self,
        specs: &[Subflow],
        hosts: Hosts<'_>,
        graph: &mut Graph,
        at: &[Step],
    ) -> Result<Vec<Between>> {
        let here = below(at, "subflows");
        let one = |(i, spec)| named(spec, hosts, graph, &item(&here, i));
        let found = specs.iter().enumerate().map(one).collect::<Result<Vec<_>>>()?;
        let refuse = |at: &Loc, message: &str| Refusal::new(at, message).code(Code::Subflows).err();
        let Some(first) = found.first() else { return refuse(&here, "no subflow is named") };
        if found.iter().all(|one| one.spec.backup) {
            let message = "all subflows are backups; at least one must carry data from the start";
            return refuse(&here, message);
        }
        if first.spec.backup {
            let message = "the first subflow opens the connection, and is never a backup";
            return refuse(&below(&item(&here, 0), "backup"), message);
        }
        if !self.by_port {
            refuse_alike(&found, hosts, graph, &here)?;
        }
        Ok(found)
    }
}

/// All pairs of interfaces with a path in both directions, pairs of equal rank first.
fn reachable(hosts: Hosts<'_>, graph: &mut Graph) -> Vec<Between> {
    let (locals, remotes) = (graph.links_of(hosts.from), graph.links_of(hosts.to));
    let mut found = Vec::new();
    for (i, &local) in locals.iter().enumerate() {
        for (j, &remote) in remotes.iter().enumerate() {
            if graph.check(hosts.from, hosts.to, [Some(local), Some(remote)]).is_ok() {
                found.push((i != j, Between { local, remote, spec: Subflow::default() }));
            }
        }
    }
    found.sort_by_key(|(differ, _)| *differ);
    found.into_iter().map(|(_, between)| between).collect()
}

fn named(spec: &Subflow, hosts: Hosts<'_>, graph: &mut Graph, at: &[Step]) -> Result<Between> {
    let local = link(spec.local.as_deref(), hosts.from, graph, &below(at, "local"))?;
    let remote = link(spec.remote.as_deref(), hosts.to, graph, &below(at, "remote"))?;
    if let Err(fault) = graph.check(hosts.from, hosts.to, [Some(local), Some(remote)]) {
        let (leaving, arriving) = (graph.link_name(local), graph.link_name(remote));
        let message = format!("{}, leaving by {leaving} and arriving by {arriving}", fault.message);
        return Refusal::new(at, message).code(Code::NoPath).err();
    }
    Ok(Between { local, remote, spec: spec.clone() })
}

/// A host's link by the name of the link or neighbour; `None`: the only link.
fn link(written: Option<&str>, host: &str, graph: &Graph, at: &[Step]) -> Result<usize> {
    let here = graph.links_of(host);
    let refuse = |message: String, found: Option<&str>| {
        let refusal = Refusal::new(at, message).code(Code::Subflows);
        let known = here.iter().map(|link| graph.link_name(*link));
        Refusal { found: found.map(str::to_owned), ..refusal.allowed(known) }.err()
    };
    let Some(written) = written else {
        return match here[..] {
            [only] => Ok(only),
            _ => refuse(format!("{host} has several links; name one"), None),
        };
    };
    let names = |link: &&usize| {
        let (a, b) = graph.ends(**link);
        graph.link_name(**link) == written || a == written || b == written
    };
    let found: Vec<usize> = here.iter().filter(names).copied().collect();
    match found[..] {
        [] => refuse(format!("no link or neighbour of {host}"), Some(written)),
        _ if written == host => refuse(format!("no link or neighbour of {host}"), Some(written)),
        [only] => Ok(only),
        _ => refuse(format!("several links join {host} and {written}; name one"), Some(written)),
    }
}

/// Refuses two subflows over the same interfaces. `at`: path of the list of subflows.
fn refuse_alike(found: &[Between], hosts: Hosts<'_>, graph: &Graph, at: &[Step]) -> Result<()> {
    let mut seen = BTreeMap::new();
    for (i, one) in found.iter().enumerate() {
        let earlier = *seen.entry((one.local, one.remote)).or_insert(i);
        if earlier != i {
            let message = format!(
                "subflows {} and {} both leave {} by {} and arrive at {} by {}; to allow this, \
                 write path_manager: ndiffports",
                earlier + 1,
                i + 1,
                hosts.from,
                graph.link_name(one.local),
                hosts.to,
                graph.link_name(one.remote)
            );
            return Refusal::new(&item(at, i), message).code(Code::Subflows).err();
        }
    }
    Ok(())
}
