//! Fuzz targets, run by libFuzzer (`fuzz_targets/`), and with the corpora by `cargo test`
//! (`crates/capture/tests/corpus.rs`). Their assertions must hold for any bytes.

use dumbbell_capture::decode::{self, Encapsulation, TUNNELS_MAX};
use dumbbell_capture::{CaptureFile, LinkType, Record, Survey, TcpHeader};

/// Reads a file to its end. Its records lie within it.
fn read(bytes: &[u8]) {
    let Ok(mut file) = CaptureFile::open(bytes) else { return };
    let mut kept = 0;
    let mut records = 0_u64;
    // gzip, zstd, xz.
    let packed: [&[u8]; 3] = [&[0x1f, 0x8b], &[0x28, 0xb5], &[0xfd, b'7']];
    let plain = !packed.iter().any(|mark| bytes.starts_with(mark));
    let done = file.read(|record| {
        kept += record.data.len();
        records += 1;
    });
    if plain {
        assert!(done.is_ok());
        assert!(kept <= bytes.len() && records <= bytes.len() as u64);
    }
    assert!(file.problems().len() as u64 <= file.problem_count());
}

/// Records of a pcap file, behind a header of one of the four kinds.
pub(crate) fn pcap(data: &[u8]) {
    let Some((&kind, records)) = data.split_first() else { return };
    let magic: [u8; 4] = match kind % 4 {
        0 => 0xa1b2_c3d4_u32.to_le_bytes(),
        1 => 0xa1b2_c3d4_u32.to_be_bytes(),
        2 => 0xa1b2_3c4d_u32.to_le_bytes(),
        _ => 0xa1b2_3c4d_u32.to_be_bytes(),
    };
    let mut bytes = magic.to_vec();
    bytes.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0]);
    bytes.extend([kind >> 2, 0, 0, 0]);
    bytes.extend(records);
    read(&bytes);
}

/// A file of any format: pcapng, snoop, pcap and its modified form, compressed or unknown.
pub(crate) fn pcapng(data: &[u8]) {
    read(data);
}

/// Link types of the target `headers`, by the first byte.
const LINKS: [u16; 29] = [
    0, 1, 101, 113, 276, 147, 9, 10, 50, 51, 100, 104, 105, 109, 117, 119, 127, 163, 192, 204, 219,
    228, 229, 239, 258, 108, 12, 14, 11,
];
/// Link types of the target `headers` for first bytes from 240.
const MORE_LINKS: [u16; 12] = [6, 7, 8, 107, 122, 129, 182, 242, 281, 282, 284, 285];

/// Headers of a frame: link, tunnels, IP, TCP with options.
pub(crate) fn headers(data: &[u8]) {
    let Some((&link, frame)) = data.split_first() else { return };
    let link = usize::from(link);
    let more = link.checked_sub(240).and_then(|link| MORE_LINKS.get(link));
    let link = LinkType::of(*more.unwrap_or(&LINKS[link % LINKS.len()]));
    let mut encapsulation = Encapsulation::default();
    let found = decode::innermost(link, frame, frame.len() as u32, &mut encapsulation);
    assert!(encapsulation.outer.len() <= TUNNELS_MAX);
    assert!(!encapsulation.too_deep || encapsulation.outer.len() == TUNNELS_MAX);
    let mut survey = Survey::default();
    let original_bytes = frame.len() as u32;
    survey.add(&Record { time_ns: None, interface: 0, link, original_bytes, data: frame });
    assert_eq!(survey.other == 1, found.is_err());
    let Ok(packet) = found else {
        assert!(encapsulation.outer.is_empty());
        return;
    };
    assert!(packet.payload.len() <= frame.len());
    assert!(packet.payload.len() <= packet.payload_bytes as usize);
    let ports = decode::ports(&packet);
    if let Some(header) = TcpHeader::parse(&packet) {
        assert_eq!(Some(header.ports), ports);
        assert!(header.payload_bytes <= packet.payload_bytes);
        assert!(header.sack_blocks().len() <= 4);
    }
}

/// Segments of three connections; each field continues or jumps, according to the bytes.
pub(crate) fn analysis(data: &[u8]) {
    drive(data, false);
}

/// As `analysis`, with ICMP errors that quote the segments before them, some with changed bytes.
pub(crate) fn icmp(data: &[u8]) {
    drive(data, true);
}

/// ICMP error that quotes an IPv4 packet, with three bytes changed or cut.
fn error(quoted: &[u8], [kind, at, value, mtu]: [u8; 4]) -> Vec<u8> {
    let mut message: Vec<u8> = match kind % 4 {
        0 => vec![3, 4, 0, 0, 0, 0, mtu, value],
        1 => vec![3, mtu % 16, 0, 0, 0, 0, 0, 0],
        2 => vec![11, mtu % 2, 0, 0, 0, 0, 0, 0],
        _ => vec![mtu, value, 0, 0, 0, 0, 5, 0],
    };
    let mut quote = quoted.get(..28 + usize::from(mtu % 16)).unwrap_or(quoted).to_vec();
    let ends = [quote[16..20].to_vec(), quote[12..16].to_vec()].concat();
    if kind >= 128 {
        let at = usize::from(at) % quote.len();
        quote[at] = value;
    }
    if kind & 64 != 0 {
        quote.truncate(usize::from(at));
    }
    message.extend(quote);
    let length = 20 + message.len() as u16;
    let mut ip = vec![0x45, 0];
    ip.extend(length.to_be_bytes());
    ip.extend([0, 0, 0, 0, 64, 1, 0, 0]);
    ip.extend(ends);
    ip.extend(message);
    ip
}

fn drive(data: &[u8], errors: bool) {
    let mut survey = Survey::default();
    let (mut now, mut number) = (0_i64, 0_u64);
    let mut sequence = [[0_u32, 1 << 31], [u32::MAX - 5000, 77], [5, 6]];
    let mut identification = 0_u16;
    let mut last = Vec::new();
    for step in data.chunks_exact(8) {
        let [ends, flags, at, length, ack, time, sack, id] =
            [step[0], step[1], step[2], step[3], step[4], step[5], step[6], step[7]];
        let connection = usize::from(ends & 3).min(2);
        let side = usize::from(ends >> 2 & 1);
        now = match time {
            255 => i64::MIN,
            254 => i64::MAX,
            253 => now.wrapping_sub(1 << 40),
            240..=252 => now.wrapping_add(1 << (time - 200)),
            _ => now.wrapping_add(i64::from(time) << 16),
        };
        if errors && ends & 0x30 == 0x30 && !last.is_empty() {
            let data = error(&last, [flags, at, length, ack]);
            survey.add(&Record {
                time_ns: (ends & 8 == 0).then_some(now),
                interface: u32::from(ends >> 6),
                link: LinkType::of(101),
                original_bytes: data.len() as u32,
                data: &data,
            });
            number += 1;
            continue;
        }
        let jump = |value: u8| (i32::from(value as i8) * 724) as u32;
        let own = &mut sequence[connection][side];
        let start = match at {
            127 => own.wrapping_add(1 << 31),
            126 => own.wrapping_add(1 << 29),
            _ => own.wrapping_add(jump(at)),
        };
        let payload = u32::from(length) * 181;
        *own = own.wrapping_add(payload * u32::from(at == 0));
        let acknowledgement = sequence[connection][1 - side].wrapping_add(jump(ack));
        identification = identification.wrapping_add(u16::from(id));
        let frame = frame(
            [connection as u8, side as u8, flags],
            [start, acknowledgement],
            payload,
            identification,
            sack,
        );
        let packet = survey.add(&Record {
            time_ns: (ends & 8 == 0).then_some(now),
            interface: u32::from(ends >> 6),
            link: LinkType::of(101),
            original_bytes: frame.len() as u32 + payload,
            data: &frame,
        });
        number += 1;
        assert!(packet.is_some());
        last = frame;
    }
    assert_eq!(survey.total.packets, number);
    assert!(survey.icmp.kept.len() as u64 <= survey.icmp.count);
    for error in &survey.icmp.kept {
        let Some(matched) = error.matched else { continue };
        assert!((matched.connection as usize) < survey.connections.len() && matched.side < 2);
    }
    for (_, connection) in survey.connections.iter() {
        for side in &connection.sides {
            let Some(stream) = &side.stream else { continue };
            let counters = &stream.counters;
            assert!(counters.unique_bytes <= counters.payload_bytes);
            let retransmitted: u64 = counters.retransmitted.iter().sum();
            let reordered: u64 = counters.reordered_by.iter().sum();
            assert_eq!(retransmitted, counters.retransmitted_by.iter().sum::<u64>());
            let packets = counters.data_packets + side.fins;
            assert!(retransmitted + reordered + counters.duplicates <= packets);
            assert!(counters.keep_alives <= side.packets);
            assert!(stream.spurious().iter().sum::<u64>() <= retransmitted);
            assert!(stream.acked() <= stream.next());
            assert!(stream.rtt.samples == 0 || stream.rtt.min_ns <= stream.rtt.max_ns);
            assert!(stream.flight.mean_bytes().unwrap_or(0.0) <= stream.flight.max_bytes as f64);
        }
    }
}

/// IPv4 packet with a TCP header, timestamps, and SACK blocks according to the bits of `sack`.
fn frame(
    [connection, side, flags]: [u8; 3],
    [sequence, acknowledgement]: [u32; 2],
    payload: u32,
    identification: u16,
    sack: u8,
) -> Vec<u8> {
    let mut options = vec![1, 1, 8, 10];
    options.extend(u32::from(identification).to_be_bytes());
    options.extend([0, 0, 0, sack]);
    let blocks = sack & 3;
    if flags & 2 != 0 {
        options = vec![2, 4, 5, 0xb4, 4, 2, 3, 3, sack & 15, 1, 1, 0];
    } else if blocks > 0 {
        options.extend([1, 1, 5, 2 + 8 * blocks]);
        for block in 0..blocks {
            let start = acknowledgement.wrapping_add(
                (u32::from(sack >> 2).wrapping_sub(8)).wrapping_mul(724 * (u32::from(block) + 1)),
            );
            options.extend(start.to_be_bytes());
            options.extend(start.wrapping_add(1448).to_be_bytes());
        }
    }
    let length = 40 + options.len() as u32 + payload;
    let mut ip = vec![0x45, 0];
    ip.extend((length as u16).to_be_bytes());
    ip.extend(identification.to_be_bytes());
    ip.extend([0x40, 0, 64, 6, 0, 0, 10, 0, connection, side, 10, 0, connection, 1 - side]);
    let ports = [1000_u16, 2000];
    ip.extend(ports[usize::from(side)].to_be_bytes());
    ip.extend(ports[1 - usize::from(side)].to_be_bytes());
    ip.extend(sequence.to_be_bytes());
    ip.extend(acknowledgement.to_be_bytes());
    ip.extend([(((20 + options.len()) / 4) << 4) as u8, flags, sack, 7, 0, 0, 0, 0]);
    ip.extend(options);
    ip
}
