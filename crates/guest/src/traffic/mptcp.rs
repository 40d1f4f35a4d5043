//! A Multipath TCP connection: the stream, and the subflows that the scenario names.

use super::mptcp_info::{subflows, Info};
use super::stream::{set_congestion_control, Notes, Parts, Stream, ESTABLISHED};
use crate::application::{node_number, Application, Opening, Side, Wait};
use crate::flow_rows::{FlowReport, FlowSampler};
use crate::info::TcpInfo;
use crate::pm::{Endpoint, PathManager};
use crate::sys;
use dumbbell_model::paths::addresses;
use dumbbell_model::scenario::{Connection, Scenario, Subflow, Tcp};
use dumbbell_packet::wire::{interface_address, CLIENT_PORT, SERVER_PORT};
use std::io::{Error, Result};
use std::os::fd::{AsFd, OwnedFd};

const IPPROTO_MPTCP: i32 = 262;

/// Stage of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Wanted,
    /// Requested from the kernel.
    Created,
    /// Also signalled to the other end as backup.
    Marked,
    Removed,
}

/// A subflow: its ends, its times, and its latest state.
pub(super) struct Part {
    pub(super) flow: usize,
    ends: [Endpoint; 2],
    backup: bool,
    pub(super) from: i64,
    until: i64,
    stage: Stage,
    pub(super) established: Option<i64>,
    /// Latest state of both its sockets.
    pub(super) sender: Option<TcpInfo>,
    pub(super) receiver: Option<TcpInfo>,
}

/// A connection between two hosts.
pub(super) struct MptcpFlow {
    pub(super) spec: Connection,
    pub(super) tcp: Tcp,
    pub(super) stream: Stream,
    pub(super) state: State,
    manager: PathManager,
    /// Path manager of the other host. The kernel accepts subflows there only while a socket listens for events.
    _other_manager: PathManager,
    changed: bool,
    /// Time of the last turn.
    looked: i64,
}

/// Latest state of the connection.
pub(super) struct State {
    pub(super) parts: Vec<Part>,
    pub(super) info: Info,
    /// First byte of the stream in the kernel's sequence numbers.
    base: u64,
    /// Payload delivered in order.
    pub(super) delivered: u64,
}

/// A subflow that belongs to the connection of another flow.
struct Joined;

impl Application for Joined {
    fn next(&self) -> Option<i64> {
        None
    }

    fn turn(&mut self, _now: i64) -> Result<()> {
        Ok(())
    }

    fn waits(&self) -> Vec<Wait<'_>> {
        Vec::new()
    }

    fn report(&self, _report: &mut FlowReport<'_>) -> Result<()> {
        Ok(())
    }
}

/// Ends and times of a subflow.
#[derive(Clone, Copy, Debug)]
struct SubflowEnds {
    flow: usize,
    from: [u8; 4],
    to: [u8; 4],
    start: i64,
    stop: i64,
}

/// Subflows of a connection. `start`: start of the first.
fn subflow_ends(scenario: &Scenario, connection: &Connection, start: i64) -> Vec<SubflowEnds> {
    let number = |name: &str| node_number(scenario, name);
    let ends: Vec<_> = scenario.links.iter().map(|l| (number(&l.a), number(&l.b))).collect();
    let addresses = addresses(scenario);
    let ends = |(number, subflow): (usize, &Subflow)| {
        let flow = scenario.flows.iter().position(|f| f.name == subflow.flow).unwrap_or(0);
        let [from, to] = addresses[flow].map(|at| interface_address(at.pipe(&ends).unwrap_or(0)));
        let spec = &scenario.flows[flow];
        SubflowEnds {
            flow,
            from,
            to,
            start: if number == 0 { start } else { spec.start.as_ns() as i64 },
            stop: spec.stop.map_or(i64::MAX, |stop| stop.as_ns() as i64),
        }
    };
    connection.subflows.iter().enumerate().map(ends).collect()
}

/// Opens a socket, for Multipath TCP if the host speaks it.
fn socket(speaks: bool) -> Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK;
    let protocol = if speaks { IPPROTO_MPTCP } else { 0 };
    sys::socket(libc::AF_INET, kind, protocol)
        .map_err(|error| Error::other(format!("Multipath TCP: {error}")))
}

/// Opens the listening socket and the path manager of the receiving host; called in its namespace.
fn listen(first: SubflowEnds, dscp: u8, speaks: bool) -> Result<(OwnedFd, PathManager)> {
    let listener = socket(speaks)?;
    sys::set_option(listener.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    // Any address: later subflows arrive at other addresses than the first.
    sys::bind(listener.as_fd(), &sys::inet([0; 4], SERVER_PORT + first.flow as u16))?;
    sys::set_dscp(listener.as_fd(), dscp)?;
    sys::listen(listener.as_fd())?;
    Ok((listener, PathManager::open()?))
}

/// Opens the connection of a flow. A later subflow has no application of its own.
pub(super) fn open(tcp: &Tcp, opening: &Opening<'_>) -> Result<Box<dyn Application>> {
    let scenario = opening.scenario;
    let opens = scenario.connections.iter().find(|one| one.first() == opening.flow.name);
    let Some(spec) = opens else { return Ok(Box::new(Joined)) };
    let ends = subflow_ends(scenario, spec, opening.start);
    let first = ends[0];
    let [source, destination] = opening
        .nodes
        .map(|node| scenario.nodes[node].tcp.as_ref().is_none_or(|tcp| tcp.mptcp_enabled));
    let dscp = opening.ends.dscp;
    opening.at_destination()?;
    let (listener, other) = listen(first, dscp, destination)?;
    opening.at_source()?;
    let sender = socket(source)?;
    set_congestion_control(sender.as_fd(), tcp.congestion_control)?;
    sys::bind(sender.as_fd(), &sys::inet(first.from, CLIENT_PORT + first.flow as u16))?;
    sys::set_dscp(sender.as_fd(), dscp)?;
    let port = SERVER_PORT + first.flow as u16;
    let stream = Stream::new(Parts {
        listener,
        sender,
        target: sys::inet(first.to, port),
        writer: opening.writer(spec.source),
        sink: spec.sink,
        start: first.start,
        stop: spec.stop.map_or(i64::MAX, |stop| stop.as_ns() as i64),
    });
    let part = |(number, ends): (usize, &SubflowEnds)| {
        let (id, client) = (number as u8, CLIENT_PORT + ends.flow as u16);
        Part {
            flow: ends.flow,
            ends: [
                Endpoint { address: ends.from, port: client, id },
                Endpoint { address: ends.to, port, id },
            ],
            backup: spec.subflows[number].backup,
            from: ends.start,
            until: ends.stop,
            stage: Stage::Wanted,
            established: None,
            sender: None,
            receiver: None,
        }
    };
    let parts = ends.iter().enumerate().map(part).collect();
    Ok(Box::new(MptcpFlow {
        spec: spec.clone(),
        tcp: tcp.clone(),
        stream,
        state: State { parts, info: Info::default(), base: 0, delivered: 0 },
        manager: PathManager::open()?,
        _other_manager: other,
        changed: false,
        looked: -1,
    }))
}

impl MptcpFlow {
    /// Opens and closes subflows at their times, or as soon as the kernel allows it.
    fn manage(&mut self, now: i64) -> Result<()> {
        if self.state.info.fell_back() {
            return Ok(());
        }
        let token = self.state.info.token;
        for part in self.state.parts.iter_mut().skip(1) {
            if part.stage == Stage::Wanted && now >= part.from {
                match self.manager.create(token, part.ends, part.backup) {
                    Ok(()) => part.stage = Stage::Created,
                    // The kernel allows it only after the first acknowledgement of the other end.
                    Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) => {}
                    // The connection fell back to TCP, which was not yet known here.
                    Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                        part.stage = Stage::Removed;
                    }
                    Err(error) => return Err(error),
                }
            }
            if part.stage == Stage::Created && part.backup {
                // MP_PRIO cannot be sent before the subflow is established.
                if self.manager.make_backup(token, part.ends).is_ok() {
                    part.stage = Stage::Marked;
                }
            }
        }
        for part in &mut self.state.parts {
            if now >= part.until && part.stage != Stage::Removed {
                part.stage = Stage::Removed;
                match self.manager.destroy(token, part.ends) {
                    // The subflow is already closed.
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    other => other?,
                }
            }
        }
        Ok(())
    }

    /// Payload acknowledged at the connection level (DATA_ACK).
    pub(super) fn acked(&self) -> u64 {
        let acked = self.state.info.snd_una.wrapping_sub(self.state.base);
        acked.min(self.stream.writer.written())
    }
}

impl Application for MptcpFlow {
    fn next(&self) -> Option<i64> {
        let parts = self.state.parts.iter().filter(|_| self.stream.is_open());
        let times = parts.filter_map(|part| match part.stage {
            Stage::Wanted => Some(part.from),
            Stage::Created | Stage::Marked => Some(part.until),
            Stage::Removed => None,
        });
        // Actions due earlier wait for an event.
        let times = times.filter(|&at| at > self.looked);
        self.stream.next().into_iter().chain(times).min()
    }

    fn turn(&mut self, now: i64) -> Result<()> {
        self.looked = now;
        self.stream.turn(now, &mut self.state)?;
        if !self.stream.is_open() {
            return Ok(());
        }
        if std::mem::take(&mut self.changed) {
            self.manager.drain()?;
            self.state.look(&self.stream)?;
            for part in &mut self.state.parts {
                if part.sender.is_some_and(|info| info.state() == ESTABLISHED) {
                    part.established.get_or_insert(now);
                }
            }
        }
        self.manage(now)
    }

    fn waits(&self) -> Vec<Wait<'_>> {
        let mut found = self.stream.waits();
        if self.stream.is_open() {
            found.push((Side::Manager, self.manager.events(), libc::POLLIN));
        }
        found
    }

    fn happened(&mut self, side: Side) {
        self.changed |= side == Side::Manager;
        self.stream.happened(side);
    }

    fn sample(&mut self, now: i64, sampler: &mut FlowSampler<'_>) -> Result<()> {
        self.state.look(&self.stream)?;
        if self.stream.is_open() {
            self.sample_rows(now, sampler);
        }
        Ok(())
    }

    fn finish(&mut self, end: i64) -> Result<()> {
        self.state.look(&self.stream)?;
        let receivers = self.state.parts.iter().filter_map(|part| part.receiver);
        let ago_ms = receivers
            .filter(|info| info.bytes_received() > 0)
            .map(|info| i64::from(info.last_data_received_ms()))
            .min();
        if let Some(ago_ms) = ago_ms.filter(|_| !self.stream.has_read_all) {
            self.stream.last_delivery = Some(end - ago_ms * 1_000_000);
        }
        Ok(())
    }

    fn report(&self, report: &mut FlowReport<'_>) -> Result<()> {
        self.report_rows(report);
        Ok(())
    }
}

impl Notes for State {
    fn connected(&mut self, stream: &Stream) -> Result<()> {
        // A connection that fell back to TCP has no such state.
        let plain = Info { flags: 1, ..Info::default() };
        self.info = Info::of(stream.sender.as_fd()).unwrap_or(plain);
        self.base = self.info.write_seq;
        Ok(())
    }

    fn closed(&mut self, stream: &Stream) -> Result<bool> {
        self.look(stream)?;
        Ok(true)
    }

    fn read_all(&mut self, stream: &Stream) -> Result<()> {
        self.look(stream)
    }
}

impl State {
    /// Reads the state of the connection and of its subflows.
    fn look(&mut self, stream: &Stream) -> Result<()> {
        if stream.established.is_none() {
            return Ok(());
        }
        if self.info.fell_back() {
            return self.look_at_tcp(stream);
        }
        match Info::of(stream.sender.as_fd()) {
            Ok(info) => self.info = Info { token: self.info.token, ..info },
            // The connection fell back to TCP; the socket now reports `tcp_info`.
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                return self.look_at_tcp(stream);
            }
            Err(error) => return Err(error),
        }
        for (port, info) in subflows(stream.sender.as_fd(), 0)? {
            if let Some(part) = self.part(port) {
                part.sender = Some(info);
            }
        }
        if let Some(receiver) = &stream.receiver {
            let fd = receiver.as_fd();
            let (info, infos) = match (Info::of(fd), subflows(fd, 1)) {
                (Ok(info), Ok(infos)) => (info, infos),
                _ => return self.look_at_tcp(stream),
            };
            self.delivered = info.rcv_nxt.wrapping_sub(self.base).min(stream.writer.written());
            for (port, info) in infos {
                if let Some(part) = self.part(port) {
                    part.receiver = Some(info);
                }
            }
            if info.fell_back() {
                let first = self.parts[0].receiver.map_or(0, |info| info.bytes_received());
                self.delivered = first.min(stream.writer.written());
            }
        }
        Ok(())
    }

    /// Reads the state of the only subflow after a fallback to TCP.
    fn look_at_tcp(&mut self, stream: &Stream) -> Result<()> {
        self.info.flags |= 1;
        let first = &mut self.parts[0];
        let info = TcpInfo::of(stream.sender.as_fd())?;
        self.info.snd_una = self.base.wrapping_add(info.bytes_acked().saturating_sub(1));
        first.sender = Some(info);
        if let Some(receiver) = &stream.receiver {
            let info = TcpInfo::of(receiver.as_fd())?;
            self.delivered = info.bytes_received().min(stream.writer.written());
            first.receiver = Some(info);
        }
        Ok(())
    }

    fn part(&mut self, port: u16) -> Option<&mut Part> {
        self.parts.iter_mut().find(|part| part.ends[0].port == port)
    }
}
