use super::*;
use proptest::prelude::*;

fn place(i: usize, forwards: bool) -> Place {
    Place { name: format!("n{i}"), forwards, sprays: false }
}

fn host(node: usize) -> Address {
    Address { node, link: None }
}

/// s – r1 ∥ (p, q) – r2 – d. Nodes 0 to 5 in this order; both links of p have a delay of 1 µs.
fn diamond() -> Network {
    let forwards = [false, true, true, true, true, false];
    let places = forwards.iter().enumerate().map(|(i, &forwards)| place(i, forwards)).collect();
    let ends = vec![(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5)];
    let us = |delay: u64| (1000 * delay, 1000 * delay);
    Network::new(places, ends, &[us(0), us(1), us(0), us(1), us(0), us(5)])
}

#[test]
fn equal_paths_are_next_hops_and_only_spraying_uses_all() {
    let mut network = diamond();
    let towards = network.towards(host(5));
    assert_eq!(network.next_hops(0, &towards), [0]);
    assert_eq!(network.next_hops(1, &towards), [2, 4]);
    let path = network.path(0, host(5), None);
    assert_eq!(path.map(|path| path.delay_ns), Ok(7000));
    // Over q there is no delay: the first next hop of r1 decides, unless r1 sprays.
    network.add_route(0, 1, 5, &[2]);
    assert_eq!(network.path(0, host(5), None).map(|path| path.delay_ns), Ok(5000));
    network.explicit.clear();
    network.places[1].sprays = true;
    let path = network.path(0, host(5), None).unwrap_or_else(|fault| panic!("{fault:?}"));
    assert_eq!(path.delay_ns, 7000);
    let mut pipes = path.pipes;
    pipes.sort_unstable();
    assert_eq!(pipes, [0, 2, 4, 6, 8, 10]);
}

#[test]
fn faults_name_the_node_and_the_route() {
    let mut network = diamond();
    // r2 sends back to p.
    network.add_route(7, 4, 5, &[3]);
    let fault = network.path(0, host(5), None).err();
    let fault = fault.map(|fault| (fault.message, fault.node, fault.route));
    let message = "a loop on the path to n5: n2 → n4 → n2".to_owned();
    assert_eq!(fault, Some((message, 2, Some(7))));
    // n1 joins three hosts; nothing joins n4.
    let places = (0..5).map(|i| place(i, i == 1)).collect();
    let mut network = Network::new(places, vec![(0, 1), (1, 2), (1, 3)], &[(0, 0); 3]);
    let fault = network.path(0, host(4), None).err().map(|fault| fault.message);
    assert_eq!(fault.as_deref(), Some("there is no path from n0 to n4"));
    network.add_route(0, 1, 3, &[1]);
    let fault = network.path(0, host(3), None).err().map(|fault| fault.message);
    let message = "the path from n0 to n3 leads through n2, a host; hosts never forward";
    assert_eq!(fault.as_deref(), Some(message));
}

#[test]
fn an_interface_is_entered_by_its_own_link() {
    // d has a link to r1 and one to r2, which are joined.
    let places = vec![place(0, false), place(1, true), place(2, true), place(3, false)];
    let ends = vec![(0, 1), (1, 2), (1, 3), (2, 3)];
    let mut network = Network::new(places, ends, &[(0, 0); 4]);
    let nearest = network.towards(host(3));
    assert_eq!(network.next_hops(1, &nearest), [4]);
    let interface = network.towards(Address { node: 3, link: Some(3) });
    assert_eq!(network.next_hops(1, &interface), [2]);
    assert_eq!(network.next_hops(2, &interface), [6]);
}

/// Hops to a node by Bellman and Ford's relaxation over all links; hosts do not forward.
fn relaxed(network: &Network, to: usize) -> Vec<u32> {
    let nodes = network.places.len();
    let mut hops = vec![NONE; nodes];
    hops[to] = 0;
    for _ in 0..nodes {
        for &(a, b) in &network.ends {
            for (from, next) in [(a, b), (b, a)] {
                let forwards = next == to || network.places[next].forwards;
                if forwards && hops[next] != NONE {
                    hops[from] = hops[from].min(hops[next] + 1);
                }
            }
        }
    }
    hops
}

proptest! {
    #[test]
    fn next_hops_are_one_hop_nearer(
        forwards in prop::collection::vec(any::<bool>(), 2..9),
        links in prop::collection::vec((0usize..9, 0usize..9), 0..16),
    ) {
        let nodes = forwards.len();
        let places = forwards.iter().enumerate().map(|(i, &forwards)| place(i, forwards)).collect();
        let ends: Vec<_> = links
            .into_iter()
            .map(|(a, b)| (a % nodes, b % nodes))
            .filter(|(a, b)| a != b)
            .collect();
        let mut network = Network::new(places, ends.clone(), &vec![(0, 0); ends.len()]);
        for to in 0..nodes {
            let (hops, towards) = (relaxed(&network, to), network.towards(host(to)));
            for from in (0..nodes).filter(|&from| from != to) {
                let nearer = |pipe: &usize| {
                    let next = far_end(*pipe, &ends);
                    let forwards = next == to || network.places[next].forwards;
                    near_end(*pipe, &ends) == from
                        && forwards
                        && hops[from] != NONE
                        && hops[from].checked_sub(1) == Some(hops[next])
                };
                let wanted: Vec<usize> = (0..2 * ends.len()).filter(nearer).collect();
                prop_assert_eq!(network.next_hops(from, &towards), wanted);
            }
        }
    }
}
