//! A packet on its way.

use crate::tcp::Segment;

/// Ethernet header without FCS.
pub const ETHERNET_HEADER_BYTES: u32 = 14;
/// IPv4 header without options.
pub const IPV4_HEADER_BYTES: u32 = 20;
/// An ARP packet: Ethernet header and 28 bytes (RFC 826), without padding as on veth.
pub const ARP_FRAME_BYTES: u32 = 42;
/// The `flow` of packets that belong to none.
pub const NO_FLOW: u32 = u32::MAX;
/// UDP header, ICMP echo header.
pub const UDP_HEADER_BYTES: u32 = 8;

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Body {
    /// A TCP segment.
    Tcp(Segment),
    /// An IP packet of a UDP datagram.
    Udp {
        /// Which datagram of the flow.
        datagram: u64,
        /// UDP payload bytes in this packet.
        payload_bytes: u32,
        /// Which fragment, from 0.
        fragment: u32,
        /// Fragments of the datagram.
        fragments: u32,
    },
    /// An ARP packet between neighbours.
    Arp {
        /// Whose question: number of the entry in the asker's table.
        entry: u32,
        /// Hops made.
        hops: u32,
        /// The answer.
        reply: bool,
    },
    /// An echo request or reply.
    Ping {
        /// Which request.
        number: u64,
        /// ICMP payload bytes.
        payload_bytes: u32,
    },
}

impl Body {
    /// Returns true if IP has more of the datagram in other packets.
    pub fn is_fragment(&self) -> bool {
        matches!(self, Self::Udp { fragments: 2.., .. })
    }
}

/// A packet on its way. Two cache lines: everything but SACK blocks is in the first.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Packet {
    /// Number of the packet in its flow and direction, in order of sending, from 0.
    pub number: u64,
    /// Index of the flow in the scenario, or [`NO_FLOW`].
    pub flow: u32,
    /// Ethernet frame without FCS.
    pub frame_bytes: u32,
    /// From the flow's source to its destination (`true`) or back.
    pub outward: bool,
    /// Codepoint (RFC 2474) and ECN field (RFC 3168 §5), as in the IP header.
    pub tos: u8,
    /// Its content.
    pub body: Body,
}

impl Packet {
    /// Payload of the transport layer.
    pub fn payload_bytes(&self) -> u32 {
        match self.body {
            Body::Tcp(segment) => segment.payload_bytes,
            Body::Udp { payload_bytes, .. } | Body::Ping { payload_bytes, .. } => payload_bytes,
            Body::Arp { .. } => 0,
        }
    }

    /// Without payload, as a pure TCP ACK.
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
