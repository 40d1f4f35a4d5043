//! The result tables: names, types, units and meaning of every column. Engines fill them, Python
//! stores them, the documentation page is generated from here.
//!
//! Units are suffixes: `_ns`, `_bytes`, `_packets`, `_bps`. A number that is not set in a row is unknown
//! ([`Int`], [`Float`]), and stored as -1 or NaN. `catalogue::known` says what each engine knows.

mod value;

pub use value::{Float, Int};

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

/// Values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Integers.
    Int(Vec<i64>),
    /// Floats.
    Float(Vec<f64>),
    /// Texts.
    Text(Vec<String>),
}

/// A filled table, with columns in the order of the specification.
#[derive(Clone, Debug)]
pub struct Table {
    /// Specification.
    pub spec: &'static TableSpec,
    /// One entry per column of the specification, all of equal length.
    pub columns: Vec<Column>,
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
macro_rules! column_values {
    (Int, $rows:ident, $field:ident) => {
        Column::Int($rows.iter().map(|r| r.$field.stored()).collect())
    };
    (Float, $rows:ident, $field:ident) => {
        Column::Float($rows.iter().map(|r| r.$field.stored()).collect())
    };
    (String, $rows:ident, $field:ident) => {
        Column::Text($rows.iter().map(|r| r.$field.clone()).collect())
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
                Table { spec: &$spec, columns: vec![$(column_values!($kind, rows, $field),)+] }
            }
        }
    };
}

table! {
    /// One row per flow.
    FlowRow, FLOWS, "flows", {
        flow: String = "Name of the flow.",
        group: String = "What it belongs to; empty: to nothing.",
        kind: String = "tcp, udp, ping; mptcp: a connection over several subflows; subflow: one of these.",
        connection: String = "The connection it is a subflow of; empty: of none.",
        congestion_control: String = "The sender's algorithm; empty unless tcp.",
        codec: String = "What a voice flow carries: g711; empty for all others.",
        from_host: String = "Sending host.",
        to_host: String = "Receiving host.",
        start_ns: Int = "First packet sent (SYN, datagram, request), start jitter included.",
        established_ns: Int = "Handshake finished at the sender; start_ns for udp and ping.",
        last_delivery_ns: Int = "Last payload byte handed to the receiving transport's in-order stream.",
        end_ns: Int = "Everything acknowledged after the source stopped, or the end of the run.",
        delivered_bytes: Int = "Unique payload bytes that arrived in order at the receiver; ping: 0.",
        sent_packets: Int = "Packets the sender put on its link, retransmissions and control included.",
        sent_bytes: Int = "Their Ethernet frames without FCS.",
        data_packets: Int = "Packets with payload put on the link, retransmissions included.",
        received_packets: Int = "Packets of the sender that arrived at the receiving host.",
        received_bytes: Int = "Their Ethernet frames without FCS.",
        retransmitted_packets: Int = "Segments sent again by the sender (Linux tcpi_total_retrans).",
        fast_retransmitted_packets: Int = "Those sent in Recovery.",
        timeout_retransmitted_packets: Int = "Those sent in Loss, after a time-out.",
        probe_retransmitted_packets: Int = "Those sent as tail loss probes.",
        spurious_retransmitted_packets: Int = "Retransmissions whose payload the receiver already had, by the simulator's knowledge.",
        paws_rejected_packets: Int = "Data packets the receiver refused because their timestamp was older than one in order (RFC 7323 §5).",
        timeouts: Int = "Retransmission time-outs.",
        recoveries: Int = "Entries into Recovery.",
        undos: Int = "Window reductions taken back (DSACK, Eifel or F-RTO).",
        dropped_packets: Int = "Packets of this flow, both directions, that were dropped anywhere; a kernel knows it of a flow that is alone.",
        reordering_packets: Int = "Sender's reordering degree at the end (Linux tcpi_reordering).",
        reordered_packets: Int = "Data packets that arrived after one sent later (RFC 4737 §3, Type-P-Reordered; retransmissions count as new packets).",
        reordering_extent_mean_packets: Float = "Mean reordering extent of the reordered packets (RFC 4737 §4.2.1).",
        reordering_extent_max_packets: Int = "Largest reordering extent.",
        cwnd_max_packets: Int = "Largest sampled congestion window.",
        cwnd_mean_packets: Float = "Mean of the congestion window, sampled every sampling interval from establishment to the flow's `stop` or its end.",
        in_flight_mean_packets: Float = "Mean of packets in flight, sampled alike.",
        srtt_mean_ns: Float = "Mean of the smoothed RTT, sampled alike.",
        rtt_min_ns: Int = "Smallest RTT the sender measured (ping: smallest round trip).",
        rtt_mean_ns: Float = "Mean round trip of ping; NaN for others.",
        tap: String = "The first tap of the scenario that saw the flow's data; the tap_ columns are taken there.",
        tap_data_packets: Int = "Packets with payload seen at the tap.",
        tap_retransmissions: Int = "Of these, packets that the sender had sent before, lost ahead of the tap or not (docs/captures.md).",
        tap_rtt_samples: Int = "Data segments seen once, and then covered by a cumulative ACK.",
        tap_rtt_mean_ns: Float = "Mean time from such a segment to the first cumulative ACK of its last byte.",
        tap_rtt_min_ns: Int = "Smallest of these.",
        tap_rtt_max_ns: Int = "Largest of these.",
        tap_acks: Int = "Packets of the receiver seen at the tap.",
        tap_acks_with_sack: Int = "Of these, packets with at least one SACK block.",
        tap_sack_blocks: Int = "SACK blocks in all of these.",
    }
}

table! {
    /// State of each sender over time, one row per flow and sampling interval. Of UDP and ping only what was delivered is known.
    SampleRow, SAMPLES, "samples", {
        time_ns: Int = "When.",
        flow: String = "Name of the flow.",
        state: String = "Linux's congestion state: Open, Disorder, CWR, Recovery, Loss.",
        cwnd_packets: Int = "Congestion window.",
        ssthresh_packets: Int = "Slow-start threshold; 2147483647 before the first loss.",
        in_flight_packets: Int = "Packets out, less SACKed and lost, plus retransmitted.",
        sacked_packets: Int = "SACKed and not yet acknowledged.",
        lost_packets: Int = "Marked lost and not yet acknowledged.",
        reordering_packets: Int = "Reordering degree.",
        srtt_ns: Int = "Smoothed RTT; -1 before the first measurement.",
        rttvar_ns: Int = "RTT variation; -1 before the first measurement.",
        rtt_min_ns: Int = "Windowed minimum RTT.",
        rto_ns: Int = "Retransmission time-out, back-off included.",
        pacing_bps: Int = "Rate with which TCP, or fq at its host, paces now; -1 if nothing does.",
        rwnd_bytes: Int = "Receiver's window as the sender knows it.",
        unsent_bytes: Int = "Written by the application and not sent yet.",
        acked_bytes: Int = "Payload acknowledged so far.",
        delivered_bytes: Int = "Payload handed in order to the receiver so far (udp: received).",
        retransmitted_packets: Int = "Segments sent again so far.",
        delivered_packets: Int = "Segments (S)ACKed so far, as delivery rates count.",
        delivery_rate_bps: Int = "Last delivery rate measured over a round trip, payload; -1 if unknown.",
        app_limited: Int = "1 if that rate was limited by the application; -1 if the rate is unknown.",
        spurious_packets: Int = "Segments that a DSACK proved to have arrived twice, so far; -1 if unknown.",
        delivered_ce_packets: Int = "Delivered with ECN's mark CE so far; -1 if unknown.",
        busy_ns: Int = "Time with something to send or unacknowledged so far; -1 if unknown.",
        rwnd_limited_ns: Int = "Of that, limited by the receiver's window; -1 if unknown.",
        sndbuf_limited_ns: Int = "Of that, limited by the send buffer; -1 if unknown.",
    }
}

table! {
    /// Each queue over time, one row per pipe with a queue and sampling interval.
    QueueRow, QUEUES, "queues", {
        time_ns: Int = "When.",
        pipe: String = "Link and direction: name/forward or name/backward.",
        queued_packets: Int = "Packets waiting (netem: packets in delay too).",
        queued_bytes: Int = "Their frames.",
        sojourn_mean_ns: Float = "Mean time in the queue of the packets that left since the last row; NaN if none did.",
        sojourn_min_ns: Int = "Shortest of these; -1 if none left or it is unknown.",
        sojourn_p99_ns: Int = "The 99th percentile of these; -1 if none left or it is unknown.",
        qdisc: String = "Name of the queue discipline, as in Linux's tc.",
        dropping: Int = "CoDel drops to control the queue (1) or lets pass (0); -1: not CoDel, or unknown.",
        drop_count: Int = "CoDel's count: how many drops this episode has taken; -1 likewise.",
        drop_next_ns: Int = "When CoDel drops next; -1 unless it drops.",
        drop_probability: Float = "Of PIE, and of RED where its average is; NaN elsewhere.",
        average_bytes: Float = "RED's average of the queue; NaN elsewhere.",
        new_flows: Int = "Flows whose turn is the first (FQ-CoDel, FQ-PIE, fq); -1 elsewhere.",
        old_flows: Int = "Other flows with packets waiting (also SFQ); -1 elsewhere.",
        dropped_packets: Int = "Dropped here so far, for any reason; -1 if unknown: on a kernel, where there is a policer.",
        dropped_overflow_packets: Int = "Of these, because the queue was full; -1 if unknown.",
        dropped_aqm_packets: Int = "Of these, by the discipline to tell of congestion; -1 if unknown.",
        marked_packets: Int = "ECN-marked here so far.",
        sent_bytes: Int = "Frames that left so far.",
    }
}

table! {
    /// Totals of each direction of each link over the whole run.
    PipeRow, PIPES, "pipes", {
        pipe: String = "Link and direction: name/forward or name/backward.",
        arrived_packets: Int = "Offered, duplicates made here included; -1 if unknown: on a kernel, where there is a policer.",
        arrived_bytes: Int = "Their frames.",
        left_packets: Int = "Handed to the next node.",
        left_bytes: Int = "Their frames.",
        dropped_overflow_packets: Int = "Dropped because the queue was full; -1, as the next, where a kernel counts both in one: random loss in the queue's netem.",
        dropped_random_packets: Int = "Dropped by random or bursty loss.",
        dropped_scripted_packets: Int = "Dropped because the scenario names them.",
        dropped_policed_packets: Int = "Dropped by the policer; a kernel does not tell.",
        dropped_corrupted_packets: Int = "Damaged on the way, dropped by their receiver; a kernel does not tell.",
        dropped_aqm_packets: Int = "Dropped by the queue discipline to tell of congestion (CoDel, PIE, RED).",
        marked_packets: Int = "ECN-marked by the queue discipline instead.",
        rate_bps: Int = "What its shaper lets through at the beginning; -1 if there is none.",
        remaining_packets: Int = "Queued or in propagation at the end.",
        queue_max_packets: Int = "Most packets that ever waited.",
        queue_mean_packets: Float = "Mean over time of the packets that waited.",
        sojourn_mean_ns: Float = "Mean time in the queue of the packets that left it.",
        sojourn_max_ns: Int = "Longest time in the queue.",
    }
}

table! {
    /// One row per dropped packet.
    DropRow, DROPS, "drops", {
        time_ns: Int = "When.",
        pipe: String = "Where: link and direction, or a host.",
        reason: String = "overflow, random, scripted, policed, corrupted, aqm, no_reassembly; of an event trace, which says no more: queue (in the queue), line (after it).",
        flow: String = "Whose.",
        seq_bytes: Int = "First payload byte of its stream (tcp), else the packet's number.",
    }
}

table! {
    /// One row per packet and tap that it passed, within the stretch of time that was asked for. ARP is left out.
    PacketRow, PACKETS, "packets", {
        time_ns: Int = "When it passed.",
        tap: String = "Name of the tap.",
        flow: String = "Whose.",
        direction: String = "out: from the flow's source; back: to it.",
        packet_number: Int = "Number of the packet in its flow and direction, in order of sending: the same at every tap.",
        frame_bytes: Int = "Ethernet frame without FCS.",
        tos: Int = "Codepoint (upper six bits) and ECN field (lower two; 3: CE) of the IP header.",
        seq_bytes: Int = "First payload byte of its stream (tcp); -1 for udp and ping.",
        payload_bytes: Int = "Payload of the transport layer.",
        ack_bytes: Int = "Next byte expected from the other side (tcp); -1 for udp and ping.",
        sack_ranges_bytes: String = "SACK blocks as in the header, a DSACK first: first byte, a dash, the byte after the last; separated by spaces.",
        tcp_flags: String = "TCP flags that are set: syn, fin, psh, ece, cwr; separated by spaces.",
        window_bytes: Int = "Advertised window, scaling undone (tcp); -1 for udp and ping.",
    }
}

table! {
    /// One row per packet and direction of a link that it was offered to, within the stretch of time that was asked for. ARP is left out.
    HopRow, HOPS, "hops", {
        offered_ns: Int = "When it came to the link.",
        leaves_ns: Int = "When it left the queue: on a serial link its first bit; -1: it never did, or not by the end.",
        ended_ns: Int = "When it was at the far end, or was dropped; -1: neither by the end.",
        pipe: String = "Link and direction: name/forward or name/backward.",
        dropped: String = "Why it was dropped here, as in drops; unseen: it was not seen at the next tap, and why is not known; empty: it was not dropped.",
        flow: String = "Whose.",
        direction: String = "out: from the flow's source; back: to it.",
        packet_number: Int = "Number of the packet in its flow and direction, in order of sending: the same at every link.",
        kind: String = "tcp (with payload), ack (TCP without), udp, ping.",
        frame_bytes: Int = "Ethernet frame without FCS.",
        tos: Int = "Codepoint (upper six bits) and ECN field (lower two; 3: CE) of the IP header as it left, or was dropped.",
        seq_bytes: Int = "First payload byte of its stream (tcp); udp: number of the datagram; ping: of the request.",
        payload_bytes: Int = "Payload of the transport layer.",
        ack_bytes: Int = "Next byte expected from the other side (tcp); -1 for udp and ping.",
        tcp_flags: String = "TCP flags that are set: syn, fin, psh, ece, cwr; separated by spaces.",
        cause: String = "Why a segment was sent again: fast, timeout, probe; again: unknown which; empty: it was not.",
    }
}

table! {
    /// One row per echo request (and per datagram of UDP), where `probes` are kept.
    ProbeRow, PROBES, "probes", {
        time_ns: Int = "When it was sent.",
        flow: String = "Whose.",
        kind: String = "icmp or udp: a round trip; one_way: a datagram's way to the receiver.",
        probe_number: Int = "From 0.",
        delay_ns: Int = "Until the answer, or the whole datagram, was there; -1: it never was.",
    }
}

table! {
    /// One row per finished application transfer, and per object of a session, which may not have arrived.
    TransferRow, TRANSFERS, "transfers", {
        flow: String = "Name of the flow.",
        group: String = "What it belongs to; empty: to nothing.",
        session: String = "Name of the session; empty: it is none's.",
        object: String = "Name of a session's object; empty: it is none.",
        start_ns: Int = "The application wrote the first byte; an object: it was wanted; -1: it never was.",
        request_ns: Int = "The client sent its request; -1: there is none.",
        first_byte_ns: Int = "The first bytes of the answer arrived at the client; -1: none has, or nothing was asked.",
        end_ns: Int = "The last byte arrived at the receiving application; an object: -1 if it has not arrived.",
        transfer_bytes: Int = "Payload.",
    }
}

table! {
    /// One row per Multipath TCP connection: what only the connection as a whole has.
    ConnectionRow, CONNECTIONS, "connections", {
        connection: String = "Name of the connection, as of its row in flows.",
        scheduler: String = "Who decides which subflow carries what.",
        subflows: Int = "Subflows that carried data.",
        fell_back: Int = "1: one end does not speak Multipath TCP, and this was plain TCP; -1: unknown.",
        written_bytes: Int = "Payload that the application has written; -1 if unknown.",
        acked_bytes: Int = "Of that, acknowledged at the level of the connection; -1 if unknown.",
        delivered_bytes: Int = "Unique payload that arrived in order.",
        carried_bytes: Int = "Payload that arrived in order on the subflows, each counted by itself: copies count.",
        duplicate_bytes: Int = "Payload that arrived once more, on the same or another subflow; -1 if unknown.",
        reinjected_bytes: Int = "Payload given to a subflow although another had been given it; -1 if unknown.",
        beyond_window_bytes: Int = "Payload thrown away because it lay beyond the connection's window; -1 if unknown.",
        penalties: Int = "Halvings of the window of a subflow that held up others; -1 if unknown.",
        out_of_order_max_bytes: Int = "Most payload that waited for earlier bytes of other subflows; -1 if unknown.",
        blocked_ns: Int = "Time in which some payload waited so; -1 if unknown.",
    }
}

/// All tables, in the order of the digest.
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
        ];
        assert_eq!(tables.len(), ALL.len());
        for table in &tables {
            for (spec, column) in table.spec.columns.iter().zip(&table.columns) {
                let unknown = match column {
                    Column::Int(values) => values == &[-1],
                    Column::Float(values) => values[0].is_nan(),
                    Column::Text(values) => values[0].is_empty(),
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
