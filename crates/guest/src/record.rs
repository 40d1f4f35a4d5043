//! Result tables from what the kernel tells. What it does not tell is unknown.

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
    ConnectionRow, DropRow, Float, FlowRow, HopRow, Int, PacketRow, PipeRow, ProbeRow, QueueRow,
    SampleRow, Table, TransferRow,
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

fn mean(sum: u64, count: u64, scale: f64) -> Float {
    Float::mean(sum as f64 * scale, count)
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
            let (sender, received) = match app {
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
                    (flow.sender.as_fd(), received)
                }
                App::Web(flow) => match (flow.phase, &flow.server.socket) {
                    (web::Phase::Open | web::Phase::Closing, Some(server)) => {
                        (server.as_fd(), flow.client.read_bytes)
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
                let paced = self.paced(number);
                self.samples.push(sample_row(now, name, paced, &info, received));
            }
        }
        if self.scenario.sampling.queues {
            let found = counters(watch, false)?;
            for (pipe, place) in self.plan.places.iter().enumerate() {
                let key = (place.namespace, watch.interfaces[pipe]);
                if let Some(stages) = chain(&found, key, place.chain) {
                    let scripted = watch.scripted_drops(self.plan, pipe)?;
                    let spec = self.pipe(pipe);
                    self.queues.push(queue_row(now, self.pipe_name(pipe), spec, scripted, stages));
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

    /// Is the flow paced, by fq at its host or by TCP because its algorithm asks for it?
    pub(crate) fn paced(&self, flow: usize) -> bool {
        let spec = &self.scenario.flows[flow];
        let Traffic::Tcp(tcp) = &spec.traffic else { return false };
        let node = self.scenario.nodes.iter().position(|node| node.name == spec.from);
        tcp.congestion_control == Algorithm::Bbr
            || node.is_some_and(|node| self.plan.fq_hosts.contains(&node))
    }

    fn pipe(&self, pipe: usize) -> &'a scenario::Pipe {
        let link = &self.scenario.links[pipe / 2];
        if pipe % 2 == 0 {
            &link.forward
        } else {
            &link.backward
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
                            request_ns: Int::UNKNOWN,
                            first_byte_ns: Int::UNKNOWN,
                            start_ns: flow.start.into(),
                            end_ns: last.into(),
                            transfer_bytes: row.delivered_bytes,
                        });
                    }
                }
                App::Web(flow) => fill_web(&mut row, flow, &self.sums[number], end)?,
                App::Mptcp(_) | App::Subflow => {} // Below, all of a connection at once.
                App::Udp(flow) => fill_udp(&mut row, flow),
                App::Ping(flow) => {
                    row.kind = "ping".to_owned();
                    (row.start_ns, row.established_ns) = (flow.start.into(), flow.start.into());
                    row.delivered_bytes = 0_u64.into();
                    row.sent_packets = flow.sent().into();
                    row.sent_bytes = flow.sent_bytes().into();
                    row.data_packets = flow.sent().into();
                    row.rtt_min_ns = flow.rtt_min_ns.into();
                    row.rtt_mean_ns = mean(flow.rtt_sum_ns.max(0) as u64, flow.answered, 1.0);
                    row.last_delivery_ns = flow.last_delivery.into();
                }
            }
            if row.end_ns == Int::UNKNOWN {
                row.end_ns = spec.stop.map_or(end, |stop| (stop.as_ns() as i64).min(end)).into();
            }
            flows.push(row);
        }
        let connections = self.connections(apps, end, &mut flows, &mut transfers);
        transfers.extend(objects);
        let found = counters(watch, true)?;
        if let [only] = flows.as_mut_slice() {
            // Whatever was dropped was its.
            let mut dropped = Int::from(0_u64);
            for pipe in 0..self.plan.places.len() {
                dropped = [dropped, self.dropped(pipe, &found, watch)?].into_iter().sum();
            }
            only.dropped_packets = dropped;
        }
        let mut pipes = Vec::with_capacity(self.plan.places.len());
        for pipe in 0..self.plan.places.len() {
            pipes.push(self.pipe_row(pipe, &found, watch)?);
        }
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
                time_ns: probe.sent.into(),
                flow: spec.name.clone(),
                kind: kind.to_owned(),
                probe_number: number.into(),
                delay_ns: probe.delay.into(),
            }));
        }
        rows
    }

    /// All that a pipe dropped.
    fn dropped(&self, pipe: usize, found: &Counters, watch: &Watch) -> Result<Int> {
        let place = &self.plan.places[pipe];
        let key = (place.namespace, watch.interfaces[pipe]);
        let stages = chain(found, key, place.chain).unwrap_or(&[]);
        let scripted = watch.scripted_drops(self.plan, pipe)?;
        Ok(dropped(self.pipe(pipe), scripted, stages))
    }

    fn pipe_row(&self, pipe: usize, found: &Counters, watch: &Watch) -> Result<PipeRow> {
        let place = &self.plan.places[pipe];
        let key = (place.namespace, watch.interfaces[pipe]);
        let spec = self.pipe(pipe);
        let stages = chain(found, key, place.chain).unwrap_or(&[]);
        let scripted = watch.scripted_drops(self.plan, pipe)?;
        let causes = Causes::of(spec, stages);
        let none_if = |never: bool| Int::from(never.then_some(0_u64));
        let mut row = PipeRow {
            pipe: self.pipe_name(pipe),
            dropped_overflow_packets: causes.overflow,
            dropped_random_packets: causes.random,
            dropped_scripted_packets: scripted.into(),
            dropped_policed_packets: none_if(spec.policer.is_none()),
            dropped_corrupted_packets: none_if(spec.corruption == 0.0),
            dropped_aqm_packets: causes.aqm,
            marked_packets: causes.marked,
            rate_bps: spec.rate().map(|rate| rate.as_bps()).into(),
            ..PipeRow::default()
        };
        let dropped = dropped(spec, scripted, stages);
        if let Some(outer) = stages.first() {
            let remaining = u64::from(outer.queued_packets);
            row.left_packets = outer.sent_packets.into();
            row.left_bytes = outer.sent_bytes.into();
            row.remaining_packets = remaining.into();
        } else {
            let left = found.interfaces.get(&key).copied().unwrap_or_default();
            row.left_packets = left.sent_packets.into();
            row.left_bytes = left.sent_bytes.into();
            row.remaining_packets = 0_u64.into();
            row.arrived_bytes = (dropped.get() == Some(0)).then_some(left.sent_bytes).into();
        }
        row.arrived_packets = [row.left_packets, row.remaining_packets, dropped].into_iter().sum();
        Ok(row)
    }
}

/// What a pipe dropped, for whatever reason. A policer does not say how much it dropped.
fn dropped(spec: &scenario::Pipe, scripted: u64, stages: &[Qdisc]) -> Int {
    let most = stages.first().zip(stages.last());
    let most = most.map_or(0, |(outer, inner)| outer.dropped.max(inner.dropped));
    spec.policer.is_none().then_some(u64::from(most) + scripted).into()
}

/// Why a pipe's disciplines dropped and marked packets.
struct Causes {
    overflow: Int,
    random: Int,
    aqm: Int,
    marked: Int,
}

impl Causes {
    /// tbf does not count netem's random loss, a netem counts what its child drops.
    fn of(pipe: &scenario::Pipe, stages: &[Qdisc]) -> Self {
        let none = Int::from(0_u64);
        let (Some(outermost), Some(innermost)) = (stages.first(), stages.last()) else {
            return Self { overflow: none, random: none, aqm: none, marked: none };
        };
        let (outer, inner) = (outermost.dropped, innermost.dropped);
        let lossy = matches!(pipe.loss, Loss::Independent { .. } | Loss::GilbertElliott { .. })
            || pipe.changes.iter().any(|change| change.loss.is_some());
        let shaped_first =
            matches!((&pipe.shaper, &pipe.queue), (Shaper::Tbf { .. }, Queue::Netem { .. }));
        let (queue, random): (Int, Int) = if !lossy {
            (outer.max(inner).into(), none)
        } else if stages.len() == 1 && matches!(pipe.queue, Queue::Netem { .. }) {
            (Int::UNKNOWN, Int::UNKNOWN) // One counter for both.
        } else if stages.len() == 1 {
            (none, outer.into())
        } else if shaped_first {
            (outer.into(), (i64::from(inner) - i64::from(outer)).into())
        } else {
            (inner.into(), (i64::from(outer) - i64::from(inner)).into())
        };
        if !pipe.queue.is_discipline() {
            return Self { overflow: queue, random, aqm: none, marked: none };
        }
        let own = Own::of(innermost);
        Self {
            overflow: own.dropped_overflow,
            random,
            aqm: own.dropped_aqm(queue),
            marked: own.marked,
        }
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
        ..FlowRow::default()
    }
}

fn fill_tcp(row: &mut FlowRow, flow: &TcpFlow, sums: &Sums, end: i64) -> Result<()> {
    let info = TcpInfo::of(flow.sender.as_fd())?;
    row.kind = "tcp".to_owned();
    row.congestion_control = name_of(flow.spec.congestion_control).to_owned();
    row.start_ns = flow.start.into();
    row.established_ns = flow.established.into();
    row.last_delivery_ns = flow.last_delivery.into();
    row.end_ns = match flow.phase {
        Phase::Finished { at } => at,
        Phase::Waiting | Phase::Connecting | Phase::Writing | Phase::Closing => end,
    }
    .into();
    row.delivered_bytes = 0_u64.into();
    if let Some(received) = &flow.received {
        // The FIN counts as a byte that was received.
        let fin = u64::from(flow.receiver.is_none());
        row.delivered_bytes = received.bytes_received().saturating_sub(fin).into();
        row.received_packets = received.segments_in().into();
    }
    fill_sender(row, &info, sums);
    Ok(())
}

fn fill_web(row: &mut FlowRow, flow: &WebFlow, sums: &Sums, end: i64) -> Result<()> {
    row.kind = "tcp".to_owned();
    row.congestion_control = name_of(flow.spec.congestion_control).to_owned();
    row.start_ns = flow.start.into();
    row.established_ns = flow.established.into();
    row.last_delivery_ns = flow.last_delivery.into();
    row.end_ns = match flow.phase {
        web::Phase::Finished { at } => at,
        _ => end,
    }
    .into();
    row.delivered_bytes = flow.client.read_bytes.into();
    if let (Some(client), Some(_)) = (&flow.client.socket, flow.start) {
        row.received_packets = TcpInfo::of(client.as_fd())?.segments_in().into();
    }
    if let Some(server) = &flow.server.socket {
        fill_sender(row, &TcpInfo::of(server.as_fd())?, sums);
    }
    Ok(())
}

/// What the kernel says of the socket that sends.
pub(crate) fn fill_sender(row: &mut FlowRow, info: &TcpInfo, sums: &Sums) {
    let segments = u64::from(info.segments_out());
    row.sent_packets = segments.into();
    row.sent_bytes = info.bytes_sent().map(|sent| sent + segments * HEADERS_BYTES).into();
    row.data_packets = info.data_segments_out().into();
    row.retransmitted_packets = info.total_retrans().into();
    row.reordering_packets = info.reordering().into();
    row.rtt_min_ns = sums.rtt_min_us.map(|us| u64::from(us) * 1000).into();
    row.cwnd_max_packets = (sums.samples > 0).then_some(sums.cwnd_max).into();
    row.cwnd_mean_packets = mean(sums.cwnd, sums.samples, 1.0);
    row.in_flight_mean_packets = mean(sums.in_flight, sums.samples, 1.0);
    row.srtt_mean_ns = mean(sums.srtt_us, sums.samples, 1000.0);
}

fn fill_udp(row: &mut FlowRow, flow: &UdpFlow) {
    row.kind = "udp".to_owned();
    row.codec = flow.spec().codec.map_or("", Codec::name).to_owned();
    (row.start_ns, row.established_ns) = (flow.start.into(), flow.start.into());
    row.last_delivery_ns = flow.last_delivery.into();
    row.delivered_bytes = (flow.received * flow.spec().datagram_bytes).into();
    let packets = flow.sent() * fragments(flow.spec());
    row.sent_packets = packets.into();
    row.data_packets = packets.into();
    // Every fragment has an IP header, one of them the UDP header.
    let fragments = packets - flow.sent();
    let headers = flow.sent() * UDP_HEADERS_BYTES + fragments * (UDP_HEADERS_BYTES - 8);
    row.sent_bytes = (flow.sent() * flow.spec().datagram_bytes + headers).into();
}

fn udp_sample(now: i64, name: &str, flow: &UdpFlow) -> SampleRow {
    SampleRow {
        time_ns: now.into(),
        flow: name.to_owned(),
        delivered_bytes: (flow.received * flow.spec().datagram_bytes).into(),
        ..SampleRow::default()
    }
}

pub(crate) fn sample_row(
    now: i64,
    name: &str,
    paced: bool,
    info: &TcpInfo,
    received: u64,
) -> SampleRow {
    let (least, rtt_us) = (info.min_rtt_us(), info.rtt_us());
    let ns = |us: u32| u64::from(us) * 1000;
    let rate = Some(info.delivery_rate()).filter(|&rate| rate > 0);
    SampleRow {
        time_ns: now.into(),
        flow: name.to_owned(),
        state: info.ca_state_name().to_owned(),
        cwnd_packets: info.cwnd().into(),
        ssthresh_packets: info.ssthresh().min(i32::MAX as u32).into(),
        in_flight_packets: info.in_flight().into(),
        sacked_packets: info.sacked().into(),
        lost_packets: info.lost().into(),
        reordering_packets: info.reordering().into(),
        srtt_ns: (rtt_us > 0).then(|| ns(rtt_us)).into(),
        rttvar_ns: (rtt_us > 0).then(|| ns(info.rttvar_us())).into(),
        rtt_min_ns: (least != u32::MAX).then(|| ns(least)).into(),
        rto_ns: ns(info.rto_us()).into(),
        pacing_bps: Some(info.pacing_rate())
            .filter(|&rate| paced && rate != u64::MAX)
            .map(|rate| rate * 8)
            .into(),
        rwnd_bytes: info.send_window_bytes().into(),
        unsent_bytes: info.not_sent_bytes().into(),
        acked_bytes: info.bytes_acked().into(),
        delivered_bytes: received.into(),
        retransmitted_packets: info.total_retrans().into(),
        delivered_packets: info.delivered().into(),
        delivery_rate_bps: rate.map(|rate| rate * 8).into(),
        app_limited: rate.map(|_| info.bits() & 1).into(),
        spurious_packets: info.dsack_duplicates().into(),
        delivered_ce_packets: info.delivered_ce().into(),
        busy_ns: (info.busy_us() * 1000).into(),
        rwnd_limited_ns: (info.rwnd_limited_us() * 1000).into(),
        sndbuf_limited_ns: (info.sndbuf_limited_us() * 1000).into(),
    }
}

fn queue_row(
    now: i64,
    pipe: String,
    spec: &scenario::Pipe,
    scripted: u64,
    stages: &[Qdisc],
) -> QueueRow {
    let (outer, inner) = (&stages[0], &stages[stages.len() - 1]);
    let own = Own::of(inner);
    let causes = Causes::of(spec, stages);
    let next = own.codel.and_then(|(dropping, _, until)| dropping.then_some(now + until));
    QueueRow {
        time_ns: now.into(),
        pipe,
        queued_packets: inner.queued_packets.into(),
        queued_bytes: inner.queued_bytes.into(),
        qdisc: inner.kind.clone(),
        dropping: own.codel.map(|(dropping, ..)| dropping).into(),
        drop_count: own.codel.map(|(_, count, _)| count).into(),
        drop_next_ns: next.into(),
        drop_probability: own.probability,
        new_flows: own.new_flows,
        old_flows: own.old_flows,
        dropped_packets: dropped(spec, scripted, stages),
        dropped_overflow_packets: causes.overflow,
        dropped_aqm_packets: causes.aqm,
        marked_packets: causes.marked,
        sent_bytes: outer.sent_bytes.into(),
        ..QueueRow::default()
    }
}
