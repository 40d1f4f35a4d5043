//! Checks of requests.

use crate::requests::{Load, Requests};
use crate::scenario::{Flow, Scenario};
use crate::validate::{above_zero, error, in_range, ScenarioError};
use crate::validate_arrivals::check_size;
use crate::validate_session::check_connections;
use std::collections::BTreeMap;

/// Maximum connections of a client.
const CONNECTIONS_MAX: usize = 10_000;
/// Maximum expected requests of an open loop.
const REQUESTS_MAX: f64 = 1_000_000.0;
/// Maximum writes per request or response.
const WRITES_MAX: u64 = 1_000;

impl Scenario {
    /// Checks requests and takes their connections from `flows`.
    pub(crate) fn check_requests<'a>(
        &self,
        flows: &mut BTreeMap<&'a str, &'a Flow>,
    ) -> Result<(), ScenarioError> {
        for (i, requests) in self.requests.iter().enumerate() {
            let at = format!("requests[{i}]");
            if requests.name.is_empty() {
                return error(format!("{at}.name"), "is empty");
            }
            let sessions = self.sessions.iter().map(|session| &session.name);
            let mut before = sessions.chain(self.requests[..i].iter().map(|other| &other.name));
            if before.any(|name| *name == requests.name) {
                return error(format!("{at}.name"), format!("{} is taken", requests.name));
            }
            self.check_requests_of(&at, requests)?;
            check_connections(&at, &requests.connections, requests.source(), flows, &mut None)?;
        }
        Ok(())
    }

    fn check_requests_of(&self, at: &str, requests: &Requests) -> Result<(), ScenarioError> {
        if requests.start >= self.duration {
            return error(format!("{at}.start_ns"), "not before the end of the run");
        }
        if requests.stop.is_some_and(|stop| stop <= requests.start) {
            return error(format!("{at}.stop_ns"), "not after the start");
        }
        let connections = requests.connections.len();
        if connections > CONNECTIONS_MAX {
            let message = format!("{connections}; at most {CONNECTIONS_MAX}");
            return error(format!("{at}.connections"), message);
        }
        match requests.load {
            Load::Closed { .. } if requests.response.is_none() => {
                let message = "in a closed loop a response ends each request";
                return error(format!("{at}.response"), message);
            }
            Load::Closed { .. } => {}
            Load::Open { interval, .. } => {
                above_zero(at, "load.open.interval_ns", interval.as_ns())?;
            }
        }
        above_zero(at, "count", requests.count.unwrap_or(1))?;
        let expected = requests.expected(self.duration).unwrap_or(0.0);
        if expected > REQUESTS_MAX {
            let message = format!("{expected:.0} requests; at most {REQUESTS_MAX} are possible");
            return error(format!("{at}.load.open.interval_ns"), message);
        }
        in_range(at, "request_writes", requests.request_writes.into(), 1, WRITES_MAX)?;
        in_range(at, "response_writes", requests.response_writes.into(), 1, WRITES_MAX)?;
        check_size(&format!("{at}.request"), &requests.request)?;
        match &requests.response {
            Some(response) => check_size(&format!("{at}.response"), response),
            None => Ok(()),
        }
    }
}
