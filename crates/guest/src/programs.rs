//! Programs of the user on hosts: `execve` in the namespace of the host, without privileges.
//!
//! A program sees the root of the machine read-only, the names of hosts in `/etc/hosts`, a working
//! folder of its own, and `/tmp`, `/var/tmp`, `/var/log`, `/var/lib` and `/run` in memory. Its user
//! is the one who started the run, without capabilities. Its output goes to files in memory.

use crate::batch::because;
use crate::plan::dotted;
use crate::realise::Namespaces;
use crate::sys::{self, Bounds};
use dumbbell_model::programs::{hosts_named, Program};
use dumbbell_model::scenario::{NodeKind, Scenario};
use dumbbell_model::tables::{Int, ProgramFileRow, ProgramRow, Table};
use nix::sys::signal::{kill, killpg, Signal};
use nix::sys::wait::{waitpid, WaitPidFlag, WaitStatus};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Error, Read, Result};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{chown, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Folder of the working folders.
const HOME: &str = "/run/programs";
/// Folder of inputs and outputs: a program that fills its working folder can still say so.
const OUTPUTS: &str = "/run/program-outputs";
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Maximum size of a file that a program writes, its output included.
const FILE_MAX: u64 = 16 << 20;
/// Maximum size of all files of all programs, and of all their outputs.
const FILES_MAX: &str = "size=128m";
/// Maximum number of processes of all programs.
const PROCESSES_MAX: u64 = 512;
/// Bytes of an output or of a file in the tables.
const KEPT_MAX: u64 = 1 << 20;
/// Maximum number of files in the tables.
const KEPT_FILES_MAX: usize = 100;
/// Time from SIGTERM to SIGKILL.
const GRACE_NS: i64 = 1_000_000_000;

/// State of a program.
enum State {
    Waiting,
    Running { child: Pid, ended: OwnedFd, start: i64, kill_at: i64, asked: bool },
    Over { start: Option<i64>, end: Option<i64>, outcome: Outcome },
}

enum Outcome {
    Exited(i32),
    Signalled(i32),
    /// Ended by the experiment, with an exit code or a signal.
    Stopped(Option<i32>, Option<i32>),
    OutputLimit,
    NotStarted(String),
}

struct Job {
    program: Program,
    /// Namespace of its host.
    node: usize,
    arguments: Vec<String>,
    state: State,
}

/// The programs of a run.
#[derive(Default)]
pub(crate) struct Programs {
    jobs: Vec<Job>,
    owner: (u32, u32),
}

impl Programs {
    /// Prepares folders, names of hosts and input.
    pub(crate) fn new(scenario: &Scenario, out: &str) -> Result<Self> {
        let about = fs::metadata(out)?;
        let owner = (about.uid(), about.gid());
        let numbers: BTreeMap<&str, usize> =
            scenario.nodes.iter().enumerate().map(|(i, node)| (node.name.as_str(), i)).collect();
        let mut jobs = Vec::new();
        for program in &scenario.programs {
            let node = numbers.get(program.on.as_str()).copied().unwrap_or(0);
            let arguments = program.run.iter().map(|text| with_addresses(text, &numbers)).collect();
            jobs.push(Job { program: program.clone(), node, arguments, state: State::Waiting });
        }
        let made = Self { jobs, owner };
        if !made.jobs.is_empty() {
            sys::adopt_orphans()?;
            made.prepare(scenario).map_err(|error| because("programs", &error))?;
        }
        Ok(made)
    }

    /// Kills what programs left behind: daemons that moved into sessions of their own.
    pub(crate) fn sweep(&self) {
        while !self.jobs.is_empty() {
            // A kernel without this file is a guest's, which ends with all its processes.
            let children = fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
            let left: Vec<i32> = children.split(' ').filter_map(|pid| pid.parse().ok()).collect();
            if left.is_empty() {
                return;
            }
            for pid in left {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
                let _ = waitpid(Pid::from_raw(pid), None);
            }
        }
    }

    fn prepare(&self, scenario: &Scenario) -> Result<()> {
        for folder in [HOME, OUTPUTS] {
            fs::create_dir_all(folder)?;
            sys::mount_memory(folder, FILES_MAX)?;
        }
        let mut hosts = "127.0.0.1 localhost\n".to_owned();
        for (i, node) in scenario.nodes.iter().enumerate() {
            if node.kind == NodeKind::Host {
                hosts += &format!("{} {}\n", dotted(i), node.name);
            }
        }
        fs::write(format!("{HOME}/hosts"), hosts)?;
        for job in &self.jobs {
            let folder = folder(&job.program.name);
            fs::create_dir(&folder)?;
            chown(&folder, Some(self.owner.0), Some(self.owner.1))?;
            fs::write(beside(&job.program.name, "in"), &job.program.input)?;
        }
        Ok(())
    }

    /// Time of the next start or stop.
    pub(crate) fn next(&self) -> Option<i64> {
        let times = self.jobs.iter().filter_map(|job| match &job.state {
            State::Waiting => Some(job.program.start.as_ns() as i64),
            State::Running { asked: true, kill_at, .. } => Some(*kill_at),
            State::Running { .. } => job.program.stop.map(|stop| stop.as_ns() as i64),
            State::Over { .. } => None,
        });
        times.min()
    }

    /// Descriptors that become readable when a program ends.
    pub(crate) fn waits(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.jobs.iter().filter_map(|job| match &job.state {
            State::Running { ended, .. } => Some(ended.as_fd()),
            _ => None,
        })
    }

    /// Starts, stops and buries what is due.
    pub(crate) fn turn(&mut self, now: i64, namespaces: &Namespaces) -> Result<()> {
        for job in &mut self.jobs {
            job.bury(now)?;
            match &mut job.state {
                State::Waiting if now >= job.program.start.as_ns() as i64 => {
                    namespaces.enter(job.node)?;
                    let started = job.start(self.owner);
                    namespaces.leave()?;
                    job.state = match started {
                        Ok((child, ended)) => {
                            State::Running { child, ended, start: now, kill_at: 0, asked: false }
                        }
                        Err(error) => {
                            let outcome = Outcome::NotStarted(error.to_string());
                            State::Over { start: None, end: None, outcome }
                        }
                    };
                }
                State::Running { child, kill_at, asked: true, .. } if now >= *kill_at => {
                    let _ = killpg(*child, Signal::SIGKILL);
                    *kill_at = i64::MAX;
                }
                State::Running { child, kill_at, asked, .. }
                    if !*asked && job.program.stop.is_some_and(|at| now >= at.as_ns() as i64) =>
                {
                    ask(*child, now, asked, kill_at);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Asks all programs to end; returns true while one of them runs.
    pub(crate) fn end(&mut self, now: i64) -> bool {
        let mut running = false;
        for job in &mut self.jobs {
            if let State::Running { child, kill_at, asked, .. } = &mut job.state {
                running = true;
                if !*asked {
                    ask(*child, now, asked, kill_at);
                }
            }
        }
        running
    }

    /// The tables of programs and their files; none without programs.
    ///
    /// # Errors
    /// Names the first program whose exit is another than expected.
    pub(crate) fn tables(&self) -> Result<Vec<Table>> {
        if self.jobs.is_empty() {
            return Ok(Vec::new());
        }
        let mut rows = Vec::new();
        let mut files = Vec::new();
        for job in &self.jobs {
            let row = job.row()?;
            if let Some(why) = job.unexpected(&row) {
                return Err(Error::other(why));
            }
            rows.push(row);
            let top = folder(&job.program.name);
            let mut found = Vec::new();
            list(&top, &top, &mut found)?;
            found.sort();
            for (path, size) in found.into_iter().take(KEPT_FILES_MAX) {
                files.push(ProgramFileRow {
                    program: job.program.name.clone(),
                    content: beginning(&top.join(&path))?,
                    path,
                    size_bytes: size.into(),
                });
            }
        }
        Ok(vec![ProgramRow::table(&rows), ProgramFileRow::table(&files)])
    }
}

/// Sends SIGTERM to a program's process group.
fn ask(child: Pid, now: i64, asked: &mut bool, kill_at: &mut i64) {
    let _ = killpg(child, Signal::SIGTERM);
    *asked = true;
    *kill_at = now + GRACE_NS;
}

impl Job {
    /// Notes the end of the program, if it ended, and kills what it left.
    fn bury(&mut self, now: i64) -> Result<()> {
        let State::Running { child, start, asked, .. } = &self.state else { return Ok(()) };
        let (child, start, asked) = (*child, *start, *asked);
        let outcome = match waitpid(child, Some(WaitPidFlag::WNOHANG))? {
            WaitStatus::Exited(_, code) if asked => Outcome::Stopped(Some(code), None),
            WaitStatus::Exited(_, code) => Outcome::Exited(code),
            WaitStatus::Signaled(_, Signal::SIGXFSZ, _) => Outcome::OutputLimit,
            WaitStatus::Signaled(_, signal, _) if asked => {
                Outcome::Stopped(None, Some(signal as i32))
            }
            WaitStatus::Signaled(_, signal, _) => Outcome::Signalled(signal as i32),
            _ => return Ok(()),
        };
        let _ = killpg(child, Signal::SIGKILL);
        self.state = State::Over { start: Some(start), end: Some(now), outcome };
        Ok(())
    }

    fn start(&self, owner: (u32, u32)) -> Result<(Pid, OwnedFd)> {
        let name = &self.program.name;
        let output = |kind| {
            OpenOptions::new().create(true).append(true).open(beside(name, kind)).map(Stdio::from)
        };
        let mut command = Command::new(&self.arguments[0]);
        command
            .args(&self.arguments[1..])
            .env_clear()
            .envs([("PATH", PATH), ("LANG", "C.UTF-8"), ("TZ", "UTC"), ("TMPDIR", "/tmp")])
            .env("HOME", seen_folder(name))
            .envs(&self.program.environment)
            .stdin(File::open(beside(name, "in"))?)
            .stdout(output("out")?)
            .stderr(output("err")?);
        let bounds = Bounds { file_bytes: FILE_MAX, processes: PROCESSES_MAX };
        let (own, host) = (name.clone(), self.program.on.clone());
        sys::before_exec(&mut command, move || {
            view(&own, owner)?;
            nix::unistd::sethostname(&host)?;
            sys::without_privileges(owner, &bounds)
        });
        let child = command.spawn().map_err(|error| self.refused(&error))?;
        let child = Pid::from_raw(child.id() as i32);
        Ok((child, sys::pidfd(child)?))
    }

    /// Reason why a program did not start.
    fn refused(&self, error: &Error) -> Error {
        Error::other(format!("{}: {error}", self.arguments[0]))
    }

    fn row(&self) -> Result<ProgramRow> {
        let name = &self.program.name;
        let size = |kind| fs::metadata(beside(name, kind)).map_or(0, |about| about.len());
        let mut row = ProgramRow {
            program: name.clone(),
            host: self.program.on.clone(),
            command: self.arguments.join(" "),
            output_bytes: size("out").into(),
            errors_bytes: size("err").into(),
            output: beginning(&beside(name, "out"))?,
            errors: beginning(&beside(name, "err"))?,
            ..ProgramRow::default()
        };
        let State::Over { start, end, outcome } = &self.state else {
            row.outcome = "not started: the run ended before".to_owned();
            return Ok(row);
        };
        (row.start_ns, row.end_ns) = (Int::from(*start), Int::from(*end));
        let (words, code, signal) = match outcome {
            Outcome::Exited(code) => ("exited".to_owned(), Some(*code), None),
            Outcome::Signalled(signal) => ("signalled".to_owned(), None, Some(*signal)),
            Outcome::Stopped(code, signal) => ("stopped".to_owned(), *code, *signal),
            Outcome::OutputLimit => ("output limit".to_owned(), None, Some(libc::SIGXFSZ)),
            Outcome::NotStarted(why) => (format!("not started: {why}"), None, None),
        };
        row.outcome = words;
        row.exit_code = code.map(i64::from).into();
        row.signal = signal.map(i64::from).into();
        Ok(row)
    }

    /// Message about an end that the experiment does not expect.
    fn unexpected(&self, row: &ProgramRow) -> Option<String> {
        let name = &self.program.name;
        let State::Over { outcome, .. } = &self.state else { return None };
        let what = match outcome {
            Outcome::NotStarted(why) => return Some(format!("program {name}: {why}")),
            Outcome::OutputLimit => {
                let limit = FILE_MAX >> 20;
                return Some(format!("program {name}: it wrote a file of more than {limit} MiB"));
            }
            Outcome::Exited(code) | Outcome::Stopped(Some(code), _)
                if Some(*code) == self.program.expect_exit =>
            {
                return None;
            }
            Outcome::Exited(code) | Outcome::Stopped(Some(code), _) => format!("exit code {code}"),
            Outcome::Signalled(libc::SIGKILL) => "killed, perhaps for want of memory".to_owned(),
            Outcome::Signalled(signal) => format!("signal {signal}"),
            Outcome::Stopped(None, Some(signal)) => {
                format!("it still ran when it was to stop (signal {signal})")
            }
            Outcome::Stopped(None, None) => return None,
        };
        let expected = self.program.expect_exit?;
        let said = if row.errors.trim().is_empty() { &row.output } else { &row.errors };
        let last: Vec<&str> = said.trim().lines().rev().take(3).collect();
        let said: Vec<&str> = last.into_iter().rev().collect();
        let said = if said.is_empty() {
            "it said nothing".to_owned()
        } else {
            format!("it said: {}", said.join(" | "))
        };
        Some(format!("program {name}: {what}, expected {expected}; {said}"))
    }
}

/// Gives the calling process its own view of the file system, and enters its working folder.
fn view(name: &str, owner: (u32, u32)) -> Result<()> {
    sys::private_view()?;
    sys::mount_at(&format!("{HOME}/hosts"), "/etc/hosts")?;
    let here = seen_folder(name);
    fs::create_dir_all("/dev/shm")?;
    // On the host, too, a program changes no file of the machine, whoever started it.
    sys::set_read_only("/", true)?;
    for path in ["/tmp", "/var/tmp", "/dev/shm"] {
        in_memory(path)?;
    }
    for path in ["/var/log", "/var/lib"] {
        // The folders of daemons, as their packages make them.
        let folders = folders_in(path);
        in_memory(path)?;
        for folder in folders {
            fs::create_dir(&folder)?;
            chown(&folder, Some(owner.0), Some(owner.1))?;
        }
    }
    fs::create_dir(&here)?;
    sys::mount_at(&folder(name).to_string_lossy(), &here)?;
    sys::set_read_only(&here, false)?;
    // The results of the run lie below /run: last.
    in_memory("/run")?;
    std::env::set_current_dir(here)
}

/// Hides a folder, if there is one, behind an empty one that everybody may write.
fn in_memory(path: &str) -> Result<()> {
    if Path::new(path).is_dir() {
        sys::mount_memory(path, &format!("{FILES_MAX},mode=1777"))?;
    }
    Ok(())
}

/// Folders in a folder; none if it cannot be read.
fn folders_in(path: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.path()).collect()
}

/// Working folder as the program sees it.
fn seen_folder(name: &str) -> String {
    format!("/tmp/{name}")
}

fn folder(name: &str) -> PathBuf {
    Path::new(HOME).join(name)
}

/// File of a program's input or output.
fn beside(name: &str, kind: &str) -> PathBuf {
    Path::new(OUTPUTS).join(format!("{name}:{kind}"))
}

/// Text with addresses in place of `{NAME}`.
fn with_addresses(text: &str, numbers: &BTreeMap<&str, usize>) -> String {
    let mut done = text.to_owned();
    for name in hosts_named(text) {
        if let Some(&number) = numbers.get(name) {
            done = done.replace(&format!("{{{name}}}"), &dotted(number));
        }
    }
    done
}

/// Files below a folder with their sizes.
fn list(top: &Path, folder: &Path, found: &mut Vec<(String, u64)>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        if about.is_dir() {
            list(top, &entry.path(), found)?;
        } else if about.is_file() {
            let path = entry.path();
            let path = path.strip_prefix(top).unwrap_or(&path);
            found.push((path.to_string_lossy().into_owned(), about.len()));
        }
    }
    Ok(())
}

/// Beginning of a file as text.
fn beginning(path: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(file) => file.take(KEPT_MAX).read_to_end(&mut bytes)?,
        Err(_) => return Ok(String::new()),
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
