//! What waits in front of a link, and in which order it leaves: queues and Linux's queue disciplines,
//! each with Linux's parameters. A discipline with classes holds a queue per class.

use crate::units::{Rate, Span};
use serde::{Deserialize, Serialize};

/// What waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Queue {
    /// First in, first out; an arriving packet that does not fit is dropped (pfifo, bfifo). The
    /// packet on a serial link's wire does not count.
    DropTail {
        /// Room in packets.
        limit_packets: Option<u64>,
        /// Room in bytes of frames.
        limit_bytes: Option<u64>,
    },
    /// First in, first out; where it is full, the head goes (pfifo_head_drop).
    HeadDrop {
        /// Room in packets.
        limit_packets: u64,
    },
    /// Linux's netem: each packet becomes eligible after the delay; packets in delay and packets
    /// waiting for tokens count alike against the limit.
    Netem {
        /// Fixed delay.
        #[serde(rename = "delay_ns")]
        delay: Span,
        /// Uniform random addition to the delay, below this; may reorder, as in Linux.
        #[serde(rename = "jitter_ns")]
        jitter: Span,
        /// Room in packets.
        limit_packets: u64,
    },
    /// Random Early Detection (Floyd and Jacobson 1993), adaptive if wanted.
    Red(Red),
    /// CoDel (RFC 8289).
    Codel(Codel),
    /// FlowQueue-CoDel (RFC 8290).
    FqCodel(FqCodel),
    /// PIE (RFC 8033).
    Pie(Pie),
    /// FlowQueue-PIE.
    FqPie(FqPie),
    /// Stochastic Fairness Queueing (McKenney 1990).
    Sfq(Sfq),
    /// Fair queue (fq); of what is forwarded it paces nothing.
    Fq(Fq),
    /// Bands by priority: a later one is served when all before it are empty.
    Prio {
        /// From the first served to the last.
        bands: Vec<Band>,
    },
    /// Deficit Round Robin (Shreedhar and Varghese 1995) over classes.
    Drr {
        /// In the order of the file.
        classes: Vec<Turn>,
    },
    /// Hierarchy Token Bucket: shapes by itself.
    Htb(Htb),
}

impl Queue {
    /// A discipline decides what leaves; others keep the order of arrival and drop at the tail.
    pub fn is_discipline(&self) -> bool {
        !matches!(self, Self::DropTail { .. } | Self::Netem { .. })
    }

    /// What a queue that shapes by itself lets through.
    pub fn own_rate(&self) -> Option<Rate> {
        match self {
            Self::Htb(htb) => Some(htb.rate_bps),
            _ => None,
        }
    }

    /// Its name in Linux's `tc`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::DropTail { limit_bytes: Some(_), .. } => "bfifo",
            Self::DropTail { .. } => "pfifo",
            Self::HeadDrop { .. } => "pfifo_head_drop",
            Self::Netem { .. } => "netem",
            Self::Red(_) => "red",
            Self::Codel(_) => "codel",
            Self::FqCodel(_) => "fq_codel",
            Self::Pie(_) => "pie",
            Self::FqPie(_) => "fq_pie",
            Self::Sfq(_) => "sfq",
            Self::Fq(_) => "fq",
            Self::Prio { .. } => "prio",
            Self::Drr { .. } => "drr",
            Self::Htb(_) => "htb",
        }
    }
}

/// Parameters of RED as `tc red` takes them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Red {
    /// Room in bytes.
    pub limit_bytes: u64,
    /// Average length from which packets are marked.
    pub min_bytes: u64,
    /// Average length from which all are.
    pub max_bytes: u64,
    /// Length of a packet in the average.
    pub average_packet_bytes: u64,
    /// Packets of a burst that the average forgives; it sets the weight of the average.
    pub burst_packets: u64,
    /// Of marking where the average is about to reach the maximum, 0–1.
    pub probability: f64,
    /// Mark what can be marked (RFC 3168).
    pub ecn: bool,
    /// Above the maximum drop also what can be marked.
    pub harddrop: bool,
    /// Move the probability so that the average stays amid both bounds (Floyd et al. 2001).
    pub adaptive: bool,
}

/// Parameters of CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Codel {
    /// Room in packets.
    pub limit_packets: u64,
    /// Acceptable time in the queue.
    #[serde(rename = "target_ns")]
    pub target: Span,
    /// For which it may be exceeded.
    #[serde(rename = "interval_ns")]
    pub interval: Span,
    /// Mark what can be marked (RFC 3168).
    pub ecn: bool,
}

/// Parameters of FQ-CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqCodel {
    /// Room in packets, of all flows together.
    pub limit_packets: u64,
    /// Queues.
    pub flows: u32,
    /// What a flow may send in its turn.
    pub quantum_bytes: u32,
    /// Acceptable time in the queue.
    #[serde(rename = "target_ns")]
    pub target: Span,
    /// For which it may be exceeded.
    #[serde(rename = "interval_ns")]
    pub interval: Span,
    /// Mark what can be marked (RFC 3168).
    pub ecn: bool,
}

/// Parameters of PIE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pie {
    /// Room in packets.
    pub limit_packets: u64,
    /// Delay that is aimed at.
    #[serde(rename = "target_ns")]
    pub target: Span,
    /// Between updates of the probability.
    #[serde(rename = "tupdate_ns")]
    pub tupdate: Span,
    /// Weight of the delay's distance from the target, in sixteenths per second.
    pub alpha: u32,
    /// Weight of its change, likewise.
    pub beta: u32,
    /// Mark what can be marked while the probability is at most a tenth.
    pub ecn: bool,
    /// Short packets are dropped more rarely.
    pub bytemode: bool,
}

/// Parameters of FQ-PIE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqPie {
    /// Of every flow; its room is that of all flows together.
    pub pie: Pie,
    /// Queues.
    pub flows: u32,
    /// What a flow may send in its turn.
    pub quantum_bytes: u32,
    /// Probability in percent up to which is marked rather than dropped.
    pub ecn_prob_percent: u32,
}

/// Parameters of SFQ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sfq {
    /// Room in packets, of all flows together.
    pub limit_packets: u64,
    /// Flows that may wait at once.
    pub flows: u32,
    /// Packets of one flow.
    pub depth_packets: u32,
    /// What a flow may send in its turn.
    pub quantum_bytes: u32,
    /// A flow at its depth loses its head, not what arrives.
    pub headdrop: bool,
}

/// Parameters of fq.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fq {
    /// Room in packets, of all flows together.
    pub limit_packets: u64,
    /// Packets of one flow.
    pub flow_limit_packets: u64,
    /// What a flow may send in its turn.
    pub quantum_bytes: u32,
    /// What it may send in its first.
    pub initial_quantum_bytes: u32,
}

/// A band of prio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// Codepoints of its packets (RFC 2474); none: it takes what no other band does.
    pub dscp: Vec<u8>,
    /// Its queue.
    pub queue: Queue,
}

/// A class of DRR.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Codepoints of its packets; none: it takes what no other class does.
    pub dscp: Vec<u8>,
    /// What it may send in its turn.
    pub quantum_bytes: u32,
    /// Its queue.
    pub queue: Queue,
}

/// A token bucket whose classes share its rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Htb {
    /// Of all classes together.
    pub rate_bps: Rate,
    /// Depth of its bucket.
    pub burst_bytes: u64,
    /// At least one.
    pub classes: Vec<HtbClass>,
}

/// A class of HTB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HtbClass {
    /// Codepoints of its packets; none: it takes what no other class does.
    pub dscp: Vec<u8>,
    /// What it is promised.
    pub rate_bps: Rate,
    /// What it may borrow up to.
    pub ceil_bps: Rate,
    /// Depth of the bucket of its rate.
    pub burst_bytes: u64,
    /// Depth of the bucket of its ceiling.
    pub cburst_bytes: u64,
    /// 0 is offered spare rate first; at most 7.
    pub priority: u32,
    /// What it may send in its turn among classes of its priority.
    pub quantum_bytes: u32,
    /// Its queue.
    pub queue: Queue,
}

/// How long a frame is on the wire: its link's framing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Framing {
    /// Beyond the Ethernet frame without FCS; less than 0 where that header is not sent.
    pub overhead_bytes: i32,
    /// What a shorter one is filled up to.
    pub mpu_bytes: u32,
    /// In cells of 53 bytes that carry 48 (ATM, ITU-T I.361), the last filled up (AAL5).
    pub atm: bool,
}

/// Payload of an ATM cell.
const CELL_PAYLOAD_BYTES: u32 = 48;
/// A cell with its header.
const CELL_BYTES: u32 = 53;

impl Framing {
    /// Bytes that a frame takes on the wire.
    pub fn wire_bytes(&self, frame_bytes: u32) -> u32 {
        let framed = frame_bytes.saturating_add_signed(self.overhead_bytes).max(self.mpu_bytes);
        if self.atm {
            framed.div_ceil(CELL_PAYLOAD_BYTES).saturating_mul(CELL_BYTES)
        } else {
            framed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_takes_two_cells_and_a_full_packet_32() {
        // PPPoE with LLC/SNAP over AAL5: 40 bytes around the IP packet, 26 beyond the frame.
        let adsl = Framing { overhead_bytes: 26, mpu_bytes: 0, atm: true };
        assert_eq!(adsl.wire_bytes(14 + 40), 2 * 53); // 80 bytes
        assert_eq!(adsl.wire_bytes(14 + 56), 2 * 53); // exactly 96
        assert_eq!(adsl.wire_bytes(14 + 57), 3 * 53);
        assert_eq!(adsl.wire_bytes(14 + 1492), 32 * 53); // 1532 bytes in 31.9 cells
                                                         // PPPoA, VC multiplexed: 10 bytes around the IP packet; 1478 is the well-known best MTU.
        let pppoa = Framing { overhead_bytes: -4, mpu_bytes: 0, atm: true };
        assert_eq!(pppoa.wire_bytes(14 + 1478), 31 * 53);
        assert_eq!(pppoa.wire_bytes(14 + 1479), 32 * 53);
    }

    #[test]
    fn ethernet_has_a_least_length() {
        let ethernet = Framing { overhead_bytes: 24, mpu_bytes: 84, atm: false };
        assert_eq!(ethernet.wire_bytes(54), 84);
        assert_eq!(ethernet.wire_bytes(1514), 1538);
        assert_eq!(Framing::default().wire_bytes(60), 60);
    }
}
