//! Lines of the shell in a script, run as root of the guest.

use crate::sys;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

/// Folder of programs that the host may lack.
const PROGRAMS: &str = "/run/programs";

/// Makes `ethtool` this program, for hosts that have none.
pub(super) fn prepare() -> std::io::Result<()> {
    std::fs::create_dir(PROGRAMS)?;
    symlink("/proc/1/exe", format!("{PROGRAMS}/ethtool"))
}

/// `ethtool -K DEVICE FEATURE on|off …`. Other features than offloads of packets are as they are.
pub(crate) fn ethtool(words: &[String]) -> Result<(), String> {
    let [switch, device, features @ ..] = words else {
        return Err("ethtool: expected -K DEVICE FEATURE on|off".to_owned());
    };
    if switch != "-K" {
        return Err(format!("ethtool: only -K is known here, not {switch}"));
    }
    for pair in features.chunks(2) {
        let [name, state] = pair else {
            return Err("ethtool: each feature needs on or off".to_owned());
        };
        // lro: tun has none.
        if name != "lro" {
            sys::set_offload(device, name, state == "on").map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// Longest output that a message shows, in bytes.
const SHOWN: usize = 300;

/// Runs a command in the script's folder, as packetdrill does: with its variables.
pub(super) fn run(given: &str, folder: &Path) -> Result<(), String> {
    let pid = std::process::id().to_string();
    // `set_sysctls.py` names its file by this variable, and scripts name it by their parent's number.
    let line = given.replace("${PPID}", &pid);
    // The host says which command was running, if it ends the guest.
    say(&format!("shell: {}", shown(given)));
    let output = Command::new("/bin/sh")
        .args(["-c", &line])
        .current_dir(folder)
        .env("PATH", format!("/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin:{PROGRAMS}"))
        .env("PACKETDRILL_PID", &pid)
        .env("TMPDIR", "/tmp")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("`{}`: {error}", shown(&line)))?;
    say("shell ended");
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = shown(&said);
    let why = if said.is_empty() { String::new() } else { format!(": {said}") };
    Err(format!("`{}` failed with {}{why}", shown(&line), output.status))
}

/// A line on the console.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// The beginning of a text, without control characters.
fn shown(text: &str) -> String {
    let plain = text.trim().chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    plain.take(SHOWN).collect()
}
