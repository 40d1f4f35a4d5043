//! Reassembly of IP fragments at a host, as Linux does it (`net/ipv4/ip_fragment.c`,
//! `inet_fragment.c`).

use crate::arena::Handle;
use crate::wheel::Tick;
use dumbbell_model::{Span, Time};
use dumbbell_packet::frame::ETHERNET_HEADER_BYTES;
use dumbbell_packet::Body;
use std::collections::{BTreeMap, VecDeque};

/// Memory limit of all incomplete datagrams; beyond it every fragment is refused
/// (`net.ipv4.ipfrag_high_thresh`).
const HIGH_THRESHOLD_BYTES: u64 = 4 << 20;
/// Lifetime of an incomplete datagram from its first fragment on (`ipfrag_time`).
const TIMEOUT: Span = Span::from_ms(30_000);
/// Most fragments of one sender between two of one datagram (`ipfrag_max_dist`).
const MAX_DISTANCE: u64 = 64;
/// `struct ipq`.
const QUEUE_BYTES: u64 = 208;

/// One IP packet of a datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragment {
    pub(crate) flow: u32,
    /// Number of the datagram in its flow.
    pub(crate) datagram: u64,
    pub(crate) fragment: u32,
    pub(crate) fragments: u32,
    pub(crate) frame_bytes: u32,
    pub(crate) payload_bytes: u32,
}

impl Fragment {
    /// Memory of its buffer at the receiver (`skb->truesize`): headroom of the link and 15 bytes of
    /// slack, rounded to cache lines, with `skb_shared_info`, in a power of two; and the `sk_buff`.
    /// A router whose device needs more headroom, as TEQL's, has moved the data into the next power
    /// of two (`skb_cow` in `ip_forward`).
    fn truesize_bytes(self, copied: bool) -> u64 {
        let data = u64::from(self.frame_bytes - ETHERNET_HEADER_BYTES) + 16 + 15;
        let room = (data.next_multiple_of(64) + 320).next_power_of_two();
        room * if copied { 2 } else { 1 } + 256
    }
}

/// Returns the datagram that this fragment completes. `hosts`: receiver and sender.
pub(crate) fn defragment(
    reassembly: &mut [Reassembly],
    now: Time,
    handle: Handle,
    hosts: [u32; 2],
    body: &Body,
) -> Option<Body> {
    let &Body::Udp { datagram, payload_bytes, fragment, fragments } = body else { return None };
    let [to, from] = hosts;
    let (flow, frame_bytes) = (handle.flow, handle.frame_bytes);
    let part = Fragment { flow, datagram, fragment, fragments, frame_bytes, payload_bytes };
    let bytes = reassembly[to as usize].arrive(now, from, part)?;
    Some(Body::Udp { datagram, payload_bytes: bytes as u32, fragment: 0, fragments: 1 })
}

/// An incomplete datagram.
#[derive(Debug)]
struct Queue {
    /// Fragments that have arrived, one bit each.
    there: u64,
    payload_bytes: u64,
    memory_bytes: u64,
    expires: Time,
    /// Fragments of the sender counted when the last one of this datagram arrived.
    peer_count: u64,
}

/// Incomplete datagrams of one host.
pub(crate) struct Reassembly {
    /// A router on the path copied its packets.
    copied: bool,
    tick: Tick,
    queues: BTreeMap<(u32, u64), Queue>,
    /// Deadlines in order; one that differs from its datagram's is void.
    deadlines: VecDeque<(Time, (u32, u64))>,
    memory_bytes: u64,
    /// Fragments that have arrived, by sending host.
    peers: BTreeMap<u32, u64>,
}

impl Reassembly {
    /// Creates the state of a host; `hz`: its ticks a second; `copied`: a router on the path copied its
    /// packets.
    pub(crate) fn new(copied: bool, hz: u32) -> Self {
        Self {
            copied,
            tick: Tick::new(hz),
            queues: BTreeMap::new(),
            deadlines: VecDeque::new(),
            memory_bytes: 0,
            peers: BTreeMap::new(),
        }
    }

    /// Handles a fragment from host `peer` (`ip_defrag`). Returns the payload of its datagram if that
    /// is complete now.
    pub(crate) fn arrive(&mut self, now: Time, peer: u32, part: Fragment) -> Option<u64> {
        self.expire(now);
        // inet_frag_find: even a fragment that would complete a datagram is refused.
        if self.memory_bytes > HIGH_THRESHOLD_BYTES {
            return None;
        }
        let key = (part.flow, part.datagram);
        let count = self.peers.entry(peer).or_default();
        *count += 1;
        // A timer of the wheel: this far ahead, many datagrams share its bucket.
        let expires = self.tick.fires_after(now, TIMEOUT);
        let queue = self.queues.entry(key).or_insert_with(|| {
            self.deadlines.push_back((expires, key));
            self.memory_bytes += QUEUE_BYTES;
            let peer_count = *count;
            Queue { there: 0, payload_bytes: 0, memory_bytes: QUEUE_BYTES, expires, peer_count }
        });
        // ip_frag_too_far, ip_frag_reinit: begin again with this fragment.
        if queue.there != 0 && *count - queue.peer_count > MAX_DISTANCE {
            self.memory_bytes -= queue.memory_bytes - QUEUE_BYTES;
            *queue = Queue {
                there: 0,
                payload_bytes: 0,
                memory_bytes: QUEUE_BYTES,
                expires,
                peer_count: *count,
            };
            self.deadlines.push_back((expires, key));
        }
        queue.peer_count = *count;
        let bit = 1 << part.fragment.min(63);
        if queue.there & bit != 0 {
            return None;
        }
        queue.there |= bit;
        queue.payload_bytes += u64::from(part.payload_bytes);
        let bytes = part.truesize_bytes(self.copied);
        queue.memory_bytes += bytes;
        self.memory_bytes += bytes;
        if queue.there.count_ones() < part.fragments {
            return None;
        }
        self.forget(key)
    }

    /// Drops datagrams that have waited too long (`ip_expire`).
    fn expire(&mut self, now: Time) {
        while let Some(&(at, key)) = self.deadlines.front() {
            let live = self.queues.get(&key).is_some_and(|queue| queue.expires == at);
            if live && at > now {
                break;
            }
            self.deadlines.pop_front();
            if live {
                self.forget(key);
            }
        }
    }

    /// Frees a datagram's memory. Returns the payload that was there.
    fn forget(&mut self, key: (u32, u64)) -> Option<u64> {
        let queue = self.queues.remove(&key)?;
        self.memory_bytes -= queue.memory_bytes;
        Some(queue.payload_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(datagram: u64, fragment: u32) -> Fragment {
        let payload_bytes = if fragment == 5 { 792 } else { 1480 };
        let frame_bytes = payload_bytes + 34;
        Fragment { flow: 0, datagram, fragment, fragments: 6, frame_bytes, payload_bytes }
    }

    #[test]
    fn a_datagram_is_complete_with_its_last_fragment_in_any_order() {
        let mut host = Reassembly::new(false, 1000);
        for fragment in [3, 0, 5, 0, 1, 4] {
            assert_eq!(host.arrive(Time::ZERO, 1, part(0, fragment)), None);
        }
        assert_eq!(host.arrive(Time::ZERO, 1, part(0, 2)), Some(5 * 1480 + 792));
        assert_eq!(host.memory_bytes, 0, "and its memory is free again");
    }

    #[test]
    fn beyond_4_mb_everything_is_refused_until_the_timers_fire() {
        // Memory of a full fragment's buffer.
        for (copied, buffer_bytes) in [(false, 2304), (true, 4352)] {
            let mut host = Reassembly::new(copied, 1000);
            let full = HIGH_THRESHOLD_BYTES / (buffer_bytes + QUEUE_BYTES) + 1;
            for datagram in 0..full {
                assert!(host.memory_bytes <= HIGH_THRESHOLD_BYTES);
                assert_eq!(host.arrive(Time::ZERO, 1, part(datagram, 0)), None);
            }
            let later = Time::ZERO + Span::from_ms(30_207);
            for fragment in 0..6 {
                assert_eq!(host.arrive(later, 1, part(full, fragment)), None);
            }
            let last = Time::ZERO + Span::from_ms(30_208); // The next bucket of 512 ms.
            let complete = (0..6).filter_map(|n| host.arrive(last, 1, part(full, n))).count();
            assert_eq!(complete, 1);
        }
    }

    #[test]
    fn a_fragment_that_comes_64_packets_later_begins_again() {
        for (between, complete) in [(64, true), (65, false)] {
            let mut host = Reassembly::new(false, 1000);
            for fragment in 0..5 {
                host.arrive(Time::ZERO, 1, part(0, fragment));
            }
            for datagram in 1..between {
                host.arrive(Time::ZERO, 1, part(datagram, 0));
            }
            let last = host.arrive(Time::ZERO, 1, part(0, 5));
            assert_eq!(last.is_some(), complete, "{between}");
        }
    }
}
