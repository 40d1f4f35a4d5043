//! Link layers and tunnels, from frames written byte by byte.

use dumbbell_capture::decode::{innermost, ports, Encapsulation, Skipped};
use dumbbell_capture::{Address, ConversationKind, LinkType, Record, Survey};

const UDP: u8 = 17;
/// Ports 53 and 1024.
const DATAGRAM: [u8; 8] = [0, 53, 4, 0, 0, 8, 0, 0];

fn ipv4(protocol: u8, ends: [u8; 2], above: &[u8]) -> Vec<u8> {
    let mut out = vec![0x45, 0];
    out.extend(((20 + above.len()) as u16).to_be_bytes());
    out.extend([0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 0, ends[0], 10, 0, 0, ends[1]]);
    out.extend(above);
    out
}

fn ipv6(protocol: u8, above: &[u8]) -> Vec<u8> {
    let mut out = vec![0x60, 0, 0, 0];
    out.extend((above.len() as u16).to_be_bytes());
    out.extend([protocol, 64]);
    out.extend([[0xfd; 16], [0xfc; 16]].concat());
    out.extend(above);
    out
}

fn udp(port: u16, above: &[u8]) -> Vec<u8> {
    let mut out = 40_000_u16.to_be_bytes().to_vec();
    out.extend(port.to_be_bytes());
    out.extend(((8 + above.len()) as u16).to_be_bytes());
    out.extend([0, 0]);
    out.extend(above);
    out
}

fn ethernet(kind: u16, above: &[u8]) -> Vec<u8> {
    let mut out = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    out.extend(kind.to_be_bytes());
    out.extend(above);
    out
}

/// Innermost packet of all these frames.
fn inner() -> Vec<u8> {
    ipv4(UDP, [1, 2], &DATAGRAM)
}

fn behind(head: &[u8]) -> Vec<u8> {
    [head, &inner()[..]].concat()
}

const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

/// A data frame from an access point: frame control, addresses, sequence, QoS.
fn wlan(kind: u8, flags: u8, rest: &[u8]) -> Vec<u8> {
    let mut out = vec![kind, flags, 0, 0];
    out.extend([3; 18]);
    out.extend([0x10, 0]);
    out.extend(rest);
    out
}

/// Ports of the innermost packet, or the reason why there is none.
fn read(link: u16, frame: &[u8]) -> Result<Option<(u16, u16)>, Skipped> {
    let mut encapsulation = Encapsulation::default();
    let found = innermost(LinkType::of(link), frame, frame.len() as u32, &mut encapsulation);
    assert!(encapsulation.outer.is_empty(), "{:?}", encapsulation.outer);
    found.map(|packet| ports(&packet))
}

#[test]
fn ip_is_found_behind_every_link_layer() {
    let snap = behind(&SNAP);
    let pppoe = behind(&[0x11, 0, 0, 7, 0, 30, 0, 0x21]);
    let label = [0, 1, 0, 64]; // not the last
    let last = [0, 2, 1, 64];
    let pseudowire = [&last[..], &[0, 0, 0, 9], &ethernet(0x0800, &inner())].concat();
    let plain_wire = [&label[..], &last, &ethernet(0x0800, &inner())].concat();
    let customer = [&[0, 0, 0, 5][..], &ethernet(0x0800, &inner())].concat();
    let tagged = behind(&[0, 5, 0x81, 0, 0, 6, 8, 0]);
    let mut radiotap = vec![0, 0, 18, 0, 3, 0, 0, 0];
    radiotap.extend([0; 8]);
    radiotap.extend([0x20, 0]); // the header behind it is padded
    let padded = [&radiotap[..], &wlan(0x88, 2, &[0, 0, 0, 0]), &snap].concat();
    let joined =
        [&wlan(0x88, 2, &[0x80, 0])[..], &[4; 12], &(snap.len() as u16).to_be_bytes(), &snap]
            .concat();
    let mut prism = vec![0, 0, 0, 0x44, 144, 0, 0, 0];
    prism.extend([0; 136]);
    prism.extend(wlan(8, 2, &snap));
    let mut nflog = vec![2, 0, 0, 0, 6, 0, 2, 0, 1, 2, 0, 0];
    let mut swapped = vec![2, 0, 0, 0, 0, 6, 0, 2, 1, 2, 0, 0];
    let attribute = (inner().len() + 4) as u16;
    nflog.extend([attribute.to_le_bytes(), [9, 0]].concat());
    swapped.extend([attribute.to_be_bytes(), [0, 9]].concat());
    let mut ppi = vec![0, 0, 8, 0, 105, 0, 0, 0];
    ppi.extend(wlan(8, 1, &snap));
    let mut pktap = vec![0; 108];
    pktap[0] = 108;
    pktap[8] = 1;
    pktap.extend(ethernet(0x0800, &inner()));
    let two_words = [1, 2, 0, 1, 0, 2, 0, 1, 0, 3, 8, 0];
    let bridged = [0x18, 0x41, 3, 0, 0x80, 0, 0x80, 0xc2, 0, 7];
    let routed = [&[0x10, 0x40][..], &[2; 6], &[0x82; 6], &[4, 0, 0, 0], &snap].concat();
    let mut cooked = vec![0; 14];
    cooked.extend([0x81, 0, 0, 5, 8, 0]);
    for (name, link, frame) in [
        ("Ethernet", 1, ethernet(0x0800, &inner())),
        ("QinQ", 1, ethernet(0x88a8, &tagged)),
        ("802.1ah", 1, ethernet(0x88e7, &customer)),
        ("802.3 with SNAP", 1, ethernet(36, &snap)),
        ("PPPoE", 1, ethernet(0x8864, &pppoe)),
        ("PPPoE alone", 51, pppoe),
        ("MPLS", 1, ethernet(0x8847, &behind(&[label, last].concat()))),
        ("MPLS alone", 219, behind(&last)),
        ("MPLS, IPv6", 219, [&last[..], &ipv6(UDP, &DATAGRAM)].concat()),
        ("pseudowire", 219, pseudowire),
        ("pseudowire without control word", 219, plain_wire),
        ("PPP", 9, behind(&[0xff, 3, 0, 0x21])),
        ("PPP, short", 9, behind(&[0x21])),
        ("PPP, IPv6", 50, [&[0xff, 3, 0, 0x57][..], &ipv6(UDP, &DATAGRAM)].concat()),
        ("PPP with direction", 204, behind(&[1, 0xff, 3, 0, 0x21])),
        ("Cisco HDLC", 104, behind(&[0x0f, 0, 8, 0])),
        ("FDDI", 10, [&[0x50][..], &[7; 12], &snap].concat()),
        ("802.11", 105, wlan(8, 2, &snap)),
        ("802.11, four addresses", 105, [&wlan(8, 3, &[9; 6])[..], &snap].concat()),
        ("802.11, QoS", 105, [&wlan(0x88, 2, &[0, 0])[..], &snap].concat()),
        ("802.11, QoS and HT", 105, [&wlan(0x88, 0x82, &[0, 0, 1, 1, 1, 1])[..], &snap].concat()),
        ("A-MSDU", 105, joined),
        ("radiotap", 127, padded),
        ("Prism", 119, prism),
        ("NFLOG", 239, behind(&nflog)),
        ("NFLOG, big-endian", 239, behind(&swapped)),
        ("PPI", 192, ppi),
        ("PKTAP", 258, pktap),
        ("Linux cooked with a tag", 113, behind(&cooked)),
        ("ATM with LLC", 100, snap.clone()),
        ("pflog", 117, behind(&[&[61, 2][..], &[0; 62]].concat())),
        ("enc", 109, behind(&[0; 12])),
        ("Cisco's metadata", 1, ethernet(0x8909, &behind(&[1, 1, 0, 1, 0, 2, 8, 0]))),
        ("Cisco's metadata, two words", 1, ethernet(0x8909, &behind(&two_words))),
        ("Frame Relay", 107, behind(&[0x18, 0x41, 3, 0xcc])),
        ("Frame Relay, address of four bytes", 107, behind(&[0x18, 0x40, 2, 3, 3, 0, 0xcc])),
        ("Frame Relay, Cisco's", 107, behind(&[0x18, 0x41, 8, 0])),
        ("Frame Relay with SNAP", 107, behind(&[0x18, 0x41, 3, 0, 0x80, 0, 0, 0, 8, 0])),
        ("Frame Relay, bridged", 107, [&bridged[..], &ethernet(0x0800, &inner())].concat()),
        ("Frame Relay, multilink", 182, behind(&[0xc0, 1, 0x18, 0x41, 3, 0xcc])),
        ("ARCNET, RFC 1201", 129, behind(&[5, 6, 0, 0, 0xd4, 0, 0, 1])),
        ("ARCNET, RFC 1051", 129, behind(&[5, 6, 0, 0, 0xf0])),
        ("ARCNET of BSD", 7, behind(&[5, 6, 0xd4, 0, 0, 1])),
        ("ARCNET of BSD, exception", 7, behind(&[5, 6, 0xd4, 0xff, 0, 1, 0xd4, 0, 0, 1])),
        ("SLIP", 8, behind(&[0; 16])),
        ("IP over InfiniBand", 242, behind(&[&[0; 40][..], &[8, 0, 0, 0]].concat())),
        ("Broadcom's tag", 281, behind(&[&[2; 12][..], &[0; 4], &[8, 0]].concat())),
        ("Broadcom's tag before", 282, [&[0; 4][..], &ethernet(0x0800, &inner())].concat()),
        ("Marvell's tag", 284, behind(&[&[2; 12][..], &[0xc0; 4], &[8, 0]].concat())),
        ("Marvell's long tag", 285, behind(&[&[2; 12][..], &[0xc0; 8], &[8, 0]].concat())),
        ("Token Ring", 6, [&[0x10, 0x40][..], &[2; 12], &snap].concat()),
        ("Token Ring, routed", 6, routed),
        ("IP over Fibre Channel", 122, [&[2; 16][..], &snap].concat()),
    ] {
        assert_eq!(read(link, &frame), Ok(Some((53, 1024))), "{name}");
        // Truncated before the datagram's ports, there is no packet, or one without ports.
        for cut in 0..frame.len() - DATAGRAM.len() {
            assert!(!matches!(read(link, &frame[..cut]), Ok(Some(_))), "{name} {cut}");
        }
    }
}

#[test]
fn what_is_no_ip_is_named() {
    let spanning = [0x42, 0x42, 3, 0, 0, 0];
    for (name, link, frame) in [
        ("ARP", 1, ethernet(0x0806, &[0; 28])),
        ("ARP", 113, [&[0; 14][..], &[8, 6], &[0; 28]].concat()),
        ("PPPoE discovery", 1, ethernet(0x8863, &[0x11, 9, 0, 0, 0, 0])),
        ("PPP: LCP", 1, ethernet(0x8864, &[0x11, 0, 0, 7, 0, 2, 0xc0, 0x21])),
        ("PPP: TCP/IP with compressed headers", 9, vec![0xff, 3, 0, 0x2d, 0, 0]),
        ("spanning tree", 1, ethernet(6, &spanning)),
        ("LLC to 0x12", 1, ethernet(6, &[0x12, 0x12, 3])),
        ("CDP", 1, ethernet(9, &[0xaa, 0xaa, 3, 0, 0, 12, 0x20, 0, 0])),
        ("EtherType 0x88b5", 1, ethernet(0x88b5, &[0; 9])),
        ("802.11 management", 105, wlan(0x80, 0, &[0; 20])),
        ("802.11 control", 105, vec![0xd4, 0, 0, 0, 1, 1, 1, 1, 1, 1]),
        ("802.11 null data", 105, wlan(0x48, 1, &[])),
        ("802.11 encrypted data", 105, wlan(8, 0x42, &behind(&SNAP))),
        ("802.11 damaged (checksum)", 127, vec![0, 0, 9, 0, 2, 0, 0, 0, 0x40, 8, 2]),
        ("FDDI management", 10, vec![0x41; 30]),
        ("MPLS associated channel", 219, vec![0, 2, 1, 64, 0x10, 0, 0, 7, 0, 0]),
        ("neither IPv4 nor IPv6", 101, vec![0x15; 40]),
        ("IPv4 with a header that cannot be read", 1, ethernet(0x0800, &[0x41; 40])),
        ("cut off before IP", 1, vec![1, 2, 3]),
        ("USB (not read)", 189, vec![0; 64]),
        ("link type 147 (not read)", 147, inner()),
    ] {
        let found = read(link, &frame).map_err(|skipped| skipped.to_string());
        assert_eq!(found, Err(name.to_owned()));
    }
    let mut fragment = wlan(8, 2, &behind(&SNAP));
    fragment[22] |= 1;
    assert_eq!(read(105, &fragment), Err(Skipped::Named("802.11 fragments after the first")));
}

/// Tunnels and ports of the innermost packet in a raw IP frame.
fn tunnelled(frame: &[u8]) -> (Vec<String>, Option<(u16, u16)>) {
    let mut encapsulation = Encapsulation::default();
    let found = innermost(LinkType::RAW, frame, frame.len() as u32, &mut encapsulation);
    let names = encapsulation.outer.iter().map(ToString::to_string).collect();
    (names, found.ok().and_then(|packet| ports(&packet)))
}

#[test]
fn what_tunnels_hold_is_found_and_the_tunnel_named() {
    let frame = ethernet(0x0800, &inner());
    let vxlan = |id: u8| [&[8, 0, 0, 0, 0, 0, id, 0][..], &frame].concat();
    let geneve = [&[1, 0, 0x65, 0x58, 0, 0, 5, 0][..], &[0; 4], &frame].concat();
    let gre = |head: &[u8]| ipv4(47, [3, 4], &[head, &inner()].concat());
    let teb = |head: &[u8]| ipv4(47, [3, 4], &[head, &frame].concat());
    // A sequence number, and one extension header of a word.
    let gtp = [&[0x36, 255, 0, 40, 0, 0, 0, 9, 0, 1, 0, 0x85, 1, 0, 0, 0][..], &inner()].concat();
    let erspan3 = [&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1][..], &[0x20, 7, 0, 66], &[0; 7], &[1]];
    let erspan3 = [&erspan3.concat()[..], &[0; 8], &frame].concat();
    let v4 = |kind: &str| vec![format!("{kind} 10.0.0.3 > 10.0.0.4")];
    let outer6 = |kind: &str| {
        let address = |byte: u8| Address::V6([byte; 16]);
        vec![format!("{kind} {} > {}", address(0xfd), address(0xfc))]
    };
    for (names, packet) in [
        (v4("vxlan 42"), ipv4(UDP, [3, 4], &udp(4789, &vxlan(42)))),
        (v4("vxlan 42"), ipv4(UDP, [3, 4], &udp(8472, &vxlan(42)))),
        (v4("vxlan 7"), ipv4(UDP, [3, 4], &udp(4790, &behind(&[12, 0, 0, 1, 0, 0, 7, 0])))),
        (v4("geneve 5"), ipv4(UDP, [3, 4], &udp(6081, &geneve))),
        (v4("gtp 9"), ipv4(UDP, [3, 4], &udp(2152, &gtp))),
        (v4("mpls"), ipv4(UDP, [3, 4], &udp(6635, &behind(&[0, 2, 1, 64])))),
        (v4("gre"), gre(&[0, 0, 8, 0])),
        (v4("gre 6"), gre(&[0xb0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 1])),
        (v4("gre 6"), teb(&[0x20, 0, 0x65, 0x58, 0, 0, 0, 6])),
        (v4("nvgre 4660"), teb(&[0x20, 0, 0x65, 0x58, 0, 0x12, 0x34, 77])),
        (v4("pptp 3"), gre(&[0x30, 0x81, 0x88, 0x0b, 0, 30, 0, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0x21])),
        (v4("erspan"), teb(&[0, 0, 0x88, 0xbe])),
        (v4("erspan 65"), teb(&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 7, 0, 65, 0, 0, 0, 0])),
        (v4("erspan 66"), ipv4(47, [3, 4], &erspan3)),
        (v4("etherip"), ipv4(97, [3, 4], &[&[0x30, 0][..], &frame].concat())),
        (v4("ipip"), ipv4(4, [3, 4], &inner())),
        (v4("6in4"), ipv4(41, [3, 4], &ipv6(UDP, &DATAGRAM))),
        (outer6("4in6"), ipv6(4, &inner())),
        (outer6("6in6"), ipv6(41, &ipv6(UDP, &DATAGRAM))),
    ] {
        assert_eq!(tunnelled(&packet), (names.clone(), Some((53, 1024))), "{names:?}");
        for cut in 0..packet.len() - DATAGRAM.len() {
            let (_, ports) = tunnelled(&packet[..cut]);
            assert_ne!(ports, Some((53, 1024)), "{names:?} {cut}");
        }
    }
    // A datagram that resembles a tunnel only by its port stays a datagram.
    let plain = ipv4(UDP, [3, 4], &udp(4789, &[8; 40]));
    assert_eq!(tunnelled(&plain), (vec![], Some((40_000, 4789))));
}

fn survey(frames: &[Vec<u8>]) -> Survey {
    let mut survey = Survey::default();
    for frame in frames {
        let original_bytes = frame.len() as u32;
        let link = LinkType::RAW;
        let record = Record { time_ns: Some(1), interface: 0, link, original_bytes, data: frame };
        survey.add(&record);
    }
    survey
}

#[test]
fn tunnels_in_one_another_are_entered_up_to_a_limit() {
    let nested = |depth: usize| (0..depth).fold(inner(), |within, _| ipv4(4, [3, 4], &within));
    for depth in 0..=4 {
        assert_eq!(tunnelled(&nested(depth)).0.len(), depth);
        assert_eq!(survey(&[nested(depth)]).too_deep, 0);
    }
    let (names, ports) = tunnelled(&nested(5));
    assert_eq!((names.len(), ports), (4, None));
    assert_eq!(survey(&[nested(5), nested(3000), nested(1)]).too_deep, 2);
}

/// Segment inside VXLAN, or without a tunnel.
fn segment(network: Option<u8>, ends: [u8; 2], outer: [u8; 2], flags: u8) -> Vec<u8> {
    let ports: [u8; 4] = if ends[0] == 1 { [0x9c, 0x40, 0, 80] } else { [0, 80, 0x9c, 0x40] };
    let mut tcp = ports.to_vec();
    tcp.extend([0, 0, 0, 1, 0, 0, 0, 2, 0x50, flags, 1, 0, 0, 0, 0, 0]);
    let packet = ipv4(6, ends, &tcp);
    let Some(network) = network else { return packet };
    let frame = ethernet(0x0800, &packet);
    let vxlan = [&[8, 0, 0, 0, 0, 0, network, 0][..], &frame].concat();
    ipv4(UDP, outer, &udp(4789, &vxlan))
}

#[test]
fn the_same_ends_in_two_tunnels_are_two_connections() {
    let both =
        |network| [segment(network, [1, 2], [7, 8], 2), segment(network, [2, 1], [8, 7], 0x12)];
    let found = survey(&[both(Some(5)), both(Some(6)), both(None)].concat());
    let tcp: Vec<_> =
        found.conversations.iter().filter(|one| one.kind == ConversationKind::Tcp).collect();
    let names: Vec<Vec<_>> = tcp
        .iter()
        .map(|one| found.outer(one.tunnel).iter().map(ToString::to_string).collect())
        .collect();
    let named = |id: u8| vec![format!("vxlan {id} 10.0.0.7 > 10.0.0.8")];
    assert_eq!(names, [named(5), named(6), vec![]]);
    assert!(tcp.iter().all(|one| one.counted.map(|side| side.packets) == [1, 1]));
    assert_eq!(found.connections.len(), 3);
    // As in tshark, outer packets are conversations, too: one pair of hosts, two of ports.
    let counted = |layer, tunnel: bool| {
        let mine =
            |one: &&dumbbell_capture::Conversation| one.kind == layer && (one.tunnel > 0) == tunnel;
        found.conversations.iter().filter(mine).count()
    };
    assert_eq!(
        (counted(ConversationKind::Udp, false), counted(ConversationKind::Ip, false)),
        (2, 2)
    );
    assert_eq!(counted(ConversationKind::Ip, true), 2);
    assert_eq!((found.other, found.total.packets), (0, 6));
}

#[test]
fn an_identifier_that_each_end_chooses_does_not_part_a_connection() {
    let through = |id: u8, outer: [u8; 2], ends: [u8; 2], flags: u8| {
        let header = [0x30, 255, 0, 40, 0, 0, 0, id];
        let packet = segment(None, ends, [0, 0], flags);
        ipv4(UDP, outer, &udp(2152, &[&header[..], &packet].concat()))
    };
    let found = survey(&[through(3, [7, 8], [1, 2], 2), through(9, [8, 7], [2, 1], 0x12)]);
    assert_eq!(found.connections.len(), 1);
}

#[test]
fn frames_are_counted_by_link_type_and_by_what_they_hold() {
    let mut found = Survey::default();
    let frames = [
        (1, ethernet(0x0806, &[0; 28])),
        (105, wlan(0x80, 0, &[])),
        (1, ethernet(0x0806, &[0; 28])),
        (1, ethernet(0x0800, &inner())),
    ];
    for (link, frame) in &frames {
        let (link, original_bytes) = (LinkType::of(*link), frame.len() as u32);
        found.add(&Record { time_ns: None, interface: 0, link, original_bytes, data: frame });
    }
    let named = |counts: &[(Skipped, u64)]| -> Vec<_> {
        counts.iter().map(|(what, count)| (what.to_string(), *count)).collect()
    };
    let expected = [("ARP".to_owned(), 2), ("802.11 management".to_owned(), 1)];
    assert_eq!(named(found.skipped.counts()), expected);
    assert_eq!(found.links.counts(), [(LinkType::ETHERNET, 3), (LinkType::of(105), 1)]);
    // Unlimited kinds use limited memory.
    for number in 0..1000 {
        let (link, data) = (LinkType::of(2000 + number), &[0][..]);
        found.add(&Record { time_ns: None, interface: 0, link, original_bytes: 1, data });
    }
    assert!(found.skipped.counts().len() <= 65 && found.links.counts().len() <= 65);
    assert_eq!(found.links.counts().iter().map(|(_, count)| count).sum::<u64>(), 1004);
    assert_eq!(found.skipped.counts().iter().map(|(_, count)| count).sum::<u64>(), found.other);
}

#[test]
fn further_packets_of_a_joined_frame_are_counted() {
    let part = |length: usize| {
        let snap = behind(&SNAP);
        let mut out = [&[4; 12][..], &(snap.len() as u16).to_be_bytes(), &snap].concat();
        out.resize(length.max(out.len()), 0);
        out
    };
    for (frames, joined) in [(1, 0), (2, 1)] {
        let rest = part(52).repeat(frames);
        let frame = wlan(0x88, 2, &[&[0x80, 0][..], &rest].concat());
        let mut found = Survey::default();
        let (link, original_bytes) = (LinkType::of(105), frame.len() as u32);
        found.add(&Record { time_ns: None, interface: 0, link, original_bytes, data: &frame });
        assert_eq!((found.aggregated, found.other), (joined, 0));
    }
}
