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
            .filter(|flow| matches!(&flow.traffic, Traffic::Tcp(tcp) if tcp.source.is_driven()))
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
    check_connections(at, &origin.connections, Source::Session, flows, client)?;
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

/// Checks that all connections have this source and join one server and `client`, and takes them from
/// `flows`.
pub(crate) fn check_connections<'a>(
    at: &str,
    connections: &[String],
    source: Source,
    flows: &mut BTreeMap<&'a str, &'a Flow>,
    client: &mut Option<&'a str>,
) -> Result<(), ScenarioError> {
    if connections.is_empty() {
        return error(format!("{at}.connections"), "there is none");
    }
    let mut server = None;
    for (i, name) in connections.iter().enumerate() {
        let at = format!("{at}.connections[{i}]");
        let found = flows.remove(name.as_str());
        let Some(flow) = found.filter(|flow| has_source(flow, source)) else {
            let word = if source == Source::Messages { "messages" } else { "session" };
            let message = format!("{name} is no flow with source {word}, or another session's");
            return error(at, message);
        };
        let (of_server, of_client) = match source {
            Source::Messages => (&flow.to, &flow.from),
            _ => (&flow.from, &flow.to),
        };
        if *client.get_or_insert(of_client) != of_client {
            return error(at, format!("{name} has client {of_client}, others another one"));
        }
        if *server.get_or_insert(of_server) != of_server {
            return error(at, format!("{name} has server {of_server}, others another one"));
        }
    }
    Ok(())
}

fn has_source(flow: &Flow, source: Source) -> bool {
    matches!(&flow.traffic, Traffic::Tcp(tcp) if tcp.source == source)
}

fn check_bytes(at: &str, field: &str, bytes: u64) -> Result<(), ScenarioError> {
    above_zero(at, field, bytes)?;
    if bytes > BYTES_MAX {
        return error(format!("{at}.{field}"), format!("{bytes}; at most {BYTES_MAX}"));
    }
    Ok(())
}
