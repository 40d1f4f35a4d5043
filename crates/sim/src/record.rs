//! Result tables: what was recorded over time, and the totals at the end.

use crate::endpoint::Probe;
use crate::flow::FlowState;
use crate::loss::DropReason;
use crate::multipath::Connection;
use crate::pipe::Pipe;
use crate::world::World;
use dumbbell_model::scenario::{Flow, Sampling, Scenario};
use dumbbell_model::tables::{
    ConnectionRow, DropRow, FlowRow, HopRow, PacketRow, PipeRow, ProbeRow, QueueRow, SampleRow,
    Table, TransferRow,
};
use dumbbell_model::{Rate, Time};
use dumbbell_packet::{Body, Packet};

/// What is kept over time.
pub(crate) struct Recorder {
    sampling: Sampling,
    samples: Vec<SampleRow>,
    queues: Vec<QueueRow>,
    drops: Vec<DropRow>,
}

pub(crate) fn ns(at: Time) -> i64 {
    at.as_ns() as i64
}

impl Recorder {
    pub(crate) fn new(sampling: Sampling) -> Self {
        Self { sampling, samples: Vec::new(), queues: Vec::new(), drops: Vec::new() }
    }

    pub(crate) fn drop(&mut self, at: Time, pipe: &str, reason: &str, packet: &Packet) {
        if !self.sampling.drops {
            return;
        }
        let seq = match packet.body {
            Body::Tcp(segment) => segment.seq,
            Body::Udp { .. } | Body::Ping { .. } | Body::Arp { .. } => packet.number,
        };
        self.drops.push(DropRow {
            time_ns: ns(at),
            pipe: pipe.to_owned(),
            reason: reason.to_owned(),
            flow: packet.flow.to_string(), // Named at the end.
            seq_bytes: seq as i64,
        });
    }

    pub(crate) fn sample(
        &mut self,
        at: Time,
        scenario: &Scenario,
        flows: &[FlowState],
        connections: &[Connection],
        pipes: &mut [Pipe],
    ) {
        let (specs, names) = (&scenario.flows, &scenario.connections);
        if self.sampling.samples {
            for (spec, flow) in specs.iter().zip(flows) {
                if flow.start <= at {
                    self.samples.push(sample_row(at, spec, flow));
                }
            }
            self.samples.extend(
                connections
                    .iter()
                    .zip(names)
                    .filter_map(|(connection, spec)| connection.sample(at, &spec.name, flows)),
            );
        }
        if self.sampling.queues {
            for pipe in pipes.iter_mut().filter(|pipe| pipe.has_queue()) {
                pipe.settle(at);
                self.queues.push(queue_row(at, pipe));
            }
        }
    }
}

fn sample_row(at: Time, spec: &Flow, flow: &FlowState) -> SampleRow {
    let mut row = SampleRow {
        time_ns: ns(at),
        flow: spec.name.clone(),
        pacing_bps: -1,
        delivery_rate_bps: -1,
        app_limited: -1,
        spurious_packets: -1,
        delivered_ce_packets: -1,
        busy_ns: -1,
        rwnd_limited_ns: -1,
        sndbuf_limited_ns: -1,
        ..SampleRow::default()
    };
    flow.ends.sample(&mut row);
    row
}

fn queue_row(at: Time, pipe: &mut Pipe) -> QueueRow {
    let (packets, bytes) = pipe.queued();
    let inside = pipe.inside_queue(at);
    let stats = &mut pipe.stats;
    let left = stats.sojourn_packets - stats.sampled_packets;
    let waited = stats.sojourn_ps - stats.sampled_ps;
    stats.sampled_packets = stats.sojourn_packets;
    stats.sampled_ps = stats.sojourn_ps;
    let mut recent_ps = stats.recent_ps.take().unwrap_or_default();
    recent_ps.sort_unstable();
    let quantile_ns = |share: f64| {
        // The least value that so many are not above (nearest rank).
        let rank = (share * recent_ps.len() as f64).ceil() as usize;
        recent_ps.get(rank.saturating_sub(1)).map_or(-1, |ps| (ps / 1000) as i64)
    };
    let (sojourn_min_ns, sojourn_p99_ns) = (quantile_ns(0.0), quantile_ns(0.99));
    recent_ps.clear();
    stats.recent_ps = Some(recent_ps);
    let count = |flows: Option<usize>| flows.map_or(-1, |flows| flows as i64);
    QueueRow {
        time_ns: ns(at),
        pipe: pipe.name.clone(),
        queued_packets: packets as i64,
        queued_bytes: bytes as i64,
        sojourn_mean_ns: mean(waited as f64 / 1000.0, left),
        sojourn_min_ns,
        sojourn_p99_ns,
        qdisc: pipe.queue.name().to_owned(),
        dropping: inside.codel.map_or(-1, |codel| i64::from(codel.drop_next.is_some())),
        drop_count: inside.codel.map_or(-1, |codel| i64::from(codel.count)),
        drop_next_ns: inside.codel.and_then(|codel| codel.drop_next).map_or(-1, ns),
        drop_probability: inside.probability.unwrap_or(f64::NAN),
        average_bytes: inside.average_bytes.unwrap_or(f64::NAN),
        new_flows: count(inside.new_flows),
        old_flows: count(inside.old_flows),
        dropped_packets: pipe.stats.dropped_total() as i64,
        dropped_overflow_packets: pipe.stats.dropped[DropReason::Overflow as usize] as i64,
        dropped_aqm_packets: pipe.stats.dropped[DropReason::Aqm as usize] as i64,
        marked_packets: pipe.stats.marked as i64,
        sent_bytes: pipe.left_bytes(at) as i64,
    }
}

/// NaN where nothing was counted.
pub(crate) fn mean(sum: f64, count: u64) -> f64 {
    if count == 0 {
        f64::NAN
    } else {
        sum / count as f64
    }
}

/// Rows of the probes of a flow, in the order in which they were sent.
pub(crate) fn probe_rows<'a>(
    flow: &'a str,
    kind: &'a str,
    probes: &'a [Probe],
) -> impl Iterator<Item = ProbeRow> + 'a {
    probes.iter().enumerate().map(move |(number, probe)| ProbeRow {
        time_ns: ns(probe.sent),
        flow: flow.to_owned(),
        kind: kind.to_owned(),
        probe_number: number as i64,
        delay_ns: probe.delay.map_or(-1, |delay| delay.as_ns() as i64),
    })
}

impl World<'_> {
    /// All tables, in the order of the digest.
    pub(crate) fn tables(&mut self) -> Vec<Table> {
        let mut flows: Vec<FlowRow> = self
            .scenario
            .flows
            .iter()
            .zip(&self.flows)
            .enumerate()
            .map(|(i, (spec, flow))| self.flow_row(i, spec, flow))
            .collect();
        self.add_connections(&mut flows);
        let seconds = self.end.as_ps() as f64;
        let links = self.scenario.links.iter().flat_map(|link| [&link.forward, &link.backward]);
        let pipes: Vec<PipeRow> = self
            .pipes
            .iter()
            .zip(links)
            .map(|(pipe, spec)| pipe_row(pipe, spec.rate(), seconds))
            .collect();
        let transfers: Vec<TransferRow> = self
            .scenario
            .flows
            .iter()
            .zip(&self.flows)
            .filter_map(|(spec, flow)| flow.ends.transfer(spec, flow.start))
            .chain(self.sessions.iter().flat_map(|session| session.visit.transfers()))
            .chain(self.connection_transfers())
            .collect();
        for drop in &mut self.recorder.drops {
            // A packet of no flow is ARP's.
            let flow = drop.flow.parse().ok().and_then(|i: usize| self.scenario.flows.get(i));
            drop.flow = flow.map_or_else(|| "arp".to_owned(), |flow| flow.name.clone());
        }
        vec![
            FlowRow::table(&flows),
            PipeRow::table(&pipes),
            TransferRow::table(&transfers),
            SampleRow::table(&self.recorder.samples),
            QueueRow::table(&self.recorder.queues),
            DropRow::table(&self.recorder.drops),
            PacketRow::table(&self.tap_packets.rows(self.scenario)),
            ProbeRow::table(&self.probes()),
            ConnectionRow::table(&self.connection_rows()),
            HopRow::table(&self.hop_rows()),
        ]
    }

    fn hop_rows(&self) -> Vec<HopRow> {
        let name = |pipe: usize| self.pipes[pipe].name.clone();
        self.hops.as_ref().map_or_else(Vec::new, |hops| hops.rows(self.scenario, name))
    }

    fn probes(&self) -> Vec<ProbeRow> {
        if !self.scenario.sampling.probes {
            return Vec::new();
        }
        let mut rows = Vec::new();
        for (spec, flow) in self.scenario.flows.iter().zip(&self.flows) {
            flow.ends.probes(spec, &mut rows);
        }
        rows
    }

    fn flow_row(&self, index: usize, spec: &Flow, flow: &FlowState) -> FlowRow {
        let mut row = FlowRow {
            flow: spec.name.clone(),
            group: spec.group.clone(),
            from_host: spec.from.clone(),
            to_host: spec.to.clone(),
            start_ns: if flow.start == Time::NEVER { -1 } else { ns(flow.start) },
            established_ns: ns(flow.start),
            last_delivery_ns: -1,
            end_ns: ns(flow.stop.unwrap_or(self.end)),
            sent_packets: flow.sent[0] as i64,
            sent_bytes: flow.sent_bytes as i64,
            received_packets: flow.received_packets as i64,
            received_bytes: flow.received_bytes as i64,
            dropped_packets: flow.dropped as i64,
            reordered_packets: flow.reorder.reordered as i64,
            reordering_extent_mean_packets: mean(
                flow.reorder.extent_sum as f64,
                flow.reorder.reordered,
            ),
            reordering_extent_max_packets: flow.reorder.extent_max as i64,
            cwnd_mean_packets: f64::NAN,
            in_flight_mean_packets: f64::NAN,
            srtt_mean_ns: f64::NAN,
            rtt_min_ns: -1,
            rtt_mean_ns: f64::NAN,
            ..FlowRow::default()
        };
        flow.ends.totals(spec, flow, self.end, &mut row);
        if let Some(of) = self.subflow(index as u32) {
            row.kind = "subflow".to_owned();
            row.connection = self.scenario.connections[of.connection as usize].name.clone();
        }
        self.taps.fill(&mut row, index, &self.scenario.taps);
        row
    }
}

fn pipe_row(pipe: &Pipe, rate: Option<Rate>, duration_ps: f64) -> PipeRow {
    let stats = &pipe.stats;
    let dropped = |reason: DropReason| stats.dropped[reason as usize] as i64;
    PipeRow {
        pipe: pipe.name.clone(),
        arrived_packets: stats.arrived_packets as i64,
        arrived_bytes: stats.arrived_bytes as i64,
        left_packets: stats.left_packets as i64,
        left_bytes: stats.left_bytes as i64,
        dropped_overflow_packets: dropped(DropReason::Overflow),
        dropped_random_packets: dropped(DropReason::Random),
        dropped_scripted_packets: dropped(DropReason::Scripted),
        dropped_policed_packets: dropped(DropReason::Policed),
        dropped_corrupted_packets: dropped(DropReason::Corrupted),
        dropped_aqm_packets: dropped(DropReason::Aqm),
        marked_packets: stats.marked as i64,
        rate_bps: rate.map_or(-1, |rate| rate.as_bps() as i64),
        remaining_packets: pipe.inside() as i64,
        queue_max_packets: stats.queue_max as i64,
        queue_mean_packets: stats.sojourn_ps as f64 / duration_ps,
        sojourn_mean_ns: mean(stats.sojourn_ps as f64 / 1000.0, stats.sojourn_packets),
        sojourn_max_ns: (stats.sojourn_max_ps / 1000) as i64,
    }
}
