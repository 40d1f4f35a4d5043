//! Multipath TCP (RFC 8684): connections over several subflows.
//!
//! A subflow is a flow with the source `subflow`. The flow gives its hosts, congestion control and
//! options. A scheduler decides which subflow carries which data.

use crate::scenario::{Sink, Source};
use crate::units::Span;
use serde::{Deserialize, Serialize};

/// A Multipath TCP connection and the applications at its ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// Name, unique among connections and flows.
    pub name: String,
    /// Group in which results are summed; empty: none. Does not affect the run.
    #[serde(default)]
    pub group: String,
    /// Multipath TCP scheduler.
    pub scheduler: Scheduler,
    /// Subflows. The first opens the connection (MP_CAPABLE), the others join it (MP_JOIN).
    pub subflows: Vec<Subflow>,
    /// Sending application.
    pub source: Source,
    /// Receiving application.
    pub sink: Sink,
    /// Time after which no new data is written; `null`: end of the run.
    #[serde(rename = "stop_ns")]
    pub stop: Option<Span>,
    /// Opportunistic retransmission and penalisation (Raiciu et al. 2012, §4.2). Data that blocks
    /// the receive window is retransmitted on a faster subflow, and the slower subflow halves its
    /// congestion window.
    #[serde(default)]
    pub opportunistic: bool,
}

/// A subflow: a flow, and an interface at each end. It is opened at the flow's start, or once the
/// connection is established if that is later. It is closed at the flow's stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subflow {
    /// Name of the flow.
    pub flow: String,
    /// Name of the link at the source's interface.
    pub local: String,
    /// Name of the link at the destination's interface.
    pub remote: String,
    /// Backup: used only if no other subflow is usable (RFC 8684 §3.3.8).
    pub backup: bool,
}

/// Schedulers of Multipath TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheduler {
    /// Linux's default (`mptcp_subflow_get_send`): the subflow with the least time to drain its
    /// queued data.
    Default,
    /// Lowest RTT first, until its congestion window is full, then the next (Raiciu et al. 2012;
    /// default of the multipath-tcp.org kernels).
    LowestRtt,
    /// Round-robin, segment by segment.
    RoundRobin,
    /// All data on every subflow.
    Redundant,
    /// Blocking estimation (Ferlin et al. 2016).
    Blest,
    /// Earliest completion first (Lim et al. 2017).
    Ecf,
}

impl Scheduler {
    /// Name in tables.
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
    /// Name of the flow that opens the connection; empty if there is none (refused by validation).
    pub fn first(&self) -> &str {
        self.subflows.first().map_or("", |subflow| subflow.flow.as_str())
    }
}
