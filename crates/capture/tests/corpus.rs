//! The corpora of the fuzz targets (`fuzz/`), replayed.

#[path = "../../../fuzz/targets.rs"]
mod targets;

use std::path::Path;

fn replay(name: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let Ok(entries) = std::fs::read_dir(&folder) else { panic!("{} is missing", folder.display()) };
    let mut files = 0;
    for entry in entries.flatten() {
        let Ok(bytes) = std::fs::read(entry.path()) else { panic!("{:?}", entry.path()) };
        target(&bytes);
        files += 1;
    }
    assert!(files > 10, "{name}: {files} files");
}

#[test]
fn pcap() {
    replay("pcap", targets::pcap);
}

#[test]
fn pcapng() {
    replay("pcapng", targets::pcapng);
}

#[test]
fn headers() {
    replay("headers", targets::headers);
}

#[test]
fn analysis() {
    replay("analysis", targets::analysis);
}
