//! Names of link types and of frames without IP.

use super::LinkType;
use std::fmt;

/// Reason why a frame has no readable IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skipped {
    /// Protocol with a name.
    Named(&'static str),
    /// EtherType without a name.
    EtherType(u16),
    /// IEEE 802.2 destination without a name.
    Llc(u8),
    /// PPP protocol without a name.
    Ppp(u16),
    /// Unsupported link type.
    Link(LinkType),
}

impl Skipped {
    pub(super) const CUT: Self = Self::Named("cut off before IP");
    pub(super) const BAD_IPV4: Self = Self::Named("IPv4 with a header that cannot be read");
    pub(super) const BAD_IPV6: Self = Self::Named("IPv6 with a header that cannot be read");
    /// Placeholder for kinds beyond the maximum number counted separately.
    pub const OTHERS: Self = Self::Named("other kinds");

    pub(super) fn ethertype(number: u16) -> Self {
        Self::Named(match number {
            0x0806 => "ARP",
            0x0842 => "Wake-on-LAN",
            0x22f3 => "TRILL",
            0x6002 => "DEC MOP",
            0x8035 => "RARP",
            0x809b | 0x80f3 => "AppleTalk",
            0x8137 => "IPX",
            0x8808 => "Ethernet flow control",
            0x8809 => "LACP",
            0x8863 => "PPPoE discovery",
            0x888e => "EAPOL",
            0x8892 => "PROFINET",
            0x88a4 => "EtherCAT",
            0x88b8 => "GOOSE",
            0x88ba => "IEC 61850 sampled values",
            0x88cc => "LLDP",
            0x88e1 | 0x8912 => "HomePlug",
            0x88e5 => "MACsec",
            0x88f7 => "PTP",
            0x8902 => "Ethernet OAM",
            0x8906 => "FCoE",
            0x9000 => "Ethernet loopback test",
            _ => return Self::EtherType(number),
        })
    }

    pub(super) fn llc(destination: u8) -> Self {
        Self::Named(match destination {
            0x42 => "spanning tree",
            0xe0 | 0xff => "IPX",
            0xf0 => "NetBIOS",
            0xfe => "OSI (IS-IS, CLNP)",
            _ => return Self::Llc(destination),
        })
    }

    pub(super) fn ppp(protocol: u16) -> Self {
        Self::Named(match protocol {
            0x002d | 0x002f => "PPP: TCP/IP with compressed headers",
            0x003d => "PPP multilink",
            0x00fd => "PPP: compressed data",
            0x8021 => "PPP: IPCP",
            0x8057 => "PPP: IPv6CP",
            0x80fd => "PPP: CCP",
            0xc021 => "PPP: LCP",
            0xc023 => "PPP: PAP",
            0xc025 => "PPP: LQR",
            0xc223 => "PPP: CHAP",
            _ => return Self::Ppp(protocol),
        })
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::EtherType(number) => write!(f, "EtherType 0x{number:04x}"),
            Self::Llc(destination) => write!(f, "LLC to 0x{destination:02x}"),
            Self::Ppp(protocol) => write!(f, "PPP protocol 0x{protocol:04x}"),
            Self::Link(link) => write!(f, "{link} (not read)"),
        }
    }
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::MIXED {
            return f.write_str("other link types");
        }
        if let Some(kind) = self.0.checked_sub(Self::SNOOP_UNKNOWN) {
            return write!(f, "snoop data link {kind}");
        }
        f.write_str(match self.0 {
            0 | 108 => "loopback",
            1 => "Ethernet",
            6 => "Token Ring",
            7 | 129 => "ARCNET",
            8 => "SLIP",
            9 => "PPP",
            10 => "FDDI",
            11 | 100 => "ATM with LLC",
            12 | 14 | 101 | 228 | 229 => "raw IP",
            50 | 204 => "PPP (serial)",
            51 => "PPPoE",
            104 => "Cisco HDLC",
            105 => "802.11",
            107 => "Frame Relay",
            109 => "OpenBSD IPsec (enc)",
            113 => "Linux cooked",
            117 => "OpenBSD pflog",
            119 => "802.11 with Prism",
            122 => "IP over Fibre Channel",
            127 => "802.11 with radiotap",
            163 => "802.11 with AVS",
            182 => "multilink Frame Relay",
            187 | 201 => "Bluetooth HCI",
            189 | 220 => "USB",
            192 => "PPI",
            195 | 215 | 230 | 283 => "IEEE 802.15.4",
            219 => "MPLS",
            227 => "CAN (SocketCAN)",
            239 => "NFLOG",
            242 => "IP over InfiniBand",
            251 => "Bluetooth LE",
            253 => "Linux netlink",
            258 => "Apple PKTAP",
            276 => "Linux cooked 2",
            281 | 282 => "Ethernet with Broadcom's switch tag",
            284 | 285 => "Ethernet with Marvell's switch tag",
            number => return write!(f, "link type {number}"),
        })
    }
}
