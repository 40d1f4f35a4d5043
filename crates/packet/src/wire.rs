//! Packets as bytes: Ethernet, IPv4 (RFC 791), TCP (RFC 9293, RFC 7323, RFC 2018), UDP (RFC 768),
//! ICMP echo (RFC 792), with lengths and checksums. Payload is zeros.

use crate::frame::{ETHERNET_HEADER_BYTES, IPV4_HEADER_BYTES, UDP_HEADER_BYTES};
use crate::tcp::{Syn, TCP_HEADER_BYTES};
use crate::{accecn, Body, MultipathHeaders, Packet, Segment};

/// Base of server ports: flow `f` goes to this port plus `f`, from [`CLIENT_PORT`] plus `f`.
pub const SERVER_PORT: u16 = 5001;
/// Base of client ports, see [`SERVER_PORT`].
pub const CLIENT_PORT: u16 = 20001;

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;

/// IPv4 address of a node by its index.
pub fn address(node: usize) -> [u8; 4] {
    let number = node as u32 + 1;
    [10, (number >> 16) as u8, (number >> 8) as u8, number as u8]
}

/// IPv4 address of the interface at a pipe's near end. Subflows of Multipath TCP use these instead
/// of the address of the node.
pub fn interface_address(pipe: usize) -> [u8; 4] {
    let number = pipe as u32 + 1;
    [10, 128 | (number >> 16) as u8, (number >> 8) as u8, number as u8]
}

/// MAC address of a pipe's near end.
pub fn mac(pipe: usize) -> [u8; 6] {
    let link = pipe / 2;
    [2, 0, (link >> 16) as u8, (link >> 8) as u8, link as u8, (pipe % 2) as u8]
}

/// Header fields of a flow that its packets do not contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowHeaders {
    /// Addresses of source and destination.
    pub addresses: [[u8; 4]; 2],
    /// Offset of the client's port: the number of the flow.
    pub flow: u16,
    /// Offset of the server's port. Subflows of Multipath TCP use the number of the first subflow.
    pub server: u16,
    /// Multipath TCP fields, for a subflow.
    pub multipath: Option<MultipathHeaders>,
    /// Initial sequence numbers of source and destination.
    pub initial: [u32; 2],
    /// MSS that source and destination announce.
    pub mss: [u16; 2],
    /// Window scales of source and destination.
    pub window_scale: [u8; 2],
    /// True if windows are scaled.
    pub scales_window: bool,
    /// True for echoes over UDP instead of ICMP.
    pub udp_echo: bool,
    /// Payload bytes of a UDP datagram.
    pub datagram_bytes: u32,
    /// IP payload bytes of a fragment, except for the last.
    pub fragment_bytes: u32,
}

/// Frame of a packet between two MAC addresses, truncated to `max_bytes` bytes. Its payload is zeros.
pub fn frame(
    packet: &Packet,
    headers: &FlowHeaders,
    macs: [[u8; 6]; 2],
    max_bytes: usize,
) -> Vec<u8> {
    frame_with(&[], packet, headers, macs, max_bytes)
}

/// As [`frame`], with the contents of a UDP datagram in one packet; empty: zeros.
pub fn frame_with(
    contents: &[u8],
    packet: &Packet,
    headers: &FlowHeaders,
    macs: [[u8; 6]; 2],
    max_bytes: usize,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(max_bytes.min(packet.frame_bytes as usize));
    out.extend(macs[1]);
    out.extend(macs[0]);
    out.extend([8, 0]);
    let side = usize::from(!packet.outward);
    let (from, to) = (headers.addresses[side], headers.addresses[1 - side]);
    let total = (packet.frame_bytes - ETHERNET_HEADER_BYTES) as u16;
    let (protocol, identification, fragment) = match packet.body {
        Body::Tcp(_) => (TCP, packet.number as u16, DONT_FRAGMENT),
        Body::Udp { datagram, fragment, fragments, .. } => {
            (UDP, datagram as u16, fragmented(headers, fragment, fragments))
        }
        Body::Ping { .. } if headers.udp_echo => (UDP, packet.number as u16, DONT_FRAGMENT),
        Body::Ping { .. } | Body::Arp { .. } => (ICMP, packet.number as u16, DONT_FRAGMENT),
    };
    let mut ip = vec![0x45, packet.tos];
    ip.extend(total.to_be_bytes());
    ip.extend(identification.to_be_bytes());
    ip.extend(fragment.to_be_bytes());
    ip.extend([64, protocol, 0, 0]);
    ip.extend(from);
    ip.extend(to);
    let header = checksum(&ip, 0);
    set(&mut ip, 10, header);
    out.extend(&ip);
    let ip_payload_bytes = total - IPV4_HEADER_BYTES as u16;
    match &packet.body {
        Body::Tcp(segment) => {
            let start = out.len();
            let stripped_bytes = packet.frame_bytes.saturating_sub(segment.frame_bytes());
            tcp(segment, stripped_bytes, headers, side, &mut out);
            let sum = checksum(&out[start..], pseudo_header(from, to, TCP, ip_payload_bytes));
            set(&mut out, start + 16, sum);
        }
        Body::Udp { fragments: 1, payload_bytes, .. } => {
            udp(headers, side, *payload_bytes, contents, [from, to], &mut out);
        }
        Body::Udp { fragment: 0, .. } => {
            udp(headers, side, headers.datagram_bytes, &[], [from, to], &mut out);
        }
        Body::Ping { payload_bytes, .. } if headers.udp_echo => {
            udp(headers, side, *payload_bytes, &[], [from, to], &mut out);
        }
        Body::Udp { .. } | Body::Arp { .. } => {}
        Body::Ping { number, .. } => {
            let start = out.len();
            out.extend([if packet.outward { 8 } else { 0 }, 0, 0, 0]);
            out.extend((headers.flow + 1).to_be_bytes());
            out.extend((*number as u16).to_be_bytes());
            let sum = checksum(&out[start..], 0);
            set(&mut out, start + 2, sum);
        }
    }
    out.resize(max_bytes.min(packet.frame_bytes as usize), 0);
    out
}

/// Writes the checksum of a TCP segment or UDP datagram that the sender left to checksum offload;
/// of a truncated frame the payload is taken for zeros. Other frames stay unchanged.
pub fn complete_checksum(frame: &mut [u8]) {
    const IP: usize = ETHERNET_HEADER_BYTES as usize;
    let Some(ip) = frame.get(IP..IP + IPV4_HEADER_BYTES as usize) else { return };
    let (from, to) = ([ip[12], ip[13], ip[14], ip[15]], [ip[16], ip[17], ip[18], ip[19]]);
    let header_bytes = usize::from(ip[0] & 15) * 4;
    let ip_payload_bytes = u16::from_be_bytes([ip[2], ip[3]]).saturating_sub(header_bytes as u16);
    let protocol = ip[9];
    let start = IP + header_bytes;
    let (at, headers) = match (protocol, frame.get(start + 12)) {
        (TCP, Some(offset)) => (16, usize::from(offset >> 4) * 4),
        (UDP, _) => (6, UDP_HEADER_BYTES as usize),
        _ => return,
    };
    let whole = start + usize::from(ip_payload_bytes);
    let known = if frame.len() >= whole { whole.max(start + headers) } else { start + headers };
    let Some(header) = frame.get_mut(start..known).filter(|all| all.len() >= at + 2) else {
        return;
    };
    set(header, at, 0);
    let value = checksum(header, pseudo_header(from, to, protocol, ip_payload_bytes));
    set(header, at, if protocol == UDP && value == 0 { 0xffff } else { value });
}

/// Writes a TCP header with options (RFC 9293 §3.1), at their end NOPs in place of `stripped_bytes`.
fn tcp(
    segment: &Segment,
    stripped_bytes: u32,
    headers: &FlowHeaders,
    side: usize,
    out: &mut Vec<u8>,
) {
    let options_bytes = stripped_bytes + segment.frame_bytes()
        - segment.payload_bytes
        - (ETHERNET_HEADER_BYTES + IPV4_HEADER_BYTES + TCP_HEADER_BYTES);
    let syn = segment.flags.is_syn();
    let opens = segment.flags.syn == Syn::Opens;
    let without_ack = opens || segment.flags.rst;
    let at = |side: usize, offset: u64| headers.initial[side].wrapping_add(1 + offset as u32);
    let sequence = if syn { headers.initial[side] } else { at(side, segment.seq) };
    let acknowledgement = if without_ack { 0 } else { at(1 - side, segment.ack) };
    let flags = u8::from(segment.flags.fin)
        | u8::from(syn) << 1
        | u8::from(segment.flags.rst) << 2
        | u8::from(segment.flags.psh) << 3
        | (segment.flags.ace & 3) << 6
        | u8::from(!without_ack) << 4;
    let scaled = headers.scales_window && !syn;
    let shift = if scaled { headers.window_scale[side] } else { 0 };
    let window = (segment.window_bytes >> shift).min(u32::from(u16::MAX)) as u16;
    out.extend(ports(headers, side).iter().flat_map(|port| port.to_be_bytes()));
    out.extend(sequence.to_be_bytes());
    out.extend(acknowledgement.to_be_bytes());
    let offset = ((TCP_HEADER_BYTES + options_bytes) as u8 / 4) << 4;
    out.extend([offset | segment.flags.ace >> 2, flags]);
    out.extend(window.to_be_bytes());
    out.extend([0; 4]); // checksum, urgent pointer
    if syn {
        out.extend([2, 4]);
        out.extend(headers.mss[side].to_be_bytes());
        if segment.timestamps {
            out.extend(if segment.permits_sack() { [4, 2] } else { [1, 1] });
            timestamps(segment, out);
        }
        if let Some(option) = segment.accurate_ecn() {
            accecn::write(option, segment, out);
        }
        if segment.permits_sack() && !segment.timestamps {
            out.extend([1, 1, 4, 2]);
        }
        if segment.scales_window() {
            out.extend([1, 3, 3, headers.window_scale[side]]);
        }
    } else {
        if segment.timestamps {
            out.extend([1, 1]);
            timestamps(segment, out);
        }
        let padded =
            segment.accurate_ecn().is_some_and(|option| accecn::write(option, segment, out));
        let blocks = segment.entries.blocks() as u8;
        if blocks > 0 {
            if !padded {
                out.extend([1, 1]);
            }
            out.extend([5, 2 + 8 * blocks]);
            for block in segment.sack_blocks() {
                out.extend(at(1 - side, block.start).to_be_bytes());
                out.extend(at(1 - side, block.end).to_be_bytes());
            }
        }
    }
    if let (Some(multipath), Some(option)) = (&headers.multipath, segment.multipath()) {
        multipath.write(option, segment, side, out);
    }
    out.resize(out.len() + stripped_bytes as usize, 1); // NOP
}

/// Writes a UDP header (RFC 768) for a payload of zeros.
fn udp(
    headers: &FlowHeaders,
    side: usize,
    payload_bytes: u32,
    contents: &[u8],
    [from, to]: [[u8; 4]; 2],
    out: &mut Vec<u8>,
) {
    let start = out.len();
    let length = (payload_bytes + UDP_HEADER_BYTES) as u16;
    out.extend(ports(headers, side).iter().flat_map(|port| port.to_be_bytes()));
    out.extend(length.to_be_bytes());
    out.extend([0, 0]);
    out.extend(contents);
    let sum = checksum(&out[start..], pseudo_header(from, to, UDP, length));
    set(out, start + 6, if sum == 0 { 0xffff } else { sum });
}

/// Writes the timestamps option (RFC 7323 §3.2).
fn timestamps(segment: &Segment, out: &mut Vec<u8>) {
    out.extend([8, 10]);
    out.extend(segment.tsval_ms.to_be_bytes());
    out.extend(segment.tsecr_ms.to_be_bytes());
}

fn ports(headers: &FlowHeaders, side: usize) -> [u16; 2] {
    let (client, server) = (headers.flow, headers.server);
    let outward = [CLIENT_PORT.wrapping_add(client), SERVER_PORT.wrapping_add(server)];
    [outward[side], outward[1 - side]]
}

/// Flags and fragment offset of a datagram's IP packet.
fn fragmented(headers: &FlowHeaders, fragment: u32, fragments: u32) -> u16 {
    let more = if fragment + 1 < fragments { MORE_FRAGMENTS } else { 0 };
    (fragment * headers.fragment_bytes / 8) as u16 | more
}

/// Sum over the pseudo-header of TCP and UDP (RFC 9293 §3.1).
fn pseudo_header(from: [u8; 4], to: [u8; 4], protocol: u8, length: u16) -> u32 {
    let words = [from, to].concat();
    sum(&words) + u32::from(protocol) + u32::from(length)
}

fn sum(bytes: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u32::from(low));
    bytes.chunks(2).map(word).sum()
}

/// Internet checksum (RFC 1071); trailing zeros do not change it.
fn checksum(bytes: &[u8], more: u32) -> u16 {
    let mut total = sum(bytes) + more;
    while total > 0xffff {
        total = (total >> 16) + (total & 0xffff);
    }
    !(total as u16)
}

fn set(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Flags;
    use crate::SackBlock;

    const HEADERS: FlowHeaders = FlowHeaders {
        udp_echo: false,
        addresses: [[10, 0, 0, 1], [10, 0, 0, 2]],
        flow: 3,
        server: 3,
        multipath: None,
        initial: [u32::MAX - 10, 7],
        mss: [1460, 1460],
        window_scale: [7, 8],
        scales_window: true,
        datagram_bytes: 8192,
        fragment_bytes: 1480,
    };
    const MACS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 1]];

    fn packet(outward: bool, frame_bytes: u32, body: Body) -> Packet {
        Packet { number: 5, flow: 3, frame_bytes, outward, tos: 0, body }
    }

    fn of_segment(outward: bool, segment: Segment) -> Vec<u8> {
        let packet = packet(outward, segment.frame_bytes(), Body::Tcp(segment));
        frame(&packet, &HEADERS, MACS, usize::MAX)
    }

    /// Returns true if the sum over header and payload, checksums included, is all ones.
    fn holds(bytes: &[u8]) -> bool {
        let (from, to): ([u8; 4], [u8; 4]) = (
            bytes[26..30].try_into().unwrap_or_default(),
            bytes[30..34].try_into().unwrap_or_default(),
        );
        let payload = &bytes[34..];
        checksum(&bytes[14..34], 0) == 0
            && checksum(payload, pseudo_header(from, to, bytes[23], payload.len() as u16)) == 0
    }

    #[test]
    fn a_syn_is_as_linux_sends_it() {
        let flags = Flags { syn: Syn::Opens, ..Flags::default() };
        let segment =
            Segment { flags, timestamps: true, window_bytes: 65_535, ..Segment::default() };
        let bytes = of_segment(true, segment);
        assert_eq!(bytes.len(), 74);
        assert_eq!(bytes[34..38], [0x4e, 0x24, 0x13, 0x8c]); // 20004 to 5004
        assert_eq!(bytes[38..42], (u32::MAX - 10).to_be_bytes());
        assert_eq!(bytes[46..50], [0xa0, 2, 0xff, 0xff]);
        assert_eq!(bytes[54..60], [2, 4, 5, 0xb4, 4, 2]);
        assert_eq!(bytes[70..], [1, 3, 3, 7]);
        assert!(holds(&bytes));
        let plain = of_segment(false, Segment { timestamps: false, ..segment });
        assert_eq!(plain[54..], [2, 4, 5, 0xb4, 1, 1, 4, 2, 1, 3, 3, 8]);
        let none = segment.with_syn_options(false, false);
        assert_eq!(of_segment(true, none)[58..62], [1, 1, 8, 10]);
        assert_eq!(of_segment(true, none).len(), 70);
    }

    #[test]
    fn a_reset_has_no_acknowledgement() {
        let flags = Flags { rst: true, ..Flags::default() };
        let bytes = of_segment(false, Segment { seq: 20, flags, ..Segment::default() });
        assert_eq!(bytes.len(), 54);
        assert_eq!(bytes[38..50], [0, 0, 0, 28, 0, 0, 0, 0, 0x50, 4, 0, 0]);
        assert!(holds(&bytes));
    }

    #[test]
    fn sequence_numbers_wrap_and_windows_are_scaled() {
        let mut segment = Segment {
            seq: 20,
            ack: 100,
            payload_bytes: 1000,
            window_bytes: 256 << 8,
            timestamps: true,
            flags: Flags { psh: true, ..Flags::default() },
            ..Segment::default()
        };
        segment.push_sack(SackBlock { start: 200, end: 300 });
        let bytes = of_segment(false, segment);
        assert_eq!(bytes.len() as u32, segment.frame_bytes());
        assert_eq!(bytes[38..42], 28_u32.to_be_bytes());
        assert_eq!(bytes[42..46], 90_u32.to_be_bytes());
        assert_eq!(bytes[46..50], [0xb0, 0x18, 1, 0]);
        assert_eq!(bytes[66..78], [1, 1, 5, 10, 0, 0, 0, 190, 0, 0, 1, 34]);
        assert!(holds(&bytes));
    }

    #[test]
    fn fragments_add_up_to_a_datagram() {
        let mut whole = Vec::new();
        for fragment in 0..6 {
            let ip_payload_bytes: u32 = if fragment == 5 { 800 } else { 1480 };
            let udp = if fragment == 0 { 8 } else { 0 };
            let body = Body::Udp {
                datagram: 9,
                payload_bytes: ip_payload_bytes - udp,
                fragment,
                fragments: 6,
            };
            let bytes =
                frame(&packet(true, 34 + ip_payload_bytes, body), &HEADERS, MACS, usize::MAX);
            assert_eq!(checksum(&bytes[14..34], 0), 0);
            assert_eq!(bytes[18..20], [0, 9]);
            let field = u16::from_be_bytes([bytes[20], bytes[21]]);
            assert_eq!(field & MORE_FRAGMENTS != 0, fragment < 5);
            assert_eq!(usize::from(field & 0x1fff) * 8, whole.len());
            whole.extend(&bytes[34..]);
        }
        assert_eq!(whole.len(), 8200);
        assert_eq!(whole[4..6], 8200_u16.to_be_bytes());
        assert_eq!(checksum(&whole, pseudo_header([10, 0, 0, 1], [10, 0, 0, 2], UDP, 8200)), 0);
    }

    #[test]
    fn a_checksum_left_to_the_device_is_completed() {
        let segment = Segment { payload_bytes: 500, timestamps: true, ..Segment::default() };
        let whole = of_segment(true, segment);
        let mut frame = whole[..96].to_vec();
        set(&mut frame, 50, 0x1234);
        complete_checksum(&mut frame);
        assert_eq!(frame, whole[..96]);
        for cut in 0..96 {
            complete_checksum(&mut whole[..cut].to_vec());
        }
    }

    #[test]
    fn only_the_beginning_is_made() {
        let segment = Segment { payload_bytes: 1448, timestamps: true, ..Segment::default() };
        let packet = packet(true, segment.frame_bytes(), Body::Tcp(segment));
        let all = frame(&packet, &HEADERS, MACS, usize::MAX);
        for max_bytes in [0, 20, 66, 96, 2000] {
            let part = frame(&packet, &HEADERS, MACS, max_bytes);
            assert_eq!(part, all[..max_bytes.min(all.len())]);
        }
    }

    #[test]
    fn echo_requests_are_answered() {
        let body = Body::Ping { number: 2, payload_bytes: 56 };
        for (outward, kind) in [(true, 8), (false, 0)] {
            let bytes = frame(&packet(outward, 98, body), &HEADERS, MACS, usize::MAX);
            assert_eq!((bytes[34], bytes.len()), (kind, 98));
            assert_eq!(bytes[38..42], [0, 4, 0, 2]);
            assert_eq!(checksum(&bytes[34..], 0), 0);
        }
    }
}
