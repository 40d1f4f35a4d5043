//! Result tables from the counters and states that the kernel reports. Other values are unknown.

use crate::application::{Application, Probe};
use crate::discipline::xstats;
use crate::flow_rows::{FlowReport, FlowSampler};
use crate::netlink::{Interface, Qdisc};
use crate::pipe_counters::{Disciplines, Kept, PipeCounters};
use crate::plan::Plan;
use crate::watch::Watch;
use dumbbell_capture::Taps;
use dumbbell_model::scenario::{self, LinkState, Scenario};
use dumbbell_model::tables::{
    ConnectionRow, DropRow, FlowRow, HopRow, Int, PipeRow, ProbeRow, QueueRow, SampleRow, Table,
    TransferRow,
};
use std::collections::BTreeMap;
use std::io::Result;

/// Largest handle that a plan assigns.
const HANDLES_MAX: u32 = 0x7fff;

/// The applications of all flows.
type Applications = [Box<dyn Application>];

/// Records samples during the run.
pub(crate) struct Recorder<'a> {
    scenario: &'a Scenario,
    plan: &'a Plan,
    sampler: FlowSampler<'a>,
    queues: Vec<QueueRow>,
    /// Counters of each pipe over outages.
    kept: Vec<Kept>,
}

/// Rows of all tables except those of taps.
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
    /// Makes the tables in the order of the digest.
    pub(crate) fn tables(
        mut self,
        taps: &mut Taps,
        packets: Table,
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
            packets,
            ProbeRow::table(&self.probes),
            ConnectionRow::table(&connections),
            HopRow::table(&[]),
        ]
    }
}

/// Counters of all pipes at one time.
struct Counters {
    qdiscs: BTreeMap<(usize, i32), Vec<Qdisc>>,
    interfaces: BTreeMap<(usize, i32), Interface>,
}

fn counters(watch: &Watch, with_interfaces: bool) -> Result<Counters> {
    let mut found = Counters { qdiscs: BTreeMap::new(), interfaces: BTreeMap::new() };
    for (&namespace, netlink) in &watch.netlinks {
        for qdisc in netlink.qdiscs()? {
            // Only disciplines with a handle of the plan, outermost first.
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

/// Disciplines of an interface, outermost first.
fn interface(found: &Counters, key: (usize, i32)) -> &[Qdisc] {
    found.qdiscs.get(&key).map_or(&[], Vec::as_slice)
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(scenario: &'a Scenario, plan: &'a Plan) -> Self {
        let sampler = FlowSampler::new(scenario, |node| plan.fq_hosts.contains(&node));
        let kept = plan.queues.iter().map(|_| Kept::default()).collect();
        Self { scenario, plan, sampler, queues: Vec::new(), kept }
    }

    /// Keeps the counters of a pipe whose disciplines are about to be removed.
    pub(crate) fn keep(&mut self, pipe: usize, state: LinkState, watch: &Watch) -> Result<()> {
        let (found, spec) = (counters(watch, false)?, self.pipe(pipe));
        let found = self.disciplines(pipe, &found, watch);
        self.kept[pipe].change(state, spec, &found);
        Ok(())
    }

    fn disciplines<'b>(&self, pipe: usize, found: &'b Counters, watch: &Watch) -> Disciplines<'b> {
        let location = &self.plan.queues[pipe];
        let all = interface(found, (location.namespace, watch.interfaces[pipe]));
        let count = if self.kept[pipe].down { 0 } else { location.chain };
        let behind = watch.behind[pipe].and_then(|at| interface(found, (watch.wires, at)).first());
        Disciplines { all, stages: &all[..count.min(all.len())], behind }
    }

    /// Takes a sample of every flow and queue.
    pub(crate) fn sample(
        &mut self,
        now: i64,
        apps: &mut Applications,
        watch: &Watch,
    ) -> Result<()> {
        for app in apps {
            app.sample(now, &mut self.sampler)?;
        }
        if self.scenario.sampling.queues {
            let found = counters(watch, false)?;
            for (pipe, location) in self.plan.queues.iter().enumerate() {
                if location.chain == 0 {
                    continue;
                }
                let scripted = watch.scripted_drops(self.plan, pipe)?;
                let here = self.disciplines(pipe, &found, watch);
                let counted = self.kept[pipe].with(self.pipe(pipe), &here);
                let row = queue_row(now, self.pipe(pipe), here.stages, &counted);
                let dropped = dropped(self.pipe(pipe), scripted, &counted);
                let pipe = self.pipe_name(pipe);
                self.queues.push(QueueRow { pipe, dropped_packets: dropped, ..row });
            }
        }
        Ok(())
    }

    fn pipe(&self, pipe: usize) -> &'a scenario::Pipe {
        let link = &self.scenario.links[pipe / 2];
        if pipe.is_multiple_of(2) {
            &link.forward
        } else {
            &link.backward
        }
    }

    fn pipe_name(&self, pipe: usize) -> String {
        let direction = if pipe.is_multiple_of(2) { "forward" } else { "backward" };
        format!("{}/{direction}", self.scenario.links[pipe / 2].name)
    }

    /// Records the totals at the end. `objects`: objects that sessions have loaded.
    pub(crate) fn finish(
        self,
        end: i64,
        apps: &Applications,
        watch: &Watch,
        objects: Vec<TransferRow>,
    ) -> Result<Rows> {
        let mut report = FlowReport::new(&self.sampler, end);
        for app in apps {
            app.report(&mut report)?;
        }
        report.complete();
        let FlowReport { mut flows, mut transfers, connections, .. } = report;
        transfers.extend(connections.transfers);
        transfers.extend(objects);
        let found = counters(watch, true)?;
        if let [only] = flows.as_mut_slice() {
            // With a single flow, all drops are its own.
            let mut dropped = Int::from(0_u64);
            for pipe in 0..self.plan.queues.len() {
                dropped = [dropped, self.dropped(pipe, &found, watch)?].into_iter().sum();
            }
            only.dropped_packets = dropped;
        }
        let mut pipes = Vec::with_capacity(self.plan.queues.len());
        for pipe in 0..self.plan.queues.len() {
            pipes.push(self.pipe_row(pipe, &found, watch)?);
        }
        let probes = self.probes(apps);
        let connections = (connections.flows, connections.rows);
        let (samples, queues) = (self.sampler.rows, self.queues);
        Ok(Rows { flows, pipes, transfers, samples, queues, probes, connections })
    }

    fn probes(&self, apps: &Applications) -> Vec<ProbeRow> {
        if !self.scenario.sampling.probes {
            return Vec::new();
        }
        let mut rows = Vec::new();
        for (app, spec) in apps.iter().zip(&self.scenario.flows) {
            let Some((kind, probes)) = app.probes() else { continue };
            rows.extend(probes.iter().enumerate().map(|(number, probe): (usize, &Probe)| {
                ProbeRow {
                    time_ns: probe.sent.into(),
                    flow: spec.name.clone(),
                    kind: kind.to_owned(),
                    probe_number: number.into(),
                    delay_ns: probe.delay.into(),
                }
            }));
        }
        rows
    }

    /// Reads all drops of a pipe.
    fn dropped(&self, pipe: usize, found: &Counters, watch: &Watch) -> Result<Int> {
        let counted = self.kept[pipe].with(self.pipe(pipe), &self.disciplines(pipe, found, watch));
        Ok(dropped(self.pipe(pipe), watch.scripted_drops(self.plan, pipe)?, &counted))
    }

    fn pipe_row(&self, pipe: usize, found: &Counters, watch: &Watch) -> Result<PipeRow> {
        let location = &self.plan.queues[pipe];
        let key = (location.namespace, watch.interfaces[pipe]);
        let spec = self.pipe(pipe);
        let here = self.disciplines(pipe, found, watch);
        let scripted = watch.scripted_drops(self.plan, pipe)?;
        let counted = self.kept[pipe].with(spec, &here);
        let none_if = |never: bool| Int::from(never.then_some(0_u64));
        let mut row = PipeRow {
            pipe: self.pipe_name(pipe),
            dropped_overflow_packets: counted.overflow,
            dropped_random_packets: counted.random,
            dropped_scripted_packets: scripted.into(),
            dropped_policed_packets: none_if(spec.policer.is_none()),
            dropped_corrupted_packets: none_if(spec.corruption == 0.0),
            dropped_aqm_packets: counted.aqm,
            dropped_link_down_packets: counted.link_down.into(),
            marked_packets: counted.marked,
            rate_bps: spec.rate().map(|rate| rate.as_bps()).into(),
            ..PipeRow::default()
        };
        let dropped = dropped(spec, scripted, &counted);
        if location.chain > 0 {
            row.left_packets = counted.left_packets.into();
            row.left_bytes = counted.left_bytes.into();
            row.remaining_packets = here.remaining_packets().into();
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

/// Sums the drops of a pipe for all reasons. A policer does not report its drops.
fn dropped(spec: &scenario::Pipe, scripted: u64, counted: &PipeCounters) -> Int {
    let sum = counted.dropped + scripted + counted.link_down;
    spec.policer.is_none().then_some(sum).into()
}

/// Row of a queue, without its name and the sum of its drops. While the link is down there is no queue.
fn queue_row(
    now: i64,
    spec: &scenario::Pipe,
    stages: &[Qdisc],
    counted: &PipeCounters,
) -> QueueRow {
    let row = QueueRow {
        time_ns: now.into(),
        queued_packets: 0_u64.into(),
        queued_bytes: 0_u64.into(),
        qdisc: spec.queue.name().to_owned(),
        dropped_overflow_packets: counted.overflow,
        dropped_aqm_packets: counted.aqm,
        marked_packets: counted.marked,
        sent_bytes: counted.sent_bytes.into(),
        ..QueueRow::default()
    };
    let Some(inner) = stages.last() else { return row };
    let xstats = xstats(inner);
    let next = xstats.codel.and_then(|(dropping, _, until)| dropping.then_some(now + until));
    QueueRow {
        queued_packets: inner.queued_packets.into(),
        queued_bytes: inner.queued_bytes.into(),
        qdisc: inner.kind.clone(),
        dropping: xstats.codel.map(|(dropping, ..)| dropping).into(),
        drop_count: xstats.codel.map(|(_, count, _)| count).into(),
        drop_next_ns: next.into(),
        drop_probability: xstats.probability,
        new_flows: xstats.new_flows,
        old_flows: xstats.old_flows,
        ..row
    }
}
