//! Tunnels: IP packets that carry IP packets or frames.

use super::ip::IpPacket;
use super::{be16, be32, ports, Address, Layer, UDP};
use std::fmt;

/// Kinds of tunnels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tunnel {
    /// IPv4 in IPv4 (RFC 2003).
    Ipip,
    /// IPv6 in IPv4 (RFC 4213).
    SixInFour,
    /// IPv4 in IPv6 (RFC 2473).
    FourInSix,
    /// IPv6 in IPv6 (RFC 2473).
    SixInSix,
    /// GRE (RFC 2784, 2890).
    Gre,
    /// GRE as of PPTP (RFC 2637).
    Pptp,
    /// NVGRE (RFC 7637).
    Nvgre,
    /// ERSPAN, types I to III.
    Erspan,
    /// VXLAN (RFC 7348), with or without the generic protocol extension.
    Vxlan,
    /// GENEVE (RFC 8926).
    Geneve,
    /// GTP-U (3GPP TS 29.281).
    Gtp,
    /// EtherIP (RFC 3378).
    EtherIp,
    /// MPLS in IP (RFC 4023) or UDP (RFC 7510).
    Mpls,
}

#[cfg(feature = "files")]
impl Tunnel {
    /// Returns true if both directions use the same identifier.
    fn symmetric(self) -> bool {
        !matches!(self, Self::Gtp | Self::Pptp)
    }
}

impl fmt::Display for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ipip => "ipip",
            Self::SixInFour => "6in4",
            Self::FourInSix => "4in6",
            Self::SixInSix => "6in6",
            Self::Gre => "gre",
            Self::Pptp => "pptp",
            Self::Nvgre => "nvgre",
            Self::Erspan => "erspan",
            Self::Vxlan => "vxlan",
            Self::Geneve => "geneve",
            Self::Gtp => "gtp",
            Self::EtherIp => "etherip",
            Self::Mpls => "mpls",
        })
    }
}

/// Outer header of a tunnelled packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outer {
    /// Kind.
    pub kind: Tunnel,
    /// Network identifier, key, session or endpoint identifier, if present.
    pub id: Option<u32>,
    /// Outer source address.
    pub source: Address,
    /// Outer destination address.
    pub destination: Address,
    /// Outer UDP ports, if present.
    pub ports: Option<(u16, u16)>,
}

/// Identity of a tunnel, independent of direction.
#[cfg(feature = "files")]
pub(crate) type Identity = (Tunnel, Option<u32>, Address, Address);

impl Outer {
    pub(super) fn of(packet: &IpPacket<'_>, inside: &Inside) -> Self {
        Self {
            kind: inside.kind,
            id: inside.id,
            source: packet.source,
            destination: packet.destination,
            ports: ports(packet),
        }
    }

    /// Identity of the tunnel, equal for both directions: addresses are sorted. Identifiers that
    /// each end chooses are omitted, and so are UDP ports, since one is a hash of the inner flow.
    #[cfg(feature = "files")]
    pub(crate) fn identity(&self) -> Identity {
        let (one, other) = (self.source, self.destination);
        let id = self.id.filter(|_| self.kind.symmetric());
        (self.kind, id, one.min(other), one.max(other))
    }
}

impl fmt::Display for Outer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if let Some(id) = self.id {
            write!(f, " {id}")?;
        }
        write!(f, " {} > {}", self.source, self.destination)
    }
}

/// Start of a tunnel's payload within the IP payload.
#[derive(Clone, Copy)]
pub(super) struct Inside {
    pub(super) kind: Tunnel,
    pub(super) id: Option<u32>,
    pub(super) layer: Layer,
    pub(super) at: usize,
}

/// Returns true if the protocol may be a tunnel.
#[inline]
pub(super) fn may_be(packet: &IpPacket<'_>) -> bool {
    matches!(packet.protocol, UDP | 4 | 41 | 47 | 97 | 137)
}

/// Recognises the tunnel of a packet. Only the first fragment of a fragmented packet is decoded.
pub(super) fn inside(packet: &IpPacket<'_>) -> Option<Inside> {
    if !may_be(packet) {
        return None;
    }
    if packet.fragment.is_some_and(|fragment| fragment.offset_bytes > 0) {
        return None;
    }
    let bytes = packet.payload;
    let four = matches!(packet.source, Address::V4(_));
    let found = |kind, layer, at| Some(Inside { kind, id: None, layer, at });
    match packet.protocol {
        UDP => in_udp(bytes),
        4 => found(if four { Tunnel::Ipip } else { Tunnel::FourInSix }, Layer::Ipv4, 0),
        41 => found(if four { Tunnel::SixInFour } else { Tunnel::SixInSix }, Layer::Ipv6, 0),
        47 => gre(bytes),
        97 if bytes.starts_with(&[0x30, 0]) => found(Tunnel::EtherIp, Layer::Ethernet, 2),
        137 => found(Tunnel::Mpls, Layer::Mpls, 0),
        _ => None,
    }
}

fn in_udp(bytes: &[u8]) -> Option<Inside> {
    match be16(bytes, 2)? {
        // 8472 is Linux's own port from before the assignment of 4789.
        4789 | 8472 => vxlan(bytes.get(8..)?, false),
        4790 => vxlan(bytes.get(8..)?, true),
        6081 => geneve(bytes.get(8..)?),
        2152 => gtp(bytes.get(8..)?),
        6635 => Some(Inside { kind: Tunnel::Mpls, id: None, layer: Layer::Mpls, at: 8 }),
        _ => None,
    }
}

fn vxlan(header: &[u8], generic: bool) -> Option<Inside> {
    let (flags, id) = (*header.first()?, be32(header, 4)? >> 8);
    if flags & 0x08 == 0 {
        return None;
    }
    let layer = match *header.get(3)? {
        1 if generic => Layer::Ipv4,
        2 if generic => Layer::Ipv6,
        5 if generic => Layer::Mpls,
        3 if generic => Layer::Ethernet,
        _ if generic => return None,
        _ => Layer::Ethernet,
    };
    Some(Inside { kind: Tunnel::Vxlan, id: Some(id), layer, at: 16 })
}

fn geneve(header: &[u8]) -> Option<Inside> {
    let (first, kind, id) = (*header.first()?, be16(header, 2)?, be32(header, 4)? >> 8);
    // Version 0. Options are counted in words of 4 bytes.
    let at = 16 + 4 * usize::from(first & 0x3f);
    let layer = Layer::Type(kind);
    (first >> 6 == 0).then_some(Inside { kind: Tunnel::Geneve, id: Some(id), layer, at })
}

/// Maximum number of GTP-U extension headers.
const GTP_EXTENSIONS_MAX: usize = 8;

fn gtp(header: &[u8]) -> Option<Inside> {
    let (flags, kind, id) = (*header.first()?, *header.get(1)?, be32(header, 4)?);
    // Version 1, message type G-PDU.
    if flags >> 4 != 3 || kind != 255 {
        return None;
    }
    let mut at = 8;
    if flags & 7 != 0 {
        at = 12;
        let mut next = if flags & 4 != 0 { *header.get(11)? } else { 0 };
        for _ in 0..GTP_EXTENSIONS_MAX {
            if next == 0 {
                break;
            }
            let length = 4 * usize::from(*header.get(at)?).max(1);
            next = *header.get(at + length - 1)?;
            at += length;
        }
    }
    Some(Inside { kind: Tunnel::Gtp, id: Some(id), layer: Layer::Ip, at: at + 8 })
}

const CHECKSUM: u16 = 0x8000;
const ROUTING: u16 = 0x4000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
const ACKNOWLEDGEMENT: u16 = 0x0080;
/// Minimum NVGRE identifier (RFC 7637 §3.3): smaller values mean GRE with a small key.
const NVGRE_MIN: u32 = 0x1000;

fn gre(bytes: &[u8]) -> Option<Inside> {
    let (flags, protocol) = (be16(bytes, 0)?, be16(bytes, 2)?);
    let (version, mut at) = (flags & 7, 4);
    if version > 1 || flags & ROUTING != 0 {
        return None;
    }
    if flags & CHECKSUM != 0 {
        at += 4;
    }
    let key = if flags & KEY != 0 { Some(be32(bytes, at)?) } else { None };
    for flag in [KEY, SEQUENCE] {
        at += if flags & flag != 0 { 4 } else { 0 };
    }
    if version == 1 {
        at += if flags & ACKNOWLEDGEMENT != 0 { 4 } else { 0 };
        // The upper half of the key is the payload length.
        let id = key.map(|key| key & 0xffff);
        return Some(Inside { kind: Tunnel::Pptp, id, layer: Layer::Ppp, at });
    }
    let found = |kind, id, layer, at| Some(Inside { kind, id, layer, at });
    let session = |at| be16(bytes, at + 2).map(|field| u32::from(field & 0x3ff));
    match (protocol, key) {
        (0x88be, _) if flags & SEQUENCE == 0 => found(Tunnel::Erspan, None, Layer::Ethernet, at),
        (0x88be, _) => found(Tunnel::Erspan, session(at), Layer::Ethernet, at + 8),
        (0x22eb, _) => {
            let more = if bytes.get(at + 11)? & 1 == 1 { 8 } else { 0 };
            found(Tunnel::Erspan, session(at), Layer::Ethernet, at + 12 + more)
        }
        // The lowest byte of the key varies with the flow.
        (0x6558, Some(key)) if flags & (CHECKSUM | SEQUENCE) == 0 && key >> 8 >= NVGRE_MIN => {
            found(Tunnel::Nvgre, Some(key >> 8), Layer::Ethernet, at)
        }
        _ => found(Tunnel::Gre, key, Layer::Type(protocol), at),
    }
}
