//! Echo request and reply.

use super::{frame_bytes, Probe};
use crate::record::{ns, probe_rows};
use dumbbell_model::scenario::{Flow, Ping};
use dumbbell_model::tables::{Float, FlowRow, ProbeRow};
use dumbbell_model::{Span, Time};
use dumbbell_packet::frame::UDP_HEADER_BYTES;
use dumbbell_packet::Body;

/// Echo requests at an interval, and what came back.
pub(crate) struct PingState {
    spec: Ping,
    start: Time,
    stop: Time,
    pub(crate) sent: u64,
    pub(crate) probes: Vec<Probe>,
    pub(crate) answered: u64,
    pub(crate) rtt_ps: u128,
    pub(crate) rtt_min_ps: u64,
    pub(crate) last_delivery: Option<Time>,
}

impl PingState {
    pub(crate) fn new(spec: Ping, start: Time, stop: Time) -> Self {
        Self {
            spec,
            start,
            stop,
            sent: 0,
            probes: Vec::new(),
            answered: 0,
            rtt_ps: 0,
            rtt_min_ps: u64::MAX,
            last_delivery: None,
        }
    }

    pub(crate) fn next_at(&self) -> Option<Time> {
        let at = self.start + Span::from_ps(self.sent * self.spec.interval.as_ps());
        (at < self.stop).then_some(at)
    }

    pub(crate) fn request(&mut self, now: Time) -> (u32, Body) {
        let number = self.sent;
        self.sent += 1;
        self.probes.push(Probe { sent: now, delay: None });
        self.frame(number)
    }

    pub(crate) fn frame(&self, number: u64) -> (u32, Body) {
        let payload_bytes = self.spec.payload_bytes as u32;
        let frame = frame_bytes(self.spec.payload_bytes + u64::from(UDP_HEADER_BYTES));
        (frame, Body::Ping { number, payload_bytes })
    }

    pub(crate) fn reply(&mut self, now: Time, number: u64) {
        let probe = &mut self.probes[number as usize];
        let rtt = now.since(probe.sent).as_ps();
        probe.delay.get_or_insert(now.since(probe.sent));
        self.answered += 1;
        self.rtt_ps += u128::from(rtt);
        self.rtt_min_ps = self.rtt_min_ps.min(rtt);
        self.last_delivery = Some(now);
    }

    pub(crate) fn totals(&self, row: &mut FlowRow) {
        row.kind = "ping".to_owned();
        row.delivered_bytes = 0_u64.into();
        row.data_packets = self.sent.into();
        row.last_delivery_ns = self.last_delivery.map(ns).into();
        row.rtt_mean_ns = Float::mean(self.rtt_ps as f64 / 1000.0, self.answered);
        if self.answered > 0 {
            row.rtt_min_ns = (self.rtt_min_ps / 1000).into();
        }
    }

    pub(crate) fn probes(&self, spec: &Flow, rows: &mut Vec<ProbeRow>) {
        rows.extend(probe_rows(&spec.name, self.spec.protocol.name(), &self.probes));
    }
}
