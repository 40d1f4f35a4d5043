//! Sessions on the kernel: passes events of their connections to the visit, and executes its commands.

use crate::application::Application;
use crate::traffic::web::WebFlow;
use dumbbell_model::scenario::Scenario;
use dumbbell_model::Time;
use dumbbell_web::{Command, Running, Visit};
use std::collections::VecDeque;
use std::io::Result;

/// A session at run time.
pub(crate) struct Session {
    pub(crate) visit: Visit,
    flows: Vec<usize>,
}

/// Makes the sessions of a scenario.
pub(crate) fn sessions(scenario: &Scenario, seed: u64) -> Vec<Session> {
    let session = |Running { visit, flows }| Session { visit, flows };
    dumbbell_web::visits(scenario, seed).into_iter().map(session).collect()
}

impl Session {
    /// Time of the next turn without an event.
    pub(crate) fn next(&self) -> Option<i64> {
        self.visit.next_at().map(|at| at.as_ns() as i64)
    }

    /// Passes events to the visit and executes its commands, until there are none. Nothing happens before
    /// the run begins.
    pub(crate) fn turn(&mut self, now: i64, apps: &mut [Box<dyn Application>]) -> Result<()> {
        let Ok(now_ns) = u64::try_from(now) else { return Ok(()) };
        let at = Time::from_ns(now_ns);
        let mut commands = VecDeque::from(self.visit.wake(at));
        for (connection, &flow) in self.flows.iter().enumerate() {
            let Some(web) = connection_of(apps, flow) else { continue };
            if web.take_connected() {
                commands.extend(self.visit.connected(at, connection));
            }
            commands.extend(self.visit.server_read(at, connection, web.server.read_bytes));
            commands.extend(self.visit.client_read(at, connection, web.client.read_bytes));
        }
        while let Some(command) = commands.pop_front() {
            self.obey(now, command, apps)?;
        }
        for (connection, &flow) in self.flows.iter().enumerate() {
            if let Some(web) = connection_of(apps, flow) {
                write_answers(&mut self.visit, connection, web)?;
            }
        }
        Ok(())
    }

    fn obey(&self, now: i64, command: Command, apps: &mut [Box<dyn Application>]) -> Result<()> {
        let (Command::Open { connection }
        | Command::Ask { connection, .. }
        | Command::Answer { connection }
        | Command::Close { connection }) = command;
        let Some(web) = connection_of(apps, self.flows[connection]) else { return Ok(()) };
        match command {
            Command::Open { .. } => web.open(now),
            Command::Ask { bytes, .. } => web.ask(bytes),
            Command::Answer { .. } => Ok(()), // Written below.
            Command::Close { .. } => web.close(),
        }
    }
}

/// Returns the page's connection on a flow.
fn connection_of(apps: &mut [Box<dyn Application>], flow: usize) -> Option<&mut WebFlow> {
    apps[flow].page_connection()?.downcast_mut()
}

/// Writes responses of the server while the socket has space.
fn write_answers(visit: &mut Visit, connection: usize, web: &mut WebFlow) -> Result<()> {
    while web.wrote_all() {
        let Some(bytes) = visit.write(connection) else { break };
        web.answer(bytes)?;
    }
    Ok(())
}
