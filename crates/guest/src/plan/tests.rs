use super::{plan, Plan, WIRES};
use dumbbell_model::scenario::{Scenario, Shaper, SprayPolicy, SprayWhat, Traffic, Udp};
use dumbbell_model::Queue;
use dumbbell_model::{Rate, Span};
use dumbbell_packet::ecmp::FlowHash;

/// Study 1's test bed: s1 – r1 – (p1 ∥ p2) – r2 – d1, both routers spray.
fn two_paths() -> Scenario {
    match Scenario::from_json(include_str!("two-paths.json")) {
        Ok(scenario) => scenario,
        Err(error) => panic!("{error}"),
    }
}

fn planned(scenario: &Scenario) -> Plan {
    match plan(scenario, 1) {
        Ok(plan) => plan,
        Err(error) => panic!("{error}"),
    }
}

fn node(scenario: &Scenario, name: &str) -> usize {
    scenario.nodes.iter().position(|node| node.name == name).unwrap_or(usize::MAX)
}

fn refused(scenario: &Scenario) -> String {
    plan(scenario, 1).map_or_else(|error| error.path, |_| "accepted".to_owned())
}

#[test]
fn every_node_is_a_namespace_and_every_link_a_pair() {
    let scenario = two_paths();
    let plan = planned(&scenario);
    assert_eq!(plan.namespaces.len(), scenario.nodes.len());
    let pairs = plan.joins.iter().filter(|line| line.contains("type veth")).count();
    assert_eq!(pairs, scenario.links.len());
    assert_eq!(plan.queues.len(), 2 * scenario.links.len());
    let switch = &plan.namespaces[node(&scenario, "p1")];
    assert!(switch.up.iter().any(|line| line.ends_with("master br0")));
}

#[test]
fn teql_begins_with_the_path_that_the_scenario_names() {
    for first in [0, 1] {
        let mut scenario = two_paths();
        for node in &mut scenario.nodes {
            if let Some(spray) = &mut node.spray {
                spray.first = Some(first);
            }
        }
        let plan = planned(&scenario);
        let router = &plan.namespaces[node(&scenario, "r1")];
        let slaves: Vec<_> = router.tc.iter().filter(|line| line.contains("teql")).collect();
        let path =
            scenario.links.iter().position(|link| link.name == ["r1-p1", "r1-p2"][first as usize]);
        let Some(path) = path else { panic!("no such link") };
        assert_eq!(slaves.len(), 2);
        assert!(slaves[0].starts_with(&format!("qdisc add dev l{path}a root teql")), "{slaves:?}");
        let own = |line: &&String| line.starts_with("addr add 10.") && !line.ends_with("dev lo");
        assert_eq!(router.up.iter().filter(own).count(), 2, "{:?}", router.up);
        assert!(router.routes[0].ends_with("up"), "a master can only be used when it is up");
        assert!(router.routes.iter().any(|line| line.contains("dev teql")));
    }
}

#[test]
fn a_hosts_own_shaper_sits_on_the_wire() {
    let mut scenario = two_paths();
    let access = scenario.links.iter().position(|link| link.name == "s1-r1").unwrap_or(0);
    let pipe = &mut scenario.links[access].forward;
    pipe.shaper = Shaper::Serial { rate_bps: Rate::from_bps(1_000_000) };
    pipe.queue = Queue::DropTail { limit_packets: Some(10), limit_bytes: None };
    pipe.delay = Span::from_ms(1);
    let plan = planned(&scenario);
    let wires = plan.namespaces.len() - 1;
    assert_eq!(plan.namespaces[wires].name, WIRES);
    let location = &plan.queues[2 * access];
    assert_eq!((location.namespace, location.chain), (wires, 2));
    let host = &plan.namespaces[node(&scenario, "s1")];
    assert!(host.tc.iter().all(|line| !line.contains("netem")), "TCP does not feel it");
}

#[test]
fn acks_alone_are_sprayed_by_a_table_of_their_own() {
    let mut scenario = two_paths();
    for node in &mut scenario.nodes {
        if let Some(spray) = &mut node.spray {
            spray.what = SprayWhat::Acks;
        }
    }
    let plan = planned(&scenario);
    let routes = &plan.namespaces[node(&scenario, "r1")].routes;
    let to_teql: Vec<_> = routes.iter().filter(|line| line.contains("dev teql")).collect();
    assert!(!to_teql.is_empty() && to_teql.iter().all(|line| line.ends_with("table 100")));
    assert!(routes.contains(&"rule add fwmark 100 lookup 100".to_owned()));
}

#[test]
fn spraying_per_flow_is_a_multipath_route_with_a_hash_of_the_seed() {
    let mut scenario = two_paths();
    for node in &mut scenario.nodes {
        if let Some(spray) = &mut node.spray {
            (spray.policy, spray.what) = (SprayPolicy::PerFlow, SprayWhat::Data);
        }
    }
    let plan = planned(&scenario);
    let routers = ["r1", "r2"].map(|name| node(&scenario, name));
    assert_eq!(plan.per_flow.iter().map(|one| one.namespace).collect::<Vec<_>>(), routers);
    assert!(plan.per_flow.iter().all(|one| one.what == SprayWhat::Data));
    let keys = plan.per_flow.iter().map(|one| one.hash.key).collect::<Vec<_>>();
    assert_ne!(keys[0], keys[1]);
    assert_eq!(keys, ["r1", "r2"].map(|name| FlowHash::new(1, name).key));
    for router in routers {
        let here = &plan.namespaces[router];
        let nexthops = |line: &String| line.matches("nexthop").count();
        assert_eq!(here.routes.iter().map(nexthops).max(), Some(2));
        let clsact = here.tc.iter().filter(|line| line.ends_with("clsact")).count();
        assert_eq!(clsact, here.devices.len());
    }
}

#[test]
fn what_is_refused_names_its_field() {
    let mut scenario = two_paths();
    let router = node(&scenario, "r1");
    if let Some(spray) = &mut scenario.nodes[router].spray {
        spray.policy = SprayPolicy::Random;
    }
    assert_eq!(refused(&scenario), format!("nodes[{router}].spray.policy"));
    let mut scenario = two_paths();
    let host = node(&scenario, "d1");
    if let Some(tcp) = &mut scenario.nodes[host].tcp {
        tcp.hz = 250;
    }
    assert_eq!(refused(&scenario), format!("nodes[{host}].tcp.hz"));
    let mut scenario = two_paths();
    if let Some(tcp) = &mut scenario.nodes[host].tcp {
        tcp.cubic_hystart = !tcp.cubic_hystart;
    }
    assert!(refused(&scenario).ends_with(".cubic_hystart"));
    let mut scenario = two_paths();
    if let Some(tcp) = &mut scenario.nodes[host].tcp {
        tcp.search = dumbbell_model::Search::Sent;
    }
    assert_eq!(refused(&scenario), format!("nodes[{host}].tcp.search"));
    let mut scenario = two_paths();
    if let Some(tcp) = &mut scenario.nodes[host].tcp {
        (tcp.saved_cwnd, tcp.saved_rtt) = (100, Span::from_ms(50));
    }
    assert_eq!(refused(&scenario), format!("nodes[{host}].tcp.saved_cwnd"));
}

#[test]
fn options_of_flows_are_their_hosts_or_refused() {
    let mut scenario = two_paths();
    let own = |scenario: &mut Scenario, flow: usize, sack: bool| {
        let end = scenario.flows[flow].to.clone();
        let options =
            scenario.nodes.iter().find(|node| node.name == end).and_then(|n| n.tcp.clone());
        let Some(mut options) = options else { panic!("no host") };
        options.tcp_sack = sack;
        let Traffic::Tcp(tcp) = &mut scenario.flows[flow].traffic else { panic!("no TCP") };
        tcp.receiver = Some(options);
    };
    own(&mut scenario, 0, false);
    let host = node(&scenario, &scenario.flows[0].to.clone());
    let sysctls = &planned(&scenario).namespaces[host].sysctls;
    assert!(sysctls.contains(&("net/ipv4/tcp_sack".to_owned(), "0".to_owned())));
    let second = scenario.flows[0].clone();
    scenario.flows.push(second);
    own(&mut scenario, 1, true);
    assert_eq!(refused(&scenario), "flows[1].traffic.tcp.receiver");
}

#[test]
fn an_mtu_of_datagrams_is_that_of_their_route_alone() {
    let mut scenario = two_paths();
    let mut flow = scenario.flows[0].clone();
    flow.traffic = Traffic::Udp(Udp {
        rate_bps: Rate::from_bps(1_000_000),
        datagram_bytes: 6000,
        interval: Span::ZERO,
        mtu_bytes: 600,
        sleeps: false,
        codec: None,
    });
    scenario.flows.push(flow.clone());
    let number = scenario.flows.len() - 1;
    assert_eq!(refused(&scenario), format!("flows[{number}].traffic.udp.mtu_bytes"));
    scenario.flows = vec![flow];
    let host = node(&scenario, &scenario.flows[0].from.clone());
    let routes = &planned(&scenario).namespaces[host].routes;
    assert!(routes.iter().any(|line| line.contains(" mtu lock 600")), "{routes:?}");
}
