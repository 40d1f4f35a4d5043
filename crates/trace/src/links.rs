//! What a direction of a link did: its queue, what it carried, how long that took.

use crate::delays::Delays;
use crate::event::{Event, What};
use hashbrown::HashMap;

/// Packets in a queue, or on a line, that are remembered: beyond, all are forgotten.
const INSIDE_MAX: usize = 1 << 16;

#[derive(Clone, Copy, Debug)]
struct Inside {
    since_ns: i64,
    bytes: u32,
}

/// Packets by their numbers: disciplines let them go in any order.
type Packets = HashMap<u64, Inside>;

/// Adds one. What had to be forgotten for that: packets, and their bytes.
fn put(inside: &mut Packets, uid: u64, one: Inside) -> (u64, u64) {
    let mut forgotten = (0, 0);
    if inside.len() >= INSIDE_MAX {
        forgotten = (inside.len() as u64, inside.values().map(|one| u64::from(one.bytes)).sum());
        inside.clear();
    }
    // One of its number has come and never gone on.
    if let Some(before) = inside.insert(uid, one) {
        forgotten = (1, u64::from(before.bytes));
    }
    forgotten
}

/// Where a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the queue.
    Queue,
    /// After it had left the queue.
    Line,
}

impl Place {
    /// As in the column `reason` of drops.
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
    /// That came to it.
    pub arrived_packets: u64,
    /// Their bytes.
    pub arrived_bytes: u64,
    /// That came out of it.
    pub left_packets: u64,
    /// Their bytes.
    pub left_bytes: u64,
    /// Dropped in the queue, and after it.
    pub dropped: [u64; 2],
    /// Bytes that left the queue.
    pub sent_bytes: u64,
    /// Times in the queue.
    pub waits: Delays,
    /// Times from leaving the queue to the other end.
    pub transits: Delays,
    /// Their sum, for means over stretches of time.
    pub waited_ns: i64,
    queue_max: usize,
    waiting: Packets,
    waiting_bytes: u64,
    under_way: Packets,
    forgotten: u64,
    /// What left last: when, its size.
    last: Option<(i64, u32)>,
    /// Bytes that were followed at once by another packet, and the time that they took.
    busy: (u64, i64),
}

impl LinkCounts {
    /// Packets that wait, and their bytes.
    pub fn waiting(&self) -> (usize, u64) {
        (self.waiting.len(), self.waiting_bytes)
    }

    /// Most packets that ever waited.
    pub fn queue_max(&self) -> usize {
        self.queue_max.max(self.waiting.len())
    }

    /// Packets inside, in the queue or on the line.
    pub fn inside(&self) -> u64 {
        self.waiting.len() as u64 + self.under_way.len() as u64 + self.forgotten
    }

    /// The rate at which packets that waited followed each other; `None` if none ever did.
    pub fn rate_bps(&self) -> Option<f64> {
        let (bytes, ns) = self.busy;
        (ns > 0).then(|| bytes as f64 * 8e9 / ns as f64)
    }

    /// Something happens here. Tells where, if it is a drop.
    pub(crate) fn event(&mut self, event: &Event) -> Option<Place> {
        let Event { time_ns, uid, bytes, .. } = *event;
        let here = Inside { since_ns: time_ns, bytes };
        match event.what {
            What::Enqueue => {
                self.arrived_packets += 1;
                self.arrived_bytes += u64::from(bytes);
                let forgotten = put(&mut self.waiting, uid, here);
                self.forgotten += forgotten.0;
                self.waiting_bytes += u64::from(bytes);
                self.waiting_bytes = self.waiting_bytes.saturating_sub(forgotten.1);
                None
            }
            What::Dequeue => {
                let before = self.waiting.len();
                if let Some(waited) = self.waiting.remove(&uid) {
                    self.waiting_bytes = self.waiting_bytes.saturating_sub(u64::from(waited.bytes));
                    let wait_ns = time_ns - waited.since_ns;
                    self.waits.add(wait_ns);
                    self.waited_ns = self.waited_ns.saturating_add(wait_ns);
                    // What leaves at once never waited.
                    let waited = before - usize::from(wait_ns == 0);
                    self.queue_max = self.queue_max.max(waited);
                    if let (true, Some((at, bytes))) = (wait_ns > 0, self.last) {
                        self.busy.0 += u64::from(bytes);
                        self.busy.1 = self.busy.1.saturating_add(time_ns - at);
                    }
                }
                self.last = Some((time_ns, bytes));
                self.sent_bytes += u64::from(bytes);
                self.forgotten += put(&mut self.under_way, uid, here).0;
                None
            }
            What::Receive => {
                if let Some(left) = self.under_way.remove(&uid) {
                    self.transits.add(time_ns - left.since_ns);
                }
                self.left_packets += 1;
                self.left_bytes += u64::from(bytes);
                None
            }
            What::Drop => {
                let place = if let Some(waiting) = self.waiting.remove(&uid) {
                    self.waiting_bytes =
                        self.waiting_bytes.saturating_sub(u64::from(waiting.bytes));
                    Place::Queue
                } else if self.under_way.remove(&uid).is_some() {
                    Place::Line
                } else {
                    Place::Queue
                };
                self.dropped[place as usize] += 1;
                Some(place)
            }
        }
    }
}
