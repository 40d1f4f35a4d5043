//! TCP options of a host as sysctls, attributes of routes, and options of the kernel's modules.

use super::{refuse, Planner};
use dumbbell_model::catalogue::tcp_options::{Entry, Setting, ENTRIES};
use dumbbell_model::scenario::Scenario;
use dumbbell_model::tcp_options::DEFAULT_PROFILE;
use dumbbell_model::{DelayedAck, ScenarioError, TcpOptions};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Ticks per second of the kernel that is built (kernel/patches).
const HZ: u32 = 1000;
const ABSENT: &str = "current kernels do not have it";

/// Moves TCP options of flows to their hosts. A namespace has one set of sysctls, so all flows at
/// a host must have equal options.
pub(super) fn options_to_hosts(scenario: &Scenario) -> Result<Scenario, ScenarioError> {
    let mut merged = scenario.clone();
    let hosts = scenario.nodes.iter().filter_map(|node| Some((&node.name, node.tcp.as_ref()?)));
    let hosts: BTreeMap<_, _> = hosts.collect();
    let mut wanted: BTreeMap<&String, &TcpOptions> = BTreeMap::new();
    for (i, flow) in scenario.flows.iter().enumerate() {
        let Some(tcp) = flow.traffic.tcp() else { continue };
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
    /// Adds CUBIC's options. They hold for the whole kernel, so all hosts must have equal values.
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

/// TCP options as attributes of a route.
pub(super) fn route_options(tcp: &TcpOptions) -> String {
    let mut extra = String::new();
    if tcp.initcwnd != 10 {
        extra += &format!(" initcwnd {}", tcp.initcwnd);
    }
    if tcp.initrwnd > 0 {
        extra += &format!(" initrwnd {}", tcp.initrwnd);
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

/// Sysctls of a host, as the catalogue names them: path and value.
pub(super) fn tcp_sysctls(
    tcp: &TcpOptions,
    field: &str,
) -> Result<Vec<(String, String)>, ScenarioError> {
    if tcp.hz != HZ {
        return refuse(format!("{field}.hz"), "the kernel is built with 1000 ticks per second");
    }
    if tcp.queue_at_interface {
        let why = "queues of links lie behind the interface here, where TCP does not feel them";
        return refuse(format!("{field}.queue_at_interface"), why);
    }
    if tcp.ssthresh > 0 {
        let why =
            "Linux has it from an earlier connection alone (`tcp_init_metrics`), not from a route";
        return refuse(format!("{field}.ssthresh"), why);
    }
    if tcp.delayed_ack == DelayedAck::EverySecond {
        return refuse(format!("{field}.delayed_ack"), ABSENT);
    }
    let (asked, current) = (fields(tcp), TcpOptions::profile(DEFAULT_PROFILE));
    let current = current.as_ref().map(fields).unwrap_or_default();
    let mut sysctls = Vec::new();
    for Entry { parameter, setting, .. } in ENTRIES {
        let value = asked.get(parameter.field);
        match setting {
            Setting::Absent if value != current.get(parameter.field) => {
                return refuse(format!("{field}.{}", parameter.field), ABSENT);
            }
            // Sysctls of Multipath TCP are set only at hosts of connections.
            Setting::Sysctl(path) if path.starts_with("net.ipv4.") => {
                let text = value.map(sysctl_text).unwrap_or_default();
                sysctls.push((path.replace('.', "/"), text));
            }
            _ => {}
        }
    }
    // Connections do not use metrics cached from earlier ones.
    sysctls.push(("net/ipv4/tcp_no_metrics_save".to_owned(), "1".to_owned()));
    // It bounds `tcp_reordering`.
    sysctls.sort_by_key(|(path, _)| path != "net/ipv4/tcp_max_reordering");
    Ok(sysctls)
}

/// Options by their names in the scenario.
fn fields(tcp: &TcpOptions) -> Map<String, Value> {
    let fields = serde_json::to_value(tcp).ok();
    fields.and_then(|value| value.as_object().cloned()).unwrap_or_default()
}

/// A value as a sysctl takes it.
fn sysctl_text(value: &Value) -> String {
    match value {
        Value::Bool(on) => u8::from(*on).to_string(),
        Value::Array(sizes) => {
            let sizes: Vec<_> = sizes.iter().map(ToString::to_string).collect();
            sizes.join(" ")
        }
        other => other.to_string(),
    }
}
