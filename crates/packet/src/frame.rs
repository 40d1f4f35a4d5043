//! Packets as values, and the lengths of their headers.

use crate::tcp::Segment;

/// Length of an Ethernet header without FCS.
pub const ETHERNET_HEADER_BYTES: u32 = 14;
/// Length of an IPv4 header without options.
pub const IPV4_HEADER_BYTES: u32 = 20;
/// Length of an ARP frame: Ethernet header and 28 bytes (RFC 826), without padding as on veth.
pub const ARP_FRAME_BYTES: u32 = 42;
/// Value of [`Packet::flow`] for packets of no flow.
pub const NO_FLOW: u32 = u32::MAX;
/// Length of a UDP header and of an ICMP echo header.
pub const UDP_HEADER_BYTES: u32 = 8;

/// Content of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Body {
    /// A TCP segment.
    Tcp(Segment),
    /// An IP packet of a UDP datagram: the whole datagram or a fragment.
    Udp {
        /// Number of the datagram in the flow.
        datagram: u64,
        /// UDP payload bytes in this packet.
        payload_bytes: u32,
        /// Number of the fragment, from 0.
        fragment: u32,
        /// Number of fragments of the datagram.
        fragments: u32,
    },
    /// An ARP packet between neighbours.
    Arp {
        /// Index of the entry in the requester's neighbour table.
        entry: u32,
        /// Hops travelled.
        hops: u32,
        /// True for a reply, false for a request.
        reply: bool,
    },
    /// An echo request or reply.
    Ping {
        /// Number of the request.
        number: u64,
        /// ICMP payload bytes.
        payload_bytes: u32,
    },
}

impl Body {
    /// Returns true if other IP packets carry the rest of the datagram.
    pub fn is_fragment(&self) -> bool {
        matches!(self, Self::Udp { fragments: 2.., .. })
    }
}

/// A packet in the network. Two cache lines; all but the SACK blocks is in the first.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Packet {
    /// Number of the packet in its flow and direction, in sending order, from 0.
    pub number: u64,
    /// Index of the flow in the scenario, or [`NO_FLOW`].
    pub flow: u32,
    /// Length of the Ethernet frame without FCS.
    pub frame_bytes: u32,
    /// True from the flow's source to its destination, false in the reverse direction.
    pub outward: bool,
    /// Codepoint (RFC 2474) and ECN field (RFC 3168 §5), as in the IP header.
    pub tos: u8,
    /// Content.
    pub body: Body,
}

impl Packet {
    /// Length of the transport payload.
    pub fn payload_bytes(&self) -> u32 {
        match self.body {
            Body::Tcp(segment) => segment.payload_bytes,
            Body::Udp { payload_bytes, .. } | Body::Ping { payload_bytes, .. } => payload_bytes,
            Body::Arp { .. } => 0,
        }
    }

    /// Returns true for a TCP segment without payload.
    pub fn is_bare(&self) -> bool {
        matches!(self.body, Body::Tcp(segment) if segment.payload_bytes == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_sack_blocks_only_the_first_cache_line_is_needed() {
        let packet = Packet {
            number: 0,
            flow: 0,
            frame_bytes: 66,
            outward: true,
            tos: 0,
            body: Body::Tcp(Segment::default()),
        };
        let start = core::ptr::from_ref(&packet) as usize;
        let Body::Tcp(segment) = &packet.body else { return };
        assert_eq!(core::ptr::from_ref(&segment.sack) as usize - start, 64);
        assert_eq!(size_of::<Packet>(), 128);
    }
}
