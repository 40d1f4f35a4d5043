//! Frames captured twice or out of order, and identifications shared by a host: packets through the
//! survey of a file.

use dumbbell_capture::connection::judge::Judgement;
use dumbbell_capture::{Connection, LinkType, Record, Survey, TcpPacket};

const ACK: u8 = 16;
const SYN: u8 = 2;
const US: i64 = 1000;

/// A TCP packet between two hosts.
#[derive(Clone, Copy)]
struct Tcp {
    /// Port of the client; the server's is 80.
    port: u16,
    /// 0: from the client.
    side: usize,
    sequence: u32,
    acknowledgement: u32,
    flags: u8,
    payload: u16,
    /// IPv4 identification.
    identification: u16,
    hops: u8,
}

impl Tcp {
    fn of(side: usize, flags: u8, sequence: u32, acknowledgement: u32, payload: u16) -> Self {
        Self {
            port: 5000,
            side,
            sequence,
            acknowledgement,
            flags,
            payload,
            identification: 0,
            hops: 64,
        }
    }

    fn bytes(&self, ipv6: bool) -> Vec<u8> {
        let length = 20 + self.payload;
        let hosts = if self.side == 0 { [1, 2] } else { [2, 1] };
        let mut frame = Vec::new();
        if ipv6 {
            frame.extend([0x60, 0, 0, 0]);
            frame.extend(length.to_be_bytes());
            frame.extend([6, self.hops]);
            for host in hosts {
                frame.extend([0; 15]);
                frame.push(host);
            }
        } else {
            frame.extend([0x45, 0]);
            frame.extend((length + 20).to_be_bytes());
            frame.extend(self.identification.to_be_bytes());
            // A router changes the hop limit and the IPv4 checksum.
            frame.extend([0x40, 0, self.hops, 6, self.hops, 0]);
            for host in hosts {
                frame.extend([10, 0, 0, host]);
            }
        }
        let ports = if self.side == 0 { [self.port, 80] } else { [80, self.port] };
        ports.iter().for_each(|port| frame.extend(port.to_be_bytes()));
        frame.extend(self.sequence.to_be_bytes());
        frame.extend(self.acknowledgement.to_be_bytes());
        frame.extend([0x50, self.flags, 4, 0, self.hops, 0, 0, 0]);
        frame.extend(std::iter::repeat_n(self.sequence as u8, usize::from(self.payload)));
        frame
    }

    fn pass(&self, survey: &mut Survey, now_ns: i64, ipv6: bool) -> TcpPacket {
        let data = self.bytes(ipv6);
        let packet = survey.add(&Record {
            time_ns: Some(now_ns),
            interface: 0,
            link: LinkType::of(101),
            original_bytes: data.len() as u32,
            data: &data,
        });
        match packet {
            Some(packet) => packet,
            None => panic!("no TCP was found"),
        }
    }
}

fn first(survey: &Survey) -> Connection {
    match survey.connections.get(0) {
        Some((_, connection)) => connection.into_owned(),
        None => panic!("there is no connection"),
    }
}

/// Transfer of `segments` segments, each acknowledged after 20 ms.
fn transfer(segments: u32) -> Vec<(i64, Tcp)> {
    let mut packets = vec![
        (0, Tcp::of(0, SYN, 999, 0, 0)),
        (20_000 * US, Tcp::of(1, SYN | ACK, 1999, 1000, 0)),
        (20_100 * US, Tcp::of(0, ACK, 1000, 2000, 0)),
    ];
    for number in 0..segments {
        let at = 21_000 * US + 3000 * US * i64::from(number);
        let sequence = 1000 + 1000 * number;
        packets.push((at, Tcp::of(0, ACK, sequence, 2000, 1000)));
        packets.push((at + 20_000 * US, Tcp::of(1, ACK, 2000, sequence + 1000, 0)));
    }
    packets.sort_by_key(|(at, _)| *at);
    packets
}

#[test]
fn every_frame_of_a_duplicated_capture_is_recognised() {
    for (ipv6, counted) in [(true, false), (false, false), (false, true)] {
        for behind in [0, 7 * US, 900 * US] {
            let mut survey = Survey::default();
            let packets = transfer(200);
            for (number, (at, packet)) in packets.iter().enumerate() {
                let identification = if counted { number as u16 + 1 } else { 0 };
                let packet = Tcp { identification, ..*packet };
                packet.pass(&mut survey, *at, ipv6);
                // Second capture, behind the router.
                Tcp { hops: 63, ..packet }.pass(&mut survey, at + behind, ipv6);
            }
            let connection = first(&survey);
            let [client, server] = &connection.sides;
            let Some(stream) = &client.stream else { panic!("no data was seen") };
            let copies = stream.counters.duplicates + client.duplicates + server.duplicates;
            assert_eq!(copies, packets.len() as u64, "{ipv6} {counted} {behind}");
            assert_eq!(stream.counters.retransmitted, [0; 6]);
            assert_eq!((client.syns, server.syns, server.duplicate_acks), (1, 1, 0));
            // Each segment gives one RTT sample, and none is a retransmission.
            assert_eq!((stream.rtt.samples, stream.rtt.min_ns), (200, 20_000 * US));
        }
    }
}

#[test]
fn a_frame_later_or_with_another_identification_is_no_double() {
    for (identification, behind, copy) in [
        (7, 2 * US, true),
        (7, 2000 * US, false),
        (8, 2 * US, false),
        (0, 2 * US, true),
        (0, 2000 * US, false),
    ] {
        let mut survey = Survey::default();
        let packet = Tcp::of(0, ACK, 1000, 2000, 1000);
        let first = if identification == 0 { 0 } else { 7 };
        Tcp { identification: first, ..packet }.pass(&mut survey, 0, false);
        let packet = Tcp { identification, ..packet }.pass(&mut survey, behind, false);
        let judgement = packet.verdict.map(|verdict| verdict.judgement);
        let duplicate_evidence = matches!(judgement, Some(Judgement::Duplicate(_)));
        assert_eq!(duplicate_evidence, copy, "{identification} {behind}: {judgement:?}");
    }
}

#[test]
fn a_file_of_two_places_has_copies_and_no_retransmissions() {
    for apart in [1500 * US, 15_000 * US] {
        let mut survey = Survey::default();
        let mut frames = Vec::new();
        for (number, (at, packet)) in transfer(200).into_iter().enumerate() {
            let packet = Tcp { identification: number as u16 + 1, ..packet };
            // The second place is behind the first one for the client's packets, before it for the server's.
            frames.push((at, packet));
            frames.push((at + apart, Tcp { hops: 63, ..packet }));
        }
        frames.sort_by_key(|(at, _)| *at);
        for (at, packet) in &frames {
            packet.pass(&mut survey, *at, false);
        }
        let connection = first(&survey);
        let [client, server] = &connection.sides;
        let Some(stream) = &client.stream else { panic!("no data was seen") };
        let copies = stream.counters.duplicates + client.duplicates + server.duplicates;
        assert_eq!(copies, frames.len() as u64 / 2);
        assert_eq!((stream.counters.retransmitted, server.duplicate_acks), ([0; 6], 0));
        let found = survey.apart();
        assert_eq!(found.packets, copies);
        assert_eq!(found.sum_ns, apart * copies as i64);
        assert_eq!(survey.disordered, 0);
    }
}

#[test]
fn frames_before_their_predecessors_are_counted() {
    let mut survey = Survey::default();
    for (number, at_us) in [10, 20, 15, 30, 29, 29].into_iter().enumerate() {
        let packet = Tcp::of(0, ACK, 1000 + 1000 * number as u32, 2000, 1000);
        packet.pass(&mut survey, at_us * US, false);
    }
    assert_eq!(survey.disordered, 2);
}

#[test]
fn identifications_that_another_connection_of_the_host_used_are_not_missing() {
    let labels = |others: u32| {
        let mut survey = Survey::default();
        let mut identification = 0;
        let mut pass = |at_us: i64, packet: Tcp| {
            identification += u16::from(packet.side == 0);
            let packet = Tcp { identification, ..packet };
            packet.pass(&mut survey, at_us * US, false);
        };
        for (at, packet) in transfer(10) {
            // The last five segments follow a pause.
            let late = packet.side == 0 && packet.payload > 0 && at >= 35_000 * US;
            let late = late || packet.side == 1 && at >= 55_000 * US;
            pass(at / US + 50_000 * i64::from(late), packet);
        }
        for number in 0..others {
            let at_us = 200_000 + i64::from(number);
            pass(at_us, Tcp { port: 5001, ..Tcp::of(0, ACK, 70 + 100 * number, 0, 100) });
        }
        if others == 0 {
            // Lost before the capture.
            identification += 1;
        }
        let at_us = 500_000;
        identification += 1;
        let packet = Tcp { identification, ..Tcp::of(0, ACK, 11_000, 2000, 1000) };
        packet.pass(&mut survey, at_us * US, false).verdict.map(|verdict| verdict.judgement)
    };
    assert!(matches!(labels(0), Some(Judgement::Retransmitted(_))));
    assert_eq!(labels(1), Some(Judgement::New));
}

#[test]
fn a_syn_captured_late_splits_no_connection() {
    let connections = |order: &[usize], syn: u32| {
        let packets = [
            Tcp::of(0, SYN, syn, 0, 0),
            Tcp::of(1, SYN | ACK, 1999, 1000, 0),
            Tcp::of(0, ACK, 1000, 2000, 0),
            Tcp::of(0, ACK, 1000, 2000, 500),
        ];
        let mut survey = Survey::default();
        for (number, at) in order.iter().enumerate() {
            packets[*at].pass(&mut survey, number as i64 * 1000 * US, false);
        }
        // The first sender is side 0.
        let client = usize::from(order[0] == 1);
        (survey.connections.len(), first(&survey).sides[client].initial)
    };
    for order in [[0, 1, 2, 3], [1, 2, 0, 3], [2, 3, 0, 1], [1, 2, 3, 0]] {
        assert_eq!(connections(&order, 999), (1, Some(999)), "{order:?}");
    }
    // Another initial sequence number opens another connection between the same ports.
    assert_eq!(connections(&[2, 3, 0, 1], 500_000), (2, None));
}

#[test]
fn a_connection_kept_as_its_first_packets_is_the_one_that_was_analysed() {
    use dumbbell_capture::PacketInfo;
    // A connection with two or three packets and no data is only stored; with four it is analysed.
    for bare in 0..3 {
        let mut packets = transfer(2);
        let more = (0..bare).map(|n| (20_200 * US + n, Tcp::of(0, ACK, 1000, 2000, 0)));
        packets.extend(more.collect::<Vec<_>>());
        packets.sort_by_key(|(at, _)| *at);
        for most in 1..packets.len() {
            let mut survey = Survey::default();
            let mut direct = Connection::at(0);
            for (number, (at, packet)) in packets.iter().take(most).enumerate() {
                let identification = number as u16 + 1;
                let passed = Tcp { identification, ..*packet }.pass(&mut survey, *at, false);
                let info = PacketInfo {
                    now_ns: *at,
                    frame: number as u64 + 1,
                    wire_bytes: 40 + u32::from(packet.payload),
                    identification: Some(identification),
                    ..PacketInfo::default()
                };
                direct.packet(passed.side, &info, &passed.header, &mut Vec::new());
            }
            assert_eq!(format!("{:?}", first(&survey)), format!("{direct:?}"), "{bare} {most}");
        }
    }
}
