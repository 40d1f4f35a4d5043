//! The engine netns: this program on the host's own kernel, in real time, as root.
//!
//! The process has its own mount namespace, which holds the names of its network namespaces and its
//! classifiers. The kernel removes all of them when the process ends, even if it is killed.

use crate::batch::batch;
use crate::plan::Plan;
use crate::sys;
use dumbbell_model::scenario::Scenario;
use nix::mount::{mount, MsFlags};
use nix::sched::{unshare, CloneFlags};
use std::collections::BTreeSet;
use std::fs;
use std::io::{Error, Result};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;

/// A part of Linux that a scenario may need: its name here, a line of `tc` on the device `t0` that
/// succeeds if the part is present, its kernel option, and its module.
struct Part {
    name: &'static str,
    trial: &'static str,
    option: &'static str,
    module: &'static str,
}

const fn part(
    name: &'static str,
    trial: &'static str,
    option: &'static str,
    module: &'static str,
) -> Part {
    Part { name, trial, option, module }
}

/// Need of Multipath TCP connections.
const MPTCP: &str = "mptcp";
/// Sysctl of the path manager; present if user space can manage paths.
const PATH_MANAGER: &str = "/proc/sys/net/mptcp/pm_type";
/// Name of the discipline prio, which is also an argument of filters and classes.
const PRIO: &str = "prio";

/// Parts of Linux. `clsact` is first, since classifiers need it.
const PARTS: &[Part] = &[
    part("clsact", "qdisc add dev t0 clsact", "NET_SCH_INGRESS", "sch_ingress"),
    part("netem", "qdisc add dev t0 root netem delay 1ms", "NET_SCH_NETEM", "sch_netem"),
    part(
        "tbf",
        "qdisc add dev t0 root tbf rate 1mbit burst 5kb limit 5kb",
        "NET_SCH_TBF",
        "sch_tbf",
    ),
    part("pfifo", "qdisc add dev t0 root pfifo limit 10", "NET_SCHED", "sch_fifo"),
    part("bfifo", "qdisc add dev t0 root bfifo limit 10kb", "NET_SCHED", "sch_fifo"),
    part("pfifo_head_drop", "qdisc add dev t0 root pfifo_head_drop", "NET_SCHED", "sch_fifo"),
    part(
        "red",
        "qdisc add dev t0 root red limit 100000 avpkt 1000 bandwidth 10mbit",
        "NET_SCH_RED",
        "sch_red",
    ),
    part(
        "choke",
        "qdisc add dev t0 root choke limit 1000 bandwidth 10mbit",
        "NET_SCH_CHOKE",
        "sch_choke",
    ),
    part("codel", "qdisc add dev t0 root codel", "NET_SCH_CODEL", "sch_codel"),
    part("fq_codel", "qdisc add dev t0 root fq_codel", "NET_SCH_FQ_CODEL", "sch_fq_codel"),
    part("pie", "qdisc add dev t0 root pie", "NET_SCH_PIE", "sch_pie"),
    part("fq_pie", "qdisc add dev t0 root fq_pie", "NET_SCH_FQ_PIE", "sch_fq_pie"),
    part("dualpi2", "qdisc add dev t0 root dualpi2", "NET_SCH_DUALPI2", "sch_dualpi2"),
    part("sfq", "qdisc add dev t0 root sfq", "NET_SCH_SFQ", "sch_sfq"),
    part("cake", "qdisc add dev t0 root cake", "NET_SCH_CAKE", "sch_cake"),
    part(PRIO, "qdisc add dev t0 root prio", "NET_SCH_PRIO", "sch_prio"),
    part("drr", "qdisc add dev t0 root drr", "NET_SCH_DRR", "sch_drr"),
    part("htb", "qdisc add dev t0 root htb", "NET_SCH_HTB", "sch_htb"),
    part("fq", "qdisc add dev t0 root fq", "NET_SCH_FQ", "sch_fq"),
    part("teql", "", "NET_SCH_TEQL", "sch_teql"),
    part(
        "matchall",
        "filter add dev t0 egress matchall action pass",
        "NET_CLS_MATCHALL",
        "cls_matchall",
    ),
    part(
        "mirred",
        "filter add dev t0 egress matchall action mirred egress redirect dev lo",
        "NET_ACT_MIRRED",
        "act_mirred",
    ),
    part(
        "police",
        "filter add dev t0 egress matchall action police rate 1mbit burst 10kb conform-exceed drop",
        "NET_ACT_POLICE",
        "act_police",
    ),
    part(
        "u32",
        "filter add dev t0 egress protocol ip u32 match u16 0 0 at 2 action pass",
        "NET_CLS_U32",
        "cls_u32",
    ),
    part(
        "skbedit",
        "filter add dev t0 egress matchall action skbedit mark 1",
        "NET_ACT_SKBEDIT",
        "act_skbedit",
    ),
    part("bpf", "", "NET_CLS_BPF", "cls_bpf"),
];

/// Names of the parts that a plan needs, for [`lacks`]: parts of `tc`, `bridge`, `tcp:cubic` and others.
pub(crate) fn needs(scenario: &Scenario, plan: &Plan) -> BTreeSet<String> {
    let mut found = BTreeSet::from(["veth".to_owned()]);
    let lines = plan.namespaces.iter().flat_map(|one| one.tc.iter().chain(&one.up));
    let changes = plan.changes.iter().flat_map(|change| &change.lines);
    for word in lines.chain(changes).flat_map(|line| line.split_whitespace()) {
        if word == "bands" {
            found.insert(PRIO.to_owned());
        } else if word == "bridge" || word != PRIO && PARTS.iter().any(|part| part.name == word) {
            found.insert(word.to_owned());
        } else if word.strip_prefix("teql").is_some_and(|number| number.parse::<u32>().is_ok()) {
            found.insert("teql".to_owned());
        }
    }
    if plan.classifies() {
        found.insert("bpf".to_owned());
    }
    for flow in &scenario.flows {
        if let Some(tcp) = flow.traffic.tcp() {
            found.insert(format!("tcp:{}", tcp.congestion_control.linux_name()));
        }
    }
    if !scenario.connections.is_empty() {
        found.insert(MPTCP.to_owned());
    }
    found
}

/// Returns a message for each of `needs` that this kernel lacks, with the option or module that provides it.
///
/// # Errors
/// Fails without the rights of root.
pub(crate) fn lacks(needs: &[String]) -> Result<Vec<String>> {
    let refused = |error| match error {
        nix::errno::Errno::EPERM => Error::other("the engine netns needs the rights of root"),
        other => Error::from(other),
    };
    let teql = Path::new("/sys/class/net/teql0").exists() || load("sch_teql");
    unshare(CloneFlags::CLONE_NEWNET).map_err(refused)?;
    private_mounts()?;
    let mut missing = Vec::new();
    if needs.iter().any(|need| need == MPTCP) && !Path::new(PATH_MANAGER).exists() {
        let what = "Multipath TCP with a path manager in user space (CONFIG_MPTCP, Linux 5.19)";
        missing.push(what.to_owned());
    }
    let mut miss = |name: &str, option: &str, module: &str| {
        missing.push(format!("{name} (CONFIG_{option}, module {module})"));
    };
    let veth = batch("ip", &["link add t0 type veth peer name t1".to_owned()]).is_ok();
    if !veth {
        miss("veth", "VETH", "veth");
        return Ok(missing);
    }
    for need in needs {
        if let Some(name) = need.strip_prefix("tcp:") {
            let socket = sys::socket(libc::AF_INET, libc::SOCK_STREAM, 0)?;
            let chosen = sys::set_option_bytes(
                socket.as_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_CONGESTION,
                name.as_bytes(),
            );
            if chosen.is_err() {
                let (option, module) = (name.to_uppercase(), format!("tcp_{name}"));
                miss(&format!("TCP {name}"), &format!("TCP_CONG_{option}"), &module);
            }
        } else if need == "bridge" {
            let line = "link add b0 type bridge".to_owned();
            if batch("ip", &[line]).is_err() {
                miss("bridges", "BRIDGE", "bridge");
            }
        }
    }
    // Filters need clsact.
    let _ = batch("tc", &[PARTS[0].trial.to_owned()]);
    for part in PARTS.iter().filter(|part| needs.iter().any(|need| need == part.name)) {
        let there = match part.name {
            "teql" => teql,
            "bpf" => sys::bpf_counter().is_ok(),
            "clsact" => {
                let shown = Command::new("tc").args(["qdisc", "show", "dev", "t0"]).output()?;
                String::from_utf8_lossy(&shown.stdout).contains("clsact")
            }
            _ => {
                let done = batch("tc", &[part.trial.to_owned()]).is_ok();
                if part.trial.contains(" root ") {
                    let _ = batch("tc", &["qdisc del dev t0 root".to_owned()]);
                }
                done
            }
        };
        if !there {
            miss(part.name, part.option, part.module);
        }
    }
    Ok(missing)
}

fn load(module: &str) -> bool {
    Command::new("modprobe").args([module, "max_equalizers=64"]).status().is_ok_and(|s| s.success())
        && Path::new("/sys/class/net/teql0").exists()
}

/// Enters a private mount namespace with an empty /run.
fn private_mounts() -> Result<()> {
    let none: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    mount(Some("tmpfs"), "/run", Some("tmpfs"), MsFlags::empty(), none)?;
    Ok(())
}

/// Replaces a guest's boot on the host: the working directory becomes the run's folder.
///
/// # Errors
/// Fails without the rights of root.
pub(crate) fn begin(out: &str) -> Result<()> {
    let none: Option<&str> = None;
    private_mounts()?;
    fs::create_dir(out)?;
    mount(Some("."), out, none, MsFlags::MS_BIND, none)?;
    sys::no_timer_slack()
}

/// Refuses global options that differ from the host's. The engine netns never changes options that
/// hold for the whole host.
///
/// # Errors
/// Names the first option that differs.
pub(crate) fn refuse_globals(plan: &Plan) -> Result<()> {
    for (path, wanted) in &plan.globals {
        let Ok(there) = fs::read_to_string(path) else { continue };
        if there.trim() != wanted {
            return Err(Error::other(format!(
                "{path} is {} on this host, the scenario asks for {wanted}; it holds for the whole \
                 host, so the engine netns does not change it",
                there.trim()
            )));
        }
    }
    Ok(())
}
