//! The corpora of the fuzz targets (`fuzz/`), replayed.

#[path = "../../../fuzz/targets.rs"]
mod targets;

use proptest::prelude::*;
use std::path::Path;

/// The files of a corpus.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let Ok(entries) = std::fs::read_dir(&folder) else { panic!("{} is missing", folder.display()) };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let read = |path| match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => panic!("{error}"),
    };
    paths.iter().map(read).collect()
}

fn replay(name: &str, target: fn(&[u8])) {
    let files = corpus(name);
    assert!(files.len() > 10, "{name}: {} files", files.len());
    files.iter().for_each(|bytes| target(bytes));
}

/// Files of a corpus with some bytes changed, and truncated.
fn changed(name: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    let files: Vec<_> = corpus(name).into_iter().filter(|bytes| bytes.len() > 1).collect();
    let cut = prop_oneof![3 => Just(None), 1 => any::<prop::sample::Index>().prop_map(Some)];
    (prop::sample::select(files), changes, cut).prop_map(|(mut bytes, changes, cut)| {
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len()) + 1));
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn headers_like_those_of_the_corpus(bytes in changed("headers")) {
        targets::headers(&bytes);
    }

    #[test]
    fn icmp_errors_like_those_of_the_corpus(bytes in changed("icmp")) {
        targets::icmp(&bytes);
    }

    #[test]
    fn files_like_those_of_the_corpus(bytes in changed("pcapng")) {
        targets::pcapng(&bytes);
    }
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

#[test]
fn icmp() {
    replay("icmp", targets::icmp);
}
