//! TCP options of both ends of a flow, before and after negotiation.

use super::tcp::stack::offer;
use crate::nodes::Nodes;
use dumbbell_model::scenario::{self, Scenario, Traffic};
use dumbbell_model::tcp_options::DEFAULT_PROFILE;
use dumbbell_model::TcpOptions;

/// TCP options of both ends of a flow, before negotiation.
pub(crate) fn offered(
    scenario: &Scenario,
    nodes: &Nodes,
    flow: &scenario::Flow,
) -> [TcpOptions; 2] {
    let own = match &flow.traffic {
        Traffic::Tcp(tcp) => [tcp.sender.clone(), tcp.receiver.clone()],
        _ => [None, None],
    };
    let of = |own: &Option<TcpOptions>, host: &str| {
        // Validated: every host has options.
        let found = own.clone().or_else(|| scenario.nodes[nodes.number(host)].tcp.clone());
        match found.or_else(|| TcpOptions::profile(DEFAULT_PROFILE)) {
            Some(options) => options,
            None => unreachable!("the profile is part of the program"),
        }
    };
    let mut offered = [of(&own[0], &flow.from), of(&own[1], &flow.to)];
    if let Traffic::Tcp(tcp) = &flow.traffic {
        offer(tcp.stack, &mut offered[0]);
    }
    offered
}

/// TCP options of both ends of a flow, after negotiation.
pub(crate) fn options(
    scenario: &Scenario,
    nodes: &Nodes,
    flow: &scenario::Flow,
) -> [TcpOptions; 2] {
    let [mut sending, mut receiving] = offered(scenario, nodes, flow);
    negotiate(&mut sending, &mut receiving);
    [sending, receiving]
}

/// Turns off options that one side does not want (RFC 7323 §1.3, RFC 2018 §2); takes the smaller MSS.
fn negotiate(sender: &mut TcpOptions, receiver: &mut TcpOptions) {
    let both = sender.tcp_timestamps && receiver.tcp_timestamps;
    (sender.tcp_timestamps, receiver.tcp_timestamps) = (both, both);
    let both = sender.tcp_sack && receiver.tcp_sack;
    (sender.tcp_sack, receiver.tcp_sack) = (both, both);
    receiver.tcp_dsack &= both;
    let both = sender.tcp_window_scaling && receiver.tcp_window_scaling;
    (sender.tcp_window_scaling, receiver.tcp_window_scaling) = (both, both);
    let mtu = sender.mtu_bytes.min(receiver.mtu_bytes);
    (sender.mtu_bytes, receiver.mtu_bytes) = (mtu, mtu);
}
