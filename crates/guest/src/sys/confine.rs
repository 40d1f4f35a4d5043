//! Confinement of a program of the user: its view of the file system, its limits, no privileges.

use super::{checked, ordinary_timers};
use nix::mount::{mount, MsFlags};
use nix::sched::{unshare, CloneFlags};
use nix::sys::resource::{setrlimit, Resource};
use std::ffi::CString;
use std::io::Result;
use std::mem::size_of;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::{from_ref, null_mut};

/// Limits of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) file_bytes: u64,
    pub(crate) processes: u64,
}

/// Runs `prepare` in the new process of a command, before its program.
pub(crate) fn before_exec(
    command: &mut Command,
    prepare: impl FnMut() -> Result<()> + Send + Sync + 'static,
) {
    // SAFETY: this program has one thread, so the new process may allocate.
    unsafe { command.pre_exec(prepare) };
}

/// A descriptor that becomes readable when a child ends.
pub(crate) fn pidfd(child: nix::unistd::Pid) -> Result<OwnedFd> {
    // SAFETY: no pointers; a valid descriptor that nobody else owns is returned.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, child.as_raw(), 0);
        Ok(OwnedFd::from_raw_fd(checked(fd as libc::c_int)?))
    }
}

/// Makes this process the parent of all descendants whose own parents end.
pub(crate) fn adopt_orphans() -> Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) }).map(drop)
}

/// Enters namespaces of mounts and of the host's name that reach no other process.
pub(crate) fn private_view() -> Result<()> {
    let none: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWUTS)?;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    Ok(())
}

/// `struct mount_attr` of mount_setattr(2).
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    namespace: u64,
}
const READ_ONLY: u64 = 1;
const AND_BELOW: libc::c_uint = 0x8000; // AT_RECURSIVE

/// Makes all mounts read-only, or one writable again (Linux 5.12).
pub(crate) fn set_read_only(path: &str, all: bool) -> Result<()> {
    let name = CString::new(path)?;
    let (set, clear) = if all { (READ_ONLY, 0) } else { (0, READ_ONLY) };
    let wanted = MountAttributes { set, clear, propagation: 0, namespace: 0 };
    let flags = if all { AND_BELOW } else { 0 };
    // SAFETY: a text that ends in 0, and a structure with its size.
    checked(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            name.as_ptr(),
            flags,
            from_ref(&wanted),
            size_of::<MountAttributes>(),
        )
    } as libc::c_int)
    .map(drop)
}

/// Mounts an empty file system in memory.
pub(crate) fn mount_memory(path: &str, options: &str) -> Result<()> {
    mount(Some("tmpfs"), path, Some("tmpfs"), MsFlags::MS_NOSUID, Some(options))?;
    Ok(())
}

/// Makes a file or folder visible at another path.
pub(crate) fn mount_at(file: &str, path: &str) -> Result<()> {
    let none: Option<&str> = None;
    mount(Some(file), path, none, MsFlags::MS_BIND, none)?;
    Ok(())
}

/// Securebits(7): user 0 has no capabilities, now and after `execve`.
const NO_ROOT: libc::c_ulong = 0b11;
const LAST_CAPABILITY: libc::c_ulong = 63;
/// `_LINUX_CAPABILITY_VERSION_3`.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

/// Makes the calling process one of the user's: in a session of its own, limited, without
/// capabilities, and unable to gain any.
pub(crate) fn without_privileges((user, group): (u32, u32), bounds: &Bounds) -> Result<()> {
    // This program runs in real time (`no_timer_slack`); one of the user's that waits for the network
    // in a loop would keep everything else from running.
    ordinary_timers()?;
    nix::unistd::setsid()?;
    for (limit, value) in [
        (Resource::RLIMIT_FSIZE, bounds.file_bytes),
        (Resource::RLIMIT_NPROC, bounds.processes),
        (Resource::RLIMIT_CORE, 0),
    ] {
        setrlimit(limit, value, value)?;
    }
    // SAFETY: system calls on numbers, and on two arrays of the lengths that version 3 has.
    unsafe {
        for capability in 0..=LAST_CAPABILITY {
            if libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) < 0 {
                break; // beyond the last that this kernel knows
            }
        }
        checked(libc::prctl(libc::PR_SET_SECUREBITS, NO_ROOT, 0, 0, 0))?;
        checked(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        checked(libc::setgroups(0, null_mut()))?;
        checked(libc::setresgid(group, group, group))?;
        checked(libc::setresuid(user, user, user))?;
        let head = [CAPABILITY_VERSION, 0];
        let none = [0_u32; 6];
        checked(libc::syscall(libc::SYS_capset, head.as_ptr(), none.as_ptr()) as libc::c_int)?;
    }
    Ok(())
}
