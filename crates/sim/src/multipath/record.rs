//! Rows of the result tables for connections: what their subflows come to, and what only they have.

use super::Connection;
use crate::endpoint::tcp::TcpEnds;
use crate::endpoint::Ends;
use crate::flow::FlowState;
use crate::record::ns;
use crate::transport::sender::Sender;
use crate::world::World;
use dumbbell_model::tables::{ConnectionRow, Float, FlowRow, Int, SampleRow, TransferRow};
use dumbbell_model::Time;

fn tcp(flow: &FlowState) -> Option<&TcpEnds> {
    match &flow.ends {
        Ends::Tcp(tcp) => Some(tcp),
        Ends::Udp(_) | Ends::Ping(_) => None,
    }
}

impl Connection {
    /// Its state now; windows are those of all subflows together.
    pub(crate) fn sample(&self, at: Time, name: &str, flows: &[FlowState]) -> Option<SampleRow> {
        let first = &flows[self.flows[0] as usize];
        if first.start > at {
            return None;
        }
        let senders: Vec<_> = self
            .flows
            .iter()
            .filter_map(|&flow| tcp(&flows[flow as usize]))
            .map(|tcp| &tcp.sender)
            .filter(|sender| sender.carries_data())
            .collect();
        let sum = |value: &dyn Fn(&Sender) -> u64| -> Int {
            senders.iter().map(|sender| value(sender)).sum::<u64>().into()
        };
        Some(SampleRow {
            time_ns: ns(at),
            flow: name.to_owned(),
            cwnd_packets: sum(&|sender| sender.window.cwnd.into()),
            in_flight_packets: sum(&|sender| sender.in_flight().into()),
            sacked_packets: sum(&|sender| sender.sacked_out.into()),
            lost_packets: sum(&|sender| sender.lost_out.into()),
            retransmitted_packets: sum(&|sender| sender.counters.retransmitted),
            delivered_packets: sum(&|sender| sender.delivered),
            rwnd_bytes: self.sender.window_end.saturating_sub(self.sender.snd_una).into(),
            unsent_bytes: self.sender.written.saturating_sub(self.sender.snd_nxt).into(),
            acked_bytes: self.sender.snd_una.min(self.sender.written).into(),
            delivered_bytes: self.receiver.delivered_bytes().into(),
            ..SampleRow::default()
        })
    }

    /// Everything was written and acknowledged.
    fn is_complete(&self) -> bool {
        let all = self.sender.snd_una >= self.sender.written;
        self.sender.stopped && all && self.sender.fin_sent
    }
}

impl World<'_> {
    /// The row of each connection, made of its subflows' rows, before those of all flows.
    pub(crate) fn add_connections(&self, rows: &mut Vec<FlowRow>) {
        let mut own = Vec::with_capacity(self.connections.len());
        for (spec, connection) in self.scenario.connections.iter().zip(&self.connections) {
            let parts: Vec<&FlowRow> =
                connection.flows.iter().map(|&flow| &rows[flow as usize]).collect();
            let first = parts[0];
            let all = |value: fn(&FlowRow) -> Int| parts.iter().map(move |row| value(row));
            let sum = |value: fn(&FlowRow) -> Int| all(value).sum::<Int>();
            let last = |value: fn(&FlowRow) -> Int| Int::max_known(all(value));
            let mean =
                |value: fn(&FlowRow) -> Float| Float::sum_known(parts.iter().map(|row| value(row)));
            let ended = connection.is_complete();
            own.push(FlowRow {
                flow: spec.name.clone(),
                group: spec.group.clone(),
                kind: "mptcp".to_owned(),
                congestion_control: first.congestion_control.clone(),
                from_host: first.from_host.clone(),
                to_host: first.to_host.clone(),
                start_ns: first.start_ns,
                established_ns: first.established_ns,
                last_delivery_ns: connection.receiver.last_delivery.map(ns).into(),
                end_ns: if ended { last(|row| row.end_ns) } else { ns(self.end) },
                delivered_bytes: connection.receiver.delivered_bytes().into(),
                sent_packets: sum(|row| row.sent_packets),
                sent_bytes: sum(|row| row.sent_bytes),
                data_packets: sum(|row| row.data_packets),
                received_packets: sum(|row| row.received_packets),
                received_bytes: sum(|row| row.received_bytes),
                retransmitted_packets: sum(|row| row.retransmitted_packets),
                fast_retransmitted_packets: sum(|row| row.fast_retransmitted_packets),
                timeout_retransmitted_packets: sum(|row| row.timeout_retransmitted_packets),
                probe_retransmitted_packets: sum(|row| row.probe_retransmitted_packets),
                spurious_retransmitted_packets: sum(|row| row.spurious_retransmitted_packets),
                paws_rejected_packets: sum(|row| row.paws_rejected_packets),
                timeouts: sum(|row| row.timeouts),
                recoveries: sum(|row| row.recoveries),
                undos: sum(|row| row.undos),
                dropped_packets: sum(|row| row.dropped_packets),
                reordering_packets: last(|row| row.reordering_packets),
                reordered_packets: sum(|row| row.reordered_packets),
                reordering_extent_mean_packets: Float::UNKNOWN,
                reordering_extent_max_packets: last(|row| row.reordering_extent_max_packets),
                cwnd_max_packets: Int::sum_known(all(|row| row.cwnd_max_packets)),
                cwnd_mean_packets: mean(|row| row.cwnd_mean_packets),
                in_flight_mean_packets: mean(|row| row.in_flight_mean_packets),
                rtt_min_ns: Int::min_known(all(|row| row.rtt_min_ns)),
                ..FlowRow::default()
            });
        }
        rows.splice(0..0, own);
    }

    /// One row per connection.
    pub(crate) fn connection_rows(&self) -> Vec<ConnectionRow> {
        let connections = self.scenario.connections.iter().zip(&self.connections);
        let row = |(spec, connection): (&dumbbell_model::scenario::Connection, &Connection)| {
            let ends = || connection.flows.iter().filter_map(|&f| tcp(&self.flows[f as usize]));
            let used = ends().filter(|tcp| tcp.sender.snd_una > 0).count();
            let carried: u64 = ends().map(|tcp| tcp.receiver.in_order_bytes()).sum();
            let (sent, received) = (&connection.sender.counters, &connection.receiver.counters);
            ConnectionRow {
                connection: spec.name.clone(),
                scheduler: spec.scheduler.name().to_owned(),
                subflows: used.into(),
                fell_back: connection.sender.fell_back.into(),
                written_bytes: connection.sender.written.into(),
                acked_bytes: connection.sender.snd_una.min(connection.sender.written).into(),
                delivered_bytes: connection.receiver.delivered_bytes().into(),
                carried_bytes: carried.into(),
                duplicate_bytes: received.duplicate_bytes.into(),
                reinjected_bytes: sent.reinjected_bytes.into(),
                beyond_window_bytes: received.beyond_window_bytes.into(),
                penalties: sent.penalties.into(),
                out_of_order_max_bytes: received.out_of_order_max_bytes.into(),
                blocked_ns: connection.receiver.blocked_until(self.end).as_ns().into(),
            }
        };
        connections.map(row).collect()
    }

    /// Connections that have sent everything.
    pub(crate) fn connection_transfers(&self) -> impl Iterator<Item = TransferRow> + '_ {
        let complete = |connection: &Connection| connection.is_complete();
        let connections = self.scenario.connections.iter().zip(&self.connections);
        connections.filter(move |(_, connection)| complete(connection)).map(|(spec, connection)| {
            TransferRow {
                flow: spec.name.clone(),
                group: spec.group.clone(),
                session: String::new(),
                object: String::new(),
                start_ns: ns(self.flows[connection.flows[0] as usize].start),
                request_ns: Int::UNKNOWN,
                first_byte_ns: Int::UNKNOWN,
                end_ns: connection.receiver.last_delivery.map(ns).into(),
                transfer_bytes: connection.receiver.delivered_bytes().into(),
            }
        })
    }

    /// Conservation at the level of connections: what arrived on subflows is what was delivered, what
    /// waits, what came twice and what was thrown away.
    pub(crate) fn check_connections(&self) -> Result<(), String> {
        for (spec, connection) in self.scenario.connections.iter().zip(&self.connections) {
            let ends = connection.flows.iter().filter_map(|&f| tcp(&self.flows[f as usize]));
            let carried: u64 = ends.map(|tcp| tcp.receiver.in_order_bytes()).sum();
            let receiver = &connection.receiver;
            let accounted = receiver.delivered_bytes()
                + receiver.waiting_bytes()
                + receiver.counters.duplicate_bytes
                + receiver.counters.beyond_window_bytes;
            if carried != accounted {
                return Err(format!(
                    "{}: {carried} bytes arrived in order on subflows, {accounted} were delivered, \
                     wait, came twice or were thrown away",
                    spec.name
                ));
            }
            let sender = &connection.sender;
            if receiver.delivered_bytes() > sender.written || sender.snd_una > receiver.ack_seq {
                return Err(format!(
                    "{}: {} bytes delivered of {} written, {} acknowledged of {}",
                    spec.name,
                    receiver.delivered_bytes(),
                    sender.written,
                    sender.snd_una,
                    receiver.ack_seq
                ));
            }
        }
        Ok(())
    }
}
