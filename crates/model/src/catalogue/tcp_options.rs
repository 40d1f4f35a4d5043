//! TCP options of a host, in the order of the scenario. [`TcpOptions`](crate::TcpOptions) holds the
//! fields.

use super::parameter::{choice, of_unit, Parameter, Unit};
use serde::Serialize;

/// Description of a TCP option.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Names, unit and range. The name in experiment files is that of the sysctl, if there is one.
    pub parameter: Parameter,
    /// Setting of Linux.
    pub setting: Setting,
    /// First release of Linux that has it; empty: none or all.
    pub since: &'static str,
    /// RFC or paper; empty: only Linux describes it.
    pub source: &'static str,
}

/// Setting of Linux that an option sets. The profile gives its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// Sysctl.
    Sysctl(&'static str),
    /// Attribute of a route.
    Route(&'static str),
    /// Attribute of the interface.
    Device(&'static str),
    /// Parameter of a module.
    Module(&'static str),
    /// Option of the kernel's build.
    Build(&'static str),
    /// Behaviour of the kernel's release: the engine linux has that of its kernel.
    Release,
    /// Not in current kernels: only the simulator has it.
    Absent,
}

const U32: u64 = u32::MAX as u64;
/// Default of every option.
const PROFILE: &str = "the profile";

/// All options.
pub const ENTRIES: &[Entry] = &[
    Entry {
        parameter: of_unit("hz", Unit::Number)
            .within(100, 1000)
            .derived(PROFILE)
            .at("hz", "ticks per second of the kernel's timers"),
        setting: Setting::Build("CONFIG_HZ"),
        since: "2.6.13",
        source: "",
    },
    Entry {
        parameter: of_unit("mtu", Unit::Bytes)
            .within(88, 65_535)
            .derived(PROFILE)
            .at("mtu_bytes", "IP MTU of the host's interface"),
        setting: Setting::Device("mtu"),
        since: "2.2",
        source: "RFC 791",
    },
    Entry {
        parameter: of_unit("gso", Unit::Flag)
            .derived(PROFILE)
            .at("gso", "TCP builds GSO segments of about 1 ms at the pacing rate"),
        setting: Setting::Device("gso_max_segs"),
        since: "2.6.17",
        source: "",
    },
    Entry {
        parameter: of_unit("initcwnd", Unit::Number)
            .within(1, 1000)
            .derived(PROFILE)
            .at("initcwnd", "initial congestion window, segments"),
        setting: Setting::Route("initcwnd"),
        since: "2.5.70",
        source: "RFC 6928",
    },
    Entry {
        parameter: of_unit("initrwnd", Unit::Number)
            .within(0, U32)
            .derived(PROFILE)
            .at("initrwnd", "initial receive window, segments; 0: Linux's rule"),
        setting: Setting::Route("initrwnd"),
        since: "2.6.33",
        source: "",
    },
    Entry {
        parameter: of_unit("ssthresh", Unit::Number).within(0, U32).derived(PROFILE).at(
            "ssthresh",
            "initial slow-start threshold, as cached for the destination, segments; 0: none",
        ),
        setting: Setting::Absent,
        since: "",
        source: "RFC 5681",
    },
    Entry {
        parameter: of_unit("rto_min", Unit::Time)
            .within(1, u64::MAX)
            .derived(PROFILE)
            .at("rto_min_ns", "lower bound of the RTO"),
        setting: Setting::Route("rto_min"),
        since: "2.6.23",
        source: "RFC 6298",
    },
    Entry {
        parameter: of_unit("rto_initial", Unit::Time)
            .within(1, u64::MAX)
            .derived(PROFILE)
            .at("rto_initial_ns", "RTO before the first sample (TCP_TIMEOUT_INIT), at most 120 s"),
        setting: Setting::Absent,
        since: "",
        source: "RFC 6298 §2.1",
    },
    Entry {
        parameter: choice("delayed_ack", &["adaptive", "every_second", "never"])
            .derived(PROFILE)
            .at("delayed_ack", "when data in order is acknowledged; no kernel has `every_second`"),
        setting: Setting::Route("quickack"),
        since: "3.11",
        source: "RFC 1122 §4.2.3.2",
    },
    Entry {
        parameter: of_unit("tcp_sack", Unit::Flag)
            .derived(PROFILE)
            .at("tcp_sack", "selective acknowledgements"),
        setting: Setting::Sysctl("net.ipv4.tcp_sack"),
        since: "2.2",
        source: "RFC 2018",
    },
    Entry {
        parameter: of_unit("tcp_dsack", Unit::Flag)
            .derived(PROFILE)
            .at("tcp_dsack", "duplicate SACK"),
        setting: Setting::Sysctl("net.ipv4.tcp_dsack"),
        since: "2.4",
        source: "RFC 2883",
    },
    Entry {
        parameter: of_unit("tcp_timestamps", Unit::Flag)
            .derived(PROFILE)
            .at("tcp_timestamps", "timestamps"),
        setting: Setting::Sysctl("net.ipv4.tcp_timestamps"),
        since: "2.2",
        source: "RFC 7323 §3",
    },
    Entry {
        parameter: of_unit("tcp_window_scaling", Unit::Flag)
            .derived(PROFILE)
            .at("tcp_window_scaling", "window scaling"),
        setting: Setting::Sysctl("net.ipv4.tcp_window_scaling"),
        since: "2.2",
        source: "RFC 7323 §2",
    },
    Entry {
        parameter: of_unit("tcp_ecn", Unit::Number)
            .within(0, 5)
            .derived(PROFILE)
            .at(
                "tcp_ecn",
                "ECN: 0 off, 1 requested and accepted, 2 accepted; since Linux 6.18 Accurate ECN: 3 requested \
                 and accepted, 4 accepted and ECN requested, 5 accepted",
            ),
        setting: Setting::Sysctl("net.ipv4.tcp_ecn"),
        since: "2.4",
        source: "RFC 3168, RFC 9768",
    },
    Entry {
        parameter: of_unit("tcp_ecn_option", Unit::Number)
            .within(0, 3)
            .derived(PROFILE)
            .at(
                "tcp_ecn_option",
                "option of Accurate ECN: 0 never; 1 after marks and changes, and tcp_ecn_option_beacon times per RTT; \
                 2 in every segment where it fits; 3 also if segments with it do not arrive",
            ),
        setting: Setting::Sysctl("net.ipv4.tcp_ecn_option"),
        since: "6.18",
        source: "RFC 9768 §3.2.3",
    },
    Entry {
        parameter: of_unit("tcp_ecn_option_beacon", Unit::Number)
            .within(0, 3)
            .derived(PROFILE)
            .at(
                "tcp_ecn_option_beacon",
                "options of Accurate ECN per RTT with tcp_ecn_option 1; 0: only after marks and changes",
            ),
        setting: Setting::Sysctl("net.ipv4.tcp_ecn_option_beacon"),
        since: "6.18",
        source: "RFC 9768 §3.2.3.3",
    },
    Entry {
        parameter: of_unit("tcp_reordering", Unit::Number)
            .within(1, 1000)
            .derived(PROFILE)
            .at("tcp_reordering", "initial reordering degree, packets"),
        setting: Setting::Sysctl("net.ipv4.tcp_reordering"),
        since: "2.4",
        source: "",
    },
    Entry {
        parameter: of_unit("tcp_max_reordering", Unit::Number)
            .within(1, 10000)
            .derived(PROFILE)
            .at("tcp_max_reordering", "upper bound of the reordering degree, packets"),
        setting: Setting::Sysctl("net.ipv4.tcp_max_reordering"),
        since: "3.19",
        source: "",
    },
    Entry {
        parameter: of_unit("tcp_recovery", Unit::Number).within(0, U32).derived(PROFILE).at(
            "tcp_recovery",
            "RACK, as bits: 1 on, 2 static window, 4 no duplicate-ACK threshold; 0: RFC 6675",
        ),
        setting: Setting::Sysctl("net.ipv4.tcp_recovery"),
        since: "4.4",
        source: "RFC 8985",
    },
    Entry {
        parameter: of_unit("tcp_fack", Unit::Flag)
            .derived(PROFILE)
            .at("tcp_fack", "FACK, until Linux 4.14"),
        setting: Setting::Absent,
        since: "2.2",
        source: "Mathis, Mahdavi 1996",
    },
    Entry {
        parameter: of_unit("forward_retransmit", Unit::Flag).derived(PROFILE).at(
            "forward_retransmit",
            "when no new data may be sent, holes not marked lost are retransmitted, until Linux 4.14",
        ),
        setting: Setting::Absent,
        since: "",
        source: "RFC 6675 §4",
    },
    Entry {
        parameter: of_unit("rate_halving", Unit::Flag)
            .derived(PROFILE)
            .at("rate_halving", "in Recovery cwnd falls by a packet with every second ACK, until Linux 3.1"),
        setting: Setting::Absent,
        since: "",
        source: "Mathis et al. 1999",
    },
    Entry {
        parameter: of_unit("tcp_abc", Unit::Number)
            .within(0, 2)
            .derived(PROFILE)
            .at("tcp_abc", "appropriate byte counting, until Linux 3.8"),
        setting: Setting::Absent,
        since: "2.6.15",
        source: "RFC 3465",
    },
    Entry {
        parameter: of_unit("tcp_early_retrans", Unit::Number)
            .within(0, U32)
            .derived(PROFILE)
            .at("tcp_early_retrans", "tail loss probes: 3 on, 0 off"),
        setting: Setting::Sysctl("net.ipv4.tcp_early_retrans"),
        since: "3.10",
        source: "RFC 8985 §7",
    },
    Entry {
        parameter: of_unit("tcp_frto", Unit::Number)
            .within(0, U32)
            .derived(PROFILE)
            .at("tcp_frto", "F-RTO: 2 on, 0 off"),
        setting: Setting::Sysctl("net.ipv4.tcp_frto"),
        since: "2.4.21",
        source: "RFC 5682",
    },
    Entry {
        parameter: of_unit("tcp_comp_sack_nr", Unit::Number)
            .within(0, U32)
            .derived(PROFILE)
            .at("tcp_comp_sack_nr", "duplicate ACKs with SACK that may be compressed; 0: off"),
        setting: Setting::Sysctl("net.ipv4.tcp_comp_sack_nr"),
        since: "4.18",
        source: "",
    },
    Entry {
        parameter: of_unit("tcp_comp_sack_delay_ns", Unit::Time)
            .within(0, u64::MAX)
            .derived(PROFILE)
            .at("tcp_comp_sack_delay_ns", "upper bound of the delay of compressed ACKs"),
        setting: Setting::Sysctl("net.ipv4.tcp_comp_sack_delay_ns"),
        since: "4.18",
        source: "",
    },
    Entry {
        parameter: of_unit("tcp_comp_sack_rtt_percent", Unit::Number)
            .within(1, 1000)
            .derived(PROFILE)
            .at("tcp_comp_sack_rtt_percent", "upper bound of the delay of compressed ACKs, % of the RTT"),
        setting: Setting::Release,
        since: "6.19",
        source: "",
    },
    Entry {
        parameter: of_unit("tcp_comp_sack_slack_ns", Unit::Time)
            .within(0, u64::MAX)
            .derived(PROFILE)
            .at("tcp_comp_sack_slack_ns", "timer slack of the delay of compressed ACKs"),
        setting: Setting::Sysctl("net.ipv4.tcp_comp_sack_slack_ns"),
        since: "5.8",
        source: "",
    },
    Entry {
        parameter: of_unit("tcp_rmem", Unit::Sizes)
            .derived(PROFILE)
            .at("tcp_rmem", "receive buffer: minimum, default, maximum"),
        setting: Setting::Sysctl("net.ipv4.tcp_rmem"),
        since: "2.4",
        source: "",
    },
    Entry {
        parameter: of_unit("tcp_wmem", Unit::Sizes)
            .derived(PROFILE)
            .at("tcp_wmem", "send buffer: minimum, default, maximum"),
        setting: Setting::Sysctl("net.ipv4.tcp_wmem"),
        since: "2.4",
        source: "",
    },
    Entry {
        parameter: of_unit("tcp_moderate_rcvbuf", Unit::Flag)
            .derived(PROFILE)
            .at("tcp_moderate_rcvbuf", "autotuning of the receive buffer"),
        setting: Setting::Sysctl("net.ipv4.tcp_moderate_rcvbuf"),
        since: "2.6.7",
        source: "",
    },
    Entry {
        parameter: of_unit("tcp_adv_win_scale", Unit::Signed).within(0, 31).derived(PROFILE).at(
            "tcp_adv_win_scale",
            "share of the receive buffer that is advertised as window: 1/2 for 1, 3/4 for 2",
        ),
        setting: Setting::Sysctl("net.ipv4.tcp_adv_win_scale"),
        since: "2.4",
        source: "",
    },
    Entry {
        parameter: of_unit("scaling_ratio", Unit::Flag).derived(PROFILE).at(
            "scaling_ratio",
            "measures for each connection which share of the receive buffer to advertise, since Linux 6.6",
        ),
        setting: Setting::Release,
        since: "6.6",
        source: "tcp_measure_rcv_mss",
    },
    Entry {
        parameter: of_unit("skb_small_head", Unit::Flag).derived(PROFILE).at(
            "skb_small_head",
            "skb heads in the send buffer take 704 bytes each, from a cache, since Linux 6.3",
        ),
        setting: Setting::Release,
        since: "6.3",
        source: "skb_small_head_cache",
    },
    Entry {
        parameter: of_unit("grow_skb", Unit::Flag)
            .derived(PROFILE)
            .at("grow_skb", "an skb about to be sent is filled with payload of the next one, since Linux 6.10"),
        setting: Setting::Release,
        since: "6.10",
        source: "tcp_grow_skb",
    },
    Entry {
        parameter: of_unit("fin_beyond_cwnd", Unit::Flag)
            .derived(PROFILE)
            .at("fin_beyond_cwnd", "a last segment with FIN leaves although cwnd is full, until Linux 6.9"),
        setting: Setting::Release,
        since: "",
        source: "tcp_cwnd_test",
    },
    Entry {
        parameter: of_unit("rcvbuf_grow", Unit::Flag)
            .derived(PROFILE)
            .at("rcvbuf_grow", "growth of the receive buffer as since Linux 6.19"),
        setting: Setting::Release,
        since: "6.19",
        source: "tcp_rcvbuf_grow",
    },
    Entry {
        parameter: of_unit("mptcp_sync_sndbuf", Unit::Flag).derived(PROFILE).at(
            "mptcp_sync_sndbuf",
            "send buffer of Multipath TCP: the sum of the subflows', since Linux 6.7",
        ),
        setting: Setting::Release,
        since: "6.7",
        source: "__mptcp_sync_sndbuf",
    },
    Entry {
        parameter: of_unit("mptcp_set_rcvlowat", Unit::Flag).derived(PROFILE).at(
            "mptcp_set_rcvlowat",
            "a subflow of Multipath TCP sends its ACK after the application's read, since Linux 6.8",
        ),
        setting: Setting::Release,
        since: "6.8",
        source: "mptcp_set_rcvlowat",
    },
    Entry {
        parameter: of_unit("mptcp_last_snd", Unit::Flag).derived(PROFILE).at(
            "mptcp_last_snd",
            "a burst of Multipath TCP's scheduler goes on after the event that began it, until Linux 6.5",
        ),
        setting: Setting::Release,
        since: "",
        source: "mptcp_subflow_get_send",
    },
    Entry {
        parameter: of_unit("rack_always", Unit::Flag)
            .derived(PROFILE)
            .at("rack_always", "RACK finds losses whatever `tcp_recovery` says, since Linux 6.17"),
        setting: Setting::Release,
        since: "6.17",
        source: "tcp_identify_packet_loss",
    },
    Entry {
        parameter: of_unit("rx_segment", Unit::Buffer).derived(PROFILE).at(
            "rx_segment",
            "memory charged for a received segment (`skb->truesize`): `pages`, `small_head`, `copied`, or a size",
        ),
        setting: Setting::Device("driver"),
        since: "",
        source: "",
    },
    Entry {
        parameter: of_unit("tcp_limit_output_bytes", Unit::Bytes)
            .within(0, u64::MAX)
            .derived(PROFILE)
            .at("tcp_limit_output_bytes", "bytes of a socket that may wait below TCP (TCP small queues)"),
        setting: Setting::Sysctl("net.ipv4.tcp_limit_output_bytes"),
        since: "3.6",
        source: "",
    },
    Entry {
        parameter: of_unit("queue_at_interface", Unit::Flag)
            .derived(PROFILE)
            .at("queue_at_interface", "queues of the host's links belong to its interface: TCP small queues count them"),
        setting: Setting::Absent,
        since: "",
        source: "",
    },
    Entry {
        parameter: of_unit("tcp_slow_start_after_idle", Unit::Flag)
            .derived(PROFILE)
            .at("tcp_slow_start_after_idle", "cwnd shrinks after an idle RTO"),
        setting: Setting::Sysctl("net.ipv4.tcp_slow_start_after_idle"),
        since: "2.6.17",
        source: "RFC 2861",
    },
    Entry {
        parameter: of_unit("tcp_pacing_ss_ratio", Unit::Number)
            .within(1, 1000)
            .derived(PROFILE)
            .at("tcp_pacing_ss_ratio", "pacing rate in slow start, percent of cwnd/srtt"),
        setting: Setting::Sysctl("net.ipv4.tcp_pacing_ss_ratio"),
        since: "4.3",
        source: "",
    },
    Entry {
        parameter: of_unit("tcp_pacing_ca_ratio", Unit::Number)
            .within(1, 1000)
            .derived(PROFILE)
            .at(
                "tcp_pacing_ca_ratio",
                "pacing rate in congestion avoidance, percent of cwnd/srtt",
            ),
        setting: Setting::Sysctl("net.ipv4.tcp_pacing_ca_ratio"),
        since: "4.3",
        source: "",
    },
    Entry {
        parameter: of_unit("tcp_min_rtt_wlen", Unit::Number)
            .within(1, 86400)
            .derived(PROFILE)
            .at("tcp_min_rtt_wlen", "window of the minimum-RTT filter of RACK and TLP, seconds"),
        setting: Setting::Sysctl("net.ipv4.tcp_min_rtt_wlen"),
        since: "4.4",
        source: "",
    },
    Entry {
        parameter: of_unit("tcp_min_tso_segs", Unit::Number)
            .within(1, 64)
            .derived(PROFILE)
            .at("tcp_min_tso_segs", "minimum segments per TSO burst"),
        setting: Setting::Sysctl("net.ipv4.tcp_min_tso_segs"),
        since: "3.12",
        source: "",
    },
    Entry {
        parameter: of_unit("tcp_retries2", Unit::Number)
            .within(0, U32)
            .derived(PROFILE)
            .at("tcp_retries2", "unanswered retransmissions before a connection is given up"),
        setting: Setting::Sysctl("net.ipv4.tcp_retries2"),
        since: "2.2",
        source: "RFC 1122 §4.2.3.5",
    },
    Entry {
        parameter: of_unit("tcp_syn_retries", Unit::Number)
            .within(0, 127)
            .derived(PROFILE)
            .at("tcp_syn_retries", "unanswered SYNs before a connection is given up"),
        setting: Setting::Sysctl("net.ipv4.tcp_syn_retries"),
        since: "2.2",
        source: "RFC 1122 §4.2.3.5",
    },
    Entry {
        parameter: of_unit("tcp_syn_linear_timeouts", Unit::Number)
            .within(0, 127)
            .derived(PROFILE)
            .at("tcp_syn_linear_timeouts", "unanswered SYNs whose time-out does not double"),
        setting: Setting::Release,
        since: "6.5",
        source: "",
    },
    Entry {
        parameter: of_unit("mptcp_enabled", Unit::Flag)
            .derived(PROFILE)
            .at("mptcp_enabled", "host accepts Multipath TCP; without it, connections fall back to TCP"),
        setting: Setting::Sysctl("net.mptcp.enabled"),
        since: "5.6",
        source: "RFC 8684",
    },
    Entry {
        parameter: of_unit("cubic_hystart", Unit::Flag)
            .derived(PROFILE)
            .at("cubic_hystart", "HyStart of CUBIC"),
        setting: Setting::Module("tcp_cubic.hystart"),
        since: "2.6.29",
        source: "Ha, Rhee 2011",
    },
    Entry {
        parameter: of_unit("cubic_fast_convergence", Unit::Flag)
            .derived(PROFILE)
            .at("cubic_fast_convergence", "fast convergence of CUBIC"),
        setting: Setting::Module("tcp_cubic.fast_convergence"),
        since: "2.6.15",
        source: "RFC 9438 §4.7",
    },
    Entry {
        parameter: of_unit("cubic_tcp_friendliness", Unit::Flag)
            .derived(PROFILE)
            .at("cubic_tcp_friendliness", "Reno-friendly region of CUBIC"),
        setting: Setting::Module("tcp_cubic.tcp_friendliness"),
        since: "2.6.15",
        source: "RFC 9438 §4.3",
    },
    Entry {
        parameter: of_unit("hystart_plus_plus", Unit::Flag)
            .derived(PROFILE)
            .at("hystart_plus_plus", "HyStart++ for Reno, and for CUBIC in place of HyStart"),
        setting: Setting::Absent,
        since: "",
        source: "RFC 9406",
    },
    Entry {
        parameter: choice("search", &["off", "delivered", "sent"])
            .derived(PROFILE)
            .at("search", "SEARCH for Reno, and for CUBIC in place of HyStart"),
        setting: Setting::Absent,
        since: "",
        source: "draft-chung-ccwg-search-09",
    },
    Entry {
        parameter: of_unit("search_rollback", Unit::Flag)
            .derived(PROFILE)
            .at("search_rollback", "SEARCH lowers cwnd to the estimated capacity"),
        setting: Setting::Absent,
        since: "",
        source: "draft-chung-ccwg-search-09",
    },
    Entry {
        parameter: of_unit("saved_cwnd", Unit::Number).within(0, U32).derived(PROFILE).at(
            "saved_cwnd",
            "Careful Resume for Reno and CUBIC: saved window of the path, segments; 0: off",
        ),
        setting: Setting::Absent,
        since: "",
        source: "RFC 9959",
    },
    Entry {
        parameter: of_unit("saved_rtt", Unit::Time)
            .derived(PROFILE)
            .at("saved_rtt_ns", "saved RTT of the path for Careful Resume"),
        setting: Setting::Absent,
        since: "",
        source: "RFC 9959",
    },
    Entry {
        parameter: of_unit("rate_limited_increase", Unit::Flag).derived(PROFILE).at(
            "rate_limited_increase",
            "growth of a rate-limited sender's window, for Reno and CUBIC",
        ),
        setting: Setting::Absent,
        since: "",
        source: "draft-ietf-ccwg-ratelimited-increase-08",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp_options::PROFILES;
    use serde_json::{Map, Value as Json};

    #[test]
    fn entries_are_the_fields_of_every_profile() {
        for (name, _) in PROFILES {
            let profile = crate::TcpOptions::profile(name);
            let written = serde_json::to_value(profile).ok();
            let written: Map<String, Json> =
                written.and_then(|json| json.as_object().cloned()).unwrap_or_default();
            let fields: Vec<_> = ENTRIES.iter().map(|entry| entry.parameter.field).collect();
            assert_eq!(written.len(), fields.len());
            assert!(fields.iter().all(|field| written.contains_key(*field)), "{fields:?}");
        }
    }

    #[test]
    fn what_a_sysctl_is_called_is_its_name() {
        for entry in ENTRIES {
            if let Setting::Sysctl(path) = entry.setting {
                let name = path.rsplit_once("net.ipv4.").map_or("mptcp_enabled", |(_, name)| name);
                assert_eq!(entry.parameter.name, name);
                assert!(!entry.since.is_empty(), "{name}");
            }
            assert!(
                !entry.parameter.about.is_empty() && !entry.parameter.about.ends_with('.'),
                "{}",
                entry.parameter.name
            );
        }
    }
}
