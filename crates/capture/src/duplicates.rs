//! Detection of frames captured twice: mirror ports that copy both directions of a port, captures
//! of all interfaces of a host (`any`), captures of several places in one file. The TCP packet repeats;
//! Ethernet addresses, tags, hop limit and checksums may differ.

use crate::connection::judge::Evidence;
use crate::connection::EarlierCapture;
use crate::decode::IpPacket;
// For look-ups only, never iterated: results do not depend on the order.
use hashbrown::{DefaultHashBuilder, HashMap};
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hash, Hasher};

/// Maximum time between two captures of a frame.
const WITHIN_NS: i64 = 1_000_000;
/// The same, if no retransmission repeats the frame: the places of a merged file may be far apart.
const APART_NS: i64 = 1_000_000_000;
/// Tick of timestamps in most systems, at most.
const TICK_NS: i64 = 20_000_000;
/// Least time-out of a SYN.
const SYN_TIMEOUT_NS: i64 = 150_000_000;
/// Maximum number of packets kept: more would not fit the nearer caches.
const PACKETS_MAX: usize = 1 << 11;
/// A file counts as duplicated if at least one in this many frames repeats.
const ONE_IN: u64 = 4;
/// Checksum in a TCP header; offload may not have filled it in.
const CHECKSUM: std::ops::Range<usize> = 16..18;

/// Bytes of a TCP packet that are compared: the header and the start of the payload. Sequence
/// numbers and timestamps distinguish packets. Hashing all data would cost as much as the rest of
/// the analysis.
const COMPARED_BYTES: usize = 128;

#[derive(Clone, Copy, Debug)]
struct Last {
    now_ns: i64,
    identification: Option<u16>,
    /// Number of earlier captures of the packet.
    times: u32,
}

/// Signs of a copy, beside those of a retransmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sighting {
    /// Conversation, interface and side.
    pub(crate) of: (u32, u32, usize),
    pub(crate) syn: bool,
    /// It has a timestamp option.
    pub(crate) stamped: bool,
    /// Its sender gives packets different identifications.
    pub(crate) varies: bool,
}

impl Sighting {
    /// Evidence that a frame with equal TCP header and payload is a copy. `Content`: unless a
    /// retransmission is expected. `None`: it is not.
    fn evidence(self, last: Last, identification: Option<u16>, after_ns: i64) -> Option<Evidence> {
        let soon = after_ns <= WITHIN_NS;
        let untimed = self.syn && after_ns <= SYN_TIMEOUT_NS;
        match (last.identification, identification) {
            (Some(one), Some(other)) => (one == other && (soon || untimed || self.varies))
                .then_some(Evidence::Identification),
            (None, None) if soon => Some(Evidence::Content),
            (None, None) if untimed => Some(Evidence::Time),
            // The sender's clock would have moved.
            (None, None) if self.stamped && after_ns > TICK_NS => Some(Evidence::Content),
            _ => None,
        }
    }
}

/// Packets of the last second.
#[derive(Debug, Default)]
pub(crate) struct Duplicates {
    hasher: DefaultHashBuilder,
    latest: HashMap<u64, Last>,
    order: VecDeque<(i64, u64)>,
    /// SYNs and data packets.
    packets: u64,
    again: u64,
    /// Frames captured twice farther apart than one place explains.
    apart: Apart,
}

/// Frames captured again after more than [`WITHIN_NS`], and the sum of these times.
#[derive(Clone, Copy, Debug, Default)]
pub struct Apart {
    /// Frames.
    pub packets: u64,
    /// Sum of the times, ns.
    pub sum_ns: i64,
}

impl Duplicates {
    /// Processes a TCP packet of `side` of a conversation at an interface. Returns the earlier
    /// capture of the packet, if any.
    pub(crate) fn add(
        &mut self,
        now_ns: i64,
        packet: &IpPacket<'_>,
        seen: Sighting,
        counts: bool,
    ) -> Option<EarlierCapture> {
        let key = self.key(seen.of, packet);
        self.forget(now_ns);
        // Linux sends 0 where it does not count.
        let identification = packet.identification.filter(|known| *known != 0);
        let before = self.latest.get(&key).and_then(|last| {
            let after_ns = now_ns.saturating_sub(last.now_ns);
            Some((*last, after_ns, seen.evidence(*last, identification, after_ns)?))
        });
        let times = before.map_or(0, |(last, ..)| last.times.saturating_add(1));
        self.latest.insert(key, Last { now_ns, identification, times });
        self.order.push_back((now_ns, key));
        if counts {
            self.packets += 1;
            self.again += u64::from(before.is_some());
        }
        let (_, after_ns, evidence) = before?;
        if after_ns > WITHIN_NS {
            self.apart.packets += 1;
            self.apart.sum_ns = self.apart.sum_ns.saturating_add(after_ns);
        }
        Some(EarlierCapture { after_ns, evidence, odd: times % 2 == 1 })
    }

    /// Returns true if this file contains frames twice.
    pub(crate) fn duplicated(&self) -> bool {
        self.again > 0 && self.again * ONE_IN >= self.packets
    }

    /// Frames that were captured at two places.
    pub(crate) fn apart(&self) -> Apart {
        self.apart
    }

    fn key(&self, of: (u32, u32, usize), packet: &IpPacket<'_>) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        of.hash(&mut hasher);
        packet.payload_bytes.hash(&mut hasher);
        let above = &packet.payload[..packet.payload.len().min(COMPARED_BYTES)];
        above[..above.len().min(CHECKSUM.start)].hash(&mut hasher);
        above.get(CHECKSUM.end..).hash(&mut hasher);
        hasher.finish()
    }

    fn forget(&mut self, now_ns: i64) {
        while let Some(&(at_ns, key)) = self.order.front() {
            let kept = now_ns.saturating_sub(at_ns) <= APART_NS;
            if kept && self.order.len() < PACKETS_MAX {
                return;
            }
            self.order.pop_front();
            if self.latest.get(&key).is_some_and(|last| last.now_ns == at_ns) {
                self.latest.remove(&key);
            }
        }
    }
}
