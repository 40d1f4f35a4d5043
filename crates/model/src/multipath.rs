//! Multipath TCP (RFC 8684): connections over several subflows.
//!
//! A subflow is a flow whose source is `subflow`: its ends, congestion control and options are those
//! of the flow. What is sent over which of them, a scheduler decides.

use crate::scenario::{Sink, Source};
use crate::units::Span;
use serde::{Deserialize, Serialize};

/// A Multipath TCP connection, and the applications at its ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// Unique among connections and flows.
    pub name: String,
    /// What it belongs to, for whom results are added up; empty: to nothing. Part of no decision.
    #[serde(default)]
    pub group: String,
    /// Who decides which subflow carries what.
    pub scheduler: Scheduler,
    /// The first opens the connection, the others join it.
    pub subflows: Vec<Subflow>,
    /// What the sending application writes.
    pub source: Source,
    /// What the receiving application reads.
    pub sink: Sink,
    /// No new data from here on; `null`: until the end.
    #[serde(rename = "stop_ns")]
    pub stop: Option<Span>,
    /// What does not arrive in order and holds up others that are faster is sent again over them, and
    /// the window of the one that held them up is halved (Raiciu et al. 2012, §4.2).
    #[serde(default)]
    pub opportunistic: bool,
}

/// A subflow: a flow, and the interfaces it runs between. Its flow begins it when it starts, but not
/// before the connection is established, and ends it when it stops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subflow {
    /// Name of the flow that carries it.
    pub flow: String,
    /// Name of the link it leaves its source by.
    pub local: String,
    /// Name of the link it arrives at its destination by.
    pub remote: String,
    /// Used only where no other can be (RFC 8684 §3.3.8).
    pub backup: bool,
}

/// Schedulers of Multipath TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheduler {
    /// Linux's (`mptcp_subflow_get_send`): the subflow that will have sent what waits on it first.
    Default,
    /// The lowest RTT first until its window is full, then the next (Raiciu et al. 2012; the default
    /// of the kernels of multipath-tcp.org).
    LowestRtt,
    /// By turns, segment by segment.
    RoundRobin,
    /// All of it on every subflow.
    Redundant,
    /// Blocking estimation (Ferlin et al. 2016).
    Blest,
    /// Earliest completion first (Lim et al. 2017).
    Ecf,
}

impl Scheduler {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::LowestRtt => "lowest_rtt",
            Self::RoundRobin => "round_robin",
            Self::Redundant => "redundant",
            Self::Blest => "blest",
            Self::Ecf => "ecf",
        }
    }
}

impl Connection {
    /// Name of the flow that opens the connection; empty if there is none, which validation refuses.
    pub fn first(&self) -> &str {
        self.subflows.first().map_or("", |subflow| subflow.flow.as_str())
    }
}
