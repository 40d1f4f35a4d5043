//! IP and TCP headers as ns-3 prints them.

use crate::event::{tcp_flags, PacketKind};

/// Text after a mark.
pub(crate) fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.find(mark).map(|at| &text[at + mark.len()..])
}

pub(crate) fn number<'a>(text: &'a str, mark: &str) -> Option<(u64, &'a str)> {
    let rest = after(text, mark)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok().map(|value| (value, &rest[end..]))
}

pub(crate) struct Ip<'a> {
    pub(crate) length: u32,
    pub(crate) source: &'a str,
    pub(crate) destination: &'a str,
    pub(crate) protocol: u64,
    /// Identification; `None` for IPv6.
    pub(crate) id: Option<u64>,
    pub(crate) offset: u64,
    pub(crate) tos: u8,
    pub(crate) rest: &'a str,
}

/// Parses `ns3::Ipv4Header (tos 0x0 DSCP Default ECN Not-ECT ttl 64 id 0 protocol 17 offset (bytes)
/// 0 flags [none] length: 1052 10.1.1.1 > 10.1.1.2)` or an IPv6 header.
pub(crate) fn ip(headers: &str) -> Option<Ip<'_>> {
    ipv4(headers).or_else(|| ipv6(headers))
}

/// Parses `ns3::Ipv6Header (Version 6 Traffic class 0x0 DSCP Default Flow Label 0x0 Payload Length
/// 1032 Next Header 17 Hop Limit 64 )2001::1 > 2001::2)`.
fn ipv6(headers: &str) -> Option<Ip<'_>> {
    let header = after(headers, "ns3::Ipv6Header (")?;
    let class = after(header, "raffic class 0x")?;
    let tos = u8::from_str_radix(class.split(' ').next()?, 16).ok()?;
    let (payload, _) = number(header, "Payload Length ")?;
    let (protocol, _) = number(header, "Next Header ")?;
    let (_, ends) = number(header, "Hop Limit ")?;
    let ends = ends.trim_start_matches([' ', ')']);
    let (ends, rest) = ends.split_once(')')?;
    let (source, destination) = ends.trim().split_once(" > ")?;
    let length = u32::try_from(payload).ok()?.checked_add(40)?;
    Some(Ip { length, source, destination, protocol, id: None, offset: 0, tos, rest })
}

fn ipv4(headers: &str) -> Option<Ip<'_>> {
    let header = after(headers, "ns3::Ipv4Header (")?;
    let close =
        header.find("length: ").and_then(|at| header[at..].find(')').map(|end| at + end))?;
    let (header, rest) = (&header[..close], &header[close + 1..]);
    let tos = after(header, "tos 0x")?;
    let tos = u8::from_str_radix(tos.split(' ').next()?, 16).ok()?;
    let (id, _) = number(header, " id ")?;
    let (protocol, _) = number(header, " protocol ")?;
    let (offset, _) = number(header, "offset (bytes) ")?;
    let (length, ends) = number(header, "length: ")?;
    let (source, destination) = ends.trim().split_once(" > ")?;
    let length = u32::try_from(length).ok()?;
    Some(Ip { length, source, destination, protocol, id: Some(id), offset, tos, rest })
}

pub(crate) struct Transport<'a> {
    pub(crate) kind: &'static str,
    pub(crate) ports: Option<(&'a str, &'a str)>,
    pub(crate) class: PacketKind,
    pub(crate) seq: i64,
    pub(crate) ack: i64,
    pub(crate) payload_bytes: Option<u32>,
    pub(crate) flags: u16,
}

/// Parses `ns3::TcpHeader (49153 > 9 [ACK] Seq=1 Ack=1 Win=32768 …) Payload (size=536)` or
/// `ns3::UdpHeader (length: 1032 49153 > 9)`.
pub(crate) fn transport<'a>(ip: &Ip<'a>) -> Transport<'a> {
    let none = Transport {
        kind: "ip",
        ports: None,
        class: PacketKind::Other,
        seq: -1,
        ack: -1,
        payload_bytes: None,
        flags: 0,
    };
    if ip.protocol == 6 {
        let Some(header) = after(ip.rest, "ns3::TcpHeader (") else {
            return Transport { kind: "tcp", ..none };
        };
        let payload: u32 = payload(header);
        let (ports, flags) = header.split_once(" [").unwrap_or((header, ""));
        let flags = flags.split(']').next().unwrap_or("");
        let value = |mark: &str| number(header, mark).map_or(-1, |(value, _)| value as i64);
        let bit = |name: &str, bit: u16| if flags.contains(name) { bit } else { 0 };
        Transport {
            kind: "tcp",
            ports: ports.split_once(" > "),
            class: if payload > 0 { PacketKind::Data } else { PacketKind::Ack },
            seq: value("Seq="),
            ack: value("Ack="),
            payload_bytes: Some(payload),
            flags: bit("SYN", tcp_flags::SYN)
                | bit("FIN", tcp_flags::FIN)
                | bit("PSH", tcp_flags::PSH)
                | bit("ECE", tcp_flags::ECE)
                | bit("CWR", tcp_flags::CWR),
        }
    } else if ip.protocol == 17 {
        let header = after(ip.rest, "ns3::UdpHeader (").and_then(|text| number(text, "length: "));
        let ports = header.and_then(|(_, rest)| rest.split(')').next()?.trim().split_once(" > "));
        let bytes = payload(ip.rest);
        Transport {
            kind: "udp",
            ports,
            payload_bytes: Some(bytes),
            seq: ip.id.map_or(-1, |id| id as i64),
            ..none
        }
    } else if ip.protocol == 1 {
        Transport { kind: "icmp", seq: ip.id.map_or(-1, |id| id as i64), ..none }
    } else {
        Transport { seq: ip.id.map_or(-1, |id| id as i64), ..none }
    }
}

/// Sum of `Payload (size=…)` and `Payload Fragment [from:to]`.
fn payload(rest: &str) -> u32 {
    let mut total = 0u64;
    let mut text = rest;
    while let Some(next) = after(text, "Payload ") {
        if let Some((size, _)) = next.strip_prefix("(size=").and_then(|size| number(size, "")) {
            total += size;
        } else if let Some(part) = next.strip_prefix("Fragment [") {
            let ends = number(part, "").and_then(|(from, rest)| Some((from, number(rest, ":")?.0)));
            total += ends.map_or(0, |(from, to)| to.saturating_sub(from));
        }
        text = next;
    }
    u32::try_from(total).unwrap_or(u32::MAX)
}
