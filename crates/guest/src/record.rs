//! Result tables from what the kernel tells. What it does not tell is -1, or NaN.

use crate::info::TcpInfo;
use crate::netlink::{Interface, Qdisc};
use crate::plan::Plan;
use crate::run::{App, Watch};
use crate::tcp::{name_of, Phase, TcpFlow};
use crate::udp::{fragments, UdpFlow};
use crate::web::{self, WebFlow};
use crate::xstats::Own;
use dumbbell_capture::Taps;
use dumbbell_model::scenario::{self, Algorithm, Codec, Loss, Scenario, Shaper, Traffic};
use dumbbell_model::tables::{
    ConnectionRow, DropRow, FlowRow, HopRow, PacketRow, PipeRow, ProbeRow, QueueRow, SampleRow,
    Table, TransferRow,
};
use dumbbell_model::Queue;
use dumbbell_packet::frame::ETHERNET_HEADER_BYTES;
use std::collections::BTreeMap;
use std::io::Result;
use std::os::fd::AsFd;

/// Frame of a segment without its payload: Ethernet, IPv4, TCP with timestamps.
const HEADERS_BYTES: u64 = 66;
/// Frame of a datagram's packet without its payload.
const UDP_HEADERS_BYTES: u64 = ETHERNET_HEADER_BYTES as u64 + 28;
pub(crate) const NEVER: i64 = -1;
/// Handles that a plan gives.
const HANDLES_MAX: u32 = 0x7fff;

/// Sums of what is sampled, of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    samples: u64,
    cwnd: u64,
    cwnd_max: u32,
    in_flight: u64,
    srtt_us: u64,
    rtt_min_us: Option<u32>,
}

/// Samples while the run goes on.
pub(crate) struct Recorder<'a> {
    pub(crate) scenario: &'a Scenario,
    plan: &'a Plan,
    pub(crate) sums: Vec<Sums>,
    pub(crate) samples: Vec<SampleRow>,
    queues: Vec<QueueRow>,
}

/// The tables but for what the taps saw.
pub(crate) struct Rows {
    flows: Vec<FlowRow>,
    pipes: Vec<PipeRow>,
    transfers: Vec<TransferRow>,
    samples: Vec<SampleRow>,
    queues: Vec<QueueRow>,
    probes: Vec<ProbeRow>,
    connections: (Vec<FlowRow>, Vec<ConnectionRow>),
}

impl Rows {
    /// In the order of the digest.
    pub(crate) fn tables(
        mut self,
        taps: &Taps,
        packets: &[PacketRow],
        named: &[scenario::Tap],
    ) -> Vec<Table> {
        for (number, row) in self.flows.iter_mut().enumerate() {
            taps.fill(row, number, named);
        }
        let (rows, connections) = self.connections;
        self.flows.splice(0..0, rows);
        vec![
            FlowRow::table(&self.flows),
            PipeRow::table(&self.pipes),
            TransferRow::table(&self.transfers),
            SampleRow::table(&self.samples),
            QueueRow::table(&self.queues),
            DropRow::table(&[]),
            PacketRow::table(packets),
            ProbeRow::table(&self.probes),
            ConnectionRow::table(&connections),
            HopRow::table(&[]),
        ]
    }
}

fn mean(sum: u64, count: u64, scale: f64) -> f64 {
    match count {
        0 => f64::NAN,
        count => sum as f64 * scale / count as f64,
    }
}

/// Counters of all pipes at a moment.
struct Counters {
    qdiscs: BTreeMap<(usize, i32), Vec<Qdisc>>,
    interfaces: BTreeMap<(usize, i32), Interface>,
}

fn counters(watch: &Watch, with_interfaces: bool) -> Result<Counters> {
    let mut found = Counters { qdiscs: BTreeMap::new(), interfaces: BTreeMap::new() };
    for (&namespace, netlink) in &watch.netlinks {
        for qdisc in netlink.qdiscs()? {
            // Only those that were given a handle by the plan, outermost first.
            if (1..=HANDLES_MAX).contains(&(qdisc.handle >> 16)) {
                found.qdiscs.entry((namespace, qdisc.interface)).or_default().push(qdisc);
            }
        }
        if with_interfaces {
            for interface in netlink.interfaces()? {
                found.interfaces.insert((namespace, interface.index), interface);
            }
        }
    }
    for stages in found.qdiscs.values_mut() {
        stages.sort_by_key(|qdisc| qdisc.handle);
    }
    Ok(found)
}

/// The disciplines of an interface from the outermost to that of the pipe's queue.
fn chain(found: &Counters, key: (usize, i32), count: usize) -> Option<&[Qdisc]> {
    let all = found.qdiscs.get(&key)?;
    all.get(..count.min(all.len())).filter(|stages| !stages.is_empty())
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(scenario: &'a Scenario, plan: &'a Plan) -> Self {
        let sums = vec![Sums::default(); scenario.flows.len()];
        Self { scenario, plan, sums, samples: Vec::new(), queues: Vec::new() }
    }

    /// Takes a sample of every flow and queue.
    pub(crate) fn sample(&mut self, now: i64, apps: &[App], watch: &Watch) -> Result<()> {
        for (number, app) in apps.iter().enumerate() {
            let name = &self.scenario.flows[number].name;
            let (sender, received, algorithm) = match app {
                App::Udp(flow) => {
                    if self.scenario.sampling.samples {
                        self.samples.push(udp_sample(now, name, flow));
                    }
                    continue;
                }
                App::Tcp(flow) if matches!(flow.phase, Phase::Writing | Phase::Closing) => {
                    let received = match (&flow.receiver, &flow.received) {
                        (Some(receiver), _) => TcpInfo::of(receiver.as_fd())?.bytes_received(),
                        (None, Some(last)) => last.bytes_received(),
                        (None, None) => 0,
                    };
                    (flow.sender.as_fd(), received, flow.spec.congestion_control)
                }
                App::Web(flow) => match (flow.phase, &flow.server.socket) {
                    (web::Phase::Open | web::Phase::Closing, Some(server)) => {
                        (server.as_fd(), flow.client.read_bytes, flow.spec.congestion_control)
                    }
                    _ => continue,
                },
                App::Mptcp(flow) => {
                    self.sample_connection(now, flow);
                    continue;
                }
                App::Tcp(_) | App::Ping(_) | App::Subflow => continue,
            };
            let info = TcpInfo::of(sender)?;
            self.add(number, now, &info);
            if self.scenario.sampling.samples {
                self.samples.push(sample_row(now, name, algorithm, &info, received));
            }
        }
        if self.scenario.sampling.queues {
            let found = counters(watch, false)?;
            for (pipe, place) in self.plan.places.iter().enumerate() {
                let key = (place.namespace, watch.interfaces[pipe]);
                if let Some(stages) = chain(&found, key, place.chain) {
                    self.queues.push(queue_row(now, self.pipe_name(pipe), stages));
                }
            }
        }
        Ok(())
    }

    /// Adds to a flow's means, which end with its `stop`.
    pub(crate) fn add(&mut self, flow: usize, now: i64, info: &TcpInfo) {
        let stop = self.scenario.flows[flow].stop;
        if stop.is_none_or(|stop| now <= stop.as_ns() as i64) {
            self.sums[flow].add(info);
        }
    }

    fn pipe_name(&self, pipe: usize) -> String {
        let direction = if pipe % 2 == 0 { "forward" } else { "backward" };
        format!("{}/{direction}", self.scenario.links[pipe / 2].name)
    }

    /// The totals at the end.
    /// `objects`: what sessions have loaded.
    pub(crate) fn finish(
        self,
        end: i64,
        apps: &[App],
        watch: &Watch,
        objects: Vec<TransferRow>,
    ) -> Result<Rows> {
        let mut flows = Vec::with_capacity(apps.len());
        let mut transfers = Vec::new();
        for (number, app) in apps.iter().enumerate() {
            let spec = &self.scenario.flows[number];
            let mut row = bare(spec);
            match app {
                App::Tcp(flow) => {
                    fill_tcp(&mut row, flow, &self.sums[number], end)?;
                    if let (Phase::Finished { .. }, Some(last)) = (flow.phase, flow.last_delivery) {
                        transfers.push(TransferRow {
                            flow: spec.name.clone(),
                            group: spec.group.clone(),
                            session: String::new(),
                            object: String::new(),
                            request_ns: NEVER,
                            first_byte_ns: NEVER,
                            start_ns: flow.start,
                            end_ns: last,
                            transfer_bytes: row.delivered_bytes,
                        });
                    }
                }
                App::Web(flow) => fill_web(&mut row, flow, &self.sums[number], end)?,
                App::Mptcp(_) | App::Subflow => {} // Below, all of a connection at once.
                App::Udp(flow) => fill_udp(&mut row, flow),
                App::Ping(flow) => {
                    row.kind = "ping".to_owned();
                    (row.start_ns, row.established_ns) = (flow.start, flow.start);
                    row.sent_packets = flow.sent() as i64;
                    row.data_packets = flow.sent() as i64;
                    row.rtt_min_ns = flow.rtt_min_ns.unwrap_or(NEVER);
                    row.rtt_mean_ns = mean(flow.rtt_sum_ns.max(0) as u64, flow.answered, 1.0);
                    row.last_delivery_ns = flow.last_delivery.unwrap_or(NEVER);
                }
            }
            if row.end_ns == NEVER {
                row.end_ns = spec.stop.map_or(end, |stop| (stop.as_ns() as i64).min(end));
            }
            flows.push(row);
        }
        let connections = self.connections(apps, end, &mut flows, &mut transfers);
        transfers.extend(objects);
        let found = counters(watch, true)?;
        if let [only] = flows.as_mut_slice() {
            // Whatever was dropped was its.
            let stages = found.qdiscs.values();
            let dropped = stages.map(|s| s[0].dropped.max(s[s.len() - 1].dropped));
            only.dropped_packets = dropped.map(i64::from).sum();
        }
        let pipes =
            (0..self.plan.places.len()).map(|pipe| self.pipe_row(pipe, &found, watch)).collect();
        let probes = self.probes(apps);
        let (samples, queues) = (self.samples, self.queues);
        Ok(Rows { flows, pipes, transfers, samples, queues, probes, connections })
    }

    fn probes(&self, apps: &[App]) -> Vec<ProbeRow> {
        if !self.scenario.sampling.probes {
            return Vec::new();
        }
        let mut rows = Vec::new();
        for (app, spec) in apps.iter().zip(&self.scenario.flows) {
            let (kind, probes) = match (app, &spec.traffic) {
                (App::Udp(flow), _) => ("one_way", &flow.probes),
                (App::Ping(flow), Traffic::Ping(ping)) => (ping.protocol.name(), &flow.probes),
                _ => continue,
            };
            rows.extend(probes.iter().enumerate().map(|(number, probe)| ProbeRow {
                time_ns: probe.sent,
                flow: spec.name.clone(),
                kind: kind.to_owned(),
                probe_number: number as i64,
                delay_ns: probe.delay.unwrap_or(NEVER),
            }));
        }
        rows
    }

    fn pipe_row(&self, pipe: usize, found: &Counters, watch: &Watch) -> PipeRow {
        let place = &self.plan.places[pipe];
        let key = (place.namespace, watch.interfaces[pipe]);
        let link = &self.scenario.links[pipe / 2];
        let spec = if pipe % 2 == 0 { &link.forward } else { &link.backward };
        let unknown = |there: bool| if there { NEVER } else { 0 };
        let mut row = PipeRow {
            pipe: self.pipe_name(pipe),
            dropped_policed_packets: unknown(spec.policer.is_some()),
            dropped_corrupted_packets: unknown(spec.corruption > 0.0),
            rate_bps: spec.rate().map_or(NEVER, |rate| rate.as_bps() as i64),
            queue_max_packets: NEVER,
            queue_mean_packets: f64::NAN,
            sojourn_mean_ns: f64::NAN,
            sojourn_max_ns: NEVER,
            ..PipeRow::default()
        };
        match chain(found, key, place.chain) {
            Some(stages) => {
                let (outer, inner) = (&stages[0], &stages[stages.len() - 1]);
                let (overflow, random) = drops(spec, outer.dropped, inner.dropped, stages.len());
                let remaining = u64::from(outer.queued_packets);
                let lost = u64::from(outer.dropped.max(inner.dropped));
                row.left_packets = i64::from(outer.sent_packets);
                row.left_bytes = outer.sent_bytes as i64;
                row.remaining_packets = remaining as i64;
                row.arrived_packets = row.left_packets + (remaining + lost) as i64;
                row.arrived_bytes = NEVER;
                row.dropped_overflow_packets = overflow;
                row.dropped_random_packets = random;
                if spec.queue.is_discipline() {
                    let own = Own::of(inner);
                    row.dropped_overflow_packets = own.dropped_overflow;
                    row.dropped_aqm_packets = own.dropped_aqm(overflow);
                    row.marked_packets = own.marked;
                }
            }
            None => {
                let left = found.interfaces.get(&key).copied().unwrap_or_default();
                (row.left_packets, row.left_bytes) =
                    (left.sent_packets as i64, left.sent_bytes as i64);
                (row.arrived_packets, row.arrived_bytes) = (row.left_packets, row.left_bytes);
            }
        }
        row
    }
}

/// Overflow and random loss, from what the outermost and the innermost discipline count: tbf does
/// not count netem's random loss, a netem counts what its child drops.
fn drops(pipe: &scenario::Pipe, outer: u32, inner: u32, stages: usize) -> (i64, i64) {
    let (outer, inner) = (i64::from(outer), i64::from(inner));
    let lossy = pipe.loss != Loss::None || pipe.changes.iter().any(|change| change.loss.is_some());
    if !lossy {
        return (outer.max(inner), 0);
    }
    let shaped_first =
        matches!((&pipe.shaper, &pipe.queue), (Shaper::Tbf { .. }, Queue::Netem { .. }));
    match stages {
        1 if matches!(pipe.queue, Queue::Netem { .. }) => (outer, NEVER),
        1 => (0, outer),
        _ if shaped_first => (outer, inner - outer),
        _ => (inner, outer - inner),
    }
}

impl Sums {
    pub(crate) fn add(&mut self, info: &TcpInfo) {
        self.samples += 1;
        self.cwnd += u64::from(info.cwnd());
        self.cwnd_max = self.cwnd_max.max(info.cwnd());
        self.in_flight += u64::from(info.in_flight());
        self.srtt_us += u64::from(info.rtt_us());
        if info.min_rtt_us() != u32::MAX && info.min_rtt_us() > 0 {
            let least = self.rtt_min_us.unwrap_or(u32::MAX);
            self.rtt_min_us = Some(least.min(info.min_rtt_us()));
        }
    }
}

pub(crate) fn bare(spec: &scenario::Flow) -> FlowRow {
    FlowRow {
        flow: spec.name.clone(),
        group: spec.group.clone(),
        from_host: spec.from.clone(),
        to_host: spec.to.clone(),
        start_ns: NEVER,
        established_ns: NEVER,
        last_delivery_ns: NEVER,
        end_ns: NEVER,
        received_packets: NEVER,
        received_bytes: NEVER,
        fast_retransmitted_packets: NEVER,
        timeout_retransmitted_packets: NEVER,
        probe_retransmitted_packets: NEVER,
        spurious_retransmitted_packets: NEVER,
        paws_rejected_packets: NEVER,
        timeouts: NEVER,
        recoveries: NEVER,
        undos: NEVER,
        dropped_packets: NEVER,
        reordered_packets: NEVER,
        reordering_extent_mean_packets: f64::NAN,
        reordering_extent_max_packets: NEVER,
        cwnd_mean_packets: f64::NAN,
        in_flight_mean_packets: f64::NAN,
        srtt_mean_ns: f64::NAN,
        rtt_min_ns: NEVER,
        rtt_mean_ns: f64::NAN,
        ..FlowRow::default()
    }
}

fn fill_tcp(row: &mut FlowRow, flow: &TcpFlow, sums: &Sums, end: i64) -> Result<()> {
    let info = TcpInfo::of(flow.sender.as_fd())?;
    row.kind = "tcp".to_owned();
    row.congestion_control = name_of(flow.spec.congestion_control).to_owned();
    row.start_ns = flow.start;
    row.established_ns = flow.established.unwrap_or(NEVER);
    row.last_delivery_ns = flow.last_delivery.unwrap_or(NEVER);
    row.end_ns = match flow.phase {
        Phase::Finished { at } => at,
        Phase::Waiting | Phase::Connecting | Phase::Writing | Phase::Closing => end,
    };
    if let Some(received) = &flow.received {
        // The FIN counts as a byte that was received.
        let fin = u64::from(flow.receiver.is_none());
        row.delivered_bytes = received.bytes_received().saturating_sub(fin) as i64;
        row.received_packets = i64::from(received.segments_in());
    }
    fill_sender(row, &info, sums);
    Ok(())
}

fn fill_web(row: &mut FlowRow, flow: &WebFlow, sums: &Sums, end: i64) -> Result<()> {
    row.kind = "tcp".to_owned();
    row.congestion_control = name_of(flow.spec.congestion_control).to_owned();
    row.start_ns = flow.start.unwrap_or(NEVER);
    row.established_ns = flow.established.unwrap_or(NEVER);
    row.last_delivery_ns = flow.last_delivery.unwrap_or(NEVER);
    row.end_ns = match flow.phase {
        web::Phase::Finished { at } => at,
        _ => end,
    };
    row.delivered_bytes = flow.client.read_bytes as i64;
    if let (Some(client), Some(_)) = (&flow.client.socket, flow.start) {
        row.received_packets = i64::from(TcpInfo::of(client.as_fd())?.segments_in());
    }
    if let Some(server) = &flow.server.socket {
        fill_sender(row, &TcpInfo::of(server.as_fd())?, sums);
    }
    Ok(())
}

/// What the kernel says of the socket that sends.
pub(crate) fn fill_sender(row: &mut FlowRow, info: &TcpInfo, sums: &Sums) {
    let segments = u64::from(info.segments_out());
    row.sent_packets = segments as i64;
    row.sent_bytes = (info.bytes_sent() + segments * HEADERS_BYTES) as i64;
    row.data_packets = i64::from(info.data_segments_out());
    row.retransmitted_packets = i64::from(info.total_retrans());
    row.reordering_packets = i64::from(info.reordering());
    row.rtt_min_ns = sums.rtt_min_us.map_or(NEVER, |us| i64::from(us) * 1000);
    row.cwnd_max_packets = i64::from(sums.cwnd_max);
    row.cwnd_mean_packets = mean(sums.cwnd, sums.samples, 1.0);
    row.in_flight_mean_packets = mean(sums.in_flight, sums.samples, 1.0);
    row.srtt_mean_ns = mean(sums.srtt_us, sums.samples, 1000.0);
}

fn fill_udp(row: &mut FlowRow, flow: &UdpFlow) {
    row.kind = "udp".to_owned();
    row.codec = flow.spec().codec.map_or("", Codec::name).to_owned();
    (row.start_ns, row.established_ns) = (flow.start, flow.start);
    row.last_delivery_ns = flow.last_delivery.unwrap_or(NEVER);
    row.delivered_bytes = (flow.received * flow.spec().datagram_bytes) as i64;
    let packets = flow.sent() * fragments(flow.spec());
    row.sent_packets = packets as i64;
    row.data_packets = packets as i64;
    // Every fragment has an IP header, one of them the UDP header.
    let fragments = packets - flow.sent();
    let headers = flow.sent() * UDP_HEADERS_BYTES + fragments * (UDP_HEADERS_BYTES - 8);
    row.sent_bytes = (flow.sent() * flow.spec().datagram_bytes + headers) as i64;
}

fn udp_sample(now: i64, name: &str, flow: &UdpFlow) -> SampleRow {
    SampleRow {
        time_ns: now,
        flow: name.to_owned(),
        delivered_bytes: (flow.received * flow.spec().datagram_bytes) as i64,
        pacing_bps: NEVER,
        delivery_rate_bps: NEVER,
        app_limited: NEVER,
        spurious_packets: NEVER,
        delivered_ce_packets: NEVER,
        busy_ns: NEVER,
        rwnd_limited_ns: NEVER,
        sndbuf_limited_ns: NEVER,
        ..SampleRow::default()
    }
}

pub(crate) fn sample_row(
    now: i64,
    name: &str,
    algorithm: Algorithm,
    info: &TcpInfo,
    received: u64,
) -> SampleRow {
    let paced = algorithm == Algorithm::Bbr && info.pacing_rate() != u64::MAX;
    let least = info.min_rtt_us();
    SampleRow {
        time_ns: now,
        flow: name.to_owned(),
        state: info.ca_state_name().to_owned(),
        cwnd_packets: i64::from(info.cwnd()),
        ssthresh_packets: i64::from(info.ssthresh().min(i32::MAX as u32)),
        in_flight_packets: i64::from(info.in_flight()),
        sacked_packets: i64::from(info.sacked()),
        lost_packets: i64::from(info.lost()),
        reordering_packets: i64::from(info.reordering()),
        srtt_ns: i64::from(info.rtt_us()) * 1000,
        rttvar_ns: i64::from(info.rttvar_us()) * 1000,
        rtt_min_ns: if least == u32::MAX { NEVER } else { i64::from(least) * 1000 },
        rto_ns: i64::from(info.rto_us()) * 1000,
        pacing_bps: if paced { (info.pacing_rate() * 8) as i64 } else { NEVER },
        rwnd_bytes: i64::from(info.send_window_bytes()),
        unsent_bytes: i64::from(info.not_sent_bytes()),
        acked_bytes: info.bytes_acked() as i64,
        delivered_bytes: received as i64,
        retransmitted_packets: i64::from(info.total_retrans()),
        delivered_packets: i64::from(info.delivered()),
        delivery_rate_bps: (info.delivery_rate() * 8) as i64,
        app_limited: i64::from(info.bits() & 1),
        spurious_packets: i64::from(info.dsack_duplicates()),
        delivered_ce_packets: i64::from(info.delivered_ce()),
        busy_ns: (info.busy_us() * 1000) as i64,
        rwnd_limited_ns: (info.rwnd_limited_us() * 1000) as i64,
        sndbuf_limited_ns: (info.sndbuf_limited_us() * 1000) as i64,
    }
}

fn queue_row(now: i64, pipe: String, stages: &[Qdisc]) -> QueueRow {
    let (outer, inner) = (&stages[0], &stages[stages.len() - 1]);
    let dropped = i64::from(outer.dropped.max(inner.dropped));
    let own = Own::of(inner);
    QueueRow {
        time_ns: now,
        pipe,
        queued_packets: i64::from(inner.queued_packets),
        queued_bytes: i64::from(inner.queued_bytes),
        sojourn_mean_ns: f64::NAN,
        sojourn_min_ns: NEVER,
        sojourn_p99_ns: NEVER,
        qdisc: inner.kind.clone(),
        dropping: own.codel.map_or(NEVER, |(dropping, ..)| i64::from(dropping)),
        drop_count: own.codel.map_or(NEVER, |(_, count, _)| i64::from(count)),
        drop_next_ns: match own.codel {
            Some((true, _, until)) => now + until,
            _ => NEVER,
        },
        drop_probability: own.probability,
        average_bytes: f64::NAN,
        new_flows: own.new_flows,
        old_flows: own.old_flows,
        dropped_packets: dropped,
        dropped_overflow_packets: own.dropped_overflow,
        dropped_aqm_packets: own.dropped_aqm(dropped),
        marked_packets: own.marked,
        sent_bytes: outer.sent_bytes as i64,
    }
}
