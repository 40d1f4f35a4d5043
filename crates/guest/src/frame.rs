//! Decodes a captured frame into a packet of one of our flows. Ports identify the flow.

use dumbbell_model::scenario::Scenario;
use dumbbell_model::traffic::{Carrier, TrafficKind};
use dumbbell_packet::frame::{ETHERNET_HEADER_BYTES, UDP_HEADER_BYTES};
use dumbbell_packet::read::{Header, Numbers};
use dumbbell_packet::tcp::Syn;
use dumbbell_packet::wire::{address, CLIENT_PORT, SERVER_PORT};
use dumbbell_packet::{Body, Packet};
use std::collections::BTreeMap;

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// State of a flow's packets: unwrapped sequence numbers of both directions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    /// Protocol number of IP.
    protocol: u8,
    /// IPv4 addresses of both hosts.
    ends: [u32; 2],
    /// IP packets per UDP datagram.
    fragments: u32,
    /// Flow whose server port the receiver has. Subflows have the port of the first subflow.
    server: u16,
    /// True if datagrams are echoed.
    echo: bool,
    /// Sequence numbers of a connection.
    numbers_of_tcp: Numbers,
    /// IP identification of the first packet, and highest number so far, forward and backward. A
    /// connected socket counts its packets in the identification, so a packet has the same number at
    /// every tap.
    numbers: [Option<(u16, u64)>; 2],
}

/// Makes one stream per flow of a scenario.
pub(crate) fn streams(scenario: &Scenario) -> Vec<Stream> {
    let index = |name: &str| scenario.nodes.iter().position(|node| node.name == name).unwrap_or(0);
    let ends =
        |from: &str, to: &str| [from, to].map(|name| u32::from_be_bytes(address(index(name))));
    let stream =
        |protocol, fragments, ends| Stream { protocol, fragments, ends, ..Stream::default() };
    let number = |name: &str| scenario.flows.iter().position(|other| other.name == name);
    let first: BTreeMap<&str, usize> = scenario
        .connections
        .iter()
        .flat_map(|connection| {
            let first = number(connection.first()).unwrap_or(0);
            connection.subflows.iter().map(move |subflow| (subflow.flow.as_str(), first))
        })
        .collect();
    let flows = scenario.flows.iter().enumerate().map(|(number, flow)| {
        let server = first.get(flow.name.as_str()).copied().unwrap_or(number) as u16;
        let ends = ends(&flow.from, &flow.to);
        let carrier = flow.traffic.carrier();
        match carrier {
            Carrier::Tcp => Stream { server, ..stream(TCP, 1, ends) },
            Carrier::Udp { .. } => stream(UDP, carrier.fragments() as u32, ends),
            Carrier::IcmpEcho => stream(ICMP, 1, ends),
            Carrier::UdpEcho => Stream { echo: true, ..stream(UDP, 1, ends) },
        }
    });
    flows.collect()
}

impl Stream {
    /// Number of a packet in its direction, from its IP identification.
    fn number(&mut self, side: usize, identification: u16) -> u64 {
        let (first, highest) = *self.numbers[side].get_or_insert((identification, 0));
        let near = identification.wrapping_sub(first).wrapping_sub(highest as u16) as i16;
        let number = highest.saturating_add_signed(i64::from(near));
        self.numbers[side] = Some((first, highest.max(number)));
        number
    }
}

/// Flag MF in the field of the fragment offset.
const MORE_FRAGMENTS: u16 = 0x2000;

/// Decodes the packet in a frame, if it belongs to one of `streams` (one per flow).
pub(crate) fn packet(bytes: &[u8], frame_bytes: u32, streams: &mut [Stream]) -> Option<Packet> {
    const ETHERNET: usize = ETHERNET_HEADER_BYTES as usize;
    let ethernet = Header(bytes);
    if ethernet.short(12) != 0x0800 {
        return None;
    }
    let ip = Header(bytes.get(ETHERNET..)?);
    let ip_header = usize::from(ip.byte(0) & 15) * 4;
    let carried = Header(bytes.get(ETHERNET + ip_header..)?);
    let carried_bytes = u32::from(ip.short(2)).saturating_sub(ip_header as u32);
    let offset_bytes = u32::from(ip.short(6) & 0x1fff) * 8;
    let (flow, outward) = match (ip.byte(9), offset_bytes) {
        (TCP, 0) => flow_of_client(streams, carried.short(0), carried.short(2))?,
        (UDP, 0) => flow_of_ports(carried.short(0), carried.short(2))?,
        (UDP, _) => flow_of_hosts(streams, &ip)?,
        // The identifier of our echo requests is the index of their flow plus 1.
        (ICMP, 0) => (carried.short(4).checked_sub(1)?, carried.byte(0) == 8),
        _ => return None,
    };
    let stream = streams.get_mut(usize::from(flow)).filter(|own| own.protocol == ip.byte(9))?;
    let (side, identification) = (usize::from(!outward), ip.short(4));
    let udp_header = if offset_bytes == 0 { UDP_HEADER_BYTES } else { 0 };
    let payload_bytes = carried_bytes.saturating_sub(udp_header);
    let (number, body) = match ip.byte(9) {
        TCP => {
            let segment = stream.numbers_of_tcp.segment(side, &carried, carried_bytes);
            // A SYN-ACK is sent before its socket exists: its identification is 0, and the
            // socket starts from another number.
            let number = match segment.flags.syn {
                Syn::Answers => 0,
                _ if side == 1 => 1 + stream.number(side, identification),
                _ => stream.number(side, identification),
            };
            (number, Body::Tcp(segment))
        }
        UDP if stream.echo => {
            let number = stream.number(side, identification);
            (number, Body::Ping { number, payload_bytes })
        }
        UDP => {
            let datagram = stream.number(side, identification);
            // All fragments but the last have the same length; the last is not longer.
            let fragment = match ip.short(6) & MORE_FRAGMENTS {
                0 => stream.fragments.saturating_sub(1),
                _ => offset_bytes / carried_bytes.max(1),
            };
            let fragments = stream.fragments;
            let number = datagram * u64::from(fragments) + u64::from(fragment);
            (number, Body::Udp { datagram, payload_bytes, fragment, fragments })
        }
        _ => {
            let number = u64::from(carried.short(6));
            (number, Body::Ping { number, payload_bytes })
        }
    };
    let tos = ip.byte(1);
    Some(Packet { number, flow: u32::from(flow), frame_bytes, outward, tos, body })
}

/// Flow of a segment by the client's port, and its direction.
fn flow_of_client(streams: &[Stream], from: u16, to: u16) -> Option<(u16, bool)> {
    let of = |client: u16, server: u16| {
        let flow = client.checked_sub(CLIENT_PORT)?;
        let stream = streams.get(usize::from(flow))?;
        (server == SERVER_PORT + stream.server).then_some(flow)
    };
    of(from, to).map(|flow| (flow, true)).or_else(|| of(to, from).map(|flow| (flow, false)))
}

/// Flow of a datagram by its ports, and its direction.
fn flow_of_ports(from: u16, to: u16) -> Option<(u16, bool)> {
    match (from.checked_sub(CLIENT_PORT), from.checked_sub(SERVER_PORT)) {
        (Some(flow), _) if to == SERVER_PORT + flow => Some((flow, true)),
        (_, Some(flow)) if to == CLIENT_PORT + flow => Some((flow, false)),
        _ => None,
    }
}

/// Flow of a later fragment, and its direction: the flow between its hosts with the nearest IP
/// identification.
fn flow_of_hosts(streams: &[Stream], ip: &Header<'_>) -> Option<(u16, bool)> {
    let ends = [ip.word(12), ip.word(16)];
    let distance = |stream: &Stream| {
        stream.numbers[0].map_or(u16::MAX, |(first, highest)| {
            let expected = first.wrapping_add(highest as u16);
            ip.short(4).wrapping_sub(expected).min(expected.wrapping_sub(ip.short(4)))
        })
    };
    let own = streams.iter().enumerate().filter(|(_, s)| s.protocol == UDP && s.ends == ends);
    let (flow, _) = own.min_by_key(|(_, stream)| distance(stream))?;
    Some((flow as u16, true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_packet::{SackBlock, Segment};

    /// Makes a frame of flow 0 with this sequence number, ACK, flags, options and payload length.
    fn frame(
        outward: bool,
        seq: u32,
        ack: u32,
        flags: u8,
        options: &[u8],
        payload: u16,
    ) -> Vec<u8> {
        let header = 20 + options.len() as u16;
        let mut bytes = vec![0; 12];
        bytes.extend([8, 0, 0x45, 0]);
        bytes.extend((20 + header + payload).to_be_bytes());
        bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        let ports = if outward { [CLIENT_PORT, SERVER_PORT] } else { [SERVER_PORT, CLIENT_PORT] };
        bytes.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
        bytes.extend(seq.to_be_bytes());
        bytes.extend(ack.to_be_bytes());
        bytes.extend([(header as u8 / 4) << 4, flags, 1, 0, 0, 0, 0, 0]);
        bytes.extend(options);
        bytes
    }

    fn segment(bytes: &[u8], streams: &mut [Stream]) -> Segment {
        match packet(bytes, 66, streams) {
            Some(Packet { body: Body::Tcp(segment), .. }) => segment,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn sequence_numbers_are_offsets_from_the_first_byte_and_pass_the_wrap() {
        let streams = &mut [Stream { protocol: TCP, ..Stream::default() }];
        let first = u32::MAX - 1000;
        segment(&frame(true, first, 0, 2, &[3, 3, 7, 1], 0), streams);
        assert_eq!(segment(&frame(true, first.wrapping_add(1), 1, 16, &[], 500), streams).seq, 0);
        let late = segment(&frame(true, first.wrapping_add(2001), 1, 16, &[], 500), streams);
        assert_eq!((late.seq, late.payload_bytes), (2000, 500));
        assert_eq!(late.window_bytes, 256 << 7);
        let again = segment(&frame(true, first.wrapping_add(501), 1, 16, &[], 500), streams);
        assert_eq!(again.seq, 500);
    }

    #[test]
    fn an_acknowledgement_is_known_before_the_other_ring_has_shown_the_syn() {
        let streams = &mut [Stream { protocol: TCP, ..Stream::default() }];
        assert_eq!(segment(&frame(false, 7, 100, 18, &[], 0), streams).ack, 0);
        assert_eq!(segment(&frame(false, 8, 1548, 16, &[], 0), streams).ack, 1448);
        segment(&frame(true, 99, 0, 2, &[], 0), streams);
        assert_eq!(segment(&frame(true, 100, 8, 16, &[], 1448), streams).seq, 0);
        assert_eq!(segment(&frame(false, 8, 2996, 16, &[], 0), streams).ack, 2896);
    }

    #[test]
    fn sack_blocks_are_offsets_in_the_other_direction() {
        let streams = &mut [Stream { protocol: TCP, ..Stream::default() }];
        segment(&frame(true, 99, 0, 2, &[], 0), streams);
        segment(&frame(false, 7, 100, 18, &[], 0), streams);
        segment(&frame(true, 100, 8, 16, &[], 1000), streams);
        segment(&frame(true, 2100, 8, 16, &[], 1000), streams);
        let mut options = vec![1, 1, 5, 10];
        options.extend(2100_u32.to_be_bytes());
        options.extend(3100_u32.to_be_bytes());
        let ack = segment(&frame(false, 8, 1100, 16, &options, 0), streams);
        assert_eq!(ack.ack, 1000);
        assert_eq!(ack.sack_blocks(), [SackBlock { start: 2000, end: 3000 }]);
    }

    #[test]
    fn a_packet_is_numbered_by_its_ip_identification() {
        let streams = &mut [Stream { protocol: TCP, ..Stream::default() }];
        let mut numbers = Vec::new();
        for identification in [0xfffe_u16, 0xffff, 1, 0, 2] {
            let mut bytes = frame(true, 1, 1, 16, &[], 100);
            bytes[18..20].copy_from_slice(&identification.to_be_bytes());
            numbers.extend(packet(&bytes, 166, streams).map(|packet| packet.number));
        }
        assert_eq!(numbers, [0, 1, 3, 2, 4]);
    }

    #[test]
    fn an_answer_to_a_syn_does_not_number_what_follows() {
        let streams = &mut [Stream { protocol: TCP, ..Stream::default() }];
        let mut numbers = Vec::new();
        for (flags, identification) in [(18, 0_u16), (16, 50_000), (16, 50_001), (16, 50_002)] {
            let mut bytes = frame(false, 1, 1, flags, &[], 0);
            bytes[18..20].copy_from_slice(&identification.to_be_bytes());
            numbers.extend(packet(&bytes, 66, streams).map(|packet| packet.number));
        }
        assert_eq!(numbers, [0, 1, 2, 3]);
    }

    /// Makes a fragment of a datagram of flow 0 from host 1 to 2.
    fn fragment(identification: u16, offset: u16, more: bool, bytes: u16) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend([8, 0, 0x45, 0]);
        frame.extend((20 + bytes).to_be_bytes());
        frame.extend(identification.to_be_bytes());
        frame.extend(((offset / 8) | if more { MORE_FRAGMENTS } else { 0 }).to_be_bytes());
        frame.extend([64, UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        if offset == 0 {
            frame.extend([CLIENT_PORT, SERVER_PORT].iter().flat_map(|port| port.to_be_bytes()));
        }
        frame.extend([0; 8]);
        frame
    }

    #[test]
    fn fragments_of_a_datagram_have_its_number() {
        let ends = [0x0a00_0001, 0x0a00_0002];
        let streams = &mut [Stream { protocol: UDP, ends, fragments: 3, ..Stream::default() }];
        let frames = [
            fragment(7, 0, true, 1480),
            fragment(8, 1480, true, 1480),
            fragment(7, 2960, false, 40),
            fragment(7, 1480, true, 1480),
        ];
        let packets: Vec<_> =
            frames.iter().filter_map(|bytes| packet(bytes, 1514, streams)).collect();
        let numbers: Vec<_> = packets.iter().map(|packet| packet.number).collect();
        assert_eq!(numbers, [0, 4, 2, 1]);
        assert!(packets.iter().all(|packet| packet.outward));
        assert_eq!(packets[0].payload_bytes(), 1472);
        assert_eq!(packets[2].payload_bytes(), 40);
    }

    #[test]
    fn what_belongs_to_no_flow_is_left_out() {
        let streams = &mut [Stream { protocol: TCP, ..Stream::default() }];
        let mut other = frame(true, 1, 1, 16, &[], 0);
        other[37] = 9;
        assert_eq!(packet(&other, 66, streams), None);
        assert_eq!(packet(&[0; 5], 66, streams), None);
        for cut in 0..60 {
            packet(&frame(false, 8, 1100, 16, &[5; 20], 0)[..cut], 66, streams);
        }
    }
}
