//! Checks of Multipath TCP: connections, their subflows, and fields that only subflows may set.

use crate::scenario::{Connection, Scenario, Source, Subflow};
use crate::validate::{error, ScenarioError};
use std::collections::BTreeMap;

/// Maximum subflows of a connection; address identifiers have eight bits (RFC 8684 §3.2).
const SUBFLOWS_MAX: usize = 64;

impl Scenario {
    /// Checks connections and their subflows, and flows that are no subflows.
    pub(crate) fn check_connections(&self) -> Result<(), ScenarioError> {
        let mut waiting: BTreeMap<&str, usize> = BTreeMap::new();
        for (i, flow) in self.flows.iter().enumerate() {
            let Some(tcp) = flow.traffic.tcp() else { continue };
            if tcp.source == Source::Subflow {
                waiting.insert(&flow.name, i);
            } else if tcp.congestion_control.is_coupled() {
                return error(
                    format!("flows[{i}].traffic.tcp.congestion_control"),
                    "coupled congestion control is for the subflows of a multipath connection",
                );
            }
        }
        for (i, connection) in self.connections.iter().enumerate() {
            self.check_connection(&format!("connections[{i}]"), i, connection, &mut waiting)?;
        }
        if let Some((_, i)) = waiting.first_key_value() {
            return error(format!("flows[{i}].traffic.tcp.source"), "no connection uses this flow");
        }
        Ok(())
    }

    fn check_connection<'a>(
        &'a self,
        at: &str,
        number: usize,
        connection: &'a Connection,
        waiting: &mut BTreeMap<&'a str, usize>,
    ) -> Result<(), ScenarioError> {
        let name = &connection.name;
        let earlier = self.connections[..number].iter().any(|other| other.name == *name);
        if name.is_empty() {
            return error(format!("{at}.name"), "is empty");
        }
        if earlier || self.flows.iter().any(|flow| flow.name == *name) {
            let message = format!("{name} is already the name of another connection or flow");
            return error(format!("{at}.name"), message);
        }
        if connection.source.is_driven() || connection.source == Source::Subflow {
            return error(format!("{at}.source"), "bulk, periodic or on_off is needed");
        }
        connection.source.check(&format!("{at}.source"))?;
        connection.sink.check(at)?;
        let count = connection.subflows.len();
        if count == 0 || count > SUBFLOWS_MAX {
            let message = format!("{count} subflows; 1 to {SUBFLOWS_MAX} are possible");
            return error(format!("{at}.subflows"), message);
        }
        if connection.subflows.iter().all(|subflow| subflow.backup) {
            return error(
                format!("{at}.subflows"),
                "all of them are backups; at least one must carry data from the start",
            );
        }
        let mut ends = None;
        for (i, subflow) in connection.subflows.iter().enumerate() {
            let at = format!("{at}.subflows[{i}]");
            let Some(number) = waiting.remove(subflow.flow.as_str()) else {
                let message = format!(
                    "{} is no flow with the source subflow, or another's already",
                    subflow.flow
                );
                return error(format!("{at}.flow"), message);
            };
            let flow = &self.flows[number];
            let (from, to) = (flow.from.as_str(), flow.to.as_str());
            if *ends.get_or_insert((from, to)) != (from, to) {
                let message = "its flow does not join the hosts of the first subflow";
                return error(format!("{at}.flow"), message);
            }
            self.check_interface(&at, "local", subflow, &subflow.local, from)?;
            self.check_interface(&at, "remote", subflow, &subflow.remote, to)?;
        }
        let first = &connection.subflows[0];
        let start = self.flows.iter().find(|flow| flow.name == first.flow).map(|flow| flow.start);
        if connection.stop.is_some_and(|stop| Some(stop) <= start) {
            return error(format!("{at}.stop_ns"), "not after the start");
        }
        if first.backup {
            return error(
                format!("{at}.subflows[0].backup"),
                "the first subflow is never a backup",
            );
        }
        Ok(())
    }

    fn check_interface(
        &self,
        at: &str,
        field: &str,
        subflow: &Subflow,
        link: &str,
        host: &str,
    ) -> Result<(), ScenarioError> {
        let touches = |l: &&crate::scenario::Link| l.a == host || l.b == host;
        if self.links.iter().filter(touches).any(|l| l.name == *link) {
            return Ok(());
        }
        let known: Vec<_> =
            self.links.iter().filter(touches).map(|link| link.name.as_str()).collect();
        error(
            format!("{at}.{field}"),
            format!(
                "{link} is no link of {host}, an end of {}; it has {}",
                subflow.flow,
                known.join(", ")
            ),
        )
    }
}
