//! Packets as bytes: checksums of a packet computed by hand, and what is read is what was written.

use dumbbell_packetdrill::script::{Icmp, TcpOption};
use dumbbell_packetdrill::wire::{icmp_bytes, Tcp};
use proptest::prelude::*;
use std::net::IpAddr;

fn between(source: &str, destination: &str) -> Tcp {
    let address = |text: &str| text.parse::<IpAddr>().expect("an address");
    Tcp::between((address(source), 40_001), (address(destination), 8080))
}

/// Sum of 16-bit words with carry (RFC 1071): 0xFFFF over a part with a right checksum.
fn sum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u32;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u32::from(pair[0]) * 256 + u32::from(pair.get(1).copied().unwrap_or(0));
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
    }
    u16::try_from(sum).expect("16 bits")
}

#[test]
fn a_known_packet() {
    let mut packet = between("192.0.2.1", "192.168.0.1");
    packet.ttl = 64;
    packet.flags = 2;
    packet.seq = 1;
    packet.window = 0x1000;
    // IP: 4500 + 0028 + 4006 + C000 + 0201 + C0A8 + 0001 = 2_07D8, folded 07DA, inverted F825.
    // TCP: C000 + 0201 + C0A8 + 0001 + 0006 + 0014 = 1_82C4 and 9C41 + 1F90 + 0001 + 5002 + 1000
    // = 1_1BD4; together 2_9E98, folded 9E9A, inverted 6165.
    let expected: [u8; 40] = [
        0x45, 0, 0, 0x28, 0, 0, 0, 0, 0x40, 6, 0xF8, 0x25, 192, 0, 2, 1, 192, 168, 0, 1, //
        0x9C, 0x41, 0x1F, 0x90, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0x10, 0, 0x61, 0x65, 0, 0,
    ];
    assert_eq!(packet.bytes(), expected);
}

#[test]
fn a_message_of_icmp_quotes_the_header_and_eight_bytes() {
    let quoted = between("192.168.0.1", "192.0.2.1");
    let message = Icmp {
        kind: "unreachable".to_owned(),
        code: Some("frag_needed".to_owned()),
        mtu: Some(1200),
        quoted: (1, 0),
    };
    let bytes =
        icmp_bytes(&message, "192.0.2.9".parse().expect("an address"), &quoted).expect("known");
    assert_eq!(bytes.len(), 20 + 8 + 20 + 8);
    assert_eq!(bytes[20..22], [3, 4]);
    assert_eq!(bytes[26..28], 1200u16.to_be_bytes());
    assert_eq!(bytes[28..56], quoted.bytes()[..28]);
    assert_eq!(sum(&[&bytes[20..]]), 0xFFFF);
    let unknown = Icmp { kind: "nonsense".to_owned(), ..message };
    assert!(icmp_bytes(&unknown, "192.0.2.9".parse().expect("an address"), &quoted).is_err());
}

fn option() -> impl Strategy<Value = TcpOption> {
    prop_oneof![
        Just(TcpOption::Nop),
        any::<u16>().prop_map(TcpOption::Mss),
        any::<u8>().prop_map(TcpOption::WindowScale),
        Just(TcpOption::SackPermitted),
        prop::collection::vec(any::<(u32, u32)>(), 1..3).prop_map(TcpOption::Sack),
        any::<(u32, u32)>().prop_map(|(value, echo)| TcpOption::Timestamps(value, echo)),
        prop::collection::vec(any::<u8>(), 0..9).prop_map(|bytes| TcpOption::Other(172, bytes)),
    ]
}

fn length(option: &TcpOption) -> usize {
    match option {
        TcpOption::End | TcpOption::Nop => 1,
        TcpOption::SackPermitted => 2,
        TcpOption::WindowScale(_) => 3,
        TcpOption::Mss(_) => 4,
        TcpOption::Timestamps(..) => 10,
        TcpOption::Sack(blocks) => 2 + 8 * blocks.len(),
        TcpOption::Other(_, bytes) => 2 + bytes.len(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_read_is_what_was_written(
        v6: bool, header in any::<(u8, u8, u16, u16, u16)>(), numbers in any::<(u32, u32)>(), flags in 0..0x200u16,
        given in prop::collection::vec(option(), 0..4), payload in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        let mut packet = if v6 { between("fd00::1", "fd00::2") } else { between("192.0.2.1", "192.168.0.1") };
        (packet.tos, packet.ttl, packet.window, packet.urgent, packet.source_port) = header;
        (packet.seq, packet.ack) = numbers;
        packet.flags = flags;
        packet.payload = payload;
        for one in given {
            let sum: usize = packet.options.iter().map(length).sum();
            if sum + length(&one) <= 37 {
                packet.options.push(one);
            }
        }
        while packet.options.iter().map(length).sum::<usize>() % 4 != 0 {
            packet.options.push(TcpOption::Nop);
        }
        let bytes = packet.bytes();
        prop_assert_eq!(Tcp::read(&bytes), Some(packet));
        let (addresses, header) = if v6 { (8..40, 40) } else { (12..20, 20) };
        if !v6 {
            prop_assert_eq!(sum(&[&bytes[..20]]), 0xFFFF);
        }
        let length = u16::try_from(bytes.len() - header).expect("a length").to_be_bytes();
        prop_assert_eq!(sum(&[&bytes[addresses], &[0, 6], &length, &bytes[header..]]), 0xFFFF);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..120), first in 0x40..0x6Fu8) {
        let mut bytes = bytes;
        if let Some(byte) = bytes.first_mut() {
            *byte = first;
        }
        if let Some(byte) = bytes.get_mut(if first < 0x50 { 9 } else { 6 }) {
            *byte = 6;
        }
        let _ = Tcp::read(&bytes);
    }
}
