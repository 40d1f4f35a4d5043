//! A visit to a page. An object is requested over the available connections once the objects it
//! depends on have arrived.
//!
//! HTTP/1.1: one request at a time per connection (RFC 9112 §9.3.2 allows more, browsers do not use
//! it). While objects wait, another connection is opened, up to the origin's limit. HTTP/2: all
//! requests at once over one connection.

use crate::connection::{Connection, State, Target};
use crate::Command;
use dumbbell_model::scenario::{Object, Protocol, Session};
use dumbbell_model::tables::TransferRow;
use dumbbell_model::Time;
use std::collections::VecDeque;

/// Progress of an object.
#[derive(Clone, Copy, Debug)]
struct Progress {
    /// Number of objects it depends on that have not arrived.
    missing: usize,
    wanted: Option<Time>,
    requested: Option<(Time, usize)>,
    first_byte: Option<Time>,
    arrived: Option<Time>,
}

/// Scheduled event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// An object becomes wanted.
    Wanted(usize),
    /// The name lookup of an origin is complete.
    LookedUp(usize),
    /// A response of the server on this connection is ready.
    Answer(usize),
}

/// State of an origin.
#[derive(Clone, Debug)]
struct OriginState {
    lookup: Lookup,
    /// Objects waiting for a connection.
    queue: VecDeque<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lookup {
    NotStarted,
    Started,
    Done,
}

/// A running visit to a page.
#[derive(Clone, Debug)]
pub struct PageLoad {
    session: Session,
    connections: Vec<Connection>,
    /// Flow names of the connections.
    names: Vec<String>,
    origins: Vec<OriginState>,
    objects: Vec<Progress>,
    /// Objects that depend on each object.
    dependents: Vec<Vec<usize>>,
    /// Scheduled events, the earliest last.
    due: Vec<(Time, Due)>,
    arrived: usize,
    commands: Vec<Command>,
}

impl PageLoad {
    /// Visit that starts at `start`.
    pub fn new(session: &Session, start: Time) -> Self {
        let mut names = Vec::new();
        let mut connections = Vec::new();
        for (number, origin) in session.origins.iter().enumerate() {
            names.extend(origin.connections.iter().cloned());
            connections.extend(origin.connections.iter().map(|_| Connection::new(number)));
        }
        let mut dependents = vec![Vec::new(); session.objects.len()];
        for (number, object) in session.objects.iter().enumerate() {
            for &before in &object.after {
                dependents[before as usize].push(number);
            }
        }
        let objects = session.objects.iter().map(|object| Progress {
            missing: object.after.len(),
            wanted: None,
            requested: None,
            first_byte: None,
            arrived: None,
        });
        let origin = OriginState { lookup: Lookup::NotStarted, queue: VecDeque::new() };
        let mut visit = Self {
            origins: vec![origin; session.origins.len()],
            objects: objects.collect(),
            session: session.clone(),
            connections,
            names,
            dependents,
            due: Vec::new(),
            arrived: 0,
            commands: Vec::new(),
        };
        for number in 0..visit.objects.len() {
            if visit.objects[number].missing == 0 {
                visit.at(start + visit.session.objects[number].delay, Due::Wanted(number));
            }
        }
        visit
    }

    /// Flow names of the connections, by index.
    pub fn connections(&self) -> &[String] {
        &self.names
    }

    /// Time of the next call of [`Self::wake`].
    pub fn next_at(&self) -> Option<Time> {
        self.due.last().map(|(at, _)| *at)
    }

    /// Processes the scheduled events.
    pub fn wake(&mut self, now: Time) -> Vec<Command> {
        while let Some(&(_, due)) = self.due.last().filter(|(at, _)| *at <= now) {
            self.due.pop();
            match due {
                Due::Wanted(object) => self.wanted(now, object),
                Due::LookedUp(origin) => {
                    self.origins[origin].lookup = Lookup::Done;
                    self.ask(now, origin);
                }
                Due::Answer(connection) => self.answer(now, connection),
            }
        }
        std::mem::take(&mut self.commands)
    }

    /// Processes the establishment of a connection at the client.
    pub fn connected(&mut self, now: Time, connection: usize) -> Vec<Command> {
        if self.connections[connection].state == State::Opening {
            self.set_up(now, connection, 0);
        }
        std::mem::take(&mut self.commands)
    }

    /// Processes the server's total of received bytes on a connection.
    pub fn server_read(&mut self, now: Time, connection: usize, total_bytes: u64) -> Vec<Command> {
        let origin = self.connections[connection].origin;
        for target in self.connections[connection].server_read(total_bytes) {
            let (service, bytes) = match target {
                Target::Setup(number) => {
                    let exchange = self.session.origins[origin].setup[number];
                    (dumbbell_model::Span::ZERO, exchange.response_bytes)
                }
                Target::Object(number) => {
                    let object = &self.session.objects[number];
                    (object.service, object.exchange.response_bytes)
                }
            };
            self.connections[connection].preparing.push((now + service, target, bytes));
            if !service.is_zero() {
                self.at(now + service, Due::Answer(connection));
            }
        }
        self.answer(now, connection);
        std::mem::take(&mut self.commands)
    }

    /// Length of the server's next write, if any. Call it when all earlier data is written.
    pub fn write(&mut self, connection: usize) -> Option<u64> {
        let origin = self.connections[connection].origin;
        let frames = self.session.origins[origin].protocol == Protocol::Http2;
        self.connections[connection].write(frames)
    }

    /// Processes the client's total of received bytes on a connection.
    pub fn client_read(&mut self, now: Time, connection: usize, total_bytes: u64) -> Vec<Command> {
        for read in self.connections[connection].client_read(total_bytes) {
            match read.target {
                Target::Setup(number) if read.complete => self.set_up(now, connection, number + 1),
                Target::Setup(_) => {}
                Target::Object(number) => {
                    self.objects[number].first_byte.get_or_insert(now);
                    if read.complete {
                        self.arrived(now, number);
                    }
                }
            }
        }
        let origin = self.connections[connection].origin;
        self.ask(now, origin);
        if self.arrived == self.objects.len() {
            self.close();
        }
        std::mem::take(&mut self.commands)
    }

    /// Returns true if all objects have arrived.
    pub fn finished(&self) -> bool {
        self.arrived == self.objects.len()
    }

    /// Rows of the objects, in the order of the session.
    pub fn transfers(&self) -> Vec<TransferRow> {
        let ns = |at: Option<Time>| at.map(|at| at.as_ns()).into();
        let rows = self.session.objects.iter().zip(&self.objects);
        rows.map(|(object, progress)| TransferRow {
            flow: progress
                .requested
                .map_or(String::new(), |(_, number)| self.names[number].clone()),
            group: self.group(object),
            session: self.session.name.clone(),
            object: object.name.clone(),
            start_ns: ns(progress.wanted),
            request_ns: ns(progress.requested.map(|(at, _)| at)),
            first_byte_ns: ns(progress.first_byte),
            end_ns: ns(progress.arrived),
            transfer_bytes: object.exchange.response_bytes.into(),
        })
        .collect()
    }

    fn group(&self, object: &Object) -> String {
        if object.group.is_empty() { &self.session.name } else { &object.group }.clone()
    }

    fn at(&mut self, at: Time, due: Due) {
        let place = self.due.partition_point(|&(other, _)| other > at);
        self.due.insert(place, (at, due));
    }

    fn wanted(&mut self, now: Time, object: usize) {
        self.objects[object].wanted = Some(now);
        let origin = self.session.objects[object].origin as usize;
        self.origins[origin].queue.push_back(object);
        self.ask(now, origin);
    }

    fn arrived(&mut self, now: Time, object: usize) {
        self.objects[object].arrived = Some(now);
        self.arrived += 1;
        for dependent in std::mem::take(&mut self.dependents[object]) {
            self.objects[dependent].missing -= 1;
            if self.objects[dependent].missing == 0 {
                let delay = self.session.objects[dependent].delay;
                if delay.is_zero() {
                    self.wanted(now, dependent);
                } else {
                    self.at(now + delay, Due::Wanted(dependent));
                }
            }
        }
    }

    /// Sends requests for the objects waiting for an origin, and opens connections for the rest.
    fn ask(&mut self, now: Time, origin: usize) {
        if self.origins[origin].queue.is_empty() {
            return;
        }
        match self.origins[origin].lookup {
            Lookup::Done => {}
            Lookup::Started => return,
            Lookup::NotStarted => {
                let lookup = self.session.origins[origin].lookup;
                if !lookup.is_zero() {
                    self.origins[origin].lookup = Lookup::Started;
                    self.at(now + lookup, Due::LookedUp(origin));
                    return;
                }
                self.origins[origin].lookup = Lookup::Done;
            }
        }
        let multiplexes = self.session.origins[origin].protocol == Protocol::Http2;
        for number in 0..self.connections.len() {
            let connection = &self.connections[number];
            if connection.origin != origin || connection.state != State::Open {
                continue;
            }
            while multiplexes || self.connections[number].waiting == 0 {
                let Some(object) = self.origins[origin].queue.pop_front() else { return };
                let bytes = self.session.objects[object].exchange.request_bytes;
                self.objects[object].requested = Some((now, number));
                self.connections[number].request(Target::Object(object), bytes);
                self.commands.push(Command::Ask { connection: number, bytes });
            }
        }
        self.open(origin);
    }

    /// Opens connections up to the number of waiting objects, within the origin's limit.
    fn open(&mut self, origin: usize) {
        let of_origin = |connection: &Connection| connection.origin == origin;
        let opening = |connection: &Connection| {
            matches!(connection.state, State::Opening | State::SettingUp(_))
        };
        let some = self.connections.iter().filter(|c| of_origin(c));
        let multiplexes = self.session.origins[origin].protocol == Protocol::Http2;
        let mut count = some.filter(|c| opening(c)).count();
        let wanted = if multiplexes { 1 } else { self.origins[origin].queue.len() };
        for (number, connection) in self.connections.iter_mut().enumerate() {
            if count >= wanted {
                break;
            }
            if of_origin(connection) && connection.state == State::Unused {
                connection.state = State::Opening;
                self.commands.push(Command::Open { connection: number });
                count += 1;
            }
        }
    }

    /// Starts the next set-up exchange, or the first request.
    fn set_up(&mut self, now: Time, number: usize, exchange: usize) {
        let connection = &mut self.connections[number];
        let origin = connection.origin;
        match self.session.origins[origin].setup.get(exchange) {
            Some(next) => {
                connection.state = State::SettingUp(exchange);
                connection.request(Target::Setup(exchange), next.request_bytes);
                self.commands.push(Command::Ask { connection: number, bytes: next.request_bytes });
            }
            None => {
                connection.state = State::Open;
                self.ask(now, origin);
            }
        }
    }

    /// Starts the responses that the server has prepared.
    fn answer(&mut self, now: Time, number: usize) {
        let connection = &mut self.connections[number];
        let mut ready = Vec::new();
        connection.preparing.retain(|&(at, target, bytes)| {
            if at <= now {
                ready.push((target, bytes));
            }
            at > now
        });
        if ready.is_empty() {
            return;
        }
        for (target, bytes) in ready {
            connection.respond(target, bytes);
        }
        self.commands.push(Command::Answer { connection: number });
    }

    fn close(&mut self) {
        for (number, connection) in self.connections.iter_mut().enumerate() {
            if matches!(connection.state, State::Unused | State::Closed) {
                continue;
            }
            connection.state = State::Closed;
            self.commands.push(Command::Close { connection: number });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_model::scenario::{Exchange, Origin};
    use dumbbell_model::tables::Int;
    use dumbbell_model::Span;

    fn session(connections: usize, protocol: Protocol, objects: &[(&[u32], u64)]) -> Session {
        let exchange = |response_bytes| Exchange { request_bytes: 400, response_bytes };
        Session {
            name: "page".to_owned(),
            start: Span::ZERO,
            start_jitter: Span::ZERO,
            origins: vec![Origin {
                connections: (0..connections).map(|i| format!("c{i}")).collect(),
                protocol,
                lookup: Span::from_ms(20),
                setup: vec![Exchange { request_bytes: 517, response_bytes: 3000 }],
            }],
            objects: objects
                .iter()
                .enumerate()
                .map(|(i, (after, bytes))| Object {
                    name: format!("o{i}"),
                    group: String::new(),
                    origin: 0,
                    after: after.to_vec(),
                    delay: Span::ZERO,
                    exchange: exchange(*bytes),
                    service: Span::ZERO,
                })
                .collect(),
        }
    }

    const ROOT: &[u32] = &[];
    const PAGE: [(&[u32], u64); 4] =
        [(ROOT, 10_000), (&[0], 20_000), (&[0], 20_000), (&[0], 20_000)];

    fn at(ms: u64) -> Time {
        Time::from_ns(ms * 1_000_000)
    }

    fn ask(connection: usize, bytes: u64) -> Command {
        Command::Ask { connection, bytes }
    }

    #[test]
    fn a_page_waits_for_the_name_the_handshake_and_tls() {
        let mut visit = PageLoad::new(&session(2, Protocol::Http1, &PAGE), at(0));
        assert_eq!(visit.next_at(), Some(at(0)));
        assert_eq!(visit.wake(at(0)), []);
        assert_eq!(visit.next_at(), Some(at(20)));
        assert_eq!(visit.wake(at(20)), [Command::Open { connection: 0 }]);
        assert_eq!(visit.connected(at(30), 0), [ask(0, 517)]);
        assert_eq!(visit.server_read(at(35), 0, 517), [Command::Answer { connection: 0 }]);
        assert_eq!((visit.write(0), visit.write(0)), (Some(3000), None));
        assert_eq!(visit.client_read(at(40), 0, 2999), []);
        assert_eq!(visit.client_read(at(41), 0, 3000), [ask(0, 400)]);
    }

    #[test]
    fn waiting_objects_use_the_free_connection_and_new_ones() {
        let mut visit = PageLoad::new(&session(2, Protocol::Http1, &PAGE), at(0));
        visit.wake(at(0));
        visit.wake(at(20));
        visit.connected(at(30), 0);
        visit.server_read(at(35), 0, 517);
        visit.write(0);
        visit.client_read(at(41), 0, 3000);
        visit.server_read(at(45), 0, 917);
        assert_eq!(visit.write(0), Some(10_000));
        // Three objects are wanted: one over the free connection, and one more connection is
        // allowed.
        let commands = visit.client_read(at(60), 0, 13_000);
        assert_eq!(commands, [ask(0, 400), Command::Open { connection: 1 }]);
        assert_eq!(visit.client_read(at(60), 0, 13_000), []);
        let rows = visit.transfers();
        let arrived = rows.iter().filter(|row| row.end_ns.get().is_some()).count();
        assert_eq!((rows.len(), arrived), (4, 1));
        let row = &rows[0];
        assert_eq!([row.start_ns, row.request_ns].map(Int::stored), [0, 41_000_000]);
        assert_eq!([row.first_byte_ns, row.end_ns].map(Int::stored), [60_000_000, 60_000_000]);
    }

    #[test]
    fn http_2_asks_for_all_at_once_over_one_connection() {
        let page: [(&[u32], u64); 3] = [(ROOT, 40_000), (ROOT, 10_000), (ROOT, 5)];
        let mut spec = session(1, Protocol::Http2, &page);
        spec.origins[0].setup.clear();
        let mut visit = PageLoad::new(&spec, at(0));
        visit.wake(at(0));
        assert_eq!(visit.wake(at(20)), [Command::Open { connection: 0 }]);
        assert_eq!(visit.connected(at(30), 0), [ask(0, 400), ask(0, 400), ask(0, 400)]);
        visit.server_read(at(35), 0, 800);
        assert_eq!(visit.write(0), Some(16_393));
        visit.server_read(at(36), 0, 1200);
        let rest: Vec<_> = std::iter::from_fn(|| visit.write(0)).collect();
        assert_eq!(rest, [10_009, 16_393, 14, 7_241]);
        let total = 16_393 + 10_009 + 16_393 + 14 + 7_241;
        assert_eq!(visit.client_read(at(50), 0, total), [Command::Close { connection: 0 }]);
        assert!(visit.finished());
    }
}
