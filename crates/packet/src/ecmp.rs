//! Choice among equal paths by flow (equal-cost multipath), as by a multipath route of Linux with
//! `net.ipv4.fib_multipath_hash_policy` 1: a hash of a packet's header, with a key of its own at every
//! router. Linux draws the key per boot, or takes it from `net.ipv4.fib_multipath_hash_seed`; here it is
//! drawn from the seed of the run. With one key for all routers, a router behind another would
//! repeat its choice, and flows would use only some of the equal paths (polarisation).

use crate::wire::address;
use dumbbell_model::paths::addresses;
use dumbbell_model::rng::Rng;
use dumbbell_model::traffic::{Carrier, TrafficKind};
use dumbbell_model::Scenario;

/// Multipliers and shift of [`FlowHash::of`]: the finaliser of MurmurHash3 (64 bits).
pub const MULTIPLIERS: [u64; 2] = [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53];
/// See [`MULTIPLIERS`].
pub const SHIFT: u32 = 33;

/// Hash function of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowHash {
    /// Key of the router.
    pub key: u64,
}

impl FlowHash {
    /// Hash function of the router with this name, in the run with this seed.
    pub fn new(seed: u64, router: &str) -> Self {
        Self { key: Rng::named(seed, &format!("node/{router}/hash")).next_u64() }
    }

    /// Hash of a flow with this [`identity`](identities).
    pub fn of(self, identity: u64) -> u32 {
        let mut hash = identity.wrapping_add(self.key);
        for multiplier in MULTIPLIERS {
            hash = (hash ^ (hash >> SHIFT)).wrapping_mul(multiplier);
        }
        ((hash ^ (hash >> SHIFT)) >> 32) as u32
    }
}

/// Index of the next hop among `count`: equal ranges of the upper 31 bits (`fib_select_multipath`, RFC
/// 2992). At most one hash value per border differs from Linux, which rounds the borders.
pub fn next_hop(hash: u32, count: usize) -> usize {
    ((u64::from(hash >> 1) * count as u64) >> 31) as usize
}

/// Identity of each flow at routers, the same in both directions: the offset of the client's port, which
/// no other flow has. ICMP and fragments have no ports: there it is the pair of addresses, so that all
/// such flows between two hosts have one path, as in Linux.
pub fn identities(scenario: &Scenario) -> Vec<u64> {
    let ends = addresses(scenario);
    let flows = scenario.flows.iter().zip(&ends).enumerate();
    flows
        .map(|(flow, (spec, ends))| match spec.traffic.carrier() {
            Carrier::IcmpEcho => pair(ends.map(|end| address(end.node))),
            carrier if carrier.fragments() > 1 => pair(ends.map(|end| address(end.node))),
            _ => flow as u64,
        })
        .collect()
}

/// Two IPv4 addresses, the lower one first.
fn pair(ends: [[u8; 4]; 2]) -> u64 {
    let [a, b] = ends.map(|end| u64::from(u32::from_be_bytes(end)));
    a.min(b) << 32 | a.max(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOWS: u64 = 40_000;

    /// Flows per next hop of the first router, for each next hop of the second.
    fn shares(first: FlowHash, second: FlowHash, count: usize) -> Vec<Vec<u64>> {
        let mut shares = vec![vec![0; count]; count];
        for flow in 0..FLOWS {
            shares[next_hop(second.of(flow), count)][next_hop(first.of(flow), count)] += 1;
        }
        shares
    }

    #[test]
    fn choices_of_two_routers_are_even_and_independent() {
        for (seed, count) in (1..=20).flat_map(|seed| [2, 3, 4, 7].map(|count| (seed, count))) {
            let shares = shares(FlowHash::new(seed, "r1"), FlowHash::new(seed, "r2"), count);
            let expected = FLOWS as f64 / (count * count) as f64;
            let excess = |&n: &u64| (n as f64 - expected) * (n as f64 - expected) / expected;
            let chi_squared: f64 = shares.iter().flatten().map(excess).sum();
            // Mean and variance of χ²: degrees of freedom, and twice as many; six σ.
            let freedom = (count * count - 1) as f64;
            let bound = freedom + 6.0 * (2.0 * freedom).sqrt();
            assert!(chi_squared < bound, "seed {seed}, {count}: {chi_squared} above {bound}");
        }
    }

    #[test]
    fn the_same_key_repeats_the_choice_and_the_seed_changes_it() {
        let [one, other] = [1, 2].map(|seed| FlowHash::new(seed, "r1"));
        assert_eq!(one, FlowHash::new(1, "r1"));
        assert!((0..4).all(|hop| shares(one, one, 4)[hop][hop] > 0));
        assert_eq!(shares(one, one, 4)[0][1..], [0, 0, 0]);
        assert!(shares(one, other, 4)[0].iter().all(|&flows| flows > 0));
    }

    #[test]
    fn borders_are_those_of_linux() {
        // `fib_rebalance`: upper bounds w·2³¹/n − 1, rounded; a hash above the bound goes to the next.
        for count in 1..=64_usize {
            for hop in 0..count {
                let bound = (((hop as u64 + 1) << 31) + count as u64 / 2) / count as u64 - 1;
                assert_eq!(next_hop((bound as u32) << 1, count), hop, "{hop} of {count}");
                let above = (bound as u32 + 2) << 1;
                if hop + 1 < count {
                    assert_eq!(next_hop(above, count), hop + 1, "{hop} of {count}");
                }
            }
        }
    }
}
