//! Queues in front of a link: drop-tail, netem, and the queue disciplines of the catalogue, each with
//! Linux's parameters. A discipline with classes holds a queue per class.

pub use crate::cake::{AckFilter, Cells, Diffserv, Isolation};
use crate::catalogue::discipline::{self, Parameters};
use crate::catalogue::parameter::{
    bytes, choice, flag, of_unit, packets, quantum, rate, share, time, whole, Parameter, Unit,
    Value,
};
use crate::for_disciplines;
use crate::netem::NetemWords;
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
            /// netem: each packet becomes eligible after the delay. Delayed packets and packets that
            /// wait for tokens both count against the limit.
            Netem {
                /// Fixed delay.
                #[serde(rename = "delay_ns")]
                delay: Span,
                /// Upper bound of a uniform random addition to the delay. It may reorder packets, as in Linux.
                #[serde(rename = "jitter_ns")]
                jitter: Span,
                /// Limit in packets.
                limit_packets: u64,
                /// Further words of netem. Without them, the field is absent.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                words: Option<Box<NetemWords>>,
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

            /// Parameters of a discipline with their values; empty for other queues and for
            /// disciplines with classes.
            pub fn parameters(&self) -> Vec<(&'static Parameter, Value)> {
                match self {
                    Self::DropTail { .. } | Self::Netem { .. } => Vec::new(),
                    $(Self::$variant(held) => $variant::PARAMETERS.iter().zip(held.values()).collect(),)+
                }
            }

            /// Checks every parameter of a discipline against its range.
            ///
            /// # Errors
            /// Names the field below `at`, its value and the range.
            pub(crate) fn check_ranges(&self, at: &str) -> Result<(), ScenarioError> {
                self.parameters().into_iter().try_for_each(|(one, value)| one.check(at, value))
            }
        }
    };
}
for_disciplines!(queues);

impl Queue {
    /// Returns true for a discipline of the catalogue. The others are FIFO and drop at the tail.
    pub fn is_discipline(&self) -> bool {
        !matches!(self, Self::DropTail { .. } | Self::Netem { .. })
    }

    /// Rate of a discipline that shapes (HTB, CAKE with a bandwidth).
    pub fn own_rate(&self) -> Option<Rate> {
        match self {
            Self::Htb(htb) => Some(htb.rate_bps),
            Self::Cake(cake) if cake.bandwidth > Rate::default() => Some(cake.bandwidth),
            _ => None,
        }
    }

    /// Name in `tc`; name in experiment files if Linux does not have the discipline.
    pub fn name(&self) -> &'static str {
        match self {
            Self::DropTail { limit_bytes: Some(_), .. } => "bfifo",
            Self::DropTail { .. } => "pfifo",
            Self::Netem { .. } => "netem",
            other => other.entry().map_or("", |entry| entry.linux.map_or(entry.name, |l| l.name)),
        }
    }
}

/// Parameters of FQ-PIE. Every flow has a PIE of these parameters. The limit holds for all flows together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqPie {
    /// Parameters of PIE.
    pub pie: Pie,
    /// Number of queues.
    pub flows: u32,
    /// Quantum of a flow per round, bytes.
    pub quantum_bytes: u32,
    /// Drop probability up to which packets are marked instead of dropped, percent.
    pub ecn_prob_percent: u32,
}

impl Parameters for FqPie {
    const PARAMETERS: &'static [Parameter] = &[
        packets("limit", 10_240).at("pie.limit_packets", "Queue limit over all flows."),
        Pie::PARAMETERS[1].at("pie.target_ns", Pie::PARAMETERS[1].about),
        Pie::PARAMETERS[2].at("pie.tupdate_ns", Pie::PARAMETERS[2].about),
        Pie::PARAMETERS[3].at("pie.alpha", Pie::PARAMETERS[3].about),
        Pie::PARAMETERS[4].at("pie.beta", Pie::PARAMETERS[4].about),
        Pie::PARAMETERS[5]
            .at("pie.ecn", "Mark packets of ECN-capable flows instead of dropping them, while the probability is at most `ecn_prob`."),
        Pie::PARAMETERS[6].at("pie.bytemode", Pie::PARAMETERS[6].about),
        whole("flows", 1, 65_536, 1024).at("flows", "Number of queues."),
        quantum("quantum", 1514).at("quantum_bytes", "Bytes that a flow may send in its turn."),
        whole("ecn_prob", 0, 100, 10)
            .at("ecn_prob_percent", "Drop probability up to which packets are marked instead, percent."),
    ];

    fn values(&self) -> Vec<Value> {
        let own = [self.flows, self.quantum_bytes, self.ecn_prob_percent];
        self.pie.values().into_iter().chain(own.map(Value::from)).collect()
    }
}

/// Parameters of prio. A band is served if all earlier bands are empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prio {
    /// Bands, highest priority first.
    pub bands: Vec<Band>,
}

impl Parameters for Prio {}

/// Parameters of Deficit Round Robin over classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drr {
    /// Classes, in the order of the file.
    pub classes: Vec<DrrClass>,
}

impl Parameters for Drr {}

impl Parameters for Htb {}

/// A band of prio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// DSCPs of its packets (RFC 2474); none: the default class.
    pub dscp: Vec<u8>,
    /// Queue.
    pub queue: Queue,
}

/// A class of DRR.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrrClass {
    /// DSCPs of its packets; none: the default class.
    pub dscp: Vec<u8>,
    /// Quantum per round, bytes.
    pub quantum_bytes: u32,
    /// Queue.
    pub queue: Queue,
}

/// Parameters of Hierarchy Token Bucket: classes that share a rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Htb {
    /// Rate of all classes together.
    pub rate_bps: Rate,
    /// Depth of the token bucket.
    pub burst_bytes: u64,
    /// Classes, at least one.
    pub classes: Vec<HtbClass>,
}

/// A class of HTB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HtbClass {
    /// DSCPs of its packets; none: the default class.
    pub dscp: Vec<u8>,
    /// Guaranteed rate.
    pub rate_bps: Rate,
    /// Maximum rate, borrowed tokens included.
    pub ceil_bps: Rate,
    /// Depth of the bucket of `rate_bps`.
    pub burst_bytes: u64,
    /// Depth of the bucket of `ceil_bps`.
    pub cburst_bytes: u64,
    /// Priority for spare rate: 0 (first) to 7.
    pub priority: u32,
    /// Quantum per round among classes of its priority, bytes.
    pub quantum_bytes: u32,
    /// Queue.
    pub queue: Queue,
}

/// Framing of a link: the overhead of a frame on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Framing {
    /// Bytes added to the Ethernet frame without FCS; negative if the Ethernet header is not sent.
    pub overhead_bytes: i32,
    /// Minimum length; shorter frames are padded.
    pub mpu_bytes: u32,
    /// Cells of 53 bytes that carry 48 (ATM, ITU-T I.361), the last one padded (AAL5).
    pub atm: bool,
}

/// Payload of an ATM cell.
const CELL_PAYLOAD_BYTES: u32 = 48;
/// A cell with its header.
const CELL_BYTES: u32 = 53;

impl Framing {
    /// Bytes of a frame on the wire.
    #[inline]
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
