//! The headers of a frame, from the link layer to the innermost IP packet: what the frame begins with
//! ([`link`](self::link)), IP, and the tunnels that lie between ([`Outer`]).
//!
//! All that reads headers of captured frames is here. Every loop over headers is bounded.

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

/// What a frame begins with: a LINKTYPE_ number of the pcap formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkType(pub u16);

impl LinkType {
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// IP without a link layer.
    pub const RAW: Self = Self(101);

    /// Link types of snoop files that pcap has no number for begin here (LINKTYPE_ numbers end far below).
    pub(crate) const SNOOP_UNKNOWN: u16 = 0xff00;

    /// Stands for link types beyond those that are counted one by one.
    pub const MIXED: Self = Self(u16::MAX);

    /// By its number.
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

/// Protocol numbers of IP.
pub const TCP: u8 = 6;
/// See [`TCP`].
pub const UDP: u8 = 17;

/// Headers between the beginning of a frame, or of a tunnel's payload, and IP. More are not read.
const LAYERS_MAX: usize = 16;
/// Tunnels within one another. What a further one holds is not read.
pub const TUNNELS_MAX: usize = 4;

/// What lies around the innermost IP packet of a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Tunnels, the outermost first.
    pub outer: Vec<Outer>,
    /// The packet is of a tunnel too, which was not entered because of [`TUNNELS_MAX`].
    pub deeper: bool,
    /// The frame is an A-MSDU (IEEE 802.11) with more packets than its first, which is read.
    pub joined: bool,
}

/// The header that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Link(LinkType),
    Ethernet,
    /// Protocol number of Ethernet (EtherType).
    Type(u16),
    /// IEEE 802.2.
    Llc,
    Ppp,
    /// PPP, or Cisco's HDLC.
    Serial,
    Pppoe,
    Mpls,
    Wlan {
        padded: bool,
    },
    /// The first packet of an A-MSDU.
    Joined,
    /// IP of the version that its first byte says.
    Ip,
    Ipv4,
    Ipv6,
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Returns the innermost IP packet of a frame of so many bytes on the wire; `None` if it carries none,
/// or too little of it was kept.
pub fn ip_packet(link: LinkType, frame: &[u8], original_bytes: u32) -> Option<IpPacket<'_>> {
    innermost(link, frame, original_bytes, &mut Around::default()).ok()
}

/// Returns the innermost IP packet of a frame of so many bytes on the wire, and what lies around it.
///
/// # Errors
/// What the frame holds instead of IP.
#[inline]
pub fn innermost<'a>(
    link: LinkType,
    frame: &'a [u8],
    original_bytes: u32,
    around: &mut Around,
) -> Result<IpPacket<'a>, Skipped> {
    around.outer.clear();
    (around.deeper, around.joined) = (false, false);
    // Nearly all frames.
    if link == LinkType::ETHERNET && short(frame, 12) == Some(ip::IPV4) {
        let packet = ip::v4(&frame[14..], original_bytes.saturating_sub(14));
        return match packet {
            Some(packet) if tunnel::may_be(&packet) => Ok(entered(packet, around)),
            Some(packet) => Ok(packet),
            None => Err(Skipped::BAD_IPV4),
        };
    }
    let packet = through(Layer::Link(link), frame, original_bytes, around)?;
    Ok(entered(packet, around))
}

/// The innermost packet of tunnels, of which `packet` may be the outermost.
fn entered<'a>(mut packet: IpPacket<'a>, around: &mut Around) -> IpPacket<'a> {
    while let Some(inside) = tunnel::inside(&packet) {
        if around.outer.len() == TUNNELS_MAX {
            around.deeper = true;
            break;
        }
        let payload = packet.above.get(inside.at..).unwrap_or(&[]);
        let payload_bytes = packet.above_bytes.saturating_sub(inside.at as u32);
        // A tunnel without IP is a packet like others.
        let Ok(inner) = through(inside.layer, payload, payload_bytes, around) else { break };
        around.outer.push(Outer::of(&packet, &inside));
        packet = inner;
    }
    packet
}

/// The IP packet behind headers of other layers.
fn through<'a>(
    mut layer: Layer,
    frame: &'a [u8],
    original_bytes: u32,
    around: &mut Around,
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
            Layer::Ethernet => (Layer::Type(short(bytes, 12).ok_or(Skipped::CUT)?), 14),
            Layer::Type(number) => link::by_ethertype(number, bytes)?,
            Layer::Llc => link::llc(bytes)?,
            Layer::Ppp => link::ppp(bytes)?,
            Layer::Serial => link::serial(bytes)?,
            Layer::Pppoe => link::pppoe(bytes)?,
            Layer::Mpls => link::mpls(bytes)?,
            Layer::Wlan { padded } => wlan::header(bytes, padded)?,
            Layer::Joined => wlan::first_joined(bytes, &mut around.joined)?,
        };
        (layer, at) = (next, at + header_bytes);
    }
    Err(Skipped::Named("more headers before IP than are read"))
}

/// Ports of TCP and UDP, where they are in the packet.
pub fn ports(packet: &IpPacket<'_>) -> Option<(u16, u16)> {
    let first = packet.fragment.is_none_or(|fragment| fragment.offset_bytes == 0);
    if !first || !matches!(packet.protocol, TCP | UDP) {
        return None;
    }
    short(packet.above, 0).zip(short(packet.above, 2))
}
