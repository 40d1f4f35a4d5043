//! Echo requests and replies (RFC 792, RFC 4443) per interface: distribution over paths and RTT.

use crate::decode::{be32, Address, IpPacket};
use std::collections::BTreeMap;

const ICMP: u8 = 1;
const ICMP6: u8 = 58;
/// Maximum number of pings; further pings are not counted.
const PINGS_MAX: usize = 4096;
/// Maximum number of outstanding requests per ping.
const WAITING_MAX: usize = 1024;

/// Interface, requester, responder, identifier.
pub type Key = (u32, Address, Address, u16);

/// Requests and replies of one ping.
#[derive(Clone, Debug, Default)]
pub struct Ping {
    /// Requests with even and odd sequence numbers.
    pub requests: [u64; 2],
    /// Replies with even and odd sequence numbers.
    pub replies: [u64; 2],
    /// Requests with a reply at the same interface.
    pub answered: u64,
    /// Sum of RTTs.
    pub rtt_sum_ns: i128,
    /// Minimum RTT; 0 without replies.
    pub rtt_min_ns: i64,
    /// Maximum RTT; 0 without replies.
    pub rtt_max_ns: i64,
    waiting: BTreeMap<u16, i64>,
}

/// All pings of a file.
#[derive(Debug, Default)]
pub struct Pings {
    pings: BTreeMap<Key, Ping>,
}

impl Pings {
    /// Iterates in order of interface and addresses.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Ping)> {
        self.pings.iter()
    }

    pub(crate) fn add(&mut self, interface: u32, now_ns: i64, packet: &IpPacket<'_>) {
        let whole = packet.fragment.is_none_or(|fragment| fragment.offset_bytes == 0);
        let kind = packet.payload.first().filter(|_| whole);
        let request = match (packet.protocol, kind) {
            (ICMP, Some(8)) | (ICMP6, Some(128)) => true,
            (ICMP, Some(0)) | (ICMP6, Some(129)) => false,
            _ => return,
        };
        let Some(numbers) = be32(packet.payload, 4) else { return };
        let (identifier, sequence) = ((numbers >> 16) as u16, numbers as u16);
        let (from, to) = (packet.source, packet.destination);
        let (asker, asked) = if request { (from, to) } else { (to, from) };
        let key = (interface, asker, asked, identifier);
        if self.pings.len() >= PINGS_MAX && !self.pings.contains_key(&key) {
            return;
        }
        let ping = self.pings.entry(key).or_default();
        let odd = usize::from(sequence % 2);
        if request {
            ping.requests[odd] += 1;
            if ping.waiting.len() == WAITING_MAX {
                ping.waiting.pop_first();
            }
            ping.waiting.insert(sequence, now_ns);
        } else {
            ping.replies[odd] += 1;
            if let Some(asked_ns) = ping.waiting.remove(&sequence) {
                ping.answer(now_ns - asked_ns);
            }
        }
    }
}

impl Ping {
    fn answer(&mut self, rtt_ns: i64) {
        self.rtt_min_ns = if self.answered == 0 { rtt_ns } else { self.rtt_min_ns.min(rtt_ns) };
        self.rtt_max_ns = self.rtt_max_ns.max(rtt_ns);
        self.rtt_sum_ns += i128::from(rtt_ns);
        self.answered += 1;
    }
}
