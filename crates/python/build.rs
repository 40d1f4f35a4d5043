//! Derives the simulator's version from its sources: two builds that could give different results
//! never share an entry in a store.

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The crates whose sources decide what a run gives.
const CRATES: [&str; 5] = ["capture", "model", "packet", "cc", "sim"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, found)?;
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

#[allow(clippy::print_stdout, reason = "how a build script speaks to cargo")]
fn main() -> io::Result<()> {
    // Relative to this package, where cargo starts build scripts: two checkouts may share a target
    // folder.
    let root = Path::new("..");
    let mut found = Vec::new();
    for name in CRATES {
        let folder = root.join(name).join("src");
        println!("cargo:rerun-if-changed={}", folder.display());
        sources(&folder, &mut found)?;
    }
    found.sort();
    let mut hasher = Sha256::new();
    for path in &found {
        let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
        let text = fs::read(path)?;
        hasher.update((name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(&text);
    }
    let hash: String = hasher.finalize().iter().take(6).map(|b| format!("{b:02x}")).collect();
    println!("cargo:rustc-env=DUMBBELL_SIM_SOURCES={hash}");
    Ok(())
}
