//! The headers of a frame: link layer, IPv4 (RFC 791), IPv6 with extension headers (RFC 8200), ports.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// What a frame begins with (LINKTYPE_ numbers of the pcap formats).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// BSD loopback: the address family in the host's order.
    Null,
    /// Ethernet.
    Ethernet,
    /// IP without a link layer.
    Raw,
    /// Linux cooked capture.
    LinuxCooked,
    /// Linux cooked capture, version 2.
    LinuxCooked2,
    /// Something else.
    Other(u16),
}

impl LinkType {
    /// By its number.
    pub fn of(number: u16) -> Self {
        match number {
            0 | 108 => Self::Null,
            1 => Self::Ethernet,
            12 | 14 | 101 | 228 | 229 => Self::Raw,
            113 => Self::LinuxCooked,
            276 => Self::LinuxCooked2,
            other => Self::Other(other),
        }
    }
}

/// An IP address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address {
    /// IPv4.
    V4([u8; 4]),
    /// IPv6.
    V6([u8; 16]),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(bytes) => Ipv4Addr::from(*bytes).fmt(f),
            Self::V6(bytes) => Ipv6Addr::from(*bytes).fmt(f),
        }
    }
}

/// Protocol numbers of IP.
pub const TCP: u8 = 6;
/// See [`TCP`].
pub const UDP: u8 = 17;

/// A fragment of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Identification.
    pub identification: u32,
    /// Offset of what it carries.
    pub offset_bytes: u32,
    /// Not the last.
    pub more: bool,
    /// Bytes it carries.
    pub bytes: u32,
    /// All of them are in the capture.
    pub complete: bool,
}

/// What is read of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// From.
    pub source: Address,
    /// To.
    pub destination: Address,
    /// Protocol above IP.
    pub protocol: u8,
    /// If it is a fragment.
    pub fragment: Option<Fragment>,
    /// Ports of TCP and UDP, where they are in the frame.
    pub ports: Option<(u16, u16)>,
    /// Sequence number of a segment that opens a connection.
    pub opens: Option<u32>,
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN_TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// More tags are not looked through.
const TAGS_MAX: usize = 4;
/// More extension headers are not looked through.
const EXTENSIONS_MAX: usize = 16;

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The headers of a frame; `None` if it carries no IP, or too little of it was kept.
pub fn headers(link: LinkType, frame: &[u8]) -> Option<Headers> {
    let (kind, at) = match link {
        LinkType::Ethernet => untagged(frame, 12)?,
        LinkType::LinuxCooked => untagged(frame, 14)?,
        LinkType::LinuxCooked2 => (short(frame, 0)?, 20),
        LinkType::Null => (0, 4),
        LinkType::Raw => (0, 0),
        LinkType::Other(_) => return None,
    };
    let packet = frame.get(at..)?;
    // Where no field tells which IP it is, its version does.
    match (kind, packet.first()? >> 4) {
        (IPV4, _) | (0, 4) => ipv4(packet),
        (IPV6, _) | (0, 6) => ipv6(packet),
        _ => None,
    }
}

/// The protocol field at `at`, behind VLAN tags (802.1Q), and where what it names begins.
fn untagged(frame: &[u8], mut at: usize) -> Option<(u16, usize)> {
    for _ in 0..TAGS_MAX {
        let kind = short(frame, at)?;
        if !VLAN_TAGS.contains(&kind) {
            return Some((kind, at + 2));
        }
        at += 4;
    }
    None
}

fn ipv4(packet: &[u8]) -> Option<Headers> {
    let header_bytes = usize::from(packet.first()? & 15) * 4;
    if packet[0] >> 4 != 4 || header_bytes < 20 {
        return None;
    }
    let total = u32::from(short(packet, 2)?);
    let field = short(packet, 6)?;
    // Segmentation offload leaves 0 where the length does not fit.
    let carried = match total {
        0 => (packet.len() - header_bytes.min(packet.len())) as u32,
        total => total.saturating_sub(header_bytes as u32),
    };
    let (offset_bytes, more) = (u32::from(field & 0x1fff) * 8, field & 0x2000 != 0);
    let above = packet.get(header_bytes..).unwrap_or(&[]);
    let fragment = (offset_bytes > 0 || more).then_some(Fragment {
        identification: u32::from(short(packet, 4)?),
        offset_bytes,
        more,
        bytes: carried,
        complete: above.len() >= carried as usize,
    });
    let headers = Headers {
        source: Address::V4(packet.get(12..16)?.try_into().ok()?),
        destination: Address::V4(packet.get(16..20)?.try_into().ok()?),
        protocol: packet[9],
        fragment,
        ports: None,
        opens: None,
    };
    Some(with_ports(headers, above))
}

fn ipv6(packet: &[u8]) -> Option<Headers> {
    if packet.first()? >> 4 != 6 {
        return None;
    }
    let end = 40 + usize::from(short(packet, 4)?);
    let mut headers = Headers {
        source: Address::V6(packet.get(8..24)?.try_into().ok()?),
        destination: Address::V6(packet.get(24..40)?.try_into().ok()?),
        protocol: packet[6],
        fragment: None,
        ports: None,
        opens: None,
    };
    let mut at = 40;
    for _ in 0..EXTENSIONS_MAX {
        // Hop-by-hop, routing, fragment, authentication, destination, mobility.
        let bytes = match headers.protocol {
            0 | 43 | 60 | 135 => packet.get(at + 1).map(|units| (usize::from(*units) + 1) * 8),
            51 => packet.get(at + 1).map(|units| (usize::from(*units) + 2) * 4),
            44 => Some(8),
            _ => break,
        };
        let (Some(bytes), Some(next)) = (bytes, packet.get(at)) else { return Some(headers) };
        if headers.protocol == 44 {
            let field = u32::from(short(packet, at + 2).unwrap_or(0));
            let carried = end.saturating_sub(at + 8);
            let (offset_bytes, more) = (field & 0xfff8, field & 1 != 0);
            headers.fragment = (offset_bytes > 0 || more).then_some(Fragment {
                identification: word(packet, at + 4).unwrap_or(0),
                offset_bytes,
                more,
                bytes: carried as u32,
                complete: packet.len() >= end,
            });
        }
        headers.protocol = *next;
        at += bytes;
    }
    Some(with_ports(headers, packet.get(at..).unwrap_or(&[])))
}

fn with_ports(headers: Headers, above: &[u8]) -> Headers {
    let first = headers.fragment.is_none_or(|fragment| fragment.offset_bytes == 0);
    if !first || !matches!(headers.protocol, TCP | UDP) {
        return headers;
    }
    let ports = short(above, 0).zip(short(above, 2));
    // SYN without ACK.
    let syn = above.get(13).is_some_and(|flags| flags & 0x12 == 0x02);
    let opens = word(above, 4).filter(|_| headers.protocol == TCP && syn);
    Headers { ports, opens, ..headers }
}
