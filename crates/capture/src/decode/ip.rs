//! IPv4 (RFC 791), and IPv6 with extension headers (RFC 8200).

use super::{be16, be32, Address};

pub(super) const IPV4: u16 = 0x0800;
pub(super) const IPV6: u16 = 0x86dd;
/// Maximum number of IPv6 extension headers decoded.
const EXTENSIONS_MAX: usize = 16;

/// A fragment of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Identification.
    pub identification: u32,
    /// Offset of the payload in the original packet.
    pub offset_bytes: u32,
    /// True unless this is the last fragment.
    pub more: bool,
    /// Length of the payload.
    pub bytes: u32,
    /// True if the capture contains all bytes of the fragment.
    pub complete: bool,
}

/// An IP packet of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpPacket<'a> {
    /// Source address.
    pub source: Address,
    /// Destination address.
    pub destination: Address,
    /// Protocol payload IP.
    pub protocol: u8,
    /// Fragment fields, if the packet is a fragment.
    pub fragment: Option<Fragment>,
    /// IPv4 identification (RFC 791 §3.1); IPv6 has none outside fragments.
    pub identification: Option<u16>,
    /// DSCP (upper six bits) and ECN field (lower two, RFC 3168 §5; 3: congestion experienced).
    pub tos: u8,
    /// Captured bytes of the payload, without link-layer padding.
    pub payload: &'a [u8],
    /// Length of the payload on the wire.
    pub payload_bytes: u32,
}

#[inline]
pub(super) fn v4(packet: &[u8], original_bytes: u32) -> Option<IpPacket<'_>> {
    let header: &[u8; 20] = packet.first_chunk()?;
    let header_bytes = usize::from(header[0] & 15) * 4;
    if header[0] >> 4 != 4 || header_bytes < 20 {
        return None;
    }
    let total = u32::from(u16::from_be_bytes([header[2], header[3]]));
    let field = u16::from_be_bytes([header[6], header[7]]);
    // Segmentation offload sets the length to 0 if it exceeds 16 bits.
    let total = if total == 0 { original_bytes } else { total };
    let payload_bytes = total.saturating_sub(header_bytes as u32);
    let payload = packet.get(header_bytes..).unwrap_or(&[]);
    let payload = &payload[..payload.len().min(payload_bytes as usize)];
    let (offset_bytes, more) = (u32::from(field & 0x1fff) * 8, field & 0x2000 != 0);
    let identification = u16::from_be_bytes([header[4], header[5]]);
    let fragment = (offset_bytes > 0 || more).then_some(Fragment {
        identification: u32::from(identification),
        offset_bytes,
        more,
        bytes: payload_bytes,
        complete: payload.len() >= payload_bytes as usize,
    });
    Some(IpPacket {
        source: Address::V4([header[12], header[13], header[14], header[15]]),
        destination: Address::V4([header[16], header[17], header[18], header[19]]),
        protocol: header[9],
        fragment,
        identification: Some(identification),
        tos: header[1],
        payload,
        payload_bytes,
    })
}

pub(super) fn v6(packet: &[u8], original_bytes: u32) -> Option<IpPacket<'_>> {
    let header: &[u8; 40] = packet.first_chunk()?;
    if header[0] >> 4 != 6 {
        return None;
    }
    let carried = u32::from(u16::from_be_bytes([header[4], header[5]]));
    // As with IPv4. For jumbograms (RFC 2675) the length of the frame is used.
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
            let field = u32::from(be16(packet, at + 2).unwrap_or(0));
            let (offset_bytes, more) = (field & 0xfff8, field & 1 != 0);
            fragment = (offset_bytes > 0 || more).then_some(Fragment {
                identification: be32(packet, at + 4).unwrap_or(0),
                offset_bytes,
                more,
                bytes: end.saturating_sub(at as u32 + 8),
                complete: packet.len() >= end as usize,
            });
        }
        protocol = *next;
        at += bytes;
    }
    let payload_bytes = end.saturating_sub(at as u32);
    let payload = packet.get(at..).unwrap_or(&[]);
    Some(IpPacket {
        source: Address::V6(header[8..24].try_into().ok()?),
        destination: Address::V6(header[24..40].try_into().ok()?),
        protocol,
        fragment,
        identification: None,
        tos: (header[0] & 15) << 4 | header[1] >> 4,
        payload: &payload[..payload.len().min(payload_bytes as usize)],
        payload_bytes,
    })
}
