//! `supervise CPU COMMAND…` on the host: runs a guest and removes all its processes, even if the
//! launcher is killed.
//!
//! User-Mode Linux consists of several processes; one of them, a helper for terminals, outlives the
//! others. They form one process group. It is killed when the first process ends, or when standard
//! input closes. The launcher holds the other end of standard input. The supervisor ends after the
//! last process of the group.

use crate::sys;
use nix::sched::{sched_setaffinity, CpuSet};
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{killpg, Signal};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};

/// Runs a command until it ends or standard input closes, on the processor with the number `CPU` (`-`:
/// any). Kernel and programs of a guest alternate, and a wake-up on another processor costs more than
/// the work that follows it.
///
/// # Errors
/// Fails if the command cannot be started or its processes cannot be adopted.
pub(crate) fn supervise(words: &[String]) -> Result<ExitStatus> {
    let [cpu, program, arguments @ ..] = words else {
        return Err(Error::new(ErrorKind::InvalidInput, "supervise what, and where?"));
    };
    if let Ok(cpu) = cpu.parse() {
        let mut only = CpuSet::new();
        only.set(cpu)?;
        sched_setaffinity(Pid::from_raw(0), &only)?;
    }
    // Processes whose parent has ended become children of this one, which can wait for them.
    set_child_subreaper(true)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).process_group(0);
    sys::with_fixed_addresses(&mut command);
    let mut child = command.spawn().map_err(|error| {
        let hint = match error.kind() {
            // A seccomp profile answers EPERM (Docker) or ENOSYS (Podman).
            ErrorKind::PermissionDenied | ErrorKind::Unsupported => {
                " (personality changes refused, as by a container's seccomp profile, or no right to run it)"
            }
            _ => "",
        };
        Error::other(format!("{program}: {error}{hint}"))
    })?;
    let group = Pid::from_raw(child.id() as i32);
    std::thread::spawn(move || {
        let mut byte = [0; 64];
        while matches!(std::io::stdin().read(&mut byte), Ok(1..)) {}
        let _ = killpg(group, Signal::SIGKILL);
    });
    let status = child.wait();
    let _ = killpg(group, Signal::SIGKILL);
    let any_of_the_group = Pid::from_raw(-group.as_raw());
    while waitpid(any_of_the_group, None).is_ok() {}
    status
}
