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

/// Options: name in files (`as`: field of the scenario), unit and range, setting of Linux, first release,
/// source; description.
macro_rules! options {
    ($($name:ident $(as $field:ident)?: $kind:ident $(($least:expr, $most:expr))? $([$($one:literal),+])?,
        $setting:ident $(($place:literal))?, $since:literal, $source:literal; $about:literal)+) => {
        /// All options.
        pub const ENTRIES: &[Entry] = &[$(Entry {
            parameter: options!(@kind $name $kind $($least, $most)? $([$($one),+])?)
                .derived(PROFILE)
                .at(options!(@field $name $($field)?), $about),
            setting: Setting::$setting $(($place))?,
            since: $since,
            source: $source,
        }),+];
    };
    (@kind $name:ident Choice [$($one:literal),+]) => { choice(stringify!($name), &[$($one),+]) };
    (@kind $name:ident $unit:ident) => { of_unit(stringify!($name), Unit::$unit) };
    (@kind $name:ident $unit:ident $least:expr, $most:expr) => {
        of_unit(stringify!($name), Unit::$unit).within($least, $most)
    };
    (@field $name:ident) => { stringify!($name) };
    (@field $name:ident $field:ident) => { stringify!($field) };
}

options! {
    hz: Number(100, 1000), Build("CONFIG_HZ"), "2.6.13", "";
        "ticks per second of the kernel's timers"
    mtu as mtu_bytes: Bytes(88, 65_535), Device("mtu"), "2.2", "RFC 791";
        "IP MTU of the host's interface"
    gso: Flag, Device("gso_max_segs"), "2.6.17", "";
        "TCP builds GSO segments of about 1 ms at the pacing rate"
    initcwnd: Number(1, 1000), Route("initcwnd"), "2.5.70", "RFC 6928";
        "initial congestion window, segments"
    initrwnd: Number(0, U32), Route("initrwnd"), "2.6.33", "";
        "initial receive window, segments; 0: Linux's rule"
    ssthresh: Number(0, U32), Absent, "", "RFC 5681";
        "initial slow-start threshold, as cached for the destination, segments; 0: none"
    rto_min as rto_min_ns: Time(1, u64::MAX), Route("rto_min"), "2.6.23", "RFC 6298";
        "lower bound of the RTO"
    rto_initial as rto_initial_ns: Time(1, u64::MAX), Absent, "", "RFC 6298 §2.1";
        "RTO before the first sample (TCP_TIMEOUT_INIT), at most 120 s"
    delayed_ack: Choice["adaptive", "every_second", "never"],
        Route("quickack"), "3.11", "RFC 1122 §4.2.3.2";
        "when data in order is acknowledged; no kernel has `every_second`"
    tcp_sack: Flag, Sysctl("net.ipv4.tcp_sack"), "2.2", "RFC 2018";
        "selective acknowledgements"
    tcp_dsack: Flag, Sysctl("net.ipv4.tcp_dsack"), "2.4", "RFC 2883";
        "duplicate SACK"
    tcp_timestamps: Flag, Sysctl("net.ipv4.tcp_timestamps"), "2.2", "RFC 7323 §3";
        "timestamps"
    tcp_window_scaling: Flag, Sysctl("net.ipv4.tcp_window_scaling"), "2.2", "RFC 7323 §2";
        "window scaling"
    tcp_ecn: Number(0, 5), Sysctl("net.ipv4.tcp_ecn"), "2.4", "RFC 3168, RFC 9768";
        "ECN: 0 off, 1 requested and accepted, 2 accepted; since Linux 6.18 Accurate ECN: 3 requested \
         and accepted, 4 accepted and ECN requested, 5 accepted"
    tcp_ecn_option: Number(0, 3), Sysctl("net.ipv4.tcp_ecn_option"), "6.18", "RFC 9768 §3.2.3";
        "option of Accurate ECN: 0 never; 1 after marks and changes, and tcp_ecn_option_beacon times per RTT; \
         2 in every segment where it fits; 3 also if segments with it do not arrive"
    tcp_ecn_option_beacon: Number(0, 3),
        Sysctl("net.ipv4.tcp_ecn_option_beacon"), "6.18", "RFC 9768 §3.2.3.3";
        "options of Accurate ECN per RTT with tcp_ecn_option 1; 0: only after marks and changes"
    tcp_reordering: Number(1, 1000), Sysctl("net.ipv4.tcp_reordering"), "2.4", "";
        "initial reordering degree, packets"
    tcp_max_reordering: Number(1, 10000), Sysctl("net.ipv4.tcp_max_reordering"), "3.19", "";
        "upper bound of the reordering degree, packets"
    tcp_recovery: Number(0, U32), Sysctl("net.ipv4.tcp_recovery"), "4.4", "RFC 8985";
        "RACK, as bits: 1 on, 2 static window, 4 no duplicate-ACK threshold; 0: RFC 6675"
    tcp_fack: Flag, Absent, "2.2", "Mathis, Mahdavi 1996";
        "FACK, until Linux 4.14"
    forward_retransmit: Flag, Absent, "", "RFC 6675 §4";
        "when no new data may be sent, holes not marked lost are retransmitted, until Linux 4.14"
    rate_halving: Flag, Absent, "", "Mathis et al. 1999";
        "in Recovery cwnd falls by a packet with every second ACK, until Linux 3.1"
    tcp_abc: Number(0, 2), Absent, "2.6.15", "RFC 3465";
        "appropriate byte counting, until Linux 3.8"
    tcp_early_retrans: Number(0, U32), Sysctl("net.ipv4.tcp_early_retrans"), "3.10", "RFC 8985 §7";
        "tail loss probes: 3 on, 0 off"
    tcp_frto: Number(0, U32), Sysctl("net.ipv4.tcp_frto"), "2.4.21", "RFC 5682";
        "F-RTO: 2 on, 0 off"
    tcp_comp_sack_nr: Number(0, U32), Sysctl("net.ipv4.tcp_comp_sack_nr"), "4.18", "";
        "duplicate ACKs with SACK that may be compressed; 0: off"
    tcp_comp_sack_delay_ns: Time(0, u64::MAX),
        Sysctl("net.ipv4.tcp_comp_sack_delay_ns"), "4.18", "";
        "upper bound of the delay of compressed ACKs"
    tcp_comp_sack_rtt_percent: Number(1, 1000), Release, "6.19", "";
        "upper bound of the delay of compressed ACKs, % of the RTT"
    tcp_comp_sack_slack_ns: Time(0, u64::MAX), Sysctl("net.ipv4.tcp_comp_sack_slack_ns"), "5.8", "";
        "timer slack of the delay of compressed ACKs"
    tcp_rmem: Sizes, Sysctl("net.ipv4.tcp_rmem"), "2.4", "";
        "receive buffer: minimum, default, maximum"
    tcp_wmem: Sizes, Sysctl("net.ipv4.tcp_wmem"), "2.4", "";
        "send buffer: minimum, default, maximum"
    tcp_moderate_rcvbuf: Flag, Sysctl("net.ipv4.tcp_moderate_rcvbuf"), "2.6.7", "";
        "autotuning of the receive buffer"
    tcp_adv_win_scale: Signed(0, 31), Sysctl("net.ipv4.tcp_adv_win_scale"), "2.4", "";
        "share of the receive buffer that is advertised as window: 1/2 for 1, 3/4 for 2"
    scaling_ratio: Flag, Release, "6.6", "tcp_measure_rcv_mss";
        "measures for each connection which share of the receive buffer to advertise, since Linux 6.6"
    skb_small_head: Flag, Release, "6.3", "skb_small_head_cache";
        "skb heads in the send buffer take 704 bytes each, from a cache, since Linux 6.3"
    grow_skb: Flag, Release, "6.10", "tcp_grow_skb";
        "an skb about to be sent is filled with payload of the next one, since Linux 6.10"
    fin_beyond_cwnd: Flag, Release, "", "tcp_cwnd_test";
        "a last segment with FIN leaves although cwnd is full, until Linux 6.9"
    delack_from_rto_min: Flag, Release, "6.7", "tcp_delack_max";
        "an ACK is delayed by less than `rto_min`, and the estimate of its delay is at most 200 ms, since Linux 6.7"
    rcvbuf_grow: Flag, Release, "6.19", "tcp_rcvbuf_grow";
        "growth of the receive buffer as since Linux 6.19"
    mptcp_sync_sndbuf: Flag, Release, "6.7", "__mptcp_sync_sndbuf";
        "send buffer of Multipath TCP: the sum of the subflows', since Linux 6.7"
    mptcp_set_rcvlowat: Flag, Release, "6.8", "mptcp_set_rcvlowat";
        "a subflow of Multipath TCP sends its ACK after the application's read, since Linux 6.8"
    mptcp_last_snd: Flag, Release, "", "mptcp_subflow_get_send";
        "a burst of Multipath TCP's scheduler goes on after the event that began it, until Linux 6.5"
    rack_always: Flag, Release, "6.17", "tcp_identify_packet_loss";
        "RACK finds losses whatever `tcp_recovery` says, since Linux 6.17"
    rx_segment: Buffer, Device("driver"), "", "";
        "memory charged for a received segment (`skb->truesize`): `pages`, `small_head`, `copied`, or a size"
    tcp_limit_output_bytes: Bytes(0, u64::MAX),
        Sysctl("net.ipv4.tcp_limit_output_bytes"), "3.6", "";
        "bytes of a socket that may wait below TCP (TCP small queues)"
    queue_at_interface: Flag, Absent, "", "";
        "queues of the host's links belong to its interface: TCP small queues count them"
    tcp_slow_start_after_idle: Flag,
        Sysctl("net.ipv4.tcp_slow_start_after_idle"), "2.6.17", "RFC 2861";
        "cwnd shrinks after an idle RTO"
    tcp_pacing_ss_ratio: Number(1, 1000), Sysctl("net.ipv4.tcp_pacing_ss_ratio"), "4.3", "";
        "pacing rate in slow start, percent of cwnd/srtt"
    tcp_pacing_ca_ratio: Number(1, 1000), Sysctl("net.ipv4.tcp_pacing_ca_ratio"), "4.3", "";
        "pacing rate in congestion avoidance, percent of cwnd/srtt"
    tcp_min_rtt_wlen: Number(1, 86400), Sysctl("net.ipv4.tcp_min_rtt_wlen"), "4.4", "";
        "window of the minimum-RTT filter of RACK and TLP, seconds"
    tcp_min_tso_segs: Number(1, 64), Sysctl("net.ipv4.tcp_min_tso_segs"), "3.12", "";
        "minimum segments per TSO burst"
    tcp_retries2: Number(0, U32), Sysctl("net.ipv4.tcp_retries2"), "2.2", "RFC 1122 §4.2.3.5";
        "unanswered retransmissions before a connection is given up"
    tcp_syn_retries: Number(0, 127), Sysctl("net.ipv4.tcp_syn_retries"), "2.2", "RFC 1122 §4.2.3.5";
        "unanswered SYNs before a connection is given up"
    tcp_syn_linear_timeouts: Number(0, 127), Release, "6.5", "";
        "unanswered SYNs whose time-out does not double"
    mptcp_enabled: Flag, Sysctl("net.mptcp.enabled"), "5.6", "RFC 8684";
        "host accepts Multipath TCP; without it, connections fall back to TCP"
    cubic_hystart: Flag, Module("tcp_cubic.hystart"), "2.6.29", "Ha, Rhee 2011";
        "HyStart of CUBIC"
    cubic_fast_convergence: Flag, Module("tcp_cubic.fast_convergence"), "2.6.15", "RFC 9438 §4.7";
        "fast convergence of CUBIC"
    cubic_tcp_friendliness: Flag, Module("tcp_cubic.tcp_friendliness"), "2.6.15", "RFC 9438 §4.3";
        "Reno-friendly region of CUBIC"
    hystart_plus_plus: Flag, Absent, "", "RFC 9406";
        "HyStart++ for Reno, and for CUBIC in place of HyStart"
    search: Choice["off", "delivered", "sent"], Absent, "", "draft-chung-ccwg-search-09";
        "SEARCH for Reno, and for CUBIC in place of HyStart"
    search_rollback: Flag, Absent, "", "draft-chung-ccwg-search-09";
        "SEARCH lowers cwnd to the estimated capacity"
    saved_cwnd: Number(0, U32), Absent, "", "RFC 9959";
        "Careful Resume for Reno and CUBIC: saved window of the path, segments; 0: off"
    saved_rtt as saved_rtt_ns: Time, Absent, "", "RFC 9959";
        "saved RTT of the path for Careful Resume"
    rate_limited_increase: Flag, Absent, "", "draft-ietf-ccwg-ratelimited-increase-08";
        "growth of a rate-limited sender's window, for Reno and CUBIC"
}

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
