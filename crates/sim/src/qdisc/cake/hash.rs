//! Set-associative hash (`cake_hash`): a queue in a set of eight by the packet's flow, and entries for the
//! hosts of both sides. The kernel hashes addresses and ports with a random key. Here flows count up, so
//! that queues collide only when there are too few; hosts are numbers of nodes.

use super::flow::{Flow, Set};
use dumbbell_model::queue::Isolation;

/// Queues of a tin (`CAKE_QUEUES`).
pub(super) const QUEUES: u16 = 1024;
const WAYS: usize = 8;

/// Flow and hosts of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Identity {
    pub(super) flow: u32,
    pub(super) source: u32,
    pub(super) destination: u32,
}

/// Hosts that share the rate, beyond flows (`cake_dsrc`, `cake_ddst`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Sides {
    pub(super) source: bool,
    pub(super) destination: bool,
}

impl Sides {
    pub(super) fn of(isolation: Isolation) -> Self {
        use Isolation::{DualDestination, DualSource, Triple};
        Self {
            source: matches!(isolation, Triple | DualSource),
            destination: matches!(isolation, Triple | DualDestination),
        }
    }
}

/// A host of one side with its bulk flows.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    tag: u32,
    bulk_flows: u16,
}

/// Hosts of one side.
#[derive(Debug)]
pub(super) struct Hosts(Vec<Host>);

impl Hosts {
    /// Args: `used`: the isolation counts the flows of this side's hosts.
    pub(super) fn new(used: bool) -> Self {
        Self(if used { vec![Host::default(); usize::from(QUEUES)] } else { Vec::new() })
    }

    /// Entry of a host; without a free one, one of its set that no bulk flow has, or the first.
    fn entry(&mut self, tag: u32) -> usize {
        let home = tag as usize % self.0.len();
        let ways = || ways(home);
        let found = ways().find(|&at| self.0[at].tag == tag);
        let found = found.or_else(|| ways().find(|&at| self.0[at].bulk_flows == 0));
        let at = found.unwrap_or(home);
        self.0[at].tag = tag;
        at
    }

    pub(super) fn bulk_flows(&self, entry: u16) -> u16 {
        self.0.get(usize::from(entry)).map_or(0, |host| host.bulk_flows)
    }

    pub(super) fn add(&mut self, entry: u16) {
        if let Some(host) = self.0.get_mut(usize::from(entry)) {
            host.bulk_flows = (host.bulk_flows + 1).min(QUEUES);
        }
    }

    pub(super) fn take(&mut self, entry: u16) {
        if let Some(host) = self.0.get_mut(usize::from(entry)) {
            host.bulk_flows = host.bulk_flows.saturating_sub(1);
        }
    }
}

/// Places of a set, from the home on.
fn ways(home: usize) -> impl Iterator<Item = usize> {
    let (inner, outer) = (home % WAYS, home - home % WAYS);
    (0..WAYS).map(move |step| outer + (inner + step) % WAYS)
}

/// Mixes the number of a host, so that pairs of hosts differ (as Linux's hash does).
fn mixed(host: u32) -> u32 {
    let spread = (host ^ host >> 16).wrapping_add(1).wrapping_mul(0x7feb_352d);
    (spread ^ spread >> 15).wrapping_mul(0x846c_a68b)
}

/// Tag of a packet's queue.
fn tag(isolation: Isolation, identity: Identity) -> u32 {
    match isolation {
        Isolation::Hosts => mixed(identity.source) ^ mixed(identity.destination),
        Isolation::Source => mixed(identity.source),
        Isolation::Destination => mixed(identity.destination),
        _ => identity.flow,
    }
}

/// Finds the queue of a packet among the tin's, and reserves it.
pub(super) fn queue(
    isolation: Isolation,
    identity: Identity,
    flows: &mut [Flow],
    [sources, destinations]: [&mut Hosts; 2],
) -> usize {
    if isolation == Isolation::Blind {
        return 0;
    }
    let tag = tag(isolation, identity);
    let home = tag as usize % usize::from(QUEUES);
    if flows[home].tag == tag && flows[home].set != Set::None {
        return home;
    }
    let known = ways(home).find(|&at| flows[at].tag == tag);
    let found = known.or_else(|| ways(home).find(|&at| flows[at].set == Set::None));
    let at = found.unwrap_or(home);
    let flow = &mut flows[at];
    let collides = found.is_none();
    let sides = Sides::of(isolation);
    flow.tag = tag;
    if !collides && flow.set != Set::None {
        return at;
    }
    let counts = flow.set == Set::Bulk;
    let sides = [
        (sides.source, sources, identity.source, &mut flow.source),
        (sides.destination, destinations, identity.destination, &mut flow.destination),
    ];
    for (used, hosts, host, entry) in sides {
        if !used {
            continue;
        }
        if counts {
            hosts.take(*entry);
        }
        *entry = hosts.entry(mixed(host)) as u16;
        if counts {
            hosts.add(*entry);
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(isolation: Isolation, flows: &mut [Flow], identity: Identity) -> usize {
        let mut hosts = [Hosts::new(true), Hosts::new(true)];
        let [source, destination] = &mut hosts;
        queue(isolation, identity, flows, [source, destination])
    }

    #[test]
    fn eight_flows_of_one_place_have_queues_of_their_own() {
        let mut flows: Vec<Flow> = std::iter::repeat_with(Flow::default).take(1024).collect();
        let flow = |flow| Identity { flow, ..Identity::default() };
        let mut places = Vec::new();
        for number in 0..8 {
            let at = place(Isolation::Triple, &mut flows, flow(5 + 1024 * number));
            flows[at].set = Set::Sparse;
            places.push(at);
        }
        assert_eq!(places, [5, 6, 7, 0, 1, 2, 3, 4]);
        // The ninth takes the place of the first.
        assert_eq!(place(Isolation::Triple, &mut flows, flow(5 + 1024 * 8)), 5);
        assert_eq!(place(Isolation::Triple, &mut flows, flow(5 + 1024 * 3)), 0);
    }

    #[test]
    fn hosts_share_queues_where_flows_do_not_count() {
        use Isolation::{Blind, Destination, Flows, Hosts, Source};
        let mut flows: Vec<Flow> = std::iter::repeat_with(Flow::default).take(1024).collect();
        let mut at = |isolation, flow, source, destination| {
            place(isolation, &mut flows, Identity { flow, source, destination })
        };
        assert_eq!(at(Source, 1, 3, 4), at(Source, 2, 3, 5));
        assert_ne!(at(Source, 1, 3, 4), at(Source, 2, 4, 4));
        assert_eq!(at(Destination, 1, 3, 4), at(Destination, 2, 5, 4));
        assert_eq!(at(Hosts, 1, 3, 4), at(Hosts, 2, 3, 4));
        assert_ne!(at(Hosts, 1, 3, 4), at(Hosts, 2, 3, 5));
        assert_ne!(at(Flows, 1, 3, 4), at(Flows, 2, 3, 4));
        assert_eq!(at(Blind, 1, 3, 4), 0);
    }
}
