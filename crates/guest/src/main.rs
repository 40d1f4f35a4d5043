//! The first program of a guest. It reads the scenario in the run's folder, realises it on the kernel,
//! runs it, and writes the result tables into the folder. On the host it does the same in network
//! namespaces (`netns`), and starts guests (`supervise`).
//!
//! The run's folder is the working directory of the kernel's process, mounted at [`OUT`]. It holds
//! `scenario.json` and `seed`. The program writes `<table>.arrow` and at last `done.json`, or `error.json`.

mod aggregation;
mod application;
mod batch;
mod bpf;
mod builders;
mod cake;
mod changer;
mod clock;
mod counted;
mod discipline;
mod dualpi2;
mod ecmp;
mod flow_rows;
mod frame;
mod host;
mod info;
mod netem_times;
mod netlink;
mod packetdrill;
mod pipe_counters;
mod plan;
mod pm;
mod programs;
mod qdisc;
mod realise;
mod record;
mod rewriting;
mod run;
mod scripted;
mod sessions;
mod sockets;
mod supervise;
mod sys;
mod taps;
mod tc;
mod traffic;
mod watch;
mod writer;
mod xstats;

use dumbbell_model::{digest::digest, ipc, Scenario, ScenarioError};
use nix::mount::{mount, MsFlags};
use nix::sys::reboot::{reboot, RebootMode};
use nix::sys::resource::{setrlimit, Resource};
use realise::Kernel;
use std::fs;
use std::io::Write;
use std::path::Path;

/// The run's folder.
const OUT: &str = "/run/out";
/// Capture of the taps, if the scenario asks for it.
const CAPTURE: &str = "capture.pcapng";

/// Maximum open sockets and files of a run: Linux's limit of a process (`nr_open`).
const OPEN_FILES: u64 = 1 << 20;

/// Failure: of the scenario, or of a system call.
enum Failure {
    Scenario(ScenarioError),
    Other(String),
}

impl<E: std::fmt::Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Other(error.to_string())
    }
}

/// Hash of the sources that determine results.
const VERSION: &str = env!("DUMBBELL_GUEST_SOURCES");

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if words.first().is_some_and(|name| name.ends_with("/ethtool") || name == "ethtool") {
        if let Err(error) = packetdrill::ethtool(&words[1..]) {
            say(&error);
            std::process::exit(1);
        }
        return;
    }
    match std::env::args().nth(1).as_deref() {
        Some("version") => return say(VERSION),
        Some("check") => return check(),
        Some("register-bytes") => return say(&sys::register_bytes().to_string()),
        Some("supervise") => {
            let words: Vec<String> = std::env::args().skip(2).collect();
            match supervise::supervise(&words) {
                Ok(status) => std::process::exit(status.code().unwrap_or(1)),
                Err(error) => {
                    say(&format!("dumbbell: {error}"));
                    std::process::exit(127);
                }
            }
        }
        Some("lacks") => return lacks(),
        Some("netns") => {
            tell(host::begin(OUT).map_err(Failure::from).and_then(|()| realise(Kernel::Host)));
            return;
        }
        Some(_) | None => {}
    }
    tell(boot().and_then(|()| {
        if packetdrill::is_asked() {
            packetdrill::run()
        } else {
            realise(Kernel::Own)
        }
    }));
    let _ = reboot(RebootMode::RB_POWER_OFF);
}

/// Reports a failure in the run's folder and on the console.
fn tell(done: Result<(), Failure>) {
    if let Err(failure) = done {
        let told = match &failure {
            Failure::Scenario(error) => {
                serde_json::json!({"path": error.path, "message": error.message})
            }
            Failure::Other(message) => serde_json::json!({"message": message}),
        };
        // If this fails too, the console still has the message.
        let _ = fs::write(format!("{OUT}/error.json"), told.to_string());
        say(&format!("dumbbell: {told}"));
    }
    let _ = std::io::stdout().flush();
}

/// `check`: reads a scenario per line of standard input and prints a JSON line for each:
/// `{"needs": […]}` (for `lacks`), or `{"path": …, "message": …}` if it cannot be realised.
fn check() {
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let needs = Scenario::from_json(&line).and_then(|scenario| {
            plan::plan(&scenario, 0).map(|plan| host::needs(&scenario, &plan))
        });
        say(&match needs {
            Ok(needs) => serde_json::json!({"needs": needs}).to_string(),
            Err(ScenarioError { path, message }) => {
                serde_json::json!({"path": path, "message": message}).to_string()
            }
        });
    }
}

/// `lacks NEED…`: prints which needs the host's kernel lacks, as JSON: `{"missing": […]}` or
/// `{"message": …}`.
fn lacks() {
    let needs: Vec<String> = std::env::args().skip(2).collect();
    say(&match host::lacks(&needs) {
        Ok(missing) => serde_json::json!({"missing": missing}).to_string(),
        Err(error) => serde_json::json!({"message": error.to_string()}).to_string(),
    });
}

/// Writes a line to the console.
fn say(line: &str) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{line}");
}

fn boot() -> Result<(), Failure> {
    let none: Option<&str> = None;
    let flags = MsFlags::empty();
    mount(Some("proc"), "/proc", Some("proc"), flags, none)?;
    mount(Some("sysfs"), "/sys", Some("sysfs"), flags, none)?;
    mount(Some("tmpfs"), "/run", Some("tmpfs"), flags, none)?;
    fs::create_dir(OUT)?;
    mount(Some("none"), OUT, Some("hostfs"), flags, Some("/proc/self/cwd/."))?;
    setrlimit(Resource::RLIMIT_NOFILE, OPEN_FILES, OPEN_FILES)?;
    sys::no_timer_slack()?;
    Ok(())
}

fn realise(kernel: Kernel) -> Result<(), Failure> {
    let text = fs::read_to_string(format!("{OUT}/scenario.json"))?;
    let seed: u64 = fs::read_to_string(format!("{OUT}/seed"))?.trim().parse()?;
    let scenario = Scenario::from_json(&text).map_err(Failure::Scenario)?;
    plan::check_flows(&scenario).map_err(Failure::Scenario)?;
    let drawn = scenario.drawn(seed).into_owned();
    let scenario = Scenario { arrivals: Vec::new(), ..drawn };
    let plan = plan::plan(&scenario, seed).map_err(Failure::Scenario)?;
    realise::write_tables(&scenario)?;
    let namespaces = realise::Namespaces::build(&plan, kernel)?;
    let progress = |now_ns| say(&format!("@{now_ns}"));
    let output = run::run(&scenario, &plan, &namespaces, seed, kernel, progress)?;
    let tables = output.tables;
    let digest = digest(&tables);
    if let Some(capture) = &output.capture {
        fs::write(format!("{OUT}/{CAPTURE}"), capture)?;
    }
    for table in tables {
        let path = format!("{OUT}/{}.arrow", table.spec.name);
        ipc::stream(table)?.write_to(&mut fs::File::create(path)?)?;
    }
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let done = serde_json::json!({"digest": digest, "kernel": release.trim()});
    let unfinished = format!("{OUT}/done.json.new");
    fs::write(&unfinished, done.to_string())?;
    fs::rename(&unfinished, Path::new(OUT).join("done.json"))?;
    Ok(())
}
