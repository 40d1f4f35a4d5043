//! Counters of a link direction: queue, throughput, delays.

use crate::delays::Delays;
use crate::event::{Event, EventKind};
use hashbrown::HashMap;

/// Maximum number of packets in a queue or on a line; beyond it, all are forgotten.
const INSIDE_MAX: usize = 1 << 16;

#[derive(Clone, Copy, Debug)]
struct Inside {
    since_ns: i64,
    bytes: u32,
}

/// Packets by number: queue disciplines may reorder them.
type Packets = HashMap<u64, Inside>;

/// Adds a packet. Returns the number of packets forgotten for it, and their bytes.
fn put(inside: &mut Packets, uid: u64, one: Inside) -> (u64, u64) {
    let mut forgotten = (0, 0);
    if inside.len() >= INSIDE_MAX {
        forgotten = (inside.len() as u64, inside.values().map(|one| u64::from(one.bytes)).sum());
        inside.clear();
    }
    // An earlier packet with this number never left.
    if let Some(before) = inside.insert(uid, one) {
        forgotten = (1, u64::from(before.bytes));
    }
    forgotten
}

/// DropPlace of a drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropPlace {
    /// In the queue.
    Queue,
    /// After the queue.
    Line,
}

impl DropPlace {
    /// Value of the column `reason` of drops.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Line => "line",
        }
    }
}

/// Counters of a direction of a link.
#[derive(Clone, Debug, Default)]
pub struct LinkCounts {
    /// Packets that arrived at the link.
    pub arrived_packets: u64,
    /// Sum of their bytes.
    pub arrived_bytes: u64,
    /// Packets that left the link.
    pub left_packets: u64,
    /// Sum of their bytes.
    pub left_bytes: u64,
    /// Drops in the queue, and after it.
    pub dropped: [u64; 2],
    /// Bytes that left the queue.
    pub sent_bytes: u64,
    /// Queueing delays.
    pub waits: Delays,
    /// Delays from the queue to the other end.
    pub transits: Delays,
    /// Sum of queueing delays, for means over intervals.
    pub waited_ns: i64,
    queue_max: usize,
    waiting: Packets,
    waiting_bytes: u64,
    in_transit: Packets,
    forgotten: u64,
    /// Time and size of the last departure.
    last: Option<(i64, u32)>,
    /// Bytes that were followed by another waiting packet, and the time they took.
    busy: (u64, i64),
}

impl LinkCounts {
    /// Number of queued packets, and their bytes.
    pub fn waiting(&self) -> (usize, u64) {
        (self.waiting.len(), self.waiting_bytes)
    }

    /// Maximum number of queued packets.
    pub fn queue_max(&self) -> usize {
        self.queue_max.max(self.waiting.len())
    }

    /// Number of packets in the queue or on the line.
    pub fn inside(&self) -> u64 {
        self.waiting.len() as u64 + self.in_transit.len() as u64 + self.forgotten
    }

    /// Rate at which queued packets followed each other; `None` if no packet ever waited.
    pub fn rate_bps(&self) -> Option<f64> {
        let (bytes, ns) = self.busy;
        (ns > 0).then(|| bytes as f64 * 8e9 / ns as f64)
    }

    /// Processes an event. Returns the place of a drop.
    pub(crate) fn event(&mut self, event: &Event) -> Option<DropPlace> {
        let Event { time_ns, uid, bytes, .. } = *event;
        let here = Inside { since_ns: time_ns, bytes };
        match event.what {
            EventKind::Enqueue => {
                self.arrived_packets += 1;
                self.arrived_bytes += u64::from(bytes);
                let forgotten = put(&mut self.waiting, uid, here);
                self.forgotten += forgotten.0;
                self.waiting_bytes += u64::from(bytes);
                self.waiting_bytes = self.waiting_bytes.saturating_sub(forgotten.1);
                None
            }
            EventKind::Dequeue => {
                let before = self.waiting.len();
                if let Some(waited) = self.waiting.remove(&uid) {
                    self.waiting_bytes = self.waiting_bytes.saturating_sub(u64::from(waited.bytes));
                    let wait_ns = time_ns - waited.since_ns;
                    self.waits.add(wait_ns);
                    self.waited_ns = self.waited_ns.saturating_add(wait_ns);
                    // A packet that leaves at once never waited.
                    let waited = before - usize::from(wait_ns == 0);
                    self.queue_max = self.queue_max.max(waited);
                    if let (true, Some((at, bytes))) = (wait_ns > 0, self.last) {
                        self.busy.0 += u64::from(bytes);
                        self.busy.1 = self.busy.1.saturating_add(time_ns - at);
                    }
                }
                self.last = Some((time_ns, bytes));
                self.sent_bytes += u64::from(bytes);
                self.forgotten += put(&mut self.in_transit, uid, here).0;
                None
            }
            EventKind::Receive => {
                if let Some(left) = self.in_transit.remove(&uid) {
                    self.transits.add(time_ns - left.since_ns);
                }
                self.left_packets += 1;
                self.left_bytes += u64::from(bytes);
                None
            }
            EventKind::Drop => {
                let place = if let Some(waiting) = self.waiting.remove(&uid) {
                    self.waiting_bytes =
                        self.waiting_bytes.saturating_sub(u64::from(waiting.bytes));
                    DropPlace::Queue
                } else if self.in_transit.remove(&uid).is_some() {
                    DropPlace::Line
                } else {
                    DropPlace::Queue
                };
                self.dropped[place as usize] += 1;
                Some(place)
            }
        }
    }
}
