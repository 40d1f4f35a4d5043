//! Checks of sessions.

use crate::scenario::{Flow, Origin, Scenario, Session, Source, Traffic};
use crate::validate::{above_zero, error, ScenarioError};
use std::collections::BTreeMap;

/// Maximum objects of one session.
const OBJECTS_MAX: usize = 100_000;
/// Maximum exchanges before a connection's first request.
const SETUP_MAX: usize = 16;
/// Maximum size of a request or response.
const BYTES_MAX: u64 = 1 << 40;

impl Scenario {
    /// Checks sessions, their connections and objects.
    pub(crate) fn check_sessions(&self) -> Result<(), ScenarioError> {
        let mut of_sessions: BTreeMap<&str, &Flow> = self
            .flows
            .iter()
            .filter(
                |flow| matches!(&flow.traffic, Traffic::Tcp(tcp) if tcp.source == Source::Session),
            )
            .map(|flow| (flow.name.as_str(), flow))
            .collect();
        for (i, session) in self.sessions.iter().enumerate() {
            self.check_session(&format!("sessions[{i}]"), session, &mut of_sessions)?;
        }
        self.check_requests(&mut of_sessions)?;
        if let Some((name, _)) = of_sessions.first_key_value() {
            let i = self.flows.iter().position(|flow| flow.name == *name).unwrap_or(0);
            return error(format!("flows[{i}].traffic.tcp.source"), "no session uses this flow");
        }
        Ok(())
    }

    fn check_session<'a>(
        &self,
        at: &str,
        session: &Session,
        flows: &mut BTreeMap<&'a str, &'a Flow>,
    ) -> Result<(), ScenarioError> {
        if session.name.is_empty() {
            return error(format!("{at}.name"), "is empty");
        }
        if session.start >= self.duration {
            return error(format!("{at}.start_ns"), "not before the end of the run");
        }
        if session.objects.is_empty() || session.objects.len() > OBJECTS_MAX {
            let count = session.objects.len();
            return error(
                format!("{at}.objects"),
                format!("{count}; 1 to {OBJECTS_MAX} are needed"),
            );
        }
        let mut client = None;
        for (i, origin) in session.origins.iter().enumerate() {
            check_origin(&format!("{at}.origins[{i}]"), origin, flows, &mut client)?;
        }
        for (i, object) in session.objects.iter().enumerate() {
            let at = format!("{at}.objects[{i}]");
            if object.origin as usize >= session.origins.len() {
                return error(
                    format!("{at}.origin"),
                    format!("there is no origin {}", object.origin),
                );
            }
            if let Some(later) = object.after.iter().find(|&&other| other as usize >= i) {
                return error(format!("{at}.after"), format!("{later} does not come before it"));
            }
            for (field, bytes) in [
                ("request_bytes", object.exchange.request_bytes),
                ("response_bytes", object.exchange.response_bytes),
            ] {
                check_bytes(&format!("{at}.exchange"), field, bytes)?;
            }
        }
        Ok(())
    }
}

fn check_origin<'a>(
    at: &str,
    origin: &Origin,
    flows: &mut BTreeMap<&'a str, &'a Flow>,
    client: &mut Option<&'a str>,
) -> Result<(), ScenarioError> {
    check_connections(at, &origin.connections, flows, client)?;
    if origin.setup.len() > SETUP_MAX {
        return error(format!("{at}.setup"), format!("more than {SETUP_MAX} exchanges"));
    }
    for (i, exchange) in origin.setup.iter().enumerate() {
        let at = format!("{at}.setup[{i}]");
        check_bytes(&at, "request_bytes", exchange.request_bytes)?;
        check_bytes(&at, "response_bytes", exchange.response_bytes)?;
    }
    Ok(())
}

/// Checks that all connections join one server and `client`, and takes them from `flows`.
pub(crate) fn check_connections<'a>(
    at: &str,
    connections: &[String],
    flows: &mut BTreeMap<&'a str, &'a Flow>,
    client: &mut Option<&'a str>,
) -> Result<(), ScenarioError> {
    if connections.is_empty() {
        return error(format!("{at}.connections"), "there is none");
    }
    let mut server = None;
    for (i, name) in connections.iter().enumerate() {
        let at = format!("{at}.connections[{i}]");
        let Some(flow) = flows.remove(name.as_str()) else {
            let message = format!("{name} is no flow with source session, or another session's");
            return error(at, message);
        };
        if *client.get_or_insert(&flow.to) != flow.to {
            return error(at, format!("{name} goes to {}, others to another client", flow.to));
        }
        if *server.get_or_insert(&flow.from) != &flow.from {
            return error(
                at,
                format!("{name} comes from {}, others from another server", flow.from),
            );
        }
    }
    Ok(())
}

fn check_bytes(at: &str, field: &str, bytes: u64) -> Result<(), ScenarioError> {
    above_zero(at, field, bytes)?;
    if bytes > BYTES_MAX {
        return error(format!("{at}.{field}"), format!("{bytes}; at most {BYTES_MAX}"));
    }
    Ok(())
}
