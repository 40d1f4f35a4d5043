//! Headers of a frame, from the link layer to the innermost IP packet: link layers
//! (`link`), IP, and tunnels between them ([`Outer`]).
//!
//! Only this module reads headers of captured frames. Every loop over headers is bounded.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

mod ip;
mod link;
mod names;
mod tunnel;
mod wlan;

pub use ip::{Fragment, IpPacket};
pub use names::Skipped;
#[cfg(feature = "files")]
pub(crate) use tunnel::Identity;
pub use tunnel::{Outer, Tunnel};

/// Link type: a LINKTYPE_ number of the pcap formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkType(pub u16);

impl LinkType {
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// IP without a link layer.
    pub const RAW: Self = Self(101);

    /// First link type for snoop files without a pcap number; LINKTYPE_ numbers are far smaller.
    pub(crate) const SNOOP_UNKNOWN: u16 = 0xff00;

    /// Placeholder for link types beyond the maximum number counted separately.
    pub const MIXED: Self = Self(u16::MAX);

    /// Link type with this number.
    pub fn of(number: u16) -> Self {
        Self(number)
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

/// IP protocol number of TCP.
pub const TCP: u8 = 6;
/// IP protocol number of UDP.
pub const UDP: u8 = 17;

/// Maximum number of headers from the start of a frame or tunnel payload to IP.
const LAYERS_MAX: usize = 16;
/// Maximum depth of tunnels; deeper packets are not decoded.
pub const TUNNELS_MAX: usize = 4;

/// Encapsulation of the innermost IP packet of a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encapsulation {
    /// Outer headers of the tunnels, outermost first.
    pub outer: Vec<Outer>,
    /// True if a further tunnel was not decoded because of [`TUNNELS_MAX`].
    pub too_deep: bool,
    /// True if the frame is an A-MSDU (IEEE 802.11) with several packets. Only the first is read.
    pub aggregated: bool,
}

/// Next header to decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Link(LinkType),
    Ethernet,
    /// Payload of an EtherType.
    Type(u16),
    /// IEEE 802.2.
    Llc,
    Ppp,
    /// PPP or Cisco HDLC.
    Serial,
    Pppoe,
    Mpls,
    Wlan {
        padded: bool,
    },
    /// First packet of an A-MSDU.
    Amsdu,
    /// IPv4 or IPv6, according to the first byte.
    Ip,
    Ipv4,
    Ipv6,
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(crate) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Returns the innermost IP packet of a frame with `original_bytes` on the wire; `None` if there is
/// no IP packet or its header is truncated.
pub fn ip_packet(link: LinkType, frame: &[u8], original_bytes: u32) -> Option<IpPacket<'_>> {
    innermost(link, frame, original_bytes, &mut Encapsulation::default()).ok()
}

/// Returns the innermost IP packet of a frame and sets its encapsulation. `original_bytes` is the
/// frame's length on the wire.
///
/// # Errors
/// The reason why there is no readable IP packet.
#[inline]
pub fn innermost<'a>(
    link: LinkType,
    frame: &'a [u8],
    original_bytes: u32,
    encapsulation: &mut Encapsulation,
) -> Result<IpPacket<'a>, Skipped> {
    encapsulation.outer.clear();
    (encapsulation.too_deep, encapsulation.aggregated) = (false, false);
    // Fast path for nearly all frames.
    if link == LinkType::ETHERNET && be16(frame, 12) == Some(ip::IPV4) {
        let packet = ip::v4(&frame[14..], original_bytes.saturating_sub(14));
        return match packet {
            Some(packet) if tunnel::may_be(&packet) => Ok(innermost_of(packet, encapsulation)),
            Some(packet) => Ok(packet),
            None => Err(Skipped::BAD_IPV4),
        };
    }
    let packet = decode_layers(Layer::Link(link), frame, original_bytes, encapsulation)?;
    Ok(innermost_of(packet, encapsulation))
}

/// Follows tunnels from `packet` to the innermost packet.
fn innermost_of<'a>(mut packet: IpPacket<'a>, encapsulation: &mut Encapsulation) -> IpPacket<'a> {
    while let Some(inside) = tunnel::inside(&packet) {
        if encapsulation.outer.len() == TUNNELS_MAX {
            encapsulation.too_deep = true;
            break;
        }
        let payload = packet.payload.get(inside.at..).unwrap_or(&[]);
        let payload_bytes = packet.payload_bytes.saturating_sub(inside.at as u32);
        // A tunnel without IP counts as an ordinary packet.
        let Ok(inner) = decode_layers(inside.layer, payload, payload_bytes, encapsulation) else {
            break;
        };
        encapsulation.outer.push(Outer::of(&packet, &inside));
        packet = inner;
    }
    packet
}

/// Decodes headers up to the IP packet.
fn decode_layers<'a>(
    mut layer: Layer,
    frame: &'a [u8],
    original_bytes: u32,
    encapsulation: &mut Encapsulation,
) -> Result<IpPacket<'a>, Skipped> {
    let mut at = 0;
    for _ in 0..LAYERS_MAX {
        let bytes = frame.get(at..).ok_or(Skipped::CUT)?;
        let rest = original_bytes.saturating_sub(at as u32);
        let (next, header_bytes) = match layer {
            Layer::Ipv4 => return ip::v4(bytes, rest).ok_or(Skipped::BAD_IPV4),
            Layer::Ipv6 => return ip::v6(bytes, rest).ok_or(Skipped::BAD_IPV6),
            Layer::Ip => match bytes.first().ok_or(Skipped::CUT)? >> 4 {
                4 => (Layer::Ipv4, 0),
                6 => (Layer::Ipv6, 0),
                _ => return Err(Skipped::Named("neither IPv4 nor IPv6")),
            },
            Layer::Link(link) => link::by_type(link, bytes)?,
            Layer::Ethernet => (Layer::Type(be16(bytes, 12).ok_or(Skipped::CUT)?), 14),
            Layer::Type(number) => link::by_ethertype(number, bytes)?,
            Layer::Llc => link::llc(bytes)?,
            Layer::Ppp => link::ppp(bytes)?,
            Layer::Serial => link::serial(bytes)?,
            Layer::Pppoe => link::pppoe(bytes)?,
            Layer::Mpls => link::mpls(bytes)?,
            Layer::Wlan { padded } => wlan::header(bytes, padded)?,
            Layer::Amsdu => wlan::first_of_amsdu(bytes, &mut encapsulation.aggregated)?,
        };
        (layer, at) = (next, at + header_bytes);
    }
    Err(Skipped::Named("more headers before IP than are read"))
}

/// Reads the start of an IP packet that an ICMP error quotes. Returns it with the length that its
/// header states.
#[cfg(feature = "files")]
pub(crate) fn quoted(bytes: &[u8]) -> Option<(IpPacket<'_>, u32)> {
    let rest = bytes.len() as u32;
    match bytes.first()? >> 4 {
        4 => ip::v4(bytes, rest).zip(be16(bytes, 2).map(u32::from)),
        6 => ip::v6(bytes, rest).zip(be16(bytes, 4).map(|length| u32::from(length) + 40)),
        _ => None,
    }
}

/// Source and destination port of TCP and UDP, if the packet contains them.
pub fn ports(packet: &IpPacket<'_>) -> Option<(u16, u16)> {
    let first = packet.fragment.is_none_or(|fragment| fragment.offset_bytes == 0);
    if !first || !matches!(packet.protocol, TCP | UDP) {
        return None;
    }
    be16(packet.payload, 0).zip(be16(packet.payload, 2))
}
