//! Endpoint of a page load, or of requests: connections with requests of the client and responses of
//! servers. The endpoint reports events to the visit (`crates/web`) and executes its commands.

use super::build::Setup;
use super::tcp::ends::{drain_sender, receiver_deadline, sender_deadline, TcpEnds};
use super::{Arrival, Deadline, Endpoint, Outbox, Report, Run, Timer, Touched};
use crate::endpoint::tcp::duplex::End;
use crate::endpoint::tcp::receiver::Receiver;
use crate::endpoint::tcp::sender::Sender;
use dumbbell_model::scenario::{Flow, Sink, Source, Traffic};
use dumbbell_model::writer::Writer;
use dumbbell_model::Time;
use dumbbell_packet::Body;
use dumbbell_web::{Command, Visit};
use std::collections::VecDeque;

/// Timers of a connection: sender and receiver at the flow's source and at its destination.
const SOURCE_SENDER: usize = 0;
const DESTINATION_RECEIVER: usize = 1;
const DESTINATION_SENDER: usize = 2;
const SOURCE_RECEIVER: usize = 3;
const ALL: u8 =
    1 << SOURCE_SENDER | 1 << DESTINATION_RECEIVER | 1 << DESTINATION_SENDER | 1 << SOURCE_RECEIVER;

/// Sink of servers for requests.
const ALL_AT_ONCE: Sink = Sink { lowat_bytes: 1, rate_bps: None };

/// Connection of the page. The flow's direction is from the server to the client, of messages from the
/// client to the server.
struct Connection {
    /// The flow's direction.
    forward: TcpEnds,
    /// Reverse direction: the sender at the flow's destination, the receiver at its source.
    sender: Sender,
    receiver: Receiver,
    /// True if the client is the flow's source.
    messages: bool,
    /// True after the visit was notified of the established connection.
    connected: bool,
}

impl Connection {
    fn new(setup: Setup<'_>, number: u32, flow: &Flow) -> Option<Self> {
        let Traffic::Tcp(tcp) = &flow.traffic else { return None };
        let [source, destination] = setup.options(flow);
        let rng = setup.rng(flow, "requests");
        let writer = Writer::new(tcp.source, setup.rng(flow, "source"));
        let fq = setup.nodes.is_paced(&flow.to);
        let (algorithm, cc) = setup.congestion_control(flow, tcp, &destination);
        let mut sender = Sender::new(algorithm, cc, &destination, writer, fq, rng);
        let below_tcp = destination.queue_at_interface && setup.nodes.is_serial(&flow.to);
        sender.host_queue.set_below_tcp(below_tcp);
        sender.offers = setup.offers(flow)[1];
        sender.set_socket_options(tcp);
        let forward = TcpEnds::new(setup, number, flow, tcp);
        let mut receiver = Receiver::new(&source, ALL_AT_ONCE, tcp.congestion_control);
        receiver.advertise(setup.mtus(flow)[0]);
        let messages = tcp.source == Source::Messages;
        Some(Self { forward, sender, receiver, messages, connected: false })
    }

    fn at_source(&mut self) -> End<'_> {
        End { sender: &mut self.forward.sender, receiver: &mut self.receiver }
    }

    fn at_destination(&mut self) -> End<'_> {
        End { sender: &mut self.sender, receiver: &mut self.forward.receiver }
    }

    fn server(&mut self) -> End<'_> {
        if self.messages {
            self.at_destination()
        } else {
            self.at_source()
        }
    }

    fn client(&mut self) -> End<'_> {
        if self.messages {
            self.at_source()
        } else {
            self.at_destination()
        }
    }

    fn drain(&mut self, lane: usize, out: &mut Outbox<'_>) -> Touched {
        let flow = self.forward.flow;
        self.forward.drain_sender(out);
        self.forward.drain_receiver(out);
        drain_sender(flow, false, &mut self.sender, out);
        Touched { flow, lane: lane as u32, timers: ALL, more: true, ..Touched::default() }
    }
}

/// Endpoint of a visit with its connections.
pub(crate) struct Page {
    visit: Visit,
    connections: Vec<Connection>,
    /// Commands of the visit not executed yet.
    commands: VecDeque<Command>,
    /// True if the visit's next deadline may have changed.
    visited: bool,
    /// Connection that acted itself.
    acted: Option<usize>,
}

impl Page {
    pub(super) fn new(setup: Setup<'_>, visit: Visit, flows: &[u32]) -> Self {
        let connection = |&flow: &u32| {
            Connection::new(setup, flow, &setup.scenario.flows[flow as usize]) // Validated: TCP.
        };
        let connections = flows.iter().filter_map(connection).collect();
        Self { visit, connections, commands: VecDeque::new(), visited: false, acted: None }
    }

    /// Processes an event on a connection: both sides report to the visit.
    fn turn(&mut self, now: Time, lane: usize) {
        let Self { visit, connections, commands, .. } = self;
        let connection = &mut connections[lane];
        let asking = connection.client().sender;
        let connects = asking.is_open() && !asking.waits_to_write() && !connection.connected;
        connection.connected |= connects;
        let (asked, client_gone) = connection.server().receiver.read_so_far();
        let (answered, _) = connection.client().receiver.read_so_far();
        if connects {
            commands.extend(visit.connected(now, lane));
        }
        commands.extend(visit.server_read(now, lane, asked));
        commands.extend(visit.client_read(now, lane, answered));
        if client_gone && connection.server().sender.is_open() {
            connection.server().send(now, |sender| sender.stop(now));
        }
        self.write_answers(now, lane);
        (self.visited, self.acted) = (true, Some(lane));
    }

    /// Executes one command of the visit. Returns the connection, and whether it was opened.
    fn obey(&mut self, now: Time, command: &Command) -> (usize, bool) {
        let (Command::Open { connection: lane }
        | Command::Ask { connection: lane, .. }
        | Command::Answer { connection: lane }
        | Command::Close { connection: lane }) = *command;
        let mut client = self.connections[lane].client();
        match *command {
            Command::Open { .. } => client.open(now),
            Command::Ask { bytes, .. } => client.send(now, |sender| sender.allow(now, bytes)),
            Command::Answer { .. } => self.write_answers(now, lane),
            Command::Close { .. } => client.send(now, |sender| sender.stop(now)),
        }
        (lane, matches!(command, Command::Open { .. }))
    }

    /// Lets the server write while there is space and data.
    fn write_answers(&mut self, now: Time, lane: usize) {
        let mut server = self.connections[lane].server();
        while server.sender.wrote_all() {
            let Some(bytes) = self.visit.write(lane) else { return };
            server.send(now, |sender| sender.allow(now, bytes));
        }
    }
}

impl Endpoint for Page {
    fn on_packet(&mut self, now: Time, arrival: &Arrival<'_>) -> bool {
        let Body::Tcp(segment) = arrival.body else { return false };
        let lane = arrival.lane as usize;
        let connection = &mut self.connections[lane];
        let before = connection.forward.receiver.duplicate_packets;
        let mut end =
            if arrival.outward { connection.at_destination() } else { connection.at_source() };
        end.on_segment(now, segment, arrival.ecn_field);
        let had = connection.forward.receiver.duplicate_packets > before;
        self.turn(now, lane);
        had
    }

    fn on_timer(&mut self, now: Time, timer: Timer) {
        let (Timer::Flow { lane, kind } | Timer::Soft { lane, kind }) = timer else {
            self.commands.extend(self.visit.wake(now));
            self.visited = true;
            return;
        };
        let lane = lane as usize;
        let connection = &mut self.connections[lane];
        let mut end = match kind {
            SOURCE_SENDER | SOURCE_RECEIVER => connection.at_source(),
            _ => connection.at_destination(),
        };
        if matches!(timer, Timer::Soft { .. }) {
            end.receive(|receiver| receiver.compressed_ack_kick(now));
        } else if matches!(kind, SOURCE_SENDER | DESTINATION_SENDER) {
            end.send(now, |sender| {
                sender.on_timeout(now);
                sender.wake_source();
            });
        } else {
            end.receive(|receiver| receiver.on_timeout(now));
        }
        self.turn(now, lane);
    }

    fn poll_transmit(&mut self, now: Time, out: &mut Outbox<'_>) -> Option<Touched> {
        if let Some(command) = self.commands.pop_front() {
            let (lane, begins) = self.obey(now, &command);
            return Some(Touched { begins, ..self.connections[lane].drain(lane, out) });
        }
        if core::mem::take(&mut self.visited) {
            return Some(Touched { own: true, more: true, ..Touched::default() });
        }
        let lane = self.acted.take()?;
        Some(self.connections[lane].drain(lane, out))
    }

    fn next_deadline(&mut self, timer: Timer, set: &mut u64) -> Deadline {
        let Timer::Flow { lane, kind } = timer else {
            return Deadline { exact: true, ..Deadline::at(self.visit.next_at()) };
        };
        let connection = &mut self.connections[lane as usize];
        match kind {
            SOURCE_SENDER => sender_deadline(&mut connection.forward.sender, set),
            DESTINATION_RECEIVER => receiver_deadline(&mut connection.forward.receiver, 0, set),
            DESTINATION_SENDER => sender_deadline(&mut connection.sender, set),
            _ => receiver_deadline(&mut connection.receiver, 1, set),
        }
    }

    fn report(&self, run: &Run<'_>, report: Report<'_>) {
        match report {
            Report::Sample { lane, row } => self.connections[lane as usize].forward.sample(row),
            Report::Flow { lane, row } => {
                row.kind = "tcp".to_owned();
                self.connections[lane as usize].forward.totals(run, row);
            }
            Report::Transfers { rows } => rows.extend(self.visit.transfers()),
            _ => {}
        }
    }

    fn on_queued(&mut self, lane: u32, outward: bool, leaves: Option<Time>) -> Option<usize> {
        let connection = &mut self.connections[lane as usize];
        if outward {
            connection.forward.sender.host_queued(leaves);
            return Some(SOURCE_SENDER);
        }
        connection.sender.host_queued(leaves);
        Some(DESTINATION_SENDER)
    }

    fn sample_window(&mut self, lane: u32) -> bool {
        self.connections[lane as usize].forward.sample_window()
    }
}
