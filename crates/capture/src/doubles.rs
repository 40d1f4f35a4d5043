//! Frames captured twice: mirror ports that see a packet in and out, captures of all interfaces of a
//! host (`any`). The same TCP packet passes again within a moment; Ethernet addresses, tags, hop limit
//! and checksums may differ.

use crate::connection::Twin;
use crate::decode::IpPacket;
// Looked up, never iterated: results do not depend on its order.
use hashbrown::{DefaultHashBuilder, HashMap};
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hash, Hasher};

/// A frame passes both times within this.
const WITHIN_NS: i64 = 1_000_000;
/// Packets that are kept, whatever their stamps.
const PACKETS_MAX: usize = 1 << 13;
/// A file holds frames twice if at least one in so many does.
const ONE_IN: u64 = 4;
/// Bytes 16 and 17 of a TCP header are its checksum, which offload may not have filled in yet.
const CHECKSUM: std::ops::Range<usize> = 16..18;

/// So much of a TCP packet is compared: its header and the beginning of its data. Sequence numbers and
/// timestamps tell packets apart; hashing all data would cost as much as the rest of the analysis.
const COMPARED_BYTES: usize = 128;

#[derive(Clone, Copy, Debug)]
struct Last {
    now_ns: i64,
    identification: Option<u16>,
    /// How often the packet has passed before.
    times: u32,
}

/// The packets of the last moment.
#[derive(Debug, Default)]
pub(crate) struct Doubles {
    hasher: DefaultHashBuilder,
    latest: HashMap<u64, Last>,
    order: VecDeque<(i64, u64)>,
    /// SYNs and data, and how many of them had passed before.
    packets: u64,
    again: u64,
}

impl Doubles {
    /// A packet of TCP passes, sent by `side` of a conversation at an interface. Returns its twin, if
    /// one has passed.
    pub(crate) fn add(
        &mut self,
        now_ns: i64,
        (conversation, interface, side): (u32, u32, usize),
        packet: &IpPacket<'_>,
        told: bool,
    ) -> Option<Twin> {
        let key = self.key((conversation, interface, side), packet);
        self.forget(now_ns);
        // 0 is left where nothing counts.
        let identification = packet.identification.filter(|known| *known != 0);
        let before = self.latest.get(&key).copied();
        let before = before.filter(|last| match (last.identification, identification) {
            (Some(one), Some(other)) => one == other,
            (None, None) => true,
            _ => false,
        });
        let times = before.map_or(0, |last| last.times.saturating_add(1));
        self.latest.insert(key, Last { now_ns, identification, times });
        self.order.push_back((now_ns, key));
        if told {
            self.packets += 1;
            self.again += u64::from(before.is_some());
        }
        before.map(|last| Twin {
            after_ns: now_ns.saturating_sub(last.now_ns),
            identified: identification.is_some(),
            odd: times % 2 == 1,
        })
    }

    /// Does this file hold frames twice?
    pub(crate) fn doubled(&self) -> bool {
        self.again > 0 && self.again * ONE_IN >= self.packets
    }

    fn key(&self, of: (u32, u32, usize), packet: &IpPacket<'_>) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        of.hash(&mut hasher);
        packet.above_bytes.hash(&mut hasher);
        let above = &packet.above[..packet.above.len().min(COMPARED_BYTES)];
        above[..above.len().min(CHECKSUM.start)].hash(&mut hasher);
        above.get(CHECKSUM.end..).hash(&mut hasher);
        hasher.finish()
    }

    fn forget(&mut self, now_ns: i64) {
        while let Some(&(at_ns, key)) = self.order.front() {
            if now_ns.saturating_sub(at_ns) <= WITHIN_NS && self.order.len() < PACKETS_MAX {
                return;
            }
            self.order.pop_front();
            if self.latest.get(&key).is_some_and(|last| last.now_ns == at_ns) {
                self.latest.remove(&key);
            }
        }
    }
}
