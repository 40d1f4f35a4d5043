//! Plays a packetdrill script on this guest's kernel: a device of packets that the script sees, an
//! application that makes the script's calls, lines of the shell as root.
//!
//! The run's folder has [`PLAN`]; the program writes [`RESULT`].

mod calls;
mod shell;
mod state;
mod system;

use crate::{Failure, OUT};
use dumbbell_packetdrill::exchange::Plan;
use dumbbell_packetdrill::{play, Played, Wrong};
use nix::sys::reboot::{reboot, RebootMode};
pub(crate) use shell::ethtool;
use std::fs;
use std::path::{Path, PathBuf};
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
    let plan = Plan::read(&fs::read_to_string(Path::new(OUT).join(PLAN))?)?;
    let played = match plan.script {
        Ok((script, settings)) => {
            prepare()?;
            let mut guest = Guest::new(&settings, PathBuf::from(format!("{HOST}{}", plan.folder)))?;
            guest.watch_calls(|line, message| {
                let _ = write(&Wrong { line, message }.into());
                let _ = reboot(RebootMode::RB_POWER_OFF);
            });
            play(&script, &settings, &mut guest)
        }
        Err(wrong) => wrong.into(),
    };
    write(&played)
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
    let unfinished = Path::new(OUT).join(format!("{RESULT}.new"));
    fs::write(&unfinished, played.to_json().to_string())?;
    fs::rename(&unfinished, Path::new(OUT).join(RESULT))?;
    Ok(())
}
