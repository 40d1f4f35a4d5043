//! Packets as bytes: IPv4 and IPv6, TCP, and the messages of ICMP that quote a segment.

use crate::script::{Icmp, TcpOption};
use std::net::IpAddr;

const TCP: u8 = 6;
const ICMP: u8 = 1;
const ICMP_V6: u8 = 58;
/// Bytes that a message of ICMP quotes after the IP header (RFC 792).
const QUOTED_BYTES: usize = 8;
const TTL: u8 = 255;

/// A packet of TCP, with its numbers as on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Address of the sender.
    pub source: IpAddr,
    /// Address of the receiver.
    pub destination: IpAddr,
    /// Byte TOS, or the traffic class.
    pub tos: u8,
    /// Time to live, or the hop limit.
    pub ttl: u8,
    /// IPv6's flow label.
    pub flow_label: u32,
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// Flags as in [`crate::script::Flags`].
    pub flags: u16,
    /// First sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Window.
    pub window: u16,
    /// Urgent pointer.
    pub urgent: u16,
    /// Options in their order.
    pub options: Vec<TcpOption>,
    /// Payload.
    pub payload: Vec<u8>,
}

impl Tcp {
    /// A new packet with defaults for the IP header.
    pub fn between(source: (IpAddr, u16), destination: (IpAddr, u16)) -> Self {
        Self {
            source: source.0,
            destination: destination.0,
            tos: 0,
            ttl: TTL,
            flow_label: 0,
            source_port: source.1,
            destination_port: destination.1,
            flags: 0,
            seq: 0,
            ack: 0,
            window: 0,
            urgent: 0,
            options: Vec::new(),
            payload: Vec::new(),
        }
    }

    /// The whole packet with its checksums.
    pub fn bytes(&self) -> Vec<u8> {
        let options = options_bytes(&self.options);
        let offset = u16::try_from((20 + options.len()) / 4).unwrap_or(15);
        let mut tcp = Vec::with_capacity(20 + options.len() + self.payload.len());
        tcp.extend(self.source_port.to_be_bytes());
        tcp.extend(self.destination_port.to_be_bytes());
        tcp.extend(self.seq.to_be_bytes());
        tcp.extend(self.ack.to_be_bytes());
        tcp.extend((offset << 12 | self.flags & 0x1FF).to_be_bytes());
        tcp.extend(self.window.to_be_bytes());
        tcp.extend([0, 0]);
        tcp.extend(self.urgent.to_be_bytes());
        tcp.extend(options);
        tcp.extend(&self.payload);
        let mut packet = ip_header(self, TCP, tcp.len());
        let sum = checksum(&[&pseudo_header(self, TCP, tcp.len()), &tcp]);
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        packet.extend(tcp);
        packet
    }

    /// Reads a packet; None if it is no whole packet of TCP.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (mut packet, tcp) = match bytes.first()? >> 4 {
            4 => read_v4(bytes)?,
            6 => read_v6(bytes)?,
            _ => return None,
        };
        let header = usize::from(tcp.get(12)? >> 4) * 4;
        let options = tcp.get(20..header)?;
        packet.source_port = be16(tcp, 0)?;
        packet.destination_port = be16(tcp, 2)?;
        packet.seq = be32(tcp, 4)?;
        packet.ack = be32(tcp, 8)?;
        packet.flags = be16(tcp, 12)? & 0x1FF;
        packet.window = be16(tcp, 14)?;
        packet.urgent = be16(tcp, 18)?;
        packet.options = read_options(options);
        packet.payload = tcp.get(header..)?.to_vec();
        Some(packet)
    }
}

/// A message of ICMP about a segment that `quoted` has sent.
///
/// # Errors
/// The type or the code is not known.
pub fn icmp_bytes(message: &Icmp, from: IpAddr, quoted: &Tcp) -> Result<Vec<u8>, String> {
    let is_v6 = quoted.source.is_ipv6();
    let (kind, code) = icmp_numbers(message, is_v6)?;
    let mut icmp = vec![kind, code, 0, 0];
    match (message.mtu, is_v6) {
        (Some(mtu), true) => icmp.extend(mtu.to_be_bytes()),
        (Some(mtu), false) => {
            icmp.extend([0, 0]);
            icmp.extend(u16::try_from(mtu).unwrap_or(u16::MAX).to_be_bytes());
        }
        (None, _) => icmp.extend([0; 4]),
    }
    let whole = quoted.bytes();
    let ip_header_bytes = if is_v6 { 40 } else { 20 };
    icmp.extend(&whole[..ip_header_bytes + QUOTED_BYTES]);
    let outer = Tcp::between((from, 0), (quoted.source, 0));
    let protocol = if is_v6 { ICMP_V6 } else { ICMP };
    let pseudo = if is_v6 { pseudo_header(&outer, protocol, icmp.len()) } else { Vec::new() };
    let sum = checksum(&[&pseudo, &icmp]);
    icmp[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut packet = ip_header(&outer, protocol, icmp.len());
    packet.extend(icmp);
    Ok(packet)
}

/// Numbers of a type and a code (RFC 792, RFC 1812; RFC 4443 for IPv6).
fn icmp_numbers(message: &Icmp, is_v6: bool) -> Result<(u8, u8), String> {
    let names: &[(&str, u8)] = if is_v6 {
        &[("unreachable", 1), ("packet_too_big", 2), ("time_exceeded", 3), ("parameter_problem", 4)]
    } else {
        &[
            ("unreachable", 3),
            ("source_quench", 4),
            ("redirect", 5),
            ("time_exceeded", 11),
            ("parameter_problem", 12),
        ]
    };
    let codes: &[(&str, u8)] = if is_v6 {
        &[
            ("no_route", 0),
            ("admin_prohibited", 1),
            ("not_neighbour", 2),
            ("address_unreachable", 3),
            ("port_unreachable", 4),
        ]
    } else {
        &[
            ("net_unreachable", 0),
            ("host_unreachable", 1),
            ("protocol_unreachable", 2),
            ("port_unreachable", 3),
            ("frag_needed", 4),
            ("source_route_failed", 5),
            ("net_unknown", 6),
            ("host_unknown", 7),
            ("net_prohibited", 9),
            ("host_prohibited", 10),
            ("packet_filtered", 13),
        ]
    };
    let kind = by_name(names, &message.kind, "type_")
        .ok_or_else(|| format!("the type `{}` of ICMP is not known", message.kind))?;
    let code = match &message.code {
        None => 0,
        Some(code) => by_name(codes, code, "code_")
            .ok_or_else(|| format!("the code `{code}` of ICMP is not known"))?,
    };
    Ok((kind, code))
}

fn by_name(names: &[(&str, u8)], name: &str, prefix: &str) -> Option<u8> {
    let number = name.strip_prefix(prefix).and_then(|number| number.parse().ok());
    number.or_else(|| names.iter().find(|(known, _)| *known == name).map(|(_, number)| *number))
}

fn ip_header(packet: &Tcp, protocol: u8, payload_bytes: usize) -> Vec<u8> {
    match (packet.source, packet.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let length = u16::try_from(20 + payload_bytes).unwrap_or(u16::MAX);
            let mut header = vec![0x45, packet.tos];
            header.extend(length.to_be_bytes());
            header.extend([0, 0, 0, 0, packet.ttl, protocol, 0, 0]);
            header.extend(source.octets());
            header.extend(destination.octets());
            let sum = checksum(&[&header]);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            header
        }
        (source, destination) => {
            let first = 6 << 28 | u32::from(packet.tos) << 20 | packet.flow_label & 0xF_FFFF;
            let mut header = first.to_be_bytes().to_vec();
            header.extend(u16::try_from(payload_bytes).unwrap_or(u16::MAX).to_be_bytes());
            header.extend([protocol, packet.ttl]);
            header.extend(octets(source));
            header.extend(octets(destination));
            header
        }
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// Pseudo-header of the checksum (RFC 9293, 3.1; RFC 8200, 8.1).
fn pseudo_header(packet: &Tcp, protocol: u8, bytes: usize) -> Vec<u8> {
    let mut header = octets(packet.source);
    header.extend(octets(packet.destination));
    header.extend(u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes());
    header.extend([0, 0, 0, protocol]);
    header
}

/// Internet checksum (RFC 1071).
fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u64;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u64::from(low));
        }
    }
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(0)
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn read_v4(bytes: &[u8]) -> Option<(Tcp, &[u8])> {
    let header = usize::from(bytes[0] & 15) * 4;
    let total = usize::from(be16(bytes, 2)?);
    // A segment of 64 kB and more has no length (BIG TCP).
    let end = if total == 0 { bytes.len() } else { total };
    let source: [u8; 4] = bytes.get(12..16)?.try_into().ok()?;
    let destination: [u8; 4] = bytes.get(16..20)?.try_into().ok()?;
    if bytes[9] != TCP {
        return None;
    }
    let mut packet = Tcp::between((source.into(), 0), (destination.into(), 0));
    packet.tos = bytes[1];
    packet.ttl = bytes[8];
    Some((packet, bytes.get(header..end)?))
}

fn read_v6(bytes: &[u8]) -> Option<(Tcp, &[u8])> {
    let first = be32(bytes, 0)?;
    let length = usize::from(be16(bytes, 4)?);
    let end = if length == 0 { bytes.len() } else { 40 + length };
    let source: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
    let destination: [u8; 16] = bytes.get(24..40)?.try_into().ok()?;
    if bytes[6] != TCP {
        return None;
    }
    let mut packet = Tcp::between((source.into(), 0), (destination.into(), 0));
    packet.tos = u8::try_from(first >> 20 & 0xFF).unwrap_or(0);
    packet.flow_label = first & 0xF_FFFF;
    packet.ttl = bytes[7];
    Some((packet, bytes.get(40..end)?))
}

fn options_bytes(options: &[TcpOption]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for option in options {
        match option {
            TcpOption::End => bytes.push(0),
            TcpOption::Nop => bytes.push(1),
            TcpOption::Mss(mss) => {
                bytes.extend([2, 4]);
                bytes.extend(mss.to_be_bytes());
            }
            TcpOption::WindowScale(scale) => bytes.extend([3, 3, *scale]),
            TcpOption::SackPermitted => bytes.extend([4, 2]),
            TcpOption::Sack(blocks) => {
                bytes.extend([5, u8::try_from(option.bytes()).unwrap_or(0)]);
                for (left, right) in blocks {
                    bytes.extend(left.to_be_bytes());
                    bytes.extend(right.to_be_bytes());
                }
            }
            TcpOption::Timestamps(value, echo) => {
                bytes.extend([8, 10]);
                bytes.extend(value.to_be_bytes());
                bytes.extend(echo.to_be_bytes());
            }
            TcpOption::Other(kind, content) => {
                bytes.extend([*kind, u8::try_from(option.bytes()).unwrap_or(0)]);
                bytes.extend(content);
            }
        }
    }
    bytes
}

/// Options in their order; what is behind a broken one is left out.
fn read_options(mut bytes: &[u8]) -> Vec<TcpOption> {
    let mut options = Vec::new();
    while let Some(&kind) = bytes.first() {
        if kind < 2 {
            options.push(if kind == 0 { TcpOption::End } else { TcpOption::Nop });
            bytes = &bytes[1..];
            continue;
        }
        let length = bytes.get(1).map_or(0, |&length| usize::from(length));
        let Some(content) = bytes.get(2..length) else { break };
        options.push(match (kind, content) {
            (2, &[a, b]) => TcpOption::Mss(u16::from_be_bytes([a, b])),
            (3, &[scale]) => TcpOption::WindowScale(scale),
            (4, &[]) => TcpOption::SackPermitted,
            (5, blocks) if blocks.len() % 8 == 0 => TcpOption::Sack(
                blocks
                    .chunks(8)
                    .map(|block| (be32(block, 0).unwrap_or(0), be32(block, 4).unwrap_or(0)))
                    .collect(),
            ),
            (8, times) if times.len() == 8 => {
                TcpOption::Timestamps(be32(times, 0).unwrap_or(0), be32(times, 4).unwrap_or(0))
            }
            (kind, content) => TcpOption::Other(kind, content.to_vec()),
        });
        bytes = &bytes[length..];
    }
    options
}
