//! Queues in front of a link: drop-tail, netem, and the queue disciplines of the catalogue, each with
//! Linux's parameters. A discipline with classes holds a queue per class.

use crate::catalogue::discipline::{self, Parameters};
use crate::catalogue::parameter::{
    bytes, flag, packets, quantum, share, time, whole, Parameter, Value,
};
use crate::for_disciplines;
use crate::units::{Rate, Span};
use crate::validate::ScenarioError;
use serde::{Deserialize, Serialize};

/// Parameters of a discipline, made from its entry.
macro_rules! parameters {
    ($variant:ident $module:ident
     $($(#[doc = $about:literal])+ $name:ident $field:literal: $type:ty = $value:expr;)+) => {
        #[doc = concat!("Parameters of `", stringify!($module), "`; see [`discipline::Entry`].")]
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $variant {
            $(
                $(#[doc = $about])+
                #[serde(rename = $field)]
                pub $name: $type,
            )+
        }

        impl Parameters for $variant {
            const PARAMETERS: &'static [Parameter] = &[$(Parameter {
                field: $field,
                about: concat!($($about),+).trim_ascii(),
                ..$value
            },)+];

            fn values(&self) -> Vec<Value> {
                vec![$(Value::from(self.$name),)+]
            }
        }
    };
}

macro_rules! queues {
    ($($variant:ident $module:ident $entry:tt $({ $($parameters:tt)+ })?;)+) => {
        $($(parameters! { $variant $module $($parameters)+ })?)+

        /// A queue in front of a link.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case", deny_unknown_fields)]
        pub enum Queue {
            /// First in, first out; an arriving packet that does not fit is dropped (pfifo, bfifo). The
            /// packet on a serial link's wire does not count.
            DropTail {
                /// Limit in packets.
                limit_packets: Option<u64>,
                /// Limit in bytes of frames.
                limit_bytes: Option<u64>,
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
                /// Limit in packets.
                limit_packets: u64,
            },
            $(
                #[doc = concat!("`", stringify!($module), "`; see [`discipline::Entry`].")]
                $variant($variant),
            )+
        }

        impl Queue {
            /// Returns the catalogue's entry of a discipline.
            pub fn entry(&self) -> Option<&'static discipline::Entry> {
                let key = match self {
                    Self::DropTail { .. } | Self::Netem { .. } => return None,
                    $(Self::$variant(_) => stringify!($module),)+
                };
                discipline::ENTRIES.iter().find(|entry| entry.key == key)
            }

            /// Checks every parameter of a discipline against its range.
            ///
            /// # Errors
            /// Names the field below `at`, what it holds and what is allowed.
            pub(crate) fn check_ranges(&self, at: &str, frame_bytes: u64) -> Result<(), ScenarioError> {
                let (parameters, values) = match self {
                    Self::DropTail { .. } | Self::Netem { .. } => return Ok(()),
                    $(Self::$variant(held) => ($variant::PARAMETERS, held.values()),)+
                };
                let mut pairs = parameters.iter().zip(values);
                pairs.try_for_each(|(one, value)| one.check(at, value, frame_bytes))
            }
        }
    };
}
for_disciplines!(queues);

impl Queue {
    /// Returns true if a discipline decides what leaves; others keep the order of arrival and drop at
    /// the tail.
    pub fn is_discipline(&self) -> bool {
        !matches!(self, Self::DropTail { .. } | Self::Netem { .. })
    }

    /// Rate of a queue that shapes by itself.
    pub fn own_rate(&self) -> Option<Rate> {
        match self {
            Self::Htb(htb) => Some(htb.rate_bps),
            _ => None,
        }
    }

    /// Its name in Linux's `tc`, or where Linux has it not, in experiment files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::DropTail { limit_bytes: Some(_), .. } => "bfifo",
            Self::DropTail { .. } => "pfifo",
            Self::Netem { .. } => "netem",
            other => other.entry().map_or("", |entry| entry.linux.map_or(entry.name, |l| l.name)),
        }
    }
}

/// Parameters of FQ-PIE. Its PIE holds for every flow, and the limit of that for all flows together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqPie {
    /// PIE of every flow.
    pub pie: Pie,
    /// Number of queues.
    pub flows: u32,
    /// Bytes that a flow may send in its turn.
    pub quantum_bytes: u32,
    /// Probability in percent up to which packets are marked rather than dropped.
    pub ecn_prob_percent: u32,
}

impl Parameters for FqPie {
    const PARAMETERS: &'static [Parameter] = &[
        packets("limit", 10_240).at("pie.limit_packets", "Longest queue, all flows together."),
        Pie::PARAMETERS[1].at("pie.target_ns", Pie::PARAMETERS[1].about),
        Pie::PARAMETERS[2].at("pie.tupdate_ns", Pie::PARAMETERS[2].about),
        Pie::PARAMETERS[3].at("pie.alpha", Pie::PARAMETERS[3].about),
        Pie::PARAMETERS[4].at("pie.beta", Pie::PARAMETERS[4].about),
        Pie::PARAMETERS[5]
            .at("pie.ecn", "Mark packets of ECN-capable flows while the probability is low."),
        Pie::PARAMETERS[6].at("pie.bytemode", Pie::PARAMETERS[6].about),
        whole("flows", 1, 65_536, 1024).at("flows", "Number of queues."),
        quantum("quantum", 1514).at("quantum_bytes", "Bytes that a flow may send in its turn."),
        whole("ecn_prob", 0, 100, 10)
            .at("ecn_prob_percent", "Probability in percent up to which packets are marked."),
    ];

    fn values(&self) -> Vec<Value> {
        let own = [self.flows, self.quantum_bytes, self.ecn_prob_percent];
        self.pie.values().into_iter().chain(own.map(Value::from)).collect()
    }
}

/// Bands by priority: a later one is served when all before it are empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prio {
    /// From the first served to the last.
    pub bands: Vec<Band>,
}

impl Parameters for Prio {}

/// Deficit Round Robin over classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drr {
    /// In the order of the file.
    pub classes: Vec<Turn>,
}

impl Parameters for Drr {}

impl Parameters for Htb {}

/// A band of prio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// Codepoints of its packets (RFC 2474); none: it takes the rest.
    pub dscp: Vec<u8>,
    /// Its queue.
    pub queue: Queue,
}

/// A class of DRR.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Codepoints of its packets; none: it takes the rest.
    pub dscp: Vec<u8>,
    /// Bytes that it may send in its turn.
    pub quantum_bytes: u32,
    /// Its queue.
    pub queue: Queue,
}

/// A token bucket whose classes share its rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Htb {
    /// Rate of all classes together.
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
    /// Codepoints of its packets; none: it takes the rest.
    pub dscp: Vec<u8>,
    /// Guaranteed rate.
    pub rate_bps: Rate,
    /// Most rate, with what it borrows.
    pub ceil_bps: Rate,
    /// Depth of the bucket of its rate.
    pub burst_bytes: u64,
    /// Depth of the bucket of its ceiling.
    pub cburst_bytes: u64,
    /// 0 is offered spare rate first; at most 7.
    pub priority: u32,
    /// Bytes that it may send in its turn among classes of its priority.
    pub quantum_bytes: u32,
    /// Its queue.
    pub queue: Queue,
}

/// Framing of a link: the length of a frame on its wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Framing {
    /// Bytes beyond the Ethernet frame without FCS; below 0 where that header is not sent.
    pub overhead_bytes: i32,
    /// Least length; shorter frames are padded.
    pub mpu_bytes: u32,
    /// Cells of 53 bytes that carry 48 (ATM, ITU-T I.361), the last one padded (AAL5).
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
