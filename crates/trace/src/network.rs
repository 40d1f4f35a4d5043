//! Nodes, links and streams of a trace, limited in number.

use hashbrown::HashMap;

/// Maximum number of links.
pub(crate) const LINKS_MAX: usize = 20_000;
/// Maximum number of streams (directions of flows).
pub(crate) const STREAMS_MAX: usize = 20_000;

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Number of the sending node.
    pub from: u32,
    /// Number of the receiving node, once it is known.
    pub to: Option<u32>,
}

/// One direction of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Number of its flow.
    pub flow: u32,
    /// True for the flow's direction that appeared first.
    pub outward: bool,
    /// Packet type of its first packet in the trace.
    pub kind: String,
    /// Flow id in the trace; -1 without one.
    pub fid: i64,
    /// Endpoints as written in the trace.
    pub ends: [String; 2],
}

/// Network of a trace.
#[derive(Debug, Default)]
pub struct Network {
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// Directions of links.
    pub links: Vec<Link>,
    /// Directions of flows.
    pub streams: Vec<Stream>,
    /// Outward stream of each flow.
    pub flows: Vec<u32>,
    nodes_by_name: HashMap<Box<[u8]>, u32>,
    links_by_key: HashMap<u64, u32>,
    streams_by_key: HashMap<Box<[u8]>, u32>,
    streams_by_ends: HashMap<(i64, String, String), u32>,
}

impl Network {
    /// Number of a node by name.
    pub(crate) fn node(&mut self, name: &[u8]) -> u32 {
        if let Some(&number) = self.nodes_by_name.get(name) {
            return number;
        }
        let number = self.nodes.len() as u32;
        self.nodes.push(String::from_utf8_lossy(name).into_owned());
        self.nodes_by_name.insert(name.into(), number);
        number
    }

    /// Link of a key; `new` creates it. `None` if there are too many links.
    #[inline]
    pub(crate) fn link(&mut self, key: u64, new: impl FnOnce(&mut Self) -> Link) -> Option<u32> {
        if let Some(&number) = self.links_by_key.get(&key) {
            return Some(number);
        }
        if self.links.len() >= LINKS_MAX {
            return None;
        }
        let link = new(self);
        let number = self.links.len() as u32;
        self.links.push(link);
        self.links_by_key.insert(key, number);
        Some(number)
    }

    /// Stream of a key; `new` returns its kind, flow id and endpoints. `None` if there are too many
    /// streams.
    #[inline]
    pub(crate) fn stream(
        &mut self,
        key: &[u8],
        new: impl FnOnce() -> (String, i64, [String; 2]),
    ) -> Option<u32> {
        if let Some(&number) = self.streams_by_key.get(key) {
            return Some(number);
        }
        self.new_stream(key, new())
    }

    #[cold]
    fn new_stream(&mut self, key: &[u8], named: (String, i64, [String; 2])) -> Option<u32> {
        if self.streams.len() >= STREAMS_MAX {
            return None;
        }
        let (kind, fid, ends) = named;
        let number = self.streams.len() as u32;
        let back = (fid, ends[1].clone(), ends[0].clone());
        let other = self.streams_by_ends.get(&back).copied();
        let flow = match other {
            Some(other) => self.streams[other as usize].flow,
            None => {
                self.flows.push(number);
                self.flows.len() as u32 - 1
            }
        };
        self.streams_by_key.insert(key.into(), number);
        self.streams_by_ends.insert((fid, ends[0].clone(), ends[1].clone()), number);
        self.streams.push(Stream { flow, outward: other.is_none(), kind, fid, ends });
        Some(number)
    }

    /// Name of a flow.
    pub fn flow_name(&self, flow: u32) -> String {
        let first = self.flows[flow as usize] as usize;
        let Stream { kind, fid, ends: [from, to], .. } = &self.streams[first];
        match fid {
            -1 => format!("{kind} {from}→{to}"),
            fid => format!("{fid}: {kind} {from}→{to}"),
        }
    }

    /// Name of a link direction: `link/direction`. Two opposite links between the same nodes are
    /// the directions of one link; the lower node comes first.
    pub fn pipe_name(&self, link: u32) -> String {
        let Link { from, to } = &self.links[link as usize];
        let from = &self.nodes[*from as usize];
        let Some(to) = to.map(|to| &self.nodes[to as usize]) else {
            return format!("{from}-?/forward");
        };
        let order = |name: &String| (name.parse::<u64>().unwrap_or(u64::MAX), name.clone());
        if order(from) <= order(to) {
            format!("{from}-{to}/forward")
        } else {
            format!("{to}-{from}/backward")
        }
    }
}
