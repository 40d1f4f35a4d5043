//! Requests and responses over persistent connections, one at a time on each, and messages without a
//! response, which follow each other.

use crate::Command;
use dumbbell_model::requests::{writes, Load, Requests};
use dumbbell_model::rng::Rng;
use dumbbell_model::tables::TransferRow;
use dumbbell_model::Time;
use std::collections::VecDeque;

/// A request and its times.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    request_bytes: u64,
    /// Bytes of the response; of a message those of the request.
    transfer_bytes: u64,
    connection: Option<usize>,
    due: Time,
    sent: Option<Time>,
    first_byte: Option<Time>,
    complete: Option<Time>,
}

/// State of a connection.
#[derive(Clone, Debug, Default)]
struct Connection {
    connected: bool,
    closed: bool,
    /// Requests that the server does not have, with their ends in the client's stream.
    asked: VecDeque<(usize, u64)>,
    asked_bytes: u64,
    /// Request whose response is not complete.
    waits: Option<usize>,
    /// Writes of the response.
    answer: VecDeque<u64>,
    /// Bytes of all complete responses.
    answered_bytes: u64,
    /// Requests drawn for this connection in a closed loop.
    drawn: u64,
}

/// Scheduled event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// All connections are opened.
    Open,
    /// A request of an open loop is due.
    Arrives,
    /// A request of a connection is due in a closed loop.
    Thought(usize),
    /// The response of a connection is ready.
    Ready(usize),
}

/// Client and server that exchange requests and responses.
#[derive(Clone, Debug)]
pub struct Exchanges {
    spec: Requests,
    /// Time after which no request is due.
    end: Time,
    connections: Vec<Connection>,
    /// Random streams: one of an open loop, one for each connection of a closed loop.
    streams: Vec<Rng>,
    exchanges: Vec<Exchange>,
    /// Requests that wait for a connection.
    queue: VecDeque<usize>,
    /// Scheduled events, the earliest last.
    due: Vec<(Time, Due)>,
    unfinished: usize,
    commands: Vec<Command>,
}

impl Exchanges {
    /// Client and server in a run that ends at `end`.
    pub(crate) fn new(spec: &Requests, end: Time, seed: u64) -> Self {
        let closed = matches!(spec.load, Load::Closed { .. });
        let names: Vec<_> = if closed {
            spec.connections.iter().map(|name| format!("requests/{name}")).collect()
        } else {
            vec![format!("requests/{}", spec.name)]
        };
        let mut made = Self {
            spec: spec.clone(),
            end: spec.stop.map_or(end, |stop| end.min(Time::ZERO + stop)),
            connections: vec![Connection::default(); spec.connections.len()],
            streams: names.iter().map(|name| Rng::named(seed, name)).collect(),
            exchanges: Vec::new(),
            queue: VecDeque::new(),
            due: Vec::new(),
            unfinished: 0,
            commands: Vec::new(),
        };
        made.at(Time::ZERO + spec.start, Due::Open);
        made
    }

    pub(crate) fn connections(&self) -> &[String] {
        &self.spec.connections
    }

    pub(crate) fn next_at(&self) -> Option<Time> {
        self.due.last().map(|(at, _)| *at)
    }

    pub(crate) fn wake(&mut self, now: Time) -> Vec<Command> {
        while let Some(&(at, due)) = self.due.last().filter(|(at, _)| *at <= now) {
            self.due.pop();
            match due {
                Due::Open => {
                    let all = 0..self.connections.len();
                    self.commands.extend(all.map(|connection| Command::Open { connection }));
                    if matches!(self.spec.load, Load::Open { .. }) {
                        self.arrives(at);
                    }
                }
                Due::Arrives => self.arrives(at),
                Due::Thought(connection) => self.thought(now, connection),
                Due::Ready(connection) => self.ready(connection),
            }
        }
        self.send(now);
        self.commands()
    }

    pub(crate) fn connected(&mut self, now: Time, connection: usize) -> Vec<Command> {
        self.connections[connection].connected = true;
        if matches!(self.spec.load, Load::Closed { .. }) {
            self.thought(now, connection);
        }
        self.send(now);
        self.commands()
    }

    pub(crate) fn server_read(&mut self, now: Time, number: usize, total: u64) -> Vec<Command> {
        let asked = &mut self.connections[number].asked;
        let complete = asked.iter().take_while(|(_, end)| *end <= total).count();
        let complete: Vec<_> = asked.drain(..complete).collect();
        for (exchange, _) in complete {
            if self.spec.response.is_none() {
                self.complete(now, exchange);
            } else if self.spec.service.is_zero() {
                self.ready(number);
            } else {
                self.at(now + self.spec.service, Due::Ready(number));
            }
        }
        self.commands()
    }

    pub(crate) fn write(&mut self, connection: usize) -> Option<u64> {
        self.connections[connection].answer.pop_front()
    }

    pub(crate) fn client_read(&mut self, now: Time, number: usize, total: u64) -> Vec<Command> {
        let connection = &mut self.connections[number];
        let Some(waits) = connection.waits else { return Vec::new() };
        let exchange = &mut self.exchanges[waits];
        if total > connection.answered_bytes {
            exchange.first_byte.get_or_insert(now);
        }
        if total < connection.answered_bytes + exchange.transfer_bytes {
            return Vec::new();
        }
        connection.answered_bytes += exchange.transfer_bytes;
        connection.waits = None;
        self.complete(now, waits);
        if matches!(self.spec.load, Load::Closed { .. }) {
            let think = self.spec.load.gap(&mut self.streams[number]);
            if think.is_zero() {
                self.thought(now, number);
            } else if now + think < self.end && self.has_more(number) {
                self.at(now + think, Due::Thought(number));
            }
        }
        self.send(now);
        self.commands()
    }

    /// Rows of the requests, in the order in which they were due.
    pub(crate) fn transfers(&self) -> Vec<TransferRow> {
        let ns = |at: Option<Time>| at.map(|at| at.as_ns()).into();
        let group = if self.spec.group.is_empty() { &self.spec.name } else { &self.spec.group };
        let rows = self.exchanges.iter().enumerate();
        rows.map(|(number, exchange)| TransferRow {
            flow: exchange
                .connection
                .map_or(String::new(), |number| self.spec.connections[number].clone()),
            group: group.clone(),
            session: self.spec.name.clone(),
            object: format!("{}", number + 1),
            start_ns: ns(Some(exchange.due)),
            request_ns: ns(exchange.sent),
            first_byte_ns: ns(exchange.first_byte),
            end_ns: ns(exchange.complete),
            transfer_bytes: exchange.transfer_bytes.into(),
        })
        .collect()
    }

    fn at(&mut self, at: Time, due: Due) {
        let place = self.due.partition_point(|&(other, _)| other > at);
        self.due.insert(place, (at, due));
    }

    /// Draws a request from a random stream.
    fn draw(&mut self, due: Time, stream: usize) -> usize {
        let rng = &mut self.streams[stream];
        let request_bytes = self.spec.request.draw(rng);
        let response = self.spec.response.as_ref().map(|size| size.draw(rng));
        self.exchanges.push(Exchange {
            request_bytes,
            transfer_bytes: response.unwrap_or(request_bytes),
            connection: None,
            due,
            sent: None,
            first_byte: None,
            complete: None,
        });
        self.unfinished += 1;
        self.exchanges.len() - 1
    }

    /// Adds a request of an open loop, and schedules the next one.
    fn arrives(&mut self, at: Time) {
        let exchange = self.draw(at, 0);
        self.queue.push_back(exchange);
        let next = at + self.spec.load.gap(&mut self.streams[0]);
        let more = self.spec.count.is_none_or(|count| (self.exchanges.len() as u64) < count);
        if more && next < self.end {
            self.at(next, Due::Arrives);
        }
    }

    /// Returns true if a connection has requests left in a closed loop.
    fn has_more(&self, number: usize) -> bool {
        self.spec.count.is_none_or(|count| self.connections[number].drawn < count)
    }

    /// Sends the next request of a connection in a closed loop.
    fn thought(&mut self, now: Time, number: usize) {
        if now >= self.end || !self.has_more(number) {
            return;
        }
        self.connections[number].drawn += 1;
        let exchange = self.draw(now, number);
        self.ask(now, exchange, number);
    }

    /// Sends waiting requests over free connections. A message needs no free one: messages take turns.
    fn send(&mut self, now: Time) {
        while let Some(&exchange) = self.queue.front() {
            let of_message =
                self.spec.response.is_none().then(|| exchange % self.connections.len());
            let free = |number: &usize| {
                let connection = &self.connections[*number];
                connection.connected && connection.waits.is_none()
            };
            let found = match of_message {
                Some(number) => Some(number).filter(free),
                None => (0..self.connections.len()).find(free),
            };
            let Some(number) = found else { return };
            self.queue.pop_front();
            self.ask(now, exchange, number);
        }
    }

    /// Writes a request at the client.
    fn ask(&mut self, now: Time, number: usize, connection: usize) {
        let exchange = &mut self.exchanges[number];
        (exchange.sent, exchange.connection) = (Some(now), Some(connection));
        for bytes in writes(exchange.request_bytes, self.spec.request_writes) {
            self.commands.push(Command::Ask { connection, bytes });
        }
        let over = &mut self.connections[connection];
        over.asked_bytes += exchange.request_bytes;
        over.asked.push_back((number, over.asked_bytes));
        over.waits = self.spec.response.is_some().then_some(number);
    }

    /// Lets the server write the response of a connection.
    fn ready(&mut self, number: usize) {
        let connection = &mut self.connections[number];
        let Some(exchange) = connection.waits else { return };
        let bytes = self.exchanges[exchange].transfer_bytes;
        connection.answer.extend(writes(bytes, self.spec.response_writes));
        self.commands.push(Command::Answer { connection: number });
    }

    fn complete(&mut self, now: Time, exchange: usize) {
        self.exchanges[exchange].complete = Some(now);
        self.unfinished -= 1;
    }

    /// Commands so far. Closes all connections when no request is left.
    fn commands(&mut self) -> Vec<Command> {
        let done = self.due.is_empty()
            && self.unfinished == 0
            && self.connections.iter().all(|connection| connection.connected && !connection.closed);
        if done {
            for (number, connection) in self.connections.iter_mut().enumerate() {
                connection.closed = true;
                self.commands.push(Command::Close { connection: number });
            }
        }
        std::mem::take(&mut self.commands)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_model::scenario::Size;
    use dumbbell_model::Span;

    fn spec(load: Load, response: Option<u64>) -> Requests {
        Requests {
            name: "rpc".to_owned(),
            group: String::new(),
            connections: vec!["rpc-1".to_owned()],
            start: Span::ZERO,
            stop: None,
            load,
            count: Some(2),
            request: Size::Fixed { bytes: 101 },
            response: response.map(|bytes| Size::Fixed { bytes }),
            service: Span::from_ms(3),
            request_writes: 2,
            response_writes: 1,
        }
    }

    fn at(ms: u64) -> Time {
        Time::from_ns(ms * 1_000_000)
    }

    fn ask(bytes: u64) -> Command {
        Command::Ask { connection: 0, bytes }
    }

    const OPEN: Command = Command::Open { connection: 0 };
    const ANSWER: Command = Command::Answer { connection: 0 };
    const CLOSE: Command = Command::Close { connection: 0 };

    #[test]
    fn a_closed_loop_thinks_after_each_response() {
        let load = Load::Closed { think: Span::from_ms(10), exponential: false };
        let mut client = Exchanges::new(&spec(load, Some(500)), at(1000), 1);
        assert_eq!(client.wake(at(0)), [OPEN]);
        assert_eq!(client.connected(at(20), 0), [ask(51), ask(50)]);
        assert_eq!(client.server_read(at(30), 0, 100), []);
        assert_eq!(client.server_read(at(31), 0, 101), []);
        assert_eq!(client.next_at(), Some(at(34)));
        assert_eq!(client.wake(at(34)), [ANSWER]);
        assert_eq!((client.write(0), client.write(0)), (Some(500), None));
        assert_eq!(client.client_read(at(44), 0, 499), []);
        assert_eq!(client.client_read(at(45), 0, 500), []);
        assert_eq!(client.next_at(), Some(at(55)));
        assert_eq!(client.wake(at(55)), [ask(51), ask(50)]);
        assert_eq!(client.server_read(at(65), 0, 202), []);
        client.wake(at(68));
        assert_eq!(client.client_read(at(78), 0, 1000), [CLOSE]);
        let times: Vec<_> = client
            .transfers()
            .iter()
            .map(|row| [row.start_ns, row.request_ns, row.first_byte_ns, row.end_ns])
            .map(|times| times.map(|time| time.stored() / 1_000_000))
            .collect();
        assert_eq!(times, [[20, 20, 44, 45], [55, 55, 78, 78]]);
    }

    #[test]
    fn requests_of_an_open_loop_wait_for_the_connection() {
        let load = Load::Open { interval: Span::from_ms(5), exponential: false };
        let mut client = Exchanges::new(&spec(load, Some(500)), at(1000), 1);
        assert_eq!(client.wake(at(0)), [OPEN]);
        assert_eq!(client.wake(at(5)), []);
        assert_eq!(client.next_at(), None);
        assert_eq!(client.connected(at(20), 0), [ask(51), ask(50)]);
        client.server_read(at(30), 0, 101);
        client.wake(at(33));
        assert_eq!(client.client_read(at(43), 0, 500), [ask(51), ask(50)]);
        let rows = client.transfers();
        assert_eq!([0, 1].map(|i| rows[i].start_ns.stored()), [0, 5_000_000]);
        assert_eq!([0, 1].map(|i| rows[i].request_ns.stored()), [20_000_000, 43_000_000]);
        assert_eq!([0, 1].map(|i| rows[i].end_ns.stored()), [43_000_000, -1]);
    }

    #[test]
    fn messages_do_not_wait_for_each_other() {
        let load = Load::Open { interval: Span::from_ms(5), exponential: false };
        let mut client = Exchanges::new(&spec(load, None), at(1000), 1);
        client.wake(at(0));
        assert_eq!(client.connected(at(2), 0), [ask(51), ask(50)]);
        assert_eq!(client.wake(at(5)), [ask(51), ask(50)]);
        assert_eq!(client.server_read(at(12), 0, 101), []);
        assert_eq!(client.server_read(at(16), 0, 202), [CLOSE]);
        let rows = client.transfers();
        let ends = [0, 1].map(|i| (rows[i].end_ns.stored(), rows[i].transfer_bytes.stored()));
        assert_eq!(ends, [(12_000_000, 101), (16_000_000, 101)]);
    }
}
