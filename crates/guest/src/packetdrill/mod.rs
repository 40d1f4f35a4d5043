//! Plays a packetdrill script on this guest's kernel: a device of packets that the script sees, an
//! application that makes the script's calls, lines of the shell as root.
//!
//! The run's folder has [`PLAN`]; the program writes [`RESULT`].

mod calls;
mod shell;
mod state;
mod system;

use crate::{Failure, OUT};
use dumbbell_packetdrill::settings::{version_named, Version};
use dumbbell_packetdrill::{play, Played, Script, Settings};
use serde_json::{json, Value};
use std::fs;
use std::path::{Path, PathBuf};
pub(crate) use shell::ethtool;
use system::Guest;

/// Name of the file with the script: `script`, its `folder`, `define`, `options`, `ip_version`.
const PLAN: &str = "packetdrill.json";
/// Name of the file with what came of it.
const RESULT: &str = "played.json";
/// The host's files, read-only.
const HOST: &str = "/run/host";

/// True if the run is a script.
pub(crate) fn is_asked() -> bool {
    Path::new(OUT).join(PLAN).exists()
}

/// Plays the script.
pub(crate) fn run() -> Result<(), Failure> {
    let plan: Value = serde_json::from_str(&fs::read_to_string(Path::new(OUT).join(PLAN))?)?;
    let text = |name: &str| plan[name].as_str().unwrap_or_default().to_owned();
    let list = |name: &str| plan[name].as_array().cloned().unwrap_or_default();
    let defined: Vec<(String, String)> = list("define").iter().filter_map(pair).collect();
    let played = match settled(&text("script"), &defined, &text("ip_version"), &list("options")) {
        Ok((script, settings)) => {
            prepare()?;
            let folder = PathBuf::from(format!("{HOST}{}", text("folder")));
            let mut guest = Guest::new(&settings, folder)?;
            guest.watch_calls(|line, message| {
                let failure = dumbbell_packetdrill::Failure { line, message, packets: None };
                let played = Played { failure: Some(failure), ..Played::default() };
                let _ = write(&played);
                let _ = nix::sys::reboot::reboot(nix::sys::reboot::RebootMode::RB_POWER_OFF);
            });
            play(&script, &settings, &mut guest)
        }
        Err(wrong) => {
            let failure = dumbbell_packetdrill::Failure {
                line: wrong.line,
                message: wrong.message,
                packets: None,
            };
            Played { failure: Some(failure), ..Played::default() }
        }
    };
    write(&played)
}

fn pair(value: &Value) -> Option<(String, String)> {
    Some((value[0].as_str()?.to_owned(), value[1].as_str()?.to_owned()))
}

/// The script and its settings: those of the version of IP, then the script's, then the plan's.
fn settled(
    text: &str,
    defined: &[(String, String)],
    version: &str,
    options: &[Value],
) -> Result<(Script, Settings), dumbbell_packetdrill::Wrong> {
    let version = version_named(version).unwrap_or(Version::V4);
    let script = Script::parse(text, defined, version)?;
    let mut settings = Settings::of(script.version);
    settings.apply(&script.options)?;
    let option = |(name, value)| dumbbell_packetdrill::script::ScriptOption {
        line: 0,
        name,
        value: Some(value),
    };
    let given: Vec<_> = options.iter().filter_map(pair).map(option).collect();
    settings.apply(&given)?;
    Ok((script, settings))
}

/// Folders for scripts: a writable `/tmp`, the host's files.
fn prepare() -> Result<(), Failure> {
    use nix::mount::{mount, MsFlags};
    let none: Option<&str> = None;
    fs::create_dir(HOST)?;
    mount(Some("none"), HOST, Some("hostfs"), MsFlags::MS_RDONLY, Some("/"))?;
    mount(Some("tmpfs"), "/tmp", Some("tmpfs"), MsFlags::empty(), none)?;
    shell::prepare()?;
    Ok(())
}

fn write(played: &Played) -> Result<(), Failure> {
    let failure = played.failure.as_ref().map(|failure| {
        json!({
            "line": failure.line,
            "message": failure.message,
            "expected": failure.packets.as_ref().map(|packets| &packets.0),
            "sent": failure.packets.as_ref().map(|packets| &packets.1),
        })
    });
    let seen: Vec<Value> = played
        .seen
        .iter()
        .map(|seen| json!([seen.line, seen.expected_us, seen.at_us]))
        .collect();
    let code: Vec<Value> = played
        .code
        .iter()
        .map(|code| json!({"line": code.line, "text": code.text, "values": code.values}))
        .collect();
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let result = json!({
        "failure": failure, "seen": seen, "code": code, "kernel": release.trim(),
    });
    let unfinished = Path::new(OUT).join(format!("{RESULT}.new"));
    fs::write(&unfinished, result.to_string())?;
    fs::rename(&unfinished, Path::new(OUT).join(RESULT))?;
    Ok(())
}
