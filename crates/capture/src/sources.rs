//! Which hosts count IPv4 identifications over all that they send (Windows, BSD, older Linux), instead
//! of per connection: a gap within one connection then says nothing of that connection.

use crate::decode::Address;
// Looked up, never iterated: results do not depend on its order.
use hashbrown::HashMap;

/// Hosts that are followed; of any further one nothing is known.
const HOSTS_MAX: usize = 1 << 14;
/// Two conversations whose identifications are further apart do not share a counter.
const STEP_MAX: u16 = 1024;
/// Steps on from one conversation to another, per step elsewhere, that tell of one counter.
const ON_PER_ELSEWHERE: u32 = 2;

#[derive(Clone, Copy, Debug)]
struct Host {
    /// Identification and conversation of its last packet.
    latest: (u16, u32),
    /// Changes of conversation in which the identification went on, and in which it did not.
    on: u32,
    elsewhere: u32,
}

/// Hosts by address.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    hosts: HashMap<Address, Host>,
}

impl Sources {
    /// A packet of a conversation passes. Returns true if its sender counts over all conversations, or
    /// if that cannot be told.
    pub(crate) fn add(&mut self, source: Address, conversation: u32, identification: u16) -> bool {
        let full = self.hosts.len() >= HOSTS_MAX;
        let Some(host) = self.hosts.get_mut(&source) else {
            if !full {
                let latest = (identification, conversation);
                self.hosts.insert(source, Host { latest, on: 0, elsewhere: 0 });
            }
            return full;
        };
        let ahead = identification.wrapping_sub(host.latest.0);
        // Linux leaves 0 where nothing counts (handshakes, resets); the same once more is a copy.
        if identification != 0 && ahead != 0 {
            if conversation != host.latest.1 {
                let on = (1..=STEP_MAX).contains(&ahead);
                host.on = host.on.saturating_add(u32::from(on));
                host.elsewhere = host.elsewhere.saturating_add(u32::from(!on));
            }
            host.latest = (identification, conversation);
        }
        host.on > ON_PER_ELSEWHERE.saturating_mul(host.elsewhere)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of one host: conversation and identification.
    fn shared(packets: &[(u32, u16)]) -> bool {
        let mut sources = Sources::default();
        let mut last = false;
        for (conversation, identification) in packets {
            last = sources.add(Address::V4([10, 0, 0, 1]), *conversation, *identification);
        }
        last
    }

    #[test]
    fn one_counter_is_told_from_many() {
        assert!(!shared(&[(0, 7), (0, 8), (0, 12)]));
        assert!(shared(&[(0, 65_535), (1, 1), (0, 2)]));
        assert!(!shared(&[(0, 7), (1, 40_000), (0, 8), (1, 40_001)]));
        // Two counters that happen to be close go on in one direction only.
        assert!(!shared(&[(0, 7), (1, 9), (0, 8), (1, 10), (0, 9)]));
        assert!(!shared(&[(0, 7), (1, 0), (0, 8)]));
    }

    #[test]
    fn of_hosts_beyond_the_most_nothing_is_known() {
        let mut sources = Sources::default();
        for number in 0..HOSTS_MAX as u32 {
            assert!(!sources.add(Address::V4(number.to_be_bytes()), 0, 1));
        }
        assert!(sources.add(Address::V4([255; 4]), 0, 1));
    }
}
