//! Known columns of the result tables, by origin of a table. `docs/tables.md` shows them; a test compares
//! them with a run of every engine.

use crate::tables::{TableSpec, ALL};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Origin of result tables: an engine, a reader of traces, or files of other tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Name on pages: that of an engine, `trace`, or `measured`.
    pub name: &'static str,
    /// Tables and columns that are never known. No columns: the whole table is empty.
    pub unknown: &'static [(&'static str, &'static [&'static str])],
}

/// All origins. The engine netns fills the same columns as linux.
pub const ORIGINS: &[Origin] = &[
    Origin {
        name: "sim",
        unknown: &[
            ("samples", &["busy_ns", "rwnd_limited_ns", "sndbuf_limited_ns"]),
            ("programs", &[]),
            ("program_files", &[]),
            ("sockets", &[]),
        ],
    },
    Origin {
        name: "linux",
        unknown: &[
            (
                "flows",
                &[
                    "received_bytes",
                    "fast_retransmitted_packets",
                    "timeout_retransmitted_packets",
                    "probe_retransmitted_packets",
                    "spurious_retransmitted_packets",
                    "paws_rejected_packets",
                    "timeouts",
                    "recoveries",
                    "undos",
                    "reordered_packets",
                    "reordering_extent_mean_packets",
                    "reordering_extent_max_packets",
                ],
            ),
            (
                "pipes",
                &["queue_max_packets", "queue_mean_packets", "sojourn_mean_ns", "sojourn_max_ns"],
            ),
            ("queues", &["sojourn_mean_ns", "sojourn_min_ns", "sojourn_p99_ns", "average_bytes"]),
            ("drops", &[]),
            (
                "connections",
                &[
                    "duplicate_bytes",
                    "reinjected_bytes",
                    "beyond_window_bytes",
                    "penalties",
                    "out_of_order_max_bytes",
                    "blocked_ns",
                ],
            ),
        ],
    },
    Origin {
        name: "trace",
        unknown: &[
            (
                "flows",
                &[
                    "connection",
                    "congestion_control",
                    "codec",
                    "established_ns",
                    "fast_retransmitted_packets",
                    "timeout_retransmitted_packets",
                    "probe_retransmitted_packets",
                    "spurious_retransmitted_packets",
                    "paws_rejected_packets",
                    "timeouts",
                    "recoveries",
                    "undos",
                    "reordering_packets",
                    "reordered_packets",
                    "reordering_extent_mean_packets",
                    "reordering_extent_max_packets",
                    "cwnd_max_packets",
                    "cwnd_mean_packets",
                    "in_flight_mean_packets",
                    "srtt_mean_ns",
                    "rtt_min_ns",
                    "rtt_mean_ns",
                    "tap",
                    "tap_data_packets",
                    "tap_retransmissions",
                    "tap_rtt_samples",
                    "tap_rtt_mean_ns",
                    "tap_rtt_min_ns",
                    "tap_rtt_max_ns",
                    "tap_acks",
                    "tap_acks_with_sack",
                    "tap_sack_blocks",
                ],
            ),
            ("pipes", &["marked_packets"]),
            ("transfers", &[]),
            (
                "samples",
                &[
                    "state",
                    "cwnd_packets",
                    "ssthresh_packets",
                    "in_flight_packets",
                    "sacked_packets",
                    "lost_packets",
                    "reordering_packets",
                    "srtt_ns",
                    "rttvar_ns",
                    "rtt_min_ns",
                    "rto_ns",
                    "pacing_bps",
                    "rwnd_bytes",
                    "unsent_bytes",
                    "acked_bytes",
                    "delivered_packets",
                    "delivery_rate_bps",
                    "app_limited",
                    "spurious_packets",
                    "delivered_ce_packets",
                    "busy_ns",
                    "rwnd_limited_ns",
                    "sndbuf_limited_ns",
                ],
            ),
            (
                "queues",
                &[
                    "sojourn_min_ns",
                    "sojourn_p99_ns",
                    "qdisc",
                    "dropping",
                    "drop_count",
                    "drop_next_ns",
                    "drop_probability",
                    "average_bytes",
                    "new_flows",
                    "old_flows",
                    "dropped_overflow_packets",
                    "dropped_aqm_packets",
                    "marked_packets",
                ],
            ),
            ("packets", &[]),
            ("probes", &[]),
            ("connections", &[]),
            ("programs", &[]),
            ("program_files", &[]),
            ("sockets", &[]),
        ],
    },
    Origin {
        name: "measured",
        unknown: &[
            (
                "flows",
                &[
                    "group",
                    "connection",
                    "codec",
                    "last_delivery_ns",
                    "fast_retransmitted_packets",
                    "timeout_retransmitted_packets",
                    "probe_retransmitted_packets",
                    "spurious_retransmitted_packets",
                    "paws_rejected_packets",
                    "timeouts",
                    "recoveries",
                    "undos",
                    "dropped_packets",
                    "reordering_packets",
                    "reordered_packets",
                    "reordering_extent_mean_packets",
                    "reordering_extent_max_packets",
                    "in_flight_mean_packets",
                    "tap",
                    "tap_data_packets",
                    "tap_retransmissions",
                    "tap_rtt_samples",
                    "tap_rtt_mean_ns",
                    "tap_rtt_min_ns",
                    "tap_rtt_max_ns",
                    "tap_acks",
                    "tap_acks_with_sack",
                    "tap_sack_blocks",
                ],
            ),
            (
                "samples",
                &[
                    "spurious_packets",
                    "delivered_ce_packets",
                    "rwnd_limited_ns",
                    "sndbuf_limited_ns",
                ],
            ),
            (
                "transfers",
                &["group", "session", "object", "request_ns", "first_byte_ns", "transfer_bytes"],
            ),
            ("pipes", &[]),
            ("queues", &[]),
            ("drops", &[]),
            ("packets", &[]),
            ("connections", &[]),
            ("hops", &[]),
            ("programs", &[]),
            ("program_files", &[]),
            ("sockets", &[]),
        ],
    },
];

impl Origin {
    /// Returns true if a column of a table is ever known.
    pub fn knows(&self, table: &str, column: &str) -> bool {
        let found = self.unknown.iter().find(|(name, _)| *name == table);
        found.is_none_or(|(_, columns)| !columns.is_empty() && !columns.contains(&column))
    }

    fn known_columns(&self, table: &TableSpec) -> Vec<&'static str> {
        let names = table.columns.iter().map(|column| column.name);
        names.filter(|name| self.knows(table.name, name)).collect()
    }
}

impl Serialize for Origin {
    /// Writes the known columns by table.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tables = serializer.serialize_map(Some(ALL.len()))?;
        for table in ALL {
            tables.serialize_entry(table.name, &self.known_columns(table))?;
        }
        tables.end()
    }
}

/// [`ORIGINS`] for Python: known columns by name and table.
#[derive(Clone, Copy, Debug)]
pub struct KnownColumns;

impl Serialize for KnownColumns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(ORIGINS.iter().map(|origin| (origin.name, origin)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_columns_are_columns() {
        for origin in ORIGINS {
            for (name, columns) in origin.unknown {
                let table = ALL.iter().find(|table| table.name == *name);
                let known = |column: &&str| {
                    table.is_some_and(|table| table.columns.iter().any(|c| c.name == *column))
                };
                assert!(table.is_some() && columns.iter().all(known), "{}: {name}", origin.name);
            }
        }
        assert!(ORIGINS[0].knows("flows", "timeouts") && !ORIGINS[1].knows("flows", "timeouts"));
        assert!(!ORIGINS[1].knows("drops", "time_ns"));
    }
}
