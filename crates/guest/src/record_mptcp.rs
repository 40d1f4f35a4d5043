//! Rows for connections of Multipath TCP and their subflows, from what the kernel tells.

use crate::mptcp::{MptcpFlow, Part, Phase};
use crate::record::{bare, fill_sender, sample_row, Recorder, NEVER};
use crate::run::App;
use crate::tcp::name_of;
use dumbbell_model::tables::{ConnectionRow, FlowRow, SampleRow, TransferRow};

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
        let mut all = SampleRow {
            time_ns: now,
            flow: flow.spec.name.clone(),
            acked_bytes: flow.acked() as i64,
            delivered_bytes: flow.delivered as i64,
            unsent_bytes: NEVER,
            rwnd_bytes: NEVER,
            rtt_min_ns: NEVER,
            pacing_bps: NEVER,
            delivery_rate_bps: NEVER,
            app_limited: NEVER,
            spurious_packets: NEVER,
            delivered_ce_packets: NEVER,
            busy_ns: NEVER,
            rwnd_limited_ns: NEVER,
            sndbuf_limited_ns: NEVER,
            ..SampleRow::default()
        };
        for part in &flow.parts {
            let Some(info) = part.sender.filter(|info| info.state() == 1) else { continue };
            self.add(part.flow, now, &info);
            let name = &self.scenario.flows[part.flow].name;
            let algorithm = flow.tcp.congestion_control;
            let row = sample_row(now, name, algorithm, &info, carried(part));
            all.cwnd_packets += row.cwnd_packets;
            all.in_flight_packets += row.in_flight_packets;
            all.sacked_packets += row.sacked_packets;
            all.lost_packets += row.lost_packets;
            all.retransmitted_packets += row.retransmitted_packets;
            all.delivered_packets += row.delivered_packets;
            if self.scenario.sampling.samples {
                self.samples.push(row);
            }
        }
        if self.scenario.sampling.samples {
            self.samples.push(all);
        }
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
                    start_ns: flow.start,
                    request_ns: NEVER,
                    first_byte_ns: NEVER,
                    end_ns: last,
                    transfer_bytes: row.delivered_bytes,
                });
            }
            rows.push(row);
            let used = flow.parts.iter().filter(|part| carried(part) > 0).count();
            connections.push(ConnectionRow {
                connection: flow.spec.name.clone(),
                scheduler: flow.spec.scheduler.name().to_owned(),
                subflows: used as i64,
                fell_back: i64::from(flow.info.fell_back()),
                written_bytes: flow.writer.written() as i64,
                acked_bytes: flow.acked() as i64,
                delivered_bytes: flow.delivered as i64,
                carried_bytes: flow.parts.iter().map(carried).sum::<u64>() as i64,
                duplicate_bytes: NEVER,
                reinjected_bytes: NEVER,
                beyond_window_bytes: NEVER,
                penalties: NEVER,
                out_of_order_max_bytes: NEVER,
                blocked_ns: NEVER,
            });
        }
        (rows, connections)
    }

    fn fill_subflow(&self, row: &mut FlowRow, flow: &MptcpFlow, part: &Part, end: i64) {
        row.kind = "subflow".to_owned();
        row.connection = flow.spec.name.clone();
        row.congestion_control = name_of(flow.tcp.congestion_control).to_owned();
        row.start_ns = part.from.max(flow.start);
        row.end_ns = match flow.phase {
            Phase::Finished { at } => at,
            _ => end,
        };
        row.delivered_bytes = carried(part) as i64;
        if let Some(info) = part.receiver {
            row.received_packets = i64::from(info.segments_in());
        }
        if let Some(info) = part.sender {
            let own =
                if part.flow == flow.parts[0].flow { flow.established } else { part.established };
            row.established_ns = own.unwrap_or(NEVER);
            fill_sender(row, &info, &self.sums[part.flow]);
        }
    }

    fn connection(&self, flow: &MptcpFlow, parts: &[&FlowRow], end: i64) -> FlowRow {
        let sum = |value: fn(&FlowRow) -> i64| parts.iter().map(|row| value(row)).sum::<i64>();
        let total = |value: fn(&FlowRow) -> f64| {
            parts.iter().map(|row| value(row)).filter(|value| !value.is_nan()).sum::<f64>()
        };
        let received = parts.iter().map(|row| row.received_packets).filter(|&count| count >= 0);
        FlowRow {
            flow: flow.spec.name.clone(),
            group: flow.spec.group.clone(),
            kind: "mptcp".to_owned(),
            congestion_control: name_of(flow.tcp.congestion_control).to_owned(),
            start_ns: flow.start,
            established_ns: flow.established.unwrap_or(NEVER),
            last_delivery_ns: flow.last_delivery.unwrap_or(NEVER),
            end_ns: match flow.phase {
                Phase::Finished { at } => at,
                _ => end,
            },
            delivered_bytes: flow.delivered as i64,
            received_packets: received.sum(),
            sent_packets: sum(|row| row.sent_packets),
            sent_bytes: sum(|row| row.sent_bytes),
            data_packets: sum(|row| row.data_packets),
            retransmitted_packets: sum(|row| row.retransmitted_packets),
            rtt_min_ns: parts
                .iter()
                .map(|row| row.rtt_min_ns)
                .filter(|&rtt| rtt >= 0)
                .min()
                .unwrap_or(NEVER),
            cwnd_max_packets: sum(|row| row.cwnd_max_packets),
            cwnd_mean_packets: total(|row| row.cwnd_mean_packets),
            in_flight_mean_packets: total(|row| row.in_flight_mean_packets),
            ..bare(&self.scenario.flows[flow.parts[0].flow])
        }
    }
}
