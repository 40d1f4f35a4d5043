//! Detection of frames captured twice: mirror ports that copy both directions of a port, captures
//! of all interfaces of a host (`any`), captures of several places in one file. The TCP packet repeats;
//! Ethernet addresses, tags, hop limit and checksums may differ.

use crate::connection::EarlierCapture;
use crate::decode::IpPacket;
// For look-ups only, never iterated: results do not depend on the order.
use hashbrown::{DefaultHashBuilder, HashMap};
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hash, Hasher};

/// Maximum time between two captures of a frame with an identification, which no retransmission
/// repeats: the places of a merged file may be far apart.
const IDENTIFIED_WITHIN_NS: i64 = 1_000_000_000;
/// Maximum time between two captures of a frame without one.
const WITHIN_NS: i64 = 1_000_000;
/// Maximum number of packets kept.
const PACKETS_MAX: usize = 1 << 13;
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
        (conversation, interface, side): (u32, u32, usize),
        packet: &IpPacket<'_>,
        counts: bool,
    ) -> Option<EarlierCapture> {
        let key = self.key((conversation, interface, side), packet);
        self.forget(now_ns);
        // Linux sends 0 where it does not count.
        let identification = packet.identification.filter(|known| *known != 0);
        let before = self.latest.get(&key).copied();
        let before = before.filter(|last| match (last.identification, identification) {
            (Some(one), Some(other)) => one == other,
            (None, None) => now_ns.saturating_sub(last.now_ns) <= WITHIN_NS,
            _ => false,
        });
        let times = before.map_or(0, |last| last.times.saturating_add(1));
        self.latest.insert(key, Last { now_ns, identification, times });
        self.order.push_back((now_ns, key));
        if counts {
            self.packets += 1;
            self.again += u64::from(before.is_some());
        }
        let after_ns = now_ns.saturating_sub(before?.now_ns);
        if after_ns > WITHIN_NS {
            self.apart.packets += 1;
            self.apart.sum_ns = self.apart.sum_ns.saturating_add(after_ns);
        }
        Some(EarlierCapture { after_ns, identified: identification.is_some(), odd: times % 2 == 1 })
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
            let kept = now_ns.saturating_sub(at_ns) <= IDENTIFIED_WITHIN_NS;
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
