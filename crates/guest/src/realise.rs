//! Realises a plan: namespaces, links, addresses, queueing disciplines, options.

use crate::batch::{batch, because, TABLES};
use crate::plan::{Namespace, Plan};
use crate::{aggregation, dualpi2, ecmp, host, netem_times, rewriting, scripted, sys};
use dumbbell_model::Scenario;
use nix::mount::{mount, MsFlags};
use nix::sched::{setns, unshare, CloneFlags};
use std::fs::{self, File};
use std::io::{Error, Result};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

const NAMES: &str = "/run/netns";
/// Memory of all TCP sockets in pages: 160, 224 and 288 MiB of the guest's 512. The kernel's choice, 32 MiB
/// from which on it shrinks receive windows, is one for a host; here sender and receiver share it.
const TCP_MEM: (&str, &str) = ("/proc/sys/net/ipv4/tcp_mem", "40960 57344 73728");

/// Folder in which classifiers are pinned for tc.
const CLASSIFIERS: &str = "/sys/fs/bpf";

/// Kernel that this program runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// Kernel of a guest, in virtual time. It serves only the run.
    Own,
    /// Kernel of the host, in real time.
    Host,
}

/// The namespaces of a run.
pub(crate) struct Namespaces {
    home: File,
    /// Namespaces in the order of the plan.
    namespaces: Vec<File>,
    /// Counters of scripted drops. They live as long as this.
    counters: Vec<OwnedFd>,
}

impl Namespaces {
    /// Builds everything that precedes the first packet.
    pub(crate) fn build(plan: &Plan, kernel: Kernel) -> Result<Self> {
        fs::create_dir_all(NAMES)?;
        let home = File::open("/proc/self/ns/net")?;
        let mut built = Self { home, namespaces: Vec::new(), counters: Vec::new() };
        if kernel == Kernel::Host {
            host::refuse_globals(plan)?;
        }
        if kernel == Kernel::Own {
            fs::write(TCP_MEM.0, TCP_MEM.1).map_err(|error| because(TCP_MEM.0, &error))?;
        }
        for (path, value) in plan.globals.iter().filter(|_| kernel == Kernel::Own) {
            // A missing option cannot be set. It need not be set if it is off.
            if Path::new(path).exists() {
                fs::write(path, value).map_err(|error| because(path, &error))?;
            }
        }
        for namespace in &plan.namespaces {
            let file = create(namespace)?;
            built.namespaces.push(file);
            built.leave()?;
        }
        batch("ip", &plan.joins)?;
        for (index, namespace) in plan.namespaces.iter().enumerate() {
            built.enter(index)?;
            for device in &namespace.devices {
                sys::offload_off(device).map_err(|error| because(device, &error))?;
            }
            batch("ip", &namespace.up)?;
            add_qdiscs(&namespace.tc)?;
        }
        for (index, namespace) in plan.namespaces.iter().enumerate() {
            built.enter(index)?;
            batch("ip", &namespace.routes)?;
        }
        built.leave()?;
        built.classify(plan)?;
        Ok(built)
    }

    /// Attaches the classifiers of scripted drops, rewrites, ACKs and spraying per flow.
    fn classify(&mut self, plan: &Plan) -> Result<()> {
        if !plan.classifies() {
            return Ok(());
        }
        let none: Option<&str> = None;
        mount(Some("bpf"), CLASSIFIERS, Some("bpf"), MsFlags::empty(), none)?;
        for (number, one) in plan.scripted.iter().enumerate() {
            let path = format!("{CLASSIFIERS}/{number}");
            self.counters.push(scripted::pin(one.flow, &one.nth, &path)?);
            let line = format!("filter add dev {} egress bpf da object-pinned {path}", one.device);
            self.tc(one.namespace, &[line])?;
        }
        for (number, one) in plan.rewrites.iter().enumerate() {
            let path = format!("{CLASSIFIERS}/rewrite{number}");
            rewriting::pin(&one.spec, one.flow, &path)?;
            // Before all other filters: those without a preference come after.
            let (device, position) = (&one.device, one.position);
            let line = format!(
                "filter add dev {device} egress pref {position} bpf da object-pinned {path}"
            );
            self.tc(one.namespace, &[line])?;
        }
        for (number, one) in plan.aggregated.iter().enumerate() {
            let path = format!("{CLASSIFIERS}/acks{number}");
            aggregation::pin(&path)?;
            let line = format!(
                "filter add dev {} ingress pref 1 bpf object-pinned {path} \
                 action mirred egress redirect dev {}",
                one.port, one.taking[0]
            );
            self.tc(one.namespace, &[line])?;
        }
        let forget = format!("{CLASSIFIERS}/forget");
        if !plan.per_flow.is_empty() {
            ecmp::pin_forget(&forget)?;
        }
        for router in &plan.per_flow {
            let path = format!("{CLASSIFIERS}/hash{}", router.namespace);
            ecmp::pin_hash(router, &path)?;
            let devices = plan.namespaces[router.namespace].devices.iter();
            let lines = devices.flat_map(|device| {
                [("ingress", &path), ("egress", &forget)].map(|(side, path)| {
                    format!("filter add dev {device} {side} bpf da object-pinned {path}")
                })
            });
            self.tc(router.namespace, &lines.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// Counters of scripted drops, in the order of the plan.
    pub(crate) fn scripted(&self) -> &[OwnedFd] {
        &self.counters
    }

    /// Enters a namespace: sockets opened from now on belong to it.
    pub(crate) fn enter(&self, index: usize) -> Result<()> {
        setns(&self.namespaces[index], CloneFlags::CLONE_NEWNET).map_err(Error::from)
    }

    /// Returns to the initial namespace.
    pub(crate) fn leave(&self) -> Result<()> {
        setns(&self.home, CloneFlags::CLONE_NEWNET).map_err(Error::from)
    }

    /// Runs lines of `tc` in a namespace.
    pub(crate) fn tc(&self, namespace: usize, lines: &[String]) -> Result<()> {
        self.within(namespace, || add_qdiscs(lines))
    }

    /// Calls `act` in a namespace.
    pub(crate) fn within<T>(&self, namespace: usize, act: impl FnOnce() -> Result<T>) -> Result<T> {
        self.enter(namespace)?;
        let done = act();
        self.leave()?;
        done
    }
}

/// Runs lines of `tc` in their order; those of DualPI2 without it, and times of netem exactly.
fn add_qdiscs(lines: &[String]) -> Result<()> {
    for part in lines.split_inclusive(|line| dualpi2::is_one(line)) {
        match part.split_last() {
            Some((last, others)) if dualpi2::is_one(last) => {
                tc(others)?;
                dualpi2::add(last)?;
            }
            _ => tc(part)?,
        }
    }
    lines.iter().try_for_each(|line| netem_times::set(line))
}

/// Runs lines of `tc`, without seeds.
fn tc(lines: &[String]) -> Result<()> {
    batch("tc", &lines.iter().map(|line| netem_times::without_seed(line)).collect::<Vec<_>>())
}

/// Writes tables of distributions where `tc` looks for them ([`crate::batch::TABLES`]).
pub(crate) fn write_tables(scenario: &Scenario) -> Result<()> {
    for one in scenario.distributions() {
        let Some(table) = one.table() else { continue };
        fs::create_dir_all(TABLES)?;
        let numbers: Vec<String> = table.iter().map(i16::to_string).collect();
        let lines: Vec<String> = numbers.chunks(8).map(|line| line.join(" ")).collect();
        fs::write(format!("{TABLES}/{}.dist", one.name()), lines.join("\n") + "\n")?;
    }
    Ok(())
}

fn create(namespace: &Namespace) -> Result<File> {
    let path = PathBuf::from(NAMES).join(&namespace.name);
    File::create(&path)?;
    unshare(CloneFlags::CLONE_NEWNET)?;
    let none: Option<&str> = None;
    mount(Some("/proc/self/ns/net"), &path, none, MsFlags::MS_BIND, none)?;
    for (name, value) in &namespace.sysctls {
        let file = Path::new("/proc/sys").join(name);
        // IPv6 may be missing altogether; kernels before 5.18 always change the hash, and those before
        // 6.18 refuse Accurate ECN, for which the option is.
        let optional = name.starts_with("net/ipv6")
            || name == "net/core/txrehash"
            || name.starts_with("net/ipv4/tcp_ecn_option");
        if optional && !file.exists() {
            continue;
        }
        fs::write(&file, value).map_err(|error| because(&format!("{name} = {value}"), &error))?;
    }
    File::open(path)
}
