//! Endpoint of a TCP connection whose sender is a stack from outside. The receiver is Linux's. Segments become IPv4
//! packets for the stack, and its packets become segments.

use super::ends::{receiver_deadline, BEGIN_STOP, RECEIVER, SENDER};
use super::receiver::Receiver;
use crate::endpoint::build::Setup;
use crate::endpoint::{
    Arrival, Deadline, Endpoint, Life, Outbox, Outgoing, Report, Run, Timer, Touched,
};
use dumbbell_model::scenario::{self, Flow};
use dumbbell_model::stack_rows::{self, WindowSums};
use dumbbell_model::traffic::TcpStack;
use dumbbell_model::{TcpOptions, Time};
use dumbbell_packet::frame::ETHERNET_HEADER_BYTES;
use dumbbell_packet::read::{Header, Numbers};
use dumbbell_packet::tcp::Syn;
use dumbbell_packet::wire::{self, FlowHeaders};
use dumbbell_packet::{Body, Cause, Packet, Segment};
use dumbbell_stack::{ip, Side, Stack, State};
use std::time::Duration;

/// Both ends of a flow.
pub(crate) struct StackEnds {
    flow: u32,
    label: String,
    /// `None` if it could not be made: the run fails.
    stack: Option<Box<dyn Stack>>,
    receiver: Receiver,
    life: Life,
    /// Time of the last call: no deadline is before it.
    now: Time,
    numbers: Numbers,
    headers: FlowHeaders,
    sent: Sent,
    /// Cause of a retransmission that follows: an ACK arrived, or a timer expired.
    cause: Cause,
    touched: u8,
    is_sampled: bool,
    windows: WindowSums,
    bytes: Vec<u8>,
}

/// Segments that the sender has put on the wire.
#[derive(Debug, Default)]
struct Sent {
    data_packets: u64,
    /// Byte after the highest sent, and the first not acknowledged.
    next: u64,
    acknowledged: u64,
    fast: u64,
    timeout: u64,
}

fn since_start(now: Time) -> Duration {
    Duration::from_nanos(now.as_ns())
}

/// Sets what the stack offers in its SYN. The options of its host are Linux's.
pub(crate) fn offer(stack: TcpStack, options: &mut TcpOptions) {
    match stack {
        TcpStack::Linux => {}
        TcpStack::Smoltcp => {
            options.tcp_timestamps = false;
            options.tcp_sack = true;
            options.tcp_window_scaling = true;
            options.tcp_ecn = 0;
        }
    }
}

impl StackEnds {
    pub(in crate::endpoint) fn new(
        setup: Setup<'_>,
        number: u32,
        flow: &Flow,
        tcp: &scenario::Tcp,
    ) -> Self {
        let [_, receiving] = setup.options(flow);
        let [mtu, peer_mtu] = setup.mtus(flow);
        let mut receiver = Receiver::new(&receiving, tcp.sink, tcp.congestion_control);
        receiver.advertise(peer_mtu);
        let spec = tcp.spec(mtu, setup.rng(flow, "stack"));
        let initial = setup.rng(flow, "initial").next_u64() as u32;
        let name = tcp.stack.name();
        Self {
            flow: number,
            label: tcp.label(),
            stack: setup.plugins.stack(name, &flow.name, &spec).ok(),
            receiver,
            life: setup.life(flow),
            now: Time::ZERO,
            numbers: Numbers::of_server(initial),
            headers: FlowHeaders {
                addresses: ip::ADDRESSES,
                initial: [0, initial],
                mss: [0, (peer_mtu - 40) as u16],
                window_scale: [0, receiving.window_scale()],
                scales_window: receiving.tcp_window_scaling,
                ..FlowHeaders::default()
            },
            sent: Sent::default(),
            cause: Cause::New,
            touched: 1 << BEGIN_STOP,
            is_sampled: false,
            windows: WindowSums::default(),
            bytes: Vec::new(),
        }
    }

    /// State of the connection, from the stack, the receiver and the wire.
    fn state(&self) -> State {
        let receiver = &self.receiver;
        let fin = receiver.fin_at.is_some_and(|end| receiver.rcv_nxt >= end);
        let delivered_bytes = receiver.rcv_nxt - u64::from(fin);
        let told = self.stack.as_ref().map(|stack| stack.state()).unwrap_or_default();
        let last_delivery = receiver.last_delivery.map(since_start);
        State {
            delivered_bytes,
            last_delivery,
            received: last_delivery.filter(|_| fin),
            in_flight_bytes: Some(self.sent.next.saturating_sub(self.sent.acknowledged)),
            datagram_bytes: u16::try_from(self.receiver.advmss).ok(),
            lost_packets: Some(self.sent.fast + self.sent.timeout),
            ..told
        }
    }

    /// Reads an IPv4 packet of the stack; `None`: it is no segment.
    fn segment(&mut self, packet: &[u8]) -> Option<Segment> {
        let ip = Header(packet);
        let header = usize::from(ip.byte(0) & 15) * 4;
        let tcp = Header(packet.get(header..)?);
        let bytes = (packet.len() - header) as u32;
        let mut segment = self.numbers.segment(0, &tcp, bytes);
        if segment.flags.syn == Syn::Opens {
            self.headers.initial[0] = self.numbers.initial(0).unwrap_or(0);
        }
        segment.payload_bytes = segment.payload_bytes.min(bytes);
        Some(segment)
    }

    /// Counts a segment of the stack and notes why it was sent.
    fn count(&mut self, segment: &mut Segment) {
        if segment.payload_bytes == 0 {
            return;
        }
        let sent = &mut self.sent;
        sent.data_packets += 1;
        if segment.seq < sent.next {
            segment.cause = self.cause;
            match self.cause {
                Cause::Timeout => sent.timeout += 1,
                _ => sent.fast += 1,
            }
        }
        sent.next = sent.next.max(segment.seq + u64::from(segment.payload_bytes));
    }

    /// Hands packets of the stack to the network.
    fn send(&mut self, now: Duration, out: &mut Outbox<'_>) {
        loop {
            let Some(stack) = &mut self.stack else { return };
            let mut bytes = std::mem::take(&mut self.bytes);
            bytes.clear();
            let sent = stack.transmit(now, Side::Client, &mut bytes);
            let segment = sent.and_then(|_| self.segment(&bytes));
            let frame_bytes = bytes.len() as u32 + ETHERNET_HEADER_BYTES;
            self.bytes = bytes;
            let (Some(sent), Some(mut segment)) = (sent, segment) else { return };
            self.count(&mut segment);
            out.push_back(Outgoing {
                flow: self.flow,
                outward: true,
                asks_departure: false,
                ecn_field: sent.ecn_field,
                frame_bytes,
                body: Body::Tcp(segment),
            });
        }
    }

    /// Drains the output of the receiver.
    fn answer(&mut self, out: &mut Outbox<'_>) {
        for segment in self.receiver.out.segments() {
            let ecn_field = self.receiver.ecn.field(segment);
            out.push_segment(self.flow, false, false, ecn_field, segment);
        }
        self.receiver.out.clear();
    }
}

impl Endpoint for StackEnds {
    fn on_packet(&mut self, now: Time, arrival: &Arrival<'_>) -> bool {
        let Body::Tcp(segment) = arrival.body else { return false };
        self.now = now;
        if arrival.outward {
            let before = self.receiver.duplicate_packets;
            self.receiver.on_segment(now, segment, arrival.ecn_field);
            self.touched |= 1 << RECEIVER;
            return self.receiver.duplicate_packets > before;
        }
        let (frame_bytes, body) = (segment.frame_bytes(), Body::Tcp(*segment));
        let tos = arrival.ecn_field;
        let packet = Packet { number: 0, flow: 0, frame_bytes, outward: false, tos, body };
        let frame = wire::frame(&packet, &self.headers, Default::default(), usize::MAX);
        self.sent.acknowledged = self.sent.acknowledged.max(segment.ack);
        self.cause = Cause::Fast;
        if let Some(stack) = &mut self.stack {
            let datagram = frame.get(ETHERNET_HEADER_BYTES as usize..).unwrap_or_default();
            stack.receive(since_start(now), Side::Client, tos, datagram);
        }
        self.touched |= 1 << SENDER;
        false
    }

    fn on_timer(&mut self, now: Time, timer: Timer) {
        self.now = now;
        let at = since_start(now);
        match timer {
            Timer::Flow { kind: RECEIVER, .. } => {
                self.receiver.on_timeout(now);
                self.touched |= 1 << RECEIVER;
                return;
            }
            Timer::Soft { .. } => {
                self.receiver.compressed_ack_kick(now);
                self.touched |= 1 << RECEIVER;
                return;
            }
            Timer::Flow { .. } | Timer::Own => {}
        }
        let Some(stack) = &mut self.stack else { return };
        self.cause = Cause::Timeout;
        if timer == (Timer::Flow { lane: 0, kind: SENDER }) {
            stack.wake(at, Side::Client);
        } else if self.life.turn() {
            stack.open(at);
        } else {
            stack.stop(at);
            self.windows.stop(at.as_nanos() as u64);
        }
        self.touched |= 1 << BEGIN_STOP | 1 << SENDER;
    }

    fn poll_transmit(&mut self, now: Time, out: &mut Outbox<'_>) -> Option<Touched> {
        let timers = std::mem::take(&mut self.touched);
        if timers == 0 {
            return None;
        }
        if timers & 1 << SENDER != 0 {
            self.send(since_start(now), out);
        }
        if timers & 1 << RECEIVER != 0 {
            self.answer(out);
        }
        let begins = !self.is_sampled && self.life.begun;
        self.is_sampled |= begins;
        Some(Touched { flow: self.flow, timers, begins, ..Touched::default() })
    }

    fn next_deadline(&mut self, timer: Timer, set: &mut u64) -> Deadline {
        match timer {
            Timer::Flow { kind: BEGIN_STOP, .. } => Deadline::at(self.life.next()),
            Timer::Flow { kind: RECEIVER, .. } => receiver_deadline(&mut self.receiver, 0, set),
            Timer::Flow { kind: SENDER, .. } => {
                let stack = self.stack.as_mut();
                let at = stack.and_then(|stack| stack.deadline(Side::Client));
                let at = at.and_then(|at| u64::try_from(at.as_nanos()).ok());
                let at = at.filter(|&at| at < Time::NEVER.as_ns()).map(Time::from_ns);
                Deadline { exact: true, ..Deadline::at(at.map(|at| at.max(self.now))) }
            }
            Timer::Flow { .. } | Timer::Soft { .. } | Timer::Own => Deadline::at(None),
        }
    }

    fn report(&self, run: &Run<'_>, report: Report<'_>) {
        match report {
            Report::Sample { row, .. } => {
                stack_rows::fill_sample(&self.state(), row);
                row.acked_bytes = self.sent.acknowledged.min(self.sent.next).into();
            }
            Report::Flow { row, .. } => {
                self.windows.fill_flow(&self.state(), &self.label, run.now.as_ns(), row);
                row.kind = "tcp".to_owned();
                row.data_packets = self.sent.data_packets.into();
                row.fast_retransmitted_packets = self.sent.fast.into();
                row.timeout_retransmitted_packets = self.sent.timeout.into();
                let copies = run.flows[self.flow as usize].copies;
                let spurious = self.receiver.duplicate_packets - copies;
                row.spurious_retransmitted_packets =
                    spurious.min(self.sent.fast + self.sent.timeout).into();
            }
            Report::Transfers { rows } => {
                rows.extend(stack_rows::transfer(&self.state(), &run.named(self.flow)));
            }
            _ => {}
        }
    }

    fn sample_window(&mut self, _lane: u32) -> bool {
        let state = self.state();
        self.windows.add(&state)
    }
}
