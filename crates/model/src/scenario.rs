//! The scenario: one fully resolved experiment, the same for every engine. No choice is left, all
//! units are converted, every field stands in the file. `serde` is its only reader.
//!
//! Enumerations are written `"name"` or `{"name": {…}}`. Field names end in their unit.

pub use crate::arrivals::{Arrivals, Size};
pub use crate::catalogue::congestion_control::Algorithm;
pub use crate::multipath::{Connection, Scheduler, Subflow};
use crate::queue::{Framing, Queue};
pub use crate::session::{Exchange, Object, Origin, Protocol, Session};
use crate::tcp_options::TcpOptions;
pub use crate::traffic::{Codec, EchoProtocol, Ping, Sink, Tcp, Traffic, Udp};
use crate::units::{Rate, Span};
pub use crate::writer::{Source, TIMER_SLACK};
use serde::{Deserialize, Serialize};

/// The version of this schema, written into every scenario.
pub const SCENARIO_VERSION: u32 = 1;

/// One fully resolved combination of levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// [`SCENARIO_VERSION`].
    pub version: u32,
    /// For people; part of no decision.
    pub name: String,
    /// Virtual time simulated.
    #[serde(rename = "duration_ns")]
    pub duration: Span,
    /// Hosts, routers, switches.
    pub nodes: Vec<Node>,
    /// What joins them.
    pub links: Vec<Link>,
    /// Explicit routes; where none is given, all shortest paths by number of hops.
    pub routes: Vec<Route>,
    /// Traffic.
    pub flows: Vec<Flow>,
    /// Flows that arrive at random.
    #[serde(default)]
    pub arrivals: Vec<Arrivals>,
    /// Pages that are loaded over flows whose source is `session`.
    #[serde(default)]
    pub sessions: Vec<Session>,
    /// Multipath TCP over flows whose source is `subflow`.
    #[serde(default)]
    pub connections: Vec<Connection>,
    /// Where packets are looked at.
    pub taps: Vec<Tap>,
    /// What is recorded over time.
    pub sampling: Sampling,
    /// Hosts and routers find out and re-validate each other's link addresses with ARP packets.
    /// `null`: they know them.
    #[serde(default)]
    pub neighbour_discovery: Option<NeighbourDiscovery>,
}

/// Address resolution (RFC 826) with Linux's states (RFC 4861 §7.3.2). Its packets are small, but
/// they shift the token phase of parallel shapers against each other, and so decide whether
/// sprayed packets arrive in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeighbourDiscovery {
    /// An address counts as valid for a time drawn uniformly from half to one and a half of this
    /// (base_reachable_time; Linux: 30 s).
    #[serde(rename = "reachable_ns")]
    pub reachable: Span,
    /// Then it is asked for again, this long after its next use (delay_first_probe_time; 5 s).
    #[serde(rename = "probe_delay_ns")]
    pub probe_delay: Span,
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// Sends and receives; never forwards.
    Host,
    /// Forwards by route.
    Router,
    /// Forwards like a router; a bridge in the linux engine.
    Switch,
}

/// A host, router or switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Unique name.
    pub name: String,
    /// Its role.
    pub kind: NodeKind,
    /// How a router divides packets over equal paths. `null`: the first path takes all.
    pub spray: Option<Spray>,
    /// Each packet handled here waits a uniform random time below this, in order. 0: none.
    #[serde(rename = "processing_jitter_ns")]
    pub processing_jitter: Span,
    /// TCP of a host, named as Linux's sysctls. `null` for routers and switches.
    pub tcp: Option<TcpOptions>,
}

/// Packet spraying over all next hops of the route to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spray {
    /// How the next hop is chosen.
    pub policy: SprayPolicy,
    /// Which packets are sprayed; the others take the first next hop.
    pub what: SprayWhat,
    /// Which next hop comes first in round-robin; `null`: drawn from the seed.
    pub first: Option<u32>,
}

/// How a spraying router chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SprayPolicy {
    /// Strictly in turn, packet by packet (Linux TEQL).
    RoundRobin,
    /// Uniformly at random per packet.
    Random,
    /// By a hash of addresses and ports (ECMP).
    PerFlow,
}

/// Which packets are sprayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SprayWhat {
    /// Packets with payload.
    Data,
    /// Packets without payload.
    Acks,
    /// All.
    Both,
}

/// A link between two nodes: one pipe per direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Unique name.
    pub name: String,
    /// Name of one end.
    pub a: String,
    /// Name of the other end.
    pub b: String,
    /// From `a` to `b`.
    pub forward: Pipe,
    /// From `b` to `a`.
    pub backward: Pipe,
}

/// One direction of a link. A packet passes, in order: duplication, policer, loss,
/// corruption, ACK aggregation, queue with shaper, propagation (delay, jitter, reordering).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pipe {
    /// Drops what exceeds a token bucket.
    pub policer: Option<Policer>,
    /// Loss on arrival.
    pub loss: Loss,
    /// Probability (0–1) that a packet arrives damaged and is dropped by its receiver.
    pub corruption: f64,
    /// Probability (0–1) that a packet is queued twice.
    pub duplication: f64,
    /// What waits for the shaper.
    pub queue: Queue,
    /// What lets packets go.
    pub shaper: Shaper,
    /// How long frames are on the wire, as shaper and serialisation count.
    pub framing: Framing,
    /// Propagation.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
    /// Uniform random addition to the delay, below this; packets stay in order.
    #[serde(rename = "jitter_ns")]
    pub jitter: Span,
    /// Packets that are held back and overtaken.
    pub reordering: Option<Reordering>,
    /// Pure ACKs are collected and released together.
    pub ack_aggregation: Option<AckAggregation>,
    /// What changes during the run, by time.
    pub changes: Vec<Change>,
}

impl Pipe {
    /// What its shaper, or its queue, lets through at the beginning.
    pub fn rate(&self) -> Option<Rate> {
        match self.shaper {
            Shaper::Serial { rate_bps } | Shaper::Tbf { rate_bps, .. } => Some(rate_bps),
            Shaper::None | Shaper::Trace { .. } => self.queue.own_rate(),
        }
    }
}

/// A token-bucket policer: what exceeds it is dropped at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// Fill rate.
    pub rate_bps: Rate,
    /// Depth.
    pub burst_bytes: u64,
}

/// Loss before the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Loss {
    /// None.
    None,
    /// Each packet independently.
    Independent {
        /// 0–1.
        probability: f64,
    },
    /// Two states, one draw per packet for the state and one for the loss (Gilbert 1960,
    /// Elliott 1963).
    GilbertElliott {
        /// Good → bad, per packet, 0–1.
        good_to_bad: f64,
        /// Bad → good, per packet, 0–1.
        bad_to_good: f64,
        /// Loss in the good state, 0–1.
        loss_good: f64,
        /// Loss in the bad state, 0–1.
        loss_bad: f64,
    },
    /// Exactly these.
    Scripted {
        /// The packets to drop.
        drops: Vec<ScriptedDrop>,
    },
}

/// Drop the n-th passing segment of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedDrop {
    /// Name of the flow.
    pub flow: String,
    /// 1 is the first packet with payload of that flow (either direction) offered to this pipe,
    /// retransmissions counted.
    pub nth: u64,
}

/// What lets packets go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Shaper {
    /// Every eligible packet leaves at once.
    None,
    /// One packet at a time, each for its serialisation time.
    Serial {
        /// Of the wire.
        rate_bps: Rate,
    },
    /// Linux's token-bucket filter: a packet leaves at once when the bucket holds its length.
    Tbf {
        /// Fill rate.
        rate_bps: Rate,
        /// Depth.
        burst_bytes: u64,
        /// Level at the start; `null`: drawn from the seed between empty and full.
        initial_bytes: Option<u64>,
        /// How fast a burst may leave; `null`: at once.
        #[serde(default)]
        peak: Option<Peak>,
    },
    /// A packet-delivery trace as of mahimahi: at each time up to 1504 bytes may leave; repeated
    /// after its last time.
    Trace {
        /// Milliseconds from the start of a period, ascending.
        deliveries_ms: Vec<u64>,
    },
}

/// The second bucket of a token-bucket filter: what the first lets go at once leaves at this rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peak {
    /// Fill rate.
    pub rate_bps: Rate,
    /// Depth (`mtu` or `minburst` of tc): at least a packet.
    pub burst_bytes: u64,
}

/// Hold some packets back by a fixed time, so that later ones overtake them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reordering {
    /// 0–1, per packet.
    pub probability: f64,
    /// Added to the delay of those.
    #[serde(rename = "extra_delay_ns")]
    pub extra_delay: Span,
}

/// Release pure ACKs in batches, as Wi-Fi and cable modems do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AckAggregation {
    /// The first ACK of a batch waits at most this long.
    #[serde(rename = "max_wait_ns")]
    pub max_wait: Span,
    /// A batch of this many leaves at once.
    pub max_acks: u32,
}

/// New values of a pipe from a moment on; `null` leaves a value as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When.
    #[serde(rename = "at_ns")]
    pub at: Span,
    /// Shaper's rate.
    pub rate_bps: Option<Rate>,
    /// Propagation delay, or netem's where the queue is netem.
    #[serde(rename = "delay_ns")]
    pub delay: Option<Span>,
    /// Loss.
    pub loss: Option<Loss>,
}

/// An explicit route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Name of the node where it holds.
    pub at: String,
    /// Name of the destination host.
    pub to: String,
    /// Names of the links out, one or (for spraying) several, in order.
    pub via: Vec<String>,
}

/// Traffic between two hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Unique name.
    pub name: String,
    /// What it belongs to, for whom results are added up; empty: to nothing. Part of no decision.
    #[serde(default)]
    pub group: String,
    /// Name of the sending host.
    pub from: String,
    /// Name of the receiving host.
    pub to: String,
    /// First packet.
    #[serde(rename = "start_ns")]
    pub start: Span,
    /// No new data from here on; `null`: until the end.
    #[serde(rename = "stop_ns")]
    pub stop: Option<Span>,
    /// The start is moved by a uniform random time below this.
    #[serde(rename = "start_jitter_ns")]
    pub start_jitter: Span,
    /// Codepoint of its packets, both ways (RFC 2474), 0 to 63.
    #[serde(default)]
    pub dscp: u8,
    /// What it carries.
    pub traffic: Traffic,
}

/// Where packets are looked at: the interface of a node on a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tap {
    /// Unique name.
    pub name: String,
    /// Name of the node.
    pub node: String,
    /// Name of the link.
    pub link: String,
}

/// What is recorded over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Between samples of window statistics (`flows`), and of the tables that are kept.
    #[serde(rename = "interval_ns")]
    pub interval: Span,
    /// Keep the `samples` table.
    pub samples: bool,
    /// Keep the `queues` table.
    pub queues: bool,
    /// Keep the `drops` table.
    pub drops: bool,
    /// Keep the `probes` table.
    #[serde(default)]
    pub probes: bool,
    /// Keep every packet that passes a tap in this stretch of time (the `packets` table).
    #[serde(default)]
    pub packets: Option<Stretch>,
    /// Capture what passes the taps.
    #[serde(default)]
    pub capture: Option<Capture>,
    /// Keep the way of every packet that comes to a link in this stretch of time (the `hops` table).
    #[serde(default)]
    pub hops: Option<Stretch>,
}

/// A capture of all taps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Bytes kept of each frame.
    pub snap_bytes: u32,
}

/// A stretch of time: `from` belongs to it, `to` does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    /// Its beginning.
    #[serde(rename = "from_ns")]
    pub from: Span,
    /// Its end.
    #[serde(rename = "to_ns")]
    pub to: Span,
}
