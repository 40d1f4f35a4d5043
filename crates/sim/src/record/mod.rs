//! Result tables: records over time, and totals at the end.

pub(crate) mod capture;
mod drops;
pub(crate) mod finished;
pub(crate) mod hops;

use crate::drop_reason::DropReason;
use crate::endpoint::{Endpoint, Ends, Report, Run};
use crate::network::link::Pipe;
use crate::record::drops::Drops;
use dumbbell_model::scenario::Flow;
use dumbbell_model::scenario::Sampling;
use dumbbell_model::tables::{ns, Float, PipeRow, QueueRow, SampleRow, Table};
use dumbbell_model::{Rate, Time};
use dumbbell_packet::Packet;

/// Rows recorded over time.
pub(crate) struct Recorder {
    sampling: Sampling,
    samples: Vec<SampleRow>,
    queues: Vec<QueueRow>,
    drops: Drops,
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

    /// Samples, queues and drops.
    pub(crate) fn tables(&self, flows: &[Flow], pipes: &[Pipe]) -> [Table; 3] {
        let (samples, queues) = (SampleRow::table(&self.samples), QueueRow::table(&self.queues));
        [samples, queues, self.drops.table(flows, pipes)]
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

pub(crate) fn pipe_row(pipe: &Pipe, rate: Option<Rate>, duration_ps: f64) -> PipeRow {
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
