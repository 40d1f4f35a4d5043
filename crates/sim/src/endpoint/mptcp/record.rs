//! Result rows of connections: sums over subflows, and connection-level columns.

use super::Connection;
use crate::endpoint::mptcp::ends::Multipath;
use crate::endpoint::tcp::sender::Sender;
use crate::endpoint::Run;
use dumbbell_model::tables::ns;
use dumbbell_model::tables::{ConnectionRow, Float, FlowRow, Int, SampleRow, TransferRow};
use dumbbell_model::Time;

impl Connection {
    /// Returns true if all data was written and acknowledged.
    fn is_complete(&self) -> bool {
        let all = self.sender.snd_una >= self.sender.written;
        self.sender.stopped && all && self.sender.fin_sent
    }
}

impl Multipath {
    fn start(&self, run: &Run<'_>) -> Time {
        run.flows[self.subflows[0].flow as usize].start
    }

    /// Bytes that arrived in order on subflows.
    fn carried_bytes(&self) -> u64 {
        self.subflows.iter().map(|ends| ends.receiver.in_order_bytes()).sum()
    }

    /// Current sample. Windows are sums over all subflows.
    pub(crate) fn sample(&self, run: &Run<'_>) -> Option<SampleRow> {
        let Connection { sender, receiver, .. } = &self.connection;
        if self.start(run) > run.now {
            return None;
        }
        let senders: Vec<_> =
            self.subflows.iter().map(|ends| &ends.sender).filter(|s| s.carries_data()).collect();
        let sum = |value: &dyn Fn(&Sender) -> u64| -> Int {
            senders.iter().map(|sender| value(sender)).sum::<u64>().into()
        };
        Some(SampleRow {
            time_ns: ns(run.now),
            flow: self.spec.name.clone(),
            cwnd_packets: sum(&|sender| sender.window.cwnd.into()),
            in_flight_packets: sum(&|sender| sender.in_flight().into()),
            sacked_packets: sum(&|sender| sender.scoreboard.sacked_out.into()),
            lost_packets: sum(&|sender| sender.scoreboard.lost_out.into()),
            retransmitted_packets: sum(&|sender| sender.counters.retransmitted),
            delivered_packets: sum(&|sender| sender.delivered),
            rwnd_bytes: sender.window_end.saturating_sub(sender.snd_una).into(),
            unsent_bytes: sender.written.saturating_sub(sender.snd_nxt).into(),
            acked_bytes: sender.snd_una.min(sender.written).into(),
            delivered_bytes: receiver.delivered_bytes().into(),
            ..SampleRow::default()
        })
    }

    /// Row of the table `flows`, aggregated from the subflows' rows.
    pub(crate) fn flow_row(&self, run: &Run<'_>, flows: &[FlowRow]) -> FlowRow {
        let parts: Vec<&FlowRow> =
            self.subflows.iter().map(|ends| &flows[ends.flow as usize]).collect();
        let first = parts[0];
        let all = |value: fn(&FlowRow) -> Int| parts.iter().map(move |row| value(row));
        let sum = |value: fn(&FlowRow) -> Int| all(value).sum::<Int>();
        let last = |value: fn(&FlowRow) -> Int| Int::max_known(all(value));
        let mean =
            |value: fn(&FlowRow) -> Float| Float::sum_known(parts.iter().map(|row| value(row)));
        let ended = self.connection.is_complete();
        FlowRow {
            flow: self.spec.name.clone(),
            group: self.spec.group.clone(),
            kind: "mptcp".to_owned(),
            congestion_control: first.congestion_control.clone(),
            from_host: first.from_host.clone(),
            to_host: first.to_host.clone(),
            start_ns: first.start_ns,
            established_ns: first.established_ns,
            last_delivery_ns: self.connection.receiver.last_delivery.map(ns).into(),
            end_ns: if ended { last(|row| row.end_ns) } else { ns(run.now) },
            delivered_bytes: self.connection.receiver.delivered_bytes().into(),
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
        }
    }

    pub(crate) fn connection_row(&self, run: &Run<'_>) -> ConnectionRow {
        let connection = &self.connection;
        let used = self.subflows.iter().filter(|ends| ends.sender.snd_una > 0).count();
        let carried = self.carried_bytes();
        let (sent, received) = (&connection.sender.counters, &connection.receiver.counters);
        ConnectionRow {
            connection: self.spec.name.clone(),
            scheduler: self.spec.scheduler.name().to_owned(),
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
            blocked_ns: connection.receiver.blocked_until(run.now).as_ns().into(),
        }
    }

    /// Row of the table `transfers`, if all data was sent.
    pub(crate) fn transfer(&self, run: &Run<'_>) -> Option<TransferRow> {
        let receiver = &self.connection.receiver;
        self.connection.is_complete().then(|| TransferRow {
            flow: self.spec.name.clone(),
            group: self.spec.group.clone(),
            session: String::new(),
            object: String::new(),
            start_ns: ns(self.start(run)),
            request_ns: Int::UNKNOWN,
            first_byte_ns: Int::UNKNOWN,
            end_ns: receiver.last_delivery.map(ns).into(),
            transfer_bytes: receiver.delivered_bytes().into(),
        })
    }

    /// Checks conservation at connection level: bytes that arrived on subflows are delivered,
    /// waiting, duplicate or dropped.
    pub(crate) fn conserves(&self) -> Result<(), String> {
        let carried = self.carried_bytes();
        let receiver = &self.connection.receiver;
        let accounted = receiver.delivered_bytes()
            + receiver.waiting_bytes()
            + receiver.counters.duplicate_bytes
            + receiver.counters.beyond_window_bytes;
        if carried != accounted {
            return Err(format!(
                "{}: {carried} bytes arrived in order on subflows, {accounted} were delivered, \
                 wait, came twice or were thrown away",
                self.spec.name
            ));
        }
        let sender = &self.connection.sender;
        if receiver.delivered_bytes() > sender.written || sender.snd_una > receiver.ack_seq {
            return Err(format!(
                "{}: {} bytes delivered of {} written, {} acknowledged of {}",
                self.spec.name,
                receiver.delivered_bytes(),
                sender.written,
                sender.snd_una,
                receiver.ack_seq
            ));
        }
        Ok(())
    }
}
