//! Applications at the ends of a flow on the kernel. [`crate::run`] drives them.

use crate::flow_rows::{FlowReport, FlowSampler};
use crate::realise::Namespaces;
use crate::writer::Writer;
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::{Flow, Scenario, Source};
use dumbbell_packet::wire::{address, CLIENT_PORT, SERVER_PORT};
use std::any::Any;
use std::io::Result;
use std::os::fd::BorrowedFd;

/// Descriptor of an application that became ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Sending socket.
    Sender,
    /// Receiving or listening socket.
    Receiver,
    /// Path manager of Multipath TCP.
    Manager,
}

/// A descriptor and the poll(2) events that an application waits for.
pub(crate) type Wait<'a> = (Side, BorrowedFd<'a>, i16);

/// The applications of a flow. Times are nanoseconds from the beginning of the run.
pub(crate) trait Application {
    /// Time of the next turn without an event.
    fn next(&self) -> Option<i64>;

    /// Performs the actions that are due.
    fn turn(&mut self, now: i64) -> Result<()>;

    /// Descriptors that it waits for.
    fn waits(&self) -> Vec<Wait<'_>>;

    /// Notes that a descriptor became ready.
    fn happened(&mut self, _side: Side) {}

    /// Reads the state of the kernel for the `samples` table.
    fn sample(&mut self, _now: i64, _sampler: &mut FlowSampler<'_>) -> Result<()> {
        Ok(())
    }

    /// Reads what has arrived, at the end of the run.
    fn finish(&mut self, _end: i64) -> Result<()> {
        Ok(())
    }

    /// Fills the rows of its flow.
    fn report(&self, report: &mut FlowReport<'_>) -> Result<()>;

    /// Kind and delays of its probes, in the order in which they were sent.
    fn probes(&self) -> Option<(&'static str, &[Probe])> {
        None
    }

    /// Secrets of its TLS, as SSLKEYLOGFILE has them.
    fn secrets(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Returns the connection of a page, for `sessions`.
    fn page_connection(&mut self) -> Option<&mut dyn Any> {
        None
    }
}

/// A packet whose delay is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) sent: i64,
    /// Time until the packet or its reply arrived.
    pub(crate) delay: Option<i64>,
}

/// Addresses of both ends of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) flow: usize,
    pub(crate) from: [u8; 4],
    pub(crate) to: [u8; 4],
    pub(crate) dscp: u8,
}

impl Ends {
    /// Port at the flow's source.
    pub(crate) fn client_port(&self) -> u16 {
        CLIENT_PORT + self.flow as u16
    }

    /// Port at the flow's destination.
    pub(crate) fn server_port(&self) -> u16 {
        SERVER_PORT + self.flow as u16
    }
}

/// A flow whose sockets are to be opened.
pub(crate) struct Opening<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) namespaces: &'a Namespaces,
    pub(crate) seed: u64,
    pub(crate) flow: &'a Flow,
    pub(crate) ends: Ends,
    /// Indices of the source and the destination node.
    pub(crate) nodes: [usize; 2],
    pub(crate) start: i64,
    /// Stop time; `i64::MAX`: none.
    pub(crate) stop: i64,
}

/// Index of a node by its name; the scenario was validated.
pub(crate) fn node_number(scenario: &Scenario, name: &str) -> usize {
    scenario.nodes.iter().position(|node| node.name == name).unwrap_or(0)
}

impl<'a> Opening<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        namespaces: &'a Namespaces,
        seed: u64,
        number: usize,
    ) -> Self {
        let flow = &scenario.flows[number];
        let nodes = [&flow.from, &flow.to].map(|name| node_number(scenario, name));
        let [from, to] = nodes.map(address);
        // Same random stream as in the simulator.
        let jitter =
            Rng::named(seed, &format!("flow/{}/start", flow.name)).below(flow.start_jitter.as_ps());
        Self {
            scenario,
            namespaces,
            seed,
            flow,
            ends: Ends { flow: number, from, to, dscp: flow.dscp },
            nodes,
            start: flow.start.as_ns() as i64 + (jitter / 1000) as i64,
            stop: flow.stop.map_or(i64::MAX, |stop| stop.as_ns() as i64),
        }
    }

    /// Enters the namespace of the source: sockets opened from now on are there.
    pub(crate) fn at_source(&self) -> Result<()> {
        self.namespaces.enter(self.nodes[0])
    }

    /// Enters the namespace of the destination.
    pub(crate) fn at_destination(&self) -> Result<()> {
        self.namespaces.enter(self.nodes[1])
    }

    /// Random stream of the flow for a purpose, the same as in the simulator.
    pub(crate) fn rng(&self, purpose: &str) -> Rng {
        Rng::named(self.seed, &format!("flow/{}/{purpose}", self.flow.name))
    }

    /// Writer of the sending application.
    pub(crate) fn writer(&self, source: Source) -> Writer {
        Writer::new(source, self.rng("source"))
    }
}

/// A kind of traffic that has applications.
pub(crate) trait TrafficApplication {
    /// Opens the sockets of a flow, each in its namespace.
    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Application>>;
}
