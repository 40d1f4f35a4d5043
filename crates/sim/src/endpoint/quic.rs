//! Endpoint of a QUIC connection: a stack from outside, and the contents of its datagrams under way.

use super::build::{Setup, TrafficEndpoint};
use super::{
    frame_bytes, Arrival, Deadline, Endpoint, Life, Outbox, Outgoing, Report, Run, Timer, Touched,
};
use crate::record::ns;
use dumbbell_model::scenario::Flow;
use dumbbell_model::tables::{Float, FlowRow, Int, SampleRow, TransferRow};
use dumbbell_model::traffic::Quic;
use dumbbell_model::Time;
use dumbbell_packet::frame::{IPV4_HEADER_BYTES, UDP_HEADER_BYTES};
use dumbbell_packet::Body;
use dumbbell_stack::{Side, Spec, Stack, State};
use std::collections::VecDeque;
use std::time::Duration;

/// Timer at which the application starts or stops. It precedes the timers that this sets.
const BEGIN_STOP: usize = 0;
/// Timers of client and server.
const OF_SIDE: [usize; 2] = [1, 2];

/// Both ends of a QUIC flow.
pub(crate) struct QuicEnds {
    flow: u32,
    label: String,
    /// `None` if it could not be made: the run fails.
    stack: Option<Box<dyn Stack>>,
    life: Life,
    /// Time of the last call: no deadline is before it.
    now: Time,
    /// Contents of the datagrams under way, sent by client and server.
    under_way: [Contents; 2],
    /// Timers of the sides that have acted.
    touched: u8,
    /// The connection is established, and its window sampled from now on.
    is_sampled: bool,
    windows: WindowSums,
    bytes: Vec<u8>,
}

/// Sums over samples of the client's window.
#[derive(Clone, Copy, Debug, Default)]
struct WindowSums {
    samples: u64,
    cwnd: u64,
    cwnd_max: u64,
    srtt_ns: u128,
}

/// Contents of a datagram, and the number of its copies in the network.
type Held = (Box<[u8]>, u32);

/// Datagrams of a direction, by number.
#[derive(Debug, Default)]
struct Contents {
    first: u64,
    /// `None`: no copy is left.
    held: VecDeque<Option<Held>>,
}

impl Contents {
    fn push(&mut self, bytes: &[u8]) -> u64 {
        self.held.push_back(Some((bytes.into(), 1)));
        self.first + self.held.len() as u64 - 1
    }

    fn place(&mut self, number: u64) -> Option<&mut Option<Held>> {
        self.held.get_mut(number.checked_sub(self.first)? as usize)
    }

    fn copied(&mut self, number: u64) {
        if let Some(Some((_, copies))) = self.place(number) {
            *copies += 1;
        }
    }

    /// Calls `take` with the contents of one copy, which then leaves the network.
    fn leave(&mut self, number: u64, take: impl FnOnce(&[u8])) {
        let Some(place) = self.place(number) else { return };
        if let Some((bytes, copies)) = place {
            take(bytes);
            *copies -= 1;
            if *copies == 0 {
                *place = None;
            }
        }
        while matches!(self.held.front(), Some(None)) {
            self.held.pop_front();
            self.first += 1;
        }
    }
}

/// Time since the start of the run, in the stack's whole nanoseconds.
fn since_start(now: Time) -> Duration {
    Duration::from_nanos(now.as_ns())
}

fn time(at: Duration) -> Time {
    u64::try_from(at.as_nanos()).map_or(Time::NEVER, |ns| {
        if ns > Time::NEVER.as_ns() {
            Time::NEVER
        } else {
            Time::from_ns(ns)
        }
    })
}

fn side(is_client: bool) -> Side {
    if is_client {
        Side::Client
    } else {
        Side::Server
    }
}

impl TrafficEndpoint for Quic {
    type Ends = QuicEnds;

    fn open(&self, setup: Setup<'_>, number: u32, flow: &Flow) -> QuicEnds {
        let [from, to] = setup.mtus(flow);
        let mut random = setup.rng(flow, "stack");
        let mut seed = [0; 32];
        for chunk in seed.chunks_mut(8) {
            chunk.copy_from_slice(&random.next_u64().to_le_bytes());
        }
        let room = from.min(to).saturating_sub(IPV4_HEADER_BYTES + UDP_HEADER_BYTES);
        let spec = Spec {
            congestion_control: self.congestion_control.name().to_owned(),
            streams: self.streams as u32,
            bytes: (self.bytes > 0).then_some(self.bytes),
            datagram_bytes: u16::try_from(room).unwrap_or(u16::MAX),
            seed,
        };
        QuicEnds {
            flow: number,
            label: self.label(),
            stack: setup.plugins.stack(self.stack.name(), &flow.name, &spec).ok(),
            life: setup.life(flow),
            now: Time::ZERO,
            under_way: Default::default(),
            touched: 1 << BEGIN_STOP,
            is_sampled: false,
            windows: WindowSums::default(),
            bytes: Vec::new(),
        }
    }
}

impl QuicEnds {
    fn state(&self) -> State {
        self.stack.as_ref().map(|stack| stack.state()).unwrap_or_default()
    }

    /// Hands datagrams of an end to the network.
    fn send(&mut self, now: Duration, side: Side, out: &mut Outbox<'_>) {
        let Some(stack) = &mut self.stack else { return };
        let outward = side == Side::Client;
        while let Some(sent) = stack.transmit(now, side, &mut self.bytes) {
            for datagram in self.bytes.chunks(sent.datagram_bytes) {
                let number = self.under_way[side as usize].push(datagram);
                let payload_bytes = datagram.len() as u32;
                out.push_back(Outgoing {
                    flow: self.flow,
                    outward,
                    asks_departure: false,
                    ecn_field: sent.ecn_field,
                    frame_bytes: frame_bytes(u64::from(payload_bytes + UDP_HEADER_BYTES)),
                    body: Body::Udp { datagram: number, payload_bytes, fragment: 0, fragments: 1 },
                });
            }
            self.bytes.clear();
        }
    }

    fn fill_flow(&self, run: &Run<'_>, row: &mut FlowRow) {
        let state = self.state();
        row.kind = "quic".to_owned();
        row.congestion_control.clone_from(&self.label);
        row.established_ns = state.established.map(time).map(ns).into();
        row.delivered_bytes = state.delivered_bytes.into();
        row.last_delivery_ns = state.last_delivery.map(time).map(ns).into();
        row.end_ns = ns(state.acknowledged.map_or(run.now, time));
        row.data_packets = run.flows[self.flow as usize].sent[0].into();
        row.retransmitted_packets = state.lost_packets.into();
        row.rtt_min_ns = state.rtt_min.map(time).map(ns).into();
        let sums = &self.windows;
        row.cwnd_max_packets = (sums.samples > 0).then_some(sums.cwnd_max).into();
        row.cwnd_mean_packets = Float::mean(sums.cwnd as f64, sums.samples);
        row.srtt_mean_ns = Float::mean(sums.srtt_ns as f64, sums.samples);
    }

    fn fill_sample(&self, row: &mut SampleRow) {
        let state = self.state();
        row.delivered_bytes = state.delivered_bytes.into();
        row.cwnd_packets = state.packets(state.cwnd_bytes).into();
        row.ssthresh_packets = state.packets(state.ssthresh_bytes).into();
        row.in_flight_packets = state.packets(state.in_flight_bytes).into();
        row.srtt_ns = state.srtt.map(time).map(ns).into();
        row.rtt_min_ns = state.rtt_min.map(time).map(ns).into();
        row.retransmitted_packets = state.lost_packets.into();
    }

    /// Row of the table `transfers`, if all data has arrived.
    fn transfer(&self, run: &Run<'_>) -> Option<TransferRow> {
        let state = self.state();
        let (spec, flow) = (run.spec(self.flow), &run.flows[self.flow as usize]);
        Some(TransferRow {
            flow: spec.name.into_owned(),
            group: spec.group.to_owned(),
            session: String::new(),
            object: String::new(),
            start_ns: ns(flow.start),
            request_ns: Int::UNKNOWN,
            first_byte_ns: Int::UNKNOWN,
            end_ns: ns(time(state.received?)),
            transfer_bytes: state.delivered_bytes.into(),
        })
    }
}

impl Endpoint for QuicEnds {
    fn on_packet(&mut self, now: Time, arrival: &Arrival<'_>) -> bool {
        let (&Body::Udp { datagram, .. }, Some(stack)) = (arrival.body, &mut self.stack) else {
            return false;
        };
        self.now = now;
        let to = side(!arrival.outward);
        let from = usize::from(!arrival.outward);
        self.under_way[from].leave(datagram, |bytes| {
            stack.receive(since_start(now), to, arrival.ecn_field, bytes);
        });
        self.touched |= 1 << OF_SIDE[to as usize];
        false
    }

    fn on_dropped(&mut self, outward: bool, body: &Body) {
        if let &Body::Udp { datagram, .. } = body {
            self.under_way[usize::from(!outward)].leave(datagram, |_| ());
        }
    }

    fn on_copied(&mut self, outward: bool, body: &Body) {
        if let &Body::Udp { datagram, .. } = body {
            self.under_way[usize::from(!outward)].copied(datagram);
        }
    }

    fn on_timer(&mut self, now: Time, timer: Timer) {
        let (Timer::Flow { kind, .. }, Some(stack)) = (timer, &mut self.stack) else { return };
        self.now = now;
        let at = since_start(now);
        if kind == BEGIN_STOP {
            if self.life.turn() {
                stack.open(at);
            } else {
                stack.stop(at);
            }
            self.touched |= 1 << BEGIN_STOP | 1 << OF_SIDE[Side::Client as usize];
        } else {
            let side = side(kind == OF_SIDE[Side::Client as usize]);
            stack.wake(at, side);
            self.touched |= 1 << kind;
        }
    }

    fn poll_transmit(&mut self, now: Time, out: &mut Outbox<'_>) -> Option<Touched> {
        let timers = std::mem::take(&mut self.touched);
        if timers == 0 {
            return None;
        }
        for side in Side::BOTH {
            if timers & 1 << OF_SIDE[side as usize] != 0 {
                self.send(since_start(now), side, out);
            }
        }
        let begins = !self.is_sampled && self.life.begun;
        self.is_sampled |= begins;
        Some(Touched { flow: self.flow, timers, begins, ..Touched::default() })
    }

    fn next_deadline(&mut self, timer: Timer, _set: &mut u64) -> Deadline {
        let Timer::Flow { kind, .. } = timer else { return Deadline::at(None) };
        if kind == BEGIN_STOP {
            return Deadline::at(self.life.next());
        }
        let side = side(kind == OF_SIDE[Side::Client as usize]);
        let stack = self.stack.as_mut();
        let at = stack.and_then(|stack| stack.deadline(side));
        let at = at.map(|at| time(at).max(self.now));
        Deadline { exact: true, ..Deadline::at(at) }
    }

    fn report(&self, run: &Run<'_>, report: Report<'_>) {
        match report {
            Report::Sample { row, .. } => self.fill_sample(row),
            Report::Flow { row, .. } => self.fill_flow(run, row),
            Report::Transfers { rows } => rows.extend(self.transfer(run)),
            _ => {}
        }
    }

    fn sample_window(&mut self, _lane: u32) -> bool {
        let state = self.state();
        if state.acknowledged.is_some() || state.lost.is_some() {
            return false;
        }
        if let (Some(_), Some(cwnd)) = (state.established, state.packets(state.cwnd_bytes)) {
            let sums = &mut self.windows;
            sums.samples += 1;
            sums.cwnd += cwnd;
            sums.cwnd_max = sums.cwnd_max.max(cwnd);
            sums.srtt_ns += state.srtt.unwrap_or_default().as_nanos();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_kept_until_the_last_copy_has_left() {
        let mut contents = Contents::default();
        let numbers: Vec<u64> = [1, 2, 3].iter().map(|&byte| contents.push(&[byte])).collect();
        assert_eq!(numbers, [0, 1, 2]);
        contents.copied(1);
        let mut seen = Vec::new();
        for number in [1, 0, 2, 1, 1, 7] {
            contents.leave(number, |bytes| seen.extend_from_slice(bytes));
        }
        assert_eq!(seen, [2, 1, 3, 2]);
        assert_eq!((contents.held.len(), contents.first), (0, 3));
        assert_eq!(contents.push(&[4]), 3);
    }

    #[test]
    fn a_deadline_beyond_the_range_of_time_is_never() {
        assert_eq!(time(Duration::MAX), Time::NEVER);
        assert_eq!(time(Duration::from_nanos(7)), Time::from_ns(7));
        assert_eq!(since_start(Time::ZERO + dumbbell_model::Span::from_ps(1999)), Duration::from_nanos(1));
    }
}
