//! The result tables: names, types, units and meaning of every column. Engines fill them, Python
//! stores them, the documentation page is generated from here.
//!
//! Units are suffixes: `_ns`, `_bytes`, `_packets`, `_bps`. In integer columns -1 means "never" or
//! "not known"; in float columns NaN does.

/// What a column holds.
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
    /// Its name, unit last.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// What it means.
    pub meaning: &'static str,
}

/// One table.
#[derive(Clone, Copy, Debug)]
pub struct TableSpec {
    /// Its name.
    pub name: &'static str,
    /// What a row is.
    pub meaning: &'static str,
    /// Its columns.
    pub columns: &'static [ColumnSpec],
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Integers.
    Int(Vec<i64>),
    /// Floats.
    Float(Vec<f64>),
    /// Texts.
    Text(Vec<String>),
}

/// A filled table; columns in the order of the specification.
#[derive(Clone, Debug)]
pub struct Table {
    /// What it holds.
    pub spec: &'static TableSpec,
    /// One entry per column of the specification, all of equal length.
    pub columns: Vec<Column>,
}

macro_rules! column_kind {
    (i64) => {
        Kind::Int
    };
    (f64) => {
        Kind::Float
    };
    (String) => {
        Kind::Text
    };
}
macro_rules! column_values {
    (i64, $rows:ident, $field:ident) => {
        Column::Int($rows.iter().map(|r| r.$field).collect())
    };
    (f64, $rows:ident, $field:ident) => {
        Column::Float($rows.iter().map(|r| r.$field).collect())
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
            /// The rows as a table.
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
        start_ns: i64 = "First packet sent (SYN, datagram, request), start jitter included.",
        established_ns: i64 = "Handshake finished at the sender; start_ns for udp and ping.",
        last_delivery_ns: i64 = "Last payload byte handed to the receiving transport's in-order stream.",
        end_ns: i64 = "Everything acknowledged after the source stopped, or the end of the run.",
        delivered_bytes: i64 = "Unique payload bytes that arrived in order at the receiver.",
        sent_packets: i64 = "Packets the sender put on its link, retransmissions and control included.",
        sent_bytes: i64 = "Their Ethernet frames without FCS.",
        data_packets: i64 = "Packets with payload put on the link, retransmissions included.",
        received_packets: i64 = "Packets of the sender that arrived at the receiving host.",
        received_bytes: i64 = "Their Ethernet frames without FCS.",
        retransmitted_packets: i64 = "Segments sent again by the sender (Linux tcpi_total_retrans).",
        fast_retransmitted_packets: i64 = "Those sent in Recovery.",
        timeout_retransmitted_packets: i64 = "Those sent in Loss, after a time-out.",
        probe_retransmitted_packets: i64 = "Those sent as tail loss probes.",
        spurious_retransmitted_packets: i64 = "Retransmissions whose payload the receiver already had, by the simulator's knowledge.",
        paws_rejected_packets: i64 = "Data packets the receiver refused because their timestamp was older than one in order (RFC 7323 §5).",
        timeouts: i64 = "Retransmission time-outs.",
        recoveries: i64 = "Entries into Recovery.",
        undos: i64 = "Window reductions taken back (DSACK, Eifel or F-RTO).",
        dropped_packets: i64 = "Packets of this flow, both directions, that were dropped anywhere.",
        reordering_packets: i64 = "Sender's reordering degree at the end (Linux tcpi_reordering).",
        reordered_packets: i64 = "Data packets that arrived after one sent later (RFC 4737 §3, Type-P-Reordered; retransmissions count as new packets).",
        reordering_extent_mean_packets: f64 = "Mean reordering extent of the reordered packets (RFC 4737 §4.2.1).",
        reordering_extent_max_packets: i64 = "Largest reordering extent.",
        cwnd_max_packets: i64 = "Largest sampled congestion window.",
        cwnd_mean_packets: f64 = "Mean of the congestion window, sampled every sampling interval from establishment to the flow's `stop` or its end.",
        in_flight_mean_packets: f64 = "Mean of packets in flight, sampled alike.",
        srtt_mean_ns: f64 = "Mean of the smoothed RTT, sampled alike.",
        rtt_min_ns: i64 = "Smallest RTT the sender measured (ping: smallest round trip).",
        rtt_mean_ns: f64 = "Mean round trip of ping; NaN for others.",
        tap: String = "The first tap of the scenario that saw the flow's data; the tap_ columns are taken there.",
        tap_data_packets: i64 = "Packets with payload seen at the tap.",
        tap_retransmissions: i64 = "Of these, packets that the sender had sent before, lost ahead of the tap or not (docs/captures.md).",
        tap_rtt_samples: i64 = "Data segments seen once, and then covered by a cumulative ACK.",
        tap_rtt_mean_ns: f64 = "Mean time from such a segment to the first cumulative ACK of its last byte.",
        tap_rtt_min_ns: i64 = "Smallest of these.",
        tap_rtt_max_ns: i64 = "Largest of these.",
        tap_acks: i64 = "Packets of the receiver seen at the tap.",
        tap_acks_with_sack: i64 = "Of these, packets with at least one SACK block.",
        tap_sack_blocks: i64 = "SACK blocks in all of these.",
    }
}

table! {
    /// State of each TCP sender over time, one row per flow and sampling interval.
    SampleRow, SAMPLES, "samples", {
        time_ns: i64 = "When.",
        flow: String = "Name of the flow.",
        state: String = "Linux's congestion state: Open, Disorder, CWR, Recovery, Loss.",
        cwnd_packets: i64 = "Congestion window.",
        ssthresh_packets: i64 = "Slow-start threshold; 2147483647 before the first loss.",
        in_flight_packets: i64 = "Packets out, less SACKed and lost, plus retransmitted.",
        sacked_packets: i64 = "SACKed and not yet acknowledged.",
        lost_packets: i64 = "Marked lost and not yet acknowledged.",
        reordering_packets: i64 = "Reordering degree.",
        srtt_ns: i64 = "Smoothed RTT.",
        rttvar_ns: i64 = "RTT variation.",
        rtt_min_ns: i64 = "Windowed minimum RTT.",
        rto_ns: i64 = "Retransmission time-out, back-off included.",
        pacing_bps: i64 = "Pacing rate; -1 if not paced.",
        rwnd_bytes: i64 = "Receiver's window as the sender knows it.",
        unsent_bytes: i64 = "Written by the application and not sent yet.",
        acked_bytes: i64 = "Payload acknowledged so far.",
        delivered_bytes: i64 = "Payload handed in order to the receiver so far (udp: received).",
        retransmitted_packets: i64 = "Segments sent again so far.",
        delivered_packets: i64 = "Segments (S)ACKed so far, as delivery rates count.",
        delivery_rate_bps: i64 = "Last delivery rate measured over a round trip, payload; -1 if unknown.",
        app_limited: i64 = "1 if that rate was limited by the application; -1 if unknown.",
        spurious_packets: i64 = "Segments that a DSACK proved to have arrived twice, so far; -1 if unknown.",
        delivered_ce_packets: i64 = "Delivered with ECN's mark CE so far; -1 if unknown.",
        busy_ns: i64 = "Time with something to send or unacknowledged so far; -1 if unknown.",
        rwnd_limited_ns: i64 = "Of that, limited by the receiver's window; -1 if unknown.",
        sndbuf_limited_ns: i64 = "Of that, limited by the send buffer; -1 if unknown.",
    }
}

table! {
    /// Each queue over time, one row per pipe with a queue and sampling interval.
    QueueRow, QUEUES, "queues", {
        time_ns: i64 = "When.",
        pipe: String = "Link and direction: name/forward or name/backward.",
        queued_packets: i64 = "Packets waiting (netem: packets in delay too).",
        queued_bytes: i64 = "Their frames.",
        sojourn_mean_ns: f64 = "Mean time in the queue of the packets that left since the last row; NaN if none did.",
        sojourn_min_ns: i64 = "Shortest of these; -1 if none left or it is unknown.",
        sojourn_p99_ns: i64 = "The 99th percentile of these; -1 if none left or it is unknown.",
        qdisc: String = "Name of the queue discipline, as in Linux's tc.",
        dropping: i64 = "CoDel drops to control the queue (1) or lets pass (0); -1: not CoDel, or unknown.",
        drop_count: i64 = "CoDel's count: how many drops this episode has taken; -1 likewise.",
        drop_next_ns: i64 = "When CoDel drops next; -1 unless it drops.",
        drop_probability: f64 = "Of PIE, and of RED where its average is; NaN elsewhere.",
        average_bytes: f64 = "RED's average of the queue; NaN elsewhere.",
        new_flows: i64 = "Flows whose turn is the first (FQ-CoDel, FQ-PIE, fq); -1 elsewhere.",
        old_flows: i64 = "Other flows with packets waiting (also SFQ); -1 elsewhere.",
        dropped_packets: i64 = "Dropped here so far, for any reason.",
        dropped_overflow_packets: i64 = "Of these, because the queue was full; -1 if unknown.",
        dropped_aqm_packets: i64 = "Of these, by the discipline to tell of congestion; -1 if unknown.",
        marked_packets: i64 = "ECN-marked here so far.",
        sent_bytes: i64 = "Frames that left so far.",
    }
}

table! {
    /// Totals of each direction of each link over the whole run.
    PipeRow, PIPES, "pipes", {
        pipe: String = "Link and direction: name/forward or name/backward.",
        arrived_packets: i64 = "Offered, duplicates made here included.",
        arrived_bytes: i64 = "Their frames.",
        left_packets: i64 = "Handed to the next node.",
        left_bytes: i64 = "Their frames.",
        dropped_overflow_packets: i64 = "Dropped because the queue was full.",
        dropped_random_packets: i64 = "Dropped by random or bursty loss.",
        dropped_scripted_packets: i64 = "Dropped because the scenario names them.",
        dropped_policed_packets: i64 = "Dropped by the policer.",
        dropped_corrupted_packets: i64 = "Damaged on the way, dropped by their receiver.",
        dropped_aqm_packets: i64 = "Dropped by the queue discipline to tell of congestion (CoDel, PIE, RED).",
        marked_packets: i64 = "ECN-marked by the queue discipline instead.",
        rate_bps: i64 = "What its shaper lets through at the beginning; -1 if there is none.",
        remaining_packets: i64 = "Queued or in propagation at the end.",
        queue_max_packets: i64 = "Most packets that ever waited.",
        queue_mean_packets: f64 = "Mean over time of the packets that waited.",
        sojourn_mean_ns: f64 = "Mean time in the queue of the packets that left it.",
        sojourn_max_ns: i64 = "Longest time in the queue.",
    }
}

table! {
    /// One row per dropped packet.
    DropRow, DROPS, "drops", {
        time_ns: i64 = "When.",
        pipe: String = "Where: link and direction, or a host.",
        reason: String = "overflow, random, scripted, policed, corrupted, aqm, no_reassembly; of an event trace, which says no more: queue (in the queue), line (after it).",
        flow: String = "Whose.",
        seq_bytes: i64 = "First payload byte of its stream (tcp), else the packet's number.",
    }
}

table! {
    /// One row per packet and tap that it passed, within the stretch of time that was asked for. ARP is left out.
    PacketRow, PACKETS, "packets", {
        time_ns: i64 = "When it passed.",
        tap: String = "Name of the tap.",
        flow: String = "Whose.",
        direction: String = "out: from the flow's source; back: to it.",
        packet_number: i64 = "Number of the packet in its flow and direction, in order of sending: the same at every tap.",
        frame_bytes: i64 = "Ethernet frame without FCS.",
        tos: i64 = "Codepoint (upper six bits) and ECN field (lower two; 3: CE) of the IP header.",
        seq_bytes: i64 = "First payload byte of its stream (tcp); -1 for udp and ping.",
        payload_bytes: i64 = "Payload of the transport layer.",
        ack_bytes: i64 = "Next byte expected from the other side (tcp); -1 for udp and ping.",
        sack_ranges_bytes: String = "SACK blocks as in the header, a DSACK first: first byte, a dash, the byte after the last; separated by spaces.",
        tcp_flags: String = "TCP flags that are set: syn, fin, psh, ece, cwr; separated by spaces.",
        window_bytes: i64 = "Advertised window, scaling undone (tcp); -1 for udp and ping.",
    }
}

table! {
    /// One row per packet and direction of a link that it was offered to, within the stretch of time that was asked for. ARP is left out.
    HopRow, HOPS, "hops", {
        offered_ns: i64 = "When it came to the link.",
        leaves_ns: i64 = "When it left the queue: on a serial link its first bit; -1: it never did, or not by the end.",
        ended_ns: i64 = "When it was at the far end, or was dropped; -1: neither by the end.",
        pipe: String = "Link and direction: name/forward or name/backward.",
        dropped: String = "Why it was dropped here, as in drops; unseen: it was not seen at the next tap, and why is not known; empty: it was not dropped.",
        flow: String = "Whose.",
        direction: String = "out: from the flow's source; back: to it.",
        packet_number: i64 = "Number of the packet in its flow and direction, in order of sending: the same at every link.",
        kind: String = "tcp (with payload), ack (TCP without), udp, ping.",
        frame_bytes: i64 = "Ethernet frame without FCS.",
        tos: i64 = "Codepoint (upper six bits) and ECN field (lower two; 3: CE) of the IP header as it left, or was dropped.",
        seq_bytes: i64 = "First payload byte of its stream (tcp); udp: number of the datagram; ping: of the request.",
        payload_bytes: i64 = "Payload of the transport layer.",
        ack_bytes: i64 = "Next byte expected from the other side (tcp); -1 for udp and ping.",
        tcp_flags: String = "TCP flags that are set: syn, fin, psh, ece, cwr; separated by spaces.",
        cause: String = "Why a segment was sent again: fast, timeout, probe; again: unknown which; empty: it was not.",
    }
}

table! {
    /// One row per echo request (and per datagram of UDP), where `probes` are kept.
    ProbeRow, PROBES, "probes", {
        time_ns: i64 = "When it was sent.",
        flow: String = "Whose.",
        kind: String = "icmp or udp: a round trip; one_way: a datagram's way to the receiver.",
        probe_number: i64 = "From 0.",
        delay_ns: i64 = "Until the answer, or the whole datagram, was there; -1: it never was.",
    }
}

table! {
    /// One row per finished application transfer, and per object of a session, which may not have arrived.
    TransferRow, TRANSFERS, "transfers", {
        flow: String = "Name of the flow.",
        group: String = "What it belongs to; empty: to nothing.",
        session: String = "Name of the session; empty: it is none's.",
        object: String = "Name of a session's object; empty: it is none.",
        start_ns: i64 = "The application wrote the first byte; an object: it was wanted; -1: it never was.",
        request_ns: i64 = "The client sent its request; -1: there is none.",
        first_byte_ns: i64 = "The first bytes of the answer arrived at the client; -1: none has, or nothing was asked.",
        end_ns: i64 = "The last byte arrived at the receiving application; an object: -1 if it has not arrived.",
        transfer_bytes: i64 = "Payload.",
    }
}

table! {
    /// One row per Multipath TCP connection: what only the connection as a whole has.
    ConnectionRow, CONNECTIONS, "connections", {
        connection: String = "Name of the connection, as of its row in flows.",
        scheduler: String = "Who decides which subflow carries what.",
        subflows: i64 = "Subflows that carried data.",
        fell_back: i64 = "1: one end does not speak Multipath TCP, and this was plain TCP; -1: unknown.",
        written_bytes: i64 = "Payload that the application has written; -1 if unknown.",
        acked_bytes: i64 = "Of that, acknowledged at the level of the connection; -1 if unknown.",
        delivered_bytes: i64 = "Unique payload that arrived in order.",
        carried_bytes: i64 = "Payload that arrived in order on the subflows, each counted by itself: copies count.",
        duplicate_bytes: i64 = "Payload that arrived once more, on the same or another subflow; -1 if unknown.",
        reinjected_bytes: i64 = "Payload given to a subflow although another had been given it; -1 if unknown.",
        beyond_window_bytes: i64 = "Payload thrown away because it lay beyond the connection's window; -1 if unknown.",
        penalties: i64 = "Halvings of the window of a subflow that held up others; -1 if unknown.",
        out_of_order_max_bytes: i64 = "Most payload that waited for earlier bytes of other subflows; -1 if unknown.",
        blocked_ns: i64 = "Time in which some payload waited so; -1 if unknown.",
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
