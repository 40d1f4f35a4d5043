//! What a program is made of, as a hash. Build scripts put it into the versions of the simulator and
//! of the guest's program, so that a store never mixes runs of two programs that could differ.
//!
//! The hash is over the sources and the manifest of a package of this workspace, of every package of
//! the workspace that it depends on (`cargo metadata`), and over `Cargo.lock`, which fixes all others.

use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Bytes of the hash that are shown, as hexadecimal digits.
const SHOWN_BYTES: usize = 6;

/// A program's identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Names of the packages of the workspace that it is made of.
    pub packages: BTreeSet<String>,
    /// The folders and files it was derived from.
    pub places: Vec<PathBuf>,
    /// Twelve hexadecimal digits.
    pub hash: String,
}

/// Derives the identity of a package.
///
/// `manifest`: the `Cargo.toml` of any package of the workspace; `package`: the name of the one asked
/// about.
///
/// # Errors
/// If cargo cannot be run, there is no such package, or a file cannot be read.
pub fn identity(manifest: &Path, package: &str) -> Result<Identity> {
    let metadata = metadata(manifest)?;
    let packages = closure(&metadata, package)?;
    let root = PathBuf::from(metadata["workspace_root"].as_str().unwrap_or_default());
    let mut places = vec![root.join("Cargo.lock")];
    for found in members(&metadata).filter(|found| packages.contains(text(found, "name"))) {
        let manifest = PathBuf::from(text(found, "manifest_path"));
        places.push(manifest.with_file_name("src"));
        places.push(manifest);
    }
    let mut files = Vec::new();
    for place in &places {
        collect(place, &mut files)?;
    }
    files.sort();
    let mut hasher = Sha256::new();
    for file in &files {
        let name = file.strip_prefix(&root).unwrap_or(file).to_string_lossy();
        for part in [name.as_bytes(), &fs::read(file)?] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    let hash = hasher.finalize().iter().take(SHOWN_BYTES).map(|b| format!("{b:02x}")).collect();
    Ok(Identity { packages, places, hash })
}

/// For a build script: sets `variable` to the identity of `package`, and has cargo run the script
/// again when any of its files changes.
///
/// # Errors
/// As [`identity`].
#[allow(clippy::print_stdout, reason = "how a build script speaks to cargo")]
pub fn tell_cargo(package: &str, variable: &str) -> Result<()> {
    let folder = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let found = identity(&Path::new(&folder).join("Cargo.toml"), package)?;
    for place in &found.places {
        println!("cargo:rerun-if-changed={}", place.display());
    }
    println!("cargo:rustc-env={variable}={}", found.hash);
    Ok(())
}

/// What cargo says of the workspace's packages. Nothing is fetched.
fn metadata(manifest: &Path) -> Result<serde_json::Value> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let done = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"])
        .arg(manifest)
        .output()?;
    if !done.status.success() {
        return Err(Error::other(String::from_utf8_lossy(&done.stderr).into_owned()));
    }
    serde_json::from_slice(&done.stdout).map_err(Error::other)
}

/// A package of the workspace with all that it depends on there, tests left out.
fn closure(metadata: &serde_json::Value, package: &str) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![package.to_owned()];
    while let Some(name) = waiting.pop() {
        let member = members(metadata)
            .find(|member| text(member, "name") == name)
            .ok_or_else(|| Error::other(format!("no package {name} in this workspace")))?;
        let needs = member["dependencies"].as_array().into_iter().flatten();
        // `kind` is null for what the program itself is made of; else `dev` or `build`.
        let within = needs.filter(|need| need["path"].is_string() && need["kind"].is_null());
        waiting.extend(
            within.map(|need| text(need, "name").to_owned()).filter(|name| !found.contains(name)),
        );
        found.insert(name);
    }
    Ok(found)
}

fn members(metadata: &serde_json::Value) -> impl Iterator<Item = &serde_json::Value> {
    metadata["packages"].as_array().into_iter().flatten()
}

fn text<'a>(value: &'a serde_json::Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// A file, or all files below a folder.
fn collect(place: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    if place.is_dir() {
        for entry in fs::read_dir(place)? {
            collect(&entry?.path(), found)?;
        }
    } else {
        found.push(place.to_owned());
    }
    Ok(())
}
