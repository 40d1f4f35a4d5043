//! Counters of a flow direction: sent, retransmitted, dropped, delivered, delays.

use crate::delays::Delays;
use crate::event::{Event, EventKind, PacketKind};
use crate::network::Network;
use crate::sequence::{Point, Points};
use hashbrown::HashMap;
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of packets in transit; beyond it, the oldest is forgotten.
const IN_TRANSIT_MAX: usize = 1 << 18;
/// Maximum number of gaps in the received data.
const GAPS_MAX: usize = 4096;

/// Received sequence numbers as disjoint ranges that do not touch.
#[derive(Clone, Debug, Default)]
struct Received {
    ranges: BTreeMap<i64, i64>,
}

impl Received {
    /// Adds a range. Returns the number of new sequence numbers.
    fn add(&mut self, start: i64, end: i64) -> i64 {
        let (mut low, mut high) = (start, end);
        let mut had = 0;
        while let Some((&from, &to)) = self.ranges.range(..=high).next_back() {
            if to < low {
                break;
            }
            had += (to.min(end) - from.max(start)).max(0);
            low = low.min(from);
            high = high.max(to);
            self.ranges.remove(&from);
        }
        if self.ranges.len() >= GAPS_MAX {
            // The earliest gap counts as filled.
            if let (Some((&from, _)), Some(to)) =
                (self.ranges.iter().next(), self.ranges.values().nth(1).copied())
            {
                self.ranges.pop_first();
                self.ranges.pop_first();
                self.ranges.insert(from, to);
            }
        }
        self.ranges.insert(low, high);
        end - start - had
    }
}

/// Unit of sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Unknown,
    Packets,
    Bytes,
}

/// Counters of a stream.
#[derive(Clone, Debug)]
pub struct StreamCounts {
    /// Node where its packets begin.
    pub from: Option<u32>,
    /// Node where its packets end.
    pub to: Option<u32>,
    /// Times of the first and the last packet.
    pub times_ns: Option<(i64, i64)>,
    /// Sent packets.
    pub sent_packets: u64,
    /// Sum of their bytes.
    pub sent_bytes: u64,
    /// Sent packets with data.
    pub data_packets: u64,
    /// Retransmitted data packets.
    pub retransmitted_packets: u64,
    /// Received packets.
    pub received_packets: u64,
    /// Sum of their bytes.
    pub received_bytes: u64,
    /// Received bytes without repetitions: payload if the trace contains it, else whole packets.
    pub delivered_bytes: u64,
    /// Time of the last delivery; -1 before the first.
    pub last_delivery_ns: i64,
    /// Packets dropped at any link.
    pub dropped_packets: u64,
    /// Delays from the first link to the end.
    pub delays: Delays,
    /// Points of the sequence plot: sent, retransmitted, dropped.
    pub(crate) points: [Points; 3],
    unit: Unit,
    highest: i64,
    received: Received,
    /// Destination node by its address, if addresses are nodes.
    destination: Option<String>,
    /// Packet that may have reached its end, and the node.
    candidate: Option<(Event, u32)>,
}

impl Default for StreamCounts {
    fn default() -> Self {
        Self {
            from: None,
            to: None,
            times_ns: None,
            sent_packets: 0,
            sent_bytes: 0,
            data_packets: 0,
            retransmitted_packets: 0,
            received_packets: 0,
            received_bytes: 0,
            delivered_bytes: 0,
            last_delivery_ns: -1,
            dropped_packets: 0,
            delays: Delays::default(),
            points: Default::default(),
            unit: Unit::Unknown,
            highest: -1,
            received: Received::default(),
            destination: None,
            candidate: None,
        }
    }
}

impl StreamCounts {
    fn end_of(&self, event: &Event) -> i64 {
        match (self.unit, event.payload_bytes) {
            (Unit::Bytes, Some(payload)) => event.seq + i64::from(payload),
            (Unit::Bytes, None) => event.seq + i64::from(event.bytes),
            _ => event.seq + 1,
        }
    }

    /// Processes a sent packet.
    fn sent(&mut self, event: &Event) {
        self.sent_packets += 1;
        self.sent_bytes += u64::from(event.bytes);
        let at = event.time_ns;
        self.times_ns = Some((self.times_ns.map_or(at, |(first, _)| first), at));
        if event.kind == PacketKind::Ack {
            return;
        }
        self.data_packets += 1;
        let point = Point { time_ns: at, seq: event.seq };
        if event.kind == PacketKind::Data && event.seq <= self.highest {
            self.retransmitted_packets += 1;
            self.points[1].add(point);
            return;
        }
        if self.unit == Unit::Unknown && self.highest >= 0 {
            // One-way TCP counts packets, FullTcp counts bytes.
            let step = event.seq - self.highest;
            self.unit = if step == 1 { Unit::Packets } else { Unit::Bytes };
        }
        self.highest = event.seq;
        self.points[0].add(point);
    }

    /// Processes a received packet.
    fn delivered(&mut self, event: &Event, began_ns: Option<i64>) {
        self.received_packets += 1;
        self.received_bytes += u64::from(event.bytes);
        if let Some(began_ns) = began_ns {
            self.delays.add(event.time_ns - began_ns);
        }
        let payload = u64::from(event.payload_bytes.unwrap_or(event.bytes));
        let new = match event.kind {
            PacketKind::Ack => 0,
            PacketKind::Other => payload,
            PacketKind::Data => {
                let end = self.end_of(event);
                let new = self.received.add(event.seq, end) as u64;
                // If sequence numbers count packets, a packet is either new or repeated.
                if self.unit == Unit::Bytes {
                    new.min(payload)
                } else {
                    new * payload
                }
            }
        };
        if new > 0 {
            self.delivered_bytes += new;
            self.last_delivery_ns = event.time_ns;
        }
    }
}

/// Node of a flat address `node.port`.
fn node_of(end: &str) -> Option<&str> {
    end.split_once('.').map(|(node, _)| node)
}

/// Returns true for a multicast address, from 2^30, or the broadcast address -1.
fn is_group(address: &str) -> bool {
    address.parse::<i64>().is_ok_and(|number| !(0..1 << 30).contains(&number))
}

/// All streams and the packets in transit.
#[derive(Debug, Default)]
pub struct Streams {
    /// Counters by stream.
    pub counts: Vec<StreamCounts>,
    /// Send times of packets in transit.
    in_transit: HashMap<u64, i64>,
    order: VecDeque<u64>,
    /// Streams with a packet that may have reached its end.
    candidate: Vec<u32>,
}

impl Streams {
    fn begin(&mut self, event: &Event) {
        self.in_transit.insert(event.uid, event.time_ns);
        self.order.push_back(event.uid);
        if self.in_transit.len() > IN_TRANSIT_MAX {
            while let Some(oldest) = self.order.pop_front() {
                if self.in_transit.remove(&oldest).is_some() {
                    break;
                }
            }
        }
        if self.order.len() > 2 * self.in_transit.len() + 1024 {
            let Self { order, in_transit, .. } = self;
            order.retain(|uid| in_transit.contains_key(uid));
        }
    }

    /// Finds the ends of streams. A node forwards at once, so the first packet that stays at a node
    /// has reached its end.
    pub(crate) fn settle(&mut self, now_ns: i64) {
        if self.candidate.is_empty() {
            return;
        }
        let mut left = std::mem::take(&mut self.candidate);
        left.retain(|&stream| {
            let counts = &mut self.counts[stream as usize];
            let Some((event, node)) = counts.candidate else { return false };
            if event.time_ns == now_ns {
                return true;
            }
            counts.candidate = None;
            counts.to = Some(node);
            let began = self.in_transit.remove(&event.uid);
            counts.delivered(&event, began);
            false
        });
        self.candidate = left;
    }

    /// Processes an event.
    pub(crate) fn event(&mut self, network: &Network, event: &Event) {
        self.settle(event.time_ns);
        let number = event.stream as usize;
        if number >= self.counts.len() {
            self.counts.resize_with(number + 1, StreamCounts::default);
        }
        let counts = &mut self.counts[number];
        let link = &network.links[event.link as usize];
        match event.what {
            EventKind::Enqueue => {
                if counts.from.is_none() {
                    let [here, there] =
                        [&network.streams[number].ends[0], &network.streams[number].ends[1]];
                    if node_of(here) == Some(network.nodes[link.from as usize].as_str()) {
                        counts.destination = node_of(there)
                            .filter(|destination| !is_group(destination))
                            .map(str::to_owned);
                    }
                    counts.from = Some(link.from);
                }
                if counts.from == Some(link.from) {
                    counts.sent(event);
                    self.begin(event);
                } else if counts.candidate.is_some_and(|(one, _)| one.uid == event.uid) {
                    counts.candidate = None;
                }
            }
            EventKind::Dequeue => {}
            EventKind::Receive => match (counts.to, link.to) {
                (None, Some(to))
                    if counts.destination.as_ref() == Some(&network.nodes[to as usize]) =>
                {
                    counts.to = Some(to);
                    let began = self.in_transit.remove(&event.uid);
                    counts.delivered(event, began);
                }
                (Some(end), Some(to)) if end == to => {
                    let began = self.in_transit.remove(&event.uid);
                    counts.delivered(event, began);
                }
                (None, Some(to)) if counts.destination.is_none() && counts.candidate.is_none() => {
                    counts.candidate = Some((*event, to));
                    self.candidate.push(event.stream);
                }
                _ => {}
            },
            EventKind::Drop => {
                counts.dropped_packets += 1;
                if event.kind != PacketKind::Ack {
                    counts.points[2].add(Point { time_ns: event.time_ns, seq: event.seq });
                }
                self.in_transit.remove(&event.uid);
            }
        }
    }

    /// Processes the end of the trace.
    pub(crate) fn end(&mut self) {
        self.settle(i64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_count_each_number_once(adds in proptest::collection::vec((0..60i64, 1..9i64), 1..40)) {
            let mut received = Received::default();
            let mut there = [false; 80];
            for (start, length) in adds {
                let new = there[start as usize..(start + length) as usize]
                    .iter_mut()
                    .map(|one| std::mem::replace(one, true))
                    .filter(|had| !had)
                    .count();
                prop_assert_eq!(received.add(start, start + length), new as i64);
            }
        }
    }
}
