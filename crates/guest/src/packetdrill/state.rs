//! State of a connection by packetdrill's names: `tcp_info`, the congestion control's, the memory of the
//! socket, as the kernel writes them.

use crate::sys;
use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;

/// Fields of `struct tcp_info` (linux/tcp.h): name, offset, bytes.
const FIELDS: [(&str, usize, usize); 65] = [
    ("state", 0, 1),
    ("ca_state", 1, 1),
    ("retransmits", 2, 1),
    ("probes", 3, 1),
    ("backoff", 4, 1),
    ("options", 5, 1),
    ("rto", 8, 4),
    ("ato", 12, 4),
    ("snd_mss", 16, 4),
    ("rcv_mss", 20, 4),
    ("unacked", 24, 4),
    ("sacked", 28, 4),
    ("lost", 32, 4),
    ("retrans", 36, 4),
    ("fackets", 40, 4),
    ("last_data_sent", 44, 4),
    ("last_ack_sent", 48, 4),
    ("last_data_recv", 52, 4),
    ("last_ack_recv", 56, 4),
    ("pmtu", 60, 4),
    ("rcv_ssthresh", 64, 4),
    ("rtt", 68, 4),
    ("rttvar", 72, 4),
    ("snd_ssthresh", 76, 4),
    ("snd_cwnd", 80, 4),
    ("advmss", 84, 4),
    ("reordering", 88, 4),
    ("rcv_rtt", 92, 4),
    ("rcv_space", 96, 4),
    ("total_retrans", 100, 4),
    ("pacing_rate", 104, 8),
    ("max_pacing_rate", 112, 8),
    ("bytes_acked", 120, 8),
    ("bytes_received", 128, 8),
    ("segs_out", 136, 4),
    ("segs_in", 140, 4),
    ("notsent_bytes", 144, 4),
    ("min_rtt", 148, 4),
    ("data_segs_in", 152, 4),
    ("data_segs_out", 156, 4),
    ("delivery_rate", 160, 8),
    ("busy_time", 168, 8),
    ("rwnd_limited", 176, 8),
    ("sndbuf_limited", 184, 8),
    ("delivered", 192, 4),
    ("delivered_ce", 196, 4),
    ("bytes_sent", 200, 8),
    ("bytes_retrans", 208, 8),
    ("dsack_dups", 216, 4),
    ("reord_seen", 220, 4),
    ("rcv_ooopack", 224, 4),
    ("snd_wnd", 228, 4),
    ("rcv_wnd", 232, 4),
    ("rehash", 236, 4),
    ("total_rto", 240, 2),
    ("total_rto_recoveries", 242, 2),
    ("total_rto_time", 244, 4),
    ("received_ce", 248, 4),
    ("delivered_e1_bytes", 252, 4),
    ("delivered_e0_bytes", 256, 4),
    ("delivered_ce_bytes", 260, 4),
    ("received_e1_bytes", 264, 4),
    ("received_e0_bytes", 268, 4),
    ("received_ce_bytes", 272, 4),
    ("accecn_bits", 276, 4),
];
const MEMORY: [&str; 9] = [
    "RMEM_ALLOC",
    "RCVBUF",
    "WMEM_ALLOC",
    "SNDBUF",
    "FWD_ALLOC",
    "WMEM_QUEUED",
    "OPTMEM",
    "BACKLOG",
    "DROPS",
];
/// Words of `union tcp_cc_info` (linux/inet_diag.h), of BBR and of Vegas.
const BBR: [&str; 5] =
    ["bbr_bw_lo", "bbr_bw_hi", "bbr_min_rtt", "bbr_pacing_gain", "bbr_cwnd_gain"];
const VEGAS: [&str; 4] = ["tcpv_enabled", "tcpv_rttcnt", "tcp_rtt", "tcp_minrtt"];
const SO_MEMINFO: i32 = 55;
const TCP_CC_INFO: i32 = 26;

/// Values of a socket; fields that this kernel does not write are left out.
pub(super) fn of(fd: BorrowedFd<'_>) -> Result<BTreeMap<String, i128>, String> {
    let mut bytes = [0; 512];
    let length = sys::get_option(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)
        .map_err(|error| format!("tcp_info: {error}"))?;
    let mut values = BTreeMap::new();
    for (name, at, size) in FIELDS {
        if let Some(number) = number(&bytes[..length], at, size) {
            values.insert(format!("tcpi_{name}"), number);
        }
    }
    let scales = i128::from(bytes[6]);
    values.insert("tcpi_snd_wscale".to_owned(), scales & 15);
    values.insert("tcpi_rcv_wscale".to_owned(), scales >> 4);
    values.insert("tcpi_delivery_rate_app_limited".to_owned(), i128::from(bytes[7] & 1));
    if let Some(bits) = values.remove("tcpi_accecn_bits") {
        for (name, shift, mask) in
            [("ecn_mode", 0, 3), ("accecn_opt_seen", 2, 3), ("accecn_fail_mode", 4, 15)]
        {
            values.insert(format!("tcpi_{name}"), bits >> shift & mask);
        }
        values.insert("tcpi_options2".to_owned(), bits >> 8);
    }
    let mut memory = [0; 4 * MEMORY.len()];
    if sys::get_option(fd, libc::SOL_SOCKET, SO_MEMINFO, &mut memory).is_ok() {
        words(&mut values, &MEMORY.map(|name| format!("SK_MEMINFO_{name}")), &memory);
    }
    let mut control = [0; 64];
    if let Ok(length) = sys::get_option(fd, libc::IPPROTO_TCP, TCP_CC_INFO, &mut control) {
        words(&mut values, &VEGAS.map(str::to_owned), &control[..length]);
        words(&mut values, &BBR.map(str::to_owned), &control[..length]);
        dctcp(&mut values, &control[..length]);
    }
    Ok(values)
}

fn number(bytes: &[u8], at: usize, size: usize) -> Option<i128> {
    let mut wide = [0; 16];
    wide[..size].copy_from_slice(bytes.get(at..at + size)?);
    Some(i128::from_le_bytes(wide))
}

/// Words of 32 bits, if all are there.
fn words(values: &mut BTreeMap<String, i128>, names: &[String], bytes: &[u8]) {
    if bytes.len() >= 4 * names.len() {
        for (at, name) in names.iter().enumerate() {
            values.extend(number(bytes, 4 * at, 4).map(|number| (name.clone(), number)));
        }
    }
}

fn dctcp(values: &mut BTreeMap<String, i128>, bytes: &[u8]) {
    let fields = [("enabled", 0, 2), ("ce_state", 2, 2), ("alpha", 4, 4), ("ab_ecn", 8, 4)];
    if bytes.len() >= 16 {
        for (name, at, size) in [fields.as_slice(), &[("ab_tot", 12, 4)]].concat() {
            values.extend(number(bytes, at, size).map(|n| (format!("dctcp_{name}"), n)));
        }
    }
}
