//! What a direction of a link did: its queue, what it carried, how long that took.

use crate::delays::Delays;
use crate::event::{Event, What};
use std::collections::VecDeque;

/// Packets in a queue or on a line that are remembered: beyond, the oldest is forgotten.
const INSIDE_MAX: usize = 1 << 16;

#[derive(Clone, Copy, Debug)]
struct Inside {
    uid: u64,
    since_ns: i64,
    bytes: u32,
}

/// Takes the packet out; the first is looked at first.
fn take(inside: &mut VecDeque<Inside>, uid: u64) -> Option<Inside> {
    if inside.front()?.uid == uid {
        return inside.pop_front();
    }
    let at = inside.iter().position(|one| one.uid == uid)?;
    inside.remove(at)
}

fn put(inside: &mut VecDeque<Inside>, one: Inside) -> bool {
    let full = inside.len() >= INSIDE_MAX;
    if full {
        inside.pop_front();
    }
    inside.push_back(one);
    full
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
    waiting: VecDeque<Inside>,
    waiting_bytes: u64,
    under_way: VecDeque<Inside>,
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
        let here = Inside { uid, since_ns: time_ns, bytes };
        match event.what {
            What::Enqueue => {
                self.arrived_packets += 1;
                self.arrived_bytes += u64::from(bytes);
                self.waiting_bytes += u64::from(bytes);
                if put(&mut self.waiting, here) {
                    self.forgotten += 1;
                }
                None
            }
            What::Dequeue => {
                let before = self.waiting.len();
                if let Some(waited) = take(&mut self.waiting, uid) {
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
                if put(&mut self.under_way, here) {
                    self.forgotten += 1;
                }
                None
            }
            What::Receive => {
                if let Some(left) = take(&mut self.under_way, uid) {
                    self.transits.add(time_ns - left.since_ns);
                }
                self.left_packets += 1;
                self.left_bytes += u64::from(bytes);
                None
            }
            What::Drop => {
                // The one that came last is the likeliest.
                let last = self.waiting.back().is_some_and(|one| one.uid == uid);
                let waiting =
                    if last { self.waiting.pop_back() } else { take(&mut self.waiting, uid) };
                let place = if let Some(waiting) = waiting {
                    self.waiting_bytes =
                        self.waiting_bytes.saturating_sub(u64::from(waiting.bytes));
                    Place::Queue
                } else if take(&mut self.under_way, uid).is_some() {
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
