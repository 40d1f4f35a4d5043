//! File formats other than the two of pcap, and damaged compressed files.

use dumbbell_capture::{CaptureFile, LinkType, Problem};
use std::io::Write;

/// Timestamp, link type, length on the wire, captured bytes.
type Row = (Option<i64>, LinkType, u32, Vec<u8>);

/// Records, problems and read error; `None` if the file is no capture.
fn read(bytes: &[u8]) -> Option<(Vec<Row>, Vec<Problem>, Option<String>)> {
    let mut file = CaptureFile::open(bytes).ok()?;
    let mut found = Vec::new();
    let done = file.read(|record| {
        found.push((record.time_ns, record.link, record.original_bytes, record.data.to_vec()));
    });
    Some((found, file.problems().to_vec(), done.err().map(|error| error.to_string())))
}

fn pcap(magic: u32, big_endian: bool, more: usize, frames: &[&[u8]]) -> Vec<u8> {
    let word = |number: u32| match big_endian {
        true => number.to_be_bytes(),
        false => number.to_le_bytes(),
    };
    let version = if big_endian { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
    let mut out = [word(magic), version, word(0), word(0), word(65_535), word(1)].concat();
    for data in frames {
        let length = data.len() as u32;
        out.extend([word(3), word(250), word(length), word(length + 9)].concat());
        out.extend(vec![7; more]);
        out.extend(*data);
    }
    out
}

#[test]
fn modified_pcap_has_longer_record_headers() {
    let frames: [&[u8]; 2] = [&[1; 60], &[2; 61]];
    for big_endian in [false, true] {
        let bytes = pcap(0xa1b2_cd34, big_endian, 8, &frames);
        let (found, problems, _) = read(&bytes).unwrap_or_default();
        let stamp = Some(3_000_250_000);
        let expected =
            frames.map(|data| (stamp, LinkType::ETHERNET, data.len() as u32 + 9, data.to_vec()));
        assert_eq!((found, problems), (expected.to_vec(), vec![]));
        let (found, problems, _) = read(&bytes[..bytes.len() - 1]).unwrap_or_default();
        assert_eq!((found.len(), problems.len()), (1, 1));
    }
}

fn snoop(link: u32, frames: &[&[u8]]) -> Vec<u8> {
    let mut out = b"snoop\0\0\0".to_vec();
    out.extend([2_u32.to_be_bytes(), link.to_be_bytes()].concat());
    for data in frames {
        let kept = data.len() as u32;
        let whole = (24 + kept).next_multiple_of(4);
        for number in [kept + 9, kept, whole, 0, 3, 250] {
            out.extend(u32::to_be_bytes(number));
        }
        out.extend(*data);
        out.resize(out.len() + (whole - 24 - kept) as usize, 0);
    }
    out
}

#[test]
fn snoop_is_read() {
    let frames: [&[u8]; 2] = [&[1; 61], &[2; 62]];
    for (link, name) in [(4, "Ethernet"), (0, "Ethernet"), (8, "FDDI"), (9, "snoop data link 9")] {
        let (found, problems, _) = read(&snoop(link, &frames)).unwrap_or_default();
        assert_eq!(problems, []);
        let rows: Vec<_> = found.iter().map(|row| (row.0, row.2, &row.3[..])).collect();
        let stamp = Some(3_000_250_000);
        assert_eq!(rows, [(stamp, 70, frames[0]), (stamp, 71, frames[1])]);
        assert!(found.iter().all(|row| row.1.to_string() == name), "{name}");
    }
}

#[test]
fn snoop_that_lies_or_is_cut_off_is_reported() {
    let whole = snoop(4, &[&[1; 61], &[2; 62]]);
    for cut in 16..whole.len() {
        let (found, problems, _) = read(&whole[..cut]).unwrap_or_default();
        // Between two records, and in the padding after a record, nothing is missing.
        let complete = [16..17, 101..105, 190..193].iter().position(|ends| ends.contains(&cut));
        assert_eq!(problems.is_empty(), complete.is_some(), "{cut}");
        assert_eq!(found.len(), [101, 190].iter().filter(|&&end| cut >= end).count(), "{cut}");
    }
    let mut bytes = whole;
    for (at, value) in [(20, 0x7fff_ffff_u32), (24, 12), (24, 0xffff_ffff)] {
        let kept = bytes[at..at + 4].to_vec();
        bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
        let (found, problems, _) = read(&bytes).unwrap_or_default();
        assert_eq!((found.len(), problems.len(), problems[0].offset), (0, 1, 16));
        bytes[at..at + 4].copy_from_slice(&kept);
    }
}

fn packed(bytes: &[u8]) -> [(&'static str, Vec<u8>); 3] {
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut gzip = gzip;
    let zstd =
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest);
    let options = lzma_rust2::XzOptions::with_preset(1);
    let Ok(mut xz) = lzma_rust2::XzWriter::new(Vec::new(), options) else { panic!("xz") };
    assert!(gzip.write_all(bytes).is_ok() && xz.write_all(bytes).is_ok());
    let (Ok(gzip), Ok(xz)) = (gzip.finish(), xz.finish()) else { panic!("packing") };
    [("gzip", gzip), ("zstd", zstd), ("xz", xz)]
}

/// Incompressible frames.
fn noise() -> Vec<u8> {
    let mut state = 1_u32;
    let frame: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 27) as u8
    })
    .take(200)
    .collect();
    pcap(0xa1b2_c3d4, false, 0, &[&frame, &frame[50..], &frame[9..]])
}

#[test]
fn compressed_files_are_read_also_several_one_after_the_other() {
    let bytes = noise();
    let whole = read(&bytes);
    let (first, second) = bytes.split_at(77);
    for ((name, all), (one, other)) in
        packed(&bytes).into_iter().zip(packed(first).into_iter().zip(packed(second)))
    {
        assert_eq!(read(&all), whole, "{name}");
        assert_eq!(read(&[one.1, other.1].concat()), whole, "{name}");
    }
}

#[test]
fn all_damage_to_a_compressed_file_is_reported() {
    let bytes = noise();
    let whole = read(&bytes);
    for (name, packed) in packed(&bytes) {
        let mut reported = 0;
        for bit in 0..packed.len() * 8 {
            let mut damaged = packed.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let found = read(&damaged);
            let silent = matches!(&found, Some((_, problems, None)) if problems.is_empty());
            // The time and the operating system in gzip's header are ignored.
            assert!(!silent || found == whole, "{name}: bit {bit}");
            reported += usize::from(!silent);
        }
        assert!(reported * 10 > packed.len() * 8 * 9, "{name}: {reported} of {}", packed.len() * 8);
        for cut in 0..packed.len() {
            let found = read(&packed[..cut]);
            let silent = matches!(&found, Some((_, problems, None)) if problems.is_empty());
            assert!(!silent || found == whole, "{name}: cut at {cut}");
        }
    }
}

#[test]
fn a_dictionary_of_xz_that_asks_for_gigabytes_is_refused() {
    let [.., (_, mut xz)] = packed(&noise());
    // Block header: size, flags, LZMA2, length of properties, dictionary of 3 GiB; then its sum.
    assert_eq!(xz[12 + 2..12 + 4], [0x21, 1]);
    xz[12 + 4] = 39;
    let end = 12 + 4 * (usize::from(xz[12]) + 1) - 4;
    let mut sum = flate2::Crc::new();
    sum.update(&xz[12..end]);
    xz[end..end + 4].copy_from_slice(&sum.sum().to_le_bytes());
    assert!(matches!(CaptureFile::open(&xz[..]), Err(dumbbell_capture::file::OpenError::Io(_))));
}
