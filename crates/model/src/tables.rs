//! The result tables: names, types, units and meaning of every column. Engines fill them, Python
//! stores them, the documentation page is generated from here.
//!
//! Units are suffixes: `_ns`, `_bytes`, `_packets`, `_bps`. A number that is not set in a row is unknown
//! ([`Int`], [`Float`]), and stored as -1 or NaN. `catalogue::known` says what each engine knows.

mod column;
mod value;

use column::Packed;
pub use column::{Column, BLOCK_ROWS};
pub use value::{ns, Float, Int};

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 64-bit signed integer.
    Int,
    /// 64-bit float.
    Float,
    /// UTF-8 text.
    Text,
}

/// One column of a table.
#[derive(Clone, Copy, Debug)]
pub struct ColumnSpec {
    /// Name; it ends in the unit.
    pub name: &'static str,
    /// Type.
    pub kind: Kind,
    /// Meaning.
    pub meaning: &'static str,
}

/// Specification of a table.
#[derive(Clone, Copy, Debug)]
pub struct TableSpec {
    /// Name.
    pub name: &'static str,
    /// Meaning of a row.
    pub meaning: &'static str,
    /// Columns.
    pub columns: &'static [ColumnSpec],
}

/// A filled table, with columns in the order of the specification.
#[derive(Clone, Debug)]
pub struct Table {
    /// Specification.
    pub spec: &'static TableSpec,
    /// One entry per column of the specification, all of equal length.
    pub columns: Vec<Column>,
}

impl Table {
    /// Creates a table without rows.
    pub fn new(spec: &'static TableSpec) -> Self {
        let empty = |column: &ColumnSpec| match column.kind {
            Kind::Int => Column::Int(Packed::default()),
            Kind::Float => Column::Float(Packed::default()),
            Kind::Text => Column::Text(Packed::default()),
        };
        Self { spec, columns: spec.columns.iter().map(empty).collect() }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Column::len)
    }

    /// Packs all rows, so that no memory is kept for more.
    pub fn seal(&mut self) {
        self.columns.iter_mut().for_each(Column::seal);
    }

    /// Appends the rows of another table of the same specification.
    pub fn append(&mut self, other: Self) {
        for (column, more) in self.columns.iter_mut().zip(other.columns) {
            column.append(more);
        }
    }
}

macro_rules! column_kind {
    (Int) => {
        Kind::Int
    };
    (Float) => {
        Kind::Float
    };
    (String) => {
        Kind::Text
    };
}
macro_rules! push_value {
    (Int, $column:expr, $value:expr) => {
        if let Some(Column::Int(values)) = $column {
            values.push($value.stored());
        }
    };
    (Float, $column:expr, $value:expr) => {
        if let Some(Column::Float(values)) = $column {
            values.push($value.stored());
        }
    };
    (String, $column:expr, $value:expr) => {
        if let Some(Column::Text(values)) = $column {
            values.push(&$value);
        }
    };
}
macro_rules! table {
    ($(#[doc = $meaning:literal])+ $row:ident, $spec:ident, $name:literal,
     { $($field:ident: $kind:ident = $text:literal,)+ }) => {
        $(#[doc = $meaning])+
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $row {
            $(#[doc = $text] pub $field: $kind,)+
        }
        #[doc = concat!("Specification of the table `", $name, "`.")]
        pub static $spec: TableSpec = TableSpec {
            name: $name,
            meaning: concat!($($meaning),+),
            columns: &[$(ColumnSpec {
                name: stringify!($field), kind: column_kind!($kind), meaning: $text,
            },)+],
        };
        impl $row {
            /// Makes a table of the rows.
            pub fn table(rows: &[Self]) -> Table {
                let mut table = Table::new(&$spec);
                rows.iter().for_each(|row| row.append_to(&mut table));
                table
            }

            /// Appends the row to a table of this kind.
            pub fn append_to(&self, table: &mut Table) {
                let mut columns = table.columns.iter_mut();
                $(push_value!($kind, columns.next(), self.$field);)+
            }
        }
    };
}

table! {
    /// One row per flow.
    FlowRow, FLOWS, "flows", {
        flow: String = "Name of the flow.",
        group: String = "Group of the flow; empty: none.",
        kind: String = "tcp, udp, ping, quic; mptcp: a connection over several subflows; subflow: one of these.",
        connection: String = "Multipath TCP connection of a subflow; empty: none.",
        congestion_control: String = "The sender's algorithm, of quic behind its stack: quinn:cubic; empty for udp and ping.",
        codec: String = "Codec of a voice flow: g711; empty for others.",
        from_host: String = "Sending host.",
        to_host: String = "Receiving host.",
        start_ns: Int = "Time of the first packet sent (SYN, datagram, request), start jitter included.",
        established_ns: Int = "Time at which the handshake was finished at the sender; start_ns for udp and ping.",
        last_delivery_ns: Int = "Time at which the last payload byte arrived in order at the receiver.",
        end_ns: Int = "Time at which all data was acknowledged after the source stopped, or the end of the run.",
        delivered_bytes: Int = "Unique payload bytes that arrived in order at the receiver; ping: 0.",
        sent_packets: Int = "Packets that the sender put on its link, retransmissions and control included.",
        sent_bytes: Int = "Ethernet frames of these packets, without FCS.",
        data_packets: Int = "Packets with payload that TCP sent, retransmissions included; at the end some may wait in the host's queue.",
        received_packets: Int = "Packets of the sender that arrived at the receiving host.",
        received_bytes: Int = "Ethernet frames of these packets, without FCS.",
        retransmitted_packets: Int = "Retransmitted segments (Linux tcpi_total_retrans); quic: packets that the sender declared lost.",
        fast_retransmitted_packets: Int = "Retransmissions in Recovery.",
        timeout_retransmitted_packets: Int = "Retransmissions in Loss, after a time-out.",
        probe_retransmitted_packets: Int = "Retransmissions as tail loss probes.",
        spurious_retransmitted_packets: Int = "Spurious retransmissions: those that arrived when the receiver already had the payload; only the simulator knows.",
        paws_rejected_packets: Int = "Data packets that the receiver rejected for an old timestamp (PAWS, RFC 7323 §5).",
        timeouts: Int = "Retransmission time-outs.",
        recoveries: Int = "Entries into Recovery.",
        undos: Int = "Undone window reductions (DSACK, Eifel or F-RTO).",
        dropped_packets: Int = "Packets of this flow dropped anywhere, both directions; on a kernel known only where the flow is alone.",
        reordering_packets: Int = "Sender's reordering degree at the end (Linux tcpi_reordering).",
        reordered_packets: Int = "Data packets that arrived after one sent later (RFC 4737 §3, Type-P-Reordered; retransmissions count as new packets).",
        reordering_extent_mean_packets: Float = "Mean reordering extent of the reordered packets (RFC 4737 §4.2.1).",
        reordering_extent_max_packets: Int = "Largest reordering extent.",
        cwnd_max_packets: Int = "Largest sampled congestion window.",
        cwnd_mean_packets: Float = "Mean of the congestion window, sampled every sampling interval from establishment to the flow's `stop` or its end.",
        in_flight_mean_packets: Float = "Mean of the packets in flight, sampled as cwnd_mean_packets.",
        srtt_mean_ns: Float = "Mean of the smoothed RTT, sampled as cwnd_mean_packets.",
        rtt_min_ns: Int = "Minimum RTT that the sender measured.",
        rtt_mean_ns: Float = "Mean RTT of ping; NaN for others.",
        tap: String = "First tap of the scenario that saw the flow's data; place of the tap_ columns.",
        tap_data_packets: Int = "Packets with payload seen at the tap.",
        tap_retransmissions: Int = "Retransmissions among them, also of segments lost before the tap (docs/captures.md).",
        tap_rtt_samples: Int = "Data segments that were seen exactly once, and then acknowledged by a cumulative ACK.",
        tap_rtt_mean_ns: Float = "Mean time from such a segment to the first cumulative ACK of its last byte.",
        tap_rtt_min_ns: Int = "Minimum of these times.",
        tap_rtt_max_ns: Int = "Maximum of these times.",
        tap_acks: Int = "Packets of the receiver seen at the tap.",
        tap_acks_with_sack: Int = "Packets of the receiver with at least one SACK block.",
        tap_sack_blocks: Int = "SACK blocks in these packets.",
    }
}

table! {
    /// State of each sender over time, one row per flow and sampling interval. Of UDP and ping only what was delivered is known.
    SampleRow, SAMPLES, "samples", {
        time_ns: Int = "Time of the row.",
        flow: String = "Name of the flow.",
        state: String = "Linux's congestion state: Open, Disorder, CWR, Recovery, Loss.",
        cwnd_packets: Int = "Congestion window; quic: in datagrams of the present size.",
        ssthresh_packets: Int = "Slow-start threshold; 2147483647 before the first loss.",
        in_flight_packets: Int = "Packets sent and not acknowledged, less SACKed and lost, plus retransmitted.",
        sacked_packets: Int = "Packets SACKed and not yet acknowledged.",
        lost_packets: Int = "Packets marked lost and not yet acknowledged.",
        reordering_packets: Int = "Reordering degree.",
        srtt_ns: Int = "Smoothed RTT; -1 before the first measurement.",
        rttvar_ns: Int = "RTT variation; -1 before the first measurement.",
        rtt_min_ns: Int = "Windowed minimum RTT.",
        rto_ns: Int = "Retransmission time-out, back-off included.",
        pacing_bps: Int = "Pacing rate of TCP, or of fq at its host; -1 if nothing paces.",
        rwnd_bytes: Int = "Receive window that the sender knows.",
        unsent_bytes: Int = "Bytes written by the application and not sent yet.",
        acked_bytes: Int = "Payload acknowledged so far.",
        delivered_bytes: Int = "Payload delivered in order so far (udp: received).",
        retransmitted_packets: Int = "Retransmitted segments so far; quic: packets declared lost.",
        delivered_packets: Int = "Segments ACKed or SACKed so far, as delivery rates count.",
        delivery_rate_bps: Int = "Last delivery rate measured over a round trip, payload; -1 if unknown.",
        app_limited: Int = "1 if that rate was application-limited; -1 if the rate is unknown.",
        spurious_packets: Int = "Segments reported twice by DSACK so far; -1 if unknown.",
        delivered_ce_packets: Int = "Packets delivered with CE so far; -1 if unknown.",
        busy_ns: Int = "Time so far with data unsent or unacknowledged; -1 if unknown.",
        rwnd_limited_ns: Int = "Busy time limited by the receive window; -1 if unknown.",
        sndbuf_limited_ns: Int = "Busy time limited by the send buffer; -1 if unknown.",
    }
}

table! {
    /// Each queue over time, one row per pipe with a queue and sampling interval.
    QueueRow, QUEUES, "queues", {
        time_ns: Int = "Time of the row.",
        pipe: String = "Link and direction: name/forward or name/backward.",
        queued_packets: Int = "Packets waiting (netem: packets in delay too).",
        queued_bytes: Int = "Frames of these packets.",
        sojourn_mean_ns: Float = "Mean time in the queue of the packets that left since the last row; NaN if none did.",
        sojourn_min_ns: Int = "Minimum time in the queue of these packets; -1 if none left, or unknown.",
        sojourn_p99_ns: Int = "99th percentile of their times; -1 if none left, or unknown.",
        qdisc: String = "Name of the queue discipline, as in Linux's tc.",
        dropping: Int = "1: CoDel is in its dropping state, 0: it is not; -1: not CoDel, or unknown.",
        drop_count: Int = "CoDel's count: drops of this episode; -1: not CoDel, or unknown.",
        drop_next_ns: Int = "Time of CoDel's next drop; -1 outside the dropping state.",
        drop_probability: Float = "Drop probability of PIE, and of RED at its average; NaN elsewhere.",
        average_bytes: Float = "RED's average of the queue; NaN elsewhere.",
        new_flows: Int = "New flows (FQ-CoDel, FQ-PIE, fq); -1 elsewhere.",
        old_flows: Int = "Old flows: other flows with packets waiting (also SFQ); -1 elsewhere.",
        dropped_packets: Int = "Packets dropped here so far, for any reason; -1 if unknown: on a kernel with a policer.",
        dropped_overflow_packets: Int = "Packets dropped by a full queue so far; -1 if unknown.",
        dropped_aqm_packets: Int = "Packets dropped by the discipline so far: signals of congestion, and ACKs that CAKE's filter removed; -1 if unknown.",
        marked_packets: Int = "Packets marked CE here so far.",
        sent_bytes: Int = "Bytes of frames that left so far.",
    }
}

table! {
    /// Totals of each direction of each link over the whole run.
    PipeRow, PIPES, "pipes", {
        pipe: String = "Link and direction: name/forward or name/backward.",
        arrived_packets: Int = "Packets offered, duplicates made here included; -1 if unknown: on a kernel with a policer.",
        arrived_bytes: Int = "Frames of these packets.",
        left_packets: Int = "Packets handed to the next node.",
        left_bytes: Int = "Frames of these packets.",
        dropped_overflow_packets: Int = "Dropped by a full queue. On a kernel with random loss in the queue's netem, this column and the next are -1: it counts both together.",
        dropped_random_packets: Int = "Dropped by random or bursty loss.",
        dropped_scripted_packets: Int = "Dropped by scripted loss.",
        dropped_policed_packets: Int = "Dropped by the policer; unknown on a kernel.",
        dropped_corrupted_packets: Int = "Damaged on the link and dropped at its far end; unknown on a kernel.",
        dropped_aqm_packets: Int = "Dropped by the queue discipline: signals of congestion, and ACKs that CAKE's filter removed.",
        dropped_link_down_packets: Int = "Dropped because the link was down, or went down while they were inside.",
        marked_packets: Int = "Marked CE by the queue discipline.",
        rate_bps: Int = "Rate of the shaper at the start; -1 if there is none.",
        remaining_packets: Int = "Packets queued or in propagation at the end.",
        queue_max_packets: Int = "Maximum queue length.",
        queue_mean_packets: Float = "Mean queue length over time.",
        sojourn_mean_ns: Float = "Mean time in the queue, of packets that left it.",
        sojourn_max_ns: Int = "Maximum time in the queue.",
    }
}

table! {
    /// One row per dropped packet.
    DropRow, DROPS, "drops", {
        time_ns: Int = "Time of the row.",
        pipe: String = "Place: link and direction, or a host.",
        reason: String = "overflow, random, scripted, policed, corrupted, aqm, filtered (an ACK, by CAKE), link_down, no_reassembly; from an event trace: queue (in the queue), line (behind it).",
        flow: String = "Name of the flow.",
        seq_bytes: Int = "First payload byte of its stream (tcp), else the packet's number.",
    }
}

table! {
    /// One row per packet and tap that it passed, in the time that `sampling` names. ARP is left out.
    PacketRow, PACKETS, "packets", {
        time_ns: Int = "Time at which the packet passed.",
        tap: String = "Name of the tap.",
        flow: String = "Name of the flow.",
        direction: String = "out: from the flow's source; back: to it.",
        packet_number: Int = "Number of the packet in its flow and direction, in order of sending: the same at every tap.",
        frame_bytes: Int = "Ethernet frame without FCS.",
        tos: Int = "DSCP (upper six bits) and ECN field (lower two; 3: CE) of the IP header.",
        seq_bytes: Int = "First payload byte of its stream (tcp); -1 for udp and ping.",
        payload_bytes: Int = "Payload of the transport layer.",
        ack_bytes: Int = "Next byte expected from the other side (tcp); -1 for udp and ping.",
        sack_ranges_bytes: String = "SACK blocks as in the header, a DSACK first: first byte, a dash, the byte after the last; separated by spaces.",
        tcp_flags: String = "TCP flags that are set: syn, fin, rst, psh, ece, cwr, ae; separated by spaces.",
        window_bytes: Int = "Advertised window, scaling undone (tcp); -1 for udp and ping.",
    }
}

table! {
    /// One row per packet and direction of a link that it reached, in the time that `sampling` names. ARP is left out.
    HopRow, HOPS, "hops", {
        offered_ns: Int = "Arrival at the link.",
        leaves_ns: Int = "Departure from the queue (serial link: of the first bit); -1: none by the end.",
        ended_ns: Int = "Arrival at the far end, or drop; -1: neither by the end.",
        pipe: String = "Link and direction: name/forward or name/backward.",
        dropped: String = "Reason of the drop, as in drops; unseen: not seen at the next tap, reason unknown; empty: not dropped.",
        flow: String = "Name of the flow.",
        direction: String = "out: from the flow's source; back: to it.",
        packet_number: Int = "Number of the packet in its flow and direction, in order of sending: the same at every link.",
        kind: String = "tcp (with payload), ack (TCP without), udp, ping.",
        frame_bytes: Int = "Ethernet frame without FCS.",
        tos: Int = "DSCP (upper six bits) and ECN field (lower two; 3: CE) of the IP header as the packet left, or was dropped.",
        seq_bytes: Int = "First payload byte of its stream (tcp); udp: number of the datagram; ping: of the request.",
        payload_bytes: Int = "Payload of the transport layer.",
        ack_bytes: Int = "Next byte expected from the other side (tcp); -1 for udp and ping.",
        tcp_flags: String = "TCP flags that are set: syn, fin, rst, psh, ece, cwr, ae; separated by spaces.",
        cause: String = "Cause of a retransmission: fast, timeout, probe; again: unknown; empty: no retransmission.",
    }
}

table! {
    /// One row per echo request (and per datagram of UDP), where `probes` are kept.
    ProbeRow, PROBES, "probes", {
        time_ns: Int = "Time of sending.",
        flow: String = "Name of the flow.",
        kind: String = "icmp or udp: a round trip; one_way: a datagram to the receiver.",
        probe_number: Int = "Number of the probe, from 0.",
        delay_ns: Int = "Time until the reply, or the whole datagram, arrived; -1: it never did.",
    }
}

table! {
    /// One row per finished application transfer, and per object of a session, even if it did not arrive.
    TransferRow, TRANSFERS, "transfers", {
        flow: String = "Name of the flow.",
        group: String = "Group of the flow; empty: none.",
        session: String = "Name of the session; empty: none.",
        object: String = "Name of a session's object; empty: none.",
        start_ns: Int = "Time at which the application wrote the first byte; of an object: at which it was wanted; -1: never.",
        request_ns: Int = "Time at which the client sent the request; -1: no request.",
        first_byte_ns: Int = "Time at which the first bytes of the response arrived at the client; -1: none.",
        end_ns: Int = "Time at which the last byte reached the receiving application; of an object: -1 if it has not arrived.",
        transfer_bytes: Int = "Payload.",
    }
}

table! {
    /// One row per Multipath TCP connection: what no single subflow has.
    ConnectionRow, CONNECTIONS, "connections", {
        connection: String = "Name of the connection, as in flows.",
        scheduler: String = "Multipath TCP scheduler.",
        subflows: Int = "Subflows that carried data.",
        fell_back: Int = "1: one end lacks Multipath TCP, the connection was plain TCP; -1: unknown.",
        written_bytes: Int = "Payload written by the application; -1 if unknown.",
        acked_bytes: Int = "Payload acknowledged at the connection level; -1 if unknown.",
        delivered_bytes: Int = "Unique payload that arrived in order.",
        carried_bytes: Int = "Payload that arrived in order on each subflow, duplicates included.",
        duplicate_bytes: Int = "Duplicate payload, on the same or another subflow; -1 if unknown.",
        reinjected_bytes: Int = "Payload reinjected: given to a second subflow; -1 if unknown.",
        beyond_window_bytes: Int = "Payload dropped beyond the connection's receive window; -1 if unknown.",
        penalties: Int = "Halvings of the window of a blocking subflow; -1 if unknown.",
        out_of_order_max_bytes: Int = "Maximum payload that waited for earlier bytes of other subflows; -1 if unknown.",
        blocked_ns: Int = "Time in which such payload waited; -1 if unknown.",
    }
}

table! {
    /// One row per program of the scenario, on the kernel's engines. Absent in runs without programs.
    ProgramRow, PROGRAMS, "programs", {
        program: String = "Name of the program.",
        host: String = "Host on which it ran.",
        command: String = "Program and arguments, with the addresses of hosts in place of their names.",
        outcome: String = "exited; signalled; stopped: ended by the experiment's stop or end; output limit; not started: why.",
        start_ns: Int = "Start; -1: not started.",
        end_ns: Int = "End of its first process; -1: not started.",
        exit_code: Int = "Exit code; -1: none.",
        signal: Int = "Signal that ended it; -1: none.",
        output_bytes: Int = "Size of its standard output.",
        errors_bytes: Int = "Size of its standard error.",
        output: String = "Standard output, its beginning; bytes that are not UTF-8 replaced.",
        errors: String = "Standard error, its beginning.",
    }
}

table! {
    /// One row per file that a program left in its working folder.
    ProgramFileRow, PROGRAM_FILES, "program_files", {
        program: String = "Name of the program.",
        path: String = "Path in its working folder.",
        size_bytes: Int = "Size of the file.",
        content: String = "Its content as text, its beginning; bytes that are not UTF-8 replaced.",
    }
}

table! {
    /// State of each TCP socket of hosts that run programs, one row per connected socket and sampling interval, as `ss -ti` prints it.
    SocketRow, SOCKETS, "sockets", {
        time_ns: Int = "Time of the row.",
        host: String = "Host of the socket.",
        local: String = "Its address and port.",
        remote: String = "Address and port of the other end.",
        tcp_state: String = "State of the connection (RFC 9293 §3.3.2): ESTABLISHED, FIN-WAIT-1, ….",
        congestion_control: String = "Congestion control, by Linux's name.",
        state: String = "Linux's congestion state: Open, Disorder, CWR, Recovery, Loss.",
        cwnd_packets: Int = "Congestion window.",
        ssthresh_packets: Int = "Slow-start threshold; 2147483647 before the first loss.",
        in_flight_packets: Int = "Packets sent and not acknowledged, less SACKed and lost, plus retransmitted.",
        srtt_ns: Int = "Smoothed RTT; -1 before the first measurement.",
        rttvar_ns: Int = "RTT variation; -1 before the first measurement.",
        rtt_min_ns: Int = "Windowed minimum RTT; -1 before the first measurement.",
        rto_ns: Int = "Retransmission time-out, back-off included.",
        pacing_bps: Int = "Pacing rate; -1: none.",
        delivery_rate_bps: Int = "Last delivery rate measured over a round trip, payload; -1 if unknown.",
        receive_queue_bytes: Int = "Bytes that arrived and were not read.",
        send_queue_bytes: Int = "Bytes written and not acknowledged.",
        acked_bytes: Int = "Payload acknowledged so far.",
        received_bytes: Int = "Payload received in order so far.",
        retransmitted_packets: Int = "Retransmitted segments so far.",
    }
}

/// All tables, in the order of the digest. The last three are part of it only in runs with programs.
pub static ALL: &[&TableSpec] = &[
    &FLOWS,
    &PIPES,
    &TRANSFERS,
    &SAMPLES,
    &QUEUES,
    &DROPS,
    &PACKETS,
    &PROBES,
    &CONNECTIONS,
    &HOPS,
    &PROGRAMS,
    &PROGRAM_FILES,
    &SOCKETS,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_sets_nothing_is_unknown() {
        let tables = [
            FlowRow::table(&[FlowRow::default()]),
            PipeRow::table(&[PipeRow::default()]),
            TransferRow::table(&[TransferRow::default()]),
            SampleRow::table(&[SampleRow::default()]),
            QueueRow::table(&[QueueRow::default()]),
            DropRow::table(&[DropRow::default()]),
            PacketRow::table(&[PacketRow::default()]),
            ProbeRow::table(&[ProbeRow::default()]),
            ConnectionRow::table(&[ConnectionRow::default()]),
            HopRow::table(&[HopRow::default()]),
            ProgramRow::table(&[ProgramRow::default()]),
            ProgramFileRow::table(&[ProgramFileRow::default()]),
            SocketRow::table(&[SocketRow::default()]),
        ];
        assert_eq!(tables.len(), ALL.len());
        for table in &tables {
            for (spec, column) in table.spec.columns.iter().zip(&table.columns) {
                let unknown = match column {
                    Column::Int(values) => values.to_vec() == [-1],
                    Column::Float(values) => values.to_vec()[0].is_nan(),
                    Column::Text(values) => values.to_vec()[0].is_empty(),
                };
                assert!(unknown, "{}.{}", table.spec.name, spec.name);
            }
        }
    }

    #[test]
    fn names_are_unique_and_every_column_is_explained() {
        for table in ALL {
            let mut names: Vec<_> = table.columns.iter().map(|c| c.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), table.columns.len(), "{}", table.name);
            assert!(table.columns.iter().all(|c| c.meaning.ends_with('.')), "{}", table.name);
        }
    }
}
