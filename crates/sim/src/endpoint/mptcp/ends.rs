//! Endpoint of a Multipath TCP connection with its subflows.

use crate::endpoint::build::Setup;
use crate::endpoint::mptcp::connection::{role, subflow_of};
use crate::endpoint::mptcp::{Connection, Stage, Subflows};
use crate::endpoint::tcp::ends::{
    receiver_deadline, sender_deadline, TcpEnds, BEGIN_STOP, RECEIVER, SENDER,
};
use crate::endpoint::tcp::sender::Phase;
use crate::endpoint::{Arrival, Deadline, Endpoint, Life, Outbox, Report, Run, Timer, Touched};
use dumbbell_model::scenario::{self, Flow, Sink, Tcp, Traffic};
use dumbbell_model::writer::Writer;
use dumbbell_model::Time;
use dumbbell_packet::Body;

/// Timer at which the connection's application stops, among the timers of the first subflow.
const CONNECTION_STOP: usize = 3;

/// Sink of a subflow: data goes to the connection at once, even if that is read slowly.
const ALL_AT_ONCE: Sink = Sink { lowat_bytes: 1, rate_bps: None };
/// Sink of a subflow that has no SO_RCVLOWAT (`mptcp_sockopt_sync_locked`).
const WITHOUT_LOWAT: Sink = Sink { lowat_bytes: 0, ..ALL_AT_ONCE };

/// Lanes to drain next: first those recorded here, then all subflows touched by the connection.
#[derive(Clone, Copy, Debug, Default)]
struct Acted {
    /// A subflow that started (`true`; it may stop later) or stopped.
    life: Option<(usize, bool)>,
    /// Subflow of the last packet.
    first: Option<usize>,
    /// First subflow not drained yet.
    next: usize,
    /// True for the connection's own timers.
    own: bool,
}

/// A connection and its subflows.
pub(crate) struct Multipath {
    pub(crate) connection: Connection,
    pub(crate) spec: scenario::Connection,
    pub(crate) subflows: Vec<TcpEnds>,
    lives: Vec<Life>,
    stop: Option<Time>,
    acted: Acted,
}

/// Creates a subflow.
fn subflow(setup: Setup<'_>, number: u32, flow: &Flow) -> Option<TcpEnds> {
    let Traffic::Tcp(tcp) = &flow.traffic else { return None };
    let [_, receiving] = setup.options(flow);
    let sink = if receiving.mptcp_set_rcvlowat { WITHOUT_LOWAT } else { ALL_AT_ONCE };
    let mut ends = TcpEnds::new(setup, number, flow, &Tcp { sink, ..(**tcp).clone() });
    let role = role(setup.scenario, subflow_of(setup.scenario, &flow.name)?);
    let [sending, receiving] = setup.options(flow).map(|options| options.mptcp_enabled);
    ends.sender.make_subflow(role, !sending);
    ends.receiver.make_subflow(role, !(sending && receiving));
    Some(ends)
}

impl Multipath {
    pub(in crate::endpoint) fn new(
        setup: Setup<'_>,
        spec: &scenario::Connection,
        flows: &[u32],
    ) -> Self {
        let flow = |number: u32| &setup.scenario.flows[number as usize];
        let first = flow(flows[0]);
        let writer = Writer::new(spec.source, setup.rng(first, "source"));
        Self {
            connection: Connection::new(spec, first, &setup.options(first), writer),
            spec: spec.clone(),
            // Validated: subflows are TCP.
            subflows: flows.iter().filter_map(|&n| subflow(setup, n, flow(n))).collect(),
            lives: flows.iter().map(|&number| setup.life(flow(number))).collect(),
            stop: spec.stop.map(|stop| Time::ZERO + stop),
            acted: Acted { next: flows.len(), ..Acted::default() },
        }
    }

    /// Processes the timers of a subflow's sender.
    fn on_sender_timer(&mut self, now: Time, me: usize) {
        let Self { connection, subflows, .. } = self;
        let mut subflows = Subflows { ends: subflows };
        let sender = subflows.sender(me);
        let waiting = sender.waits_to_write();
        sender.on_timeout(now);
        let wakes = waiting && !sender.waits_to_write() && sender.is_open();
        connection.sender.touched[me] = true;
        if wakes && me == 0 {
            // The connection is established, and the application may write.
            connection.sender.on_source(now, &mut subflows);
        }
        connection.sender.check_timeout(now, me, &mut subflows);
        connection.sender.write_space(now, &mut subflows);
    }

    /// Starts or stops a subflow.
    fn begin_or_stop(&mut self, now: Time, me: usize) {
        let Self { connection, subflows, .. } = self;
        let mut subflows = Subflows { ends: subflows };
        let begins = self.lives[me].turn();
        if begins {
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
        self.acted.life = Some((me, begins));
    }

    /// Processes the connection's own timers.
    fn on_own_timer(&mut self, now: Time) {
        let Self { connection, subflows, .. } = self;
        let mut subflows = Subflows { ends: subflows };
        connection.sender.on_timer(now, &mut subflows);
        if connection.sender.source_at.is_some_and(|at| at <= now) {
            connection.sender.on_source(now, &mut subflows);
        }
        if connection.receiver.read_at.is_some_and(|at| at <= now) {
            connection.receiver.read_slowly(now, &mut subflows);
        }
    }

    /// Drains the output of a subflow and rearms its timers.
    fn drain(&mut self, lane: usize, out: &mut Outbox<'_>) -> Touched {
        let ends = &mut self.subflows[lane];
        ends.drain_sender(out);
        ends.drain_receiver(out);
        let timers = 1 << SENDER | 1 << RECEIVER;
        Touched { flow: ends.flow, lane: lane as u32, timers, more: true, ..Touched::default() }
    }
}

impl Endpoint for Multipath {
    fn on_packet(&mut self, now: Time, arrival: &Arrival<'_>) -> bool {
        let Body::Tcp(segment) = *arrival.body else { return false };
        let Self { connection, subflows, .. } = self;
        let mut subflows = Subflows { ends: subflows };
        let me = arrival.lane as usize;
        let mut had = false;
        if arrival.outward {
            had = connection.at_receiver(now, me, &segment, arrival.ecn_field, &mut subflows);
        } else {
            connection.at_sender(now, me, &segment, &mut subflows);
        }
        self.acted = Acted { first: Some(me), own: true, ..Acted::default() };
        had
    }

    fn on_timer(&mut self, now: Time, timer: Timer) {
        self.acted = Acted { own: true, ..Acted::default() };
        let Self { connection, subflows, .. } = self;
        match timer {
            Timer::Own => self.on_own_timer(now),
            Timer::Flow { lane, kind: SENDER } => self.on_sender_timer(now, lane as usize),
            Timer::Flow { lane, kind: RECEIVER } | Timer::Soft { lane, .. } => {
                let me = lane as usize;
                let mut subflows = Subflows { ends: subflows };
                connection.receiver.with(now, me, &mut subflows, |receiver| match timer {
                    Timer::Soft { .. } => receiver.compressed_ack_kick(now),
                    _ => receiver.on_timeout(now),
                });
                connection.receiver.touched[me] = true;
            }
            Timer::Flow { kind: CONNECTION_STOP, .. } => {
                self.stop = None;
                connection.sender.stop(now, &mut Subflows { ends: subflows });
            }
            Timer::Flow { lane, .. } => self.begin_or_stop(now, lane as usize),
        }
    }

    fn poll_transmit(&mut self, _now: Time, out: &mut Outbox<'_>) -> Option<Touched> {
        if let Some((lane, begins)) = self.acted.life.take() {
            let flow = self.subflows[lane].flow;
            let lane = lane as u32;
            return Some(Touched {
                flow,
                lane,
                timers: 1 << BEGIN_STOP,
                own: false,
                begins,
                more: true,
            });
        }
        if let Some(lane) = self.acted.first.take() {
            return Some(self.drain(lane, out));
        }
        while self.acted.next < self.subflows.len() {
            let lane = self.acted.next;
            self.acted.next += 1;
            let sent = core::mem::take(&mut self.connection.sender.touched[lane]);
            let acked = core::mem::take(&mut self.connection.receiver.touched[lane]);
            if sent || acked {
                return Some(self.drain(lane, out));
            }
        }
        core::mem::take(&mut self.acted.own).then(|| Touched { own: true, ..Touched::default() })
    }

    fn next_deadline(&mut self, timer: Timer, set: &mut u64) -> Deadline {
        match timer {
            Timer::Own => {
                let Connection { sender, receiver, .. } = &mut self.connection;
                let at = [sender.source_at, receiver.read_at].into_iter().flatten().min();
                let wheel = sender.timer.turn(set);
                Deadline { wheel, exact: true, ..Deadline::at(at) }
            }
            Timer::Flow { lane, kind: SENDER } => {
                sender_deadline(&mut self.subflows[lane as usize].sender, set)
            }
            Timer::Flow { lane, kind: RECEIVER } => {
                receiver_deadline(&mut self.subflows[lane as usize].receiver, 0, set)
            }
            Timer::Flow { lane, kind: CONNECTION_STOP } => {
                Deadline::at(self.stop.filter(|_| lane == 0))
            }
            Timer::Soft { .. } => Deadline::at(None),
            Timer::Flow { lane, .. } => Deadline::at(self.lives[lane as usize].next()),
        }
    }

    fn report(&self, run: &Run<'_>, report: Report<'_>) {
        match report {
            Report::Sample { lane, row } => self.subflows[lane as usize].sample(row),
            Report::OwnSample { rows } => rows.extend(self.sample(run)),
            Report::Flow { lane, row } => {
                row.kind = "subflow".to_owned();
                row.connection.clone_from(&self.spec.name);
                self.subflows[lane as usize].totals(run, row);
            }
            Report::OwnFlow { flows, rows } => rows.push(self.flow_row(run, flows)),
            Report::Transfers { rows } => rows.extend(self.transfer(run)),
            Report::Connections { rows } => rows.push(self.connection_row(run)),
            Report::Probes { .. } | Report::Secrets { .. } => {}
        }
    }

    fn on_queued(&mut self, lane: u32, _outward: bool, leaves: Option<Time>) -> Option<usize> {
        self.subflows[lane as usize].sender.host_queued(leaves);
        Some(SENDER)
    }

    fn sample_window(&mut self, lane: u32) -> bool {
        self.subflows[lane as usize].sample_window()
    }

    fn check(&self, _run: &Run<'_>) -> Result<(), String> {
        self.conserves()
    }
}
