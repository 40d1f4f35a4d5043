//! Multipath TCP: checks that the kernel supports a scenario's connections, and sysctls of their hosts.

use super::{refuse, Planner};
use dumbbell_model::scenario::{Algorithm, Scenario, Scheduler};
use dumbbell_model::{ScenarioError, TcpOptions};

/// Refuses features that only the simulator has.
pub(super) fn check_connections(scenario: &Scenario) -> Result<(), ScenarioError> {
    for (i, connection) in scenario.connections.iter().enumerate() {
        if connection.scheduler != Scheduler::Default {
            let message = format!(
                "the scheduler {}; Linux has its own only (default)",
                connection.scheduler.name()
            );
            return refuse(format!("connections[{i}].scheduler"), &message);
        }
        if connection.opportunistic {
            let message = "opportunistic retransmission and penalisation";
            return refuse(format!("connections[{i}].opportunistic"), message);
        }
    }
    for (i, flow) in scenario.flows.iter().enumerate() {
        if let Some(tcp) = flow.traffic.tcp() {
            let entry = tcp.congestion_control.entry();
            // A kernel may have a plug-in as a module; the caller knows.
            let plugin = matches!(tcp.congestion_control, Algorithm::Plugin(_));
            let field = || format!("flows[{i}].traffic.tcp.congestion_control");
            if entry.coupled {
                return refuse(
                    field(),
                    "coupled congestion control; each subflow of Linux has an algorithm of its own",
                );
            } else if entry.linux.is_none() && !plugin {
                return refuse(field(), &format!("{}, which no kernel has", entry.title));
            }
        }
    }
    Ok(())
}

impl Planner<'_> {
    /// Sysctls of a host at an end of a connection: Multipath TCP on or off, path manager in user
    /// space.
    pub(super) fn mptcp_sysctls(&self, host: &str, tcp: &TcpOptions) -> Vec<(String, String)> {
        let mut first = self.scenario.connections.iter().map(|connection| connection.first());
        let ends_here = first.any(|name| {
            let mut flows = self.scenario.flows.iter();
            flows.any(|flow| flow.name == name && (flow.from == host || flow.to == host))
        });
        if !ends_here {
            return Vec::new();
        }
        let enabled = u8::from(tcp.mptcp_enabled).to_string();
        vec![
            ("net/mptcp/enabled".to_owned(), enabled),
            ("net/mptcp/pm_type".to_owned(), "1".to_owned()),
        ]
    }
}
