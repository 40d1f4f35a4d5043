//! The run: one loop that starts flows, drives their applications, takes samples and changes links.

use crate::aggregation::Aggregators;
use crate::application::Application;
use crate::changer::Changer;
use crate::clock::Clock;
use crate::plan::Plan;
use crate::programs::Programs;
use crate::realise::{Kernel, Namespaces};
use crate::record::Recorder;
use crate::sessions::{self, Session};
use crate::sockets::Sockets;
use crate::sys::RETIRE_MS;
use crate::taps::Rings;
use crate::traffic::applications;
use crate::watch::Watch;
use dumbbell_capture::Taps;
use dumbbell_model::scenario::Scenario;
use dumbbell_model::tables::Table;
use dumbbell_model::Time;
use dumbbell_packet::TapPackets;
use nix::poll::{ppoll, PollFd, PollFlags};
use nix::sys::time::TimeSpec;
use std::io::Result;
use std::iter::empty;
use std::os::fd::BorrowedFd;

/// Interval at which the rings are drained.
const DRAIN_NS: i64 = 50_000_000;
/// Interval of progress reports in virtual time.
const PROGRESS_NS: i64 = 1_000_000_000;

/// Output of a run: all tables in the order of the digest, and the capture if the scenario asks for it.
pub(crate) struct Output {
    pub(crate) tables: Vec<Table>,
    pub(crate) capture: Option<Vec<u8>>,
}

/// Runs the flows of a scenario.
pub(crate) fn run(
    scenario: &Scenario,
    plan: &Plan,
    namespaces: &Namespaces,
    seed: u64,
    kernel: Kernel,
    progress: impl Fn(i64),
) -> Result<Output> {
    let end = scenario.duration.as_ns() as i64;
    let mut apps = applications(scenario, namespaces, seed)?;
    let mut sessions = sessions::sessions(scenario, seed);
    let mut programs = Programs::new(scenario, crate::OUT)?;
    let mut taps = Taps::new(scenario.flows.len());
    let mut kept = TapPackets::new(scenario.sampling.packets);
    let mut rings = Rings::open(scenario, plan, namespaces)?;
    let watch = Watch::open(plan, namespaces)?;
    let mut recorder = Recorder::new(scenario, plan);
    let mut sockets = Sockets::open(scenario, namespaces)?;
    let mut aggregators = Aggregators::open(plan, namespaces)?;
    let mut changer = Changer::start(plan, namespaces)?;
    // The clock begins here because opening sockets takes milliseconds (RCU grace periods).
    let clock = Clock::begin(kernel)?;
    let mut changes = plan.changes.iter().peekable();
    let interval = scenario.sampling.interval.as_ns().max(1) as i64;
    let (mut sample_at, mut drain_at, mut progress_at) = (interval, DRAIN_NS, 0);
    loop {
        let now = clock.now()?;
        while let Some(change) = changes.next_if(|change| change.at.as_ns() as i64 <= now) {
            if let Some(state) = change.state {
                recorder.keep(change.pipe, state, &watch)?;
            }
            changer.change(change.namespace, &change.lines, namespaces)?;
        }
        aggregators.turn(now)?;
        for app in &mut apps {
            app.turn(now)?;
        }
        for session in &mut sessions {
            session.turn(now, &mut apps)?;
        }
        programs.turn(now, namespaces)?;
        if now >= sample_at {
            recorder.sample(sample_at, &mut apps, &watch)?;
            sockets.sample(sample_at)?;
            sample_at += interval;
        }
        if now >= end {
            break;
        }
        if now >= drain_at {
            drain_at += DRAIN_NS;
            rings.drain(&clock, Time::from_ns(now.max(0) as u64), &mut taps, &mut kept);
        }
        if now >= progress_at {
            progress_at += PROGRESS_NS;
            progress(now);
        }
        let change_at = changes.peek().map(|change| change.at.as_ns() as i64);
        let due = apps
            .iter()
            .filter_map(|app| app.next())
            .chain(change_at)
            .chain(aggregators.next())
            .chain([sample_at, drain_at, end]);
        let due = due.chain(sessions.iter().filter_map(Session::next)).chain(programs.next());
        let next = due.min().unwrap_or(end);
        // Work since `now` took no virtual time, except for steps of the clock.
        wait(&mut apps, &programs, aggregators.waits(), next - now)?;
    }
    for app in &mut apps {
        app.finish(end)?;
    }
    let objects = sessions.iter().flat_map(|session| session.visit.transfers()).collect();
    let rows = recorder.finish(end, &apps, &watch, objects)?;
    finish(&mut programs, namespaces, &clock)?;
    // The kernel hands over a partly filled block after its timeout.
    wait(&mut [], &Programs::default(), empty(), i64::from(RETIRE_MS) * 2_100_000)?;
    rings.drain(&clock, Time::NEVER, &mut taps, &mut kept);
    rings.complete()?;
    let mut tables = rows.tables(&mut taps, kept.table(scenario), &scenario.taps);
    tables.extend(programs.tables()?);
    tables.extend(sockets.table(scenario));
    let secrets: Vec<u8> = apps.iter().flat_map(|app| app.secrets()).collect();
    Ok(Output { tables, capture: rings.capture(&secrets) })
}

/// Ends the programs that still run, servers for instance.
fn finish(programs: &mut Programs, namespaces: &Namespaces, clock: &Clock) -> Result<()> {
    while programs.end(clock.now()?) {
        programs.turn(clock.now()?, namespaces)?;
        let left = programs.next().map_or(0, |at| at - clock.now().unwrap_or(at));
        wait(&mut [], programs, empty(), left)?;
        programs.turn(clock.now()?, namespaces)?;
    }
    programs.sweep();
    Ok(())
}

/// Waits for the applications' descriptors, the ends of programs and others, at most `ns`.
fn wait<'a>(
    apps: &mut [Box<dyn Application>],
    programs: &Programs,
    others: impl Iterator<Item = BorrowedFd<'a>>,
    ns: i64,
) -> Result<()> {
    let mut fds = Vec::with_capacity(2 * apps.len());
    let mut whose = Vec::with_capacity(2 * apps.len());
    for (number, app) in apps.iter().enumerate() {
        for (side, fd, wanted) in app.waits() {
            fds.push(PollFd::new(fd, PollFlags::from_bits_truncate(wanted)));
            whose.push((number, side));
        }
    }
    fds.extend(programs.waits().map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
    fds.extend(others.map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
    let time = TimeSpec::new(ns.max(0) / 1_000_000_000, ns.max(0) % 1_000_000_000);
    match ppoll(&mut fds, Some(time), None) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => {}
        Err(error) => return Err(error.into()),
    }
    let happened = fds.iter().map(|fd| fd.any().unwrap_or(true));
    let happened: Vec<_> = happened.zip(whose).filter(|(any, _)| *any).collect();
    for (_, (number, side)) in happened {
        apps[number].happened(side);
    }
    Ok(())
}
