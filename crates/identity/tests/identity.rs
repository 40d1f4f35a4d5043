//! The identity changes with any file of the program, and with no other file.

use dumbbell_identity::identity;
use std::fs;
use std::io::Result;
use std::path::{Path, PathBuf};

fn copy(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    fs::copy(from, to).map(drop)
}

/// Copy of this workspace's manifests and sources in a temporary directory.
fn workspace() -> Result<(tempfile::TempDir, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let folder = tempfile::tempdir()?;
    for name in ["Cargo.toml", "Cargo.lock"] {
        copy(&root.join(name), &folder.path().join(name))?;
    }
    for entry in fs::read_dir(root.join("crates"))? {
        let from = entry?.path();
        let to = folder.path().join("crates").join(from.file_name().unwrap_or_default());
        fs::create_dir_all(&to)?;
        for name in ["Cargo.toml", "src", "build.rs"] {
            if from.join(name).exists() {
                copy(&from.join(name), &to.join(name))?;
            }
        }
    }
    let manifest = folder.path().join("crates/model/Cargo.toml");
    Ok((folder, manifest))
}

/// Identity of `package` while a file has one more byte. Restores the file.
fn with_a_byte_more(file: &Path, manifest: &Path, package: &str) -> Result<String> {
    let before = fs::read(file)?;
    fs::write(file, [before.as_slice(), b"\n"].concat())?;
    let found = identity(manifest, package);
    fs::write(file, before)?;
    found.map(|found| found.hash)
}

#[test]
fn a_byte_in_any_package_that_decides_a_run_changes_the_identity() -> Result<()> {
    let (folder, manifest) = workspace()?;
    for (package, least, others) in [
        (
            "dumbbell-sim",
            ["sim", "model", "packet", "plugin", "cc", "capture", "stack", "web"].as_slice(),
            "trace",
        ),
        (
            "dumbbell-guest",
            ["guest", "model", "packet", "capture", "quinn", "stack", "web"].as_slice(),
            "sim",
        ),
    ] {
        let before = identity(&manifest, package)?;
        assert_eq!(before, identity(&manifest, package)?);
        for name in least {
            assert!(before.packages.contains(&format!("dumbbell-{name}")), "{package}: {name}");
        }
        let mut seen = vec![before.hash.clone()];
        for name in &before.packages {
            let of = folder.path().join("crates").join(name.trim_start_matches("dumbbell-"));
            let entry = ["src/lib.rs", "src/main.rs"].map(|file| of.join(file));
            for file in
                entry.into_iter().filter(|file| file.exists()).chain([of.join("Cargo.toml")])
            {
                seen.push(with_a_byte_more(&file, &manifest, package)?);
            }
        }
        seen.push(with_a_byte_more(&folder.path().join("Cargo.lock"), &manifest, package)?);
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), count, "{package}: a change left the identity as it was");
        let other = folder.path().join("crates").join(others).join("src/lib.rs");
        assert_eq!(with_a_byte_more(&other, &manifest, package)?, before.hash);
        assert_eq!(identity(&manifest, package)?, before);
    }
    Ok(())
}

#[test]
fn a_package_that_is_not_there_is_named() -> Result<()> {
    let (_folder, manifest) = workspace()?;
    let error = identity(&manifest, "dumbbell-none").expect_err("there is none");
    assert_eq!(error.to_string(), "no package dumbbell-none in this workspace");
    Ok(())
}
