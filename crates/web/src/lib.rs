//! Client and servers of page loads and of requests: assignment of requests to connections, and the
//! order in which responses are written. The state machines have no sockets and no clock: an engine
//! reports events and executes commands.

mod connection;
mod exchanges;
mod visit;

use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::Scenario;
use dumbbell_model::tables::TransferRow;
use dumbbell_model::{Span, Time};
pub use exchanges::Exchanges;
pub use visit::PageLoad;

/// Command to an engine. Connections are numbered in the order of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Opens a connection at the client.
    Open {
        /// Index of the connection.
        connection: usize,
    },
    /// Writes a request at the client.
    Ask {
        /// Index of the connection.
        connection: usize,
        /// Length of the request.
        bytes: u64,
    },
    /// Announces that the server can write; [`Visit::write`] returns the length.
    Answer {
        /// Index of the connection.
        connection: usize,
    },
    /// Closes a connection at the client.
    Close {
        /// Index of the connection.
        connection: usize,
    },
}

/// Applications of a client and its servers.
#[derive(Clone, Debug)]
pub enum Visit {
    /// A page load.
    Page(PageLoad),
    /// Requests.
    Requests(Exchanges),
}

macro_rules! dispatch {
    ($self:ident, $visit:ident => $call:expr) => {
        match $self {
            Self::Page($visit) => $call,
            Self::Requests($visit) => $call,
        }
    };
}

impl Visit {
    /// Flow names of the connections, by index.
    pub fn connections(&self) -> &[String] {
        dispatch!(self, visit => visit.connections())
    }

    /// Time of the next call of [`Self::wake`].
    pub fn next_at(&self) -> Option<Time> {
        dispatch!(self, visit => visit.next_at())
    }

    /// Processes the scheduled events.
    pub fn wake(&mut self, now: Time) -> Vec<Command> {
        dispatch!(self, visit => visit.wake(now))
    }

    /// Processes the establishment of a connection at the client.
    pub fn connected(&mut self, now: Time, connection: usize) -> Vec<Command> {
        dispatch!(self, visit => visit.connected(now, connection))
    }

    /// Processes the server's total of received bytes on a connection.
    pub fn server_read(&mut self, now: Time, connection: usize, total_bytes: u64) -> Vec<Command> {
        dispatch!(self, visit => visit.server_read(now, connection, total_bytes))
    }

    /// Length of the server's next write, if any. Call it when all earlier data is written.
    pub fn write(&mut self, connection: usize) -> Option<u64> {
        dispatch!(self, visit => visit.write(connection))
    }

    /// Processes the client's total of received bytes on a connection.
    pub fn client_read(&mut self, now: Time, connection: usize, total_bytes: u64) -> Vec<Command> {
        dispatch!(self, visit => visit.client_read(now, connection, total_bytes))
    }

    /// Rows of the objects or requests.
    pub fn transfers(&self) -> Vec<TransferRow> {
        dispatch!(self, visit => visit.transfers())
    }
}

/// A visit and the flows of its connections.
#[derive(Clone, Debug)]
pub struct Running {
    /// State machine of the visit.
    pub visit: Visit,
    /// Flow indices of its connections in the scenario.
    pub flows: Vec<usize>,
}

/// Visits of a scenario. All that is random in them is drawn from the seed, identically on every engine.
pub fn visits(scenario: &Scenario, seed: u64) -> Vec<Running> {
    let number = |name: &String| scenario.flows.iter().position(|flow| flow.name == *name);
    let page = |session: &dumbbell_model::scenario::Session| {
        let name = format!("session/{}/start", session.name);
        let jitter = Rng::named(seed, &name).below(session.start_jitter.as_ps());
        let start = Time::ZERO + session.start + Span::from_ps(jitter);
        Visit::Page(PageLoad::new(session, start))
    };
    let pages = scenario.sessions.iter().map(page);
    let end = Time::ZERO + scenario.duration;
    let requests = scenario.requests.iter().map(|spec| Exchanges::new(spec, end, seed));
    let visits = pages.chain(requests.map(Visit::Requests));
    visits
        .map(|visit| {
            // Validation guarantees that every connection is a flow.
            let flows = visit.connections().iter().filter_map(number).collect();
            Running { visit, flows }
        })
        .collect()
}
