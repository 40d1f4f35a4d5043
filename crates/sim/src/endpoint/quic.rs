//! Endpoint of a QUIC connection: a stack from outside, and the contents of its datagrams under way.

use super::build::{Setup, TrafficEndpoint};
use super::{
    frame_bytes, Arrival, Deadline, Endpoint, Life, Outbox, Outgoing, Report, Run, Timer, Touched,
};
use dumbbell_model::scenario::Flow;
use dumbbell_model::stack_rows::{self, WindowSums};
use dumbbell_model::traffic::Quic;
use dumbbell_model::Time;
use dumbbell_packet::frame::UDP_HEADER_BYTES;
use dumbbell_packet::Body;
use dumbbell_stack::{Log, Side, Stack, State};
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
    secrets: Log,
    bytes: Vec<u8>,
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

    fn of(&self, number: u64) -> &[u8] {
        let place = number.checked_sub(self.first).and_then(|at| self.held.get(at as usize));
        place.and_then(Option::as_ref).map_or(&[], |(bytes, _)| bytes)
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
        let spec = self.spec(from.min(to), setup.rng(flow, "stack"));
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
            secrets: spec.secrets,
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

    fn contents(&self, outward: bool, body: &Body) -> &[u8] {
        match body {
            &Body::Udp { datagram, .. } => self.under_way[usize::from(!outward)].of(datagram),
            _ => &[],
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
                self.windows.stop(now.as_ns());
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
            Report::Sample { row, .. } => stack_rows::fill_sample(&self.state(), row),
            Report::Flow { row, .. } => {
                self.windows.fill_flow(&self.state(), &self.label, run.now.as_ns(), row);
                row.data_packets = run.flows[self.flow as usize].sent[0].into();
            }
            Report::Transfers { rows } => {
                rows.extend(stack_rows::transfer(&self.state(), &run.named(self.flow)));
            }
            Report::Secrets { lines } => lines.extend(self.secrets.bytes()),
            _ => {}
        }
    }

    fn sample_window(&mut self, _lane: u32) -> bool {
        let state = self.state();
        self.windows.add(&state)
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
        assert_eq!(
            since_start(Time::ZERO + dumbbell_model::Span::from_ps(1999)),
            Duration::from_nanos(1)
        );
    }
}
