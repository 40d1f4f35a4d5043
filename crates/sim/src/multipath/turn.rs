//! Multipath TCP in the running world: what arrives on a subflow, its timers and the connection's own,
//! each handled by the subflow and then by the connection.

use super::receive::DataReceiver;
use super::send::{Context, DataSender};
use super::{Connection, Stage, Subflows};
use crate::endpoint::tcp::SubflowOf;
use crate::endpoint::Ends;
use crate::events::Source;
use crate::flow::FlowState;
use crate::transport::receiver::Receiver;
use crate::transport::sender::{Phase, Sender};
use crate::transport::subflow::Role;
use crate::world::World;
use dumbbell_cc::coupled;
use dumbbell_model::scenario::{self, Scenario, Traffic};
use dumbbell_model::{TcpOptions, Time};
use dumbbell_packet::{Multipath, Segment};
use std::sync::Arc;

/// Connection and subflow of each flow that is one.
pub(crate) fn subflow_of(scenario: &Scenario, flow: &str) -> Option<SubflowOf> {
    scenario.connections.iter().enumerate().find_map(|(connection, spec)| {
        let number = spec.subflows.iter().position(|subflow| subflow.flow == flow)?;
        Some(SubflowOf { connection: connection as u32, number: number as u32 })
    })
}

/// How a subflow begins.
pub(crate) fn role(scenario: &Scenario, of: SubflowOf) -> Role {
    let subflows = &scenario.connections[of.connection as usize].subflows;
    match of.number {
        0 => Role::Opens,
        number => Role::Joins { backup: subflows[number as usize].backup },
    }
}

/// Connections ready to run. `options` are those of both ends of a flow.
pub(crate) fn connections(
    scenario: &Scenario,
    options: impl Fn(&scenario::Flow) -> [TcpOptions; 2],
) -> Vec<Connection> {
    let build = |spec: &scenario::Connection| {
        let number = |name: &str| scenario.flows.iter().position(|flow| flow.name == name);
        let flows: Arc<[u32]> =
            spec.subflows.iter().map(|s| number(&s.flow).unwrap_or(0) as u32).collect();
        let first = &scenario.flows[flows[0] as usize];
        let [sending, receiving] = options(first);
        let coupled = matches!(
            &first.traffic, Traffic::Tcp(tcp) if tcp.congestion_control.is_coupled()
        );
        Connection {
            sender: DataSender::new(spec, &sending),
            receiver: DataReceiver::new(spec.sink, &receiving, flows.len()),
            due: vec![Stage::Early; flows.len()],
            flows,
            coupled,
            peer_closed: false,
        }
    };
    scenario.connections.iter().map(build).collect()
}

/// What a subflow's siblings see of it.
fn sibling(sender: &Sender, gone: bool) -> coupled::Subflow {
    coupled::Subflow {
        active: sender.carries_data() && !gone,
        cwnd: sender.window.cwnd,
        slow_start: sender.window.in_slow_start(),
        mss: sender.mss,
        srtt_us8: sender.rtt.srtt_us8,
        since_loss_bytes: sender.losses.since_bytes(sender.snd_una),
        between_losses_bytes: sender.losses.between_bytes(),
    }
}

impl Connection {
    /// Coupled congestion control looks at all subflows.
    fn couple(&self, me: usize, subflows: &mut Subflows<'_>) {
        if !self.coupled {
            return;
        }
        let all: Vec<_> = (0..subflows.len())
            .map(|number| {
                let gone = self.sender.known[number].gone;
                sibling(subflows.sender(number), gone)
            })
            .collect();
        subflows.sender(me).cc.subflows(&all, me);
    }

    /// A segment arrives at the sending end.
    fn at_sender(&mut self, now: Time, me: usize, segment: &Segment, subflows: &mut Subflows<'_>) {
        self.couple(me, subflows);
        let was_open = subflows.sender(me).is_open();
        let acts = subflows.sender(me).on_segment_first(now, segment);
        self.sender.heard(now, me);
        if !was_open && subflows.sender(me).is_open() {
            self.opened(me, subflows);
        }
        if acts {
            let sender = subflows.sender(me);
            let window = sender.snd_wnd;
            let told = sender.take_data_ack(segment);
            self.peer_closed |= told.is_some_and(|(_, fin)| fin);
            let data_ack = told.map(|(ack, _)| ack).or_else(|| sender.plain_data_ack());
            let mut delegate =
                data_ack.and_then(|ack| self.sender.acked(now, me, ack, window, subflows));
            subflows.sender(me).on_segment_then(segment);
            for _ in 0..subflows.len() {
                let Some(subflow) = delegate else { break };
                let context = Context::Ack { subflow, first: true };
                delegate = self.sender.push(now, context, subflows);
            }
            self.sender.write_space(now, subflows);
        }
        self.sender.check_timeout(now, me, subflows);
        self.close_subflows(now, subflows);
        self.open_joins(now, subflows);
    }

    /// The answer to a SYN came.
    fn opened(&mut self, me: usize, subflows: &mut Subflows<'_>) {
        let sender = subflows.sender(me);
        let fell_back = sender.subflow.as_ref().is_some_and(|subflow| subflow.fell_back);
        if me == 0 {
            self.sender.fell_back = fell_back;
            self.sender.window_end = sender.snd_wnd;
        }
    }

    /// Once the other end has shown that it speaks Multipath TCP, others may join.
    fn open_joins(&mut self, now: Time, subflows: &mut Subflows<'_>) {
        let sender = subflows.sender(0);
        let confirmed = sender.subflow.as_ref().is_some_and(|subflow| subflow.confirmed);
        if !confirmed || self.sender.fin_sent {
            return;
        }
        for number in 1..subflows.len() {
            if self.due[number] == Stage::Waits {
                self.due[number] = Stage::Opened;
                subflows.sender(number).start(now);
                self.sender.touched[number] = true;
            }
        }
    }

    /// All was acknowledged, the end too: the subflows close.
    fn close_subflows(&mut self, now: Time, subflows: &mut Subflows<'_>) {
        if !self.sender.fin_acked {
            return;
        }
        for number in 0..subflows.len() {
            let sender = subflows.sender(number);
            if let Some(subflow) = &mut sender.subflow {
                (subflow.data_fin, subflow.peer_closed) = (None, self.peer_closed);
            }
            if sender.is_open() && !sender.fin {
                sender.stop(now);
                self.sender.touched[number] = true;
            }
        }
    }

    /// A segment arrives at the receiving end. True if its payload was there already.
    fn at_receiver(
        &mut self,
        now: Time,
        me: usize,
        segment: &Segment,
        ecn_field: u8,
        subflows: &mut Subflows<'_>,
    ) -> bool {
        let receiver = subflows.receiver(me);
        let before = receiver.duplicate_packets;
        let was_open = receiver.is_open();
        self.receiver.lend(receiver);
        let acts = receiver.on_segment_first(now, segment, ecn_field);
        self.receiver.take_back(receiver);
        if me == 0 && !was_open && receiver.is_open() {
            self.receiver.begin(now, receiver.offered());
        }
        match segment.multipath() {
            Some(Multipath::DataFin { dsn }) => {
                self.receiver.ends_at(dsn);
                self.tell_fin(now, me, subflows);
            }
            Some(Multipath::NoMapping { closed: true }) => self.receiver.close_seen = true,
            Some(Multipath::Mapping { dsn, fin: true }) => {
                self.receiver.fin_at = Some(dsn + u64::from(segment.payload_bytes));
            }
            _ => {}
        }
        if acts {
            let was_closed = self.receiver.closed;
            let receiver = subflows.receiver(me);
            self.receiver.take_from(now, receiver);
            self.receiver.with(now, me, subflows, Receiver::ack_check);
            if self.receiver.closed && !was_closed {
                self.tell_fin(now, me, subflows);
            }
            self.receiver.read_available(now, subflows);
        }
        subflows.receiver(me).duplicate_packets > before
    }

    /// The stream's end is acknowledged on every subflow (`mptcp_check_data_fin`).
    fn tell_fin(&mut self, now: Time, me: usize, subflows: &mut Subflows<'_>) {
        if !self.receiver.closed {
            return;
        }
        for number in 0..subflows.len() {
            self.receiver.with(now, number, subflows, |receiver| {
                if receiver.is_open() || number == me {
                    receiver.send_now();
                }
            });
        }
    }
}

/// A connection and its subflows, borrowed apart.
fn parts<'a>(
    connections: &'a mut [Connection],
    flows: &'a mut [FlowState],
    number: u32,
) -> (&'a mut Connection, Arc<[u32]>, &'a mut [FlowState]) {
    let connection = &mut connections[number as usize];
    let numbers = Arc::clone(&connection.flows);
    (connection, numbers, flows)
}

impl World<'_> {
    /// A segment of a subflow arrives. True if the receiver had its payload already.
    pub(crate) fn at_subflow(
        &mut self,
        flow: u32,
        of: SubflowOf,
        outward: bool,
        segment: &Segment,
        ecn_field: u8,
    ) -> bool {
        let now = self.now;
        let (connection, numbers, flows) =
            parts(&mut self.connections, &mut self.flows, of.connection);
        let mut subflows = Subflows { flows, numbers: &numbers };
        let me = of.number as usize;
        let mut had = false;
        if outward {
            had = connection.at_receiver(now, me, segment, ecn_field, &mut subflows);
        } else {
            connection.at_sender(now, me, segment, &mut subflows);
        }
        self.collect(flow);
        self.collect_touched(of.connection);
        had
    }

    /// Sends what the connection's other subflows have, and sets timers.
    fn collect_touched(&mut self, connection: u32) {
        let count = self.connections[connection as usize].flows.len();
        for number in 0..count {
            let this = &mut self.connections[connection as usize];
            let sent = core::mem::take(&mut this.sender.touched[number]);
            let acked = core::mem::take(&mut this.receiver.touched[number]);
            if sent || acked {
                let flow = this.flows[number];
                self.collect(flow);
            }
        }
        self.schedule_connection(connection);
    }

    fn connection_source(&self, connection: u32) -> usize {
        self.neighbour_source() as usize + 1 + self.sessions.len() + connection as usize
    }

    fn schedule_connection(&mut self, connection: u32) {
        let source = self.connection_source(connection);
        let this = &mut self.connections[connection as usize];
        let application = [this.sender.source_at, this.receiver.read_at];
        let deadline = application.into_iter().flatten().min().unwrap_or(Time::NEVER);
        let wheel = this.sender.timer.turn(&mut self.timers_set);
        match wheel.filter(|(at, _)| *at <= deadline) {
            Some((at, turn)) => self.events.set_wheel(source as Source, at, turn),
            None => self.set(source, Some(deadline).filter(|at| *at != Time::NEVER)),
        }
    }

    /// Something of a connection itself is due.
    pub(crate) fn connection_event(&mut self, source: Source) {
        let now = self.now;
        self.events.clear(source);
        let number = (source as usize - self.connection_source(0)) as u32;
        let (connection, numbers, flows) = parts(&mut self.connections, &mut self.flows, number);
        let mut subflows = Subflows { flows, numbers: &numbers };
        connection.sender.on_timer(now, &mut subflows);
        if connection.sender.source_at.is_some_and(|at| at <= now) {
            connection.sender.on_source(now, &mut subflows);
        }
        if connection.receiver.read_at.is_some_and(|at| at <= now) {
            connection.receiver.read_slowly(now, &mut subflows);
        }
        self.collect_touched(number);
    }

    /// A timer of a subflow's sender.
    pub(crate) fn subflow_sender_event(&mut self, of: SubflowOf) {
        let now = self.now;
        let (connection, numbers, flows) =
            parts(&mut self.connections, &mut self.flows, of.connection);
        let mut subflows = Subflows { flows, numbers: &numbers };
        let me = of.number as usize;
        let sender = subflows.sender(me);
        let waiting = sender.source_at.is_some();
        sender.on_timeout(now);
        let wakes = waiting && sender.source_at.is_none() && sender.is_open();
        connection.sender.touched[me] = true;
        if wakes && me == 0 {
            // The application knows that it is connected.
            connection.sender.on_source(now, &mut subflows);
        }
        connection.sender.check_timeout(now, me, &mut subflows);
        connection.sender.write_space(now, &mut subflows);
        self.collect_touched(of.connection);
    }

    /// A timer of a subflow's receiver.
    pub(crate) fn subflow_receiver_event(&mut self, of: SubflowOf) {
        let now = self.now;
        let (connection, numbers, flows) =
            parts(&mut self.connections, &mut self.flows, of.connection);
        let mut subflows = Subflows { flows, numbers: &numbers };
        let me = of.number as usize;
        connection.receiver.with(now, me, &mut subflows, |receiver| receiver.on_timeout(now));
        connection.receiver.touched[me] = true;
        self.collect_touched(of.connection);
    }

    /// The time of a subflow has come, or is over.
    pub(crate) fn subflow_starts_or_stops(&mut self, flow: u32, of: SubflowOf) {
        let now = self.now;
        let state = &self.flows[flow as usize];
        let starts = now == state.start;
        let (connection, numbers, flows) =
            parts(&mut self.connections, &mut self.flows, of.connection);
        let mut subflows = Subflows { flows, numbers: &numbers };
        let me = of.number as usize;
        if starts {
            connection.due[me] = if me == 0 { Stage::Opened } else { Stage::Waits };
            if me == 0 {
                subflows.sender(0).start(now);
            }
            connection.open_joins(now, &mut subflows);
        } else if connection.due[me] != Stage::Removed {
            connection.due[me] = Stage::Removed;
            connection.sender.lose(now, me, &mut subflows);
            let sender = subflows.sender(me);
            if sender.is_open() {
                sender.stop(now);
            } else {
                sender.phase = Phase::GivenUp(now);
            }
        }
        connection.sender.touched[me] = true;
        if starts {
            self.active.push(flow);
        }
        self.collect_touched(of.connection);
    }

    /// The application of a connection writes no more.
    pub(crate) fn stop_connection(&mut self, number: u32) {
        let now = self.now;
        let (connection, numbers, flows) = parts(&mut self.connections, &mut self.flows, number);
        let mut subflows = Subflows { flows, numbers: &numbers };
        connection.sender.stop(now, &mut subflows);
        self.collect_touched(number);
    }

    /// Whose it is, if it is a subflow's.
    pub(crate) fn subflow(&self, flow: u32) -> Option<SubflowOf> {
        match &self.flows[flow as usize].ends {
            Ends::Tcp(tcp) => tcp.subflow,
            Ends::Udp(_) | Ends::Ping(_) => None,
        }
    }
}
