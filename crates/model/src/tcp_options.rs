//! TCP options of a host. Options that Linux has as sysctls bear the sysctl's name (without `net.ipv4.`).
//! The others are attributes of routes, parameters of modules, build options, or constants of a release.

use crate::catalogue::tcp_options::ENTRIES;
use crate::units::Span;
use crate::validate::{error, in_range};
use crate::ScenarioError;
use serde::{Deserialize, Serialize};

/// Options of one host or one side of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpOptions {
    /// Ticks per second of the kernel's timers (CONFIG_HZ).
    pub hz: u32,
    /// IP MTU of the host's interface. The MSS is 40 less, with timestamps 52 less.
    pub mtu_bytes: u32,
    /// Generic segmentation offload: TCP builds skbs of several segments, about a millisecond of data at
    /// the pacing rate, which leave the host together (since Linux 4.17 on every device). On links
    /// each segment is a packet. `false`: each skb holds one segment.
    pub gso: bool,
    /// Initial congestion window in segments (RFC 6928; route attribute initcwnd).
    pub initcwnd: u32,
    /// Initial receive window in segments (route attribute initrwnd); 0: Linux's default.
    pub initrwnd: u32,
    /// Initial slow-start threshold in segments, as cached from an earlier connection (`tcp_metrics`,
    /// route attribute ssthresh); 0: none.
    #[serde(default)]
    pub ssthresh: u32,
    /// Lower bound of the RTO (route attribute rto_min).
    #[serde(rename = "rto_min_ns")]
    pub rto_min: Span,
    /// RTO before the first sample (RFC 6298 §2.1): 1 s; 3 s before Linux 3.1 (TCP_TIMEOUT_INIT).
    #[serde(rename = "rto_initial_ns", default = "one_second")]
    pub rto_initial: Span,
    /// Delayed ACKs.
    #[serde(default)]
    pub delayed_ack: DelayedAck,
    /// Selective acknowledgements (RFC 2018).
    pub tcp_sack: bool,
    /// Duplicate SACK (RFC 2883).
    pub tcp_dsack: bool,
    /// Timestamps (RFC 7323 §3).
    pub tcp_timestamps: bool,
    /// Window scaling (RFC 7323 §2).
    pub tcp_window_scaling: bool,
    /// ECN (RFC 3168): 0 off, 1 requested and accepted, 2 accepted. Accurate ECN (RFC 9768): 3 requested
    /// and accepted, 4 accepted while ECN is requested, 5 accepted.
    #[serde(default = "accept_ecn")]
    pub tcp_ecn: u32,
    /// Option of Accurate ECN: 0 never, 1 where it is demanded or due, 2 in every segment where it fits, 3 also
    /// where segments with it do not arrive.
    #[serde(default = "full_option")]
    pub tcp_ecn_option: u32,
    /// With `tcp_ecn_option` 1: options per RTT at least; 0: only where it is demanded.
    #[serde(default = "beacons")]
    pub tcp_ecn_option_beacon: u32,
    /// Initial reordering degree in packets.
    pub tcp_reordering: u32,
    /// Maximum reordering degree in packets.
    pub tcp_max_reordering: u32,
    /// Bits of RACK: 1 on, 2 static window, 4 no duplicate-ACK threshold. 0: RFC 6675.
    pub tcp_recovery: u32,
    /// FACK (Mathis & Mahdavi 1996; Linux before 4.15): all segments below the highest SACK count
    /// as having left the network.
    #[serde(default)]
    pub tcp_fack: bool,
    /// Retransmits holes that are not marked lost, in Recovery if no new data may be sent (RFC 6675 §4,
    /// NextSeg rule 3; Linux before 4.15).
    #[serde(default)]
    pub forward_retransmit: bool,
    /// Rate halving (Linux before 3.2): cwnd falls by one packet with every second ACK. `false`:
    /// proportional rate reduction (RFC 6937).
    #[serde(default)]
    pub rate_halving: bool,
    /// Appropriate byte counting (RFC 3465; sysctl of Linux before 3.9): contribution of an ACK to
    /// window growth. 0: one segment. 1 and 2: the acknowledged bytes, in slow start at most 1 or 2
    /// segments. `None`: the acknowledged packets.
    #[serde(default)]
    pub tcp_abc: Option<u32>,
    /// Share of the receive buffer that counts as window: measured per connection as payload over
    /// memory of a segment (`tp->scaling_ratio`, since Linux 6.6). `false`: `tcp_adv_win_scale`.
    #[serde(default)]
    pub scaling_ratio: bool,
    /// Heads of skbs in the send buffer come from a cache of 704 bytes (`skb_small_head_cache`, since
    /// Linux 6.3).
    #[serde(default)]
    pub skb_small_head: bool,
    /// An skb to be sent takes payload of the next until it fills the quota (`tcp_grow_skb`, since
    /// Linux 6.10).
    #[serde(default)]
    pub grow_skb: bool,
    /// A last segment with FIN leaves although cwnd is full (until Linux 6.9).
    #[serde(default = "yes")]
    pub fin_beyond_cwnd: bool,
    /// An ACK is delayed by less than `rto_min` (`tcp_delack_max`, since Linux 6.7), and the estimate of
    /// this delay (`ato`) is at most 200 ms, not only at most the RTO.
    #[serde(default)]
    pub delack_from_rto_min: bool,
    /// The receive buffer grows by `tcp_rcvbuf_grow` (since Linux 6.19): no reserve of 16 segments, less
    /// below an RTT of 1 ms, more while data waits out of order. `false`: by `tcp_rcv_space_adjust`.
    #[serde(default)]
    pub rcvbuf_grow: bool,
    /// Sizes the connection's send buffer by the sum of its subflows' (`__mptcp_sync_sndbuf`, since Linux
    /// 6.7). `false`: by the largest.
    #[serde(default)]
    pub mptcp_sync_sndbuf: bool,
    /// An ACK on a subflow waits until the connection's application has read, if reading opens the
    /// window, and precedes it only if the data cannot be read yet (`mptcp_set_rcvlowat`, since Linux 6.8).
    #[serde(default)]
    pub mptcp_set_rcvlowat: bool,
    /// A burst of Multipath TCP's scheduler outlasts the event that began it, and may end inside of a
    /// chunk of data (`msk->last_snd`, until Linux 6.5).
    #[serde(default = "yes")]
    pub mptcp_last_snd: bool,
    /// RACK finds losses whatever `tcp_recovery` says (since Linux 6.17).
    #[serde(default)]
    pub rack_always: bool,
    /// 3: tail loss probes; 0: none.
    pub tcp_early_retrans: u32,
    /// 2: F-RTO (RFC 5682); 0: off.
    pub tcp_frto: u32,
    /// Duplicate ACKs with SACK that may be compressed; 0: off (kernels before 4.18).
    pub tcp_comp_sack_nr: u32,
    /// Maximum delay of compressed SACKs.
    #[serde(rename = "tcp_comp_sack_delay_ns")]
    pub tcp_comp_sack_delay: Span,
    /// Share of the RTT that it is at most, %: 5, and 33 since Linux 6.19.
    #[serde(default = "rtt_percent")]
    pub tcp_comp_sack_rtt_percent: u32,
    /// Timer slack of that delay.
    #[serde(rename = "tcp_comp_sack_slack_ns")]
    pub tcp_comp_sack_slack: Span,
    /// Receive buffer: minimum, default, maximum of autotuning, bytes.
    pub tcp_rmem: [u64; 3],
    /// Send buffer: minimum, default, maximum of autotuning, bytes.
    pub tcp_wmem: [u64; 3],
    /// Autotuning of the receive buffer.
    pub tcp_moderate_rcvbuf: bool,
    /// Share of the receive buffer that is window: 1/2 for 1, 3/4 for 2, and so on.
    pub tcp_adv_win_scale: i32,
    /// Receive-side skb overhead (truesize model). It limits the receive window.
    pub rx_segment: ReceiveBuffer,
    /// Maximum bytes of a socket below TCP (TCP small queues).
    pub tcp_limit_output_bytes: u64,
    /// Packets queued at the host's own links count as below TCP, as on a host that shapes its own
    /// interface. `false`: these queues are behind the interface, as in a router, and TCP does not
    /// count them.
    #[serde(default)]
    pub queue_at_interface: bool,
    /// Reduces cwnd after an idle period of an RTO (RFC 2861).
    pub tcp_slow_start_after_idle: bool,
    /// Pacing rate over cwnd/srtt in slow start, percent.
    pub tcp_pacing_ss_ratio: u32,
    /// Pacing rate over cwnd/srtt in congestion avoidance, percent.
    pub tcp_pacing_ca_ratio: u32,
    /// Window of the minimum-RTT filter of RACK and TLP, seconds.
    pub tcp_min_rtt_wlen: u32,
    /// Minimum segments per TSO burst.
    pub tcp_min_tso_segs: u32,
    /// Retransmissions before a connection is aborted. It is applied as a time: n retransmissions with
    /// exponential backoff from an RTO of 200 ms (`tcp_model_timeout`).
    pub tcp_retries2: u32,
    /// SYN retransmissions before a connection attempt is aborted.
    pub tcp_syn_retries: u32,
    /// Unanswered SYNs whose time-out does not double; they come before those retries (since Linux
    /// 6.5).
    #[serde(default)]
    pub tcp_syn_linear_timeouts: u32,
    /// Multipath TCP (net.mptcp.enabled; since Linux 5.6). `false`: connections fall back to TCP.
    #[serde(default = "yes")]
    pub mptcp_enabled: bool,
    /// CUBIC: HyStart (Ha & Rhee 2011).
    pub cubic_hystart: bool,
    /// CUBIC: fast convergence (RFC 9438 §4.7).
    pub cubic_fast_convergence: bool,
    /// CUBIC: Reno-friendly region (RFC 9438 §4.3).
    pub cubic_tcp_friendliness: bool,
    /// HyStart++ (RFC 9406) for Reno, and for CUBIC in place of HyStart. Linux has none.
    #[serde(default)]
    pub hystart_plus_plus: bool,
    /// SEARCH (draft-chung-ccwg-search) for Reno, and for CUBIC in place of HyStart. Linux has none.
    #[serde(default)]
    pub search: Search,
    /// SEARCH lowers the window to the estimated capacity when it ends slow start.
    #[serde(default)]
    pub search_rollback: bool,
    /// Careful Resume (RFC 9959) for Reno and CUBIC: window of an earlier connection over the path,
    /// segments; 0: off. Linux has none.
    #[serde(default)]
    pub saved_cwnd: u32,
    /// RTT of that connection.
    #[serde(rename = "saved_rtt_ns", default)]
    pub saved_rtt: Span,
    /// Reno and CUBIC: growth of the window of a rate-limited sender by
    /// draft-ietf-ccwg-ratelimited-increase. Linux has none.
    #[serde(default)]
    pub rate_limited_increase: bool,
}

/// Memory of a received segment (`skb->truesize`), and its coalescing with neighbours
/// (`skb_try_coalesce`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiveBuffer {
    /// Page fragments, 17 per skb: virtual Ethernet, most drivers.
    Pages,
    /// Page fragments behind a head of 704 bytes (`skb_small_head_cache`): the same since Linux 6.3.
    SmallHead,
    /// Copied into 4 KiB for two full segments: behind a device without scatter-gather, such as
    /// TEQL's.
    Copied,
    /// One buffer per segment.
    Own {
        /// Memory of the buffer (`skb->truesize`).
        bytes: u32,
    },
}

/// Acknowledgement of in-order data (RFC 1122 §4.2.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelayedAck {
    /// Linux's: quick ACKs during the sender's slow start; then every second segment, or after a
    /// timeout of 40 to 200 ms that adapts to the arrivals.
    #[default]
    Adaptive,
    /// Every second segment, or after that timeout, without quick ACKs.
    EverySecond,
    /// Every segment (route attribute quickack).
    Never,
}

/// Quantity with which SEARCH compares the bytes delivered in its window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Search {
    /// Nothing: SEARCH is off.
    #[default]
    Off,
    /// Twice the bytes delivered in the window one RTT earlier (SEARCH 3.1).
    Delivered,
    /// The bytes sent in the window one RTT earlier (SEARCH 4.0, draft-chung-ccwg-search-09).
    Sent,
}

fn yes() -> bool {
    true
}

fn one_second() -> Span {
    Span::from_ms(1000)
}

/// Linux's default of `tcp_ecn`.
fn accept_ecn() -> u32 {
    2
}

/// Linux's default of `tcp_ecn_option`.
fn full_option() -> u32 {
    2
}

/// Linux's default of `tcp_ecn_option_beacon`.
fn beacons() -> u32 {
    3
}

fn rtt_percent() -> u32 {
    5
}

impl TcpOptions {
    /// Options whose range the catalogue gives, by name.
    fn numbers(&self) -> [(&'static str, u64); 19] {
        [
            ("hz", self.hz.into()),
            ("mtu", self.mtu_bytes.into()),
            ("initcwnd", self.initcwnd.into()),
            ("initrwnd", self.initrwnd.into()),
            ("rto_min", self.rto_min.as_ns()),
            ("tcp_ecn", self.tcp_ecn.into()),
            ("tcp_ecn_option", self.tcp_ecn_option.into()),
            ("tcp_ecn_option_beacon", self.tcp_ecn_option_beacon.into()),
            ("tcp_reordering", self.tcp_reordering.into()),
            ("tcp_max_reordering", self.tcp_max_reordering.into()),
            ("tcp_abc", self.tcp_abc.unwrap_or(0).into()),
            ("tcp_adv_win_scale", self.tcp_adv_win_scale.unsigned_abs().into()),
            ("tcp_pacing_ss_ratio", self.tcp_pacing_ss_ratio.into()),
            ("tcp_pacing_ca_ratio", self.tcp_pacing_ca_ratio.into()),
            ("tcp_min_rtt_wlen", self.tcp_min_rtt_wlen.into()),
            ("tcp_min_tso_segs", self.tcp_min_tso_segs.into()),
            ("tcp_syn_retries", self.tcp_syn_retries.into()),
            ("tcp_syn_linear_timeouts", self.tcp_syn_linear_timeouts.into()),
            ("tcp_comp_sack_rtt_percent", self.tcp_comp_sack_rtt_percent.into()),
        ]
    }

    /// Checks the options at `at`.
    ///
    /// # Errors
    /// The first option out of range.
    pub fn check(&self, at: &str) -> Result<(), ScenarioError> {
        for (name, number) in self.numbers() {
            let entry = ENTRIES.iter().find(|entry| entry.parameter.name == name);
            entry.map_or(Ok(()), |entry| entry.parameter.check(at, number.into()))?;
        }
        if let ReceiveBuffer::Own { bytes } = self.rx_segment {
            in_range(at, "rx_segment.own.bytes", u64::from(bytes), 1, 65_536)?;
        }
        for (field, [min, default, max]) in
            [("tcp_rmem", self.tcp_rmem), ("tcp_wmem", self.tcp_wmem)]
        {
            if min == 0 || min > default || default > max || max > 1 << 31 {
                return error(
                    format!("{at}.{field}"),
                    format!(
                        "[{min}, {default}, {max}]: needs 0 < min ≤ default ≤ max ≤ 2147483648"
                    ),
                );
            }
        }
        if self.tcp_dsack && !self.tcp_sack {
            return error(format!("{at}.tcp_dsack"), "DSACK needs tcp_sack");
        }
        if self.tcp_fack && !self.tcp_sack {
            return error(format!("{at}.tcp_fack"), "FACK needs tcp_sack");
        }
        if self.tcp_fack && self.tcp_recovery & 1 != 0 {
            return error(
                format!("{at}.tcp_fack"),
                "RACK (tcp_recovery 1) takes the place of FACK; set tcp_recovery to 0",
            );
        }
        if self.tcp_reordering > self.tcp_max_reordering {
            return error(
                format!("{at}.tcp_reordering"),
                format!("above tcp_max_reordering ({})", self.tcp_max_reordering),
            );
        }
        if self.rcvbuf_grow && !self.scaling_ratio {
            return error(
                format!("{at}.rcvbuf_grow"),
                "no kernel has rcvbuf_grow without scaling_ratio",
            );
        }
        if self.hystart_plus_plus && self.search != Search::Off {
            return error(
                format!("{at}.search"),
                "SEARCH and hystart_plus_plus exclude each other",
            );
        }
        if self.saved_cwnd > 0 && self.saved_rtt.is_zero() {
            return error(
                format!("{at}.saved_rtt_ns"),
                "saved_cwnd needs the RTT of the same connection (RFC 9959)",
            );
        }
        if self.rto_initial.is_zero() || self.rto_initial > Span::from_ms(120_000) {
            return error(format!("{at}.rto_initial_ns"), "above 0 and at most 120 s is needed");
        }
        Ok(())
    }

    /// Window scale: the smallest shift that can advertise the largest buffer
    /// (`tcp_select_initial_window`, with net.core.rmem_max of 212 992).
    pub fn window_scale(&self) -> u8 {
        let most = self.tcp_rmem[2].max(212_992).max(self.tcp_rmem[1]);
        most.ilog2().saturating_sub(15).min(14) as u8
    }

    /// Memory of an skb without payload: `struct sk_buff` of 256 bytes, and a head of 1024 bytes, of
    /// 704 since Linux 6.3 (`skb_small_head_cache`).
    pub fn skb_overhead_bytes(&self) -> u64 {
        256 + if self.skb_small_head { 704 } else { 1024 }
    }

    /// Window for a receive buffer of `bytes` (`tcp_win_from_space`).
    pub fn window_share(&self, bytes: u64) -> u64 {
        let scale = self.tcp_adv_win_scale;
        if scale <= 0 {
            bytes >> scale.unsigned_abs()
        } else {
            bytes - (bytes >> scale)
        }
    }

    /// Window in a SYN or SYN-ACK, bytes (`tcp_select_initial_window`). `buffer_bytes`: receive buffer;
    /// `mss_bytes`: MSS as far as it is known.
    pub fn first_window(&self, buffer_bytes: u64, mss_bytes: u64) -> u64 {
        let share = self.window_share(buffer_bytes);
        let whole = if share > mss_bytes { share / mss_bytes * mss_bytes } else { share };
        let most = match u64::from(self.initrwnd) {
            0 => u64::MAX,
            segments => segments * mss_bytes,
        };
        whole.min(65_535).min(most)
    }

    /// Returns the profile of this name, from `profiles/*.json`.
    ///
    /// # Panics
    /// Never: the profiles are part of the program, and a test reads each of them.
    pub fn profile(name: &str) -> Option<Self> {
        let (_, text) = PROFILES.iter().find(|(known, _)| *known == name)?;
        Some(serde_json::from_str(text).expect("shipped profiles parse"))
    }
}

/// Profile of a host without one, in a file and in a scenario: that of the default kernel, which
/// agrees in all that `tests/linux` compares (`docs/profiles.md`).
pub const DEFAULT_PROFILE: &str = "linux-6.12";

/// Name and JSON of every profile; `docs/profiles.md` has the source of each value of linux-2.6.26.
/// The others have a 1000 Hz tick and the buffers of a machine with ample memory. Linux 4.15 had no
/// SACK compression (added in 4.18), a smaller default receive buffer (`tcp_rmem[1]` grew in 4.20) and
/// a smaller `tcp_limit_output_bytes` (1 MB since 5.0). Linux 6.12 measures the share of memory that is
/// window (since 6.6).
pub const PROFILES: &[(&str, &str)] = &[
    ("linux-2.6.26", include_str!("../profiles/linux-2.6.26.json")),
    ("linux-4.15", include_str!("../profiles/linux-4.15.json")),
    ("linux-6.1", include_str!("../profiles/linux-6.1.json")),
    ("linux-6.12", include_str!("../profiles/linux-6.12.json")),
    ("linux-7.3", include_str!("../profiles/linux-7.3.json")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_parses_and_4_15_has_no_sack_compression() {
        for (name, _) in PROFILES {
            assert!(TcpOptions::profile(name).is_some(), "{name}");
        }
        let nr = |name| TcpOptions::profile(name).map(|p| p.tcp_comp_sack_nr);
        assert_eq!((nr("linux-4.15"), nr("linux-6.1")), (Some(0), Some(44)));
        assert!(TcpOptions::profile("linux-9").is_none());
        // A segment of 1448 bytes in an skb, as 6.1 and 6.12 count it.
        let overhead = |name| TcpOptions::profile(name).map(|p| p.skb_overhead_bytes());
        assert_eq!((overhead("linux-6.1"), overhead("linux-6.12")), (Some(1280), Some(960)));
    }
}
