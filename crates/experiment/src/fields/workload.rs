//! Fields of workload.

use crate::fields::{def, list, need, opt, rules, section, sections, Kind, Section};
use serde_json::json;

sections! {
    load = section("LoadSpec", "Fields of every workload: probes during the whole run, and load for the time `length`.", vec![
        need("client", Kind::Name, "Host of the client."),
        def("congestion_control", Kind::Algorithm, json!("cubic"), "Congestion control of the TCP flows."),
        def("before", Kind::Time, json!(5_000_000_000_u64), "Time of probes alone, before the load begins."),
        def("length", Kind::PositiveTime, json!(60_000_000_000_u64), "Length of the load."),
        def("interval", Kind::PositiveTime, json!(200000000), "Interval of the probes."),
        def("start_jitter", Kind::Time, json!(20000000), "Upper bound of a uniform random delay of the start of the TCP flows."),
    ]);
    one_server = section("OneServerSpec", "A workload between two hosts.", vec![
        need("server", Kind::Name, "Host of the server."),
    ]).over(load());
    rrul = section("RrulSpec", "RRUL: simultaneous flows up and down, RTT probes by ICMP and UDP, optionally speech.", vec![
        def("up", Kind::Whole(0, 10_000), json!(4), "Number of TCP flows from the client."),
        def("down", Kind::Whole(0, 10_000), json!(4), "Number of TCP flows to the client."),
        def("voice", Kind::Flag, json!(false), "Voice calls in both directions in addition."),
    ]).over(one_server());
    rrul_best_effort = section("RrulBestEffortSpec", "RRUL without codepoints.", Vec::new()).over(rrul());
    rtt_fair = section("RttFairSpec", "A flow up, a flow down and RTT probes for each of several servers.", vec![
        need("servers", list(Kind::Name, 1, 1000, false), "Hosts of the servers, one flow in each direction for each."),
    ]).over(load());
    tcp_down = section("TcpDownSpec", "Flows to the client, and RTT probes by ICMP.", vec![
        def("streams", Kind::Whole(1, 10_000), json!(12), "Number of TCP flows to the client."),
    ]).over(one_server());
    tcp_up = section("TcpUpSpec", "Flows from the client, and RTT probes by ICMP.", vec![
        def("streams", Kind::Whole(1, 10_000), json!(12), "Number of TCP flows from the client."),
    ]).over(one_server());
    workload = section("WorkloadSpec", "Choice of a workload.", vec![
        opt("rrul", Kind::Section(rrul), "Realtime response under load: TCP flows with four codepoints in both directions, and probes."),
        opt("rrul_be", Kind::Section(rrul_best_effort), "As rrul, without codepoints."),
        opt("tcp_nup", Kind::Section(tcp_up), "TCP flows from the client, and probes."),
        opt("tcp_ndown", Kind::Section(tcp_down), "TCP flows to the client, and probes."),
        opt("rtt_fair", Kind::Section(rtt_fair), "TCP flows to and from several servers, and probes."),
    ]).one_of(&["rrul", "rrul_be", "tcp_nup", "tcp_ndown", "rtt_fair"]).rule(rules::load);
}
