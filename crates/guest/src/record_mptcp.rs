//! Rows for connections of Multipath TCP and their subflows, from what the kernel tells.

use crate::mptcp::{MptcpFlow, Part, Phase};
use crate::record::{bare, fill_sender, sample_row, Recorder};
use crate::run::App;
use crate::tcp::name_of;
use dumbbell_model::tables::{ConnectionRow, Float, FlowRow, Int, SampleRow, TransferRow};

/// Payload that arrived in order at a subflow's receiver.
fn carried(part: &Part) -> u64 {
    part.receiver.map_or(0, |info| info.bytes_received())
}

impl Recorder<'_> {
    /// A sample of every subflow, and one of the connection.
    pub(crate) fn sample_connection(&mut self, now: i64, flow: &MptcpFlow) {
        if !matches!(flow.phase, Phase::Writing | Phase::Closing) {
            return;
        }
        let mut rows: Vec<SampleRow> = Vec::with_capacity(flow.parts.len());
        for part in &flow.parts {
            let Some(info) = part.sender.filter(|info| info.state() == 1) else { continue };
            self.add(part.flow, now, &info);
            let name = &self.scenario.flows[part.flow].name;
            rows.push(sample_row(now, name, self.paced(part.flow), &info, carried(part)));
        }
        if !self.scenario.sampling.samples {
            return;
        }
        let sum = |value: fn(&SampleRow) -> Int| rows.iter().map(value).sum::<Int>();
        let all = SampleRow {
            time_ns: now.into(),
            flow: flow.spec.name.clone(),
            acked_bytes: flow.acked().into(),
            delivered_bytes: flow.delivered.into(),
            cwnd_packets: sum(|row| row.cwnd_packets),
            in_flight_packets: sum(|row| row.in_flight_packets),
            sacked_packets: sum(|row| row.sacked_packets),
            lost_packets: sum(|row| row.lost_packets),
            retransmitted_packets: sum(|row| row.retransmitted_packets),
            delivered_packets: sum(|row| row.delivered_packets),
            ..SampleRow::default()
        };
        self.samples.extend(rows);
        self.samples.push(all);
    }

    /// Fills the rows of subflows, and makes those of connections.
    pub(crate) fn connections(
        &self,
        apps: &[App],
        end: i64,
        flows: &mut [FlowRow],
        transfers: &mut Vec<TransferRow>,
    ) -> (Vec<FlowRow>, Vec<ConnectionRow>) {
        let (mut rows, mut connections) = (Vec::new(), Vec::new());
        for app in apps {
            let App::Mptcp(flow) = app else { continue };
            for part in &flow.parts {
                self.fill_subflow(&mut flows[part.flow], flow, part, end);
            }
            let parts: Vec<&FlowRow> = flow.parts.iter().map(|part| &flows[part.flow]).collect();
            let row = self.connection(flow, &parts, end);
            if let (Phase::Finished { .. }, Some(last)) = (flow.phase, flow.last_delivery) {
                transfers.push(TransferRow {
                    flow: row.flow.clone(),
                    group: row.group.clone(),
                    session: String::new(),
                    object: String::new(),
                    start_ns: flow.start.into(),
                    request_ns: Int::UNKNOWN,
                    first_byte_ns: Int::UNKNOWN,
                    end_ns: last.into(),
                    transfer_bytes: row.delivered_bytes,
                });
            }
            rows.push(row);
            let used = flow.parts.iter().filter(|part| carried(part) > 0).count();
            connections.push(ConnectionRow {
                connection: flow.spec.name.clone(),
                scheduler: flow.spec.scheduler.name().to_owned(),
                subflows: used.into(),
                fell_back: flow.info.fell_back().into(),
                written_bytes: flow.writer.written().into(),
                acked_bytes: flow.acked().into(),
                delivered_bytes: flow.delivered.into(),
                carried_bytes: flow.parts.iter().map(carried).sum::<u64>().into(),
                ..ConnectionRow::default()
            });
        }
        (rows, connections)
    }

    fn fill_subflow(&self, row: &mut FlowRow, flow: &MptcpFlow, part: &Part, end: i64) {
        row.kind = "subflow".to_owned();
        row.connection = flow.spec.name.clone();
        row.congestion_control = name_of(flow.tcp.congestion_control).to_owned();
        row.start_ns = part.from.max(flow.start).into();
        row.end_ns = match flow.phase {
            Phase::Finished { at } => at,
            _ => end,
        }
        .into();
        row.delivered_bytes = carried(part).into();
        if let Some(info) = part.receiver {
            row.received_packets = info.segments_in().into();
        }
        if let Some(info) = part.sender {
            let own =
                if part.flow == flow.parts[0].flow { flow.established } else { part.established };
            row.established_ns = own.into();
            fill_sender(row, &info, &self.sums[part.flow]);
        }
    }

    fn connection(&self, flow: &MptcpFlow, parts: &[&FlowRow], end: i64) -> FlowRow {
        let all = |value: fn(&FlowRow) -> Int| parts.iter().map(move |row| value(row));
        // Of a subflow that was never opened nothing is known, and it did nothing.
        let sum = |value: fn(&FlowRow) -> Int| Int::sum_known(all(value));
        let total =
            |value: fn(&FlowRow) -> Float| Float::sum_known(parts.iter().map(|row| value(row)));
        FlowRow {
            flow: flow.spec.name.clone(),
            group: flow.spec.group.clone(),
            kind: "mptcp".to_owned(),
            congestion_control: name_of(flow.tcp.congestion_control).to_owned(),
            start_ns: flow.start.into(),
            established_ns: flow.established.into(),
            last_delivery_ns: flow.last_delivery.into(),
            end_ns: match flow.phase {
                Phase::Finished { at } => at,
                _ => end,
            }
            .into(),
            delivered_bytes: flow.delivered.into(),
            received_packets: sum(|row| row.received_packets),
            sent_packets: sum(|row| row.sent_packets),
            sent_bytes: sum(|row| row.sent_bytes),
            data_packets: sum(|row| row.data_packets),
            retransmitted_packets: sum(|row| row.retransmitted_packets),
            rtt_min_ns: Int::min_known(all(|row| row.rtt_min_ns)),
            cwnd_max_packets: sum(|row| row.cwnd_max_packets),
            cwnd_mean_packets: total(|row| row.cwnd_mean_packets),
            in_flight_mean_packets: total(|row| row.in_flight_mean_packets),
            ..bare(&self.scenario.flows[flow.parts[0].flow])
        }
    }
}
