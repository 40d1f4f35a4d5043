//! Identity of a program: a hash over its sources. Build scripts put it into the versions of the
//! simulator and of the guest program, so that a store never mixes runs of different programs.
//!
//! The hash covers the sources, C headers and manifests of a workspace package and of all workspace packages
//! that it depends on (`cargo metadata`), and `Cargo.lock`, which fixes all other packages.

use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Length of the displayed hash, bytes.
const SHOWN_BYTES: usize = 6;

/// Identity of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Names of its workspace packages.
    pub packages: BTreeSet<String>,
    /// Directories and files covered by the hash.
    pub places: Vec<PathBuf>,
    /// Hash as twelve hexadecimal digits.
    pub hash: String,
}

/// Computes the identity of a package.
///
/// `manifest` is the `Cargo.toml` of any package of the workspace, `package` the name of the package to identify.
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
        places.extend(Some(manifest.with_file_name("include")).filter(|folder| folder.is_dir()));
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

/// Sets `variable` to the identity of `package`, for a build script. Cargo reruns the script when
/// any file of the package changes.
///
/// # Errors
/// As [`identity`].
#[allow(clippy::print_stdout, reason = "how a build script speaks to cargo")]
pub fn set_cargo_variable(package: &str, variable: &str) -> Result<()> {
    let folder = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let found = identity(&Path::new(&folder).join("Cargo.toml"), package)?;
    for place in &found.places {
        println!("cargo:rerun-if-changed={}", place.display());
    }
    println!("cargo:rustc-env={variable}={}", found.hash);
    Ok(())
}

/// Metadata of the workspace's packages. Downloads nothing.
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

/// Names of a workspace package and all its workspace dependencies, without dev-dependencies.
fn closure(metadata: &serde_json::Value, package: &str) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![package.to_owned()];
    while let Some(name) = waiting.pop() {
        let member = members(metadata)
            .find(|member| text(member, "name") == name)
            .ok_or_else(|| Error::other(format!("no package {name} in this workspace")))?;
        let needs = member["dependencies"].as_array().into_iter().flatten();
        // `kind` is null for normal dependencies; else `dev` or `build`.
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

/// Collects a file, or all files in a directory.
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
