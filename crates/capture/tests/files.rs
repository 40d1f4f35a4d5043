//! Files of all formats, intact and malicious.

use dumbbell_capture::{Address, CaptureFile, ConversationKind, LinkType, Problem, Survey};
use dumbbell_model::Time;
use dumbbell_packet::pcapng::Recording;
use dumbbell_packet::wire::{self, FlowHeaders};
use dumbbell_packet::{Body, Packet, Segment};
use proptest::prelude::*;

/// Timestamps, link types, lengths and captured bytes of a file, and its problems.
type Read = (Vec<(Option<i64>, LinkType, u32, Vec<u8>)>, Vec<Problem>);

fn read(bytes: &[u8]) -> Option<Read> {
    let mut file = CaptureFile::open(bytes).ok()?;
    let mut found = Vec::new();
    let done = file.read(|record| {
        found.push((record.time_ns, record.link, record.original_bytes, record.data.to_vec()));
    });
    done.ok().map(|()| (found, file.problems().to_vec()))
}

fn survey(bytes: &[u8]) -> Survey {
    let mut survey = Survey::default();
    if let Ok(mut file) = CaptureFile::open(bytes) {
        let _ = file.read(|record| {
            survey.add(record);
        });
    }
    survey
}

/// Three segments of one connection, 96 bytes of each.
fn pcapng() -> Vec<u8> {
    let headers =
        FlowHeaders { addresses: [wire::address(0), wire::address(1)], ..FlowHeaders::default() };
    let mut recording = Recording::new(96);
    for number in 0..3_u64 {
        let segment = Segment { payload_bytes: 1000, timestamps: true, ..Segment::default() };
        let frame_bytes = segment.frame_bytes();
        let outward = number != 1;
        let packet =
            Packet { number, flow: 0, frame_bytes, outward, tos: 0, body: Body::Tcp(segment) };
        let bytes = wire::frame(&packet, &headers, [wire::mac(0), wire::mac(1)], 96);
        recording.frame(Time::from_ns(5 + number), 0, frame_bytes, &bytes);
    }
    recording.file(&["tap".to_owned()], &[], |number| Some(format!("packet {number}")))
}

/// Offsets of the packet blocks in a pcapng file.
fn packet_blocks(bytes: &[u8]) -> Vec<usize> {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        if word(at) == 6 {
            found.push(at);
        }
        at += word(at + 4) as usize;
    }
    found
}

/// pcap file with these frames (seconds, fraction, data).
fn pcap(magic: u32, big_endian: bool, link: u32, frames: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let word = |number: u32| match big_endian {
        true => number.to_be_bytes(),
        false => number.to_le_bytes(),
    };
    let version = if big_endian { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
    let mut out = [word(magic), version, word(0), word(0), word(65_535), word(link)].concat();
    for (seconds, fraction, data) in frames {
        let length = word(data.len() as u32);
        out.extend([word(*seconds), word(*fraction), length, length].concat());
        out.extend(*data);
    }
    out
}

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;

#[test]
fn what_the_writer_wrote_is_read() {
    let (records, problems) = read(&pcapng()).unwrap_or_default();
    assert!(problems.is_empty(), "{problems:?}");
    let stamps: Vec<_> = records.iter().map(|record| record.0).collect();
    assert_eq!(stamps, [Some(5), Some(6), Some(7)]);
    assert!(records.iter().all(|r| r.1 == LinkType::ETHERNET && r.2 == 1066 && r.3.len() == 96));
    let survey = survey(&pcapng());
    assert_eq!((survey.total.packets, survey.truncated, survey.other), (3, 3, 0));
    let tcp: Vec<_> =
        survey.conversations.iter().filter(|c| c.kind == ConversationKind::Tcp).collect();
    assert_eq!(tcp.len(), 1);
    assert_eq!(tcp[0].a, (Address::V4([10, 0, 0, 1]), 20_001));
    assert_eq!([tcp[0].counted[0].packets, tcp[0].counted[1].bytes], [2, 1066]);
}

#[test]
fn pcap_is_read_in_either_order_and_resolution_and_compressed() {
    let frame: &[u8] = &[7; 60];
    let mut all = Vec::new();
    for (magic, big, fraction) in [
        (MICROSECONDS, false, 250),
        (MICROSECONDS, true, 250),
        (NANOSECONDS, false, 250_000),
        (NANOSECONDS, true, 250_000),
    ] {
        all.push(pcap(magic, big, 1, &[(3, fraction, frame)]));
    }
    let mut gzip = flate2::read::GzEncoder::new(&all[0][..], flate2::Compression::fast());
    let mut zipped = Vec::new();
    assert!(std::io::Read::read_to_end(&mut gzip, &mut zipped).is_ok());
    all.push(zipped);
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    all.push(ruzstd::encoding::compress_to_vec(&all[1][..], level));
    for bytes in all {
        let (records, problems) = read(&bytes).unwrap_or_default();
        assert_eq!(records, [(Some(3_000_250_000), LinkType::ETHERNET, 60, frame.to_vec())]);
        assert!(problems.is_empty());
    }
}

#[test]
fn frames_of_zstd_one_after_the_other_are_one_file() {
    let frame: &[u8] = &[7; 60];
    let bytes = pcap(MICROSECONDS, false, 1, &[(3, 250, frame), (4, 0, frame)]);
    let level = || ruzstd::encoding::CompressionLevel::Fastest;
    let (first, second) = bytes.split_at(50);
    let skippable = [0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let parts = [
        ruzstd::encoding::compress_to_vec(first, level()),
        skippable.to_vec(),
        ruzstd::encoding::compress_to_vec(second, level()),
    ];
    let (records, problems) = read(&parts.concat()).unwrap_or_default();
    assert_eq!((records.len(), problems.len()), (2, 0));
}

#[test]
fn packets_without_stamps_have_no_times() {
    let mut bytes = pcapng();
    let blocks = packet_blocks(&bytes);
    let mut tail = bytes.split_off(blocks[0]);
    let length = u32::from_le_bytes(tail[4..8].try_into().unwrap_or_default()) as usize;
    tail.truncate(length);
    // Simple packet block: original length, data.
    let mut simple = 3_u32.to_le_bytes().to_vec();
    let data = &tail[28..28 + 96];
    simple.extend((16 + 96_u32).to_le_bytes());
    simple.extend(1066_u32.to_le_bytes());
    simple.extend(data);
    simple.extend((16 + 96_u32).to_le_bytes());
    bytes.extend(simple);
    let found = survey(&bytes);
    assert_eq!((found.total.packets, found.times_ns), (1, None));
    assert!(found.connections.iter().all(|(_, connection)| connection.timeless));
    assert_eq!(found.connections.len(), 1);
}

#[test]
fn a_truncated_file_gives_its_complete_records_and_a_problem() {
    for whole in [pcapng(), pcap(MICROSECONDS, false, 1, &[(1, 2, &[0; 60]), (2, 3, &[1; 70])])] {
        let (all, _) = read(&whole).unwrap_or_default();
        let mut full = 0;
        for cut in 0..whole.len() {
            let Some((records, problems)) = read(&whole[..cut]) else { continue };
            assert_eq!(records, all[..records.len()], "{cut}");
            // A file cut between two records has no visible problem.
            full += usize::from(problems.is_empty());
        }
        assert!(full <= all.len() + 3, "{full}");
    }
}

#[test]
fn lengths_that_lie_are_reported_with_their_offset() {
    let mut bytes = pcap(MICROSECONDS, false, 1, &[(1, 2, &[0; 60]), (2, 3, &[1; 70])]);
    let second = 24 + 16 + 60;
    bytes[second + 8..second + 12].copy_from_slice(&0xffff_fff0_u32.to_le_bytes());
    let (records, problems) = read(&bytes).unwrap_or_default();
    assert_eq!((records.len(), problems.len()), (1, 1));
    assert_eq!(problems[0].offset, second as u64);
    let message = &problems[0].message;
    assert!(message.contains("4294967280 bytes"), "{message}");
    assert!(message.ends_with("packets read before: 1"), "{message}");
}

#[test]
fn behind_a_damaged_block_of_pcapng_the_next_one_is_read() {
    let whole = pcapng();
    let (all, _) = read(&whole).unwrap_or_default();
    let at = packet_blocks(&whole)[1];
    // Either length, the type, the interface, the captured length.
    let words = [4, packet_blocks(&whole)[2] - at - 4, 0, 8, 20];
    for (at, bit) in words.iter().flat_map(|word| (0..32).map(move |bit| (at + word, bit))) {
        let mut bytes = whole.clone();
        bytes[at + bit / 8] ^= 1 << (bit % 8);
        let (records, problems) = read(&bytes).unwrap_or_default();
        let ends = (records.first(), records.last());
        assert_eq!(ends, (all.first(), all.last()), "{at} {bit} {problems:?}");
        assert!(records.len() >= 2 && problems.len() <= 1, "{at} {bit} {problems:?}");
        let told = problems.iter().all(|one| one.message.ends_with("packets read before: 1"));
        assert!(told, "{problems:?}");
    }
    // Both lengths, so that nothing agrees up to the next block.
    let mut bytes = whole.clone();
    let length = (packet_blocks(&whole)[2] - at) as u32;
    bytes[at + 4..at + 8].copy_from_slice(&0x7fff_fffc_u32.to_le_bytes());
    bytes[at + length as usize - 4] ^= 4;
    let (records, problems) = read(&bytes).unwrap_or_default();
    assert_eq!(records, [all[0].clone(), all[2].clone()]);
    let next = at as u64 + u64::from(length);
    let message =
        format!("a block of 2147483644 bytes: skipped to byte {next}; packets read before: 1");
    assert_eq!(problems, [Problem { offset: at as u64, message }]);
}

#[test]
fn of_damaged_compressed_data_what_is_before_is_read() {
    let frames: Vec<_> = (0..4000_u32).map(|number| number.to_le_bytes().repeat(64)).collect();
    let frames: Vec<_> = frames.iter().map(|frame| (1, 2, &frame[..])).collect();
    let whole = pcap(MICROSECONDS, false, 1, &frames);
    let mut gzip = flate2::read::GzEncoder::new(&whole[..], flate2::Compression::fast());
    let mut zipped = Vec::new();
    assert!(std::io::Read::read_to_end(&mut gzip, &mut zipped).is_ok());
    zipped.truncate(zipped.len() / 2);
    let mut file = match CaptureFile::open(&zipped[..]) {
        Ok(file) => file,
        Err(error) => panic!("{error}"),
    };
    let mut count = 0;
    let error = file.read(|_| count += 1).map_err(|error| error.to_string());
    assert!((1900..2100).contains(&count), "{count}");
    let told = format!("packets read before: {count}");
    assert!(error.as_ref().is_err_and(|error| error.ends_with(&told)), "{error:?}");
}

#[test]
fn packets_of_undeclared_interfaces_are_left_out() {
    let mut bytes = pcapng();
    let at = packet_blocks(&bytes)[0];
    bytes[at + 8] = 9;
    let (records, problems) = read(&bytes).unwrap_or_default();
    assert_eq!(records.len(), 2);
    assert!(problems[0].message.contains("interface 9, which is not declared"));
}

#[test]
fn what_is_no_capture_is_refused() {
    for bytes in [&b""[..], b"dumbbell: 1\nname: x", &[0x1f, 0x8b, 8, 0, 1], &[0; 100]] {
        assert!(read(bytes).is_none());
    }
}

/// IPv4 packet with this flags and offset field, protocol and payload.
fn ipv4(identification: u8, field: u16, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let total = (20 + payload.len()) as u16;
    let mut out = vec![0x45, 0];
    out.extend(total.to_be_bytes());
    out.extend([0, identification]);
    out.extend(field.to_be_bytes());
    out.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    out.extend(payload);
    out
}

fn of(link: u32, frames: &[Vec<u8>]) -> Survey {
    let frames: Vec<_> = frames.iter().map(|frame| (1, 2, &frame[..])).collect();
    survey(&pcap(MICROSECONDS, false, link, &frames))
}

#[test]
fn ports_are_found_behind_every_link_layer() {
    let packet = ipv4(1, 0, 17, &[0, 53, 4, 0, 0, 8, 0, 0]);
    let mut ipv6 = vec![0x60, 0, 0, 0, 0, 16, 0, 64];
    ipv6.extend([1; 16].iter().chain(&[2; 16]));
    ipv6.extend([17, 0, 0, 0, 0, 0, 0, 0]); // hop-by-hop options
    ipv6.extend([0, 53, 4, 0, 0, 8, 0, 0]);
    let behind = |head: &[u8]| [head, &packet[..]].concat();
    let mut tagged = vec![0; 12];
    tagged.extend([0x81, 0, 0, 5, 0x81, 0, 0, 6, 8, 0]);
    let mut ethernet6 = vec![0; 12];
    ethernet6.extend([0x86, 0xdd]);
    ethernet6.extend(&ipv6);
    let mut cooked2 = vec![8, 0];
    cooked2.extend([0; 18]);
    for (link, frame) in [
        (1, behind(&tagged)),
        (1, ethernet6),
        (0, behind(&[2, 0, 0, 0])),
        (101, packet.clone()),
        (101, ipv6),
        (113, behind(&[[0; 14].as_slice(), &[8, 0]].concat())),
        (276, behind(&cooked2)),
    ] {
        let found = of(link, &[frame]);
        let udp: Vec<_> =
            found.conversations.iter().filter(|c| c.kind == ConversationKind::Udp).collect();
        assert_eq!(udp.len(), 1, "link {link}");
        assert_eq!((udp[0].a.1, udp[0].b.1), (53, 1024), "link {link}");
    }
    assert_eq!(of(147, &[packet]).other, 1);
}

#[test]
fn a_datagram_in_fragments_counts_once_where_it_is_complete() {
    let udp = [0, 53, 4, 0, 0, 32, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];
    let parts = [ipv4(1, 0x2002, 17, &[2; 8]), ipv4(1, 0x2000, 17, &udp), ipv4(1, 3, 17, &[3; 8])];
    let found = of(101, &parts);
    let counted: Vec<_> = found.conversations.iter().map(|c| (c.kind, c.counted[0])).collect();
    assert_eq!(counted[0].1.packets, 3);
    assert_eq!(
        (counted[1].0, counted[1].1.packets, counted[1].1.bytes),
        (ConversationKind::Udp, 1, 28)
    );
    // An incomplete packet does not count.
    assert_eq!(of(101, &parts[..2]).conversations.len(), 1);
}

#[test]
fn another_connection_between_the_same_ports_is_another_conversation() {
    let syn = |sequence: u8, flags: u8| {
        let mut tcp = vec![0x9c, 0x40, 0, 80, 0, 0, 0, sequence, 0, 0, 0, 0, 0x50, flags];
        tcp.extend([0; 6]);
        ipv4(1, 0, 6, &tcp)
    };
    // SYN, its repetition, an ACK; then a SYN with another number.
    let found = of(101, &[syn(1, 2), syn(1, 2), syn(9, 16), syn(5, 2), syn(9, 16)]);
    let tcp: Vec<_> =
        found.conversations.iter().filter(|c| c.kind == ConversationKind::Tcp).collect();
    let packets: Vec<_> = tcp.iter().map(|c| c.counted[0].packets).collect();
    assert_eq!(packets, [3, 2]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nothing_that_is_changed_makes_it_fail(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in any::<prop::sample::Index>(),
        ng in any::<bool>(),
    ) {
        let frame = ipv4(1, 0x2000, 17, &[0; 30]);
        let mut bytes = if ng {
            pcapng()
        } else {
            pcap(NANOSECONDS, true, 101, &[(1, 2, &frame), (1, 3, &frame), (2, 0, &frame)])
        };
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        let found = survey(&bytes);
        prop_assert!(found.total.packets <= bytes.len() as u64);
    }

    #[test]
    fn frames_of_any_bytes_are_read(
        link in prop::sample::select(vec![0_u16, 1, 101, 113, 276]),
        frame in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = dumbbell_capture::decode::ip_packet(LinkType::of(link), &frame, frame.len() as u32);
    }
}
