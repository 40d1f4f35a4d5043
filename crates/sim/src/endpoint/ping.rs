//! Endpoint of a ping: echo requests and replies.

use super::build::{Setup, TrafficEndpoint};
use super::{
    frame_bytes, probe_rows, Arrival, Deadline, Endpoint, Outbox, Outgoing, Probe, Report, Run,
    Timer, Touched,
};
use dumbbell_model::scenario::{Flow, Ping};
use dumbbell_model::tables::ns;
use dumbbell_model::tables::Float;
use dumbbell_model::{Span, Time};
use dumbbell_packet::frame::UDP_HEADER_BYTES;
use dumbbell_packet::Body;

/// Timer of the next request.
const SEND: usize = 0;

/// Echo requests at an interval, and their replies.
pub(crate) struct PingEnds {
    flow: u32,
    spec: Ping,
    start: Time,
    stop: Time,
    sent: u64,
    probes: Vec<Probe>,
    answered: u64,
    rtt_ps: u128,
    rtt_min_ps: u64,
    last_delivery: Option<Time>,
    /// Requests (`true`) and replies to be drained, by number.
    made: Vec<(bool, u64)>,
}

impl TrafficEndpoint for Ping {
    type Ends = PingEnds;

    fn open(&self, setup: Setup<'_>, number: u32, flow: &Flow) -> PingEnds {
        PingEnds::new(setup, number, flow, self)
    }
}

impl PingEnds {
    pub(super) fn new(setup: Setup<'_>, number: u32, flow: &Flow, ping: &Ping) -> Self {
        Self {
            flow: number,
            spec: *ping,
            start: setup.life(flow).start,
            stop: setup.until(flow),
            sent: 0,
            probes: Vec::new(),
            answered: 0,
            rtt_ps: 0,
            rtt_min_ps: u64::MAX,
            last_delivery: None,
            made: Vec::new(),
        }
    }

    fn next_at(&self) -> Option<Time> {
        let at = self.start + Span::from_ps(self.sent * self.spec.interval.as_ps());
        (at < self.stop).then_some(at)
    }

    fn request(&mut self, now: Time) {
        let number = self.sent;
        self.sent += 1;
        self.probes.push(Probe { sent: now, delay: None });
        self.made.push((true, number));
    }

    fn frame(&self, number: u64) -> (u32, Body) {
        let payload_bytes = self.spec.payload_bytes as u32;
        let frame = frame_bytes(self.spec.payload_bytes + u64::from(UDP_HEADER_BYTES));
        (frame, Body::Ping { number, payload_bytes })
    }

    fn reply(&mut self, now: Time, number: u64) {
        let probe = &mut self.probes[number as usize];
        let rtt = now.since(probe.sent).as_ps();
        probe.delay.get_or_insert(now.since(probe.sent));
        self.answered += 1;
        self.rtt_ps += u128::from(rtt);
        self.rtt_min_ps = self.rtt_min_ps.min(rtt);
        self.last_delivery = Some(now);
    }
}

impl Endpoint for PingEnds {
    fn on_packet(&mut self, now: Time, arrival: &Arrival<'_>) -> bool {
        if let &Body::Ping { number, .. } = arrival.body {
            if arrival.outward {
                self.made.push((false, number));
            } else {
                self.reply(now, number);
            }
        }
        false
    }

    fn on_timer(&mut self, now: Time, _timer: Timer) {
        self.request(now);
    }

    fn poll_transmit(&mut self, _now: Time, out: &mut Outbox<'_>) -> Option<Touched> {
        let (outward, number) = self.made.pop()?;
        let (frame_bytes, body) = self.frame(number);
        let flow = self.flow;
        let asks_departure = false;
        out.push_back(Outgoing { flow, outward, asks_departure, ecn_field: 0, frame_bytes, body });
        let timers = if outward { 1 << SEND } else { 0 };
        let more = !self.made.is_empty();
        Some(Touched { flow, timers, more, ..Touched::default() })
    }

    fn next_deadline(&mut self, timer: Timer, _set: &mut u64) -> Deadline {
        let sends = timer == Timer::Flow { lane: 0, kind: SEND };
        Deadline::at(self.next_at().filter(|_| sends))
    }

    fn report(&self, run: &Run<'_>, report: Report<'_>) {
        match report {
            Report::Sample { row, .. } => row.delivered_bytes = 0_u64.into(),
            Report::Flow { row, .. } => {
                row.kind = "ping".to_owned();
                row.delivered_bytes = 0_u64.into();
                row.data_packets = self.sent.into();
                row.last_delivery_ns = self.last_delivery.map(ns).into();
                row.rtt_mean_ns = Float::mean(self.rtt_ps as f64 / 1000.0, self.answered);
                if self.answered > 0 {
                    row.rtt_min_ns = (self.rtt_min_ps / 1000).into();
                }
            }
            Report::Probes { rows } => {
                let name = &run.scenario.flows[self.flow as usize].name;
                rows.extend(probe_rows(name, self.spec.protocol.name(), &self.probes));
            }
            _ => {}
        }
    }
}
