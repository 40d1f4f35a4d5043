//! Result tables at the end.

use super::World;
use crate::endpoint::{Endpoint, Report};
use crate::record::finished::Rows;
use crate::record::pipe_row;
use dumbbell_model::tables::{
    self, ns, ConnectionRow, Float, FlowRow, HopRow, PipeRow, ProbeRow, Table, TransferRow,
};

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
        let [samples, queues, drops] = self.recorder.tables(&self.scenario.flows, &self.pipes);
        vec![
            flows,
            PipeRow::table(&pipes),
            transfers,
            samples,
            queues,
            drops,
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
