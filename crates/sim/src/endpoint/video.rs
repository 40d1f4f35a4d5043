//! Endpoint of on/off video over UDP: frames in on periods, no packets in off periods.

use super::build::{Setup, TrafficEndpoint};
use super::udp::UdpSink;
use super::{
    frame_bytes, probe_rows, Arrival, Deadline, Endpoint, Outbox, Outgoing, Probe, Report, Run,
    Timer, Touched,
};
use dumbbell_model::scenario::Flow;
use dumbbell_model::tables::ns;
use dumbbell_model::traffic::Video;
use dumbbell_model::writer::Writer;
use dumbbell_model::Time;
use dumbbell_packet::frame::UDP_HEADER_BYTES;
use dumbbell_packet::Body;

/// Timer of the next frame.
const SEND: usize = 0;

/// Source and receiver of a video flow.
pub(crate) struct VideoEnds {
    flow: u32,
    spec: Video,
    writer: Writer,
    next: Time,
    stop: Time,
    /// Payload bytes of all frames so far.
    made_bytes: u64,
    /// Datagrams sent.
    sent: u64,
    keeps_probes: bool,
    probes: Vec<Probe>,
    sink: UdpSink,
    /// Payload lengths of the datagrams to be drained.
    made: Vec<u64>,
}

impl TrafficEndpoint for Video {
    type Ends = VideoEnds;

    fn open(&self, setup: Setup<'_>, number: u32, flow: &Flow) -> VideoEnds {
        VideoEnds {
            flow: number,
            spec: *self,
            writer: Writer::new(self.source(), setup.rng(flow, "source")),
            next: setup.life(flow).start,
            stop: setup.until(flow),
            made_bytes: 0,
            sent: 0,
            keeps_probes: setup.scenario.sampling.probes,
            probes: Vec::new(),
            sink: UdpSink::default(),
            made: Vec::new(),
        }
    }
}

impl Endpoint for VideoEnds {
    fn on_packet(&mut self, now: Time, arrival: &Arrival<'_>) -> bool {
        if let &Body::Udp { datagram, payload_bytes, .. } = arrival.body {
            if self.sink.deliver(now, datagram, u64::from(payload_bytes)) {
                if let Some(probe) = self.probes.get_mut(datagram as usize) {
                    probe.delay = Some(now.since(probe.sent));
                }
            }
        }
        false
    }

    fn on_timer(&mut self, now: Time, _timer: Timer) {
        self.writer.act(now);
        self.next = self.writer.next().unwrap_or(Time::NEVER);
        let frame = self.writer.left(self.made_bytes);
        self.made_bytes += frame;
        self.made.extend(self.spec.datagrams(frame));
    }

    fn poll_transmit(&mut self, now: Time, out: &mut Outbox<'_>) -> Option<Touched> {
        if self.made.is_empty() {
            return None;
        }
        for payload_bytes in self.made.drain(..) {
            let datagram = self.sent;
            self.sent += 1;
            if self.keeps_probes {
                self.probes.push(Probe { sent: now, delay: None });
            }
            let body = Body::Udp {
                datagram,
                payload_bytes: payload_bytes as u32,
                fragment: 0,
                fragments: 1,
            };
            out.push_back(Outgoing {
                flow: self.flow,
                outward: true,
                asks_departure: false,
                ecn_field: 0,
                frame_bytes: frame_bytes(payload_bytes + u64::from(UDP_HEADER_BYTES)),
                body,
            });
        }
        Some(Touched { flow: self.flow, timers: 1 << SEND, ..Touched::default() })
    }

    fn next_deadline(&mut self, timer: Timer, _set: &mut u64) -> Deadline {
        let sends = timer == Timer::Flow { lane: 0, kind: SEND };
        Deadline::at(Some(self.next).filter(|&at| sends && at < self.stop))
    }

    fn report(&self, run: &Run<'_>, report: Report<'_>) {
        let flow = self.flow as usize;
        match report {
            Report::Sample { row, .. } => row.delivered_bytes = self.sink.delivered_bytes.into(),
            Report::Flow { row, .. } => {
                row.kind = "udp".to_owned();
                row.delivered_bytes = self.sink.delivered_bytes.into();
                row.data_packets = run.flows[flow].sent[0].into();
                row.last_delivery_ns = self.sink.last_delivery.map(ns).into();
            }
            Report::Probes { rows } => {
                let name = &run.scenario.flows[flow].name;
                rows.extend(probe_rows(name, "one_way", &self.probes));
            }
            _ => {}
        }
    }
}
