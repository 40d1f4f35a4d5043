//! The scenario: one fully resolved experiment, the same for every engine. All choices are made, all
//! units are converted, every field is written. Only `serde` reads it.
//!
//! Enumerations are written `"name"` or `{"name": {…}}`. Names of fields end in their unit.

pub use crate::arrivals::{Arrivals, Size};
pub use crate::catalogue::congestion_control::Algorithm;
pub use crate::multipath::{Connection, Scheduler, Subflow};
use crate::netem::{FourStates, SlotDistribution};
pub use crate::programs::Program;
use crate::queue::{Framing, Queue};
pub use crate::requests::{Load, Requests};
pub use crate::session::{Exchange, Object, Origin, Protocol, Session};
use crate::tcp_options::TcpOptions;
pub use crate::traffic::{Codec, EchoProtocol, Ping, Sink, Tcp, Traffic, Udp};
use crate::units::{Rate, Span};
pub use crate::writer::{Source, TIMER_SLACK};
use serde::{Deserialize, Serialize};

/// Version of this schema, written into every scenario.
pub const SCENARIO_VERSION: u32 = 1;

/// One fully resolved combination of levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Version of the schema ([`SCENARIO_VERSION`]).
    pub version: u32,
    /// Name for readers; does not affect the run.
    pub name: String,
    /// Duration in virtual time.
    #[serde(rename = "duration_ns")]
    pub duration: Span,
    /// Hosts, routers, switches.
    pub nodes: Vec<Node>,
    /// Links between nodes.
    pub links: Vec<Link>,
    /// Explicit routes. Default: all shortest paths by number of hops.
    pub routes: Vec<Route>,
    /// Flows.
    pub flows: Vec<Flow>,
    /// Flows that arrive at random.
    #[serde(default)]
    pub arrivals: Vec<Arrivals>,
    /// Page loads over flows with the source `session`.
    #[serde(default)]
    pub sessions: Vec<Session>,
    /// Requests and responses over flows with the source `session`. Without any, the field is absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Requests>,
    /// Multipath TCP connections over flows with the source `subflow`.
    #[serde(default)]
    pub connections: Vec<Connection>,
    /// Programs of the user on hosts. Without any, the field is absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<Program>,
    /// Taps.
    pub taps: Vec<Tap>,
    /// Recording of tables over time.
    pub sampling: Sampling,
    /// Address resolution between hosts and routers by ARP. `null`: link addresses are known.
    #[serde(default)]
    pub neighbour_discovery: Option<NeighbourDiscovery>,
}

/// Address resolution (RFC 826) with Linux's neighbour states (RFC 4861 §7.3.2). ARP packets are small,
/// but they shift the token phase of parallel shapers against each other. This decides whether
/// sprayed packets arrive in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeighbourDiscovery {
    /// Base of the time for which an address is reachable (`base_reachable_time`; Linux: 30 s). The
    /// time is uniform from 0.5 to 1.5 of it.
    #[serde(rename = "reachable_ns")]
    pub reachable: Span,
    /// Delay from the first use of a stale address to the first probe (`delay_first_probe_time`;
    /// Linux: 5 s).
    #[serde(rename = "probe_delay_ns")]
    pub probe_delay: Span,
}

/// Role of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// Sends and receives, does not forward.
    Host,
    /// Forwards IP packets by route.
    Router,
    /// Forwards as a router does; a bridge on the kernel's engines.
    Switch,
}

/// A host, router or switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Unique name.
    pub name: String,
    /// Role.
    pub kind: NodeKind,
    /// Packet spraying over equal paths. `null`: all packets take the first path.
    pub spray: Option<Spray>,
    /// Upper bound of a uniform random processing delay per packet, in order. 0: none.
    #[serde(rename = "processing_jitter_ns")]
    pub processing_jitter: Span,
    /// TCP options of a host, named after Linux's sysctls. `null` for routers and switches.
    pub tcp: Option<TcpOptions>,
}

/// Packet spraying over all next hops of the route to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spray {
    /// Choice of the next hop.
    pub policy: SprayPolicy,
    /// Packets that are sprayed. The others take the first next hop.
    pub what: SprayWhat,
    /// Index of the first next hop in round-robin; `null`: drawn from the seed.
    pub first: Option<u32>,
}

/// Policy by which a spraying router chooses the next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SprayPolicy {
    /// Round-robin, packet by packet (Linux TEQL).
    RoundRobin,
    /// Uniformly at random per packet.
    Random,
    /// By a hash of addresses and ports (ECMP).
    PerFlow,
}

/// Packets that are sprayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SprayWhat {
    /// Packets with payload.
    Data,
    /// Packets without payload.
    Acks,
    /// All packets.
    Both,
}

/// A link between two nodes: one pipe per direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Unique name.
    pub name: String,
    /// Name of the first node.
    pub a: String,
    /// Name of the second node.
    pub b: String,
    /// Pipe from `a` to `b`.
    pub forward: Pipe,
    /// Pipe from `b` to `a`.
    pub backward: Pipe,
}

/// One direction of a link. A packet passes, in order: rewriting, duplication, policer, loss,
/// corruption, ACK aggregation, queue with shaper, propagation (delay, jitter, reordering).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pipe {
    /// Token-bucket policer.
    pub policer: Option<Policer>,
    /// Loss on arrival.
    pub loss: Loss,
    /// Probability (0–1) that a packet is damaged on the link. The receiver drops it.
    pub corruption: f64,
    /// Probability (0–1) that a packet is queued twice.
    pub duplication: f64,
    /// Queue before the shaper.
    pub queue: Queue,
    /// Shaper.
    pub shaper: Shaper,
    /// Length of frames on the wire, for shaper and serialisation.
    pub framing: Framing,
    /// Propagation delay.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
    /// Upper bound of a uniform random addition to the delay. Packets stay in order.
    #[serde(rename = "jitter_ns")]
    pub jitter: Span,
    /// Random reordering.
    pub reordering: Option<Reordering>,
    /// Aggregation of pure ACKs.
    pub ack_aggregation: Option<AckAggregation>,
    /// Transmission opportunities behind the wire. Without them, the field is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<Slots>,
    /// Rewriting of headers on arrival. Without it, the field is absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewrites: Vec<Rewrite>,
    /// Timed changes, in order of time.
    pub changes: Vec<Change>,
}

impl Pipe {
    /// Rate of the shaper or of a shaping discipline, at the start of the run.
    pub fn rate(&self) -> Option<Rate> {
        match self.shaper {
            Shaper::Serial { rate_bps } | Shaper::Tbf { rate_bps, .. } => Some(rate_bps),
            Shaper::None | Shaper::Trace { .. } => self.queue.own_rate(),
        }
    }
}

/// A token-bucket policer. Packets that exceed the bucket are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// Fill rate.
    pub rate_bps: Rate,
    /// Depth of the bucket.
    pub burst_bytes: u64,
}

/// Loss before the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Loss {
    /// No loss.
    None,
    /// Independent loss of each packet.
    Independent {
        /// Probability, 0–1.
        probability: f64,
    },
    /// Gilbert–Elliott model (1960, 1963): two states; one draw per packet for the state, one for the
    /// loss.
    GilbertElliott {
        /// Probability of the transition from good to bad per packet, 0–1.
        good_to_bad: f64,
        /// Probability of the transition from bad to good per packet, 0–1.
        bad_to_good: f64,
        /// Loss probability in the good state, 0–1.
        loss_good: f64,
        /// Loss probability in the bad state, 0–1.
        loss_bad: f64,
        /// Length of a step in time; `null` or absent: a step is a packet.
        #[serde(rename = "every_ns", default, skip_serializing_if = "Option::is_none")]
        every: Option<Span>,
    },
    /// Four states (`loss_4state` of netem): one draw per packet.
    State {
        /// Probabilities of transitions.
        chain: FourStates,
        /// Length of a step in time; `null` or absent: a step is a packet.
        #[serde(rename = "every_ns", default, skip_serializing_if = "Option::is_none")]
        every: Option<Span>,
    },
    /// Loss of given segments.
    Scripted {
        /// Segments to drop.
        drops: Vec<ScriptedDrop>,
    },
}

/// A scripted loss: the n-th segment of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedDrop {
    /// Name of the flow.
    pub flow: String,
    /// Number of the segment. 1 is the first packet with payload of the flow (either direction) that is
    /// offered to this pipe. Retransmissions count.
    pub nth: u64,
}

/// Rewriting of the headers that ECN uses, as middleboxes do it. It changes no length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rewrite {
    /// Name of the TCP flow; `null`: packets of all flows.
    pub flow: Option<String>,
    /// Numbers of the packets. 1 is the first packet of the flow (either direction) that is offered to this
    /// pipe: SYN, SYN-ACK, ACKs, and retransmissions count. Empty: all packets.
    pub nth: Vec<u64>,
    /// New ECN field of the IP header; `null`: it stays.
    pub ecn: Option<EcnField>,
    /// TCP flags to clear.
    pub clear_flags: Vec<EcnFlag>,
    /// TCP flags to set.
    pub set_flags: Vec<EcnFlag>,
    /// True if NOPs overwrite the AccECN option (kinds 172 and 174, RFC 9768 §3.2.3).
    pub strip_accecn: bool,
}

impl Rewrite {
    /// Returns true if it changes the TCP header.
    pub fn is_of_tcp(&self) -> bool {
        self.strip_accecn || !self.clear_flags.is_empty() || !self.set_flags.is_empty()
    }
}

/// ECN field of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EcnField {
    /// Not ECN-capable.
    NotEct,
    /// ECN-capable, of a scalable congestion control.
    Ect1,
    /// ECN-capable.
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl EcnField {
    /// Value of the two bits.
    pub fn bits(self) -> u8 {
        self as u8
    }
}

/// TCP flag that ECN uses (RFC 3168 §6.1, RFC 9768 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EcnFlag {
    /// ECN echo.
    Ece,
    /// Congestion window reduced.
    Cwr,
    /// Accurate ECN.
    Ae,
}

impl EcnFlag {
    /// The flag as a bit of the ACE field: AE, CWR, ECE from the highest to the lowest.
    pub fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Several flags as bits of the ACE field.
    pub fn bits(flags: &[Self]) -> u8 {
        flags.iter().fold(0, |bits, flag| bits | flag.bit())
    }
}

/// Shaper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Shaper {
    /// Every eligible packet leaves at once.
    None,
    /// Serial link: one packet at a time, each for its serialisation time.
    Serial {
        /// Rate of the wire.
        rate_bps: Rate,
    },
    /// Linux's token-bucket filter: a packet leaves as soon as the bucket holds its length.
    Tbf {
        /// Fill rate.
        rate_bps: Rate,
        /// Depth of the bucket.
        burst_bytes: u64,
        /// Initial level; `null`: uniform between empty and full, drawn from the seed.
        initial_bytes: Option<u64>,
        /// Peak rate of a burst; `null`: unlimited.
        #[serde(default)]
        peak: Option<Peak>,
    },
    /// Packet-delivery trace in mahimahi's format: up to 1504 bytes leave at each time. The trace
    /// repeats after its last time.
    Trace {
        /// Delivery times from the start of a period, ms, ascending.
        deliveries_ms: Vec<u64>,
    },
}

/// Second bucket of a token-bucket filter: it limits the rate of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peak {
    /// Fill rate.
    pub rate_bps: Rate,
    /// Depth of the bucket (`mtu` or `minburst` of tc); at least a packet.
    pub burst_bytes: u64,
}

/// Random reordering: some packets get an extra delay, so that later packets arrive before them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reordering {
    /// Probability per packet, 0–1.
    pub probability: f64,
    /// Extra delay of these packets.
    #[serde(rename = "extra_delay_ns")]
    pub extra_delay: Span,
}

/// Aggregation of pure ACKs into batches, as in Wi-Fi and cable modems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AckAggregation {
    /// Maximum wait of the first ACK of a batch.
    #[serde(rename = "max_wait_ns")]
    pub max_wait: Span,
    /// Maximum ACKs per batch. A full batch leaves at once.
    pub max_acks: u32,
}

/// Transmission opportunities, as netem's `slot`: a packet that the wire has serialised waits for the
/// next slot, and all that wait leave in it together. A slot is asked for when a packet waits and none
/// is to come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slots {
    /// Minimum wait for a slot.
    #[serde(rename = "min_ns")]
    pub min: Span,
    /// Maximum wait for a slot; the wait is uniform between both.
    #[serde(rename = "max_ns")]
    pub max: Span,
    /// Packets of a slot; 0: all that wait.
    pub packets: u32,
    /// Bytes of a slot; the packet that exceeds them still leaves. 0: all that wait.
    pub bytes: u32,
    /// Length of pauses, in which there are no slots; 0: none.
    #[serde(rename = "pause_ns")]
    pub pause: Span,
    /// Interval between the beginnings of two pauses. The first begins at a time drawn from the seed,
    /// alike in both directions.
    #[serde(rename = "pause_every_ns")]
    pub pause_every: Span,
    /// Waits from a distribution, in place of uniform ones. Without it, the field is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<SlotDistribution>,
}

/// A timed change of a pipe; `null` keeps a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Time of the change.
    #[serde(rename = "at_ns")]
    pub at: Span,
    /// Rate of the shaper.
    pub rate_bps: Option<Rate>,
    /// Propagation delay; the delay of netem if the queue is netem.
    #[serde(rename = "delay_ns")]
    pub delay: Option<Span>,
    /// Loss.
    pub loss: Option<Loss>,
    /// State of the link. Where it stays, the field is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<LinkState>,
}

/// State of one direction of a link. The link is up at the beginning of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkState {
    /// Packets pass.
    Up,
    /// Packets that are offered are dropped, as were those inside when it went down.
    Down,
}

/// An explicit route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Name of the node.
    pub at: String,
    /// Name of the destination host.
    pub to: String,
    /// Names of the outgoing links in order; several for spraying.
    pub via: Vec<String>,
}

/// A flow: traffic between two hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Unique name.
    pub name: String,
    /// Group in which results are summed; empty: none. Does not affect the run.
    #[serde(default)]
    pub group: String,
    /// Name of the sending host.
    pub from: String,
    /// Name of the receiving host.
    pub to: String,
    /// Time of the first packet, before `start_jitter`.
    #[serde(rename = "start_ns")]
    pub start: Span,
    /// Time after which no new data is sent; `null`: end of the run.
    #[serde(rename = "stop_ns")]
    pub stop: Option<Span>,
    /// Upper bound of a uniform random addition to the start.
    #[serde(rename = "start_jitter_ns")]
    pub start_jitter: Span,
    /// DSCP of its packets in both directions (RFC 2474), 0 to 63.
    #[serde(default)]
    pub dscp: u8,
    /// Kind of traffic.
    pub traffic: Traffic,
}

/// A tap: records packets at the interface of a node on a link.
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

/// Recording of tables over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Interval between samples, of the recorded tables and of the window statistics in `flows`.
    #[serde(rename = "interval_ns")]
    pub interval: Span,
    /// Records the table `samples`.
    pub samples: bool,
    /// Records the table `queues`.
    pub queues: bool,
    /// Records the table `drops`.
    pub drops: bool,
    /// Records the table `probes`.
    #[serde(default)]
    pub probes: bool,
    /// Interval in which every packet at a tap is recorded (table `packets`).
    #[serde(default)]
    pub packets: Option<Stretch>,
    /// Capture at all taps.
    #[serde(default)]
    pub capture: Option<Capture>,
    /// Interval in which every packet at a link is recorded (table `hops`).
    #[serde(default)]
    pub hops: Option<Stretch>,
}

/// Capture at all taps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Bytes kept of each frame.
    pub snap_bytes: u32,
}

/// A time interval with its start, without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    /// Start.
    #[serde(rename = "from_ns")]
    pub from: Span,
    /// End.
    #[serde(rename = "to_ns")]
    pub to: Span,
}
