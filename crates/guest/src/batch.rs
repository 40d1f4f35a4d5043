//! Runs lines of `ip` and `tc`.

use std::fs;
use std::io::{Error, Result};
use std::process::{Command, Stdio};

/// Folder of tables of distributions.
pub(crate) const TABLES: &str = "/run/tc";

/// Adds context to an error.
pub(crate) fn because(what: &str, error: &dyn std::fmt::Display) -> Error {
    Error::other(format!("{what}: {error}"))
}

/// `ip` or `tc`, found without the environment of the caller.
pub(crate) fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env("TC_LIB_DIR", TABLES).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command
}

/// Runs lines with `ip -batch` or `tc -batch`, without a shell.
pub(crate) fn batch(name: &str, lines: &[String]) -> Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let file = "/run/batch";
    fs::write(file, lines.join("\n") + "\n")?;
    let output = program(name)
        .args(["-batch", file])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| because(name, &error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let why =
        if said.trim().is_empty() { output.status.to_string() } else { said.trim().to_owned() };
    Err(Error::other(format!("{name}: {why}\n{}", lines.join("\n"))))
}
