//! Sessions in the simulator: what happens on their connections is told to the visit, and what it
//! asks for is done.

use crate::endpoint::tcp::TcpEnds;
use crate::endpoint::Ends;
use crate::events::Source;
use crate::flow::FlowState;
use crate::world::World;
use dumbbell_model::Scenario;
use dumbbell_web::Command;
use std::collections::VecDeque;

/// Session and connection of each flow that belongs to one.
pub(crate) fn connection_of(scenario: &Scenario, flow: &str) -> Option<(usize, usize)> {
    scenario.sessions.iter().enumerate().find_map(|(session, spec)| {
        let mut names = spec.origins.iter().flat_map(|origin| &origin.connections);
        Some((session, names.position(|name| name == flow)?))
    })
}

fn ends(flows: &mut [FlowState], flow: u32) -> Option<&mut TcpEnds> {
    match &mut flows[flow as usize].ends {
        Ends::Tcp(tcp) => Some(tcp),
        Ends::Udp(_) | Ends::Ping(_) => None,
    }
}

impl World<'_> {
    fn session_source(&self, session: usize) -> usize {
        self.neighbour_source() as usize + 1 + session
    }

    pub(crate) fn begin_sessions(&mut self) {
        for session in 0..self.sessions.len() {
            self.schedule_session(session);
        }
    }

    fn schedule_session(&mut self, session: usize) {
        let (source, at) = (self.session_source(session), self.sessions[session].visit.next_at());
        self.set(source, at);
    }

    /// Something of a session is due.
    pub(crate) fn session_event(&mut self, source: Source) {
        let session = source as usize - self.session_source(0);
        let commands = self.sessions[session].visit.wake(self.now);
        self.obey(session, commands);
    }

    /// What happened on a connection of a session: both ends look, and act.
    pub(crate) fn session_turn(&mut self, flow: u32) {
        let now = self.now;
        let Some(tcp) = ends(&mut self.flows, flow) else { return };
        let Some(requests) = &mut tcp.requests else { return };
        let (session, connection) = (requests.session, requests.connection);
        let established = requests.sender.is_open();
        let connects = established && requests.sender.source_at.is_none() && !requests.connected;
        requests.connected |= connects;
        let (asked, client_gone) = requests.receiver.read_so_far();
        let (answered, _) = tcp.receiver.read_so_far();
        let visit = &mut self.sessions[session].visit;
        let mut commands = Vec::new();
        if connects {
            commands.extend(visit.connected(now, connection));
        }
        commands.extend(visit.server_read(now, connection, asked));
        commands.extend(visit.client_read(now, connection, answered));
        if client_gone {
            if let Some(mut server) = tcp.server() {
                if server.sender.is_open() {
                    server.send(now, |sender| sender.stop(now));
                }
            }
        }
        self.write_answers(session, flow, connection);
        self.obey(session, commands);
    }

    fn obey(&mut self, session: usize, commands: Vec<Command>) {
        let now = self.now;
        let mut commands = VecDeque::from(commands);
        while let Some(command) = commands.pop_front() {
            let (Command::Open { connection }
            | Command::Ask { connection, .. }
            | Command::Answer { connection }
            | Command::Close { connection }) = command;
            let flow = self.sessions[session].flows[connection] as u32;
            if let Command::Answer { .. } = command {
                self.write_answers(session, flow, connection);
            } else if let Some(mut client) = ends(&mut self.flows, flow).and_then(TcpEnds::client) {
                match command {
                    Command::Open { .. } => client.open(now),
                    Command::Ask { bytes, .. } => {
                        client.send(now, |sender| sender.allow(now, bytes));
                    }
                    Command::Answer { .. } => {}
                    Command::Close { .. } => client.send(now, |sender| sender.stop(now)),
                }
            }
            if let Command::Open { .. } = command {
                self.flows[flow as usize].start = now;
                self.active.push(flow);
            }
            self.collect(flow);
        }
        self.schedule_session(session);
    }

    /// The server writes while there is room, and something to write.
    fn write_answers(&mut self, session: usize, flow: u32, connection: usize) {
        let now = self.now;
        loop {
            let Some(mut server) = ends(&mut self.flows, flow).and_then(TcpEnds::server) else {
                return;
            };
            if !server.sender.wrote_all() {
                return;
            }
            let Some(bytes) = self.sessions[session].visit.write(connection) else { return };
            server.send(now, |sender| sender.allow(now, bytes));
        }
    }
}
