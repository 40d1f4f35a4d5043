//! A Multipath TCP connection: a segment is processed by its subflow and then by the connection.

use super::receive::DataReceiver;
use super::send::{Context, DataSender};
use super::{Connection, Stage, SubflowOf, Subflows};
use crate::endpoint::tcp::receiver::Receiver;
use crate::endpoint::tcp::sender::Sender;
use crate::endpoint::tcp::subflow::Role;
use dumbbell_cc::coupled;
use dumbbell_model::scenario::{self, Scenario, Traffic};
use dumbbell_model::writer::Writer;
use dumbbell_model::{TcpOptions, Time};
use dumbbell_packet::{Multipath, Segment};
use std::sync::Arc;

/// Connection and subflow index of a flow; `None` if it is no subflow.
pub(crate) fn subflow_of(scenario: &Scenario, flow: &str) -> Option<SubflowOf> {
    scenario.connections.iter().enumerate().find_map(|(connection, spec)| {
        let number = spec.subflows.iter().position(|subflow| subflow.flow == flow)?;
        Some(SubflowOf { connection: connection as u32, number: number as u32 })
    })
}

/// Role of a subflow.
pub(crate) fn role(scenario: &Scenario, of: SubflowOf) -> Role {
    let subflows = &scenario.connections[of.connection as usize].subflows;
    match of.number {
        0 => Role::Opens,
        number => Role::Joins { backup: subflows[number as usize].backup },
    }
}

/// Snapshot of a subflow for coupled congestion control.
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
    /// Connection in its initial state. `options` are those of the first subflow's endpoints.
    pub(crate) fn new(
        spec: &scenario::Connection,
        first: &scenario::Flow,
        [sending, receiving]: &[Arc<TcpOptions>; 2],
        writer: Writer,
    ) -> Self {
        let coupled = matches!(
            &first.traffic, Traffic::Tcp(tcp) if tcp.congestion_control.is_coupled()
        );
        Self {
            sender: DataSender::new(spec, sending, writer),
            receiver: DataReceiver::new(spec.sink, receiving, spec.subflows.len()),
            due: vec![Stage::Early; spec.subflows.len()],
            coupled,
            peer_closed: false,
        }
    }

    /// Passes snapshots of all subflows to coupled congestion control.
    fn couple(&self, me: usize, subflows: &mut Subflows<'_>) {
        if !self.coupled {
            return;
        }
        let all: Vec<_> = (0..subflows.len())
            .map(|number| {
                let gone = self.sender.states[number].gone;
                sibling(subflows.sender(number), gone)
            })
            .collect();
        subflows.sender(me).cc.subflows(&all, me);
    }

    /// Processes a segment that arrives at the sender.
    pub(crate) fn at_sender(
        &mut self,
        now: Time,
        me: usize,
        segment: &Segment,
        subflows: &mut Subflows<'_>,
    ) {
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
            let data_ack_option = sender.take_data_ack(segment);
            self.peer_closed |= data_ack_option.is_some_and(|(_, fin)| fin);
            let data_ack = data_ack_option.map(|(ack, _)| ack).or_else(|| sender.plain_data_ack());
            let mut delegate =
                data_ack.and_then(|ack| self.sender.acked(now, me, ack, window, subflows));
            subflows.sender(me).on_segment_then(segment);
            // Each round gives data to a subflow or is the last (`mptcp_napi_poll`).
            while let Some(subflow) = delegate {
                let context = Context::Ack { subflow, first: true };
                delegate = self.sender.push(now, context, subflows);
            }
            self.sender.write_space(now, subflows);
        }
        self.sender.check_timeout(now, me, subflows);
        self.close_subflows(now, subflows);
        self.open_joins(now, subflows);
    }

    /// Processes the establishment of a subflow.
    fn opened(&mut self, me: usize, subflows: &mut Subflows<'_>) {
        let sender = subflows.sender(me);
        let fell_back = sender.subflow.as_ref().is_some_and(|subflow| subflow.fell_back);
        if me == 0 {
            self.sender.fell_back = fell_back;
            self.sender.window_end = sender.snd_wnd;
        }
    }

    /// Opens the other subflows once the peer has confirmed Multipath TCP.
    pub(crate) fn open_joins(&mut self, now: Time, subflows: &mut Subflows<'_>) {
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

    /// Closes the subflows once all data and the DATA_FIN are acknowledged.
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

    /// Processes a segment that arrives at the receiver. Returns true if it contained only
    /// duplicate data.
    pub(crate) fn at_receiver(
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
        self.receiver.export_state(receiver);
        let acts = receiver.on_segment_first(now, segment, ecn_field);
        self.receiver.import_window(receiver);
        if me == 0 && !was_open && receiver.is_open() {
            self.receiver.begin(now, receiver.offered());
        }
        match segment.multipath() {
            Some(Multipath::DataFin { dsn }) => {
                self.receiver.ends_at(dsn);
                self.acknowledge_fin(now, me, subflows);
            }
            Some(Multipath::NoMapping { closed: true }) => self.receiver.close_seen = true,
            Some(Multipath::Mapping { dsn, fin: true, .. }) => {
                self.receiver.fin_at = Some(dsn + u64::from(segment.payload_bytes));
            }
            _ => {}
        }
        if acts {
            let was_closed = self.receiver.closed;
            let receiver = subflows.receiver(me);
            if self.receiver.data_ready(now, receiver) && !self.receiver.is_readable() {
                receiver.acknowledge_blocked();
            }
            self.receiver.with(now, me, subflows, Receiver::ack_check);
            if self.receiver.closed && !was_closed {
                self.acknowledge_fin(now, me, subflows);
            }
            self.receiver.read_available(now, subflows);
        }
        subflows.receiver(me).duplicate_packets > before
    }

    /// Acknowledges the DATA_FIN on every subflow (`mptcp_check_data_fin`).
    fn acknowledge_fin(&mut self, now: Time, me: usize, subflows: &mut Subflows<'_>) {
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
