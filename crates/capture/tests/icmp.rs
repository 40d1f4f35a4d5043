//! ICMP errors about connections: packets written byte by byte, read as a capture.

use dumbbell_capture::connection::recovery::RetransmissionKind::{
    self, Handshake, PathMtu, Timeout, Unreachable,
};
use dumbbell_capture::{LinkType, Record, Survey, TcpPacket};
use proptest::prelude::*;

const MS: i64 = 1_000_000;
const SYN: u8 = 2;
const ACK: u8 = 16;
const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 1, 1];
const ROUTER: [u8; 4] = [10, 0, 0, 254];

fn ipv4(protocol: u8, from: [u8; 4], to: [u8; 4], above: &[u8], more: usize) -> Vec<u8> {
    let mut out = vec![0x45, 0];
    out.extend(((20 + above.len() + more) as u16).to_be_bytes());
    out.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    out.extend([from, to].concat());
    out.extend(above);
    out
}

fn ipv6(protocol: u8, from: [u8; 4], to: [u8; 4], above: &[u8], more: usize) -> Vec<u8> {
    let long = |last: [u8; 4]| [&[0xfd; 12][..], &last].concat();
    let mut out = vec![0x60, 0, 0, 0];
    out.extend(((above.len() + more) as u16).to_be_bytes());
    out.extend([protocol, 64]);
    out.extend([long(from), long(to)].concat());
    out.extend(above);
    out
}

fn tcp(out: bool, flags: u8, sequence: u32, acknowledgement: u32) -> Vec<u8> {
    let ports: [u16; 2] = if out { [4000, 80] } else { [80, 4000] };
    let mut header = [ports[0].to_be_bytes(), ports[1].to_be_bytes()].concat();
    header.extend(sequence.to_be_bytes());
    header.extend(acknowledgement.to_be_bytes());
    header.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    header
}

/// A client that sends; the tap is at the client.
struct Path {
    survey: Survey,
    v6: bool,
}

impl Path {
    fn new(v6: bool) -> Self {
        Self { survey: Survey::default(), v6 }
    }

    fn open(v6: bool) -> Self {
        let mut path = Self::new(v6);
        path.tcp(0, true, SYN, 99, 0, 0);
        path.tcp(40, false, SYN | ACK, 499, 100, 0);
        path.tcp(40, true, ACK, 100, 500, 0);
        path
    }

    fn frame(&mut self, at_ms: i64, data: &[u8], more: usize) -> Option<TcpPacket> {
        self.survey.add(&Record {
            time_ns: Some(at_ms * MS),
            interface: 0,
            link: LinkType::RAW,
            original_bytes: (data.len() + more) as u32,
            data,
        })
    }

    fn tcp(
        &mut self,
        at_ms: i64,
        out: bool,
        flags: u8,
        sequence: u32,
        acknowledgement: u32,
        payload: usize,
    ) -> Option<RetransmissionKind> {
        let header = tcp(out, flags, sequence, acknowledgement);
        let (from, to) = if out { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
        let ip = if self.v6 { ipv6 } else { ipv4 };
        let packet = self.frame(at_ms, &ip(6, from, to, &header, payload), payload);
        packet.and_then(|packet| packet.verdict).and_then(|verdict| verdict.kind)
    }

    /// ICMP error of a router that quotes `quoted` bytes of the client's packet.
    fn icmp(&mut self, at_ms: i64, kind: [u8; 2], value: u32, sequence: u32, payload: usize) {
        let header = tcp(true, ACK, sequence, 500);
        let ip = if self.v6 { ipv6 } else { ipv4 };
        let quoted = ip(6, CLIENT, SERVER, &header[..8], 12 + payload);
        let mut message = vec![kind[0], kind[1], 0, 0];
        message.extend(value.to_be_bytes());
        message.extend(quoted);
        let protocol = if self.v6 { 58 } else { 1 };
        self.frame(at_ms, &ip(protocol, ROUTER, CLIENT, &message, 0), 0);
    }

    fn positions(&self) -> Vec<Option<i64>> {
        let position = |error: &dumbbell_capture::icmp::IcmpError| {
            error.matched.and_then(|matched| matched.position)
        };
        self.survey.icmp.kept.iter().map(position).collect()
    }
}

#[test]
fn a_smaller_path_mtu_is_a_cause() {
    // ipfixprobe, smtp.pcap, frames 22 to 36: four segments are too big and go again in smaller ones.
    for (v6, kind, headers) in [(false, [3, 4], 40), (true, [2, 0], 60)] {
        let mut path = Path::open(v6);
        for number in 0..4 {
            assert_eq!(path.tcp(60, true, ACK, 100 + 1440 * number, 500, 1440), None);
        }
        let mtu = 1400 + headers;
        path.icmp(62, kind, mtu, 100, 1440);
        assert_eq!(path.tcp(62, true, ACK, 100, 500, 1400), Some(PathMtu));
        for number in 1..4 {
            path.icmp(63, kind, mtu, 100 + 1440 * number, 1440);
        }
        path.tcp(100, false, ACK, 500, 1500, 0);
        assert_eq!(path.tcp(100, true, ACK, 1500, 500, 1400), Some(PathMtu));
        assert_eq!(path.tcp(100, true, ACK, 2900, 500, 1400), Some(PathMtu));
        assert_eq!(path.tcp(140, true, ACK, 4300, 500, 1400), Some(PathMtu));
        // The last one has new bytes, too.
        assert_eq!(path.tcp(140, true, ACK, 5700, 500, 1400), Some(PathMtu));
        assert_eq!(path.tcp(141, true, ACK, 7100, 500, 1400), None);
        // A segment that is lost once more is an ordinary loss.
        assert_eq!(path.tcp(600, true, ACK, 1500, 500, 1400), Some(Timeout));
        let (_, connection) = path.survey.connections.get(0).unwrap_or_else(|| panic!("none"));
        let reported = connection.sides[0].reported;
        assert_eq!((reported.too_big, reported.path_mtu), (4, Some(mtu)));
        assert_eq!(path.positions(), [0, 1440, 2880, 4320].map(Some));
    }
}

#[test]
fn an_mtu_that_cannot_be_changes_nothing_but_an_unknown_one_does() {
    // RFC 5927 §7.2: not smaller than the packet, or below the minimum. RFC 1191 §5: unknown.
    for (mtu, payload) in [(0, 1000), (1600, 1000), (20, 1000)] {
        let mut path = Path::open(false);
        path.tcp(60, true, ACK, 100, 500, 1440);
        path.icmp(62, [3, 4], mtu, 100, 1440);
        assert_eq!(path.tcp(63, true, ACK, 100, 500, payload), Some(PathMtu), "{mtu}");
        // The retransmission is as large as the segment: ICMP did not cause it.
        let mut path = Path::open(false);
        path.tcp(60, true, ACK, 100, 500, 1440);
        path.icmp(62, [3, 4], mtu, 100, 1440);
        assert_ne!(path.tcp(600, true, ACK, 100, 500, 1440), Some(PathMtu), "{mtu}");
        let (_, connection) = path.survey.connections.get(0).unwrap_or_else(|| panic!("none"));
        assert_eq!(connection.sides[0].reported.path_mtu, None);
    }
}

#[test]
fn a_discarded_packet_is_a_cause_once() {
    for (v6, kind) in [(false, [3, 1]), (false, [11, 0]), (true, [1, 0]), (true, [3, 0])] {
        let mut path = Path::open(v6);
        path.tcp(60, true, ACK, 100, 500, 1000);
        path.tcp(60, true, ACK, 1100, 500, 1000);
        path.icmp(62, kind, 0, 100, 1000);
        assert_eq!(path.tcp(460, true, ACK, 100, 500, 1000), Some(Unreachable));
        assert_eq!(path.tcp(1260, true, ACK, 100, 500, 1000), Some(Timeout));
    }
}

#[test]
fn a_syn_that_finds_no_route_is_told_from_one_that_is_lost() {
    let mut path = Path::new(false);
    path.tcp(0, true, SYN, 99, 0, 0);
    path.icmp(10, [3, 1], 0, 99, 0);
    assert_eq!(path.tcp(1000, true, SYN, 99, 0, 0), Some(Unreachable));
    assert_eq!(path.tcp(3000, true, SYN, 99, 0, 0), Some(Handshake));
    assert_eq!(path.positions(), [Some(-1)]);
    // Without ICMP the first packets are not analysed at once; the kind is known nevertheless.
    let mut path = Path::new(false);
    path.tcp(0, true, SYN, 99, 0, 0);
    assert_eq!(path.tcp(1000, true, SYN, 99, 0, 0), Some(Handshake));
    assert_eq!(path.tcp(3000, true, SYN, 99, 0, 0), Some(Handshake));
}

#[test]
fn quotations_that_fit_no_packet_in_flight_are_events_alone() {
    let mut path = Path::open(false);
    path.tcp(60, true, ACK, 100, 500, 1440);
    path.tcp(100, false, ACK, 500, 1540, 0);
    path.tcp(100, true, ACK, 1540, 500, 1440);
    // Acknowledged, not sent yet, far away: a blind attacker guesses (RFC 5927 §4.1).
    for sequence in [100, 2980, 1_000_000_000] {
        path.icmp(101, [3, 4], 600, sequence, 1440);
    }
    assert_eq!(path.positions(), [None; 3]);
    assert_eq!(path.tcp(400, true, ACK, 1540, 500, 500), Some(Timeout));
    assert!(path.survey.icmp.kept.iter().all(|error| error.matched.is_some()));
    // To another host than the quoted sender, and about an unknown connection.
    let quoted = ipv4(6, CLIENT, SERVER, &tcp(true, ACK, 1540, 500)[..8], 0);
    let message = [&[3, 1, 0, 0, 0, 0, 0, 0][..], &quoted].concat();
    path.frame(500, &ipv4(1, ROUTER, SERVER, &message, 0), 0);
    let quoted = ipv4(6, SERVER, ROUTER, &tcp(true, ACK, 1540, 500)[..8], 0);
    let message = [&[3, 1, 0, 0, 0, 0, 0, 0][..], &quoted].concat();
    path.frame(500, &ipv4(1, ROUTER, SERVER, &message, 0), 0);
    assert!(path.survey.icmp.kept[3..].iter().all(|error| error.matched.is_none()));
    assert_eq!(path.survey.icmp.count, 5);
    let conversations = path.survey.conversations.len();
    assert_eq!(conversations, 4); // A quotation makes none: a TCP one and three of hosts.
}

proptest! {
    #[test]
    fn any_bytes_are_survived(
        quoted in prop::collection::vec(any::<u8>(), 0..80),
        kind in prop::sample::select(vec![[3, 0], [3, 4], [11, 0], [2, 0], [1, 4]]),
        v6 in any::<bool>(),
        cut in 0_usize..60,
    ) {
        let mut path = Path::open(v6);
        path.tcp(60, true, ACK, 100, 500, 1440);
        let ip = if v6 { ipv6 } else { ipv4 };
        let protocol = if v6 { 58 } else { 1 };
        // Any bytes, and a true quotation with some of them changed and cut.
        let mut true_quote = ip(6, CLIENT, SERVER, &tcp(true, ACK, 100, 500), 0);
        for pair in quoted.chunks_exact(2).take(3) {
            let at = usize::from(pair[0]) % true_quote.len();
            true_quote[at] = pair[1];
        }
        true_quote.truncate(cut);
        for quote in [&quoted, &true_quote] {
            let message = [&[kind[0], kind[1], 0, 0, 0, 0, 5, 0][..], quote].concat();
            path.frame(62, &ip(protocol, ROUTER, CLIENT, &message, 0), 0);
        }
        path.tcp(600, true, ACK, 100, 500, 1000);
        prop_assert!(path.survey.icmp.count <= 2);
    }
}
