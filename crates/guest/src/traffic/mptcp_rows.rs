//! Rows of a Multipath TCP connection and its subflows.

use super::mptcp::{MptcpFlow, Part};
use super::stream::{Phase, ESTABLISHED};
use crate::flow_rows::{bare, transfer, FlowReport, FlowSampler};
use dumbbell_model::tables::{ConnectionRow, Float, FlowRow, Int, SampleRow};

/// Payload delivered in order at a subflow's receiver.
fn carried(part: &Part) -> u64 {
    part.receiver.map_or(0, |info| info.bytes_received())
}

impl MptcpFlow {
    /// Takes a sample of every subflow and of the connection.
    pub(super) fn sample_rows(&self, now: i64, sampler: &mut FlowSampler<'_>) {
        let mut rows: Vec<SampleRow> = Vec::with_capacity(self.state.parts.len());
        for part in &self.state.parts {
            if let Some(info) = part.sender.filter(|info| info.state() == ESTABLISHED) {
                rows.push(sampler.tcp(part.flow, now, &info, carried(part)));
            }
        }
        let sum = |value: fn(&SampleRow) -> Int| rows.iter().map(value).sum::<Int>();
        let all = SampleRow {
            time_ns: now.into(),
            flow: self.spec.name.clone(),
            acked_bytes: self.acked().into(),
            delivered_bytes: self.state.delivered.into(),
            cwnd_packets: sum(|row| row.cwnd_packets),
            in_flight_packets: sum(|row| row.in_flight_packets),
            sacked_packets: sum(|row| row.sacked_packets),
            lost_packets: sum(|row| row.lost_packets),
            retransmitted_packets: sum(|row| row.retransmitted_packets),
            delivered_packets: sum(|row| row.delivered_packets),
            ..SampleRow::default()
        };
        for row in rows {
            sampler.push(row);
        }
        sampler.push(all);
    }

    /// Fills the rows of the subflows and makes the rows of the connection.
    pub(super) fn report_rows(&self, report: &mut FlowReport<'_>) {
        for part in &self.state.parts {
            self.report_subflow(report, part);
        }
        let row = self.connection_row(report);
        if let (Phase::Finished { .. }, Some(last)) = (self.stream.phase, self.stream.last_delivery)
        {
            report.connections.transfers.push(transfer(&row, self.stream.start, last));
        }
        report.connections.flows.push(row);
        let used = self.state.parts.iter().filter(|part| carried(part) > 0).count();
        report.connections.rows.push(ConnectionRow {
            connection: self.spec.name.clone(),
            scheduler: self.spec.scheduler.name().to_owned(),
            subflows: used.into(),
            fell_back: self.state.info.fell_back().into(),
            written_bytes: self.stream.writer.written().into(),
            acked_bytes: self.acked().into(),
            delivered_bytes: self.state.delivered.into(),
            carried_bytes: self.state.parts.iter().map(carried).sum::<u64>().into(),
            ..ConnectionRow::default()
        });
    }

    fn report_subflow(&self, report: &mut FlowReport<'_>, part: &Part) {
        let end = self.stream.finished_at(report.end);
        let row = &mut report.flows[part.flow];
        row.kind = "subflow".to_owned();
        row.connection = self.spec.name.clone();
        row.congestion_control = self.tcp.congestion_control.linux_name().to_owned();
        row.start_ns = part.from.max(self.stream.start).into();
        row.end_ns = end.into();
        row.delivered_bytes = carried(part).into();
        if let Some(info) = part.receiver {
            row.received_packets = info.segments_in().into();
        }
        if let Some(info) = part.sender {
            let first = part.flow == self.state.parts[0].flow;
            let established = if first { self.stream.established } else { part.established };
            row.established_ns = established.into();
            report.sender(part.flow, &info);
        }
    }

    /// Row of the connection in `flows`, from those of its subflows.
    fn connection_row(&self, report: &FlowReport<'_>) -> FlowRow {
        let parts = self.state.parts.iter();
        let parts: Vec<&FlowRow> = parts.map(|part| &report.flows[part.flow]).collect();
        let all = |value: fn(&FlowRow) -> Int| parts.iter().map(move |row| value(row));
        // A subflow that was never opened has unknown values and contributes nothing.
        let sum = |value: fn(&FlowRow) -> Int| Int::sum_known(all(value));
        let total =
            |value: fn(&FlowRow) -> Float| Float::sum_known(parts.iter().map(|row| value(row)));
        FlowRow {
            flow: self.spec.name.clone(),
            group: self.spec.group.clone(),
            kind: "mptcp".to_owned(),
            congestion_control: self.tcp.congestion_control.linux_name().to_owned(),
            start_ns: self.stream.start.into(),
            established_ns: self.stream.established.into(),
            last_delivery_ns: self.stream.last_delivery.into(),
            end_ns: self.stream.finished_at(report.end).into(),
            delivered_bytes: self.state.delivered.into(),
            received_packets: sum(|row| row.received_packets),
            sent_packets: sum(|row| row.sent_packets),
            sent_bytes: sum(|row| row.sent_bytes),
            data_packets: sum(|row| row.data_packets),
            retransmitted_packets: sum(|row| row.retransmitted_packets),
            rtt_min_ns: Int::min_known(all(|row| row.rtt_min_ns)),
            cwnd_max_packets: sum(|row| row.cwnd_max_packets),
            cwnd_mean_packets: total(|row| row.cwnd_mean_packets),
            in_flight_mean_packets: total(|row| row.in_flight_mean_packets),
            ..bare(&report.scenario().flows[self.state.parts[0].flow])
        }
    }
}
