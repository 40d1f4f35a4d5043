//! Nodes, links and streams as a trace makes them known. What is kept is bounded.

use hashbrown::HashMap;

/// More links than this are not followed.
pub(crate) const LINKS_MAX: usize = 20_000;
/// More streams (directions of flows) than this are not followed.
pub(crate) const STREAMS_MAX: usize = 20_000;

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Number of the node that sends.
    pub from: u32,
    /// Number of the node that receives, as soon as it is known.
    pub to: Option<u32>,
}

/// One direction of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Number of its flow.
    pub flow: u32,
    /// The first of the flow's directions to be seen.
    pub outward: bool,
    /// What the trace calls its packets, the first of them.
    pub kind: String,
    /// The flow's number in the trace; -1: it has none.
    pub fid: i64,
    /// Its ends as the trace writes them.
    pub ends: [String; 2],
}

/// All that was met.
#[derive(Debug, Default)]
pub struct Network {
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// Directions of links.
    pub links: Vec<Link>,
    /// Directions of flows.
    pub streams: Vec<Stream>,
    /// Of each flow, its outward stream.
    pub flows: Vec<u32>,
    nodes_by_name: HashMap<Box<[u8]>, u32>,
    links_by_key: HashMap<u64, u32>,
    streams_by_key: HashMap<Box<[u8]>, u32>,
    streams_by_ends: HashMap<(i64, String, String), u32>,
}

impl Network {
    /// The number of a node.
    pub(crate) fn node(&mut self, name: &[u8]) -> u32 {
        if let Some(&number) = self.nodes_by_name.get(name) {
            return number;
        }
        let number = self.nodes.len() as u32;
        self.nodes.push(String::from_utf8_lossy(name).into_owned());
        self.nodes_by_name.insert(name.into(), number);
        number
    }

    /// The link of a key, made with this if it is new; `None` if there are too many.
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

    /// The stream of a key, which says how it would be called.
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

    /// How a flow is called.
    pub fn flow_name(&self, flow: u32) -> String {
        let first = self.flows[flow as usize] as usize;
        let Stream { kind, fid, ends: [from, to], .. } = &self.streams[first];
        match fid {
            -1 => format!("{kind} {from}→{to}"),
            fid => format!("{fid}: {kind} {from}→{to}"),
        }
    }

    /// How a direction of a link is called: `link/direction`. Links that join the same nodes, one each
    /// way, are the directions of one; the lower node comes first.
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
