//! Headers below IP. Each function returns the next header and the length of its own header.

use super::ip::{IPV4, IPV6};
use super::{be16, be32, Layer, LinkType, Skipped};

/// Next header and its offset.
pub(super) type Next = Result<(Layer, usize), Skipped>;

/// Maximum number of stacked MPLS labels.
const LABELS_MAX: usize = 16;
/// Maximum number of NFLOG attributes before the packet.
const ATTRIBUTES_MAX: usize = 64;
const NFLOG_PAYLOAD: u16 = 9;
/// ARPHRD_ types of Linux cooked captures with another header before IP.
const HARDWARE_80211: u16 = 801;
const HARDWARE_RADIOTAP: u16 = 803;
const HARDWARE_NETLINK: u16 = 824;

fn little(bytes: &[u8], at: usize) -> Option<u16> {
    be16(bytes, at).map(u16::swap_bytes)
}

/// Decodes the first header of a frame.
pub(super) fn by_type(link: LinkType, bytes: &[u8]) -> Next {
    let wlan = Layer::Wlan { padded: false };
    Ok(match link.0 {
        1 => (Layer::Ethernet, 0),
        12 | 14 | 101 => (Layer::Ip, 0),
        228 => (Layer::Ipv4, 0),
        229 => (Layer::Ipv6, 0),
        0 | 108 => (Layer::Ip, 4),
        9 => (Layer::Ppp, 0),
        50 | 104 => (Layer::Serial, 0),
        204 => (Layer::Serial, 1),
        51 => (Layer::Pppoe, 0),
        // Frame control, two addresses.
        10 if bytes.first().is_some_and(|control| control & 0x70 == 0x50) => (Layer::Llc, 13),
        10 => return Err(Skipped::Named("FDDI management")),
        6 => return token_ring(bytes),
        7 => return arcnet(bytes, 2, [3, 6]),
        129 => return arcnet(bytes, 4, [5, 8]),
        // SLIP with a header of BSD: direction and 15 bytes of the compressed header.
        8 => (Layer::Ip, 16),
        107 => return frame_relay(bytes),
        // FRF.16.1: begin and end in one frame, before Frame Relay.
        182 if bytes.first().is_some_and(|bits| bits & 0xe0 == 0xc0) => {
            (Layer::Link(LinkType(107)), 2)
        }
        182 => return Err(Skipped::Named("multilink Frame Relay: fragments and control")),
        // RFC 2625 §3.1: two addresses.
        122 => (Layer::Llc, 16),
        // RFC 4391 §6 behind a global routing header.
        242 => (Layer::Type(be16(bytes, 40).ok_or(Skipped::CUT)?), 44),
        // Tags of switches between source address and EtherType: Broadcom's and Marvell's of 4
        // bytes, Marvell's with an EtherType of 8; Broadcom's before the frame.
        281 | 284 => (Layer::Type(be16(bytes, 16).ok_or(Skipped::CUT)?), 18),
        285 => (Layer::Type(be16(bytes, 20).ok_or(Skipped::CUT)?), 22),
        282 => (Layer::Ethernet, 4),
        11 | 100 => (Layer::Llc, 0),
        105 => (wlan, 0),
        109 => (Layer::Ip, 12),
        113 => return cooked(bytes, [2, 14], 16),
        276 => return cooked(bytes, [8, 0], 20),
        117 => {
            let length = usize::from(*bytes.first().ok_or(Skipped::CUT)?);
            (Layer::Ip, length.next_multiple_of(4))
        }
        119 | 163 => (wlan, prism(bytes).ok_or(Skipped::CUT)?),
        127 => return super::wlan::radiotap(bytes),
        192 => {
            let (length, next) = little(bytes, 2).zip(little(bytes, 4)).ok_or(Skipped::CUT)?;
            (Layer::Link(LinkType(next)), usize::from(length).max(8))
        }
        219 => (Layer::Mpls, 0),
        239 => return nflog(bytes),
        258 => {
            let (length, next) = little(bytes, 0).zip(little(bytes, 8)).ok_or(Skipped::CUT)?;
            (Layer::Link(LinkType(next)), usize::from(length).max(12))
        }
        _ => return Err(Skipped::Link(link)),
    })
}

/// Decodes a Linux cooked header; `at` holds the offsets of ARPHRD_ type and protocol.
fn cooked(bytes: &[u8], at: [usize; 2], header_bytes: usize) -> Next {
    let [hardware, protocol] = at.map(|at| be16(bytes, at));
    let (hardware, protocol) = hardware.zip(protocol).ok_or(Skipped::CUT)?;
    Ok(match (hardware, protocol) {
        (HARDWARE_NETLINK, _) => return Err(Skipped::Named("Linux netlink")),
        (HARDWARE_80211, _) => (Layer::Wlan { padded: false }, header_bytes),
        (HARDWARE_RADIOTAP, _) => (Layer::Link(LinkType(127)), header_bytes),
        (_, 1) => return Err(Skipped::Named("IPX")),
        (_, 4) => (Layer::Llc, header_bytes),
        (_, 0x000c..=0x000e) => return Err(Skipped::Named("CAN")),
        (_, protocol) => (Layer::Type(protocol), header_bytes),
    })
}

/// Decodes Token Ring (IEEE 802.5): access and frame control, addresses, and routing information if
/// the source address announces it.
fn token_ring(bytes: &[u8]) -> Next {
    let (control, source) = bytes.get(1).zip(bytes.get(8)).ok_or(Skipped::CUT)?;
    if control & 0xc0 != 0x40 {
        return Err(Skipped::Named("Token Ring management"));
    }
    let routing = match source & 0x80 {
        0 => 0,
        _ => usize::from(bytes.get(14).ok_or(Skipped::CUT)? & 0x1f),
    };
    Ok((Layer::Llc, 14 + routing))
}

/// Decodes ARCNET: RFC 1051 has a short header, RFC 1201 a longer one with a split flag. `at` is the
/// offset of the protocol, `headers` are the lengths of both headers.
fn arcnet(bytes: &[u8], at: usize, [short, long]: [usize; 2]) -> Next {
    // A frame of RFC 1201 that is an exception (only BSD keeps it) repeats its header.
    let flag = bytes.get(at + 1).copied();
    let exception = long == 6 && flag == Some(0xff);
    let flag = if exception { bytes.get(at + 5).copied() } else { flag };
    let long = if exception { long + 4 } else { long };
    // Even flags other than 0 are of later fragments.
    let first = flag.is_none_or(|flag| flag == 0 || flag & 1 == 1);
    match *bytes.get(at).ok_or(Skipped::CUT)? {
        0xf0 => Ok((Layer::Ipv4, short)),
        0xf1 | 0xd5 => Err(Skipped::Named("ARP")),
        0xd6 => Err(Skipped::Named("RARP")),
        0xd4 | 0xc4 if !first => Err(Skipped::Named("ARCNET: later fragments")),
        0xd4 => Ok((Layer::Ipv4, long)),
        0xc4 => Ok((Layer::Ipv6, long)),
        _ => Err(Skipped::Named("ARCNET without IP")),
    }
}

/// Decodes Frame Relay: a Q.922 address of 2 to 4 bytes, then RFC 2427 (control, NLPID) or Cisco's
/// encapsulation (EtherType).
fn frame_relay(bytes: &[u8]) -> Next {
    let last = bytes.iter().take(4).position(|byte| byte & 1 == 1).ok_or(Skipped::CUT)?;
    let at = last + 1;
    if at < 2 {
        return Err(Skipped::Named("Frame Relay with an address of one byte"));
    }
    let &[control, next] = bytes.get(at..).and_then(<[u8]>::first_chunk).ok_or(Skipped::CUT)?;
    // RFC 2427 §3: a padding byte of 0 may precede the NLPID.
    let (nlpid, at) = match (control, next) {
        (0x03, 0) => (*bytes.get(at + 2).ok_or(Skipped::CUT)?, at + 3),
        (0x03, nlpid) => (nlpid, at + 2),
        _ => return Ok((Layer::Type(u16::from_be_bytes([control, next])), at + 2)),
    };
    match nlpid {
        0xcc => Ok((Layer::Ipv4, at)),
        0x8e => Ok((Layer::Ipv6, at)),
        // RFC 2427 §4.2: bridged Ethernet with and without its checksum.
        0x80 if matches!(bytes.get(at..), Some([0, 0x80, 0xc2, 0, 1 | 7, ..])) => {
            Ok((Layer::Ethernet, at + 5))
        }
        0x80 => snap(bytes, at),
        0x81..=0x83 => Err(Skipped::Named("OSI (IS-IS, CLNP)")),
        0xcf => Ok((Layer::Ppp, at)),
        _ => Err(Skipped::Named("Frame Relay without IP")),
    }
}

/// Length of a Prism or AVS header. A Prism length is in the byte order of the capturing host.
fn prism(bytes: &[u8]) -> Option<usize> {
    let (kind, length) = (be32(bytes, 0)?, be32(bytes, 4)?);
    let avs = kind & 0xffff_f000 == 0x8021_1000;
    let length = if avs || length < 1 << 16 { length } else { length.swap_bytes() };
    (length < 1 << 16).then_some(length as usize)
}

/// Finds the packet among the attributes of NFLOG, which are in the capturing host's byte order.
fn nflog(bytes: &[u8]) -> Next {
    let mut at = 4;
    for _ in 0..ATTRIBUTES_MAX {
        let rest = bytes.get(at..).ok_or(Skipped::CUT)?;
        let (length, kind) = little(rest, 0).zip(little(rest, 2)).ok_or(Skipped::CUT)?;
        let fits = |length: u16| (4..=rest.len()).contains(&usize::from(length));
        let (length, kind) = match fits(length) && kind < 1 << 8 {
            true => (length, kind),
            false => (length.swap_bytes(), kind.swap_bytes()),
        };
        if kind == NFLOG_PAYLOAD {
            return Ok((Layer::Ip, at + 4));
        }
        at += usize::from(length).max(4).next_multiple_of(4);
    }
    Err(Skipped::Named("NFLOG without a packet"))
}

/// Decodes an EtherType; values up to 1500 are lengths.
pub(super) fn by_ethertype(number: u16, bytes: &[u8]) -> Next {
    Ok(match number {
        IPV4 => (Layer::Ipv4, 0),
        IPV6 => (Layer::Ipv6, 0),
        // VLAN tags: IEEE 802.1Q, 802.1ad, and two older tags.
        0x8100 | 0x88a8 | 0x9100 | 0x9200 => (Layer::Type(be16(bytes, 2).ok_or(Skipped::CUT)?), 4),
        0x8847 | 0x8848 => (Layer::Mpls, 0),
        0x8864 => (Layer::Pppoe, 0),
        // Cisco's metadata (security group tag): version, options in words of 4 bytes.
        0x8909 => {
            let words = usize::from(*bytes.get(1).ok_or(Skipped::CUT)?);
            let at = 2 + 4 * words;
            (Layer::Type(be16(bytes, at).ok_or(Skipped::CUT)?), at + 2)
        }
        0x880b => (Layer::Ppp, 0),
        0x6558 => (Layer::Ethernet, 0),
        // IEEE 802.1ah: service identifier, then the customer's frame.
        0x88e7 => (Layer::Ethernet, 4),
        0..=1500 => (Layer::Llc, 0),
        _ => return Err(Skipped::ethertype(number)),
    })
}

/// Decodes IEEE 802.2 with optional SNAP (RFC 1042).
pub(super) fn llc(bytes: &[u8]) -> Next {
    let &[destination, source, control] = bytes.first_chunk().ok_or(Skipped::CUT)?;
    match (destination, source, control) {
        (0xaa, 0xaa, 3) => snap(bytes, 3),
        (0x06, 0x06, 3) => Ok((Layer::Ipv4, 3)),
        _ => Err(Skipped::llc(destination)),
    }
}

/// Decodes SNAP at an offset: organisation and protocol.
fn snap(bytes: &[u8], at: usize) -> Next {
    let (organisation, kind) = be32(bytes, at - 1).zip(be16(bytes, at + 3)).ok_or(Skipped::CUT)?;
    match (organisation & 0xff_ffff, kind) {
        // RFC 1042, and IEEE 802.1H for protocols that RFC 1042 cannot carry.
        (0 | 0x00_00f8, 1501..) => Ok((Layer::Type(kind), at + 5)),
        (0x00_000c, 0x2000) => Err(Skipped::Named("CDP")),
        (0x00_000c, 0x010b) => Err(Skipped::Named("spanning tree")),
        (0x00_000c, _) => Err(Skipped::Named("Cisco's protocols on LLC")),
        _ => Err(Skipped::Named("SNAP of another organisation")),
    }
}

/// Decodes PPP (RFC 1661, 1662). Address, control and one protocol byte may be omitted.
pub(super) fn ppp(bytes: &[u8]) -> Next {
    let mut at = if bytes.starts_with(&[0xff, 3]) { 2 } else { 0 };
    let first = u16::from(*bytes.get(at).ok_or(Skipped::CUT)?);
    let protocol = if first & 1 == 1 {
        at += 1;
        first
    } else {
        at += 2;
        be16(bytes, at - 2).ok_or(Skipped::CUT)?
    };
    match protocol {
        0x0021 => Ok((Layer::Ipv4, at)),
        0x0057 => Ok((Layer::Ipv6, at)),
        0x0281 | 0x0283 => Ok((Layer::Mpls, at)),
        _ => Err(Skipped::ppp(protocol)),
    }
}

/// Decodes PPP or Cisco HDLC, which start with different addresses.
pub(super) fn serial(bytes: &[u8]) -> Next {
    match bytes {
        [0x0f | 0x8f, 0, 0x80, 0x35, ..] => Err(Skipped::Named("Cisco HDLC keep-alives")),
        [0x0f | 0x8f, 0, high, low, ..] => Ok((Layer::Type(u16::from_be_bytes([*high, *low])), 4)),
        _ => Ok((Layer::Ppp, 0)),
    }
}

/// Decodes PPPoE (RFC 2516).
pub(super) fn pppoe(bytes: &[u8]) -> Next {
    match bytes.get(1).ok_or(Skipped::CUT)? {
        0 => Ok((Layer::Ppp, 6)),
        _ => Err(Skipped::Named("PPPoE discovery")),
    }
}

/// Decodes MPLS (RFC 3032). No field names the payload: IP is recognised by its header, an Ethernet
/// pseudowire (RFC 4448, with or without control word) by the Ethernet header.
pub(super) fn mpls(bytes: &[u8]) -> Next {
    let labels = bytes.chunks_exact(4).take(LABELS_MAX);
    let last = labels.clone().position(|label| label[2] & 1 == 1).ok_or(Skipped::CUT)?;
    let at = 4 * (last + 1);
    let payload = &bytes[at..];
    match payload.first().ok_or(Skipped::CUT)? >> 4 {
        4 if is_ipv4(payload) => Ok((Layer::Ipv4, at)),
        6 if is_ipv6(payload) => Ok((Layer::Ipv6, at)),
        0 if payload.get(4..).is_some_and(is_ethernet) => Ok((Layer::Ethernet, at + 4)),
        _ if is_ethernet(payload) => Ok((Layer::Ethernet, at)),
        1 => Err(Skipped::Named("MPLS associated channel")),
        _ => Err(Skipped::Named("MPLS with a payload that is not known")),
    }
}

fn is_ipv4(bytes: &[u8]) -> bool {
    let header = bytes.first().map_or(0, |first| u16::from(first & 15) * 4);
    bytes.first().is_some_and(|first| first >> 4 == 4)
        && header >= 20
        && be16(bytes, 2).is_some_and(|total| total >= header || total == 0)
}

fn is_ipv6(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| first >> 4 == 6) && bytes.len() >= 40
}

/// Returns true for an Ethernet frame with a known payload.
fn is_ethernet(frame: &[u8]) -> bool {
    let Some(inside) = frame.get(14..) else { return false };
    match be16(frame, 12) {
        Some(IPV4) => is_ipv4(inside),
        Some(IPV6) => is_ipv6(inside),
        Some(0x8100 | 0x88a8 | 0x8847 | 0x8848 | 0x8864) => true,
        Some(length @ ..=1500) => {
            let known = match llc(inside) {
                Ok(_) => true,
                Err(skipped) => matches!(skipped, Skipped::Named(_)) && skipped != Skipped::CUT,
            };
            usize::from(length) <= inside.len().max(46) && known
        }
        Some(number) => matches!(Skipped::ethertype(number), Skipped::Named(_)),
        None => false,
    }
}
