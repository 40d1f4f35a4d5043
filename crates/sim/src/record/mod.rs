//! Result tables: records over time, and totals at the end.

pub(crate) mod arrived;
pub(crate) mod capture;
mod drops;
pub(crate) mod finished;
pub(crate) mod hops;
pub(crate) mod reordering;

use crate::endpoint::{Endpoint, Ends, Report, Run};
use crate::network::link::drop_reason::DropReason;
use crate::network::link::Pipe;
use crate::record::drops::Drops;
use crate::record::finished::Rows;
use crate::world::World;
use dumbbell_model::scenario::Sampling;
use dumbbell_model::tables::{
    self, ConnectionRow, Float, FlowRow, HopRow, Int, PipeRow, ProbeRow, QueueRow, SampleRow,
    Table, TransferRow,
};
use dumbbell_model::{Rate, Time};
use dumbbell_packet::Packet;

/// Rows recorded over time.
pub(crate) struct Recorder {
    sampling: Sampling,
    samples: Vec<SampleRow>,
    queues: Vec<QueueRow>,
    drops: Drops,
}

/// Nanoseconds; unknown for [`Time::NEVER`].
pub(crate) fn ns(at: Time) -> Int {
    (at != Time::NEVER).then(|| at.as_ns()).into()
}

impl Recorder {
    pub(crate) fn new(sampling: Sampling) -> Self {
        Self { sampling, samples: Vec::new(), queues: Vec::new(), drops: Drops::default() }
    }

    pub(crate) fn drop(&mut self, at: Time, pipe: usize, reason: DropReason, packet: &Packet) {
        if self.sampling.drops {
            self.drops.add(at, pipe, reason, packet);
        }
    }

    pub(crate) fn sample(&mut self, run: &Run<'_>, endpoints: &[Ends], pipes: &mut [Pipe]) {
        let at = run.now;
        if self.sampling.samples {
            for (spec, flow) in run.scenario.flows.iter().zip(run.flows) {
                if flow.start <= at {
                    let (time_ns, flow_name) = (ns(at), spec.name.clone());
                    let mut row = SampleRow { time_ns, flow: flow_name, ..SampleRow::default() };
                    let report = Report::Sample { lane: flow.lane, row: &mut row };
                    endpoints[flow.endpoint as usize].report(run, report);
                    self.samples.push(row);
                }
            }
            for endpoint in endpoints {
                endpoint.report(run, Report::OwnSample { rows: &mut self.samples });
            }
        }
        if self.sampling.queues {
            for pipe in pipes.iter_mut().filter(|pipe| pipe.has_queue()) {
                pipe.settle(at);
                self.queues.push(queue_row(at, pipe));
            }
        }
    }
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
    let sojourn_min_ns = recent_ps.iter().min().map(|ps| ps / 1000).into();
    let sojourn_p99_ns = percentile_99(&mut recent_ps).map(|ps| ps / 1000).into();
    recent_ps.clear();
    stats.recent_ps = Some(recent_ps);
    QueueRow {
        time_ns: ns(at),
        pipe: pipe.name.clone(),
        queued_packets: packets.into(),
        queued_bytes: bytes.into(),
        sojourn_mean_ns: Float::mean(waited as f64 / 1000.0, left),
        sojourn_min_ns,
        sojourn_p99_ns,
        qdisc: pipe.queue_name().to_owned(),
        dropping: inside.codel.map(|codel| codel.drop_next.is_some()).into(),
        drop_count: inside.codel.map(|codel| codel.count).into(),
        drop_next_ns: inside.codel.and_then(|codel| codel.drop_next).map(ns).into(),
        drop_probability: inside.probability.into(),
        average_bytes: inside.average_bytes.into(),
        new_flows: inside.new_flows.into(),
        old_flows: inside.old_flows.into(),
        dropped_packets: pipe.stats.dropped_total().into(),
        dropped_overflow_packets: pipe.stats.dropped[DropReason::Overflow as usize].into(),
        dropped_aqm_packets: pipe.stats.dropped_by_discipline().into(),
        marked_packets: pipe.stats.marked.into(),
        sent_bytes: pipe.left_bytes(at).into(),
    }
}

/// The 99th percentile by nearest rank; reorders the values.
fn percentile_99(values: &mut [u64]) -> Option<u64> {
    let rank = (0.99 * values.len() as f64).ceil() as usize;
    let place = rank.checked_sub(1)?;
    Some(*values.select_nth_unstable(place).1)
}

impl World<'_> {
    /// The capture as pcapng, if the scenario asks for one.
    pub(crate) fn capture_file(&self) -> Option<Vec<u8>> {
        let capture = self.capture.as_ref()?;
        let (mut secrets, run) = (Vec::new(), self.at_end());
        for endpoint in &self.endpoints {
            endpoint.report(&run, Report::Secrets { lines: &mut secrets });
        }
        Some(capture.file(&self.scenario, &secrets))
    }

    /// All tables, in the order of the digest.
    pub(crate) fn tables(&mut self) -> Vec<Table> {
        let mut flows = Table::new(&tables::FLOWS);
        for row in self.connection_rows() {
            row.append_to(&mut flows);
        }
        self.keep_rows();
        let [singles, mut transfers] = std::mem::take(&mut self.finished).tables();
        flows.append(singles);
        let run = self.at_end();
        let (mut of_groups, mut probes, mut connections) = (Vec::new(), Vec::new(), Vec::new());
        for endpoint in &self.endpoints {
            if endpoint.is_group() {
                endpoint.report(&run, Report::Transfers { rows: &mut of_groups });
            }
            endpoint.report(&run, Report::Connections { rows: &mut connections });
            if self.scenario.sampling.probes {
                endpoint.report(&run, Report::Probes { rows: &mut probes });
            }
        }
        transfers.append(TransferRow::table(&of_groups));
        let seconds = self.end.as_ps() as f64;
        let links = self.scenario.links.iter().flat_map(|link| [&link.forward, &link.backward]);
        let pipes: Vec<PipeRow> = self
            .pipes
            .iter()
            .zip(links)
            .map(|(pipe, spec)| pipe_row(pipe, spec.rate(), seconds))
            .collect();
        vec![
            flows,
            PipeRow::table(&pipes),
            transfers,
            SampleRow::table(&self.recorder.samples),
            QueueRow::table(&self.recorder.queues),
            self.recorder.drops.table(&self.scenario.flows, &self.pipes),
            self.tap_packets.table(&self.scenario),
            ProbeRow::table(&probes),
            ConnectionRow::table(&connections),
            HopRow::table(&self.hop_rows()),
        ]
    }

    fn hop_rows(&self) -> Vec<HopRow> {
        let name = |pipe: usize| self.pipes[pipe].name.clone();
        self.hops.as_ref().map_or_else(Vec::new, |hops| hops.rows(&self.scenario, name))
    }

    /// Rows of Multipath TCP connections, which need those of their subflows.
    fn connection_rows(&mut self) -> Vec<FlowRow> {
        let mut rows = Vec::new();
        if self.scenario.connections.is_empty() {
            return rows;
        }
        let fixed = 0..self.scenario.flows.len();
        let flows: Vec<FlowRow> = fixed.map(|flow| self.flow_row(flow)).collect();
        let run = self.at_end();
        for endpoint in &self.endpoints {
            endpoint.report(&run, Report::OwnFlow { flows: &flows, rows: &mut rows });
        }
        rows
    }

    /// Row of a flow, and that of its transfer if it has an endpoint of its own.
    pub(crate) fn rows_of(&mut self, flow: usize) -> Rows {
        let endpoint = &self.endpoints[self.flows[flow].endpoint as usize];
        let mut transfers = Vec::new();
        if !endpoint.is_group() {
            let run = self.at_end();
            endpoint.report(&run, Report::Transfers { rows: &mut transfers });
        }
        (self.flow_row(flow), transfers.pop())
    }

    fn flow_row(&mut self, index: usize) -> FlowRow {
        let flow = &self.flows[index];
        let spec = self.arriving.spec(&self.scenario, flow.number);
        let mut row = FlowRow {
            flow: spec.name.into_owned(),
            group: spec.group.to_owned(),
            from_host: spec.from.to_owned(),
            to_host: spec.to.to_owned(),
            start_ns: ns(flow.start),
            established_ns: ns(flow.start),
            end_ns: ns(flow.stop.unwrap_or(self.end)),
            sent_packets: flow.sent[0].into(),
            sent_bytes: flow.sent_bytes.into(),
            received_packets: flow.received_packets.into(),
            received_bytes: flow.received_bytes.into(),
            dropped_packets: flow.dropped.into(),
            reordered_packets: flow.reorder.reordered.into(),
            reordering_extent_mean_packets: Float::mean(
                flow.reorder.extent_sum as f64,
                flow.reorder.reordered,
            ),
            reordering_extent_max_packets: flow.reorder.extent_max.into(),
            ..FlowRow::default()
        };
        let run = self.at_end();
        let report = Report::Flow { lane: flow.lane, row: &mut row };
        self.endpoints[flow.endpoint as usize].report(&run, report);
        if !self.scenario.taps.is_empty() {
            self.taps.fill(&mut row, index, &self.scenario.taps);
        }
        row
    }
}

fn pipe_row(pipe: &Pipe, rate: Option<Rate>, duration_ps: f64) -> PipeRow {
    let stats = &pipe.stats;
    let dropped = |reason: DropReason| stats.dropped[reason as usize].into();
    PipeRow {
        pipe: pipe.name.clone(),
        arrived_packets: stats.arrived_packets.into(),
        arrived_bytes: stats.arrived_bytes.into(),
        left_packets: stats.left_packets.into(),
        left_bytes: stats.left_bytes.into(),
        dropped_overflow_packets: dropped(DropReason::Overflow),
        dropped_random_packets: dropped(DropReason::Random),
        dropped_scripted_packets: dropped(DropReason::Scripted),
        dropped_policed_packets: dropped(DropReason::Policed),
        dropped_corrupted_packets: dropped(DropReason::Corrupted),
        dropped_aqm_packets: stats.dropped_by_discipline().into(),
        dropped_link_down_packets: dropped(DropReason::LinkDown),
        marked_packets: stats.marked.into(),
        rate_bps: rate.map(|rate| rate.as_bps()).into(),
        remaining_packets: pipe.inside().into(),
        queue_max_packets: stats.queue_max.into(),
        queue_mean_packets: (stats.sojourn_ps as f64 / duration_ps).into(),
        sojourn_mean_ns: Float::mean(stats.sojourn_ps as f64 / 1000.0, stats.sojourn_packets),
        sojourn_max_ns: (stats.sojourn_max_ps / 1000).into(),
    }
}
