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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// An IP packet of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpPacket<'a> {
    /// From.
    pub source: Address,
    /// To.
    pub destination: Address,
    /// Protocol above IP.
    pub protocol: u8,
    /// If it is a fragment.
    pub fragment: Option<Fragment>,
    /// Identification of IPv4 (RFC 791 §3.1); IPv6 has none outside fragments.
    pub identification: Option<u16>,
    /// ECN field (RFC 3168 §5): 3 is congestion experienced.
    pub ecn: u8,
    /// What was kept of what it carries, without padding.
    pub above: &'a [u8],
    /// Length of what it carries.
    pub above_bytes: u32,
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

pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The IP packet of a frame of so many bytes on the wire; `None` if it carries none, or too little of
/// it was kept.
pub fn ip_packet(link: LinkType, frame: &[u8], original_bytes: u32) -> Option<IpPacket<'_>> {
    let (kind, at) = match link {
        LinkType::Ethernet => untagged(frame, 12)?,
        LinkType::LinuxCooked => untagged(frame, 14)?,
        LinkType::LinuxCooked2 => (short(frame, 0)?, 20),
        LinkType::Null => (0, 4),
        LinkType::Raw => (0, 0),
        LinkType::Other(_) => return None,
    };
    let packet = frame.get(at..)?;
    let original_bytes = original_bytes.saturating_sub(at as u32);
    // Where no field tells which IP it is, its version does.
    match (kind, packet.first()? >> 4) {
        (IPV4, _) | (0, 4) => ipv4(packet, original_bytes),
        (IPV6, _) | (0, 6) => ipv6(packet, original_bytes),
        _ => None,
    }
}

/// Ports of TCP and UDP, where they are in the packet.
pub fn ports(packet: &IpPacket<'_>) -> Option<(u16, u16)> {
    let first = packet.fragment.is_none_or(|fragment| fragment.offset_bytes == 0);
    if !first || !matches!(packet.protocol, TCP | UDP) {
        return None;
    }
    short(packet.above, 0).zip(short(packet.above, 2))
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

fn ipv4(packet: &[u8], original_bytes: u32) -> Option<IpPacket<'_>> {
    let header: &[u8; 20] = packet.first_chunk()?;
    let header_bytes = usize::from(header[0] & 15) * 4;
    if header[0] >> 4 != 4 || header_bytes < 20 {
        return None;
    }
    let total = u32::from(u16::from_be_bytes([header[2], header[3]]));
    let field = u16::from_be_bytes([header[6], header[7]]);
    // Segmentation offload leaves 0 where the length does not fit.
    let total = if total == 0 { original_bytes } else { total };
    let above_bytes = total.saturating_sub(header_bytes as u32);
    let above = packet.get(header_bytes..).unwrap_or(&[]);
    let above = &above[..above.len().min(above_bytes as usize)];
    let (offset_bytes, more) = (u32::from(field & 0x1fff) * 8, field & 0x2000 != 0);
    let identification = u16::from_be_bytes([header[4], header[5]]);
    let fragment = (offset_bytes > 0 || more).then_some(Fragment {
        identification: u32::from(identification),
        offset_bytes,
        more,
        bytes: above_bytes,
        complete: above.len() >= above_bytes as usize,
    });
    Some(IpPacket {
        source: Address::V4([header[12], header[13], header[14], header[15]]),
        destination: Address::V4([header[16], header[17], header[18], header[19]]),
        protocol: header[9],
        fragment,
        identification: Some(identification),
        ecn: header[1] & 3,
        above,
        above_bytes,
    })
}

fn ipv6(packet: &[u8], original_bytes: u32) -> Option<IpPacket<'_>> {
    let header: &[u8; 40] = packet.first_chunk()?;
    if header[0] >> 4 != 6 {
        return None;
    }
    let carried = u32::from(u16::from_be_bytes([header[4], header[5]]));
    // As with IPv4; a jumbogram's option (RFC 2675) says what the frame's length says too.
    let end = if carried == 0 { original_bytes } else { carried + 40 };
    let mut protocol = header[6];
    let mut fragment = None;
    let mut at = 40;
    for _ in 0..EXTENSIONS_MAX {
        // Hop-by-hop, routing, fragment, authentication, destination, mobility.
        let bytes = match protocol {
            0 | 43 | 60 | 135 => packet.get(at + 1).map(|units| (usize::from(*units) + 1) * 8),
            51 => packet.get(at + 1).map(|units| (usize::from(*units) + 2) * 4),
            44 => Some(8),
            _ => break,
        };
        let (Some(bytes), Some(next)) = (bytes, packet.get(at)) else { break };
        if protocol == 44 {
            let field = u32::from(short(packet, at + 2).unwrap_or(0));
            let (offset_bytes, more) = (field & 0xfff8, field & 1 != 0);
            fragment = (offset_bytes > 0 || more).then_some(Fragment {
                identification: word(packet, at + 4).unwrap_or(0),
                offset_bytes,
                more,
                bytes: end.saturating_sub(at as u32 + 8),
                complete: packet.len() >= end as usize,
            });
        }
        protocol = *next;
        at += bytes;
    }
    let above_bytes = end.saturating_sub(at as u32);
    let above = packet.get(at..).unwrap_or(&[]);
    Some(IpPacket {
        source: Address::V6(header[8..24].try_into().ok()?),
        destination: Address::V6(header[24..40].try_into().ok()?),
        protocol,
        fragment,
        identification: None,
        ecn: header[1] >> 4 & 3,
        above: &above[..above.len().min(above_bytes as usize)],
        above_bytes,
    })
}
