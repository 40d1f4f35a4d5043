//! Endpoint of UDP at a constant bit rate.

use super::build::{Setup, TrafficEndpoint};
use super::{
    frame_bytes, probe_rows, Arrival, Deadline, Endpoint, Outbox, Outgoing, Probe, Report, Run,
    Timer, Touched,
};
use dumbbell_model::scenario::{Flow, Traffic, Udp, TIMER_SLACK};
use dumbbell_model::tables::ns;
use dumbbell_model::{Span, Time};
use dumbbell_packet::frame::{IPV4_HEADER_BYTES, UDP_HEADER_BYTES};
use dumbbell_packet::Body;
use std::collections::VecDeque;

/// Timer of the next datagrams.
const SEND: usize = 0;

/// Source and receiver of a flow of datagrams.
pub(crate) struct UdpEnds {
    flow: u32,
    source: UdpSource,
    sink: UdpSink,
    /// Packets to be drained: frame length and body.
    made: Vec<(u32, Body)>,
    /// True after the source's timer, even if no datagram was due.
    acted: bool,
}

impl TrafficEndpoint for Udp {
    type Ends = UdpEnds;

    fn open(&self, setup: Setup<'_>, number: u32, flow: &Flow) -> UdpEnds {
        UdpEnds::new(setup, number, flow, self)
    }
}

impl UdpEnds {
    pub(super) fn new(setup: Setup<'_>, number: u32, flow: &Flow, udp: &Udp) -> Self {
        let (start, until) = (setup.life(flow).start, setup.until(flow));
        let source = UdpSource::new(*udp, start, until, setup.scenario.sampling.probes);
        Self { flow: number, source, sink: UdpSink::default(), made: Vec::new(), acted: false }
    }
}

impl Endpoint for UdpEnds {
    fn on_packet(&mut self, now: Time, arrival: &Arrival<'_>) -> bool {
        if let &Body::Udp { datagram, payload_bytes, .. } = arrival.body {
            if self.sink.deliver(now, datagram, u64::from(payload_bytes)) {
                self.source.arrived(now, datagram);
            }
        }
        false
    }

    fn on_timer(&mut self, now: Time, _timer: Timer) {
        self.source.send(now, &mut self.made);
        self.acted = true;
    }

    fn poll_transmit(&mut self, _now: Time, out: &mut Outbox<'_>) -> Option<Touched> {
        if !core::mem::take(&mut self.acted) {
            return None;
        }
        let flow = self.flow;
        out.extend(self.made.drain(..).map(|(frame_bytes, body)| Outgoing {
            flow,
            outward: true,
            asks_departure: false,
            ecn_field: 0,
            frame_bytes,
            body,
        }));
        Some(Touched { flow, timers: 1 << SEND, ..Touched::default() })
    }

    fn next_deadline(&mut self, timer: Timer, _set: &mut u64) -> Deadline {
        let sends = timer == Timer::Flow { lane: 0, kind: SEND };
        Deadline::at(self.source.next_at().filter(|_| sends))
    }

    fn report(&self, run: &Run<'_>, report: Report<'_>) {
        let (spec, flow) =
            (&run.scenario.flows[self.flow as usize], &run.flows[self.flow as usize]);
        match report {
            Report::Sample { row, .. } => row.delivered_bytes = self.sink.delivered_bytes.into(),
            Report::Flow { row, .. } => {
                row.kind = "udp".to_owned();
                if let Traffic::Udp(Udp { codec: Some(codec), .. }) = &spec.traffic {
                    row.codec = codec.name().to_owned();
                }
                row.delivered_bytes = self.sink.delivered_bytes.into();
                row.data_packets = flow.sent[0].into();
                row.last_delivery_ns = self.sink.last_delivery.map(ns).into();
            }
            Report::Probes { rows } => {
                let probes = self.source.probes.as_deref().unwrap_or_default();
                rows.extend(probe_rows(&spec.name, "one_way", probes));
            }
            _ => {}
        }
    }
}

/// Source of datagrams at a constant bit rate.
struct UdpSource {
    spec: Udp,
    start: Time,
    stop: Time,
    /// Datagrams sent.
    sent: u64,
    /// Number of wake-ups of a source with bursts.
    wakes: u64,
    /// Probe of each datagram, if probes are recorded.
    probes: Option<Vec<Probe>>,
}

impl UdpSource {
    fn new(spec: Udp, start: Time, stop: Time, keep_probes: bool) -> Self {
        Self { spec, start, stop, sent: 0, wakes: 0, probes: keep_probes.then(Vec::new) }
    }

    /// Records the arrival of a complete datagram.
    fn arrived(&mut self, now: Time, datagram: u64) {
        let probes = self.probes.as_mut();
        if let Some(probe) = probes.and_then(|probes| probes.get_mut(datagram as usize)) {
            probe.delay = Some(now.since(probe.sent));
        }
    }

    /// Time of datagram `n`: the exact n-th multiple of its duration at the rate.
    fn due(&self, n: u64) -> Time {
        let bits = u128::from(n) * u128::from(self.spec.datagram_bytes) * 8;
        let ps = bits * 1_000_000_000_000 / u128::from(self.spec.rate_bps.as_bps());
        self.start + Span::from_ps(ps as u64)
    }

    /// Time of the next burst.
    fn tick(&self) -> Time {
        self.start + Span::from_ps(self.wakes * self.spec.interval.as_ps())
    }

    /// Time of the next transmission; `None` after the last.
    fn next_at(&self) -> Option<Time> {
        let at = if self.spec.interval.is_zero() { self.due(self.sent) } else { self.tick() };
        // The source does not sleep before the first burst.
        let late = self.spec.sleeps && at > self.start;
        (at < self.stop).then_some(if late { at + TIMER_SLACK } else { at })
    }

    /// Packets due now, with their frame lengths.
    fn send(&mut self, now: Time, out: &mut Vec<(u32, Body)>) {
        if self.spec.interval.is_zero() {
            self.datagram(now, out);
            return;
        }
        // As in iperf3: each tick sends until the mean rate since the start is reached.
        let tick = self.tick();
        self.wakes += 1;
        while self.due(self.sent) <= tick {
            self.datagram(now, out);
        }
    }

    /// Sends one datagram, in IP fragments if it exceeds the MTU (RFC 791 §3.2: all but the last
    /// carry a multiple of eight bytes).
    fn datagram(&mut self, now: Time, out: &mut Vec<(u32, Body)>) {
        if let Some(probes) = &mut self.probes {
            probes.push(Probe { sent: now, delay: None });
        }
        let datagram = self.sent;
        self.sent += 1;
        let total = self.spec.datagram_bytes + u64::from(UDP_HEADER_BYTES);
        let room = self.spec.mtu_bytes - u64::from(IPV4_HEADER_BYTES);
        if total <= room {
            let payload_bytes = self.spec.datagram_bytes as u32;
            let body = Body::Udp { datagram, payload_bytes, fragment: 0, fragments: 1 };
            out.push((frame_bytes(total), body));
            return;
        }
        let room = room / 8 * 8;
        let fragments = total.div_ceil(room) as u32;
        let mut left = total;
        for fragment in 0..fragments {
            let here = left.min(room);
            left -= here;
            let header = if fragment == 0 { u64::from(UDP_HEADER_BYTES) } else { 0 };
            let payload_bytes = (here - header) as u32;
            let body = Body::Udp { datagram, payload_bytes, fragment, fragments };
            out.push((frame_bytes(here), body));
        }
    }
}

/// Counter of complete datagrams.
#[derive(Default)]
pub(super) struct UdpSink {
    /// Numbers of the last datagrams, to detect duplicates.
    complete: VecDeque<u64>,
    pub(super) delivered_bytes: u64,
    pub(super) last_delivery: Option<Time>,
}

/// Number of datagrams kept for duplicate detection.
const REMEMBERED: usize = 64;

impl UdpSink {
    /// Counts a datagram. Returns true unless it is a duplicate.
    pub(super) fn deliver(&mut self, now: Time, datagram: u64, payload_bytes: u64) -> bool {
        if self.complete.contains(&datagram) {
            return false;
        }
        if self.complete.len() == REMEMBERED {
            self.complete.pop_front();
        }
        self.complete.push_back(datagram);
        self.delivered_bytes += payload_bytes;
        self.last_delivery = Some(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Arena;
    use dumbbell_model::Rate;
    use std::collections::VecDeque;

    fn source(datagram_bytes: u64, interval: Span) -> UdpSource {
        let spec = Udp {
            rate_bps: Rate::from_bps(8_000_000),
            datagram_bytes,
            interval,
            mtu_bytes: 1500,
            sleeps: false,
            codec: None,
        };
        UdpSource::new(spec, Time::ZERO, Time::from_ns(1_000_000_000), false)
    }

    #[test]
    fn a_tick_at_which_nothing_is_due_is_followed_by_others() {
        let source = source(3000, Span::from_ms(1)); // Due every 3 ms, looked at every one.
        let sink = UdpSink::default();
        let mut udp = UdpEnds { flow: 0, source, sink, made: Vec::new(), acted: false };
        let (mut arena, mut created, mut ticks) = (Arena::default(), VecDeque::new(), 0);
        let mut out = Outbox { arena: &mut arena, created: &mut created };
        let timer = Timer::Flow { lane: 0, kind: SEND };
        let mut at = udp.next_deadline(timer, &mut 0).at;
        while at != Time::NEVER {
            udp.on_timer(at, timer);
            let touched = udp.poll_transmit(at, &mut out);
            assert_eq!(touched.map(|touched| touched.timers), Some(1 << SEND), "{at}");
            at = udp.next_deadline(timer, &mut 0).at;
            ticks += 1;
        }
        // For a second: 334 datagrams, in three fragments each.
        assert_eq!((ticks, created.len()), (1000, 334 * 3));
    }

    #[test]
    fn a_program_that_sleeps_is_late_by_the_slack_from_the_second_on() {
        let mut udp = source(1000, Span::ZERO);
        udp.spec.sleeps = true;
        let mut times = Vec::new();
        while let Some(at) = udp.next_at() {
            udp.send(at, &mut Vec::new());
            times.push(at.as_ns());
        }
        // 8 Mbit/s: one each millisecond, up to the stop after one second.
        assert_eq!(times[..3], [0, 1_050_000, 2_050_000]);
        assert_eq!(times.len(), 1000);
    }

    #[test]
    fn an_8_kib_datagram_travels_in_six_fragments() {
        let mut out = Vec::new();
        source(8192, Span::ZERO).send(Time::ZERO, &mut out);
        let frames: Vec<_> = out.iter().map(|(frame, _)| *frame).collect();
        assert_eq!(frames, [1514, 1514, 1514, 1514, 1514, 834]);
        let payload: u32 = out
            .iter()
            .map(|(_, body)| match body {
                Body::Udp { payload_bytes, .. } => *payload_bytes,
                _ => 0,
            })
            .sum();
        assert_eq!(payload, 8192);
    }

    #[test]
    fn smooth_and_bursty_sources_send_the_same_amount() {
        for interval in [Span::ZERO, Span::from_ms(1), Span::from_ms(100)] {
            let mut source = source(1000, interval);
            let mut out = Vec::new();
            while let Some(at) = source.next_at() {
                source.send(at, &mut out);
            }
            // 1 MB/s for a second in 1000-byte datagrams; the last burst is up to 100 ms early.
            assert!((900..=1001).contains(&out.len()), "{interval}: {}", out.len());
        }
    }

    #[test]
    fn a_duplicate_does_not_count() {
        let mut sink = UdpSink::default();
        for datagram in [0, 1, 0, 1, 2] {
            sink.deliver(Time::ZERO, datagram, 500);
        }
        assert_eq!(sink.delivered_bytes, 1500);
    }
}
