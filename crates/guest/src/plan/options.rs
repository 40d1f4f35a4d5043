//! TCP options of a host as sysctls, attributes of routes, and options of the kernel's modules.

use super::{refuse, Planner};
use dumbbell_model::scenario::{Scenario, Traffic};
use dumbbell_model::{DelayedAck, ScenarioError, Span, TcpOptions};
use std::collections::BTreeMap;

/// Ticks per second of the kernel that is built (kernel/patches).
const HZ: u32 = 1000;

/// The scenario with what flows say of their ends as options of the hosts: a namespace has one set
/// of sysctls, so all flows that end at a host must agree.
pub(super) fn options_to_hosts(scenario: &Scenario) -> Result<Scenario, ScenarioError> {
    let mut merged = scenario.clone();
    let hosts = scenario.nodes.iter().filter_map(|node| Some((&node.name, node.tcp.as_ref()?)));
    let hosts: BTreeMap<_, _> = hosts.collect();
    let mut wanted: BTreeMap<&String, &TcpOptions> = BTreeMap::new();
    for (i, flow) in scenario.flows.iter().enumerate() {
        let Traffic::Tcp(tcp) = &flow.traffic else { continue };
        let ends = [("sender", &flow.from, &tcp.sender), ("receiver", &flow.to, &tcp.receiver)];
        for (end, host, own) in ends {
            let Some(options) = own.as_ref().or_else(|| hosts.get(host).copied()) else { continue };
            if *wanted.entry(host).or_insert(options) != options {
                return refuse(
                    format!("flows[{i}].traffic.tcp.{end}"),
                    &format!("flows with different options of TCP at one host ({host})"),
                );
            }
        }
    }
    for node in &mut merged.nodes {
        if let Some(options) = wanted.get(&node.name) {
            node.tcp = Some((*options).clone());
        }
    }
    Ok(merged)
}

impl Planner<'_> {
    /// CUBIC's options are the kernel's, so all hosts must want the same.
    pub(super) fn cubic(&mut self, tcp: &TcpOptions, field: &str) -> Result<(), ScenarioError> {
        let options = [
            ("hystart", tcp.cubic_hystart),
            ("fast_convergence", tcp.cubic_fast_convergence),
            ("tcp_friendliness", tcp.cubic_tcp_friendliness),
        ];
        for (name, wanted) in options {
            let path = format!("/sys/module/tcp_cubic/parameters/{name}");
            let value = u8::from(wanted).to_string();
            match self.plan.globals.iter().find(|(known, _)| *known == path) {
                Some((_, known)) if *known != value => {
                    return refuse(
                        format!("{field}.cubic_{name}"),
                        "hosts with different options of CUBIC",
                    );
                }
                Some(_) => {}
                None => self.plan.globals.push((path, value)),
            }
        }
        Ok(())
    }
}

/// What a route says of TCP.
pub(super) fn route_options(tcp: &TcpOptions) -> String {
    let mut extra = String::new();
    if tcp.initcwnd != 10 {
        extra += &format!(" initcwnd {}", tcp.initcwnd);
    }
    if tcp.initrwnd > 0 {
        extra += &format!(" initrwnd {}", tcp.initrwnd);
    }
    if tcp.ssthresh > 0 {
        extra += &format!(" ssthresh {}", tcp.ssthresh);
    }
    if tcp.delayed_ack == DelayedAck::Never {
        extra += " quickack 1";
    }
    let rto_ms = tcp.rto_min.as_us() / 1000;
    if rto_ms != 200 {
        extra += &format!(" rto_min {rto_ms}ms");
    }
    extra
}

pub(super) fn tcp_sysctls(
    tcp: &TcpOptions,
    field: &str,
) -> Result<Vec<(String, String)>, ScenarioError> {
    if tcp.hz != HZ {
        return refuse(format!("{field}.hz"), "the kernel is built with 1000 ticks per second");
    }
    for (name, asked) in [
        ("tcp_fack", tcp.tcp_fack),
        ("forward_retransmit", tcp.forward_retransmit),
        ("rate_halving", tcp.rate_halving),
        ("tcp_abc", tcp.tcp_abc.is_some()),
        ("hystart_plus_plus", tcp.hystart_plus_plus),
        ("rto_initial_ns", tcp.rto_initial != Span::from_ms(1000)),
        ("delayed_ack", tcp.delayed_ack == DelayedAck::EverySecond),
    ] {
        if asked {
            return refuse(format!("{field}.{name}"), "current kernels do not have it");
        }
    }
    if tcp.queue_at_interface {
        let why = "queues of links lie behind the interface here, where TCP does not feel them";
        return refuse(format!("{field}.queue_at_interface"), why);
    }
    let flag = |on: bool| u8::from(on).to_string();
    let triple = |sizes: [u64; 3]| format!("{} {} {}", sizes[0], sizes[1], sizes[2]);
    let values = [
        ("sack", flag(tcp.tcp_sack)),
        ("dsack", flag(tcp.tcp_dsack)),
        ("timestamps", flag(tcp.tcp_timestamps)),
        ("window_scaling", flag(tcp.tcp_window_scaling)),
        ("ecn", tcp.tcp_ecn.to_string()),
        ("reordering", tcp.tcp_reordering.to_string()),
        ("max_reordering", tcp.tcp_max_reordering.to_string()),
        ("recovery", tcp.tcp_recovery.to_string()),
        ("early_retrans", tcp.tcp_early_retrans.to_string()),
        ("frto", tcp.tcp_frto.to_string()),
        ("comp_sack_nr", tcp.tcp_comp_sack_nr.to_string()),
        ("comp_sack_delay_ns", tcp.tcp_comp_sack_delay.as_ns().to_string()),
        ("comp_sack_slack_ns", tcp.tcp_comp_sack_slack.as_ns().to_string()),
        ("rmem", triple(tcp.tcp_rmem)),
        ("wmem", triple(tcp.tcp_wmem)),
        ("moderate_rcvbuf", flag(tcp.tcp_moderate_rcvbuf)),
        ("adv_win_scale", tcp.tcp_adv_win_scale.to_string()),
        ("limit_output_bytes", tcp.tcp_limit_output_bytes.to_string()),
        ("slow_start_after_idle", flag(tcp.tcp_slow_start_after_idle)),
        ("pacing_ss_ratio", tcp.tcp_pacing_ss_ratio.to_string()),
        ("pacing_ca_ratio", tcp.tcp_pacing_ca_ratio.to_string()),
        ("min_rtt_wlen", tcp.tcp_min_rtt_wlen.to_string()),
        ("min_tso_segs", tcp.tcp_min_tso_segs.to_string()),
        ("retries2", tcp.tcp_retries2.to_string()),
        ("syn_retries", tcp.tcp_syn_retries.to_string()),
        // Every run begins without memory of earlier ones.
        ("no_metrics_save", "1".to_owned()),
    ];
    Ok(values.map(|(name, value)| (format!("net/ipv4/tcp_{name}"), value)).to_vec())
}
