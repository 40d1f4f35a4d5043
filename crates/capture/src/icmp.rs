//! ICMP errors (RFC 792, RFC 4443) and the packet that each quotes.
//!
//! A quotation is untrusted: its header is read like any other, its addresses and ports only look up
//! known connections, and its sequence number must be in flight (RFC 5927 §4.1).

use crate::connection::Fate;
use crate::decode::{self, be32, Address, IpPacket, TCP};
use std::fmt;

const ICMP: u8 = 1;
const ICMP6: u8 = 58;
/// Maximum number of errors kept; further errors are only counted.
const ERRORS_MAX: usize = 4096;
/// Smallest MTU of a link (RFC 791 §3.1), and of a link with IPv6 (RFC 8200 §5).
const MTU_MIN: [u32; 2] = [68, 1280];

/// The quoted packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// Source address.
    pub source: Address,
    /// Destination address.
    pub destination: Address,
    /// Protocol above IP.
    pub protocol: u8,
    /// Ports of TCP and UDP.
    pub ports: Option<(u16, u16)>,
    /// Sequence number of TCP.
    pub sequence: Option<u32>,
    /// Length of the IP packet.
    pub ip_bytes: u32,
}

/// An ICMP error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Type of the message.
    pub kind: u8,
    /// Code of the message.
    pub code: u8,
    /// True for ICMPv6.
    pub v6: bool,
    /// Meaning.
    pub fate: Fate,
    /// Quoted packet.
    pub quote: Quote,
}

impl Message {
    /// Reads an ICMP error; `None` for other messages, fragments and unreadable quotations.
    pub fn parse(packet: &IpPacket<'_>) -> Option<Self> {
        let v6 = match packet.protocol {
            ICMP => false,
            ICMP6 => true,
            _ => return None,
        };
        let &[kind, code] = packet.payload.first_chunk()?;
        if packet.fragment.is_some() {
            return None;
        }
        let known = match (v6, kind, code) {
            (false, 3, 4) | (true, 2, _) => Fate::TooBig(None),
            (false, 3, _) | (true, 1, _) => Fate::Unreachable,
            (false, 11, _) | (true, 3, _) => Fate::Exceeded,
            _ => return None,
        };
        let quoted = packet.payload.get(8..)?;
        let (inner, ip_bytes) = decode::quoted(quoted)?;
        let ports = decode::ports(&inner);
        let sequence = ports.filter(|_| inner.protocol == TCP).and(be32(inner.payload, 4));
        let fate = match known {
            Fate::TooBig(_) => {
                // RFC 1191 §4 has 16 bits for the MTU, RFC 4443 §3.2 has 32.
                let mtu = be32(packet.payload, 4)? & if v6 { u32::MAX } else { 0xffff };
                // RFC 5927 §7.2: not below the minimum, and smaller than the quoted packet.
                let possible = (MTU_MIN[usize::from(v6)]..ip_bytes).contains(&mtu);
                Fate::TooBig(possible.then_some(mtu))
            }
            other => other,
        };
        let quote = Quote {
            source: inner.source,
            destination: inner.destination,
            protocol: inner.protocol,
            ports,
            sequence,
            ip_bytes,
        };
        Some(Self { kind, code, v6, fate, quote })
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.v6, self.kind, self.code) {
            (false, 3, 0) => "network unreachable",
            (false, 3, 1) => "host unreachable",
            (false, 3, 2) => "protocol unreachable",
            (false, 3, 3) | (true, 1, 4) => "port unreachable",
            (false, 3, 4) => "fragmentation needed",
            (false, 3, 5) => "source route failed",
            (false, 3, 6) => "network unknown",
            (false, 3, 7) => "host unknown",
            (false, 3, 9 | 10 | 13) | (true, 1, 1) => "administratively prohibited",
            (false, 3, 11) => "network unreachable for this type of service",
            (false, 3, 12) => "host unreachable for this type of service",
            (true, 1, 0) => "no route to destination",
            (true, 1, 3) => "address unreachable",
            (true, 1, 5) => "source address refused by policy",
            (true, 1, 6) => "route to destination rejected",
            (true, 2, _) => "packet too big",
            (false, 11, 0) | (true, 3, 0) => "hop limit exceeded",
            (false, 11, 1) | (true, 3, 1) => "reassembly time exceeded",
            (_, kind, code) => {
                let what = match self.fate {
                    Fate::Exceeded => "time exceeded",
                    _ => "unreachable",
                };
                return write!(f, "{what} (type {kind}, code {code})");
            }
        })
    }
}

/// An ICMP error of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpError {
    /// Number of its frame, from 1.
    pub frame: u64,
    /// Time, ns since 1970.
    pub time_ns: Option<i64>,
    /// Interface.
    pub interface: u32,
    /// Address of the router or host that sent it.
    pub from: Address,
    /// Its content.
    pub message: Message,
    /// Connection and side of the quoted packet, if the capture has the connection.
    pub matched: Option<Matched>,
}

/// The connection that an ICMP error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched {
    /// Index in [`crate::Survey::connections`].
    pub connection: u32,
    /// Side that sent the quoted packet.
    pub side: usize,
    /// Position of the quoted sequence number in the stream, if it is in flight.
    pub position: Option<i64>,
}

/// ICMP errors in order, the first [`ERRORS_MAX`] of them.
#[derive(Clone, Debug, Default)]
pub struct IcmpErrors {
    /// Errors kept.
    pub kept: Vec<IcmpError>,
    /// Number of all.
    pub count: u64,
}

impl IcmpErrors {
    pub(crate) fn add(&mut self, error: IcmpError) {
        self.count += 1;
        if self.kept.len() < ERRORS_MAX {
            self.kept.push(error);
        }
    }
}
