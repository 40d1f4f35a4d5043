//! Reassembly state of fragmented IP packets. Only the first fragment contains ports; a packet
//! counts when it is complete.

use crate::decode::{Address, Fragment, IpPacket};
use std::collections::{BTreeMap, VecDeque};

type Key = (Address, Address, u8, u32);

/// Maximum number of incomplete packets; a new one evicts the oldest.
const PACKETS_MAX: usize = 4096;
/// Maximum number of ranges per packet.
const RANGES_MAX: usize = 256;

#[derive(Debug, Default)]
struct Partial {
    /// Received byte ranges, sorted; adjacent ranges are merged.
    ranges: Vec<(u32, u32)>,
    end: Option<u32>,
    ports: Option<(u16, u16)>,
}

/// Incomplete packets of a file.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    partial: BTreeMap<Key, Partial>,
    order: VecDeque<Key>,
}

impl Fragments {
    /// Adds a fragment. Returns the ports if the packet is complete and they are known.
    pub(crate) fn add(
        &mut self,
        packet: &IpPacket<'_>,
        fragment: Fragment,
        ports: Option<(u16, u16)>,
    ) -> Option<(u16, u16)> {
        let key = (packet.source, packet.destination, packet.protocol, fragment.identification);
        if !self.partial.contains_key(&key) {
            if self.order.len() == PACKETS_MAX {
                if let Some(oldest) = self.order.pop_front() {
                    self.partial.remove(&oldest);
                }
            }
            self.order.push_back(key);
        }
        let partial = self.partial.entry(key).or_default();
        partial.ports = partial.ports.or(ports);
        let (start, end) = (fragment.offset_bytes, fragment.offset_bytes + fragment.bytes);
        if !fragment.more {
            partial.end = Some(end);
        }
        partial.insert(start, end);
        if partial.end.is_none_or(|end| partial.ranges != [(0, end)]) {
            return None;
        }
        let ports = partial.ports;
        self.partial.remove(&key);
        self.order.retain(|other| *other != key);
        ports
    }
}

impl Partial {
    fn insert(&mut self, mut start: u32, mut end: u32) {
        if self.ranges.len() >= RANGES_MAX {
            return;
        }
        self.ranges.retain(|&(from, to)| {
            let apart = to < start || from > end;
            if !apart {
                (start, end) = (start.min(from), end.max(to));
            }
            apart
        });
        let at = self.ranges.partition_point(|&(from, _)| from < start);
        self.ranges.insert(at, (start, end));
    }
}
