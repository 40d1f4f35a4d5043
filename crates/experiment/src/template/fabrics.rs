//! Templates of networks in data centres: routers in tiers, with equal paths between all hosts.

use super::{numbered, shaped, sprayed, Topology};
use crate::code::Code;
use crate::link::Both;
use crate::node::Router;
use crate::read::{Node, Refusal, Result};
use crate::words::shown;
use serde_json::Value;

/// Most ports of a fat tree's router: 8192 hosts, 24576 links.
const MAX_PORTS: i128 = 32;
const MOST_OF_A_TIER: i128 = 10_000;

impl Topology {
    /// Adds routers of a tier, which are named by number.
    fn tier(&mut self, name: &str, count: i128, spray: &Value) {
        let router = Router { spray: Some(spray.clone()), ..Router::default() };
        self.routers.extend(numbered(name, count).into_iter().map(|name| (name, router.clone())));
    }
}

/// Even number of ports.
fn ports(node: &Node<'_>) -> Result<i128> {
    match node.whole(2, MAX_PORTS) {
        Ok(ports) if ports % 2 == 0 => Ok(ports),
        _ => {
            let message = format!("should be an even number from 2 to {MAX_PORTS}");
            let refusal = Refusal::new(&node.at, message).found(shown(node.value));
            refusal.code(Code::Template).err()
        }
    }
}

/// A fat tree of routers with `k` ports (M. Al-Fares, A. Loukissas, A. Vahdat, "A scalable, commodity
/// data center network architecture", SIGCOMM 2008): `k` pods with k/2 edge and k/2 aggregation routers
/// each, (k/2)² core routers, k³/4 hosts. Forward is upwards.
pub(super) fn fat_tree(node: &Node<'_>) -> Result<Topology> {
    let fields = node.any_fields()?;
    let k = ports(&fields.need("k")?)?;
    let spray = sprayed(&fields, "per_flow")?;
    let pipes = shaped(&Both::read(&fields)?.directions(), [0, 0]);
    let (half, edges) = (k / 2, k * k / 2);
    let mut out = Topology::default();
    for edge in 1..=edges {
        for j in 1..=half {
            let host = format!("h{}", (edge - 1) * half + j);
            out.link(&host, &format!("edge{edge}"), &pipes, &node.at);
            out.hosts.push(host);
        }
    }
    for edge in 1..=edges {
        let pod = (edge - 1) / half;
        for j in 1..=half {
            out.link(&format!("edge{edge}"), &format!("agg{}", pod * half + j), &pipes, &node.at);
        }
    }
    for agg in 1..=edges {
        let first = (agg - 1) % half * half;
        for j in 1..=half {
            out.link(&format!("agg{agg}"), &format!("core{}", first + j), &pipes, &node.at);
        }
    }
    for (name, count) in [("edge", edges), ("agg", edges), ("core", half * half)] {
        out.tier(name, count, &spray);
    }
    Ok(out)
}

/// Leaf routers with hosts; every leaf is linked to every spine. Forward is upwards.
pub(super) fn leaf_spine(node: &Node<'_>) -> Result<Topology> {
    let fields = node.any_fields()?;
    let count = |name| fields.need(name)?.whole(1, MOST_OF_A_TIER);
    let (leaves, spines, hosts) = (count("leaves")?, count("spines")?, count("hosts_per_leaf")?);
    let spray = sprayed(&fields, "per_flow")?;
    let common = Both::read(&fields)?.directions();
    let uplinks = fields.read("uplinks", Both::alone)?.unwrap_or_default();
    let uplink = shaped(&uplinks.over([&common[0], &common[1]]), [0, 0]);
    let pipes = shaped(&common, [0, 0]);
    let mut out = Topology::default();
    for leaf in 1..=leaves {
        for j in 1..=hosts {
            let host = format!("h{}", (leaf - 1) * hosts + j);
            out.link(&host, &format!("leaf{leaf}"), &pipes, &node.at);
            out.hosts.push(host);
        }
    }
    for leaf in 1..=leaves {
        for spine in 1..=spines {
            out.link(&format!("leaf{leaf}"), &format!("spine{spine}"), &uplink, &node.at);
        }
    }
    for (name, count) in [("leaf", leaves), ("spine", spines)] {
        out.tier(name, count, &spray);
    }
    Ok(out)
}
