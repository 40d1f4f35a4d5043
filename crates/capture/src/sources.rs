//! Detection of hosts that count IPv4 identifications over all packets (Windows, BSD, older Linux)
//! instead of per connection. A gap within one connection of such a host does not mean a lost
//! packet.

use crate::decode::Address;
// For look-ups only, never iterated: results do not depend on the order.
use hashbrown::HashMap;

/// Maximum number of hosts; further hosts are unknown.
const HOSTS_MAX: usize = 1 << 14;
/// Maximum identification step between conversations that share a counter.
const STEP_MAX: u16 = 1024;
/// Steps within range per step out of range that indicate one shared counter.
const NEAR_PER_FAR: u32 = 2;

#[derive(Clone, Copy, Debug)]
struct Host {
    /// Identification and conversation of the last packet.
    latest: (u16, u32),
    /// Changes of conversation with an identification step within range.
    near_steps: u32,
    far_steps: u32,
    varies: bool,
}

/// How a host chooses identifications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    /// It shares one counter between conversations, or this is unknown.
    pub(crate) shared: bool,
    /// Packets of it had different ones, not only 0.
    pub(crate) varies: bool,
}

/// Hosts by address.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    hosts: HashMap<Address, Host>,
}

impl Sources {
    /// Processes a packet. Returns how its sender chooses identifications.
    pub(crate) fn add(
        &mut self,
        source: Address,
        conversation: u32,
        identification: u16,
    ) -> Choice {
        let full = self.hosts.len() >= HOSTS_MAX;
        let Some(host) = self.hosts.get_mut(&source) else {
            if !full {
                let latest = (identification, conversation);
                self.hosts
                    .insert(source, Host { latest, near_steps: 0, far_steps: 0, varies: false });
            }
            return Choice { shared: full, varies: false };
        };
        let ahead = identification.wrapping_sub(host.latest.0);
        // Linux sends 0 where it does not count (handshakes, resets). An equal value means a
        // duplicate.
        if identification != 0 && ahead != 0 {
            if conversation != host.latest.1 {
                let near = (1..=STEP_MAX).contains(&ahead);
                host.near_steps = host.near_steps.saturating_add(u32::from(near));
                host.far_steps = host.far_steps.saturating_add(u32::from(!near));
            }
            host.varies |= host.latest.0 != 0;
            host.latest = (identification, conversation);
        }
        let shared = host.near_steps > NEAR_PER_FAR.saturating_mul(host.far_steps);
        Choice { shared, varies: host.varies }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Result after packets of one host: conversation and identification.
    fn shared(packets: &[(u32, u16)]) -> bool {
        let mut sources = Sources::default();
        let mut last = false;
        for (conversation, identification) in packets {
            last = sources.add(Address::V4([10, 0, 0, 1]), *conversation, *identification).shared;
        }
        last
    }

    #[test]
    fn one_counter_is_distinguished_from_many() {
        assert!(!shared(&[(0, 7), (0, 8), (0, 12)]));
        assert!(shared(&[(0, 65_535), (1, 1), (0, 2)]));
        assert!(!shared(&[(0, 7), (1, 40_000), (0, 8), (1, 40_001)]));
        // Two close counters increase in one direction only.
        assert!(!shared(&[(0, 7), (1, 9), (0, 8), (1, 10), (0, 9)]));
        assert!(!shared(&[(0, 7), (1, 0), (0, 8)]));
    }

    #[test]
    fn a_constant_identification_varies_not() {
        let host = Address::V4([10, 0, 0, 1]);
        for (second, varies) in [(7, false), (0, false), (8, true)] {
            let mut sources = Sources::default();
            sources.add(host, 0, 7);
            sources.add(host, 0, second);
            assert_eq!(sources.add(host, 0, 7).varies, varies, "{second}");
        }
    }

    #[test]
    fn of_hosts_beyond_the_most_nothing_is_known() {
        let mut sources = Sources::default();
        for number in 0..HOSTS_MAX as u32 {
            assert!(!sources.add(Address::V4(number.to_be_bytes()), 0, 1).shared);
        }
        assert!(sources.add(Address::V4([255; 4]), 0, 1).shared);
    }
}
