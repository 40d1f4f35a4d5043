//! The run: one loop that starts flows, moves their applications, samples, changes links.

use crate::clock::Clock;
use crate::mptcp::{self, MptcpFlow, Place};
use crate::netlink::Netlink;
use crate::ping::{self, PingFlow};
use crate::plan::{address, Plan};
use crate::realise::{Kernel, World};
use crate::record::Recorder;
use crate::scripted;
use crate::sessions::{self, Session};
use crate::sys::{bpf_count, interface_index, RETIRE_MS};
use crate::taps::Rings;
use crate::tcp::{self, Ends, Side, TcpFlow};
use crate::udp::{self, UdpFlow};
use crate::web::{self, WebFlow};
use crate::writer::Writer;
use dumbbell_capture::Taps;
use dumbbell_model::paths::addresses;
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::{Connection, Scenario, Source, Subflow, Traffic};
use dumbbell_model::tables::Table;
use dumbbell_packet::wire::interface_address;
use dumbbell_packet::TapPackets;
use nix::poll::{ppoll, PollFd, PollFlags};
use nix::sys::time::TimeSpec;
use std::collections::BTreeMap;
use std::io::Result;
use std::os::fd::{AsFd, OwnedFd};

/// The rings are emptied this often.
const DRAIN_NS: i64 = 50_000_000;
/// One report of progress per virtual second.
const PROGRESS_NS: i64 = 1_000_000_000;

/// What a flow is.
pub(crate) enum App {
    Tcp(Box<TcpFlow>),
    Udp(UdpFlow),
    Ping(PingFlow),
    Web(Box<WebFlow>),
    /// Stands in the place of its first subflow.
    Mptcp(Box<MptcpFlow>),
    /// The place of its other subflows.
    Subflow,
}

impl App {
    fn next(&self) -> Option<i64> {
        match self {
            Self::Tcp(flow) => flow.next(),
            Self::Udp(flow) => flow.next(),
            Self::Ping(flow) => flow.next(),
            Self::Web(flow) => flow.next(),
            Self::Mptcp(flow) => flow.next(),
            Self::Subflow => None,
        }
    }

    fn turn(&mut self, now: i64) -> Result<()> {
        match self {
            Self::Tcp(flow) => flow.turn(now),
            Self::Udp(flow) => flow.turn(now),
            Self::Ping(flow) => flow.turn(now),
            Self::Web(flow) => flow.turn(now),
            Self::Mptcp(flow) => flow.turn(now),
            Self::Subflow => Ok(()),
        }
    }
}

/// What is watched of each pipe: its namespace's counters, and which interface.
pub(crate) struct Watch {
    pub(crate) netlinks: BTreeMap<usize, Netlink>,
    /// Interface index of each pipe.
    pub(crate) interfaces: Vec<i32>,
    /// For each scripted loss of the plan, what counts the segments it looks at.
    scripted: Vec<OwnedFd>,
}

impl Watch {
    /// What scripts have dropped at a pipe.
    pub(crate) fn scripted_drops(&self, plan: &Plan, pipe: usize) -> Result<u64> {
        let place = &plan.places[pipe];
        let mut dropped = 0;
        for (of, counter) in plan.scripted.iter().zip(&self.scripted) {
            if (of.namespace, &of.device) == (place.namespace, &place.device) {
                dropped += scripted::dropped(&of.nth, bpf_count(counter.as_fd())?);
            }
        }
        Ok(dropped)
    }
}

/// What a run gives: all tables in the order of the digest, and a capture if it was asked for.
pub(crate) struct Output {
    pub(crate) tables: Vec<Table>,
    pub(crate) capture: Option<Vec<u8>>,
}

/// Runs the flows of a scenario.
pub(crate) fn run(
    scenario: &Scenario,
    plan: &Plan,
    world: &World,
    seed: u64,
    kernel: Kernel,
    progress: impl Fn(i64),
) -> Result<Output> {
    let end = scenario.duration.as_ns() as i64;
    let mut apps = applications(scenario, world, seed)?;
    let mut sessions = sessions::sessions(scenario, seed);
    let mut taps = Taps::new(scenario.flows.len());
    let mut kept = TapPackets::new(scenario.sampling.packets);
    let mut rings = Rings::open(scenario, plan, world)?;
    let watch = open_watch(plan, world)?;
    let mut recorder = Recorder::new(scenario, plan);
    // Only now: opening sockets takes milliseconds (the kernel waits for grace periods).
    let clock = Clock::begin(kernel)?;
    let mut changes = plan.changes.iter().peekable();
    let interval = scenario.sampling.interval.as_ns().max(1) as i64;
    let (mut sample_at, mut drain_at, mut progress_at) = (interval, DRAIN_NS, 0);
    loop {
        let now = clock.now()?;
        while let Some(change) = changes.next_if(|change| change.at.as_ns() as i64 <= now) {
            world.tc(change.namespace, &change.line)?;
        }
        for app in &mut apps {
            app.turn(now)?;
        }
        for session in &mut sessions {
            session.turn(now, &mut apps)?;
        }
        if now >= sample_at {
            for app in &mut apps {
                if let App::Mptcp(flow) = app {
                    flow.look()?;
                }
            }
            recorder.sample(sample_at, &apps, &watch)?;
            sample_at += interval;
        }
        if now >= end {
            break;
        }
        if now >= drain_at {
            drain_at += DRAIN_NS;
            rings.drain(&clock, &mut taps, &mut kept);
        }
        if now >= progress_at {
            progress_at += PROGRESS_NS;
            progress(now);
        }
        let change_at = changes.peek().map(|change| change.at.as_ns() as i64);
        let due =
            apps.iter().filter_map(App::next).chain(change_at).chain([sample_at, drain_at, end]);
        let due = due.chain(sessions.iter().filter_map(Session::next));
        let next = due.min().unwrap_or(end);
        // Nothing that was done since `now` has taken time, but for steps of the clock.
        wait(&mut apps, next - now)?;
    }
    for app in &mut apps {
        match app {
            App::Tcp(flow) => flow.finish(end)?,
            App::Udp(flow) => flow.read(end)?,
            App::Mptcp(flow) => flow.finish(end)?,
            App::Ping(_) | App::Web(_) | App::Subflow => {}
        }
    }
    let objects = sessions.iter().flat_map(|session| session.visit.transfers()).collect();
    let rows = recorder.finish(end, &apps, &watch, objects)?;
    // A block that is not full is handed over when its time is out.
    wait(&mut [], i64::from(RETIRE_MS) * 2_100_000)?;
    rings.drain(&clock, &mut taps, &mut kept);
    rings.complete()?;
    let tables = rows.tables(&taps, &kept.rows(scenario), &scenario.taps);
    Ok(Output { tables, capture: rings.capture() })
}

/// Waits for what the applications wait for, at most this long.
fn wait(apps: &mut [App], ns: i64) -> Result<()> {
    let mut fds = Vec::with_capacity(2 * apps.len());
    let mut whose = Vec::with_capacity(2 * apps.len());
    for (number, app) in apps.iter().enumerate() {
        let waits = match app {
            App::Tcp(flow) => flow.waits(),
            App::Udp(flow) => flow.waits().into_iter().collect(),
            App::Ping(flow) => flow.waits(),
            App::Mptcp(flow) => flow.waits(),
            App::Subflow => Vec::new(),
            App::Web(flow) => {
                flow.waits().into_iter().map(|(fd, wanted)| (Side::Sender, fd, wanted)).collect()
            }
        };
        for (side, fd, wanted) in waits {
            fds.push(PollFd::new(fd, PollFlags::from_bits_truncate(wanted)));
            whose.push((number, side));
        }
    }
    let time = TimeSpec::new(ns.max(0) / 1_000_000_000, ns.max(0) % 1_000_000_000);
    match ppoll(&mut fds, Some(time), None) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => {}
        Err(error) => return Err(error.into()),
    }
    let happened = fds.iter().map(|fd| fd.any().unwrap_or(true));
    let happened: Vec<_> = happened.zip(whose).filter(|(any, _)| *any).collect();
    for (_, (number, side)) in happened {
        match &mut apps[number] {
            App::Tcp(flow) => flow.happened(side),
            App::Mptcp(flow) => flow.happened(side),
            App::Web(flow) => flow.happened(),
            App::Udp(_) | App::Ping(_) | App::Subflow => {}
        }
    }
    Ok(())
}

fn applications(scenario: &Scenario, world: &World, seed: u64) -> Result<Vec<App>> {
    let index = |name: &str| scenario.nodes.iter().position(|node| node.name == name).unwrap_or(0);
    let drawn = |flow: &str| Rng::named(seed, &format!("flow/{flow}/source"));
    let mut apps = Vec::with_capacity(scenario.flows.len());
    for (number, flow) in scenario.flows.iter().enumerate() {
        let (from, to) = (index(&flow.from), index(&flow.to));
        let ends = Ends { flow: number, from: address(from), to: address(to), dscp: flow.dscp };
        // The same draw as the simulator's.
        let jitter =
            Rng::named(seed, &format!("flow/{}/start", flow.name)).below(flow.start_jitter.as_ps());
        let start = flow.start.as_ns() as i64 + (jitter / 1000) as i64;
        let stop = flow.stop.map_or(i64::MAX, |stop| stop.as_ns() as i64);
        let app = match &flow.traffic {
            Traffic::Tcp(spec) if spec.source == Source::Session => {
                world.enter(from)?;
                let listener = web::listen(ends, spec)?;
                world.enter(to)?;
                App::Web(Box::new(WebFlow::new(ends, (**spec).clone(), listener)?))
            }
            Traffic::Tcp(spec) if spec.source == Source::Subflow => {
                let opens =
                    scenario.connections.iter().find(|connection| connection.first() == flow.name);
                match opens {
                    Some(connection) => {
                        let places = places(scenario, connection, start);
                        world.enter(to)?;
                        let speaks = |node: usize| {
                            scenario.nodes[node].tcp.as_ref().is_none_or(|tcp| tcp.mptcp_enabled)
                        };
                        let (own_host, other) = (speaks(from), speaks(to));
                        let listener = mptcp::listen(places[0], flow.dscp, other)?;
                        world.enter(from)?;
                        let (own, tcp) = (connection.clone(), (**spec).clone());
                        let writer = Writer::new(own.source, drawn(&flow.name));
                        let dscp = flow.dscp;
                        let flow =
                            MptcpFlow::new(own, tcp, dscp, &places, listener, own_host, writer)?;
                        App::Mptcp(Box::new(flow))
                    }
                    None => App::Subflow,
                }
            }
            Traffic::Tcp(spec) => {
                world.enter(to)?;
                let listener = tcp::listen(ends)?;
                world.enter(from)?;
                let writer = Writer::new(spec.source, drawn(&flow.name));
                let flow = TcpFlow::new(ends, (**spec).clone(), listener, start, stop, writer)?;
                App::Tcp(Box::new(flow))
            }
            Traffic::Udp(spec) => {
                world.enter(to)?;
                let receiver = udp::listen(ends)?;
                world.enter(from)?;
                let keeps_probes = scenario.sampling.probes;
                App::Udp(UdpFlow::new(ends, *spec, receiver, start, stop, keeps_probes)?)
            }
            Traffic::Ping(spec) => {
                world.enter(to)?;
                let answer = ping::answer(ends, *spec)?;
                world.enter(from)?;
                App::Ping(PingFlow::new(ends, *spec, answer, start, stop)?)
            }
        };
        apps.push(app);
    }
    world.leave()?;
    Ok(apps)
}

/// Where a connection's subflows run. `start`: of the first.
fn places(scenario: &Scenario, connection: &Connection, start: i64) -> Vec<Place> {
    let index = |name: &str| scenario.nodes.iter().position(|node| node.name == name).unwrap_or(0);
    let ends: Vec<_> = scenario.links.iter().map(|l| (index(&l.a), index(&l.b))).collect();
    let addresses = addresses(scenario);
    let place = |(number, subflow): (usize, &Subflow)| {
        let flow = scenario.flows.iter().position(|f| f.name == subflow.flow).unwrap_or(0);
        let [from, to] = addresses[flow].map(|at| interface_address(at.pipe(&ends).unwrap_or(0)));
        let spec = &scenario.flows[flow];
        let own = spec.start.as_ns() as i64;
        Place {
            flow,
            from,
            to,
            start: if number == 0 { start } else { own },
            stop: spec.stop.map_or(i64::MAX, |stop| stop.as_ns() as i64),
        }
    };
    connection.subflows.iter().enumerate().map(place).collect()
}

fn open_watch(plan: &Plan, world: &World) -> Result<Watch> {
    let mut netlinks = BTreeMap::new();
    let mut interfaces = Vec::with_capacity(plan.places.len());
    for place in &plan.places {
        world.enter(place.namespace)?;
        interfaces.push(interface_index(&place.device)?);
        if let std::collections::btree_map::Entry::Vacant(free) = netlinks.entry(place.namespace) {
            free.insert(Netlink::open()?);
        }
    }
    world.leave()?;
    let scripted = world.scripted().iter().map(OwnedFd::try_clone).collect::<Result<_>>()?;
    Ok(Watch { netlinks, interfaces, scripted })
}
